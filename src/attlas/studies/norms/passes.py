"""Norms: what is seen of attention with the vectors it adds up, and not with its weights alone.

A head's output is the sum of alpha f(x) over keys (Kobayashi et al.). By class of key ([CLS], [SEP], the first piece
of models that have neither, periods and commas, all others), layer and head: the share of the weight, the share of
the norm ||alpha f(x)||, the mean of alpha, of ||f(x)|| and of ||alpha f(x)||; by layer also the joint norm, that of
the heads' summed vectors. Spearman's correlation of alpha with ||f(x)||, within each text and across texts; of
||f(x)|| with the frequency of the word; and how much a piece takes in from others against what it keeps of itself,
with the residual and the norm that follows.

It is one pass over the corpus. The row statistics are those of the survey; joint norms need the weights of a layer at
once, which are let go with the layer.
"""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import nullcontext
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from attlas.capture import Fold, Subject
from attlas.capture.instruments import finite
from attlas.capture.mixing import STEPS, Mixing, mixing
from attlas.ids import Site, Stream
from attlas.measures.names import MEASURES
from attlas.measures.quantities import CLASSES, QUANTITIES, RANKS
from attlas.measures.ranks import spearman_of_equals
from attlas.measures.rows import RowStatistics, statistics
from attlas.models import AttentionCall, Batch, Example
from attlas.stats import Bundle, Drawn, PooledMean
from attlas.studies.norms.marks import CELLS, DrawnPairs, WordMarks, pairs_by_class, words_of
from attlas.studies.shared.piece_classes import Frequencies, texts_of
from attlas.studies.shared.reducing import (
    StreamMarks,
    coarse,
    correlate_drawn,
    heads_by_site,
    mark_stream,
    reduce_rows,
    relate,
    stacked,
    stacked_heads,
)

if TYPE_CHECKING:
    from contextlib import AbstractContextManager

MEANS = ("weight", "length", "norm")
PAIRS = ("all", "other")  # of what keys weight and length are correlated within a text
WORDS = ("all", "plain")  # plain: without periods and commas
QUERIES = ("all", *CLASSES)
KEPT = 400
_SHARES = [quantity for quantity in QUANTITIES if quantity.name in CLASSES]
Sums = dict[str, tuple[Tensor, Tensor]]


class Norms:
    """What is summed. ``frequencies`` are those of the corpus, ``target_frequencies`` those of its translations.

    >>> from attlas.capture import load
    >>> study = Norms(load())
    >>> bundle = study.empty()
    >>> study.update(bundle, study.subject.pieces.encode_all([]))
    """

    name = "norms"

    def __init__(
        self,
        subject: Subject,
        *,
        frequencies: Frequencies | None = None,
        target_frequencies: Frequencies | None = None,
        streams: Sequence[Stream] | None = None,
        seed: int = 0,
    ) -> None:
        subject.require("norms")
        self.subject = subject
        self.frequencies = frequencies or Frequencies({}, {})
        self.target_frequencies = target_frequencies or self.frequencies
        self.streams = tuple(streams or subject.streams)
        self.seed = seed
        self.mixing = subject.has_residuals

    def empty(self) -> Bundle:
        """A bundle that has seen nothing: per stream the figures of heads and of layers, and a sample of pairs."""
        parts: dict[str, Any] = {}
        for stream in self.streams:
            layers, heads = self.subject.grid(stream).shape
            of_heads = {
                "shares": (len(MEASURES), len(CLASSES)), "means": (len(MEANS), len(CLASSES)),
                "spearman": (len(PAIRS),), "words": (len(WORDS),),
            }  # fmt: skip
            of_layers = of_heads | {
                "joint": (2, len(CLASSES)), "chance": (len(CLASSES),), "bands": (len(RANKS),),
                "mixing": (len(STEPS), len(QUERIES)),
            }  # fmt: skip
            parts |= {f"{stream}-{name}": PooledMean((layers, heads, *shape)) for name, shape in of_heads.items()}
            parts |= {f"{stream}-layer-{name}": PooledMean((layers, *shape)) for name, shape in of_layers.items()}
            parts[f"{stream}-pairs"] = Drawn(len(CELLS), KEPT, 3, layers * heads * 2)
        return Bundle(parts)

    def update(self, bundle: Bundle, batch: Sequence[Example]) -> None:
        """Run a batch through the model and take its sums into the bundle."""
        if not batch:
            return
        subject = self.subject
        made = subject.pieces.batch(batch, subject.device)
        pass_ = self.begin(made, batch)
        listening: AbstractContextManager[None] = mixing(subject, pass_.mix) if self.mixing else nullcontext()
        with torch.no_grad(), subject.use(Fold(pass_.take)), listening:
            subject.read(made)
        pass_.give(bundle)

    def begin(self, made: Batch, batch: Sequence[Example]) -> _Pass:
        """Open a pass: what this study takes from one forward pass over a batch."""
        scenes = {stream: self._scene(made, batch, stream) for stream in self.streams}
        present = {stream: scene for stream, scene in scenes.items() if scene is not None}
        return _Pass(self, present, [example.unit for example in batch])

    def _scene(self, batch: Batch, examples: Sequence[Example], stream: Stream) -> _Scene | None:
        translating = self.subject.pieces.translating
        marks = mark_stream(
            batch, examples, stream, translating=translating, ranks=self.frequencies.ranks,
            target_ranks=self.target_frequencies.ranks, seed=self.seed,
        )  # fmt: skip
        if marks is None:
            return None
        queries, keys = batch.queries(stream), batch.keys(stream)
        assert queries is not None
        assert keys is not None
        passages = [example.passage for example in examples]
        drawn = pairs_by_class(
            queries, keys, marks.keys.classes, passages, causal=stream is Stream.DECODER, seed=self.seed
        )
        known = self.target_frequencies if keys is batch.target else self.frequencies
        words = words_of(keys, texts_of(batch, keys, examples, translating), known.shared)
        return _Scene(replace(marks, pairs=torch.cat([drawn.pairs, marks.pairs], dim=1)), drawn, words)


