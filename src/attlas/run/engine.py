"""Parts of a run, and the engine that takes batches through them.

Everything that a part has learned lies in its bundle, so that a run may stop and go on, be done in shares, and be
merged in any order. The engine for this machine is :mod:`attlas.run.local`; another is a class with the one method of
:class:`Engine`. All of them take their batches from a source (:mod:`attlas.run.source`) and keep their checkpoints in
the same way (:mod:`attlas.run.course`).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Protocol, TypeVar

if TYPE_CHECKING:
    from attlas.run.course import Keeping
    from attlas.run.source import Source
    from attlas.stats import Bundle


Item = TypeVar("Item", contravariant=True)


class Part(Protocol[Item]):
    """What an engine carries out; :meth:`attlas.run.session.Run.carry` has an example."""

    @property
    def name(self) -> str:
        """What is shown of it while it runs."""

    def empty(self) -> Bundle:
        """A bundle that has seen nothing."""

    def update(self, bundle: Bundle, batch: Sequence[Item]) -> None:
        """Take one batch of items into the bundle; the same items must always give the same bits."""


class Engine(Protocol):
    """Carries out parts of runs.

    >>> from attlas.run.local import LOCAL
    >>> engine: Engine = LOCAL
    """

    def carry_out(self, part: Part[Any], source: Source[Any], keeping: Keeping) -> Bundle:
        """Take all batches of a source through a part and return its filled bundle."""
