"""Ranges: of characters in a text, or of words in a document."""

from __future__ import annotations

from functools import lru_cache
from typing import NamedTuple


class Span(NamedTuple):
    """A half-open range, of characters or of words as the context says.

    >>> Span(2, 5).length
    3
    """

    start: int
    stop: int

    @property
    def length(self) -> int:
        """How many units the span covers.

        >>> Span(0, 1).length
        1
        """
        return self.stop - self.start


@lru_cache(maxsize=1024)
def whole(count: int) -> tuple[Span, ...]:
    """One sentence of so many words, or none of no words: documents of one sentence share it, as there are many.

    >>> whole(3), whole(0)
    ((Span(start=0, stop=3),), ())
    """
    return (Span(0, count),) if count else ()
