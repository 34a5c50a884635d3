"""A text without its weights, in all views: what is reckoned in the page is what numpy finds."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np
import pytest
from drawn import faults, place_of, record, texts
from scenes import page, reading, strand

from attlas.ids import Stream
from attlas.views import Scene, Strand
from attlas.views.page import KINDS

if TYPE_CHECKING:
    from playwright.sync_api import Page

pytestmark = pytest.mark.browser
COUNT = 300


def reckoned(window: int = COUNT) -> tuple[Strand, np.ndarray]:
    """A causal strand of vectors and sums alone, and its weights; keys are shared by two heads."""
    text = reading(tuple(f"w{at}" for at in range(COUNT)))
    made = strand(Stream.DECODER, text, layers=2, heads=4, width=16)
    assert made.query_vectors is not None
    assert made.key_vectors is not None
    queries = made.query_vectors.astype(np.float16)
    keys = np.repeat(made.key_vectors[:, ::2], 2, axis=1).astype(np.float16)
    scores = np.einsum("lhqd,lhkd->lhqk", queries.astype(np.float32), keys.astype(np.float32)) * made.scaling[0]
    at = np.arange(COUNT)
    start, stop = np.maximum(0, at - window + 1), at + 1
    seen = (at >= start[:, None]) & (at < stop[:, None])
    scores = np.where(seen, scores, -np.inf)
    sums = np.log(np.exp(scores).sum(-1)).astype(np.float32)
    weights = np.exp(scores - sums[..., None]).astype(np.float32)
    coarse = weights.reshape(2, 4, 100, 3, 100, 3).max((3, 5))
    whole = Strand(
        made.stream, text, text, np.zeros((2, 4, 0, 0), np.float32), query_vectors=queries, key_vectors=keys,
        scaling=made.scaling, sums=sums, seen=np.stack([np.stack([start, stop])] * 2).astype(np.int32), coarse=coarse,
        received=weights.mean(2), links=strongest(weights),
    )  # fmt: skip
    return whole, weights


def strongest(weights: np.ndarray, rows: np.ndarray | None = None) -> np.ndarray:
    """The query, the key and the weight of each head's strongest link, of queries that see more than themselves."""
    asked = np.arange(1, COUNT) if rows is None else rows
    flat = weights[:, :, asked].reshape(*weights.shape[:2], -1)
    best = flat.argmax(-1)
    return np.stack([asked[best // COUNT], best % COUNT, flat.max(-1)], -1).astype(float)


def said(shown: Page) -> str:
    shown.wait_for_timeout(150)
    return shown.locator(".attlas-readout").inner_text()


def ranked(text: str) -> list[tuple[str, float]]:
    inside = re.search(r"(?:attends to|attended to by) (.*?)(?:;| \(|$)", text)
    assert inside, text
    parts = re.split(r" · |, ", inside[1])
    return [(part.split(" ")[0], float(part.rsplit("≈", 1)[1].replace("−", "-"))) for part in parts]


def agrees(found: list[tuple[str, float]], values: np.ndarray) -> bool:
    best = np.argsort(-values)[: len(found)]
    return all(
        number == pytest.approx(float(values[int(word[1:])]), rel=6e-3, abs=1e-6) for word, number in found
    ) and (found[0][0] == f"w{best[0]}")


@pytest.mark.parametrize("window", [COUNT, 40])
def test_rows_columns_and_means_are_reckoned_in_the_page(window: int, open_page: Callable[..., Page]) -> None:
    made, weights = reckoned(window)
    shown = open_page(page([Scene("m", ("t",), (made,))], kind="text", layer=1, heads=[2]))
    shown.wait_for_function("() => document.querySelector('.attlas-readout').innerText === ''")
    box = shown.locator(".attlas-stage canvas").bounding_box()
    assert box
    x, y = place_of(shown, "w130")
    shown.mouse.move(box["x"] + x, box["y"] + y)
    assert agrees(ranked(said(shown)), weights[1, 2, 130])
    shown.keyboard.press("v")
    assert "is attended to by" in said(shown)
    assert agrees(ranked(said(shown)), weights[1, 2, :, 130])
    shown.keyboard.press("v")
    shown.locator("[data-heads=all]").click()
    shown.wait_for_timeout(300)
    shown.mouse.move(box["x"] + x + 1, box["y"] + y)
    assert agrees(ranked(said(shown)), weights[1, :, 130].mean(0))


def test_words_of_a_reckoned_text_are_sums_and_means(open_page: Callable[..., Page]) -> None:
    made, weights = reckoned()
    words = tuple(at // 2 for at in range(COUNT))
    text = replace(made.queries, words=words, spelled=tuple(f"w{at}" for at in range(COUNT // 2)))
    made = replace(made, queries=text, keys=text)
    shown = open_page(page([Scene("m", ("t",), (made,))], kind="text", layer=0, heads=[1]), "unit=word&query=100")
    joined = weights[0, 1][100:102].mean(0).reshape(-1, 2).sum(1)
    shown.wait_for_function("() => document.querySelector('.attlas-readout').innerText.includes('attends')")
    assert said(shown).startswith("w50 attends to")
    assert agrees(ranked(said(shown)), joined)


def test_all_views_show_a_reckoned_text(open_page: Callable[..., Page]) -> None:
    made, weights = reckoned()
    html = page([Scene("m", ("t",), (made,))], layer=1, head=3, heads=[3])
    shown: Page | None = None
    for view in KINDS:
        shown = open_page(html, f"view={view}&query=200", instead=shown)
        shown.wait_for_timeout(100)
        assert faults(shown) == [], view
        if view in ("head", "neuron", "matrix", "text"):
            shown.mouse.move(3, 3)
            assert said(shown).startswith("w200 attends to") or view == "head", view
        if view in ("neuron", "matrix", "text"):
            assert agrees(ranked(said(shown)), weights[1, 3, 200]), view
    assert shown is not None


def test_it_opens_as_running_text_and_says_so(open_page: Callable[..., Page]) -> None:
    made, _ = reckoned()
    shown = open_page(page([Scene("m", ("t",), (made,))]))
    assert "so it opens as running text" in shown.locator(".attlas-notice").inner_text()
    assert shown.locator("button[data-view=text]").get_attribute("aria-pressed") == "true"
    assert shown.locator("[data-name=measure][data-value=norm]").is_disabled()


def some_rows(spans: tuple[tuple[int, int], ...]) -> tuple[Strand, np.ndarray]:
    """The same look from some rows alone, and all weights."""
    made, weights = reckoned()
    rows = np.concatenate([np.arange(*span) for span in spans])
    assert made.query_vectors is not None
    assert made.sums is not None
    assert made.seen is not None
    coarse = weights[:, :, rows].reshape(2, 4, len(rows), 100, 3).max(4)
    return replace(
        made, query_vectors=made.query_vectors[:, :, rows], sums=made.sums[:, :, rows], seen=made.seen[:, :, rows],
        coarse=coarse, received=weights[:, :, rows].mean(2), links=strongest(weights, rows), looked=spans,
    ), weights  # fmt: skip


def test_all_views_show_some_rows_and_say_which(open_page: Callable[..., Page]) -> None:
    """What stands in the page for a row is that row's, also behind others; of the rest none is told."""
    spans = ((40, 60), (200, 230))
    made, weights = some_rows(spans)
    rows = np.concatenate([np.arange(*span) for span in spans])
    html = page([Scene("m", ("t",), (made,))], layer=1, head=3, heads=[3])
    shown: Page | None = None
    for view in KINDS:
        shown = open_page(html, f"view={view}&query=215", instead=shown)
        if view == "head":
            shown.locator("button[data-view=head]").click()  # a long text opens as running text
        shown.wait_for_timeout(100)
        if view in ("head", "matrix"):
            assert faults(shown) == [], view
        notice = shown.locator(".attlas-notice").inner_text()
        assert "Looked from pieces 41 to 60 and 201 to 230 of 300 alone" in notice, view
        if view != "model":
            shown.mouse.move(3, 3)
            told = said(shown)
            assert told.startswith("w215 attends to"), view
            assert agrees(ranked(told), weights[1, 3, 215]), view
    assert shown is not None
    shown = open_page(html, "view=model", instead=shown)
    query, key, value = strongest(weights, rows)[1, 3]
    found = re.search(r"strongest link w(\d+) → w(\d+) ≈(\S+)", said(shown))
    assert found, said(shown)
    assert (int(found[1]), int(found[2])) == (int(query), int(key))
    assert float(found[3]) == pytest.approx(value, rel=6e-3)

    shown = open_page(html, "view=model&open=yes&query=215", instead=shown)
    assert said(shown).startswith("head 2-4: w215 attends to")
    assert agrees(ranked(said(shown)), weights[1, 3, 215])
    assert faults(shown) == []

    shown = open_page(html, "view=matrix", instead=shown)
    shown.wait_for_timeout(100)
    box = shown.locator(".attlas-stage canvas").bounding_box()
    assert box
    x, y = place_of(shown, "w205")
    shown.mouse.move(box["x"] + x, box["y"] + y)
    assert said(shown).startswith("w205 attends to")
    assert agrees(ranked(said(shown)), weights[1, 3, 205])

    shown = open_page(html, "view=text&way=gives&key=30&picked=30", instead=shown)
    shown.wait_for_timeout(100)
    shown.mouse.move(3, 3)
    column = np.zeros(COUNT)
    column[rows] = weights[1, 3, rows, 30]
    assert said(shown).startswith("w30 is attended to by")
    assert agrees(ranked(said(shown)), column)
    shown.keyboard.press("v")
    assert said(shown) == "w30 was not looked from."


def test_rows_keep_their_places_in_the_text(open_page: Callable[..., Page]) -> None:
    """Where rows have numbers for words, these are places in the text, and the row beside one is that piece's."""
    made, weights = some_rows(((5, 40), (90, 290)))
    shown = open_page(page([Scene("m", ("t",), (made,))], kind="matrix", layer=1, head=3, heads=[3]))
    shown.wait_for_timeout(100)
    record(shown)
    drawn = texts(shown)
    left = min(each["x"] for each in drawn if each["text"].isdigit())
    numbers = [int(each["text"]) for each in drawn if each["text"].isdigit() and each["x"] == left]
    assert len(numbers) > 3
    assert max(numbers) > 240
    box = shown.locator(".attlas-stage canvas").bounding_box()
    assert box
    for each in [each for each in drawn if each["x"] == left and each["text"].isdigit()][::3]:
        place = int(each["text"]) - 1
        assert 5 <= place < 40 or 90 <= place < 290
        shown.mouse.move(box["x"] + left, box["y"] + each["y"])
        told = said(shown)
        assert told.startswith(f"w{place} attends to")
        assert agrees(ranked(told), weights[1, 3, place])


def test_words_of_some_rows_are_means_of_the_pieces_that_were_looked_from(open_page: Callable[..., Page]) -> None:
    made, weights = some_rows(((41, 60),))
    words = tuple(at // 2 for at in range(COUNT))  # w20 is of the pieces 40 and 41, of which one was looked from
    text = replace(made.queries, words=words, spelled=tuple(f"w{at}" for at in range(COUNT // 2)))
    made = replace(made, queries=text, keys=text)
    html = page([Scene("m", ("t",), (made,))], kind="matrix", layer=0, heads=[1])
    shown: Page | None = None
    for piece, rows in ((41, [41]), (50, [50, 51])):
        shown = open_page(html, f"unit=word&query={piece}", instead=shown)
        shown.wait_for_function("() => document.querySelector('.attlas-readout').innerText.includes('attends')")
        assert said(shown).startswith(f"w{piece // 2} attends to")
        assert agrees(ranked(said(shown)), weights[0, 1][rows].mean(0).reshape(-1, 2).sum(1))
