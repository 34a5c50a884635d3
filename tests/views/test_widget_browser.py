"""The widget in a real browser: a model such as anywidget gives it in a page, and the real Viewer behind it."""

from __future__ import annotations

from base64 import b64encode
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
from drawn import word_at
from scenes import WORDS, scene, written

from attlas.views import Scene
from attlas.views.notebook import _viewer_class
from attlas.views.payload import pack

if TYPE_CHECKING:
    from playwright.sync_api import Page

pytestmark = pytest.mark.browser

# What anywidget gives to render(): state with events, and messages with buffers (as DataViews).
MODEL = """
async ({ esm, css, state }) => {
  const listeners = new Map();
  let dirty = {};
  const fire = (name, ...values) => { for (const each of [...(listeners.get(name) ?? [])]) each(...values); };
  const put = (name, value) => {
    const changed = JSON.stringify(state[name]) !== JSON.stringify(value);
    state[name] = value;
    if (changed) fire(`change:${name}`);
    return changed;
  };
  const view = (text) => new DataView(Uint8Array.from(atob(text), (c) => c.charCodeAt(0)).buffer);
  const model = {
    get: (name) => state[name],
    set(name, value) { if (put(name, value)) dirty[name] = value; },
    save_changes() {
      const changed = dirty;
      dirty = {};
      if (!Object.keys(changed).length) return;
      toPython({ method: "update", state: changed, buffer_paths: [] }).then(deliver);
    },
    on(name, call) { listeners.set(name, [...(listeners.get(name) ?? []), call]); },
    off(name, call) { listeners.set(name, (listeners.get(name) ?? []).filter((each) => each !== call)); },
    send(content) { toPython({ method: "custom", content }).then(deliver); },
  };
  globalThis.deliver = (messages) => {
    for (const { data, buffers } of messages) {
      if (data.method === "custom") fire("msg:custom", data.content, buffers.map(view));
      if (data.method === "update") for (const [name, value] of Object.entries(data.state)) put(name, value);
    }
  };
  const style = document.createElement("style");
  style.textContent = css;
  document.head.append(style);
  const { default: widget } = await import(URL.createObjectURL(new Blob([esm], { type: "text/javascript" })));
  globalThis.listening = () => [...listeners.values()].flat().length;
  globalThis.cleanups = [];
  globalThis.show = (id) => {
    const el = document.createElement("div");
    el.id = id;
    document.body.append(el);
    cleanups.push(widget.render({ model, el }));
  };
}
"""


class Kernel:
    """The Python side: a real Viewer, its line to the page, and a record of what the page has sent."""

    comm_id = "fake"

    def __init__(self, shown: Page, viewer: Any) -> None:
        self.page, self.viewer, self.silent = shown, viewer, False
        self.heard: list[dict[str, Any]] = []
        self.held: list[dict[str, Any]] = []
        viewer.comm = self
        shown.expose_function("toPython", self.hear)
        state = {"header": viewer.header, "selection": viewer.selection}
        shown.evaluate(MODEL, {"esm": viewer._esm, "css": viewer._css, "state": state})

    def on_msg(self, _callback: Any) -> None: ...

    def close(self, *_: Any, **__: Any) -> None: ...

    def send(self, data: Any = None, metadata: Any = None, buffers: Any = None) -> None:
        self.held.append({"data": data, "buffers": [b64encode(each).decode() for each in buffers or []]})

    def hear(self, message: dict[str, Any]) -> list[dict[str, Any]]:
        self.heard.append(message)
        self.viewer._handle_msg({"content": {"data": message}, "buffers": []})
        return [] if self.silent else self.flush()

    def flush(self) -> list[dict[str, Any]]:
        held, self.held = self.held, []
        return [each for each in held if each["data"]["method"] in ("custom", "update")]

    def deliver(self) -> None:
        """Bring to the page what Python has sent of itself."""
        self.page.evaluate("(messages) => deliver(messages)", self.flush())

    def open(self, name: str = "one", wait: bool = True) -> None:
        self.page.evaluate("(id) => show(id)", name)
        if wait:
            self.page.wait_for_selector(f"#{name} .attlas[data-drawn]")

    def selections(self) -> list[dict[str, Any]]:
        return [each["state"]["selection"] for each in self.heard if each["method"] == "update"]

    def asked(self, want: str) -> list[dict[str, Any]]:
        return [e["content"] for e in self.heard if e["method"] == "custom" and e["content"]["want"] == want]


