"""attlas's page beside those of bertviz, and whether it keeps to its limits.

One text of the sample corpus, cut to 64, 128, 256 and 512 pieces, is read by a model of 12 x 12 heads. attlas and
bertviz each write a page of the same weights, from tensors to a file; the page is then opened from disk in a fresh
headless Chromium. In attlas's page every view is clicked as well, and a long text of one causal layer is dragged and
zoomed. Python time and what the browser shows are medians of three, or one run where the first took over ten seconds.

``python -m benchmarks.views running [PAGE]`` measures the text view of a long text alone, ``rows`` a look at some
rows of texts up to 100,000 pieces, ``busy`` attlas's page by the processor time of its main thread, where the machine
has other work to do.
"""

from __future__ import annotations

import json
import math
import os
import platform
import statistics
import subprocess
import sys
import time
from bisect import bisect_right
from collections.abc import Callable
from dataclasses import fields
from datetime import date
from functools import partial
from pathlib import Path
from typing import NamedTuple

import numpy as np

from attlas.capture import Capture, Subject, load
from attlas.corpora import read
from attlas.errors import ModelError
from attlas.text import Document
from benchmarks import browser, peers
from benchmarks.page import put
from benchmarks.peers import NotMeasured
from benchmarks.survey import causal, status

HEADING = "The page beside bertviz"
OF_RUNNING = "The text view of a long text"
OF_ROWS = "Some rows of a very long text"
OF_BUSY = "The page on a machine that others use"
PIECES = (64, 128, 256, 512)
LONG = 4096
FAR = (25_000, 50_000, 100_000)
VIEWS = ("head", "model", "neuron", "matrix", "text")
SLOW = 10.0
MB = 1e6

Figures = dict[str, float]


class Outcome(NamedTuple):
    """What was measured, or nothing and why."""

    figures: Figures
    failure: str = ""


def encoder() -> tuple[Subject, str]:
    """A model of 12 x 12 heads, and what to call it: e5-small, else a random one of the same shape."""
    try:
        return load("e5-small"), "e5-small"
    except ModelError:
        import torch
        from transformers import BertConfig, BertModel

        tokenizer = load().pieces.tokenizer
        torch.manual_seed(0)
        config = BertConfig(
            vocab_size=len(tokenizer), hidden_size=384, num_hidden_layers=12, num_attention_heads=12,
            intermediate_size=1536, max_position_embeddings=512,
        )  # fmt: skip
        model = BertModel(config).eval()
        return Subject.of(model, tokenizer, "random"), "a random BertModel (e5-small is not on this machine)"


def decoder() -> tuple[Subject, str]:
    """A causal model that takes a long text, and what to call it: smollm2, else a small random one."""
    try:
        return load("smollm2"), "smollm2"
    except ModelError:
        return causal(), "a small random causal model (smollm2 is not on this machine)"


def text(subject: Subject, pieces: int) -> Document:
    """The sample corpus from its beginning, cut to exactly so many pieces; short ends are filled up with "the"."""
    words = [form for document in read("sample").documents for form in document.forms]

    def length(kept: list[str]) -> int:
        return subject.pieces.length(Document.from_words(kept))

    kept = words[: bisect_right(range(1, len(words) + 1), pieces, key=lambda count: length(words[:count]))]
    kept += ["the"] * (pieces - length(kept))
    assert length(kept) == pieces, f"{length(kept)} pieces and not {pieces}"
    return Document.from_words(kept)


def settled(measure: Callable[[], Figures]) -> Outcome:
    """The medians of three measurements, or the first alone where it took long; else why there are none."""
    try:
        runs = [measure()]
        if runs[0]["seconds"] <= SLOW:
            runs += [measure(), measure()]
    except NotMeasured as problem:
        return Outcome({}, str(problem))
    return Outcome({name: statistics.median(run[name] for run in runs) for name in runs[0]})


