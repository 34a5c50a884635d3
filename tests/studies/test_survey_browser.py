from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from invented_survey import survey

from attlas.store import Result
from attlas.studies.reporting import write_report
from browsers import Tabs

if TYPE_CHECKING:
    from playwright.sync_api import Page

pytestmark = pytest.mark.browser

HOSTILE = "</script><script>window.broken = true</script><img src=x onerror='window.broken = true'>"


class Opened:
    """A report in a browser without a network, and everything the browser complained of or asked for."""

    def __init__(self, tabs: Tabs, result: Result, folder: Path, width: int = 1280, scheme: str = "light") -> None:
        result.save(folder)
        self.file = write_report(folder)
        self.complaints: list[str] = []
        self.requests: list[str] = []
        heard = {
            "console": lambda message: self.complaints.append(f"{message.type}: {message.text}"),
            "pageerror": lambda error: self.complaints.append(str(error)),
            "request": lambda request: self.requests.append(request.url),
        }
        size = {"width": width, "height": 900}
        self.tabs = tabs
        self.page: Page = tabs.lend(heard, viewport=size, color_scheme=scheme, offline=True)
        self.page.goto(self.file.as_uri())
        self.wait()

    def close(self) -> None:
        self.tabs.take_back(self.page)

    def wait(self) -> None:
        self.page.wait_for_selector("html[data-ready=true]", timeout=60_000)

    def column(self, title: str) -> list[str]:
        """What the table of heads shows in a column, from top to bottom."""
        titles = self.page.locator("#heads th").all_text_contents()
        shown = self.page.locator(f"#heads tbody tr:not([hidden]) td:nth-child({titles.index(title) + 1})")
        return shown.all_text_contents()

    def paper(self) -> str:
        return str(self.page.evaluate("getComputedStyle(document.body).backgroundColor"))


@pytest.fixture(scope="module")
def bert(tabs: Tabs, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Opened]:
    opened = Opened(tabs, survey(), tmp_path_factory.mktemp("bert") / "out")
    yield opened
    opened.close()


def test_every_chart_is_drawn_without_a_complaint_or_a_request(bert: Opened) -> None:
    figures = bert.page.locator("figure")
    assert figures.count() == 21
    for index in range(figures.count()):
        marks = (
            figures.nth(index)
            .locator("svg .mark-symbol.role-mark path, svg .mark-rect.role-mark path, svg .mark-line.role-mark path")
            .count()
        )
        assert marks > 0, figures.nth(index).get_attribute("id")
    assert bert.page.locator("#figure-previous svg .mark-symbol.role-mark path").count() == 2 * 144
    assert bert.page.locator("#figure-map svg .mark-rect.role-mark path").count() == 2 * 144
    assert bert.complaints == []
    assert bert.requests == [bert.file.as_uri()]


def test_the_first_screen_has_the_answer_and_where_each_head_looks(bert: Opened) -> None:
    answer, chart = (
        bert.page.locator("#answer").bounding_box(),
        bert.page.locator("#figure-places svg.marks").bounding_box(),
    )
    assert answer is not None
    assert chart is not None
    assert answer["y"] < chart["y"]
    assert chart["y"] + 200 < 900
    assert bert.page.locator("#figure-places svg .mark-rect.role-mark path").count() == 144
    assert "the previous piece" in bert.page.locator("#figure-places svg .role-legend-label text").all_text_contents()


def test_the_map_shows_what_is_chosen(bert: Opened) -> None:
    figure = bert.page.locator("#figure-map")
    before = figure.locator("svg .mark-text.role-mark text").all_text_contents()
    assert ".97" in before
    figure.locator("select[name=quantity]").select_option("sep")
    after = figure.locator("svg .mark-text.role-mark text").all_text_contents()
    assert after != before
    figure.locator("select[name=measure]").select_option("norm")
    assert figure.locator("svg .mark-text.role-mark text").all_text_contents() != after
    assert bert.complaints == []
    figure.locator("select[name=measure]").select_option("weight")
    figure.locator("select[name=quantity]").select_option("previous")
    assert figure.locator("svg .mark-text.role-mark text").all_text_contents() == before


def test_a_click_on_a_part_of_speech_shows_its_heads(bert: Opened) -> None:
    chosen = bert.page.locator("#figure-pos-heads select[name=pos]")
    assert chosen.input_value() == "NOUN"
    shown = bert.page.locator("#figure-pos-heads svg .mark-text.role-mark text")
    before = shown.all_text_contents()
    assert len(before) == 144
    bert.page.locator("#figure-pos svg .mark-rect.role-mark path").nth(5 * 12).click(force=True)
    bert.page.wait_for_function("document.querySelector('#figure-pos-heads select[name=pos]').value !== 'NOUN'")
    assert shown.all_text_contents() != before
    as_shares = shown.all_text_contents()
    bert.page.locator("#figure-pos select[name=show]").select_option("ratio")
    assert shown.all_text_contents() != as_shares


