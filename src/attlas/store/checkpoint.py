"""The checkpoint of a running study: one file, always whole.

Arrays, plan and progress lie together in ``checkpoint/state.npz``, so they can never be of different ages. The
file is written beside its place, forced to the disk, and then put there by one rename, which happens wholly or not
at all; a kill leaves the older checkpoint as it was. A run of several parts (heads are chosen on some texts, then
scored on others) has one such file for each, ``state-PART.npz``; the file of a part that is done stays until the
result is saved.
"""

from __future__ import annotations

import contextlib
import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from attlas.errors import StoreError, first_line
from attlas.store.plain import plain
from attlas.whole import UNFINISHED, require_plain, write_whole, writing

FOLDER, FILE = "checkpoint", "state.npz"
PLAN = "plan.json"  # of the run at work, from its first moment on
# what a kill leaves of files that were being written, there and in the folder of the result
LEFT = (".tmp*", f"*{UNFINISHED}")
LEFT_BESIDE = (".tmp??????", f".*{UNFINISHED}", f"report.html{UNFINISHED}")
SCHEMA = 1


class Checkpoint(NamedTuple):
    """What a run had done: its plan, the state of its statistics, and how far it had come.

    >>> Checkpoint({"seed": 0}, {}, {"batches": 3}).progress["batches"]
    3
    """

    plan: dict[str, Any]
    state: dict[str, NDArray[Any]]
    progress: dict[str, Any]


def checkpoint_file(folder: Path, part: str = "") -> Path:
    """Where the checkpoint of a run, or of one part of it, lies.

    >>> checkpoint_file(Path("out"), "choose").as_posix()
    'out/checkpoint/state-choose.npz'
    """
    return folder / FOLDER / (f"state-{part}.npz" if part else FILE)


def save_checkpoint(
    folder: Path,
    plan: Mapping[str, Any],
    state: Mapping[str, NDArray[Any]],
    progress: Mapping[str, Any],
    part: str = "",
) -> None:
    """Replace the checkpoint of this folder by a new one, wholly or not at all.

    >>> import tempfile
    >>> out = Path(tempfile.mkdtemp())
    >>> save_checkpoint(out, {"seed": 0}, {"mean/sums": np.ones(2)}, {"batches": 3})
    >>> load_checkpoint(out).state["mean/sums"]
    array([1., 1.])
    """
    about = {"schema": SCHEMA, "plan": plain(plan, "plan"), "progress": plain(progress, "progress")}
    about |= {"part": part, "arrays": sorted(state)}
    arrays = {f"state/{key}": np.asarray(value) for key, value in state.items()}
    loose = [key for key, array in arrays.items() if array.dtype.hasobject]
    if loose:
        raise StoreError(f"{', '.join(loose)}: arrays of Python objects cannot go into a checkpoint")
    arrays["about"] = np.frombuffer(json.dumps(about).encode(), dtype=np.uint8)
    path = checkpoint_file(folder, part)
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        with writing(path) as file:
            np.savez(file, **arrays)  # type: ignore[arg-type]
    except OSError as error:
        raise StoreError(f"{path.parent}: the checkpoint cannot be written ({error.strerror or error})") from error


def load_checkpoint(folder: Path, part: str = "") -> Checkpoint | None:
    """Read the checkpoint of this folder, or None where there is none.

    >>> load_checkpoint(Path("no such folder")) is None
    True
    """
    path = checkpoint_file(folder, part)
    try:
        require_plain(path)
        with np.load(path, allow_pickle=False) as stored:
            about = json.loads(stored["about"].tobytes())
            if about["schema"] > SCHEMA:
                raise StoreError(f"{path}: it has schema {about['schema']}, and this attlas reads up to {SCHEMA}")
            state = {key[6:]: stored[key] for key in stored.files if key.startswith("state/")}
            if sorted(state) != about["arrays"]:
                raise ValueError("it does not hold the arrays that it says it holds")
            if about["part"] != part:
                raise ValueError(f"it is that of the part {about['part']!r}")
            return Checkpoint(about["plan"], state, about["progress"])
    except FileNotFoundError:
        return None
    except StoreError:
        raise
    except Exception as error:  # a damaged archive may raise anything
        reason = first_line(error)
        raise StoreError(f"{path}: this checkpoint cannot be read ({reason}); delete it to start over") from error


