"""p values and their correction, against scipy and against the definition."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from attlas.stats import PooledMean, holm, p_above_zero


def test_p_is_the_upper_tail_of_the_normal_distribution() -> None:
    mean = PooledMean(shape=(3,))
    values = np.random.default_rng(0).normal([0.0, 0.3, 2.0], 1.0, (40, 3))
    mean.update(values, 1)
    z = values.mean(0) / (values.std(0, ddof=1) / np.sqrt(40))
    np.testing.assert_allclose(p_above_zero(mean.result()), stats.norm.sf(z), rtol=1e-9)


def test_where_nothing_ever_differs_there_is_nothing_to_see() -> None:
    mean = PooledMean(shape=(2,))
    mean.update([[0.0, 1.0]] * 5, 1)
    assert p_above_zero(mean.result()).tolist() == [0.5, 0.0]
    assert np.isnan(p_above_zero(PooledMean(shape=(2,)).result())).all()


@given(st.lists(st.floats(0, 1), max_size=12))
def test_holm_holds_its_definition(p: list[float]) -> None:
    """The k-th smallest of n is multiplied by n - k + 1, and none is smaller than one before it."""
    adjusted = holm(p)
    ranked = sorted(range(len(p)), key=lambda index: p[index])
    most = 0.0
    for rank, index in enumerate(ranked):
        most = max(most, min(1.0, (len(p) - rank) * p[index]))
        assert adjusted[index] == most
