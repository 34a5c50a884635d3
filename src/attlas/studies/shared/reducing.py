"""From rows to figures: sums per text and head of all that the survey asks.

Row statistics say what every query does; here they are summed over the queries that count for each quantity (those
that have a previous piece, those that are [SEP], those that belong to words ...), together with how many these are,
as the records of :mod:`attlas.measures.quantities` ask.

It goes in two steps, since a GPU has done with a layer of short texts before as many small operations have been
asked of it. All columns, of weights and of norms, are summed over all sets of queries by one product
(:func:`reduce_rows`): of one layer, or of the heads of several side by side (:func:`room_for_rows`). Which sum of
which column a quantity is, how many cases it has, and the rank correlations are seen to once, for the heads of all
layers together (:func:`figures`, :func:`correlate_drawn`).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields
from functools import cached_property
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor
from torch.nn.functional import pad

from attlas.capture.instruments import not_finite
from attlas.ids import Site, Stream
from attlas.measures.quantities import (
    CLASSES,
    COPIES,
    EDGES,
    NEIGHBOURS,
    OVER_TEXTS,
    QUANTITIES,
    QUERIES,
    SINK_BAR,
    SINK_PIECES,
    WEIGHT_ALONE,
    Quantity,
)
from attlas.measures.ranks import spearman
from attlas.measures.rows import RowStatistics
from attlas.models import AttentionCall, Batch, Example, Side, onto
from attlas.studies.shared.piece_classes import (
    Copies,
    Edges,
    Marks,
    draw_pairs,
    mark,
    mark_copies,
    mark_edges,
    texts_of,
)

if TYPE_CHECKING:
    from attlas.capture import Subject

Sums = tuple[Tensor, Tensor]


@dataclass(frozen=True)
class StreamMarks:
    """All that is known of one stream of one batch before the model runs: what its pieces are, and which pairs to
    look at."""

    stream: Stream
    classes: tuple[str, ...]
    tags: int
    queries: Marks
    keys: Marks
    columns: Tensor
    edges: Edges | None
    copies: Copies | None
    drawn: Tensor
    drawn_real: Tensor
    pairs: Tensor

    @cached_property
    def sets(self) -> Tensor:
        """Sets of queries, (batch, set, query): those of QUERIES in their order, and then each tag's."""
        real = self.queries.real.float()
        previous, following = torch.zeros_like(real), torch.zeros_like(real)
        previous[:, 1:] = real[:, 1:] * real[:, :-1]
        following[:, :-1] = real[:, :-1] * real[:, 1:]
        is_cls, is_sep = (self.queries.classes[..., CLASSES.index(name)] * real for name in ("cls", "sep"))
        sets = [real, previous, following, is_cls, is_sep, self.queries.words.float()]
        nobody = [torch.zeros_like(real)] * (len(QUERIES) - len(sets))  # their sums are over pairs, or whole texts
        return torch.cat([torch.stack([*sets, *nobody], 1), self.queries.tags.transpose(1, 2)], 1)

    @cached_property
    def readers(self) -> Tensor:
        """How much each query counts in what keys receive: those of the text do, (batch, query)."""
        return self.queries.real.float()

    @cached_property
    def from_start(self) -> Tensor:
        """How far every key is from the first of its text, and whether it is the first: (batch, key, 2)."""
        real, count = self.queries.real, self.queries.real.cumsum(1)
        return torch.stack([(count - 1).clamp(min=0) * real, real & (count == 1)], -1).float()

    @cached_property
    def directions(self) -> Tensor:
        """Which of the edges' pairs lead to a governor and which to a dependent, (batch, P, 2)."""
        assert self.edges is not None
        return torch.stack([self.edges.to_governor, self.edges.to_dependent], -1)

    @cached_property
    def columns_of(self) -> tuple[dict[str, int], dict[str, int]]:
        """Where which column stands, of weights and of norms: side by side those that are summed over queries, and
        behind them those that are made of such sums."""
        tagged = [f"tag {number}" for number in range(self.tags)]
        words = [] if self.edges is None else ["words"]
        both = (*NEIGHBOURS, *self.classes, *tagged, *words, "distance", "within", "whole", "log")
        summed = [("weight", name) for name in (*both, "top")]
        summed += [("norm", name) for name in (*both, "length log", "log of length")]
        summed += [(measure, name) for measure in ("weight", "norm") for name in ("other", "entropy")]
        places = {column: place for place, column in enumerate(summed)}
        weight, norm = (
            {name: place for (of, name), place in places.items() if of == measure} for measure in ("weight", "norm")
        )
        return weight, norm


