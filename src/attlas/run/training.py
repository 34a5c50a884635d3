"""What runs that train a model share: a folder that is free, checkpoints, word of how it goes, and the model folder.

While such a run goes on, its folder holds a checkpoint; at the end a model folder like any other, with
``training.json`` beside the weights: the plan, the hashes of the data, what was seen after each pass.
"""

from __future__ import annotations

import json
import time
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from attlas.errors import CapabilityError, PlanError, StoreError
from attlas.run.plan import differences, require_resumable
from attlas.run.session import Run
from attlas.run.setting import describe
from attlas.store import plain, require_free, versions_here
from attlas.store.checkpoint import FOLDER as CHECKPOINT
from attlas.store.folder import finish_up, locate, publish
from attlas.store.tensors import clear_arrays, load_arrays, save_arrays

if TYPE_CHECKING:
    from attlas.capture import Subject
    from attlas.tasks.training import Trainer

RECORD = "training.json"
_SECONDS_BETWEEN_NOTES = 30.0
_SAID = (
    "task", "score", "bleu", "held_out_loss", "majority", "standing", "warning",
    "best_epoch", "stopped_early", "stopped_by", "labels",
    "curve", "texts", "pieces", "sizes", "weights", "fingerprint", "data", "validation", "more_data", "skipped",
    "versions", "device", "started", "seconds", "steps", "pieces_per_second", "encoder_alike",
)  # fmt: skip


@dataclass(frozen=True)
class Trained:
    """A model that was trained: the subject itself, the record of its training, and its folder if it was saved.

    >>> sorted(Trained.__dataclass_fields__)
    ['folder', 'record', 'subject']
    """

    subject: Subject
    record: dict[str, Any]
    folder: Path | None = None

    def as_json(self) -> dict[str, Any]:
        """The record of the training, and where the model lies.

        >>> Trained(None, {"task": "similarity"}).as_json()
        {'task': 'similarity', 'folder': None}
        """
        return {**self.record, "folder": None if self.folder is None else str(self.folder)}

    def show(self, about: str, columns: Mapping[str, str], notes: Sequence[str], command: str) -> None:
        """Print what it is, these columns of what was seen after each pass, some notes, and what to try next: nothing
        where the model is no better than chance, which stands on top in red."""
        import typer
        from rich.console import Console
        from rich.table import Table

        warned = self.record.get("warning")
        if warned:
            typer.secho(warned, fg="red")
        typer.echo(about)
        table = Table("epoch", *columns.values(), "", box=None, header_style="bold")
        for row in self.record["curve"]:
            cells = ["" if row[name] is None else f"{row[name]:.4f}" for name in columns]
            table.add_row(str(row["epoch"]), *cells, "best" if row["epoch"] == self.record["best_epoch"] else "")
        Console().print(table)
        for note in (*notes, *(f"note: {reason}: {number:,}" for reason, number in self.record["skipped"].items())):
            typer.echo(note)
        if self.folder is not None:
            typer.echo(f"model: {self.folder}")
            if not warned:
                typer.echo(f"try: attlas {command} --model {self.folder}")


def computes_in_half(dtype: str | None, model: Subject) -> bool:
    """Whether to compute in bfloat16: as asked, or where a GPU can."""
    import torch

    able = model.device.type == "cuda" and torch.cuda.is_bf16_supported()
    if dtype in (None, "bfloat16"):
        if dtype is not None and not able:
            raise CapabilityError(
                f"training in bfloat16 needs a GPU that knows it, and the model is on {model.device}"
            )
        return able
    if dtype != "float32":
        raise CapabilityError(f"training is done in float32 or bfloat16, not in {dtype}")
    return False


def done_before(out: Path, plan: Mapping[str, Any], resume: bool) -> dict[str, Any] | None:
    """Refuse a folder that holds anything but this very run; the record of a finished one that is to be resumed, of
    which whatever a kill has cut off at its very end is done."""
    place = locate(out, RECORD)
    if not place.exists():
        require_free(out, plan)
        return None
    try:
        there: dict[str, Any] = json.loads(place.read_text(encoding="utf-8"))
        changed = differences(there["plan"], plan)
    except (ValueError, KeyError, TypeError):
        raise StoreError(f"{place}: attlas did not write this; choose another --out") from None
    if changed:
        raise StoreError(
            f"{out}: it holds a model that was trained by another plan ({changed[0]}); choose another --out or "
            "delete it"
        )
    if not resume:
        return None
    clear_arrays(_checkpoint(out))
    finish_up(out)
    return there


