"""The command line in a forked child, which may be killed at a change of a file, or by its parent after a time."""

from __future__ import annotations

import contextlib
import ctypes
import functools
import importlib
import os
import pkgutil
import select
import shutil
import signal
import subprocess
import sys
import tempfile
import traceback
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

SHIM = Path(__file__).with_name("shim.c")
MOST = 120  # seconds that a child may take before it counts as stuck
TOLD = ("out", "err", "events", "modules")  # the files that a child leaves to its parent
UNSEEN = 97  # the status of a child that ended by an error that nobody caught


def preloaded() -> None:
    """Have this process begin again with the shim loaded, unless it is."""
    if "CHAOS_SHIM" in os.environ:
        return
    library = Path(tempfile.mkdtemp(prefix="chaos-")) / "shim.so"
    subprocess.run(["cc", "-shared", "-fPIC", "-O1", "-o", library, SHIM, "-ldl"], check=True)
    environment = {**os.environ, "LD_PRELOAD": str(library), "CHAOS_SHIM": str(library), "OMP_NUM_THREADS": "1"}
    os.execve(sys.executable, [sys.executable, "-m", "tools.chaos", *sys.argv[1:]], environment)


def warmed() -> None:
    """Import all that commands import, and prepare the command line; nothing is trained, for a process whose parent
    has trained cannot train."""
    import torch
    import typer.main

    import attlas
    from attlas.cli.app import app

    for module in pkgutil.walk_packages(attlas.__path__, "attlas."):
        if not module.name.endswith("__main__"):
            importlib.import_module(module.name)
    torch.set_num_threads(1)
    typer.main.get_command = functools.cache(typer.main.get_command)
    typer.main.get_command(app)


def imported(modules: Sequence[str]) -> None:
    """Import what a child has imported, so that the next need not."""
    for name in modules:
        with contextlib.suppress(Exception):
            importlib.import_module(name)


@dataclass(frozen=True)
class Ended:
    """How a child ended: its status (negative: a signal), and what it said."""

    status: int
    out: str
    err: str
    events: tuple[str, ...] = ()
    modules: tuple[str, ...] = ()

    @property
    def killed(self) -> bool:
        return self.status == -signal.SIGKILL

    @property
    def sentence(self) -> str | None:
        """The one sentence that a command ends with when it is refused; None where it said anything else."""
        lines = [line for line in self.err.splitlines() if line]
        told = self.status == 2 and lines and lines[-1].startswith("attlas: ") and "Traceback" not in self.err
        return lines[-1] if told else None

    def __str__(self) -> str:
        return f"status {self.status}: {(self.err or self.out)[-1500:]}"


@dataclass
class Child:
    """A command on its way, in the process ``number``."""

    number: int
    handle: int
    room: Path

    def wait(self, seconds: float = MOST) -> Ended | None:
        """How it ended; None where it has not, after these seconds."""
        if not select.select([self.handle], [], [], seconds)[0]:
            return None
        os.close(self.handle)
        status = os.waitstatus_to_exitcode(os.waitpid(self.number, 0)[1])
        out, err, events, modules = ((self.room / name).read_text("utf-8", "replace") for name in TOLD)
        shutil.rmtree(self.room)
        return Ended(status, out, err, tuple(events.splitlines()), tuple(modules.splitlines()))

    def send(self, number: int) -> None:
        """Send it a signal, if it is still there."""
        with contextlib.suppress(ProcessLookupError):
            os.kill(self.number, number)

    def end(self) -> Ended:
        """How it ended; one that does not end is killed, and counts as one that was not caught."""
        ended = self.wait()
        if ended is None:
            self.send(signal.SIGKILL)
            last = self.wait()
            ended = Ended(UNSEEN, "", f"it was stuck for {MOST} s; {last}")
        return ended


def start(arguments: Sequence[str], folder: Path, *, fatal: int = 0, told: bool = False) -> Child:
    """Run a command in a child, which dies at the change of this number below a folder (0: it does not)."""
    room = Path(tempfile.mkdtemp(prefix="said-"))
    for name in TOLD:
        (room / name).touch()
    number = os.fork()
    if not number:
        _become(arguments, folder, room, fatal, told)
    return Child(number, os.pidfd_open(number), room)


def run(arguments: Sequence[str], folder: Path, *, fatal: int = 0, told: bool = False) -> Ended:
    """Run a command in a child to its end."""
    return start(arguments, folder, fatal=fatal, told=told).end()


def _become(arguments: Sequence[str], folder: Path, room: Path, fatal: int, told: bool) -> None:
    """What a child does; it never comes back."""
    status = UNSEEN
    try:
        for descriptor, name in ((1, "out"), (2, "err")):
            os.dup2(os.open(room / name, os.O_WRONLY | os.O_APPEND), descriptor)
        events = os.open(room / "events", os.O_WRONLY | os.O_APPEND) if told else -1
        for number in (signal.SIGHUP, signal.SIGTERM):  # which our own caller may have had ignored (nohup)
            signal.signal(number, signal.SIG_DFL)
        sys.argv = ["attlas", *arguments]
        ctypes.CDLL(None).chaos_arm(os.fsencode(folder), ctypes.c_long(fatal), events)
        from attlas.cli import main

        main()
        status = 0
    except SystemExit as end:
        status = end.code if isinstance(end.code, int) else int(end.code is not None)
    except BaseException:
        traceback.print_exc()
    finally:
        with contextlib.suppress(BaseException):
            sys.stdout.flush()
            sys.stderr.flush()
            if told:
                (room / "modules").write_text("\n".join(sys.modules), encoding="utf-8")
        os._exit(status)


@contextlib.contextmanager
def all_ended(children: Sequence[Child]) -> Iterator[None]:
    """Kill what is left of children when the block ends."""
    try:
        yield
    finally:
        for child in children:
            child.send(signal.SIGKILL)