def keep_plan(folder: Path, plan: Mapping[str, Any]) -> None:
    """Write down what a run is about before it has a checkpoint, so that no other run is resumed in its place.

    >>> import tempfile
    >>> out = Path(tempfile.mkdtemp())
    >>> keep_plan(out, {"seed": 0})
    >>> kept_plan(out)
    {'seed': 0}
    """
    path = folder / FOLDER / PLAN
    path.parent.mkdir(parents=True, exist_ok=True)
    write_whole(path, json.dumps(plain(plan, "plan")))


def kept_plan(folder: Path) -> dict[str, Any] | None:
    """The plan of the run that was begun in this folder, or None where that is not known.

    >>> kept_plan(Path("no such folder")) is None
    True
    """
    path = folder / FOLDER / PLAN
    try:
        require_plain(path)
        plan = json.loads(path.read_bytes())
    except FileNotFoundError:
        return None
    except (OSError, ValueError, RecursionError):
        plan = None
    if not isinstance(plan, dict):
        raise StoreError(f"{path}: this plan cannot be read; delete it to go on without it")
    return plan


def forget_plan(folder: Path) -> None:
    """Remove the plan where nothing else is left of the run that it is of.

    >>> forget_plan(Path("no such folder"))
    """
    place = folder / FOLDER
    if place.is_dir() and {path.name for path in place.iterdir()} <= {PLAN}:
        (place / PLAN).unlink(missing_ok=True)
        place.rmdir()


def clear_leftovers(folder: Path) -> None:
    """Remove what killed runs have left of files that they were writing.

    >>> clear_leftovers(Path("no such folder"))
    """
    for place, patterns in ((folder / FOLDER, LEFT), (folder, LEFT_BESIDE)):
        for pattern in patterns:
            for path in place.glob(pattern):
                path.unlink(missing_ok=True)


def checkpoint_parts(folder: Path) -> list[str]:
    """The parts of which there is a checkpoint here; "" stands for a run of a single part.

    >>> checkpoint_parts(Path("no such folder"))
    []
    """
    names = sorted(path.name for path in (folder / FOLDER).glob("state*.npz"))
    return [name.removeprefix("state").removesuffix(".npz").removeprefix("-") for name in names]


def seconds_worked(folder: Path) -> float:
    """How long all parts of a run have worked so far, over all interruptions.

    >>> seconds_worked(Path("no such folder"))
    0.0
    """
    found = (load_checkpoint(folder, part) for part in checkpoint_parts(folder))
    return sum((float(one.progress.get("seconds", 0.0)) for one in found if one is not None), 0.0)


def clear_checkpoint(folder: Path) -> None:
    """Remove the checkpoints of this folder, if there are any.

    >>> clear_checkpoint(Path("no such folder"))
    """
    place = folder / FOLDER
    for pattern in ("state*.npz", PLAN, *LEFT):
        for path in place.glob(pattern):
            path.unlink(missing_ok=True)
    with contextlib.suppress(OSError):  # not there, or the user keeps something in it
        place.rmdir()


def without_budget(plan: Mapping[str, Any]) -> dict[str, Any]:
    """A plan but for how many pieces go together in a batch, which moves the last digits of sums at most, so that a
    run may go on with another number. It stays where it says which batches belong to a part of a run.

    >>> without_budget({"study": "survey", "batching": {"budget": 512}})
    {'study': 'survey', 'batching': {}}
    >>> without_budget({"batching": {"budget": 512, "part": "1/2"}})
    {'batching': {'budget': 512, 'part': '1/2'}}
    """
    batching = dict(plan.get("batching") or {})
    if "part" not in batching:
        batching.pop("budget", None)
    return {**plan, "batching": batching}
