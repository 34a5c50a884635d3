"""Intervals of scores: those of means where a score is one, by leaving units out, and how often they cover."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from attlas.errors import StatsError
from attlas.stats import METRICS, estimate, estimate_change, estimate_score
from attlas.stats.intervals import FEWEST
from tools import coverage

rng_of = np.random.default_rng


def chunk_marks(seed: int = 0, units: int = 30) -> np.ndarray:
    rng = rng_of(seed)
    given = rng.integers(1, 9, units)
    common = rng.binomial(given, 0.7)
    return np.stack([common, common + rng.integers(0, 3, units), given], -1).astype(float)


def marks_of(name: str, units: int, seed: int = 0) -> np.ndarray:
    """Marks that a text may have, of units of much the same size."""
    rng = rng_of(seed)
    size = rng.integers(40, 60, units)
    if name == "matthews":
        return np.stack([rng.multinomial(many, (0.4, 0.1, 0.2, 0.3)) for many in size]).astype(float)
    if name == "bleu":
        possible = np.stack([size - order for order in range(4)], -1)
        matching = rng.binomial(possible, (0.7, 0.5, 0.4, 0.3))
        return np.concatenate([matching, possible, size[:, None], size[:, None] + 3], -1).astype(float)
    if name == "chrf":
        written = np.stack([size - order for order in range(6)], -1)
        return np.concatenate([written, written + 4, rng.binomial(written, 0.6)], -1).astype(float)
    if len(METRICS[name].columns) == 4:
        sure = rng.binomial(size, 0.5)
        return np.stack([sure, sure + rng.binomial(size - sure, 0.4), size, sure + 9], -1).astype(float)
    if name == "f1":
        return np.stack([rng.binomial(size, 0.6), size, size + 2], -1).astype(float)
    return np.stack([rng.binomial(size, 0.6), size], -1).astype(float)


def test_a_score_that_is_a_mean_has_the_interval_of_a_mean() -> None:
    marks = chunk_marks()
    common, found, given = marks.T
    expected = estimate(2 * common, found + given, (0, 1), hits=True)
    np.testing.assert_allclose(np.stack(estimate_score(METRICS["f1"], marks)), np.stack(expected), rtol=1e-9)
    right = marks[:, [0, 2]]
    expected = estimate(*right.T, (0, 1), hits=True)
    np.testing.assert_allclose(np.stack(estimate_score(METRICS["accuracy"], right)), np.stack(expected), rtol=1e-9)
    links = np.stack([common, np.maximum(common, found - 1), found, given], -1)
    for name, above, below in (("precision", links[:, 1], found), ("recall", common, given)):
        expected = estimate(above, below, (0, 1), hits=True)
        np.testing.assert_allclose(np.stack(estimate_score(METRICS[name], links)), np.stack(expected), rtol=1e-9)
    expected = estimate(common + links[:, 1], found + given, (0, 1), hits=True)
    errors = estimate_score(METRICS["aer"], links)
    np.testing.assert_allclose([errors.low, errors.high], [1 - expected.high, 1 - expected.low], rtol=1e-9)


def test_perplexity_has_the_interval_of_its_logarithm_and_loss_stays_above_nothing() -> None:
    rng = rng_of(1)
    words = rng.integers(5, 200, 25).astype(float)
    nats = words * rng.gamma(9, 0.3, 25)
    expected = estimate(nats, words, (0, np.inf))
    known = estimate_score(METRICS["perplexity"], np.stack([nats, words], -1))
    np.testing.assert_allclose([known.low, known.high], np.exp([expected.low, expected.high]), rtol=1e-9)
    rare = np.stack([np.eye(20)[0] * 9, np.ones(20)], -1)
    assert estimate_score(METRICS["loss"], rare).low == 0


@pytest.mark.parametrize("name", ["matthews", "bleu", "chrf", "alignment-f1"])
def test_the_error_is_that_of_leaving_every_unit_out_in_turn(name: str) -> None:
    """On many units of one size the interval is the score and twice the jackknife's error, within its skewness."""
    metric, marks = METRICS[name], marks_of(name, 400)
    known = estimate_score(metric, marks)
    left = np.array([metric.score(np.delete(marks, unit, axis=0)) for unit in range(len(marks))])
    error = np.sqrt(((left - metric.score(marks)) ** 2).sum())
    assert known.value == pytest.approx(metric.score(marks))
    assert known.high - known.low == pytest.approx(2 * 1.966 * error, rel=0.06)
    assert known.low < known.value < known.high


