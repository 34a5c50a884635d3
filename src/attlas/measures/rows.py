"""Statistics of attention, row by row, without its matrix.

For every query we want sums over keys: the weight on a class of keys, the mean position, the entropy, and the same
for norms. All of them are attention with other values, which kernels that never build the matrix can give. With lse_i
the log-sum-exp of row i's scores, s_ij the scores and c_j any number that a key carries:

- sum_j alpha_ij c_j is attention with c as a value column;
- sum_j alpha_ij log alpha_ij, minus the entropy, is the sum of alpha_ij s_ij less lse_i;
- alpha_ij of single pairs is exp(s_ij - lse_i), one dot product each;
- for norms, alpha_ij ||f(x_j)||, all columns are multiplied by ||f(x_j)||;
- sum_j alpha_ij |i - j| needs the sums of position and of one, over all keys and over those before the query;
- what a key receives, sum_i alpha_ij, is attention with the roles exchanged.

:func:`fast_statistics` packs all columns beside each other and has them summed in one go by
:mod:`attlas.measures.kernels`; memory grows with n, not n x n. :func:`matrix_statistics` computes the same from the
weights, a block of rows at a time: it serves families whose scores are more than dot products, and is the slow twin
that the tests hold the fast path to.
"""

from __future__ import annotations

from dataclasses import dataclass, fields

import torch
from torch import Tensor

from attlas.measures.kernels import OFFSETS, TINY, WINDOW, Attended, attend, way_of
from attlas.models import AttentionCall

_BLOCK = 128


@dataclass(frozen=True)
class RowStatistics:
    """Sums over keys for every query; axes (batch, head, query) and then columns, offsets or nothing.

    ``weight`` and ``norm`` are sums of alpha c and alpha nu c; ``total`` and ``length`` those of alpha and alpha
    nu; ``weight_log``, ``norm_log`` those of alpha log alpha and alpha nu log alpha, ``length_log`` of alpha nu log
    nu; ``weight_distance`` and ``norm_distance`` those of alpha |i - j| and alpha nu |i - j|. ``near`` is alpha at
    the previous, own and next position, ``within`` sums alpha and alpha nu over the keys at most :data:`WINDOW`
    pieces away, ``pairs`` is alpha at the pairs asked for, ``mixed`` the heads' outputs, sums of alpha v. ``top`` is
    the largest score (NaN where a family keeps its scores to itself), and ``received`` has for every key, (batch,
    head, key), the sum of alpha over the queries that count.

    >>> {field.name for field in fields(RowStatistics)} >= {"weight", "norm", "near", "pairs"}
    True
    """

    weight: Tensor
    norm: Tensor
    total: Tensor
    length: Tensor
    weight_log: Tensor
    norm_log: Tensor
    length_log: Tensor
    weight_distance: Tensor
    norm_distance: Tensor
    near: Tensor
    within: Tensor
    top: Tensor
    received: Tensor
    pairs: Tensor
    mixed: Tensor

    @property
    def entropy(self) -> Tensor:
        """Entropy of the weights, in nats.

        >>> q = torch.zeros(1, 1, 3, 4)  # queries of zero attend evenly
        >>> rows = statistics(AttentionCall("site", q, q, q, None, 0.5), torch.ones(1, 1, 3, 1))
        >>> bool(torch.allclose(rows.entropy, torch.tensor(3.0).log()))
        True
        """
        return -self.weight_log

    @property
    def norm_entropy(self) -> Tensor:
        """Entropy of the norms, each row divided by its sum.

        >>> q = torch.randn(1, 1, 3, 4)
        >>> call = AttentionCall("site", q, q, q, None, 0.5)
        >>> rows = statistics(call, torch.ones(1, 1, 3, 1), torch.full((1, 1, 3), 2.0))  # vectors of one length
        >>> bool(torch.allclose(rows.norm_entropy, rows.entropy, atol=1e-5))
        True
        """
        length = self.length.clamp(min=torch.finfo(self.length.dtype).tiny)
        return length.log() - (self.norm_log + self.length_log) / length

    @property
    def size(self) -> int:
        """How many bytes they take, but for the heads' outputs.

        >>> RowStatistics(*[torch.ones(2)] * 15).size
        112
        """
        names = (item.name for item in fields(self) if item.name != "mixed")
        return sum(getattr(self, name).numel() * getattr(self, name).element_size() for name in names)

    def difference(self, other: RowStatistics, real: Tensor | None = None) -> float:
        """The largest difference in any figure, relative where figures are above one.

        ``real`` tells which queries count, (batch, query): at padding there may be nothing to see and nothing to
        compare.

        >>> t = torch.ones(1)
        >>> RowStatistics(*[t] * 15).difference(RowStatistics(*[t] * 15))
        0.0
        """
        worst = 0.0
        for item in fields(self):
            ours, theirs = getattr(self, item.name), getattr(other, item.name)
            apart = ((ours - theirs).abs() / theirs.abs().clamp(min=1)).nan_to_num(nan=torch.inf)
            apart = apart.masked_fill(ours.isnan() & theirs.isnan() | (ours == theirs), 0.0)  # neither has a score
            if real is not None and item.name not in ("pairs", "received"):
                apart = apart.transpose(1, 2)[real]
            worst = max(worst, float(apart.max()) if apart.numel() else 0.0)
        return worst


