"""Pieces of work that take turns: each in a thread of its own, of which one runs at a time.

A pass through a model whose weights come layer by layer (:mod:`attlas.models.streaming`) gives way at the entry of
each layer. When all passes of a group have come to that entry, the first goes on through the layer and up to the next
one, then the second, and so on: all of them use a layer while its weights are in memory. The order is always that of
the list, so that what they add up is added in the order in which they would have come one after the other.

Instruments belong to the thread that puts them on, and each piece of work has a thread: nobody has to know of this.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from threading import Condition, Thread, local

import torch

_HERE = local()


class _Stopped(BaseException):
    """Another piece of work has failed, or everything was interrupted."""


class _Group:
    """Who of a group is still at work, whose turn it is, and what went wrong."""

    def __init__(self, works: Sequence[Callable[[], None]]) -> None:
        self.waiting = list(range(len(works)))  # in the order of their turns
        self.changed = Condition()
        self.error: BaseException | None = None
        self.stopped = False
        self.last: dict[Callable[[], None], None] = {}  # what is done when all are through, each once
        self._grad = torch.is_grad_enabled()
        self.threads = [Thread(target=self._work, args=entry, daemon=True) for entry in enumerate(works)]

    def wait(self, number: int) -> None:
        """Return when it is this one's turn."""
        with self.changed:
            self.changed.wait_for(lambda: self.stopped or self.waiting[0] == number)
            if self.stopped:
                raise _Stopped

    def pass_on(self, number: int, *, done: bool = False) -> None:
        """Let the next have its turn."""
        with self.changed:
            self.waiting.remove(number)
            if not done:
                self.waiting.append(number)
            self.changed.notify_all()

    def stop(self, error: BaseException | None = None) -> None:
        with self.changed:
            self.error = self.error or error
            self.stopped = True
            self.changed.notify_all()

    def _work(self, number: int, work: Callable[[], None]) -> None:
        _HERE.turn = self, number
        try:
            self.wait(number)
            with torch.set_grad_enabled(self._grad):
                work()
            self.pass_on(number, done=True)
        except _Stopped:
            pass
        except BaseException as error:
            self.stop(error)


def take_turns(works: Sequence[Callable[[], None]]) -> None:
    """Do all of this, each in a thread of its own, one at a time; the first error stops all and is raised here.

    >>> said = []
    >>> def count(name):
    ...     for number in range(2):
    ...         said.append(f"{name}{number}")
    ...         give_way()
    >>> take_turns([lambda: count("a"), lambda: count("b")])
    >>> said
    ['a0', 'b0', 'a1', 'b1']
    """
    group = _Group(works)
    try:
        for thread in group.threads:
            thread.start()
        for thread in group.threads:
            thread.join()
    finally:
        group.stop()
        for thread in group.threads:
            if thread.ident is not None:
                thread.join()
        for do in group.last:
            do()
    if group.error is not None:
        raise group.error


def give_way() -> None:
    """Let the others of a group come to this point, too; nothing where there are none.

    >>> give_way()
    """
    turn = getattr(_HERE, "turn", None)
    if turn is not None:
        group, number = turn
        group.pass_on(number)
        group.wait(number)


@contextmanager
def without_turns() -> Iterator[None]:
    """Go on without giving way, for the length of a ``with`` block: for a pass that one of them makes by itself,
    and whose outcome the others wait for.

    >>> said = []
    >>> def count(name):
    ...     with without_turns():
    ...         said.append(f"{name}0")
    ...         give_way()
    ...     said.append(f"{name}1")
    >>> take_turns([lambda: count("a"), lambda: count("b")])
    >>> said
    ['a0', 'a1', 'b0', 'b1']
    """
    turn = getattr(_HERE, "turn", None)
    _HERE.turn = None
    try:
        yield
    finally:
        _HERE.turn = turn


def leave_until_last(do: Callable[[], None]) -> bool:
    """Have something done once all of a group are through; False where there is no group, and nobody does it.

    >>> leave_until_last(print)
    False
    """
    turn = getattr(_HERE, "turn", None)
    if turn is not None:
        turn[0].last[do] = None
    return turn is not None
