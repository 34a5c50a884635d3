"""The viewer in a notebook: the frame stands alone, messages carry the right numbers, the example runs."""

from __future__ import annotations

import importlib
import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
from scenes import scene

from attlas.capture import load
from attlas.errors import CapabilityError
from attlas.views import Scene, notebook, page, show
from attlas.views.payload import decode, pack
from attlas.views.telling import start_of

if TYPE_CHECKING:
    from playwright.sync_api import Page

EXAMPLE = Path(__file__).parents[2] / "examples" / "look.ipynb"
VIEW = "application/vnd.jupyter.widget-view+json"
STATE = "application/vnd.jupyter.widget-state+json"


class FakeComm:
    """Takes the place of the line to a browser and keeps what is sent over it."""

    comm_id = "fake"

    def __init__(self) -> None:
        self.sent: list[tuple[dict[str, Any], list[bytes]]] = []

    def on_msg(self, _callback: Any) -> None: ...

    def on_close(self, _callback: Any) -> None: ...

    def close(self, *_: Any, **__: Any) -> None: ...

    def send(self, data: Any = None, metadata: Any = None, buffers: Any = None) -> None:
        self.sent.append((data, list(buffers or [])))


def widget(*scenes: Scene, **options: Any) -> tuple[Any, FakeComm]:
    pytest.importorskip("anywidget", reason="the package anywidget is not installed")
    viewer, comm = show(list(scenes) or [scene()], widget=True, **options), FakeComm()
    viewer.comm = comm
    return viewer, comm


def say(viewer: Any, content: Any) -> None:
    """A message of the browser, as it arrives."""
    viewer._handle_msg({"content": {"data": {"method": "custom", "content": content}}, "buffers": []})


def replies(comm: FakeComm) -> list[tuple[dict[str, Any], list[bytes]]]:
    return [(data["content"], buffers) for data, buffers in comm.sent if data["method"] == "custom"]


def test_a_block_that_is_asked_for_holds_the_weights() -> None:
    viewer, comm = widget()
    weights = scene().strands[0].weights
    spec = viewer.header["scenes"][0]["strands"][0]["weights"]
    say(viewer, {"want": "block", "index": spec["first"] + 2 * spec["heads"] + 3, "ticket": "a-1"})
    [(content, [block])] = replies(comm)
    assert content == {"ticket": "a-1"}
    assert np.array_equal(decode(block, spec["code"], spec["columns"]), weights[2, 3])


def test_exact_rows_come_beside_rounded_blocks() -> None:
    long = scene()
    viewer, comm = widget(long)
    viewer._payload = pack([long], exact_cells=0)
    assert viewer._payload.header["scenes"][0]["strands"][0]["weights"]["code"] == "u8"
    say(viewer, {"want": "row", "scene": 0, "strand": 0, "layer": 1, "head": 2, "query": 4, "ticket": "b-7"})
    [(content, [row])] = replies(comm)
    assert content == {"ticket": "b-7"}
    assert np.array_equal(np.frombuffer(row, "<f4"), long.strands[0].weights[1, 2, 4])


@pytest.mark.parametrize(
    "message",
    [
        {"want": "block", "index": 10_000, "ticket": "t"},
        {"want": "block", "index": -1, "ticket": "t"},
        {"want": "block", "index": "0", "ticket": "t"},
        {"want": "block", "ticket": "t"},
        {"want": "row", "scene": 0, "strand": 0, "layer": 0, "head": 99, "query": 0, "ticket": "t"},
        {"want": "row", "scene": 5, "strand": 0, "layer": 0, "head": 0, "query": 0, "ticket": "t"},
    ],
)
def test_what_is_not_there_is_said_not_to_be_there(message: dict[str, Any]) -> None:
    viewer, comm = widget()
    say(viewer, message)
    assert replies(comm) == [({"ticket": "t", "error": f"there is no such {message['want']}"}, [])]


@pytest.mark.parametrize(
    "message", [None, "hello", {}, {"want": "block", "index": 0}, {"want": "files", "ticket": "t"}]
)
def test_what_makes_no_sense_gets_no_answer(message: Any) -> None:
    viewer, comm = widget()
    say(viewer, message)
    assert replies(comm) == []


def test_numbers_are_no_part_of_what_is_saved() -> None:
    big = scene(layers=6, heads=12)
    viewer, _ = widget(big)
    state = viewer.get_state()
    shown = {name: value for name, value in state.items() if name not in ("_esm", "_css")}
    assert len(json.dumps(shown, default=str)) < 6000 < big.strands[0].weights.nbytes
    assert not any(isinstance(value, (bytes, memoryview, np.ndarray)) for value in state.values())
    assert state["_esm"].rstrip().endswith("export default { render: $widget.render };")


