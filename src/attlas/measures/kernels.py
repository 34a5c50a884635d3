"""All that is summed over the keys of a call at the seam, and over its queries; never the matrix.

There is one question, :func:`attend`, and three ways to answer it. On a CPU we go tile by tile
(:mod:`attlas.measures.tiles`). On a GPU a kernel of our own takes every sum in one go, in the model's own precision
(:mod:`attlas.measures.device`); where it does not cover a call, or a GPU has no Triton, torch's own kernel serves,
with whatever is to be summed as further columns of the values (:mod:`attlas.measures.efficient`).

The latter two ways are given queries, keys and *packed* values: beside the values stand the columns, their products
with nu, nu log nu, the places of the keys, and one.
"""

from __future__ import annotations

from typing import NamedTuple

import torch
from torch import Tensor

from attlas.measures import device
from attlas.measures.efficient import attend_by_torch
from attlas.measures.norms import value_norms
from attlas.measures.tiles import Asked, Scored, attend_in_tiles
from attlas.models import AttentionCall

WINDOW = 8  # pieces to either side that count as near
OFFSETS = (-1, 0, 1)
TINY = 1e-30
_NUMBERS = 1 << 22  # of queries and keys at single pairs that are taken together


class Attended(NamedTuple):
    """Sums over keys for every query, (batch, head, query), with alpha the weight and nu the length of what a key
    brings.

    ``mixed`` sums alpha v, (batch, head, query, width); ``lse`` is the log-sum-exp of the scores, ``top`` the largest
    of them (minus infinity where a query sees nothing). ``weight`` and ``norm`` sum alpha c and alpha nu c for every
    column c; ``total`` and ``length`` alpha and alpha nu; ``weight_log`` and ``norm_log`` alpha log alpha and alpha
    nu log alpha, ``length_log`` alpha nu log nu; ``weight_distance`` and ``norm_distance`` alpha |i - j| and alpha nu
    |i - j|. ``within`` are alpha and alpha nu over the keys at most :data:`WINDOW` pieces away, ``near`` alpha at the
    previous, own and next place: all four are 0 where queries and keys are not of one text. ``received`` sums alpha
    over the queries that count, by how much they do, (batch, head, key). ``pairs`` is alpha at the pairs that are
    asked for, (batch, head, P). Without lengths, nu is 1.

    >>> Attended._fields[:3]
    ('mixed', 'lse', 'top')
    """

    mixed: Tensor
    lse: Tensor
    top: Tensor
    weight: Tensor
    norm: Tensor
    total: Tensor
    length: Tensor
    weight_log: Tensor
    norm_log: Tensor
    length_log: Tensor
    weight_distance: Tensor
    norm_distance: Tensor
    within: Tensor
    near: Tensor
    received: Tensor
    pairs: Tensor


def attend(
    call: AttentionCall, columns: Tensor, lengths: Tensor | None, readers: Tensor, pairs: Tensor | None = None
) -> Attended:
    """All sums of a call: ``columns`` (batch, 1, key, any) are what keys carry, ``lengths`` nu as (batch, head, key),
    ``readers`` (batch, 1, query, 1) how much each query counts in what keys receive, ``pairs`` (batch, P, 2) single
    pairs of query and key.

    >>> q = torch.randn(1, 2, 5, 4)
    >>> call = AttentionCall("site", q, q, q, None, 0.5)
    >>> got = attend(call, torch.rand(1, 1, 5, 3), None, torch.ones(1, 1, 5, 1))
    >>> weights = call.weights()
    >>> bool(torch.allclose(got.mixed, weights @ q, atol=1e-5))
    True
    >>> bool(torch.allclose(got.weight_log, (weights * weights.log()).sum(-1), atol=1e-4))
    True
    >>> bool(torch.allclose(got.received, weights.sum(2), atol=1e-5))
    True
    """
    way, _ = way_of(call)
    if way == "kernel":
        sums = device.attend(call, columns, lengths, readers, WINDOW)
        return Attended(*(*sums, _weights_of(call, sums[1], pairs)))
    return _of_packed(call, columns, lengths, readers, pairs, way)


