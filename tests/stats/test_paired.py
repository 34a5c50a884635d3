"""The paired test: against all possible shuffles, against a loop, and for whether it keeps what it promises."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest
from scipy.stats import binomtest

from attlas.errors import StatsError
from attlas.stats import METRICS, compare, holm


def exact(name: str, whole: np.ndarray, cut: np.ndarray) -> float:
    """The share of all 2^n swaps with a difference as large, one by one."""
    metric = METRICS[name]
    seen = abs(metric.score(cut) - metric.score(whole))
    as_large = 0
    for swap in product([False, True], repeat=len(whole)):
        one, other = whole.copy(), cut.copy()
        for text, swapped in enumerate(swap):
            if swapped:
                one[text], other[text] = cut[text], whole[text]
        as_large += abs(metric.score(other) - metric.score(one)) >= seen - 1e-12
    return as_large / 2 ** len(whole)


@pytest.mark.parametrize("name", ["accuracy", "f1", "bleu"])
def test_p_is_near_that_of_all_shuffles(name: str) -> None:
    rng = np.random.default_rng(1)
    width = len(METRICS[name].columns)
    whole = rng.integers(3, 9, (9, width)).astype(float)
    cut = np.maximum(whole - rng.integers(-1, 3, (9, width)), 1)
    found = compare(METRICS[name], whole, cut, shuffles=40_000)
    assert found.p == pytest.approx(exact(name, whole, cut), abs=0.012)
    assert found.change == pytest.approx(METRICS[name].score(cut) - METRICS[name].score(whole))


def test_accuracy_is_the_sign_test() -> None:
    """Only texts on which the two differ matter, and each is a toss of a coin."""
    whole, cut = np.ones((200, 2)), np.ones((200, 2))
    cut[:30, 0], whole[30:40, 0] = 0, 0
    found = compare(METRICS["accuracy"], whole, cut, shuffles=60_000)
    assert found.p == pytest.approx(binomtest(30, 40).pvalue, rel=0.35)
    assert found.low < -0.1 < found.high < 0


def test_several_cuts_equal_each_alone_and_keep_their_axes() -> None:
    rng = np.random.default_rng(2)
    whole, cuts = rng.random((60, 1)) * [1, 1] + [0, 1], rng.random((2, 3, 60, 1)) * [1, 1] + [0, 1]
    together = compare(METRICS["loss"], whole, cuts, shuffles=4000)
    assert together.change.shape == together.p.shape == (2, 3)
    for place in np.ndindex(2, 3):
        alone = compare(METRICS["loss"], whole, cuts[place], shuffles=4000)
        assert together.change[place] == pytest.approx(alone.change)
        assert together.p[place] == pytest.approx(alone.p, abs=0.05)
        assert together.low[place] == pytest.approx(alone.low)


def test_no_difference_is_no_finding_and_a_small_p_survives_correction() -> None:
    rng = np.random.default_rng(5)
    whole = np.stack([rng.integers(0, 2, 400), np.ones(400)], -1).astype(float)
    cuts = np.repeat(whole[None], 150, 0)
    cuts[0, :120, 0] = 0
    found = compare(METRICS["accuracy"], whole, cuts)
    assert (found.p[1:] == 1).all()
    assert (found.change[1:] == 0).all()
    assert holm(found.p)[0] < 0.01


def test_false_alarms_are_as_many_as_promised() -> None:
    rng = np.random.default_rng(7)
    texts = rng.normal(size=(60, 300, 1)) + 3
    swapped = np.concatenate([texts, np.ones_like(texts)], -1)
    p = [float(compare(METRICS["loss"], one[:150], one[150:], shuffles=400).p) for one in swapped]
    assert 0.3 < np.mean(p) < 0.7
    assert np.mean(np.array(p) < 0.05) < 0.15


def test_unlike_marks_are_refused() -> None:
    with pytest.raises(StatsError, match="cannot be compared"):
        compare(METRICS["accuracy"], np.ones((4, 2)), np.ones((5, 2)))