def test_choosing_from_python_changes_what_is_named_and_tells_the_browser() -> None:
    viewer, comm = widget(layer="2")
    assert viewer.selection == {"view": "head", "layer": 1, "head": 0, "heads": None}
    viewer.selection = {"heads": np.array([2, 3]), "query": 4}
    assert viewer.selection == {"view": "head", "layer": 1, "head": 0, "heads": [2, 3], "query": 4}
    assert comm.sent[-1][0]["state"]["selection"] == viewer.selection


def test_what_the_browser_chooses_is_read_in_python() -> None:
    viewer, _ = widget()
    chosen = {
        "view": "matrix",
        "stream": "encoder",
        "layer": 2,
        "head": 1,
        "heads": [1],
        "box": [0, 2, 1.5, 3],
        "sort": None,
    }
    viewer._handle_msg(
        {"content": {"data": {"method": "update", "state": {"selection": chosen}, "buffer_paths": []}}, "buffers": []}
    )
    assert viewer.selection == chosen
    assert repr(viewer) == f"Viewer(selection={chosen})"


def test_a_scene_of_some_layers_starts_at_one_that_it_has() -> None:
    from dataclasses import replace

    whole = scene()
    part = replace(
        whole.strands[0], weights=whole.strands[0].weights[1:], layers=(5, 7), lengths=None, query_vectors=None
    )
    viewer, _ = widget(replace(whole, strands=(part,)))
    assert viewer.selection["layer"] in (5, 7)


@pytest.mark.parametrize(
    ("selection", "sentence"),
    [
        ({"leyer": 1}, "there is no 'leyer' to choose"),
        ({"layer": 1.5}, "whole number from 0"),
        ({"layer": None}, "None is none"),
        ({"layer": True}, "True is none"),
        ({"measure": "norms"}, "must be weight or norm or both, and it is 'norms'"),
        ({"measure": None}, "must be weight or norm or both"),
        ({"sort": 3}, "must be a text"),
    ],
)
@pytest.mark.parametrize("with_widget", [True, False])
def test_selections_that_make_no_sense_are_refused(
    selection: dict[str, Any], sentence: str, with_widget: bool
) -> None:
    with pytest.raises(CapabilityError, match=sentence):
        show([scene()], widget=with_widget, **selection)
    if with_widget:
        viewer, _ = widget()
        before = dict(viewer.selection)
        with pytest.raises(CapabilityError, match=sentence):
            viewer.selection = selection
        assert viewer.selection == before, "nothing is changed by what is refused"


@pytest.mark.parametrize(
    ("selection", "sentence"),
    [
        ({"heads": 2}, r"write heads=\[2\]"),
        ({"heads": "12"}, "must be a list of numbers"),
        ({"heads": ["a"]}, "'a' is none"),
        ({"layer": -1}, "whole number from 0"),
    ],
)
def test_the_state_of_the_viewer_is_made_of_numbers(selection: dict[str, Any], sentence: str) -> None:
    viewer, _ = widget()
    with pytest.raises(CapabilityError, match=sentence):
        viewer.selection = selection


@pytest.mark.parametrize(
    ("selection", "sentence"),
    [
        ({"layer": 2}, "layers are named by label counted from 1: give '3' instead of the number 2"),
        ({"heads": [0]}, "heads are named by label counted from 1: give '1' instead of the number 0"),
        ({"heads": 2}, "give '3' instead of the number 2"),
        ({"layers": [1]}, "give '2' instead of the number 1"),
        ({"layer": "0"}, "'0' does not name a layer"),
        ({"heads": ["a"]}, "'a' does not name a head"),
        ({"layer": -1}, "counted from 1: give '1' or more"),
        ({"heads": "2-3", "layer": "1"}, "another layer is asked for"),
    ],
)
def test_a_view_starts_at_layers_and_heads_by_label(selection: dict[str, Any], sentence: str) -> None:
    with pytest.raises(CapabilityError, match=sentence):
        show([scene()], widget=False, **selection)
    wanted = page([scene()], layer=1, heads=[2])
    assert show([scene()], widget=False, layer="2", heads=["3"]).data == wanted
    assert show([scene()], widget=False, heads="2-3").data in (wanted, page([scene()], heads=[2], layer=1))


def test_a_selection_that_is_no_dict_or_another_view_is_refused() -> None:
    with pytest.raises(CapabilityError, match="a selection is a dict"):
        notebook.check_selection(["layer"])  # type: ignore[arg-type]
    with pytest.raises(CapabilityError, match="there is no view 'lines'"):
        show([scene()], kind="lines")
    with pytest.raises(CapabilityError, match="two views are asked for"):
        show([scene()], kind="head", view="model", widget=False)


