"""Batches that are made ready while the one before them is worked on.

A source may have to read and encode its texts, and a part may know things of a batch before the model runs: what its
pieces are, how they are padded. A thread of its own does all that (:class:`Ahead`), one batch ahead of who carries
the part out, so that a GPU need not wait for it. Batches, their order and their places are the source's; an error in
the thread is raised where the batch would have come, after all before it; and who leaves early, by an error or from
the keyboard, leaves no thread behind that goes on reading.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from queue import Empty, Queue
from threading import Event, Thread
from types import TracebackType
from typing import TYPE_CHECKING, Any, Generic, NamedTuple, TypeVar

if TYPE_CHECKING:
    from typing import Self

    from attlas.run.source import Handed

Item = TypeVar("Item")
PATIENCE = 10.0  # seconds to wait for a thread that is in the middle of reading


class _Made(NamedTuple, Generic[Item]):
    """What the thread hands over: a batch and what was made of it, an error, or the end (neither)."""

    batch: Handed[Item] | None = None
    ready: Any = None
    error: BaseException | None = None


class Ahead(Generic[Item]):
    """The batches of a source, each with what ``prepare`` makes of its items, as a context to iterate over.

    >>> from attlas.run.source import Listed
    >>> with Ahead(Listed(["a", "bc"], [1, 2], budget=2).from_place(), prepare="".join) as batches:
    ...     [(batch.number, ready) for batch, ready in batches]
    [(0, 'bc'), (1, 'a')]
    """

    def __init__(self, batches: Iterator[Handed[Item]], prepare: Callable[[Any], Any]) -> None:
        self._batches, self._prepare = batches, prepare
        self._made: Queue[_Made[Item]] = Queue(maxsize=1)
        self._left = Event()
        self._thread = Thread(target=self._work, name="attlas-ahead", daemon=True)

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __iter__(self) -> Iterator[tuple[Handed[Item], Any]]:
        while True:
            made = self._made.get()
            if made.error is not None:
                raise made.error
            if made.batch is None:
                return
            yield made.batch, made.ready

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._left.set()
        for _ in range(int(PATIENCE / 0.01)):
            try:
                self._made.get_nowait()  # so that the thread can hand over what it has, and sees that nobody wants it
            except Empty:
                self._thread.join(0.01)
            if not self._thread.is_alive():
                return

    def _work(self) -> None:
        try:
            for batch in self._batches:
                if self._left.is_set():
                    break
                self._made.put(_Made(batch, self._prepare(batch.items)))
                del batch  # nothing of a batch is kept while the next is read
                if self._left.is_set():
                    break
            else:
                self._made.put(_Made())
        except BaseException as error:
            self._made.put(_Made(error=error))
        finally:
            getattr(self._batches, "close", lambda: None)()
