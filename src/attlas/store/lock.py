"""One run at a time in a folder: a lock file with the process, the host and the time of the run that works there.

The lock is held by the system for as long as the process lives, so that nothing of it outlasts a kill but the file
with its words; and the words tell who it was, also to other hosts, where the system's lock may not reach. A lock
whose process is gone is taken over; one of another host is believed.
"""

from __future__ import annotations

import contextlib
import json
import os
import socket
import sys
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from attlas.errors import StoreError

if sys.platform != "win32":
    import fcntl

LOCK = ".running"
MOST = 4096  # bytes of a lock file that are read
OPENED = os.O_RDWR | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_NONBLOCK", 0)  # no link, and no waiting for a pipe


@contextlib.contextmanager
def holding(folder: Path) -> Iterator[str | None]:
    """Hold a folder, made if need be, while the ``with`` block lasts; gives word of a run whose lock was stale.

    Folders that were made for this and are empty in the end are gone again.

    >>> import tempfile
    >>> place = Path(tempfile.mkdtemp()) / "out"
    >>> with holding(place) as stale, holding(place):
    ...     pass
    Traceback (most recent call last):
        ...
    attlas.errors.StoreError: .../out: another run works here (process ... on this machine, since ...
    >>> place.exists()
    False
    """
    made = [place for place in (folder, *folder.parents) if not place.exists()]
    try:
        folder.mkdir(parents=True, exist_ok=True)
        handle, stale = _taken(folder)
    except OSError as error:
        raise StoreError(f"{folder} cannot be written: {error.strerror or error}; choose another --out") from None
    try:
        yield stale
    finally:
        with contextlib.suppress(OSError):
            if sys.platform == "win32":  # which removes no open files
                os.close(handle)
            (folder / LOCK).unlink(missing_ok=True)
        if sys.platform != "win32":
            os.close(handle)
        with contextlib.suppress(OSError):  # the result is in it
            for place in made:
                place.rmdir()


def require_unheld(folder: Path) -> None:
    """Refuse a folder in which another run works.

    >>> require_unheld(Path("no such folder"))
    """
    try:
        handle = os.open(folder / LOCK, OPENED)
    except OSError:
        return  # there is none, or whoever writes will say what is wrong
    try:
        _require_ours(folder, handle)
    finally:
        os.close(handle)


def _taken(folder: Path) -> tuple[int, str | None]:
    """The open lock file, with our words in it, and word of the run that had left it."""
    while True:
        handle = os.open(folder / LOCK, OPENED | os.O_CREAT, 0o644)
        try:
            earlier = _require_ours(folder, handle)
            with contextlib.suppress(FileNotFoundError):
                if os.path.samestat(os.fstat(handle), os.stat(folder / LOCK)):  # else its owner has just removed it
                    os.ftruncate(handle, 0)
                    os.lseek(handle, 0, os.SEEK_SET)
                    os.write(handle, json.dumps(_ourselves()).encode())
                    return handle, earlier
        except BaseException:
            os.close(handle)
            raise
        os.close(handle)


def _require_ours(folder: Path, handle: int) -> str | None:
    """Lock an open lock file, or refuse; gives word of the run that has left it, where one has."""
    owner, free = _owner(handle), _locked_by_the_system(handle)
    here = owner is not None and owner.get("host") == socket.gethostname()
    if owner is None and free is not False:
        return None
    if owner is not None and here and (free or (free is None and not _lives(owner))):
        return f"an earlier run here was cut off ({_told(owner)})"
    advice = "" if here and free is False else f"; if it has ended, delete {folder / LOCK}"
    raise StoreError(
        f"{folder}: another run works here ({_told(owner)}); wait for it, or choose another --out{advice}"
    )


def _locked_by_the_system(handle: int) -> bool | None:
    """Whether the file is ours now; None where the system has no locks, and the words in it must do."""
    if sys.platform == "win32":
        return None
    try:
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    except OSError:  # a file system without locks
        return None
    return True


def _owner(handle: int) -> dict[str, Any] | None:
    """What a lock file says; None where it says nothing, as one that was cut off while it was written."""
    try:
        owner = json.loads(os.read(handle, MOST))
    except (ValueError, RecursionError):
        return None
    return owner if isinstance(owner, dict) else None


def _ourselves() -> dict[str, Any]:
    started = datetime.now(UTC).isoformat(timespec="seconds")
    return {"process": os.getpid(), "host": socket.gethostname(), "started": started}


def _lives(owner: dict[str, Any]) -> bool:
    """Whether the process of a lock of this host is still there, as far as the system tells."""
    number = owner.get("process")
    if not isinstance(number, int) or number <= 0:
        return False
    if sys.platform == "win32":  # where asking would end it
        return True
    try:
        os.kill(number, 0)
    except (ProcessLookupError, OverflowError):
        return False
    except PermissionError:
        return True  # somebody else's
    return True


def _told(owner: dict[str, Any] | None) -> str:
    if owner is None:
        return "it has not said who it is yet"
    host = owner.get("host")
    where = "this machine" if host == socket.gethostname() else str(host)[:100]
    return f"process {str(owner.get('process'))[:20]} on {where}, since {str(owner.get('started'))[:40]}"
