"""The course of a part through a source: its bundle, the place that it has come to, and its checkpoints.

After every batch the bundle's state is copied, together with the place after that batch; a checkpoint is always
written from such a copy. So an interruption in the middle of an update never lets half a batch into a checkpoint,
and a resumed run goes through the remaining batches exactly as an uninterrupted one would, to the same bits. Every
engine keeps its checkpoints by this, so that what one has begun another can finish.
"""

from __future__ import annotations

import time
from dataclasses import dataclass, field
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Any, NamedTuple

from attlas.errors import PlanError
from attlas.run.plan import Plan, require_resumable
from attlas.run.progress import Progress, Silent
from attlas.stats.accumulator import State, require_same_configuration
from attlas.stats.bundle import Bundle
from attlas.store.checkpoint import checkpoint_file, load_checkpoint, save_checkpoint
from attlas.store.folder import require_free

if TYPE_CHECKING:
    from typing import Self

    from attlas.run.engine import Part
    from attlas.run.source import Handed, Place, Source


@dataclass(frozen=True)
class Keeping:
    """How a part of a run is kept: the plan it belongs to, its ``name`` among the parts, the folder ``out`` of its
    checkpoints (None for none), whether an earlier one is continued, how often they are written, and who is told.

    >>> Keeping(Plan("survey")).checkpoint_every
    20.0
    """

    plan: Plan
    name: str = ""
    out: Path | None = None
    resume: bool = False
    checkpoint_every: float = 20.0
    progress: Progress = field(default_factory=Silent)


class _Done(NamedTuple):
    """A moment between two batches."""

    state: State
    place: Place = None
    batches: int = 0
    pieces: int = 0
    seconds: float = 0.0


class Course:
    """A part on its way, as a context: who carries it out asks for the batches after ``place``, takes each into
    ``bundle``, and says so (:meth:`done`).

    A checkpoint is written every so often, when the run is interrupted from the keyboard, and at the end.

    >>> from attlas.run.source import Listed
    >>> from attlas.stats import PooledMean
    >>> class Lengths:
    ...     name = "lengths"
    ...     def empty(self):
    ...         return Bundle({"length": PooledMean(shape=(), blocks=1)})
    ...     def update(self, bundle, batch):
    ...         bundle["length"].update([len(text) for text in batch], 1)
    >>> source, part = Listed(["a", "abc"], [1, 3], budget=3), Lengths()
    >>> with Course(part, source, Keeping(Plan("toy"))) as course:
    ...     for batch in source.from_place(course.place):
    ...         part.update(course.bundle, batch.items)
    ...         course.done(batch)
    >>> course.bundle["length"].result().value.item(), course.place
    (2.0, 2)
    """

    def __init__(self, part: Part[Any], source: Source[Any], keeping: Keeping) -> None:
        self.bundle = part.empty()
        self._source, self._keeping = source, keeping
        self._title = f"{part.name}, {keeping.name}" if keeping.name else part.name
        self._done = earlier = self._earlier()
        if earlier.batches:
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

    def done(self, batch: Handed[Any]) -> None:
        """The bundle has taken in this batch, and all before it."""
        now = time.monotonic()
        state = {} if self._keeping.out is None else self.bundle.state()
        batches, pieces = self._done.batches + 1, self._done.pieces + batch.pieces
        self._done = _Done(state, batch.after, batches, pieces, self._before + now - self._began)
        self._keeping.progress.advance(batch.pieces)
        if now - self._saved_at >= self._keeping.checkpoint_every:
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
        if keeping.out is None or done.batches == self._saved:
            return
        progress = {
            "batches": done.batches, "place": done.place, "pieces": done.pieces, "seconds": done.seconds,
            "order": self._source.fingerprint,
        }  # fmt: skip
        save_checkpoint(keeping.out, keeping.plan.to_dict(), done.state, progress, keeping.name)
        self._saved, self._saved_at = done.batches, time.monotonic()

    def _earlier(self) -> _Done:
        """What an earlier run left, if it may be continued; refuse what is in the way."""
        keeping, nothing = self._keeping, _Done(self.bundle.state())
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
        require_resumable(where, checkpoint.plan, keeping.plan, resume=keeping.resume)
        if progress.get("order") != self._source.fingerprint:
            raise PlanError(
                f"{where}: the texts no longer fall into the same batches as before; "
                "use the same texts and batch size, or delete this file"
            )
        require_free(keeping.out, keeping.plan.to_dict())
        require_same_configuration(self.bundle, Bundle.from_state(checkpoint.state))
        batches = int(progress["batches"])
        done = _Done(
            checkpoint.state, progress.get("place", batches), batches, int(progress.get("pieces", 0)),
            float(progress["seconds"]),
        )  # fmt: skip
        if self._source.batches is None or batches < self._source.batches:
            keeping.progress.note(f"resuming after {self._so_far(done)}")
        return done
