"""Statistics of a head that attends evenly to all it may see, in closed form: the chance level of every figure.

Where no mask says otherwise, a query sees all keys, or those up to its own place. Its weights are one over how many
these are, and every sum over keys is a sum of whole numbers or a running sum.
"""

from __future__ import annotations

import torch
from torch import Tensor

from attlas.models import AttentionCall


def even_sums(
    call: AttentionCall, columns: Tensor, pairs: Tensor | None, readers: Tensor, offsets: tuple[int, ...], window: int
) -> dict[str, Tensor]:
    """The fields of :class:`attlas.measures.rows.RowStatistics` for a call without a mask, with one head; ``readers``
    are (batch, query).

    >>> q = torch.zeros(1, 1, 3, 8)
    >>> call = AttentionCall("site", q, q, q, None, 1.0, causal=True)
    >>> even_sums(call, torch.tensor([[[[1.0], [0.0], [0.0]]]]), None, torch.ones(1, 3), (0,), 1)["weight"].flatten()
    tensor([1.0000, 0.5000, 0.3333])
    """
    batch, heads, queries, keys = call.shape
    place = torch.arange(queries, device=columns.device)
    last = place.clamp(max=keys - 1) if call.causal else torch.full_like(place, keys - 1)  # that each query sees
    share = 1 / (last + 1).float()
    one_text = queries == keys
    of_row = columns.new_zeros(batch, heads, queries)
    i, end = place.double(), last.double()
    apart = (i * (i + 1) + (end - i) * (end - i + 1)) / 2 * share.double() * one_text  # to both sides
    beside = (place.clamp(max=window) + 1 + (last - place).clamp(max=window)) * share * one_text
    reached = [place + offset for offset in offsets]
    near = torch.stack([((at >= 0) & (at <= last)) * share * one_text for at in reached], -1)
    weight = columns.float().cumsum(2)[:, :, last] * share[:, None]
    paid = (readers * share).flip(1).cumsum(1).flip(1)  # by all queries from each on
    paid = paid[:, :1].expand(batch, keys) if not call.causal else _behind(paid, keys)
    found = columns.new_zeros(batch, heads, 0)
    if pairs is not None and pairs.shape[1]:
        query, key = pairs[..., 0], pairs[..., 1]
        found = (share[query] * (key <= last[query]))[:, None].expand(batch, heads, -1)
    total, entropy, distance = of_row + 1, of_row - (last + 1).log(), of_row + apart.float()
    both = (of_row + beside)[..., None].expand(*of_row.shape, 2)
    return {
        "weight": weight, "norm": weight, "total": total, "length": total, "weight_log": entropy, "norm_log": entropy,
        "length_log": of_row, "weight_distance": distance, "norm_distance": distance,
        "near": near.expand(*of_row.shape, -1), "within": both, "top": of_row, "received": paid[:, None],
        "pairs": found, "mixed": call.values.float().mean(2, keepdim=True).expand(-1, -1, queries, -1),
    }  # fmt: skip


def _behind(paid: Tensor, keys: int) -> Tensor:
    """What is paid from each key's place on; nothing to keys that lie behind all queries."""
    return torch.nn.functional.pad(paid[:, :keys], (0, max(0, keys - paid.shape[1])))
