"""From the tables of one study to rows of the table of all heads, by what its schemas declare.

A table takes part where its schema has keys: each of its columns that is a figure of a head gives one quantity for
each combination of keys. A quantity is called after these, joined by dots: ``obj.to``, ``previous.norm``,
``sep.relative``. Weight goes without saying and norm comes last; the column's own name is left out where it is
``value``; what stands in a further table of the study begins with the name of the table.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from string import Formatter
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray
from pyarrow import compute

from attlas.ids import parse_head
from attlas.store.schema import Column, Schema, is_known

PLACES = ("stream", "layer", "head")
NUMBERS = (
    "value", "low", "high", "chance", "twin", "twin_low", "twin_high", "p", "n", "first_half", "second_half",
)  # fmt: skip
TEXTS = ("quantity", "title", "kind", "definition")
HALVES = ("first_half", "second_half")
_STRANGE = re.compile(r"[^\w:+-]")

Numbers = NDArray[np.float64]


@dataclass(frozen=True)
class Figure:
    """What a study has figures of: a quantity, the table and column it stands in, the values of the table's keys."""

    quantity: str
    table: str
    column: str
    keys: Mapping[str, Any]
    labels: Mapping[str, str]
    title: str
    kind: str
    definition: str


def figures(
    study: str, tables: Mapping[str, pa.Table], schemas: Iterable[Schema], *, measure: str = "weight"
) -> tuple[list[Figure], dict[str, NDArray[Any]]]:
    """The figures of a study, and a row for each of them and each head, as columns: the place, ``figure`` (which of
    the figures it is) and numbers, NaN where they are missing. ``measure`` is that of the whole run, where a study
    asks heads by one.

    >>> from attlas.store.schema import PLACE
    >>> schema = Schema("heads", "", *PLACE, Column("to", "to"), Column("value", "share", "share", head=True),
    ...                 keys=("to",))
    >>> table = pa.table({"stream": ["encoder"] * 2, "layer": [0, 0], "head": [0, 1], "to": ["noun"] * 2,
    ...                   "value": [0.5, None]})
    >>> named, columns = figures("mine", {"heads": table}, [schema])
    >>> named[0].quantity, named[0].title, columns["head"].tolist(), columns["value"].tolist()
    ('noun', 'noun', [0], [0.5])
    """
    named: list[Figure] = []
    parts: list[dict[str, NDArray[Any]]] = []
    main = True
    for schema in schemas:
        table = tables.get(schema.table)
        if not schema.figures or table is None or table.num_rows == 0:
            continue
        needed = {*PLACES, *(schema.keys or ())} - ({"layer", "head"} if schema.each else set())
        if not needed <= set(table.column_names):
            continue
        parts += _of_table(_Asked(study, schema, main, measure), table, tables, named)
        main = False
    names = (*PLACES, "figure", *NUMBERS)
    empty: dict[str, NDArray[Any]] = {name: np.zeros(0) for name in names}
    joined = {name: np.concatenate([part[name] for part in parts]) for name in names} if parts else empty
    return named, joined


@dataclass(frozen=True)
class _Asked:
    """A table that takes part, whether it is the first of its study, and by which measure all of it is."""

    study: str
    schema: Schema
    main: bool
    measure: str

    @property
    def keys(self) -> tuple[str, ...]:
        """The keys that make names: all but the place."""
        return tuple(key for key in self.schema.keys or () if key not in PLACES)


def _of_table(
    asked: _Asked, table: pa.Table, tables: Mapping[str, pa.Table], named: list[Figure]
) -> Iterator[dict[str, NDArray[Any]]]:
    """The rows of one table, column by column of figures."""
    schema = asked.schema
    if schema.each:
        table = _one_by_one(table, schema.each)
    table = table.filter(compute.and_(compute.is_valid(table["layer"]), compute.is_valid(table["head"])))
    twins = None
    if schema.who:
        who = table[schema.who].cast(pa.string())
        twins, table = (table.filter(compute.equal(who, one)) for one in ("twin", "model"))
    codes, combinations = _groups(table, asked.keys)
    places = {name: table[name].cast(pa.string() if name == "stream" else pa.int64()).to_numpy() for name in PLACES}
    for column in schema.figures:
        if column.name not in table.column_names:
            continue
        numbers = _numbers(asked, column, table, codes, combinations, tables)
        if twins is not None and twins.num_rows:
            numbers |= _of_twins(schema, column, table, twins)
        known = np.isfinite(numbers["value"])
        start = len(named)
        named += [_figure(asked, column, values) for values in combinations]
        yield {name: values[known] for name, values in (places | numbers | {"figure": codes + start}).items()}


