"""Key phrases from a tagger, against a loop that reads the tags word by word."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
import torch

import twins
from attlas.capture import Subject
from attlas.run.setting import as_corpus
from attlas.run.tasks import read_for_task, task_for
from attlas.studies.keywords_tune.tagged import Tagged, phrases_of, tag_documents, tagged_rows
from attlas.studies.shared.keywords.scoring import given_in
from attlas.tasks import Tagging
from attlas.tasks.tagging import LinearMap, labels_of, wordwise
from attlas.text import Document, Passage, Span
from attlas.text.stems import stemmer

TAGS = ("B-KEY", "I-KEY", "O")
TEXTS = [
    "The farmer offered apples to the housekeeper. He had too many of them, because nobody asked.",
    "Old bridges near the station; an old bridge. The children forgot the storm.",
    "Apples.",
]


@pytest.fixture(scope="module")
def task() -> Tagging:
    subject = Subject.of(twins.model("bert"), twins.tokenizer(causal=False), "tiny")
    drawn = torch.Generator().manual_seed(1)
    made = Tagging(subject, "keyphrases", tags=TAGS)
    made.head = LinearMap(torch.randn(3, 32, generator=drawn), torch.zeros(3))
    return made


def slowly(task: Tagging, document: Document) -> tuple[list[float], list[tuple[int, int]]]:
    """Chances and spans of a document that fits, one word after another."""
    example = task.subject.pieces.encode(Passage(document))
    with torch.no_grad():
        question = task.ask([example])
        scores = task.scores(question, task.run(question))[0].double().softmax(-1).numpy()
    lacking = set(example.source.segmentation.wordless)
    chances, spans, inside = [], [], False
    for word in range(len(document.words)):
        tag = "O" if word in lacking else TAGS[int(scores[word].argmax())]
        chances.append(0.0 if word in lacking else float(scores[word][:2].sum()))
        if tag == "B-KEY" or (tag == "I-KEY" and not inside):
            spans.append((word, word + 1))
        elif tag == "I-KEY":
            spans[-1] = (spans[-1][0], word + 1)
        inside = tag != "O"
    return chances, spans


@pytest.mark.parametrize("budget", [1, 64])
def test_spans_and_chances_as_word_by_word(task: Tagging, budget: int) -> None:
    documents = [Document.from_text(text) for text in TEXTS]
    strange = Document.from_words(["the", "\u200b", "farmer"])  # the tokenizer drops the second
    found = list(tag_documents(task, [*documents, strange], budget=budget))
    assert any(tagged.spans for tagged in found)
    for document, tagged in zip([*documents, strange], found, strict=True):
        chances, spans = slowly(task, document)
        assert [tuple(span) for span in tagged.spans] == spans
        np.testing.assert_allclose(tagged.chances, chances, atol=1e-5)
    assert (found[-1].chances[1], found[-1].words[1]) == (0.0, False)


def test_windows_are_joined(task: Tagging) -> None:
    document = Document.from_text(TEXTS[0])
    (tagged,) = tag_documents(task, [document], max_pieces=14)
    parts = [document.slice(*sentence) for sentence in document.sentences]
    assert [task.subject.pieces.length(part) <= 14 for part in (*parts, document)] == [True, True, False]
    whole: list[tuple[int, int]] = []
    at = 0
    for part in parts:
        whole += [(start + at, stop + at) for start, stop in slowly(task, part)[1]]
        at += len(part.words)
    assert [tuple(span) for span in tagged.spans] == whole


def test_a_phrase_has_the_best_of_its_places() -> None:
    document = Document.from_text(TEXTS[1])
    chances = np.linspace(0.1, 0.9, len(document.words))
    spans = [(0, 2), (3, 5), (7, 9), (10, 12)]
    found = phrases_of(document, Tagged(chances, tuple(Span(*span) for span in spans)))
    stem, best = stemmer(), dict[Any, float]()
    for start, stop in spans:
        words = tuple(stem(document.word(at)) for at in range(start, stop))
        best[words] = max(best.get(words, 0.0), float(np.mean(chances[start:stop])))
    assert [(phrase.stems, phrase.score) for phrase in found] == sorted(best.items(), key=lambda item: -item[1])
    both = next(phrase for phrase in found if len(phrase.places) == 2)
    assert (both.text, both.places) == ("Old bridges", (Span(0, 2), Span(7, 9)))


def test_right_tags_score_what_is_present() -> None:
    document = replace(Document.from_text(TEXTS[1]), keyphrases=("old bridge", "bridges", "moon"))
    tags = labels_of(document, "keyphrases")
    assert tags is not None
    assert [word for word, tag in enumerate(tags) if tag == "B-KEY"] == [0, 7]  # the longer one is kept
    tagged = Tagged(np.ones(len(tags)), (Span(0, 2), Span(7, 9)))
    rows = {
        (row["unit"], row["at"], row["gold"]): row for row in tagged_rows([document], [tagged], [given_in(document)])
    }
    assert rows["phrases", "5", "all"]["f1"] == pytest.approx(2 * 1 / (1 + 3))
    assert rows["phrases", "5", "present"]["f1"] == pytest.approx(2 * 1 / (1 + 2))
    assert (rows["spans", "", ""]["f1"], rows["words", "", ""]["f1"]) == (1.0, 1.0)


def test_the_task_reads_texts_whole_and_is_scored_by_spans(task: Tagging) -> None:
    given = replace(Document.from_text(" ".join(TEXTS)), keyphrases=("apple", "old bridge"))
    corpus = as_corpus([given, replace(given, text=given.text, keyphrases=None)])
    reading = read_for_task(task, corpus)
    assert len(reading.examples) == 1
    assert dict(reading.skipped) == {"without a word that has keyphrases": 1}
    assert [tag for tag in wordwise(reading.examples[0], "keyphrases") if tag != "O"].count("I-KEY") == 2
    marks = task.answer(task.ask(reading.examples))
    _, spans = slowly(task, given)
    wanted = {word for word, tag in enumerate(labels_of(given, "keyphrases") or ()) if tag == "B-KEY"}
    assert marks[0, 1:].tolist() == [len(spans), len(wanted)]
    assert task.metric.name == task_metric(task)


def task_metric(task: Tagging) -> str:
    return Tagging(task.subject, "chunks", tags=TAGS).metric.name


def test_no_head_knows_key_phrases_by_other_labels(task: Tagging) -> None:
    corpus = as_corpus([replace(Document.from_text("Apples."), keyphrases=("apples",))])
    with pytest.raises(Exception, match="cannot be put to the task tagging:keyphrases"):
        task_for(task.subject, "tagging:keyphrases", corpus)
