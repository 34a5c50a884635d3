"""Intervals of scores: of chunk F1, Matthews' correlation, perplexity, BLEU and all others of one table.

A score is a formula over sums of counts (:mod:`attlas.stats.metrics`). What a unit does to it is the difference that
leaving the unit out would make: of a mean over cases, that is its residual over what its leverage leaves of the sum,
so the standard error of :mod:`attlas.stats.intervals` is the jackknife's, and everything else there (Student's
quantiles by units of equal size, Hall's skewness, a beta interval inside the range, "never" that is not certain)
holds for any score. A mean over cases has the very interval that :func:`~attlas.stats.intervals.estimate` gives it.
Perplexity has the interval of its logarithm.

The *change* of a score, both models on the same units, has its interval from what units do to the difference. It is
one in the range from the most that can be lost to the most that can be won. Two models of which no unit tells any
difference may still differ in units that were not seen, in as large a share as one of which not one case was seen.
A change of perplexity moves both logarithms together, as they go with the change. With fewer than
:data:`~attlas.stats.intervals.FEWEST` units there is no interval.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import ArrayLike, NDArray

from attlas.errors import StatsError
from attlas.stats.intervals import FEWEST, Estimate, Moments, edge, ends_within, free_ends, moments_of, reach
from attlas.stats.metrics import Metric, by_unit

Numbers = NDArray[np.float64]
Ends = tuple[Numbers, Numbers]
_AT_ONCE = 4_000_000  # numbers in one slice of cells
_ROUNDING = 1e-18  # of the mean square, below which units do not differ
_NEAR = 1e-9  # of a share


def estimate_score(metric: Metric, marks: ArrayLike, *, units: ArrayLike | None = None) -> Estimate:
    """A score with its interval, from marks (..., text, column); ``units`` are numbers of what counts as independent,
    one for each text, and each text is one where none are given.

    >>> from attlas.stats.metrics import METRICS
    >>> marks = np.tile([[2.0, 2.0, 2.0], [1.0, 2.0, 2.0]], (10, 1))
    >>> [round(float(number), 2) for number in estimate_score(METRICS["f1"], marks)]
    [0.75, 80.0, 0.62, 0.88]
    >>> np.isnan(estimate_score(METRICS["f1"], marks[:5]).low).item()
    True
    """
    counts = _counts(metric, marks, units)

    def ends(some: Numbers) -> Ends:
        score, without, sizes = _left_out(metric, some)
        if metric.log:
            low, high = free_ends(_moments(np.log(score), np.log(without), sizes, np.log(score)))
            return _inside((np.exp(low), np.exp(high)), metric.within)
        if not _closed(metric.within):
            return _inside(free_ends(_moments(score, without, sizes, score)), metric.within)
        first, last = metric.within
        share, shares = ((part - first) / (last - first) for part in (score, without))
        moments = _share(_moments(share, shares, sizes, share))
        low, high = ends_within(moments, metric.within, hits=metric.hits)
        if metric.mistaken is not None:  # as many may be wrong as one may have missed
            perfect = (moments.error == 0) & (moments.mean == 1)
            low = np.where(perfect, metric.of(metric.mistaken(some.sum(-2), edge(moments))), low)
        return low, high

    return _estimate(metric, counts.shape[:-2], ends, counts)


def estimate_change(
    metric: Metric, before: ArrayLike, after: ArrayLike, *, units: ArrayLike | None = None
) -> Estimate:
    """By how much a score is higher after than before, with its interval, from marks (text, column) and
    (..., text, column) of the same texts.

    >>> from attlas.stats.metrics import METRICS
    >>> before, after = np.ones((40, 2)), np.ones((40, 2))
    >>> after[:10, 0] = 0
    >>> [round(float(number), 2) for number in estimate_change(METRICS["accuracy"], before, after)]
    [-0.25, 40.0, -0.42, -0.12]
    >>> [round(float(number), 2) for number in estimate_change(METRICS["accuracy"], before, before)]
    [0.0, 40.0, -0.09, 0.09]
    """
    first, second = _counts(metric, before, units), _counts(metric, after, units)
    if first.ndim != 2 or second.shape[-2:] != first.shape:
        raise StatsError(f"marks of shape {second.shape} cannot be compared with marks of shape {first.shape}")
    old, old_without, old_sizes = _left_out(metric, first[None])

    def ends(some: Numbers) -> Ends:
        new, new_without, new_sizes = _left_out(metric, some)
        sizes, scale = (old_sizes + new_sizes) / 2, np.abs(old) + np.abs(new)
        if metric.log:
            return _moved(new, old, np.log(new / new_without), np.log(old / old_without), sizes)
        if not _closed(metric.within):
            return free_ends(_moments(new - old, new_without - old_without, sizes, scale))
        most = metric.within[1] - metric.within[0]
        share, shares = ((change / most + 1) / 2 for change in (new - old, new_without - old_without))
        moments = _share(_moments(share, shares, sizes, scale / most))
        low, high = ends_within(moments, (-most, most), hits=metric.hits)
        still = (moments.error == 0) & (moments.mean == 0.5) & metric.hits
        unseen = np.where(still, most * edge(moments), 0.0)
        return low - unseen, high + unseen

    changes = _estimate(metric, second.shape[:-2], ends, second)
    return changes._replace(value=changes.value - metric.of(first.sum(-2)))


def _counts(metric: Metric, marks: ArrayLike, units: ArrayLike | None) -> Numbers:
    counts = metric.accounts(marks)
    return counts if units is None else by_unit(counts, units)


def _left_out(metric: Metric, counts: Numbers) -> tuple[Numbers, Numbers, Numbers]:
    """Scores (cell,), those without each unit (unit, cell), and the cases of units, from counts (cell, unit,
    column)."""
    sums = counts.sum(-2, keepdims=True)
    return metric.of(sums[:, 0]), metric.of(sums - counts).T, metric.cases(counts).T


def _moments(score: Numbers, without: Numbers, sizes: Numbers, scale: Numbers) -> Moments:
    """What the interval of a score is made of; ``scale`` is what rounding is relative to."""
    total = sizes.sum(0)
    residual = (score - without) * (total - sizes)
    flat = (residual**2).sum(0) <= np.maximum(_ROUNDING * scale**2 * (sizes**2).sum(0), np.finfo(float).tiny)
    return moments_of(score, residual, sizes, flat)


def _share(moments: Moments) -> Moments:
    """Moments of a share, which is none, one half or all where rounding alone keeps it from that."""
    near = np.round(2 * moments.mean) / 2
    exact = (moments.error == 0) & (np.abs(moments.mean - near) < _NEAR)
    return moments._replace(mean=np.where(exact, near, moments.mean))


def _moved(new: Numbers, old: Numbers, of_new: Numbers, of_old: Numbers, sizes: Numbers) -> Ends:
    """The ends of a change of scores, from what leaving a unit out does to their logarithms: both are moved by as
    many standard errors of the change, in the direction in which they go with it."""
    together = new * of_new - old * of_old  # what a unit does to the change, where it does little
    moments = _moments(new - old, new - old - together, sizes, np.abs(new) + np.abs(old))
    spread = np.where(moments.error > 0, (together**2).sum(0), 1.0)
    with_new, with_old = ((part * together).sum(0) / spread for part in (of_new, of_old))

    def at(step: Numbers) -> Numbers:
        return np.asarray(new * np.exp(step * with_new) - old * np.exp(step * with_old))

    below, above = reach(moments)
    return np.minimum(new - old, at(-below * moments.error)), np.maximum(new - old, at(above * moments.error))


def _estimate(metric: Metric, axes: tuple[int, ...], ends: Callable[[Numbers], Ends], counts: Numbers) -> Estimate:
    """Scores of counts (..., unit, column), and the ends that are made of them some cells at a time."""
    flat = counts.reshape(-1, *counts.shape[-2:])
    value, cases = metric.of(flat.sum(-2)), metric.cases(flat)
    known = (cases > 0).sum(-1) >= FEWEST
    low, high = np.full((2, len(flat)), np.nan)
    places = np.flatnonzero(known)
    step = max(1, _AT_ONCE // max(1, flat[0].size if len(flat) else 1))
    with np.errstate(all="ignore"):
        for start in range(0, len(places), step):
            some = places[start : start + step]
            low[some], high[some] = ends(flat[some])
    parts = (value, cases.sum(-1), low, high)
    return Estimate(*(np.asarray(part.reshape(axes)) for part in parts))


def _closed(within: tuple[float, float]) -> bool:
    return bool(np.isfinite(within).all())


def _inside(ends: Ends, within: tuple[float, float]) -> Ends:
    return np.maximum(ends[0], within[0]), np.minimum(ends[1], within[1])
