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
    """Takes batches through a part in this process; :meth:`attlas.run.session.Run.carry` has an example.

    >>> callable(Local().carry_out)
    True
    """

    def carry_out(self, part: Part[Item], source: Source[Item], keeping: Keeping) -> Bundle:
        """Take all batches of a source through a part and return its filled bundle.

        With a folder to keep it in, a checkpoint is written there every so often, when the run is interrupted from
        the keyboard, and at the end; saving the result removes it. An earlier one of the same plan is continued where
        that is asked for.
        """
        with Course(part, source, keeping) as course:
            for batch in source.from_place(course.place):
                course.take(batch)
                course.done(batch)
        return course.bundle


LOCAL = Local()
