"""Removing heads in order: the orders, the curves through them, and their tables.

What :func:`attlas.prune` does before any weight is touched. Every pass over texts is a part of the run with a
checkpoint of its own.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from attlas.capture import Subject
from attlas.capture.reading import Reading
from attlas.errors import StoreError
from attlas.run.session import Run
from attlas.store import Result
from attlas.store.columns import as_columns
from attlas.studies.shared.cutting.chance import standing_row
from attlas.studies.shared.cutting.importance import Importance
from attlas.studies.shared.cutting.removal import (
    OneOff,
    Removal,
    Unit,
    by_chance,
    by_value,
    evenly,
    marks_per_text,
    to_remove,
)
from attlas.studies.shared.cutting.removal_tables import Line, curve_table, scores_of, shares_table
from attlas.tasks import Task

ORDER_BUDGET = 1024  # pieces of a batch, where a graph is kept or every unit is removed in turn
DRAWS = 3
REVERSED = "{} reversed"
VALUES = ("importance", "importance_size", "loss", "loss_low", "loss_high", "score")


@dataclass
class Job:
    """What is pruned, for which task, and what is known so far: orders and values of units, and which of them go."""

    subject: Subject
    task: Task
    units: list[Unit]
    steps: int
    keep: float | None
    even: bool
    seed: int
    orders: dict[str, list[int]] = field(default_factory=dict)
    values: dict[str, Any] = field(default_factory=dict)
    gone: list[int] | None = None
    draws: int = DRAWS

    def patterns(self) -> tuple[list[list[Unit]], list[Line]]:
        """All sets of units to be removed, the empty one first; and the curves through them. The last pattern is the
        cut itself, where there is one."""
        patterns: list[list[Unit]] = [[]]
        lines = []
        total = len(self.units)
        counts = sorted({round(total * step / self.steps) for step in range(self.steps + 1)})
        full = None
        drawn = [("random", draw) for draw in range(self.draws)] if self.orders else []
        for name, draw in [*((name, 0) for name in self.orders), *drawn]:
            order = self.orders[name] if name != "random" else by_chance(self.units, self.seed, draw)
            order = evenly(self.units, order) if self.even else order
            places = []
            for count in counts:
                if count in (0, total) and (count == 0 or full is not None):
                    places.append(0 if count == 0 else full or 0)
                    continue
                patterns.append([self.units[place] for place in order[:count]])
                places.append(len(patterns) - 1)
                full = len(patterns) - 1 if count == total else full
            lines.append(Line(name, draw, list(counts), places))
        if self.gone is not None:
            patterns.append([self.units[place] for place in self.gone])
        return patterns, lines


def put_in_order(
    job: Job, orders: Sequence[str], measured: Result | None, reading: Reading, run: Run, *, reverse: bool = False
) -> None:
    """Order the units by importance, and by what removing each alone did to the loss or to the score; with
    ``reverse``, the latter also the other way round, what cost most going first."""
    budget = min(run.budget, ORDER_BUDGET)
    if "importance" in orders:
        bundle = run.carry(Importance(job.task), reading, "importance", budget=budget)
        sizes = {stream: bundle[f"{stream}-size"].result().value for stream in job.task.streams}
        raw = np.array([sum(sizes[u.site.stream][u.site.layer, head] for head in u.heads) for u in job.units])
        job.values |= {"importance": _by_layer(job.units, raw), "importance_size": raw}
        job.orders["importance"] = by_value(job.units, job.values["importance"])
    if "loss" in orders:
        if measured is not None:
            values = changes_of(job.units, measured)
        else:
            estimate = run.carry(OneOff(job.task, job.units), reading, "loss", budget=budget)["change"].result()
            values = estimate.value
            job.values |= {"loss_low": estimate.low, "loss_high": estimate.high}
        job.values["loss"] = values
        job.orders["loss"] = by_value(job.units, values)
    if "score" in orders:
        assert measured is not None
        job.values["score"] = job.task.metric.worse(changes_of(job.units, measured, "change"))
        job.orders["score"] = by_value(job.units, job.values["score"])
    for name in ("loss", "score"):
        if reverse and name in job.orders:
            job.orders[REVERSED.format(name)] = job.orders[name][::-1]
    if job.keep is not None:
        job.gone = to_remove(job.units, job.orders[orders[0]], job.keep, even=job.even)


def _by_layer(units: Sequence[Unit], raw: Any) -> Any:
    """Values of units divided by the Euclidean norm of their layer's."""
    norms: dict[Any, float] = {}
    for unit, value in zip(units, raw, strict=True):
        norms[unit.site] = norms.get(unit.site, 0.0) + value**2
    return raw / np.array([norms[unit.site] ** 0.5 or 1.0 for unit in units])


