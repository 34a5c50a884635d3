"""Every view on a BERT, a causal and a translation model, used as a person would, against the eager weights."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
from drawn import word_at
from pointing import address_has
from scenes import page, spoken, written

import twins
from attlas.capture import Subject, load
from attlas.capture.check import eager_weights
from attlas.ids import Stream
from attlas.models import bundled

if TYPE_CHECKING:
    from playwright.sync_api import Page

pytestmark = pytest.mark.browser
TEXT, TARGET = "The farmer offered apples to the housekeeper.", "Le fermier offrait des pommes."
REAL = {"bundled": None, "smollm2": "smollm2", "opus-mt-en-fr": "opus-mt-en-fr"}


def subject_of(name: str) -> Subject:
    if name in REAL:
        if bundled.resolve(REAL[name])[1] is None:
            pytest.skip(f"the model {name} is not on this machine")
        return load(REAL[name])
    return Subject.of(twins.model(name), twins.tokenizer(name in twins.CAUSAL), name)


def eager(subject: Subject, stream: Stream, target: str | None) -> Any:
    """The library's own eager attention, (layer, head, query, key), by another road than the seam."""
    batch = subject.batch([(TEXT, target) if target else TEXT])
    found = eager_weights(subject, batch)
    return np.stack([found[site][0].numpy() for site in subject.sites if site.stream is stream])


def said(shown: Page) -> str:
    shown.wait_for_timeout(200)
    return shown.locator(".attlas-readout").inner_text()


@pytest.mark.parametrize("name", ["bert", "llama", "marian", *REAL])
def test_all_views_show_what_the_eager_model_has(name: str, open_page: Callable[..., Page]) -> None:
    subject = subject_of(name)
    target = TARGET if subject.pieces.translating else None
    capture = subject.look(TEXT, target)
    stream = Stream.CROSS if target else subject.streams[0]
    weights = eager(subject, stream, target)
    queries = capture.queries_of(stream).pieces
    keys = [spoken(piece) for piece in capture.keys_of(stream).pieces]
    shown = open_page(page([capture.scene()], stream=stream.value))

    # Head view: second layer by a key, third head by a double click, a word by pointing at it.
    shown.keyboard.press("ArrowRight")
    shown.locator("[data-head='2']").dblclick()
    said(shown)
    shown.mouse.move(*word_at(shown, 3))
    row = weights[1, 2, 3]
    found = re.search(r"attends to (\S+) (\S+) ", said(shown))
    assert found is not None, said(shown)
    assert queries[3] in said(shown)
    assert (found[1], float(found[2])) == (keys[row.argmax()], pytest.approx(row.max(), rel=6e-3))
    shown.mouse.down()
    shown.mouse.up()
    shown.mouse.move(2, 2)
    assert "query=3" in shown.url or said(shown), "a click keeps it"

    # Matrix view: the same row, as a table.
    shown.locator("[data-view=matrix]").click()
    shown.keyboard.press("t")
    said(shown)
    cells = [line.split("\t") for line in shown.locator(".attlas-table tbody").inner_text().split("\n")]
    numbers = {cells[at][0]: cells[at][1] for at in range(len(cells)) if keys.count(cells[at][0]) == 1}
    assert numbers, cells
    for word, number in numbers.items():
        value = row[keys.index(word)]
        assert number == written(float(value)) or abs(float(number.replace("−", "-")) - value) < 6e-5, word

    # Neuron view: q.k, scaled, through a softmax, is the weight.
    shown.locator("[data-view=neuron]").click()
    shown.locator("[data-head='2']").click()
    said(shown)
    head = [cell.lower() for cell in shown.locator(".attlas-table thead").inner_text().split("\t")]
    cells = [line.split("\t") for line in shown.locator(".attlas-table tbody").inner_text().split("\n")]
    at = next(place for place, title in enumerate(head) if "weight" in title)
    assert {line[0] for line in cells} <= set(keys)
    told = {line[0]: line[at] for line in cells if keys.count(line[0]) == 1}
    for word, number in told.items():
        value = row[keys.index(word)]
        assert (
            (number == "masked" and value == 0)
            or number.replace("≈", "") == written(float(value))
            or (float(number.replace("−", "-")) == pytest.approx(value, rel=6e-3))
        ), word

    # Model view: the head that was chosen is opened by a key.
    shown.locator("[data-view=model]").click()
    said(shown)
    shown.locator(".attlas").focus()
    shown.keyboard.press("Enter")
    said(shown)
    address_has(shown, "open=yes")
    assert shown.locator(".attlas-stage canvas").count() == 1
