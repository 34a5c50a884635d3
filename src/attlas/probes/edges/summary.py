"""What a series of probes says in a few numbers, and how sure they are.

Two things say where in a model a task is solved. The **centre of gravity** of the mixing weights of the probe over
all layers says which layers it listens to; how far the weights are from uniform, K(s), says whether it minds. The
**expected layer** of the cumulative scores says where they rise: each layer counts with what it adds to the score.
How far these gains are from uniform is K(D). Both K are Kullback-Leibler divergences in nats.

Where there are several seeds, an interval is Student's over their values. Where there is one, it is over the *units*
of the test part: its documents, where there are enough of them, or else its sentences. A score is a ratio of sums
over units (F1 is twice what is common, over what is predicted and given), and has the interval of such a ratio; the
difference of two probes has that of a change of score on the same units (:mod:`attlas.stats.scores`). The expected
layer is no smooth function of sums: where layers add next to nothing, it is anywhere. So it is resampled by unit, all
probes on the same units in a resample. Its ends are those quantiles of the resamples that Student's would be among
normal ones, or few units would make it too narrow; with fewer than six units there is none.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from attlas.errors import StatsError
from attlas.stats.intervals import FEWEST
from attlas.stats.metrics import METRICS
from attlas.stats.scores import estimate_change, estimate_score

Numbers = NDArray[np.float64]
RESAMPLES = 1000
_AT_ONCE = 4_000_000  # numbers in one slice of resamples
_LOST = 0.025  # an interval is told only where no more resamples than this have no value


class Estimate(NamedTuple):
    """A number with the ends of its 95 % interval (NaN where it has none), and how many seeds it is from.

    >>> Estimate(0.5).n
    1
    """

    value: float
    low: float = float("nan")
    high: float = float("nan")
    n: int = 1


def scores(marks: ArrayLike) -> Numbers:
    """Micro-F1 from marks (..., sentence or label, 3): labels common to probe and corpus, predicted, given.

    >>> scores([[[1, 2, 1], [1, 1, 2]]])
    array([0.66666667])
    """
    return METRICS["f1"].of(np.asarray(marks, dtype=np.float64).sum(-2))


def by_unit(marks: ArrayLike, units: Sequence[int] | None) -> Numbers:
    """Marks (probe, unit, 3) from those of sentences (probe, sentence, 3), of which ``units`` are the units; without
    them every sentence is one.

    >>> by_unit([[[1, 2, 1], [1, 1, 2], [0, 1, 1]]], [4, 9, 4]).tolist()
    [[[1.0, 3.0, 2.0], [1.0, 1.0, 2.0]]]
    """
    counts = np.asarray(marks, dtype=np.float64)
    if units is None:
        return counts
    if counts.ndim != 3 or len(units) != counts.shape[1]:
        raise StatsError(f"the unit of each of {counts.shape[1:2]} sentences was expected, and {len(units)} came")
    known, places = np.unique(np.asarray(units), return_inverse=True)
    together = np.zeros((len(counts), len(known), counts.shape[2]))
    np.add.at(together.swapaxes(0, 1), places, counts.swapaxes(0, 1))
    return together


def score_intervals(marks: ArrayLike) -> tuple[Numbers, Numbers]:
    """The ends of the 95 % interval of the micro-F1 of every probe, from marks (probe, unit, 3).

    >>> low, high = score_intervals(np.tile([[[2.0, 2.0, 2.0], [1.0, 2.0, 2.0]]], (1, 8, 1)))
    >>> bool(0 < low[0] < 0.75 < high[0] < 1)
    True
    """
    scored = estimate_score(METRICS["f1"], marks)
    return scored.low, scored.high


def difference_interval(marks: ArrayLike, others: ArrayLike) -> tuple[float, float]:
    """The ends of the 95 % interval of what one probe has more than another on the same units, from the marks
    (unit, 3) of both.

    >>> low, high = difference_interval([[2, 2, 2], [2, 2, 2]] * 6, [[1, 2, 2], [2, 2, 2]] * 6)
    >>> round(low, 2), round(high, 2)
    (0.07, 0.43)
    """
    change = estimate_change(METRICS["f1"], others, marks)
    return float(change.low), float(change.high)


def resampled(marks: ArrayLike, *, seed: int = 0, resamples: int = RESAMPLES) -> Numbers:
    """Scores (resample, probe) of marks (probe, unit, 3) on units drawn with replacement. The same seed and number of
    units draw the same units, so that any two scores may be compared resample by resample.

    >>> drawn = resampled(np.ones((2, 5, 3)), resamples=4)
    >>> drawn.shape, float(drawn.min())
    ((4, 2), 1.0)
    """
    counts = np.asarray(marks, dtype=np.float64)
    if counts.ndim != 3 or counts.shape[-1] != 3 or not counts.shape[1]:
        raise StatsError(f"marks of shape (probe, unit, 3) were expected, and {counts.shape} came")
    probes, units, _ = counts.shape
    flat = counts.transpose(1, 0, 2).reshape(units, probes * 3)
    rng = np.random.default_rng(seed)
    found = np.empty((resamples, probes))
    step = max(1, _AT_ONCE // units)
    for start in range(0, resamples, step):
        size = min(step, resamples - start)
        copies = rng.multinomial(units, np.full(units, 1 / units), size=size).astype(np.float64)
        found[start : start + size] = METRICS["f1"].of((copies @ flat).reshape(size, probes, 3))
    return found


def centre_of_gravity(weights: ArrayLike, layers: Sequence[int]) -> float:
    """The mean layer of a mix: the sum of l s_l.

    >>> centre_of_gravity([0.5, 0.25, 0.25], [0, 1, 2])
    0.75
    """
    return float(np.asarray(weights, dtype=np.float64) @ np.asarray(layers, dtype=np.float64))


def from_uniform(shares: ArrayLike) -> Numbers:
    """How far shares (..., of) are from all being the same: the Kullback-Leibler divergence in nats; NaN where they
    do not sum to one.

    >>> from_uniform([[0.25] * 4, [1.0, 0.0, 0.0, 0.0]]).round(3).tolist()
    [0.0, 1.386]
    """
    known = np.asarray(shares, dtype=np.float64)
    with np.errstate(divide="ignore", invalid="ignore"):
        terms = np.where(known > 0, known * np.log(known * known.shape[-1]), 0.0)
    return np.where(np.abs(known.sum(-1) - 1) < 1e-4, terms.sum(-1), np.nan)


def gains(curve: ArrayLike) -> Numbers:
    """What each further layer adds: D^l = score of the probe on layers 0..l less that on 0..l-1, (..., layer).

    >>> gains([0.5, 0.75, 0.75]).tolist()
    [0.25, 0.0]
    """
    return np.diff(np.asarray(curve, dtype=np.float64), axis=-1)


def expected_layer(curve: ArrayLike, first: int = 0) -> Numbers:
    """The layer at which the score rises, on average over its rise: the sum of l D^l over the sum of D^l, of
    cumulative scores (..., layer) that begin with layer ``first``. NaN where the layers add nothing: a mean over
    gains that sum to nothing, or to less, is no place.

    >>> expected_layer([[0.5, 0.75, 1.0], [0.5, 0.4, 0.3]]).tolist()
    [1.5, nan]
    """
    added = gains(curve)
    total = added.sum(-1)
    layers = first + 1 + np.arange(added.shape[-1])
    safe = np.where(total > 0, total, 1.0)
    return np.where(total > 0, (added * layers).sum(-1) / safe, np.nan)


def gains_from_uniform(curve: ArrayLike) -> Numbers:
    """K(D): how far the gains of further layers are from all being the same, losses taken as none; NaN where no layer
    adds anything.

    >>> gains_from_uniform([[0.5, 0.7, 0.7], [0.5, 0.6, 0.7]]).round(3).tolist()
    [0.693, 0.0]
    """
    added = np.maximum(gains(curve), 0.0)
    total = added.sum(-1, keepdims=True)
    return from_uniform(np.where(total > 0, added / np.where(total > 0, total, 1.0), 0.0))


def over_seeds(values: Sequence[float], within: tuple[float, float] = (-math.inf, math.inf)) -> Estimate:
    """The mean of several seeds with Student's 95 % interval, as far as it lies ``within`` what the quantity can be;
    with one seed there is none. Seeds without a value are left out.

    >>> over_seeds([1.0, 2.0, 3.0])
    Estimate(value=2.0, low=-0.484..., high=4.484..., n=3)
    >>> over_seeds([1.0, 2.0, 3.0], within=(0, 5)).low
    0.0
    >>> over_seeds([1.0])
    Estimate(value=1.0, low=nan, high=nan, n=1)
    """
    known = np.array([value for value in values if np.isfinite(value)], dtype=np.float64)
    if not len(known):
        return Estimate(float("nan"), n=0)
    mean = float(known.mean())
    if len(known) < 2:
        return Estimate(mean, n=len(known))
    from scipy.stats import t

    reach = float(t.ppf(0.975, len(known) - 1) * known.std(ddof=1) / len(known) ** 0.5)
    least, most = map(float, within)
    return Estimate(mean, max(least, mean - reach), min(most, mean + reach), len(known))


def middle(replicates: ArrayLike, units: int) -> tuple[Numbers, Numbers]:
    """The ends of the 95 % interval by replicates (resample, ...) of so many units; NaN where too many of them have
    no value, or where there are too few units. Quantiles are those that Student's would be among normal replicates
    (Hesterberg's expanded percentiles), since resamples of few units vary less than new units would.

    >>> low, high = middle(np.stack([np.linspace(0, 1, 1001), np.full(1001, np.nan)], -1), units=10_000)
    >>> low.round(3).tolist(), high.round(3).tolist()
    ([0.025, nan], [0.975, nan])
    >>> round(float(middle(np.linspace(0, 1, 1001), units=10)[0]), 3)
    0.009
    """
    from scipy.special import ndtr, stdtrit

    drawn = np.asarray(replicates, dtype=np.float64)
    flat = drawn.reshape(len(drawn), -1)
    ends = np.full((2, flat.shape[1]), np.nan)
    if units < FEWEST:
        low, high = ends.reshape(2, *drawn.shape[1:])
        return np.asarray(low), np.asarray(high)
    outside = float(ndtr((units / (units - 1)) ** 0.5 * stdtrit(units - 1, 0.025)))
    for column, values in enumerate(flat.T):
        known = values[np.isfinite(values)]
        if len(values) and len(known) >= (1 - _LOST) * len(values):
            ends[:, column] = np.quantile(known, (outside, 1 - outside))
    low, high = ends.reshape(2, *drawn.shape[1:])
    return np.asarray(low), np.asarray(high)


def estimate(
    values: Sequence[float],
    ends: tuple[ArrayLike, ArrayLike],
    within: tuple[float, float] = (-math.inf, math.inf),
) -> Estimate:
    """A number from the values of all seeds. With several the interval is over them, ``within`` what the quantity can
    be; with one it is the one given, which is over units.

    >>> estimate([0.5], (0.4, 0.6)).low, estimate([0.5, 0.5], (0.4, 0.6)).low
    (0.4, 0.5)
    """
    mean = over_seeds(values, within)
    if mean.n != 1 or len(values) != 1:
        return mean
    return mean._replace(low=float(np.asarray(ends[0])), high=float(np.asarray(ends[1])))
