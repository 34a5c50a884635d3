"""A file that appears whole or not at all: written beside its place, forced to the disk, put there by one rename.

A full disk, a limit or a kill leaves what was there before.
"""

from __future__ import annotations

import contextlib
import errno
import os
from collections.abc import Iterator
from pathlib import Path
from typing import IO

UNFINISHED = ".new"


@contextlib.contextmanager
def naming(path: str | os.PathLike[str]) -> Iterator[None]:
    """Have an error of the system tell the file, which it does not where a disk is full.

    >>> with naming("a.txt"):
    ...     raise OSError(28, "No space left on device")
    Traceback (most recent call last):
        ...
    OSError: [Errno 28] No space left on device: 'a.txt'
    """
    try:
        yield
    except OSError as error:
        if error.filename is None:
            error.filename = os.fspath(path)
        raise


@contextlib.contextmanager
def writing(path: str | os.PathLike[str]) -> Iterator[IO[bytes]]:
    """A file to write bytes to, which takes its place when the ``with`` block ends well.

    >>> import tempfile
    >>> place = Path(tempfile.mkdtemp()) / "page.html"
    >>> with writing(place) as file:
    ...     _ = file.write(b"<p>")
    ...     place.exists()
    False
    >>> place.read_text(), [other.name for other in place.parent.iterdir()]
    ('<p>', ['page.html'])
    """
    place = Path(path)
    staged = place.with_name(place.name + UNFINISHED)
    try:
        with naming(place), open(staged, "wb") as file:
            yield file
            file.flush()
            os.fsync(file.fileno())
        os.replace(staged, place)
    except BaseException:
        with contextlib.suppress(OSError):
            staged.unlink(missing_ok=True)
        raise


def require_plain(path: str | os.PathLike[str]) -> None:
    """Refuse what is there and is no file: to read a pipe or a device may never end.

    >>> require_plain("no such file")
    >>> require_plain("/dev/null")
    Traceback (most recent call last):
        ...
    OSError: [Errno 22] no plain file: '/dev/null'
    """
    place = Path(path)
    if place.exists() and not place.is_file():
        raise OSError(errno.EINVAL, "no plain file", os.fspath(path))


def write_whole(path: str | os.PathLike[str], data: str | bytes) -> Path:
    """Write a text (as UTF-8) or bytes.

    >>> import tempfile
    >>> write_whole(Path(tempfile.mkdtemp()) / "a.txt", "ä").read_bytes()
    b'\\xc3\\xa4'
    """
    with writing(path) as file:
        file.write(data.encode() if isinstance(data, str) else data)
    return Path(path)
