"""Key phrases from the weights of words, whatever these weights come from.

No part of speech is asked for and no list of words: a candidate is the longest run of words of a sentence, without a
sign between them, that each weigh enough: over all places of the same stem in the text, at least a share
(:data:`BAR`) of the average word. Function words of any language fall below it, where weights come from norms; one
place where such a word weighs more does not help it. A run of more than :data:`LONGEST` words is parted at the
lightest of its inner words, which goes (of equals the one nearest to the middle), until no part is longer. The score
of a phrase is the sum of its words' weights, over all places where the same phrase (by its stems) is a candidate; so
3.2 is as much as 3.2 average words. A phrase is written as at its first place. Bar and length were found on the
training part of Inspec, whose key phrases mostly have two or three words.

Where key phrases are mostly single words, as in news, runs of words are the wrong candidates: with a longest of 1
every word that weighs enough stands for itself. :func:`longest_for` says of texts with key phrases which it is.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from attlas.text import Document, Span
from attlas.text.keyphrases import Stems, document_stems
from attlas.text.stems import Stem

BAR, LONGEST = 0.5, 5
SINGLE = 0.5  # of given phrases, above which single words are sought
_LETTER = re.compile(r"[^\W\d_]")
_SIGN = re.compile(r"[\W_]+")


class Phrase(NamedTuple):
    """A phrase as it is written, its stems, its score, and all its places in the text, as ranges of words."""

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
    [('solar cells age', 10.3), ('sun', 1.0)]
    """
    values = np.asarray(weights, dtype=np.float64)
    known = document_stems(document, stem) if stems is None else stems
    found: dict[Stems, list[Span]] = {}
    for span in candidates(document, values, known, bar=bar, longest=longest):
        found.setdefault(known[span.start : span.stop], []).append(span)
    phrases = [
        Phrase(written(document, spans[0]), phrase, float(sum(values[a:b].sum() for a, b in spans)), tuple(spans))
        for phrase, spans in found.items()
    ]
    return sorted(phrases, key=lambda phrase: (-phrase.score, phrase.places[0]))


def longest_for(given: Iterable[Stems]) -> int:
    """The most words of a phrase that suits such key phrases: 1 where more than half of them are single words.

    >>> longest_for([("rain",), ("sun",), ("solar", "cell")]), longest_for([("rain",), ("solar", "cell")])
    (1, 5)
    """
    return 1 if single_share(given) > SINGLE else LONGEST


def single_share(given: Iterable[Stems]) -> float:
    """The share of key phrases that are single words; 0 where there are none.

    >>> single_share([("rain",), ("solar", "cell")])
    0.5
    """
    lengths = [len(phrase) for phrase in given]
    return lengths.count(1) / max(1, len(lengths))


def candidates(
    document: Document, weights: NDArray[np.float64], stems: Stems, *, bar: float = BAR, longest: int = LONGEST
) -> list[Span]:
    """The runs of words that may be phrases, in their order."""
    if not len(weights):
        return []
    enough = _over_places(stems, weights) >= bar * float(weights.mean())
    inside = [not _SIGN.fullmatch(document.word(at)) and bool(enough[at]) for at in range(len(document.words))]
    runs = [Span(first + a, first + b) for first, last in document.sentences for a, b in _runs(inside[first:last])]
    parts = [part for run in runs for part in _parted(run, weights, longest)]
    return [part for part in parts if any(_LETTER.search(document.word(at)) for at in range(*part))]


def _over_places(stems: Stems, weights: NDArray[np.float64]) -> NDArray[np.float64]:
    """The mean weight of each word's stem over all its places."""
    _, numbers = np.unique(np.array(stems, dtype=object).astype(str), return_inverse=True)
    means: NDArray[np.float64] = np.bincount(numbers, weights) / np.bincount(numbers)
    return means[numbers]


def _runs(inside: Sequence[bool]) -> list[Span]:
    edges = np.flatnonzero(np.diff(np.concatenate([[False], inside, [False]]).astype(np.int8)))
    return [Span(int(start), int(stop)) for start, stop in zip(edges[::2], edges[1::2], strict=True)]


def _parted(run: Span, weights: NDArray[np.float64], longest: int) -> list[Span]:
    """Parts of a run that are no longer than the longest; the lightest inner words are gone, except where all words
    stand for themselves."""
    if run.length <= longest:
        return [run]
    if longest == 1:
        return [Span(at, at + 1) for at in range(run.start, run.stop)]
    inner = weights[run.start + 1 : run.stop - 1]
    lightest = np.flatnonzero(inner == inner.min())
    at = run.start + 1 + int(lightest[np.abs(lightest - (len(inner) - 1) / 2).argmin()])
    return [*_parted(Span(run.start, at), weights, longest), *_parted(Span(at + 1, run.stop), weights, longest)]


def written(document: Document, span: Span) -> str:
    """Words of a document as they stand there, on one line."""
    text = document.text[document.words[span.start].start : document.words[span.stop - 1].stop]
    return " ".join(text.split())
