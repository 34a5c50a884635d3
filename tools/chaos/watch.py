"""Every call of the system that changes a file below a folder, held up until its parent has looked.

A child asks the kernel for it (seccomp's user notification): whatever it calls to open for writing, write, rename,
remove, truncate or sync waits until the parent answers, by whichever library and thread, also where a library speaks
to the kernel itself. The parent sees what is on the disk before each call. A write it makes in the child's place,
through the child's own open file, in two halves, and looks between them. Random bytes are dealt out by the parent,
too, so that names of temporary files are the same each time. What goes into mapped memory is no call; that a file was
mapped is told.
"""

from __future__ import annotations

import contextlib
import ctypes
import errno
import fcntl
import hashlib
import os
import platform
import signal
import socket
import struct
import sys
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

SYSCALLS = {  # of x86-64
    "write": 1, "open": 2, "mmap": 9, "pwrite": 18, "writev": 20, "sendfile": 40, "fsync": 74, "fdatasync": 75,
    "truncate": 76, "ftruncate": 77, "rename": 82, "mkdir": 83, "rmdir": 84, "creat": 85, "link": 86, "unlink": 87,
    "symlink": 88, "openat": 257, "mkdirat": 258, "unlinkat": 263, "renameat": 264, "linkat": 265, "symlinkat": 266,
    "splice": 275, "fallocate": 285, "pwritev": 296, "renameat2": 316, "getrandom": 318, "copy_file_range": 326,
    "pwritev2": 328, "io_uring_setup": 425, "openat2": 437,
}  # fmt: skip
NAMES = {number: name for name, number in SYSCALLS.items()}
SECCOMP, PIDFD_GETFD, NO_NEW_PRIVILEGES = 317, 438, 38
RECEIVE, ANSWER = 0xC0502100, 0xC0182101  # requests to the kernel: the next call, and what becomes of it
CHANGING = os.O_WRONLY | os.O_RDWR | os.O_CREAT | os.O_TRUNC
AT_CWD = 2**32 - 100  # "the folder one is in", as 32 bits
WRITTEN = 4096  # bytes of a path
# where the path stands that a call changes: its folder's and its own place among the arguments (None: where one is)
PATHS: dict[str, tuple[int | None, int]] = {
    "open": (None, 0), "creat": (None, 0), "truncate": (None, 0), "mkdir": (None, 0), "rmdir": (None, 0),
    "unlink": (None, 0), "openat": (0, 1), "mkdirat": (0, 1), "unlinkat": (0, 1), "rename": (None, 1),
    "renameat": (2, 3), "renameat2": (2, 3),
}  # fmt: skip
FROM: dict[str, tuple[int | None, int]] = {"rename": (None, 0), "renameat": (0, 1), "renameat2": (0, 1)}
FILES = ("write", "pwrite", "writev", "fsync", "fdatasync", "ftruncate", "fallocate")  # the open file comes first
PLAIN = {
    "pwrite": "write", "writev": "write", "fdatasync": "fsync", "ftruncate": "truncate", "fallocate": "truncate",
    "mkdirat": "mkdir", "unlinkat": "unlink", "openat": "open", "creat": "open", "renameat": "rename",
    "renameat2": "rename",
}  # fmt: skip
# which nothing here is known to use below a folder; whoever begins to is told, for half of it would not be seen
UNKNOWN = (
    "sendfile", "splice", "copy_file_range", "pwritev", "pwritev2", "link", "linkat", "symlink", "symlinkat",
    "openat2", "io_uring_setup",
)  # fmt: skip


@dataclass(frozen=True)
class Call:
    """A call below the folder: what it does, to which file, where that came from (of a rename), and whether a file is
    opened for reading, or emptied by being opened."""

    kind: str
    file: str
    origin: str = ""
    reads: bool = False
    empties: bool = False

    def __str__(self) -> str:
        return f"{self.kind} of {self.file or '/'}"


# called before each call, and (True) when half of a write is done; says whether the child is to be killed now
Looking = Callable[[Call, bool], bool]


