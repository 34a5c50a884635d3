"""The model view, used: pointed at, enlarged, filtered, sorted, driven by keys, saved, and read back."""

from __future__ import annotations

import re
import time
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING
from xml.etree import ElementTree

import numpy as np
import pytest
from drawn import pictures, place_of, record, texts
from numpy.typing import NDArray
from scenes import SPOKEN, WORDS, page, reading, scene, spoken, strand, written

from attlas.ids import Stream
from attlas.views import Scene, Strand
from attlas.views.figures import NO_FIGURE

if TYPE_CHECKING:
    from playwright.sync_api import Page

pytestmark = pytest.mark.browser
Open = Callable[..., "Page"]
Numbers = NDArray[np.float32]

LIGHT = np.array([[251, 250, 247], [198, 219, 235], [120, 170, 210], [48, 108, 168], [12, 38, 84]])
DIVERGING = np.array([[150, 62, 4], [226, 140, 70], [251, 250, 247], [106, 164, 212], [14, 66, 124]])


def quiet(shown: Page) -> None:
    """Wait, by the page's own clock, until what was done is drawn and in the address."""
    frames = "requestAnimationFrame(() => requestAnimationFrame(() => setTimeout(done, 120)))"
    shown.evaluate(f"() => new Promise((done) => {frames})")


def said(shown: Page) -> str:
    quiet(shown)
    return shown.locator(".attlas-readout").inner_text()


def frame(shown: Page, layer: int, head: int) -> tuple[float, float, float, float]:
    """Left, top, width and height of the small picture in a row and column of the table."""
    drawn = pictures(shown)
    small = [each for each in drawn if each[2:] == drawn[0][2:]]  # and not the one that is enlarged
    lefts = sorted({x for x, *_ in small})
    tops = sorted({y for _, y, *_ in small})
    found: tuple[float, float, float, float] = (lefts[head], tops[layer], *drawn[0][2:])
    return found


def middle(shown: Page, layer: int, head: int) -> tuple[float, float]:
    """The middle of a small picture on the canvas."""
    left, top, wide, high = frame(shown, layer, head)
    return left + wide / 2, top + high / 2


def point(shown: Page, x: float, y: float, panel: int = 0) -> None:
    box = shown.locator(".attlas-stage canvas").nth(panel).bounding_box()
    assert box is not None
    shown.mouse.move(round(box["x"] + x), round(box["y"] + y))  # clicks come at whole pixels


def click(shown: Page, x: float, y: float) -> None:
    point(shown, x, y)
    shown.mouse.down()
    shown.mouse.up()
    quiet(shown)


def pixels(shown: Page, places: list[tuple[float, float]], panel: int = 0) -> NDArray[np.int64]:
    """The colours of a canvas at places in CSS pixels."""
    read = """(canvas, places) => {
        const scale = canvas.width / canvas.clientWidth;
        const context = canvas.getContext("2d");
        return places.map(([x, y]) => [...context.getImageData(x * scale, y * scale, 1, 1).data].slice(0, 3));
    }"""
    return np.array(
        shown.locator(".attlas-stage canvas").nth(panel).evaluate(read, [list(place) for place in places])
    )


def ramp(share: Numbers, stops: NDArray[np.int64] = LIGHT) -> NDArray[np.float64]:
    along = np.clip(share, 0, 1) * (len(stops) - 1)
    return np.stack([np.interp(along, np.arange(len(stops)), stops[:, channel]) for channel in range(3)], -1)


def strongest(matrix: Numbers, words: tuple[str, ...] = WORDS) -> str:
    query, key = np.unravel_index(np.abs(matrix).argmax(), matrix.shape)
    return f"{spoken(words[query])} → {spoken(words[key])} {written(float(matrix[query, key]))}"


def rows(shown: Page) -> list[list[str]]:
    read = "rows => rows.map((row) => [...row.cells].map((cell) => cell.textContent))"
    return list(shown.locator(".attlas-table tbody tr").evaluate_all(read))


def state(shown: Page) -> dict[str, str]:
    """What the address says, but for the stream."""
    quiet(shown)
    parts = (part.split("=", 1) for part in str(shown.evaluate("location.hash"))[1:].split("&") if part)
    return {name: value for name, value in parts if name != "stream"}


