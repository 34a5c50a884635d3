"""An engine: what takes items through a part of a run, batch after batch.

There is one for this machine (:mod:`attlas.run.local`); another is a class with this one method.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

from attlas.run.local import carry_out

if TYPE_CHECKING:
    from attlas.run.part import Part
    from attlas.run.plan import Plan
    from attlas.run.progress import Progress
    from attlas.stats import Bundle


class Engine(Protocol):
    """Carries out parts of runs.

    >>> engine: Engine = LOCAL
    """

    def carry_out(
        self,
        study: Part[Any],
        items: Sequence[Any],
        lengths: Sequence[int],
        plan: Plan,
        *,
        part: str = "",
        out: Path | None = None,
        resume: bool = False,
        budget: int,
        max_items: int | None = None,
        report_progress: Progress | None = None,
        checkpoint_every: float = 20.0,
    ) -> Bundle:
        """Take all items through a part and return its filled bundle (see :func:`attlas.run.local.carry_out`)."""


class _Local:
    """The engine for one machine."""

    carry_out = staticmethod(carry_out)


LOCAL = _Local()
