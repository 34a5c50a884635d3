"""Rank correlation of many samples at once.

Spearman's rho of n pairs without ties is 1 - 6 sum d^2 / (n (n^2 - 1)), with d the difference of ranks. Where many
values are equal (words that occur equally often), equals share the mean of their ranks, and rho is Pearson's
correlation of these.
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


def shared_ranks(values: Tensor, real: Tensor) -> Tensor:
    """Ranks along the last axis among the real places, from 0; equal values share the mean of theirs.

    >>> shared_ranks(torch.tensor([3.0, 1.0, 3.0, 9.0]), torch.tensor([True, True, True, False])).tolist()[:3]
    [1.5, 0.0, 1.5]
    """
    filled = values.double().masked_fill(~real, float("inf")).contiguous()  # what is not real is ranked last
    ordered = filled.sort(dim=-1).values
    below = torch.searchsorted(ordered, filled)
    return (below + torch.searchsorted(ordered, filled, right=True) - 1).double() / 2


def spearman_of_equals(one: Tensor, other: Tensor, real: Tensor) -> Tensor:
    """Spearman's rho along the last axis, over the places that are real, where there may be many equals; NaN where
    all values of either side are.

    >>> every = torch.ones(4, dtype=torch.bool)
    >>> spearman_of_equals(torch.tensor([1.0, 1, 2, 2]), torch.tensor([3.0, 4, 5, 5]), every).item()
    0.9428...
    """
    n = real.sum(-1, keepdim=True).clamp(min=1)
    centred = []
    for values in (one, other):
        found = shared_ranks(values, real.expand_as(values)) * real
        centred.append((found - found.sum(-1, keepdim=True) / n) * real)
    a, b = centred
    return (a * b).sum(-1) / (a.square().sum(-1) * b.square().sum(-1)).sqrt()
