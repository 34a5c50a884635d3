"""From rows to figures: sums per text and head of all that the survey asks.

Row statistics say what every query does; here they are summed over the queries that count for each quantity (those
that have a previous piece, those that are [SEP], those that belong to words ...), together with how many these are,
as the records of :mod:`attlas.measures.quantities` ask. Weights and norms go through the same lines.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from attlas.ids import Site, Stream
from attlas.measures.quantities import (
    CLASSES,
    EDGES,
    NEIGHBOURS,
    QUANTITIES,
    QUERIES,
    ROWS,
    SINK_BAR,
    SINK_PIECES,
    WEIGHT_ALONE,
    Quantity,
)
from attlas.measures.ranks import spearman
from attlas.measures.rows import RowStatistics
from attlas.models import Batch, Example, Side
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
    pairs = torch.cat([*([on_edges.pairs] if on_edges else []), *([copies.pairs] if copies else []), drawn], dim=1)
    present = keys.classes.flatten(0, 1).amax(0)
    classes = tuple(name for name, is_present in zip(CLASSES[:-1], present, strict=False) if is_present)
    columns = [keys.classes[..., [CLASSES.index(name) for name in classes]], keys.tags]
    if on_edges is not None:
        columns.append(keys.words[..., None].float())
    return StreamMarks(
        stream,
        classes,
        len(tags),
        queries,
        keys,
        torch.cat(columns, -1)[:, None],
        on_edges,
        copies,
        drawn,
        real,
        pairs,
    )


def reduce_rows(
    rows: RowStatistics, lengths: Tensor | None, marks: StreamMarks, quantities: Sequence[Quantity] = QUANTITIES
) -> dict[str, Sums]:
    """Sums and cases per text: figures (batch, head, measure, quantity), and pos (..., direction, tag) where tagged.

    :class:`attlas.studies.survey.passes.Survey` calls it for every layer.
    """
    figures, counts, pos, pos_counts = [], [], [], []
    masks = _query_masks(marks)
    cases = masks.sum(-1)[:, None]
    classes = len(marks.classes)
    for norm in (False, True):
        scale = 1 / rows.length.clamp(min=1e-30)[..., None] if norm else None
        columns = rows.weight if scale is None else rows.norm * scale
        near = rows.near if scale is None or lengths is None else _near(rows, lengths) * scale
        entropy = rows.norm_entropy if norm else rows.entropy
        distance = rows.weight_distance if scale is None else rows.norm_distance * scale[..., 0]
        whole = rows.total if scale is None else torch.ones_like(rows.total)
        within = rows.within[..., 0] if scale is None else rows.within[..., 1] * scale[..., 0]
        top = rows.top.nan_to_num(neginf=0.0)  # queries that see nothing, and families that tell no scores
        by_row = torch.stack([entropy, distance, within, top, whole], -1)
        per_query = torch.cat([near, columns, by_row], -1)
        sums = torch.matmul(masks[:, None], per_query)  # (batch, head, set of queries, column)
        on_edges = _edge_sums(rows, lengths, marks, sums, norm)
        known = on_edges | _alone(rows, marks, norm)
        picked = [known.get(quantity.keys) or _pick(quantity, sums, cases, marks) for quantity in quantities]
        figures.append(torch.stack([total for total, _ in picked], -1))
        counts.append(torch.stack([count for _, count in picked], -1))
        if marks.tags:
            to = sums[:, :, _WORDS, 3 + classes : 3 + classes + marks.tags]
            away = torch.matmul(
                marks.queries.tags.transpose(1, 2)[:, None], columns[..., classes : classes + marks.tags]
            )
            both = torch.stack([to, away.sum(-1)], 2)
            pos.append(both)
            pos_counts.append(to.sum(-1)[..., None, None].expand_as(both))
    reduced = {"figures": (torch.stack(figures, 2), torch.stack(counts, 2))}
    if pos:
        reduced["pos"] = (torch.stack(pos, 2), torch.stack(pos_counts, 2))
    return reduced


_WORDS = QUERIES.index("words")


def _query_masks(marks: StreamMarks) -> Tensor:
    """Sets of queries, (batch, set, query), in the order of QUERIES."""
    real = marks.queries.real.float()
    previous, following = torch.zeros_like(real), torch.zeros_like(real)
    previous[:, 1:] = real[:, 1:] * real[:, :-1]
    following[:, :-1] = real[:, :-1] * real[:, 1:]
    is_cls, is_sep = (marks.queries.classes[..., CLASSES.index(name)] * real for name in ("cls", "sep"))
    nobody = torch.zeros_like(real)  # sets whose sums are taken over pairs, or over whole texts
    sets = [real, previous, following, is_cls, is_sep, marks.queries.words.float()]
    return torch.stack([*sets, *[nobody] * (len(QUERIES) - len(sets))], 1)


def _pick(quantity: Quantity, sums: Tensor, cases: Tensor, marks: StreamMarks) -> Sums:
    """A quantity's sum and cases, of sums by set of queries and column; none where the stream has no such thing."""
    queries = QUERIES.index(quantity.queries)
    of_queries = sums[:, :, queries]
    counted = torch.full_like(of_queries[..., 0], float(marks.stream in quantity.streams))
    shares = {name: of_queries[..., 3 + place] for place, name in enumerate(marks.classes)}
    nothing = torch.zeros_like(counted)
    if quantity.keys in CLASSES:  # a class that a text does not have says nothing of its heads
        counted = marks.keys.classes.amax(1)[:, CLASSES.index(quantity.keys), None] * counted
    if quantity.keys == "other":
        total = of_queries[..., -1] - torch.stack([nothing, *shares.values()]).sum(0)
    elif quantity.keys in CLASSES:
        total = shares.get(quantity.keys, nothing)
    elif quantity.keys in NEIGHBOURS:
        total = of_queries[..., NEIGHBOURS.index(quantity.keys)]
    else:
        total = of_queries[..., ROWS.index(quantity.keys) - len(ROWS) - 1]
    return total * counted, cases[..., queries] * counted