def mark_stream(
    batch: Batch,
    examples: Sequence[Example],
    stream: Stream,
    *,
    translating: bool,
    ranks: Mapping[str, int],
    target_ranks: Mapping[str, int] | None = None,
    tags: Sequence[str] = (),
    edges: bool = False,
    seed: int = 0,
) -> StreamMarks | None:
    """What is known of a stream of a batch, ``translating`` where a text and its translation are two sequences; None
    where the batch does not have that stream. The words of translations have ranks of their own, if given.

    >>> from attlas.capture import load
    >>> subject = load()
    >>> batch = subject.batch(["It rained."])
    >>> mark_stream(batch, [], Stream.CROSS, translating=False, ranks={}) is None
    True
    """
    query_side, key_side = batch.queries(stream), batch.keys(stream)
    if query_side is None or key_side is None:
        return None

    def marked(side: Side) -> Marks:
        known = ranks if target_ranks is None or side is not batch.target else target_ranks
        return mark(side, texts_of(batch, side, examples, translating), tags, known)

    queries = marked(query_side)
    keys = marked(key_side) if stream is Stream.CROSS else queries
    on_edges = None
    if edges and stream is not Stream.CROSS:
        on_edges = mark_edges(query_side, texts_of(batch, query_side, examples, translating))
    passages = [example.passage for example in examples]
    drawn, real = draw_pairs(query_side, key_side, passages, causal=stream is Stream.DECODER, seed=seed)
    copies = None if stream is Stream.CROSS else mark_copies(query_side)
    known = [marked.pairs for marked in (on_edges, copies) if marked is not None]
    pairs = torch.cat([*known, drawn], dim=1)
    classes = tuple(name for name, is_present in zip(CLASSES[:-1], keys.present, strict=False) if is_present)
    columns = [keys.classes[..., [CLASSES.index(name) for name in classes]], keys.tags]
    if on_edges is not None:
        columns.append(keys.words[..., None].float())
    return StreamMarks(
        stream, classes, len(tags), queries, keys, torch.cat(columns, -1)[:, None], on_edges, copies, drawn, real,
        pairs,
    )  # fmt: skip


class Reduced(NamedTuple):
    """What is kept of one layer, or of the heads of several side by side: sums over sets of queries of all columns,
    (batch, head, set, column); what lies on edges, (batch, head, measure, way); what the one key gets that receives
    most, (batch, head); and what copies of a query's piece get, the first key of the first 64 queries, how far from
    the first key weight falls, and what that key gets, (batch, head, 6)."""

    sums: Tensor
    edges: Tensor | None
    received: Tensor
    copies: Tensor | None


def reduce_rows(rows: RowStatistics, lengths: Tensor | None, marks: StreamMarks) -> Reduced:
    """All that is asked of the rows of one layer, or several, summed over queries, in as few operations as will do;
    nothing here waits for a device.

    :class:`attlas.studies.survey.passes.Survey` calls it, and :func:`figures` makes figures of it.
    """
    length = rows.length.clamp(min=1e-30)[..., None]
    near = rows.near if lengths is None or lengths.shape[2] != rows.near.shape[2] else rows.near * _beside(lengths)
    scaled = torch.cat(
        [near, rows.norm, rows.norm_distance[..., None], rows.within[..., 1:], rows.length[..., None],
         rows.norm_log[..., None], rows.length_log[..., None]], -1
    ) * length.reciprocal()  # fmt: skip
    # A query that sees nothing has no largest score; NaN, of a family that tells no scores, stays.
    top = rows.top.nan_to_num(nan=torch.nan, posinf=torch.inf, neginf=0.0)
    columns = torch.cat(
        [rows.near, rows.weight, rows.weight_distance[..., None], rows.within[..., :1], rows.total[..., None],
         rows.weight_log[..., None], top[..., None], scaled, length.log()], -1
    )  # fmt: skip
    on_edges = None if marks.edges is None else _on_edges(rows, lengths, marks)
    sums = torch.matmul(marks.sets[:, None], columns)
    return Reduced(sums, on_edges, rows.received.amax(-1), _copied(rows, marks))


