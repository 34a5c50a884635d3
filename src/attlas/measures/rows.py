"""Statistics of attention, row by row, without its matrix.

For every query we want sums over keys: the weight on a class of keys, the mean position, the entropy, and the same
for norms. All of them are attention with other values, so the fused kernels that never build the matrix can give
them. With lse_i the log-sum-exp of row i's scores, s_ij the scores and c_j any number that a key carries:

- sum_j alpha_ij c_j is attention with c as a value column;
- sum_j alpha_ij log alpha_ij = scale q_i . (attention with the keys as values)_i - lse_i, which is minus the entropy;
- alpha_ij of single pairs is exp(s_ij - lse_i), one dot product each;
- for norms, alpha_ij ||f(x_j)||, the same with columns multiplied by ||f(x_j)||;
- sum_j alpha_ij |i - j| splits into what lies before the query and what lies after; the part before is attention
under a causal mask.

:func:`fused_statistics` packs all columns beside each other and needs one wide fused attention, and a causal one
for distances; memory grows with n, not n x n. :func:`matrix_statistics` computes the same from the weights, a block
of rows at a time: it serves families whose scores are more than dot products, and is the slow twin that the tests
hold the fast path to.
"""

from __future__ import annotations

from dataclasses import dataclass, fields

import torch
from torch import Tensor
from torch.nn.functional import pad

from attlas.models import AttentionCall

OFFSETS = (-1, 0, 1)
_CPU_BYTES, _DEVICE_BYTES = 24 << 20, 1 << 30
_BLOCK = 128


