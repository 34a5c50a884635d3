"""The engine for one machine: batch after batch, with a checkpoint every so often."""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeVar

from attlas.run.course import Course, Keeping

if TYPE_CHECKING:
    from attlas.run.engine import Part
    from attlas.run.source import Source
    from attlas.stats.bundle import Bundle

Item = TypeVar("Item")


class Local:
    """Takes batches through a part in this process.

    >>> from attlas.run.plan import Plan
    >>> from attlas.run.source import Listed
    >>> from attlas.stats import Bundle, PooledMean
    >>> class Lengths:
    ...     name = "lengths"
    ...     def empty(self):
    ...         return Bundle({"length": PooledMean(shape=(), blocks=1)})
    ...     def update(self, bundle, batch):
    ...         bundle["length"].update([len(text) for text in batch], 1)
    >>> bundle = LOCAL.carry_out(Lengths(), Listed(["a", "abc"], [1, 3], budget=8), Keeping(Plan("toy")))
    >>> bundle["length"].result().value.item()
    2.0
    """

    def carry_out(self, part: Part[Item], source: Source[Item], keeping: Keeping) -> Bundle:
        """Take all batches of a source through a part and return its filled bundle.

        With a folder to keep it in, a checkpoint is written there every so often, when the run is interrupted from
        the keyboard, and at the end; saving the result removes it. An earlier one of the same plan is continued where
        that is asked for.
        """
        with Course(part, source, keeping) as course:
            for batch in source.from_place(course.place):
                part.update(course.bundle, batch.items)
                course.done(batch)
        return course.bundle


LOCAL = Local()