def test_without_anywidget_there_is_a_frame_and_a_sentence(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(name: str) -> Any:
        if name == "anywidget":
            raise ModuleNotFoundError(name)
        return importlib.import_module(name)

    notebook._viewer_class.cache_clear()
    monkeypatch.setattr(notebook, "import_module", refuse)
    try:
        assert isinstance(show([scene()]), notebook.Frame)
        with pytest.raises(
            CapabilityError, match=r'a widget needs the package anywidget; pip install "attlas\[notebook\]"'
        ):
            show([scene()], widget=True)
    finally:
        notebook._viewer_class.cache_clear()


def test_the_frame_holds_the_page_and_nothing_gets_out_of_it() -> None:
    from html.parser import HTMLParser

    seen: list[tuple[str, dict[str, str | None]]] = []

    class Parser(HTMLParser):
        def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
            seen.append((tag, dict(attrs)))

    hostile = Scene('"></iframe><script>alert(1)</script>', ("' onload='x",), scene().strands)
    shown = show([hostile], widget=False, kind="matrix", height=500, layer="3")
    Parser().feed(shown._repr_html_())
    assert [tag for tag, _ in seen] == ["div", "iframe"]
    assert seen[1][1]["srcdoc"] == page([hostile], kind="matrix", layer=2) == shown.data
    assert seen[1][1]["sandbox"] == "allow-scripts allow-downloads"
    assert "height:500px" in (seen[0][1]["style"] or "")


@pytest.mark.browser
def test_the_frame_draws_and_leaves_its_surroundings_alone(open_page: Callable[..., Page]) -> None:
    shown = show([scene()], widget=False, layer="2")
    around = f'<!doctype html><textarea class="attlas" data-drawn="0" autofocus></textarea>{shown._repr_html_()}'
    outer = open_page(around)
    frame = outer.frame_locator("iframe")
    frame.locator(".attlas[data-drawn]").wait_for()
    assert frame.locator("select[data-name=layer]").input_value() == "1"
    assert outer.evaluate("document.activeElement.tagName") == "TEXTAREA", (
        "running a cell does not take the focus away"
    )
    frame.locator("select[data-name=layer]").select_option(label="3")
    frame.locator("button[data-view=matrix]").click()
    frame.locator(".attlas[data-view=matrix]").wait_for()
    outer.wait_for_timeout(200)
    inner = next(each for each in outer.frames if each != outer.main_frame)
    assert inner.evaluate("location.hash") == "#view=matrix&stream=encoder&layer=2", "as in a page of its own"


def read_example() -> Any:
    nbformat = pytest.importorskip("nbformat", reason="the package nbformat is not installed")
    return nbformat.read(EXAMPLE, as_version=4)


def test_the_example_is_kept_without_outputs() -> None:
    book = read_example()
    pytest.importorskip("nbformat").validate(book)
    code = [cell for cell in book.cells if cell.cell_type == "code"]
    assert code
    assert all(not cell.outputs and cell.execution_count is None for cell in code)
    assert "widgets" not in book.metadata


@pytest.mark.real
def test_the_example_runs_and_its_widgets_say_what_is_chosen() -> None:
    nbclient = pytest.importorskip("nbclient", reason="the package nbclient is not installed")
    pytest.importorskip("ipykernel", reason="the package ipykernel is not installed")
    pytest.importorskip("anywidget", reason="the package anywidget is not installed")
    book = read_example()
    nbclient.NotebookClient(book, timeout=300, resources={"metadata": {"path": str(EXAMPLE.parent)}}).execute()
    cells = {cell.id: cell for cell in book.cells}

    def state_of(cell: str) -> dict[str, Any]:
        [output] = cells[cell].outputs
        kept: dict[str, Any] = book.metadata.widgets[STATE]["state"][output.data[VIEW]["model_id"]]["state"]
        return kept

    start = start_of(
        load().look("The farmer offered apples to the housekeeper, because he had too many of them.").scene()
    )
    first = {"view": "head", "layer": 0, "head": 0, "heads": None, **start}
    assert cells["read"].outputs[0].data["text/plain"] == repr(first)
    head, overview, both = state_of("head"), state_of("model"), state_of("compare")
    assert head["selection"] == {**first, "layer": 3, "heads": [1]}, "chosen two cells later"
    assert overview["selection"] == {**first, "view": "model", "heads": None, "measure": "norm"}
    assert both["selection"] == {"view": "head", "layer": 3, "head": 0, "heads": [1]}
    assert [scene["model"] for scene in head["header"]["scenes"]] == ["all-MiniLM-L6-v2"]
    assert [scene["texts"][0].split()[8] for scene in both["header"]["scenes"]] == ["he", "she"]
    assert len(json.dumps(both["header"])) < 4000
    said = re.fullmatch(r"layer (\d), head (\d+): (0\.\d\d)\n", cells["which"].outputs[0].text)
    assert said is not None
    assert (said[1], said[2]) == ("3", "1"), "the head that the text speaks of"