def _copied(rows: RowStatistics, marks: StreamMarks) -> Tensor | None:
    """What stands in :class:`Reduced` of copies and of the first key; the pairs of copies follow those of edges."""
    if marks.copies is None:
        return None
    first = 0 if marks.edges is None else marks.edges.pairs.shape[1]
    weights = rows.pairs[..., first : first + marks.copies.pairs.shape[1]]
    return torch.cat([torch.bmm(weights, marks.copies.kinds), torch.bmm(rows.received, marks.from_start)], -1)


def _beside(lengths: Tensor) -> Tensor:
    """||f(x)|| of the previous, own and next position, (batch, head, key, 3)."""
    return pad(lengths, (1, 1)).unfold(-1, 3, 1)


def _on_edges(rows: RowStatistics, lengths: Tensor | None, marks: StreamMarks) -> Tensor:
    """Sums of attention to governors and to dependents, (batch, head, measure, way)."""
    assert marks.edges is not None
    batch, heads, _ = rows.pairs.shape
    weights = norms = rows.pairs[..., : marks.edges.pairs.shape[1]]
    if lengths is not None:
        i, j = (marks.edges.pairs[..., side][:, None].expand(weights.shape) for side in (0, 1))
        norms = weights * lengths.gather(2, j) / rows.length.gather(2, i)
    return torch.bmm(torch.cat([weights, norms], 1), marks.directions).view(batch, 2, heads, 2).transpose(1, 2)


def side_by_side(layers: Sequence[Reduced], heads: Sequence[int]) -> Reduced:
    """The heads of all layers, or groups of layers, side by side, of each so many."""

    def joined(parts: Sequence[Tensor | None]) -> Tensor | None:
        known = [part for part in parts if part is not None]
        return together(known, heads) if known else None

    sums, edges, received, copies = (joined(parts) for parts in zip(*layers, strict=True))
    assert sums is not None
    assert received is not None
    return Reduced(sums, edges, received, copies)


def rows_beside(layers: Sequence[RowStatistics], heads: Sequence[int]) -> RowStatistics:
    """The rows of the heads of several layers side by side, of each so many heads; without the heads' outputs.

    >>> layer = RowStatistics(*[torch.ones(1, 2, 3)] * 15)
    >>> rows_beside([layer, layer], [2, 1]).total.shape
    torch.Size([1, 3, 3])
    """
    first = layers[0]
    if len(layers) == 1 and heads[0] == first.total.shape[1]:
        return first
    names = [item.name for item in fields(RowStatistics) if item.name != "mixed"]
    joined = {name: together([getattr(layer, name) for layer in layers], heads) for name in names}
    return RowStatistics(**joined, mixed=first.mixed.new_empty(0))


LONG = 8192  # pieces from which on a layer keeps a GPU busy long enough
SHARE = 64  # of a GPU's memory, the part that rows may take while they wait


def room_for_rows(call: AttentionCall) -> int:
    """How many bytes of rows may wait to be reduced together with those of further layers: a GPU has done with a
    layer of short texts before it has been asked for the next, so that fewer and larger steps are the faster ones;
    elsewhere none.

    >>> q = torch.zeros(1, 1, 3, 4)
    >>> room_for_rows(AttentionCall("site", q, q, q, None, 0.5))
    0
    """
    device = call.value.device
    if device.type != "cuda" or call.shape[-1] > LONG:
        return 0
    return int(torch.cuda.get_device_properties(device).total_memory) // SHARE


