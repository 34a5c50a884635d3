"""The real command line, called from a test: what it said and the status it ended with."""

from __future__ import annotations

import functools
import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import NamedTuple

import pytest
import typer.main

from attlas.cli import main

# all commands with all their options, which typer would make anew at every call, in a tenth of a second
made_once = functools.cache(typer.main.get_command)


class Said(NamedTuple):
    """What a command wrote, and its exit status."""

    status: object
    out: str
    err: str

    def refuses(self, *phrases: str) -> None:
        """Nothing but one sentence that holds these phrases."""
        assert self.status == 2, self
        assert self.err.startswith("attlas: "), self
        assert self.err.endswith("\n"), self
        assert self.err.count("\n") == 1, self
        assert "Traceback" not in self.err, self
        assert self.out == "", self
        for phrase in phrases:
            assert phrase in self.err, (phrase, self.err)


def attlas(capfd: pytest.CaptureFixture[str], *arguments: object) -> Said:
    """Run a command in this process; whatever reaches the descriptors is heard, logging too."""
    capfd.readouterr()
    status: object = 0
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(sys, "argv", ["attlas", *map(str, arguments)])
        patch.setattr(typer.main, "get_command", made_once)
        for stream in ("stdout", "stderr"):  # a command whose reader is gone leaves wrapped ones behind
            patch.setattr(sys, stream, getattr(sys, stream))
        try:
            main()
        except SystemExit as end:
            status = end.code or 0
    written = capfd.readouterr()
    return Said(status, written.out, written.err)


class Apart:
    """A command in a process of its own, of one thread, that can be killed."""

    def __init__(self, *arguments: object) -> None:
        self.process = subprocess.Popen(
            [sys.executable, "-c", "from attlas.cli import main; main()", *map(str, arguments)],
            env={**os.environ, "OMP_NUM_THREADS": "1"},
            stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True, encoding="utf-8",
        )  # fmt: skip

    @property
    def ended(self) -> bool:
        """Whether it came to an end by itself."""
        return self.process.poll() is not None

    def kill(self) -> str:
        """Kill it, which must not be too late; what it had said to the standard error."""
        self.process.kill()
        said = self.process.communicate()[1]
        if sys.platform != "win32":
            assert self.process.returncode == -9, said
        return said


@contextmanager
def one_thread() -> Iterator[None]:
    """One thread in this process, as there is in those apart, so that both come to the same bits."""
    import torch

    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    try:
        yield
    finally:
        torch.set_num_threads(threads)
