"""The course of a part through a source: its bundle, the place that it has come to, and its checkpoints.

An interruption never lets half a batch into a checkpoint, and a resumed run goes through the remaining batches
exactly as an uninterrupted one would, to the same bits. Where a part is known to touch its bundle in one short step
at the end of a batch, no signal comes through during that step (:mod:`attlas.run.unbroken`), and the bundle itself is
what is written. Of any other part the bundle's state is copied after every batch, and a checkpoint is written from
the copy. Every engine keeps its checkpoints by this, so that what one has begun another can finish.
"""

from __future__ import annotations

import time
from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Any, NamedTuple

from attlas.errors import PlanError
from attlas.run.memory import give_back, halves_of, is_out_of_memory
from attlas.run.plan import Plan, require_resumable
from attlas.run.progress import Progress, Silent
from attlas.run.trimming import give_back_freed
from attlas.run.unbroken import unbroken
from attlas.stats.accumulator import State, require_same_configuration
from attlas.stats.bundle import Bundle
from attlas.store.checkpoint import checkpoint_file, load_checkpoint, save_checkpoint
from attlas.store.folder import require_free

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from typing import Self

    from attlas.run.engine import Part
    from attlas.run.source import Handed, Place, Source


@dataclass(frozen=True)
class Keeping:
    """How a part of a run is kept: the plan it belongs to, its ``name`` among the parts, the folder ``out`` of its
    checkpoints (None for none), whether an earlier one is continued, how often they are written, and who is told;
    ``halved`` counts how often a batch had to be taken in halves, for want of memory.

    >>> Keeping(Plan("survey")).checkpoint_every
    20.0
    """

    plan: Plan
    name: str = ""
    out: Path | None = None
    resume: bool = False
    checkpoint_every: float = 20.0
    progress: Progress = field(default_factory=Silent)
    halved: Counter[str] = field(default_factory=Counter)


class _Done(NamedTuple):
    """A moment between two batches, with a copy of the bundle's state; None where the bundle is still in it."""

    state: State | None
    place: Place = None
    batches: int = 0
    pieces: int = 0
    seconds: float = 0.0


