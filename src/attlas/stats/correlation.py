"""Do two measurements of the same heads agree? Pearson's and Spearman's correlation, with intervals over heads.

Both are functions of sums over heads, and have the intervals of such scores (:mod:`attlas.stats.scores`).
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from attlas.stats.metrics import METRICS, Metric, pearson, products
from attlas.stats.scores import estimate_score

PEARSON = Metric("Pearson", "higher", ("one", "other"), pearson, products, within=(-1.0, 1.0), sizes=(0,))


class Correlation(NamedTuple):
    """Both correlations with 95 % intervals (NaN below six heads), two-sided p of each, and the number of heads.

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


def correlate(one: ArrayLike, other: ArrayLike) -> Correlation:
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
    straight, by_rank = pearsonr(x, y), spearmanr(x, y)
    linear, ranked = (estimate_score(metric, np.stack([x, y], -1)) for metric in (PEARSON, METRICS["spearman"]))
    return Correlation(
        float(straight.statistic), float(linear.low), float(linear.high), float(straight.pvalue),
        float(by_rank.statistic), float(ranked.low), float(ranked.high), float(by_rank.pvalue), len(x),
    )  # fmt: skip
