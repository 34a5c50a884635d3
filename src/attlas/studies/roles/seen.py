"""What a definition sees of one attention call: its weights, and what the pieces of its texts are.

The functions that definitions name get a :class:`Seen` and give sums and counts, one for every text and head. The
same function on the call of a head that attends evenly gives the chance level.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

import torch
from torch import Tensor

from attlas.models import AttentionCall, Example, Side

if TYPE_CHECKING:
    from attlas.capture import Subject

Sums = tuple[Tensor, Tensor]


@dataclass(eq=False)
class Pieces:
    """The pieces of one side of a batch: ids, which are real and which are text, and named places.

    >>> from attlas.capture import load
    >>> subject = load()
    >>> batch = subject.batch(["It rained, it rained."])
    >>> pieces = Pieces.of(batch.source, [])
    >>> pieces.earlier[0, 5].nonzero().tolist()  # the second "rained"
    [[2]]
    >>> pieces.after_earlier[0, 5].nonzero().tolist()
    [[3]]
    """

    ids: Tensor
    real: Tensor
    ordinary: Tensor
    spans: Sequence[Mapping[str, tuple[int, int]]]

    @classmethod
    def of(cls, side: Side, texts: Sequence[Example]) -> Pieces:
        """Those of a side, with the spans of its texts where they have some."""
        real = side.real
        ids = torch.full(real.shape, -1, device=real.device)
        ordinary = torch.zeros_like(real)
        for row, (encoded, start) in enumerate(zip(side.encoded, side.starts, strict=True)):
            places = slice(start, start + encoded.length)
            ids[row, places] = torch.tensor(encoded.ids, device=real.device)
            special = torch.tensor(encoded.segmentation.special, device=real.device)
            ordinary[row, places] = ~special if len(special) else real[row, places]
        return cls(ids, real, ordinary, [getattr(text, "spans", {}) for text in texts])

    @cached_property
    def earlier(self) -> Tensor:
        """Which keys are earlier occurrences of a query's own piece, (text, query, key)."""
        same = self.ids[:, :, None] == self.ids[:, None, :]
        both = self.ordinary[:, :, None] & self.ordinary[:, None, :]
        return (same & both).tril(-1)

    @cached_property
    def after_earlier(self) -> Tensor:
        """Which keys follow on an earlier occurrence of a query's own piece, (text, query, key); not the query."""
        following = torch.zeros_like(self.earlier)
        following[:, :, 1:] = self.earlier[:, :, :-1]
        return following.tril(-1)

    def span(self, name: str) -> Tensor:
        """Which places a named span covers, (text, piece); none in a text that has no such span."""
        inside = torch.zeros_like(self.real)
        for row, spans in enumerate(self.spans):
            first, last = spans.get(name, (0, 0))
            inside[row, first:last] = True
        return inside


@dataclass(eq=False)
class Seen:
    """One attention call of a model that reads some texts.

    ``queries`` and ``keys`` are the pieces of its sides; ``begins`` says which keys are the first of their text.
    """

    subject: Subject
    call: AttentionCall
    queries: Pieces
    keys: Pieces
    texts: Sequence[Example]
    even: bool = False

    @property
    def weights(self) -> Tensor:
        """The weights, (text, head, query, key), in single precision at least."""
        return self.call.weights().float()

    @cached_property
    def begins(self) -> Tensor:
        """Which key is the first of its text, (text, key)."""
        return self.keys.real & (self.keys.real.cumsum(1) == 1)

    def mass(self, keys: Tensor, queries: Tensor) -> Sums:
        """The mean weight that some queries, (text, query), give to a set of keys that may be another one for each,
        (text, query, key).

        >>> import torch
        >>> from attlas.capture import load
        >>> q = torch.zeros(1, 2, 3, 4)
        >>> everything = torch.ones(1, 3, 3, dtype=torch.bool)
        >>> seen = Seen(load(), AttentionCall("site", q, q, q, None, 0.5), None, None, [])
        >>> seen.mass(everything, torch.tensor([[True, True, False]]))[0].tolist()
        [[2.0, 2.0]]
        """
        chosen = keys & queries[:, :, None]
        each = torch.einsum("bhqk,bqk->bhq", self.weights, chosen.to(self.weights.dtype))
        sums = each.sum(2)  # one query after the other: a single sum over all pairs loses digits in long texts
        return sums, queries.sum(1)[:, None].to(sums.dtype)
