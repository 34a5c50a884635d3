"""Parts of a run, and the engine that takes items through them, batch after batch.

Everything that a part has learned lies in its bundle, so that a run may stop and go on, be done in shares, and be
merged in any order. There is one engine, for this machine (:mod:`attlas.run.local`); another is a class with the one
method of :class:`Engine`.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Protocol, TypeVar

from attlas.run.local import carry_out

if TYPE_CHECKING:
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

    >>> engine: Engine = LOCAL
    """

    def carry_out(self, *what: Any, **how: Any) -> Bundle:
        """Take all items through a part and return its filled bundle, as :func:`attlas.run.local.carry_out` does,
        whose parameters it has."""


class _Local:
    """The engine for one machine."""

    carry_out = staticmethod(carry_out)


LOCAL = _Local()