def test_ranks_that_a_text_gives_to_others_are_on_its_account() -> None:
    """The influence is that of ranking anew without the text, ties included; sums are the same."""
    rng = rng_of(3)
    marks = np.stack([rng.normal(size=60), rng.integers(0, 6, 60)], -1)
    marks[:, 1] += np.round(marks[:, 0])
    metric = METRICS["spearman"]
    counts, accounts = metric.counts(marks), metric.accounts(marks)
    np.testing.assert_allclose(accounts.sum(0), counts.sum(0))
    anew = np.array([metric.score(np.delete(marks, unit, axis=0)) for unit in range(60)])
    owed, ranked_once = (metric.of(some.sum(0) - some) for some in (accounts, counts))
    assert np.corrcoef(owed, anew)[0, 1] > 0.998
    assert np.abs(owed - anew).max() < 0.3 * np.abs(ranked_once - anew).max()


def test_the_interval_of_a_rank_correlation_is_that_of_ranking_anew() -> None:
    """Where ranks agree well it is wider than if they were known, by as much as the error is larger."""
    rng, metric = rng_of(9), METRICS["spearman"]
    one = rng.normal(size=300)
    marks = np.stack([one, one + 0.3 * rng.normal(size=300)], -1)
    known, naive = (estimate_score(score, marks) for score in (metric, replace(metric, account=None)))
    once = metric.of(metric.counts(marks).sum(0) - metric.counts(marks))
    anew = np.array([metric.score(np.delete(marks, unit, axis=0)) for unit in range(300)])
    wider = (((anew - known.value) ** 2).sum() / ((once - known.value) ** 2).sum()) ** 0.5
    assert wider > 1.05
    assert (known.high - known.low) / (naive.high - naive.low) == pytest.approx(wider, rel=0.03)


def test_many_scores_at_once_are_those_one_by_one(monkeypatch: pytest.MonkeyPatch) -> None:
    from attlas.stats import scores

    marks = np.stack([chunk_marks(seed) for seed in range(7)])
    monkeypatch.setattr(scores, "_AT_ONCE", 200)
    for metric in (METRICS["f1"], METRICS["spearman"]):
        shown = marks[..., : len(metric.columns)]
        together, changes = estimate_score(metric, shown), estimate_change(metric, shown[0], shown[1:])
        for cell in range(6):
            alone = estimate_score(metric, shown[1 + cell])
            np.testing.assert_allclose([part[1 + cell] for part in together], np.stack(alone))
            change = estimate_change(metric, shown[0], shown[1 + cell])
            np.testing.assert_allclose([part[cell] for part in changes], np.stack(change))


def test_a_change_of_a_mean_is_the_mean_of_the_changes() -> None:
    rng = rng_of(4)
    before = np.stack([rng.integers(0, 2, 40), np.ones(40)], -1).astype(float)
    after = before.copy()
    after[:9, 0] = 0
    expected = estimate(after[:, 0] - before[:, 0], np.ones(40), (-1, 1))
    change = estimate_change(METRICS["accuracy"], before, after)
    np.testing.assert_allclose(np.stack(change), np.stack(expected), rtol=1e-9)
    expected = estimate(after[:, 0] - before[:, 0], np.ones(40))
    change = estimate_change(METRICS["loss"], before, after)
    np.testing.assert_allclose([change.low, change.high], [expected.low, expected.high], rtol=1e-9)


def test_a_change_turned_round_has_its_interval_turned_round() -> None:
    for name in ("f1", "perplexity"):
        metric = METRICS[name]
        one, other = (chunk_marks(seed, 40)[:, : len(metric.columns)] for seed in (5, 6))
        there, back = estimate_change(metric, one, other), estimate_change(metric, other, one)
        np.testing.assert_allclose([there.low, there.high], [-back.high, -back.low], rtol=1e-6)
        assert there.low < there.value < there.high


def test_where_nothing_changed_something_may_have_changed_elsewhere() -> None:
    marks = np.tile([1.0, 1.0], (30, 1))
    marks[:9, 0] = 0
    change = estimate_change(METRICS["accuracy"], marks, marks)
    assert (change.low, change.high) == (
        pytest.approx(-(1 - 0.025 ** (1 / 30))),
        pytest.approx(1 - 0.025 ** (1 / 30)),
    )
    losses = estimate_change(METRICS["loss"], marks, marks)  # the very same losses are no accident
    assert (losses.low, losses.high) == (0, 0)