def statistics(
    call: AttentionCall,
    columns: Tensor,
    lengths: Tensor | None = None,
    pairs: Tensor | None = None,
    readers: Tensor | None = None,
) -> RowStatistics:
    """Row statistics by the fast way where the call allows it, else by the matrix.

    ``columns`` are (batch, 1, key, C), ``lengths`` ||f(x)|| as (batch, head, key), ``pairs`` (batch, P, 2) of query
    and key; ``readers``, (batch, query), say which queries count in what keys receive, all if left out.

    >>> q = torch.randn(1, 2, 5, 4)
    >>> call = AttentionCall("site", q, q, q, None, 0.5)
    >>> statistics(call, torch.ones(1, 1, 5, 1)).weight.squeeze().mean().round(decimals=4).item()
    1.0
    """
    if way_of(call)[0] != "matrix":
        return fast_statistics(call, columns, lengths, pairs, readers)
    return matrix_statistics(call, columns, lengths, pairs, readers)


def fast_statistics(
    call: AttentionCall,
    columns: Tensor,
    lengths: Tensor | None = None,
    pairs: Tensor | None = None,
    readers: Tensor | None = None,
) -> RowStatistics:
    """Row statistics by attention with packed values; no matrix is built.

    >>> q = torch.randn(2, 2, 5, 4)
    >>> call, columns = AttentionCall("site", q, q, q, None, 0.5), torch.rand(2, 1, 5, 3)
    >>> fast_statistics(call, columns).difference(matrix_statistics(call, columns)) < 1e-4
    True
    """
    attended = attend(call, columns, lengths, _readers(call, readers), pairs)
    return RowStatistics(**{name: getattr(attended, name) for name in Attended._fields if name != "lse"})


def _readers(call: AttentionCall, readers: Tensor | None) -> Tensor:
    """By how much each query counts in what keys receive, (batch, 1, query, 1)."""
    batch, _, queries, _ = call.shape
    if readers is None:
        return torch.ones(batch, 1, queries, 1, device=call.value.device)
    return readers[:, None, :, None].float()


def matrix_statistics(
    call: AttentionCall,
    columns: Tensor,
    lengths: Tensor | None = None,
    pairs: Tensor | None = None,
    readers: Tensor | None = None,
) -> RowStatistics:
    """The same statistics from the weights themselves, a block of rows at a time.

    >>> q = torch.randn(1, 2, 5, 4)
    >>> call = AttentionCall("site", q, q, q, None, 0.5)
    >>> matrix_statistics(call, torch.ones(1, 1, 5, 1)).total.round(decimals=4).unique().item()
    1.0
    """
    queries, reading = call.shape[2], _readers(call, readers)
    blocks = [
        _matrix(call, slice(start, min(start + _BLOCK, queries)), columns.float(), lengths, pairs, reading)
        for start in range(0, queries, _BLOCK)
    ]
    return RowStatistics(
        **{
            item.name: torch.stack([getattr(block, item.name) for block in blocks]).sum(0)
            if item.name in ("pairs", "received")
            else torch.cat([getattr(block, item.name) for block in blocks], dim=2)
            for item in fields(RowStatistics)
        }
    )


