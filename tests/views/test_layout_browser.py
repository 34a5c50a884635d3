"""Every view fills the window, on a telephone as on a wide screen, light and dark: nothing lies on anything else or
sticks out, and no label is too small to be read."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

import numpy as np
import pytest
from drawn import faults
from scenes import page, reading, strand
from test_text_view_browser import chat

from attlas.ids import Stream
from attlas.views import Scene, Strand
from attlas.views.page import KINDS

if TYPE_CHECKING:
    from playwright.sync_api import Page

pytestmark = pytest.mark.browser
SIZES = {360: 740, 1280: 900, 1920: 1080, 2560: 1440}
SENTENCE = reading(
    ("[CLS]", *"The farmer offered apples to the housekeep ##er , because he had too many .".split(), "[SEP]")  # noqa: SIM905
)
LONG = reading(tuple(f"word{at}" for at in range(1_700)))
RUNNING = 30_000  # pieces
TARGET = reading(("Le", "fermier", "a", "offert", "des", "pommes", "à", "la", "gouvernante", ".", "[SEP]"))


def grouped() -> Strand:
    """A small causal model of thirty layers whose heads share keys by threes."""
    made = strand(Stream.DECODER, SENTENCE, layers=30, heads=9, width=4)
    assert made.key_vectors is not None
    keys = np.repeat(made.key_vectors[:, ::3], 3, axis=1)
    return Strand(
        made.stream, made.queries, made.keys, made.weights, lengths=made.lengths, query_vectors=made.query_vectors,
        key_vectors=keys, scaling=made.scaling,
    )  # fmt: skip


def running() -> Strand:
    """A text too long for its weights; how large its numbers are does not matter here, but that there are so many."""
    text = reading(tuple(f"word{at % 977}" for at in range(RUNNING)))
    draw = np.random.default_rng(0)
    vectors = draw.normal(size=(2, 1, 2, RUNNING, 8)).astype(np.float16)
    at = np.arange(RUNNING, dtype=np.int32)
    received = draw.exponential(1 / RUNNING, (1, 2, RUNNING)).astype(np.float32)
    return Strand(
        Stream.DECODER, text, text, np.zeros((1, 2, 0, 0), np.float32), query_vectors=vectors[0],
        key_vectors=vectors[1], scaling=(0.3,), sums=np.log(at + 1.0)[None, None].repeat(2, 1).astype(np.float32),
        seen=np.stack([np.zeros_like(at), at + 1])[None], received=received,
        links=np.full((1, 2, 3), (7, 3, 0.5)), coarse=np.tril(draw.uniform(size=(1, 2, 512, 512))).astype(np.float32),
    )  # fmt: skip


SCENES: dict[str, Callable[[], Scene]] = {
    "sentence": lambda: Scene("an encoder", ("a text",), (strand(queries=SENTENCE, layers=6, heads=12, width=32),)),
    "grouped": lambda: Scene("a decoder", ("a text",), (grouped(),)),
    "translation": lambda: Scene(
        "a translator", ("a text", "un texte"),
        (
            strand(queries=SENTENCE), strand(Stream.DECODER, TARGET, seed=1),
            strand(Stream.CROSS, TARGET, SENTENCE, seed=2),
        ),
    ),
    "chat": chat,
    "long": lambda: Scene(
        "a model", ("many words",),
        (strand(queries=LONG, layers=1, heads=2, width=16, vectors=False),),
    ),
    "running": lambda: Scene("a model", ("a very long text",), (running(),)),
}  # fmt: skip


SHOW = """async (fragment) => {
  const root = document.querySelector(".attlas");
  const before = root.dataset.drawn;
  location.hash = fragment;
  const until = performance.now() + 15_000;
  const waiting = () => document.querySelector(".attlas-table caption")?.textContent.includes("so far");
  while ((root.dataset.drawn === before || waiting()) && performance.now() < until) {
    await new Promise((done) => requestAnimationFrame(done));
  }
}"""


# where the lowest text of a picture stands in the window
LOWEST = (
    "(canvas) => canvas.getBoundingClientRect().top + Math.max(...attlasDrawn.get(canvas).map(({ y }) => y ?? 0))"
)


@pytest.mark.parametrize("kind", SCENES)
def test_every_view_fills_the_window(kind: str, open_page: Callable[..., Page]) -> None:
    shown = open_page(page([SCENES[kind]()]), own=True)
    wrong = {}
    for width, height in SIZES.items():
        shown.set_viewport_size({"width": width, "height": height})
        for view in KINDS:
            for scheme in ("light", "dark"):
                shown.evaluate(SHOW, f"view={view}&theme={scheme}&layer=0")
                assert shown.locator(".attlas").get_attribute("data-view") == view
                found = faults(shown)
                if view == "text" and width > 900:
                    lowest = shown.locator(".attlas-stage canvas").evaluate(LOWEST)
                    found += [f"it ends at {lowest:.0f} of {height}"] if lowest < 0.75 * height else []
                if found:
                    wrong[f"{view}, {width}, {scheme}"] = found[:4]
    assert not wrong


def test_faults_are_found(open_page: Callable[..., Page]) -> None:
    """What looks for faults finds them: a label on another, one that is small, one that sticks out, an empty side."""
    shown = open_page(page([SCENES["sentence"]()]))
    assert faults(shown) == []
    shown.evaluate(
        """() => {
      const canvas = document.querySelector(".attlas-stage canvas");
      const context = canvas.getContext("2d");
      canvas.width = canvas.width;
      context.font = "9px sans-serif";
      context.fillText("small", 30, 40);
      context.font = "14px sans-serif";
      context.fillText("one", 100, 100);
      context.fillText("other", 104, 103);
      context.fillText("outside", canvas.width - 10, 50);
    }"""
    )
    from drawn import FAULTS

    found = " ".join(shown.evaluate(FAULTS))
    for fault in ("“small” has 9 pixels", "“one” and “other” lie on each other", "“outside” sticks out", "covers"):
        assert fault in found
    assert "“small” and" not in found


def test_the_picture_is_made_higher_by_its_edge(open_page: Callable[..., Page]) -> None:
    shown = open_page(page([SCENES["sentence"]()], kind="matrix"))
    before = shown.locator(".attlas-stage canvas").bounding_box()
    edge = shown.locator(".attlas-grip").bounding_box()
    assert before
    assert edge
    shown.mouse.move(edge["x"] + 200, edge["y"] + 4)
    shown.mouse.down()
    shown.mouse.move(edge["x"] + 200, edge["y"] - 146, steps=3)
    shown.mouse.up()
    shown.wait_for_url(lambda address: "tall=" in address)
    after = shown.locator(".attlas-stage canvas").bounding_box()
    assert after
    assert before["height"] - after["height"] == pytest.approx(150, abs=8)
    shown.locator(".attlas-grip").focus()
    shown.keyboard.press("ArrowUp")
    shown.wait_for_timeout(150)
    lower = shown.locator(".attlas-stage canvas").bounding_box()
    assert lower
    assert after["height"] - lower["height"] == pytest.approx(40, abs=2)
    shown.locator(".attlas-grip").dblclick()
    shown.wait_for_url(lambda address: "tall=" not in address)
