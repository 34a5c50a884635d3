"""Many tests at once, and what their p values are worth when one has looked at many.

Who tests 144 heads will find some by luck; Holm's correction holds the chance of naming even one wrongly to the
level, whatever the heads have to do with each other. Where the units behind the tests are at hand,
:func:`attlas.stats.flips.above_zero` corrects with what the heads have in common, and loses less.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray


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
