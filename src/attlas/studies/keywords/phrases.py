"""Key phrases from the weights of words, whatever these weights come from.

No part of speech is asked for and no list of words: a candidate is the longest run of words of a sentence, without a
sign between them, each of which weighs at least a share (:data:`BAR`) of the average word. Function words of any
language fall below it, where weights come from norms. A run of more than :data:`LONGEST` words is a clause rather
than a phrase and is left out; only where a text has nothing else, it is narrowed to the heaviest so many words. The
score of a phrase is the sum of its words' weights, over all places where the same phrase (by its stems) is a
candidate; so 3.2 is as much as 3.2 average words. A phrase is written as at its first place. Bar and length were
found on the training part of Inspec.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from attlas.text import Document, Span
from attlas.text.keyphrases import Stems, document_stems
from attlas.text.stems import Stem

BAR, LONGEST = 0.5, 4
_LETTER = re.compile(r"[^\W\d_]")
_SIGN = re.compile(r"[\W_]+")


class Phrase(NamedTuple):
    """A phrase as it is written, its stems, its score, and all its places in the text, as ranges of words.

    >>> Phrase("solar cells", ("solar", "cell"), 3.2, (Span(0, 2),)).score
    3.2
    """

    text: str
    stems: Stems
    score: float
    places: tuple[Span, ...]


def rank_phrases(
    document: Document,
    weights: ArrayLike,
    *,
    bar: float = BAR,
    longest: int = LONGEST,
    stem: Stem | None = None,
    stems: Stems | None = None,
) -> list[Phrase]:
    """The phrases of a document, the heaviest first; of equals the one that stands first. ``stems`` may be given
    where they are known.

    >>> document = Document.from_text("The solar cells age. A solar cell ages in the sun.")
    >>> weights = [0.1, 2, 3, 1, 0, 0.1, 2, 2, 0.3, 0.2, 0.1, 1, 0]
    >>> [(phrase.text, phrase.score) for phrase in rank_phrases(document, weights)]
    [('solar cells age', 6.0), ('solar cell', 4.0), ('sun', 1.0)]
    """
    values = np.asarray(weights, dtype=np.float64)
    known = document_stems(document, stem) if stems is None else stems
    found: dict[Stems, list[Span]] = {}
    for span in candidates(document, values, bar=bar, longest=longest):
        found.setdefault(known[span.start : span.stop], []).append(span)
    phrases = [
        Phrase(_written(document, spans[0]), phrase, float(sum(values[a:b].sum() for a, b in spans)), tuple(spans))
        for phrase, spans in found.items()
    ]
    return sorted(phrases, key=lambda phrase: (-phrase.score, phrase.places[0]))


def candidates(
    document: Document, weights: NDArray[np.float64], *, bar: float = BAR, longest: int = LONGEST
) -> list[Span]:
    """The runs of words that may be phrases, in their order.

    >>> document = Document.from_text("In 2024 solar cells aged, as cells do.")
    >>> [_written(document, span) for span in candidates(document, np.array([0.1, 1, 2, 2, 1, 0, 0.1, 1, 0.2, 0]))]
    ['2024 solar cells aged', 'cells']
    """
    least = bar * float(weights.mean()) if len(weights) else 0.0
    inside = [_is_word(document.word(at)) and weights[at] >= least for at in range(len(document.words))]
    runs = [Span(first + a, first + b) for first, last in document.sentences for a, b in _runs(inside[first:last])]
    lettered = [run for run in runs if _has_letters(document, run)]
    short = [run for run in lettered if run.length <= longest]
    return short or [_narrowed(run, weights, longest) for run in lettered]


def _runs(inside: Sequence[bool]) -> list[Span]:
    edges = np.flatnonzero(np.diff(np.concatenate([[False], inside, [False]]).astype(np.int8)))
    return [Span(int(start), int(stop)) for start, stop in zip(edges[::2], edges[1::2], strict=True)]


def _narrowed(run: Span, weights: NDArray[np.float64], longest: int) -> Span:
    """The heaviest so many words of a longer run."""
    sums = np.convolve(weights[run.start : run.stop], np.ones(longest), "valid")
    start = run.start + int(sums.argmax())
    return Span(start, start + longest)


def _is_word(word: str) -> bool:
    return not _SIGN.fullmatch(word)


def _has_letters(document: Document, run: Span) -> bool:
    return any(_LETTER.search(document.word(at)) for at in range(*run))


def _written(document: Document, span: Span) -> str:
    text = document.text[document.words[span.start].start : document.words[span.stop - 1].stop]
    return " ".join(text.split())
