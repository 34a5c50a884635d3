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

from collections.abc import Callable, Mapping, Sequence
from contextlib import nullcontext
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from attlas.capture import Fold, Subject
from attlas.capture.mixing import STEPS, Mixing, mixing
from attlas.ids import Site, Stream
from attlas.measures.names import MEASURES
from attlas.measures.quantities import CLASSES, QUANTITIES, RANKS
from attlas.measures.ranks import spearman_of_equals
from attlas.measures.rows import RowStatistics, statistics
from attlas.models import AttentionCall, Batch, Example, Landing
from attlas.stats import Bundle, Drawn, PooledMean
from attlas.studies.norms.marks import CELLS, DrawnPairs, WordMarks, pairs_by_class, words_of
from attlas.studies.shared.piece_classes import Frequencies, texts_of
from attlas.studies.shared.reducing import (
    Reduced,
    StreamMarks,
    banded,
    by_band,
    coarse,
    correlate_drawn,
    drawn_of,
    figures,
    mark_stream,
    on_grid,
    reduce_rows,
    require_finite,
    side_by_side,
    together,
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

    @property
    def overlaps(self) -> bool:
        """Whether the model's device works by itself."""
        return self.subject.device.type == "cuda"

    def prepare(self, batch: Sequence[Example]) -> tuple[Batch, _Pass] | None:
        """Pad a batch, and find out what is known of it before the model runs."""
        if not batch:
            return None
        made = self.subject.pieces.batch(batch, self.subject.device)
        return made, self.begin(made, batch)

    def launch(self, ready: tuple[Batch, _Pass] | None) -> Callable[[Bundle], None]:
        """Run the model on a batch that is ready, and hand back what takes its sums into a bundle."""
        if ready is None:
            return lambda bundle: None
        made, pass_ = ready
        subject = self.subject
        listening: AbstractContextManager[None] = mixing(subject, pass_.mix) if self.mixing else nullcontext()
        with torch.no_grad(), subject.use(Fold(pass_.take)), listening:
            subject.read(made)
            pass_.land()
        return pass_.give

    def update(self, bundle: Bundle, batch: Sequence[Example]) -> None:
        """Run a batch through the model and take its sums into the bundle."""
        self.launch(self.prepare(batch))(bundle)

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
            queries, keys, marks.keys.kinds, passages, causal=stream is Stream.DECODER, seed=self.seed
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
        self.taken: dict[Stream, list[_Layer]] = {stream: [] for stream in scenes}
        self.mixed: dict[Stream, list[tuple[Tensor, Tensor]]] = {stream: [] for stream in scenes}
        self.sites: list[Site] = []
        self._own: dict[Site, Tensor] = {}
        self._seen: dict[tuple[Any, ...], Tensor] = {}
        self._masks: list[Tensor | None] = []
        self._landing = Landing({})

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
        self.sites.append(call.site)
        alpha = rows.pairs[..., : scene.drawn.pairs.shape[1]]
        at = scene.drawn.pairs[..., 1][:, None].expand_as(alpha)
        self.taken[call.site.stream].append(
            _Layer(
                reduce_rows(rows, lengths, marks),
                _means(rows, lengths, marks),
                _joint(subject.joint(call), marks),
                self._visible(call, marks),
                drawn_of(rows, lengths, marks),
                by_band(lengths, marks),
                torch.einsum("bhk,bkw->bhw", lengths, scene.words.group),
                torch.stack([alpha, lengths.gather(2, at)], -1),
            )
        )
        if self.study.mixing and call.site.stream is not Stream.CROSS:
            self._own[call.site] = rows.near[..., 1]

    def _visible(self, call: AttentionCall, marks: StreamMarks) -> Tensor:
        """How many keys of each class every query may see, (batch, query, class), once for every mask."""
        key = (call.site.stream, id(call.mask), call.causal, call.shape[-2:]) if call.given is None else (call.site,)
        if key not in self._seen:
            classes, visible = marks.keys.classes, call.visible()
            if visible is None:
                self._seen[key] = classes.sum(1, keepdim=True).expand(-1, call.shape[2], -1)
            else:
                self._seen[key] = torch.matmul(visible.any(1).float().expand(len(classes), -1, -1), classes)
            self._masks.append(call.mask)  # holding the mask keeps its id from being used again
        return self._seen[key]

    def land(self) -> None:
        """Make sums of what all layers have left, and have them brought over."""
        landing: dict[str, Tensor] = {}
        for stream, layers in self.taken.items():
            if layers:
                scene, heads = self.scenes[stream], self.study.subject.grid(stream).sum(1).tolist()
                sums = _sums(layers, scene, heads)
                if self.mixed[stream]:
                    sums["layer-mixing"] = _of_layers(self.mixed[stream])
                landing |= {f"{stream} {name} {part}": both[part] for name, both in sums.items() for part in (0, 1)}
                landing[f"{stream} pairs 0"] = together([layer.pairs for layer in layers], heads)
        self._landing = Landing(landing)

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
        """Update the bundle once, with all layers of every stream."""
        arrays = self._landing.arrays()
        self._require_finite(arrays)
        for stream, scene in self.scenes.items():
            grid = self.study.subject.grid(stream)
            for name in [key.split()[1] for key in arrays if key.startswith(f"{stream} ") and key.endswith(" 1")]:
                sums, counts = (arrays[f"{stream} {name} {part}"] for part in (0, 1))
                counts = np.broadcast_to(counts, sums.shape) if counts.shape[1] == 1 else counts
                if not name.startswith("layer-"):
                    sums, counts = on_grid(sums, grid), on_grid(counts, grid)
                elif name != "layer-mixing":  # a layer that has lost its heads brings nothing
                    counts = counts * grid.any(1).reshape(-1, *[1] * (counts.ndim - 2))
                sums = np.where(counts > 0, sums, 0.0)
                bundle[f"{stream}-{name}"].update(sums, counts, self.units)
                if not name.startswith("layer-"):
                    bundle[f"{stream}-layer-{name}"].update(sums.sum(2), counts.sum(2), self.units)
            if self.taken[stream]:
                pairs = on_grid(arrays[f"{stream} pairs 0"], grid)
                values = pairs.transpose(0, 3, 1, 2, 4).astype(np.float32)
                drawn, real = scene.drawn, scene.drawn.real
                kept = drawn.cells[real], drawn.draws[real], drawn.places[real], values[real]
                bundle[f"{stream}-pairs"].update(*kept)

    def _require_finite(self, arrays: Mapping[str, NDArray[np.float64]]) -> None:
        """Refuse a batch in which any head has no numbers, and name the first site where that is so."""
        sums = {
            stream: on_grid(arrays[f"{stream} shares 0"], self.study.subject.grid(stream))
            for stream, layers in self.taken.items() if layers
        }  # fmt: skip
        require_finite(sums, self.sites)


class _Layer(NamedTuple):
    """What is kept of one layer until the model is through: sums over its rows; sums of weights, of lengths and of
    norms by class of key; shares of joint norms, and their sums; how many keys of each class may be seen; weights
    and lengths at drawn pairs; lengths by frequency band, and of words; weights and lengths at the pairs of each
    class."""

    reduced: Reduced
    means: Tensor
    joint: Tensor
    seen: Tensor
    drawn: Tensor
    bands: Tensor
    words: Tensor
    pairs: Tensor


def _sums(layers: Sequence[_Layer], scene: _Scene, heads: Sequence[int]) -> Sums:
    """The sums of all layers and how many cases each is of: of heads side by side, of layers (batch, layer, ...)."""
    marks, words = scene.marks, scene.words
    classes, real = marks.keys.classes, marks.queries.real.float()
    sums: Sums = {
        "shares": figures(side_by_side([layer.reduced for layer in layers], heads), marks, _SHARES)["figures"]
    }
    seen = torch.stack([layer.seen for layer in layers], 1)  # (batch, layer, query, class)
    pairs = torch.einsum("blqc,bq->blc", seen, real)
    keys = classes.sum(1)[:, None].expand_as(pairs)
    counts = torch.stack([pairs, keys, pairs], 2)
    owner = torch.repeat_interleave(torch.arange(len(layers)), torch.tensor(heads)).to(counts.device)
    sums["means"] = together([layer.means for layer in layers], heads), counts[:, owner]
    even = torch.einsum("blqc,bq->blc", seen / seen.sum(-1, keepdim=True).clamp(min=1), real)
    cases = (real.sum(1, keepdim=True) * classes.amax(1))[:, None].expand_as(even)
    sums["layer-chance"] = even, cases
    sums["layer-joint"] = torch.stack([layer.joint for layer in layers], 1), torch.stack([cases, pairs], 2)
    drawn = together([layer.drawn for layer in layers], heads)
    other = classes[..., CLASSES.index("other")].gather(1, marks.drawn[..., 1]) > 0
    within = [correlate_drawn(drawn, kept) for kept in (marks.drawn_real, marks.drawn_real & other)]
    sums["spearman"] = torch.stack([rho for rho, _ in within], -1), torch.stack([n for _, n in within], -1)
    mean = coarse(together([layer.words for layer in layers], heads))
    rank = words.rank[:, None].expand_as(mean)
    rhos = torch.stack(
        [spearman_of_equals(mean, rank, known[:, None].expand_as(mean)) for known in (words.real, words.plain)], -1
    )
    sums["words"] = rhos.nan_to_num(0.0), rhos.isfinite().double()
    bands = torch.stack([layer.bands.sum(1) for layer in layers], 1)
    many = torch.tensor([layer.bands.shape[1] for layer in layers], device=bands.device)
    sums["layer-bands"] = bands, banded(marks) * many[:, None]
    return sums


def _of_layers(layers: Sequence[tuple[Tensor, Tensor]]) -> tuple[Tensor, Tensor]:
    """Sums and counts of all layers, (batch, layer, ...)."""
    sums, counts = zip(*layers, strict=True)
    return torch.stack(sums, 1), torch.stack(counts, 1)


def _means(rows: RowStatistics, lengths: Tensor, marks: StreamMarks) -> Tensor:
    """Sums over pairs of alpha and of ||alpha f(x)||, and over keys of ||f(x)||, by class of key: (batch, head, mean,
    class)."""
    classes, real = marks.keys.classes, marks.queries.real.float()
    weight, norm = (
        torch.einsum("bhqc,bq->bhc", _every_class(columns, whole, marks), real)
        for columns, whole in ((rows.weight, rows.total), (rows.norm, rows.length))
    )
    return torch.stack([weight, torch.einsum("bhk,bkc->bhc", lengths, classes), norm], 2)


def _every_class(columns: Tensor, whole: Tensor, marks: StreamMarks) -> Tensor:
    """Row sums for all classes, in their order, from those that the batch has; what is left is other's."""
    nothing = torch.zeros_like(whole)
    known = {name: columns[..., place] for place, name in enumerate(marks.classes)}
    other = (whole - torch.stack([nothing, *known.values()]).sum(0)).clamp(min=0)
    return torch.stack([known.get(name, nothing) for name in CLASSES[:-1]] + [other], -1)


def _joint(joint: Tensor, marks: StreamMarks) -> Tensor:
    """The share of each class of key in the joint norms of a row, and their sum over pairs: (batch, 2, class)."""
    real = marks.queries.real.float()
    by_class = torch.matmul(joint, marks.keys.classes)
    share = by_class / joint.sum(-1, keepdim=True).clamp(min=1e-30)
    return torch.stack([torch.einsum("bqc,bq->bc", part, real) for part in (share, by_class)], 1)
