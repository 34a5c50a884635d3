"""The views of joint norms in a real browser: what they write, beside vectors that are built one by one."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

import numpy as np
import pytest
from scenes import page, written

import twins
from attlas.capture import Capture, Subject
from attlas.capture.mixing import STEPS
from attlas.ids import Stream
from joint_by_hand import joint_by_hand

if TYPE_CHECKING:
    from playwright.sync_api import Page

    Open = Callable[..., Page]

pytestmark = pytest.mark.browser
TEXT = "The farmers forgot the unbelievably stormy bridges."


@pytest.fixture(scope="module")
def seen() -> tuple[Capture, dict[str, np.ndarray]]:
    """A capture, and the joint norms of its steps by hand."""
    subject = Subject.of(twins.model("bert"), twins.tokenizer(False), "bert")
    capture = subject.look(TEXT, joint=STEPS, hidden_states=True)
    by_hand = joint_by_hand(subject, capture, Stream.ENCODER)
    return capture, {step: norms.numpy() for step, norms in by_hand.items()}


def cells(shown: Page) -> list[list[str]]:
    """The rows of the table that stands behind the picture."""
    rows = shown.locator(".attlas-table tbody tr").all()
    return [row.locator("th, td").all_inner_texts() for row in rows]


@pytest.mark.parametrize("step", STEPS)
def test_head_view_writes_shares_and_norms(
    open_page: Open, seen: tuple[Capture, dict[str, np.ndarray]], step: str
) -> None:
    capture, by_hand = seen
    shown = open_page(page([capture.scene(step)]), "layer=1&query=3&table=yes")
    norms = by_hand[step][1]
    shares = norms[3] / norms[3].sum()
    assert [row[-1] for row in cells(shown)] == [written(share) for share in shares]
    best = int(shares.argmax())
    told = f"{capture.source.pieces[best]} {written(shares[best])} (joint norm {written(norms[3, best])})"
    readout = shown.locator(".attlas-readout").inner_text()
    assert told in readout
    assert readout.endswith("(layer 2, all heads)")
    caption = shown.locator("figcaption").inner_text()
    assert caption.startswith("joint norm")
    assert caption.endswith("as a share of its row · layer 2, all heads")
    assert ("residual" in caption, "normalised" in caption) == (step != "attention", step == "normalised")


def test_between_words_and_with_special_pieces_aside(
    open_page: Open, seen: tuple[Capture, dict[str, np.ndarray]]
) -> None:
    capture, by_hand = seen
    groups = capture.source.groups
    shown = open_page(
        page([capture.scene("residual")], kind="matrix"), "layer=2&unit=word&special=aside&query=1&table=yes"
    )
    norms, words = by_hand["residual"][2], [word for word in capture.source.words if word >= 0]
    assert len(set(words)) < len(words), "some word has several pieces"
    keys = list(dict.fromkeys(group for group, word in zip(groups, capture.source.words, strict=True) if word >= 0))
    rows = norms[groups == groups[1]]
    sums = np.array([rows[:, groups == key].sum(1).mean() for key in keys])
    assert [row[-1] for row in cells(shown)] == [written(share) for share in sums / sums.sum()]


def test_model_view_has_one_picture_for_each_layer(
    open_page: Open, seen: tuple[Capture, dict[str, np.ndarray]]
) -> None:
    capture, by_hand = seen
    shown = open_page(page([capture.scene("attention")], kind="model"), "table=yes&layer=2&open=yes")
    norms = by_hand["attention"]
    shares = norms / norms.sum(-1, keepdims=True)
    shown.wait_for_function("document.querySelectorAll('.attlas-table tbody tr').length === 3")
    assert [row[0] for row in cells(shown)] == ["layer 1", "layer 2", "layer 3"]
    assert [row[-1] for row in cells(shown)] == [written(layer.max()) for layer in shares]
    assert "Every picture is a layer" in shown.locator(".attlas-hint").inner_text()
    assert shown.locator(".attlas-readout").inner_text().startswith("layer 3, all heads: strongest link")


def test_there_is_no_choice_of_heads_measures_or_neurons(
    open_page: Open, seen: tuple[Capture, dict[str, np.ndarray]]
) -> None:
    shown = open_page(page([seen[0].scene("normalised")]), "view=neuron&measure=norm&heads=2&head=3")
    assert shown.locator("[data-name=view]").all_inner_texts() == ["Head", "Model", "Matrix", "Text"]
    assert shown.locator("[data-name=view][aria-pressed=true]").inner_text() == "Head"
    assert shown.locator("[data-name=measure]").count() == 0
    assert shown.locator(".attlas-heads").count() == 0
    shown.keyboard.press("3")
    shown.wait_for_selector(".attlas[data-view=matrix]")
    for key in ("m", "a", "]", "ArrowRight"):
        shown.keyboard.press(key)
    assert shown.locator("select[data-name=layer]").input_value() == "1"


def test_two_texts_are_compared(open_page: Open, seen: tuple[Capture, dict[str, np.ndarray]]) -> None:
    capture, by_hand = seen
    shown = open_page(
        page([capture.scene("residual"), capture.scene("attention")]), "show=difference&query=2&table=yes"
    )
    one, other = (by_hand[step][0, 2] / by_hand[step][0, 2].sum() for step in ("residual", "attention"))
    found = [float(row[-1].replace("−", "-")) for row in cells(shown)]
    assert found == pytest.approx(one - other, abs=1e-3)
