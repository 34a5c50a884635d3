"""The engine for one machine: batch after batch, with a checkpoint every so often.

A part that comes in stages (:class:`attlas.run.engine.Staged`) has its batches made ready ahead of time
(:mod:`attlas.run.ahead`). Where its device works by itself, as a GPU does, the work on the next batch is begun before
what the last one has given is taken into the bundle, so that the device need not wait for that, either. What is done
is always said batch by batch, in their order, so checkpoints know nothing of it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any, TypeVar

from attlas.run.ahead import Ahead
from attlas.run.course import Course, Keeping
from attlas.run.engine import Staged
from attlas.run.memory import is_out_of_memory

if TYPE_CHECKING:
    from attlas.run.engine import Part
    from attlas.run.source import Handed, Source
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
            for batch, give in _begun(part, source.from_place(course.place), course):
                course.take(batch, give)
        return course.bundle


def _begun(
    part: Part[Any], batches: Iterator[Handed[Any]], course: Course
) -> Iterator[tuple[Handed[Any], Callable[[Bundle], object] | None]]:
    """The batches that a part has begun with, and for each what takes it into a bundle; None where it was not begun,
    since parts do not come in stages, or memory has run out and batches go on in parts."""
    if not isinstance(part, Staged):
        for batch in batches:
            yield batch, None
        return
    with Ahead(batches, part.prepare) as made:
        waiting = None
        for batch, ready in made:
            begun = batch, _launched(part, ready) if course.whole else None
            if waiting is not None:
                yield waiting
            if part.overlaps:
                waiting = begun
            else:
                yield begun
        if waiting is not None:
            yield waiting


def _launched(part: Staged[Any], ready: Any) -> Callable[[Bundle], object] | None:
    try:
        return part.launch(ready)
    except Exception as error:
        if not is_out_of_memory(error):
            raise
        return None


LOCAL = Local()
