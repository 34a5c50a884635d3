"""Attention with other values by torch's own memory-efficient kernel: the way of a GPU that has no Triton.

That kernel wants queries and keys of float32, takes masks as added numbers, and goes over them once for the packed
columns, once more for what lies before the query, and once for what keys receive; the largest score of each row is
looked for some rows at a time. :mod:`attlas.measures.device` is several times as fast.
"""

from __future__ import annotations

import torch
from torch import Tensor
from torch.nn.functional import pad

from attlas.measures.tiles import Asked, Scored, Sums

_ROWS = 1024  # of scores at a time, where the largest is looked for


def attend_by_torch(scored: Scored, value: Tensor, asked: Asked) -> Sums:
    """Sums over keys as :func:`attlas.measures.tiles.attend_in_tiles` has them.

    >>> attend_by_torch.__name__
    'attend_by_torch'
    """
    query, key, scale, mask, causal = scored[:5]
    lower, logs, window, readers = asked[:4]
    wide, d = value.shape[-1], key.shape[-1]
    last = value[..., wide - logs :]
    times_key = [key * last[..., k, None] for k in range(logs)]  # sums of alpha s c are q . sums of alpha k c
    packed, lse = _efficient(query, key, torch.cat([value, *times_key], dim=-1), scale, mask, causal)
    out, rest = packed[..., :wide], packed[..., wide:]
    times_score = [scale * (query * rest[..., k * d : (k + 1) * d]).sum(-1) for k in range(logs)]
    logged = torch.stack(times_score, dim=-1) - lse[..., None] * out[..., wide - logs :]
    below = None
    if lower:
        kept = None if mask is None else mask & torch.ones_like(mask[:1]).tril()
        part, under = _efficient(query, key, value[..., wide - lower :], scale, kept, kept is None)
        below = part * (under - lse).clamp(max=0).exp()[..., None]
    near = None if window is None else _near(query, key, last, lse, scale, mask, causal, window)
    by_key = None if readers is None else _received(query, key, lse, scale, mask, causal, readers)
    nothing = out.new_empty(0)
    return Sums(
        out=out,
        lse=lse[..., None],
        lower=nothing if below is None else below,
        logs=logged,
        top=_top(query, key, scale, mask, causal)[..., None],
        within=nothing if near is None else near,
        near=nothing,
        received=nothing if by_key is None else by_key.transpose(2, 3),
        pairs=nothing,
    )


def _received(
    query: Tensor, key: Tensor, lse: Tensor, scale: float, mask: Tensor | None, causal: bool, readers: Tensor
) -> Tensor:
    """Sums over queries: attention with the roles exchanged. Keys ask with [k, 1], and queries answer with [scale q,
    -lse], so that the exponential of a score is a weight; a causal mask is one from the other end."""
    asking = torch.cat([key, torch.ones_like(key[..., :1])], -1)
    answering = torch.cat([query * scale, -lse[..., None].clamp(min=-1e4)], -1)  # which rows that see nothing exceed
    carried = readers.expand(*query.shape[:3], -1)
    if causal:
        asking, answering, carried = asking.flip(2), answering.flip(2), carried.flip(2)
    across = None if mask is None else mask.transpose(2, 3)
    mean, logs = _efficient(asking, answering, carried, 1.0, across, causal)
    sums = mean * logs.exp()[..., None]
    return sums.flip(2) if causal else sums


def _top(query: Tensor, key: Tensor, scale: float, mask: Tensor | None, causal: bool) -> Tensor:
    """The largest score of each row, some rows at a time."""
    tops = []
    for row in range(0, query.shape[2], _ROWS):
        scores = scale * query[:, :, row : row + _ROWS] @ key.transpose(2, 3)
        if causal:
            scores = scores.masked_fill(torch.ones_like(scores[0, 0], dtype=torch.bool).triu(row + 1), -torch.inf)
        if mask is not None:
            scores = scores.masked_fill(~mask[:, :, row : row + _ROWS], -torch.inf)
        tops.append(scores.amax(-1))
    return torch.cat(tops, 2)


def _near(
    query: Tensor, key: Tensor, columns: Tensor, lse: Tensor, scale: float, mask: Tensor | None, causal: bool,
    window: int,
) -> Tensor:  # fmt: skip
    """Sums over the keys within a window, offset by offset: as many products as the window is wide."""
    queries, keys = query.shape[2], key.shape[2]
    sums = torch.zeros(*query.shape[:3], columns.shape[-1], device=query.device)
    for offset in range(-window, 1 if causal else window + 1):
        rows = slice(max(0, -offset), min(queries, keys - offset))
        if rows.start >= rows.stop:
            continue
        places = slice(rows.start + offset, rows.stop + offset)
        weights = (scale * (query[:, :, rows] * key[:, :, places]).sum(-1) - lse[:, :, rows]).exp()
        if mask is not None:
            weights = weights * mask[:, :, rows, places].diagonal(dim1=-2, dim2=-1)
        sums[:, :, rows] += weights[..., None] * columns[:, :, places]
    return sums


def _efficient(
    query: Tensor, key: Tensor, value: Tensor, scale: float, mask: Tensor | None, causal: bool
) -> tuple[Tensor, Tensor]:
    """torch's memory-efficient kernel; widths and rows of the bias must be aligned."""
    wide = value.shape[-1]
    query, key, value = (pad(tensor, (0, -tensor.shape[-1] % 8)) for tensor in (query, key, value))
    bias = None
    if mask is not None:
        added = torch.zeros(mask.shape, device=mask.device).masked_fill_(~mask, -1e30)
        added = pad(added, (0, -mask.shape[-1] % 8))[..., : mask.shape[-1]]
        bias = added.expand(query.shape[0], query.shape[1], query.shape[2], key.shape[2])
    out, lse, *_ = torch.ops.aten._scaled_dot_product_efficient_attention(
        query, key, value, bias, True, 0.0, causal, scale=scale
    )
    return out[..., :wide], lse[..., : query.shape[2]]
