"""What a result brings to an atlas: its rows of all tables.

A :class:`Part` is what one result brings: its figures, sentences and source, under the name of its model. An atlas is
a part, too, so that atlases are joined as results are (:mod:`attlas.evidence.uniting`).
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from attlas.evidence import schemas
from attlas.evidence.extremes import standing_out
from attlas.evidence.figures import NUMBERS, Figure, figures
from attlas.evidence.neighbours import alike, alike_sentences
from attlas.evidence.portraits import general, said
from attlas.evidence.saying import Saying
from attlas.pages.prose import as_prose
from attlas.store.schema import Column, Schema

if TYPE_CHECKING:
    from attlas.pages.page import Page
    from attlas.store import Result

OTHERS = ("examples", "texts")  # tables that an atlas may hold and that are joined as they are
TABLES = {schema.table: schema for schema in schemas.SCHEMAS}


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
    measured = str(options.get("measure") or "")
    named, columns = figures(manifest.study, result.tables, told.page.schemas, measure=measured or "weight")
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
        "source": 0, "texts": str(manifest.corpus.get("sha256", ""))[:12], "measure": measured,
        "question": str(as_prose(told.page.title, model=model, corpus=corpus)),
        "started": manifest.started, "seconds": float(manifest.seconds), "folder": folder,
        "fingerprint": result.fingerprint,
    }  # fmt: skip
    heads = _head_table(named, columns, about | started)
    rows = {
        "sources": [source],
        "models": list(_models(manifest.model, model, result.tables)),
        "portraits": [{**about, "source": 0, "order": 0, **row} for row in sentences],
        "stands_out": [{**about, "source": 0, **row} for row in standing_out(named, columns, sentences)],
        "alike": [{**about, "source": 0, **row} for row in pairs],
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


def _models(about: Mapping[str, Any], name: str, tables: Mapping[str, pa.Table]) -> Iterator[dict[str, Any]]:
    """A row for each stream of a model, as a manifest tells; a table with a column ``key_head`` tells which heads
    share their keys."""
    shared: dict[tuple[str, int], set[int]] = defaultdict(set)
    for table in tables.values():
        if {"stream", "layer", "key_head"} <= set(table.column_names):
            for row in table.to_pylist():
                shared[row["stream"], row["layer"]].add(row["key_head"])
    for stream, counts in dict(about.get("streams") or {}).items():
        heads = counts.get("heads", 0)
        yield {
            "model": name, "family": str(about.get("class", "")), "stream": stream, "layers": counts.get("layers", 0),
            "heads": max(heads, default=0) if isinstance(heads, list) else heads,
            "key_heads": max((len(own) for (where, _), own in shared.items() if where == stream), default=0),
            "parameters": about.get("parameters", 0), "fingerprint": str(about.get("fingerprint", "")),
        }  # fmt: skip


AND = " + "  # between the classes, and the fingerprints, of a model that was opened as several


def opened_as(row: Mapping[str, Any]) -> dict[str, str]:
    """The fingerprints of a model of the table ``models`` by the class that it was opened as: it has several where
    some studies had put a task head on.

    >>> opened_as({"family": "BertModel + BertForMaskedLM", "fingerprint": "aa + bb"})
    {'BertModel': 'aa', 'BertForMaskedLM': 'bb'}
    """
    families, letters = (str(row.get(name) or "").split(AND) for name in ("family", "fingerprint"))
    return dict(zip(families, letters, strict=False))


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
