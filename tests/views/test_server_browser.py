"""The page of the server in a real browser: typing, looking, pointing, comparing, and what goes wrong."""

from __future__ import annotations

import re
import threading
import time
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any
from urllib.parse import parse_qs, urlsplit

import numpy as np
import pytest
from drawn import word_at
from serving import HOSTILE, TEXT, look, running

from attlas.ids import Stream
from attlas.views import Scene
from attlas.views.figures import AtlasOfHeads, SurveyOfHeads
from attlas.views.question import Question
from attlas.views.server import Server
from attlas.views.telling import start_of
from browsers import Tabs

if TYPE_CHECKING:
    from playwright.sync_api import Page

pytestmark = pytest.mark.browser


@pytest.fixture(scope="module")
def server() -> Iterator[Server]:
    with running() as made:
        yield made


class Opened:
    """The app in a browser, with everything it complained of and asked for."""

    def __init__(self, tabs: Tabs, server: Server, fragment: str = "", scheme: Any = "light") -> None:
        self.server = server
        self.complaints: list[str] = []
        self.requests: list[str] = []
        heard = {
            "console": lambda message: self.complaints.append(f"{message.type}: {message.text}"),
            "pageerror": lambda error: self.complaints.append(str(error)),
            "request": lambda request: self.requests.append(request.url),
        }
        self.tabs = tabs
        self.page: Page = tabs.lend(heard, color_scheme=scheme)
        self.page.goto(server.address + (fragment or "#layer=0"))  # where a head is chosen, no other is
        self.page.wait_for_selector("textarea[name=text]")

    @property
    def drawn(self) -> int:
        return int(self.page.locator("#attlas-viewer").get_attribute("data-drawn") or 0)

    def ask(self, text: str, **fields: str) -> None:
        """Fill the form, submit it by keyboard, and wait for the picture."""
        before = self.drawn
        for name, value in fields.items():
            self.page.locator(f"[name={name}]").fill(value)
        self.page.get_by_label("Text", exact=True).fill(text)
        self.page.keyboard.press("Control+Enter")
        self.wait(lambda: self.drawn > before and self.page.locator(".attlas-status").inner_text().startswith("Seen"))

    def wait(self, ready: Callable[[], bool]) -> None:
        deadline = time.monotonic() + 20
        while not ready():
            assert time.monotonic() < deadline, self.page.locator("body").inner_text()
            self.page.wait_for_timeout(20)

    def point(self, row: int) -> str:
        """Point at a query of the head view and read what is said of it."""
        place = word_at(self.page, row)
        before = self.drawn
        self.page.mouse.move(*place)
        self.wait(lambda: self.drawn > before)
        return self.readout()

    def readout(self) -> str:
        return self.page.locator(".attlas-readout").inner_text()

    def asked(self) -> dict[str, list[str]]:
        """The question in the address, from which the token is gone."""
        url = urlsplit(self.page.url)
        assert url.query == ""
        return parse_qs(url.fragment)

    def close(self) -> None:
        """No complaint but that of refused questions, and no request to anybody else."""
        self.tabs.take_back(self.page)
        assert not [each for each in self.complaints if "status of 422" not in each]
        assert all(
            urlsplit(url).netloc == f"127.0.0.1:{self.server.port}" for url in self.requests if url[:5] != "data:"
        )


@pytest.fixture
def opened(tabs: Tabs, server: Server) -> Iterator[Opened]:
    made = Opened(tabs, server)
    yield made
    made.close()


def agrees(said: str, weights: Any, pieces: list[str], row: int) -> bool:
    """Whether a readout names the strongest keys of a row, with the numbers that numpy finds."""
    mean = weights[:, row].mean(0)
    best = np.argsort(-mean)[:6]
    found = re.findall(r"(\S+) ≈?(0\.\d+)", said.partition("attends to ")[2])
    return said.startswith(pieces[row]) and [label for label, _ in found] == [pieces[k] for k in best] and all(
        abs(float(value) - mean[k]) < 6e-4 for (_, value), k in zip(found, best, strict=True)
    )  # fmt: skip


