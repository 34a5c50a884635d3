"""Views of layers that differ in their heads or widths, and of hybrids, in a real browser."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np
from scenes import page, strand

from attlas.ids import Stream
from attlas.views import Scene

if TYPE_CHECKING:
    from playwright.sync_api import Page


def scene() -> Scene:
    """Three layers of two, four and three heads, of eight, eight and five neurons: the blocks 2, 4 and 7."""
    whole = strand(Stream.ENCODER)
    arrays = {name: np.array(getattr(whole, name)) for name in ("weights", "lengths", "query_vectors", "key_vectors")}
    for array in arrays.values():
        array[0, 2:] = array[2, 3:] = np.nan
    arrays["query_vectors"][2, :, :, 5:] = arrays["key_vectors"][2, :, :, 5:] = 0
    return Scene("uneven", ("a text",), (replace(whole, **arrays, widths=(8, 8, 5), blocks=(1, 3, 6)),))


def test_each_layer_offers_the_heads_that_it_has(open_page: Callable[..., Page]) -> None:
    shown = open_page(page([scene()], kind="head"), "layer=1&head=3")
    chips = shown.locator(".attlas-chip")
    assert chips.count() == 4
    assert shown.locator("select[data-name=layer] option").all_inner_texts() == [
        "1 (block 2)",
        "2 (block 4)",
        "3 (block 7)",
    ]
    shown.locator("select[data-name=layer]").select_option("0")
    shown.wait_for_function("document.querySelectorAll('.attlas-chip').length === 2")


def test_heads_that_are_not_there_are_in_no_mean(open_page: Callable[..., Page]) -> None:
    shown = open_page(page([scene()], kind="matrix"), "layer=0&query=1&key=1&table=yes")
    assert "(mean of 2 heads, layer 1 (block 2))" in shown.locator(".attlas-readout").inner_text()
    expected = np.nanmean(scene().strands[0].weights[0, :, 1, 1])
    written = shown.locator(".attlas-readout").inner_text().split("(")[0].split()[-1]
    assert abs(float(written) - expected) < 1e-3


def test_the_model_view_leaves_their_places_empty(open_page: Callable[..., Page]) -> None:
    shown = open_page(page([scene()], kind="model"), "layer=1&head=3&table=yes")
    shown.wait_for_function("document.querySelectorAll('.attlas-table tbody tr').length === 9")
    labels = shown.locator(".attlas-table tbody tr > :first-child").all_inner_texts()
    assert labels == ["1-1", "1-2", "2-1", "2-2", "2-3", "2-4", "3-1", "3-2", "3-3"]
    assert shown.locator(".attlas-readout").inner_text().startswith("head 2-4 (block 4)")
    shown.locator(".attlas").press("ArrowUp")
    shown.wait_for_function("document.querySelector('.attlas-readout').textContent.startsWith('head 1-2')")
    shown.locator(".attlas").press("ArrowRight")  # the layer ends here
    shown.wait_for_timeout(100)
    assert shown.locator(".attlas-readout").inner_text().startswith("head 1-2")


def test_narrower_layers_have_fewer_neurons(open_page: Callable[..., Page]) -> None:
    for layer, width in ((1, 8), (2, 5)):
        shown = open_page(page([scene()], kind="neuron"), f"layer={layer}&head=0&query=1")
        told = shown.locator(".attlas-readout").inner_text()
        named = [int(part.split(" (")[0]) for part in told.split("contribute most: ")[1].split(", ")[:4]]
        assert max(named) <= width
        assert told.endswith(f"(head {layer + 1}-1 (block {(0, 4, 7)[layer]}))")
