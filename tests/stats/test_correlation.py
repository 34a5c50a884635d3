"""Correlations of heads against scipy, resample by resample."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.stats import pearsonr, spearmanr

from attlas.stats import correlation
from attlas.stats.correlation import correlate


def test_intervals_are_those_of_a_loop_over_resamples(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(correlation, "RESAMPLES", 200)
    rng = np.random.default_rng(5)
    one = rng.integers(0, 30, 12).astype(float)
    other = one + rng.integers(-9, 9, 12)
    seen = correlate(one, other, seed=3)
    draws = np.random.default_rng(3).integers(0, 12, (200, 12))
    for name, by_scipy in (("pearson", pearsonr), ("spearman", spearmanr)):
        values = [by_scipy(one[draw], other[draw]).statistic for draw in draws]
        low, high = np.quantile(values, (0.025, 0.975))
        whole = by_scipy(one, other)
        ours = [getattr(seen, f"{name}{end}") for end in ("", "_low", "_high", "_p")]
        assert np.allclose(ours, [whole.statistic, low, high, whole.pvalue])


def test_pairs_of_which_one_is_missing_do_not_count() -> None:
    nan = float("nan")
    assert correlate([1, 2, nan, 3, 5], [2, 1, 4, nan, 9]) == correlate([1, 2, 5], [2, 1, 9])
    assert np.isnan(correlate([1, 2, nan], [2, 1, 4]).pearson)
    assert np.isnan(correlate([1, 1, 1], [2, 1, 4]).spearman)