@dataclass(frozen=True)
class _Scene:
    """What is known of one stream of a batch before the model runs."""

    marks: StreamMarks
    drawn: DrawnPairs
    words: WordMarks


class _Pass:
    """One forward pass: takes every call at the seam and what the layer makes of it, and gives the sums of all layers
    to a bundle at its end."""

    def __init__(self, study: Norms, scenes: dict[Stream, _Scene], units: Sequence[int]) -> None:
        self.study, self.scenes, self.units = study, scenes, units
        self.taken: dict[Stream, list[Sums]] = {stream: [] for stream in scenes}
        self.pairs: dict[Stream, list[Tensor]] = {stream: [] for stream in scenes}
        self.mixed: dict[Stream, list[tuple[Tensor, Tensor]]] = {stream: [] for stream in scenes}
        self.heads = heads_by_site(study.subject)
        self._own: dict[Site, Tensor] = {}

    def take(self, call: AttentionCall) -> None:
        """Reduce one call to sums per text."""
        scene = self.scenes.get(call.site.stream)
        if scene is None:
            return
        marks, subject = scene.marks, self.study.subject
        lengths = subject.lengths(call)
        rows = statistics(call, marks.columns, lengths, marks.pairs)
        if call.fusable and call.query is not None:  # the model need not compute once more what we have
            call.mixed = rows.mixed.transpose(1, 2).to(call.query.dtype).contiguous()
        shares, counts = reduce_rows(rows, lengths, marks, _SHARES)["figures"]
        finite(shares[:, : self.heads[call.site]], call.site)
        sums: Sums = {"shares": (shares, counts)}
        sums |= _means(rows, lengths, call, marks)
        sums |= _joint(subject.joint(call), sums["layer-pairs"][0], marks)
        sums |= _relations(rows, lengths, scene)
        self.taken[call.site.stream].append(sums)
        alpha = rows.pairs[..., : scene.drawn.pairs.shape[1]]
        at = scene.drawn.pairs[..., 1][:, None].expand_as(alpha)
        self.pairs[call.site.stream].append(torch.stack([alpha, lengths.gather(2, at)], -1))
        if self.study.mixing and call.site.stream is not Stream.CROSS:
            self._own[call.site] = rows.near[..., 1]

    def mix(self, layer: Mixing) -> None:
        """Sum a layer's mixing ratios by class of query, at every step."""
        scene = self.scenes.get(layer.site.stream)
        if scene is None:
            return
        queries = scene.marks.queries
        sets = torch.cat([queries.real.float()[..., None], queries.classes], -1)  # (text, query, set)
        own = self._own.pop(layer.site, None)
        sums, counts = [], []
        for step in STEPS:
            ratios = layer.ratio(step, own)
            known = sets * ratios.isfinite()[..., None]
            sums.append(torch.einsum("bq,bqs->bs", ratios.nan_to_num(0.0), known))
            counts.append(known.sum(1))
        self.mixed[layer.site.stream].append((torch.stack(sums, 1), torch.stack(counts, 1)))

    def give(self, bundle: Bundle) -> None:
        """Stack the layers of every stream and update the bundle once."""
        for stream, scene in self.scenes.items():
            taken, grid = self.taken[stream], self.study.subject.grid(stream)
            for name in taken[0] if taken else ():
                if name == "layer-pairs":
                    continue
                of_heads = name in ("shares", "means", "spearman", "words")
                sums, counts = _stacked([layer[name] for layer in taken], grid if of_heads else None)
                if not of_heads:  # a layer that has lost its heads brings nothing
                    counts = counts * grid.any(1).reshape(-1, *[1] * (counts.ndim - 2))
                bundle[f"{stream}-{name}"].update(np.where(counts > 0, sums, 0.0), counts, self.units)
                if of_heads:
                    bundle[f"{stream}-layer-{name}"].update(sums.sum(2), counts.sum(2), self.units)
            if self.mixed[stream]:
                bundle[f"{stream}-layer-mixing"].update(*_stacked(self.mixed[stream]), self.units)
            if taken:
                values = stacked_heads(self.pairs[stream], grid).transpose(0, 3, 1, 2, 4).astype(np.float32)
                drawn, real = scene.drawn, scene.drawn.real
                kept = drawn.cells[real], drawn.draws[real], drawn.places[real], values[real]
                bundle[f"{stream}-pairs"].update(*kept)


