"""The neuron view in a browser: what it says and draws, against numbers reckoned here."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
import scenes
from numpy.typing import NDArray
from pointing import address_has, sweep

from attlas.ids import Stream
from attlas.views import Scene, Strand, page

if TYPE_CHECKING:
    from playwright.sync_api import Page

pytestmark = pytest.mark.browser
LAYER, HEAD = 1, 2
WHERE = f"view=neuron&layer={LAYER}&head={HEAD}"
Open = Callable[..., "Page"]
Array = NDArray[np.float64]


def number(text: str) -> float:
    """A number as the page writes it."""
    return float(text.replace("−", "-").replace("≈", ""))


def one(strand: Strand) -> Scene:
    return Scene("a model", ("The farmer played.", "She slept"), (strand,))


def vectors(strand: Strand, query: int, head: int = HEAD) -> tuple[Array, Array]:
    """q of a query, and k of all keys."""
    assert strand.query_vectors is not None
    assert strand.key_vectors is not None
    return np.float64(strand.query_vectors[LAYER, head, query]), np.float64(strand.key_vectors[LAYER, head])


def products(strand: Strand, query: int, head: int = HEAD) -> Array:
    """q * k by key and neuron."""
    q, k = vectors(strand, query, head)
    return np.asarray(q * k)


def contributions(strand: Strand, query: int, keys: list[int] | None = None) -> Array:
    """What each neuron adds to the score of the keys attended to, less what it adds to that of the average key."""
    weights = strand.weights[LAYER, HEAD, query].astype(float)
    shown = [key for key in (keys if keys is not None else range(len(weights))) if weights[key] > 0]
    parts = products(strand, query)[shown] * strand.scaling[LAYER]
    shares = weights[shown] / weights[shown].sum()
    attended = np.sum([share * part for share, part in zip(shares, parts, strict=True)], axis=0)
    return np.asarray(attended - np.mean(parts, axis=0))


def order(parts: Array) -> list[int]:
    return [int(n) for n in np.argsort(-np.abs(parts), kind="stable")]


def table(shown: Page, at: int = 0) -> list[dict[str, str]]:
    found = shown.locator(".attlas-table table").nth(at)
    names = found.locator("thead th").all_inner_texts()
    cells = found.locator("tbody td").all_inner_texts()
    return [
        dict(zip(names, cells[start : start + len(names)], strict=True)) for start in range(0, len(cells), len(names))
    ]


def readout(shown: Page) -> str:
    return shown.locator(".attlas-readout").inner_text()


def after(shown: Page, act: Callable[[], Any]) -> None:
    """Do something and wait until it has been drawn."""
    before = shown.locator(".attlas").get_attribute("data-drawn")
    act()
    shown.wait_for_selector(f'.attlas:not([data-drawn="{before}"])')
    shown.wait_for_timeout(120)


def press(shown: Page, key: str) -> None:
    after(shown, lambda: shown.keyboard.press(key))


def move(shown: Page, x: float, y: float, *, at: int = 0) -> str:
    """Point at a place of the picture and read what is said."""
    box = shown.locator(".attlas-stage canvas").nth(at).bounding_box()
    assert box
    shown.mouse.move(box["x"] + x, box["y"] + y)
    shown.wait_for_timeout(50)
    return readout(shown)


def row_of(shown: Page, word: str, x: float) -> float:
    """The height at which a word stands in the column at x, found by pointing."""
    height = shown.locator(".attlas-stage canvas").first.bounding_box()["height"]  # type: ignore[index]
    heights = range(150, int(height), 8)
    said = sweep(shown, [(x, y) for y in heights], until=word)
    assert word in said[-1], f"{word} is nowhere"
    y = heights[len(said) - 1] + 3
    assert word in move(shown, x, y)
    return y


def cells(shown: Page, y: float) -> list[tuple[float, str]]:
    """What is said of each neuron along a row, left to right: the first strip, then the second."""
    width = shown.locator(".attlas-stage canvas").first.bounding_box()["width"]  # type: ignore[index]
    said: list[tuple[float, str]] = []
    along = range(100, int(width) - 100, 13)
    for x, text in zip(along, sweep(shown, [(x, y) for x in along]), strict=True):
        if "q[" in text and (not said or said[-1][1] != text):
            said.append((x + 1, text))
    assert [move(shown, x, y) for x, _ in said] == [text for _, text in said]
    return said


def test_a_table_of_products_scores_and_weights(open_page: Open) -> None:
    strand = scenes.strand()
    shown = open_page(page([one(strand)]), WHERE)
    rows = table(shown)
    assert [row["key"] for row in rows] == list(scenes.SPOKEN)
    parts = products(strand, 1)  # the first piece that is not special
    mean = parts.mean(0)
    for key, row in enumerate(rows):
        assert number(row["q·k"]) == pytest.approx(parts[key].sum(), rel=6e-3, abs=1e-4)
        assert number(row["scaled score"]) == pytest.approx(parts[key].sum() * 8**-0.5, rel=6e-3, abs=1e-4)
        assert number(row["weight"]) == pytest.approx(strand.weights[LAYER, HEAD, 1, key], rel=6e-3, abs=1e-6)
        assert int(row["top neuron"]) - 1 == np.abs(parts[key] - mean).argmax()
    assert "score" not in rows[0]
    assert f"From The, head {LAYER + 1}-{HEAD + 1}" in shown.locator(".attlas-table caption").inner_text()
    assert "rotary" in shown.locator(".attlas-notice").inner_text()
    assert "shared by" not in shown.locator(".attlas-notice").inner_text()


def test_choosing_a_query_by_click_and_by_keys(open_page: Open) -> None:
    strand = scenes.strand()
    shown = open_page(page([one(strand)]), WHERE)
    y = row_of(shown, "make slept the query", 20)
    box = shown.locator(".attlas-stage canvas").bounding_box()
    assert box
    after(shown, lambda: shown.mouse.click(box["x"] + 20, box["y"] + y))
    address_has(shown, "query=8")
    assert number(table(shown)[3]["weight"]) == pytest.approx(strand.weights[LAYER, HEAD, 8, 3], rel=6e-3, abs=1e-6)
    press(shown, "ArrowUp")
    address_has(shown, "query=7")
    press(shown, "Escape")
    address_has(shown, "query=", but=False)
    press(shown, "ArrowDown")
    address_has(shown, "query=2")  # one below the first piece that is not special
    assert number(table(shown)[0]["q·k"]) == pytest.approx(products(strand, 2)[0].sum(), rel=6e-3, abs=1e-4)


def test_neurons_that_contribute_most_come_first(open_page: Open) -> None:
    strand = scenes.strand()
    shown = open_page(page([one(strand)]), f"{WHERE}&query=3")
    parts = contributions(strand, 3)
    best = order(parts)
    said = re.findall(r"(\d+) \(([+−][\d.e−]+)\)", readout(shown).split("contribute most:")[1])
    assert [int(n) - 1 for n, _ in said] == best[:4]
    for n, value in said:
        assert number(value) == pytest.approx(parts[int(n) - 1], rel=6e-3)

    y = row_of(shown, "→ farmer", 170)
    along = cells(shown, y)
    assert [int(re.search(r"q\[(\d+)\]", text)[1]) - 1 for _, text in along] == [*best, *best]  # type: ignore[index]
    query, keys = vectors(strand, 3)
    for x, text in along:
        n, q, k, product = re.match(
            r"q\[(\d+)\] = ([^,]+), k\[\1\] = ([^,]+), q×k = (\S+) \(play → farmer, head 2-3\)", text
        ).groups()  # type: ignore[union-attr]
        assert number(q) == pytest.approx(query[int(n) - 1], rel=6e-3)
        assert number(k) == pytest.approx(keys[2, int(n) - 1], rel=6e-3)
        assert number(product) == pytest.approx(query[int(n) - 1] * keys[2, int(n) - 1], rel=6e-3)
        value, most = (
            (number(k), np.abs(keys).max()) if x < along[8][0] else (number(product), np.abs(query * keys).max())
        )
        if abs(value) > most / 4:
            red, _, blue = pixel(shown, x + 3, y)
            assert (blue > red) == (value > 0), (text, red, blue)


def pixel(shown: Page, x: float, y: float) -> tuple[int, int, int]:
    """The colour at a place, with nothing pointed at."""
    shown.mouse.move(2, 2)
    shown.wait_for_timeout(50)
    found = shown.evaluate(
        """([x, y]) => { const canvas = document.querySelector(".attlas-stage canvas");
        const scale = canvas.width / canvas.getBoundingClientRect().width;
        return [...canvas.getContext("2d").getImageData(x * scale, y * scale, 1, 1).data]; }""",
        [x, y],
    )
    return found[0], found[1], found[2]


def test_the_order_of_neurons_by_key_and_by_click(open_page: Open) -> None:
    strand = scenes.strand()
    shown = open_page(page([one(strand)]), f"{WHERE}&query=3")
    press(shown, "o")
    address_has(shown, "order=number")
    y = row_of(shown, "→ farmer", 170)
    assert [re.search(r"q\[(\d+)\]", text)[1] for _, text in cells(shown, y)] == [str(n) for n in range(1, 9)] * 2  # type: ignore[index]
    along = range(120, 500, 10)
    heading = along[len(sweep(shown, [(x, 10) for x in along], until="order the neurons by contribution")) - 1]
    assert "order the neurons by contribution" in move(shown, heading, 10)
    box = shown.locator(".attlas-stage canvas").bounding_box()
    assert box
    after(shown, lambda: shown.mouse.click(box["x"] + heading, box["y"] + 10))
    address_has(shown, "order=", but=False)


def test_a_click_marks_a_key_and_a_neuron(open_page: Open) -> None:
    strand = scenes.strand()
    shown = open_page(page([one(strand)]), f"{WHERE}&query=3&order=number")
    y = row_of(shown, "→ farmer", 170)
    x, said = cells(shown, y)[4]
    box = shown.locator(".attlas-stage canvas").bounding_box()
    assert box
    after(shown, lambda: shown.mouse.click(box["x"] + x, box["y"] + y))
    address_has(shown, "key=2")
    address_has(shown, "neuron=4")
    move(shown, 2, -40)
    assert readout(shown) == said, "it stays when the pointer goes"
    after(shown, lambda: shown.mouse.click(box["x"] + x, box["y"] + y))
    address_has(shown, "neuron=", but=False)


def test_keys_that_cannot_be_seen(open_page: Open) -> None:
    strand = scenes.strand(Stream.DECODER)
    grouped = np.repeat(strand.key_vectors[:, ::2], 2, axis=1)  # type: ignore[index]
    scores = np.einsum("lhqd,lhkd->lhqk", strand.query_vectors, grouped) * strand.scaling[0]  # type: ignore[arg-type]
    weights = np.where(np.tril(np.ones((10, 10), bool)), np.exp(scores - scores.max(-1, keepdims=True)), 0)
    weights = (weights / weights.sum(-1, keepdims=True)).astype(np.float32)
    strand = replace(strand, weights=weights, key_vectors=grouped)
    shown = open_page(page([one(strand)]), f"view=neuron&layer={LAYER}&head=3&query=4")
    assert "Keys are shared by 2 heads each." in shown.locator(".attlas-notice").inner_text()
    rows = table(shown)
    assert [row["weight"] == "masked" for row in rows] == [key > 4 for key in range(10)]
    for key in range(5):
        expected = products(strand, 4, head=3)[key].sum()
        assert number(rows[key]["q·k"]) == pytest.approx(expected, rel=6e-3, abs=1e-4)
    row_of(shown, "She: masked", 150)
    press(shown, "[")
    best = order(contributions(strand, 4))
    assert int(re.search(r"most: (\d+)", readout(shown))[1]) - 1 == best[0]  # type: ignore[index]


def test_scores_with_a_bias_have_a_column(open_page: Open) -> None:
    strand = scenes.strand()
    bias = np.random.default_rng(1).normal(size=strand.weights.shape)
    scores = (np.log(strand.weights) + bias).astype(np.float32)
    weights = np.exp(scores) / np.exp(scores).sum(-1, keepdims=True)
    strand = replace(strand, scores=scores, weights=weights.astype(np.float32))
    rows = table(open_page(page([one(strand)]), f"{WHERE}&query=5"))
    for key, row in enumerate(rows):
        assert number(row["score"]) == pytest.approx(scores[LAYER, HEAD, 5, key], rel=6e-3, abs=1e-4)
        assert number(row["weight"]) == pytest.approx(weights[LAYER, HEAD, 5, key], rel=6e-3, abs=1e-6)


def test_norms_and_special_pieces_set_aside_and_always_pieces(open_page: Open) -> None:
    strand = scenes.strand()
    shown = open_page(page([one(strand)]), f"{WHERE}&query=4&measure=norm&special=aside&unit=word")
    keys = [key for key, piece in enumerate(scenes.WORDS) if not piece.startswith("[")]
    assert strand.lengths is not None
    norms = strand.weights[LAYER, HEAD, 4] * strand.lengths[LAYER, HEAD]
    rows = table(shown)
    assert [row["key"] for row in rows] == [scenes.SPOKEN[key] for key in keys]
    for key, row in zip(keys, rows, strict=True):
        assert number(row["norm share"]) == pytest.approx(norms[key] / norms[keys].sum(), rel=6e-3, abs=1e-6)
    assert "##ed attends to" in readout(shown)
    best = order(contributions(strand, 4, keys))
    assert int(re.search(r"most: (\d+)", readout(shown))[1]) - 1 == best[0]  # type: ignore[index]
    shown.keyboard.press("w")
    shown.wait_for_timeout(150)
    address_has(shown, "unit=word")


def test_hidden_queries_leave_the_weights(open_page: Open, tmp_path: Path) -> None:
    strand = scenes.strand(vectors=False)
    shown = open_page(page([one(strand)]), f"{WHERE}&query=2")
    rows = table(shown)
    assert list(rows[0]) == ["key", "weight"]
    assert number(rows[3]["weight"]) == pytest.approx(strand.weights[LAYER, HEAD, 2, 3], rel=6e-3, abs=1e-6)
    assert "keeps its softmax private" in svg(shown, tmp_path)
    press(shown, "ArrowDown")
    address_has(shown, "query=3")


def test_two_models_show_the_difference_of_their_weights(open_page: Open, tmp_path: Path) -> None:
    first, second = scenes.strand(), scenes.strand(seed=1)
    shown = open_page(page([one(first), one(second)]), f"{WHERE}&query=2&show=difference")
    gap = first.weights[LAYER, HEAD, 2] - second.weights[LAYER, HEAD, 2]
    for key, row in enumerate(table(shown)):
        assert number(row["difference"]) == pytest.approx(gap[key], rel=6e-3, abs=1e-6)
    assert "cannot be subtracted" in " ".join(re.findall(r">([^<>]+)</text>", svg(shown, tmp_path)))
    after(shown, lambda: shown.locator('[data-value="both"][data-name="show"]').click())
    assert shown.locator(".attlas-stage canvas").count() == 3
    beside = number(table(shown, 1)[4]["weight"])
    assert beside == pytest.approx(second.weights[LAYER, HEAD, 2, 4], rel=6e-3, abs=1e-6)


def svg(shown: Page, folder: Path) -> str:
    with shown.expect_download() as saved:
        shown.locator('[data-action="svg"]').click()
    saved.value.save_as(folder / "saved.svg")
    return (folder / "saved.svg").read_text(encoding="utf-8")


def test_the_picture_can_be_saved(open_page: Open, tmp_path: Path) -> None:
    shown = open_page(page([one(scenes.strand())]), f"{WHERE}&query=2")
    saved = svg(shown, tmp_path)
    assert saved.count("<image") == 3, "q, k and q × k, each as one picture"
    assert {"farmer", "q·k", "weight"} <= set(re.findall(r">([^<>]+)</text>", saved))


def test_a_long_text_shows_its_strongest_keys_at_once(open_page: Open, tmp_path: Path) -> None:
    long = scenes.reading(("[CLS]", *(f"w{at}" for at in range(498)), "[SEP]"))
    strand = scenes.strand(queries=long, width=64, seed=3)
    shown = open_page(page([one(strand)]), f"{WHERE}&query=250")
    assert "≈" in readout(shown), "so many numbers are rounded on their way"
    weights = strand.weights[LAYER, HEAD, 250]
    assert f"w{weights.argmax() - 1} ≈" in readout(shown)
    words = re.findall(r">([^<>]+)</text>", svg(shown, tmp_path))
    assert "the 120 strongest of 500 keys, in the order of the text" in words
    keys = words[words.index("key") + 1 :][:120]
    places = [long.pieces.index(key) for key in keys]
    assert places == sorted(places)
    assert set(np.argsort(-weights)[:60]) <= set(places)
    least = shown.evaluate(
        """async () => {
        const root = document.querySelector(".attlas");
        const times = [];
        for (let turn = 0; turn < 8; turn += 1) {
          const canvas = document.querySelector(".attlas-stage canvas");
          const box = canvas.getBoundingClientRect();
          const before = root.dataset.drawn;
          const start = performance.now();
          const place = { clientX: box.left + 20, clientY: box.top + 400 + 40 * turn, bubbles: true };
          canvas.dispatchEvent(new MouseEvent("click", place));
          while (root.dataset.drawn === before) await new Promise((done) => setTimeout(done, 1));
          times.push(performance.now() - start);
        }
        return Math.min(...times);
        }"""
    )
    assert least < 200
