"""Rank correlation of many samples at once.

Spearman's rho of n pairs without ties is 1 - 6 sum d^2 / (n (n^2 - 1)), with d the difference of ranks. Where many
values are equal (words that occur equally often), equals share the mean of their ranks, and rho is Pearson's
correlation of these. Kendall's tau-b counts pairs of places instead: those that both sides put in the same order less
those that they do not, divided by the geometric mean of the pairs that either side puts in any order.
"""

from __future__ import annotations

from typing import NamedTuple

import torch
from torch import Tensor


class Kendall(NamedTuple):
    """Tau-b, and the two-sided p value of no agreement by the normal approximation.

    >>> Kendall._fields
    ('tau', 'p')
    """

    tau: Tensor
    p: Tensor


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


def kendall(one: Tensor, other: Tensor, real: Tensor) -> Kendall:
    """Kendall's tau-b along the last axis, over the places that are real; NaN where all values of either side are
    equal. Its p value is by the normal approximation with its correction for ties.

    >>> every = torch.ones(4, dtype=torch.bool)
    >>> found = kendall(torch.tensor([1.0, 2, 3, 4]), torch.tensor([1.0, 3, 2, 4]), every)
    >>> round(found.tau.item(), 4), round(found.p.item(), 4)
    (0.6667, 0.1742)
    """
    pairs = real.unsqueeze(-1) & real.unsqueeze(-2)
    signs = [_order(values) * pairs for values in (one, other)]
    agreeing = (signs[0] * signs[1]).sum((-1, -2)).double() / 2
    ordered = [sign.abs().sum((-1, -2)).double() / 2 for sign in signs]
    tau = agreeing / (ordered[0] * ordered[1]).sqrt()
    n = real.sum(-1).double()
    all_pairs = n * (n - 1)
    (tied, twice, thrice), (tied_, twice_, thrice_) = (_ties((sign == 0) & pairs, real) for sign in signs)
    spread = (all_pairs * (2 * n + 5) - thrice - thrice_) / 18
    spread = spread + tied * tied_ / (2 * all_pairs).clamp(min=1)
    spread = spread + twice * twice_ / (9 * all_pairs * (n - 2)).clamp(min=1)
    p = torch.erfc(agreeing.abs() / (2 * spread).sqrt())
    return Kendall(tau, torch.where(tau.isnan(), tau, p))


def _order(values: Tensor) -> Tensor:
    """Which of each two places has the larger value: 1, -1, or 0 for equals."""
    return (values.unsqueeze(-1) > values.unsqueeze(-2)).int() - (values.unsqueeze(-1) < values.unsqueeze(-2)).int()


def _ties(equal: Tensor, real: Tensor) -> tuple[Tensor, Tensor, Tensor]:
    """Sums over groups of equals, of size t: t(t-1), t(t-1)(t-2) and t(t-1)(2t+5)."""
    t = equal.sum(-1).double()  # of each place, how many equal it, itself among them
    return tuple(  # type: ignore[return-value]
        (factor * real).sum(-1) for factor in (t - 1, (t - 1) * (t - 2), (t - 1) * (2 * t + 5))
    )