def settled(shown: Page, measure: str = "weight") -> str:
    """Wait until all pictures of a measure are there; gives the caption of the table."""
    until = time.monotonic() + 30
    while time.monotonic() < until:
        caption = shown.locator(".attlas-table caption").first.inner_text()
        if "so far" not in caption and measure in caption:
            return caption
        shown.wait_for_timeout(30)
    raise AssertionError(caption)


def figured(made: Scene, values: Numbers) -> Scene:
    return made.with_figures({"weight: entropy": {Stream.ENCODER: values.astype(np.float32)}})


def test_pointing_at_a_head_tells_its_strongest_link(open_page: Open) -> None:
    made = scene()
    shown = open_page(page([made], kind="model"))
    weights = made.strands[0].weights
    for layer, head in ((0, 0), (2, 1), (1, 3)):
        point(shown, *middle(shown, layer, head))
        assert said(shown) == f"head {layer + 1}-{head + 1}: strongest link {strongest(weights[layer, head])}"
    shown.mouse.move(5, 5)
    assert said(shown).startswith("head 1-1:"), "the current head is told when nothing is pointed at"


def test_a_small_picture_shows_the_numbers_of_its_head(open_page: Open) -> None:
    made = scene()
    shown = open_page(page([made], kind="model"))
    for layer, head in ((0, 1), (2, 3)):
        matrix = made.strands[0].weights[layer, head]
        left, top, wide, high = frame(shown, layer, head)
        places = [(left + (k + 0.5) * wide / 10, top + (q + 0.5) * high / 10) for q in range(10) for k in range(10)]
        expected = ramp(np.sqrt(matrix / matrix.max(1).mean())).reshape(-1, 3)
        assert np.abs(pixels(shown, places) - expected).max() <= 3


