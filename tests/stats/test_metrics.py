"""Scores against those who define them: scikit-learn, scipy, sacrebleu; vectorised against one by one."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import spearmanr
from sklearn.metrics import accuracy_score, matthews_corrcoef

from attlas.stats import METRICS

seeds = st.integers(0, 2**32 - 1)
few = settings(max_examples=30, deadline=None)
WORDS = ["the", "a", "cat", "dog", "sat", "ran", "on", "off", "mat", ",", ".", "not"]


def sentences(rng: np.random.Generator, count: int) -> list[str]:
    return [" ".join(rng.choice(WORDS, rng.integers(1, 14))) for _ in range(count)]


@few
@given(seed=seeds, classes=st.integers(2, 4))
def test_accuracy_and_matthews_equal_scikit_learn(seed: int, classes: int) -> None:
    rng = np.random.default_rng(seed)
    given_, found = rng.integers(0, classes, (2, 30))
    right = np.stack([given_ == found, np.ones(30)], -1)
    assert METRICS["accuracy"].score(right) == pytest.approx(accuracy_score(given_, found))
    confusion = np.zeros((30, classes**2))
    confusion[np.arange(30), given_ * classes + found] = 1
    assert METRICS["matthews"].score(confusion) == pytest.approx(matthews_corrcoef(given_, found), abs=1e-12)


@few
@given(seed=seeds)
def test_spearman_equals_scipy_also_with_ties(seed: int) -> None:
    rng = np.random.default_rng(seed)
    marks = np.stack([rng.normal(size=25), rng.integers(0, 5, 25)], -1)
    assert METRICS["spearman"].score(marks) == pytest.approx(spearmanr(*marks.T).statistic)


@few
@given(seed=seeds, count=st.integers(1, 8))
def test_bleu_and_chrf_equal_sacrebleu(seed: int, count: int) -> None:
    """Short texts on purpose: orders without a match are smoothed, and some texts have no 4-gram at all."""
    from sacrebleu.metrics.bleu import BLEU
    from sacrebleu.metrics.chrf import CHRF

    from attlas.tasks.translation import character_grams, word_grams

    rng = np.random.default_rng(seed)
    written, references = sentences(rng, count), sentences(rng, count)
    words = [word_grams(*pair) for pair in zip(written, references, strict=True)]
    letters = [character_grams(*pair) for pair in zip(written, references, strict=True)]
    assert METRICS["bleu"].score(words) == pytest.approx(BLEU().corpus_score(written, [references]).score, abs=1e-9)
    assert METRICS["chrf"].score(letters) == pytest.approx(CHRF().corpus_score(written, [references]).score, abs=1e-9)


@pytest.mark.parametrize(
    "name", ["accuracy", "f1", "matthews", "perplexity", "bleu", "chrf", "spearman", "loss", "aer"]
)
def test_many_at_once_equal_one_by_one(name: str) -> None:
    metric, rng = METRICS[name], np.random.default_rng(3)
    width = {"matthews": 9, "bleu": 10, "chrf": 18}.get(name, len(metric.columns))
    marks = rng.integers(1, 9, (4, 2, 12, width)).astype(float)
    together = metric.score(marks)
    assert together.shape == (4, 2)
    for place in np.ndindex(4, 2):
        assert together[place] == pytest.approx(metric.score(marks[place]))


@few
@given(seed=seeds)
def test_alignment_scores_equal_the_definitions_on_sets_of_links(seed: int) -> None:
    rng = np.random.default_rng(seed)

    def links(share: float) -> set[tuple[int, int, int]]:
        return {tuple(place) for place in np.argwhere(rng.random((6, 5, 4)) < share).tolist()}  # type: ignore[misc]

    a, s = links(rng.choice([0.0, 0.1, 0.4])), links(0.2)
    p = s | links(0.2)
    marks = [[len([link for link in part if link[0] == k]) for part in (a & s, a & p, a, s)] for k in range(6)]
    scores = {name: METRICS[name].score(marks).item() for name in ("aer", "precision", "recall", "alignment-f1")}
    assert scores["aer"] == pytest.approx(1 - (len(a & s) + len(a & p)) / (len(a) + len(s)))
    assert scores["recall"] == pytest.approx(len(a & s) / len(s))
    if not a:
        assert np.isnan(scores["precision"])
        assert (scores["aer"], scores["alignment-f1"]) == (1, 0)
    else:
        precision, recall = len(a & p) / len(a), len(a & s) / len(s)
        assert scores["precision"] == pytest.approx(precision)
        both = precision + recall
        assert scores["alignment-f1"] == pytest.approx(2 * precision * recall / both if both else 0)


def test_without_sure_links_only_precision_has_anything_to_score() -> None:
    marks = [[0, 2, 4, 0]]
    assert METRICS["precision"].score(marks) == 0.5
    assert METRICS["aer"].score(marks) == 0.5
    assert np.isnan(METRICS["recall"].score(marks))
    assert np.isnan(METRICS["alignment-f1"].score(marks))
    assert np.isnan(METRICS["aer"].score([[0, 0, 0, 0]]))


def test_worse_has_one_direction() -> None:
    assert METRICS["bleu"].worse([-1.0, 2.0]).tolist() == [1.0, -2.0]
    assert METRICS["perplexity"].worse([-1.0, 2.0]).tolist() == [-1.0, 2.0]