def test_typing_filters_and_clicking_sorts(bert: Opened) -> None:
    page = bert.page
    field, count = page.locator("#heads input[type=search]"), page.locator("#heads output")
    assert bert.column("head")[:2] == ["1-1", "1-2"]
    field.fill("3-1")
    assert bert.column("head") == ["3-1", "3-10", "3-11", "3-12"]
    assert count.inner_text() == "4 of 144 rows"
    field.fill("PREVIOUS")
    assert set(bert.column("head")) >= {"3-1", "4-2", "7-6"}
    field.fill("")
    heading = page.locator("#heads th", has_text="previous")
    heading.locator("button").click()
    assert heading.get_attribute("aria-sort") == "descending"
    assert bert.column("head")[:3] == ["3-1", "4-2", "7-6"]
    assert bert.column("previous")[:3] == ["0.97", "0.72", "0.61"]
    heading.locator("button").press("Enter")
    assert heading.get_attribute("aria-sort") == "ascending"
    assert bert.column("head")[-1] == "3-1"


def test_dark_and_light_can_be_chosen_and_are_remembered(bert: Opened) -> None:
    light = bert.paper()
    bert.page.click("#theme")
    dark = bert.paper()
    assert dark != light
    assert bert.page.get_attribute("#theme", "aria-pressed") == "true"
    colour = "e => getComputedStyle(e).fill"
    assert bert.page.locator("#figure-sep svg .role-axis-label text").first.evaluate(colour) == (
        bert.page.evaluate("getComputedStyle(document.body).color")
    )
    bert.page.reload()
    bert.wait()
    assert bert.paper() == dark
    bert.page.click("#theme")
    assert bert.paper() == light


def test_the_system_preference_is_followed(tabs: Tabs, tmp_path: Path, bert: Opened) -> None:
    opened = Opened(tabs, survey({"encoder": (2, 2)}, annotated=False), tmp_path / "out", scheme="dark")
    assert opened.page.get_attribute("#theme", "aria-pressed") == "true"
    assert opened.page.evaluate("document.documentElement.dataset.theme") is None
    opened.page.click("#theme")
    assert opened.paper() == bert.paper()
    opened.close()


@pytest.mark.parametrize("width", [400, 768, 1600])
def test_nothing_sticks_out_at_any_width(tabs: Tabs, tmp_path: Path, width: int) -> None:
    opened = Opened(tabs, survey({"encoder": (4, 8)}), tmp_path / "out", width=width)
    assert opened.page.evaluate("document.documentElement.scrollWidth") == width
    out = "figures => figures.filter(f => f.scrollWidth > f.clientWidth + 1).map(f => f.id)"
    assert opened.page.locator("figure").evaluate_all(out) == []
    opened.close()


def test_each_stream_of_a_translation_model_can_be_chosen(tabs: Tabs, tmp_path: Path) -> None:
    result = survey({"encoder": (3, 4), "decoder": (2, 4), "cross": (2, 4)})
    opened = Opened(tabs, result, tmp_path / "out")
    page = opened.page
    assert opened.column("head").count("1-1") == 1
    assert len(opened.column("head")) == 12
    assert page.locator("#figure-next").is_visible()
    page.click("#streams button:has-text('cross')")
    opened.wait()
    assert len(opened.column("head")) == 8
    assert page.locator("#figure-next").is_hidden()
    assert page.locator("#distance > .absent").is_visible()
    assert page.locator("#figure-map select[name=quantity] option[value=previous]").count() == 0
    assert page.locator("#figure-map svg .mark-rect.role-mark path").count() == 2 * 8
    page.click("#streams button:has-text('encoder')")
    opened.wait()
    assert page.locator("#distance > .absent").is_hidden()
    assert opened.complaints == []
    opened.close()


def test_a_causal_model_is_drawn_in_full(tabs: Tabs, tmp_path: Path) -> None:
    opened = Opened(tabs, survey({"decoder": (3, 4)}, sep=False, annotated=False), tmp_path / "out")
    assert opened.page.locator("#figure-first svg .mark-symbol.role-mark path").count() == 2 * 12
    assert opened.page.locator("figure:visible").count() == opened.page.locator("figure").count()
    assert opened.complaints == []
    opened.close()


def test_hostile_names_run_nothing(tabs: Tabs, tmp_path: Path) -> None:
    result = survey({"encoder": (2, 3)}, model=HOSTILE, corpus=HOSTILE, parts=[HOSTILE, "NOUN"])
    opened = Opened(tabs, result, tmp_path / "out")
    assert opened.page.locator("h1").inner_text() == f"Where do the heads of {HOSTILE} look?"
    opened.page.locator("#figure-pos svg .mark-rect.role-mark path").first.hover(force=True)
    opened.page.wait_for_selector("#vg-tooltip-element.visible")
    assert HOSTILE[:20] in opened.page.locator("#vg-tooltip-element").inner_text()
    assert opened.page.evaluate("window.broken") is None
    assert opened.complaints == []
    assert opened.requests == [opened.file.as_uri()]
    opened.close()
