"""Attention with other values, its log-sum-exp, and what else a row can tell; never the matrix.

On a GPU these are torch's fused kernels. On a CPU those kernels want queries, keys and values of one width, and ours
have other value columns than query columns, so we go tile by tile ourselves (:mod:`attlas.measures.tiles`).
"""

from __future__ import annotations

from typing import NamedTuple

import torch
from torch import Tensor
from torch.nn.functional import pad

from attlas.measures.tiles import attend_in_tiles

_ROWS = 1024  # of scores at a time, where the largest is looked for on a device


class Attended(NamedTuple):
    """Sums over keys, by query: (batch, head, query, columns), and the log-sum-exp of the scores (batch, head,
    query).

    ``out`` sums alpha c for all value columns c, ``lower`` the same up to the query's own place for the last few of
    them, ``logs`` sums alpha log alpha c for the last few, and ``within`` alpha c of these over the keys near the
    query. ``top`` is the largest score that a query has, minus infinity where it sees nothing. ``received`` sums over
    queries what keys get, (batch, head, key, readers); ``near`` is alpha at the previous, own and next place.

    >>> Attended(*[torch.ones(1)] * 3).lower is None
    True
    """

    out: Tensor
    lse: Tensor
    logs: Tensor
    lower: Tensor | None = None
    top: Tensor | None = None
    within: Tensor | None = None
    received: Tensor | None = None
    near: Tensor | None = None


def attend(
    query: Tensor,
    key: Tensor,
    value: Tensor,
    scale: float,
    *,
    mask: Tensor | None = None,
    causal: bool = False,
    lower: int = 0,
    logs: int = 1,
    window: int | None = None,
    readers: Tensor | None = None,
) -> Attended:
    """Attention of float32 tensors (batch, head, piece, width); the last column of ``value`` must be ones.

    ``mask`` is boolean, (batch or 1, 1, query, key). ``lower`` and ``logs`` say of how many of the last value
    columns these are wanted; ``within`` has as many as ``logs``, over keys at most ``window`` pieces away.
    ``readers`` are numbers that queries carry, (batch, 1 or head, query, any), by which they count in ``received``.

    >>> q = torch.randn(1, 2, 5, 4)
    >>> v = torch.cat([q, torch.ones(1, 2, 5, 1)], -1)
    >>> got = attend(q, q, v, 0.5, readers=torch.ones(1, 1, 5, 1))
    >>> weights = (q @ q.transpose(-1, -2) * 0.5).softmax(-1)
    >>> bool(torch.allclose(got.out, weights @ v, atol=1e-5))
    True
    >>> bool(torch.allclose(got.logs[..., 0], (weights * weights.log()).sum(-1), atol=1e-4))
    True
    >>> bool(torch.allclose(got.received[..., 0], weights.sum(2), atol=1e-5))
    True
    """
    if query.device.type != "cpu":
        return _fused(query, key, value, scale, mask, causal, lower, logs, window, readers)
    sums = attend_in_tiles(query, key, value, scale, mask, causal, lower, logs, window, readers)
    return Attended(
        sums.out,
        sums.lse[..., 0],
        sums.logs,
        sums.lower if lower else None,
        sums.top[..., 0],
        sums.within if window is not None else None,
        sums.received.transpose(2, 3) if readers is not None else None,
        sums.near if window else None,
    )


def _fused(
    query: Tensor,
    key: Tensor,
    value: Tensor,
    scale: float,
    mask: Tensor | None,
    causal: bool,
    lower: int,
    logs: int,
    window: int | None,
    readers: Tensor | None,
) -> Attended:
    wide, d = value.shape[-1], key.shape[-1]
    last = value[..., wide - logs :]
    times_key = [key * last[..., k, None] for k in range(logs)]  # sums of alpha s c are q . sums of alpha k c
    packed, lse = _efficient(query, key, torch.cat([value, *times_key], dim=-1), scale, mask, causal)
    out, rest = packed[..., :wide], packed[..., wide:]
    scored = [scale * (query * rest[..., k * d : (k + 1) * d]).sum(-1) for k in range(logs)]
    logged = torch.stack(scored, dim=-1) - lse[..., None] * out[..., wide - logs :]
    below = None
    if lower:
        kept = None if mask is None else mask & torch.ones_like(mask[:1]).tril()
        part, under = _efficient(query, key, value[..., wide - lower :], scale, kept, kept is None)
        below = part * (under - lse).clamp(max=0).exp()[..., None]
    near = None if window is None else _near(query, key, last, lse, scale, mask, causal, window)
    by_key = None if readers is None else _received(query, key, lse, scale, mask, causal, readers)
    return Attended(out, lse, logged, below, _top(query, key, scale, mask, causal), near, by_key)


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
