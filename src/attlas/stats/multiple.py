"""Many tests at once: p values, and what they are worth when one has looked at many.

A test here asks whether a mean is above zero, by its distance from zero in standard errors. Who asks that of 144
heads will find some by luck; Holm's correction holds the chance of naming even one wrongly to the level, whatever the
heads have to do with each other.
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import ArrayLike, NDArray

from attlas.stats.pooled import NORMAL_QUANTILE_975, Estimate

_upper_tail = np.vectorize(lambda z: math.erfc(z / math.sqrt(2)) / 2, otypes=[np.float64])


def p_above_zero(estimate: Estimate) -> NDArray[np.float64]:
    """One-sided p for each mean being above zero, from its interval; NaN where it has none.

    >>> value, n = np.array([1.96, 0.0]), np.array([9.0, 9.0])
    >>> p_above_zero(Estimate(value, n, value - 1.96, value + 1.96)).round(3).tolist()
    [0.025, 0.5]
    """
    error = (estimate.value - estimate.low) / NORMAL_QUANTILE_975
    with np.errstate(divide="ignore", invalid="ignore"):
        z = estimate.value / error
    z = np.where((error == 0) & (estimate.value == 0), 0.0, z)  # never different, so nothing to see
    return np.asarray(_upper_tail(z), dtype=np.float64)


def holm(p_values: ArrayLike) -> NDArray[np.float64]:
    """Adjust p values for their number, step by step; NaN are not counted and stay.

    >>> holm([0.01, 0.04, 0.03, float("nan")]).tolist()
    [0.03, 0.06, 0.06, nan]
    """
    p = np.asarray(p_values, dtype=np.float64)
    flat = p.ravel()
    known = np.flatnonzero(np.isfinite(flat))
    order = known[np.argsort(flat[known], kind="stable")]
    adjusted = np.full(flat.shape, np.nan)
    steps = np.arange(len(order), 0, -1)
    adjusted[order] = np.minimum(np.maximum.accumulate(flat[order] * steps), 1.0)
    return adjusted.reshape(p.shape)
