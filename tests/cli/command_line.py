"""The real command line, called from a test: what it said and the status it ended with."""

from __future__ import annotations

import sys
from typing import NamedTuple

import pytest

from attlas.cli import main


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
        for stream in ("stdout", "stderr"):  # a command whose reader is gone leaves wrapped ones behind
            patch.setattr(sys, stream, getattr(sys, stream))
        try:
            main()
        except SystemExit as end:
            status = end.code or 0
    written = capfd.readouterr()
    return Said(status, written.out, written.err)
