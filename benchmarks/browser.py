"""A page in a fresh headless Chromium: when its drawing is there, what it holds, and how it answers.

First useful paint is one ruler for all pages: from the start of navigation until the page's drawing is there
(bertviz: lines in its SVG; attlas: its mark ``attlas:drawn``, set after every finished drawing of real data) and two
animation frames more. Nodes and heap are read by the developer tools' protocol after a forced garbage collection;
the heap includes typed arrays, which Chromium's ``JSHeapUsedSize`` alone leaves out.
"""

from __future__ import annotations

import json
import math
import os
import shutil
import signal
import subprocess
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from threading import Timer
from typing import Any, NamedTuple
from weakref import WeakKeyDictionary

from playwright.sync_api import CDPSession, Error, Page, Route, sync_playwright

from benchmarks.peers import NotMeasured

FLAGS = ["--headless", "--no-sandbox", "--disable-gpu"]
LIMIT = 90.0
READY = {
    "bertviz": "document.querySelector('svg line') !== null",
    "attlas": "performance.getEntriesByName('attlas:drawn').length > 0",
}
# Runs in the page before its own scripts. It watches for the first paint, pointer presses, frames and long tasks.
WATCH = """(() => {
  const seen = window.benchSeen = {pressed: null, gap: 0, task: 0};
  const frame = requestAnimationFrame;
  seen.painted = new Promise(resolve => {
    const wait = () => (READY) ? frame(() => frame(() => resolve(performance.now()))) : frame(wait);
    frame(wait);
  });
  addEventListener("pointerdown", event => { seen.pressed = event.timeStamp; }, true);
  let last = null;
  const beat = now => { if (last !== null) seen.gap = Math.max(seen.gap, now - last); last = now; frame(beat); };
  frame(beat);
  new PerformanceObserver(list => {
    for (const entry of list.getEntries()) seen.task = Math.max(seen.task, entry.duration);
  }).observe({type: "longtask"});
})()"""
DRAWN = """() => performance.getEntriesByName("attlas:drawn").map(mark => mark.startTime)"""


class Taken(NamedTuple):
    """Milliseconds on the clock, and those of the processor in which the page's main thread was at work."""

    clock: float
    work: float


Answer = tuple[float, float]  # milliseconds to the first and to the last drawing
SESSIONS: WeakKeyDictionary[Page, CDPSession] = WeakKeyDictionary()  # of the developer tools, one for each page
QUIET = 500  # milliseconds without a drawing after which a page is at rest


def chromium() -> str | None:
    """The Chromium that is installed on this machine; none is ever downloaded."""
    installed = "/usr/bin/chromium"
    return installed if os.access(installed, os.X_OK) else shutil.which("chromium")


def version() -> str:
    """The name and version of that Chromium."""
    program = chromium()
    if program is None:
        return "no Chromium"
    shown = subprocess.run([program, "--version"], check=True, capture_output=True, text=True).stdout
    return " ".join(shown.split()[:2])


@contextmanager
def opened(page: Path, kind: str, scripts: dict[str, Path]) -> Iterator[Page]:
    """A page in a browser process of its own, from when its drawing can be seen; scripts are served from disk."""
    program = chromium()
    if program is None:
        raise NotMeasured("no Chromium")
    with sync_playwright() as started:
        browser = started.chromium.launch(executable_path=program, args=FLAGS)
        processes = browser.new_browser_cdp_session().send("SystemInfo.getProcessInfo")["processInfo"]
        own = next(process["id"] for process in processes if process["type"] == "browser")
        began = time.perf_counter()
        try:
            tab = browser.new_page(viewport={"width": 1280, "height": 900})
            for address, script in scripts.items():
                tab.route(address, serving(script))
            tab.add_init_script(WATCH.replace("READY", READY[kind]))
            with ended_after(LIMIT, own):
                tab.goto(page.resolve().as_uri(), wait_until="commit", timeout=0)
                tab.evaluate("() => window.benchSeen.painted")  # a promise, which is waited for
            with ended_after(5 * LIMIT, own):
                yield tab
        except Error as problem:
            if time.perf_counter() - began >= LIMIT:
                raise NotMeasured(f"over {LIMIT:.0f} s") from problem
            if "crash" in problem.message.lower():
                raise NotMeasured("crashed") from problem
            raise
        finally:
            browser.close()


@contextmanager
def ended_after(seconds: float, process: int) -> Iterator[None]:
    """End a browser that takes longer: one that is lost in a page's script answers no other request to stop."""
    timer = Timer(seconds, os.kill, (process, signal.SIGKILL))
    timer.start()
    try:
        yield
    finally:
        timer.cancel()


