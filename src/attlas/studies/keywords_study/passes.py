"""What all words of all documents receive, on disk, so that it is computed once and read by all that follows.

For each part of a corpus there is one file of numbers in float32, (kind, word, head): the words of all documents one
after the other, the heads of all layers side by side. Values are kept as the model gives them; what is made of them
(shares of a window, logarithms) is made when they are read. A document longer than the model's window is cut into
windows, whose words follow each other in the file as they do in the text.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from attlas.capture import Subject
from attlas.errors import StoreError
from attlas.models import Example
from attlas.probes.files import Checksums, size_of_file
from attlas.stats import Bundle
from attlas.studies.shared.keywords.weighing import Kind, Numbers, cut, received_by_words
from attlas.text import Document, Passage
from attlas.text.keyphrases import key_words
from attlas.text.stems import Stem

INDEX = "index.json"
AT_ONCE = 20_000  # words of a block
Integers = NDArray[np.int64]


@dataclass(frozen=True)
class Part:
    """Documents of one part, the windows they were cut into, and where the words of each lie among all words.

    ``starts`` and ``windows`` are the first words of each document and each window, with the number of all words at
    the end; ``key`` says of every word whether it is a key word."""

    name: str
    documents: tuple[Document, ...]
    examples: tuple[Example, ...]
    starts: Integers
    windows: Integers
    key: NDArray[np.bool_]

    @property
    def words(self) -> int:
        """How many words there are."""
        return int(self.starts[-1])

    @property
    def mixed(self) -> NDArray[np.bool_]:
        """Which documents have both key words and others."""
        marked = np.add.reduceat(self.key.astype(np.int64), self.starts[:-1])
        return np.asarray((marked > 0) & (marked < np.diff(self.starts)))


def lay_out(
    name: str,
    subject: Subject,
    documents: Sequence[Document],
    max_pieces: int | None = None,
    stem: Stem | None = None,
) -> Part:
    """Cut documents into windows and find their key words."""
    windows = [window for document in documents for window in cut(subject, document, max_pieces)]
    return Part(
        name, tuple(documents), tuple(subject.pieces.encode_all([Passage(window) for window in windows])),
        _edges(len(document.words) for document in documents), _edges(len(window.words) for window in windows),
        np.concatenate([key_words(document, stem) for document in documents]),
    )  # fmt: skip


class Received:
    """The files of one model on the parts of a corpus, in a folder of their own."""

    def __init__(
        self, folder: Path, parts: Mapping[str, Part], kinds: Sequence[Kind], heads: int, made_for: Mapping[str, Any]
    ) -> None:
        self.folder, self.parts, self.kinds, self.heads = folder, dict(parts), tuple(kinds), heads
        sizes = {name: part.words for name, part in parts.items()}
        index = json.dumps({"for": made_for, "words": sizes, "kinds": [str(kind) for kind in kinds], "heads": heads})
        place = folder / INDEX
        length = {self._file(name): 4 * len(self.kinds) * words * self.heads for name, words in sizes.items()}
        with self._writing():
            folder.mkdir(parents=True, exist_ok=True)
            self.checksums = Checksums(folder, sum(len(part.examples) for part in parts.values()))
            whole = self.checksums.kept and all(size_of_file(file) == size for file, size in length.items())
            self.kept = whole and place.is_file() and place.read_bytes() == index.encode()
            """Whether the folder held files of this very plan already."""
            if not self.kept:
                place.unlink(missing_ok=True)  # until all of them are of this plan
                self.checksums.clear()
                for path, size in length.items():
                    path.unlink(missing_ok=True)  # it may be a link
                    with open(path, "wb") as file:
                        file.truncate(size)
                place.write_text(index, encoding="utf-8")

    def require_as_written(self, items: Sequence[Item]) -> None:
        """Begin again where what was written of some window is something else by now."""
        for item in items:
            rows = [self.read(item.part, kind, item.first, item.stop) for kind in self.kinds]
            if not self.checksums.agree(item.number, *rows):
                self.checksums.clear()
                self.kept = False
                return

    def write(self, part: str, first: int, values: Numbers, item: int | None = None) -> None:
        """Put what the words of a window receive, (kind, layer, head, word), into their places; of a window that has
        a number, a checksum is kept."""
        words = self.parts[part].words
        rows = np.ascontiguousarray(np.moveaxis(values.reshape(len(self.kinds), self.heads, -1), 2, 1))
        rows = rows.astype(np.float32, copy=False)
        if item is not None:
            self.checksums.note(item, *rows)
        with self._writing(), open(self._file(part), "r+b", buffering=0) as file:
            for number, some in enumerate(rows):
                file.seek(4 * self.heads * (number * words + first))
                file.write(some.tobytes())

    def read(self, part: str, kind: Kind, start: int = 0, stop: int | None = None) -> Numbers:
        """What some words receive, (word, head), as the model gave it."""
        words = self.parts[part].words
        last = words if stop is None else stop
        first = 4 * self.heads * (self.kinds.index(kind) * words + start)
        count = (last - start) * self.heads
        return np.fromfile(self._file(part), np.float32, count, offset=first).reshape(last - start, self.heads)

    def blocks(self, part: str, kind: Kind, most: int = AT_ONCE) -> Iterator[tuple[slice, Numbers, Numbers]]:
        """Documents, a few at a time: which ones, what their words receive, (word, head), and the same relative to
        the mean over the words of the window.
        """
        laid = self.parts[part]
        first = 0
        while first < len(laid.documents):
            beyond = int(np.searchsorted(laid.starts, laid.starts[first] + most, "right")) - 1
            last = max(first + 1, beyond)
            start, stop = int(laid.starts[first]), int(laid.starts[last])
            values = self.read(part, kind, start, stop)
            edges = laid.windows[(laid.windows >= start) & (laid.windows <= stop)] - start
            yield slice(first, last), values, _relative_in_windows(values, edges)
            first = last

    def relative(self, part: str, kind: Kind) -> Numbers:
        """What all words of a part receive relative to their windows' means, (word, head)."""
        whole = np.empty((self.parts[part].words, self.heads), np.float32)
        starts = self.parts[part].starts
        for some, _, shares in self.blocks(part, kind):
            whole[starts[some.start] : starts[some.stop]] = shares
        return whole

    def _file(self, part: str) -> Path:
        return self.folder / f"{part}.bin"

    @contextmanager
    def _writing(self) -> Iterator[None]:
        try:
            yield
        except OSError as error:
            why = f"what words receive cannot be written ({error.strerror or error}); choose another --out"
            raise StoreError(f"{self.folder}: {why}") from error


