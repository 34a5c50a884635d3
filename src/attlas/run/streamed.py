"""Examples of a corpus that is read as it comes, as a source of batches.

The documents of a buffer are cut into passages and encoded, sorted by length within the buffer and put into batches;
then comes the next buffer. A place is where a buffer begins in the corpus and how many of its passages are done,
together with what was counted before that buffer: a resumed run reads the buffer again, and none before it, hands out
the rest of its batches, and counts what an uninterrupted run would.
"""

from __future__ import annotations

import hashlib
import json
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Any

from attlas.capture.reading import Reading, read_units, require_texts
from attlas.corpora.streaming import StreamedCorpus
from attlas.run.batches import batches
from attlas.run.source import Handed, Place

if TYPE_CHECKING:
    from attlas.capture import Subject
    from attlas.corpora.streaming.corpus import Buffered
    from attlas.models import Example


@dataclass
class Counted:
    """What was read so far: documents, units, passages, pieces, and what was left out.

    >>> counted = Counted.of({"documents": 2, "skipped": {"longer": 1}})
    >>> counted.documents, counted.to_dict()["skipped"]
    (2, {'longer': 1})
    """

    documents: int = 0
    units: int = 0
    passages: int = 0
    pieces: int = 0
    last: int | None = None
    skipped: Counter[str] = field(default_factory=Counter)

    @classmethod
    def of(cls, kept: Mapping[str, Any]) -> Counted:
        """What a place has kept."""
        return cls(**{**kept, "skipped": Counter(kept.get("skipped", {}))})

    def to_dict(self) -> dict[str, Any]:
        """The same, as a place keeps it."""
        return {**vars(self), "skipped": dict(self.skipped)}

    def add(self, buffered: Buffered, reading: Reading) -> None:
        """Take in one buffer. A unit that goes on from the buffer before counts once."""
        for unit in buffered.units:
            self.units += unit != self.last
            self.last = unit
        self.documents += len(buffered.units)
        self.passages += len(reading.examples)
        self.pieces += reading.pieces
        self.skipped += reading.skipped + Counter(buffered.left_out)


class StreamedReading:
    """The passages of a streamed corpus, ready to be gone through as often as a study needs.

    ``skipped`` is what a study notes by itself; ``counted`` is what the last pass has read.

    >>> from attlas.capture import load
    >>> from attlas.corpora import stream
    >>> import tempfile
    >>> from pathlib import Path
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     file = Path(folder) / "a.jsonl"
    ...     _ = file.write_text("".join('{"text": "It rained for %d days."}\\n' % day for day in range(10)))
    ...     source = StreamedReading(load(), stream(file, buffer=4), {"max_pieces": 40}).source(budget=20)
    ...     all_batches = list(source.from_place())
    ...     [len(batch.items) for batch in all_batches], len(list(source.from_place(all_batches[2].after)))
    ([2, 2, 2, 2, 2], 2)
    """

    def __init__(self, model: Subject, corpus: StreamedCorpus, options: Mapping[str, Any]) -> None:
        self.model, self.corpus = model, corpus
        self.options = {
            "limit": options["max_pieces"], "pairs": options.get("pairs", False), "long": options.get("long", "cut"),
        }  # fmt: skip
        self.skipped: Counter[str] = Counter()
        self.counted, self.complete = Counted(), False
        self._recalled: tuple[frozenset[int], list[Example]] | None = None

    @property
    def unit(self) -> str:
        """What intervals take as independent: documents (articles of several), or texts."""
        return "document" if self.corpus.by_article else "text"

    @property
    def longest(self) -> int:
        """The most pieces that a passage may have."""
        return self.options["limit"] or self.model.pieces.window

    @property
    def beginning(self) -> Reading:
        """The first buffer that has passages, read anew whenever it is asked for."""
        skipped: Counter[str] = Counter()
        for buffered in self.corpus.buffers():
            reading = self.cut(buffered)
            skipped += reading.skipped
            if reading.examples:
                return reading
        require_texts([], skipped, pairs=self.options["pairs"])
        raise AssertionError

    def cut(self, buffered: Buffered) -> Reading:
        """The passages of one buffer."""
        if buffered.corpus is None:
            return Reading()
        return read_units(
            self.model, buffered.corpus.documents, buffered.units, articles=buffered.corpus.articles, **self.options
        )

    @property
    def passages(self) -> int:
        """How many passages there are."""
        return self.count().passages

    def recall(self, key: Callable[[Example], int], wanted: Collection[int]) -> list[Example]:
        """The examples that are wanted, by what a key calls them: the stream is read once more, as far as the last of
        them, without the model."""
        missing = frozenset(wanted)
        if self._recalled is None or self._recalled[0] != missing:
            recalled: dict[int, Example] = {}
            for buffered in self.corpus.buffers() if missing else ():
                for example in self.cut(buffered).examples:
                    if (name := key(example)) in missing:
                        recalled.setdefault(name, example)
                if len(recalled) == len(missing):
                    break
            self._recalled = missing, list(recalled.values())
        return self._recalled[1]

    def count(self) -> Counted:
        """What the whole stream holds: as the last pass has counted it, or by going through it without the model,
        where no pass went to its end."""
        if not self.complete:
            self.counted = Counted()
            for buffered in self.corpus.buffers():
                self.counted.add(buffered, self.cut(buffered))
            self.complete = True
        return self.counted

    def source(self, budget: int, max_items: int | None = None) -> StreamedSource:
        """Batches of them, of so many pieces."""
        return StreamedSource(self, budget, max_items)


