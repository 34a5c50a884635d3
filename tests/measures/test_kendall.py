"""Kendall's tau-b of many samples at once, against scipy sample by sample."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from scipy.stats import kendalltau

from attlas.measures.ranks import kendall


@pytest.mark.parametrize("values", [3, 8, 1000])
def test_tau_and_p_are_those_of_scipy(values: int) -> None:
    """With many equals, few and hardly any; over the real places alone."""
    rng = np.random.default_rng(values)
    one, other = rng.integers(0, values, (2, 60, 25)).astype(float)
    real = rng.random((60, 25)) < 0.6
    real[:, :3] = True
    other[:20] = one[:20] + rng.normal(0, values / 4, (20, 25)).round()
    found = kendall(*(torch.from_numpy(part) for part in (one, other, real)))
    for row in range(60):
        expected = kendalltau(one[row, real[row]], other[row, real[row]], method="asymptotic")
        assert found.tau[row].item() == pytest.approx(expected.statistic, abs=1e-12, nan_ok=True)
        assert found.p[row].item() == pytest.approx(expected.pvalue, abs=1e-9, nan_ok=True)


def test_where_nothing_can_be_ranked_there_is_no_tau() -> None:
    every = torch.ones(3, dtype=torch.bool)
    found = kendall(torch.ones(3), torch.tensor([1.0, 2.0, 3.0]), every)
    assert found.tau.isnan()
    assert found.p.isnan()
    two = kendall(torch.tensor([1.0, 2.0, 9.0]), torch.tensor([4.0, 3.0, 0.0]), torch.tensor([True, True, False]))
    assert two.tau.item() == -1.0
