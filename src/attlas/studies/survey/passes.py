"""The survey: where every head's attention goes, over a whole corpus, in weights and in norms.

Per head, the mean over queries of the weight on the previous, next and own piece, on those within eight pieces, on
the first piece, [CLS], [SEP], periods and commas, and all else (Clark et al.); [SEP] to [SEP]; the share of all
attention that goes to the one piece that receives most; the entropy of rows and their largest score; the mean
distance; where the corpus is annotated, the share on every part of speech and on dependency edges (Vig & Belinkov).
Each figure stands beside its *chance* level, what a head that attends evenly to all it may see would have, and beside
the same figure for norms ||alpha f(x)||, every row divided by its sum (Kobayashi et al.). Also Spearman's correlation
of alpha with ||f(x)||, and ||f(x)|| by frequency of the word.

It is one pass over the corpus, with all sums taken at the seam; on ordinary architectures the matrix of weights is
never built.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from attlas.capture import Subject
from attlas.ids import Site, Stream
from attlas.measures.even import even_statistics
from attlas.measures.names import MEASURES
from attlas.measures.quantities import QUANTITIES, RANKS, Quantity
from attlas.measures.rows import RowStatistics, matrix_statistics, statistics, uniform_call
from attlas.models import AttentionCall, Batch, Example, Landing
from attlas.stats import Bundle, PooledMean
from attlas.studies.shared.piece_classes import half_of
from attlas.studies.shared.reducing import (
    Reduced,
    StreamMarks,
    banded,
    by_band,
    correlate_drawn,
    drawn_of,
    figures,
    mark_stream,
    on_grid,
    reduce_rows,
    require_finite,
    room_for_rows,
    rows_beside,
    side_by_side,
    together,
)
from attlas.studies.shared.watching import Pass, Watcher
from attlas.studies.survey.tables import DIRECTIONS, HALVES, tables


class Survey(Watcher):
    """What is summed. ``tags`` and ``ranks`` come from the corpus (:mod:`attlas.studies.shared.piece_classes`),
    ``target_ranks`` from the translations in it; ``edges`` says whether it has dependencies; ``quantities`` are what
    is asked of every head.

    With ``matrix`` every figure is computed from the weights themselves, which is slow and serves to check the fast
    way.

    >>> from attlas.capture import load
    >>> from attlas.text import Document, Passage
    >>> study = Survey(load())
    >>> bundle = study.empty()
    >>> study.update(bundle, study.subject.pieces.encode_all([Passage(Document.from_text("It rained."))]))
    >>> int(bundle["encoder-spearman"].result().n[0, 0]), list(study.tables(bundle))
    (1, ['heads', 'spearman', 'frequency', 'portraits'])
    """

    name = "survey"

    def __init__(
        self,
        subject: Subject,
        *,
        tags: Sequence[str] = (),
        ranks: Mapping[str, int] | None = None,
        target_ranks: Mapping[str, int] | None = None,
        edges: bool = False,
        streams: Sequence[Stream] | None = None,
        seed: int = 0,
        matrix: bool = False,
        quantities: Sequence[Quantity] = QUANTITIES,
    ) -> None:
        self.subject = subject
        self.quantities = tuple(quantities)
        self.tags = tuple(tags)
        self.ranks, self.target_ranks = ranks or {}, target_ranks or {}
        self.edges = edges
        self.streams = tuple(streams or subject.streams)
        self.seed = seed
        self.norms = subject.has_norms
        self.statistics = matrix_statistics if matrix else statistics
        self._grams: dict[Site, Tensor] = {}

    def lengths(self, call: AttentionCall) -> Tensor:
        """||f(x)|| of every head and key; what belongs to the weights alone is found once, for all batches."""
        if call.site not in self._grams:
            self._grams[call.site] = self.subject.gram(call.site)
        return self.subject.lengths(call, self._grams[call.site])

    def empty(self) -> Bundle:
        """Per stream the figures by half of the units, their chance, parts of speech, Spearman and frequency."""
        parts: dict[str, Any] = {}
        for stream in self.streams:
            layers, heads = self.subject.grid(stream).shape
            for half in HALVES:
                parts[f"{stream}-figures-{half}"] = PooledMean((layers, heads, len(MEASURES), len(self.quantities)))
            parts[f"{stream}-chance"] = PooledMean((layers, len(self.quantities)), blocks=1)
            if self.tags:
                parts[f"{stream}-pos"] = PooledMean((layers, heads, len(MEASURES), len(DIRECTIONS), len(self.tags)))
                parts[f"{stream}-pos-chance"] = PooledMean((layers, len(DIRECTIONS), len(self.tags)), blocks=1)
            if self.norms:
                parts[f"{stream}-spearman"] = PooledMean((layers, heads))
                parts[f"{stream}-frequency"] = PooledMean((layers, heads, len(RANKS)))
        return Bundle(parts)

    def begin(self, made: Batch, batch: Sequence[Example]) -> _Pass:
        """Open a pass: what this study takes from one forward pass over a batch."""
        every = {
            stream: mark_stream(
                made, batch, stream, translating=self.subject.pieces.translating, ranks=self.ranks,
                target_ranks=self.target_ranks, tags=self.tags, edges=self.edges, seed=self.seed,
            )
            for stream in self.streams
        }  # fmt: skip
        present = {stream: marks for stream, marks in every.items() if marks is not None}
        return _Pass(self, present, batch)

    def tables(self, bundle: Bundle) -> dict[str, dict[str, list[Any]]]:
        """The answer as tidy rows: heads, parts of speech, Spearman, frequency, and a sentence per head."""
        return tables(self, bundle)


class _Pass(Pass):
    """One forward pass: takes every call at the seam, and gives the sums of all layers to a bundle at its end."""

    def __init__(self, study: Survey, marks: Mapping[Stream, StreamMarks], batch: Sequence[Example]) -> None:
        self.study, self.marks = study, marks
        self.halves = np.array([half_of(example.unit, study.seed) for example in batch])
        self.units = np.array([example.unit for example in batch])
        self.heads = {stream: study.subject.grid(stream).sum(1).tolist() for stream in marks}
        self.waiting: dict[Stream, list[_Seen]] = {stream: [] for stream in marks}
        self.taken: dict[Stream, list[_Taken]] = {stream: [] for stream in marks}
        self.even_attention: dict[Stream, list[Reduced]] = {stream: [] for stream in marks}
        self.sites: list[Site] = []
        self._by_mask: dict[Any, Reduced] = {}
        self._masks: list[Tensor | None] = []
        self._landing = Landing({})

    def take(self, call: AttentionCall) -> None:
        """Take one call's rows, and reduce them to sums per text and head; on a GPU with those of other layers."""
        stream = call.site.stream
        marks = self.marks.get(stream)
        if marks is None:
            return
        study, heads = self.study, self.heads[stream][len(self.even_attention[stream])]
        lengths = study.lengths(call) if study.norms else None
        rows = study.statistics(call, marks.columns, lengths, marks.pairs, marks.readers)
        if call.fusable and call.query is not None:  # the model need not compute once more what we have
            call.mixed = rows.mixed.transpose(1, 2).to(call.query.dtype).contiguous()
        self.sites.append(call.site)
        self.even_attention[stream].append(self._chance(call, marks))
        self.waiting[stream].append(_Seen(replace(rows, mixed=rows.mixed.new_empty(0)), lengths, heads))
        if rows.size * len(self.waiting[stream]) >= room_for_rows(call):
            self._reduce(stream)

    def _reduce(self, stream: Stream) -> None:
        """Reduce the rows of all layers that wait, their heads side by side."""
        marks, waiting = self.marks[stream], self.waiting[stream]
        if not waiting:
            return
        heads = [seen.heads for seen in waiting]
        rows = rows_beside([seen.rows for seen in waiting], heads)
        known = [seen.lengths for seen in waiting if seen.lengths is not None]
        lengths = together(known, heads) if known else None
        waiting.clear()
        drawn = bands = None
        if lengths is not None:
            drawn, bands = drawn_of(rows, lengths, marks), by_band(lengths, marks)
        self.taken[stream].append(_Taken(reduce_rows(rows, lengths, marks), drawn, bands, sum(heads)))

    def _chance(self, call: AttentionCall, marks: StreamMarks) -> Reduced:
        """The same sums for even attention, once for every mask that this pass has."""
        key = (call.site.stream, id(call.mask), call.causal, call.shape[-2:]) if call.given is None else call.site
        if key not in self._by_mask:
            slow = self.study.statistics is matrix_statistics or call.given is not None
            self._by_mask[key] = reduce_rows(_even_rows(call, marks, slow=slow), None, marks)
            self._masks.append(call.mask)  # holding the mask keeps its id from being used again
        return self._by_mask[key]

    def land(self) -> None:
        """Make figures of what all layers have left, the heads of a stream side by side."""
        landing: dict[str, Tensor] = {}
        for stream, marks in self.marks.items():
            self._reduce(stream)
            taken, even = self.taken[stream], self.even_attention[stream]
            if not taken:
                continue
            heads, sums = sum(part.heads for part in taken), {}
            widths = [part.heads for part in taken] + [1] * len(even)  # each layer's chance as one head more
            whole = side_by_side([*(part.reduced for part in taken), *even], widths)
            for name, (total, count) in figures(whole, marks, self.study.quantities).items():
                alike = count.shape[1] == 1  # for all heads
                sums[name] = total[:, :heads], count if alike else count[:, :heads]
                sums[f"{name}-chance"] = total[:, heads:, 0], (count if alike else count[:, heads:])[:, :, 0]
            if self.study.norms:
                drawn = torch.cat([part.drawn for part in taken if part.drawn is not None], 1)
                bands = torch.cat([part.bands for part in taken if part.bands is not None], 1)
                sums |= {"spearman": correlate_drawn(drawn, marks.drawn_real), "frequency": (bands, banded(marks))}
            for name, both in sums.items():
                landing |= {f"{stream} {name} {part}": both[part] for part in (0, 1)}
        self._landing = Landing(landing)

    def give(self, bundle: Bundle) -> None:
        """Update the bundle once, with all layers of every stream."""
        arrays, names = self._landing.arrays(), {"figures-chance": "chance"}
        self._require_finite(arrays)
        for stream in self.marks:
            grid = self.study.subject.grid(stream)
            for name in [key.split()[1] for key in arrays if key.startswith(f"{stream} ") and key.endswith(" 0")]:
                sums, counts = (arrays[f"{stream} {name} {part}"] for part in (0, 1))
                if not name.endswith("-chance"):
                    alike = counts.shape[1] == 1 and grid.all()  # for all heads
                    every = np.broadcast_to(counts, (*counts.shape[:1], sums.shape[1], *counts.shape[2:]))
                    sums, counts = on_grid(sums, grid), counts[:, :, None] if alike else on_grid(every, grid)
                assert sums.shape[1] == len(grid)
                if name != "figures":
                    bundle[f"{stream}-{names.get(name, name)}"].update(sums, counts, self.units)
                    continue
                for half in HALVES:  # by unit, so that a best head can be chosen on one and scored on the other
                    among = self.halves == half
                    bundle[f"{stream}-figures-{half}"].update(sums, counts, self.units, among=among)

    def _require_finite(self, arrays: Mapping[str, NDArray[np.float64]]) -> None:
        """Refuse a batch in which any head has no numbers, and name the first site where that is so."""
        sums = {
            stream: on_grid(arrays[f"{stream} figures 0"], self.study.subject.grid(stream))
            for stream, taken in self.taken.items() if taken
        }  # fmt: skip
        require_finite(sums, self.sites)


class _Seen(NamedTuple):
    """The rows of one layer that wait to be reduced, what each key brings, and how many heads the layer has."""

    rows: RowStatistics
    lengths: Tensor | None
    heads: int


class _Taken(NamedTuple):
    """What is kept of some layers, their heads side by side: sums over rows, weights and lengths at drawn pairs,
    lengths by frequency band, and how many heads these are."""

    reduced: Reduced
    drawn: Tensor | None
    bands: Tensor | None
    heads: int


def _even_rows(call: AttentionCall, marks: StreamMarks, *, slow: bool) -> RowStatistics:
    """The rows of a head that attends evenly to what it may see: in closed form or, to check that, by the matrix."""
    if slow:
        return matrix_statistics(uniform_call(call), marks.columns, None, marks.pairs, marks.queries.real)
    return even_statistics(call, marks.columns, marks.pairs, marks.queries.real)
