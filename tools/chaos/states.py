"""What is on the disk below a folder at one moment, to the letter, and made again elsewhere.

A kill leaves what the kernel holds of each file, so a look at the files at a moment is what a kill at that moment
would have left. Files that are being written have names of their own, and a run that goes on removes them unread;
states that differ in what stands in these alone are one class. Whoever goes on from one is watched for keeping to it.
"""

from __future__ import annotations

import fnmatch
import functools
import hashlib
import os
from collections import deque
from dataclasses import dataclass, field
from pathlib import Path

from tools.chaos.watch import Call

# names of files that are being written, and of the folder in which a result is put together
SAVING = ".saving"
UNREAD = (".tmp*", "*.new", SAVING)
FOLDER = "a folder"
LAST = 16  # calls that may not have come to their end yet


@dataclass(frozen=True)
class State:
    """By its path below the folder, what each file holds (its checksum) and which folders there are; "" is the folder
    itself."""

    files: tuple[tuple[str, str], ...]

    @property
    def key(self) -> str:
        """A short name of all that is there."""
        return _short(self.files)

    @property
    def lasting(self) -> str:
        """A short name of its class: all that is there, but for what stands in unfinished files, and which files
        there are already in the folder in which a result is put together."""
        inside = f"/{SAVING}/"
        kept = [(name, "" if unread(name) else held) for name, held in self.files if inside not in name]
        return _short(tuple(kept))

    def unfinished(self) -> set[str]:
        """The files whose content is put aside."""
        return {name for name, held in self.files if held != FOLDER and unread(name)}

    def make(self, folder: Path, kept: Path) -> None:
        """Make it at a place where nothing is, of what is kept in a folder."""
        for name, held in self.files:
            path = folder / name.lstrip("/")
            if held == FOLDER:
                path.mkdir(parents=True)
            else:
                path.write_bytes((kept / held).read_bytes())


@dataclass
class Known:
    """What was seen of files a moment before, so that only those are read again that may be others since: whose size
    or time is another, which one of the last calls was about (clocks are coarse, and a call is looked at before it is
    made), or which are mapped into memory."""

    mapped: set[str]
    held: dict[int, tuple[int, int, str]] = field(default_factory=dict)
    last: deque[str] = field(default_factory=lambda: deque(maxlen=LAST))

    def checksum(self, entry: os.DirEntry[str], name: str) -> str:
        """The checksum of a file."""
        about = entry.stat(follow_symlinks=False)
        size, time, checksum = self.held.get(about.st_ino, (-1, -1, ""))
        if (size, time) != (about.st_size, about.st_mtime_ns) or name in self.last or name in self.mapped:
            checksum = _held(entry.path, None)
            self.held[about.st_ino] = (about.st_size, about.st_mtime_ns, checksum)
        return checksum


def look(folder: Path, keep: Path | None = None, known: Known | None = None) -> State:
    """What is below a folder now; all that stands in its files is copied into ``keep``, by its checksum."""
    found: list[tuple[str, str]] = []
    left = [""] if folder.is_dir() else []
    while left:
        name = left.pop()
        found.append((name, FOLDER))
        with os.scandir(f"{folder}{name}") as entries:
            for entry in entries:
                path = f"{name}/{entry.name}"
                if entry.is_dir(follow_symlinks=False):
                    left.append(path)
                else:
                    held = _held(entry.path, keep) if known is None else known.checksum(entry, path)
                    found.append((path, held))
    return State(tuple(sorted(found)))


@functools.cache
def unread(name: str) -> bool:
    """Whether what stands in a file is put aside, as its path says.

    >>> unread("/checkpoint/.tmpAbC"), unread("/.saving/heads.parquet"), unread("/manifest.json")
    (True, True, False)
    """
    return any(fnmatch.fnmatch(part, pattern) for part in name.split("/") for pattern in UNREAD)


class Untouched:
    """Files that a run found unfinished, and whether it looks into one: reading it, or keeping it by another name."""

    def __init__(self, state: State) -> None:
        self.left = state.unfinished()
        self.looked_into: list[str] = []

    def see(self, call: Call) -> None:
        """A call that the run makes."""
        if call.kind in ("read", "open") and call.file in self.left and not call.empties:
            self.looked_into.append(str(call))
        if call.kind == "rename" and any(
            file == call.origin or file.startswith(f"{call.origin}/") for file in self.left
        ):
            self.looked_into.append(f"rename of {call.origin} to {call.file}")
        if call.kind != "read":
            self.left.discard(call.file)


def _held(path: str, keep: Path | None) -> str:
    with open(path, "rb", buffering=0) as file:
        data = file.read()
    checksum = hashlib.blake2b(data, digest_size=16).hexdigest()
    if keep is not None and not (keep / checksum).exists():
        (keep / checksum).write_bytes(data)
    return checksum


def _short(told: tuple[tuple[str, str], ...]) -> str:
    return hashlib.blake2b(repr(told).encode(), digest_size=12).hexdigest()