def importance_of(units: Sequence[Unit], measured: Result) -> Any:
    """The importance of units as an ablation found it beside, on the same scale as an order by importance has."""
    return _by_layer(units, changes_of(units, measured, "importance"))


def changes_of(units: Sequence[Unit], measured: Result, column: str = "loss_change") -> Any:
    """The changes of loss (or another column, such as ``change``, that of the score) that an ablation has measured of
    heads, added up over a unit."""
    rows = measured.rows("ablation")
    known = {(row["stream"], row["layer"], row["head"]): row[column] for row in rows}
    try:
        values = [sum(known[head.stream.value, head.layer, head.head] for head in unit.ids) for unit in units]
    except KeyError as error:
        raise StoreError(
            f"the ablation has no change for head {error.args[0][2]} of {error.args[0][0]} layer "
            f"{error.args[0][1]}; ablate all heads"
        ) from None
    return np.array(values)


def curve(job: Job, reading: Reading, run: Run) -> dict[str, Any]:
    """Score the model under all patterns; tables of the curves, of what can go, of the order, and of the whole model
    against chance."""
    patterns, lines = job.patterns()
    marks = marks_per_text(job.task, reading.examples[0])
    part = Removal(job.task, patterns, texts=len(reading.examples), marks=marks)
    bundle = run.carry(part, reading, "curve", numbered=True)
    units = [example.unit for example in reading.examples]
    scores = scores_of(job.task.metric, bundle["marks"].result(), bundle["losses"].result(), job.seed, units=units)
    job.values["scores"] = scores
    own = bundle["marks"].result()[:, 0]
    whole = as_columns([{"task": job.task.name, **standing_row(job.task, reading.examples, own, seed=job.seed)}])
    if not lines:
        return {"order": _order_table(job), "whole": whole}
    heads = [[sum(len(unit.heads) for unit in patterns[place]) for place in line.patterns] for line in lines]
    return {
        "curve": curve_table(lines, len(job.units), heads, scores),
        "shares": shares_table(job.task.metric, lines, len(job.units), scores),
        "order": _order_table(job),
        "whole": whole,
    }


def _order_table(job: Job) -> dict[str, Any]:
    """One row per head: its unit's importance and one-off loss, when it goes, and whether it was cut."""
    named = {name: order for name, order in job.orders.items() if name in ("importance", "loss", "score")}
    orders = {name: evenly(job.units, order) if job.even else order for name, order in named.items()}
    places = {name: {place: turn for turn, place in enumerate(order)} for name, order in orders.items()}
    gone = set(job.gone or ())
    rows = []
    for place, unit in enumerate(job.units):
        known = {name: job.values[name][place] for name in VALUES if name in job.values}
        turns = {f"{name}_turn": turn[place] for name, turn in places.items()}
        for head in unit.heads:
            where = {"stream": unit.site.stream.value, "layer": unit.site.layer, "head": head, "unit": place}
            rows.append({**where, **known, **turns, "cut": None if job.gone is None else place in gone})
    return as_columns(rows)
