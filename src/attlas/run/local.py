"""The engine for one machine: batch after batch, with a checkpoint every so often.

After every batch the bundle's state is copied, together with the number of batches done; a checkpoint is always
written from such a copy. So an interruption in the middle of an update never lets half a batch into a checkpoint,
and a resumed run goes through the remaining batches exactly as an uninterrupted one would, to the same bits.
"""

from __future__ import annotations

import hashlib
import json
import time
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple, TypeVar

from attlas.errors import PlanError
from attlas.run.batches import batches
from attlas.run.plan import Plan, require_resumable
from attlas.run.progress import Progress, Silent
from attlas.stats.accumulator import State, require_same_configuration
from attlas.stats.bundle import Bundle
from attlas.store.checkpoint import checkpoint_file, load_checkpoint, save_checkpoint
from attlas.store.folder import require_free

if TYPE_CHECKING:
    from attlas.run.engine import Part

Item = TypeVar("Item")


class _Done(NamedTuple):
    """A moment between two batches."""

    state: State
    batches: int
    seconds: float


def carry_out(
    study: Part[Item],
    items: Sequence[Item],
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
    """Take all items through a study and return its filled bundle.

    ``lengths`` are the items' numbers of pieces, ``budget`` and ``max_items`` limit a batch; ``part`` names this part
    of a run that has several, each with a checkpoint of its own. With ``out``, a checkpoint is written there every
    ``checkpoint_every`` seconds, when the run is interrupted from the keyboard, and at the end; saving the result
    removes it. With ``resume`` a checkpoint of the same plan is continued. (:meth:`attlas.run.session.Run.carry`
    has an example.)
    """
    if len(items) != len(lengths):
        raise PlanError(f"there are {len(items)} items but {len(lengths)} lengths; give one length for each item")
    order = batches(lengths, budget, max_items)
    fingerprint = _fingerprint(order)
    progress = report_progress or Silent()
    bundle, first, seconds = study.empty(), 0, 0.0
    if out is not None:
        out = Path(out)
        earlier = _earlier(out, part, plan, fingerprint, resume)
        if earlier is not None:
            restored = Bundle.from_state(earlier.state)
            require_same_configuration(bundle, restored)
            bundle, first, seconds = restored, earlier.batches, earlier.seconds
            if first < len(order):
                progress.note(f"resuming after {first} of {len(order)} batches")
        elif resume and not part:
            progress.note(f"there is no checkpoint in {out}; starting from the beginning")
    elif resume:
        raise PlanError("resuming needs the folder of the interrupted run; give it with --out")

    pieces = [sum(lengths[index] for index in batch) for batch in order]
    began = saved = time.monotonic()
    done = _Done(bundle.state(), first, seconds)
    progress.start(f"{study.name}, {part}" if part else study.name, sum(pieces), sum(pieces[:first]))
    try:
        for number in range(first, len(order)):
            study.update(bundle, [items[index] for index in order[number]])
            now = time.monotonic()
            done = _Done(bundle.state(), number + 1, seconds + now - began)
            progress.advance(pieces[number])
            if out is not None and (now - saved >= checkpoint_every or done.batches == len(order)):
                _save(out, part, plan, fingerprint, done)
                saved = time.monotonic()
    except KeyboardInterrupt:
        if out is not None and done.batches:
            _save(out, part, plan, fingerprint, done)
            progress.note(f"interrupted after {done.batches} of {len(order)} batches; go on with --resume")
        raise
    finally:
        progress.finish()
    return bundle


def _earlier(out: Path, part: str, plan: Plan, order: str, resume: bool) -> _Done | None:
    """What an earlier run left, if it may be continued; refuse what is in the way."""
    checkpoint = load_checkpoint(out, part)
    if checkpoint is None:
        require_free(out, plan.to_dict())
        return None
    where = checkpoint_file(out, part)
    require_resumable(where, checkpoint.plan, plan, resume=resume)
    if checkpoint.progress.get("order") != order:
        raise PlanError(
            f"{where}: the texts no longer fall into the same batches as before; "
            "use the same texts and batch size, or delete this file"
        )
    require_free(out, plan.to_dict())
    return _Done(checkpoint.state, int(checkpoint.progress["batches"]), float(checkpoint.progress["seconds"]))


def _save(out: Path, part: str, plan: Plan, order: str, done: _Done) -> None:
    progress = {"batches": done.batches, "seconds": done.seconds, "order": order}
    save_checkpoint(out, plan.to_dict(), done.state, progress, part)


def _fingerprint(order: list[list[int]]) -> str:
    """What tells these batches from others, so that a checkpoint is never continued over the wrong ones."""
    return hashlib.sha256(json.dumps(order).encode()).hexdigest()