def _alone(rows: RowStatistics, marks: StreamMarks, norm: bool) -> dict[str, Sums]:
    """What has no norm: what the one key gets that receives most, over all queries; what copies of a query's piece
    get; where texts rest; and no largest score where a family tells none."""
    most = rows.received.amax(-1)
    cases = marks.queries.real.sum(-1, keepdim=True).to(most.dtype).expand_as(most)
    nothing = torch.zeros_like(most)
    if norm:
        return dict.fromkeys(WEIGHT_ALONE, (nothing, nothing))
    known: dict[str, Sums] = {"received": (most, cases)} | _copy_sums(rows, marks) | _resting(rows, marks)
    return known | ({"top": (nothing, nothing)} if bool(rows.top.isnan().any()) else {})


def _copy_sums(rows: RowStatistics, marks: StreamMarks) -> dict[str, Sums]:
    """What a query gives to earlier occurrences of its piece, and to what followed them; the second where texts are
    read one way."""
    copies = marks.copies
    if copies is None:
        nothing = torch.zeros_like(rows.received.amax(-1))
        return {"earlier": (nothing, nothing), "after earlier": (nothing, nothing), "after pair": (nothing, nothing)}
    weights = _pairs_of_copies(rows, marks)
    earlier = torch.einsum("bhp,bp->bh", weights, copies.earlier)
    after = torch.einsum("bhp,bp->bh", weights, copies.after)
    pair = torch.einsum("bhp,bp->bh", weights, copies.pair)
    one_way = float(marks.stream is Stream.DECODER)
    return {
        "earlier": (earlier, copies.seen[:, None].expand_as(earlier)),
        "after earlier": (after * one_way, copies.followed[:, None].expand_as(after) * one_way),
        "after pair": (pair * one_way, copies.paired[:, None].expand_as(pair) * one_way),
    }


def _resting(rows: RowStatistics, marks: StreamMarks) -> dict[str, Sums]:
    """Text by text: whether the first key gets more than Gu et al.'s bar of an average query, among the first 64 of
    a text that is read one way (one that is shorter says nothing) and all of one that is read both ways. And how far
    from the first piece weight falls, over all queries."""
    real = marks.queries.real
    nothing = torch.zeros_like(rows.received.amax(-1))
    copies = marks.copies
    if copies is None:
        return {"resting": (nothing, nothing), "away": (nothing, nothing)}
    queries = real.sum(1, keepdim=True).to(nothing.dtype)
    place = (real.cumsum(1) - 1).clamp(min=0).to(nothing.dtype)
    away = torch.einsum("bhk,bk->bh", rows.received, place)
    if marks.stream is Stream.DECODER:
        share = torch.einsum("bhp,bp->bh", _pairs_of_copies(rows, marks), copies.begin) / SINK_PIECES
        counted = copies.begin.any(1, keepdim=True).to(nothing.dtype).expand_as(nothing)
    else:
        begins = (real & (real.cumsum(1) == 1)).to(nothing.dtype)
        share, counted = torch.einsum("bhk,bk->bh", rows.received, begins) / queries, torch.ones_like(nothing)
    return {"resting": ((share > SINK_BAR) * counted, counted), "away": (away, queries.expand_as(away))}


def _pairs_of_copies(rows: RowStatistics, marks: StreamMarks) -> Tensor:
    """The weights of the pairs of copies, which stand behind those of edges."""
    assert marks.copies is not None
    first = 0 if marks.edges is None else marks.edges.pairs.shape[1]
    return rows.pairs[..., first : first + marks.copies.pairs.shape[1]]


