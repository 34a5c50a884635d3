"""Blocks of texts, for a model whose layers are streamed: the batches that go through a layer while it is in memory.

A source of batches becomes one of blocks (:class:`Blocks`), and a part one that takes a block at a time
(:class:`InBlocks`): each batch of it in a pass of its own, which take turns at every layer
(:mod:`attlas.models.turns`). Batches, and the order in which they are taken into the bundle, are those of a run in
memory, and so are the places between them: an engine and its checkpoints need not know.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any, Generic, TypeVar

from attlas.run.source import Handed, Place, Source

if TYPE_CHECKING:
    from attlas.run.engine import Part
    from attlas.stats import Bundle

Item = TypeVar("Item")


class Blocks(Generic[Item]):
    """A source whose batches are put together to blocks of at most so many pieces, or of one batch.

    >>> from attlas.run.source import Listed
    >>> blocks = Blocks(Listed("abcde", [1] * 5, budget=2), most=4)
    >>> [(block.items, block.pieces, block.after) for block in blocks.from_place()]
    [([['a', 'b'], ['c', 'd']], 4, 4), ([['e']], 1, 5)]
    """

    def __init__(self, source: Source[Item], most: int) -> None:
        self._source, self._most = source, most
        self.fingerprint = source.fingerprint
        self.batches: int | None = None  # who counts them has read them
        self.pieces = source.pieces

    def from_place(self, place: Place = None) -> Iterator[Handed[Sequence[Item]]]:
        """The blocks after a place between two batches.

        >>> from attlas.run.source import Listed
        >>> [block.items for block in Blocks(Listed("abc", [1] * 3, budget=1), most=2).from_place(1)]
        [[['b'], ['c']]]
        """
        block: list[Handed[Item]] = []
        number = 0
        for batch in self._source.from_place(place):
            if block and sum(each.pieces for each in block) + batch.pieces > self._most:
                yield _joined(number, block)
                number, block = number + 1, []
            block.append(batch)
        if block:
            yield _joined(number, block)


@dataclass(frozen=True)
class InBlocks:
    """A part that takes a block of batches at a time, in passes that take turns.

    >>> from types import SimpleNamespace
    >>> said = []
    >>> toy = SimpleNamespace(name="toy", empty=dict, update=lambda bundle, batch: said.append(batch))
    >>> InBlocks(toy).update({}, [["a"], ["abc", "ab"]])
    >>> said
    [['a'], ['abc', 'ab']]
    """

    part: Part[Any]

    @property
    def name(self) -> str:
        """The name of the part.

        >>> from types import SimpleNamespace
        >>> InBlocks(SimpleNamespace(name="survey")).name
        'survey'
        """
        return self.part.name

    def empty(self) -> Bundle:
        """What the part has before it has seen anything."""
        return self.part.empty()

    def update(self, bundle: Bundle, batch: Sequence[Sequence[Any]]) -> None:
        """Take the batches of a block into the bundle, in their order."""
        from attlas.models.turns import take_turns

        take_turns([partial(self.part.update, bundle, each) for each in batch])


def _joined(number: int, block: Sequence[Handed[Item]]) -> Handed[Sequence[Item]]:
    return Handed(
        number, [batch.items for batch in block], sum(batch.pieces for batch in block), block[-1].after
    )  # fmt: skip
