"""From several parts to one atlas.

Parts are joined by putting their tables one below the other. Two models of one name are told apart by their
fingerprints, two corpora of one name by their hashes; of two results that ask the same of the same model and texts,
the one that was begun last counts. What is told of several results at once (the order of sentences, heads of which
nothing is said, disagreements, what stands out) is made after that.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import pyarrow as pa
from pyarrow import compute

from attlas.evidence import schemas
from attlas.evidence.disagreement import disagreements
from attlas.evidence.gathering import AND, OTHERS, TABLES, Part, opened_as, shaped, table_of
from attlas.evidence.matching import matches
from attlas.evidence.portraits import PLACE, nothing
from attlas.evidence.roles import role_rows

MOST_STANDING = 12
SAME = ("model", "study", "corpus", "measure")  # what two results have alike that ask the same
OF_SOURCES = ("heads", "portraits", "stands_out", "alike")
MARK = 6  # letters of a fingerprint that stand behind a name
Marks = dict[str, tuple[str, str]]  # by name: the name without a mark, and the mark


def joined(parts: Sequence[Part], left_out: Iterable[Mapping[str, str]] = ()) -> dict[str, pa.Table]:
    """The tables of an atlas, of all parts; what is doubled is left out, and told.

    >>> from attlas.evidence.example import example
    >>> part = Part("tiny", dict(example().tables))
    >>> both = joined([part, part])
    >>> both["heads"].num_rows, both["left_out"].to_pylist()[0]["reason"]
    (12, 'survey of tiny on sample: given twice')
    """
    apart = _told_apart(_told_apart(parts, "model", _model_marks(parts)), "corpus", _corpus_marks(parts))
    kept, doubled = _distinct(apart)
    tables: dict[str, pa.Table] = {}
    for name in (*TABLES, *OTHERS):
        own = [part[name] for part in kept if name in part and part[name].num_rows]
        own = [shaped(table, TABLES[name]) for table in own] if name in TABLES else own
        if own:
            tables[name] = pa.concat_tables(own, promote_options="permissive").unify_dictionaries()
        elif name in TABLES:
            tables[name] = table_of([], TABLES[name])
    tables["models"] = table_of(_of_each_stream(tables["models"]), schemas.MODELS)
    tables["roles"] = table_of(role_rows(), schemas.ROLES)
    tables["portraits"] = _ordered(tables["portraits"], tables["heads"])
    tables["stands_out"] = _strongest(tables["stands_out"])
    tables["matches"] = table_of(matches(tables["heads"], tables["models"]), schemas.MATCHES)
    tables["disagreements"] = table_of(disagreements(tables["portraits"]), schemas.DISAGREEMENTS)
    told = [*tables["left_out"].to_pylist(), *left_out, *doubled]
    tables["left_out"] = table_of([dict(row) for row in told], schemas.LEFT_OUT)
    return tables


def _model_marks(parts: Sequence[Part]) -> list[Marks]:
    """What tells the models of each part from others of their names: their fingerprints.

    One model that was opened with and without a task head has a fingerprint for each class, and as many layers and
    heads in both; such are taken for one.
    """
    rows = [part.tables["models"].to_pylist() for part in parts]
    named = [{row["model"]: _plain(row["model"], row["fingerprint"] or "") for row in own} for own in rows]
    opened: dict[str, dict[str, set[str]]] = defaultdict(lambda: defaultdict(set))
    shapes: dict[tuple[str, str], set[tuple[int, int]]] = defaultdict(set)
    for own, plain in zip(rows, named, strict=True):
        for row in own:
            name = plain[row["model"]]
            for family, letters in opened_as(row).items():
                opened[name][family].add(letters)
            shapes[name, row["stream"]].add((row["layers"], row["heads"]))
    one = {
        name
        for name, families in opened.items()
        if len(families) > 1 and all(len(letters) == 1 for letters in families.values())
        and all(len(shape) == 1 for (of, _), shape in shapes.items() if of == name)
    }  # fmt: skip
    return [
        {
            row["model"]: (plain[row["model"]], "" if plain[row["model"]] in one else row["fingerprint"] or "")
            for row in own
        }
        for own, plain in zip(rows, named, strict=True)
    ]


def _corpus_marks(parts: Sequence[Part]) -> list[Marks]:
    """What tells the corpora of each part from others of their names: their hashes."""
    return [
        {
            row["corpus"]: (_plain(row["corpus"], row["texts"] or ""), row["texts"] or "")
            for row in part.tables["sources"].to_pylist()
        }
        for part in parts
    ]


def _plain(name: str, letters: str) -> str:
    """A name without what tells it from others."""
    return name.removesuffix(f" ({letters[:MARK]})") if letters else name


def _told_apart(parts: Sequence[Part], column: str, marks: Sequence[Marks]) -> list[Part]:
    """Parts in which two things of one name, by what marks them, have different names."""
    known: dict[str, set[str]] = defaultdict(set)
    for own in marks:
        for plain, letters in own.values():
            known[plain].add(letters)
    apart = []
    for part, own in zip(parts, marks, strict=True):
        called = {
            name: f"{plain} ({letters[:MARK] or 'unknown'})" if len(known[plain]) > 1 else plain
            for name, (plain, letters) in own.items()
        }
        renamed = {name: new for name, new in called.items() if name != new}
        tables = {name: _renamed(own_table, column, renamed) for name, own_table in part.tables.items()}
        apart.append(Part(part.given, tables))
    return apart


def _renamed(table: pa.Table, column: str, names: Mapping[str, str]) -> pa.Table:
    """A table with other names in a column (of models also in the column of the model that it is compared with)."""
    for place in (column, "other") if column == "model" else (column,):
        if names and place in table.column_names:
            plain = table[place].cast(pa.string()).to_pylist()
            values = pa.array([names.get(value, value) for value in plain], pa.string()).dictionary_encode()
            table = table.set_column(table.column_names.index(place), place, values)
    return table


def _distinct(parts: Sequence[Part]) -> tuple[list[dict[str, pa.Table]], list[dict[str, str]]]:
    """The tables of all parts, with sources of their own numbers, of those that ask the same the one begun last."""
    last: dict[tuple[Any, ...], tuple[str, str, int, int]] = {}
    for at, part in enumerate(parts):
        for row in part.tables["sources"].to_pylist():
            key, mine = tuple(row[name] for name in SAME), (row["started"] or "", row["fingerprint"] or "")
            if key not in last or mine[0] > last[key][0]:
                last[key] = (*mine, at, row["source"])
    kept: list[dict[str, pa.Table]] = []
    told: list[dict[str, str]] = []
    number = 0
    for at, part in enumerate(parts):
        numbers: dict[int, int] = {}
        for row in part.tables["sources"].to_pylist():
            begun, fingerprint, where, source = last[tuple(row[name] for name in SAME)]
            if (where, source) == (at, row["source"]):
                numbers[row["source"]] = number
                number += 1
                continue
            what = f"{row['study']} of {row['model']} on {row['corpus']}"
            same = fingerprint == (row["fingerprint"] or "")
            why = "given twice" if same else f"there is one that was begun later ({begun or 'it does not say when'})"
            told.append({"given": part.given or what, "reason": f"{what}: {why}"})
        kept.append(_numbered(part.tables, numbers))
    return kept, told


def _numbered(tables: Mapping[str, pa.Table], numbers: Mapping[int, int]) -> dict[str, pa.Table]:
    """Tables with the sources that are kept, under new numbers; figures and sentences of others are gone."""
    there = tables["sources"]["source"].to_pylist()
    if [numbers.get(source) for source in there] == there:
        return dict(tables)
    named = dict(tables)
    old = pa.array(list(numbers), pa.int64())
    new = pa.array(list(numbers.values()), pa.int64())
    for name in ("sources", *OF_SOURCES):
        if name in tables:
            table = tables[name].filter(compute.is_in(tables[name]["source"], old))
            at = table.column_names.index("source")
            places = compute.index_in(table["source"], old)
            named[name] = table.set_column(at, "source", new.take(places.combine_chunks()))
    return named


def _of_each_stream(models: pa.Table) -> list[dict[str, Any]]:
    """One row for each model and stream; how many heads share keys is known where any result tells."""
    rows: dict[tuple[str, str], dict[str, Any]] = {}
    for row in models.to_pylist():
        first = rows.setdefault((row["model"], row["stream"]), row)
        first["key_heads"] = max(first["key_heads"] or 0, row["key_heads"] or 0)
        opened = opened_as(row) | opened_as(first)
        first["family"], first["fingerprint"] = (
            AND.join(sorted(opened)),
            AND.join(opened[name] for name in sorted(opened)),
        )
    return list(rows.values())


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
