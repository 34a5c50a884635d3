"""Do two measurements of the same heads agree? Pearson's and Spearman's correlation, with intervals over heads."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from attlas.stats.metrics import METRICS

RESAMPLES = 2000


class Correlation(NamedTuple):
    """Both correlations with 95 % intervals by bootstrap, two-sided p of each, and the number of heads.

    >>> Correlation._fields[:3]
    ('pearson', 'pearson_low', 'pearson_high')
    """

    pearson: float
    pearson_low: float
    pearson_high: float
    pearson_p: float
    spearman: float
    spearman_low: float
    spearman_high: float
    spearman_p: float
    n: int


def correlate(one: ArrayLike, other: ArrayLike, *, seed: int = 0) -> Correlation:
    """Correlate two rows of numbers; pairs in which either is missing do not count. NaN for fewer than three.

    >>> found = correlate([1, 2, 3, 4, 5], [1, 2, 3, 5, 4])
    >>> round(found.spearman, 2), found.n
    (0.9, 5)
    """
    from scipy.stats import pearsonr, spearmanr

    x, y = np.asarray(one, dtype=np.float64).ravel(), np.asarray(other, dtype=np.float64).ravel()
    known = np.isfinite(x) & np.isfinite(y)
    x, y = x[known], y[known]
    if len(x) < 3 or not np.ptp(x) or not np.ptp(y):
        nan = float("nan")
        return Correlation(nan, nan, nan, nan, nan, nan, nan, nan, len(x))
    drawn = np.random.default_rng(seed).integers(0, len(x), (RESAMPLES, len(x)))
    ranks = METRICS["spearman"]
    moments = np.stack([np.ones_like(x), x, y, x * x, y * y, x * y], -1)
    linear = _ends(ranks.of(moments[drawn].sum(1)))
    ranked = _ends(ranks.of(ranks.counts(np.stack([x, y], -1)[drawn]).sum(-2)))
    straight, by_rank = pearsonr(x, y), spearmanr(x, y)
    return Correlation(
        float(straight.statistic), *linear, float(straight.pvalue), float(by_rank.statistic), *ranked,
        float(by_rank.pvalue), len(x),
    )  # fmt: skip


def _ends(values: NDArray[np.float64]) -> tuple[float, float]:
    low, high = np.quantile(values, (0.025, 0.975))
    return float(low), float(high)
