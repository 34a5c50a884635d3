"""Intervals of a mean over units, which hold with twenty units as with a thousand.

A *unit* is what was drawn independently of the others: a document, or a text where documents are not known. Unit *u*
brings a sum s_u over n_u cases; the estimate is the ratio r = Σs_u / Σn_u. What surrounds it with a 95 % interval:

- the variance is Σ e_u² / (1 - h_u)² / (Σn_u)², where e_u = s_u - r n_u is what the unit adds to the error and
  h_u = n_u / Σn its leverage: a long unit draws the ratio towards itself and so hides its own error;
- quantiles are Student's, with as many degrees of freedom as there are units *of equal size* (Σn)² / Σn² - 1;
- skewed units make the interval skewed, by Hall's transformation with the third moment of the e_u;
- a quantity that lives in a range (a share, a margin) gets a beta interval in that range, with the effective number
  of cases that its variance amounts to (as Korn and Graubard do for surveys); what skewness of its own such an
  interval has, is not corrected again; one that has only a lower or an upper bound has its ends cut there;
- where *hits* are counted and there are none, or nothing but hits, the data cannot say how alike the cases of a unit
  are; the interval is then Clopper and Pearson's for the number of cases that cases alike by :data:`ALIKE` (their
  correlation within a unit) amount to.

With fewer than :data:`FEWEST` units there is no interval. How often these cover the truth is measured by
``tools/coverage.py``. Scores that are no ratio have intervals made of the same parts (:mod:`attlas.stats.scores`):
:class:`Moments` is what an interval is made of, :func:`free_ends` and :func:`ends_within` make it.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

Numbers = NDArray[np.float64]
FEWEST = 6  # units, below which no interval is given
LEVEL = 0.95
ALIKE = 0.2  # the correlation of a unit's cases that is assumed where there is no hit, or nothing else
_LEAST, _MOST = 1.6, 60.0  # how near and how far an end may be, in standard errors, once skewness is known
_FLAT = 1e-12  # of the mean square, below which units do not differ


class Estimate(NamedTuple):
    """A value for each cell, over how many cases, and the two ends of its 95 % interval (NaN where it has none).

    >>> Estimate(np.array(0.5), np.array(10.0), np.array(0.4), np.array(0.6)).n.item()
    10.0
    """

    value: Numbers
    n: Numbers
    low: Numbers
    high: Numbers


def estimate(
    sums: ArrayLike, counts: ArrayLike, within: tuple[float, float] | None = None, *, hits: bool = False
) -> Estimate:
    """The mean of each cell with its interval, from the sums and counts of units, both of shape (units, ...).

    ``within`` is the range of a single case, where it has one, with an infinite end where it has one bound alone;
    ``hits`` says that cases are counted as right or not, so that "never" and "always" are not certain.

    >>> [round(float(number), 2) for number in estimate([1, 0, 1, 1, 0, 1, 1, 1], np.ones(8), (0, 1), hits=True)]
    [0.75, 8.0, 0.23, 0.99]
    >>> np.isnan(estimate([1.0, 2.0, 3.0], np.ones(3)).low).item()
    True
    >>> estimate([0.0, 0.0, 0.0, 0.0, 0.0, 9.0], np.ones(6), (0, np.inf)).low.item()
    0.0
    """
    s, n = np.asarray(sums, dtype=np.float64), np.asarray(counts, dtype=np.float64)
    total = n.sum(0)
    nothing = np.full(total.shape, np.nan)
    value = np.divide(s.sum(0), total, out=nothing.copy(), where=total > 0)
    known = (n > 0).sum(0) >= FEWEST
    low, high = nothing.copy(), nothing.copy()
    if known.any():
        parts = (s[:, known], n[:, known]) if s.ndim > 1 else (s[:, None], n[:, None])
        closed = within is not None and bool(np.isfinite(within).all())
        ends = _within(*parts, within, hits) if within and closed else free_ends(_moments(*parts))
        ends = ends if within is None else (np.maximum(ends[0], within[0]), np.minimum(ends[1], within[1]))
        low[known], high[known] = (end if s.ndim > 1 else end[0] for end in ends)
    return Estimate(value, total, low, high)


class Moments(NamedTuple):
    """What an interval is made of: mean, standard error, quantile, skewness of the mean, the number of units that are
    as good as units of equal size, and that of cases.

    >>> Moments._fields
    ('mean', 'error', 'quantile', 'skew', 'units', 'cases')
    """

    mean: Numbers
    error: Numbers
    quantile: Numbers
    skew: Numbers
    units: Numbers
    cases: Numbers


def moments_of(mean: Numbers, residual: Numbers, n: Numbers, flat: NDArray[np.bool_]) -> Moments:
    """From what each unit of so many cases adds to the error of the sum, (unit, cell) both; ``flat`` are cells in
    which units do not differ.

    >>> values = np.array([[1.0], [2.0], [6.0]])
    >>> moments = moments_of(values.mean(0), values - 3, np.ones((3, 1)), np.array([False]))
    >>> moments.error.round(3).tolist(), moments.units.tolist()  # three residuals over 1 - 1/3, over 3
    ([1.871], [3.0])
    """
    from scipy.special import stdtrit

    total = n.sum(0)
    squares = (residual**2).sum(0)
    leverage = n / total
    error = np.sqrt(np.where(flat, 0.0, ((residual / (1 - leverage)) ** 2).sum(0))) / total
    skew = np.divide((residual**3).sum(0), squares**1.5, out=np.zeros_like(mean), where=~flat)
    units = total**2 / (n**2).sum(0)
    quantile = stdtrit(np.maximum(units - 1, 1.0), (1 + LEVEL) / 2)
    return Moments(mean, error, quantile, skew, units, total)


def _moments(s: Numbers, n: Numbers) -> Moments:
    """Those of a mean over cases."""
    mean = s.sum(0) / n.sum(0)
    residual = s - mean * n
    flat = (residual**2).sum(0) <= _FLAT * np.maximum((s**2).sum(0), np.finfo(float).tiny)
    return moments_of(mean, residual, n, flat)


def reach(moments: Moments) -> tuple[Numbers, Numbers]:
    """How many standard errors the ends lie below and above the mean (Hall 1992).

    >>> parts = (np.array([2.0]), np.array([1.0]), np.array([2.0]), np.array([0.1]), np.array([9.0]), np.array([9.0]))
    >>> [end.round(2).item() for end in reach(Moments(*parts))]
    [1.86, 2.17]
    """
    quantile, skew = moments.quantile, moments.skew
    even = np.abs(skew) < 1e-6
    some = np.where(even, 1.0, skew)

    def turned(x: Numbers) -> Numbers:
        return np.where(even, x, 3 / some * (np.cbrt(1 + some * (x - some / 6)) - 1))

    below, above = turned(quantile), -turned(-quantile)
    return np.clip(below, _LEAST, _MOST), np.clip(above, _LEAST, _MOST)


def free_ends(moments: Moments) -> tuple[Numbers, Numbers]:
    """The ends of an interval of a quantity without a range.

    >>> parts = (np.array([2.0]), np.array([1.0]), np.array([2.0]), np.array([0.0]), np.array([9.0]), np.array([9.0]))
    >>> [end.item() for end in free_ends(Moments(*parts))]
    [0.0, 4.0]
    """
    below, above = reach(moments)
    return moments.mean - below * moments.error, moments.mean + above * moments.error


def edge(moments: Moments) -> Numbers:
    """How large a share may be of which not one case was seen, the cases of a unit being alike by :data:`ALIKE`.

    >>> parts = (np.array([0.0]), np.array([0.0]), np.array([2.0]), np.array([0.0]), np.array([9.0]), np.array([9.0]))
    >>> edge(Moments(*parts)).round(3).item()  # one case a unit: Clopper and Pearson's
    0.336
    """
    cases_a_unit = moments.cases / moments.units
    share: Numbers = 1 - ((1 - LEVEL) / 2) ** ((1 + (cases_a_unit - 1) * ALIKE) / moments.cases)
    return share


def _within(s: Numbers, n: Numbers, within: tuple[float, float], hits: bool) -> tuple[Numbers, Numbers]:
    """The ends of an interval of a mean over cases that have a range."""
    first, last = within
    return ends_within(_moments((s - first * n) / (last - first), n), within, hits=hits)


def ends_within(share: Moments, within: tuple[float, float], *, hits: bool) -> tuple[Numbers, Numbers]:
    """The ends of an interval of a quantity that has a range, from the moments of the share of the range that it
    takes up.

    >>> parts = (np.array([0.5]), np.array([0.1]), np.array([2.0]), np.array([0.0]), np.array([9.0]), np.array([9.0]))
    >>> [end.round(2).item() for end in ends_within(Moments(*parts), (0, 100), hits=True)]
    [29.13, 70.87]
    """
    from scipy.special import betaincinv, ndtri

    first, last = within
    mean = np.clip(share.mean, 0.0, 1.0)
    spread, varies = mean * (1 - mean), (share.error > 0) & (share.mean > 0) & (share.mean < 1)
    cases = np.divide(spread, share.error**2, out=np.ones_like(mean), where=varies)
    own = np.divide(1 - 2 * mean, np.sqrt(spread * cases), out=np.zeros_like(mean), where=varies)
    below, above = reach(share._replace(skew=np.where(varies, share.skew - own, 0.0)))
    normal = ndtri((1 + LEVEL) / 2)
    fewer, more = cases * (normal / below) ** 2, cases * (normal / above) ** 2
    low = np.where(varies, betaincinv(fewer * mean, fewer * (1 - mean) + 1, (1 - LEVEL) / 2), mean)
    high = np.where(varies, betaincinv(more * mean + 1, more * (1 - mean), (1 + LEVEL) / 2), mean)
    if hits:  # "never" is not certain
        high = np.where(~varies & (mean <= 0), edge(share), high)
        low = np.where(~varies & (mean >= 1), 1 - edge(share), low)
    low, high = (np.where(np.isnan(share.error), np.nan, end) for end in (low, high))
    return first + (last - first) * low, first + (last - first) * high
