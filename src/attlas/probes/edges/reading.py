"""Batches of edges with their states, straight out of the mapped file.

Which sentences make a batch, and in which order batches come, follows from the seed and the epoch alone. Sentences of
about one length go together, so that little is padding.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NamedTuple

import numpy as np
import torch
from torch import Tensor

from attlas.probes.edges.layout import Answers, Integers, Layout
from attlas.probes.edges.series import Asked
from attlas.probes.edges.states import Mixable, States, evened

NEIGHBOURS = 50  # batches that are sorted by length together
CPU = torch.device("cpu")


class Lesson(NamedTuple):
    """A batch of a part: what is asked, what is to be answered (gold and control, both as given and asked-about
    labels of edges), and which sentences and edges these are.

    >>> Lesson._fields
    ('asked', 'answers', 'sentences', 'edges', 'owners', 'pieces')
    """

    asked: Asked
    answers: dict[str, tuple[Tensor, Tensor, Integers]]
    sentences: Integers
    edges: Integers
    owners: Integers
    pieces: int


class Reader:
    """Reads the parts of a corpus batch by batch, ``pieces`` of them at a time, padding included.

    >>> from collections import Counter
    >>> nothing, rows = np.zeros(0, dtype=np.int64), np.array([0, 3, 5, 9])
    >>> layout = Layout("dev", (), (nothing,) * 3, rows, rows, nothing, nothing, nothing, (), Counter())
    >>> reader = Reader({"dev": layout}, None, None, None, [1.0], pieces=8)
    >>> [batch.tolist() for batch in reader.plan("dev", None)]
    [[1, 0], [2]]
    """

    def __init__(
        self,
        layouts: dict[str, Layout],
        answers: Answers,
        states: States,
        mixable: Mixable,
        scales: Sequence[float],
        *,
        pieces: int,
        lengths: str = "usual",
        kinds: Sequence[str] = ("gold", "control"),
        device: torch.device = CPU,
        dtype: torch.dtype = torch.float32,
    ) -> None:
        self.layouts, self.answers, self.states, self.mixable = layouts, answers, states, mixable
        self.scales, self.lengths = torch.tensor(scales, dtype=dtype, device=device), lengths
        self.pieces, self.kinds, self.device, self.dtype = pieces, kinds, device, dtype

    def plan(self, part: str, shuffled: np.random.Generator | None) -> list[Integers]:
        """The sentences of each batch."""
        layout = self.layouts[part]
        lengths, edges = np.diff(layout.rows), np.diff(layout.edges)
        order = np.arange(layout.sentences) if shuffled is None else shuffled.permutation(layout.sentences)
        width = max(1, NEIGHBOURS * self.pieces // max(1, int(lengths.mean())))
        found: list[Integers] = []
        for start in range(0, len(order), width):
            near = order[start : start + width]
            near = near[np.lexsort((edges[near], lengths[near]))]
            found += _cut(near, lengths, self.pieces)
        if shuffled is not None:
            shuffled.shuffle(found)
        return found

    def lessons(self, part: str, shuffled: np.random.Generator | None = None) -> Iterator[Lesson]:
        """All batches of a part; shuffled, or in the order of the corpus for the most part."""
        for sentences in self.plan(part, shuffled):
            yield self.lesson(part, sentences)

    def lesson(self, part: str, sentences: Integers) -> Lesson:
        """One batch of these sentences."""
        layout, room = self.layouts[part], self.states.room
        starts, stops = layout.rows[sentences], layout.rows[sentences + 1]
        longest = int((stops - starts).max())
        kept = torch.zeros(len(sentences), longest, room.slots, room.size, dtype=torch.float16)
        for number, (start, stop) in enumerate(zip(starts, stops, strict=True)):
            kept[number, : stop - start] = torch.from_numpy(self.states.rows(part, int(start), int(stop)))
        counts = layout.edges[sentences + 1] - layout.edges[sentences]
        edges = np.concatenate([np.arange(layout.edges[s], layout.edges[s + 1]) for s in sentences])
        owners = np.repeat(np.arange(len(sentences)), counts)
        places = np.arange(len(edges)) - np.repeat(np.cumsum(counts) - counts, counts)
        spans = np.zeros((len(sentences), int(counts.max()), layout.spans.shape[1]), dtype=np.int64)
        real = np.zeros(spans.shape[:2], dtype=bool)
        spans[owners, places], real[owners, places] = layout.spans[edges], True
        expanded = self.mixable.expand(kept.to(self.device).to(self.dtype))
        states = evened(expanded, self.scales, self.lengths).permute(2, 0, 1, 3)
        asked = Asked(states, torch.from_numpy(spans).to(self.device), torch.from_numpy(real).to(self.device))
        answers = {}
        for kind in self.kinds:
            given, among, unknown = self.answers.of(kind, part, edges)
            answers[kind] = (self._numbers(given), self._numbers(among), unknown)
        return Lesson(asked, answers, sentences, edges, owners, int((stops - starts).sum()))

    def _numbers(self, flags: np.ndarray) -> Tensor:
        return torch.from_numpy(flags).to(self.device).to(self.dtype)


def _cut(sentences: Integers, lengths: Integers, pieces: int) -> list[Integers]:
    """Runs of sentences whose padded size is at most ``pieces`` (but one at least)."""
    found, start = [], 0
    for stop in range(1, len(sentences) + 1):
        if stop == len(sentences) or (stop + 1 - start) * lengths[sentences[start : stop + 1]].max() > pieces:
            found.append(sentences[start:stop])
            start = stop
    return found
