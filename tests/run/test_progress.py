"""Progress: lines at intervals, a bar at terminals, silence elsewhere."""

from __future__ import annotations

import io

from attlas.run.progress import Bar, Lines, Silent, progress_on


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


def test_lines_come_at_most_every_ten_seconds() -> None:
    now, stream = [0.0], io.StringIO()
    lines = Lines(stream, clock=lambda: now[0])
    lines.start("survey", total=100_000, done=20_000)
    for second in range(1, 36):
        now[0] = float(second)
        lines.advance(1000)
    lines.note("a word")
    now[0] = 36.0
    lines.advance(45_000)
    lines.finish()
    assert stream.getvalue().splitlines() == [
        "survey: 20,000 of 100,000 pieces",
        "survey: 30,000 of 100,000 pieces, 1,000 pieces/s, 1:10 left",
        "survey: 40,000 of 100,000 pieces, 1,000 pieces/s, 1:00 left",
        "survey: 50,000 of 100,000 pieces, 1,000 pieces/s, 0:50 left",
        "survey: a word",
        "survey: 100,000 of 100,000 pieces, 2,222 pieces/s, 0:00 left",
    ]


def test_long_times_have_hours_and_slow_rates_a_decimal() -> None:
    now, stream = [0.0], io.StringIO()
    lines = Lines(stream, clock=lambda: now[0])
    lines.start("survey", total=10_000)
    now[0] = 10.0
    lines.advance(5)
    assert stream.getvalue().endswith("5 of 10,000 pieces, 0.5 pieces/s, 5:33:10 left\n")


def test_a_bar_shows_all_it_should() -> None:
    stream = Terminal()
    bar = progress_on(stream)
    assert isinstance(bar, Bar)
    bar.start("survey [b]of[/b] x", total=2000, done=500)
    bar.advance(1500)
    bar.note("a [red]word[/red]")
    bar.finish()
    bar.finish()
    shown = stream.getvalue()
    assert "survey [b]of[/b] x" in shown
    assert "2,000 of 2,000 pieces" in shown
    assert "pieces/s" in shown
    assert "a [red]word[/red]" in shown


def test_the_stream_decides() -> None:
    assert isinstance(progress_on(io.StringIO()), Lines)
    assert isinstance(progress_on(Terminal()), Bar)
    assert isinstance(progress_on(Terminal(), quiet=True), Silent)


def test_a_total_that_is_not_known_is_not_told() -> None:
    now, stream = [0.0], io.StringIO()
    lines = Lines(stream, clock=lambda: now[0])
    lines.start("survey", total=None, done=500)
    now[0] = 20.0
    lines.advance(1000)
    assert stream.getvalue().splitlines() == ["survey: 500 pieces", "survey: 1,500 pieces, 50 pieces/s"]
    shown = Terminal()
    bar = Bar(shown)
    bar.start("survey", total=None)
    bar.advance(1500)
    bar.finish()
    assert "1,500 pieces" in shown.getvalue()
    assert "left" not in shown.getvalue()


def test_a_name_that_steers_a_terminal_is_written_out() -> None:
    """A model may be called anything, and notes name it."""
    name, written = "\x1b]0;mine\x07\u2028\u202ea\nb", r"\x1b]0;mine\x07\u2028\u202ea\nb"
    for stream in (io.StringIO(), Terminal()):
        progress = progress_on(stream)
        progress.note(f"before {name}")
        progress.start(name, total=10)
        progress.note(f"of {name}")
        progress.finish()
        shown = stream.getvalue()
        assert f"before {written}\n" in shown
        assert f"of {written}" in shown
        assert not {"\x07", "\u2028", "\u202e"} & {*shown}