def _weights_of(call: AttentionCall, lse: Tensor, pairs: Tensor | None) -> Tensor:
    """The weights of single pairs, if any are asked for."""
    if pairs is None or not pairs.shape[1]:
        return lse.new_zeros(*call.shape[:2], 0)
    return weights_at(call, lse, pairs)


def way_of(call: AttentionCall) -> tuple[str, str]:
    """Which way the sums of a call are taken, and why not a faster one: "tiles" on a CPU, "kernel" or "torch" on a
    GPU, and "matrix" where scores are more than products of queries and keys, or are not to be had.

    >>> q = torch.zeros(1, 2, 3, 4)
    >>> way_of(AttentionCall("site", q, q, q, None, 0.5))
    ('tiles', '')
    >>> way_of(AttentionCall("site", q, q, q, torch.zeros(1, 1, 3, 3), 0.5))
    ('matrix', 'a mask that is added to the scores')
    """
    on_cpu = call.value.device.type == "cpu"
    why = "" if on_cpu else device.uncovered(call)
    if not on_cpu and not why:
        return "kernel", ""
    if on_cpu:
        hidden = call.unreadable
        return ("matrix", hidden) if hidden else ("tiles", "")
    plain = call.fusable and call.value.device.type == "cuda"
    return ("torch" if plain else "matrix"), why


def lengths(call: AttentionCall, grams: Tensor) -> Tensor:
    """||f(x)|| of every key and head, (batch, head, key), from W W^T of every head.

    >>> q, matrix = torch.randn(1, 2, 4, 3), torch.randn(2, 3, 5)
    >>> call = AttentionCall("site", q, q, q, None, 0.5)
    >>> slow = torch.einsum("bhkw,hwd->bhkd", q, matrix).norm(dim=-1)
    >>> bool(torch.allclose(lengths(call, matrix @ matrix.transpose(1, 2)), slow, atol=1e-4))
    True
    """
    found = None if call.value.device.type == "cpu" else device.lengths(call, grams)
    return value_norms(call.values.float(), grams) if found is None else found