def bertviz_rows(capture: Capture, pieces: int, scripts: dict[str, Path] | None) -> list[list[str]]:
    """A row of the table for each of bertviz's views; without its scripts, no page is opened."""
    weights = peers.WORK / f"weights-{pieces}.npy"
    names = weights.with_suffix(".json")
    np.save(weights, next(iter(capture.weights.values())).numpy())
    names.write_text(json.dumps(capture.source.pieces), encoding="utf-8")
    rows = []
    for view in peers.VIEWS:
        page = peers.WORK / f"{view}-{pieces}.html"
        written, shown = settled(partial(peers.bertviz_page, view, weights, page)), Outcome({}, "not measured")
        if scripts is not None and not written.failure:
            shown = settled(partial(browser.visit, page, "bertviz", scripts))
        rows.append(row(pieces, f"bertviz `{view}`", written, shown))
        page.unlink(missing_ok=True)
    weights.unlink()
    names.unlink()
    return rows


def write(capture: Capture, kind: str, page: Path) -> Figures:
    """Write attlas's page of a capture: the seconds beyond the forward pass, and the bytes."""
    from attlas.views import page as compose

    began = time.perf_counter()
    page.write_text(compose([capture.scene()], kind=kind), encoding="utf-8")
    return {"seconds": time.perf_counter() - began, "bytes": page.stat().st_size}


def answers(page: Path) -> dict[str, dict[str, browser.Answer | None]]:
    """The slowest answers of each view to clicks; None where there was none."""
    try:
        with browser.opened(page, "attlas", {}) as tab:
            return browser.clicks(tab, VIEWS, rounds=3)
    except NotMeasured:
        return {view: {"tab": None, "drawing": None} for view in VIEWS}


def long_case() -> tuple[str, Figures]:
    """A long text of one causal layer: what it is, the size of its page, and its pauses when dragged and zoomed."""
    subject, name = decoder()
    layer = subject.shape(subject.streams[0])[0] // 2
    page = peers.WORK / f"attlas-{LONG}.html"
    figures = write(subject.look(text(subject, LONG), layers=subject.sites[layer]), "matrix", page)
    try:
        with browser.opened(page, "attlas", {}) as tab:
            figures |= browser.strain(tab, seconds=5)
    except NotMeasured as problem:
        print(f"the page of {LONG} pieces: {problem}", flush=True)
    page.unlink()
    return f"{LONG:,} pieces of layer {layer} of {name}", figures


def running_text(made: Path | None) -> tuple[float, dict[str, tuple[browser.Taken, float]]]:
    """A text of thirty thousand pieces in the text view, of one layer of a random model, without its weights: the
    megabytes of its page, and what paint, pointing for one head and for a layer, and scrolling take and may take. The
    page may be ``made`` already, by ``tools/screens.py --keep``.
    """
    from attlas.views import write_page
    from tools.screens import running

    peers.WORK.mkdir(parents=True, exist_ok=True)
    html = made or write_page(peers.WORK / "attlas-running.html", [running()])
    size = html.stat().st_size / MB
    found: dict[str, tuple[browser.Taken, float]] = {}
    with browser.opened(html, "attlas", {}) as tab:
        worked = browser.work(tab, "ProcessTime")
        found["first paint"] = browser.Taken(tab.evaluate("() => window.benchSeen.painted"), worked), 1500
        found["a pointer on a word, to its shades: one head"] = browser.shades(tab), 50
        found["scrolled: the longest frame"] = browser.scrolled(tab), 50
        tab.locator("[data-heads=all]").click()
        browser.rest(tab)
        heads = tab.locator("[data-head]").count()
        found[f"a pointer on a word, to its shades: a layer of {heads} heads"] = browser.shades(tab), 500
    return size, found