def totals(readings: Iterable[tuple[StreamedReading, str]]) -> tuple[dict[str, Any], Counter[str]]:
    """What manifests say of streamed readings, each with what its passages count as: how much was read, and what was
    left out.

    >>> totals([])
    ({}, Counter())
    """
    counts: dict[str, Any] = {}
    skipped: Counter[str] = Counter()
    for reading, into in readings:
        counted = reading.count()
        scored = into == "passages"
        of_scored = {"pieces": counted.pieces, "documents": counted.documents} if scored else {}
        for name, count in {into: counted.passages, **of_scored}.items():
            counts[name] = counts.get(name, 0) + count
        counts |= {"units": counted.units, "unit": reading.unit} if scored else {}
        skipped += reading.skipped + counted.skipped
    return counts, skipped


class StreamedSource:
    """Batches of a streamed reading; how many there will be is not known."""

    batches: int | None = None
    pieces: int | None = None

    def __init__(
        self, reading: StreamedReading, budget: int, max_items: int | None, share: tuple[int, int] = (0, 1)
    ) -> None:
        self.reading, self.budget, self.max_items, self.share = reading, budget, max_items, share

    def portion(self, number: int, parts: int) -> StreamedSource:
        """The batches of part ``number`` (from 1): every so-many-th buffer, the others of which are not cut."""
        return StreamedSource(self.reading, self.budget, self.max_items, (number - 1, parts))

    @cached_property
    def fingerprint(self) -> str:
        """A hash of the corpus's own and of how passages are made."""
        corpus = self.reading.corpus
        known = [corpus.sha256, corpus.half, corpus.cut is None, self.reading.options]
        return hashlib.sha256(json.dumps(known, sort_keys=True).encode()).hexdigest()

    def from_place(self, place: Place = None) -> Iterator[Handed[Example]]:
        """The batches after a place."""
        reading = self.reading
        number, done, counted = 0, 0, Counted()
        if place is not None:
            number, done, counted = place["number"], place["passages"], Counted.of(place["before"])
        reading.counted, reading.complete = counted, False
        for buffered in reading.corpus.buffers(None if place is None else place["buffer"], self.share):
            passages = reading.cut(buffered)
            before = counted.to_dict()
            counted.add(buffered, passages)
            lengths = [example.length for example in passages.examples]
            for indices in batches(lengths, self.budget, self.max_items, done=done):
                number, done = number + 1, done + len(indices)
                after = {"number": number, "buffer": buffered.place, "passages": done, "before": before}
                if done == len(lengths):
                    after |= {"buffer": buffered.after, "passages": 0, "before": counted.to_dict()}
                yield Handed(
                    number - 1, [passages.examples[i] for i in indices], sum(lengths[i] for i in indices), after
                )
            done = 0
            del buffered, passages  # nothing of a buffer is kept while the next is read
        if self.share[1] == 1:
            reading.complete = True
            require_texts(counted.passages, counted.skipped, pairs=reading.options["pairs"])
