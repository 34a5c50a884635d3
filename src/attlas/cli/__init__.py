"""The command line: one file per command, thin parsing around a plain function that works.

Whatever a person does wrong ends as one sentence on standard error and a non-zero status.
"""

from __future__ import annotations

import signal
import sys
import threading
import warnings
from typing import Any

from attlas.errors import AttlasError, StudyWarning, printable

ENDINGS: dict[int, str] = {signal.SIGTERM: "terminated"}
if hasattr(signal, "SIGHUP"):  # not on Windows
    ENDINGS[signal.SIGHUP] = "its terminal was closed"
LONGEST = 1500  # letters of a sentence
INTERRUPTED = 130  # the status that the library of commands gives to a keyboard interrupt


def main() -> None:
    """Run the command line; errors of ours become one sentence.

    >>> import contextlib, io, sys
    >>> sys.argv = ["attlas", "report", "no-such-folder"]
    >>> with contextlib.redirect_stderr(io.StringIO()) as said, contextlib.suppress(SystemExit):
    ...     main()
    >>> said.getvalue().startswith("attlas: no-such-folder")
    True
    """
    warnings.formatwarning = _in_one_line  # type: ignore[assignment]
    from attlas.cli.app import app

    came = _ended_by_signals()
    try:
        app(prog_name="attlas")
    except AttlasError as error:
        _say(str(error))
        sys.exit(2)
    except OSError as error:
        _say(_in_words(error))
        sys.exit(2)
    except SystemExit as end:
        if end.code != INTERRUPTED:
            raise
        _say(ENDINGS[came[-1]] if came else "interrupted")
        sys.exit(128 + came[-1] if came else INTERRUPTED)


def _in_words(error: OSError) -> str:
    """What the system refused, and where: a full disk, a place that is not ours, a limit of open files."""
    place = error.filename if error.filename2 is None else error.filename2
    where = "" if place is None else f"{place if isinstance(place, str) else str(place)!r}: "
    reason = (error.strerror or str(error) or type(error).__name__).partition("\n")[0]
    return f"{where}the system refused to read or write ({reason}); free some room or choose another place"


def _say(sentence: str) -> None:
    """One line on standard error: what would move the cursor or cannot be written is spelled out, and of what is
    longer than anybody reads the middle is left out."""
    told = printable(sentence)
    if len(told) > LONGEST:
        told = f"{told[: LONGEST // 2]} ... {told[-LONGEST // 2 :]}"
    sys.stderr.write(f"attlas: {told}\n")


def _ended_by_signals() -> list[int]:
    """Have the requests to end be as an interrupt from the keyboard, which leaves a checkpoint and a sentence; what
    came is noted in the list. One that is ignored (nohup) stays so."""
    came: list[int] = []

    def end(number: int, frame: Any) -> None:
        came.append(number)
        raise KeyboardInterrupt

    if threading.current_thread() is threading.main_thread():
        for number in ENDINGS:
            if signal.getsignal(number) is signal.SIG_DFL:
                signal.signal(number, end)
    return came


_usual = warnings.formatwarning


def _in_one_line(message: Any, category: type[Warning], *where: Any) -> str:
    """A study that was left out is told in one line; other warnings as always."""
    return f"attlas: {message}\n" if issubclass(category, StudyWarning) else _usual(message, category, *where)
