"""A part of a run: something that sums batch after batch into a bundle.

Everything that a part has learned lies in the bundle, so that a run may stop and go on, be done in shares, and be
merged in any order.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol, TypeVar

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
