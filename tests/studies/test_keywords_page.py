"""The page of weighed texts: shades, underlines, what is left out, and what a click on a phrase does."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pytest
from invented_keywords import TEXT, keywords_result

import twins
from attlas.capture import Subject
from attlas.pages import holds
from attlas.pages.laws import check_page
from attlas.store import Result
from attlas.studies.keywords import page as page_of
from attlas.studies.keywords import text as shading
from attlas.studies.keywords.call import _asked, keywords
from attlas.studies.keywords.page import PAGE
from attlas.studies.reporting import page_of as html_of

if TYPE_CHECKING:
    from playwright.sync_api import Page


def words_of(html: str) -> str:
    """The text as a reader has it."""
    import html as entities

    found = re.search(r'<div class="weighed-words" dir="auto">(.*?)</div>', html, re.DOTALL)
    assert found is not None
    return entities.unescape(re.sub(r"<[^>]*>", "", found.group(1)))


def test_the_page_keeps_the_laws_and_says_what_is_true() -> None:
    for result in (
        keywords_result(),
        keywords_result([TEXT] * 3),
        keywords(None, ["Solar cells age in the sun.", "It rained."]),
        keywords(None, "12 34 !?"),
    ):
        check_page(PAGE, result)
    made = keywords_result()
    table = made.tables["phrases"]
    turned = table.set_column(table.column_names.index("score"), "score", pa.array(table["score"].to_pylist()[::-1]))
    finding = page_of.answer(page_of.Tables(made, PAGE.schemas))
    assert "Solar cells" in str(finding.text)
    changed = page_of.Tables(Result(made.manifest, {**made.tables, "phrases": turned}), PAGE.schemas)
    assert not all(holds(claim, changed) for claim in finding.claims)


def test_the_text_is_shown_whole_and_as_it_is() -> None:
    html = html_of(keywords_result())
    assert words_of(html) == TEXT
    assert "By 2 heads (chosen by a study) the key phrases of text&lt;0&gt; are <b>Solar cells and sun</b>" in html
    assert "2 heads (chosen by a study) by norms, the mean over the words that attend" in html
    assert "<b>cell" not in html


def test_every_place_of_a_phrase_is_underlined_once() -> None:
    html = html_of(keywords_result())
    marks = re.findall(r'<mark class="place first" id="([^"]+)"', html)
    assert marks == ["p0-0-0", "p0-0-1", "p0-1-0"]
    assert html.count('href="#p0-') == 2
    assert 'data-told="1. Solar cells: 14.0"' in html
    assert '<small title="stands in 2 places">×2</small>' in html


def test_shades_follow_the_root_of_the_weight() -> None:
    top = shading.top_of([[0.2] * 40 + [4.0] * 4])
    assert top == 4
    steps = [shading.level(weight, top) for weight in (0.0, 1.0, 4.0, 40.0)]
    assert steps == [0, 10, 20, 20]
    html = html_of(keywords_result())
    assert 'class="k20" title="4.00">cell</span>' in html
    assert f".k{shading.LEVELS}{{" in html
    assert f".k{shading.LEVELS + 1}{{" not in html


def test_long_texts_and_many_are_cut_and_that_is_said(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(page_of, "MOST_WORDS", 10)
    html = html_of(keywords_result())
    assert "These are the first 10 of" in html
    assert words_of(html) == "Solar cells age.\nA solar cell ages in the"
    assert html.count('<mark class="place first"') == 2
    assert 'href="#p0-1-0"' not in html  # the sun is not shown, so nothing jumps there
    monkeypatch.setattr(page_of, "MOST_DOCUMENTS", 2)
    monkeypatch.setattr(page_of, "ALL_WORDS", 15)
    html = html_of(keywords_result([TEXT] * 3))
    assert "Of 3 texts the first 2 are on this page." in html
    assert html.count('<details class="weighed-document"') == 2
    assert html.count("words of this text are not shown here") == 1


@pytest.mark.browser
def test_a_click_on_a_phrase_lights_its_places_one_after_another(
    open_report: Callable[[Path], Page], tmp_path: Path
) -> None:
    arabic = "تقع القاهرة على نهر النيل"
    keywords_result([TEXT, arabic]).save(tmp_path / "out")
    page = open_report(tmp_path / "out")
    first = page.locator("#text-0")
    words = first.locator(".weighed-words span")
    shades = words.evaluate_all("all => all.map(one => getComputedStyle(one).backgroundColor)")
    assert len(set(shades)) >= 4
    link = first.locator(".weighed-phrases a").first
    link.click()
    assert first.locator("mark.on").all_text_contents() == ["Solar cells", "solar cell"]
    assert first.locator("mark.here").text_content() == "Solar cells"
    link.click()
    assert first.locator("mark.here").text_content() == "solar cell"
    assert "1. Solar cells" in first.locator("mark.here").evaluate("one => getComputedStyle(one, '::after').content")
    page.keyboard.press("Escape")
    assert first.locator("mark.on").count() == 0
    second = page.locator("#text-1")
    second.locator("summary").click()
    assert second.locator(".weighed-words").evaluate("one => getComputedStyle(one).direction") == "rtl"
    page.set_viewport_size({"width": 390, "height": 800})
    assert page.evaluate("document.documentElement.scrollWidth <= window.innerWidth")


def test_of_phrases_that_overlap_the_better_one_keeps_its_place() -> None:
    phrases = [{"starts": [3, 0], "stops": [5, 2]}, {"starts": [1, 6], "stops": [3, 7]}]
    places = [(0, 2, 0, 0), (3, 5, 0, 1), (6, 7, 1, 0)]  # start, stop, rank, and which place of its phrase it is
    assert [tuple(place) for place in shading._free_places(phrases, 10)] == places
    assert [tuple(place) for place in shading._free_places(phrases, 6)] == places[:2]


def test_the_scale_of_weights_ends_at_its_top() -> None:
    for top, steps in ((4, "0 0.5 1 2 4"), (15, "0 0.5 1 2 4 8 15"), (30, "0 0.5 1 2 4 8 15 30")):
        words = (
            re.sub(r"<[^>]+>", "", str(shading.legend(top))).replace("(an average word)", "").replace("and more", "")
        )
        assert words.split() == ["weight", *steps.split()]


@pytest.mark.parametrize("bar", [0.0, 0.5, 1.0, 3.0])
def test_any_bar_from_zero_on_will_do(bar: float) -> None:
    subject = Subject.of(twins.model("bert"), twins.tokenizer(False), "bert")
    asked: dict[str, Any] = {
        "study": None,
        "heads": ["1-1"],
        "measure": None,
        "over": "mean",
        "top": 5,
        "longest": None,
    }
    *_, how = _asked(subject, "It rained.", bar=bar, language="english", max_pieces=None, **asked)
    assert how["bar"] == bar
