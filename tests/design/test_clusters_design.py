"""The experiment of clusters under test: heads that are told how far apart they are, text by text.

In place of a forward pass every text has the distances it is given: heads of one layer near each other, or far; other
ones in one half of the texts than in the other; other ones in twins. Whoever takes the model for its twin, chooses a
pair on the half it is told from, forgets the true deal or turns the test round gets another answer.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import twins
from attlas.capture import Subject
from attlas.corpora import Corpus
from attlas.ids import Stream
from attlas.pages import Tables
from attlas.stats import Bundle
from attlas.studies.clusters import passes
from attlas.studies.clusters.arrangement import togetherness
from attlas.studies.clusters.behaviour import FIGURES
from attlas.studies.clusters.call import clusters
from attlas.studies.clusters.page import PAGE, nearest_pairs
from attlas.text import Document

LAYERS, HEADS = 3, 4
Apart = Callable[[int, int, str], np.ndarray]  # distances of all heads: of a unit, in a half, by whose name
SAME = np.kron(np.eye(LAYERS), np.ones((HEADS, HEADS))) > 0
TEXTS = [Document.from_text(f"The farmer offered {number} apples.") for number in range(20)]


@pytest.fixture
def model() -> Subject:
    return Subject.of(twins.model("bert"), twins.tokenizer(False), "made up")


def plant(monkeypatch: pytest.MonkeyPatch, model: Subject, apart: Apart) -> None:
    """Let heads be as far apart as they are told to be."""
    names: dict[int, str] = {id(model): "model"}

    def give(self: Any, bundle: Bundle) -> None:
        who = names.setdefault(id(self.study.subject), f"twin {len(names)}")
        for unit, half in zip(self.units, self.halves, strict=True):
            matrix = apart(unit, half, who) * ~np.eye(LAYERS * HEADS, dtype=bool)
            pairs = matrix[np.triu_indices(len(matrix), 1)][None]
            bundle[f"encoder-pairs-{half}"].update(pairs, 1, [unit])
            passes._give_layers(bundle, Stream.ENCODER, pairs, [HEADS] * LAYERS, np.ones(1), np.array([unit]))
            figures = np.full((1, LAYERS * HEADS, len(FIGURES)), 0.1 if who == "model" else 0.2)
            bundle["encoder-figures"].update(figures, 1, [unit])

    monkeypatch.setattr(passes._Pass, "take", lambda self, call: None)
    monkeypatch.setattr(passes._Pass, "give", give)


def noise(seed: int) -> np.ndarray:
    drawn = np.triu(np.random.default_rng(seed).uniform(0, 0.02, SAME.shape), 1)
    return drawn + drawn.T


def together(unit: int, half: int, who: str) -> np.ndarray:
    """The model's layers lie together; its twins' heads are anywhere, each twin at a distance of its own."""
    if who == "model":
        return np.where(SAME, 0.1, 0.4) + noise(unit)
    return 0.2 + int(who.split()[1]) / 100 + noise(0)


def test_layers_of_the_model_lie_together_and_those_of_twins_do_not(
    monkeypatch: pytest.MonkeyPatch, model: Subject
) -> None:
    plant(monkeypatch, model, together)
    result = clusters(model, TEXTS, twins=3)
    own, *others = result.rows("togetherness")
    assert own["ratio"] == pytest.approx(0.26, abs=0.02)
    assert own["p"] < 0.01
    assert [row["who"] for row in others] == ["twin"] * 3
    assert [row["within"] for row in others] == pytest.approx([0.22, 0.23, 0.24], abs=0.006)
    assert all(abs(row["ratio"] - 1) < 0.05 and row["p"] > 0.01 for row in others)
    for name in ("pairs", "layer_pairs"):
        for row in result.rows(name):
            assert (row["twin_low"], row["twin"], row["twin_high"]) == pytest.approx((0.22, 0.23, 0.24), abs=0.02)
            assert row["twin_high"] - row["twin_low"] == pytest.approx(0.02, abs=1e-6)
            assert row["twins"] == 3
    assert all(row["entropy"] == pytest.approx(0.1) for row in result.rows("clusters"))
    assert all(row["twin_entropy"] == pytest.approx(0.2) for row in result.rows("clusters"))


def test_layers_that_lie_apart_are_not_said_to_lie_together(monkeypatch: pytest.MonkeyPatch, model: Subject) -> None:
    plant(monkeypatch, model, lambda unit, half, who: np.where(SAME, 0.4, 0.1) + noise(unit))
    result = clusters(model, TEXTS, twins=1)
    row = result.rows("togetherness")[0]
    assert row["ratio"] > 3
    assert row["p"] > 0.99
    answer = PAGE.answer(Tables(result, PAGE.schemas)) if PAGE.answer else None
    assert answer is not None
    assert "do not surely lie together" in str(answer.text)


def opposite(unit: int, half: int, who: str) -> np.ndarray:
    """Heads 1-1 and 2-1 are most alike in the first half of the texts, 1-2 and 3-1 in the second."""
    matrix = np.full(SAME.shape, 0.3)
    (a, b), (c, d) = ((0, 4), (1, 8)) if half == 1 else ((1, 8), (0, 4))
    matrix[a, b] = matrix[b, a] = 0.01
    matrix[c, d] = matrix[d, c] = 0.5
    return matrix


def test_the_nearest_pair_is_told_from_texts_it_was_not_chosen_on(
    monkeypatch: pytest.MonkeyPatch, model: Subject
) -> None:
    plant(monkeypatch, model, opposite)
    tables = Tables(clusters(model, TEXTS, twins=1), PAGE.schemas)
    first = next(iter(nearest_pairs(tables)))
    assert (first["one"], first["other"]) == ("1-1", "2-1")
    assert first["scored"] == pytest.approx(0.5)


def test_documents_are_not_divided_between_the_halves(monkeypatch: pytest.MonkeyPatch, model: Subject) -> None:
    halves: dict[int, set[int]] = {}

    def apart(unit: int, half: int, who: str) -> np.ndarray:
        halves.setdefault(unit, set()).add(half)
        return np.full(SAME.shape, 0.3)

    plant(monkeypatch, model, apart)
    texts = tuple(Document.from_text(f"The farmer offered {n} apples.") for n in range(60))
    clusters(model, Corpus(texts, "documents", "corpus", "", tuple(n // 3 for n in range(60))), twins=1)
    assert len(halves) == 20
    assert all(len(known) == 1 for known in halves.values())
    assert {half for known in halves.values() for half in known} == {1, 2}


def test_the_true_deal_is_one_of_those_that_are_counted() -> None:
    """So p is never 0, and under chance it is below any level no more often than that level says."""
    near = np.where(np.kron(np.eye(6), np.ones((4, 4))) > 0, 0.1, 0.4)
    tested = togetherness(near, [len(near) // 6] * 6, shuffles=99)
    assert tested is not None
    assert tested.p == pytest.approx(0.01)
    rng, below = np.random.default_rng(0), 0
    for seed in range(600):
        drawn = np.triu(rng.random((12, 12)), 1)
        tested = togetherness(drawn + drawn.T, [len(drawn) // 3] * 3, seed, shuffles=19)
        assert tested is not None
        below += tested.p <= 0.05
    assert below / 600 < 0.08