@pytest.fixture
def kernel(open_page: Callable[..., Page]) -> Callable[..., Kernel]:
    pytest.importorskip("anywidget", reason="the package anywidget is not installed")

    def start(*scenes: Scene, cells: int = 2_000_000, **selection: Any) -> Kernel:
        made = _viewer_class()
        assert made is not None
        chosen = {"view": "head", "layer": 0, "head": 0, "heads": None, **selection}
        shown = open_page('<!doctype html><body><p class="attlas" data-drawn="0">A notebook</p></body>', own=True)
        return Kernel(shown, made(pack(scenes or [scene()], exact_cells=cells), chosen, None))

    return start


def said(shown: Page, name: str = "one") -> str:
    shown.wait_for_timeout(150)
    return shown.locator(f"#{name} .attlas-readout").inner_text()


def strongest(values: np.ndarray, word: str) -> str:
    at = int(values.argmax())
    return f"{word} attends to {WORDS[at]} {written(values[at])}"


def inked(shown: Page, name: str = "one") -> int:
    """How many pixels of the first canvas are drawn upon."""
    return int(
        shown.evaluate(
            """(id) => { const canvas = document.querySelector(`#${id} canvas`);
            const data = canvas.getContext("2d").getImageData(0, 0, canvas.width, canvas.height).data;
            let count = 0; for (let i = 3; i < data.length; i += 4) count += data[i] > 0; return count; }""",
            name,
        )
    )


def test_it_draws_the_numbers_that_python_holds(kernel: Callable[..., Kernel]) -> None:
    made = scene()
    behind = kernel(made, layer=1, heads=[2], query=2)
    behind.open()
    assert said(behind.page).startswith(strongest(made.strands[0].weights[1, 2, 2], "farmer"))
    assert inked(behind.page) > 1000
    assert len(behind.asked("block")) <= 4, "only what is shown is asked for"
    assert behind.selections() == [], "nobody has chosen anything yet"


def test_what_a_person_chooses_is_read_in_python(kernel: Callable[..., Kernel]) -> None:
    behind = kernel()
    behind.open()
    behind.page.locator("select[data-name=layer]").select_option(label="3")
    behind.page.locator("[data-head='1']").dblclick()
    behind.page.wait_for_timeout(150)
    chosen = behind.viewer.selection
    assert (chosen["view"], chosen["layer"], chosen["heads"]) == ("head", 2, [1])
    assert behind.selections()[0] == {"view": "head", "stream": "encoder", "layer": 2, "head": 0, "heads": None}
    count = len(behind.selections())
    behind.page.locator("button[data-view=matrix]").click()
    behind.page.wait_for_timeout(150)
    assert behind.viewer.selection["view"] == "matrix"
    assert len(behind.selections()) == count + 1, "a choice is told once"


def test_what_python_chooses_is_drawn_and_not_told_back(kernel: Callable[..., Kernel]) -> None:
    made = scene()
    behind = kernel(made, query=2)
    behind.open()
    before = behind.page.locator("#one canvas").evaluate("(canvas) => canvas.toDataURL()")
    behind.viewer.selection = {"layer": 2, "heads": [3], "stream": "encoder"}
    behind.deliver()
    assert said(behind.page).startswith(strongest(made.strands[0].weights[2, 3, 2], "farmer")), "and the query stays"
    assert behind.page.locator("select[data-name=layer]").input_value() == "2"
    assert behind.page.locator("#one canvas").evaluate("(canvas) => canvas.toDataURL()") != before
    assert behind.selections() == []


