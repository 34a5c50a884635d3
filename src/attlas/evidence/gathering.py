"""From results to the tables of an atlas, and from several atlases to one.

A :class:`Part` is what one result brings: its figures, sentences and source, under the name of its model. Parts are
joined by putting their tables one below the other; what is told of several at once (the order of sentences, heads of
which nothing is said, disagreements, what stands out) is made after that. An atlas is a part, too, so that atlases
are joined as results are.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray
from pyarrow import compute

from attlas.evidence import schemas
from attlas.evidence.disagreement import disagreements
from attlas.evidence.extremes import standing_out
from attlas.evidence.figures import NUMBERS, Figure, figures
from attlas.evidence.matching import matches
from attlas.evidence.neighbours import alike, alike_sentences
from attlas.evidence.portraits import PLACE, general, nothing, said
from attlas.evidence.roles import role_rows
from attlas.evidence.saying import Saying
from attlas.pages.prose import as_prose
from attlas.store.schema import Column, Schema

if TYPE_CHECKING:
    from attlas.pages.page import Page
    from attlas.store import Result

OTHERS = ("examples", "texts")  # tables that an atlas may hold and that are joined as they are
TABLES = {schema.table: schema for schema in schemas.SCHEMAS}
MOST_STANDING = 12


@dataclass(frozen=True)
class Told:
    """What there is to know of a study, for its results to take part: its page (for schemas and question), its
    sayings, and whether it is of another package."""

    page: Page
    sayings: Sequence[Saying] = ()
    outside: bool = False


@dataclass
class Part:
    """The tables that one result, or one atlas, brings; ``given`` is what it is called where it is left out."""

    given: str
    tables: dict[str, pa.Table] = field(default_factory=dict)


def part_of(result: Result, told: Told, *, command: str = "", folder: str = "", given: str = "") -> Part | None:
    """What a result of a study brings to an atlas; None where it has no figures of heads.

    >>> from attlas.pages import Page
    >>> from attlas.store import Manifest, Result
    >>> told = Told(Page("toy", "", answer=lambda tables: None))
    >>> part_of(Result(Manifest("toy"), {"loss": {"value": [0.5]}}), told) is None
    True
    """
    manifest = result.manifest
    options = manifest.plan.get("options", {}) if manifest.plan else {}
    named, columns = figures(
        manifest.study, result.tables, told.page.schemas, measure=str(options.get("measure") or "weight")
    )
    pairs = alike(result.tables, told.page.schemas)
    for rows in (columns, *pairs):
        _as_before_pruning(rows, manifest.model)
    if not len(columns["value"]) and not pairs:
        return None
    model, corpus = str(manifest.model.get("name", "a model")), str(manifest.corpus.get("name", "no corpus"))
    about = {"model": model, "study": manifest.study, "corpus": corpus}
    sentences = said(named, columns, told.sayings or (general(named) if told.outside else ()))
    sentences += alike_sentences(pairs)
    started = {"command": command, "version": str(manifest.versions.get("attlas", ""))}
    source = about | started | {
        "source": 0, "question": str(as_prose(told.page.title, model=model, corpus=corpus)),
        "started": manifest.started, "seconds": float(manifest.seconds), "folder": folder,
        "fingerprint": result.fingerprint,
    }  # fmt: skip
    heads = _head_table(named, columns, about | started)
    rows = {
        "sources": [source],
        "models": list(_models(manifest.model, model)),
        "portraits": [{**about, "order": 0, **row} for row in sentences],
        "stands_out": [{**about, **row} for row in standing_out(named, columns, sentences)],
        "alike": [{**about, **row} for row in pairs],
    }
    return Part(given, {"heads": heads, **{name: table_of(own, TABLES[name]) for name, own in rows.items()}})


def _as_before_pruning(rows: dict[str, Any], model: Mapping[str, Any]) -> None:
    """Give heads of a pruned model, of one row or of columns, the numbers that they had in the whole one."""
    for stream, counts in dict(model.get("streams") or {}).items():
        kept = counts.get("kept") if isinstance(counts, Mapping) else None
        if not kept:
            continue
        here = np.asarray(rows["stream"]) == stream
        for layer, head in (("layer", "head"), ("other_layer", "other_head")):
            if head in rows:
                layers, heads = (np.asarray(rows[name], np.int64) for name in (layer, head))
                widest = max(map(len, kept))
                before = np.array([[*numbers, *range(widest - len(numbers))] for numbers in kept], np.int64)
                moved = np.where(here, before[np.where(here, layers, 0), np.where(here, heads, 0)], heads)
                rows[head] = moved if moved.ndim else int(moved)


def _head_table(named: Sequence[Figure], columns: Mapping[str, NDArray[Any]], about: Mapping[str, str]) -> pa.Table:
    """The table of heads of one result, all texts as dictionaries."""
    count, which = len(columns["value"]), columns["figure"].astype(np.int32)
    arrays: dict[str, pa.Array] = {}
    for name, value in about.items():
        arrays[name] = _same(value, count)
    for name in ("quantity", "title", "kind", "definition"):
        arrays[name] = pa.DictionaryArray.from_arrays(
            pa.array(which), pa.array([getattr(figure, name) for figure in named], pa.string())
        )
    arrays["stream"] = pa.array(columns["stream"].tolist(), pa.string())
    for name in ("layer", "head"):
        arrays[name] = pa.array(columns[name].astype(np.int64))
    for name in NUMBERS:
        arrays[name] = pa.array(columns[name].astype(np.float64), from_pandas=True)
    arrays["source"] = pa.array(np.zeros(count, np.int64))
    return shaped(pa.table(arrays), schemas.HEADS)


def _same(value: str, count: int) -> pa.DictionaryArray:
    return pa.DictionaryArray.from_arrays(pa.array(np.zeros(count, np.int32)), pa.array([value], pa.string()))


def _models(about: Mapping[str, Any], name: str) -> Iterable[dict[str, Any]]:
    """A row for each stream of a model, as a manifest tells."""
    for stream, counts in dict(about.get("streams") or {}).items():
        heads = counts.get("heads", 0)
        yield {
            "model": name, "family": str(about.get("class", "")), "stream": stream, "layers": counts.get("layers", 0),
            "heads": max(heads, default=0) if isinstance(heads, list) else heads,
            "key_heads": counts.get("key_heads", 0), "parameters": about.get("parameters", 0),
            "fingerprint": str(about.get("fingerprint", "")),
        }  # fmt: skip


_TYPES = {"count": pa.int64(), "index": pa.int64(), "flag": pa.bool_()}


def arrow_type(column: Column) -> pa.DataType:
    """How a column of an atlas is stored.

    >>> arrow_type(Column("layer", "layer", "index")), arrow_type(Column("value", "value", "number"))
    (DataType(int64), DataType(double))
    """
    if not column.number and column.kind not in _TYPES:
        return pa.dictionary(pa.int32(), pa.string())
    return _TYPES.get(column.kind, pa.float64())


def table_of(rows: Iterable[Mapping[str, Any]], schema: Schema) -> pa.Table:
    """Rows as a table of an atlas; what a row lacks is missing.

    >>> table_of([{"model": "m", "layers": 6}], schemas.MODELS).num_rows
    1
    """
    told = list(rows)
    arrays = {}
    for column in schema.columns:
        kind = arrow_type(column)
        plain = pa.string() if pa.types.is_dictionary(kind) else kind
        arrays[column.name] = pa.array([row.get(column.name) for row in told], plain).cast(kind)
    return pa.table(arrays)


def shaped(table: pa.Table, schema: Schema) -> pa.Table:
    """A table with the columns of a schema, in its order and types; those that it lacks are empty."""
    arrays = {}
    for column in schema.columns:
        kind = arrow_type(column)
        arrays[column.name] = (
            table[column.name].cast(kind) if column.name in table.column_names else pa.nulls(table.num_rows, kind)
        )
    return pa.table(arrays)


def joined(parts: Sequence[Part], left_out: Iterable[Mapping[str, str]] = ()) -> dict[str, pa.Table]:
    """The tables of an atlas, of all parts; what is doubled is left out, and told."""
    kept, doubled = _distinct([part.tables for part in _told_apart(parts)], [part.given for part in parts])
    tables: dict[str, pa.Table] = {}
    for name in ("heads", "sources", "models", "portraits", "stands_out", "alike", "left_out", *OTHERS):
        own = [part[name] for part in kept if name in part and part[name].num_rows]
        if own:
            shapes = [shaped(table, TABLES[name]) if name in TABLES else table for table in own]
            tables[name] = pa.concat_tables(shapes, promote_options="permissive").unify_dictionaries()
    for schema in schemas.SCHEMAS:
        tables.setdefault(schema.table, table_of([], schema))
    tables["models"] = _first_of(tables["models"], ("model", "stream"))
    tables["roles"] = table_of(role_rows(), schemas.ROLES)
    tables["portraits"] = _ordered(tables["portraits"], tables["heads"])
    tables["stands_out"] = _strongest(tables["stands_out"])
    tables["disagreements"] = table_of(disagreements(tables["portraits"]), schemas.DISAGREEMENTS)
    tables["matches"] = table_of(matches(tables["heads"], tables["models"]), schemas.MATCHES)
    told = [*tables["left_out"].to_pylist(), *left_out, *doubled]
    tables["left_out"] = table_of([dict(row) for row in told], schemas.LEFT_OUT)
    return {name: tables[name] for name in (*TABLES, *OTHERS) if name in tables}


def _told_apart(parts: Sequence[Part]) -> list[Part]:
    """Parts in which two models (by fingerprint) of one name have different names."""
    prints: dict[str, dict[str, None]] = defaultdict(dict)
    for part in parts:
        for row in part.tables["models"].to_pylist():
            prints[row["model"]][row["fingerprint"]] = None
    twofold = {name: list(own) for name, own in prints.items() if len(own) > 1}
    renamed = []
    for part in parts:
        names = {
            row["model"]: f"{row['model']} ({row['fingerprint'][:6]})"
            for row in part.tables["models"].to_pylist()
            if row["model"] in twofold
        }
        renamed.append(Part(part.given, {name: _renamed(table, names) for name, table in part.tables.items()}))
    return renamed


def _renamed(table: pa.Table, names: Mapping[str, str]) -> pa.Table:
    """A table with other names of models, also in the claims of sentences about counts."""
    for column in ("model", "other"):
        if names and column in table.column_names:
            at = table.column_names.index(column)
            plain = table[column].cast(pa.string()).to_pylist()
            values = pa.array([names.get(value, value) for value in plain], pa.string())
            table = table.set_column(at, column, values.dictionary_encode())
    return table


def _distinct(
    parts: list[dict[str, pa.Table]], given: Sequence[str]
) -> tuple[list[dict[str, pa.Table]], list[dict[str, str]]]:
    """The parts with sources of their own numbers, of each model, study and corpus one: that which was begun last."""
    last: dict[tuple[str, str, str], tuple[str, str, int]] = {}
    told: list[dict[str, str]] = []
    for at, part in enumerate(parts):
        for row in part["sources"].to_pylist():
            key = (row["model"], row["study"], row["corpus"])
            mine = (row["started"] or "", row["fingerprint"] or "", at)
            if key not in last or mine[0] > last[key][0]:
                last[key] = mine
    kept, number = [], 0
    for at, part in enumerate(parts):
        numbers: dict[int, int] = {}
        for row in part["sources"].to_pylist():
            key = (row["model"], row["study"], row["corpus"])
            if last[key][2] == at and row["source"] not in numbers:
                numbers[row["source"]] = number
                number += 1
            else:
                begun, fingerprint, _ = last[key]
                same = fingerprint == row["fingerprint"]
                why = "given twice" if same else f"there is one that was begun at {begun}"
                what = f"{row['study']} of {row['model']} on {row['corpus']}"
                told.append({"given": given[at] or what, "reason": f"{what}: {why}"})
        kept.append(_numbered(part, numbers))
    return kept, told


def _numbered(part: dict[str, pa.Table], numbers: Mapping[int, int]) -> dict[str, pa.Table]:
    """A part with the sources that are kept, under new numbers; figures and sentences of others are gone."""
    sources = part["sources"].to_pylist()
    if len(numbers) == len(sources) == 1 and numbers.get(0) == 0:
        return part
    kept = {(row["model"], row["study"], row["corpus"]) for row in sources if row["source"] in numbers}
    tables = dict(part)
    for name in ("heads", "sources"):
        table = part[name].filter(compute.is_in(part[name]["source"], pa.array(list(numbers), pa.int64())))
        at = table.column_names.index("source")
        column = pa.array([numbers[value] for value in table["source"].to_pylist()], pa.int64())
        tables[name] = table.set_column(at, "source", column)
    if len(numbers) < len(sources):
        for name in ("portraits", "stands_out", "alike"):
            if name in part:
                told = zip(*(part[name][key].to_pylist() for key in ("model", "study", "corpus")), strict=True)
                tables[name] = part[name].filter(pa.array([key in kept for key in told], pa.bool_()))
    return tables


def _first_of(table: pa.Table, keys: tuple[str, ...]) -> pa.Table:
    """The first row for each combination of keys."""
    seen: set[tuple[Any, ...]] = set()
    at = []
    for row, key in enumerate(zip(*(table[name].to_pylist() for name in keys), strict=True)):
        if key not in seen:
            seen.add(key)
            at.append(row)
    return table.take(pa.array(at, pa.int64()))


def _ordered(portraits: pa.Table, heads: pa.Table) -> pa.Table:
    """The sentences head by head, the strongest first; a head without any gets one that says so."""
    told = portraits.filter(compute.not_equal(portraits["part"].cast(pa.string()), "none"))
    spoken = set(zip(*(told[name].to_pylist() for name in PLACE), strict=True))
    counts = heads.group_by(list(PLACE)).aggregate([([], "count_all")])
    silent = [
        nothing(dict(zip(PLACE, place, strict=True)), count)
        for *place, count in zip(*(counts[name].to_pylist() for name in (*PLACE, "count_all")), strict=True)
        if tuple(place) not in spoken
    ]
    table = pa.concat_tables([told, table_of(silent, schemas.PORTRAITS)]).unify_dictionaries()
    plain = pa.table({name: table[name].cast(pa.string()) if name in ("model", "stream", "study", "quantity") else
                      table[name] for name in (*PLACE, "strength", "study", "quantity")})  # fmt: skip
    order = compute.sort_indices(
        plain, [(name, "descending" if name == "strength" else "ascending") for name in plain.column_names]
    )
    table, plain = table.take(order), plain.take(order)
    keys = list(zip(*(plain[name].to_pylist() for name in PLACE), strict=True))
    places, at = [], 0
    for row, key in enumerate(keys):
        at = at + 1 if row and key == keys[row - 1] else 0
        places.append(at)
    return table.set_column(table.column_names.index("order"), "order", pa.array(places, pa.int64()))


def _strongest(table: pa.Table) -> pa.Table:
    """Of what stands out, for each model the strongest of each role."""
    rows: list[dict[str, Any]] = []
    counts: dict[str, int] = defaultdict(int)
    seen: set[tuple[str, str, str]] = set()
    for row in sorted(table.to_pylist(), key=lambda row: (row["model"], -row["strength"])):
        key = (row["model"], row["stream"], row["role"])
        if key not in seen and counts[row["model"]] < MOST_STANDING:
            seen.add(key)
            rows.append({**row, "order": counts[row["model"]]})
            counts[row["model"]] += 1
    return table_of(rows, schemas.STANDS_OUT)
