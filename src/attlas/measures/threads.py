"""Work in threads, each by itself.

Torch would split every operation among its threads and have them wait for each other after each, thousands of times;
where others use the machine, too, that waiting takes many times as long as the work. Here each thread carries out
whole pieces of work, whoever is free taking the next one, and its operations are not split.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from concurrent.futures import ThreadPoolExecutor
from threading import Lock
from typing import TypeVar

import torch

THREADS = 8  # beyond which threads only wait for Python
Item = TypeVar("Item")


def in_threads(work: Callable[[Iterable[Item]], None], items: Iterable[Item], *, split: bool = True) -> None:
    """Have ``work`` go over all items: in as many threads as torch has, each taking what is left, or in this one
    alone where it is not worth a ``split``. What one item gives must not depend on who takes it.

    >>> squares = [0] * 4
    >>> def work(numbers):
    ...     for number in numbers:
    ...         squares[number] = number * number
    >>> in_threads(work, range(4))
    >>> squares
    [0, 1, 4, 9]
    """
    allowed = torch.get_num_threads()
    threads = min(THREADS, allowed) if split else 1
    if threads < 2:
        work(items)
        return
    left = _Shared(items)
    inference = torch.is_inference_mode_enabled()

    def alone() -> None:
        torch.set_num_threads(1)  # this thread's own operations are not to be split
        with torch.inference_mode(inference), torch.no_grad():  # which threads do not take over by themselves
            work(left)

    try:
        with ThreadPoolExecutor(threads) as pool:
            for done in [pool.submit(alone) for _ in range(threads)]:
                done.result()
    finally:
        torch.set_num_threads(allowed)


class _Shared(Iterable[Item]):
    """What several threads go over together: each item is taken once."""

    def __init__(self, items: Iterable[Item]) -> None:
        self._items = iter(items)
        self._lock = Lock()

    def __iter__(self) -> _Shared[Item]:
        return self

    def __next__(self) -> Item:
        with self._lock:
            return next(self._items)
