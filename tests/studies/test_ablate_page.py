"""The page of an ablation: what its sentences say, that they are true, and that its charts are drawn."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from invented_ablate import ablate_result

from attlas.pages import Tables, holds
from attlas.pages.html import html_page
from attlas.pages.laws import check_page, claims_of
from attlas.store import Result
from attlas.studies.ablate.page import PAGE

if TYPE_CHECKING:
    from playwright.sync_api import Page


def findings(result: Result) -> list[str]:
    return [str(finding.text) for finding in PAGE.found(Tables(result, PAGE.schemas, PAGE.derived))]


@pytest.mark.parametrize("other", [True, False])
@pytest.mark.parametrize("streams", [("encoder",), ("encoder", "cross")])
def test_page_and_result_fit(streams: tuple[str, ...], other: bool) -> None:
    check_page(PAGE, ablate_result(streams, other=other))


def test_findings_are_computed_from_the_tables() -> None:
    heads, loss, gains, survivors, importance, other, here, there, texts = findings(ablate_result())
    assert heads.startswith(
        "2 of 12 heads matter at p < 0.01 (Holm's correction) to the accuracy of 0.90 (always the"
    )
    assert "most frequent label: 0.60), 1 for the worse and 1 for the better when cut; the cut" in heads
    assert heads.endswith("the cut that costs most is 1-1: −0.20 (−0.22 to −0.18).")
    assert "2 of 12 heads matter to the loss" in loss
    assert "gains most is 2-2: accuracy goes from 0.90 to 1.00 (+0.080 to +0.12), the loss changes by −0.050" in gains
    assert "2 of 3 layers lose no accuracy" in survivors
    assert "layer 3 of the encoder: with 3-2 alone, accuracy goes from 0.90 to 0.60" in survivors
    assert "much the same order" in importance
    assert "0.70, 0.60 to 0.80; with that of accuracy 0.40" in importance
    assert "On letters" in other
    assert "0.65 (0.55 to 0.75) for accuracy and 0.50" in other
    assert "2 heads matter here, 2 there, and 2 on both" in other
    assert "On a book the whole model's accuracy is 0.90 (always the most frequent label: 0.60), its loss" in here
    assert "On letters the whole model's accuracy is 0.90" in there
    assert texts == (
        "Survivors were chosen on one half of the documents (190 texts); all scores are from the other half."
    )


@pytest.mark.parametrize("table", ["ablation", "survivors"])
def test_claims_fail_where_the_tables_say_something_else(table: str) -> None:
    result = ablate_result()
    claims = claims_of(PAGE, result)
    turned = dict(result.tables)
    columns = turned[table].to_pydict()
    columns["change"] = [-value for value in columns["change"]]
    turned[table] = columns
    tables = Tables(Result(result.manifest, turned), PAGE.schemas, PAGE.derived)
    drawn = {"ablation": "effects", "survivors": "left"}[table]
    false = [claim for claim in claims if not holds(claim, tables)]
    assert {claim.table for claim in false} >= {drawn}
    assert {"largest", "value"} <= {claim.kind for claim in false if claim.table == drawn}


def test_where_no_cut_costs_any_score_the_answer_is_about_the_loss() -> None:
    result = ablate_result(other=False)
    still = result.tables["ablation"].to_pydict()
    still |= {"change": [0.0] * 12, "score": [0.9] * 12, "p_corrected": [1.0] * 12}
    result = Result(result.manifest, {**result.tables, "ablation": still})
    check_page(PAGE, result)
    answer = findings(result)[0]
    assert answer.startswith("0 of 12 heads matter at p < 0.01")
    assert answer.endswith("and 2 to the loss; the loss rises most without 1-1: +0.10 (+0.080 to +0.12).")


def test_a_model_that_does_not_do_the_task_is_warned_of_and_names_are_escaped() -> None:
    page = html_page(PAGE, ablate_result(name="<b>bold"))
    assert "What does &lt;b&gt;bold lose without each head?" in page
    assert "does not do this task" not in page
    result = ablate_result(other=False)
    whole = result.tables["whole"].to_pydict() | {"chance": [0.95]}
    poor = Result(result.manifest, {**result.tables, "whole": whole})
    assert "The model does not do this task: its accuracy of 0.90" in html_page(PAGE, poor)
    assert "figure-other-score" not in html_page(PAGE, poor)


@pytest.mark.browser
def test_every_chart_is_drawn_and_can_be_changed(open_report: Callable[[Path], Page], tmp_path: Path) -> None:
    ablate_result(("encoder", "cross")).save(tmp_path / "out")
    page = open_report(tmp_path / "out")
    drawn = {
        "map": (".mark-rect.role-mark path", 12 + 12 + 2),  # the grid, cells, and frames where it is significant
        "sorted": (".mark-symbol.role-mark path", 12),
        "left-score": (".mark-symbol.role-mark path", 3),
        "left-loss": (".mark-symbol.role-mark path", 3),
        "gradients": (".mark-symbol.role-mark path", 12),
        "other-score": (".mark-symbol.role-mark path", 12),
        "other-loss": (".mark-symbol.role-mark path", 12),
    }
    for key, (marks, count) in drawn.items():
        assert page.locator(f"#figure-{key} svg {marks}").count() == count, key
    cells = page.locator("#figure-map")
    assert "−.20" in cells.locator("svg .mark-text.role-mark text").all_text_contents()
    cells.locator("select[name=show]").select_option("change of loss")
    assert ".10" in cells.locator("svg .mark-text.role-mark text").all_text_contents()
    names = page.locator("#figure-left-score svg .role-axis-label text").all_text_contents()
    assert [name for name in names if name in ("1-4", "2-3", "3-2")] == ["1-4", "2-3", "3-2"]
    page.locator("#streams button", has_text="cross").click()
    page.wait_for_selector("html[data-ready=true]")
