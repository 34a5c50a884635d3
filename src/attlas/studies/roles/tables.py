"""From scores to tables: every head under every definition, and the heads that are named.

A head is named on one half of the texts and scored on the other, and so are the heads of untrained twins. ``p`` asks
whether a head's figure is beyond chance (below it, where small figures are meant), by flipping the signs of texts,
corrected over all heads of a definition.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from attlas.ids import Stream
from attlas.stats import Estimate, above_zero, estimate
from attlas.store.columns import as_columns
from attlas.studies.roles.definition import EVEN, Definition, Trial
from attlas.studies.roles.scores import Scored
from attlas.studies.shared.figures import ends_of, spread

if TYPE_CHECKING:
    from attlas.capture import Subject

NAMED = 5  # heads that are named for each definition
_HEADS = (
    "stream", "layer", "head", "definition", "value", "low", "high", "chance", "n", "units", "first_half",
    "second_half", "twin", "twin_low", "twin_high", "p_corrected",
)  # fmt: skip
_NAMED = (
    "stream", "definition", "rank", "layer", "head", "chosen_value", "value", "low", "high", "chance", "p_corrected",
    "twin_layer", "twin_head", "twin",
)  # fmt: skip
Columns = dict[str, list[Any]]
Numbers = NDArray[np.float64]


@dataclass(frozen=True)
class Outcome:
    """What a trial has given for one stream: the model's scores, and those of its untrained twins."""

    trial: Trial
    definitions: Sequence[Definition]
    stream: Stream
    own: Scored
    twins: Sequence[Scored]

    def chance(self, number: int) -> Numbers:
        """The chance level of a definition, by layer; NaN where it has none."""
        definition = self.definitions[number]
        if definition.chance == EVEN:
            return self.own.chance[:, number]
        level = np.nan if definition.chance is None else float(definition.chance)
        return np.full(self.own.chance.shape[0], level)

    def margins(self, number: int, half: int | None = None) -> tuple[Numbers, Numbers]:
        """By how much each unit's sums are beyond chance, (unit, layer, head), and their counts."""
        sums, counts = (part[..., number] for part in self.own.of(half))
        beyond = sums - counts * self.chance(number)[:, None]
        return (-beyond if self.definitions[number].below else beyond), counts


def head_tables(subject: Subject, outcomes: Sequence[Outcome], seed: int = 0) -> dict[str, Columns]:
    """The tables ``heads`` and ``named``."""
    rows: list[dict[str, Any]] = []
    named: list[dict[str, Any]] = []
    for outcome in outcomes:
        grid = subject.grid(outcome.stream)
        for number, definition in enumerate(outcome.definitions):
            if outcome.stream in definition.streams and (outcome.own.counts[..., number] > 0).any():
                rows += _rows(outcome, number, grid, seed)
                named += _named(outcome, number, seed)
    return {"heads": as_columns(rows, _HEADS), "named": as_columns(named, _NAMED)}


def figures(outcome: Outcome, number: int, half: int | None = None) -> Estimate:
    """The figures of a definition, (layer, head), with intervals over texts."""
    sums, counts = (part[..., number] for part in outcome.own.of(half))
    return estimate(sums, counts, outcome.definitions[number].within)


def _rows(outcome: Outcome, number: int, grid: NDArray[np.bool_], seed: int) -> list[dict[str, Any]]:
    definition, chance = outcome.definitions[number], outcome.chance(number)
    whole, first, second = figures(outcome, number), outcome.own.mean(1), outcome.own.mean(2)
    twin = _of_twins(outcome, number)
    p = _p(outcome, number, seed)
    units = (outcome.own.counts[..., number] > 0).sum(0)
    return [
        {"stream": outcome.stream.value, "layer": layer, "head": head, "definition": definition.key,
         **ends_of(whole, (layer, head)), "chance": chance[layer], "n": whole.n[layer, head],
         "units": int(units[layer, head]), "first_half": first[layer, head, number],
         "second_half": second[layer, head, number], **ends_of(twin, (layer, head), "twin"),
         "p_corrected": p[layer, head]}
        for layer, head in np.argwhere(grid & (whole.n > 0)).tolist()
    ]  # fmt: skip


def _of_twins(outcome: Outcome, number: int) -> Estimate:
    if not outcome.twins:
        return Estimate(*(np.full(outcome.own.mean().shape[:2], np.nan) for _ in Estimate._fields))
    found = []
    for twin in outcome.twins:
        value = twin.mean()[..., number]
        found.append(Estimate(value, np.ones_like(value), value, value))
    return spread(found, found[0])


def _p(outcome: Outcome, number: int, seed: int, half: int | None = None) -> Numbers:
    margins, counts = outcome.margins(number, half)
    p = above_zero(np.nan_to_num(margins), counts, seed=seed).p_corrected
    return np.where(np.isfinite(outcome.chance(number))[:, None], p, np.nan)


def chosen(scores: Scored, number: int, definition: Definition, most: int = NAMED) -> list[tuple[int, int]]:
    """The heads of the largest figures on the half for choosing (the smallest, where these are meant), in order."""
    value = scores.mean(1)[..., number]
    order = np.argsort(value if definition.below else -value, axis=None, kind="stable")  # NaN come last
    places = [divmod(int(at), value.shape[1]) for at in order]
    return [place for place in places if np.isfinite(value[place])][:most]


def _named(outcome: Outcome, number: int, seed: int) -> list[dict[str, Any]]:
    definition = outcome.definitions[number]
    if not {1, 2} <= set(outcome.own.halves.tolist()):
        return []
    first, second, chance = outcome.own.mean(1), figures(outcome, number, 2), outcome.chance(number)
    p = _p(outcome, number, seed, 2)
    rivals = [chosen(twin, number, definition) for twin in outcome.twins[:1]]
    rows = []
    for rank, place in enumerate(chosen(outcome.own, number, definition)):
        row = {
            "stream": outcome.stream.value, "definition": definition.key, "rank": rank + 1, "layer": place[0],
            "head": place[1], "chosen_value": first[(*place, number)], **ends_of(second, place),
            "chance": chance[place[0]], "p_corrected": p[place],
            "twin_layer": None, "twin_head": None, "twin": None,
        }  # fmt: skip
        if rivals and rank < len(rivals[0]):
            rival = rivals[0][rank]
            row |= {"twin_layer": rival[0], "twin_head": rival[1], "twin": outcome.twins[0].mean(2)[(*rival, number)]}
        rows.append(row)
    return rows


def left_out_table(reasons: Mapping[str, str]) -> Columns:
    """Definitions that were not scored, and why."""
    return as_columns(
        [{"definition": name, "reason": why} for name, why in reasons.items()], ("definition", "reason")
    )
