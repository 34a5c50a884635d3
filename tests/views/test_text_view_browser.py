"""The text view, used: pointed at, kept, turned round, scrolled, divided into regions; against numpy's numbers."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import pytest
from drawn import faults, place_of, record, texts
from pointing import address_has
from scenes import SPOKEN, page, reading, scene, spoken, strand, written
from serving import HOSTILE

from attlas.ids import Stream
from attlas.views import Scene
from attlas.views.regions import regions_of, with_regions
from attlas.views.saying import Saying

if TYPE_CHECKING:
    from playwright.sync_api import Page

pytestmark = pytest.mark.browser
Open = Callable[..., "Page"]
CHAT = (
    "<|im_start|>",
    "sys",
    "tem",
    "Be",
    "kind",
    ".",
    "<|im_start|>",
    "user",
    "Where",
    "is",
    "he",
    "?",
    "<|im_start|>",
    "assistant",
    "Here",
    "he",
    "is",
)


def said(shown: Page) -> str:
    shown.wait_for_timeout(120)
    return shown.locator(".attlas-readout").inner_text()


def ranked(text: str) -> list[tuple[str, str]]:
    """The words of a readout with their numbers."""
    inside = re.search(r"(?:attends to|attended to by|on average,) (.*) \(", text)
    assert inside, text
    return [tuple(part.rsplit(" ", 1)) for part in inside[1].split(" · ")]  # type: ignore[misc]


def expected(values: np.ndarray, words: tuple[str, ...] = SPOKEN) -> list[tuple[str, str]]:
    return [(words[at], written(values[at])) for at in np.argsort(-values, kind="stable")[:6]]


def point(shown: Page, word: str, nth: int = 0) -> None:
    x, y = place_of(shown, word, nth=nth)
    box = shown.locator(".attlas-stage canvas").first.bounding_box()
    assert box
    shown.mouse.move(box["x"] + x, box["y"] + y)


def click(shown: Page, word: str) -> None:
    point(shown, word)
    shown.mouse.down()
    shown.mouse.up()


def test_words_are_shaded_by_what_they_receive_and_give(open_page: Open) -> None:
    made = scene()
    weights = made.strands[0].weights[1]
    shown = open_page(page([made], kind="text", layer=1, heads=[2]))
    assert said(shown) == ""
    point(shown, "farmer")
    assert said(shown).startswith("farmer attends to")
    assert said(shown).endswith("(head 2-3)")
    assert ranked(said(shown)) == expected(weights[2, 2])
    shown.keyboard.press("v")
    assert said(shown).startswith("farmer is attended to by")
    assert ranked(said(shown)) == expected(weights[2, :, 2])
    address_has(shown, "way=gives")
    shown.locator("[data-heads=all]").click()
    point(shown, "slept")
    assert ranked(said(shown)) == expected(weights[:, :, 8].mean(0))
    assert "mean of 4 heads, layer 2" in said(shown)
    shown.locator("[data-value=layers]").click()
    shown.keyboard.press("v")
    point(shown, "farmer")
    assert ranked(said(shown)) == expected(made.strands[0].weights[:, :, 2].mean((0, 1)))
    assert "mean of all 12 heads" in said(shown)


def test_words_that_are_kept_make_a_sum(open_page: Open) -> None:
    made = scene()
    weights = made.strands[0].weights[0, 1]
    shown = open_page(page([made], kind="text", heads=[1]))
    click(shown, "farmer")
    click(shown, "She")
    shown.mouse.move(5, 5)
    assert said(shown).startswith("farmer + She attends to")
    assert ranked(said(shown)) == expected(weights[2] + weights[7])
    address_has(shown, "picked=2%2C7")
    shown.reload()
    shown.wait_for_selector(".attlas[data-drawn]")
    assert ranked(said(shown)) == expected(weights[2] + weights[7])
    click(shown, "farmer")
    shown.mouse.move(5, 5)
    assert ranked(said(shown)) == expected(weights[7])
    shown.keyboard.press("Escape")
    assert said(shown) == ""
    for key in ("ArrowDown", "ArrowDown", "Enter", "ArrowDown", "Enter"):
        shown.keyboard.press(key)
    address_has(shown, "picked=1%2C2")


@pytest.mark.parametrize("unit", ["piece", "word"])
def test_a_line_end_ends_a_line(open_page: Open, unit: str) -> None:
    text = reading(("The", "farmer", "⏎", "slept", ".", "She", "\n"))
    if unit == "word":  # where a line end belongs to the word behind it
        text = replace(text, words=(0, 1, 2, 2, 3, 4, 5), spelled=("The", "farmer", "slept", ".", "She", "\n"))
    made = Scene("m", ("lines",), (strand(queries=text, vectors=False),))
    shown = open_page(page([made], kind="text", heads=[0]), f"unit={unit}")
    (left, above), (x, y) = place_of(shown, "farmer"), place_of(shown, "slept")
    assert y > above + 20
    assert x < left
    assert place_of(shown, "She")[1] == pytest.approx(y, abs=10), "letters of one line differ in height"


def test_what_is_drawn_of_several_heads_is_named(open_page: Open) -> None:
    shown = open_page(page([scene()], kind="text", layer=1, head=2, heads=[2]))
    named = shown.locator("figcaption")
    assert named.inner_text() == "attention weight α · head 2-3"
    shown.locator("[data-heads=all]").click()
    for view, told in (
        ("text", "mean of 4 heads, layer 2"),
        ("matrix", "mean of 4 heads, layer 2"),
        ("head", "4 heads of layer 2, numbers are their means"),
        ("neuron", "head 2-3"),
        ("model", ""),
    ):
        shown.locator(f"button[data-view={view}]").click()
        shown.wait_for_function("(view) => document.querySelector('.attlas').dataset.view === view", arg=view)
        shown.wait_for_function(
            "(told) => document.querySelector('figcaption').textContent === told",
            arg=" · ".join(filter(None, ("attention weight α", told))),
        )


def test_the_shade_is_that_of_the_number(open_page: Open) -> None:
    made = scene()
    row = made.strands[0].weights[0, 1, 2]
    shown = open_page(page([made], kind="text", heads=[1]))
    places = [place_of(shown, word) for word in ("The", "play", "She", "slept")]
    click(shown, "farmer")
    shown.wait_for_timeout(150)
    read = """(canvas, places) => {
      const scale = canvas.width / canvas.clientWidth;
      const context = canvas.getContext("2d");
      return places.map(([x, y]) => [...context.getImageData(x * scale, y * scale, 1, 1).data]);
    }"""
    above = [[x, y - 15] for x, y in places]  # over the letters, within the shade
    colours = shown.locator(".attlas-stage canvas").evaluate(read, above)
    values = [float(row[at]) for at in (1, 3, 7, 8)]
    stops = np.array([(251, 250, 247), (198, 219, 235), (120, 170, 210), (48, 108, 168), (12, 38, 84)], float)
    full = max(value for at, value in enumerate(row) if at not in (0, 6, 9))
    for value, colour in zip(values, colours, strict=True):
        share = np.sqrt(min(1, value / full))
        along = share * 4
        low = min(3, int(along))
        shade = stops[low] + (along - low) * (stops[low + 1] - stops[low])
        assert colour[3] == 0 if share <= 0.04 else np.abs(np.array(colour[:3]) - shade).max() <= 4


def rows_below(shown: Page) -> tuple[str, dict[str, list[str]]]:
    """What stands below a text: its heading, and the numbers of each row by its label."""
    drawn = [each["text"] for each in texts(shown)]
    (begin,) = (at for at, text in enumerate(drawn) if text.startswith("Each "))
    found: dict[str, list[str]] = {}
    for text in drawn[begin + 1 :]:
        if re.fullmatch(r"\d+-\d+|layer \d+", text):
            found[text] = []
        elif found:
            found[next(reversed(found))].append(text)
    return drawn[begin], found


def in_cells(values: np.ndarray) -> list[str]:
    """The numbers of cells, in two figures; those that are next to nothing are left out."""
    return [written(float(f"{value:.1e}")) for value in values if value >= 0.0005]


def test_all_heads_of_the_layer_stand_below_a_short_text(open_page: Open) -> None:
    """For what is pointed at, else on average; a click on a row shows its head, and a cell says its number."""
    made = scene()
    weights = made.strands[0].weights
    shown = open_page(page([made], kind="text", layer=1, heads=[2]))
    record(shown)
    heading, rows = rows_below(shown)
    assert heading == "Each head of layer 2: words receive, on average"
    assert rows == {f"2-{head + 1}": in_cells(weights[1, head].mean(0)) for head in range(4)}
    point(shown, "farmer")
    assert said(shown).startswith("farmer attends to")
    heading, rows = rows_below(shown)
    assert heading == "Each head of layer 2: farmer attends to"
    assert rows == {f"2-{head + 1}": in_cells(weights[1, head, 2]) for head in range(4)}

    (x, _), (_, y) = place_of(shown, "She", nth=2), place_of(shown, "2-4")  # text and list come before
    box = shown.locator(".attlas-stage canvas").first.bounding_box()
    assert box
    shown.mouse.move(box["x"] + x, box["y"] + y)
    assert said(shown) == f"Words receive, on average, She {written(weights[1, 3, :, 7].mean())} (head 2-4)"
    shown.mouse.down()
    shown.mouse.up()
    address_has(shown, "head=3&heads=3")
    shown.locator("[data-value=layers]").click()
    shown.wait_for_timeout(150)
    record(shown)
    heading, rows = rows_below(shown)
    assert heading == "Each layer: words receive, on average"
    assert rows == {f"layer {layer + 1}": in_cells(weights[layer].mean((0, 1))) for layer in range(3)}
    assert faults(shown) == []


@pytest.mark.parametrize(("count", "width"), [(400, 1280), (10, 700)])
def test_where_there_is_no_room_for_heads_none_stand_below(open_page: Open, count: int, width: int) -> None:
    text = reading(tuple(f"w{at}" for at in range(count)))
    made = Scene("m", ("t",), (strand(queries=text, layers=1, heads=2, vectors=False),))
    shown = open_page(page([made], kind="text", layer=0, heads=[0]), viewport={"width": width, "height": 800})
    record(shown)
    assert not [each for each in texts(shown) if each["text"].startswith("Each head")]
    assert faults(shown) == []


def test_a_translation_is_two_texts(open_page: Open) -> None:
    source, target = reading(("The", "farmer", "slept", "[EOS]")), reading(("[PAD]", "Le", "fermier"))
    made = Scene("m", ("a", "b"), (strand(Stream.CROSS, target, source),))
    shown = open_page(page([made], kind="text", heads=[2]))
    point(shown, "fermier")
    assert ranked(said(shown)) == expected(made.strands[0].weights[0, 2, 2], source.pieces)[:4]
    point(shown, "farmer")
    assert said(shown).startswith("farmer is attended to by")
    assert ranked(said(shown)) == expected(made.strands[0].weights[0, 2, :, 1], target.pieces)


def chat() -> Scene:
    text = replace(reading(CHAT), documents=tuple(-1 if piece.startswith("<|") else 0 for piece in CHAT), written=15)
    made = strand(Stream.DECODER, text, seed=4)
    top = tuple(((f"guess{at}", 0.5), ("he", 0.25)) for at in range(len(CHAT)))
    lens = {len(CHAT) - 1: {"decoder 1-2": (("Rome", 3.0), ("Paris", 2.0)), "decoder 1-1": (("no", 1.0),)}}
    saying = Saying("next", Stream.DECODER, top, tuple(0.01 * at for at in range(len(CHAT) - 1)), lens)
    return with_regions(replace(Scene("m", ("a chat",), (made,)), saying=saying))


def test_regions_of_a_chat_and_their_mass(open_page: Open) -> None:
    made = chat()
    assert made.strands[0].queries.regions == (("system", 0), ("user", 6), ("assistant", 12), ("written", 15))
    shown = open_page(page([made], kind="text", heads=[1]))
    point(shown, "is", nth=1)
    shown.wait_for_timeout(150)
    record(shown)
    point(shown, "is", nth=1)
    shown.wait_for_timeout(150)
    drawn = [each["text"] for each in texts(shown)]
    row = made.strands[0].weights[0, 1, 16]
    shares = [row[a:b].sum() for a, b in ((0, 6), (6, 12), (12, 15), (15, 17))]
    at = drawn.index("weight on each region")
    assert drawn[at + 1 : at + 9] == [
        part
        for name, share in zip(("system", "user", "assistant", "written"), shares, strict=True)
        for part in (name, f"{round(100 * share)} %")
    ]
    assert faults(shown) == []


def test_what_the_model_says_where_one_points(open_page: Open) -> None:
    shown = open_page(page([chat()], kind="text", heads=[1]))
    record(shown)

    def told(word: str, nth: int = 0) -> list[str]:
        point(shown, word, nth)
        shown.wait_for_timeout(120)
        return [each["text"] for each in texts(shown)]

    after = told("Where")
    assert "after Where the model expects" in after
    assert after[after.index("after Where the model expects") + 1 :][:2] == ["guess8", "0.5"]
    written_here = told("he", nth=1)
    assert "he was written here, with 0.14; likeliest:" in written_here
    row = chat().strands[0].weights[0, 1, 14]  # of the piece before, which wrote it
    order = np.argsort(-row)[:3]
    seen = ", ".join(f"{spoken(CHAT[at])} {float(f'{row[at]:.1e}'):g}" for at in order)
    assert f"from Here: {seen}" in written_here
    last = told("is", nth=1)
    assert "is was written here, with 0.15; likeliest:" in last
    shown.mouse.move(5, 5)
    shown.wait_for_timeout(120)
    resting = [each["text"] for each in texts(shown)]
    assert "after is the model expects" in resting
    assert "1-2: Rome, Paris" in resting
    assert not [each for each in resting if each.startswith("1-1:")], "only of heads that are shown"


def test_labels_tags_and_masks_are_said_too(open_page: Open) -> None:
    made = scene()
    count = len(made.strands[0].queries.pieces)
    top = (("happy <b>", 0.75), ("sad", 0.25))
    for kind, given, sentence in (
        ("label", (top,), "the model says of the text"),
        ("tag", (top,) * count, "the model says of [SEP]"),
        ("masked", (top,) * count, "in place of [SEP] the model expects"),
    ):
        saying = Saying(kind, Stream.ENCODER, given)
        shown = open_page(page([replace(made, saying=saying)], kind="text", heads=[1]))
        record(shown)
        drawn = [each["text"] for each in texts(shown)]
        assert sentence in drawn
        assert drawn[drawn.index(sentence) + 1 :][:2] == ["happy <b>", "0.75"]


def test_regions_are_cut_by_hand(open_page: Open) -> None:
    made = scene()
    shown = open_page(page([made], kind="text", heads=[1]))
    for _ in range(8):
        shown.keyboard.press("ArrowDown")
    shown.keyboard.press("r")
    address_has(shown, "cuts=7")
    record(shown)
    shown.wait_for_timeout(150)
    drawn = [each["text"] for each in texts(shown)]
    assert "1: the beginning" in drawn
    assert "2: She …" in drawn
    row = made.strands[0].weights[0, 1, 7]
    assert f"{round(100 * row[7:].sum())} %" in drawn
    shown.keyboard.press("r")
    address_has(shown, "cuts=", but=False)


def test_a_long_text_scrolls_and_only_what_is_seen_is_drawn(open_page: Open) -> None:
    text = reading(tuple(f"word{at}" for at in range(1500)))
    made = Scene("m", ("long",), (strand(queries=text, layers=1, heads=1, vectors=False),))
    shown = open_page(page([made], kind="text"))
    record(shown)
    first = [each["text"] for each in texts(shown)]
    assert "word0" in first
    assert len(first) < 700
    assert "word1400" not in first
    shown.locator(".attlas-scroller").evaluate("(box) => { box.scrollTop = box.scrollHeight; }")
    shown.wait_for_timeout(200)
    last = [each["text"] for each in texts(shown)]
    assert "word1499" in last
    assert "word0" not in last
    point(shown, "word1490")
    assert said(shown).startswith("word1490 attends to")
    shown.locator(".attlas").focus()
    shown.keyboard.press("ArrowDown")
    shown.wait_for_timeout(250)
    assert shown.locator(".attlas-scroller").evaluate("(box) => box.scrollTop") == 0, (
        "the chosen word is brought into sight"
    )


def test_hostile_texts_stay_texts(open_page: Open, tmp_path: Path) -> None:
    pieces = (*HOSTILE.split(), "\u202eabc", "a\nb", "<script>alert(1)</script>", "{{1}}", "'\"&")
    text = replace(reading(pieces), regions=(("<img src=x onerror=alert(1)>", 0), ("\u202eb", 3)))
    top = (("<b>\u202e", 0.5),)
    saying = Saying("masked", Stream.ENCODER, (top,) * len(pieces))
    made = replace(Scene("<i>m", (HOSTILE,), (strand(queries=text, vectors=False),)), saying=saying)
    made = made.with_portraits({Stream.ENCODER: {"1-1": "<script>alert(2)</script>"}})
    shown = open_page(page([made], kind="text", heads=[0]))
    assert shown.locator("main script, main img, main b, main i").count() == 0
    record(shown)
    drawn = [each["text"] for each in texts(shown)]
    assert not [each for each in drawn if "\u202e" in each]
    assert "<script>alert(1)</script>" in drawn
    with shown.expect_download() as waiting:
        shown.locator("[data-action=svg]").click()
    waiting.value.save_as(tmp_path / "text.svg")
    assert "<script" not in (tmp_path / "text.svg").read_text(encoding="utf-8")


def test_markers_divide_a_text() -> None:
    text = reading(("Document", ":", "apples", "Question", ":", "who", "?"))
    assert regions_of(text, ["Document:", "Question:"]) == (("Document", 0), ("Question", 3))
    assert regions_of(text, ["nothing"]) == ()
    assert regions_of(reading(("a", "b"))) == ()
    twice = reading(("Q", ":", "a", "Q", ":", "b"))
    assert regions_of(twice, ["Q:"]) == (("Q 1", 0), ("Q 2", 3))
