"""How far apart two distributions are: attention rows, or a model's predictions.

All three take two tensors whose last axis sums to one and give one number for each pair of rows, in nats where there
are logarithms, and all can be differentiated. Nothing is smoothed but for KL's second argument, whose zeros are taken
for the least normal number, since the divergence has no bound there; 0 ln 0 is 0. Where a key cannot be seen both
rows are zero, and it adds nothing.
"""

from __future__ import annotations

import torch
from torch import Tensor

_TINY = torch.finfo(torch.float32).tiny


def kl(one: Tensor, other: Tensor) -> Tensor:
    """Kullback-Leibler divergence of the second from the first: the sum of one ln (one / other).

    >>> round(kl(torch.tensor([0.5, 0.5]), torch.tensor([0.25, 0.75])).item(), 4)
    0.1438
    """
    return (one * (one.clamp(min=_TINY).log() - other.clamp(min=_TINY).log())).sum(-1)


def js(one: Tensor, other: Tensor) -> Tensor:
    """Jensen-Shannon divergence: the mean of both rows' KL from their middle, between 0 and ln 2.

    >>> round(js(torch.tensor([1.0, 0.0]), torch.tensor([0.0, 1.0])).item(), 4)
    0.6931
    """
    middle = (one + other) / 2
    return (kl(one, middle) + kl(other, middle)) / 2


def tvd(one: Tensor, other: Tensor) -> Tensor:
    """Total variation distance: half the sum of absolute differences, between 0 and 1.

    >>> tvd(torch.tensor([1.0, 0.0]), torch.tensor([0.5, 0.5])).item()
    0.5
    """
    return (one - other).abs().sum(-1) / 2
