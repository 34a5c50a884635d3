"""Pages of hostile results: texts stay texts in a browser, a terminal, Markdown and LaTeX, in all kinds of report."""

from __future__ import annotations

import io
import re
import unicodedata
from collections.abc import Callable, Iterator
from dataclasses import replace
from html.parser import HTMLParser
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from hostile import EVERYTHING, TEXTS, as_far_as_it_goes, hostile
from rich.console import Console
from test_truth import RESULTS

from attlas.errors import printable
from attlas.pages.markdown import markdown_page
from attlas.pages.terminal import print_page
from attlas.store import Result
from attlas.studies import studies
from attlas.studies.reporting import command_line, page_of
from browsers import Tabs

if TYPE_CHECKING:
    from playwright.sync_api import Page as Tab

SHOWN = ("relations", "coref", "keywords", "layers-case")  # in the browser each time; the others by `make chaos`


def together() -> Result:
    result = RESULTS["layers"]()
    return Result(replace(result.manifest, study="layers-together"), result.tables)


EVERY: dict[str, Callable[[], Result]] = {**RESULTS, "layers-together": together}


def test_every_kind_of_report_is_here() -> None:
    assert set(EVERY) == {name for name, study in studies().items() if study.page}


class Elements(HTMLParser):
    """Elements and attributes of a page that could run something, or ask for it, as a browser reads them."""

    def __init__(self, page: str) -> None:
        super().__init__()
        self.active: set[str] = set()
        self.feed(page)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        names = {name for name, _ in attrs}
        links = {(value or "")[:11] for name, value in attrs if name in ("href", "src", "action", "data")}
        self.active |= {tag} & {"img", "iframe", "object", "embed", "base", "form"}
        self.active |= {name for name in names if name.startswith("on")}
        self.active |= {link for link in links if not link.startswith("#")}


def said_in_a_terminal(result: Result) -> str:
    heard = io.StringIO()
    print_page(studies()[result.manifest.study].load_page(), result, Console(file=heard, width=200))
    return heard.getvalue()


@pytest.mark.parametrize("study", EVERY)
def test_texts_stay_texts(study: str) -> None:
    """No new kind of element or attribute in the page, nothing that steers a terminal, no markup in Markdown, no
    command in LaTeX."""
    result = hostile(EVERY[study](), EVERYTHING)
    page = page_of(result)
    assert Elements(page).active == set()
    assert not {"\u202e", "\u2066"} & {*page}, "they turn around what follows, figures too"
    steering = {letter for letter in said_in_a_terminal(result) if unicodedata.category(letter) in ("Cc", "Cs")}
    assert steering <= {"\n"}
    command = command_line(result.manifest)
    told = markdown_page(studies()[study].load_page(), [(result, command)], title="T")
    line = " ".join(command.splitlines())
    fence = "``" if "`" in line else "`"  # which the backquotes in it do not end
    assert f"- {fence}{line}{fence}: " in told
    plain = re.sub(r"\\.", "", told.replace(line, ""))
    assert not re.search("<[a-zA-Z/!]", plain)
    latex = result.to_latex(most=3)
    assert r"\input" not in latex
    assert len(latex.splitlines()) <= 9


def test_a_text_for_a_terminal() -> None:
    shown = printable(EVERYTHING)
    assert {unicodedata.category(letter) for letter in shown} & {"Cc", "Cs", "Zl", "Zp"} == set()
    assert "\u202e" not in shown
    assert printable("‖αf(x)‖ – 猫, a\u0301") == "‖αf(x)‖ – 猫, a\u0301"


@pytest.fixture
def opened(tabs: Tabs, tmp_path: Path) -> Iterator[Callable[..., Tab]]:
    """Opens pages one after the other in one tab. No page may run or ask for anything; one that is ``sound`` but for
    what people have written has nothing to complain of either."""
    asked: list[str] = []
    complaints: list[str] = []
    place = tmp_path / "report.html"
    tab = tabs.lend(
        {
            "console": lambda message: complaints.append(message.text),
            "pageerror": lambda error: complaints.append(str(error)),
            "dialog": lambda dialog: asked.append(dialog.message),
            "request": lambda request: asked.append(request.url),
        },
        offline=True,
    )

    def show(result: Result, *, sound: bool = True) -> Tab:
        place.write_text(page_of(result), encoding="utf-8")
        tab.goto(place.as_uri())
        tab.wait_for_selector("html[data-ready=true]", timeout=60_000)
        for figure in tab.locator(".vega-embed svg").all()[:3]:
            figure.hover(force=True, timeout=30_000)
        assert tab.evaluate("window.broken") is None
        assert tab.locator("img[src=x], svg[onload], [onmouseover], [onfocus]").count() == 0
        assert [url for url in asked if url != place.as_uri()] == []
        assert not sound or complaints == []
        return tab

    yield show
    tabs.take_back(tab)


def test_in_a_browser(opened: Callable[..., Tab]) -> None:
    for study in SHOWN:
        tab = opened(hostile(EVERY[study](), EVERYTHING))
        shown = tab.locator("body").inner_text()
        assert TEXTS["address"] in shown
        assert "⟨202e⟩abc⟨2066⟩def" in shown


@pytest.mark.campaign
@pytest.mark.parametrize("kind", ["everything", *TEXTS])
@pytest.mark.parametrize("study", EVERY)
def test_every_report_in_a_browser(study: str, kind: str, opened: Callable[..., Tab]) -> None:
    text = EVERYTHING if kind == "everything" else TEXTS[kind]
    sound = EVERY[study]()
    opened(hostile(sound, text))
    if kind == "everything":
        opened(as_far_as_it_goes(sound, text, page_of), sound=False)
