"""The fast way to weigh words, against the slow one."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import twins
from attlas.capture import Subject
from attlas.studies.shared.keywords import weighing
from attlas.studies.shared.keywords.choice import Choice
from attlas.studies.shared.keywords.weighing import KINDS, Kind, cut, received_by_words, relative, weigh
from attlas.text import Document, Passage, cut_windows
from attlas.text.windows import window_spans

TEXT = " ".join(twins.SENTENCES * 8)


def subject(family: str) -> Subject:
    return Subject.of(twins.model(family), twins.tokenizer(family in twins.CAUSAL), family)


@pytest.mark.parametrize("family", ["bert", "albert", "gpt2", "gpt_neo", "t5"])
def test_leaving_early_changes_nothing(family: str) -> None:
    """Heads of the lower layers, from a pass that goes no further, and from a whole one."""
    model = subject(family)
    examples = model.pieces.encode_all([Passage(Document.from_text(text)) for text in twins.SENTENCES[:2]])
    kinds = [kind for kind in KINDS if kind.measure == "weight" or model.has_norms]
    heads = {1: [3, 0], 0: [0, 1, 2, 3]}
    for whole, some in zip(
        received_by_words(model, examples, kinds), received_by_words(model, examples, kinds, heads), strict=True
    ):
        assert some == pytest.approx(np.concatenate([whole[:, 1][:, [3, 0]], whole[:, 0]], 1), abs=1e-6)
    again = received_by_words(model, examples, kinds)  # nothing of the pass that was left stays behind
    assert again[0] == pytest.approx(received_by_words(model, examples, kinds)[0], abs=1e-6)


def test_weights_do_not_depend_on_what_is_read_together(monkeypatch: pytest.MonkeyPatch) -> None:
    model = subject("bert")
    choice = Choice(tuple(model.named(["3-1", "1-2"])), "norm", "mean", "")
    documents = [Document.from_text(text) for text in (*twins.SENTENCES[:3], TEXT, "farmer")]
    alone = []
    for document in documents:
        parts = []
        for window in cut(model, document):
            example = model.pieces.encode(Passage(window))
            (values,) = received_by_words(model, [example], [Kind("norm", "mean")], choice.layers)
            parts.append(relative(values[0]).mean(0))
        alone.append(np.concatenate(parts))
    monkeypatch.setattr(weighing, "WINDOWS", 3)
    monkeypatch.setattr(weighing, "WORDS", 60)
    for budget in (None, 1, 200):
        found = list(weigh(model, iter(documents), choice, budget=budget))
        assert [one.document for one in found] == documents
        assert found[3].windows == len(cut(model, documents[3])) > 2
        for one, weights in zip(found, alone, strict=True):
            assert one.weights == pytest.approx(weights, abs=1e-5)


def test_from_any_document_on_weights_have_the_same_bits(monkeypatch: pytest.MonkeyPatch) -> None:
    """A run that was killed goes on in the middle of what is read together."""
    model = subject("bert")
    choice = Choice(tuple(model.named(["3-1", "1-2"])), "norm", "mean", "")
    documents = [Document.from_text(text) for text in (*twins.SENTENCES, TEXT, *twins.SENTENCES, "farmer")]
    monkeypatch.setattr(weighing, "WORDS", 60)
    whole = list(weigh(model, documents, choice, budget=40))
    read: list[int] = []
    plain = weighing.received_by_words

    def noting(model: Subject, examples: Any, *rest: Any) -> Any:
        read.append(len(examples))
        return plain(model, examples, *rest)

    monkeypatch.setattr(weighing, "received_by_words", noting)
    for start in range(len(documents) + 1):
        read.clear()
        some = list(weigh(model, iter(documents), choice, budget=40, start=start))
        assert [one.document for one in some] == documents[start:]
        for one, expected in zip(some, whole[start:], strict=True):
            assert np.array_equal(one.weights, expected.weights)
            assert one.windows == expected.windows
        assert bool(read) == (start < len(documents))
    assert sum(read) == 0


@pytest.mark.parametrize("limit", [7, 20, 64, 4000])
def test_spans_are_the_windows(limit: int) -> None:
    document = Document.from_text(TEXT)
    lengths: list[int] = []

    def length(part: Document) -> int:
        lengths.append(len(part.words))
        return len(part.words) + 2

    windows = cut_windows(document, length, limit).documents
    spans = list(window_spans(document, length, limit))
    assert [document.slice(*span).text for span in spans] == [window.text for window in windows]
    assert sum(span.length for span in spans) == len(document.words)
    if limit < 30:  # a long text is never cut into pieces as a whole
        assert max(lengths) <= 2 * limit


def test_a_slice_has_the_sentences_that_reach_into_it() -> None:
    document = Document.from_text(TEXT)
    for start, stop in ((0, 1), (3, 9), (5, 40), (17, 18), (0, len(document.words))):
        naive = tuple(
            (max(one.start, start) - start, min(one.stop, stop) - start)
            for one in document.sentences
            if one.start < stop and one.stop > start
        )
        assert document.slice(start, stop).sentences == naive
