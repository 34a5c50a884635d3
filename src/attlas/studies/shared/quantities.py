"""From rows to figures: sums per text and head of all that the survey asks.

Row statistics say what every query does; here they are summed over the queries that count for each figure (those
that have a previous piece, those that are [SEP], those that belong to words ...), together with how many these are.
Weights and norms go through the same lines.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import torch
from torch import Tensor

from attlas.ids import Stream
from attlas.measures.ranks import spearman
from attlas.measures.rows import RowStatistics
from attlas.models import Batch, Example, Side
from attlas.studies.shared.piece_classes import CLASSES, Edges, Marks, draw_pairs, mark, mark_edges
from attlas.text import Document

QUANTITIES = (
    "previous", "next", "self", *CLASSES, "sep_to_sep", "entropy", "entropy_cls", "distance",
    "to_governor", "to_dependent", "edges",
)  # fmt: skip


@dataclass(frozen=True)
class View:
    """All that is known of one stream of one batch before the model runs: what its pieces are, and which pairs to
    look at.

    >>> View.__dataclass_fields__.keys() >= {"queries", "keys", "columns"}
    True
    """

    stream: Stream
    classes: tuple[str, ...]
    tags: int
    queries: Marks
    keys: Marks
    columns: Tensor
    edges: Edges | None
    drawn: Tensor
    drawn_real: Tensor
    pairs: Tensor


def view_of(
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
) -> View | None:
    """What is known of a stream of a batch, ``translating`` where a text and its translation are two sequences; None
    where the batch does not have that stream. The words of translations have ranks of their own, if given.

    >>> from attlas.capture import load
    >>> subject = load()
    >>> batch = subject.batch(["It rained."])
    >>> view_of(batch, [], Stream.CROSS, translating=False, ranks={}) is None
    True
    """
    queries, keys = batch.queries(stream), batch.keys(stream)
    if queries is None or keys is None:
        return None

    def marked(side: Side) -> Marks:
        known = ranks if target_ranks is None or side is not batch.target else target_ranks
        return mark(side, texts_of(batch, side, examples, translating), tags, known)

    here = marked(queries)
    there = marked(keys) if stream is Stream.CROSS else here
    found = None
    if edges and stream is not Stream.CROSS:
        found = mark_edges(queries, texts_of(batch, queries, examples, translating))
    passages = [example.passage for example in examples]
    drawn, real = draw_pairs(queries, keys, passages, causal=stream is Stream.DECODER, seed=seed)
    pairs = drawn if found is None else torch.cat([found.pairs, drawn], dim=1)
    present = there.classes.flatten(0, 1).amax(0)
    classes = tuple(name for name, there_is in zip(CLASSES[:-1], present, strict=False) if there_is)
    columns = [there.classes[..., [CLASSES.index(name) for name in classes]], there.tags]
    if found is not None:
        columns.append(there.words[..., None].float())
    return View(stream, classes, len(tags), here, there, torch.cat(columns, -1)[:, None], found, drawn, real, pairs)


def texts_of(batch: Batch, side: Side, examples: Sequence[Example], translating: bool) -> list[Sequence[Document]]:
    """The documents behind each sequence of a side: a pair is one sequence, a translation two.

    >>> texts_of(Batch({}, None, None, Stream.ENCODER), Side((), torch.zeros(0, 0)), [], False)
    []
    """
    if not translating:
        return [example.passage.documents for example in examples]
    place = 1 if side is batch.target else 0
    return [example.passage.documents[place : place + 1] for example in examples]


def reduce_rows(rows: RowStatistics, lengths: Tensor | None, view: View) -> dict[str, tuple[Tensor, Tensor]]:
    """Sums and cases per text: figures (batch, head, measure, quantity), and pos (..., direction, tag) where tagged.

    :class:`attlas.studies.survey.Survey` calls it for every layer.
    """
    figures, counts, pos, pos_counts = [], [], [], []
    masks = _query_masks(view)
    cases = masks.sum(-1)[:, None]
    classes = len(view.classes)
    for norm in (False, True):
        scale = 1 / rows.length.clamp(min=1e-30)[..., None] if norm else None
        columns = rows.weight if scale is None else rows.norm * scale
        near = rows.near if scale is None or lengths is None else _near(rows, lengths) * scale
        entropy = rows.norm_entropy if norm else rows.entropy
        distance = rows.weight_distance if scale is None else rows.norm_distance * scale[..., 0]
        whole = rows.total if scale is None else torch.ones_like(rows.total)
        per_query = torch.cat([near, columns, entropy[..., None], distance[..., None], whole[..., None]], -1)
        sums = torch.matmul(masks[:, None], per_query)  # (batch, head, mask, column)
        picked, picked_cases = _pick(sums, cases, view, classes)
        edge, edge_cases = _edge_sums(rows, lengths, view, sums, norm)
        figures.append(torch.cat([picked, edge], -1))
        counts.append(torch.cat([picked_cases, edge_cases], -1))
        if view.tags:
            to = sums[:, :, _WORDS, 3 + classes : 3 + classes + view.tags]
            away = torch.matmul(
                view.queries.tags.transpose(1, 2)[:, None], columns[..., classes : classes + view.tags]
            )
            both = torch.stack([to, away.sum(-1)], 2)
            pos.append(both)
            pos_counts.append(to.sum(-1)[..., None, None].expand_as(both))
    reduced = {"figures": (torch.stack(figures, 2), torch.stack(counts, 2))}
    if pos:
        reduced["pos"] = (torch.stack(pos, 2), torch.stack(pos_counts, 2))
    return reduced


_REAL, _PREVIOUS, _NEXT, _CLS, _SEP, _WORDS = range(6)


def _query_masks(view: View) -> Tensor:
    """Sets of queries, (batch, set, query): all, those with a previous or a next piece, [CLS], [SEP], words."""
    real = view.queries.real.float()
    previous, following = torch.zeros_like(real), torch.zeros_like(real)
    previous[:, 1:] = real[:, 1:] * real[:, :-1]
    following[:, :-1] = real[:, :-1] * real[:, 1:]
    is_cls, is_sep = (view.queries.classes[..., CLASSES.index(name)] * real for name in ("cls", "sep"))
    return torch.stack([real, previous, following, is_cls, is_sep, view.queries.words.float()], 1)


def _pick(sums: Tensor, cases: Tensor, view: View, classes: int) -> tuple[Tensor, Tensor]:
    """From sums by set of queries and column to figures, in the order of QUANTITIES up to distance."""
    cross, decoder = view.stream is Stream.CROSS, view.stream is Stream.DECODER
    nothing = torch.zeros_like(sums[:, :, 0, 0])
    within = torch.full_like(nothing, 0.0 if cross else 1.0)  # places are those of one and the same text
    ahead = torch.zeros_like(nothing) if decoder else within
    always = torch.ones_like(nothing)
    entropy, distance, whole = range(sums.shape[-1] - 3, sums.shape[-1])
    present = view.keys.classes.amax(1)  # a class that a text does not have says nothing of its heads
    shares = {name: sums[:, :, _REAL, 3 + place] for place, name in enumerate(view.classes)}
    shares["other"] = sums[:, :, _REAL, whole] - torch.stack([nothing, *shares.values()]).sum(0)
    sep = sums[:, :, _SEP, 3 + view.classes.index("sep")] if "sep" in view.classes else nothing
    picked = [
        (sums[:, :, _PREVIOUS, 0], _PREVIOUS, within),
        (sums[:, :, _NEXT, 2], _NEXT, ahead),
        (sums[:, :, _REAL, 1], _REAL, within),
        *((shares.get(name, nothing), _REAL, present[:, i, None] * always) for i, name in enumerate(CLASSES)),
        (sep, _SEP, within),
        (sums[:, :, _REAL, entropy], _REAL, always),
        (sums[:, :, _CLS, entropy], _CLS, always),
        (sums[:, :, _REAL, distance], _REAL, within),
    ]
    totals = torch.stack([total * counted for total, _, counted in picked], -1)
    return totals, torch.stack([cases[..., queries] * counted for _, queries, counted in picked], -1)


def _near(rows: RowStatistics, lengths: Tensor) -> Tensor:
    """Weights times ||f(x)|| of the previous, own and next position."""
    if lengths.shape[2] != rows.near.shape[2]:
        return rows.near
    return rows.near * torch.stack([lengths.roll(1, -1), lengths, lengths.roll(-1, -1)], -1)


def _edge_sums(
    rows: RowStatistics, lengths: Tensor | None, view: View, sums: Tensor, norm: bool
) -> tuple[Tensor, Tensor]:
    """Sums and cases of attention to governors, to dependents, and on all edges as a share of what falls on words."""
    batch, heads = sums.shape[:2]
    if view.edges is None:
        nothing = sums.new_zeros(batch, heads, 3)
        return nothing, nothing
    edges = view.edges
    weights = rows.pairs[..., : edges.pairs.shape[1]]
    if norm and lengths is not None:
        i, j = edges.pairs[..., 0], edges.pairs[..., 1]
        shape = (batch, heads, i.shape[1])
        length = rows.length.gather(2, i[:, None].expand(shape))
        weights = weights * lengths.gather(2, j[:, None].expand(shape)) / length
    up = torch.einsum("bhp,bp->bh", weights, edges.to_governor)
    down = torch.einsum("bhp,bp->bh", weights, edges.to_dependent)
    words = sums[:, :, _WORDS, -4]
    cases = [edges.governed.sum(1)[:, None].expand_as(up), edges.governing.sum(1)[:, None].expand_as(up), words]
    has = edges.governed.any(1)[:, None].float()  # a text without any edge says nothing
    return torch.stack([up, down, up + down], -1), torch.stack([c * has for c in cases], -1)


def relate(rows: RowStatistics, lengths: Tensor, view: View) -> dict[str, tuple[Tensor, Tensor]]:
    """Spearman of alpha with ||f(x)|| on the drawn pairs, and sums of ||f(x)|| by frequency band."""
    bands = torch.einsum("bhk,bkf->bhf", lengths, view.keys.bands)
    cases = view.keys.bands.sum(1)[:, None].expand_as(bands)
    return {"spearman": correlate_drawn(rows, lengths, view, view.drawn_real), "frequency": (bands, cases)}


def correlate_drawn(rows: RowStatistics, lengths: Tensor, view: View, kept: Tensor) -> tuple[Tensor, Tensor]:
    """Spearman of alpha with ||f(x)|| in every text and head, over those of the drawn pairs that are kept (batch, P);
    and whether there are enough of them."""
    j = view.drawn[..., 1][:, None].expand(-1, lengths.shape[1], -1)
    real = kept[:, None].expand_as(j)
    weights = rows.pairs[..., -view.drawn.shape[1] :]
    rho = spearman(coarse(weights), coarse(lengths.gather(2, j)), real)
    return rho, (real.sum(-1) > 1).to(rho.dtype)


def coarse(values: Tensor) -> Tensor:
    """Values to a ten-thousandth of themselves, in logs: what differs by less counts as equal.

    >>> coarse(torch.tensor([1.0, 1.00001, 1.01])).tolist()
    [0.0, 0.0, 100.0]
    """
    return (values.clamp(min=1e-30).log() * 1e4).round()
