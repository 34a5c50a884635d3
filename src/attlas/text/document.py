"""Documents: a text, its words and sentences, and annotation in layers beside them.

The text is kept as one string exactly as it was written, and every word is a span of characters in it; this is what
lets words meet the pieces of any tokenizer. Annotation layers run parallel to the words (part of speech, governor,
relation) or are spans of words (chunks, mentions, edges: spans or pairs of spans with labels). A layer that the
corpus does not have is ``None``, which is not the same as a layer that is there and empty. A label describes the text
as a whole, or the text and its pair: the second text of a labelled pair, which is no translation. Documents are
immutable and check themselves when made.

A governor is the index of a word of the same document, :data:`ROOT` for the root of its sentence, or ``None`` where
it is not known (for instance because it lies outside a cut-out window).
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from operator import attrgetter
from typing import Any, NamedTuple, TypeVar

from attlas.errors import TextError
from attlas.text.span import Span, whole
from attlas.text.splitting import split

ROOT = -1
_Item = TypeVar("_Item", "Chunk", "Mention")
_OF_WORDS = ("lemmas", "upos", "xpos", "governors", "relations")  # the layers that have one entry for each word
_of_words = attrgetter(*_OF_WORDS)
_FURTHER = ("chunks", "mentions", "edges", "label", "pair", "links")  # what else is checked where it is there
_UNCHECKED = {"keyphrases", "translation"}  # layers of which nothing is checked
_LAYERS = {*_OF_WORDS, *_FURTHER, *_UNCHECKED}
_annotation = attrgetter(*_OF_WORDS, *_FURTHER)
_NO_ANNOTATION = (None,) * len((*_OF_WORDS, *_FURTHER))
_start, _stop = attrgetter("start"), attrgetter("stop")


class Chunk(NamedTuple):
    """A labelled range of words, such as a noun phrase chunk.

    >>> Chunk(0, 2, "NP").label
    'NP'
    """

    start: int
    stop: int
    label: str


class Mention(NamedTuple):
    """A range of words that mentions something; mentions of the same thing share a chain.

    ``head`` is the index of its head word where the corpus tells it.

    >>> Mention(0, 2, "farmer").chain
    'farmer'
    """

    start: int
    stop: int
    chain: str
    head: int | None = None

    def moved(self, by: int) -> Mention:
        """The same mention so many words later.

        >>> Mention(0, 2, "farmer", 1).moved(3)
        Mention(start=3, stop=5, chain='farmer', head=4)
        """
        head = None if self.head is None else self.head + by
        return Mention(self.start + by, self.stop + by, self.chain, head)


class Edge(NamedTuple):
    """A range of words, or a pair of ranges, with the labels that hold for it.

    ``among`` are the labels that were asked about, where those were not all there are: the rest are neither held nor
    denied. An edge may have no label at all.

    >>> edge = Edge(Span(1, 2), Span(2, 4), ("ARG1",))
    >>> edge.moved(3)
    Edge(first=Span(start=4, stop=5), second=Span(start=5, stop=7), labels=('ARG1',), among=None)
    """

    first: Span
    second: Span | None = None
    labels: tuple[str, ...] = ()
    among: tuple[str, ...] | None = None

    @property
    def spans(self) -> tuple[Span, ...]:
        """Its one range, or both.

        >>> Edge(Span(0, 1)).spans
        (Span(start=0, stop=1),)
        """
        return (self.first,) if self.second is None else (self.first, self.second)

    def moved(self, by: int) -> Edge:
        """The same edge so many words later.

        >>> Edge(Span(0, 2), labels=("NP",)).moved(1).first
        Span(start=1, stop=3)
        """
        first, *second = (Span(span.start + by, span.stop + by) for span in self.spans)
        return Edge(first, second[0] if second else None, self.labels, self.among)

    def within(self, start: int, stop: int) -> bool:
        """Whether it lies wholly among the words ``start`` to ``stop``.

        >>> Edge(Span(0, 1), Span(3, 5)).within(0, 4)
        False
        """
        return all(start <= span.start and span.stop <= stop for span in self.spans)


@dataclass(frozen=True)
class Links:
    """Word alignment of a document with its translation: pairs (word here, word there), counted from 0.

    Every sure link is possible too, as the error rate of the field wants it.

    >>> links = Links(sure=frozenset({(0, 0)}), possible=frozenset({(1, 1)}))
    >>> sorted(links.possible)
    [(0, 0), (1, 1)]
    """

    sure: frozenset[tuple[int, int]]
    possible: frozenset[tuple[int, int]]

    def __post_init__(self) -> None:
        object.__setattr__(self, "possible", self.possible | self.sure)


@dataclass(frozen=True)
class Document:
    """A text with words, sentences and annotation layers.

    >>> document = Document.from_words(["The", "farmer", "slept", "."], upos=["DET", "NOUN", "VERB", "PUNCT"])
    >>> document.text
    'The farmer slept .'
    >>> document.word(1), document.upos[1]
    ('farmer', 'NOUN')
    """

    text: str
    words: tuple[Span, ...]
    sentences: tuple[Span, ...] = ()
    name: str = ""
    lemmas: tuple[str, ...] | None = None
    upos: tuple[str, ...] | None = None
    xpos: tuple[str, ...] | None = None
    governors: tuple[int | None, ...] | None = None
    relations: tuple[str, ...] | None = None
    chunks: tuple[Chunk, ...] | None = None
    mentions: tuple[Mention, ...] | None = None
    keyphrases: tuple[str, ...] | None = None
    translation: Document | None = None
    links: Links | None = None
    label: str | None = None
    pair: Document | None = None
    edges: tuple[Edge, ...] | None = None

    def __post_init__(self) -> None:
        if not self.sentences and self.words:
            object.__setattr__(self, "sentences", whole(len(self.words)))
        _check(self)

    @classmethod
    def from_words(
        cls,
        words: Sequence[str],
        *,
        space_after: Sequence[bool] | None = None,
        sentences: Iterable[tuple[int, int]] = (),
        name: str = "",
        **layers: object,
    ) -> Document:
        """Build a document from words that are split already, joined by spaces unless told otherwise.

        >>> Document.from_words(["Hi", "!"], space_after=[False, False]).text
        'Hi!'
        """
        frozen = {key: tuple(value) if isinstance(value, list) else value for key, value in layers.items()}
        if len(words) == 1 and not sentences and words[0] and not words[0].isspace():
            return cls._made(words[0], whole(len(words[0])), whole(1), name, frozen)
        text, spans = "", []
        for index, word in enumerate(words):
            if not word or word.isspace():
                raise TextError(f"word {index} of {name or 'the document'} is empty; leave it out")
            spans.append(Span(len(text), len(text) + len(word)))
            text += word
            if index + 1 < len(words) and (space_after is None or space_after[index]):
                text += " "
        return cls(text, tuple(spans), tuple(Span(*s) for s in sentences), name, **frozen)  # type: ignore[arg-type]

    @classmethod
    def from_text(cls, text: str, *, name: str = "", **layers: Any) -> Document:
        """Build a document from raw text, with words and sentences found by rule, and with what else is known of it.

        >>> document = Document.from_text("It rained. We stayed in.")
        >>> len(document.words), len(document.sentences)
        (7, 2)
        """
        words, sentences = split(text)
        return cls._made(text, words, sentences, name, layers)

    @classmethod
    def _made(
        cls, text: str, words: tuple[Span, ...], sentences: tuple[Span, ...], name: str, layers: dict[str, Any]
    ) -> Document:
        """A document whose words and sentences fit its text by how they were found; only the layers are checked."""
        made = cls.__new__(cls)
        fields = {"text": text, "words": words, "sentences": sentences, "name": name, **layers}
        object.__setattr__(made, "__dict__", fields)  # whatever is not among them is a default of the class
        if layers and not layers.keys() <= _UNCHECKED:
            if not layers.keys() <= _LAYERS:
                raise TypeError(f"a document has no {', '.join(sorted(layers.keys() - _LAYERS))}")
            _check_annotation(made, name or "the document", len(words))
        return made

    def word(self, index: int) -> str:
        """The characters of one word.

        >>> Document.from_text("It rained.").word(1)
        'rained'
        """
        span = self.words[index]
        return self.text[span.start : span.stop]

    @property
    def forms(self) -> tuple[str, ...]:
        """All words as strings.

        >>> Document.from_text("It rained.").forms
        ('It', 'rained', '.')
        """
        return tuple(self.text[span.start : span.stop] for span in self.words)

    def slice(self, start: int, stop: int) -> Document:
        """Cut out the words ``start`` to ``stop``, with all annotation that lies wholly inside.

        A governor outside the slice becomes ``None``. The translation is dropped: links to half a sentence mean
        nothing; so are the label and the second text of a labelled pair, as a label describes the whole. Key phrases
        stay: they tell what the part comes from.

        >>> document = Document.from_words(["a", "b", "c"], governors=[1, ROOT, 0])
        >>> document.slice(1, 3).text, document.slice(1, 3).governors
        ('b c', (-1, None))
        """
        if not 0 <= start < stop <= len(self.words):
            raise TextError(f"words {start}:{stop} are not in this document of {len(self.words)} words")
        first, last = self.words[start].start, max(span.stop for span in self.words[start:stop])
        nearby = self.sentences[
            bisect_right(self.sentences, start, key=_stop) : bisect_left(self.sentences, stop, key=_start)
        ]
        sentences = tuple(Span(max(s.start, start) - start, min(s.stop, stop) - start) for s in nearby)
        governors = None
        if self.governors is not None:
            governors = tuple(
                g if g is None or g == ROOT else g - start if start <= g < stop else None
                for g in self.governors[start:stop]
            )
        return replace(
            self,
            text=self.text[first:last],
            words=tuple(Span(s.start - first, s.stop - first) for s in self.words[start:stop]),
            sentences=sentences,
            lemmas=self.lemmas and self.lemmas[start:stop],
            upos=self.upos and self.upos[start:stop],
            xpos=self.xpos and self.xpos[start:stop],
            governors=governors,
            relations=self.relations and self.relations[start:stop],
            chunks=self.chunks
            and tuple(
                Chunk(c.start - start, c.stop - start, c.label)
                for c in _beginning(self.chunks, self._starts["chunks"], start, stop)
                if start <= c.start and c.stop <= stop
            ),
            mentions=self.mentions
            and tuple(
                m.moved(-start)
                for m in _beginning(self.mentions, self._starts["mentions"], start, stop)
                if start <= m.start and m.stop <= stop
            ),
            translation=None,
            links=None,
            label=None,
            pair=None,
            edges=self.edges and tuple(edge.moved(-start) for edge in self.edges if edge.within(start, stop)),
        )

    @cached_property
    def _starts(self) -> dict[str, list[int] | None]:
        """Where chunks and mentions begin, if that is in order; a document that is cut into many is asked often."""
        begins = {"chunks": [c.start for c in self.chunks or ()], "mentions": [m.start for m in self.mentions or ()]}
        return {layer: starts if starts == sorted(starts) else None for layer, starts in begins.items()}


@dataclass(frozen=True)
class Passage:
    """What goes through a model at once: one document, or two.

    To an encoder the second is the other sentence of a pair; to an encoder-decoder it is the target.

    >>> Passage(Document.from_text("Hello.")).second is None
    True
    """

    first: Document
    second: Document | None = None

    @property
    def documents(self) -> tuple[Document, ...]:
        """The documents in order.

        >>> len(Passage(Document.from_text("a"), Document.from_text("b")).documents)
        2
        """
        return (self.first,) if self.second is None else (self.first, self.second)


def _beginning(items: tuple[_Item, ...], starts: list[int] | None, start: int, stop: int) -> tuple[_Item, ...]:
    """The chunks or mentions that begin among these words, where they are in order; all of them where not."""
    return items if starts is None else items[bisect_left(starts, start) : bisect_left(starts, stop)]


def _check(document: Document) -> None:
    """Refuse a document whose parts do not fit together, naming the part."""
    name, count, length = document.name or "the document", len(document.words), len(document.text)
    for start, stop in document.words:
        if not 0 <= start < stop <= length:
            raise TextError(f"{name}: characters {(start, stop)} are not in its text of {length}")
    for start, stop in document.sentences:
        if not 0 <= start < stop <= count:
            raise TextError(f"{name}: sentence {start}:{stop} is outside its {count} words")
    if _annotation(document) != _NO_ANNOTATION:
        _check_annotation(document, name, count)


def _check_annotation(document: Document, name: str, count: int) -> None:
    """Refuse annotation that does not fit the words."""
    for layer, values in zip(_OF_WORDS, _of_words(document), strict=True):
        if values is not None and len(values) != count:
            raise TextError(f"{name}: {len(values)} {layer} for {count} words")
    for kind, items in (("chunk", document.chunks), ("mention", document.mentions)):
        for item in items or ():
            if not 0 <= item[0] < item[1] <= count:
                raise TextError(f"{name}: {kind} {item[0]}:{item[1]} is outside its {count} words")
    for edge in document.edges or ():
        _check_edge(edge, name, count)
    if document.governors is not None:
        _check_tree(document.governors, name)
    if document.label is not None and not document.label.strip():
        raise TextError(f"{name}: its label is empty; a text without a label has None")
    if document.pair is not None and not document.pair.words:
        raise TextError(f"{name}: the second text of the pair has no words")
    if document.links is not None:
        if document.translation is None:
            raise TextError(f"{name}: links without a translation")
        there = len(document.translation.words)
        for i, j in document.links.possible:
            if not (0 <= i < count and 0 <= j < there):
                raise TextError(f"{name}: link {i}-{j} is outside {count} and {there} words")


def _check_edge(edge: Edge, name: str, count: int) -> None:
    """Refuse ranges outside the words, and labels that are empty, given twice or not among those asked about."""
    for start, stop in edge.spans:
        if not 0 <= start < stop <= count:
            raise TextError(f"{name}: edge {start}:{stop} is outside its {count} words")
    for what, labels in (("label", edge.labels), ("label asked about", edge.among or ())):
        if not all(isinstance(label, str) and label.strip() for label in labels):
            raise TextError(f"{name}: a {what} of an edge is empty or no string; leave it out")
        if len(set(labels)) != len(labels):
            raise TextError(f"{name}: a {what} of an edge is given twice")
    if edge.among is not None and not set(edge.labels) <= set(edge.among):
        missing = next(label for label in edge.labels if label not in edge.among)
        raise TextError(f"{name}: the label {missing!r} of an edge is not among those asked about")


def _check_tree(governors: Sequence[int | None], name: str) -> None:
    """Refuse governors out of range and cycles; several roots are fine (one per sentence)."""
    done = [False] * len(governors)
    for index in range(len(governors)):
        path: list[int] = []
        seen: set[int] = set()
        at: int | None = index
        while at is not None and at != ROOT and not done[at]:
            if at in seen:
                raise TextError(f"{name}: the governors of words {sorted(seen)} form a cycle")
            seen.add(at)
            path.append(at)
            at = governors[at]
            if at is not None and at != ROOT and not 0 <= at < len(governors):
                raise TextError(f"{name}: governor {at} is outside its {len(governors)} words")
        for passed in path:
            done[passed] = True
