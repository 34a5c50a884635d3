"""Parts of a run, and the engine that takes batches through them.

Everything that a part has learned lies in its bundle, so that a run may stop and go on, be done in shares, and be
merged in any order. The engine for this machine is :mod:`attlas.run.local`; another is a class with the one method of
:class:`Engine`. All of them take their batches from a source (:mod:`attlas.run.source`) and keep their checkpoints in
the same way (:mod:`attlas.run.course`).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, Protocol, TypeVar, runtime_checkable

if TYPE_CHECKING:
    from attlas.run.course import Keeping
    from attlas.run.source import Source
    from attlas.stats import Bundle


Item = TypeVar("Item", contravariant=True)


class Part(Protocol[Item]):
    """What an engine carries out; :meth:`attlas.run.session.Run.carry` has an example.

    It may be asked to see single batches on other machines. A part in which every batch builds on those before (a
    training) says so by an attribute ``stepwise`` that is true, and stays where the run is. One that also writes
    files has two methods more, ``read(batch)``, which may happen anywhere, and ``write(bundle, batch, read)``, which
    happens where the run is; its ``update`` does both.
    """

    @property
    def name(self) -> str:
        """What is shown of it while it runs."""

    def empty(self) -> Bundle:
        """A bundle that has seen nothing."""

    def update(self, bundle: Bundle, batch: Sequence[Item]) -> None:
        """Take one batch of items into the bundle; the same items must always give the same bits."""


@runtime_checkable
class Staged(Protocol[Item]):
    """A part whose ``update`` is three steps, which an engine may take apart: what can be known of a batch before the
    model runs, which another thread may find out ahead of time; the work itself, begun; and what takes its outcome
    into the bundle, which waits for it.

    >>> from types import SimpleNamespace
    >>> part = SimpleNamespace(name="toy", empty=dict, update=print, prepare=list, launch=print, overlaps=False)
    >>> isinstance(part, Staged)
    True
    """

    @property
    def overlaps(self) -> bool:
        """Whether the work goes on by itself once it is begun, so that the next may be begun before it is taken."""

    def prepare(self, batch: Sequence[Item]) -> Any:
        """Make a batch ready."""

    def launch(self, ready: Any) -> Callable[[Bundle], None]:
        """Begin to work on what was made ready, and hand back what takes the outcome into a bundle."""


class Engine(Protocol):
    """Carries out parts of runs.

    >>> from attlas.run.local import LOCAL
    >>> engine: Engine = LOCAL
    """

    def carry_out(self, part: Part[Any], source: Source[Any], keeping: Keeping) -> Bundle:
        """Take all batches of a source through a part and return its filled bundle."""
