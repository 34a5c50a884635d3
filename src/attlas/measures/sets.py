"""How much attention falls on keys that depend on the query: never the matrix.

Columns that keys carry (:mod:`attlas.measures.rows`) are the same for every query. What follows a piece like the
query's own, the sentence it stands in, the other mentions of its referent are other keys for each: here they are
*sets*, which say of some rows of queries which keys are meant. Weights are made a block of rows at a time, and the
blocks get smaller as texts get longer, so that memory grows with n. A key that a query may not see has no weight, and
adds nothing, whatever set it is in.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

import torch
from torch import Tensor

from attlas.errors import CapabilityError
from attlas.models import AttentionCall

MOST_LISTED = 8
BLOCKS = {"cpu": 1 << 20, "cuda": 1 << 26}  # weights at a time


class Keys(Protocol):
    """A set of keys for each query."""

    def among(self, rows: slice, keys: int) -> Tensor:
        """Which keys are meant by some rows of queries: boolean, (batch or 1, row, key)."""
        ...


@dataclass(frozen=True)
class SameId:
    """Keys that carry the query's own number: ``queries`` (batch, query) and ``keys`` (batch, key) are integers,
    negative where there is none. Without ``own`` the key at the query's own place is left out.

    What followed an earlier occurrence of the query's piece are the keys whose previous piece is the query's.

    >>> ids = torch.tensor([[5, 6, 5, 6]])
    >>> before = torch.cat([torch.tensor([[-1]]), ids[:, :-1]], 1)
    >>> SameId(ids, before).among(slice(2, 3), 4)[0].tolist()
    [[False, True, False, True]]
    """

    queries: Tensor
    keys: Tensor
    own: bool = True

    def among(self, rows: slice, keys: int) -> Tensor:
        """Which keys carry the numbers of some rows."""
        asking, answering = self.queries[:, rows, None], self.keys[:, None, :]
        meant = (asking == answering) & (asking >= 0)
        return meant if self.own else meant & (_places(rows, asking) != _places(slice(0, keys), answering))


@dataclass(frozen=True)
class Interval:
    """Keys from ``start`` on and before ``stop``, which are integers (batch or 1, query).

    >>> some = Interval(torch.tensor([[0, 1]]), torch.tensor([[1, 3]]))
    >>> some.among(slice(0, 2), 3)[0].tolist()
    [[True, False, False], [False, True, True]]
    """

    start: Tensor
    stop: Tensor

    def among(self, rows: slice, keys: int) -> Tensor:
        """Which keys lie within the intervals of some rows."""
        place = torch.arange(keys, device=self.start.device)
        return (place >= self.start[:, rows, None]) & (place < self.stop[:, rows, None])


@dataclass(frozen=True)
class Listed:
    """Up to eight keys by their places, (batch or 1, query, listed), -1 for none; one listed twice counts once.

    >>> Listed(torch.tensor([[[0, 2], [2, -1]]])).among(slice(0, 2), 3)[0].tolist()
    [[True, False, True], [False, False, True]]
    >>> Listed(torch.zeros(1, 1, 9))
    Traceback (most recent call last):
        ...
    attlas.errors.CapabilityError: 9 keys are listed for a query and there may be 8; give an interval, or numbers ...
    """

    places: Tensor

    def __post_init__(self) -> None:
        listed = self.places.shape[-1]
        if listed > MOST_LISTED:
            raise CapabilityError(
                f"{listed} keys are listed for a query and there may be {MOST_LISTED}; give an interval, or numbers "
                "that queries and keys share"
            )

    def among(self, rows: slice, keys: int) -> Tensor:
        """Which keys some rows list."""
        places = self.places[:, rows].long()
        meant = torch.zeros(*places.shape[:2], keys + 1, dtype=torch.bool, device=places.device)
        return meant.scatter_(-1, places.masked_fill(places < 0, keys), True)[..., :keys]


@dataclass(frozen=True)
class Spans:
    """Named spans, the same for all queries: ``members`` (batch or 1, span, key) is true where a key belongs to one.

    >>> Spans(torch.tensor([[[True, False], [True, True]]])).members.shape
    torch.Size([1, 2, 2])
    """

    members: Tensor


def mass_on(call: AttentionCall, *wanted: Keys | Spans, lengths: Tensor | None = None) -> list[Tensor]:
    """How much of each query's attention falls on each of these sets, (batch, head, query), or for :class:`Spans`
    (batch, head, query, span). With ``lengths`` ||f(x)||, (batch, head, key), weights are multiplied by them.

    >>> q = torch.zeros(1, 2, 4, 8)  # queries of zero attend evenly
    >>> call = AttentionCall("site", q, q, q, None, 1.0, causal=True)
    >>> ids = torch.tensor([[5, 6, 5, 6]])
    >>> mass_on(call, SameId(ids, ids))[0][0, 0].tolist()
    [1.0, 0.5, 0.666..., 0.5]
    """
    batch, heads, queries, keys = call.shape
    rows = max(1, BLOCKS.get(call.value.device.type, BLOCKS["cpu"]) // (batch * heads * keys))
    found: list[list[Tensor]] = [[] for _ in wanted]
    for start in range(0, queries, rows):
        here = slice(start, min(start + rows, queries))
        weights = call.weights(here).float()
        weights = weights if lengths is None else weights * lengths[:, :, None].float()
        for some, masses in zip(wanted, found, strict=True):
            if isinstance(some, Spans):
                masses.append(weights @ some.members[:, None].transpose(2, 3).to(weights.dtype))
            else:
                masses.append((weights * some.among(here, keys)[:, None]).sum(-1))
    return [torch.cat(masses, 2) for masses in found]


def _places(rows: slice, like: Tensor) -> Tensor:
    """The places of some rows, in the shape of their numbers."""
    places = torch.arange(rows.start, rows.stop, device=like.device)
    return places[:, None] if like.shape[2] == 1 else places
