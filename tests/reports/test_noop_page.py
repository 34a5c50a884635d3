"""The page of a no-op test: what its sentences say, and that its charts are drawn."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from invented_noop import noop_result

from attlas.reports.noop import noop_page
from attlas.reports.noop_findings import Layers, findings

if TYPE_CHECKING:
    from playwright.sync_api import Page


def test_findings_are_computed_from_the_tables() -> None:
    result = noop_result()
    layers, heads = Layers(result.tables["noop_layers"].to_pylist()), result.tables["noop"].to_pylist()
    assert layers.resting("encoder") == "sep"
    rests, fades, parked, rides, rest = findings(layers, heads, "encoder")
    assert "Heads rest on [SEP]: it takes <b>.60</b> of the weight in layers 1–4" in rests.text
    assert "<b>.54</b> times" in rests.text
    assert "the loss depends less on it" in rests.text
    assert "under <b>half</b> from layer 2 on, under <b>a quarter</b> from layer 3 on" in fades.text
    assert "under <b>a tenth</b> in the last layer; the untrained twin's never stays under half" in fades.text
    assert "layer 5" in fades.published
    assert "<b>12</b> of 12 heads put more than half" in parked.text
    assert "in <b>9</b> of them" in parked.text
    assert ".60 of the weight, <b>.07</b> of the norm ‖αf(x)‖ and <b>.30</b>" in rides.text
    assert "(untrained twin: .10, .11 and .10)" in rides.text
    assert "periods and commas 1.00 (1.00)" in rest.text


def test_a_trained_head_is_shown_beside_the_majority_and_names_are_escaped() -> None:
    page = noop_page(noop_result(majority=0.17, name="<b>bold"))
    assert "Does &lt;b&gt;bold do nothing where its heads rest?" in page
    assert "the most frequent tag (NOUN) would be right in 17.0 %" in page.replace("\n", " ")
    assert "the untrained twin's is 2.70 (20.0 % right)" in page
    assert "universal parts of speech" in page
    assert "majority" not in noop_page(noop_result())


def test_older_results_without_norms_have_a_page_that_does_not_speak_of_them() -> None:
    old = noop_result(norms=False)
    layers, heads = Layers(old.tables["noop_layers"].to_pylist()), old.tables["noop"].to_pylist()
    assert ".60 of the weight and <b>.30</b>" in findings(layers, heads, "encoder")[3].text
    page = noop_page(old)
    assert "share of norm" not in page
    assert "<dt>norm</dt>" not in page
    assert "<dt>norm</dt>" in noop_page(noop_result())


@pytest.mark.browser
def test_every_chart_is_drawn_and_can_be_changed(open_report: Callable[[Path], Page], tmp_path: Path) -> None:
    noop_result(("encoder", "cross")).save(tmp_path / "out")
    page = open_report(tmp_path / "out")
    drawn = {
        "layers-class": (".mark-line.role-mark path", 2 * 4),
        "layers-place": (".mark-line.role-mark path", 2 * 4),
        "relative-class": (".mark-line.role-mark path", 2 * 3),
        "relative-place": (".mark-area.role-mark path", 3),
        "weights": (".mark-symbol.role-mark path", 12),
        "map": (".mark-rect.role-mark path", 12),
    }
    for key, (marks, count) in drawn.items():
        assert page.locator(f"#figure-{key} svg {marks}").count() == count, key
    lines = page.locator("#figure-layers-class")
    before = lines.locator("svg .role-axis-label text").all_text_contents()
    lines.locator("select[name=axis]").select_option("even")
    assert lines.locator("svg .role-axis-label text").all_text_contents() != before
    lines.locator("select[name=show]").select_option("paid")
    heads = page.locator("#figure-map")
    assert heads.locator("select[name=keys]").input_value() == "sep"
    assert "1.5" in heads.locator("svg .mark-text.role-mark text").all_text_contents()
    heads.locator("select[name=show]").select_option("weight")
    assert set(heads.locator("svg .mark-text.role-mark text").all_text_contents()) == {".60"}
    heads.locator("select[name=show]").select_option("norm")
    assert set(heads.locator("svg .mark-text.role-mark text").all_text_contents()) == {".07"}
    heads.locator("select[name=show]").select_option("weight")
    heads.locator("select[name=who]").select_option("twin")
    assert set(heads.locator("svg .mark-text.role-mark text").all_text_contents()) == {".10"}
    lines = page.locator("#table tbody tr").all()
    sep = next(line for line in lines if "[SEP]" in line.inner_text()).locator("td").all_inner_texts()
    assert sep[3:5] == [".60", ".07"]
    page.locator("#streams button", has_text="cross").click()
    page.wait_for_selector("html[data-ready=true]")