def together(layers: Sequence[Tensor], heads: Sequence[int]) -> Tensor:
    """What the heads of all layers have, (batch, head, ...), of each layer so many heads.

    >>> together([torch.ones(1, 2), torch.zeros(1, 2)], [2, 1]).tolist()
    [[1.0, 1.0, 0.0]]
    """
    return torch.cat([layer[:, :own] for layer, own in zip(layers, heads, strict=True)], 1)


def figures(reduced: Reduced, marks: StreamMarks, quantities: Sequence[Quantity] = QUANTITIES) -> dict[str, Sums]:
    """Sums and cases per text: figures (batch, head, measure, quantity), and pos (..., direction, tag) where tagged,
    whose cases are of one number for all tags."""
    summed = _with_derived(reduced.sums, marks)
    batch, heads, sets, wide = summed.shape
    alone = _alone(reduced, marks)
    flat = torch.cat([summed.flatten(2), torch.stack(list(alone.values()), -1)], -1)
    extra = {name: sets * wide + place for place, name in enumerate(alone)}
    places = [
        _place(quantity, norm, marks, extra, wide) for norm in (False, True) for quantity in quantities
    ]  # fmt: skip
    sums = flat.index_select(-1, onto(np.array(places), flat.device)).view(batch, heads, 2, len(quantities))
    counts = _cases(marks, quantities)[:, None].repeat(1, heads, 1, 1)
    counted = counts > 0
    for place, quantity in enumerate(quantities):
        if quantity.keys == "top":  # NaN where scores are kept private: there is no such figure
            told = ~sums[..., 0, place].isnan()
            counts[..., 0, place] *= told
            sums[..., 0, place] = sums[..., 0, place].nan_to_num(nan=0.0, posinf=torch.inf, neginf=-torch.inf)
        elif quantity.keys == "edges" and marks.edges is not None:
            has = marks.edges.governed.any(1)[:, None].float()  # a text without any edge says nothing
            for norm, columns in enumerate(marks.columns_of):
                counts[..., norm, place] = summed[..., _WORDS, columns["words"]] * has
                counted[..., norm, place] = True
    made = {"figures": (torch.where(counted, sums, 0.0), counts)}
    if marks.tags:
        tagged = [slice(at["tag 0"], at["tag 0"] + marks.tags) for at in marks.columns_of]
        to = torch.stack([summed[:, :, _WORDS, columns] for columns in tagged], 2)
        away = torch.stack([summed[:, :, len(QUERIES) :, columns].sum(-1) for columns in tagged], 2)
        made["pos"] = torch.stack([to, away], 3), to.sum(-1)[..., None, None]
    return made


def _with_derived(sums: Tensor, marks: StreamMarks) -> Tensor:
    """Sums over queries with those behind them that are made of others: what goes to keys of no class of their own,
    and entropies."""
    weight, norm = marks.columns_of
    first = weight[NEIGHBOURS[0]] + len(NEIGHBOURS), norm[NEIGHBOURS[0]] + len(NEIGHBOURS)
    others = [
        sums[..., at["whole"]] - sums[..., start : start + len(marks.classes)].sum(-1)
        for at, start in zip((weight, norm), first, strict=True)
    ]
    entropy = -sums[..., weight["log"]]
    norm_entropy = sums[..., norm["log of length"]] - sums[..., norm["log"]] - sums[..., norm["length log"]]
    return torch.cat([sums, torch.stack([others[0], entropy, others[1], norm_entropy], -1)], -1)


_WORDS = QUERIES.index("words")


def _alone(reduced: Reduced, marks: StreamMarks) -> dict[str, Tensor]:
    """What is no column of a row, by what it is called, each (batch, head): nothing, what the one key gets that
    receives most, what copies of a query's piece get, where texts rest, and what lies on edges, of weights and of
    norms. A text rests where its first key gets more than Gu et al.'s bar of an average query: of the first 64 where
    it is read one way, of all where it is read both ways."""
    nothing = torch.zeros_like(reduced.received)
    known = {"nothing": nothing, "received": reduced.received} | dict.fromkeys((*COPIES, *OVER_TEXTS), nothing)
    if reduced.copies is not None:
        earlier, after, pair, begin, away, first = reduced.copies.unbind(-1)
        queries = marks.queries.real.sum(1, keepdim=True)
        share = begin / SINK_PIECES if marks.stream is Stream.DECODER else first / queries
        found = (earlier, after, pair, (share > SINK_BAR).float(), away)
        known |= dict(zip((*COPIES, *OVER_TEXTS), found, strict=True))
    for norm in (0, 1):
        up, down = (nothing, nothing) if reduced.edges is None else reduced.edges[..., norm, :].unbind(-1)
        known |= {f"{name} {norm}": total for name, total in zip(EDGES, (up, down, up + down), strict=True)}
    return known