def serving(script: Path) -> Callable[[Route], None]:
    """What answers a request with a script from disk."""
    return lambda route: route.fulfill(path=script, content_type="text/javascript")


def visit(page: Path, kind: str, scripts: dict[str, Path]) -> dict[str, float]:
    """First useful paint, DOM nodes and heap of a page."""
    with opened(page, kind, scripts) as tab:
        return held(tab)


def held(tab: Page) -> dict[str, float]:
    """What an open page holds, and when it was painted."""
    tools = tab.context.new_cdp_session(tab)
    tools.send("Performance.enable")
    tools.send("HeapProfiler.collectGarbage")
    metrics = {metric["name"]: metric["value"] for metric in tools.send("Performance.getMetrics")["metrics"]}
    arrays = tools.send("Runtime.getHeapUsage").get("backingStorageSize", 0)
    painted = tab.evaluate("() => window.benchSeen.painted")
    return {"seconds": painted / 1000, "nodes": metrics["Nodes"], "heap": metrics["JSHeapUsedSize"] + arrays}


def clicks(tab: Page, views: tuple[str, ...], rounds: int) -> dict[str, dict[str, Answer | None]]:
    """The slowest answers of each view to a click on its tab and to one in its drawing; None where none came.

    The first view is clicked last, for a click on the view that is open draws nothing.
    """
    found: dict[str, dict[str, list[Answer | None]]] = {view: {"tab": [], "drawing": []} for view in views}
    for _ in range(rounds):
        for view in (*views[1:], views[0]):
            button = tab.locator(f'button[data-view="{view}"]').bounding_box()
            assert button is not None, f"there is no tab for the {view} view"
            found[view]["tab"].append(click(tab, button["x"] + 10, button["y"] + 10))
            found[view]["drawing"].append(click(tab, *inside(tab, view)))
    return {view: {place: slowest(times) for place, times in places.items()} for view, places in found.items()}


def inside(tab: Page, view: str) -> tuple[float, float]:
    """A place in the drawing that is on the screen and answers: a word of the left column, or the middle."""
    box = tab.locator(".attlas-stage canvas:visible").first.bounding_box()
    assert box is not None, "there is no drawing"
    column = view in ("head", "neuron")
    height = min(box["height"], 860 - box["y"])
    return box["x"] + (50 if column else box["width"] * 0.3), box["y"] + height * (0.7 if column else 0.4)


def slowest(times: list[Answer | None]) -> Answer | None:
    """The longest of some times to the first and to the last drawing, or None where one is missing."""
    known = [time for time in times if time is not None]
    return (max(t[0] for t in known), max(t[1] for t in known)) if len(known) == len(times) else None


def click(tab: Page, x: float, y: float) -> Answer | None:
    """Milliseconds from a press of the pointer to the first and to the last drawing that follows, or None.

    The page comes to rest first, so that what is drawn is an answer and not the end of something earlier.
    """
    tab.mouse.move(x, y)
    rest(tab)
    tab.evaluate("() => { window.benchSeen.pressed = null; }")
    tab.mouse.down()
    tab.mouse.up()
    tab.wait_for_timeout(QUIET)
    rest(tab)
    pressed = tab.evaluate("() => window.benchSeen.pressed")
    answers = [drawn - pressed for drawn in tab.evaluate(DRAWN) if drawn >= pressed]
    return (answers[0], answers[-1]) if answers else None


def rest(tab: Page) -> None:
    """Wait until nothing has been drawn for a while."""
    until = time.perf_counter() + LIMIT
    while time.perf_counter() < until:
        tab.wait_for_timeout(100)
        drawn = tab.evaluate(DRAWN)
        if tab.evaluate("() => performance.now()") - (drawn[-1] if drawn else 0) > QUIET:
            return


SHADES = """async (rounds) => {
  const canvas = document.querySelector(".attlas-stage canvas");
  const drawn = () => performance.getEntriesByName("attlas:drawn").length;
  const times = [];
  for (let turn = 0; turn < rounds; turn += 1) {
    const { left, top, height } = canvas.getBoundingClientRect();
    const [x, y] = [40 + 53 * (turn % 9), 20 + ((37 * turn) % Math.max(1, height - 40))];
    const place = { clientX: left + x, clientY: top + y, bubbles: true };
    const before = drawn();
    const since = performance.now();
    canvas.dispatchEvent(new PointerEvent("pointermove", place));
    while (drawn() === before && performance.now() - since < 5000) {
      await new Promise((done) => requestAnimationFrame(done));
    }
    times.push(performance.now() - since);
  }
  return times;
}"""
LAST = """async () => {
  const box = document.querySelector(".attlas-scroller");
  box.scrollTop = box.scrollHeight;
  for (let turn = 0; turn < 3; turn += 1) await new Promise((done) => requestAnimationFrame(done));
}"""
SCROLL = """async (frames) => {
  const box = document.querySelector(".attlas-scroller");
  let last = null, gap = 0;
  for (let turn = 0; turn < frames; turn += 1) {
    box.scrollTop += turn % 60 < 40 ? 90 : -700;
    const now = await new Promise((done) => requestAnimationFrame(done));
    if (last !== null) gap = Math.max(gap, now - last);
    last = now;
  }
  return gap;
}"""


