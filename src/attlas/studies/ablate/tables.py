"""The tables of an ablation: what each cut did to score and loss, tested text by text and corrected for their number.

A survivor is the head whose layer does best when it is the only one left; it is chosen on other texts than those it
is scored on.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from attlas.stats import METRICS, Bundle, Comparison, Metric, compare, correlate, holm
from attlas.store.columns import as_cell, as_columns
from attlas.studies.ablate.passes import Ablation, Cut

Columns = dict[str, list[Any]]
HEAD = ("stream", "layer", "head")


class Effects(NamedTuple):
    """What every cut did: to the score, and to the loss."""

    score: Comparison
    loss: Comparison
    texts: int


def effects(study: Ablation, bundle: Bundle, *, seed: int = 0, tested: bool = True) -> Effects:
    """Compare every cut with the whole model; ``tested`` with p values and intervals, which take a while."""
    losses, marks = bundle["loss"].result(), bundle["marks"].result()
    filled = np.isfinite(losses[:, 0])
    losses, marks = losses[filled], marks[filled]
    paired = np.stack([losses, np.ones_like(losses)], -1)
    compared = [_compared(metric, part, seed, tested) for metric, part in _parts(study.metric, marks, paired)]
    return Effects(compared[0], compared[-1], int(filled.sum()))


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
    columns: Columns = {name: [as_cell(getattr(cuts[number].id, name)) for number in chosen] for name in HEAD}
    columns["stream"] = [str(stream.value) for stream in columns["stream"]]
    some = np.asarray(chosen, dtype=np.int64)
    for name, prefix, ends, part in (("score", "", "", of.score), ("loss", "loss_", "loss_change_", of.loss)):
        columns[name] = _cells(part.score[some])
        columns[f"{prefix}change"] = _cells(part.change[some])
        columns[f"{ends}low"], columns[f"{ends}high"] = _cells(part.low[some]), _cells(part.high[some])
        columns[f"{prefix}p"] = _cells(part.p[some])
        columns[f"{prefix}p_corrected"] = _cells(holm(part.p[some]))
    columns["n"] = [of.texts] * len(chosen)
    return columns


def correlation_rows(pairs: Mapping[tuple[str, str], tuple[Sequence[Any], Sequence[Any]]], seed: int) -> Columns:
    """Correlations of two figures of the same heads, by (with what, of what)."""
    rows = []
    for (what, quantity), (first, second) in pairs.items():
        agreement = correlate(_numbers(first), _numbers(second), seed=seed)
        rows.append({"with": what, "quantity": quantity, **agreement._asdict()})
    return as_columns(rows)


def _parts(metric: Metric, marks: NDArray[np.float64], losses: NDArray[np.float64]) -> list[tuple[Metric, Any]]:
    """The score's marks and the loss's, each once."""
    loss = METRICS["loss"]
    return [(loss, losses)] if metric is loss else [(metric, marks), (loss, losses)]


def _compared(metric: Metric, marks: NDArray[np.float64], seed: int, tested: bool) -> Comparison:
    cut = np.moveaxis(marks[:, 1:], 1, 0)
    if not tested:
        return compare(metric, marks[:, 0], cut, seed=seed, resamples=1, shuffles=1)
    return compare(metric, marks[:, 0], cut, seed=seed)


def _cells(values: NDArray[np.float64]) -> list[Any]:
    return [as_cell(value) for value in values]


def _numbers(values: Sequence[Any]) -> list[float]:
    return [float("nan") if value is None else float(value) for value in values]