def _place(quantity: Quantity, norm: bool, marks: StreamMarks, extra: Mapping[str, int], wide: int) -> int:
    """Where a quantity's sum stands among the sums of all sets of queries and columns, and what is beside them."""
    columns = marks.columns_of[norm]
    if quantity.keys in EDGES:
        return extra[f"{quantity.keys} {int(norm)}"]
    if norm and quantity.keys in WEIGHT_ALONE:
        return extra["nothing"]
    if quantity.keys in extra:
        return extra[quantity.keys]
    if quantity.keys not in columns:  # a class that no text of the batch has
        return extra["nothing"]
    return QUERIES.index(quantity.queries) * wide + columns[quantity.keys]


def _cases(marks: StreamMarks, quantities: Sequence[Quantity]) -> Tensor:
    """How many queries each quantity is a sum over, (batch, measure, quantity); none where the stream, or the text,
    has no such thing."""
    cases, classes = marks.sets[:, : len(QUERIES)].sum(-1), marks.keys.classes.amax(1)
    nothing = torch.zeros_like(cases[:, 0])
    both = []
    for norm in (False, True):
        counts = []
        for quantity in quantities:
            count = cases[:, QUERIES.index(quantity.queries)]
            if quantity.keys in EDGES:  # those on all edges are of words, and counted with the sums
                ends = {} if marks.edges is None else _ends(marks.edges)
                count = ends.get(quantity.keys, nothing)
            elif norm and quantity.keys in WEIGHT_ALONE:
                count = nothing
            elif quantity.keys == "received":
                count = cases[:, QUERIES.index("all")]
            elif marks.stream not in quantity.streams:
                count = nothing
            elif quantity.keys in (*COPIES, *OVER_TEXTS):
                count = _copied_cases(marks, quantity.keys)
            elif quantity.keys in CLASSES:  # a class that a text does not have says nothing of its heads
                count = count * classes[:, CLASSES.index(quantity.keys)]
            counts.append(count)
        both.append(torch.stack(counts, -1))
    return torch.stack(both, 1)


def _copied_cases(marks: StreamMarks, keys: str) -> Tensor:
    """How many queries of each text have copies before them, or followed ones; or how many queries it has; or whether
    it is long enough to say whether it rests."""
    assert marks.copies is not None
    if keys in COPIES:
        return marks.copies.cases[:, COPIES.index(keys)]
    if keys == "away":
        return marks.queries.real.sum(1).float()
    long = marks.copies.kinds[..., -1].any(1)
    return (long if marks.stream is Stream.DECODER else torch.ones_like(long)).float()


def _ends(edges: Edges) -> dict[str, Tensor]:
    """How many pieces of each text have a governor, and how many a dependent."""
    return {"governor": edges.governed.sum(1).float(), "dependents": edges.governing.sum(1).float()}


def on_grid(heads: NDArray[np.float64], grid: NDArray[np.bool_]) -> NDArray[np.float64]:
    """What the heads of all layers have, (text, layer, head, ...), of heads that stand side by side, (text, head,
    ...); zero where there is no head, which ``grid`` says (:meth:`attlas.capture.Subject.grid`).

    >>> on_grid(np.ones((1, 3)), np.array([[True, True], [True, False]])).tolist()
    [[[1.0, 1.0], [1.0, 0.0]]]
    """
    if grid.all():
        return heads.reshape(len(heads), *grid.shape, *heads.shape[2:])
    whole = np.zeros((len(heads), *grid.shape, *heads.shape[2:]))
    whole[:, grid] = heads
    return whole


