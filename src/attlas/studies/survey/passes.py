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
from typing import Any

import numpy as np
from torch import Tensor

from attlas.capture import Subject
from attlas.capture.instruments import finite
from attlas.ids import Stream
from attlas.measures.names import MEASURES
from attlas.measures.quantities import QUANTITIES, RANKS, Quantity
from attlas.measures.rows import matrix_statistics, statistics, uniform_call
from attlas.models import AttentionCall, Batch, Example
from attlas.stats import Bundle, PooledMean
from attlas.studies.shared.piece_classes import half_of
from attlas.studies.shared.reducing import (
    StreamMarks,
    Sums,
    heads_by_site,
    mark_stream,
    reduce_rows,
    relate,
    stacked,
)
from attlas.studies.shared.watching import Watcher
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


class _Pass:
    """One forward pass: takes every call at the seam, and gives the sums of all layers to a bundle at its end."""

    def __init__(self, study: Survey, marks: Mapping[Stream, StreamMarks], batch: Sequence[Example]) -> None:
        self.study, self.marks = study, marks
        self.halves = np.array([half_of(example.unit, study.seed) for example in batch])
        self.units = np.array([example.unit for example in batch])
        self.taken: dict[Stream, list[dict[str, Sums]]] = {stream: [] for stream in marks}
        self.heads = heads_by_site(study.subject)
        self._chance: dict[Any, dict[str, Sums]] = {}
        self._masks: list[Tensor | None] = []

    def take(self, call: AttentionCall) -> None:
        """Reduce one call to sums per text and head."""
        marks = self.marks.get(call.site.stream)
        if marks is None:
            return
        study = self.study
        lengths = study.subject.lengths(call) if study.norms else None
        rows = study.statistics(call, marks.columns, lengths, marks.pairs, marks.queries.real)
        if call.fusable and call.query is not None:  # the model need not compute once more what we have
            call.mixed = rows.mixed.transpose(1, 2).to(call.query.dtype).contiguous()
        sums = reduce_rows(rows, lengths, marks, study.quantities)
        finite(sums["figures"][0][:, : self.heads[call.site]], call.site)
        if lengths is not None:
            sums |= relate(rows, lengths, marks)
        sums |= {f"{name}-chance": value for name, value in self._even(call, marks).items()}
        self.taken[call.site.stream].append(sums)

    def _even(self, call: AttentionCall, marks: StreamMarks) -> dict[str, Sums]:
        """The same figures for even attention, once for every mask that this pass has."""
        key = (id(call.mask), call.causal, call.shape[-2:]) if call.given is None else None
        if key is None or key not in self._chance:
            even = uniform_call(call)
            rows = self.study.statistics(even, marks.columns, None, marks.pairs, marks.queries.real)
            reduced = reduce_rows(rows, None, marks, self.study.quantities)
            chance = {name: (total[:, 0, 0], count[:, 0, 0]) for name, (total, count) in reduced.items()}
            if key is None:
                return chance
            self._chance[key] = chance
            self._masks.append(call.mask)  # holding the mask keeps its id from being used again
        return self._chance[key]

    def give(self, bundle: Bundle) -> None:
        """Stack the layers of every stream and update the bundle once."""
        names = {"figures-chance": "chance"}
        for stream, layers in self.taken.items():
            for name in layers[0] if layers else ():
                of_heads = None if name.endswith("-chance") else self.study.subject.grid(stream)
                sums, counts = stacked([layer[name] for layer in layers], of_heads)
                if name != "figures":
                    bundle[f"{stream}-{names.get(name, name)}"].update(sums, counts, self.units)
                    continue
                for half in HALVES:  # by unit, so that a best head can be chosen on one and scored on the other
                    kept = self.halves == half
                    bundle[f"{stream}-figures-{half}"].update(sums[kept], counts[kept], self.units[kept])
