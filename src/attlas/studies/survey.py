"""The survey: where every head's attention goes, over a whole corpus, in weights and in norms.

Per head, the mean over queries of the weight on the previous, next and own piece, on the first piece, [CLS], [SEP],
periods and commas, and all else (Clark et al.); [SEP] to [SEP]; the entropy of rows; the mean distance; where the
corpus is annotated, the share on every part of speech and on dependency edges (Vig & Belinkov). Each figure stands
beside its *chance* level, what a head that attends evenly to all it may see would have, and beside the same figure
for norms ||alpha f(x)||, every row divided by its sum (Kobayashi et al.). Also Spearman's correlation of alpha with
||f(x)||, and ||f(x)|| by frequency of the word.

It is one pass over the corpus, with all sums taken at the seam; on ordinary architectures the matrix of weights is
never built.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import product
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from attlas.capture import Subject
from attlas.capture.instruments import finite
from attlas.ids import Stream
from attlas.measures.names import MEASURES
from attlas.measures.rows import matrix_statistics, statistics, uniform_call
from attlas.models import AttentionCall, Batch, Example
from attlas.stats import Bundle, Estimate, PooledMean
from attlas.store.columns import as_cell
from attlas.studies.portraits import portrait
from attlas.studies.shared.piece_classes import RANKS, half_of
from attlas.studies.shared.quantities import QUANTITIES, View, reduce_rows, relate, view_of
from attlas.studies.shared.watching import watch

DIRECTIONS = ("to", "from")
HALVES = (1, 2)


class Survey:
    """The study. ``tags`` and ``ranks`` come from the corpus (:mod:`attlas.studies.shared.piece_classes`), ``target_ranks`` from the
    translations in it; ``edges`` says whether it has dependencies.

    With ``matrix`` every figure is computed from the weights themselves, which is slow and serves to check the fast
    way.

    >>> from attlas.capture import load
    >>> study = Survey(load())
    >>> bundle = study.empty()
    >>> study.update(bundle, study.subject.pieces.encode_all([]))
    >>> list(study.tables(bundle))
    ['heads', 'spearman', 'frequency', 'portraits']
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
    ) -> None:
        self.subject = subject
        self.tags = tuple(tags)
        self.ranks, self.target_ranks = ranks or {}, target_ranks or {}
        self.edges = edges
        self.streams = tuple(streams or subject.streams)
        self.seed = seed
        self.norms = subject.has_norms
        self._statistics = matrix_statistics if matrix else statistics

    def empty(self) -> Bundle:
        """A bundle that has seen nothing: per stream the figures, their chance, parts of speech, Spearman and
        frequency.

        >>> from attlas.capture import load
        >>> sorted(Survey(load()).empty())
        ['encoder-chance', 'encoder-figures-1', 'encoder-figures-2', 'encoder-frequency', 'encoder-spearman']
        """
        parts: dict[str, Any] = {}
        for stream in self.streams:
            layers, heads = self.subject.shape(stream)
            for half in HALVES:
                parts[f"{stream}-figures-{half}"] = PooledMean((layers, heads, len(MEASURES), len(QUANTITIES)))
            parts[f"{stream}-chance"] = PooledMean((layers, len(QUANTITIES)))
            if self.tags:
                parts[f"{stream}-pos"] = PooledMean((layers, heads, len(MEASURES), len(DIRECTIONS), len(self.tags)))
                parts[f"{stream}-pos-chance"] = PooledMean((layers, len(DIRECTIONS), len(self.tags)))
            if self.norms:
                parts[f"{stream}-spearman"] = PooledMean((layers, heads))
                parts[f"{stream}-frequency"] = PooledMean((layers, heads, len(RANKS)))
        return Bundle(parts)

    def update(self, bundle: Bundle, batch: Sequence[Example]) -> None:
        """Run a batch through the model and take its sums into the bundle.

        >>> from attlas.capture import load
        >>> from attlas.text import Document, Passage
        >>> study = Survey(load())
        >>> bundle = study.empty()
        >>> study.update(bundle, study.subject.pieces.encode_all([Passage(Document.from_text("It rained."))]))
        >>> int(bundle["encoder-spearman"].result().n[0, 0])
        1
        """
        watch(batch, (self, bundle))

    def begin(self, made: Batch, batch: Sequence[Example]) -> _Pass:
        """Open a pass: what this study takes from one forward pass over a batch.

        >>> from attlas.capture import load
        >>> from attlas.text import Document, Passage
        >>> study = Survey(load())
        >>> examples = study.subject.pieces.encode_all([Passage(Document.from_text("It rained."))])
        >>> study.begin(study.subject.pieces.batch(examples), examples).taken
        {<Stream.ENCODER: 'encoder'>: []}
        """
        found = {
            stream: view_of(
                made, batch, stream, translating=self.subject.pieces.translating, ranks=self.ranks,
                target_ranks=self.target_ranks, tags=self.tags, edges=self.edges, seed=self.seed,
            )
            for stream in self.streams
        }  # fmt: skip
        views = {stream: view for stream, view in found.items() if view is not None}
        return _Pass(self, views, [half_of(example.passage, self.seed) for example in batch])

    def tables(self, bundle: Bundle) -> dict[str, dict[str, list[Any]]]:
        """The answer as tidy rows: heads, parts of speech, Spearman, frequency, and a sentence per head.

        >>> from attlas.capture import load
        >>> study = Survey(load())
        >>> sorted(study.tables(study.empty())["heads"])[:4]
        ['chance', 'first_half', 'head', 'high']
        """
        heads = _Rows(
            "stream", "layer", "head", "measure", "quantity", "value", "chance", "n", "low", "high",
            "first_half", "second_half",
        )  # fmt: skip
        pos = _Rows("stream", "layer", "head", "measure", "direction", "pos", "value", "chance", "n", "low", "high")
        rho = _Rows("stream", "layer", "head", "value", "n", "low", "high")
        frequency = _Rows("stream", "layer", "head", "rank_from", "rank_to", "value", "n", "low", "high")
        portraits = _Rows("stream", "layer", "head", "sentence")
        measures = MEASURES if self.norms else MEASURES[:1]
        for stream in self.streams:
            layers, count = self.subject.shape(stream)
            chance = bundle[f"{stream}-chance"].result().value
            halves = [PooledMean.from_state(bundle[f"{stream}-figures-{half}"].state()) for half in HALVES]
            first, second = (half.result().value for half in halves)
            halves[0].merge(halves[1])
            figures = halves[0].result()
            for layer, head in np.ndindex(layers, count):
                place = (stream.value, layer, head)
                for (m, measure), (q, quantity) in product(enumerate(measures), enumerate(QUANTITIES)):
                    cell = (layer, head, m, q)
                    if row := _estimate(figures, cell, chance[layer, q]):
                        heads.add(*place, measure, quantity, *row, as_cell(first[cell]), as_cell(second[cell]))
                if known := _known(figures, chance, layer, head):
                    portraits.add(*place, portrait(known))
            if self.tags:
                by_tag, even = bundle[f"{stream}-pos"].result(), bundle[f"{stream}-pos-chance"].result().value
                kinds = list(product(enumerate(measures), enumerate(DIRECTIONS), enumerate(self.tags)))
                for layer, head in np.ndindex(layers, count):
                    for (m, measure), (d, direction), (t, tag) in kinds:
                        if row := _estimate(by_tag, (layer, head, m, d, t), even[layer, d, t]):
                            pos.add(stream.value, layer, head, measure, direction, tag, *row)
            if self.norms:
                correlation, lengths = bundle[f"{stream}-spearman"].result(), bundle[f"{stream}-frequency"].result()
                for layer, head in np.ndindex(layers, count):
                    if row := _estimate(correlation, (layer, head)):
                        rho.add(stream.value, layer, head, *row)
                    for band, (highest, lowest) in enumerate(RANKS):
                        if row := _estimate(lengths, (layer, head, band)):
                            frequency.add(stream.value, layer, head, highest, lowest, *row)
        tables = {"heads": heads, "pos": pos, "spearman": rho, "frequency": frequency, "portraits": portraits}
        return {name: rows.columns for name, rows in tables.items() if name != "pos" or self.tags}