def test_numbers_that_do_not_exist_are_put_right_in_python_too(kernel: Callable[..., Kernel]) -> None:
    behind = kernel(layer=50)
    behind.open()
    behind.page.wait_for_timeout(100)
    assert behind.viewer.selection["layer"] == 2
    behind.viewer.selection = {"layer": 0, "heads": [1, 77]}
    behind.deliver()
    behind.page.wait_for_timeout(150)
    assert (behind.viewer.selection["layer"], behind.viewer.selection["heads"]) == (0, [1])
    behind.page.wait_for_timeout(150)
    assert len(behind.selections()) == 2, "no echo without end"


def test_two_views_of_one_model_follow_each_other_and_end_alone(kernel: Callable[..., Kernel]) -> None:
    made = scene()
    behind = kernel(made, query=2)
    behind.open("one")
    behind.open("two")
    shown = behind.page
    shown.locator("#one select[data-name=layer]").select_option(label="2")
    weights = made.strands[0].weights
    for name in ("one", "two"):
        assert said(shown, name).startswith(strongest(weights[1, :, 2].mean(0), "farmer")), name
    shown.locator("#two [data-head='0']").dblclick()
    assert said(shown, "one").startswith(strongest(weights[1, 0, 2], "farmer"))
    listeners = shown.evaluate("listening()")
    shown.evaluate("cleanups[0]()")
    assert shown.locator("#one *").count() == 0
    assert shown.evaluate("listening()") == listeners / 2
    behind.viewer.selection = {"layer": 2}
    behind.deliver()
    assert said(shown, "two").startswith(strongest(weights[2, 0, 2], "farmer"))
    shown.evaluate("cleanups[1]()")
    assert shown.evaluate("listening()") == 0
    tickets = [each["ticket"] for each in behind.asked("block")]
    assert len(set(tickets)) == len(tickets)


def test_rounded_numbers_become_exact_where_somebody_rests(kernel: Callable[..., Kernel]) -> None:
    made = scene()
    behind = kernel(made, cells=0, heads=[1])
    behind.open()
    assert behind.viewer.header["scenes"][0]["strands"][0]["weights"]["code"] == "u8"
    behind.page.mouse.move(*word_at(behind.page, 2))
    behind.page.wait_for_timeout(400)
    [row] = behind.asked("row")
    assert (row["layer"], row["head"], row["query"]) == (0, 1, 2)
    assert said(behind.page).startswith(strongest(made.strands[0].weights[0, 1, 2], "farmer"))


def test_it_says_when_nobody_answers_and_goes_on_when_somebody_does(kernel: Callable[..., Kernel]) -> None:
    behind = kernel()
    behind.silent = True
    behind.open(wait=False)
    silence = behind.page.locator("#one > p")
    assert not silence.is_visible()
    behind.page.wait_for_timeout(3300)
    assert "does not answer" in silence.inner_text()
    behind.silent = False
    behind.deliver()
    behind.page.wait_for_selector("#one .attlas[data-drawn]")
    assert not silence.is_visible()


def test_keys_are_kept_from_the_notebook(kernel: Callable[..., Kernel]) -> None:
    behind = kernel()
    behind.open()
    shown = behind.page
    shown.evaluate(
        "() => { globalThis.keys = []; document.addEventListener('keydown', (event) => keys.push(event.key)); }"
    )
    shown.locator("#one .attlas").focus()
    shown.keyboard.press("ArrowRight")
    shown.keyboard.press("d")
    shown.keyboard.press("Control+s")
    assert shown.evaluate("keys").count("s") == 1
    assert {"ArrowRight", "d"}.isdisjoint(shown.evaluate("keys"))
    assert behind.viewer.selection["layer"] == 1
    assert shown.locator("#one[data-lm-suppress-shortcuts]").count() == 1