class Course:
    """A part on its way, as a context: who carries it out asks for the batches after ``place``, and has each taken
    into ``bundle`` (:meth:`take`), or takes them in and says so (:meth:`done`).

    A checkpoint is written every so often, when the run is interrupted from the keyboard, and at the end.

    >>> from types import SimpleNamespace
    >>> from attlas.run.source import Listed
    >>> source, part = Listed(["a", "abc"], [1, 3], budget=3), SimpleNamespace(name="toy", empty=lambda: Bundle({}))
    >>> with Course(part, source, Keeping(Plan("toy"))) as course:
    ...     for batch in source.from_place(course.place):
    ...         course.done(batch)
    >>> course.place
    2
    """

    def __init__(self, part: Part[Any], source: Source[Any], keeping: Keeping) -> None:
        self.bundle = part.empty()
        self._part, self._source, self._keeping = part, source, keeping
        self._times = 1  # in how many parts a batch is taken
        self._title = f"{part.name}, {keeping.name}" if keeping.name else part.name
        self._at_rest = True  # whether the bundle is between two batches, where no copy of it is kept
        self._done = earlier = self._earlier()
        if earlier.state is not None:
            self.bundle = Bundle.from_state(earlier.state)
        self._before, self._began, self._saved, self._saved_at = earlier.seconds, 0.0, earlier.batches, 0.0

    @property
    def place(self) -> Place:
        """The place after the last batch that is done; None is the beginning."""
        return self._done.place

    def __enter__(self) -> Self:
        self._began = self._saved_at = time.monotonic()
        self._keeping.progress.start(self._title, self._source.pieces, self._done.pieces)
        return self

    @property
    def whole(self) -> bool:
        """Whether batches go through whole; in parts where memory has run out."""
        return self._times == 1

    def take(self, batch: Handed[Any], give: Callable[[Bundle], object] | None = None) -> None:
        """Take a batch into the bundle, by ``give`` where the work on it has begun; where memory runs out, in halves
        (:mod:`attlas.run.memory`)."""
        if give is not None:
            with unbroken():
                self._at_rest = False
                give(self.bundle)
                self._finished(batch)
                self._at_rest = True
            self._told(batch)
            return
        state = self._done.state if self._done.state is not None else self.bundle.state()
        self._done = self._done._replace(state=state)
        waiting = _in_parts(batch.items, self._times if halves_of(self._part, batch.items) else 1)
        while waiting:
            failed = self._tried(waiting[0])
            if failed is None:
                del waiting[0]
                state = self.bundle.state() if waiting else state
                continue
            halves = halves_of(self._part, waiting[0])
            if halves is None:
                raise failed
            del failed
            self.bundle = Bundle.from_state(state)
            give_back()
            waiting[:1] = halves
            self._times = max(self._times, len(waiting))
            if not self._keeping.halved.total():
                self._keeping.progress.note(
                    f"memory ran out on a batch of {batch.pieces:,} pieces, which goes on in halves; a smaller "
                    "--budget saves the attempts"
                )
            self._keeping.halved[self._keeping.name] += 1
        self.done(batch)

    def _tried(self, items: Sequence[Any]) -> Exception | None:
        """What went wrong with some items for want of memory, if that did; without what it was holding."""
        try:
            self._part.update(self.bundle, items)
        except Exception as error:
            if not is_out_of_memory(error):
                raise
            return error.with_traceback(None)
        return None

    def done(self, *taken: Handed[Any]) -> None:
        """The bundle has taken in these batches, and all before them."""
        self._finished(*taken, state=self.bundle.state())
        self._told(*taken)

    def _finished(self, *taken: Handed[Any], state: State | None = None) -> None:
        pieces, seconds = sum(batch.pieces for batch in taken), self._before + time.monotonic() - self._began
        batches = self._done.batches + len(taken)
        self._done = _Done(state, taken[-1].after, batches, self._done.pieces + pieces, seconds)

    def _told(self, *taken: Handed[Any]) -> None:
        """Show how far it is, and write a checkpoint where it is time."""
        self._keeping.progress.advance(sum(batch.pieces for batch in taken))
        give_back_freed()
        if time.monotonic() - self._saved_at >= self._keeping.checkpoint_every:
            self._save()

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        try:
            if kind is None:
                self._save()
            elif issubclass(kind, KeyboardInterrupt) and self._keeping.out is not None and self._done.batches:
                self._save()
                self._keeping.progress.note(f"interrupted after {self._so_far(self._done)}; go on with --resume")
        finally:
            self._keeping.progress.finish()

    def _so_far(self, done: _Done) -> str:
        total = self._source.batches
        return f"{done.batches} batches" if total is None else f"{done.batches} of {total} batches"

    def _save(self) -> None:
        keeping, done = self._keeping, self._done
        if keeping.out is None or done.batches == self._saved or not self._at_rest:
            return
        state = self.bundle.state() if done.state is None else done.state
        progress = {
            "batches": done.batches, "place": done.place, "pieces": done.pieces, "seconds": done.seconds,
            "order": self._source.fingerprint, "halved": dict(self._keeping.halved),
        }  # fmt: skip
        save_checkpoint(keeping.out, keeping.plan.to_dict(), state, progress, keeping.name)
        self._saved, self._saved_at = done.batches, time.monotonic()

    def _earlier(self) -> _Done:
        """What an earlier run left, if it may be continued; refuse what is in the way."""
        keeping, nothing = self._keeping, _Done(None)
        if keeping.out is None:
            if keeping.resume:
                raise PlanError("resuming needs the folder of the interrupted run; give it with --out")
            return nothing
        checkpoint = load_checkpoint(keeping.out, keeping.name)
        if checkpoint is None:
            require_free(keeping.out, keeping.plan.to_dict())
            if keeping.resume and not keeping.name:
                keeping.progress.note(f"there is no checkpoint in {keeping.out}; starting from the beginning")
            return nothing
        where, progress = checkpoint_file(keeping.out, keeping.name), checkpoint.progress
        alone = getattr(self._part, "stepwise", False)  # every batch builds on those before
        require_resumable(where, checkpoint.plan, keeping.plan, resume=keeping.resume, other_budget=not alone)
        if progress.get("order") != self._source.fingerprint:
            raise PlanError(
                f"{where}: the texts are no longer the same, or in the same order, as before; use the same texts, or "
                "delete this file"
            )
        require_free(keeping.out, keeping.plan.to_dict())
        require_same_configuration(self.bundle, Bundle.from_state(checkpoint.state))
        batches, place, pieces = int(progress["batches"]), progress["place"], int(progress.get("pieces", 0))
        keeping.halved.update(progress.get("halved", {}))
        done = _Done(checkpoint.state, place, batches, pieces, float(progress["seconds"]))
        other = checkpoint.plan.get("batching") != keeping.plan.to_dict()["batching"]
        if self._source.pieces is None or pieces < self._source.pieces:
            so_far = f"{pieces:,} pieces, in batches of another size" if other else self._so_far(done)
            keeping.progress.note(f"resuming after {so_far}")
        return done


def _in_parts(items: Sequence[Any], times: int) -> list[Sequence[Any]]:
    """Items in so many parts of like size, as far as they go."""
    size = -(-len(items) // times)
    return [items[at : at + size] for at in range(0, len(items), size)]