def _matrix(
    call: AttentionCall, rows: slice, columns: Tensor, lengths: Tensor | None, pairs: Tensor | None, readers: Tensor
) -> RowStatistics:
    batch, heads, queries, keys = call.shape
    weights = call.weights(rows).float()
    nu = torch.ones(batch, heads, 1, keys, device=weights.device) if lengths is None else lengths.float()[:, :, None]
    scaled = weights * nu
    logs = weights.clamp(min=1e-38).log()
    i = torch.arange(queries, device=weights.device)[rows]
    apart = (i[:, None] - torch.arange(keys, device=weights.device)).abs().float()
    within = (apart <= WINDOW) & (queries == keys)
    apart = apart if queries == keys else torch.zeros_like(apart)
    top = torch.full(weights.shape[:3], torch.nan, device=weights.device)
    if call.query is not None and call.replaced is None:
        visible = call.visible(rows)
        scores = call.scores(rows).float()
        top = (scores if visible is None else scores.masked_fill(~visible, -torch.inf)).amax(-1)
    near = torch.zeros(*weights.shape[:3], len(OFFSETS), device=weights.device)
    for place, offset in enumerate(OFFSETS):
        inside = (i + offset >= 0) & (i + offset < keys) & (queries == keys)
        reached = (i + offset).clamp(0, keys - 1).expand(*weights.shape[:3])[..., None]
        near[..., place] = weights.gather(-1, reached)[..., 0] * inside
    found = weights.new_zeros(batch, heads, 0)
    if pairs is not None and pairs.shape[1]:
        inside = (pairs[..., 0] >= rows.start) & (pairs[..., 0] < rows.stop)
        row = (pairs[..., 0] - rows.start).clamp(0, weights.shape[2] - 1)
        b = torch.arange(batch, device=weights.device)[:, None]
        found = (weights[b, :, row, pairs[..., 1]] * inside[..., None]).transpose(1, 2)
    return RowStatistics(
        weight=weights @ columns,
        norm=scaled @ columns,
        total=weights.sum(-1),
        length=scaled.sum(-1),
        weight_log=(weights * logs).sum(-1),
        norm_log=(scaled * logs).sum(-1),
        length_log=(scaled * nu.clamp(min=TINY).log()).sum(-1),
        weight_distance=(weights * apart).sum(-1),
        norm_distance=(scaled * apart).sum(-1),
        near=near,
        within=torch.stack([(weights * within).sum(-1), (scaled * within).sum(-1)], -1),
        top=top,
        received=(weights * readers[:, :, rows]).sum(2),
        pairs=found,
        mixed=torch.matmul(weights, call.values.float()),
    )


def uniform_call(call: AttentionCall) -> AttentionCall:
    """The same call for a head that attends evenly to whatever may be seen: the chance level of every figure.

    >>> q = torch.randn(1, 2, 4, 8)
    >>> even = uniform_call(AttentionCall("site", q, q, q, None, 0.5, causal=True))
    >>> even.weights()[0, 0, 3].tolist()
    [0.25, 0.25, 0.25, 0.25]
    """
    batch, _, queries, keys = call.shape
    mask = call.mask
    if call.given is not None:
        mask = call.visible()
        mask = None if mask is None else mask[:, :1]
    elif mask is not None and mask.dtype != torch.bool:
        mask = call.visible()
    zeros = torch.zeros(batch, 1, max(queries, keys), 8, device=call.value.device)
    return AttentionCall(
        call.site, zeros[:, :, :queries], zeros[:, :, :keys], zeros[:, :, :keys], mask, 1.0, call.causal
    )