def test_a_text_is_typed_and_seen(opened: Opened) -> None:
    assert opened.drawn == 0
    opened.ask(TEXT)
    pieces = ["[CLS]", *TEXT.split(), "[SEP]"]
    said = opened.point(3)
    assert agrees(said, look(Question("one", TEXT)).strands[0].weights[0], pieces, 3), said
    assert opened.asked()["text"] == [TEXT]
    assert opened.asked()["model"] == ["one"]

    opened.page.locator("[data-step='1']").click()
    opened.page.get_by_label("Model", exact=True).select_option("two")
    opened.ask("Some other words")
    said = opened.point(2)
    pieces = ["[CLS]", "Some", "other", "words", "[SEP]"]
    assert agrees(said, look(Question("two", "Some other words")).strands[0].weights[1], pieces, 2), said
    assert (opened.asked()["model"], opened.asked()["layer"]) == (["two"], ["1"])


def test_reloading_and_going_back_show_the_same_again(opened: Opened) -> None:
    opened.ask(TEXT)
    opened.page.locator("[data-value=word]").click()
    opened.ask("Zwei Wörter & mehr #=%", second="une cible")
    address = opened.page.url
    assert opened.asked()["second"] == ["une cible"]

    opened.page.reload()
    opened.wait(lambda: opened.drawn > 0)
    assert opened.page.url == address
    assert opened.page.get_by_label("Text", exact=True).input_value() == "Zwei Wörter & mehr #=%"
    assert opened.page.get_by_label("Second text", exact=True).input_value() == "une cible"
    assert "Zwei Wörter & mehr #=%" in opened.page.locator(".attlas-title").inner_text()
    assert opened.page.locator("[data-value=word]").get_attribute("aria-pressed") == "true"

    opened.page.go_back()
    opened.wait(lambda: TEXT in opened.page.locator(".attlas-title").inner_text())
    assert opened.page.get_by_label("Text", exact=True).input_value() == TEXT
    assert opened.page.get_by_label("Second text", exact=True).input_value() == ""
    assert opened.asked()["text"] == [TEXT]


