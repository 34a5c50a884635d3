"""The same sentence under two kinds of attention: what the page holds, and what a real browser shows of it."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

from attlas.pages import Custom, Section, Tables
from attlas.pages import Page as Record
from attlas.pages.html import html_page
from attlas.store import Manifest, Result
from attlas.studies.faith.words import pictures
from attlas.studies.faith_chunking.sentences import sentences
from attlas.studies.shared.faith.pairs import most_apart
from browsers import Tabs

if TYPE_CHECKING:
    from playwright.sync_api import Page

HOSTILE = "</script><img src=x onerror=alert(1)>"
HEADS = 3
SENTENCES = [["Rockwell", "said", HOSTILE, "signed", "."], ["Sterling", "fell", "."]]


def columns(rows: list[dict[str, Any]]) -> dict[str, list[Any]]:
    return {name: [row[name] for row in rows] for name in rows[0]}


def attention(draw: np.random.Generator, *size: int) -> np.ndarray:
    drawn = np.exp(2 * draw.normal(size=size))
    return (drawn / drawn.sum(-1, keepdims=True)).astype(np.float32)


def chunking() -> tuple[Result, dict[tuple[int, float], np.ndarray]]:
    """A result with two sentences and two adversaries, and the attention in it."""
    draw = np.random.default_rng(1)
    words, examples, held = [], [], {}
    for number, spelled in enumerate(SENTENCES):
        count = len(spelled)
        for place, word in enumerate(spelled):
            tags = {"gold": "B-NP", "original": "B-NP", "adversary 0.2": "B-NP"}
            tags["adversary 3"] = "O" if (number, place) == (0, 1) else "B-NP"
            words.append({"sentence": number, "word": place, "spelled": word, **tags})
        for weight in (0.0, 0.2, 3.0):
            held[number, weight] = weights = attention(draw, HEADS, count, count)
            examples += [
                {
                    "sentence": number,
                    "weight": weight,
                    "head": head,
                    "query": query,
                    "key": key,
                    "value": float(value),
                }
                for (head, query, key), value in np.ndenumerate(weights)
            ]
    tables = {"models": {"kind": ["original"]}, "examples": columns(examples), "sentences": columns(words)}
    return Result(Manifest("faith-chunking"), tables), held


def instances() -> tuple[Result, list[np.ndarray]]:
    """A result of the general study with one instance, and its attention: own and adversary's."""
    draw = np.random.default_rng(2)
    pieces = ["[CLS]", "a", "play", "##ful", "film", "[SEP]"]
    own = attention(draw, 1, HEADS, 6, 6)
    other = own.copy()
    other[:, :, 0] = attention(draw, 1, HEADS, 6)
    row = {
        "text": 4, "place": None, "spelled": ["a", "playful", "film"], "pieces": pieces,
        "piece_words": [-1, 0, 1, 1, 2, -1], "piece_documents": [-1, 0, 0, 0, 0, -1], "stream": "encoder",
        "layers": [5], "heads": HEADS, "rows": [0], "own": own.tobytes(), "adversary": other.tobytes(),
        "confidence": 0.98, "adversary_confidence": 0.975, "jsd": 0.51, "tvd": 0.005,
    }  # fmt: skip
    known = {"text": [4], "place": [None], "predicted": ["positive"], "label": ["negative"], "right": [False]}
    manifest = Manifest("faith", model={"name": "tiny"})
    return Result(manifest, {"instances": known, "shown": columns([row])}), [own, other]


def written(value: float) -> str:
    return f"{value:.3g}"


MAKERS = {"faith": pictures, "faith-chunking": sentences}


def gallery_html(result: Result) -> str:
    return str(MAKERS[result.manifest.study](Tables(result)) or "")


def whole_page(result: Result) -> str:
    section = Section("same", "The same sentence", "Both.", (Custom(MAKERS[result.manifest.study]),))
    record = Record(
        "faith", "Two kinds", answer=lambda tables: None, sections=(section,), static=("faith_examples.css",)
    )
    return html_page(record, result)


@pytest.fixture
def opened(tabs: Tabs, tmp_path: Path) -> Iterator[Callable[[Result], Page]]:
    """Opens a page with nothing but the gallery; whatever the browser complains of fails the test."""
    complaints: list[str] = []
    shown: list[Page] = []
    heard = {
        "console": lambda message: complaints.append(message.text),
        "pageerror": lambda error: complaints.append(str(error)),
        "dialog": lambda dialog: (complaints.append(dialog.message), dialog.dismiss()),
    }

    def open_page(result: Result) -> Page:
        path = tmp_path / "page.html"
        path.write_text(whole_page(result), encoding="utf-8")
        page = tabs.lend(heard, viewport={"width": 1280, "height": 1000}, offline=True)
        shown.append(page)
        page.goto(path.as_uri())
        page.wait_for_selector(".attlas-showcase[data-drawn]")
        return page

    yield open_page
    for page in shown:
        tabs.take_back(page)
    assert complaints == []


