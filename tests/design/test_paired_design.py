"""The statistics of changes under test: both models on the same units, the seen difference, enough shuffles, 95 %."""

from __future__ import annotations

import math

import numpy as np
import pytest

from attlas.stats import METRICS, compare, correlate, holm

LOSS = METRICS["loss"]


def marks(values: np.ndarray) -> np.ndarray:
    return np.stack([values, np.ones_like(values)], -1)


def test_both_models_are_compared_on_the_same_texts() -> None:
    """Texts differ far more from each other than the models do; unpaired, that would be the interval."""
    rng = np.random.default_rng(0)
    whole = rng.normal(3.0, 1.0, 100)
    cut = whole + rng.normal(0.1, 0.05, 100)
    known = compare(LOSS, marks(whole), marks(cut)[None])
    change = (cut - whole).mean()
    error = (cut - whole).std(ddof=1) / 10
    assert known.low.item() == pytest.approx(change - 1.96 * error, abs=0.3 * error)
    assert known.high.item() == pytest.approx(change + 1.96 * error, abs=0.3 * error)
    assert known.score_high.item() - known.score_low.item() > 0.3  # of the score itself, texts are the spread


def test_the_seen_difference_is_one_of_the_shuffles() -> None:
    whole = marks(np.ones(60))
    for shuffles in (99, 999):
        p = compare(LOSS, whole, marks(np.full(60, 2.0))[None], shuffles=shuffles).p.item()
        assert p == pytest.approx(1 / (shuffles + 1))


@pytest.mark.parametrize("cuts", [12, 288])
def test_there_are_as_many_shuffles_as_the_correction_needs(cuts: int) -> None:
    rng = np.random.default_rng(1)
    whole = rng.normal(3.0, 0.1, 40)
    changed = np.stack([marks(whole + (1.0 if cut == 0 else 0.0)) for cut in range(cuts)])
    p = compare(LOSS, marks(whole), changed).p
    assert holm(p)[0] < 0.01
    assert (p[1:] == 1).all()


def test_units_are_swapped_and_left_out_as_a_whole() -> None:
    """Twenty documents of ten alike texts are twenty units, not two hundred."""
    rng = np.random.default_rng(2)
    effects = rng.normal(0.3, 1.0, 20)
    whole = rng.normal(3.0, 1.0, 200)
    cut, owners = whole + np.repeat(effects, 10), np.repeat(np.arange(20), 10)
    by_text = compare(LOSS, marks(whole), marks(cut)[None])
    by_document = compare(LOSS, marks(whole), marks(cut)[None], units=owners)
    alone = compare(LOSS, marks(np.zeros(20)), marks(effects)[None])
    assert by_document.change.item() == pytest.approx(by_text.change.item())
    width = by_document.high.item() - by_document.low.item()
    assert width == pytest.approx(alone.high.item() - alone.low.item(), rel=0.1)
    assert width > 2 * (by_text.high.item() - by_text.low.item())
    assert by_document.p.item() == pytest.approx(alone.p.item(), abs=0.03)
    assert by_text.p.item() < 0.1 * by_document.p.item()


@pytest.mark.parametrize(("texts", "known"), [(5, False), (6, True)])
def test_few_texts_have_no_interval(texts: int, known: bool) -> None:
    values = np.arange(texts, dtype=float)
    changed = compare(LOSS, marks(values), marks(values + 1 + values % 2)[None])
    assert np.isfinite([changed.low, changed.high, changed.score_low, changed.score_high]).all() == known
    assert math.isfinite(changed.p.item())


def test_intervals_of_a_correlation_are_of_95_per_cent() -> None:
    """Hardly wider than Fisher's, who knows that numbers are normal, and the truth is inside as often as said."""
    rng, truth, heads, runs = np.random.default_rng(3), 0.5, 60, 200
    ratios, inside = [], {"pearson": 0, "spearman": 0}
    by_rank = 6 / math.pi * math.asin(truth / 2)
    for _ in range(runs):
        one = rng.normal(size=heads)
        other = truth * one + math.sqrt(1 - truth**2) * rng.normal(size=heads)
        found = correlate(one, other)
        reach = 1.959964 / math.sqrt(heads - 3)
        fisher = [math.tanh(math.atanh(found.pearson) + sign * reach) for sign in (-1, 1)]
        ratios.append((found.pearson_high - found.pearson_low) / (fisher[1] - fisher[0]))
        inside["pearson"] += found.pearson_low <= truth <= found.pearson_high
        inside["spearman"] += found.spearman_low <= by_rank <= found.spearman_high
    assert 1.0 < np.mean(ratios) < 1.2
    assert all(count >= 0.92 * runs for count in inside.values())
