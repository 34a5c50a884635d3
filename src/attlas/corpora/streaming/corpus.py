"""A corpus that is read as it comes.

Its documents come in buffers, of so many documents or bytes, each a small :class:`~attlas.corpora.Corpus`; nothing is
kept of a buffer when the next one comes, so that memory stays flat. A pass may begin at the place of any buffer.

What must be known of the whole before it is read is told from its *beginning*, the first buffer: its annotation,
whether articles or documents are its units (articles where the beginning has :data:`FEWEST` of them and several
documents in some), and what a study asks for (ranks of words, tags). A unit is called by a hash of its first
document's text, so that it has the same name from wherever one reads, and a text that comes twice is one unit;
:meth:`StreamedCorpus.halves` divides by a hash of that name and the seed.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from itertools import islice
from typing import Any, NamedTuple

from attlas.corpora.corpus import Corpus, sentences_of
from attlas.corpora.limits import Limits, in_force, limited
from attlas.corpora.streaming.drawing import reservoir
from attlas.corpora.streaming.records import Place, Reading, Record, Reel
from attlas.errors import CorpusError
from attlas.text import Document

ANY = 10**9  # documents: as many as the bytes let in
FEWEST = 16  # articles of the beginning, for articles to be units
WHOLE = 32 << 20  # bytes of a stream that are read into memory where a study needs all texts at once
_SIZE = re.compile(r"([0-9]+)\s*(kb|mb|gb)?", re.IGNORECASE)
_UNITS = {"kb": 10**3, "mb": 10**6, "gb": 10**9}


class Buffer(NamedTuple):
    """How much is in memory at a time: at most so many documents, and so many bytes of them.

    >>> Buffer.of("500"), Buffer.of("4MB").bytes, Buffer.of(None) == Buffer()
    (Buffer(documents=500, bytes=262144), 4000000, True)
    >>> Buffer.of("few")
    Traceback (most recent call last):
        ...
    attlas.errors.CorpusError: a buffer is a number of documents or bytes, such as 500 or 4MB, not 'few' (--buffer)
    """

    documents: int = 512
    bytes: int = 1 << 18

    @classmethod
    def of(cls, given: str | int | None) -> Buffer:
        """The buffer that was asked for, by documents or by bytes."""
        if given is None:
            return cls()
        match = _SIZE.fullmatch(str(given).strip())
        if match is None or not int(match[1][:18]) > 0:
            raise CorpusError(
                f"a buffer is a number of documents or bytes, such as 500 or 4MB, not {given!r} (--buffer)"
            )
        if match[2] is None:
            return cls(documents=int(match[1]))
        return cls(documents=ANY, bytes=int(match[1]) * _UNITS[match[2].lower()])

    def told(self) -> str:
        """The buffer in words.

        >>> Buffer().told(), Buffer.of("4MB").told()
        ('512 documents or 0.3 MB', '4.0 MB')
        """
        size = f"{self.bytes / 1e6:.1f} MB"
        return size if self.documents == ANY else f"{self.documents:,} documents or {size}"


class Buffered(NamedTuple):
    """One buffer: its documents (None where nothing of it is left), the unit of each, where it begins and where the
    next one does, and what was left out."""

    corpus: Corpus | None
    units: tuple[int, ...]
    place: Place
    after: Place
    left_out: Mapping[str, int]


@dataclass(frozen=True)
class StreamedCorpus:
    """Documents that are read buffer by buffer; see :func:`attlas.corpora.stream`, which opens one.

    ``half`` keeps one half of the units alone, by the seed; ``cut`` cuts every document into several. ``limits`` are
    those in force when it was opened.

    >>> import tempfile
    >>> from pathlib import Path
    >>> from attlas.corpora import stream
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     file = Path(folder) / "a.jsonl"
    ...     _ = file.write_text("".join('{"text": "It rained for %d days."}\\n' % day for day in range(10)))
    ...     corpus = stream(file, buffer=4)
    ...     [len(buffer.corpus.documents) for buffer in corpus.buffers()], corpus.beginning.documents[0].text
    ([4, 4, 2], 'It rained for 0 days.')
    """

    reel: Reel
    buffer: Buffer = field(default_factory=Buffer)
    half: tuple[int, int] | None = None
    cut: Callable[[Document], Iterable[Document]] | None = None
    limits: Limits = field(default_factory=in_force)
    left_out: tuple[str, ...] = ()

    @property
    def name(self) -> str:
        """What it is called."""
        return self.reel.name

    @property
    def format(self) -> str:
        """The format of its documents."""
        return self.reel.format

    @cached_property
    def sha256(self) -> str:
        """A hash of what is known of it without reading all of it: revision or sizes and some blocks of files, and
        how it is read. What else changes in a file of the same size is not seen."""
        known = {**self.reel.identity(), "buffer": list(self.buffer)}
        return hashlib.sha256(json.dumps(known, sort_keys=True).encode()).hexdigest()

    @property
    def beginning(self) -> Corpus:
        """The first buffer that holds a document: what is known of the whole beforehand. It is read anew whenever it
        is asked for, so that it need not be kept."""
        whole = replace(self, half=None)
        for buffered in whole._read(None, by_article=False):
            if buffered.corpus is not None:
                return buffered.corpus
        raise CorpusError("the corpus has no documents", file=self.name)

    @cached_property
    def _known(self) -> tuple[int, int, tuple[str, ...]]:
        """How many documents and articles the beginning has, and which annotation."""
        beginning = self.beginning
        return len(beginning.documents), len(set(beginning.articles)), beginning.annotations

    @property
    def annotations(self) -> tuple[str, ...]:
        """The annotation that the beginning has."""
        return self._known[2]

    @property
    def by_article(self) -> bool:
        """Whether its units are articles, or else documents."""
        documents, articles, _ = self._known
        return FEWEST <= articles < documents

    def describe(self) -> dict[str, Any]:
        """How it is read, for plans and manifests."""
        return {
            "buffer": self.buffer._asdict(),
            "units": f"{'articles' if self.by_article else 'documents'}, called by a hash of their texts",
            "known_beforehand": f"the first {self._known[0]} documents",
        }

    def buffers(self, place: Place | None = None, share: tuple[int, int] = (0, 1)) -> Iterator[Buffered]:
        """Its buffers, from the place of one of them on; or, of ``share`` (k, n), those whose number leaves k when
        divided by n. The others are passed over, and parsed only where articles may go on from them."""
        return self._read(place, by_article=self.by_article, share=share)

    def halves(self, seed: int = 0) -> tuple[StreamedCorpus, StreamedCorpus]:
        """Two halves of about as many units, for choosing on one and scoring on the other: a unit's is by a hash of
        its name and the seed, so that a text that comes twice is never in both."""
        return replace(self, half=(0, seed)), replace(self, half=(1, seed))

    def sentences(self) -> StreamedCorpus:
        """The same corpus with every sentence as a document of its own."""
        return replace(self, cut=sentences_of)

    def draw(self, count: int, seed: int) -> Corpus:
        """So many documents at random, in their order, in memory; all where there are no more."""
        records = reservoir(self._numbered(), count, seed)
        return self._in_memory(records, {"documents": count, "drawn": "by reservoir, with the seed"})

    def first(self, count: int) -> Corpus:
        """The first so many documents, in memory."""
        return self._in_memory(islice(self._numbered(), count), {"documents": count, "drawn": "the first ones"})

    def whole(
        self,
        advice: str = "take some with draw or first",
        most: int = WHOLE,
        why: str = "all texts are to be kept in memory",
    ) -> Corpus:
        """All documents, in memory; refused where they are more than so many bytes, with an ``advice``, and ``why``
        they are needed there."""
        return self._in_memory(self._up_to(most, advice, why), {"documents": None, "drawn": "all"})

    def _up_to(self, most: int, advice: str, why: str) -> Iterator[tuple[int, Record]]:
        taken = 0
        for numbered in self._numbered():
            taken += numbered[1].size
            if taken > most:
                raise CorpusError(
                    f"{why}, and there are more than {most >> 20} MiB of them; {advice}",
                    file=self.name,
                )
            yield numbered

    def _numbered(self) -> Iterator[tuple[int, Record]]:
        """All records with the number of their article."""
        article = -1
        with limited(self.limits):
            for record in self.reel.read():
                article += article < 0 or not self.reel.continues(record)
                if not record.void:
                    yield article, record

    def _in_memory(self, numbered: Iterable[tuple[int, Record]], drawn: Mapping[str, Any]) -> Corpus:
        documents: list[Document] = []
        articles: list[int] = []
        left_out: Counter[str] = Counter()
        with limited(self.limits):
            for number, record in numbered:
                for article in self.reel.articles([record], left_out):
                    documents += article
                    articles += [number] * len(article)
        told = {**drawn, "left_out": dict(left_out)}
        corpus = Corpus(tuple(documents), self.format, self.name, self.sha256, tuple(articles), drawn=told)
        return corpus if self.cut is None else corpus.cut(self.cut)

    def _read(self, place: Place | None, *, by_article: bool, share: tuple[int, int] = (0, 1)) -> Iterator[Buffered]:
        with limited(self.limits):
            start: Place = place or {"at": None, "article": None, "buffer": 0}
            reading = self.reel.read(start["at"])
            for records in self._filled(reading):
                mine = start["buffer"] % share[1] == share[0]
                if mine or by_article:
                    buffered = self._buffered(records, start, reading.place(), by_article)
                    start = buffered.after
                    if mine:
                        yield buffered
                    del buffered  # nothing of it is kept while the next is read
                else:
                    start = {"at": reading.place(), "article": None, "buffer": start["buffer"] + 1}

    def _filled(self, reading: Reading) -> Iterator[list[Record]]:
        """Records, as many as fill a buffer."""
        records: list[Record] = []
        size = count = 0
        for record in reading:
            records.append(record)
            size, count = size + record.size, count + (not record.void)
            if count >= self.buffer.documents or size >= self.buffer.bytes:
                yield records
                records, size, count = [], 0, 0
        if records:
            yield records

    def _buffered(self, records: list[Record], start: Place, after: Place, by_article: bool) -> Buffered:
        left_out: Counter[str] = Counter()
        articles = self.reel.articles(records, left_out)
        going = start["article"] if self.reel.continues(records[0]) else None
        documents: list[Document] = []
        names: list[int] = []
        for number, article in enumerate(articles):
            if article:
                name = going if number == 0 and going is not None else _name_of(article[0])
                documents += article
                names += [name] * len(article)
        going = names[-1] if names else going
        units = tuple(names) if by_article else tuple(map(_name_of, documents))
        end = {"at": after, "article": going, "buffer": start["buffer"] + 1}
        if self.half is not None:
            kept = [at for at, unit in enumerate(units) if _half(unit, self.half[1]) == self.half[0]]
            documents, names = [documents[at] for at in kept], [names[at] for at in kept]
            units = tuple(units[at] for at in kept)
        if not documents:
            return Buffered(None, (), start, end, left_out)
        corpus = Corpus(tuple(documents), self.format, self.name, self.sha256, tuple(names))
        if self.cut is not None:
            pieces = [list(self.cut(document)) for document in documents]
            units = tuple(unit for unit, parts in zip(units, pieces, strict=True) for _ in parts)
            corpus = corpus.cut(self.cut)
        return Buffered(corpus, units, start, end, left_out)


def _name_of(document: Document) -> int:
    """The name of a unit: a hash of its first document's text, a whole number that every accumulator takes."""
    return int.from_bytes(hashlib.blake2b(document.text.encode(), digest_size=8).digest()) >> 2


def _half(unit: int, seed: int) -> int:
    return hashlib.blake2b(f"{seed} {unit}".encode(), digest_size=1).digest()[0] % 2