def test_refusals_are_shown_and_the_picture_stays(opened: Opened, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("attlas.views.server.MOST_BYTES", 2000)
    page = opened.page
    opened.ask(TEXT)
    alert = page.get_by_role("alert")
    for text, sentence in (
        ("  ", "there is no text yet; type one, or try the example."),
        ("please refuse", "one does not read this."),
        ("word " * 500, "2,000 are the most; shorten the text."),
    ):
        page.get_by_label("Text", exact=True).fill(text)
        page.get_by_role("button", name="Look").click()
        opened.wait(lambda expected=sentence: alert.is_visible() and expected in alert.inner_text())  # type: ignore[misc]
        assert TEXT in page.locator(".attlas-title").inner_text()
        assert opened.asked()["text"] == [TEXT]
    page.get_by_label("Compare with another").check()
    page.get_by_label("Text", exact=True).fill("the same")
    page.get_by_role("button", name="Look").click()
    opened.wait(lambda: "nothing to compare" in alert.inner_text())
    page.get_by_label("Compare with another").uncheck()
    opened.ask("Better words")
    assert alert.count() == 0 or not alert.is_visible()
    opened.complaints = [each for each in opened.complaints if "status of 413" not in each]


def test_the_button_works_once_and_says_that_it_works(tabs: Tabs) -> None:
    asked, free = [], threading.Event()

    def slow(question: Question) -> Scene:
        asked.append(question)
        assert free.wait(20)
        return look(question)

    with running(slow) as server:
        opened = Opened(tabs, server)
        opened.page.get_by_label("Text", exact=True).fill(TEXT)
        button = opened.page.locator(".attlas-look")
        button.click()
        opened.wait(lambda: button.inner_text() == "Looking …")
        assert button.get_attribute("aria-disabled") == "true"
        button.click(force=True)
        opened.page.keyboard.press("Enter")
        opened.page.keyboard.press("Control+Enter")
        opened.page.wait_for_timeout(100)
        free.set()
        opened.wait(lambda: opened.drawn > 0)
        assert (button.inner_text(), button.get_attribute("aria-disabled")) == ("Look", "false")
        assert len(asked) == 1
        opened.close()


def test_pointing_at_a_rounded_row_brings_the_exact_one(tabs: Tabs) -> None:
    with running(exact_cells=0) as server:
        opened = Opened(tabs, server)
        held: list[Any] = []
        released = threading.Event()
        opened.page.route(
            "**/api/row/**", lambda route: route.continue_() if released.is_set() else held.append(route)
        )
        opened.ask(TEXT)
        pieces = ["[CLS]", *TEXT.split(), "[SEP]"]
        first = opened.point(4)
        assert first.count("≈") == 6
        opened.wait(lambda: len(held) > 0)
        assert opened.readout() == first
        released.set()
        held[0].continue_()
        opened.wait(lambda: "≈" not in opened.readout())
        said = opened.readout()
        assert agrees(said, look(Question("one", TEXT)).strands[0].weights[0], pieces, 4), said
        rows = [urlsplit(url).path.split("/")[4:] for url in opened.requests if "/api/row/" in url]
        assert rows == [["0", "0", "0", str(head), "4"] for head in range(4)]
        assert opened.point(5).count("≈") == 6
        opened.wait(lambda: "≈" not in opened.readout())
        opened.page.unroute_all()
        opened.close()


def test_two_texts_and_two_models_are_compared(opened: Opened) -> None:
    page = opened.page
    page.get_by_label("Compare with another").check()
    page.get_by_label("Other model", exact=True).select_option("two")
    opened.ask(TEXT)
    title = page.locator(".attlas-title").inner_text()
    assert "A: one" in title
    assert "B: two" in title
    assert page.locator(".attlas-stage figure").count() == 3
    opened.page.locator("[data-name=show][data-value=difference]").click()
    opened.wait(lambda: page.locator(".attlas-stage figure").count() == 1)
    row, mean = 3, [look(Question(name, TEXT)).strands[0].weights[0].mean(0) for name in ("one", "two")]
    difference = mean[0][row] - mean[1][row]
    said = opened.point(row)
    value = re.search(r"attends to (\S+) (−?)(0\.\d+)", said)
    assert value
    at = int(np.abs(difference).argmax())
    assert value[1] == ["[CLS]", *TEXT.split(), "[SEP]"][at]
    assert float(value[2].replace("−", "-") + value[3]) == pytest.approx(difference[at], abs=6e-4)

    page.get_by_label("Other model", exact=True).select_option("the same")
    opened.ask(TEXT, otherText="Seven words that are not the same")
    assert "Seven words that are not the same" in page.locator(".attlas-title").inner_text()
    assert opened.asked()["otherText"] == ["Seven words that are not the same"]
    assert "otherModel" not in opened.asked()


def test_any_other_name_can_be_typed(opened: Opened) -> None:
    page = opened.page
    assert not page.get_by_label("Model: hub name or folder", exact=True).is_visible()
    page.get_by_label("Model", exact=True).select_option("another …")
    page.get_by_label("Model: hub name or folder", exact=True).fill(" some/model ")
    opened.ask(TEXT, write="7")
    assert page.locator(".attlas-title strong").inner_text() == "some/model"
    assert opened.asked()["write"] == ["7"]
    page.reload()
    opened.wait(lambda: opened.drawn > 0)
    assert page.get_by_label("Model: hub name or folder", exact=True).input_value() == "some/model"
    assert page.locator("[name=write]").input_value() == "7"


def test_hostile_text_stays_text(opened: Opened) -> None:
    opened.ask(HOSTILE)
    assert HOSTILE in opened.page.locator(".attlas-title").inner_text()
    assert opened.page.evaluate("() => window.broken") is None


def test_form_and_viewer_are_light_or_dark_together(tabs: Tabs, server: Server) -> None:
    for scheme in ("light", "dark"):
        opened = Opened(tabs, server, scheme=scheme)
        colour = "node => getComputedStyle(node).backgroundColor"
        form, viewer, body = (opened.page.locator(each) for each in ("#attlas-asking", "#attlas-viewer", "body"))
        assert form.get_attribute("data-theme") == scheme
        opened.ask(TEXT)
        before = form.evaluate(colour)
        assert viewer.evaluate(colour) == body.evaluate(colour) == before
        opened.page.locator("[data-action=theme]").click()
        opened.wait(lambda was=scheme, form=form: form.get_attribute("data-theme") != was)  # type: ignore[misc]
        assert viewer.evaluate(colour) == body.evaluate(colour) == form.evaluate(colour) != before
        opened.close()


def test_a_server_that_is_gone_is_one_sentence(tabs: Tabs) -> None:
    with running() as server:
        opened = Opened(tabs, server)
    opened.page.get_by_label("Text", exact=True).fill(TEXT)
    opened.page.get_by_role("button", name="Look").click()
    opened.wait(lambda: "attlas does not answer" in opened.page.locator(".attlas-refusal").inner_text())
    opened.complaints = [each for each in opened.complaints if "ERR_CONNECTION_REFUSED" not in each]
    opened.close()


def test_every_text_opens_where_it_has_most_to_show_until_a_head_is_chosen(tabs: Tabs, server: Server) -> None:
    starts = {text: start_of(look(Question("one", text))) for text in (f"{TEXT} {more}" for more in "abcdefgh")}
    (first, start), (second, other) = next(
        (one, two) for one in starts.items() for two in starts.items() if one[1]["layer"] != two[1]["layer"]
    )
    made = Opened(tabs, server, "#view=head")

    def shown() -> tuple[int, list[int]]:
        pressed = made.page.locator("[data-head][aria-pressed=true]").all()
        layer = made.page.locator("select[data-name=layer]").input_value()
        return int(layer), [int(chip.get_attribute("data-head") or -1) for chip in pressed]

    made.ask(first)
    assert shown() == (start["layer"], start["heads"])
    made.ask(second)
    assert shown() == (other["layer"], other["heads"]), "nobody has chosen the head of the text before"
    made.page.locator("[data-heads=all]").click()
    made.ask(first)
    assert shown() == (other["layer"], [0, 1, 2, 3]), "and now somebody has"
    made.close()


def test_what_a_survey_and_an_atlas_know_stands_beside_heads(tabs: Tabs) -> None:
    """Heads of its model are sorted by the survey and found by words of the atlas; of another model that is said."""
    values = np.arange(12, dtype=np.float32).reshape(3, 4)
    survey = SurveyOfHeads(
        "s", "owner/one", {Stream.ENCODER: (3, 4)}, {"weight: reach": {Stream.ENCODER: values}},
        {Stream.ENCODER: {"1-1": "of the survey alone"}},
    )  # fmt: skip
    told = {"2-3": "induction: looks at what came after", "3-4": f"rests on [SEP]{HOSTILE}"}
    atlas = AtlasOfHeads("a", {"one": {Stream.ENCODER: told}, "three": {}})
    with running(known=[survey, atlas]) as server:
        app = Opened(tabs, server, "#view=model&layer=1&head=2")
        app.ask(TEXT)
        notice = app.page.locator(".attlas-notice")
        assert "Head 2-3 over a corpus: induction: looks at what came after" in notice.inner_text()
        app.page.get_by_label("Sort").select_option("weight: reach")
        app.wait(lambda: "Sorted by" in notice.inner_text())
        app.page.locator("table").wait_for(state="attached")
        rows = app.page.locator(".attlas-table tbody tr")
        app.wait(lambda: rows.count() == 12)
        assert rows.first.locator("td").first.inner_text() == "3-4"
        app.page.locator("[data-name=words]").fill("induction")
        app.page.keyboard.press("Enter")
        app.wait(lambda: rows.count() == 1)
        assert rows.first.locator("td").first.inner_text() == "2-3"
        app.page.locator("[data-name=words]").fill("rests")
        app.page.keyboard.press("Enter")
        app.wait(lambda: rows.count() == 1 and rows.first.locator("td").first.inner_text() == "3-4")
        assert app.page.evaluate("window.broken") is None
        app.page.get_by_label("Model", exact=True).select_option("two")
        app.ask(TEXT)
        said = notice.inner_text()
        assert "The survey that was given is of owner/one, not of what is shown." in said
        assert "The atlas that was given is of one and three, not of what is shown." in said
        assert "over a corpus" not in said
        assert app.complaints == []
