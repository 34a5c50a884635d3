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
    if query.device.type != "cpu":
        return _fused(query, key, value, scale, mask, causal, lower, logs)
    sums = attend_in_tiles(query, key, value, scale, mask, causal, lower, logs)
    return Attended(sums.out, sums.lse[..., 0], sums.lower if lower else None, sums.logs)


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