def _stacked(layers: Sequence[tuple[Tensor, Tensor]], grid: NDArray[np.bool_] | None = None) -> tuple[Any, Any]:
    """The same where a count of zero has no sum."""
    sums, counts = stacked(layers, grid)
    return np.where(counts > 0, sums, 0.0), counts


def _means(rows: RowStatistics, lengths: Tensor, call: AttentionCall, marks: StreamMarks) -> Sums:
    """Sums over pairs of alpha and of ||alpha f(x)||, over keys of ||f(x)||, by class of key; how many of each there
    are; and what even attention would give."""
    classes, real = marks.keys.classes, marks.queries.real.float()
    weight, norm = (
        torch.einsum("bhqc,bq->bhc", _every_class(columns, whole, marks), real)
        for columns, whole in ((rows.weight, rows.total), (rows.norm, rows.length))
    )
    length = torch.einsum("bhk,bkc->bhc", lengths, classes)
    visible = call.visible()
    if visible is None:
        seen = classes.sum(1, keepdim=True).expand(-1, real.shape[1], -1)
    else:
        seen = torch.matmul(visible.any(1).float().expand(real.shape[0], -1, -1), classes)
    pairs, keys = torch.einsum("bqc,bq->bc", seen, real), classes.sum(1)
    counts = torch.stack([pairs, keys, pairs], 1)[:, None].expand(-1, lengths.shape[1], -1, -1)
    even = torch.einsum("bqc,bq->bc", seen / seen.sum(-1, keepdim=True).clamp(min=1), real)
    cases = real.sum(1, keepdim=True) * classes.amax(1)
    means = torch.stack([weight, length, norm], 2)
    return {"means": (means, counts), "layer-pairs": (pairs, cases), "layer-chance": (even, cases)}


def _every_class(columns: Tensor, whole: Tensor, marks: StreamMarks) -> Tensor:
    """Row sums for all classes, in their order, from those that the batch has; what is left is other's."""
    nothing = torch.zeros_like(whole)
    known = {name: columns[..., place] for place, name in enumerate(marks.classes)}
    other = (whole - torch.stack([nothing, *known.values()]).sum(0)).clamp(min=0)
    return torch.stack([known.get(name, nothing) for name in CLASSES[:-1]] + [other], -1)


def _joint(joint: Tensor, pairs: Tensor, marks: StreamMarks) -> Sums:
    """The share of each class of key in the joint norms of a row, and their sum over pairs."""
    real = marks.queries.real.float()
    by_class = torch.matmul(joint, marks.keys.classes)
    share = by_class / joint.sum(-1, keepdim=True).clamp(min=1e-30)
    sums = torch.stack([torch.einsum("bqc,bq->bc", part, real) for part in (share, by_class)], 1)
    cases = real.sum(1, keepdim=True) * marks.keys.classes.amax(1)
    return {"layer-joint": (sums, torch.stack([cases, pairs], 1))}


def _relations(rows: RowStatistics, lengths: Tensor, scene: _Scene) -> Sums:
    """Spearman of alpha with ||f(x)|| within each text, of ||f(x)|| with the frequency of words, and ||f(x)|| by
    frequency band."""
    marks, words = scene.marks, scene.words
    related = relate(rows, lengths, marks)
    j = marks.drawn[..., 1]
    other = marks.keys.classes[..., CLASSES.index("other")].gather(1, j) > 0
    within = [related["spearman"], correlate_drawn(rows, lengths, marks, marks.drawn_real & other)]
    bands, cases = related["frequency"]
    mean = coarse(torch.einsum("bhk,bkw->bhw", lengths, words.group))
    rank = words.rank[:, None].expand_as(mean)
    rhos = torch.stack(
        [spearman_of_equals(mean, rank, real[:, None].expand_as(mean)) for real in (words.real, words.plain)], -1
    )
    known = rhos.isfinite()
    return {
        "spearman": (torch.stack([rho for rho, _ in within], -1), torch.stack([n for _, n in within], -1)),
        "words": (rhos.nan_to_num(0.0), known.double()),
        "layer-bands": (bands.sum(1), cases.sum(1)),
    }
