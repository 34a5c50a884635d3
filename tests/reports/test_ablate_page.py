"""The page of an ablation: what its sentences say, and that its charts are drawn."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from invented_ablate import ablate_result

from attlas.reports.ablate import ablate_page
from attlas.reports.ablate_findings import Findings

if TYPE_CHECKING:
    from playwright.sync_api import Page


def findings(**options) -> list:
    tables = {name: table.to_pylist() for name, table in ablate_result(**options).tables.items()}
    return Findings(tables["whole"][0], tables["ablation"], tables["survivors"], tables["correlation"]).all()


def test_findings_are_computed_from_the_tables() -> None:
    heads, extremes, survivors, importance, other = findings()
    assert "<b>2</b> of 12 heads matter to the accuracy: cutting 1 makes it worse, cutting 1 makes it" in heads.text
    assert "<b>2</b> of 12 heads matter to the loss" in heads.text
    assert "8 of 96" in heads.published
    assert "<b>1-1</b>: accuracy goes from .900 to <b>.700</b> (−.220 to −.180), the loss changes by +.100" in (
        extremes.text
    )
    assert "gains most is 2-2: goes from .900 to <b>1.00</b>." in extremes.text
    assert "<b>2</b> of 3 layers lose no accuracy" in survivors.text
    assert "<b>layer 3 of the encoder</b>: with 3-2 alone, accuracy goes from .900 to <b>.600</b>" in survivors.text
    assert "13.56" in survivors.published
    assert "much the same order" in importance.text
    assert "<b>.70</b>, .60 to .80; with that of accuracy .40" in importance.text
    assert "<b>.65</b> (.55 to .75) for accuracy, and .50" in other.text


def test_the_page_says_which_texts_did_what_and_escapes_names() -> None:
    page = ablate_page(ablate_result(name="<b>bold"))
    assert "What does &lt;b&gt;bold lose without each head?" in page
    assert (
        "Survivors were chosen on one half of the documents (190 texts); all scores are from the other half" in page
    )
    assert "(always the most frequent label: .600)" in page
    assert "On letters its accuracy is" in page
    alone = ablate_page(ablate_result(other=False))
    assert "figure-other" not in alone


@pytest.mark.browser
def test_every_chart_is_drawn_and_can_be_changed(open_report: Callable[[Path], Page], tmp_path: Path) -> None:
    ablate_result(("encoder", "cross")).save(tmp_path / "out")
    page = open_report(tmp_path / "out")
    drawn = {
        "map": (".mark-rect.role-mark path", 12 + 2),  # cells, and a frame for each that is significant
        "sorted": (".mark-symbol.role-mark path", 12),
        "survivors": (".mark-symbol.role-mark path", 3),
        "importance": (".mark-symbol.role-mark path", 12),
        "other": (".mark-symbol.role-mark path", 12),
    }
    for key, (marks, count) in drawn.items():
        assert page.locator(f"#figure-{key} svg {marks}").count() == count, key
    cells = page.locator("#figure-map")
    assert "−.20" in cells.locator("svg .mark-text.role-mark text").all_text_contents()
    cells.locator("select[name=show]").select_option("loss")
    assert ".10" in cells.locator("svg .mark-text.role-mark text").all_text_contents()
    names = page.locator("#figure-survivors svg .mark-text.role-mark text").all_text_contents()
    assert names == ["1-4", "2-3", "3-2"]
    page.locator("#streams button", has_text="cross").click()
    page.wait_for_selector("html[data-ready=true]")
