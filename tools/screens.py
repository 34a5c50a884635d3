"""Every view of seven real scenes in every window, light and dark, looked over for faults of the layout.

    python -m tools.screens [--scene NAME ...] [--keep FOLDER] [--page PAGE]

The scenes: a sentence on the bundled model; the same on smollm2, with 270 heads; a translation that opus-mt-en-fr
writes; a chat that smollm2 goes on with, in its regions; a text of 1,700 pieces in one layer of smollm2; one of
30,000 pieces in a random model, without its weights; and some rows of one of 100,000 pieces. Each is opened in
Chromium as any page is, in windows from 360 to 2,560 pixels, and every text that is drawn is held against the same
rules as in ``tests/views/test_layout_browser.py``: the drawing covers 85 % of the width, no label lies on another,
sticks out, or is smaller than 11 pixels. ``--keep`` keeps each screen as a picture; ``--page`` writes what was
found. Needs the models, and takes some minutes, on a busy machine half an hour.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
import time
from collections.abc import Callable
from dataclasses import replace
from datetime import date
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any

from attlas import Subject, load, read
from attlas.capture.reckoned import look_reckoned
from attlas.capture.saying import saying
from attlas.text import Document
from attlas.views import Scene, write_page
from attlas.views.page import KINDS

if TYPE_CHECKING:
    from playwright.sync_api import Page

WINDOWS = {360: 740, 1280: 900, 1920: 1080, 2560: 1440}
SCHEMES = {"light": "", "dark": "&layer=0"}  # in the light as a page opens, in the dark with all heads of a layer
SENTENCE = "The farmer offered apples to the housekeeper, because he had too many of them."
CHAT = {"system": "You are a helpful assistant.", "user": "A farmer has apples and a baker has bread. Who has bread?"}
LONG, RUNNING, FAR = 1_700, 30_000, 100_000  # pieces
ROWS = "50001..50200,last:200"  # of the longest


def words(count: int) -> str:
    """So many words of the sample corpus, over again where it ends."""
    forms = [form for document in read("sample").documents for form in document.forms]
    return " ".join((forms * (1 + count // len(forms)))[:count])


def cut(subject: Subject, pieces: int) -> str:
    """A text of the sample corpus of at most so many pieces, and hardly fewer."""
    count = pieces
    while (length := subject.pieces.length(Document.from_text(words(count)))) > pieces:
        count -= max(1, (length - pieces) // 2)
    return words(count)


def sentence() -> Scene:
    """A sentence on the bundled model."""
    subject = load()
    capture = subject.look(SENTENCE)
    return replace(capture.scene(), saying=saying(subject, capture))


def heads() -> Scene:
    """The sentence on smollm2, with 270 heads."""
    subject = load("smollm2")
    capture = subject.look(SENTENCE)
    return replace(capture.scene(), saying=saying(subject, capture))


def translation() -> Scene:
    """A translation that opus-mt-en-fr writes."""
    subject = load("opus-mt-en-fr", task_head="seq2seq")
    capture = subject.look_generating(SENTENCE, max_new_pieces=60)
    return replace(capture.scene(), saying=saying(subject, capture))


def answer() -> Scene:
    """A chat that smollm2 goes on with, in its regions."""
    subject = load("smollm2")
    chat = "".join(f"<|im_start|>{role}\n{said}<|im_end|>\n" for role, said in CHAT.items())
    capture = subject.look_generating(chat + "<|im_start|>assistant\n", max_new_pieces=30)
    return replace(capture.scene(), saying=saying(subject, capture))


def long() -> Scene:
    """A text of 1,700 pieces, in one layer of smollm2."""
    subject = load("smollm2")
    capture = subject.look(cut(subject, LONG), layers="13")
    return replace(capture.scene(), saying=saying(subject, capture))


def drawn_decoder(pieces: int, layers: int, width: int) -> Subject:
    """A random causal model of four heads so wide, two of them to one key, that can read so many pieces."""
    import torch
    from transformers import LlamaConfig, LlamaForCausalLM

    tokenizer = load("smollm2").pieces.tokenizer
    tokenizer.model_max_length = 2 * pieces
    torch.manual_seed(0)
    config = LlamaConfig(
        vocab_size=len(tokenizer), hidden_size=4 * width, num_hidden_layers=layers, num_attention_heads=4,
        num_key_value_heads=2, intermediate_size=64, max_position_embeddings=2 * pieces, initializer_range=0.2,
    )  # fmt: skip
    return Subject.of(LlamaForCausalLM(config).eval(), tokenizer, "a random model")


def running() -> Scene:
    """A text of 30,000 pieces in a random model of one layer and four heads, of which no weights are kept."""
    subject = drawn_decoder(RUNNING, layers=1, width=64)
    return look_reckoned(subject, cut(subject, RUNNING), layers="1")


def rows() -> Scene:
    """400 rows of 100,000 pieces, in one layer and two heads of a random model of two layers and four heads."""
    subject = drawn_decoder(FAR, layers=2, width=16)
    return look_reckoned(subject, cut(subject, FAR), layers="2", heads="2,3", rows=ROWS)


SCENES: dict[str, Callable[[], Scene]] = {
    each.__name__: each for each in (sentence, heads, translation, answer, long, running, rows)
}


def looked_over(page: Path, name: str, keep: Path | None) -> dict[str, list[str]]:
    """What is wrong with each screen of a page, by view, width and scheme."""
    from playwright.sync_api import sync_playwright

    drawn, layout = _tests()
    found: dict[str, list[str]] = {}
    with sync_playwright() as started:
        browser = started.chromium.launch(executable_path="/usr/bin/chromium", args=["--headless", "--no-sandbox"])
        tab: Page = browser.new_page()
        complaints: list[str] = []
        tab.on("console", lambda message: complaints.append(message.text) if message.type == "error" else None)
        tab.on("pageerror", lambda error: complaints.append(str(error)))
        tab.goto(page.resolve().as_uri())
        tab.wait_for_selector(".attlas[data-drawn]", timeout=60_000)
        for width, height in WINDOWS.items():
            tab.set_viewport_size({"width": width, "height": height})
            for view in KINDS:
                for scheme, chosen in SCHEMES.items():
                    tab.evaluate(layout.SHOW, f"view={view}&theme={scheme}{chosen}")
                    screen = f"{view}, {width}, {scheme}"
                    found[screen] = drawn.faults(tab) + complaints
                    complaints.clear()
                    if found[screen]:
                        print(f"{name}: {screen}: {found[screen][:6]}", flush=True)
                    if keep is not None:
                        tab.screenshot(path=keep / f"{name}-{view}-{width}-{scheme}.png")
        browser.close()
    return found


def page_of(results: dict[str, tuple[str, dict[str, list[str]]]], seconds: float) -> str:
    """What was found, as a page."""
    from benchmarks.browser import version

    windows = ", ".join(f"{width:,} x {height:,}" for width, height in WINDOWS.items())
    lines = [
        "# Screens", "",
        f"Made by `python -m tools.screens` on {date.today()}, {version()} headless, in {seconds / 60:.0f} minutes.",
        f"Every view of each scene in windows of {windows} pixels:",
        "in the light as it opens by itself, in the dark with all heads of a layer. A screen is at fault where the",
        "drawing covers less than 85 % of the width, a label is smaller than 11 pixels, lies on another or sticks",
        "out, a control lies on another or leaves the window, the page is wider than the window, or the console",
        "complains (`tests/views/drawn.py`).", "",
        "| scene | screens | at fault | |", "|---|---|---|---|",
    ]  # fmt: skip
    for name, (about, found) in results.items():
        wrong = {screen: faults for screen, faults in found.items() if faults}
        told = "; ".join(f"{screen}: {faults[0]}" for screen, faults in list(wrong.items())[:5])
        lines.append(f"| {name}: {about} | {len(found)} | {len(wrong)} | {told} |")
    return "\n".join(lines) + "\n"


def _tests() -> tuple[Any, Any]:
    """What tests of the views know of faults."""
    for place in ("tests", "tests/views"):
        sys.path.insert(0, str(Path(__file__).parents[1] / place))
    return import_module("drawn"), import_module("test_layout_browser")


def main() -> None:
    """Look over all scenes, or those that are named."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--scene", action="append", choices=SCENES, help="only this one; can be given several times")
    parser.add_argument("--keep", type=Path, help="a folder for a picture of each screen")
    parser.add_argument("--page", type=Path, help="the page to write")
    given = parser.parse_args()
    folder = given.keep or Path(tempfile.mkdtemp())
    folder.mkdir(parents=True, exist_ok=True)
    began = time.monotonic()
    results = {}
    for name in given.scene or SCENES:
        make = SCENES[name]
        page = write_page(folder / f"{name}.html", [make()])
        print(f"{name}: {page.stat().st_size / 1e6:.1f} MB after {time.monotonic() - began:.0f} s", flush=True)
        assert make.__doc__
        results[name] = (make.__doc__.rstrip("."), looked_over(page, name, given.keep))
    if given.page is not None:
        given.page.write_text(page_of(results, time.monotonic() - began), encoding="utf-8")
    wrong = sum(bool(faults) for _, found in results.values() for faults in found.values())
    print(f"{sum(len(found) for _, found in results.values())} screens, {wrong} at fault")
    sys.exit(1 if wrong else 0)


if __name__ == "__main__":
    main()
