"""The experiment of relations under test: a made-up model whose heads do other things on other texts.

Heads are given what they find, text by text, in place of a forward pass. Head 1-1 finds every governor in the texts
to choose on and none in those that are scored; head 2-2 the other way round. Whoever chooses on the scored texts,
takes the model for its twin, forgets a correction or turns a sign gets another answer than the one asked for here.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import twins
from attlas.capture import Subject
from attlas.stats import Bundle
from attlas.studies.relations import passes
from attlas.studies.relations.call import relations
from attlas.text import Document

Found = Callable[[Document, bool], np.ndarray]  # hits of (direction, layer, head) in a text, of the model or a twin


def text(name: str, label: str = "det", further: int = 1) -> Document:
    """A text of one case, whose governor stands one word further on, or two."""
    governors, relations = (
        ([2, 2, -1], ["dep", label, "root"]) if further == 1 else ([2, -1, 1], [label, "root", "dep"])
    )
    words = ["The", "old", "farmer"]
    return Document.from_words(words, name=name, governors=governors, relations=relations)


@pytest.fixture
def model() -> Subject:
    return Subject.of(twins.model("bert"), twins.tokenizer(False), "made up")


def plant(monkeypatch: pytest.MonkeyPatch, model: Subject, found: Found) -> None:
    """Let heads find what they are told to find: all cases of a text, or none."""

    def give(self: Any, bundle: Bundle) -> None:
        twin = self.study.subject is not model
        right = np.stack([found(document, twin) for document in self.documents])
        hits = right[..., None] * self.counts[:, None, None, None]
        bundle["figures"].update(hits, self.counts[:, None, None, None], self.units)
        bundle["offsets"].update(self.offsets, self.counts[:, None], self.units)

    begin = passes._Pass.__init__

    def init(self: Any, study: Any, made: Any, batch: Any) -> None:
        begin(self, study, made, batch)
        self.documents = [example.passage.first for example in batch]

    monkeypatch.setattr(passes._Pass, "__init__", init)
    monkeypatch.setattr(passes._Pass, "take", lambda self, call: None)
    monkeypatch.setattr(passes._Pass, "give", give)


def number(document: Document) -> int:
    return int(document.name.split()[-1])


def opposite(document: Document, twin: bool) -> np.ndarray:
    """1-1 is right where heads are chosen, 2-2 where they are scored; a twin's heads in every fifth text."""
    hits = np.zeros((2, 3, 4))
    if twin:
        hits[:] = number(document) % 5 == 0
    elif document.name.startswith("choose"):
        hits[0, 0, 0] = 1
    else:
        hits[0, 1, 1] = 1
    return hits


def row_of(result: Any, relation: str, direction: str = "to") -> dict[str, Any]:
    (row,) = [row for row in result.rows() if (row["relation"], row["direction"]) == (relation, direction)]
    return row


def test_heads_are_chosen_on_the_texts_that_are_not_scored(monkeypatch: pytest.MonkeyPatch, model: Subject) -> None:
    plant(monkeypatch, model, opposite)
    texts = [text(f"score {at}") for at in range(40)]
    row = row_of(relations(model, texts, choose_on=[text(f"choose {at}") for at in range(20)]), "det")
    assert (row["layer"], row["head"]) == (0, 0)
    assert (row["value"], row["chosen_value"]) == (0, 1)
    assert row["margin"] < 0
    assert row["p"] > 0.99


def test_twins_are_not_the_model(monkeypatch: pytest.MonkeyPatch, model: Subject) -> None:
    plant(monkeypatch, model, opposite)
    texts = [text(f"score {at}") for at in range(40)]
    result = relations(model, texts, choose_on=[text(f"choose {at}") for at in range(20)])
    assert row_of(result, "det")["twin"] == pytest.approx(0.2)
    places = {(row["layer"], row["head"]): row for row in result.rows("relation_heads") if row["direction"] == "to"}
    assert (places[1, 1]["value"], places[1, 1]["twin"]) == (1, pytest.approx(0.2))


def test_the_untrained_twin_has_weights_of_its_own(model: Subject) -> None:
    own = dict(model.model.named_parameters())
    for seed in (0, 1):
        theirs = dict(model.twin(seed).model.named_parameters())
        assert own.keys() == theirs.keys()
        assert all(theirs[name] is not own[name] for name in own)
    weights = [dict(model.twin(seed).model.named_parameters()) for seed in (0, 1)]
    matrices = [name for name, value in own.items() if value.ndim > 1 and "attention" in name]
    assert matrices
    assert not any(bool((weights[0][name] == weights[1][name]).all()) for name in matrices)
    assert not any(bool((weights[0][name] == own[name]).all()) for name in matrices)