def _one_by_one(table: pa.Table, column: str) -> pa.Table:
    """A row for each head that a row lists by label."""
    at, layers, heads = [], [], []
    for row, labels in enumerate(table[column].to_pylist()):
        for label in filter(None, (part.strip() for part in str(labels or "").split(","))):
            layer, head = parse_head(label)
            at.append(row)
            layers.append(layer)
            heads.append(head)
    taken = table.take(pa.array(at, pa.int64()))
    for name, numbers in (("layer", layers), ("head", heads)):
        taken = taken.append_column(name, pa.array(numbers, pa.int64()))
    return taken


def _groups(table: pa.Table, keys: Sequence[str]) -> tuple[NDArray[np.int64], list[dict[str, Any]]]:
    """For each row the number of its combination of keys, and these combinations."""
    combined: NDArray[np.int64] = np.zeros(table.num_rows, np.int64)
    values: list[list[Any]] = []
    for key in keys:
        column = table[key].combine_chunks()
        coded = column if pa.types.is_dictionary(column.type) else column.dictionary_encode()
        own = [*coded.dictionary.to_pylist(), None]
        indices = compute.fill_null(coded.indices.cast(pa.int64()), len(own) - 1).to_numpy(zero_copy_only=False)
        combined = combined * len(own) + indices
        values.append(own)
    present, codes = np.unique(combined, return_inverse=True)
    combinations = []
    for number in present.tolist():
        parts: dict[str, Any] = {}
        for key, own in zip(reversed(keys), reversed(values), strict=True):
            number, at = divmod(number, len(own))
            parts[key] = own[at]
        combinations.append({key: parts[key] for key in keys})
    return codes.astype(np.int64), combinations


def _numbers(
    asked: _Asked,
    column: Column,
    table: pa.Table,
    codes: NDArray[np.int64],
    combinations: list[dict[str, Any]],
    tables: Mapping[str, pa.Table],
) -> dict[str, Numbers]:
    """The columns of numbers that belong to one column of figures."""
    schema = asked.schema
    twin = next((one for one in schema.columns if one.name == column.twin), None) if column.twin else None
    first, second = column.halves or HALVES if column.halves or column.name == "value" else ("", "")
    low, high = column.ends or ("", "")
    twin_low, twin_high = twin.ends if twin is not None and twin.ends else ("", "")
    named = {
        "value": column.name, "low": low, "high": high, "chance": column.chance, "twin": column.twin,
        "twin_low": twin_low, "twin_high": twin_high, "p": column.p, "n": "n", "first_half": first,
        "second_half": second,
    }  # fmt: skip
    numbers = {name: _column(table, place) for name, place in named.items()}
    if column.against is not None:
        levels = column.against(lambda name: tables[name].to_pylist() if name in tables else [])
        keys = [tuple(values.values()) for values in combinations]
        more = max(map(len, levels), default=0) - len(asked.keys)  # how much of the place stands in them, too
        places = list(zip(*(table[name].to_pylist() for name in PLACES), strict=True))
        own = [levels.get((*keys[code], *place[:more]), np.nan) for code, place in zip(codes, places, strict=True)]
        numbers["chance"] = np.array(own, np.float64)
    return numbers


def _column(table: pa.Table, name: str) -> Numbers:
    """A column as floating point numbers, NaN where there is none."""
    if not name or name not in table.column_names:
        return np.full(table.num_rows, np.nan)
    return np.asarray(table[name].cast(pa.float64()).to_numpy(), np.float64)


