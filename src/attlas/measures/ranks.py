"""Rank correlation of many samples at once.

Spearman's rho of n pairs without ties is 1 - 6 sum d^2 / (n (n^2 - 1)), with d the difference of ranks.
"""

from __future__ import annotations

import torch
from torch import Tensor


def ranks(values: Tensor) -> Tensor:
    """Ranks along the last axis, from 0; equal values are ranked in order of place.

    >>> ranks(torch.tensor([3.0, 1.0, 2.0])).tolist()
    [2, 0, 1]
    """
    order = values.argsort(dim=-1, stable=True)
    places = torch.arange(values.shape[-1], device=values.device).expand_as(order)
    return torch.empty_like(order).scatter_(-1, order, places)


def spearman(one: Tensor, other: Tensor, real: Tensor) -> Tensor:
    """Spearman's rho along the last axis, over the places that are real; 0 where there are fewer than two.

    >>> every = torch.ones(3, dtype=torch.bool)
    >>> spearman(torch.tensor([1.0, 2.0, 3.0]), torch.tensor([1.0, 4.0, 9.0]), every).item()
    1.0
    """
    unreal = float("inf")  # ranked last, and the same in both
    a, b = (ranks(values.masked_fill(~real, unreal)) for values in (one, other))
    apart = ((a - b) * real).double().square().sum(-1)
    n = real.sum(-1).double()
    return torch.where(n > 1, 1 - 6 * apart / (n * (n.square() - 1)).clamp(min=1), 0.0)
