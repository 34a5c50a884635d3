"""From documents to examples: windows, pairs, units, and a count of what was cut or left out.

Every example knows its *unit*, which intervals and tests take as independent of the others: the article that it comes
from, where the corpus has at least :data:`~attlas.stats.flips.FEWEST_UNITS` of them, and else its document.

A document longer than the limit is cut at sentence ends, or refused, as the user chooses. For models that know
sentence pairs, plain text can be read as in Clark et al.: [CLS] segment [SEP] segment [SEP], the two segments being
neighbours in one article.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import groupby
from typing import TYPE_CHECKING

from attlas.errors import CorpusError, TextError
from attlas.models import Example
from attlas.stats.flips import FEWEST_UNITS
from attlas.text import Document, Passage, cut_windows

if TYPE_CHECKING:
    from attlas.capture.subject import Subject

LONG = ("cut", "refuse", "skip")


@dataclass
class Reading:
    """Examples ready for a model, and what happened to the documents on the way.

    >>> Reading().pieces
    0
    """

    examples: list[Example] = field(default_factory=list)
    skipped: Counter[str] = field(default_factory=Counter)
    unit: str = "text"

    @property
    def pieces(self) -> int:
        """Pieces of all examples.

        >>> Reading().pieces
        0
        """
        return sum(e.source.length + (0 if e.target is None else e.target.length) for e in self.examples)

    @property
    def beginning(self) -> Reading:
        """What is known of the examples before they are gone through: all of them. (Of a stream, the first buffer.)

        >>> reading = Reading()
        >>> reading.beginning is reading
        True
        """
        return self

    @property
    def passages(self) -> int:
        """How many examples there are.

        >>> Reading().passages
        0
        """
        return len(self.examples)

    def recall(self, key: Callable[[Example], int], wanted: Collection[int]) -> list[Example]:
        """The examples that are wanted, by what a key calls them. (Of a stream, by reading it once more.)

        >>> Reading().recall(lambda example: example.unit, {7})
        []
        """
        return [example for example in self.examples if key(example) in wanted]

    @property
    def longest(self) -> int:
        """The pieces of the longest example.

        >>> Reading().longest
        0
        """
        return max((example.length for example in self.examples), default=0)

    @property
    def units(self) -> int:
        """How many units the examples come from.

        >>> Reading().units
        0
        """
        return len({example.unit for example in self.examples})

    def keep(self, examples: Iterable[Example]) -> None:
        """Keep these examples alone, their units numbered from 0 as they come.

        >>> reading = Reading()
        >>> reading.keep([])
        >>> reading.examples
        []
        """
        kept = list(examples)
        numbers = {unit: number for number, unit in enumerate(dict.fromkeys(example.unit for example in kept))}
        self.examples = [replace(example, unit=numbers[example.unit]) for example in kept]


def check_long(long: str) -> None:
    """Refuse what cannot be done with long texts.

    >>> check_long("shorten")
    Traceback (most recent call last):
        ...
    attlas.errors.TextError: long texts cannot be dealt with by 'shorten'; choose one of cut, refuse, skip
    """
    if long not in LONG:
        raise TextError(f"long texts cannot be dealt with by {long!r}; choose one of {', '.join(LONG)}")


def read_documents(
    subject: Subject,
    documents: Sequence[Document],
    *,
    articles: Sequence[int] | None = None,
    limit: int | None = None,
    pairs: bool = False,
    long: str = "cut",
) -> Reading:
    """Make examples of at most ``limit`` pieces (None: the model's window).

    ``long`` says what to do with a longer document: "cut" it, "refuse" the corpus, or "skip" it. ``articles`` are the
    articles of the documents, for pairs and for units.

    >>> from attlas.capture import load
    >>> reading = read_documents(load(), [Document.from_text("It rained. We stayed in.")], limit=6)
    >>> [e.passage.first.text for e in reading.examples], dict(reading.skipped)
    (['It rained.', 'We stayed in.'], {'cut at a sentence end to fit 6 pieces': 1})
    """
    owners = list(articles if articles is not None else range(len(documents)))
    by_article = articles is not None and len(set(owners)) >= FEWEST_UNITS
    units = owners if by_article else range(len(documents))
    reading = read_units(subject, documents, units, articles=owners, limit=limit, pairs=pairs, long=long)
    reading.unit = "document" if by_article and len(set(owners)) < len(documents) else "text"
    reading.keep(reading.examples)
    require_texts(reading.examples, reading.skipped, pairs=pairs)
    return reading


def read_units(
    subject: Subject,
    documents: Sequence[Document],
    units: Sequence[int],
    *,
    articles: Sequence[int],
    limit: int | None = None,
    pairs: bool = False,
    long: str = "cut",
) -> Reading:
    """Make examples as :func:`read_documents` does, of units that are called as they are told; there may be none.

    >>> from attlas.capture import load
    >>> [e.unit for e in read_units(load(), [Document.from_text("It rained.")], [77], articles=[0]).examples]
    [77]
    """
    check_long(long)
    window = subject.pieces.window
    limit = window if limit is None else limit
    if limit > window:
        raise TextError(
            f"{limit} pieces are asked for and the window of {subject.name} holds {window}; ask for fewer"
        )
    if limit < 4:
        raise TextError(f"a limit of {limit} pieces leaves no room for words; ask for at least 4")
    reading = Reading()
    if pairs:
        parts = _pairs(subject, documents, articles, units, limit, long, reading)
    else:
        parts = _singles(subject, documents, units, limit, long, reading)
    examples = subject.pieces.encode_all([passage for passage, _ in parts])
    reading.examples = [replace(example, unit=unit) for example, (_, unit) in zip(examples, parts, strict=True)]
    for example in reading.examples:
        reading.skipped["words without a piece of their own"] += len(example.source.segmentation.wordless)
    reading.skipped = +reading.skipped
    return reading


def require_texts(examples: Sequence[Example] | int, skipped: Mapping[str, int], *, pairs: bool) -> None:
    """Refuse a corpus of which nothing is left to read, and say why.

    >>> require_texts([], {"longer than 4 pieces": 2}, pairs=False)
    Traceback (most recent call last):
        ...
    attlas.errors.CorpusError: nothing is left of the corpus to read (longer than 4 pieces: 2)
    """
    if not examples:
        reasons = "; ".join(f"{reason}: {count}" for reason, count in skipped.items())
        advice = "; read texts one by one (--single)" if pairs else ""
        raise CorpusError(f"nothing is left of the corpus to read ({reasons or 'it is empty'}){advice}")


def _singles(
    subject: Subject,
    documents: Sequence[Document],
    units: Sequence[int],
    limit: int,
    long: str,
    reading: Reading,
) -> list[tuple[Passage, int]]:
    passages = []
    for document, unit in zip(documents, units, strict=True):
        if document.translation is not None and subject.pieces.translating:
            parts = _translation(subject, document, limit, long, reading)
        else:
            reading.skipped["translation that this model does not read"] += document.translation is not None
            parts = [Passage(part) for part in _windows(subject, document, limit, long, reading)]
        passages += [(part, unit) for part in parts]
    return passages


def _translation(subject: Subject, document: Document, limit: int, long: str, reading: Reading) -> list[Passage]:
    """A sentence with its translation is read whole or not at all: half of it would not be its translation."""
    passage = Passage(document, document.translation)
    length = subject.pieces.encode(passage).length
    if length <= limit:
        return [passage]
    if long == "refuse":
        raise TextError(
            f"{document.name or 'a sentence pair'} has {length} pieces and {limit} are allowed; shorten it, or leave "
            "such pairs out (--long skip)"
        )
    reading.skipped[f"sentence pair longer than {limit} pieces"] += 1
    return []


def _windows(subject: Subject, document: Document, limit: int, long: str, reading: Reading) -> list[Document]:
    if long == "skip" and subject.pieces.length(document) > limit:
        reading.skipped[f"longer than {limit} pieces"] += 1
        return []
    try:
        windows = cut_windows(document, subject.pieces.length, limit, refuse=long == "refuse")
    except TextError:
        if long == "refuse":
            raise
        reading.skipped[f"with a word that is longer than {limit} pieces by itself"] += 1
        return []
    reading.skipped[f"cut at a sentence end to fit {limit} pieces"] += windows.cut_at_sentences
    reading.skipped[f"cut inside a sentence to fit {limit} pieces"] += windows.cut_inside_sentences
    return windows.documents


def _pairs(
    subject: Subject,
    documents: Sequence[Document],
    articles: Sequence[int],
    units: Sequence[int],
    limit: int,
    long: str,
    reading: Reading,
) -> list[tuple[Passage, int]]:
    """Neighbouring segments of an article, two by two, in the unit of the first; each may take half of the room that
    special pieces leave."""
    if not subject.pieces.pairs:
        raise TextError(f"{subject.name} takes no sentence pairs; read texts one by one (--single)")
    one, two = Document.from_words(["a"]), Document.from_words(["a"])
    special = subject.pieces.length(one, two) - 2 * (subject.pieces.length(one) - _special(subject))
    if limit < special + 2:
        raise TextError(f"a limit of {limit} pieces leaves no room for two texts; ask for at least {special + 2}")
    room = (limit - special) // 2 + _special(subject)
    passages = []
    for _, group in groupby(zip(articles, documents, units, strict=True), key=lambda item: item[0]):
        parts = [
            (part, unit) for _, document, unit in group for part in _windows(subject, document, room, long, reading)
        ]
        passages += [(Passage(a, b), unit) for (a, unit), (b, _) in zip(parts[::2], parts[1::2], strict=False)]
        reading.skipped["last segment of an article, without a partner"] += len(parts) % 2
    return passages


def _special(subject: Subject) -> int:
    """How many special pieces a single text gets."""
    return sum(subject.pieces.encode(Passage(Document.from_words(["a"]))).source.segmentation.special)
