"""The tables of an ablation: what each cut did to score and loss, tested text by text and corrected for their number.

A survivor is the head whose layer does best when it is the only one left; it is chosen on other texts than those it
is scored on.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from attlas.stats import METRICS, Bundle, Comparison, Metric, compare, holm
from attlas.store.columns import as_cell
from attlas.studies.ablate.passes import Ablation, Cut

Columns = dict[str, list[Any]]


class Effects(NamedTuple):
    """What every cut did: to the score, and to the loss."""

    score: Comparison
    loss: Comparison
    texts: int


def effects(
    study: Ablation, bundle: Bundle, *, units: Sequence[int] | None = None, seed: int = 0, tested: bool = True
) -> Effects:
    """Compare every cut with the whole model; ``tested`` with p values, which take a while."""
    losses, marks = bundle["loss"].result(), bundle["marks"].result()
    filled = np.isfinite(losses[:, 0])
    losses, marks = losses[filled], marks[filled]
    how: dict[str, Any] = {"seed": seed} if tested else {"seed": seed, "shuffles": 1}
    how["units"] = None if units is None else np.asarray(units)[filled]

    def compared(metric: Metric, marks: NDArray[np.float64]) -> Comparison:
        return compare(metric, marks[:, 0], np.moveaxis(marks[:, 1:], 1, 0), **how)

    loss = compared(METRICS["loss"], np.stack([losses, np.ones_like(losses)], -1))
    score = loss if study.metric is METRICS["loss"] else compared(study.metric, marks)
    return Effects(score, loss, int(filled.sum()))


def choose(study: Ablation, bundle: Bundle) -> list[Cut]:
    """Of every site the cut that leaves most of the score; where the score is the same, the one with less loss."""
    if not study.cuts:
        return []
    changes = effects(study, bundle, tested=False)
    worse, loss = study.metric.worse(changes.score.change), changes.loss.change
    best: dict[Any, int] = {}
    for number, cut in enumerate(study.cuts):
        rival = best.get(cut.site)
        if rival is None or (worse[number], loss[number]) < (worse[rival], loss[rival]):
            best[cut.site] = number
    return [study.cuts[number] for number in best.values()]


def cut_rows(cuts: Sequence[Cut], chosen: Sequence[int], of: Effects) -> Columns:
    """One row for each of the cuts with these numbers: what became of score and loss, corrected for their number."""
    some = np.asarray(chosen, dtype=np.int64)
    heads = [cuts[number].id for number in chosen]
    columns: dict[str, Any] = {"stream": [str(head.stream.value) for head in heads]}
    columns |= {name: [getattr(head, name) for head in heads] for name in ("layer", "head")}
    for name, prefix, ends, part in (("score", "", "", of.score), ("loss", "loss_", "loss_change_", of.loss)):
        columns |= {
            name: part.score[some], f"{prefix}change": part.change[some], f"{ends}low": part.low[some],
            f"{ends}high": part.high[some], f"{prefix}p": part.p[some], f"{prefix}p_corrected": holm(part.p[some]),
        }  # fmt: skip
    columns["n"] = [of.texts] * len(heads)
    return {name: [as_cell(value) for value in column] for name, column in columns.items()}
