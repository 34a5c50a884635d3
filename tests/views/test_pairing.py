"""Heads of two models, paired: by number, by likeness against a plain loop, or not at all."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

import numpy as np
import pytest
from drawn import word_at
from scenes import page, reading, scene, spoken, strand, written

from attlas.views import Scene, Strand
from attlas.views.pairing import alike, pairs_of

if TYPE_CHECKING:
    from playwright.sync_api import Page

SIX = ("The", "farmer", "play", "##ed", "She", "slept")
SPLIT = ("[CLS]", "The", "far", "##mer", "played", "She", "sle", "##pt", "[SEP]")


def words(made: Strand, layer: int, head: int) -> np.ndarray:
    """Attention between words by a loop, special pieces left out."""
    weights = made.weights[layer, head].astype(float)
    count = len(made.queries.spelled)
    found = np.zeros((count, count))
    for q in range(count):
        rows = [at for at, word in enumerate(made.queries.words) if word == q]
        for k in range(count):
            columns = [at for at, word in enumerate(made.keys.words) if word == k]
            found[q, k] = np.mean([weights[row, columns].sum() for row in rows])
        found[q] /= found[q].sum()
    return found


def test_likeness_is_that_of_a_loop() -> None:
    a, b = strand(queries=reading(SIX), layers=2, heads=2), strand(queries=reading(SPLIT), layers=1, heads=3, seed=3)
    found = alike(a, b)
    for layer in range(2):
        for head in range(2):
            for other in range(3):
                both = np.minimum(words(a, layer, head), words(b, 0, other)).sum(-1).mean()
                assert found[layer, head, 0, other] == pytest.approx(both, abs=1e-6)
    pairs = pairs_of(Scene("a", ("t",), (a,)), Scene("b", ("t",), (b,)))["encoder"]
    assert pairs["by"] == "likeness"
    best = found[1, 0, 0].argmax()
    assert pairs["of"]["2-1"] == [0, best, round(float(found[1, 0, 0, best]), 4)]


def test_a_head_finds_itself_among_others() -> None:
    a = strand(queries=reading(SIX), layers=2, heads=3)
    order = np.random.default_rng(1).permutation(6)
    shuffled = a.weights.reshape(6, 6, 6)[order].reshape(1, 6, 6, 6)
    b = Strand(a.stream, a.queries, a.keys, shuffled)
    of = pairs_of(Scene("a", ("t",), (a,)), Scene("b", ("t",), (b,)))["encoder"]["of"]
    found = [of[f"{at // 3 + 1}-{at % 3 + 1}"][1] for at in range(6)]
    assert [int(order[place]) for place in found] == list(range(6))
    assert all(pair[2] == 1 for pair in of.values())


def test_the_same_make_is_paired_by_number_and_other_words_not_at_all() -> None:
    assert pairs_of(scene("a"), scene("b", seed=2))["encoder"] == {"by": "number"}
    short = Scene("b", ("t",), (strand(queries=reading(("The", "farmer")), heads=2),))
    found = pairs_of(scene("a"), short)["encoder"]
    assert found["by"] == "none"
    assert "other words" in found["why"]


def said(shown: Page) -> list[str]:
    shown.wait_for_timeout(150)
    return shown.locator(".attlas-readout").inner_text().split("\n")


@pytest.mark.browser
def test_paired_heads_stand_beside_each_other_and_are_subtracted(open_page: Callable[..., Page]) -> None:
    a, b = strand(queries=reading(SIX), layers=2, heads=2), strand(queries=reading(SIX), layers=3, heads=4, seed=3)
    pair = pairs_of(Scene("a", ("t",), (a,)), Scene("b", ("t",), (b,)))["encoder"]["of"]["2-1"]
    html = page([Scene("a", ("t",), (a,)), Scene("b", ("t",), (b,))], layer=1, head=0, heads=[0])
    shown = open_page(html, "query=1")
    notice = shown.locator(".attlas-notice").inner_text()
    label = f"{pair[0] + 1}-{pair[1] + 1}"
    assert f"Head 2-1 of A is paired with {label} of B: {written(pair[2])} of their weight" in notice
    lines = said(shown)
    row = b.weights[pair[0], pair[1], 1]
    assert f"farmer attends to {SIX[int(row.argmax())]} {written(float(row.max()))}" in lines[1]
    assert lines[1].endswith(f"(head {label})")
    gap = a.weights[1, 0, 1] - row
    most = int(np.abs(gap).argmax())
    assert f"{spoken(SIX[most])} {written(float(gap[most]))}" in lines[2]
    for view in ("model", "matrix", "neuron", "text"):
        shown.locator(f"[data-view={view}]").click()
        shown.wait_for_timeout(200)
        assert shown.locator(".attlas-stage canvas").count() >= 2, view


@pytest.mark.browser
def test_no_difference_is_offered_of_other_words(open_page: Callable[..., Page]) -> None:
    other = Scene("b", ("t",), (strand(queries=reading(("The", "farmer")), heads=2),))
    shown = open_page(page([scene("a"), other], heads=[1]))
    assert shown.locator("[data-name=show][data-value=difference]").is_disabled()
    assert shown.locator(".attlas-stage figure").count() == 2
    assert "no difference is offered" in shown.locator(".attlas-notice").inner_text()
    word_at(shown, 0)
