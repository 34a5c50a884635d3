"""Putting several files into a folder as if they were one.

The files are first written into ``.saving`` inside the folder. When all are there, one rename makes that
``.saved``, and with it the new result counts; then the files move up one by one. A kill before the rename leaves
what was there before; after it, :func:`locate` finds the files wherever they are on their way, and the next
:func:`publish` or :func:`finish_up` finishes the move. Nothing is ever deleted but files of the same name, and the
folder may be a mount point or a link.
"""

from __future__ import annotations

import contextlib
import os
import shutil
import tempfile
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from attlas.errors import StoreError
from attlas.store.checkpoint import FOLDER as CHECKPOINT
from attlas.store.checkpoint import (
    checkpoint_parts,
    clear_checkpoint,
    clear_leftovers,
    load_checkpoint,
    without_budget,
)
from attlas.store.manifest import Manifest
from attlas.store.plain import plain
from attlas.store.portion import PART, read_portion
from attlas.whole import UNFINISHED, require_plain

MANIFEST = "manifest.json"
SAVING, SAVED = ".saving", ".saved"
TRIES = 5  # of making a place that others make and remove at the same time
SHOWN = 200  # letters of a place in a sentence


def locate(folder: Path, name: str) -> Path:
    """Where a file of a result is, also when its move was cut off.

    >>> locate(Path("out"), "manifest.json").as_posix()
    'out/manifest.json'
    """
    on_its_way = folder / SAVED / name
    return on_its_way if on_its_way.exists() else folder / name


def read_manifest(folder: Path) -> Manifest:
    """The manifest of a result.

    >>> read_manifest(Path("no such folder"))
    Traceback (most recent call last):
        ...
    attlas.errors.StoreError: no such folder: no manifest.json here, so this is no finished result; ...
    """
    path = locate(folder, MANIFEST)
    try:
        require_plain(path)
        return Manifest.from_json(path.read_text(encoding="utf-8"), str(path))
    except FileNotFoundError:
        portion = read_portion(folder)
        if portion is not None:
            raise StoreError(f"{folder}: {portion.why_no_result}") from None
        raise StoreError(
            f"{folder}: no {MANIFEST} here, so this is no finished result; finish the run with --resume, or give "
            "another folder"
        ) from None
    except UnicodeDecodeError as error:
        raise StoreError(f"{path}: this is not text ({error.reason}); the result must be made again") from None
    except OSError as error:
        raise StoreError(f"{path} cannot be read: {error.strerror or error}") from None


def publish(folder: Path, write: Callable[[Path], None]) -> None:
    """Let ``write`` fill an empty folder, then bring all its files into ``folder`` at once.

    >>> import tempfile
    >>> out = Path(tempfile.mkdtemp()) / "out"
    >>> publish(out, lambda staged: (staged / "a.txt").write_text("a") and None)
    >>> [path.name for path in out.iterdir()]
    ['a.txt']
    """
    staged = folder / SAVING
    try:
        _move_up(folder)
        shutil.rmtree(staged, ignore_errors=True)
        staged.mkdir(parents=True)
        write(staged)
        for path in (*staged.iterdir(), staged):
            sync(path)
        staged.rename(folder / SAVED)
        _move_up(folder)
    except OSError as error:
        raise StoreError(
            f"{folder}: the result cannot be written ({error.strerror or error}); free it or choose another"
        ) from error


def sync(path: Path) -> None:
    """Wait until a file or folder is really on the disk, where the system can say so.

    >>> sync(Path("."))
    """
    with contextlib.suppress(PermissionError):  # Windows opens no folders
        handle = os.open(path, os.O_RDONLY)
        try:
            os.fsync(handle)
        finally:
            os.close(handle)


def require_writable(file: Path, *, of: str = "file", flag: str = "--out") -> None:
    """Refuse a place where a file cannot be written, by trying; all that was made for that is gone again.

    ``of`` says what the person has named, the file or its folder, and ``flag`` by which option.

    >>> require_writable(Path("/proc/nobody/page.html"))
    Traceback (most recent call last):
        ...
    attlas.errors.StoreError: /proc/nobody/page.html cannot be written: ...; choose another --out
    """
    if of == "folder":
        _require_folders(file.parent)
    for left in reversed(range(TRIES)):
        try:
            _try_to_write(file)
            break
        except OSError as error:  # another run that tries the same may have removed a folder
            if not left or not isinstance(error, FileNotFoundError):
                place = file.parent if of == "folder" else file
                raise StoreError(
                    f"{_shortened(place)} cannot be written: {error.strerror or error}; choose another {flag}"
                ) from None


def _try_to_write(file: Path) -> None:
    """Make the folders of a file and the beginning of it, and remove what was not there before."""
    made: list[Path] = []
    try:
        for place in (*reversed(file.parent.parents), file.parent):
            if not place.exists():
                place.mkdir(exist_ok=True)
                made.append(place)
        handle, trial = tempfile.mkstemp(prefix=file.name, suffix=UNFINISHED, dir=file.parent)
        os.close(handle)
        os.unlink(trial)
    finally:
        for place in reversed(made):
            with contextlib.suppress(OSError):  # somebody else has begun to use it
                place.rmdir()


def _require_folders(folder: Path) -> None:
    for place in (folder, *folder.parents):
        with contextlib.suppress(OSError):  # which says more when something is to be written there
            if place.exists() and not place.is_dir():
                raise StoreError(f"{place}: a folder is needed, and this is a file; choose another --out")


def _shortened(place: Path) -> str:
    return str(place) if len(str(place)) <= SHOWN else f"{str(place)[:SHOWN]} ..."


def require_free(folder: Path, plan: Mapping[str, Any]) -> None:
    """Refuse a folder that holds anything but work on this very plan, if in batches of another size; hidden files do
    not count.

    >>> require_free(Path("no such folder yet"), {})
    """
    _require_folders(folder)
    if not folder.exists():
        return
    advice = "choose another --out or delete it"
    plan = plain(plan, "plan")
    if locate(folder, MANIFEST).exists():
        there = read_manifest(folder)
        if there.plan != plan:
            raise StoreError(f"{folder}: it holds a {there.study} result of another plan; {advice}")
        return
    portion = read_portion(folder)
    ours = {CHECKPOINT, PART} if portion is not None and portion.number and portion.plan == plan else {CHECKPOINT}
    others = sorted(path.name for path in folder.iterdir() if not path.name.startswith(".") and path.name not in ours)
    if others:
        more = f" and {len(others) - 3} more" if len(others) > 3 else ""
        raise StoreError(f"{folder}: it holds {', '.join(others[:3])}{more}, which is no result; {advice}")
    for part in checkpoint_parts(folder):
        checkpoint = load_checkpoint(folder, part)
        if checkpoint is not None and without_budget(checkpoint.plan) != without_budget(plan):
            raise StoreError(f"{folder}: it holds the checkpoint of another plan; {advice}")


def finish_up(folder: Path) -> None:
    """Do what a kill has cut off at the very end of a run, where its result is there: files are moved up, and nothing
    is left of checkpoints.

    >>> finish_up(Path("no such folder"))
    """
    _move_up(folder)
    clear_leftovers(folder)
    clear_checkpoint(folder)


def _move_up(folder: Path) -> None:
    """Finish what a rename to ``.saved`` has decided; the manifest goes last."""
    saved = folder / SAVED
    if saved.is_dir():
        for path in sorted(saved.iterdir(), key=lambda path: path.name == MANIFEST):
            path.replace(folder / path.name)
        saved.rmdir()
        sync(folder)
