"""Where idle heads rest: sinks by the bar of Gu et al., those after the first piece, learned ones, and dormant heads.

The importance of key k is the mean weight that it gets from all queries that can see it, in one text:
imp_k = Σ_i α_ik / |{i that see k}|. A head *rests* on the first key of a text where imp_0 is above the bar.
"""

from __future__ import annotations

import torch
from torch import Tensor

from attlas.studies.roles.seen import Seen, Sums

BAR = 0.3


def importances(seen: Seen) -> tuple[Tensor, Tensor]:
    """imp_k of every key, (text, head, key), and how many queries see it, (text, key)."""
    real = seen.queries.real[:, :, None] & seen.keys.real[:, None, :]
    visible = seen.call.visible()
    sees = real if visible is None else real & visible[:, 0]
    readers = sees.sum(1)
    received = (seen.weights * real[:, None]).sum(2)
    return received / readers.clamp(min=1)[:, None], readers


def rests(seen: Seen) -> Sums:
    """Whether the first key is above the bar, in each text."""
    share, count = first_share(seen)
    return (share > BAR).float(), count


def first_share(seen: Seen) -> Sums:
    """imp_0, in each text."""
    received, _ = importances(seen)
    share = (received * seen.begins[:, None]).sum(2)
    return share, torch.ones_like(share[:, :1])


def _second(seen: Seen) -> Tensor:
    """Which keys after the first are above the bar, (text, head, key), of those that half of the queries can see."""
    received, readers = importances(seen)
    enough = readers * 2 >= seen.queries.real.sum(1, keepdim=True)
    among = seen.keys.real & ~seen.begins & enough
    return (received > BAR) & among[:, None]


def second_sink(seen: Seen) -> Sums:
    """Whether any key after the first is above the bar, in each text."""
    found = _second(seen).any(2).float()
    return found, torch.ones_like(found[:, :1])


def first_value(seen: Seen) -> Sums:
    """The length of the first key's value over the mean of the others', in each text."""
    lengths, others = _lengths(seen)
    first = (lengths * seen.begins[:, None]).sum(2)
    return first / others, torch.ones_like(first[:, :1])


def second_value(seen: Seen) -> Sums:
    """The length of the values of secondary sinks over the mean of the other keys', in texts that have one."""
    chosen = _second(seen)
    lengths, others = _lengths(seen)
    sums = (lengths * chosen).sum(2) / others
    return sums, chosen.sum(2).to(sums.dtype)


def _lengths(seen: Seen) -> tuple[Tensor, Tensor]:
    """The lengths of values, (text, head, key), and their mean after the first key, (text, head)."""
    lengths = seen.call.values.float().norm(dim=-1)
    rest = (seen.keys.real & ~seen.begins)[:, None].to(lengths.dtype)
    mean = (lengths * rest).sum(2) / rest.sum(2).clamp(min=1)
    return lengths, mean.clamp(min=1e-30)


def learned(seen: Seen) -> Sums:
    """What of a query's weight goes to no key, over all queries."""
    real = seen.queries.real[:, None].to(seen.weights.dtype)
    nowhere = ((1 - seen.weights.sum(3)) * real).sum(2)
    return nowhere, real.sum(2)


def written(seen: Seen) -> Sums:
    """The mean length of what a head adds to the residual, over that of an average head of its layer, by text."""
    matrix = seen.subject.output_matrix(seen.call.site).detach().float()
    mixed = torch.matmul(seen.weights, seen.call.values.float())
    squares = torch.einsum("hwd,hvd->hwv", matrix, matrix)
    lengths = torch.einsum("bhqw,hwv,bhqv->bhq", mixed, squares, mixed).clamp(min=0).sqrt()
    real = seen.queries.real[:, None].to(lengths.dtype)
    mean = (lengths * real).sum(2) / real.sum(2).clamp(min=1)
    return mean / mean.mean(1, keepdim=True).clamp(min=1e-30), torch.ones_like(mean[:, :1])
