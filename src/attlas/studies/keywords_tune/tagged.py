"""Key phrases from a model that was trained to tag them.

A document is cut into windows that the model can take, every word gets the tag of the highest score, and words that
are tagged make spans as chunks do (see :func:`attlas.tasks.tagging.spans`). A phrase is what spans with the same
stems have in common; its score is the highest, over its spans, of the mean probability that a word of it is tagged at
all. The phrase of the highest score comes first, of equals the one that stands first. A word without a piece of its
own is in no span.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import islice
from typing import Any, NamedTuple

import numpy as np
import torch
from numpy.typing import NDArray

from attlas.run.batches import batches
from attlas.studies.shared.keywords.phrases import Phrase, written
from attlas.studies.shared.keywords.scoring import Given, Marks, score_rows, scores_of
from attlas.studies.shared.keywords.weighing import BUDGET, cut
from attlas.tasks.tagging import OUTSIDE, Tagging
from attlas.text import Document, Passage, Span
from attlas.text.keyphrases import Stems, document_stems, key_chunks, key_words
from attlas.text.stems import Stem

Numbers = NDArray[np.float64]
AT_ONCE = 64  # documents that are cut and sorted by length together


class Tagged(NamedTuple):
    """What a tagger says of a document: for every word the probability that it is in a key phrase, and the spans."""

    chances: Numbers
    spans: tuple[Span, ...]

    @property
    def words(self) -> NDArray[np.bool_]:
        """Which words are in a span."""
        found = np.zeros(len(self.chances), dtype=bool)
        for start, stop in self.spans:
            found[start:stop] = True
        return found


def tag_documents(
    task: Tagging,
    documents: Iterable[Document],
    *,
    max_pieces: int | None = None,
    budget: int = BUDGET,
    each: Callable[[int], None] | None = None,
) -> Iterator[Tagged]:
    """Documents as a tagger sees them, in their order; ``each`` is told the pieces of every batch that is done."""
    remaining = iter(documents)
    while some := list(islice(remaining, AT_ONCE)):
        windows = [window for document in some for window in cut(task.subject, document, max_pieces)]
        parts = iter(_tagged(task, windows, budget, each))
        for document in some:
            found: list[Tagged] = []
            while sum(len(part.chances) for part in found) < len(document.words):
                found.append(next(parts))
            yield _joined(found)


def phrases_of(document: Document, tagged: Tagged, stem: Stem | None = None) -> list[Phrase]:
    """The phrases of a document that was tagged, the likeliest first."""
    stems = document_stems(document, stem)
    found: dict[Stems, list[Span]] = {}
    for span in tagged.spans:
        found.setdefault(stems[span.start : span.stop], []).append(span)
    phrases = []
    for words, spans in found.items():
        score = max(float(tagged.chances[start:stop].mean()) for start, stop in spans)
        phrases.append(Phrase(written(document, spans[0]), words, score, tuple(spans)))
    return sorted(phrases, key=lambda phrase: (-phrase.score, phrase.places[0]))


def _unit_marks(documents: Sequence[Document], tagged: Sequence[Tagged]) -> dict[str, Marks]:
    """Per document what both have, what was found and what was given: of spans that do not overlap, and of words."""
    spans, words = np.zeros((len(documents), 3)), np.zeros((len(documents), 3))
    for row, (document, one) in enumerate(zip(documents, tagged, strict=True)):
        given = {Span(start, stop) for start, stop, _ in key_chunks(document)}
        spans[row] = len(given & set(one.spans)), len(one.spans), len(given)
        found, key = one.words, key_words(document)
        words[row] = (found & key).sum(), found.sum(), key.sum()
    return {"spans": spans, "words": words}


def tagged_rows(
    documents: Sequence[Document], tagged: Sequence[Tagged], given: Sequence[Given]
) -> list[dict[str, Any]]:
    """Scores of a tagger, with intervals over documents: phrases at every depth and by either gold, spans, words."""
    found = [[phrase.stems for phrase in phrases_of(*pair)] for pair in zip(documents, tagged, strict=True)]
    rows = [{"unit": "phrases", **row} for row in score_rows(found, given)]
    counted = _unit_marks(documents, tagged)
    return rows + [{"unit": unit, "at": "", "gold": "", **scores_of(each)} for unit, each in counted.items()]


def _tagged(
    task: Tagging, windows: Sequence[Document], budget: int, each: Callable[[int], None] | None
) -> list[Tagged]:
    """Windows as a tagger sees them, in batches of like length."""
    found: list[Tagged] = [Tagged(np.zeros(0), ())] * len(windows)
    examples = task.subject.pieces.encode_all([Passage(window) for window in windows])
    for some in batches([example.length for example in examples], budget):
        question = task.ask([examples[index] for index in some])
        with torch.no_grad():
            scores = task.scores(question, task.run(question)).float().cpu()
        for row, index in enumerate(some):
            segmentation = examples[index].source.segmentation
            own = scores[row, : segmentation.word_count]
            there = torch.ones(len(own), dtype=torch.bool)
            there[list(segmentation.wordless)] = False
            found[index] = _one(task, own, there)
        if each is not None:
            each(sum(examples[index].length for index in some))
    return found


def _one(task: Tagging, scores: torch.Tensor, there: torch.Tensor) -> Tagged:
    """A window, from the scores (word, tag) of its words."""
    starts, _, ends = task.spans_in(scores.argmax(-1), there)
    inside = [number for number, tag in enumerate(task.tags) if tag != OUTSIDE]
    chances = torch.where(there, scores.double().softmax(-1)[:, inside].sum(-1), 0.0)
    spans = tuple(Span(start, int(ends[start])) for start in starts.nonzero()[:, 0].tolist())
    return Tagged(chances.numpy(), spans)


def _joined(parts: Sequence[Tagged]) -> Tagged:
    """The windows of a document, one after another."""
    spans, at = [], 0
    for part in parts:
        spans += [Span(start + at, stop + at) for start, stop in part.spans]
        at += len(part.chances)
    return Tagged(np.concatenate([part.chances for part in parts]), tuple(spans))
