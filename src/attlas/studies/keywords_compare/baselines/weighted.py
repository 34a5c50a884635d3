"""Phrases from any weights of words, and candidates ranked by them.

A method that weighs words comes in two forms: phrases are made of its weights as they are of attention's, or
candidates that are given are scored by the sum of their words' weights over all their places.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence

import numpy as np
from numpy.typing import NDArray

from attlas.studies.keywords_compare.baselines.named import Named, named
from attlas.studies.shared.keywords.phrases import LONGEST, Phrase, rank_phrases
from attlas.text import Document
from attlas.text.keyphrases import Stems, document_stems
from attlas.text.stems import Stem

Pair = tuple[Document, Sequence[Phrase]]  # a document with candidates
Weigh = Callable[[Document, Stems], NDArray[np.float64]]


def by_words(
    documents: Iterable[Document], weigh: Weigh, stem: Stem | None = None, longest: int = LONGEST
) -> Iterator[list[Named]]:
    """Phrases of documents from the weights of their words; single words where the longest is 1.

    >>> document = Document.from_text("Solar cells age.")
    >>> [phrase.text for phrase in next(by_words([document], lambda *_: np.array([1.0, 2.0, 0.0, 0.0])))]
    ['Solar cells']
    """
    for document in documents:
        stems = document_stems(document, stem)
        yield named(rank_phrases(document, weigh(document, stems), stems=stems, longest=longest))


def by_candidates(pairs: Iterable[Pair], weigh: Weigh, stem: Stem | None = None) -> Iterator[list[Named]]:
    """Candidates that are given, by the sum of the weights of their words over all places.

    >>> from attlas.text import Span
    >>> phrases = [Phrase("age", ("age",), 9.0, (Span(2, 3),)), Phrase("Solar", ("solar",), 1.0, (Span(0, 1),))]
    >>> pairs = [(Document.from_text("Solar cells age."), phrases)]
    >>> [phrase.text for phrase in next(by_candidates(pairs, lambda *_: np.array([2.0, 0.0, 1.0, 0.0])))]
    ['Solar', 'age']
    """
    for document, phrases in pairs:
        weights = weigh(document, document_stems(document, stem))
        scores = [float(sum(weights[start:stop].sum() for start, stop in phrase.places)) for phrase in phrases]
        order = sorted(range(len(phrases)), key=lambda at: (-scores[at], phrases[at].places[0]))
        yield named(phrases[at] for at in order)
