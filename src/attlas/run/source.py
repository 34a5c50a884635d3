"""What an engine goes over: batches of items, from a place on.

A *place* says how far one has come, in what JSON can hold, so that a checkpoint can keep it; a source that is given a
place hands out the very batches that come after it. For a list (:class:`Listed`) a place is the number of items that
are done, in an order that all lengths decide at once (:func:`attlas.run.batches.batches`); so one may go on from
there with batches of another size. A source that reads as it goes has other places, and may know neither how many
batches there will be nor how many pieces.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator, Sequence
from typing import Any, Generic, NamedTuple, Protocol, TypeVar, runtime_checkable

from attlas.errors import PlanError
from attlas.run.batches import batches, in_order

Item = TypeVar("Item")
Item_co = TypeVar("Item_co", covariant=True)
Place = Any  # whatever JSON can hold; None is the beginning


class Handed(NamedTuple, Generic[Item_co]):
    """A batch as a source hands it out: its number from 0, its items, their pieces, and the place after it.

    >>> Handed(0, ["a", "bc"], 3, 2).after
    2
    """

    number: int
    items: Sequence[Item_co]
    pieces: int
    after: Place


@runtime_checkable
class Source(Protocol[Item_co]):
    """Batches of items that come in the same order, with the same numbers, whenever they are asked for.

    >>> source: Source[str] = Listed(["a", "bc"], [1, 2], budget=2)
    """

    @property
    def fingerprint(self) -> str:
        """What tells these items and their order from others, so that a checkpoint is never continued over the wrong
        ones; how many go together is no part of it."""

    @property
    def batches(self) -> int | None:
        """How many batches there are in all, where that is known."""

    @property
    def pieces(self) -> int | None:
        """How many pieces there are in all, where that is known."""

    def from_place(self, place: Place = None) -> Iterator[Handed[Item_co]]:
        """The batches after a place, one by one; all of them from None."""


class Listed(Generic[Item]):
    """The source of items that are all known: those of like length go together, the longest first.

    ``lengths`` are the items' numbers of pieces, ``budget`` and ``max_items`` limit a batch.

    >>> source = Listed(["a", "abc", "ab"], [1, 3, 2], budget=4)
    >>> [(batch.number, batch.items, batch.pieces) for batch in source.from_place(1)]
    [(1, ['ab', 'a'], 3)]
    >>> [batch.items for batch in Listed(["a", "abc", "ab"], [1, 3, 2], budget=2).from_place(1)]
    [['ab'], ['a']]
    >>> source.batches, source.pieces
    (2, 6)
    """

    def __init__(
        self, items: Sequence[Item], lengths: Sequence[int], *, budget: int, max_items: int | None = None
    ) -> None:
        if len(items) != len(lengths):
            raise PlanError(f"there are {len(items)} items but {len(lengths)} lengths; give one length for each item")
        self._items, self._lengths, self._limits = items, lengths, (budget, max_items)
        self.batches: int | None = len(batches(lengths, budget, max_items))
        self.pieces: int | None = sum(lengths)
        known = [in_order(lengths), list(lengths)]
        self.fingerprint = hashlib.sha256(json.dumps(known).encode()).hexdigest()

    def from_place(self, place: Place = None) -> Iterator[Handed[Item]]:
        """The batches after so many items.

        >>> [batch.after for batch in Listed("abc", [1, 1, 1], budget=1).from_place(2)]
        [3]
        """
        done = place or 0
        left = batches(self._lengths, *self._limits, done=done)
        for number, indices in enumerate(left, (self.batches or 0) - len(left)):
            done += len(indices)
            yield Handed(
                number,
                [self._items[index] for index in indices],
                sum(self._lengths[index] for index in indices),
                done,
            )