def test_the_query_with_the_farthest_rows_is_picked_out() -> None:
    draw = np.random.default_rng(0)
    one, other = attention(draw, 2, 4, 4), attention(draw, 2, 4, 4)
    apart = []
    for query in range(4):
        total = 0.0
        for head in range(2):
            p, q = one[head, query].astype(float), other[head, query].astype(float)
            m = (p + q) / 2
            total += sum(p * np.log(p / m)) + sum(q * np.log(q / m))
        apart.append(total)
    assert most_apart(one, other) == int(np.argmax(apart))


def test_results_without_examples_have_no_gallery() -> None:
    for study in ("faith", "faith-chunking"):
        assert gallery_html(Result(Manifest(study), {"whole": {"n": [1]}})) == ""


def test_the_list_says_which_tags_are_others() -> None:
    html = gallery_html(chunking()[0])
    assert "λ = 0.2: all 5 tags as the original’s" in html
    assert "λ = 3: 1 of 5 tags are others: said <i>O</i> (original B-NP)" in html
    assert "<img" not in html
    assert html.count("data-into=") == 4


def test_the_list_says_what_was_predicted() -> None:
    html = gallery_html(instances()[0])
    assert "predicted <b>positive</b> (0.98; under the adversary 0.97, it is negative)" in html
    assert "attention moved by JSD 0.51, the output by TVD 0.0050" in html


@pytest.mark.browser
def test_both_attentions_stand_side_by_side(opened: Callable[[Result], Page]) -> None:
    result, (own, other) = instances()
    shown = opened(result)
    readout = shown.locator(".attlas-readout").inner_text().splitlines()
    assert len(readout) == 3
    for line, weights in zip(readout, (own, other), strict=False):
        mean = weights[0, :, 0].mean(0)
        words = {"[CLS]": mean[0], "a": mean[1], "playful": mean[2] + mean[3], "film": mean[4], "[SEP]": mean[5]}
        best = max(words, key=lambda word: words[word])
        assert f"[CLS] attends to {best} {written(words[best])}" in line
    assert readout[0].startswith("A: tiny, its own attention")
    assert readout[1].startswith("B: adversary")
    assert readout[2].startswith("A − B")
    assert shown.locator(".attlas-panel canvas").count() == 3
    assert shown.evaluate(
        "[...document.querySelectorAll('.attlas-panel')].every((each) => each.scrollWidth <= each.clientWidth)"
    ), "nothing is cut off"


@pytest.mark.browser
def test_another_sentence_and_another_adversary_are_shown(opened: Callable[[Result], Page]) -> None:
    result, held = chunking()
    shown = opened(result)
    buttons = shown.locator("button[data-into]")
    assert [button.get_attribute("aria-pressed") for button in buttons.all()] == ["true", "false", "false", "false"]
    buttons.nth(3).click()
    shown.wait_for_timeout(200)
    assert [button.get_attribute("aria-pressed") for button in buttons.all()] == ["false", "false", "false", "true"]
    lines = shown.locator(".attlas-readout").inner_text().splitlines()
    own, other = held[1, 0.0], held[1, 3.0]
    query = most_apart(own, other)
    for line, weights in zip(lines, (own, other), strict=False):
        mean = weights[:, query].mean(0)
        key = int(mean.argmax())
        assert f"{SENTENCES[1][query]} attends to {SENTENCES[1][key]} {written(mean[key])}" in line
    assert lines[1].startswith("B: adversary, λ = 3")
    assert shown.locator("dialog.attlas-gallery[open]").count() == 0


@pytest.mark.browser
def test_it_follows_the_pages_light_and_dark_and_keys_stay_inside(opened: Callable[[Result], Page]) -> None:
    shown = opened(chunking()[0])
    place = shown.locator(".attlas-showcase")
    assert place.get_attribute("data-theme") == "light"
    shown.locator("#theme").click()
    shown.wait_for_selector(".attlas-showcase[data-theme=dark]")
    query = shown.locator(".attlas-readout").inner_text()
    shown.keyboard.press("ArrowUp")
    shown.wait_for_timeout(120)
    assert shown.locator(".attlas-readout").inner_text() == query, "the page's own keys are not the viewer's"
    place.focus()
    shown.keyboard.press("ArrowUp")
    shown.wait_for_timeout(120)
    assert shown.locator(".attlas-readout").inner_text() != query
