"""How far the figures of the card are from their bars, where the bars are estimates too.

A bar such as "as well as gradients and leave-one-out agree with each other" comes from the same texts as the figure
beside it, and is no surer. So figure and bar are made again on the same resamples of units (a paired bootstrap), and
what is judged is their *margin*: positive where attention passes. The tails that are cut off are those of Student's
t for so many units (Hesterberg 2015), for a plain bootstrap of few units is too narrow. A bootstrap it is all the
same, and not an interval of :mod:`attlas.stats.scores`: a bar that is clipped, a share of a size, or the lower of two
is no smooth function of sums.

One rate holds for all verdicts: if figure and bar were truly the same, at most one run in twenty would give a
verdict, one in forty on either side (:data:`RATE`). Two of the bars are the larger or the smaller of several numbers.
There every comparison counts by itself, and each may err half as often, so that they do not err more often together.

What uniform attention costs may rest on the few texts whose answer changed, or on none. As many texts are added in
the resamples as Agresti and Coull add to a share, four: two that are lost by the change, and two that are won. There
is no verdict below :data:`FEWEST` units, for fewer that are skewed would give too many. How often verdicts are given
at a tie is counted by ``tools/coverage.py``.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from attlas.stats import Metric
from attlas.stats.intervals import ALIKE
from attlas.studies.faith.middles import Middle, by_unit, median_over_units

Numbers = NDArray[np.float64]
RATE = 0.05  # of verdicts at a tie, both sides together
FEWEST = 20  # units, below which there is no verdict
RESAMPLES = 2000
ADDED = 2  # texts that are lost by a change in the resamples, and as many that are won

# Kendall's tau: attention should agree with another explanation as well as gradients and leave-one-out agree with
# each other. Where these hardly agree it should still put two words in the same order in three cases of five (that is
# tau .2); more than three cases of four (tau .5) is asked of nobody.
LEAST_TAU, MOST_TAU = 0.2, 0.5
# Shuffled attention should move a tenth of the probability in half of the instances: ten times the bound within which
# an adversary's prediction passes for the same.
MOVED = 0.1
# An adversary should get no further than if half of the attention on one word had gone elsewhere: that is a
# Jensen-Shannon divergence of .311 times ln 2.
FAR = 0.311
# Without attention a tenth should be lost of what the score is above always giving the most frequent label.
NEEDED = 0.1
# The most attended words should matter half as much, over random words, as those that gradients name.
HALF = 0.5


class Margin(NamedTuple):
    """A bar, how far the figure is on the right side of it, and the interval of that; NaN where there is none.

    >>> Margin(0.2, 0.05, 0.01, 0.09).columns()
    {'bar': 0.2, 'margin': 0.05, 'margin_low': 0.01, 'margin_high': 0.09}
    """

    bar: float
    value: float
    low: float = math.nan
    high: float = math.nan

    def columns(self) -> dict[str, Any]:
        """It as four cells of a table."""
        return {"bar": self.bar, **Middle(*self[1:]).columns("margin")}


class Resamples:
    """Units drawn anew, many times: the same draws for whatever is compared.

    >>> draws = Resamples([0, 0, 1], seed=1, count=3)
    >>> draws.units, draws.means([1.0, 1.0, 4.0])[0].item()
    (2, 2.0)
    """

    def __init__(self, owners: Sequence[int], *, seed: int = 0, count: int = RESAMPLES) -> None:
        self.owners, self.units = owners, len(set(owners))
        drawn = np.random.default_rng(seed).multinomial(self.units, np.full(self.units, 1 / self.units), size=count)
        self.copies = np.concatenate([np.ones((1, self.units)), drawn])  # the first is the sample itself

    def means(self, values: ArrayLike) -> Numbers:
        """The mean over instances in the sample and in each resample, (1 + resamples,)."""
        sums, counts = (self.copies @ part for part in by_unit(values, self.owners))
        means: Numbers = np.divide(sums, counts, out=np.full_like(sums, np.nan), where=counts > 0)
        return means

    def ends(self, drawn: Numbers, *, sides: int = 1) -> tuple[float, float]:
        """The interval of what was made of the sample (first) and of each resample; ``sides`` is how many
        comparisons a verdict may rest on alike. NaN where there are too few units."""
        return ends_of(drawn[1:], self.units, sides)


def ends_of(drawn: Numbers, units: int, sides: int = 1) -> tuple[float, float]:
    """The interval that resamples of so many units give.

    >>> low, high = ends_of(np.random.default_rng(0).normal(size=100_000), 1000)
    >>> round(low, 1), round(high, 1), ends_of(np.zeros(9), 19)
    (-2.0, 2.0, (nan, nan))
    """
    from scipy.special import ndtr, stdtrit

    known = drawn[np.isfinite(drawn)]
    if units < FEWEST or not len(known):
        return math.nan, math.nan
    tail = float(ndtr(stdtrit(units - 1, RATE / 2 / sides) * math.sqrt(units / (units - 1))))
    low, high = np.quantile(known, (tail, 1 - tail))
    return float(low), float(high)


def tau_margin(draws: Resamples, taus: ArrayLike, peers: ArrayLike | None) -> Margin:
    """Of the agreement of attention with another explanation, where ``peers`` are the taus of gradients with
    leave-one-out. The bar is what these have, but no less than :data:`LEAST_TAU` and no more than :data:`MOST_TAU`.

    >>> draws = Resamples(range(40))
    >>> [round(number, 2) for number in tau_margin(draws, np.full(40, 0.6), np.full(40, 0.4))]
    [0.4, 0.2, 0.2, 0.2]
    """
    own = draws.means(taus)
    if peers is None:
        return Margin(MOST_TAU, float(own[0]) - MOST_TAU, *draws.ends(own - MOST_TAU))
    theirs = draws.means(peers)
    bar = float(np.clip(theirs[0], LEAST_TAU, MOST_TAU))
    least, most, level = (draws.ends(own - rival, sides=2) for rival in (LEAST_TAU, MOST_TAU, theirs))
    low, high = (min(least[end], max(most[end], level[end])) for end in (0, 1))
    return Margin(bar, float(own[0]) - bar, low, high)


def erased_margin(draws: Resamples, over: ArrayLike, rival: ArrayLike | None) -> Margin:
    """Of what erasing the most attended words costs over random ones, where ``rival`` is the same of the words that
    gradients name. The bar is :data:`HALF` of that, and no less than nothing.

    >>> draws = Resamples(range(40))
    >>> [round(number, 2) for number in erased_margin(draws, np.full(40, 0.2), np.full(40, 0.3))]
    [0.15, 0.05, 0.05, 0.05]
    """
    own = draws.means(over)
    if rival is None:
        return Margin(0.0, float(own[0]), *draws.ends(own))
    part = HALF * draws.means(rival)
    bar = max(0.0, float(part[0]))
    nothing, beside = (draws.ends(own - other, sides=2) for other in (0.0, part))
    return Margin(bar, float(own[0]) - bar, min(nothing[0], beside[0]), min(nothing[1], beside[1]))


def median_margin(values: ArrayLike, units: Sequence[int], bar: float, *, above: bool = True) -> Margin:
    """Of a median that should be at a bar or above it, or else below it.

    >>> values = [0.25] * 20
    >>> median_margin(values, range(20), 0.125)[1:], median_margin(values, range(20), 0.5, above=False)[1:]
    ((0.125, 0.125, 0.125), (0.25, 0.25, 0.25))
    """
    value, low, high = median_over_units(values, units)
    if len(set(units)) < FEWEST:
        low = high = math.nan
    if above:
        return Margin(bar, value - bar, low - bar, high - bar)
    return Margin(bar, bar - value, bar - high, bar - low)


def needed_margin(
    metric: Metric, own: ArrayLike, under: ArrayLike, frequent: ArrayLike | None = None, *, seed: int = 0
) -> Margin:
    """Of what the score loses when attention is uniform: from the marks of units, (unit, column), of the model as it
    is and under the change; and, where always giving the most frequent label has a score, from how often that is
    right in each unit and of how many, (unit, 2). The bar is a change for the worse by :data:`NEEDED` of what the
    score is above that.

    >>> from attlas.stats import METRICS
    >>> own, under = np.ones((200, 2)), np.ones((200, 2))
    >>> under[:60, 0] = 0
    >>> margin = needed_margin(METRICS["accuracy"], own, under, np.tile([0.5, 1.0], (200, 1)))
    >>> round(margin.bar, 3), round(margin.value, 3), margin.low > 0
    (-0.05, 0.25, True)
    """
    before, after = metric.counts(own), metric.counts(under)
    shares = np.tile([0.0, 1.0], (len(before), 1)) if frequent is None else np.asarray(frequent, dtype=np.float64)
    right, wrong = _extremes(metric, before)
    mean = right[-1] * shares.sum(0) / max(shares[:, 1].sum(), 1e-9)
    before, after, shares = (
        np.concatenate([rows, *[pair] * ADDED])
        for rows, pair in (
            (before, np.stack([right, wrong])), (after, np.stack([wrong, right])), (shares, np.stack([mean, mean])),
        )
    )  # fmt: skip
    texts = len(before)
    sample = np.ones((1, texts))
    sample[:, texts - 2 * ADDED :] = 0
    drawn = np.random.default_rng(seed).multinomial(texts, np.full(texts, 1 / texts), size=RESAMPLES)
    copies = np.concatenate([sample, drawn])
    score, others, chance = metric.of(copies @ before), metric.of(copies @ after), copies @ shares
    least = NEEDED * np.abs(score - chance[:, 0] / np.maximum(chance[:, 1], 1e-9))
    margins = metric.worse(others - score) - least
    ends = ends_of(margins[1:], texts - 2 * ADDED)
    return Margin(float(metric.worse(least[0])), float(margins[0]), *ends)


def _extremes(metric: Metric, marks: Numbers) -> tuple[Numbers, Numbers]:
    """The marks of a text that is all right, and of one that is all wrong: of as many cases as those of a usual text
    amount to, which resemble each other."""
    if metric.mistaken is not None:
        usual = marks.sum(0) / max(marks.sum(), 1e-9)
        return metric.mistaken(usual, np.array(0.0)), metric.mistaken(usual, np.array(1.0))
    cases = 1 + max(0.0, float(marks[:, -1].mean()) - 1) * ALIKE
    return np.full(marks.shape[1], cases), np.concatenate([[0.0], np.full(marks.shape[1] - 1, cases)])
