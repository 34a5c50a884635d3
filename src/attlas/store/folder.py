"""Putting several files into a folder as if they were one.

The files are first written into ``.saving`` inside the folder. When all are there, one rename makes that
``.saved``, and with it the new result counts; then the files move up one by one. A kill before the rename leaves
what was there before; after it, :func:`locate` finds the files wherever they are on their way, and the next
:func:`publish` finishes the move. Nothing is ever deleted but files of the same name, and the folder may be a mount
point or a link.
"""

from __future__ import annotations

import contextlib
import os
import shutil
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from attlas.errors import StoreError
from attlas.store.checkpoint import FOLDER as CHECKPOINT
from attlas.store.checkpoint import checkpoint_parts, load_checkpoint
from attlas.store.manifest import Manifest
from attlas.store.plain import plain

MANIFEST = "manifest.json"
SAVING, SAVED = ".saving", ".saved"


def locate(folder: Path, name: str) -> Path:
    """Where a file of a result is, also when its move was cut off.

    >>> locate(Path("out"), "manifest.json").as_posix()
    'out/manifest.json'
    """
    on_its_way = folder / SAVED / name
    return on_its_way if on_its_way.exists() else folder / name


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


def require_free(folder: Path, plan: Mapping[str, Any]) -> None:
    """Refuse a folder that holds anything but work on this very plan; hidden files do not count.

    >>> require_free(Path("no such folder yet"), {})
    """
    for place in (folder, *folder.parents):
        if place.exists() and not place.is_dir():
            raise StoreError(f"{place}: a folder is needed, and this is a file; choose another --out")
    if not folder.exists():
        return
    advice = "choose another --out or delete it"
    plan = plain(plan, "plan")
    manifest = locate(folder, MANIFEST)
    if manifest.exists():
        there = Manifest.from_json(manifest.read_text(encoding="utf-8"), str(manifest))
        if there.plan != plan:
            raise StoreError(f"{folder}: it holds a {there.study} result of another plan; {advice}")
        return
    others = sorted(
        path.name for path in folder.iterdir() if not path.name.startswith(".") and path.name != CHECKPOINT
    )
    if others:
        more = f" and {len(others) - 3} more" if len(others) > 3 else ""
        raise StoreError(f"{folder}: it holds {', '.join(others[:3])}{more}, which is no result; {advice}")
    for part in checkpoint_parts(folder):
        checkpoint = load_checkpoint(folder, part)
        if checkpoint is not None and checkpoint.plan != plan:
            raise StoreError(f"{folder}: it holds the checkpoint of another plan; {advice}")


def _move_up(folder: Path) -> None:
    """Finish what a rename to ``.saved`` has decided; the manifest goes last."""
    saved = folder / SAVED
    if saved.is_dir():
        for path in sorted(saved.iterdir(), key=lambda path: path.name == MANIFEST):
            path.replace(folder / path.name)
        saved.rmdir()
        sync(folder)
