"""Results that are changed at random, within what a study could have measured.

Rows keep what tells them apart (names, places, counts); figures move. A figure takes its interval with it, and what
was corrected is never below what was not. ``settle`` puts right what follows from other cells, study by study.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from attlas.pages.page import Page
from attlas.store import Result
from attlas.store.schema import Column, Schema
from attlas.studies.align.tables import BY_NORM, ORACLE

Table = list[dict[str, Any]]
AXES = {  # what rows are told apart by, or are alike in, though it is a number
    "curve": ("share",), "shares": ("fall",), "models": ("weight",), "summary": ("weight",), "ranks": ("weight",),
    "examples": ("weight",), "per_instance": ("bound",),
}  # fmt: skip
FIGURES = ("share", "percent", "number", "signed", "seconds")
BOUNDED = ("share", "percent")


def figures(schema: Schema, rows: Table) -> list[Column]:
    """The columns of a table that hold figures, without those that belong to another."""
    return [column for column in schema.columns if column.kind in FIGURES and column.name in rows[0]
            and column.name not in {*schema.aside, *AXES.get(schema.table, ())}]  # fmt: skip


def of(column: Column, rows: Table) -> list[str]:
    """A figure and all that lies on its scale: its interval, its twin, chance."""
    ends = column.ends or ()
    return [name for name in (column.name, *ends) if name in rows[0]]


def number(value: Any) -> bool:
    """Whether a cell can be moved."""
    return isinstance(value, int | float) and not isinstance(value, bool) and np.isfinite(value)


def permuted(schema: Schema, rows: Table, rng: np.random.Generator) -> None:
    """Each figure goes to another row, with its interval."""
    order = rng.permutation(len(rows))
    names = [name for column in figures(schema, rows) for name in of(column, rows)]
    cells = [{name: rows[at][name] for name in names} for at in order]
    for row, other in zip(rows, cells, strict=True):
        row |= other


def moved(schema: Schema, rows: Table, rng: np.random.Generator) -> None:
    """Each figure is larger or smaller, by its own amount."""
    for column in figures(schema, rows):
        for row in rows:
            factor = rng.uniform(0.3, 1.3)
            for name in of(column, rows):
                if number(row[name]):
                    row[name] *= factor


def turned(schema: Schema, rows: Table, rng: np.random.Generator) -> None:
    """Figures that may be below zero turn round."""
    for column in figures(schema, rows):
        if column.kind == "signed" or any(number(row[column.name]) and row[column.name] < 0 for row in rows):
            for row in rows:
                for name in of(column, rows):
                    row[name] = -row[name] if number(row[name]) else row[name]
                if column.ends and column.ends[0] in row:
                    low, high = column.ends
                    row[low], row[high] = row[high], row[low]


def widened(schema: Schema, rows: Table, rng: np.random.Generator) -> None:
    """Intervals are wider or narrower: zero and the figures of others come to lie within or without."""
    for column in figures(schema, rows):
        for row in rows:
            factor = rng.choice([0.1, 1.0, 5.0])
            for name in column.ends or ():
                if number(row.get(name)) and number(row[column.name]):
                    row[name] = row[column.name] + factor * (row[name] - row[column.name])


def doubted(schema: Schema, rows: Table, rng: np.random.Generator) -> None:
    """p lie around the level, or all far above it."""
    centre = rng.choice([0.002, 0.01, 0.3])
    for row in rows:
        p = float(min(1.0, centre * np.exp(rng.normal(0, 1.5))))
        for column in schema.columns:
            if column.kind == "p" and number(row.get(column.name)):
                row[column.name] = min(1.0, p * (3 if column.family else 1))


def tied(schema: Schema, rows: Table, rng: np.random.Generator) -> None:
    """Figures are round, so that many are the same."""
    for column in figures(schema, rows):
        for row in rows:
            if number(row[column.name]):
                shift = round(row[column.name], 1) - row[column.name]
                row |= {name: row[name] + shift for name in of(column, rows) if number(row[name])}


def lost(schema: Schema, rows: Table, rng: np.random.Generator) -> None:
    """Some intervals and p are not known: too few units."""
    for column in schema.columns:
        names = column.ends or (() if column.kind != "p" else (column.name,))
        for row in rows:
            if rng.random() < 0.3:
                row.update({name: None for name in names if name in row})


def below(schema: Schema, rows: Table, rng: np.random.Generator) -> None:
    """Twins and chance change places with the model."""
    for column in figures(schema, rows):
        for other in (column.twin, column.chance):
            if other and other in rows[0] and rng.random() < 0.5:
                for row in rows:
                    if number(row[other]) and number(row[column.name]):
                        shift = row[other] - row[column.name]
                        row[other] = row[column.name]
                        for name in of(column, rows):
                            row[name] = row[name] + shift if number(row[name]) else row[name]


CHANGES: dict[str, Callable[[Schema, Table, np.random.Generator], None]] = {
    change.__name__: change for change in (permuted, moved, turned, widened, doubted, tied, lost, below)
}


def _relations(tables: dict[str, Table]) -> None:
    """The offset of a relation is the one that is right most often, and a head's margin is over that."""
    for row in tables["relations"]:
        best = max((other for other in tables["offsets"] if other["relation"] == row["relation"]),
                   key=lambda other: other["value"])  # fmt: skip
        row |= {"offset": best["offset"], "baseline": best["value"]}
        move(row, "margin", row["value"] - best["value"])
        if row["margin"] <= 0:
            row |= {name: max(row[name], 0.5) for name in ("p", "p_corrected") if number(row[name])}


