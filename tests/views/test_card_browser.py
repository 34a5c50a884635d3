"""The card in a real browser: what it says, how it folds, and that saved pictures carry it."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING
from xml.etree import ElementTree

import pytest
from cards import HOSTILE, ROWS, card_result
from pointing import address_has
from scenes import page, scene
from serving import running

from attlas.views.card import card_of
from attlas.views.page import KINDS

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Page

pytestmark = pytest.mark.browser
Open = Callable[..., "Page"]
CARD = card_of(card_result())
VIEWS = list(KINDS)


def is_open(shown: Page) -> bool:
    return shown.locator("details.attlas-card").get_attribute("open") is not None


@pytest.mark.parametrize("view", VIEWS)
def test_it_stands_above_every_view(open_page: Open, view: str) -> None:
    shown = open_page(page([scene()], kind=view, card=CARD))
    panel = shown.locator("details.attlas-card")
    assert panel.locator("summary").inner_text() == f"{CARD.title}{CARD.sums_up}"
    found = panel.locator("li").all()
    for item, row, figure in zip(found, ROWS, CARD.figures, strict=False):
        name, verdict, says = row[1], row[5], row[6]
        text = item.inner_text()
        assert name in text
        assert f"{figure.number}" in text
        assert verdict in text
        assert says.replace("\u202e", "⟨202e⟩") in text
        assert (f"95 %: {figure.interval}" in text) is (figure.interval != "")
    assert len(found) == 6
    assert panel.locator(".attlas-card-about").inner_text() == f"The attention that is meant: {CARD.attention}"
    assert panel.locator(".attlas-card-says").inner_text() == CARD.paragraph
    assert shown.locator("img, iframe").count() == 0


def test_it_folds_by_pointer_and_key_and_the_address_knows(open_page: Open) -> None:
    shown = open_page(page([scene()], card=CARD))
    assert is_open(shown)
    tall = shown.locator(".attlas-stage").bounding_box()
    shown.locator("details.attlas-card summary").click()
    shown.wait_for_timeout(150)
    assert not is_open(shown)
    address_has(shown, "&folded=yes")
    low = shown.locator(".attlas-stage").bounding_box()
    assert tall is not None
    assert low is not None
    assert low["y"] < tall["y"] - 100, "the picture has moved up"
    shown.locator("details.attlas-card summary").press("Enter")
    shown.wait_for_timeout(150)
    assert is_open(shown)
    address_has(shown, "folded", but=False)
    shown.keyboard.press("c")
    shown.wait_for_timeout(150)
    assert not is_open(shown)
    assert shown.evaluate("document.activeElement.tagName") == "SUMMARY"


def test_an_address_that_says_folded_opens_so(open_page: Open) -> None:
    shown = open_page(page([scene()], card=CARD), "folded=yes")
    assert not is_open(shown)
    assert shown.locator("details.attlas-card summary").is_visible()


def test_without_a_card_there_is_nothing_to_fold(open_page: Open) -> None:
    shown = open_page(page([scene()]))
    shown.keyboard.press("c")
    shown.wait_for_timeout(120)
    assert shown.locator(".attlas-card").count() == 0
    address_has(shown, "folded", but=False)


def test_of_two_models_it_says_whose_it_is(open_page: Open) -> None:
    other = open_page(page([scene("b"), scene()], card=CARD))
    assert other.locator("summary").inner_text().startswith("B: Faithfulness card")
    both = open_page(page([scene(), scene(seed=1)], card=CARD))
    assert both.locator("summary").inner_text().startswith("Faithfulness card")


@pytest.mark.parametrize("folded", [False, True])
def test_saved_pictures_carry_it_unless_it_is_folded(open_page: Open, tmp_path: Path, folded: bool) -> None:
    shown = open_page(page([scene()], card=CARD), "folded=yes" if folded else "")
    with shown.expect_download() as waiting:
        shown.locator("[data-action=svg]").click()
    waiting.value.save_as(tmp_path / "saved.svg")
    drawn = ElementTree.fromstring((tmp_path / "saved.svg").read_text(encoding="utf-8"))
    nodes = list(drawn.iter("{http://www.w3.org/2000/svg}text"))
    text = " ".join(node.text or "" for node in nodes)
    assert (CARD.title in text) is not folded
    assert (CARD.paragraph in text) is not folded
    assert ("✗ permuted attention 0.013 (95 %: 0.010 to 0.018), does not hold: shuffling" in text) is not folded
    assert all(float(node.get("y", 0)) < float(drawn.get("height", 0)) for node in nodes)
    with shown.expect_download() as waiting:
        shown.locator("[data-action=png]").click()
    waiting.value.save_as(tmp_path / "saved.png")
    assert (tmp_path / "saved.png").read_bytes().startswith(b"\x89PNG")


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_every_word_can_be_read_in_light_and_dark(open_page: Open, scheme: str) -> None:
    shown = open_page(page([scene()], card=CARD), color_scheme=scheme)
    least = shown.evaluate("""() => {
      const context = document.createElement("canvas").getContext("2d", { willReadFrequently: true });
      const light = (colour) => {
        context.fillStyle = colour;
        context.fillRect(0, 0, 1, 1);
        const parts = [...context.getImageData(0, 0, 1, 1).data].slice(0, 3).map((byte) => byte / 255);
        const [r, g, b] = parts.map((c) => (c <= 0.04045 ? c / 12.92 : ((c + 0.055) / 1.055) ** 2.4));
        return 0.2126 * r + 0.7152 * g + 0.0722 * b;
      };
      const paper = light(getComputedStyle(document.querySelector(".attlas-card")).backgroundColor);
      const texts = [...document.querySelectorAll(".attlas-card span, .attlas-card p, .attlas-card strong")];
      const ratios = texts.map((each) => {
        const [low, high] = [light(getComputedStyle(each).color), paper].sort((a, b) => a - b);
        return (high + 0.05) / (low + 0.05);
      });
      return Math.min(...ratios);
    }""")
    assert least >= 4.5, "the contrast that WCAG asks for"


def test_a_narrow_screen_needs_no_sideways_scrolling(open_page: Open) -> None:
    shown = open_page(page([scene()], card=CARD), viewport={"width": 380, "height": 800})
    assert shown.evaluate("document.documentElement.scrollWidth <= innerWidth")


def test_the_app_shows_it_beside_its_model_alone(browser: Browser) -> None:
    with running(card=card_of(card_result("one"))) as server:
        context = browser.new_context()
        shown = context.new_page()
        shown.goto(server.address + "#text=Hello%20there&model=one")
        shown.wait_for_selector(".attlas[data-drawn]")
        assert shown.locator("details.attlas-card li").count() == 6
        assert HOSTILE.split(" ")[0] in shown.locator("details.attlas-card").inner_text()
        other = context.new_page()
        other.goto(server.address + "#text=Hello%20there&model=two")
        other.wait_for_selector(".attlas[data-drawn]")
        assert other.locator(".attlas-card").count() == 0
        assert "The card that was given is of one" in other.locator(".attlas-notice").inner_text()
        context.close()
