"""Intervals of means over units: against exact ones where there are any, and how often they cover."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import stats as reference

from attlas.stats import estimate
from attlas.stats.intervals import FEWEST
from tools import coverage


def test_without_skewness_it_is_students_interval() -> None:
    """Symmetric values in units of one size: Student's quantile, with the leverage of T units in the error."""
    values = np.concatenate([np.linspace(-1, 1, 20)]) + 5
    low, high = estimate(values, np.ones(20))[2:]
    error = values.std(ddof=1) / 20**0.5 * (20 / 19) ** 0.5
    expected = reference.t.interval(0.95, 19, values.mean(), error)
    np.testing.assert_allclose([low, high], expected, rtol=1e-4)


def test_a_long_tail_to_the_right_makes_a_long_end_to_the_right() -> None:
    values = np.exp(np.random.default_rng(0).normal(size=40))
    value, _, low, high = estimate(values, np.ones(40))
    assert high - value > 1.3 * (value - low)
    turned = estimate(-values, np.ones(40))
    np.testing.assert_allclose([turned.low, turned.high], [-high, -low], rtol=1e-6)


@pytest.mark.parametrize(("hits", "units"), [(6, 20), (50, 100), (3, 100), (400, 1000)])
def test_one_case_a_unit_is_near_the_exact_interval_and_not_inside_it(hits: int, units: int) -> None:
    cases = np.zeros(units)
    cases[:hits] = 1
    low, high = estimate(cases, np.ones(units), (0, 1), hits=True)[2:]
    exact = reference.binomtest(hits, units).proportion_ci(method="exact")
    assert low <= exact.low + 1e-9
    assert exact.high - 1e-9 <= high
    assert high - low < 1.25 * (exact.high - exact.low)


def test_never_is_not_certain_where_hits_are_counted() -> None:
    never, always = (estimate(np.full(30, share), np.ones(30), (0, 1), hits=True) for share in (0.0, 1.0))
    exact = reference.binomtest(0, 30).proportion_ci(method="exact")
    assert (never.low, never.high) == (0, pytest.approx(exact.high))
    assert (always.low, always.high) == (pytest.approx(1 - exact.high), 1)
    by_nature = estimate(np.zeros(30), np.ones(30), (0, 1))  # a weight that a mask keeps at zero
    assert (by_nature.low, by_nature.high) == (0, 0)


@pytest.mark.parametrize("within", [(0.0, 1.0), (-1.0, 1.0)])
def test_ends_stay_in_the_range(within: tuple[float, float]) -> None:
    rng = np.random.default_rng(1)
    first, last = within
    counts = rng.integers(1, 5, (20, 300)).astype(float)
    sums = (first + (last - first) * rng.beta(0.1, 2.0, counts.shape)) * counts
    value, _, low, high = estimate(sums, counts, within, hits=True)
    assert (low >= first).all()
    assert (high <= last).all()
    assert (low <= value).all()
    assert (value <= high).all()


def test_a_margin_has_the_same_interval_whichever_way_it_is_turned() -> None:
    rng = np.random.default_rng(2)
    margins = rng.choice([-1.0, 0.0, 1.0], 30, p=(0.1, 0.3, 0.6))
    one, other = estimate(margins, np.ones(30), (-1, 1)), estimate(-margins, np.ones(30), (-1, 1))
    np.testing.assert_allclose([one.low, one.high], [-other.high, -other.low], rtol=1e-6)


def test_below_the_fewest_units_there_is_none() -> None:
    for units in (FEWEST - 1, FEWEST):
        found = estimate(np.arange(float(units)), np.ones(units))
        assert np.isfinite(found.low) == np.isfinite(found.high) == (units >= FEWEST)


@pytest.mark.parametrize("kind", coverage.KINDS, ids=[kind.title for kind in coverage.KINDS])
def test_intervals_cover(kind: coverage.Kind) -> None:
    """A small run of ``make coverage``: at least .93 on average, .90 at the worst, less the error of 800 runs."""
    cells = [coverage.cover(kind, parameters, 20, 800) for parameters in kind.parameters]
    covered = [cell.covered for cell in cells]
    assert np.mean(covered) > 0.93 - 0.01
    assert min(covered) > 0.90 - 0.02
    discrete = kind.draw in (coverage.shares, coverage.single_cases)
    assert discrete or np.mean(covered) < 0.97
    exact = [cell.over_exact for cell in cells if np.isfinite(cell.over_exact)]
    assert not exact or np.mean(exact) < 1.25


def test_windows_taken_for_units_would_not_cover() -> None:
    """The check itself can fail: windows of one document are not independent."""
    kind = next(kind for kind in coverage.KINDS if kind.draw is coverage.windows)
    data = coverage.windows(np.random.default_rng(0), 20, 800, 0.3, 0.3)
    low, high = estimate(data.sums, data.counts, kind.within, hits=True)[2:]
    assert ((low <= data.truth) & (data.truth <= high)).mean() < 0.8