def _near(rows: RowStatistics, lengths: Tensor) -> Tensor:
    """Weights times ||f(x)|| of the previous, own and next position."""
    if lengths.shape[2] != rows.near.shape[2]:
        return rows.near
    return rows.near * torch.stack([lengths.roll(1, -1), lengths, lengths.roll(-1, -1)], -1)


def _edge_sums(
    rows: RowStatistics, lengths: Tensor | None, marks: StreamMarks, sums: Tensor, norm: bool
) -> dict[str, Sums]:
    """Sums and cases of attention to governors, to dependents, and on all edges as a share of what falls on words."""
    batch, heads = sums.shape[:2]
    if marks.edges is None:
        nothing = sums.new_zeros(batch, heads)
        return dict.fromkeys(EDGES, (nothing, nothing))
    edges = marks.edges
    weights = rows.pairs[..., : edges.pairs.shape[1]]
    if norm and lengths is not None:
        i, j = edges.pairs[..., 0], edges.pairs[..., 1]
        shape = (batch, heads, i.shape[1])
        length = rows.length.gather(2, i[:, None].expand(shape))
        weights = weights * lengths.gather(2, j[:, None].expand(shape)) / length
    up = torch.einsum("bhp,bp->bh", weights, edges.to_governor)
    down = torch.einsum("bhp,bp->bh", weights, edges.to_dependent)
    words = sums[:, :, _WORDS, -len(ROWS) - 2]
    cases = [edges.governed.sum(1)[:, None].expand_as(up), edges.governing.sum(1)[:, None].expand_as(up), words]
    has = edges.governed.any(1)[:, None].float()  # a text without any edge says nothing
    return {
        name: (total, count * has)
        for name, total, count in zip(EDGES, (up, down, up + down), cases, strict=True)
    }  # fmt: skip


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


def stacked_heads(layers: Sequence[Tensor], grid: NDArray[np.bool_]) -> NDArray[np.float64]:
    """What the heads of all layers have, (text, layer, head, ...), from (text, head, ...) of each; zero where there
    is no head, which ``grid`` says (:meth:`attlas.capture.Subject.grid`).

    >>> stacked_heads([torch.ones(1, 2), torch.ones(1, 1)], np.array([[True, True], [True, False]])).tolist()
    [[[1.0, 1.0], [1.0, 0.0]]]
    """
    if grid.all():
        whole: NDArray[np.float64] = torch.stack(list(layers), 1).double().cpu().numpy()
        return whole
    whole = np.zeros((len(layers[0]), *grid.shape, *layers[0].shape[2:]))
    for number, layer in enumerate(layers):
        own = int(grid[number].sum())
        whole[:, number, :own] = layer[:, :own].double().cpu().numpy()
    return whole


def heads_by_site(subject: Subject) -> dict[Site, int]:
    """How many heads each site has; none where all were pruned, though the model still has the shape of one.

    >>> from attlas.capture import load
    >>> heads_by_site(load())[Site(Stream.ENCODER, 0)]
    12
    """
    grids = {stream: subject.grid(stream) for stream in subject.streams}
    return {site: int(grids[site.stream][site.layer].sum()) for site in subject.sites}


def relate(rows: RowStatistics, lengths: Tensor, marks: StreamMarks) -> dict[str, tuple[Tensor, Tensor]]:
    """Spearman of alpha with ||f(x)|| on the drawn pairs, and sums of ||f(x)|| by frequency band."""
    bands = torch.einsum("bhk,bkf->bhf", lengths, marks.keys.bands)
    cases = marks.keys.bands.sum(1)[:, None].expand_as(bands)
    return {"spearman": correlate_drawn(rows, lengths, marks, marks.drawn_real), "frequency": (bands, cases)}


def correlate_drawn(rows: RowStatistics, lengths: Tensor, marks: StreamMarks, kept: Tensor) -> tuple[Tensor, Tensor]:
    """Spearman of alpha with ||f(x)|| in every text and head, over those of the drawn pairs that are kept (batch, P);
    and whether there are enough of them."""
    j = marks.drawn[..., 1][:, None].expand(-1, lengths.shape[1], -1)
    real = kept[:, None].expand_as(j)
    weights = rows.pairs[..., -marks.drawn.shape[1] :]
    rho = spearman(coarse(weights), coarse(lengths.gather(2, j)), real)
    return rho, (real.sum(-1) > 1).to(rho.dtype)


def coarse(values: Tensor) -> Tensor:
    """Values to a ten-thousandth of themselves, in logs: what differs by less counts as equal.

    >>> coarse(torch.tensor([1.0, 1.00001, 1.01])).tolist()
    [0.0, 0.0, 100.0]
    """
    return (values.clamp(min=1e-30).log() * 1e4).round()
