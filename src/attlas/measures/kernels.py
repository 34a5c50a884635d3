"""Attention with other values, its log-sum-exp, and what else a row can tell; never the matrix.

On a GPU these are torch's fused kernels. On a CPU those kernels want queries, keys and values of one width, and ours
have other value columns than query columns, so we go tile by tile ourselves, as they do inside: scores of some rows,
small enough for the cache, exponentials, products with the values, and on to the next. Masked keys are zeroed after
the exponential, and the sum of a row comes out as the product with a column of ones.
"""

from __future__ import annotations

from typing import NamedTuple

import torch
from torch import Tensor
from torch.nn.functional import pad

TILE = 1 << 19  # scores at a time: two megabytes
SAFE = 40.0  # exponentials of scores up to this need no shift: e^40 is far from the end of float32
_TINY = 1e-30


class Attended(NamedTuple):
    """Sums over keys, by query: (batch, head, query, columns), and the log-sum-exp of the scores (batch, head,
    query).

    ``out`` sums alpha c for all value columns c, ``lower`` the same up to the query's own place for the last few of
    them, ``logs`` sums alpha log alpha c for the last few.

    >>> Attended(torch.ones(1), torch.zeros(1), None, torch.ones(1)).lower is None
    True
    """

    out: Tensor
    lse: Tensor
    lower: Tensor | None
    logs: Tensor


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
) -> Attended:
    """Attention of float32 tensors (batch, head, piece, width); the last column of ``value`` must be ones.

    ``mask`` is boolean, (batch or 1, 1, query, key). ``lower`` and ``logs`` say of how many of the last value
    columns these are wanted.

    >>> q = torch.randn(1, 2, 5, 4)
    >>> v = torch.cat([q, torch.ones(1, 2, 5, 1)], -1)
    >>> got = attend(q, q, v, 0.5)
    >>> weights = (q @ q.transpose(-1, -2) * 0.5).softmax(-1)
    >>> bool(torch.allclose(got.out, weights @ v, atol=1e-5))
    True
    >>> bool(torch.allclose(got.logs[..., 0], (weights * weights.log()).sum(-1), atol=1e-4))
    True
    """
    kernel = _tiled if query.device.type == "cpu" else _fused
    return kernel(query, key, value, scale, mask, causal, lower, logs)


def _tiled(
    query: Tensor, key: Tensor, value: Tensor, scale: float, mask: Tensor | None, causal: bool, lower: int, logs: int
) -> Attended:
    batch, heads, queries, _ = query.shape
    keys, wide = key.shape[2], value.shape[-1]
    scaled = query * scale
    safe = float(scaled.norm(dim=-1).max() * key.norm(dim=-1).max()) <= SAFE
    flat = [tensor.contiguous().flatten(0, 1) for tensor in (scaled, key, value)]
    out = value.new_empty(batch * heads, queries, wide)
    lse = value.new_empty(batch * heads, queries, 1)
    below, logged = value.new_empty(*out.shape[:2], lower), value.new_empty(*out.shape[:2], logs)
    together = max(1, TILE // (heads * queries * keys))
    rows = queries if together > 1 else max(32, TILE // (heads * keys) // 32 * 32)
    for start in range(0, batch, together):
        some = slice(start * heads, (start + together) * heads)
        for row in range(0, queries, rows):
            here = slice(row, row + rows)
            seen = min(keys, row + rows) if causal else keys  # later keys cannot be seen from here
            scores = torch.bmm(flat[0][some, here], flat[1][some, :seen].transpose(1, 2))
            tile = None
            if mask is not None:
                tile = (mask if mask.shape[0] == 1 else mask[start : start + together])[:, :, here]
            shift = None if safe else _shift(scores, tile, row if causal else None, heads)
            scores = scores if shift is None else scores.sub_(shift)
            weights = scores.exp()
            if causal:
                weights.tril_(row)
            if tile is not None:
                weights.view(-1, heads, *weights.shape[1:]).masked_fill_(~tile, 0.0)
            values = flat[2][some, :seen]
            sums = torch.bmm(weights, values)
            whole = sums[..., -1:].clamp(min=_TINY)
            torch.div(sums, whole, out=out[some, here])
            log = whole.log()
            lse[some, here] = log if shift is None else log + shift
            part = torch.bmm(scores.mul_(weights), values[..., wide - logs :])
            logged[some, here] = part.div_(whole) - log * out[some, here, wide - logs :]
            if lower:
                torch.div(torch.bmm(weights.tril_(row), values[..., wide - lower :]), whole, out=below[some, here])
    whole_out, whole_lse, lowered, logged = (t.view(batch, heads, *t.shape[1:]) for t in (out, lse, below, logged))
    return Attended(whole_out, whole_lse[..., 0], lowered if lower else None, logged)


def _shift(scores: Tensor, tile: Tensor | None, row: int | None, heads: int) -> Tensor:
    """The largest score that each row may see."""
    if row is not None:
        hidden = torch.ones(scores.shape[1:], dtype=torch.bool).triu(row + 1)
        return scores.masked_fill(hidden, -torch.inf).amax(-1, keepdim=True)
    if tile is not None:
        apart = scores.view(-1, heads, *scores.shape[1:])
        top = apart.masked_fill(~tile, -torch.inf).amax(-1, keepdim=True).flatten(0, 1)
        return top.nan_to_num(neginf=0.0)
    return scores.amax(-1, keepdim=True)


def _fused(
    query: Tensor, key: Tensor, value: Tensor, scale: float, mask: Tensor | None, causal: bool, lower: int, logs: int
) -> Attended:
    wide, d = value.shape[-1], key.shape[-1]
    last = value[..., wide - logs :]
    times_key = [key * last[..., k, None] for k in range(logs)]  # sums of alpha s c are q . sums of alpha k c
    packed, lse = _efficient(query, key, torch.cat([value, *times_key], dim=-1), scale, mask, causal)
    out, rest = packed[..., :wide], packed[..., wide:]
    scored = [scale * (query * rest[..., k * d : (k + 1) * d]).sum(-1) for k in range(logs)]
    logged = torch.stack(scored, dim=-1) - lse[..., None] * out[..., wide - logs :]
    if not lower:
        return Attended(out, lse, None, logged)
    kept = None if mask is None else mask & torch.ones_like(mask[:1]).tril()
    part, below = _efficient(query, key, value[..., wide - lower :], scale, kept, kept is None)
    return Attended(out, lse, part * (below - lse).clamp(max=0).exp()[..., None], logged)


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