def _relative_in_windows(values: Numbers, edges: Integers) -> Numbers:
    """What words receive, (word, head), divided by its mean over the words of their window; 0 where that is 0."""
    sizes = np.diff(edges)
    means = np.add.reduceat(values, edges[:-1], axis=0) / sizes[:, None]
    scale = np.divide(1, means, out=np.zeros_like(means), where=means > 0).astype(np.float32)
    return np.asarray(values * np.repeat(scale, sizes, axis=0), np.float32)


class Item(NamedTuple):
    """A window to be captured, and where its words belong."""

    number: int
    example: Example
    part: str
    first: int
    stop: int


def items_of(parts: Mapping[str, Part]) -> list[Item]:
    """The windows of all parts, each with its place."""
    placed = (
        (example, part.name, int(first), int(stop))
        for part in parts.values()
        for example, (first, stop) in zip(part.examples, pairwise(part.windows), strict=True)
    )
    return [Item(number, *place) for number, place in enumerate(placed)]


class Writer:
    """Takes windows through a model and writes what their words receive; to the engine, a study like any other."""

    name = "attention to words"

    def __init__(self, subject: Subject, received: Received | None) -> None:
        self.subject, self.received = subject, received
        self.kinds = () if received is None else received.kinds

    def __getstate__(self) -> dict[str, Any]:
        """Without the files, which workers do not write."""
        return {**vars(self), "received": None}

    def empty(self) -> Bundle:
        """Nothing: all goes into files."""
        return Bundle({})

    def update(self, bundle: Bundle, batch: Sequence[Item]) -> None:
        """Run a batch through the model and write what its words receive."""
        self.write(bundle, batch, self.read(batch))

    def read(self, batch: Sequence[Item]) -> list[Numbers]:
        """What the words of a batch receive, window by window."""
        return list(received_by_words(self.subject, [item.example for item in batch], self.kinds))

    def write(self, bundle: Bundle, batch: Sequence[Item], found: Sequence[Numbers]) -> None:
        """Write what was read."""
        assert self.received is not None
        for item, values in zip(batch, found, strict=True):
            self.received.write(item.part, item.first, values, item.number)


def _edges(sizes: Iterator[int] | Any) -> Integers:
    return np.concatenate([[0], np.cumsum(list(sizes), dtype=np.int64)]).astype(np.int64)
