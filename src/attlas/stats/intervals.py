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
``tools/coverage.py``.
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
        ends = _within(*parts, within, hits) if within and closed else _free(*parts)
        ends = ends if within is None else (np.maximum(ends[0], within[0]), np.minimum(ends[1], within[1]))
        low[known], high[known] = (end if s.ndim > 1 else end[0] for end in ends)
    return Estimate(value, total, low, high)


class _Moments(NamedTuple):
    """What an interval is made of: mean, standard error, quantile, skewness of the mean, units of equal size."""

    mean: Numbers
    error: Numbers
    quantile: Numbers
    skew: Numbers
    units: Numbers


def _moments(s: Numbers, n: Numbers) -> _Moments:
    from scipy.special import stdtrit

    total = n.sum(0)
    mean = s.sum(0) / total
    residual = s - mean * n
    squares = (residual**2).sum(0)
    flat = squares <= _FLAT * np.maximum((s**2).sum(0), np.finfo(float).tiny)
    leverage = n / total
    error = np.sqrt(np.where(flat, 0.0, ((residual / (1 - leverage)) ** 2).sum(0))) / total
    skew = np.divide((residual**3).sum(0), squares**1.5, out=np.zeros_like(mean), where=~flat)
    units = total**2 / (n**2).sum(0)
    quantile = stdtrit(np.maximum(units - 1, 1.0), (1 + LEVEL) / 2)
    return _Moments(mean, error, quantile, skew, units)


def _reach(quantile: Numbers, skew: Numbers) -> tuple[Numbers, Numbers]:
    """How many standard errors the ends lie below and above the mean (Hall 1992)."""
    even = np.abs(skew) < 1e-6
    some = np.where(even, 1.0, skew)

    def turned(x: Numbers) -> Numbers:
        return np.where(even, x, 3 / some * (np.cbrt(1 + some * (x - some / 6)) - 1))

    below, above = turned(quantile), -turned(-quantile)
    return np.clip(below, _LEAST, _MOST), np.clip(above, _LEAST, _MOST)


def _free(s: Numbers, n: Numbers) -> tuple[Numbers, Numbers]:
    """The ends of an interval of a quantity without a range."""
    moments = _moments(s, n)
    below, above = _reach(moments.quantile, moments.skew)
    return moments.mean - below * moments.error, moments.mean + above * moments.error


def _within(s: Numbers, n: Numbers, within: tuple[float, float], hits: bool) -> tuple[Numbers, Numbers]:
    """The ends of an interval of a quantity that has a range."""
    from scipy.special import betaincinv, ndtri

    first, last = within
    moments = _moments((s - first * n) / (last - first), n)
    share = np.clip(moments.mean, 0.0, 1.0)
    spread, varies = share * (1 - share), (moments.error > 0) & (moments.mean > 0) & (moments.mean < 1)
    cases = np.divide(spread, moments.error**2, out=np.ones_like(share), where=varies)
    own = np.divide(1 - 2 * share, np.sqrt(spread * cases), out=np.zeros_like(share), where=varies)
    below, above = _reach(moments.quantile, np.where(varies, moments.skew - own, 0.0))
    normal = ndtri((1 + LEVEL) / 2)
    fewer, more = cases * (normal / below) ** 2, cases * (normal / above) ** 2
    low = np.where(varies, betaincinv(fewer * share, fewer * (1 - share) + 1, (1 - LEVEL) / 2), share)
    high = np.where(varies, betaincinv(more * share + 1, more * (1 - share), (1 + LEVEL) / 2), share)
    if hits:  # "never" is not certain
        cases_a_unit = n.sum(0) / moments.units
        edge = 1 - ((1 - LEVEL) / 2) ** ((1 + (cases_a_unit - 1) * ALIKE) / n.sum(0))
        high = np.where(~varies & (share <= 0), edge, high)
        low = np.where(~varies & (share >= 1), 1 - edge, low)
    return first + (last - first) * low, first + (last - first) * high
