"""From documents to key phrases: choose heads, weigh every word, rank phrases."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import NamedTuple

from attlas.capture import Subject
from attlas.studies.shared.keywords.choice import Choice, choose_heads
from attlas.studies.shared.keywords.phrases import BAR, LONGEST, Phrase, rank_phrases
from attlas.studies.shared.keywords.weighing import Numbers, weigh
from attlas.text import Document
from attlas.text.stems import stemmer


class Extracted(NamedTuple):
    """A document, the weight of each of its words, its phrases, the heaviest first, and how many windows it took."""

    document: Document
    weights: Numbers
    phrases: list[Phrase]
    windows: int


def extract(
    subject: Subject,
    documents: Iterable[Document],
    choice: Choice | None = None,
    *,
    top: int | None = None,
    bar: float = BAR,
    longest: int = LONGEST,
    language: str = "english",
    max_pieces: int | None = None,
    budget: int | None = None,
    start: int = 0,
) -> Iterator[Extracted]:
    """Key phrases of documents, one after the other, from the one of number ``start`` on; ``top`` is the most that
    are kept of each.

    >>> from attlas.capture import load
    >>> text = "Alan Turing put forward the imitation game as a test of whether machines can think."
    >>> one, = extract(load(), [Document.from_text(text)], top=1)
    >>> [phrase.text for phrase in one.phrases]
    ['imitation game']
    """
    chosen = choose_heads(subject) if choice is None else choice
    stem = stemmer(language)
    weighed = weigh(subject, documents, chosen, max_pieces=max_pieces, budget=budget, start=start)
    for document, weights, windows in weighed:
        phrases = rank_phrases(document, weights, bar=bar, longest=longest, stem=stem)
        yield Extracted(document, weights, phrases[:top], windows)