@dataclass(frozen=True)
class RowStatistics:
    """Sums over keys for every query; axes (batch, head, query) and then columns, offsets or nothing.

    ``weight`` and ``norm`` are sums of alpha c and alpha nu c; ``total`` and ``length`` those of alpha and alpha
    nu; ``weight_log``, ``norm_log`` those of alpha log alpha and alpha nu log alpha, ``length_log`` of alpha nu log
    nu; ``weight_distance`` and ``norm_distance`` those of alpha |i - j| and alpha nu |i - j|. ``near`` is alpha at
    the previous, own and next position, ``pairs`` alpha at the pairs asked for.

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
    pairs: Tensor

    @property
    def entropy(self) -> Tensor:
        """Entropy of the weights, in nats.

        >>> flat = torch.full((1, 1, 2), 0.5)
        >>> (-(flat * flat.log()).sum(-1)).isclose(torch.tensor(2.0).log()).item()
        True
        """
        return -self.weight_log

    @property
    def norm_entropy(self) -> Tensor:
        """Entropy of the norms, each row divided by its sum.

        >>> RowStatistics.norm_entropy.__doc__.startswith("Entropy")
        True
        """
        length = self.length.clamp(min=torch.finfo(self.length.dtype).tiny)
        return length.log() - (self.norm_log + self.length_log) / length

    def difference(self, other: RowStatistics, real: Tensor | None = None) -> float:
        """The largest difference in any figure, relative where figures are above one.

        ``real`` tells which queries count, (batch, query): at padding there may be nothing to see and nothing to
        compare.

        >>> t = torch.ones(1)
        >>> RowStatistics(*[t] * 11).difference(RowStatistics(*[t] * 11))
        0.0
        """
        worst = 0.0
        for item in fields(self):
            ours, theirs = getattr(self, item.name), getattr(other, item.name)
            apart = (ours - theirs).abs() / theirs.abs().clamp(min=1)
            if real is not None and item.name != "pairs":
                apart = apart.transpose(1, 2)[real]
            worst = max(worst, float(apart.max()) if apart.numel() else 0.0)
        return worst


class Masks:
    """Additive forms of boolean masks, each made once: the layers of a model share their mask.

    Keep one for the length of a forward pass.

    >>> mask = torch.tensor([[[[True, False], [True, True]]]])
    >>> Masks().additive(mask)[0, 0, 0].tolist()
    [0.0, -1.0000000150474662e+30]
    """

    def __init__(self) -> None:
        self._made: dict[tuple[int, bool], tuple[Tensor, Tensor]] = {}

    def additive(self, mask: Tensor | None, *, lower: bool = False) -> Tensor | None:
        """What to add to scores; not quite minus infinity, so that a row with nothing to see stays finite.

        >>> Masks().additive(None) is None
        True
        """
        if mask is None:
            return None
        key = (id(mask), lower)
        if key not in self._made:
            kept = mask & torch.ones_like(mask[:1]).tril() if lower else mask
            made = torch.zeros(mask.shape, device=mask.device).masked_fill_(~kept, -1e30)
            self._made[key] = (mask, made)  # holding the mask keeps its id from being used again
        return self._made[key][1]


def statistics(
    call: AttentionCall,
    columns: Tensor,
    lengths: Tensor | None = None,
    pairs: Tensor | None = None,
    masks: Masks | None = None,
) -> RowStatistics:
    """Row statistics by the fast way where the call allows it, else by the matrix.

    ``columns`` are (batch, 1, key, C), ``lengths`` ||f(x)|| as (batch, head, key), ``pairs`` (batch, P, 2) of query
    and key.

    >>> q = torch.randn(1, 2, 5, 4)
    >>> call = AttentionCall("site", q, q, q, None, 0.5)
    >>> statistics(call, torch.ones(1, 1, 5, 1)).weight.squeeze().mean().round(decimals=4).item()
    1.0
    """
    if call.fusable and call.value.device.type in ("cpu", "cuda"):
        return fused_statistics(call, columns, lengths, pairs, masks)
    return matrix_statistics(call, columns, lengths, pairs)


def fused_statistics(
    call: AttentionCall,
    columns: Tensor,
    lengths: Tensor | None = None,
    pairs: Tensor | None = None,
    masks: Masks | None = None,
) -> RowStatistics:
    """Row statistics by fused attention, a few examples of the batch at a time; no matrix is built.

    >>> q = torch.randn(2, 2, 5, 4)
    >>> call = AttentionCall("site", q, q, q, None, 0.5)
    >>> fused_statistics(call, torch.rand(2, 1, 5, 3)).difference(matrix_statistics(call, torch.ones(2, 1, 5, 3))) > 0
    True
    """
    batch, heads, _, keys = call.shape
    assert call.query is not None
    width = 2 * call.query.shape[-1] + 2 * columns.shape[-1] + 6
    budget = _CPU_BYTES if call.value.device.type == "cpu" else _DEVICE_BYTES
    step = max(1, budget // (16 * heads * keys * width))
    masks = masks or Masks()
    bias, lower = masks.additive(call.mask), None
    if call.shape[2] == keys and not call.causal:
        lower = masks.additive(call.mask, lower=True)
    parts = []
    for start in range(0, batch, step):
        part = slice(start, start + step)
        parts.append(
            _fused(
                _part(call, part),
                columns[part].float(),
                None if lengths is None else lengths[part].float(),
                None if pairs is None else pairs[part],
                _some(bias, part),
                _some(lower, part),
            )
        )
    return parts[0] if len(parts) == 1 else RowStatistics(
        *(torch.cat([getattr(part, item.name) for part in parts]) for item in fields(RowStatistics))
    )  # fmt: skip


def _part(call: AttentionCall, part: slice) -> AttentionCall:
    """A few examples of a call, in float32."""
    assert call.query is not None
    assert call.key is not None
    query, key = call.query[part].float(), call.key[part].float()
    return AttentionCall(call.site, query, key, call.value[part], _some(call.mask, part), call.scaling, call.causal)


def _some(mask: Tensor | None, part: slice) -> Tensor | None:
    """The mask of a few examples; one for all serves as it is."""
    return mask[part] if mask is not None and mask.shape[0] > 1 else mask


def _fused(
    call: AttentionCall,
    columns: Tensor,
    lengths: Tensor | None,
    pairs: Tensor | None,
    bias: Tensor | None,
    lower: Tensor | None,
) -> RowStatistics:
    query, key = call.query, call.keys
    assert query is not None
    batch, heads, queries, keys = call.shape
    d, c = query.shape[-1], columns.shape[-1]
    column = columns.expand(batch, heads, keys, c)
    place = torch.arange(keys, device=query.device, dtype=torch.float32)[:, None].expand(batch, heads, keys, 1)
    packed = [key, column, place, torch.ones_like(place)]
    if lengths is not None:
        nu = lengths[..., None]
        packed += [nu * key, nu * column, nu * place, nu, nu * nu.clamp(min=1e-30).log()]
    out, lse = _attention(query, key, torch.cat(packed, dim=-1), call.scaling, bias, call.causal)

    def dot(part: Tensor) -> Tensor:
        return call.scaling * (query * part).sum(-1)

    weight_log = dot(out[..., :d]) - lse
    weight, position = out[..., d : d + c], out[..., d + c]
    total = out[..., d + c + 1]  # one, but with the rounding of its row, which then cancels in distances
    if lengths is None:
        norm, length, norm_position = weight, total, position
        norm_log, length_log = weight_log, torch.zeros_like(lse)
    else:
        rest = out[..., d + c + 2 :]
        norm, norm_position, length, length_log = rest[..., d : d + c], rest[..., d + c], rest[..., -2], rest[..., -1]
        norm_log = dot(rest[..., :d]) - lse * length
    i = torch.arange(queries, device=query.device, dtype=torch.float32)
    if queries != keys:
        weight_distance = norm_distance = torch.zeros_like(lse)
    elif call.causal:
        weight_distance, norm_distance = i * total - position, i * length - norm_position
    else:
        before, norm_before = _before(call.scaling, query, key, lse, place, lengths, lower)
        weight_distance = position - i * total + 2 * before
        norm_distance = norm_position - i * length + 2 * norm_before if lengths is not None else weight_distance
    return RowStatistics(
        weight, norm, total, length, weight_log, norm_log, length_log, weight_distance, norm_distance,
        _near(call, query, key, lse), _pairs(call, query, key, lse, pairs),
    )  # fmt: skip


def _before(
    scaling: float,
    query: Tensor,
    key: Tensor,
    lse: Tensor,
    place: Tensor,
    lengths: Tensor | None,
    lower: Tensor | None,
) -> tuple[Tensor, Tensor]:
    """Sums over keys before the query of alpha (i - j) and alpha nu (i - j), by attention under a causal mask."""
    values = [torch.ones_like(place), place]
    if lengths is not None:
        values += [lengths[..., None], lengths[..., None] * place]
    out, below = _attention(query, key, torch.cat(values, dim=-1), scaling, lower, lower is None)
    out = out * (below - lse).clamp(max=0).exp()[..., None]
    i = torch.arange(query.shape[2], device=query.device, dtype=torch.float32)
    before = i * out[..., 0] - out[..., 1]
    return before, (i * out[..., 2] - out[..., 3] if lengths is not None else before)


def _attention(
    query: Tensor, key: Tensor, value: Tensor, scale: float, mask: Tensor | None, causal: bool
) -> tuple[Tensor, Tensor]:
    """Fused attention with its log-sum-exp; queries and values may differ in width."""
    wide = value.shape[-1]
    if query.device.type == "cpu":
        even = max(wide, query.shape[-1])
        query, key = pad(query, (0, even - query.shape[-1])), pad(key, (0, even - key.shape[-1]))
        value = pad(value, (0, even - wide))
        out, lse = torch.ops.aten._scaled_dot_product_flash_attention_for_cpu(
            query, key, value, 0.0, causal, attn_mask=mask, scale=scale
        )
        return out[..., :wide], lse
    value = pad(value, (0, -wide % 8))
    query, key = (pad(t, (0, -t.shape[-1] % 8)) for t in (query, key))
    bias = None
    if mask is not None:
        ragged = -mask.shape[-1] % 8  # rows of a bias must start at aligned addresses
        bias = pad(mask, (0, ragged))[..., : mask.shape[-1]]
        bias = bias.expand(query.shape[0], query.shape[1], query.shape[2], key.shape[2])
    out, lse, *_ = torch.ops.aten._scaled_dot_product_efficient_attention(
        query, key, value, bias, True, 0.0, causal, scale=scale
    )
    return out[..., :wide], lse[..., : query.shape[2]]


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


def _pairs(call: AttentionCall, query: Tensor, key: Tensor, lse: Tensor, pairs: Tensor | None) -> Tensor:
    """Weights at single pairs, (batch, head, P); 0 where the key cannot be seen."""
    batch, heads, _, _ = call.shape
    if pairs is None or not pairs.shape[1]:
        return query.new_zeros(batch, heads, 0)
    i, j = pairs[..., 0], pairs[..., 1]
    b = torch.arange(batch, device=query.device)[:, None]
    # Indexing by two arrays around a slice puts their axes first: (batch, P, head, width).
    scores = call.scaling * torch.einsum("bphd,bphd->bph", query[b, :, i], key[b, :, j])
    weights = (scores - lse[b, :, i]).exp()
    if call.mask is not None:
        mask = call.mask.expand(batch, 1, *call.mask.shape[2:])
        weights = torch.where(mask[b, 0, i, j][..., None], weights, 0.0)
    elif call.causal:
        weights = torch.where((j <= i)[..., None], weights, 0.0)
    return weights.transpose(1, 2)


def matrix_statistics(
    call: AttentionCall,
    columns: Tensor,
    lengths: Tensor | None = None,
    pairs: Tensor | None = None,
    masks: Masks | None = None,
) -> RowStatistics:
    """The same statistics from the weights themselves, a block of rows at a time (``masks`` is not needed).

    >>> q = torch.randn(1, 2, 5, 4)
    >>> call = AttentionCall("site", q, q, q, None, 0.5)
    >>> matrix_statistics(call, torch.ones(1, 1, 5, 1)).total.round(decimals=4).unique().item()
    1.0
    """
    queries = call.shape[2]
    blocks = [
        _matrix(call, slice(start, min(start + _BLOCK, queries)), columns.float(), lengths, pairs)
        for start in range(0, queries, _BLOCK)
    ]
    joined = {
        item.name: torch.cat([getattr(block, item.name) for block in blocks], dim=2)
        for item in fields(RowStatistics)
        if item.name != "pairs"
    }
    return RowStatistics(**joined, pairs=torch.stack([block.pairs for block in blocks]).sum(0))


def _matrix(
    call: AttentionCall, rows: slice, columns: Tensor, lengths: Tensor | None, pairs: Tensor | None
) -> RowStatistics:
    batch, heads, queries, keys = call.shape
    weights = call.weights(rows).float()
    nu = torch.ones(batch, heads, 1, keys, device=weights.device) if lengths is None else lengths.float()[:, :, None]
    scaled = weights * nu
    logs = weights.clamp(min=1e-38).log()
    i = torch.arange(queries, device=weights.device)[rows]
    apart = (i[:, None] - torch.arange(keys, device=weights.device)).abs().float()
    apart = apart if queries == keys else torch.zeros_like(apart)
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
        length_log=(scaled * nu.clamp(min=1e-30).log()).sum(-1),
        weight_distance=(weights * apart).sum(-1),
        norm_distance=(scaled * apart).sum(-1),
        near=near,
        pairs=found,
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
