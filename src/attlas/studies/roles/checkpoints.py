"""Checkpoints of one training, in their order: folders, or revisions of a model on the hub.

A folder that is none itself stands for the checkpoints in it, in the order of the last number in their names, which
is taken for the step. ``NAME@REVISION`` is a revision.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path

from attlas.errors import ModelError, PlanError

CONFIG = "config.json"
DIGITS = 15  # of a step
READ = ("*.json", "*.safetensors", "*.txt", "*.model", "*.bin")  # of a revision


@dataclass(frozen=True)
class Checkpoint:
    """One checkpoint: what it is called, its step (its place in the series where names tell none), and what opens.

    >>> Checkpoint("step-00500", 500, "runs/step-00500").step
    500
    """

    name: str
    step: int
    opens: str

    def folder(self) -> str:
        """What :func:`attlas.load` is told: the folder, or the files of the revision, fetched if they are not there.

        >>> Checkpoint("a", 1, "some/folder").folder()
        'some/folder'
        """
        name, at, revision = self.opens.partition("@")
        if not at or Path(self.opens).exists():
            return self.opens
        from huggingface_hub import snapshot_download

        try:
            return str(snapshot_download(name, revision=revision, allow_patterns=list(READ)))
        except Exception as error:  # no such model, no such revision, no network
            reason = str(error).partition("\n")[0]
            raise ModelError(f"the revision {revision!r} of {name!r} cannot be had: {reason}") from None


def checkpoints_of(given: Sequence[Path | str]) -> list[Checkpoint]:
    """The checkpoints that were named, in order; two at least.

    >>> [(one.name, one.step) for one in checkpoints_of(["runs/step-5", "runs/step-10"])]
    [('step-5', 5), ('step-10', 10)]
    >>> [one.step for one in checkpoints_of(["a@early", "a@late"])]
    [1, 2]
    >>> checkpoints_of(["a"])
    Traceback (most recent call last):
        ...
    attlas.errors.PlanError: this is one checkpoint alone; name two or more, or a folder that holds them
    """
    opens = [place for one in given for place in _within(str(one))]
    if len(opens) < 2:
        raise PlanError("this is one checkpoint alone; name two or more, or a folder that holds them")
    twice = next((place for place in opens if opens.count(place) > 1), None)
    if twice is not None:
        raise PlanError(f"the checkpoint {twice} is named twice")
    names = _short(opens)
    steps = [_step(name) for name in names]
    told = all(step is not None for step in steps)
    rising = told and all(one < other for one, other in pairwise(steps))  # type: ignore[operator]
    numbers = steps if rising else range(1, len(opens) + 1)
    return [
        Checkpoint(name, int(number), place)  # type: ignore[arg-type]
        for name, number, place in zip(names, numbers, opens, strict=True)
    ]


def _within(place: str) -> list[str]:
    """A checkpoint, or those that a folder holds."""
    folder = Path(place)
    if not folder.exists() and (folder.is_absolute() or place.startswith((".", "~")) or place.count("/") > 1):
        raise PlanError(f"{place}: there is no such checkpoint")
    if not folder.is_dir() or (folder / CONFIG).exists():
        return [place]
    found = [child for child in folder.iterdir() if (child / CONFIG).exists()]
    if not found:
        raise PlanError(f"{place}: neither a checkpoint (there is no {CONFIG}) nor a folder that holds some")
    return [str(child) for child in sorted(found, key=lambda child: (_step(child.name) or -1, child.name))]


def _short(places: Sequence[str]) -> list[str]:
    """Names that tell checkpoints apart: revisions of one model, or the ends of their paths."""
    revisions = [place.rpartition("@")[2] for place in places]
    if all("@" in place for place in places) and len(set(revisions)) == len(places):
        return revisions
    ends = [Path(place).name for place in places]
    return ends if len(set(ends)) == len(places) else list(places)


def _step(name: str) -> int | None:
    """The last number in a name; none where it has more digits than a step can have.

    >>> _step("step-0500"), _step("final"), _step("sha-12345678901234567890")
    (500, None, None)
    """
    found = re.findall(r"\d+", name)
    return int(found[-1]) if found and len(found[-1]) <= DIGITS else None