class _Pass:
    """One forward pass: takes every call at the seam, and gives the sums of all layers to a bundle at its end."""

    def __init__(self, study: Survey, views: Mapping[Stream, View], halves: Sequence[int]) -> None:
        self.study, self.views, self.halves = study, views, np.array(halves)
        self.taken: dict[Stream, list[dict[str, tuple[Tensor, Tensor]]]] = {stream: [] for stream in views}
        self._chance: dict[Any, dict[str, tuple[Tensor, Tensor]]] = {}
        self._masks: list[Tensor | None] = []

    def take(self, call: AttentionCall) -> None:
        """Reduce one call to sums per text and head."""
        view = self.views.get(call.site.stream)
        if view is None:
            return
        study = self.study
        lengths = None
        if study.norms:
            lengths = study.subject.lengths(call)
        rows = study._statistics(call, view.columns, lengths, view.pairs)
        if call.fusable and call.query is not None:  # the model need not compute once more what we have
            call.mixed = rows.mixed.transpose(1, 2).to(call.query.dtype).contiguous()
        found = reduce_rows(rows, lengths, view)
        finite(found["figures"][0], call.site)
        if lengths is not None:
            found |= relate(rows, lengths, view)
        found |= {f"{name}-chance": value for name, value in self._even(call, view).items()}
        self.taken[call.site.stream].append(found)

    def _even(self, call: AttentionCall, view: View) -> dict[str, tuple[Tensor, Tensor]]:
        """The same figures for even attention, once for every mask that this pass has."""
        key = (id(call.mask), call.causal, call.shape[-2:]) if call.given is None else None
        if key is None or key not in self._chance:
            even = uniform_call(call)
            rows = self.study._statistics(even, view.columns, None, view.pairs)
            made = {
                name: (total[:, 0, 0], count[:, 0, 0])
                for name, (total, count) in reduce_rows(rows, None, view).items()
            }
            if key is None:
                return made
            self._chance[key] = made
            self._masks.append(call.mask)  # holding the mask keeps its id from being used again
        return self._chance[key]

    def give(self, bundle: Bundle) -> None:
        """Stack the layers of every stream and update the bundle once."""
        names = {"figures-chance": "chance"}
        for stream, layers in self.taken.items():
            for name in layers[0] if layers else ():
                sums, counts = (
                    torch.stack([layer[name][part] for layer in layers], dim=1).double().cpu().numpy()
                    for part in (0, 1)
                )
                if name != "figures":
                    bundle[f"{stream}-{names.get(name, name)}"].update(sums, counts)
                    continue
                for half in HALVES:  # by passage, so that a best head can be chosen on one and scored on the other
                    kept = self.halves == half
                    bundle[f"{stream}-figures-{half}"].update(sums[kept], counts[kept])


class _Rows:
    """Columns that grow row by row."""

    def __init__(self, *names: str) -> None:
        self.columns: dict[str, list[Any]] = {name: [] for name in names}

    def add(self, *values: Any) -> None:
        """Add a row."""
        for column, value in zip(self.columns.values(), values, strict=True):
            column.append(value)


def _known(figures: Estimate, chance: NDArray[np.float64], layer: int, head: int) -> dict[str, tuple[float, float]]:
    """What is known of a head's weights, as (value, chance) by quantity."""
    return {
        quantity: (float(figures.value[layer, head, 0, q]), float(chance[layer, q]))
        for q, quantity in enumerate(QUANTITIES)
        if figures.n[layer, head, 0, q] > 0
    }


def _estimate(estimate: Estimate, cell: tuple[int, ...], chance: float | None = None) -> list[Any]:
    """Value, chance where there is one, n, low and high of a cell as a row wants them; nothing where n is 0."""
    if not estimate.n[cell] > 0:
        return []
    middle = [] if chance is None else [as_cell(chance)]
    last = (estimate.n[cell], estimate.low[cell], estimate.high[cell])
    return [as_cell(estimate.value[cell]), *middle, *map(as_cell, last)]
