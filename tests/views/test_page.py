"""The page stands alone, and nothing that a text or a name says can break out of it."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from scenes import reading, scene, strand

from attlas.errors import CapabilityError, StoreError
from attlas.ids import Stream
from attlas.views import Scene, page, script, write_page
from attlas.views.page import KINDS
from attlas.views.script import join, static, viewer_script

if TYPE_CHECKING:
    from playwright.sync_api import Page

MODULES = sorted(path.stem for path in (Path(__file__).parents[2] / "src/attlas/views/static").glob("*.js"))

HOSTILE = (
    "</script><script>alert(1)</script>",
    "<!--<script>",
    "\"'><img src=x onerror=alert(2)>",
    "${alert(3)}`",
    "\u202egnp.exe\u202c",
    "\u2028\u2029",
    "\u0000\u0007\u001b[31m",
    "\ud83d\udc68\u200d\ud83d\udc69",
    "&lt;b&gt;",
    "a" * 5000,
    "",
)


def test_the_page_asks_nobody_for_anything() -> None:
    html = page([scene()])
    assert not re.search(r'(src|href)\s*=\s*["\']?(https?:)?//', html.replace("http://www.w3.org/2000/svg", ""))
    assert "default-src 'none'" in html
    assert "import " not in re.sub(r"//.*", "", viewer_script())


def test_each_block_lies_in_the_page_once() -> None:
    html = page([scene()])
    blocks = re.findall(r'<script type="text/plain" id="attlas-block-(\d+)">([^<]*)</script>', html)
    assert [int(number) for number, _ in blocks] == list(range(3 * 4 * 3 + 3))
    assert all(html.count(block) == 1 for _, block in blocks)


@pytest.mark.parametrize("name", MODULES)
def test_every_module_says_what_it_is_and_can_be_joined(name: str) -> None:
    assert static(f"{name}.js").startswith("// "), "a module opens with prose"
    joined = join(name)
    assert "\nimport " not in joined
    assert "\nexport " not in joined


def test_a_view_is_a_module_and_a_record(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    for record in script.view_records():
        assert {"name", "title", "help"} <= record.keys()
        assert f"export const {record['name']}View = " in static(f"{record['name']}.js")
    assert [record["name"] for record in script.view_records()] == list(KINDS)
    records = json.dumps([*script.view_records(), {"name": "tree", "title": "Tree", "help": "It grows."}])
    monkeypatch.setattr(script, "static", lambda name: records if name == "views.json" else static(name))
    (tmp_path / "grown" / "static").mkdir(parents=True)
    (tmp_path / "grown" / "__init__.py").touch()
    further = "// A further view.\n\nexport const treeView = { draw() {} };\n"
    (tmp_path / "grown" / "static" / "tree.js").write_text(further, encoding="utf-8")
    monkeypatch.syspath_prepend(tmp_path)
    joined = script.join("viewer", "grown")
    assert '"It grows."' in joined
    assert "{ ...RECORDS[5], ...treeView }" in joined
    assert joined.index("const $tree = ") < joined.index("const $views = ") < joined.index("const $viewer = ")


def test_unknown_views_and_unwritable_places_are_refused_in_a_sentence(tmp_path: Path) -> None:
    with pytest.raises(CapabilityError, match="there is no view 'heads'"):
        page([scene()], kind="heads")
    with pytest.raises(StoreError, match="is a folder"):
        write_page(tmp_path, [scene()])
    (tmp_path / "file").write_text("")
    with pytest.raises(StoreError, match="cannot be written"):
        write_page(tmp_path / "file" / "page.html", [scene()])
    assert sorted(path.name for path in tmp_path.iterdir()) == ["file"], "nothing half-written is left"


def hostile_scene() -> Scene:
    from attlas.views import Sequence

    count = len(HOSTILE)
    read = Sequence(HOSTILE, tuple(range(count)), (0,) * count, HOSTILE)
    return Scene("</title><script>alert(4)</script>", HOSTILE, (strand(queries=read),))


@pytest.mark.browser
@pytest.mark.parametrize("view", list(KINDS))
def test_hostile_texts_are_shown_and_nothing_else_happens(open_page: Callable[..., Page], view: str) -> None:
    shown = open_page(page([hostile_scene()], kind=view), "table=yes&query=0")
    assert shown.locator(".attlas-scene strong").inner_text() == "</title><script>alert(4)</script>"
    assert shown.locator("script[src], img, iframe").count() == 0
    assert shown.locator("body > :not(main, noscript, script)").count() == 0
    table = shown.locator(".attlas-table").inner_text()
    assert "</script><script>alert(1)</script>" in table
    assert "\u202e" not in table, "marks that turn the writing around are made visible"
    assert "⟨202e⟩" in table


@pytest.mark.browser
def test_hostile_fragments_change_nothing(open_page: Callable[..., Page]) -> None:
    hostile = "view=evil&layer=99999&head=-1&heads=a,b&query=1e9&measure=%3Cscript%3E&box=x&theme=%&__proto__=x"
    shown = open_page(page([scene()]), hostile)
    assert shown.locator("button[data-view=head]").get_attribute("aria-pressed") == "true"
    assert shown.locator("select[data-name=layer]").input_value() == "2", "the nearest layer there is"


@pytest.mark.browser
def test_right_to_left_words_are_shown_as_they_are_written(open_page: Callable[..., Page]) -> None:
    words = reading(("[CLS]", "שלום", "עולם", "مرحبا", "[SEP]"))
    shown = open_page(page([Scene("a model", ("שלום עולם مرحبا",), (strand(Stream.ENCODER, words),))]), "query=1")
    assert shown.locator(".attlas-scene span").get_attribute("dir") == "auto"
    assert shown.locator(".attlas-readout").inner_text().startswith("שלום attends to ")