def carry_out_training(
    trainer: Trainer, run: Run, *, doing: str = "tuning", every_pass: bool = True, until: float | None = None
) -> None:
    """Let the trainer work, with checkpoints and word of how it goes.

    Checkpoints are written so many seconds apart, and after ``every_pass`` unless that is not wished. No pass is
    begun that would probably not end before ``until``, a time of :func:`time.monotonic`.
    """
    plan, out, progress = run.plan.to_dict(), run.out, run.progress
    if out is None and run.resume:
        raise PlanError("resuming needs the folder of the interrupted run; give it with --out")
    if out is not None:
        _restore(trainer, _checkpoint(out), run)
    epochs = trainer.recipe.epochs
    pieces = trainer.pieces_per_epoch
    done = round(pieces * trainer.step / trainer.steps_per_epoch)
    progress.start(f"{doing} for {trainer.task.name}", epochs * pieces, done)
    saved = noted = judged = time.monotonic()
    try:
        for moment in trainer.moments():
            progress.advance(moment.pieces)
            now = time.monotonic()
            if moment.judged is not None:
                progress.note(_said(trainer, moment.judged))
                if until is not None and now + (now - judged) > until and trainer.step and not trainer.finished:
                    progress.note("the time is over; this pass is the last")
                    trainer.halt()
                noted = judged = now
            elif now - noted > _SECONDS_BETWEEN_NOTES:
                progress.note(f"step {trainer.step:,} of {trainer.steps:,}: loss {moment.loss:.3f}")
                noted = now
            due = now - saved >= run.checkpoint_every or (
                every_pass and moment.judged is not None and trainer.step > 0
            )
            if out is not None and due:
                arrays, numbers = trainer.state()
                save_arrays(_checkpoint(out), arrays, {"plan": plan, "numbers": numbers})
                saved = time.monotonic()
    except KeyboardInterrupt:
        if out is not None and _checkpoint(out).exists():
            progress.note("interrupted; go on from the last checkpoint with --resume")
        raise
    finally:
        progress.finish()


def _said(trainer: Trainer, seen: Any) -> str:
    """A pass in words."""
    parts = [] if seen.loss is None else [f"loss {seen.loss:.3f}"]
    parts += [] if seen.held_loss is None else [f"held-out loss {seen.held_loss:.3f}"]
    parts += [] if seen.score is None else [f"{trainer.task.metric.name} {seen.score:.4f}"]
    when = f"epoch {seen.epoch} of {trainer.recipe.epochs}" if seen.epoch else "before training"
    return f"{when}: {', '.join(parts)}" + (" (best so far)" if seen.best and seen.epoch else "")


def record_of(run: Run, trainer: Trainer, **own: Any) -> dict[str, Any]:
    """What training.json says of any training, and of this one its ``own``, in the order of :data:`_SAID`."""
    assert trainer.best is not None
    shared = {
        "best_epoch": trainer.best.epoch, "curve": [asdict(seen) for seen in trainer.passes],
        "fingerprint": run.subject.fingerprint, "data": describe(run.corpus), "versions": versions_here(),
        "device": str(run.subject.device), "started": run.started.isoformat(timespec="seconds"),
        "seconds": round(trainer.seconds, 1),
    }  # fmt: skip
    known = shared | own
    record: dict[str, Any] = plain({name: known[name] for name in sorted(known, key=_SAID.index)}, "record")
    return record


def save_trained(out: Path, model: Subject, record: Mapping[str, Any]) -> None:
    """Write the model folder with its record, all at once, and let the checkpoint go."""
    from attlas.models import save_model

    def write(staged: Path) -> None:
        save_model(model.model, model.pieces.tokenizer, staged)
        (staged / RECORD).write_text(json.dumps(record, indent=2, ensure_ascii=False), encoding="utf-8")

    publish(out, write)
    clear_arrays(_checkpoint(out))


def fingerprint_of(model: Subject) -> str:
    """The fingerprint of a model as it is now."""
    from attlas.models.fingerprints import fingerprint

    return fingerprint(model.model)


def _checkpoint(out: Path) -> Path:
    return out / CHECKPOINT / "training.safetensors"


def _restore(trainer: Trainer, path: Path, run: Run) -> None:
    earlier = load_arrays(path)
    if earlier is None:
        if run.resume:
            run.progress.note(f"there is no checkpoint in {path.parent.parent}; starting from the beginning")
        return
    arrays, about = earlier
    require_resumable(path, about["plan"], run.plan, resume=run.resume)
    trainer.restore(arrays, about["numbers"])
    run.progress.note(f"resuming after {trainer.step} of {trainer.steps} steps")
