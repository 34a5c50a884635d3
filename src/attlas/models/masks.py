"""What queries may see, as an interval of keys for each.

Padding, causal order, windows, chunks and packed texts all let a query see keys that lie side by side: from a start
to a stop. Two numbers a query say what a mask of n x n says, and a kernel that knows them never looks at the rest.
"""

from __future__ import annotations

from typing import NamedTuple

import torch
from torch import Tensor
from torch.utils.weak import WeakTensorKeyDictionary


class Intervals(NamedTuple):
    """The first key that each query sees, and the one after its last: (batch or 1, query), whole numbers.

    >>> Intervals(torch.tensor([[0]]), torch.tensor([[3]])).stop.item()
    3
    """

    start: Tensor
    stop: Tensor


def intervals_of(mask: Tensor) -> Intervals | None:
    """The intervals of a boolean mask, (batch or 1, 1, query, key); None where a query sees keys with others between,
    or heads see different ones.

    >>> found = intervals_of(torch.ones(3, 3, dtype=torch.bool).tril()[None, None])
    >>> found.start.tolist(), found.stop.tolist()
    ([[0, 0, 0]], [[1, 2, 3]])
    >>> intervals_of(torch.tensor([[[[True, False, True]]]])) is None
    True
    """
    known: Intervals | None
    if mask in _KNOWN:
        known = _KNOWN[mask]
        return known
    known = None
    if mask.shape[1] == 1:
        alike = mask.stride(2) == 0  # one row stands for all
        rows = mask[:, 0, :1] if alike else mask[:, 0]
        seen = rows.sum(-1, dtype=torch.int32)
        start = rows.to(torch.uint8).argmax(-1).to(torch.int32)
        place = torch.arange(rows.shape[-1], device=rows.device)
        last = torch.where(rows, place, -1).amax(-1).to(torch.int32)
        stop = torch.where(seen > 0, last + 1, start)
        if bool((stop - start == seen).all()):
            queries = mask.shape[2]
            known = Intervals(*(part.expand(-1, queries).contiguous() for part in (start, stop)))
    _KNOWN[mask] = known
    return known


_KNOWN = WeakTensorKeyDictionary()
