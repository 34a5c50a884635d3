"""Is a cut model really worse, or are these texts? A paired test on the texts themselves.

Both models have read the same texts. If the cut made no difference, it would be a toss of a coin which of a text's
two sets of marks belongs to which model; so they are swapped at random, text by text, thousands of times, and p is
the share of shuffles with a difference as large as the one that was seen (two-sided, the seen one counted among
them). There are as many shuffles as it takes for p to stay significant after correction for the number of cuts.
Intervals are those of :mod:`attlas.stats.scores`: of the change, from what each text does to the difference of the
two scores; with fewer than :data:`~attlas.stats.intervals.FEWEST` there are none. Where texts belong together
(windows of one document), their *unit* takes the place of the text in both: a document is swapped, and left out, as a
whole.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from attlas.errors import StatsError
from attlas.stats.metrics import Metric, by_unit
from attlas.stats.scores import estimate_change, estimate_score

Numbers = NDArray[np.float64]
SHUFFLES, PER_CUT = 10_000, 200
_AT_ONCE = 20_000_000  # numbers in one slice of shuffles


class Comparison(NamedTuple):
    """Scores of cut models beside that of the whole one; every field but ``whole`` has the axes of the cuts.

    ``low`` and ``high`` are of the change, ``score_low`` and ``score_high`` of the score itself.

    >>> Comparison._fields
    ('whole', 'score', 'score_low', 'score_high', 'change', 'low', 'high', 'p')
    """

    whole: float
    score: Numbers
    score_low: Numbers
    score_high: Numbers
    change: Numbers
    low: Numbers
    high: Numbers
    p: Numbers


def compare(
    metric: Metric,
    whole: ArrayLike,
    cut: ArrayLike,
    *,
    seed: int = 0,
    shuffles: int | None = None,
    units: ArrayLike | None = None,
) -> Comparison:
    """Compare the marks of the whole model, (text, column), with those of cut ones, (..., text, column).

    ``units`` are numbers of what counts as independent, one for each text; each text is one where none are given.

    >>> from attlas.stats.metrics import METRICS
    >>> whole, cut = np.ones((40, 2)), np.ones((40, 2))
    >>> cut[:20, 0] = 0
    >>> found = compare(METRICS["accuracy"], whole, cut)
    >>> found.change.item(), found.p.item() < 0.001
    (-0.5, True)
    """
    before, after = metric.counts(whole), metric.counts(cut)
    if before.ndim != 2 or after.shape[-2:] != before.shape:
        raise StatsError(f"marks of shape {after.shape} cannot be compared with marks of shape {before.shape}")
    if units is not None:
        before, after = by_unit(before, units), by_unit(after, units)
    axes, (texts, columns) = after.shape[:-2], before.shape
    flat = after.reshape(-1, texts, columns)
    rng = np.random.default_rng(seed)
    known, scores = metric.of(before.sum(0)), metric.of(flat.sum(1))
    change = scores - known
    wanted = max(SHUFFLES, PER_CUT * len(flat)) if shuffles is None else shuffles
    p = _shuffled(metric, before, flat, change, wanted, rng)
    of_score, of_change = estimate_score(metric, cut, units=units), estimate_change(metric, whole, cut, units=units)
    ends = (of_score.low, of_score.high, change.reshape(axes), of_change.low, of_change.high)
    return Comparison(float(known), scores.reshape(axes), *ends, p.reshape(axes))


def _shuffled(
    metric: Metric, before: Numbers, after: Numbers, seen: Numbers, shuffles: int, rng: np.random.Generator
) -> Numbers:
    """The share of shuffles whose difference is as large as the one seen."""
    cuts, texts, columns = after.shape
    differing = (after - before).transpose(1, 0, 2).reshape(texts, cuts * columns)
    sums, others = before.sum(0), after.sum(1)
    as_large = np.ones(cuts)
    bar = np.abs(seen) * (1 - 1e-9) - 1e-12
    step = max(1, _AT_ONCE // max(1, cuts * columns))
    for start in range(0, shuffles, step):
        swapped = rng.integers(0, 2, (min(step, shuffles - start), texts)).astype(np.float64)
        moved = (swapped @ differing).reshape(-1, cuts, columns)
        difference = metric.of(others - moved) - metric.of(sums + moved)
        as_large += (np.abs(difference) >= bar).sum(0)
    p: Numbers = np.where(np.isfinite(seen), as_large / (shuffles + 1), np.nan)
    return p