def stacked(
    layers: Sequence[Sums], grid: NDArray[np.bool_] | None = None
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Sums and counts of all layers, (text, layer, ...). With a ``grid`` they are those of heads, as
    :func:`stacked_heads` has them."""
    if grid is not None:
        sums, counts = (stacked_heads([layer[part] for layer in layers], grid) for part in (0, 1))
    else:
        sums, counts = (torch.stack([layer[part] for layer in layers], 1).double().cpu().numpy() for part in (0, 1))
    return sums, counts


def heads_by_site(subject: Subject) -> dict[Site, int]:
    """How many heads each site has; none where all were pruned, though the model still has the shape of one.

    >>> from attlas.capture import load
    >>> heads_by_site(load())[Site(Stream.ENCODER, 0)]
    12
    """
    grids = {stream: subject.grid(stream) for stream in subject.streams}
    return {site: int(grids[site.stream][site.layer].sum()) for site in subject.sites}


def stacked_heads(layers: Sequence[Tensor], grid: NDArray[np.bool_]) -> NDArray[np.float64]:
    """What the heads of all layers have, (text, layer, head, ...), from (text, head, ...) of each, brought over from
    their device at once.

    >>> stacked_heads([torch.ones(1, 2), torch.ones(1, 1)], np.array([[True, True], [True, False]])).tolist()
    [[[1.0, 1.0], [1.0, 0.0]]]
    """
    whole: NDArray[np.float64] = together(layers, grid.sum(1).tolist()).double().cpu().numpy()
    return on_grid(whole, grid)


def require_finite(sums: Mapping[Stream, NDArray[np.float64]], sites: Sequence[Site]) -> None:
    """Refuse a batch in which any head has no numbers, and name the first site where that is so: ``sums`` are (text,
    layer, head, ...), and ``sites`` those that were seen, in their order.

    >>> require_finite({Stream.DECODER: np.array([[[1.0]], [[np.inf]]])}, [Site(Stream.DECODER, 0)])
    Traceback (most recent call last):
        ...
    attlas.errors.NumberError: NaN or infinity in the attention of decoder layer 0; ...
    """
    wrong = {stream: ~np.isfinite(part.sum(axis=(0, *range(2, part.ndim)))) for stream, part in sums.items()}
    places = {stream: iter(range(len(layers))) for stream, layers in wrong.items()}
    for site in sites:
        if wrong[site.stream][next(places[site.stream])]:
            raise not_finite(site)


def by_band(lengths: Tensor, marks: StreamMarks) -> Tensor:
    """Sums of ||f(x)|| by frequency band, (batch, head, band); :func:`banded` says of how many keys."""
    return torch.matmul(lengths, marks.keys.bands)


def banded(marks: StreamMarks) -> Tensor:
    """How many keys there are of each frequency band, (batch, 1, band)."""
    return marks.keys.bands.sum(1)[:, None]


def drawn_of(rows: RowStatistics, lengths: Tensor, marks: StreamMarks) -> Tensor:
    """Weight and ||f(x)|| of the drawn pairs, (batch, head, P, 2)."""
    weights = rows.pairs[..., rows.pairs.shape[-1] - marks.drawn.shape[1] :]
    j = marks.drawn[..., 1][:, None].expand(weights.shape)
    return torch.stack([weights, lengths.gather(2, j)], -1)


def correlate_drawn(drawn: Tensor, kept: Tensor) -> Sums:
    """Spearman of alpha with ||f(x)|| in every text and head, over those of the drawn pairs that are kept (batch, P);
    and whether there are enough of them."""
    real = kept[:, None].expand(drawn.shape[:3])
    rho = spearman(coarse(drawn[..., 0]), coarse(drawn[..., 1]), real)
    return rho, (real.sum(-1) > 1).to(rho.dtype)


def coarse(values: Tensor) -> Tensor:
    """Values to a ten-thousandth of themselves, in logs: what differs by less counts as equal.

    >>> coarse(torch.tensor([1.0, 1.00001, 1.01])).tolist()
    [0.0, 0.0, 100.0]
    """
    return (values.clamp(min=1e-30).log() * 1e4).round()
