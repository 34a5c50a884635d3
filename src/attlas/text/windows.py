"""Cutting documents that are longer than a model can take.

A cut falls at the end of a sentence wherever that is possible; only a sentence that is too long by itself is cut
between words. What was cut is counted, so that a result can say so; a caller who does not want cuts has the
document refused.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field

from attlas.errors import TextError
from attlas.text.document import Document
from attlas.text.span import Span


@dataclass
class Windows:
    """The windows of a document, and how they came about.

    >>> Windows().cut_at_sentences
    0
    """

    documents: list[Document] = field(default_factory=list)
    cut_at_sentences: int = 0
    cut_inside_sentences: int = 0


def cut_windows(
    document: Document, length: Callable[[Document], int], limit: int, *, refuse: bool = False
) -> Windows:
    """Cut a document so that the ``length`` of each part is at most ``limit``.

    >>> document = Document.from_text("One two three. Four five. Six.")
    >>> [w.text for w in cut_windows(document, lambda d: len(d.words), 7).documents]
    ['One two three. Four five.', 'Six.']
    """
    if _fits(document, length, limit):
        return Windows([document])
    if refuse:
        raise TextError(
            f"{document.name or 'the text'} has {length(document)} pieces and the window holds {limit}; "
            "shorten it, or let it be cut (--long cut)"
        )
    result = Windows()
    for span in _cuts(document, length, limit, result):
        result.documents.append(document.slice(*span))
    return result


def window_spans(document: Document, length: Callable[[Document], int], limit: int) -> Iterator[Span]:
    """The same windows as ranges of words, one after the other, so that a long document is never there twice.

    >>> document = Document.from_text("One two three. Four five. Six.")
    >>> list(window_spans(document, lambda d: len(d.words), 7))
    [Span(start=0, stop=7), Span(start=7, stop=9)]
    """
    if _fits(document, length, limit):
        yield Span(0, len(document.words))
    else:
        yield from _cuts(document, length, limit, Windows())


def _fits(document: Document, length: Callable[[Document], int], limit: int) -> bool:
    """Whether a document need not be cut; of a very long one, its beginning says enough."""
    many = 2 * limit
    if len(document.words) > many and length(document.slice(0, many)) > limit:
        return False
    return length(document) <= limit


def _cuts(document: Document, length: Callable[[Document], int], limit: int, counted: Windows) -> Iterator[Span]:
    """The ranges of words of all windows; how they come about is counted on the way."""
    start = stop = 0
    for part, inside in _parts(document, length, limit):
        if stop > start and length(document.slice(start, part.stop)) > limit:
            yield Span(start, stop)
            counted.cut_at_sentences += not inside
            start = stop
        stop = part.stop
        counted.cut_inside_sentences += inside
    yield Span(start, stop)


def _parts(document: Document, length: Callable[[Document], int], limit: int) -> Iterator[tuple[Span, bool]]:
    """Sentences, or runs of words of a sentence that is too long; the flag marks a cut inside."""
    for sentence in document.sentences:
        start, inside = sentence.start, False
        while (stop := _longest(document, start, sentence.stop, length, limit)) < sentence.stop:
            if stop == start:
                raise TextError(
                    f"{document.name or 'the text'}: the word {document.word(start)[:40]!r} alone is longer than "
                    f"the window of {limit} pieces; leave it out, or skip such texts (--long skip)"
                )
            yield Span(start, stop), inside
            start, inside = stop, True
        yield Span(start, sentence.stop), inside


def _longest(document: Document, start: int, stop: int, length: Callable[[Document], int], limit: int) -> int:
    """Where the longest run of words from ``start`` ends that fits: by doubling, so that a long rest is not
    measured again and again, then by bisection."""
    low, high = start, min(stop, start + limit)
    while length(document.slice(start, high)) <= limit:
        if high == stop:
            return stop
        low, high = high, min(stop, start + 2 * (high - start))
    while high - low > 1:
        middle = (low + high) // 2
        if length(document.slice(start, middle)) <= limit:
            low = middle
        else:
            high = middle
    return low