def look_at_rows(pieces: int, page: Path) -> None:
    """What a process of its own does: look at some rows of a text, print what it took, and write the page."""
    from attlas.capture.reckoned import look_reckoned
    from attlas.views import write_page
    from tools.screens import cut, drawn_decoder

    subject = drawn_decoder(pieces, layers=2, width=16)
    written = cut(subject, pieces)
    look_reckoned(subject, written[:2000], layers="2", heads="2,3")  # libraries are loaded by now
    rows = f"{pieces // 2 + 1}..{pieces // 2 + 200},last:500"
    Path("/proc/self/clear_refs").write_text("5")  # the peak until now, of opening the model, is forgotten
    before, began = status("VmRSS"), (time.process_time(), time.perf_counter())
    scene = look_reckoned(subject, written, layers="2", heads="2,3", rows=rows)
    taken = {"seconds": time.process_time() - began[0], "clock": time.perf_counter() - began[1]}
    (strand,) = scene.strands
    kept = [getattr(strand, field.name) for field in fields(strand)]
    held = sum(array.nbytes for array in kept if isinstance(array, np.ndarray)) / MB
    write_page(page, [scene])
    print(json.dumps({"pieces": strand.queries.length, "memory": status("VmHWM") - before, "held": held, **taken}))


def rows_section() -> list[str]:
    """The section on some rows of a very long text."""
    peers.WORK.mkdir(parents=True, exist_ok=True)
    page, lines, when = peers.WORK / "attlas-rows.html", [], circumstances()
    alone = {**os.environ, "OMP_NUM_THREADS": "1", "MALLOC_TRIM_THRESHOLD_": "100000"}
    for pieces in FAR:
        asked = [sys.executable, "-m", "benchmarks.views", "look", str(pieces), str(page)]
        said = subprocess.run(asked, check=True, capture_output=True, text=True, env=alone).stdout
        found: Figures = json.loads(said.splitlines()[-1])
        with browser.opened(page, "attlas", {}) as tab:
            painted = browser.Taken(tab.evaluate("() => window.benchSeen.painted"), browser.work(tab, "ProcessTime"))
            shaded = browser.shades(tab)
        lines.append([
            f"{found['pieces']:,.0f}", f"{found['memory']:,.0f}", f"{1024 * found['memory'] / found['pieces']:.1f}",
            f"{found['held']:,.1f}", f"{2 * found['pieces'] ** 2 * 4 / MB:,.0f}",
            f"{found['seconds']:,.0f}", f"{found['clock']:,.0f}", f"{page.stat().st_size / MB:.1f}",
            f"{painted.work:,.0f}", f"{shaded.work:,.0f}",
        ])  # fmt: skip
        print(" | ".join(lines[-1]), flush=True)
    page.unlink(missing_ok=True)
    return [
        "A look at 700 rows (200 in the middle of the text and the last 500), in one layer and two heads of a random",
        "model of two layers of four heads, 16 wide (`tools/screens.py`), on one thread.",
        f"{when}.",
        "*Memory* is what the peak of a process of its own grows by while the model reads and the rows are looked",
        "from, *held* what is kept of the look, *whole* what the weights of these two heads would be. Reading takes",
        "time that grows with the square of the length, whatever is looked at.",
        "Paint, and a pointer on a word to its shades, are milliseconds at work in the text view.",
        *table([
            "pieces", "memory, MiB", "KiB per piece", "held, MB", "whole, MB", "processor, s", "clock, s", "page, MB",
            "first paint", "shades",
        ], lines),
    ]  # fmt: skip


def row(pieces: int, name: str, written: Outcome, shown: Outcome) -> list[str]:
    """One row of the table."""
    formats = (
        {"bytes": "{:,.1f}", "seconds": "{:.2f}"},
        {"seconds": "{:.2f}", "nodes": "{:,.0f}", "heap": "{:,.1f}"},
    )
    cells = [str(pieces), name]
    for outcome, columns in zip((written, shown), formats, strict=True):
        scaled = {key: value / MB if key in ("bytes", "heap") else value for key, value in outcome.figures.items()}
        cells += [form.format(scaled[key]) if scaled else "–" for key, form in columns.items()]
        if outcome.failure:
            cells[-len(columns)] = outcome.failure
    print(" | ".join(cells), flush=True)
    return cells