def slightly(document: Document, twin: bool) -> np.ndarray:
    """Every head of the way "to" is a little better than the offset on texts of its own, and "from" never right."""
    hits = np.zeros((2, 3, 4))
    right = number(document) % 8 != 0 or number(document) % 16 == 0
    hits[0] = right
    rng = np.random.default_rng(number(document))
    hits[0] = np.where(rng.random((3, 4)) < 0.25, 1 - hits[0], hits[0])
    return hits


def offset_of(at: int) -> int:
    return 1 if at % 2 else 2


def test_p_is_corrected_for_all_chosen_heads_and_for_all_heads(
    monkeypatch: pytest.MonkeyPatch, model: Subject
) -> None:
    plant(monkeypatch, model, slightly)
    labels = ("det", "amod", "nsubj", "obj", "case")
    texts = [text(f"score {at}", label, offset_of(at)) for at in range(24) for label in labels]
    result = relations(model, texts, choose_on=[text(f"choose {at}", label) for at in range(24) for label in labels])
    tested = [row for row in result.rows() if row["direction"] == "to" and row["p"] < 0.2]
    assert len(tested) > 3
    assert all(row["p_corrected"] >= row["p"] for row in tested)
    assert any(row["p_corrected"] > 1.5 * row["p"] for row in tested)
    heads = [row for row in result.rows("relation_heads") if row["direction"] == "to" and row["relation"] == "det"]
    alone = {
        (row["layer"], row["head"]): row
        for row in result.rows()
        if row["relation"] == "det" and row["direction"] == "to"
    }
    same = [row for row in heads if (row["layer"], row["head"]) in alone]
    assert same
    assert all(row["p_corrected"] > 1.5 * alone[row["layer"], row["head"]]["p"] for row in same)
    assert all(row["everywhere_p_corrected"] >= row["p_corrected"] - 0.02 for row in heads)


def test_a_head_that_is_better_has_a_small_p_and_one_that_is_worse_a_large_one(
    monkeypatch: pytest.MonkeyPatch, model: Subject
) -> None:
    def found(document: Document, twin: bool) -> np.ndarray:
        hits = np.zeros((2, 3, 4))
        hits[0, 0, 0] = 1  # one way always right, the other way never
        return hits

    plant(monkeypatch, model, found)
    texts = [text(f"score {at}", further=offset_of(at)) for at in range(30)]
    result = relations(model, texts, choose_on=[text(f"choose {at}") for at in range(20)])
    better, worse = row_of(result, "det"), row_of(result, "det", "from")
    assert better["margin"] == pytest.approx(0.5)
    assert better["p_corrected"] < 0.01
    assert worse["margin"] == pytest.approx(-0.5)
    assert worse["p_corrected"] > 0.9
    assert (better["published"] is None, worse["published"] is None) == (False, True)
    assert better["best"]
    assert not worse["best"]


def test_the_offset_is_the_best_where_heads_are_scored(monkeypatch: pytest.MonkeyPatch, model: Subject) -> None:
    """One word on is right where heads are chosen, two words on where they are scored: the baseline may look."""
    plant(monkeypatch, model, lambda document, twin: np.ones((2, 3, 4)) * (number(document) % 4 > 0))
    texts = [text(f"score {at}", further=2) for at in range(40)]
    row = row_of(relations(model, texts, choose_on=[text(f"choose {at}") for at in range(20)]), "det")
    assert (row["offset"], row["baseline"]) == (2, 1)
    assert row["margin"] == pytest.approx(-0.25)


def test_documents_are_the_units_where_there_are_enough(monkeypatch: pytest.MonkeyPatch, model: Subject) -> None:
    """Sentences of one document agree wholly; taken for independent, they would make anything sure."""
    from attlas.corpora import Corpus

    plant(monkeypatch, model, lambda document, twin: np.ones((2, 3, 4)))
    few = tuple(text(f"score {at}", further=offset_of(at // 20)) for at in range(200))
    chosen = [text(f"choose {at}") for at in range(20)]
    by_document = Corpus(few, "documents", "few", "", tuple(at // 10 for at in range(200)))
    row = row_of(relations(model, by_document, choose_on=chosen), "det")
    assert row["units"] == 20
    fewer = Corpus(few[:60], "documents", "fewer", "", tuple(at // 4 for at in range(60)))
    assert row_of(relations(model, fewer, choose_on=chosen), "det")["units"] == 60  # 15 documents: texts are units


def test_below_sixteen_units_there_is_no_p(monkeypatch: pytest.MonkeyPatch, model: Subject) -> None:
    plant(monkeypatch, model, lambda document, twin: np.ones((2, 3, 4)))
    chosen = [text(f"choose {at}") for at in range(20)]
    for count in (15, 16):
        row = row_of(
            relations(model, [text(f"score {at}", further=2 - at % 2) for at in range(count)], choose_on=chosen),
            "det",
        )
        assert (row["p"] is None) == (row["p_corrected"] is None) == (count < 16)
