"""Where a viewer opens when nobody has chosen anything, against a plain loop and planted heads."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import TYPE_CHECKING

import numpy as np
import pytest
from pointing import address_has
from scenes import reading, strand

from attlas.ids import Stream
from attlas.views import Scene, Strand, page, show
from attlas.views.payload import pack
from attlas.views.telling import start_of, surplus

if TYPE_CHECKING:
    from playwright.sync_api import Page

TEXT = reading(tuple(f"w{at}" for at in range(12)))


def by_hand(made: Strand, layer: int, head: int) -> float:
    """The same by a loop over every link."""
    weights = made.weights[layer, head].astype(float)
    queries, keys = made.queries.documents, made.keys.documents
    causal, cross = made.stream is Stream.DECODER, made.stream is Stream.CROSS
    asked = [q for q, document in enumerate(queries) if document >= 0]
    sums = []
    for q in asked:
        seen = [k for k in range(len(keys)) if not causal or k <= q]
        if len(seen) < 3:
            continue
        found = 0.0
        for k in seen:
            if keys[k] < 0 or (not cross and abs(k - q) <= 1):
                continue
            usual = np.mean([weights[other, k] for other in asked if not causal or k <= other])
            found += max(0.0, weights[q, k] - 2 * max(1 / len(seen), float(usual)))
        sums.append(found)
    return float(np.mean(sums))


@pytest.mark.parametrize("stream", Stream)
def test_the_surplus_is_that_of_a_loop(stream: Stream) -> None:
    source = reading()
    made = strand(
        stream, reading(("Le", "fermier", "joua", "[SEP]", "hier")) if stream is Stream.CROSS else source, source
    )
    found = surplus(made)
    for layer in range(3):
        for head in range(4):
            assert found[layer, head] == pytest.approx(by_hand(made, layer, head), abs=1e-6)


def planted(**heads: np.ndarray) -> Strand:
    """Heads of one layer: an even one, and those given as matrices."""
    even = np.full((12, 12), 1 / 12)
    return Strand(Stream.ENCODER, TEXT, TEXT, np.stack([even, *heads.values()])[None].astype(np.float32))


def test_heads_that_do_the_same_on_any_text_are_passed_by() -> None:
    previous = np.eye(12, k=-1)
    previous[0, 0] = 1
    resting = np.zeros((12, 12))
    resting[:, 4] = 1
    content = np.full((12, 12), 0.5 / 12)
    content[np.arange(12), (np.arange(12) * 5 + 3) % 12] += 0.5
    made = planted(previous=previous, resting=resting, content=content)
    assert start_of(Scene("m", ("t",), (made,))) == {"stream": "encoder", "layer": 0, "head": 3, "heads": [3]}


def test_weight_on_special_pieces_does_not_count() -> None:
    text = reading(("[CLS]", *(f"w{at}" for at in range(10)), "[SEP]"))
    special = np.zeros((12, 12))
    special[np.arange(12), np.where(np.arange(12) % 2, 0, 11)] = 1
    weak = np.full((12, 12), 1 / 12)
    weak[3, 8] = 0.4
    weights = np.stack([special, weak])[None].astype(np.float32)
    assert start_of(Scene("m", ("t",), (Strand(Stream.ENCODER, text, text, weights),)))["head"] == 1


def test_a_translation_opens_on_cross_attention_and_joint_norms_nowhere() -> None:
    source, target = reading(("The", "farmer", "slept", "now")), reading(("Le", "fermier", "dormait", "."))
    encoder, cross = strand(Stream.ENCODER, source), strand(Stream.CROSS, target, source, seed=1)
    assert start_of(Scene("m", ("a", "b"), (encoder, cross)))["stream"] == "cross"
    joint = Strand(Stream.ENCODER, source, source, encoder.weights[:, :1], joint="joint norm")
    assert start_of(Scene("m", ("a",), (joint,))) == {}


def test_numbers_of_layers_and_heads_are_the_models() -> None:
    made = strand(queries=TEXT, layers=1, heads=2)
    some = Strand(made.stream, TEXT, TEXT, made.weights, (4,), (2, 7))
    start = start_of(Scene("m", ("t",), (some,)))
    assert start["layer"] == 4
    assert start["head"] in (2, 7)


def test_a_widget_is_told_where_it_opens() -> None:
    pytest.importorskip("anywidget", reason="the package anywidget is not installed")
    made = Scene("m", ("t",), (strand(queries=TEXT),))
    start = start_of(made)
    assert show([made], widget=True).selection == {"view": "head", **start}
    assert show([made], kind="model", widget=True).selection["heads"] is None
    assert show([made], widget=True, layer="1").selection["heads"] is None


@pytest.mark.browser
def test_a_page_opens_there_unless_something_is_chosen(open_page: Callable[..., Page]) -> None:
    made = Scene("m", ("t",), (strand(queries=TEXT, layers=4, heads=5),))
    start = start_of(made)
    assert json.loads(json.dumps(pack([made]).header["start"])) == start
    label = f"{start['layer'] + 1}-{start['head'] + 1}"
    shown = open_page(page([made]))
    pressed = [chip.get_attribute("data-head") for chip in shown.locator("[data-head][aria-pressed=true]").all()]
    assert pressed == [str(start["head"])]
    assert shown.locator("select[data-name=layer]").input_value() == str(start["layer"])
    assert f"Opened at head {label}" in shown.locator(".attlas-notice").inner_text()
    shown.locator("[data-heads=all]").click()
    shown.locator("[data-step='1'], [data-step='-1']").locator("visible=true").locator(
        ":scope:not([disabled])"
    ).first.click()
    assert "Opened at" not in shown.locator(".attlas-notice").inner_text()

    shown = open_page(page([made]), instead=shown)
    shown.evaluate("location.hash = 'view=text'")
    shown.wait_for_function("() => document.querySelector('.attlas').dataset.view === 'text'")
    assert shown.locator("select[data-name=layer]").input_value() == str(start["layer"]), "an address without a head"
    shown = open_page(page([made]), "layer=2", instead=shown)
    assert len(shown.locator("[data-head][aria-pressed=true]").all()) == 5, "a choice is a choice"
    shown = open_page(page([made], kind="model"), instead=shown)
    shown.wait_for_function("() => document.querySelectorAll('.attlas-table tbody tr').length === 20")


@pytest.mark.browser
def test_portraits_stand_beside_a_head_and_filter_heads(open_page: Callable[..., Page]) -> None:
    told = {
        "1-2": "It looks at the previous piece.",
        "2-1": "An induction head: what <b>followed</b> before.",
        "3-4": "Rests.",
    }
    made = Scene("m", ("t",), (strand(queries=TEXT),)).with_portraits({Stream.ENCODER: told})
    shown = open_page(page([made], layer=0, heads=[1]))
    assert "Head 1-2 over a corpus: It looks at the previous piece." in shown.locator(".attlas-notice").inner_text()
    shown.locator("[data-view=model]").click()
    shown.wait_for_function("() => document.querySelectorAll('.attlas-table tbody tr').length === 12")
    shown.locator("[data-name=words]").fill("Induction followed")
    shown.locator("[data-name=words]").press("Enter")
    shown.wait_for_function("() => document.querySelectorAll('.attlas-table tbody tr').length === 1")
    assert shown.locator(".attlas-table tbody td").first.inner_text() == "2-1"
    address_has(shown, "words=")
    shown.locator("[data-name=words]").fill("")
    shown.locator("[data-name=words]").press("Enter")
    shown.wait_for_function("() => document.querySelectorAll('.attlas-table tbody tr').length === 12")
