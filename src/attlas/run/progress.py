"""Telling the person who waits how far it is.

At a terminal there is a bar with pieces done, a rate and the time left; elsewhere (a log file, a batch system) a
plain line now and then; and where nobody looks, nothing. All three take the same four calls.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Protocol, TextIO

from attlas.errors import printable

if TYPE_CHECKING:
    from rich.progress import Progress as RichProgress
    from rich.progress import TaskID

SECONDS_BETWEEN_LINES = 10.0


class Progress(Protocol):
    """What an engine tells about its progress, counted in pieces unless it says in what.

    >>> progress: Progress = Silent()
    >>> progress.start("survey", total=100)
    """

    def start(self, description: str, total: int | None, done: int = 0, unit: str = "pieces") -> None:
        """Begin, with ``done`` of them finished by an earlier run; ``total`` is None where it is not known."""

    def advance(self, pieces: int) -> None:
        """Some more pieces are done."""

    def note(self, text: str) -> None:
        """Say something that the person should know."""

    def finish(self) -> None:
        """Stop showing; also after an error, and also when it was not started."""


class Silent:
    """Shows nothing.

    >>> Silent().note("unheard")
    """

    def _nothing(self, *what: Any, **how: Any) -> None:
        """Show nothing."""

    start = advance = note = finish = _nothing


class Lines:
    """Writes a plain line at the start, at most every ten seconds, and at the end.

    >>> times = iter([0.0, 1.0, 11.0, 20.0])
    >>> lines = Lines(sys.stdout, clock=lambda: next(times))
    >>> lines.start("survey", total=400)
    survey: 0 of 400 pieces
    >>> lines.advance(100)
    >>> lines.advance(100)
    survey: 200 of 400 pieces, 18 pieces/s, 0:11 left
    >>> lines.advance(200)
    survey: 400 of 400 pieces, 20 pieces/s, 0:00 left
    """

    def __init__(self, stream: TextIO | None = None, clock: Callable[[], float] = time.monotonic) -> None:
        self._stream, self._clock = stream or sys.stderr, clock
        self._description, self._before, self._done = "", 0, 0
        self._total: int | None = None
        self._begun = self._spoken = 0.0
        self._unit = "pieces"

    def start(self, description: str, total: int | None, done: int = 0, unit: str = "pieces") -> None:
        """Write the first line."""
        self._description, self._total, self._before, self._done = description, total, done, done
        self._begun = self._spoken = self._clock()
        self._unit = unit
        self.note(_of_all(done, total, unit))

    def advance(self, pieces: int) -> None:
        """Write a line if the last is long ago or this is the end."""
        self._done += pieces
        now = self._clock()
        if now - self._spoken < SECONDS_BETWEEN_LINES and (self._total is None or self._done < self._total):
            return
        self._spoken = now
        rate = (self._done - self._before) / max(now - self._begun, 1e-9)
        known = rate > 0 and self._total is not None
        left = f", {_clock_time(((self._total or 0) - self._done) / rate)} left" if known else ""
        self.note(f"{_of_all(self._done, self._total, self._unit)}, {_short(rate)} {self._unit}/s{left}")

    def note(self, text: str) -> None:
        """Write a line."""
        line = f"{self._description}: {text}" if self._description else text
        print(printable(line), file=self._stream, flush=True)

    def finish(self) -> None:
        """Every line was complete; what is noted from now on stands for itself."""
        self._description = ""


class Bar:
    """A moving bar at a terminal.

    >>> import io
    >>> bar = Bar(io.StringIO())
    >>> bar.start("survey", total=10)
    >>> bar.advance(10)
    >>> bar.finish()
    """

    def __init__(self, stream: TextIO | None = None) -> None:
        self._stream = stream or sys.stderr
        self._bar: RichProgress | None = None
        self._task: TaskID | None = None
        self._before, self._begun, self._unit = 0, 0.0, "pieces"
        self._total: int | None = None

    def start(self, description: str, total: int | None, done: int = 0, unit: str = "pieces") -> None:
        """Show the bar."""
        from rich.console import Console
        from rich.markup import escape
        from rich.progress import BarColumn, TextColumn, TimeRemainingColumn
        from rich.progress import Progress as RichProgress

        self.finish()
        self._bar = RichProgress(
            TextColumn("{task.description}"),
            BarColumn(),
            TextColumn("{task.fields[far]}"),
            TextColumn("{task.fields[rate]}"),
            *([] if total is None else [TimeRemainingColumn(), TextColumn("left")]),
            console=Console(file=self._stream),
        )
        far = _of_all(done, total, unit)
        self._task = self._bar.add_task(escape(printable(description)), total=total, completed=done, rate="", far=far)
        self._before, self._begun, self._total, self._unit = done, time.monotonic(), total, unit
        self._bar.start()

    def advance(self, pieces: int) -> None:
        """Move the bar."""
        if self._bar is not None and self._task is not None:
            done = self._bar.tasks[0].completed + pieces
            rate = (done - self._before) / max(time.monotonic() - self._begun, 1e-9)
            far = _of_all(done, self._total, self._unit)
            self._bar.update(self._task, completed=done, rate=f"{_short(rate)} {self._unit}/s", far=far)

    def note(self, text: str) -> None:
        """Write a line above the bar, or plainly where there is none yet."""
        if self._bar is None:
            print(printable(text), file=self._stream, flush=True)
        else:
            self._bar.console.print(printable(text), markup=False, highlight=False)

    def finish(self) -> None:
        """Leave the bar as it stands and give the terminal back."""
        if self._bar is not None:
            self._bar.stop()
            self._bar = None


def progress_on(stream: TextIO | None = None, *, quiet: bool = False) -> Progress:
    """The fitting way to show progress on a stream (standard error unless told): a bar, lines, or nothing.

    >>> import io
    >>> type(progress_on(io.StringIO())).__name__, type(progress_on(quiet=True)).__name__
    ('Lines', 'Silent')
    """
    if quiet:
        return Silent()
    stream = stream or sys.stderr
    return Bar(stream) if _is_terminal(stream) else Lines(stream)


def _is_terminal(stream: Any) -> bool:
    return bool(getattr(stream, "isatty", lambda: False)())


def _of_all(done: float, total: int | None, unit: str) -> str:
    return f"{done:,.0f} {unit}" if total is None else f"{done:,.0f} of {total:,} {unit}"


def _short(rate: float) -> str:
    return f"{rate:,.0f}" if rate >= 10 else f"{rate:.1f}"


def _clock_time(seconds: float) -> str:
    minutes, rest = divmod(round(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours}:{minutes:02}:{rest:02}" if hours else f"{minutes}:{rest:02}"