def judged(
    what: str, measured: float | None, sign: str, limit: float, unit: str, digits: int = 0,
    last: browser.Answer | None = None,
) -> list[str]:  # fmt: skip
    """One row of the limits: what was asked for, what was measured, and whether it holds."""
    kept = measured is not None and (measured < limit or (sign == "≤" and measured == limit))
    found = "none" if measured is None else f"{measured:,.{digits}f} {unit}"
    found = found.strip() + (f" ({last[1]:,.0f})" if last else "")
    cells = [what, f"{sign} {limit:,.0f} {unit}".strip(), found, "yes" if kept else "**no**"]
    print(" | ".join(cells), flush=True)
    return cells


def table(columns: list[str], rows: list[list[str]]) -> list[str]:
    """A table in Markdown."""
    return ["", *("| " + " | ".join(cells) + " |" for cells in (columns, ["---"] * len(columns), *rows))]


def section() -> list[str]:
    """Measure everything and give the lines of the section."""
    peers.WORK.mkdir(parents=True, exist_ok=True)
    subject, name = encoder()
    notes, scripts, with_bertviz = [], None, False
    try:
        with_bertviz = bool(peers.interpreter())
        scripts = peers.scripts()
    except NotMeasured as problem:
        notes = ["", str(problem)]
        print(problem, flush=True)
    rows, page = [], peers.WORK / "attlas.html"
    for pieces in PIECES:
        capture = subject.look(text(subject, pieces))
        if with_bertviz:
            rows += bertviz_rows(capture, pieces, scripts)
        written = settled(partial(write, capture, "head", page))
        shown = settled(partial(browser.visit, page, "attlas", {}))
        rows.append(row(pieces, "attlas", written, shown))
    clicked = answers(page)
    viewer = write(subject.look("Hi."), "head", page)["bytes"]
    page.unlink()
    long, strained = long_case()
    limits = [
        judged("page", written.figures["bytes"] / MB, "≤", 40, "MB", 1),
        judged("Python beyond the forward pass", written.figures["seconds"], "≤", 2, "s", 2),
        judged("first useful paint", shown.figures.get("seconds"), "≤", 2, "s", 2),
        judged("DOM nodes", shown.figures.get("nodes"), "<", 5000, ""),
        *(
            judged(
                f"{view} view: a click on its {place} (last drawing)",
                slowest and slowest[0],
                "≤",
                200,
                "ms",
                last=slowest,
            )
            for view, places in clicked.items()
            for place, slowest in places.items()
        ),
        judged(f"page of {long}", strained["bytes"] / MB, "<", 60, "MB", 1),
        judged("its longest gap between frames", strained.get("gap"), "≤", 200, "ms"),
        judged("its longest task", strained.get("task"), "≤", 200, "ms"),
    ]
    return [
        f"Made by `make bench` on {date.today()}: the weights of {name}, 12 layers x 12 heads, on the sample",
        f"corpus cut to so many pieces; bertviz {peers.VERSION}, {browser.version()} headless without a GPU,",
        f"{os.cpu_count()} CPUs, Python {platform.python_version()}; 1 MB is 10^6 bytes. Python time runs from",
        "tensors to a file. First useful paint runs from the start of navigation until the drawing is there and two",
        f"frames more; a page is given {browser.LIMIT:.0f} s and has a browser of its own. Figures are medians of",
        f"three runs, or of one where it took over {SLOW:.0f} s. The heap includes typed arrays. bertviz's scripts",
        "come from disk (jquery 2.1.0 in place of 2.0.0). One attlas page holds all of its views; with a text of two",
        f"words it takes {viewer / 1000:,.0f} kB.",
        *notes,
        *table(["pieces", "page", "MB", "Python, s", "first paint, s", "DOM nodes", "JS heap, MB"], rows),
        "",
        f"### Limits of attlas's page, at {PIECES[-1]} pieces where nothing else is said",
        "",
        "A click is answered by the first drawing that shows what it asked for; the slowest of three is given, and",
        "in brackets the last drawing of that answer, for thumbnails come one after another. The long text is",
        "dragged and zoomed for five seconds.",
        *table(["", "asked for", "measured", "kept"], limits),
    ]