@dataclass
class Watch:
    """Watches a child's changes below a folder. ``reads`` tells of files that are opened for reading as well, without
    ``writes`` nothing is told of what is done with a file once it is open (a held up call takes its time); ``seed``
    deals out random bytes that are always the same (None: the system's own)."""

    folder: Path
    look: Looking
    reads: bool = False
    writes: bool = True
    seed: int | None = None
    mapped: set[str] = field(default_factory=set)
    _dealt: int = 0

    def serve(self, listener: int, child: int) -> None:
        """Answer the next call."""
        asked = bytearray(80)
        try:
            fcntl.ioctl(listener, RECEIVE, asked, True)
        except OSError as error:
            if error.errno in (errno.ENOENT, errno.EINTR):  # it has been killed meanwhile
                return
            raise
        number, thread = struct.unpack_from("QI", asked)
        name = NAMES[struct.unpack_from("i", asked, 16)[0]]
        arguments = struct.unpack_from("6Q", asked, 32)
        try:
            answer = self._answered(_Asking(child, thread, name, arguments))
        except ProcessLookupError:
            return
        if answer is None:
            os.kill(child, signal.SIGKILL)
            return
        with contextlib.suppress(FileNotFoundError):  # killed by somebody else meanwhile
            fcntl.ioctl(listener, ANSWER, struct.pack("QqiI", number, *answer))

    def _answered(self, asking: _Asking) -> tuple[int, int, int] | None:
        """The value, error and flags that a call comes back with; None where the child is to die."""
        goes_on = (0, 0, 1)
        if asking.name == "getrandom":
            return goes_on if self.seed is None else (self._deal(asking), 0, 0)
        call = self._call(asking)
        if call is None:
            return goes_on
        if call.kind == "map":
            self.mapped.add(call.file)
            return goes_on
        if self.look(call, False):
            return None
        if call.kind != "write":
            return goes_on
        try:
            return self._written(asking, call)
        except OSError as error:
            return 0, -(error.errno or errno.EIO), 0

    def _call(self, asking: _Asking) -> Call | None:
        name = asking.name
        if name == "mmap":
            file = self._below(asking.open_file(4))
            return None if file is None else Call("map", file)
        if name in UNKNOWN:
            places = [asking.open_file(at) for at in range(4)] if name != "io_uring_setup" else [str(self.folder)]
            if any(self._below(place) is not None for place in places) or name not in UNKNOWN[:5]:
                raise NotImplementedError(f"a child calls {name}, of which nothing is known here")
            return None
        if name in FILES:
            file = self._below(asking.open_file(0))
            return None if file is None else Call(PLAIN.get(name, name), file)
        file = self._below(asking.path(*PATHS[name]))
        origin = self._below(asking.path(*FROM[name])) if name in FROM else None
        if file is None and origin is None:
            return None
        flags = asking.arguments[PATHS[name][1] + 1] if name in ("open", "openat") else CHANGING
        kind = PLAIN.get(name, name) if flags & CHANGING else "read"
        return Call(kind, file or "", origin or "", not flags & os.O_WRONLY, bool(flags & os.O_TRUNC))

    def _below(self, path: str) -> str | None:
        """A path as seen from the folder; None where it is not below it, or no longer."""
        root = str(self.folder)
        if (path != root and not path.startswith(root + "/")) or path.endswith(" (deleted)"):
            return None
        return path[len(root) :]

    def _written(self, asking: _Asking, call: Call) -> tuple[int, int, int] | None:
        """Write what the child would write: half of it, a look, the rest."""
        data, place = asking.data()
        file = asking.own_copy()
        try:

            def write(part: bytes, after: int) -> int:
                return os.write(file, part) if place is None else os.pwrite(file, part, place + after)

            half = len(data) // 2
            done = write(data[:half], 0) if half else 0
            if half and self.look(call, True):
                return None
            if done == half:
                with contextlib.suppress(OSError) if done else contextlib.nullcontext():
                    done += write(data[half:], half)
            return done, 0, 0
        finally:
            os.close(file)

    def _deal(self, asking: _Asking) -> int:
        """Give the child the next random bytes."""
        place, size = asking.arguments[:2]
        self._dealt += 1
        words = (hashlib.sha512(f"{self.seed} {self._dealt} {at}".encode()).digest() for at in range(size // 64 + 1))
        with open(f"/proc/{asking.thread}/mem", "r+b", buffering=0) as memory:
            memory.seek(place)
            memory.write(b"".join(words)[:size])
        return size


@dataclass(frozen=True)
class _Asking:
    """A call that waits: of which child and thread, and with which arguments."""

    child: int
    thread: int
    name: str
    arguments: tuple[int, ...]

    def path(self, folder: int | None, at: int) -> str:
        """The path that stands at a place among the arguments, whole."""
        path = self._text(self.arguments[at])
        if path.startswith("/"):
            return os.path.normpath(path)
        here = AT_CWD if folder is None else self.arguments[folder] & 0xFFFFFFFF
        link = "cwd" if here == AT_CWD else f"fd/{here}"
        return os.path.normpath(os.path.join(self._link(link), path))

    def open_file(self, at: int) -> str:
        return self._link(f"fd/{self.arguments[at] & 0xFFFFFFFF}")

    def own_copy(self) -> int:
        """The child's open file, as one of ours; both move on together."""
        if not os.path.exists(f"/proc/{self.child}/task/{self.thread}"):
            raise NotImplementedError("a child of a child writes, which cannot be watched")
        process = os.pidfd_open(self.child)
        try:
            file: int = ctypes.CDLL(None, use_errno=True).syscall(PIDFD_GETFD, process, self.arguments[0], 0)
        finally:
            os.close(process)
        if file < 0:
            raise OSError(ctypes.get_errno(), "an open file of the child cannot be had")
        return file

    def data(self) -> tuple[bytes, int | None]:
        """What is to be written, and where (None: where the file stands)."""
        with open(f"/proc/{self.thread}/mem", "rb", buffering=0) as memory:

            def part(place: int, size: int) -> bytes:
                memory.seek(place)
                return memory.read(size)

            if self.name != "writev":
                return part(*self.arguments[1:3]), self.arguments[3] if self.name == "pwrite" else None
            listed = part(self.arguments[1], 16 * self.arguments[2])
            return b"".join(part(*struct.unpack_from("QQ", listed, at)) for at in range(0, len(listed), 16)), None

    def _text(self, place: int) -> str:
        """The text at a place of the child's memory, up to its end; pages after it may not be there."""
        page, told = 4096, b""
        with open(f"/proc/{self.thread}/mem", "rb", buffering=0) as memory:
            while b"\0" not in told and len(told) < WRITTEN:
                memory.seek(place + len(told))
                told += memory.read(page - (place + len(told)) % page)
        return os.fsdecode(told.split(b"\0", 1)[0])

    def _link(self, name: str) -> str:
        try:
            return os.readlink(f"/proc/{self.thread}/{name}")
        except FileNotFoundError:
            return ""


def possible() -> bool:
    """Whether children can be watched here."""
    return sys.platform == "linux" and platform.machine() == "x86_64" and hasattr(os, "pidfd_open")


def ask_to_be_watched(channel: socket.socket, *, reads: bool, writes: bool = True) -> None:
    """Have all calls from now on held up, and hand over, in a child, the file by which they are answered."""
    program = _program(reads=reads, writes=writes)
    held = ctypes.create_string_buffer(program, len(program))

    class Program(ctypes.Structure):
        _fields_ = (("length", ctypes.c_ushort), ("filter", ctypes.c_void_p))

    library = ctypes.CDLL(None, use_errno=True)
    library.prctl(NO_NEW_PRIVILEGES, 1, 0, 0, 0)
    listener = library.syscall(SECCOMP, 1, 8, ctypes.byref(Program(len(program) // 8, ctypes.addressof(held))))
    if listener < 0:
        raise OSError(ctypes.get_errno(), "calls of a child cannot be watched here")
    socket.send_fds(channel, [b"."], [listener])
    os.close(listener)


def _program(*, reads: bool, writes: bool) -> bytes:
    """The kernel's rule for which calls are held up."""
    load, equal, any_bit, end = 0x20, 0x15, 0x45, 0x06
    held, free = (end, 0, 0, 0x7FC00000), (end, 0, 0, 0x7FFF0000)
    steps: list[tuple[int, int, int, int]] = [(load, 0, 0, 0)]
    for name, number in SYSCALLS.items():
        if name in FILES and not writes:
            continue
        if name == "mmap":  # shared, and to be written to
            steps += [
                (equal, 0, 6, number), (load, 0, 0, 32), (any_bit, 0, 3, 2), (load, 0, 0, 40), (any_bit, 0, 1, 1),
                held, free,
            ]  # fmt: skip
        elif name in ("open", "openat") and not reads:
            flags = 16 + 8 * (PATHS[name][1] + 1)
            steps += [(equal, 0, 4, number), (load, 0, 0, flags), (any_bit, 0, 1, CHANGING), held, free]
        else:
            steps += [(equal, 0, 1, number), held]
    return b"".join(struct.pack("HBBI", *step) for step in [*steps, free])
