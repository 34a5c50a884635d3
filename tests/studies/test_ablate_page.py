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
from attlas.pages.terminal import print_page
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
        "2 of 12 heads matter at p < 0.01 (Holm's correction) to the accuracy of 0.90 (always giving the"
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
    assert (
        "On a book the whole model's accuracy is 0.90 (always giving the most frequent label: 0.60), its loss" in here
    )
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


NOT_SHOWN = "The model has not shown that it can do this task: its accuracy of 0.9"


def poor(gain_low: float | None = -0.03, **more: list[object]) -> Result:
    """The same result of a model whose accuracy cannot be told from chance."""
    result = ablate_result(other=False)
    whole = result.tables["whole"].to_pydict() | {
        "chance": [0.88],
        "gain": [0.02],
        "gain_high": [0.07],
        "units": [200],
    }
    whole |= {"gain_low": [gain_low], **more}
    return Result(result.manifest, {**result.tables, "whole": whole})


def test_of_a_model_that_does_not_do_the_task_nothing_is_concluded() -> None:
    page = html_page(PAGE, poor())
    assert f"{NOT_SHOWN} (200 texts) cannot be told from 0.88, that of always giving the most frequent label" in page
    assert "figure-other-score" not in page
    check_page(PAGE, poor())
    told = " ".join(findings(poor()))
    assert told.startswith("The whole model's accuracy is 0.90 (always giving the most frequent label: 0.88); what")
    assert not any(word in told for word in ("matter", "costs", "gains", "lose no", "same order", "p <"))
    tables = Tables(poor(), PAGE.schemas, PAGE.derived)
    assert not any(row["sure_harm"] or row["sure_loss"] for row in [*tables["effects"], *tables["left"]])


def test_too_few_texts_are_said_and_a_model_that_does_the_task_has_no_warning() -> None:
    assert "with fewer than 6 of them there is no interval" in html_page(PAGE, poor(None))
    assert NOT_SHOWN not in html_page(PAGE, poor(0.01))
    unknown = poor(None, chance=[None], gain=[None], gain_high=[None])
    assert NOT_SHOWN not in html_page(PAGE, unknown)


def test_results_from_before_there_were_intervals_are_warned_of_by_the_score_alone() -> None:
    result = ablate_result(other=False)
    whole = result.tables["whole"].to_pydict() | {"chance": [0.95]}
    assert NOT_SHOWN in html_page(PAGE, Result(result.manifest, {**result.tables, "whole": whole}))
    assert NOT_SHOWN not in html_page(PAGE, result)


def test_names_are_escaped() -> None:
    assert "What does &lt;b&gt;bold lose without each head?" in html_page(PAGE, ablate_result(name="<b>bold"))


def test_effects_are_told_apart_or_said_to_be_about_equal() -> None:
    result = ablate_result(other=False)
    heads = result.tables["ablation"].to_pydict()
    heads["change"] = [-13.5, -0.21, -0.22, -0.23, -0.24, *[0.1] * 7]
    tables = Tables(Result(result.manifest, {**result.tables, "ablation": heads}), PAGE.schemas, PAGE.derived)
    written = tables.schema("ablation")["change"].written(heads["change"])
    assert written[:5] == ["−13.50", "−0.21", "−0.22", "−0.23", "−0.24"]
    heads["change"] = [-0.2, -0.2001, -0.1999, *[0.0] * 9]
    answer = findings(Result(result.manifest, {**result.tables, "ablation": heads}))[0]
    assert "−0.20 (" in answer
    assert answer.endswith("; 2 more about as much.")


def test_the_terminal_says_the_order_of_its_table() -> None:
    from rich.console import Console

    console = Console(width=120, record=True, quiet=False)
    print_page(PAGE, ablate_result(), console)
    assert "Every head, the worst cut first:" in console.export_text()


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
