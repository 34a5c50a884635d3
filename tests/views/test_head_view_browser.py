"""The head view, used: pointed at, clicked, toggled, driven by keys, and read back."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import pytest
from drawn import word_at
from pointing import address_has
from scenes import SPOKEN, WORDS, page, reading, scene, spoken, strand, written

from attlas.ids import Stream
from attlas.views import Scene
from attlas.views.pairing import pairs_of

if TYPE_CHECKING:
    from playwright.sync_api import Page

pytestmark = pytest.mark.browser
Open = Callable[..., "Page"]


def said(shown: Page) -> str:
    shown.wait_for_timeout(120)
    return shown.locator(".attlas-readout").inner_text()


def ranking(said: str) -> list[tuple[str, str]]:
    """The words of a readout with their numbers, in its order."""
    inside = re.search(r"attend(?:s|ed) (?:to by|to) (.*) \(", said)
    assert inside is not None, said
    return [tuple(part.rsplit(" ", 1)) for part in inside[1].split(" · ")]  # type: ignore[misc]


def expected(values: np.ndarray, words: tuple[str, ...] = WORDS) -> list[tuple[str, str]]:
    order = np.argsort(-values, kind="stable")[:6]
    return [(spoken(words[at]), written(values[at])) for at in order]


def point(shown: Page, row: int, *, key: bool = False) -> None:
    """Move the mouse to the word in a row, of the queries or of the keys."""
    shown.mouse.move(*word_at(shown, row, key=key))


def test_pointing_at_a_word_shows_its_numbers_and_leaving_hides_them(open_page: Open) -> None:
    made = scene()
    shown = open_page(page([made]))
    assert said(shown) == ""
    point(shown, 2)
    weights = made.strands[0].weights[0, :, 2].mean(0)
    assert ranking(said(shown)) == expected(weights)
    assert said(shown).startswith("farmer attends to")
    shown.mouse.move(5, 5)
    assert said(shown) == ""


def test_a_click_keeps_a_word_and_the_address_remembers_it(open_page: Open) -> None:
    shown = open_page(page([scene()]))
    point(shown, 3)
    shown.mouse.down()
    shown.mouse.up()
    shown.mouse.move(5, 5)
    assert said(shown).startswith("play attends to")
    address_has(shown, "query=3")
    shown.reload()
    shown.wait_for_selector(".attlas[data-drawn]")
    assert said(shown).startswith("play attends to")
    point(shown, 3)
    shown.mouse.down()
    shown.mouse.up()
    shown.mouse.move(5, 5)
    assert said(shown) == "", "a second click lets it go"


def test_pointing_at_the_right_column_asks_who_attends(open_page: Open) -> None:
    made = scene()
    shown = open_page(page([made], heads=[1]))
    point(shown, 4, key=True)
    values = made.strands[0].weights[0, 1, :, 4]
    assert said(shown).startswith("##ed is attended to by")
    assert ranking(said(shown)) == expected(values)
    assert "head 1-2" in said(shown)


def test_heads_are_toggled_singly_alone_and_all(open_page: Open) -> None:
    made = scene()
    shown = open_page(page([made]), "query=2")
    shown.locator("[data-head='0']").click()
    shown.locator("[data-head='2']").click()
    assert ranking(said(shown)) == expected(made.strands[0].weights[0, [1, 3], 2].mean(0))
    address_has(shown, "heads=1%2C3")
    shown.locator("[data-head='2']").dblclick()
    assert ranking(said(shown)) == expected(made.strands[0].weights[0, 2, 2])
    shown.locator("[data-heads=none]").click()
    assert said(shown) == "No head is chosen."
    shown.reload()
    shown.wait_for_selector(".attlas[data-drawn]")
    assert said(shown) == "No head is chosen.", "the address remembers that, too"
    shown.locator("[data-heads=all]").click()
    assert ranking(said(shown)) == expected(made.strands[0].weights[0, :, 2].mean(0))


def test_keys_change_layer_query_head_and_measures(open_page: Open) -> None:
    made = scene()
    weights, lengths = made.strands[0].weights, made.strands[0].lengths
    assert lengths is not None
    shown = open_page(page([made]))
    for key in ["ArrowRight", "ArrowRight", "ArrowDown", "ArrowDown", "["]:
        shown.keyboard.press(key)
    assert ranking(said(shown)) == expected(weights[2, 0, 1])
    shown.keyboard.press("]")
    shown.keyboard.press("m")
    norms = weights[2, 1, 1] * lengths[2, 1]
    shares = expected(norms / norms.sum())
    lengths_said = [written(norms[SPOKEN.index(word)]) for word, _ in shares[:2]]
    parts = said(shown).removeprefix("The attends to ").split(" · ")
    told = zip(shares[:2], lengths_said, strict=True)
    assert parts[:2] == [f"{word} {share} (‖αf(x)‖ {norm})" for (word, share), norm in told]
    assert "norm" in shown.locator("figcaption").inner_text()
    shown.keyboard.press("m")
    assert shown.locator(".attlas-stage canvas").count() == 2, "weight and norm side by side"
    shown.keyboard.press("Escape")
    assert said(shown) == ""


def test_words_and_special_pieces_set_aside_follow_the_rules(open_page: Open) -> None:
    made = scene()
    shown = open_page(page([made], heads=[0]), "query=3")
    shown.keyboard.press("w")
    weights = made.strands[0].weights[0, 0]
    row = weights[[3, 4]].mean(0)
    words = ("[CLS]", "The", "farmer", "played", ".", "[SEP]", "She", "slept", "[SEP]")
    grouped = np.array([row[0], row[1], row[2], row[3] + row[4], *row[5:]])
    assert ranking(said(shown)) == expected(grouped, words)
    shown.keyboard.press("s")
    kept = [1, 2, 3, 4, 6, 7]
    left = grouped[kept] / grouped[kept].sum()
    assert ranking(said(shown)) == expected(left, tuple(words[at] for at in kept))
    assert "set aside and rows renormalised" in shown.locator("figcaption").inner_text()


def test_sentence_pairs_can_be_filtered(open_page: Open) -> None:
    made = scene()
    shown = open_page(page([made], heads=[0]), "query=2")
    shown.locator("select[data-name=pair]").select_option("0-1")
    values = made.strands[0].weights[0, 0, 2, 7:9]
    assert ranking(said(shown)) == expected(values, ("She", "slept"))


def test_the_streams_of_a_translation(open_page: Open) -> None:
    source, target = reading(("The", "farmer", "slept", "[EOS]")), reading(("[PAD]", "Le", "fermier"))
    made = Scene(
        "a translator", ("The farmer slept", "Le fermier"),
        (
            strand(Stream.ENCODER, source), strand(Stream.DECODER, target, seed=1),
            strand(Stream.CROSS, target, source, seed=2),
        ),
    )  # fmt: skip
    shown = open_page(page([made], heads=[0]), "query=2")
    assert ranking(said(shown)) == expected(made.strands[0].weights[0, 0, 2], source.pieces)
    shown.locator("[data-name=stream][data-value=cross]").click()
    assert ranking(said(shown)) == expected(made.strands[2].weights[0, 0, 2], source.pieces)
    shown.locator("[data-name=stream][data-value=decoder]").click()
    assert ranking(said(shown)) == expected(made.strands[1].weights[0, 0, 2], target.pieces)
    shown.keyboard.press("ArrowUp")
    weights = made.strands[1].weights[0, 0, 1]
    assert ranking(said(shown))[:2] == expected(weights[:2], target.pieces[:2])
    assert ranking(said(shown))[2][1] == "0", "nothing is seen of what comes later"


def test_the_table_says_what_the_picture_shows(open_page: Open) -> None:
    made = scene()
    shown = open_page(page([made]), "query=2")
    table = shown.locator(".attlas-table")
    assert "attlas-unseen" in (table.get_attribute("class") or ""), "there for screen readers even when not shown"
    shown.keyboard.press("t")
    rows = [cells.split("\t") for cells in shown.locator(".attlas-table tbody").inner_text().split("\n")]
    weights = made.strands[0].weights[0, :, 2]
    assert [row[0] for row in rows] == list(SPOKEN)
    for key, row in enumerate(rows):
        for head, cell in enumerate(row[1:]):
            assert cell == written(weights[head, key])


def test_two_models_side_by_side_with_their_difference(open_page: Open) -> None:
    a, b = scene("one"), scene("two", seed=5)
    shown = open_page(page([a, b], heads=[1]), "query=1")
    captions = shown.locator("figcaption").all_inner_texts()
    assert [caption.split(" · ")[0] for caption in captions] == ["A: one", "B: two", "A − B"]
    lines = said(shown).split("\n")
    difference = a.strands[0].weights[0, 1, 1] - b.strands[0].weights[0, 1, 1]
    largest = int(np.abs(difference).argmax())
    assert f"{SPOKEN[largest]} {written(difference[largest])}" in lines[2]
    shown.locator("[data-value=difference]").click()
    assert shown.locator(".attlas-stage canvas").count() == 1


def test_models_of_unlike_shape_and_stream_can_be_compared(open_page: Open) -> None:
    causal = Scene("two", ("The farmer played.",), (strand(Stream.DECODER, seed=5, layers=2, heads=6),))
    layer, head, _ = pairs_of(scene("one"), causal)["encoder"]["of"]["1-2"]
    shown = open_page(page([scene("one"), causal], heads=[1]), "query=1")
    lines = said(shown).split("\n")
    assert ranking(lines[1])[:2] == expected(causal.strands[0].weights[layer, head, 1])[:2]
    other = Scene("three", ("x",), (strand(Stream.DECODER, reading(("a", "b", "c")), layers=2, heads=6),))
    shown = open_page(page([scene("one"), other], heads=[1]), "query=1", instead=shown)
    shown.keyboard.press("ArrowRight")
    shown.keyboard.press("ArrowRight")
    said(shown)
    assert shown.locator(".attlas-stage").inner_text().count("There is no layer 3 here.") == 1, (
        "of B, which is not paired"
    )
    assert shown.locator(".attlas-stage canvas").count() == 1


def test_two_texts_of_unlike_length_have_no_difference_and_say_so(open_page: Open) -> None:
    short = Scene("a model", ("The farmer",), (strand(Stream.ENCODER, reading(("The", "farmer"))),))
    shown = open_page(page([scene(), short]))
    assert "No difference can be shown: the two have 10 and 2 queries" in shown.locator(".attlas-stage").inner_text()


def test_rounded_numbers_are_marked_and_near(open_page: Open) -> None:
    wide = reading(tuple(f"w{at}" for at in range(150)))
    made = Scene("a model", ("many words",), (strand(Stream.ENCODER, wide, layers=10, heads=10, width=4),))
    shown = open_page(page([made], heads=[3], layer=7), "query=20")
    found = ranking(said(shown))
    weights = made.strands[0].weights[7, 3, 20]
    assert all(number.startswith("≈") for _, number in found)
    for word, number in found:
        assert abs(float(number[1:]) - weights[int(word[1:])]) <= weights.max() / 255 + 5e-5


@pytest.mark.parametrize("kind", ["svg", "png"])
def test_the_picture_can_be_saved(open_page: Open, tmp_path: Path, kind: str) -> None:
    shown = open_page(page([scene()]), "query=2")
    with shown.expect_download() as waiting:
        shown.locator(f"[data-action={kind}]").click()
    path = tmp_path / waiting.value.suggested_filename
    waiting.value.save_as(path)
    assert path.name == f"attlas-head-encoder-layer1.{kind}"
    if kind == "svg":
        from xml.etree import ElementTree

        drawn = ElementTree.fromstring(path.read_text(encoding="utf-8"))
        texts = [node.text for node in drawn.iter("{http://www.w3.org/2000/svg}text")]
        assert texts.count("farmer") == 2
        assert len(list(drawn.iter("{http://www.w3.org/2000/svg}path"))) > 20
    else:
        assert path.read_bytes().startswith(b"\x89PNG")


def test_light_and_dark_follow_the_system_and_can_be_switched(open_page: Open) -> None:
    shown = open_page(page([scene()]), color_scheme="dark")
    assert shown.locator(".attlas").get_attribute("data-theme") == "dark"
    shown.keyboard.press("d")
    assert shown.locator(".attlas").get_attribute("data-theme") == "light"
    shown.wait_for_timeout(120)
    address_has(shown, "theme=light")


def test_lines_are_as_strong_as_weights_and_of_their_heads_colour(open_page: Open) -> None:
    weights = np.zeros((1, 2, 3, 3), np.float32)
    weights[0, 0, 0, 2] = weights[0, 1, 2, 0] = 1
    words = reading(("aa", "bb", "cc"))
    from attlas.views import Strand

    shown = open_page(page([Scene("a model", ("aa bb cc",), (Strand(Stream.ENCODER, words, words, weights),))]))
    colours = shown.evaluate(
        """() => {
          const canvas = document.querySelector('.attlas-stage canvas');
          const { data } = canvas.getContext('2d').getImageData(0, 0, canvas.width, canvas.height);
          const count = {};
          for (let i = 0; i < data.length; i += 4) {
            const c = `${data[i]},${data[i+1]},${data[i+2]}`;
            if (data[i + 3] > 240) count[c] = (count[c] ?? 0) + 1;
          }
          return Object.entries(count).sort((a, b) => b[1] - a[1]).map(([c]) => c);
        }"""
    )
    assert "0,114,178" in colours[:8], "the first head's blue"
    assert "213,94,0" in colours[:8], "the second head's vermilion"
    assert "0,158,115" not in colours, "there is no third head"
