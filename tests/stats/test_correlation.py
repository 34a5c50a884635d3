"""Correlations of heads against scipy, which is asked anew without each head."""

from __future__ import annotations

import numpy as np
from scipy.stats import pearsonr, spearmanr

from attlas.stats.correlation import correlate


def test_figures_are_those_of_scipy_and_intervals_as_wide_as_leaving_heads_out_makes_them() -> None:
    rng, n = np.random.default_rng(5), 150
    one = rng.normal(size=n)
    other = one + rng.normal(size=n)
    seen = correlate(one, other)
    for name, by_scipy in (("pearson", pearsonr), ("spearman", spearmanr)):
        value, low, high, p = (getattr(seen, f"{name}{end}") for end in ("", "_low", "_high", "_p"))
        whole = by_scipy(one, other)
        assert np.allclose([value, p], [whole.statistic, whole.pvalue])
        without = np.array([by_scipy(np.delete(one, at), np.delete(other, at)).statistic for at in range(n)])
        error = np.sqrt((n - 1) / n * ((without - without.mean()) ** 2).sum())
        assert low < value < high
        assert abs((high - low) / (2 * 1.976 * error) - 1) < 0.06  # a beta interval is a little wider than Student's


def test_pairs_of_which_one_is_missing_do_not_count() -> None:
    nan = float("nan")
    some = correlate([1, 2, nan, 3, 5, 4, 7, 8], [2, 1, 4, nan, 9, 5, 6, 7])
    assert some == correlate([1, 2, 5, 4, 7, 8], [2, 1, 9, 5, 6, 7])
    assert np.isnan(correlate([1, 2, nan], [2, 1, 4]).pearson)
    assert np.isnan(correlate([1, 1, 1], [2, 1, 4]).spearman)


def test_five_heads_are_too_few_for_an_interval() -> None:
    few = correlate([1, 2, 3, 4, 5], [2, 1, 3, 4, 5])
    assert np.isfinite(few.pearson)
    assert np.isnan([few.pearson_low, few.pearson_high, few.spearman_low, few.spearman_high]).all()
