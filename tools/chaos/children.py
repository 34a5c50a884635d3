"""The command line in a forked child, which may be watched at each change of a file, and killed there or later."""

from __future__ import annotations

import contextlib
import functools
import gc
import hashlib
import importlib
import itertools
import os
import pkgutil
import select
import shutil
import signal
import socket
import sys
import tempfile
import time
import traceback
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta, tzinfo
from pathlib import Path
from typing import Any

from attlas.pages.rows import Tables
from tools.chaos.watch import Watch, ask_to_be_watched

MOST = 1800  # seconds that a child may take before it counts as stuck, also where the machine has much else to do
TOLD = ("out", "err", "modules")  # the files that a child leaves to its parent
NOBODY = 2**22 + 1  # a process number that no system gives
PROCESS_CLOCK = 2  # the kernel's name for all that a process has worked, beside its number
UNSEEN = 97  # the status of a child that ended by an error that nobody caught


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
    _drawn_once()
    typer.main.get_command = functools.cache(typer.main.get_command)
    typer.main.get_command(app)


def _drawn_once() -> None:
    """Have charts, sections and findings made once for the same tables: children take over what their parent made,
    and only put their pages together."""
    from attlas.pages import html
    from attlas.pages.page import Page

    made: dict[tuple[str, str, str], Any] = {}

    def told_by(tables: Tables) -> str:
        """A short name of all that tables hold, but for when they were made."""
        if "told" not in vars(tables):
            manifest = replace(tables.manifest, started="", seconds=0.0, checksums={})
            rows = {name: table.to_pydict() for name, table in tables.arrow.items()}
            vars(tables)["told"] = hashlib.blake2b(repr((manifest, rows)).encode()).hexdigest()
        return str(vars(tables)["told"])

    def once(holder: Any, name: str) -> None:
        make = vars(holder)[name]

        def kept(part: Any, tables: Tables) -> Any:
            key = name, str(getattr(part, "key", "")), told_by(tables)
            if key not in made:
                made[key] = make(part, tables)
            return made[key]

        setattr(holder, name, kept)

    once(html, "_figure_data")
    once(html, "_section")
    once(Page, "found")


def imported(modules: Sequence[str]) -> None:
    """Import what a child has imported, so that the next need not; and have children not look through all of it for
    garbage, which would copy it."""
    for name in modules:
        with contextlib.suppress(Exception):
            importlib.import_module(name)
    gc.collect()
    gc.freeze()


@dataclass(frozen=True)
class Ended:
    """How a child ended: its status (negative: a signal), what it said, and for how many seconds of the processor it
    worked."""

    status: int
    out: str
    err: str
    modules: tuple[str, ...] = ()
    work: float = 0.0

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
    """A command on its way, in the process ``number``; ``watch`` answers what ``listener`` brings, where it is
    watched."""

    number: int
    handle: int
    room: Path
    watch: Watch | None = None
    listener: int = -1

    def wait(self, seconds: float = MOST) -> Ended | None:
        """How it ended; None where it has not, after these seconds."""
        if not self._ended(seconds):
            return None
        os.close(self.handle)
        if self.listener >= 0:
            os.close(self.listener)
        _, status, used = os.wait4(self.number, 0)
        out, err, modules = ((self.room / name).read_text("utf-8", "replace") for name in TOLD)
        shutil.rmtree(self.room)
        ended = os.waitstatus_to_exitcode(status)
        return Ended(ended, out, err, tuple(modules.splitlines()), used.ru_utime + used.ru_stime)

    def _ended(self, seconds: float) -> bool:
        """Answer its calls until it has ended, or so many seconds are over."""
        until = time.monotonic() + seconds
        waiting = select.poll()
        waiting.register(self.handle, select.POLLIN)
        if self.watch is not None:
            waiting.register(self.listener, select.POLLIN)
        while (left := until - time.monotonic()) > 0:
            ready = dict(waiting.poll(left * 1000))
            if self.handle in ready:
                return True
            if self.watch is not None and ready.get(self.listener, 0) & select.POLLIN:
                self.watch.serve(self.listener, self.number)
            elif self.listener in ready:  # nobody is left who could ask
                waiting.unregister(self.listener)
        return False

    def worked(self) -> float:
        """For how many seconds of the processor it has worked; what others do on this machine does not count."""
        return time.clock_gettime(~self.number << 3 | PROCESS_CLOCK)

    def until(self, work: float) -> None:
        """Let it work for so long, or to its end; nobody answers a watched one meanwhile but another thread."""
        ended = select.poll()
        ended.register(self.handle, select.POLLIN)
        while (left := work - self.worked()) > 0 and not ended.poll(max(1.0, left * 1000)):
            pass

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


def start(arguments: Sequence[str], watch: Watch | None = None, *, told: bool = False) -> Child:
    """Run a command in a child; a watched one is told made-up times and a process number that nobody has, so that it
    does the same to the letter each time. ``told``: what it has imported is told."""
    room = Path(tempfile.mkdtemp(prefix="said-"))
    for name in TOLD:
        (room / name).touch()
    ours, its = socket.socketpair()
    with ours, its:
        number = os.fork()
        if not number:
            _become(arguments, room, watch, its, told)
        child = Child(number, os.pidfd_open(number), room, watch)
        if watch is not None:
            its.close()  # a child that dies before is an end
            listeners = socket.recv_fds(ours, 1, 1)[1]
            if listeners:
                child.listener = listeners[0]
            else:
                child.watch = None
    return child


def run(arguments: Sequence[str], watch: Watch | None = None, *, told: bool = False) -> Ended:
    """Run a command in a child to its end."""
    return start(arguments, watch, told=told).end()


def _become(arguments: Sequence[str], room: Path, watch: Watch | None, channel: socket.socket, told: bool) -> None:
    """What a child does; it never comes back."""
    status = UNSEEN
    try:
        for descriptor, name in ((1, "out"), (2, "err")):
            os.dup2(os.open(room / name, os.O_WRONLY | os.O_APPEND), descriptor)
        for number in (signal.SIGHUP, signal.SIGTERM):  # which our own caller may have had ignored (nohup)
            signal.signal(number, signal.SIG_DFL)
        sys.argv = ["attlas", *arguments]
        from attlas.cli import main

        if watch is not None:
            if watch.seed is not None:
                _same_each_time()
            ask_to_be_watched(channel, reads=watch.reads, writes=watch.writes)
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


def _same_each_time() -> None:
    """Put away, in a child, what no two runs have in common: each look at a clock is a millisecond later than the one
    before, and the number of the process is one that none can have."""
    import attlas.run.session
    import attlas.store.lock

    ticks = itertools.count()

    def now() -> float:
        return next(ticks) / 1000

    class Frozen(datetime):
        @classmethod
        def now(cls, tz: tzinfo | None = None) -> Frozen:
            return cls(2026, 1, 1, tzinfo=tz) + timedelta(seconds=now())

    time.monotonic = time.perf_counter = time.time = now
    for module in (attlas.run.session, attlas.store.lock):
        vars(module)["datetime"] = Frozen
    os.getpid = lambda: NOBODY


@contextlib.contextmanager
def all_ended(children: Sequence[Child]) -> Iterator[None]:
    """Kill what is left of children when the block ends."""
    try:
        yield
    finally:
        for child in children:
            child.send(signal.SIGKILL)