def _clusters(tables: dict[str, Table]) -> None:
    """A single head has no tree."""
    if len(tables["clusters"]) == 1:
        tables.pop("joins", None)


def _methods(tables: dict[str, Table]) -> None:
    """How much better than attention a method is follows from both."""
    for row in tables["methods"]:
        wanted = {"method": "attention", "form": "chosen heads", "at": row["at"], "gold": row["gold"]}
        ours = next(other for other in tables["methods"] if wanted.items() <= other.items())
        move(row, "change", None if row is ours else row["f1"] - ours["f1"])


def _cuts(tables: dict[str, Table]) -> None:
    """A score after a cut is the whole model's and the change."""
    whole = tables["whole"][0]
    for row in (*tables["ablation"], *tables["survivors"]):
        row |= {"score": whole["score"] + row["change"], "loss": whole["loss"] + row["loss_change"]}


def move(row: dict[str, Any], column: str, value: float | None) -> None:
    """Another value for a figure; its interval goes with it."""
    shift = value - row[column] if value is not None and number(row[column]) else 0.0
    for name in ("low", "high") if column == "value" else (f"{column}_low", f"{column}_high"):
        if number(row.get(name)):
            row[name] = None if value is None else row[name] + shift
    row[column] = value


def _differences(tables: dict[str, Table]) -> None:
    """What one probe has more than another follows from both."""
    scores = {row["probe"]: row["value"] for row in tables["parse"]}
    for row in tables["differences"]:
        move(row, "value", scores[row["probe"]] - scores[row["other"]])


def _choices(tables: dict[str, Table]) -> None:
    """The layer that is chosen without gold has the largest mean norm, the oracle's the lowest error rate."""
    for row in tables["choices"]:
        if row["unit"] == "layer" and row["direction"] in ("forward", "backward"):
            own = {name: row[name] for name in ("side", "direction")} | {"head": None}
            wanted = own | {"measure": row["measure"], "aligner": "attention", "score": "AER"}
            rates = {rate["layer"]: rate for rate in tables["scores"] if wanted.items() <= rate.items()}
            norms = {norm["layer"]: norm["value"] for norm in tables["mean_norms"] if own.items() <= norm.items()}
            how = {BY_NORM: max(norms, key=lambda layer: norms[layer]),
                   ORACLE: min(rates, key=lambda layer: rates[layer]["value"])}  # fmt: skip
            if row["how"] in how:
                layer = how[row["how"]]
                row |= {"layer": layer, **{name: rates[layer][name] for name in ("value", "low", "high", "twin")}}


SETTLED: dict[str, Callable[[dict[str, Table]], None]] = {
    "ablate": _cuts, "relations": _relations, "clusters": _clusters, "keywords-compare": _methods,
    "parse": _differences, "align": _choices,
}  # fmt: skip


def perturbed(page: Page, result: Result, rng: np.random.Generator) -> tuple[Result, list[str]]:
    """A result of which some changes were made, and what they were."""
    names = [name for name in CHANGES if rng.random() < 0.35]
    small = rng.random() < 0.15
    schemas = {schema.table: schema for schema in page.schemas}
    tables: dict[str, Table] = {}
    for table in result.tables:
        rows: Table = [dict(row) for row in result.tables[table].to_pylist()]
        if small and "head" in rows[0]:
            rows = [row for row in rows if row.get("layer") in (0, None) and row["head"] in (0, None)
                    and "head_b" not in row] or rows * ("head_b" not in rows[0])  # fmt: skip
        for name in names:
            if rows:
                CHANGES[name](schemas[table], rows, rng)
        if rows:
            tables[table] = rows
    SETTLED.get(page.study, lambda tables: None)(tables)
    columns = {table: {name: [row[name] for row in rows] for name in rows[0]} for table, rows in tables.items()}
    return Result(result.manifest, columns), names + ["one head"] * small
