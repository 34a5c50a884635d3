"""The test that flips signs: against all flips one by one, and under no effect and a planted one."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

from attlas.errors import StatsError
from attlas.stats import above_zero
from attlas.stats.flips import FEWEST_UNITS
from tools import coverage


def all_flips(rows: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """p and step-down max-T from each of the 2^units flips, by the definition."""
    scale = np.sqrt((rows**2).sum(0))
    statistics = np.array([np.array(signs) @ rows / scale for signs in itertools.product((-1, 1), repeat=len(rows))])
    seen = rows.sum(0) / scale
    order = np.argsort(-seen)
    p = (statistics >= seen - 1e-9).mean(0)
    corrected, before = np.empty_like(p), 0.0
    for place, cell in enumerate(order):
        rest = order[place:]
        before = max(before, (statistics[:, rest].max(1) >= seen[cell] - 1e-9).mean())
        corrected[cell] = before
    return p, corrected


def test_it_is_what_all_flips_give() -> None:
    rows = np.random.default_rng(0).normal([0.1, 0.5, 0.5, 0.0], 1.0, (16, 4))
    flipped = above_zero(rows, np.ones((16, 1)), flips=40_000)
    p, corrected = all_flips(rows)
    np.testing.assert_allclose(flipped.p, p, atol=0.01)
    np.testing.assert_allclose(flipped.p_corrected, corrected, atol=0.01)


def test_few_units_have_no_p() -> None:
    rows = np.ones((FEWEST_UNITS, 2))
    counts = np.ones((FEWEST_UNITS, 2))
    counts[0, 1] = 0
    rows[0, 1] = 0
    p, corrected = above_zero(rows, counts)
    assert p[0] == pytest.approx(1 / 10_001, abs=5e-4)
    assert np.isnan(p[1])
    assert np.isnan(corrected[1])


def test_a_constant_difference_over_few_texts_proves_nothing() -> None:
    assert np.isnan(above_zero(np.ones((5, 3)), np.ones((5, 1))).p).all()


@pytest.mark.parametrize("at_once", [20_000_000, 3 * 999, 1])
def test_where_nothing_ever_differs_p_is_one(at_once: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Every flip is counted, and once, in however many slices they are made."""
    monkeypatch.setattr("attlas.stats.flips._AT_ONCE", at_once)
    p, corrected = above_zero(np.zeros((20, 3)), np.ones((20, 1)), flips=2000)
    assert p.tolist() == corrected.tolist() == [1.0, 1.0, 1.0]


def test_the_other_direction_is_not_significant() -> None:
    rows = np.random.default_rng(0).normal(1.0, 0.5, (30, 2)) * [1, -1]
    p, _ = above_zero(rows, np.ones((30, 1)))
    assert p[0] < 0.001
    assert p[1] > 0.999


def test_heads_that_do_the_same_cost_nothing() -> None:
    """Holm would multiply p by their number; copies of one head are one test."""
    rows = np.random.default_rng(3).normal(0.5, 1.0, (25, 1))
    alone = above_zero(rows, np.ones((25, 1))).p_corrected[0]
    many = above_zero(np.repeat(rows, 100, axis=1), np.ones((25, 1))).p_corrected
    np.testing.assert_allclose(many, alone)


def test_numbers_that_are_none_are_refused() -> None:
    with pytest.raises(StatsError, match="row for each unit"):
        above_zero(np.array([[np.nan]]), np.ones((1, 1)))


@pytest.mark.parametrize(("units", "windows"), [(16, 1), (40, 5)])
def test_the_level_holds_and_planted_heads_are_found(units: int, windows: int) -> None:
    """A small run of ``make coverage``, at a level of .05 so that 200 families are enough."""
    rng = np.random.default_rng(units)
    named = 0
    for run in range(200):
        rows, cases = coverage.heads_and_rival(rng, units, 60, windows=windows)
        named += bool(np.nanmin(above_zero(rows, cases[:, None], flips=400, seed=run).p_corrected) <= 0.05)
    assert named <= 10 + 2 * (200 * 0.05 * 0.95) ** 0.5
    rows, cases = coverage.heads_and_rival(rng, units, 60, planted=10, better=0.45, windows=windows)
    ours, by_hand = above_zero(rows, cases[:, None]).p_corrected, coverage.permuted(rows, rng)
    assert (ours[:10] <= 0.05).sum() >= 0.9 * (by_hand[:10] <= 0.05).sum()