def _of_twins(schema: Schema, column: Column, table: pa.Table, twins: pa.Table) -> dict[str, Numbers]:
    """What untrained twins have in rows of their own, beside the rows of the model."""
    keys = [*PLACES, *(key for key in schema.keys or () if key not in PLACES)]
    low, high = column.ends or ("", "")
    sources = {"twin": column.name, "twin_low": low, "twin_high": high}
    theirs = {name: _column(twins, place) for name, place in sources.items()}
    of_twins, of_model = (zip(*(own[key].to_pylist() for key in keys), strict=True) for own in (twins, table))
    rows = {key: at for at, key in enumerate(of_twins)}
    at = np.array([rows.get(key, -1) for key in of_model], np.int64)
    return {name: np.append(values, np.nan)[at] for name, values in theirs.items()}


def _figure(asked: _Asked, column: Column, values: Mapping[str, Any]) -> Figure:
    """What a column is with these values of the keys."""
    schema = asked.schema
    ordered = [key for key in asked.keys if key != "measure"]
    measure = str(values.get("measure") or "weight") if "measure" in asked.keys else asked.measure
    parts = [] if asked.main else [schema.table]
    parts += [named(schema[key], values[key]) for key in ordered if is_known(values[key]) and values[key] != ""]
    parts += [column.quantity or column.name] if column.quantity or column.name != "value" else []
    parts += [] if parts else [asked.study if schema.table == "heads" else schema.table]
    parts += [measure] if measure != "weight" else []
    labels = {key: written(schema[key], values[key]) for key in asked.keys}
    slots = {slot for _, slot, _, _ in Formatter().parse(column.called) if slot}
    title = column.called.format(**{slot: labels.get(slot, "") for slot in slots})
    title = title or ", ".join([*(labels[key] for key in ordered), *([column.title] * (column.name != "value"))])
    title = (title or column.title) + (f", {measure}" if measure != "weight" else "")
    kinds = [schema[key].kinds.get(values[key], "") for key in asked.keys]
    authors = [schema[key].authors.get(values[key], "") for key in asked.keys]
    return Figure(
        ".".join(parts), schema.table, column.name, dict(values), labels, title,
        next(filter(None, kinds), column.kind), next(filter(None, authors), column.definition),
    )  # fmt: skip


def named(column: Column, value: Any) -> str:
    """A value of a key as part of the name of a quantity: letters, digits, ``_``, ``:``, ``+`` and ``-`` stay.

    >>> named(Column("pos", "part of speech"), "PRP$"), named(Column("band", "band", "index"), 0)
    ('PRP_24', '1')
    """
    text = value if isinstance(value, str) else column.write(value)
    return _STRANGE.sub(lambda letter: f"_{ord(letter.group()):x}", text.replace(" ", "-"))


def written(column: Column, value: Any) -> str:
    """A value of a key for people: its label, where it has one."""
    return column.write(value) if is_known(value) else ""


def repeated(table: pa.Table, schema: Schema) -> Mapping[str, Any] | None:
    """The place and the keys of a row that a table with keys has twice, if there is one.

    >>> from attlas.store.schema import PLACE
    >>> table = pa.table({"stream": ["encoder"] * 2, "layer": [0, 0], "head": [1, 1], "value": [0.5, 0.6]})
    >>> repeated(table, Schema("heads", "", *PLACE, Column("value", "share", "share", head=True), keys=()))
    {'stream': 'encoder', 'layer': 0, 'head': 1}
    """
    by = [*dict.fromkeys([*filter(None, (schema.each, schema.who)), *PLACES, *(schema.keys or ())])]
    by = [name for name in by if name in table.column_names]
    if "layer" in by:
        table = table.filter(compute.and_(compute.is_valid(table["layer"]), compute.is_valid(table["head"])))
    seen: set[tuple[Any, ...]] = set()
    for row in zip(*(table[name].to_pylist() for name in by), strict=True):
        if row in seen:
            return dict(zip(by, row, strict=True))
        seen.add(row)
    return None
