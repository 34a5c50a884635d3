"""Clusters of heads: which heads attend alike, and do heads of one layer lie together (Clark et al.)?

The distance of two heads is the Jensen-Shannon divergence of their rows, in nats, as a mean over all queries of a
corpus: 0 where they attend alike, ln 2 = .69 where they never look at the same key. A row is a query's weights, or
its norms ||alpha f(x)|| divided by their sum. The distance is taken for all pairs of heads of a stream in one pass:
a text's rows are kept, without padding, until the model is through with the batch, reduced to one sum per pair, and
let go. The same pass gives what every head mostly does (:mod:`attlas.studies.clusters.behaviour`).

From the distances come a map, a tree, and a test of whether layers lie together, all of them also for untrained
twins (:mod:`attlas.studies.clusters.arrangement`).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from attlas.capture import Subject
from attlas.capture.instruments import Finite
from attlas.capture.measuring import measured, require_measure
from attlas.ids import Stream
from attlas.measures.divergence import Distances, divergences_of_texts, head_pairs
from attlas.measures.quantities import CLASSES
from attlas.models import AttentionCall, Batch, Example, Landing, Side, onto
from attlas.stats import Bundle, PooledMean
from attlas.studies.clusters.arrangement import SHUFFLES
from attlas.studies.clusters.behaviour import FIGURES
from attlas.studies.shared.piece_classes import Marks, half_of, mark, texts_of
from attlas.studies.shared.reducing import together
from attlas.studies.shared.watching import Pass, Watcher

HALVES = (1, 2)
PAIR_BLOCKS = 16  # of units, for pairs of heads, of which a large model has half a million
_SPECIAL = [CLASSES.index(name) for name in ("first", "cls", "sep", "punctuation")]


class Clusters(Watcher):
    """The distances of all pairs of heads of one model, and what every head mostly does.

    >>> from attlas.capture import load
    >>> from attlas.text import Document, Passage
    >>> study = Clusters(load())
    >>> bundle = study.empty()
    >>> study.update(bundle, study.subject.pieces.encode_all([Passage(Document.from_text("It rained."))]))
    >>> bundle["encoder-layers"].result().value.shape
    (6, 6)
    """

    name = "clusters"

    def __init__(
        self,
        subject: Subject,
        *,
        streams: Sequence[Stream] | None = None,
        measure: str = "weight",
        seed: int = 0,
        shuffles: int = SHUFFLES,
    ) -> None:
        self.subject = subject
        self.measure = require_measure(subject, measure)
        self.streams = tuple(streams or subject.streams)
        self.seed, self.shuffles = seed, shuffles

    def empty(self) -> Bundle:
        """Per stream the pairs of heads by half of the units, the pairs of layers, within and between layers, and
        the heads' own figures."""
        parts: dict[str, Any] = {}
        for stream in self.streams:
            grid = self.subject.grid(stream)
            layers, count = len(grid), int(grid.sum())
            for half in HALVES:
                parts[f"{stream}-pairs-{half}"] = PooledMean((count * (count - 1) // 2,), blocks=PAIR_BLOCKS)
            parts[f"{stream}-layers"] = PooledMean((layers, layers))
            parts[f"{stream}-apart"] = PooledMean((2,))
            parts[f"{stream}-figures"] = PooledMean((count, len(FIGURES)), blocks=1)
        return Bundle(parts)

    def begin(self, made: Batch, batch: Sequence[Example]) -> _Pass:
        """Open a pass: what this study takes from one forward pass over a batch."""
        return _Pass(self, made, batch)


class _Pass(Pass):
    """One forward pass: keeps the rows of every text, layer by layer, until the model is through, and their sums
    until it gives them to a bundle."""

    def __init__(self, study: Clusters, made: Batch, batch: Sequence[Example]) -> None:
        self.study = study
        self.halves = np.array([half_of(example.unit, study.seed) for example in batch])
        self.units = np.array([example.unit for example in batch])
        self.heads = {stream: study.subject.grid(stream).sum(1).tolist() for stream in study.streams}
        self.kept: dict[Stream, _Kept] = {}
        self._asked = Finite()
        self._landing = Landing({})
        for stream in study.streams:
            queries, keys = made.queries(stream), made.keys(stream)
            if queries is not None and keys is not None:
                marked = mark(keys, texts_of(made, keys, batch, study.subject.pieces.translating), (), {})
                self.kept[stream] = _Kept(queries, keys, marked, self.heads[stream])

    def take(self, call: AttentionCall) -> None:
        """Keep the rows of one layer, each text's own part of them."""
        kept = self.kept.get(call.site.stream)
        if kept is None:
            return
        attention = measured(self.study.subject, call, self.study.measure, self._asked).detach().float()
        kept.take(call, attention, norms=self.study.measure == "norm", within=call.site.stream is not Stream.CROSS)

    def land(self) -> None:
        """Reduce the rows of all texts, and let them go."""
        landing: dict[str, Tensor] = {}
        for stream, kept in self.kept.items():
            if kept.figures:
                found = kept.distances()
                landing |= {
                    f"{stream} pairs": found.pairs, f"{stream} own": found.entropies,
                    f"{stream} figures": together(kept.figures, self.heads[stream]),
                }  # fmt: skip
        self._landing = Landing({**landing, "finite": self._asked.sums()})

    def give(self, bundle: Bundle) -> None:
        """Take the sums of all texts into the bundle."""
        arrays = self._landing.arrays()
        self._asked.settle(arrays["finite"])
        for stream, kept in self.kept.items():
            if not kept.figures:
                continue
            sums, queries = arrays[f"{stream} pairs"], np.array(kept.queries, dtype=np.float64)
            for half in HALVES:
                bundle[f"{stream}-pairs-{half}"].update(sums, queries, self.units, among=self.halves == half)
            _give_layers(bundle, stream, sums, self.heads[stream], queries, self.units)
            figures, counts = _figures(arrays[f"{stream} figures"], arrays[f"{stream} own"], kept, stream)
            bundle[f"{stream}-figures"].update(figures, counts[:, None], self.units)


class _Kept:
    """The rows of all heads of one stream of a batch, without padding, and the heads' own figures.

    Rows lie packed, text behind text and query behind query, one line of numbers for each head (:attr:`rows`); where
    weights go to sinks, each row has one number more, which lies apart until all layers are there.
    """

    def __init__(self, queries: Side, keys: Side, marked: Marks, heads: Sequence[int]) -> None:
        device = queries.real.device
        self.queries, self.keys = ([encoded.length for encoded in side.encoded] for side in (queries, keys))
        self.real_queries, self.real_keys = queries.real.float(), keys.real.float()
        self.classes, self.kinds = marked.classes, marked.kinds
        self.before = np.cumsum([0, *heads]).tolist()
        q, k = (np.array(lengths, dtype=np.int64) for lengths in (self.queries, self.keys))
        wide, long = keys.real.shape[1], queries.real.shape[1]
        # of each row, where its first number stands in the padded matrices, and how many it has; then of each number
        text = np.repeat(np.arange(len(q)), q)
        i = np.arange(len(text)) - np.repeat(np.cumsum(q) - q, q)
        begins = (text * long + np.array(queries.starts)[text] + i) * wide + np.array(keys.starts)[text]
        widths = k[text]
        self.row_place = onto(text * long + np.array(queries.starts)[text] + i, device)
        row = torch.repeat_interleave(onto(widths, device), output_size=int(widths.sum()))
        ahead = onto(np.cumsum(widths) - widths, device)
        self.place = onto(begins, device)[row] + torch.arange(len(row), device=device) - ahead[row]
        self.row = row
        self.rows: Tensor | None = None
        self.sinks: Tensor | None = None
        self.figures: list[Tensor] = []
        self._even: dict[Any, Tensor] = {}
        self._masks: list[Tensor | None] = []

    def take(self, call: AttentionCall, attention: Tensor, *, norms: bool, within: bool) -> None:
        """Keep the rows of one layer, and what its heads do."""
        layer, sink = call.site.layer, call.sinks is not None and not norms
        heads = slice(self.before[layer], self.before[layer + 1])
        own = heads.stop - heads.start
        total = torch.matmul(attention, self.real_keys[:, None, :, None])
        whole = attention if sink else attention / total.clamp(min=torch.finfo(torch.float32).tiny)
        if self.rows is None:
            self.rows = torch.empty(self.before[-1], len(self.place), device=attention.device)
        if own:
            flat = whole[:, :own].transpose(0, 1).reshape(own, -1)
            torch.index_select(flat, 1, self.place, out=self.rows[heads])
            if sink:
                if self.sinks is None:
                    self.sinks = torch.zeros(self.before[-1], len(self.row_place), device=attention.device)
                left = (1 - total[:, :own, :, 0]).clamp(min=0).transpose(0, 1).reshape(own, -1)
                self.sinks[heads] = left.index_select(1, self.row_place)
        self.figures.append(self._of_heads(call, whole, sink=sink, within=within))

    def distances(self) -> Distances:
        """The distances of all pairs of heads, text by text; the rows are let go."""
        rows, sinks = self.rows, self.sinks
        self.rows = self.sinks = None
        assert rows is not None
        keys = self.keys
        if sinks is not None:  # each row's sink behind its keys
            order = torch.argsort(
                torch.cat([self.row, torch.arange(sinks.shape[1], device=rows.device)]), stable=True
            )
            rows, keys = torch.cat([rows, sinks], 1)[:, order], [count + 1 for count in keys]
        return divergences_of_texts(rows, self.queries, keys)

    def _of_heads(self, call: AttentionCall, whole: Tensor, *, sink: bool, within: bool) -> Tensor:
        """Sums over queries: the entropy of even attention, the weights on neighbours, and on each class of key;
        (batch, head, sum)."""
        readers, seen = self.real_queries, self.real_keys
        received = torch.matmul(torch.matmul(readers[:, None, None], whole), self.classes[:, None])[:, :, 0]
        sums = [self._evenly(call, sink=sink).expand(whole.shape[:2])]
        for offset in _OFFSETS.values() if within else ():
            there = readers[:, max(0, -offset) : readers.shape[1] - max(0, offset)]
            there = there * seen[:, max(0, offset) : seen.shape[1] - max(0, -offset)]
            sums.append(torch.matmul(whole.diagonal(offset, 2, 3), there[..., None])[..., 0])
        return torch.cat([torch.stack(sums, -1), received], -1)

    def _evenly(self, call: AttentionCall, *, sink: bool) -> Tensor:
        """Sum over queries of the entropy of even attention, (batch, 1 or head), once for every mask."""
        key = (id(call.mask), call.causal, sink) if call.given is None else call.site
        if key not in self._even:
            visible = call.visible()
            if visible is None:
                count = self.real_keys.sum(1)[:, None, None].expand(-1, 1, self.real_queries.shape[1])
            else:
                count = torch.matmul(visible.float(), self.real_keys[:, None, :, None])[..., 0]
            logs = (count + float(sink)).clamp(min=1).log()
            self._even[key] = (logs * self.real_queries[:, None]).sum(-1)
            self._masks.append(call.mask)  # holding the mask keeps its id from being used again
        return self._even[key]


def _give_layers(
    bundle: Bundle,
    stream: Stream,
    sums: NDArray[np.float64],
    heads: Sequence[int],
    queries: NDArray[np.float64],
    units: NDArray[np.int64],
) -> None:
    """Mean distance of heads of two layers, and of all pairs within and between layers, text by text, from the sums
    of all pairs of heads (text, pair); the layers have so many ``heads``."""
    layers = len(heads)
    layer_of = np.repeat(np.arange(layers), heads)
    first, second = head_pairs(len(layer_of))
    cell = layer_of[first] * layers + layer_of[second]
    by_cell = np.stack([np.bincount(cell, text, layers * layers) for text in sums]).reshape(-1, layers, layers)
    blocks = by_cell + by_cell.transpose(0, 2, 1)
    pairs = np.outer(heads, heads).astype(float)
    np.fill_diagonal(pairs, [count * (count - 1) for count in heads])
    counts = np.where(pairs > 0, queries[:, None, None], 0)
    bundle[f"{stream}-layers"].update(blocks / np.maximum(pairs, 1), counts, units)
    same = np.eye(layers, dtype=bool)
    totals = np.stack([blocks[:, same].sum(1), blocks[:, ~same].sum(1)], 1)
    number = np.array([pairs[same].sum(), pairs[~same].sum()])
    counts = np.where(number > 0, queries[:, None], 0)
    bundle[f"{stream}-apart"].update(totals / np.maximum(number, 1), counts, units)


def _figures(
    sums: NDArray[np.float64], own: NDArray[np.float64], kept: _Kept, stream: Stream
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """The heads' own figures of all texts, (text, head, figure), and over how many queries each is (text, figure)."""
    within = stream is not Stream.CROSS
    queries = np.array(kept.queries, dtype=np.float64)
    offsets = list(_OFFSETS) if within else []
    columns = {"entropy": own} | {name: sums[..., at] for at, name in enumerate(["even", *offsets, *CLASSES])}
    columns["special"] = np.stack([columns[CLASSES[at]] for at in _SPECIAL]).sum(0)
    counts = dict.fromkeys(FIGURES, queries)
    for at, name in enumerate(CLASSES[:-1]):
        counts[name] = queries * (kept.kinds == at).any(1)
    counts |= {"previous": (queries - 1) * within, "next": (queries - 1) * within, "self": queries * within}
    if stream is Stream.DECODER:
        counts["next"] = np.zeros_like(queries)
    nothing = np.zeros_like(own)
    stacked = np.stack(
        [np.where(counts[name][:, None] > 0, columns.get(name, nothing), 0.0) for name in FIGURES], -1
    )  # fmt: skip
    return stacked, np.stack([counts[name] for name in FIGURES], -1)


_OFFSETS = {"previous": -1, "next": 1, "self": 0}
