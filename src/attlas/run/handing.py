"""Handing out batches by need, and taking what comes back in batch order, in groups of neighbours.

Who works asks for the next batch (:meth:`HandOut.next`) and says when its outcome has arrived or was lost; a batch
that was lost is handed out again before all others. Outcomes may arrive in any order. They are taken in the order of
the batches, though, ``together`` neighbours at a time, so that what is merged does not depend on who was quick; and
since no more than ``window`` batches are under way or waiting for their turn, little memory is needed for that.
Nothing in here knows of machines.
"""

from __future__ import annotations

from collections import Counter, deque
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any, Generic, TypeVar

from attlas.run.source import Handed

Outcome = TypeVar("Outcome")


@dataclass(eq=False)
class Group(Generic[Outcome]):
    """Neighbouring batches, what has arrived of each by its number, and what was made of all of them together;
    ``closed`` once no batch can come to it.

    >>> Group([Handed(0, [], 0, 1)], {0: "a"}, closed=True).whole
    True
    """

    batches: list[Handed[Any]] = field(default_factory=list)
    arrived: dict[int, Outcome] = field(default_factory=dict)
    closed: bool = False
    joining: bool = False
    joined: Outcome | None = None

    @property
    def whole(self) -> bool:
        """Whether all of it has arrived."""
        return self.closed and len(self.arrived) == len(self.batches)

    @property
    def outcomes(self) -> list[Outcome]:
        """What has arrived, in the order of the batches."""
        return [self.arrived[batch.number] for batch in self.batches]


class HandOut(Generic[Outcome]):
    """The batches of a source on their way out and back.

    >>> from attlas.run.source import Listed
    >>> out = HandOut(Listed("abc", [1, 1, 1], budget=1).from_place(), together=2, window=4)
    >>> first, second, third = out.next(), out.next(), out.next()
    >>> out.arrived(second, "b"), out.lost(first), out.next().number
    (None, 1, 0)
    >>> out.arrived(first, "a"), out.arrived(third, "c"), out.next()
    (None, None, None)
    >>> for group in out.whole():
    ...     group.joined = "".join(group.outcomes)
    >>> [group.joined for group in out.take()], out.over
    (['ab', 'c'], True)
    """

    def __init__(self, batches: Iterator[Handed[Any]], *, together: int = 1, window: int) -> None:
        self._batches, self._together, self._window = batches, together, max(window, together)
        self._again: deque[Handed[Any]] = deque()
        self._groups: deque[Group[Outcome]] = deque()
        self._of: dict[int, Group[Outcome]] = {}  # by the numbers of batches that are under way or wait
        self._lost: Counter[int] = Counter()
        self._exhausted = False

    @property
    def over(self) -> bool:
        """Whether all batches were handed out, have come back and were taken."""
        return self._exhausted and not self._groups

    @property
    def anything(self) -> bool:
        """Whether there is anything to do at all."""
        first = self.next()
        if first is not None:
            self._again.appendleft(first)
        return first is not None

    def next(self) -> Handed[Any] | None:
        """The next batch to do; None where there is none for now."""
        if self._again:
            return self._again.popleft()
        if self._exhausted or len(self._of) >= self._window:
            return None
        batch = next(self._batches, None)
        if batch is None:
            self._exhausted = True
            if self._groups:
                self._groups[-1].closed = True
            return None
        if not self._groups or self._groups[-1].closed:
            self._groups.append(Group())
        group = self._of[batch.number] = self._groups[-1]
        group.batches.append(batch)
        group.closed = (batch.number + 1) % self._together == 0
        return batch

    def arrived(self, batch: Handed[Any], outcome: Outcome) -> None:
        """A batch is done; what was made of it lies here."""
        self._of[batch.number].arrived[batch.number] = outcome

    def lost(self, batch: Handed[Any]) -> int:
        """What was made of a batch, or would have been, is gone, and it has to be done again; says how often that has
        happened to it."""
        group = self._of[batch.number]
        group.arrived.pop(batch.number, None)
        group.joining, group.joined = False, None
        self._again.append(batch)
        self._lost[batch.number] += 1
        return self._lost[batch.number]

    def whole(self) -> Iterator[Group[Outcome]]:
        """The groups of which everything has arrived, and that nobody has begun to join."""
        for group in self._groups:
            if group.whole and not group.joining:
                group.joining = True
                yield group

    def take(self) -> Iterator[Group[Outcome]]:
        """The joined groups whose turn has come, one after the other. Who is given one and finds it lost says so
        before asking for the next."""
        while self._groups and self._groups[0].joined is not None:
            yield self._groups[0]
            if self._groups[0].joined is None:
                return
            for batch in self._groups.popleft().batches:
                del self._of[batch.number]
