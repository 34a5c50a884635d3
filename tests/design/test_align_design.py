"""The experiment of align under test: made-up models whose layers link what they are told to link.

What words pick is given pair by pair in place of a forward pass. Layer 1 is right in one half of the pairs and layer
2 in the other, so that whoever scores where the layer was chosen finds it perfect; models are right where their
twins are wrong, each in a way of its own; mean norms point at the wrong layer.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from attlas.capture import Subject
from attlas.stats import Bundle
from attlas.store import Result
from attlas.studies.align import passes
from attlas.studies.align.call import align
from attlas.studies.align.tables import BY_NORM, HALVES, ORACLE, Method, halves
from attlas.text import Document
from bitexts import document, subject

Right = Callable[[int, Method, int], bool]  # whether a pair is linked rightly by a method of a reader (0: the model)
WORDS = "the old bridge"
ENTER = passes._Pass.give


def bitext(count: int) -> list[Document]:
    """Pairs of three words, each the translation of the one at its place."""
    return [document(WORDS, WORDS, "0-0 1-1 2-2", f"pair {number}") for number in range(count)]


@pytest.fixture
def model() -> Subject:
    return subject("marian")


def plant(monkeypatch: pytest.MonkeyPatch, models: list[Subject], right: Right, norms: Any = (1.0, 2.0)) -> None:
    """Let words pick the word at their own place where it is right to, and their neighbour where it is not."""
    seen: dict[int, list[Subject]] = {}

    def give(self: Any, bundle: Bundle) -> None:
        study = self.study
        (family,) = (at for at, own in enumerate(models) if study.subject.name.endswith(own.name))
        readers = seen.setdefault(family, [models[family]])
        if not any(study.subject is known for known in readers):
            readers.append(study.subject)
        who = next(at for at, known in enumerate(readers) if study.subject is known)
        for side, name in enumerate(study.sides):
            methods = [method for method in study.methods if method.side == name]
            for row, (pair, _) in enumerate(self.batch):
                for column, method in enumerate(methods):
                    shift = 0 if right(pair, method, who) else (1, -1)[family]  # both directions err alike
                    self.picked[side][row, column, :3] = (np.arange(3) + shift) % 3
        self.sums[:] = np.array(norms if who == 0 else norms[::-1])[:, None]
        ENTER(self, bundle)

    monkeypatch.setattr(passes._Pass, "take", lambda self, call: None)
    monkeypatch.setattr(passes._Pass, "give", give)


def rows(result: Result, table: str, **wanted: Any) -> list[dict[str, Any]]:
    return [row for row in result.rows(table) if all(row[name] == wanted[name] for name in wanted)]


LAYERS: dict[str, Any] = {"side": "input", "measure": "norm", "unit": "layer"}


def test_the_honest_oracle_is_not_scored_where_it_chose(monkeypatch: pytest.MonkeyPatch, model: Subject) -> None:
    first = halves(40, 0)
    plant(monkeypatch, [model], lambda pair, method, who: who == 0 and method.layer == (0 if first[pair] else 1))
    result = align(model, bitext(40), aligners=(), twins=1)
    (oracle,) = rows(result, "choices", how=ORACLE, **LAYERS)
    (honest,) = rows(result, "choices", how=HALVES, **LAYERS)
    assert (oracle["value"], honest["value"]) == (0.5, 1.0)
    for number, layer in ((1, 0), (2, 1)):
        (half,) = rows(result, "choices", how=f"chosen on half {number}, scored on the other", **LAYERS)
        assert (half["layer"], half["value"], half["links"]) == (layer, 1.0, 60)


def test_without_gold_the_choice_does_not_look_at_it(monkeypatch: pytest.MonkeyPatch, model: Subject) -> None:
    """The second layer has the larger norms and no right link; twins have the larger norms in the first."""
    plant(monkeypatch, [model], lambda pair, method, who: method.layer == 0)
    result = align(model, bitext(20), aligners=(), twins=1)
    (blind,) = rows(result, "choices", how=BY_NORM, **LAYERS)
    (oracle,) = rows(result, "choices", how=ORACLE, **LAYERS)
    assert (blind["layer"], blind["value"]) == (1, 1.0)
    assert (oracle["layer"], oracle["value"]) == (0, 0.0)


def by_reader(pair: int, method: Method, who: int) -> bool:
    """The model is right in all of ten pairs, its twins in one, two and three of them."""
    return who == 0 or pair % 10 < who


def test_twins_are_not_the_model_and_have_a_spread(monkeypatch: pytest.MonkeyPatch, model: Subject) -> None:
    back = subject("marian", 1)
    plant(monkeypatch, [model, back], by_reader)
    result = align(model, bitext(20), back=back, aligners=(), twins=3)
    for direction in ("forward", "backward", "intersection", "grow-diag-final-and"):
        scores = rows(result, "scores", direction=direction, score="AER", head=None)
        chosen = [row for row in rows(result, "choices", direction=direction) if "half" not in row["how"]]
        assert len(scores) == 8
        assert len(chosen) >= 4
        for row in scores + chosen:
            assert row["value"] == 0
            assert [row[name] for name in ("twin_low", "twin", "twin_high")] == pytest.approx([0.7, 0.8, 0.9])
            assert row["twins"] == 3
    assert {row["twins"] for row in result.rows("mean_norms")} == {3}


def test_twins_are_drawn_one_by_one(monkeypatch: pytest.MonkeyPatch) -> None:
    """Each has weights of its own, in both directions."""
    asked: list[tuple[str, int]] = []
    twin = Subject.twin
    monkeypatch.setattr(Subject, "twin", lambda self, seed: asked.append((self.name, seed)) or twin(self, seed))
    align(subject("marian"), bitext(6), back=subject("marian", 1), aligners=(), twins=2, seed=7)
    assert asked == [("marian 0", 7), ("marian 0", 8), ("marian 1", 7), ("marian 1", 8)]


def test_one_twin_has_no_spread(monkeypatch: pytest.MonkeyPatch, model: Subject) -> None:
    plant(monkeypatch, [model], by_reader)
    for texts in (bitext(20), [document(WORDS, WORDS) for _ in range(20)]):
        for row in align(model, texts, aligners=(), twins=1).rows("scores"):
            assert row["twin"] is not None
            assert (row["twin_low"], row["twin_high"], row["twins"]) == (None, None, 1)


def test_intervals_are_over_pairs_and_stay_in_their_range(monkeypatch: pytest.MonkeyPatch, model: Subject) -> None:
    """All three links of a pair are right or wrong together: sixty links are as good as twenty throws."""
    plant(monkeypatch, [model], lambda pair, method, who: pair % 2 == 0)
    wide = rows(align(model, bitext(20), aligners=(), twins=1), "scores", layer=0, head=None, measure="norm")
    assert {row["score"] for row in wide} == {"AER", "precision", "recall", "F1"}
    for row in wide:
        assert row["value"] == 0.5
        assert 0.2 < row["low"] < 0.31
        assert 0.69 < row["high"] < 0.8
    plant(monkeypatch, [model], lambda pair, method, who: True)
    for count, known in ((5, False), (20, True)):
        (row,) = rows(
            align(model, bitext(count), aligners=(), twins=1), "scores", layer=0, head=None, measure="norm",
            side="input", score="AER",
        )  # fmt: skip
        assert row["value"] == 0
        assert (row["low"] is not None) == (row["high"] is not None) == known
        if known:  # nothing but right links does not make it certain
            assert row["low"] == 0
            assert 0.02 < row["high"] < 0.2


def test_norms_against_weights_keep_their_sign_and_are_corrected(
    monkeypatch: pytest.MonkeyPatch, model: Subject
) -> None:
    """Norms are right more often in the first layer, in a few pairs, and less often in the second."""

    def right(pair: int, method: Method, who: int) -> bool:
        better = pair % 4 == 0 and pair < 32
        return better if (method.measure == "norm") == (method.layer == 0) else pair == 1

    plant(monkeypatch, [model], right)
    gains = rows(align(model, bitext(40), aligners=(), twins=1), "gains", side="input")
    first, second = gains
    assert (first["change"] < 0, second["change"] < 0) == (True, False)
    assert first["change"] == pytest.approx(-second["change"]) == pytest.approx(-7 / 40)
    assert 0.01 < first["p"] < 0.1
    assert [row["p_corrected"] for row in gains] == pytest.approx([2 * min(row["p"] for row in gains)] * 2, rel=0.2)
    assert all(row["p_corrected"] > 1.5 * row["p"] for row in gains[:1])
