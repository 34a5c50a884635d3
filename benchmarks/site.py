"""The site of an atlas of many models: how long it takes to write, to open, to answer a question, to show a head.

Made-up tables of 100 models with 1,000 heads each and 60 figures of every head (6 million rows) are written as a
site, which is opened from the disk in a fresh headless Chromium. First useful paint is from the start of navigation
until the page is drawn and two animation frames more. The time of an answer is from the change of the address until
it is on the page and one frame more; each question is asked once, so its files are read from the disk. Pages of heads
and maps are of another model each time, of which nothing has been read before.
The bars: 2 s, 150 ms, 300 ms.
"""

from __future__ import annotations

import math
import os
import statistics
import sys
import tempfile
import time
from datetime import date
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from attlas.website import address, write_site
from benchmarks import browser
from benchmarks.invented_atlas import Shape, invented, names_of
from benchmarks.page import put

if TYPE_CHECKING:
    from playwright.sync_api import Page

HEADING = "The site of an atlas"
LARGE = Shape(models=100, layers=40, heads=25, figures=60)
QUESTIONS = (
    "object",
    "induction",
    "[SEP]",
    "previous",
    "does nothing",
    "matters for sentiment",
    "antecedent",
    "first",
)
BARS = {"first useful paint": 2000.0, "an answer": 150.0, "the page of a head": 300.0, "the map of a model": 300.0}
TIMED = """(fragment) => new Promise((done, failed) => {
  const drawn = () => performance.getEntriesByName("attlas:drawn").length;
  const before = drawn(), began = performance.now();
  const look = () => (drawn() > before ? requestAnimationFrame(() => done(performance.now() - began))
    : performance.now() - began > 30000 ? failed(new Error(`${fragment} was not drawn`))
      : requestAnimationFrame(look));
  location.hash = fragment;
  look();
})"""


class Taken(NamedTuple):
    """Milliseconds on the clock, and those of them in which the page's main thread was at work."""

    clock: float
    work: float


Found = dict[str, list[Taken]]


def answers(tab: Page, shape: Shape, turn: int = 0) -> Found:
    """What each kind of page takes in an open site; another ``turn`` goes to other models."""
    tools = tab.context.new_cdp_session(tab)
    tools.send("Performance.enable")
    names = names_of(shape)
    found: Found = {name: [] for name in BARS}

    def work() -> float:
        metrics = {one["name"]: one["value"] for one in tools.send("Performance.getMetrics")["metrics"]}
        return 1000 * float(metrics["ThreadTime"])

    def timed(name: str, fragment: str) -> None:
        before = work()
        clock: float = tab.evaluate(TIMED, fragment)
        found[name].append(Taken(clock, work() - before))

    painted = tab.evaluate("performance.getEntriesByName('attlas:drawn')[0].startTime")
    found["first useful paint"].append(Taken(painted, math.nan))  # that work is over
    for question in QUESTIONS:
        timed("an answer", f"#search/{question}")
    for at in range(len(QUESTIONS)):
        name = names[(7 * at + turn) % len(names)]
        timed("the page of a head", address(name, shape.streams[0], (3 * at) % shape.layers, (5 * at) % shape.heads))
        timed("the map of a model", address(names[(7 * at + 3 + turn) % len(names)]))
    return found


def measure(folder: Path, shape: Shape, rounds: int = 3) -> Found:
    """The same of the site of a folder, opened afresh ``rounds`` times, its first paint as others' are measured."""
    found: Found = {name: [] for name in BARS}
    for turn in range(rounds):
        with browser.opened(folder / "index.html", "attlas", {}) as tab:
            painted = tab.evaluate("() => window.benchSeen.painted")
            own = answers(tab, shape, turn)
        own["first useful paint"] = [Taken(painted, math.nan)]
        for name, times in own.items():
            found[name] += times
    return found


def lines_of(found: Found, shape: Shape, written: float, size: int, files: int) -> list[str]:
    """The section of the page."""
    heads = len(shape.streams) * shape.layers * shape.heads
    rows = [
        f"| {name} | {statistics.median(one.clock for one in times):.0f} | {max(one.clock for one in times):.0f} | "
        f"{_written(statistics.median(one.work for one in times))} | {BARS[name]:.0f} | "
        f"{sum(one.clock <= BARS[name] for one in times)} of {len(times)} |"
        for name, times in found.items()
    ]
    return [
        f"{shape.models} models of {heads:,} heads with {shape.figures} figures each "
        f"({shape.models * heads * shape.figures:,} rows), made up; opened from the disk in {browser.version()}, "
        f"{os.cpu_count()} cores with a load of {os.getloadavg()[0]:.1f}, {date.today()}. "
        f"Written in {written:.0f} s of processor time: {files:,} files, {size / 1e6:.0f} MB. *At work* is the "
        "processor time of the page's main thread, which is most of what a machine with nothing else to do takes.",
        "",
        "| ms | median | slowest | at work, median | bar | within it, by the clock |",
        "|---|---|---|---|---|---|",
        *rows,
    ]


def _written(milliseconds: float) -> str:
    return "" if math.isnan(milliseconds) else f"{milliseconds:.0f}"


def main(shape: Shape = LARGE) -> None:
    """Measure, and write the section."""
    with tempfile.TemporaryDirectory() as place:
        tables = invented(shape)
        began = time.process_time()
        write_site(tables, place)
        written = time.process_time() - began
        del tables
        files = [path for path in Path(place).rglob("*") if path.is_file()]
        size = sum(path.stat().st_size for path in files)
        print(f"written in {written:.1f} s: {len(files)} files, {size / 1e6:.0f} MB", file=sys.stderr)
        put(HEADING, lines_of(measure(Path(place), shape), shape, written, size, len(files)))


if __name__ == "__main__":
    main()