def weights_at(call: AttentionCall, lse: Tensor, pairs: Tensor) -> Tensor:
    """Weights of single pairs of query and key, (batch, head, P), from pairs (batch, P, 2); 0 where the key cannot be
    seen.

    >>> q = torch.zeros(1, 2, 3, 4)
    >>> call = AttentionCall("site", q, q, q, None, 0.5, causal=True)
    >>> weights_at(call, torch.tensor([1.0, 2, 3]).log().expand(1, 2, 3), torch.tensor([[[1, 0], [1, 2]]])).tolist()
    [[[0.5, 0.0], [0.5, 0.0]]]
    """
    if way_of(call)[0] == "kernel":
        return device.weights_at(call, lse, pairs)
    batch, heads, _, _ = call.shape
    at_once = max(1, _NUMBERS // (batch * heads * call.value.shape[-1]))
    parts = [_weights_at(call, lse, pairs[:, first : first + at_once]) for first in range(0, pairs.shape[1], at_once)]
    return torch.cat(parts, -1) if parts else lse.new_zeros(batch, heads, 0)


def _weights_at(call: AttentionCall, lse: Tensor, pairs: Tensor) -> Tensor:
    i, j = pairs[..., 0], pairs[..., 1]
    b = torch.arange(len(pairs), device=pairs.device)[:, None]
    weights = (call.scores_at(pairs) - lse[b, :, i]).exp()
    if call.mask is not None:
        mask = call.mask.expand(len(pairs), 1, *call.mask.shape[2:])
        weights = torch.where(mask[b, 0, i, j][..., None], weights, 0.0)
    elif call.causal:
        weights = torch.where((j <= i)[..., None], weights, 0.0)
    return weights.transpose(1, 2)


def _of_packed(
    call: AttentionCall, columns: Tensor, lengths: Tensor | None, readers: Tensor, pairs: Tensor | None, way: str
) -> Attended:
    """The sums by way of packed values."""
    assert call.query is not None
    query, key, value = call.query.float(), call.keys.float(), call.values.float()
    batch, heads, queries, keys = call.shape
    v, c = value.shape[-1], columns.shape[-1]
    measures = 1 if lengths is None else 2
    one_text = queries == keys
    lower = 2 * measures if one_text and not call.causal else 0
    window = WINDOW if one_text else None
    scored = Scored(query, key, call.scaling, call.mask, call.causal, call.softcap, call.bias, call.sinks)
    by_way = attend_in_tiles if way == "tiles" else attend_by_torch
    sums = by_way(scored, _packed(value, columns, lengths), Asked(lower, measures, window, readers, pairs))
    out, lse = sums.out, sums.lse[..., 0]
    weight, total, position = out[..., v : v + c], out[..., -1], out[..., -2 * measures]
    norm, length, norm_position, length_log = weight, total, position, torch.zeros_like(lse)
    before = norm_before = (sums.lower[..., 0], sums.lower[..., -1]) if lower else None
    if lengths is not None:
        norm, length_log = out[..., v + c : v + 2 * c], out[..., v + 2 * c]
        length, norm_position = out[..., -2], out[..., -3]
        norm_before = (sums.lower[..., 1], sums.lower[..., 2]) if lower else None
    within = torch.zeros(batch, heads, queries, 2, device=query.device)
    return Attended(
        mixed=out[..., :v],
        lse=lse,
        top=sums.top[..., 0],
        weight=weight,
        norm=norm,
        total=total,
        length=length,
        weight_log=sums.logs[..., -1],
        norm_log=sums.logs[..., 0],
        length_log=length_log,
        weight_distance=_distance(call, position, total, before),
        norm_distance=_distance(call, norm_position, length, norm_before),
        within=torch.stack([sums.within[..., -1], sums.within[..., 0]], -1) if one_text else within,
        near=sums.near if one_text and way == "tiles" else _near(call, query, key, lse),
        received=sums.received.transpose(2, 3)[..., 0],
        pairs=sums.pairs if way == "tiles" else _weights_of(call, lse, pairs),
    )


def _packed(value: Tensor, columns: Tensor, lengths: Tensor | None) -> Tensor:
    """All value columns beside each other: values and columns, position and one; for norms the columns, position and
    one times ||f(x)||, too, and ||f(x)|| times its log."""
    batch, heads, keys, v = value.shape
    c, more = columns.shape[-1], 2 if lengths is None else columns.shape[-1] + 5
    packed = value.new_empty(batch, heads, keys, v + c + more)
    place = torch.arange(keys, device=value.device, dtype=torch.float32)
    packed[..., :v] = value
    packed[..., v : v + c] = columns
    if lengths is not None:
        nu = lengths.float()
        torch.mul(columns.float(), nu[..., None], out=packed[..., v + c : v + 2 * c])
        packed[..., -5] = nu * nu.clamp(min=TINY).log()
        packed[..., -3] = place * nu
        packed[..., -2] = nu
    packed[..., -2 if lengths is None else -4] = place
    packed[..., -1] = 1.0
    return packed


def _distance(call: AttentionCall, position: Tensor, total: Tensor, before: tuple[Tensor, Tensor] | None) -> Tensor:
    """Sum of weights times |i - j|, from the sums of position and of one: over all keys, and over those before."""
    queries, keys = call.shape[2:]
    if queries != keys:
        return torch.zeros_like(total)
    i = torch.arange(queries, device=total.device, dtype=torch.float32)
    onward = position - i * total  # weights times (j - i)
    return -onward if before is None else onward + 2 * (i * before[1] - before[0])


def _near(call: AttentionCall, query: Tensor, key: Tensor, lse: Tensor) -> Tensor:
    """Weights on the previous, own and next position, (batch, head, query, 3); 0 where there is none."""
    batch, heads, queries, keys = call.shape
    near = torch.zeros(batch, heads, queries, len(OFFSETS), device=query.device)
    if queries != keys:
        return near
    for place, offset in enumerate(OFFSETS):
        if offset > 0 and call.causal:
            continue
        rows = slice(max(0, -offset), queries - max(0, offset))
        columns = slice(max(0, offset), queries - max(0, -offset))
        scores = call.scaling * (query[:, :, rows] * key[:, :, columns]).sum(-1)
        weights = (scores - lse[:, :, rows]).exp()
        if call.mask is not None:
            weights = torch.where(call.mask.diagonal(offset, dim1=-2, dim2=-1), weights, 0.0)
        near[:, :, rows, place] = weights
    return near
