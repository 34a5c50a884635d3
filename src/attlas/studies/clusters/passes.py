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
from torch.nn.functional import pad

from attlas.capture import Subject
from attlas.capture.measuring import measured, require_measure, row_shares
from attlas.ids import Stream
from attlas.measures.divergence import divergences, entropies
from attlas.measures.quantities import CLASSES
from attlas.models import AttentionCall, Batch, Example, Side
from attlas.stats import Bundle, PooledMean
from attlas.studies.clusters.arrangement import SHUFFLES, square
from attlas.studies.clusters.behaviour import FIGURES
from attlas.studies.shared.piece_classes import half_of, mark, texts_of
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
    """One forward pass: keeps the rows of every text, layer by layer, until it gives their sums to a bundle."""

    def __init__(self, study: Clusters, made: Batch, batch: Sequence[Example]) -> None:
        self.study = study
        self.halves = [half_of(example.unit, study.seed) for example in batch]
        self.units = [example.unit for example in batch]
        self.heads = {stream: study.subject.grid(stream).sum(1).tolist() for stream in study.streams}
        self.texts: dict[Stream, list[_Text]] = {}
        for stream in study.streams:
            queries, keys = made.queries(stream), made.keys(stream)
            if queries is not None and keys is not None:
                marked = mark(keys, texts_of(made, keys, batch, study.subject.pieces.translating), (), {})
                self.texts[stream] = [
                    _Text(_span(queries, row), _span(keys, row), marked.classes[row]) for row in range(len(batch))
                ]

    def take(self, call: AttentionCall) -> None:
        """Keep the rows of one layer, each text's own part of them."""
        texts = self.texts.get(call.site.stream)
        if texts is None:
            return
        norms = self.study.measure == "norm"
        attention, visible = measured(self.study.subject, call, self.study.measure).detach(), call.visible()
        for row, text in enumerate(texts):
            own = attention[row, :, text.queries, text.keys].float()
            whole = row_shares(own) if norms else _whole(own, sink=call.sinks is not None)
            whole = whole[: self.heads[call.site.stream][call.site.layer]]
            text.rows.append(whole)
            seen = None if visible is None else visible[row if len(visible) > 1 else 0]
            text.even.append(_even(text, seen, len(whole), whole.shape[-1]))

    def give(self, bundle: Bundle) -> None:
        """Reduce text by text, letting each text's rows go before the next."""
        for stream, texts in self.texts.items():
            for text, half, unit in zip(texts, self.halves, self.units, strict=True):
                if not text.rows:
                    continue
                widest = max(layer.shape[-1] for layer in text.rows)
                rows = torch.cat([pad(layer, (0, widest - layer.shape[-1])) for layer in text.rows])
                text.rows.clear()
                queries, own = rows.shape[1], entropies(rows)
                sums = divergences(rows, own).cpu().numpy()
                bundle[f"{stream}-pairs-{half}"].update(sums[None], queries, [unit])
                _give_layers(bundle, stream, square(sums, len(rows)), self.heads[stream], queries, unit)
                figures, counts = _figures(rows, own, text, stream)
                bundle[f"{stream}-figures"].update(figures[None], counts[None, None], [unit])


class _Text:
    """One text of a pass: where its real pieces are, what its keys are, and what was kept of it, layer by layer."""

    def __init__(self, queries: slice, keys: slice, classes: Tensor) -> None:
        self.queries, self.keys = queries, keys
        self.classes = classes[keys]
        self.rows: list[Tensor] = []
        self.even: list[Tensor] = []


def _whole(weights: Tensor, *, sink: bool) -> Tensor:
    """Weights whose rows sum to one: in half precision they may miss it by a little, and what goes to a sink goes to
    a key of its own."""
    total = weights.sum(-1, keepdim=True)
    return torch.cat([weights, (1 - total).clamp(min=0)], -1) if sink else weights / total


def _span(side: Side, row: int) -> slice:
    start = side.starts[row]
    return slice(start, start + side.encoded[row].length)


def _even(text: _Text, visible: Tensor | None, heads: int, keys: int) -> Tensor:
    """Sum over queries of the entropy of even attention, for every head of a layer."""
    if visible is None:
        count = text.classes.new_full((1, text.queries.stop - text.queries.start), keys)
    else:
        sink = keys - (text.keys.stop - text.keys.start)
        count = visible[:, text.queries, text.keys].sum(-1).float() + sink
    return count.clamp(min=1).log().sum(-1).expand(heads)


def _give_layers(
    bundle: Bundle, stream: Stream, matrix: NDArray[np.float64], heads: Sequence[int], queries: int, unit: int
) -> None:
    """Mean distance of heads of two layers, and of all pairs within and between layers, of one text; the layers have
    so many ``heads``."""
    layers = len(heads)
    member = np.repeat(np.eye(layers), heads, axis=0)  # (head, layer)
    blocks = member.T @ matrix @ member
    pairs = np.outer(heads, heads).astype(float)
    np.fill_diagonal(pairs, [count * (count - 1) for count in heads])
    counts = np.where(pairs > 0, queries, 0)
    bundle[f"{stream}-layers"].update((blocks / np.maximum(pairs, 1))[None], counts[None], [unit])
    same = np.eye(layers, dtype=bool)
    totals = np.array([blocks[same].sum(), blocks[~same].sum()])
    number = np.array([pairs[same].sum(), pairs[~same].sum()])
    counts = np.where(number > 0, queries, 0)
    bundle[f"{stream}-apart"].update((totals / np.maximum(number, 1))[None], counts[None], [unit])


def _figures(
    rows: Tensor, own: Tensor, text: _Text, stream: Stream
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """The heads' own figures of one text, (head, figure), and over how many queries each is (figure)."""
    queries, real = rows.shape[1], len(text.classes)
    within = stream is not Stream.CROSS
    received = rows[..., :real].sum(1) @ text.classes
    columns = {
        "entropy": own.sum(-1),
        "even": torch.cat(text.even),
        **({f: rows.diagonal(k, 1, 2).sum(-1) for f, k in _OFFSETS.items()} if within else {}),
        **{name: received[:, CLASSES.index(name)] for name in CLASSES[:-1]},
        "special": received[:, _SPECIAL].sum(-1),
    }
    there = dict(zip(CLASSES, text.classes.sum(0).tolist(), strict=True))
    counts = dict.fromkeys(FIGURES, float(queries))
    counts |= {name: counts[name] if there[name] else 0.0 for name in CLASSES[:-1]}
    counts |= {"previous": (queries - 1.0) * within, "next": (queries - 1.0) * within, "self": queries * within}
    if stream is Stream.DECODER:
        counts["next"] = 0.0
    nothing = torch.zeros_like(columns["entropy"])
    stacked = torch.stack([columns[name] if counts[name] else nothing for name in FIGURES], -1)
    return stacked.double().cpu().numpy(), np.array([counts[name] for name in FIGURES])


_OFFSETS = {"previous": -1, "next": 1, "self": 0}
