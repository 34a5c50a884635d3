"""Rank correlation of many samples at once.

Spearman's rho is Pearson's of ranks, where equal values share the mean of their ranks.
"""

from __future__ import annotations

import torch
from torch import Tensor


def average_ranks(values: Tensor) -> Tensor:
    """Ranks along the last axis, from 1; equal values get the mean of theirs.

    >>> average_ranks(torch.tensor([3.0, 1.0, 3.0])).tolist()
    [2.5, 1.0, 2.5]
    """
    ordered = values.sort(dim=-1).values
    below = torch.searchsorted(ordered, values.contiguous(), right=False)
    upto = torch.searchsorted(ordered, values.contiguous(), right=True)
    return (below + upto + 1).double() / 2


def spearman(one: Tensor, other: Tensor) -> Tensor:
    """Spearman's rho along the last axis; 0 where one of the two does not vary.

    >>> spearman(torch.tensor([1.0, 2.0, 3.0]), torch.tensor([1.0, 4.0, 9.0])).item()
    1.0
    """
    a, b = average_ranks(one), average_ranks(other)
    a, b = a - a.mean(-1, keepdim=True), b - b.mean(-1, keepdim=True)
    spread = (a.square().sum(-1) * b.square().sum(-1)).sqrt()
    return torch.where(spread > 0, (a * b).sum(-1) / spread.clamp(min=1e-300), 0.0)