def by_work(rows: dict[str, tuple[browser.Taken, float]]) -> list[str]:
    """A table of what takes time in a page, with its limits."""
    return table(
        ["ms", "asked for", "at work", "by the clock", "kept"],
        [
            [name, f"≤ {limit:,.0f}", f"{taken.work:,.0f}", f"{taken.clock:,.0f}", _kept(taken, limit)]
            for name, (taken, limit) in rows.items()
        ],
    )


def _kept(taken: browser.Taken, limit: float) -> str:
    return "yes" if taken.clock <= limit else "at work" if taken.work <= limit else "**no**"


def circumstances() -> str:
    """Where and when, and how busy the machine was."""
    return (
        f"{date.today()}, {browser.version()} headless without a GPU, {os.cpu_count()} CPUs with a load of "
        f"{os.getloadavg()[0]:.0f}"
    )


AT_WORK = (
    "*At work* is the processor time of the page's main thread (of the first paint: of all threads of its process,",
    "from its beginning), which is most of what it takes where nothing else runs; the clock is as good as the",
    "machine is quiet.",
)


def running_section(made: Path | None = None) -> list[str]:
    """The section on a text too long for its weights."""
    when = circumstances()
    size, found = running_text(made)
    return [
        "A text of 30,000 pieces in one layer of a random model, whose heads are 64 wide, without its weights",
        f"(`tools/screens.py`): a page of {size:.1f} MB. {when}.",
        *AT_WORK,
        *by_work(found),
    ]


def busy_section() -> list[str]:
    """The limits of the page at its longest, without bertviz, by what does not depend on how busy the machine is."""
    peers.WORK.mkdir(parents=True, exist_ok=True)
    subject, name = encoder()
    capture, page = subject.look(text(subject, PIECES[-1])), peers.WORK / "attlas.html"
    when = circumstances()
    began = time.process_time()
    written = write(capture, "head", page)
    worked = time.process_time() - began
    found: dict[str, tuple[browser.Taken, float]] = {}
    with browser.opened(page, "attlas", {}) as tab:
        first = browser.Taken(tab.evaluate("() => window.benchSeen.painted"), browser.work(tab, "ProcessTime"))
        nodes = browser.held(tab)["nodes"]
        for view in (*VIEWS[1:], VIEWS[0]):
            button = tab.locator(f'button[data-view="{view}"]').bounding_box()
            assert button is not None
            taken = browser.answered(tab, button["x"] + 10, button["y"] + 10)
            inside = browser.answered(tab, *browser.inside(tab, view))
            for place, each in (("tab", taken), ("drawing", inside)):
                found[f"{view} view: a click on its {place}"] = each or browser.Taken(math.inf, math.inf), 200
    page.unlink()
    rows = {
        "Python beyond the forward pass": (browser.Taken(1000 * written["seconds"], 1000 * worked), 2000.0),
        "first useful paint": (first, 2000.0),
        **found,
    }
    return [
        f"The limits above again, for {PIECES[-1]} pieces and the 144 heads of {name}: a page of",
        f"{written['bytes'] / MB:.1f} MB (asked for: at most 40) with {nodes:,.0f} DOM nodes (under 5,000).",
        f"{when}. Of a click, until the first drawing.",
        *AT_WORK,
        *by_work(rows),
    ]


def main() -> None:
    """Measure, and write the sections: all but that for a busy machine, or the one that is named."""
    asked = sys.argv[1:]
    if asked[:1] == ["look"]:
        look_at_rows(int(asked[1]), Path(asked[2]))
        return
    if asked == ["busy"]:
        put(OF_BUSY, busy_section())
        return
    if asked == ["rows"]:
        put(OF_ROWS, rows_section())
        return
    if asked[:1] != ["running"]:
        put(HEADING, section())
    put(OF_RUNNING, running_section(*map(Path, asked[1:])))


if __name__ == "__main__":
    main()