def work(tab: Page, name: str = "ThreadTime") -> float:
    """Milliseconds of the processor's time that the main thread of a page has taken since this was first asked, which
    other work on the machine does not lengthen; by ``ProcessTime`` all threads of its process since that began."""
    if tab not in SESSIONS:
        SESSIONS[tab] = tab.context.new_cdp_session(tab)
        SESSIONS[tab].send("Performance.enable")
    metrics = {metric["name"]: metric["value"] for metric in SESSIONS[tab].send("Performance.getMetrics")["metrics"]}
    return 1000 * float(metrics[name])


def shades(tab: Page, rounds: int = 12) -> Taken:
    """From a pointer on another word of the text view to its shades, at its end, where a word sees all others: the
    median by the clock, the mean at work."""
    tab.evaluate(LAST)
    until = time.perf_counter() + LIMIT
    while "attend" not in tab.locator(".attlas-readout").inner_text():  # before, what is needed is being unpacked
        assert time.perf_counter() < until, "nothing was unpacked"
        tab.evaluate(SHADES, 2)
    before = work(tab)
    times = sorted(tab.evaluate(SHADES, rounds))
    return Taken(float(times[len(times) // 2]), (work(tab) - before) / rounds)


def scrolled(tab: Page, frames: int = 240) -> Taken:
    """While the text view is scrolled: the longest gap between frames by the clock, the longest task at work."""
    browser = tab.context.browser
    assert browser is not None
    browser.start_tracing(page=tab, categories=["toplevel"])
    gap = float(tab.evaluate(SCROLL, frames))
    events = json.loads(browser.stop_tracing())["traceEvents"]
    main = {
        (event["pid"], event["tid"])
        for event in events
        if event["name"] == "thread_name" and event["args"]["name"] == "CrRendererMain"
    }
    tasks = [event["tdur"] / 1000 for event in events if (event["pid"], event["tid"]) in main and "tdur" in event]
    return Taken(gap, max(tasks, default=math.nan))


def answered(tab: Page, x: float, y: float) -> Taken | None:
    """A click, until the first drawing that follows, or None where none does."""
    tab.mouse.move(x, y)
    rest(tab)
    before, drawn = work(tab), len(tab.evaluate(DRAWN))
    tab.evaluate("() => { window.benchSeen.pressed = null; }")
    tab.mouse.down()
    tab.mouse.up()
    until = time.perf_counter() + 10
    while len(tab.evaluate(DRAWN)) == drawn:
        if time.perf_counter() > until:
            return None
        tab.wait_for_timeout(5)
    worked = work(tab) - before
    pressed = tab.evaluate("() => window.benchSeen.pressed")
    return Taken(next(at - pressed for at in tab.evaluate(DRAWN) if at >= pressed), worked)


def strain(tab: Page, seconds: float) -> dict[str, float]:
    """Drag and zoom a drawing by turns: the longest gap between frames and the longest task (ms)."""
    box: Any = tab.locator(".attlas-stage canvas:visible").first.bounding_box()
    left, top = box["x"] + box["width"] / 2, box["y"] + box["height"] / 2
    reach = min(box["width"], box["height"]) / 3
    tab.mouse.move(left, top)
    tab.wait_for_timeout(500)
    tab.evaluate("() => { window.benchSeen.gap = window.benchSeen.task = 0; }")
    until, turn = time.perf_counter() + seconds, 0
    while time.perf_counter() < until:
        turn += 1
        for _ in range(6):
            tab.mouse.wheel(0, -120 if turn % 2 else 120)
        side = reach if turn % 4 < 2 else -reach
        tab.mouse.move(left, top)
        tab.mouse.down()
        tab.mouse.move(left + side, top + side, steps=25)
        tab.mouse.up()
        tab.mouse.move(left, top)
    tab.wait_for_timeout(500)
    measured: dict[str, float] = tab.evaluate("() => ({gap: window.benchSeen.gap, task: window.benchSeen.task})")
    return measured
