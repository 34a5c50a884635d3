"""What any method must beat: candidates in the order of the text, and in no order at all.

With the candidates of attention they say how much of a score is due to the candidates alone; with runs between stop
words they need nothing.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

import numpy as np

from attlas.studies.keywords_compare.baselines.named import Named, named
from attlas.studies.keywords_compare.baselines.stopping import in_order
from attlas.studies.shared.keywords.phrases import Phrase


def first(candidates: Iterable[Sequence[Phrase]]) -> Iterator[list[Named]]:
    """Candidates of documents, those that stand first in front.

    >>> from attlas.text import Span
    >>> phrases = [Phrase("b", ("b",), 2.0, (Span(1, 2),)), Phrase("a", ("a",), 1.0, (Span(0, 1),))]
    >>> [phrase.text for phrase in next(first([phrases]))]
    ['a', 'b']
    """
    return (named(in_order(phrases)) for phrases in candidates)


def random(candidates: Iterable[Sequence[Phrase]], seed: int = 0) -> Iterator[list[Named]]:
    """Candidates of documents, shuffled by the seed.

    >>> phrases = [Phrase(letter, (letter,), 1.0, ()) for letter in "abcdef"]
    >>> one, again = next(random([phrases], 1)), next(random([phrases], 1))
    >>> one == again, one == named(phrases)
    (True, False)
    """
    for number, phrases in enumerate(candidates):
        order = np.random.default_rng((seed, number)).permutation(len(phrases))
        yield named(phrases[index] for index in order)