def test_a_perfect_score_is_not_certain() -> None:
    perfect = {"f1": np.full((20, 3), 2.0), "matthews": np.eye(4)[[0, 3] * 10], "bleu": np.full((20, 10), 9.0)}
    perfect["spearman"] = np.stack([np.arange(20.0)] * 2, -1)
    for name, marks in perfect.items():
        metric = METRICS[name]
        known = estimate_score(metric, marks)
        assert known.value == pytest.approx(metric.within[1])
        assert metric.within[0] < known.low < known.high == pytest.approx(metric.within[1])


def test_a_perfect_score_by_matthews_may_hide_more_where_a_label_is_rare() -> None:
    """With so many texts a share of .168 may be wrong; of two even labels that is two times .168 of the score."""
    even, rare = (estimate_score(METRICS["matthews"], np.eye(4)[[3] * many + [0] * (20 - many)]) for many in (10, 4))
    assert (float(even.value), float(rare.value)) == (pytest.approx(1), pytest.approx(1))
    wrong = 1 - 0.025 ** (1 / 20)
    assert even.low == pytest.approx(1 - 2 * wrong)
    table = np.array([16 * (1 - wrong), 16 * wrong, 4 * wrong, 4 * (1 - wrong)])
    assert rare.low == pytest.approx(METRICS["matthews"].of(table))
    assert rare.low < even.low - 0.05


def test_units_are_what_is_left_out_and_five_are_too_few() -> None:
    marks = np.repeat(chunk_marks(7, 12), 5, axis=0)
    owners = np.repeat(np.arange(12), 5)
    by_text, by_unit = estimate_score(METRICS["f1"], marks), estimate_score(METRICS["f1"], marks, units=owners)
    assert by_unit.value == pytest.approx(by_text.value)
    assert by_unit.high - by_unit.low > 2 * (by_text.high - by_text.low)
    for units in (FEWEST - 1, FEWEST):
        few = np.arange(60) % units
        known = estimate_score(METRICS["f1"], marks, units=few)
        change = estimate_change(METRICS["f1"], marks, marks[::-1], units=few)
        assert np.isfinite([known.low, known.high, change.low, change.high]).all() == (units >= FEWEST)


def test_what_cannot_be_scored_without_a_unit_has_no_interval() -> None:
    links = np.tile([0.0, 1.0, 2.0, 0.0], (20, 1))
    links[3] = [1, 1, 2, 4]  # the only pair with sure links
    known = estimate_score(METRICS["alignment-f1"], links)
    assert np.isfinite(known.value)
    assert np.isnan([known.low, known.high]).all()


def test_marks_that_do_not_fit_are_refused() -> None:
    with pytest.raises(StatsError, match="cannot be compared"):
        estimate_change(METRICS["accuracy"], np.ones((4, 2)), np.ones((5, 2)))
    with pytest.raises(StatsError, match="a unit for each of 8"):
        estimate_score(METRICS["accuracy"], np.ones((8, 2)), units=[0, 1])


@pytest.mark.parametrize("name", METRICS)
def test_every_score_says_its_range_and_the_size_of_a_unit(name: str) -> None:
    metric = METRICS[name]
    for seed in range(9):
        marks = marks_of(name, 5, seed)
        assert (metric.cases(metric.counts(marks)) > 0).all()
        assert metric.within[0] < metric.score(marks) < metric.within[1]
        known = estimate_score(metric, marks_of(name, 9, seed))
        assert metric.within[0] <= known.low < known.value < known.high <= metric.within[1]


@pytest.mark.parametrize("score", coverage.SCORES, ids=[score.title for score in coverage.SCORES])
def test_intervals_of_scores_cover(score: coverage.Score) -> None:
    """A small run of ``make coverage``: .93 on average and .90 at the worst, less the error of so many runs."""
    covered = [coverage.cover_score(score, parameters, 20, 300, seed=9) for parameters in score.parameters]
    assert np.mean(covered) > 0.93 - 0.012
    assert min(covered) > 0.90 - 0.035


def test_the_bootstrap_of_few_units_would_not_cover() -> None:
    """The check itself can fail."""
    score = next(score for score in coverage.SCORES if score.title == "change of chunk F1")
    covered = [coverage.bootstrapped(score, parameters, 20, 300) for parameters in score.parameters]
    assert np.mean(covered) < 0.93 - 0.012