def test_a_line_one_piece_wide_survives_in_a_long_text(open_page: Open) -> None:
    length = 301
    text = reading(tuple(f"w{at}" for at in range(length)))
    diagonal, column = np.full((2, length, length), 1e-4, np.float32)
    diagonal[np.arange(1, length), np.arange(length - 1)] = 0.97
    column[:, 200] = 0.97
    weights = np.stack([np.stack([diagonal, column])] * 2)
    shown = open_page(page([Scene("a model", ("x",), (Strand(Stream.ENCODER, text, text, weights),))], kind="model"))
    settled(shown)
    quiet(shown)
    *_, diagonal_at, column_at = pictures(shown)  # of the second layer, which stands beside the first
    left, top, wide, high = diagonal_at
    inside = [((at + 0.5) * wide / 72, (at + 0.5) * high / 72) for at in range(2, 71)]
    on = pixels(shown, [(left + x, top + y) for x, y in inside])
    assert on.sum(1).max() < 150, "every cell of the diagonal is dark"
    off = pixels(shown, [(left + x, top + high - y) for x, y in inside if abs(2 * y - high) > 16])
    assert off.sum(1).min() > 650
    x = column_at[0] + (200 * 72 // length + 0.5) * wide / 72
    assert pixels(shown, [(x, top + y) for _, y in inside]).sum(1).max() < 150, "and of the column"


def test_a_click_enlarges_a_head_and_its_cells_have_numbers(open_page: Open) -> None:
    made = scene()
    weights = made.strands[0].weights
    shown = open_page(page([made], kind="model"))
    click(shown, *middle(shown, 1, 2))
    assert state(shown) == {"layer": "1", "head": "2", "open": "yes"}
    found = set()
    told = ""
    left, top, wide, high = pictures(shown)[-1]  # drawn last, over the others
    assert wide > 400
    places = [(left + (at + 0.5) * wide / 20, top + (at + 0.5) * high / 20) for at in range(20)]
    shades = ramp(np.sqrt(weights[1, 2] / weights[1, 2].max(1).mean()))
    for place, colour in zip(places, pixels(shown, places), strict=True):
        point(shown, *place)
        match = re.fullmatch(r"head 2-3: (\S+) → (\S+) (\S+)", said(shown))
        if match and match[0] != told:
            told = match[0]
            shown.mouse.down()
            shown.mouse.up()
            chosen = state(shown)
            query, key = int(chosen["query"]), int(chosen["key"])
            assert (SPOKEN[query], SPOKEN[key]) == match.group(1, 2)
            assert match[3] == written(float(weights[1, 2, query, key]))
            assert np.abs(colour - shades[query, key]).max() <= 3, "what is told is what is drawn there"
            found.add((query, key))
    assert len(found) >= 5


def test_the_enlarged_head_is_closed_by_key_by_click_and_by_its_cross(open_page: Open) -> None:
    shown = open_page(page([scene()], kind="model"))

    def is_open() -> bool:
        quiet(shown)
        record(shown)
        there = any(each["text"] == "×" for each in texts(shown))
        assert there == ("open" in state(shown))
        return there

    click(shown, *middle(shown, 2, 1))
    assert is_open()
    click(shown, *middle(shown, 2, 1))
    assert not is_open()
    click(shown, *middle(shown, 2, 1))
    assert is_open()
    shown.keyboard.press("Escape")
    assert not is_open()
    assert state(shown)["layer"] == "2", "the head stays the current one"
    shown.keyboard.press("Enter")
    assert is_open()
    point(shown, *place_of(shown, "×"))
    assert said(shown) == "Close the enlarged head."
    shown.mouse.down()
    shown.mouse.up()
    assert not is_open()


def test_a_link_opens_the_same_head_with_the_same_row(open_page: Open) -> None:
    made = scene()
    shown = open_page(page([made], kind="model"), "layer=2&head=0&open=yes&query=2")
    row = made.strands[0].weights[2, 0, 2]
    first = int(row.argmax())
    assert said(shown).startswith(f"head 3-1: farmer attends to {SPOKEN[first]} {written(float(row[first]))}, ")
    click(shown, *middle(shown, 0, 3))
    assert said(shown).startswith("head 1-4: farmer attends to "), "another head, the same row"


def test_arrow_keys_move_from_head_to_head_and_stop_at_the_edge(open_page: Open) -> None:
    made = scene()
    shown = open_page(page([made], kind="model"))
    walk = [("ArrowLeft", 0, 0), ("ArrowRight", 0, 1), ("ArrowDown", 1, 1), ("ArrowDown", 2, 1), ("ArrowDown", 2, 1)]
    walk += [("ArrowRight", 2, 2), ("ArrowRight", 2, 3), ("ArrowRight", 2, 3), ("ArrowUp", 1, 3), ("[", 1, 2)]
    for key, layer, head in walk:
        shown.keyboard.press(key)
        assert said(shown).startswith(f"head {layer + 1}-{head + 1}: "), key
    assert state(shown) == {"layer": "1", "head": "2"}
    left, top, *_ = frame(shown, 1, 2)
    (edge,) = pixels(shown, [(left + 50, top - 1.5)])
    assert np.abs(edge - [43, 108, 168]).max() < 12, "the current head has a frame"
    shown.keyboard.press("Enter")
    shown.keyboard.press("ArrowLeft")
    assert said(shown).startswith("head 2-2: ")
    assert state(shown)["open"] == "yes", "the enlarged head follows"


def test_enter_on_a_button_stays_with_the_button(open_page: Open) -> None:
    shown = open_page(page([scene()], kind="model"))
    shown.locator("[data-name=measure][data-value=norm]").focus()
    shown.keyboard.press("Enter")
    assert state(shown) == {"measure": "norm"}


def test_keys_bring_a_head_into_sight_and_a_click_does_not_scroll(open_page: Open) -> None:
    made = scene(layers=20, heads=12)
    shown = open_page(page([made], kind="model"), viewport={"width": 500, "height": 600})
    for _ in range(19):
        shown.keyboard.press("ArrowDown")
    assert said(shown).startswith("head 20-1: ")
    scrolled = shown.evaluate("() => scrollY")
    assert scrolled > 100
    shown.keyboard.press("Enter")
    quiet(shown)
    assert shown.evaluate("() => scrollY") == scrolled


def test_filters_choose_layers_and_heads(open_page: Open) -> None:
    made = scene()
    shown = open_page(page([made], kind="model"))
    shown.locator("[data-layer='0']").click()
    shown.locator("[data-head='1']").click()
    quiet(shown)
    assert [row[0] for row in rows(shown)] == [f"{layer}-{head}" for layer in (2, 3) for head in (1, 3, 4)]
    point(shown, *middle(shown, 0, 1))
    assert said(shown).startswith("head 2-3: "), "they have moved up and left"
    shown.locator("[data-heads=none]").click()
    shown.mouse.move(5, 5)
    assert said(shown) == "No head is chosen."
    assert rows(shown) == []


def test_the_table_has_the_strongest_link_of_every_head(open_page: Open) -> None:
    made = scene()
    shown = open_page(page([made], kind="model"))
    assert settled(shown) == "The strongest link of each head: attention weight α"
    found = rows(shown)
    assert len(found) == 12
    for row in found:
        layer, head = (int(part) - 1 for part in row[0].split("-"))
        matrix = made.strands[0].weights[layer, head]
        query, key = np.unravel_index(matrix.argmax(), matrix.shape)
        assert row[1:] == [SPOKEN[query], SPOKEN[key], written(float(matrix[query, key]))]


def test_norms_and_words_are_shown_when_asked_for(open_page: Open) -> None:
    made = scene()
    shown = open_page(page([made], kind="model"))
    shown.locator("[data-name=measure][data-value=norm]").click()
    norms = made.strands[0].weights * made.strands[0].lengths[:, :, None]  # type: ignore[index]
    norms /= norms.sum(-1, keepdims=True)
    point(shown, *middle(shown, 1, 1))
    assert said(shown) == f"head 2-2: strongest link {strongest(norms[1, 1])}"
    shown.locator("[data-name=measure][data-value=weight]").click()
    shown.locator("[data-name=unit][data-value=word]").click()
    joined = np.delete(made.strands[0].weights[1, 1], 4, axis=1)
    joined[:, 3] += made.strands[0].weights[1, 1, :, 4]
    joined = np.insert(np.delete(joined, [3, 4], axis=0), 3, joined[3:5].mean(0), axis=0)
    words = (*WORDS[:3], "played", *WORDS[5:])
    point(shown, *middle(shown, 1, 1))
    assert said(shown) == f"head 2-2: strongest link {strongest(joined, words)}"


def test_the_first_query_of_causal_attention_does_not_count(open_page: Open) -> None:
    made = Scene("a model", ("x",), (strand(Stream.DECODER),))
    shown = open_page(page([made], kind="model"))
    point(shown, *middle(shown, 0, 2))
    matrix = made.strands[0].weights[0, 2].copy()
    assert matrix[0, 0] == 1
    matrix[0] = 0
    assert said(shown) == f"head 1-3: strongest link {strongest(matrix)}"


def test_differences_are_signed(open_page: Open) -> None:
    first, second = scene("first"), scene("second", seed=5)
    shown = open_page(page([first, second], kind="model"), "show=difference")
    difference = first.strands[0].weights - second.strands[0].weights
    point(shown, *middle(shown, 1, 2))
    assert said(shown) == f"head 2-3: largest difference {strongest(difference[1, 2])}"
    left, top, wide, high = frame(shown, 2, 0)
    places = [(left + (k + 0.5) * wide / 10, top + (q + 0.5) * high / 10) for q in range(10) for k in range(10)]
    matrix = difference[2, 0]
    share = np.sign(matrix) * np.sqrt(np.minimum(1, np.abs(matrix) / np.abs(matrix).max(1).mean()))
    assert np.abs(pixels(shown, places) - ramp((1 + share) / 2, DIVERGING).reshape(-1, 3)).max() <= 3


def test_heads_are_sorted_by_a_figure(open_page: Open) -> None:
    made = scene()
    values = np.random.default_rng(3).uniform(0, 5, (3, 4)).astype(np.float32)
    values[1, 1] = NO_FIGURE
    shown = open_page(page([figured(made, values)], kind="model"))
    shown.locator("select[data-name=sort]").select_option("weight: entropy")
    assert state(shown)["sort"] == "weight%3A%20entropy"
    order = np.argsort(-values.ravel())
    assert [row[0] for row in rows(shown)] == [f"{at // 4 + 1}-{at % 4 + 1}" for at in order]
    assert [row[4] for row in rows(shown)][:11] == [written(float(round(values.flat[at], 5))) for at in order[:11]]
    assert rows(shown)[11][4] == "–"
    point(shown, 60, 60)
    layer, head = divmod(int(order[0]), 4)
    link = strongest(made.strands[0].weights[layer, head])
    told = f"head {layer + 1}-{head + 1}: strongest link {link}; weight: entropy {written(float(values.max()))}"
    assert said(shown) == told
    click(shown, 60, 60)
    shown.mouse.move(5, 5)
    assert said(shown) == told
    shown.keyboard.press("ArrowRight")
    layer, head = divmod(int(order[1]), 4)
    assert said(shown).startswith(f"head {layer + 1}-{head + 1}: "), "keys follow the order"


def test_where_there_is_no_such_figure_heads_stay_by_layer(open_page: Open) -> None:
    made = figured(scene(), np.ones((3, 4), np.float32))
    shown = open_page(page([made], kind="model"), "sort=nothing")
    assert "There is no figure “nothing” of these heads" in shown.locator(".attlas-notice").inner_text()
    point(shown, *middle(shown, 2, 3))
    assert said(shown).startswith("head 3-4: ")


def test_pictures_come_in_bit_by_bit_and_are_made_once(open_page: Open) -> None:
    text = reading(tuple(f"w{at}" for at in range(160)))
    made = Scene("a model", ("x",), (strand(queries=text, layers=12, heads=12, vectors=False),))
    watching = """addEventListener("DOMContentLoaded", () => {
        globalThis.captions = [];
        new MutationObserver(() => {
            const caption = document.querySelector(".attlas-table caption")?.textContent;
            if (caption && caption !== captions.at(-1)) captions.push(caption);
        }).observe(document.body, { subtree: true, childList: true });
    })"""
    shown = open_page(page([made], kind="model"), script=watching)
    shown.wait_for_selector(".attlas-table caption", state="attached")
    settled(shown)
    captions = shown.evaluate("() => captions")
    counts = [int(found[1]) for each in captions if (found := re.search(r"so far (\d+) of 144 heads", each))]
    assert counts, "something was shown before all was there"
    assert counts == sorted(counts)
    assert "so far" not in captions[-1]
    shown.evaluate("() => { captions.length = 0; }")
    shown.keyboard.press("ArrowDown")
    click(shown, 300, 300)
    shown.locator("[data-head='3']").click()
    shown.locator("[data-heads=all]").click()
    shown.locator("[data-action=theme]").click()
    quiet(shown)
    quiet(shown)
    assert not [each for each in shown.evaluate("() => captions") if "so far" in each]
    shown.locator("[data-name=measure][data-value=norm]").click()
    settled(shown, "norm")
    assert [each for each in shown.evaluate("() => captions") if "so far" in each], "norms are other pictures"


def test_svg_and_png_hold_every_head(open_page: Open, tmp_path: Path) -> None:
    shown = open_page(page([scene()], kind="model"), "layer=1&head=1&open=yes")
    settled(shown)
    with shown.expect_download() as waiting:
        shown.locator("[data-action=svg]").click()
    waiting.value.save_as(tmp_path / "model.svg")
    tree = ElementTree.parse(tmp_path / "model.svg")
    images = tree.findall(".//{http://www.w3.org/2000/svg}image")
    assert len(images) == 3 * 4 + 1
    assert all(image.get("href", "").startswith("data:image/png;base64,") for image in images)
    assert len({image.get("href") for image in images}) >= 12, "no two heads look the same"
    texts = [each.text for each in tree.findall(".//{http://www.w3.org/2000/svg}text")]
    assert "head 2-2" in texts
    assert texts.count("farmer") == 2
    with shown.expect_download() as waiting:
        shown.locator("[data-action=png]").click()
    waiting.value.save_as(tmp_path / "model.png")
    assert (tmp_path / "model.png").read_bytes().startswith(b"\x89PNG")
    assert (tmp_path / "model.png").stat().st_size > 5000


def test_dark_and_light_are_painted_anew(open_page: Open) -> None:
    made = scene()
    shown = open_page(page([made], kind="model"), color_scheme="dark")
    matrix = made.strands[0].weights[0, 0]
    query, key = np.unravel_index(matrix.argmax(), matrix.shape)
    left, top, wide, high = frame(shown, 0, 0)
    place = (left + (key + 0.5) * wide / 10, top + (query + 0.5) * high / 10)
    (dark,) = pixels(shown, [place])
    assert dark.sum() > 600, "in the dark the strongest is bright"
    shown.locator("[data-action=theme]").click()
    quiet(shown)
    (light,) = pixels(shown, [place])
    assert light.sum() < 200


def test_cross_attention_keeps_its_own_queries_and_keys(open_page: Open) -> None:
    target = ("Le", "fermier", "jou", "##a", ".", "[SEP]")
    made = replace(scene(), strands=(strand(Stream.CROSS, reading(target), reading(), vectors=False),))
    shown = open_page(page([made], kind="model"), "layer=0&head=1&open=yes")
    matrix = made.strands[0].weights[0, 1]
    query, key = np.unravel_index(matrix.argmax(), matrix.shape)
    assert (
        said(shown)
        == f"head 1-2: strongest link {spoken(target[query])} → {SPOKEN[key]} {written(float(matrix.max()))}"
    )
