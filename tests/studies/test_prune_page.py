"""The page of a pruning: what its sentences say, that they are true, and that its charts are drawn."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from invented_prune import prune_result

from attlas.pages import Tables, holds
from attlas.pages.html import html_page
from attlas.pages.laws import check_page, claims_of
from attlas.store import Result
from attlas.studies.prune.page import PAGE

if TYPE_CHECKING:
    from playwright.sync_api import Page


def findings(result: Result) -> list[str]:
    return [str(finding.text) for finding in PAGE.found(Tables(result, PAGE.schemas, PAGE.derived))]


@pytest.mark.parametrize("options", [{}, {"grouped": True}, {"cut": False}, {"metric": "perplexity"}])
def test_page_and_result_fit(options: dict[str, Any]) -> None:
    check_page(PAGE, prune_result(**options))


def test_findings_are_computed_from_the_tables() -> None:
    answer, loss, chance, best, smaller, opens, silent, whole = findings(prune_result())
    assert answer.startswith(
        "With heads removed by importance, accuracy (0.90) has fallen by 1 % when 36.0 % are gone (95 % interval "
        "10.0 to 60.0 %), and by 5 % when 58.0 % are gone; in orders drawn by chance, 1 % is lost when 5.0, 5.0 and "
        "5.0 % are gone"
    )
    assert loss.startswith("With heads removed by measured loss, accuracy has fallen by 1 % when 47.5 %")
    assert chance.endswith("and by 5 % not even when all are gone.")
    assert "at its best with 25.0 % of its heads gone by importance: 0.91" in best
    assert "6 of 12 heads and 6,000,000 instead of 12,000,000 parameters" in smaller
    assert "accuracy is 0.85 (0.70 to 0.95) instead of 0.90, and 0.89 after training again" in smaller
    assert "those of the gated model to 3.0e−7; only attlas.load opens it" in opens
    assert "1 layer has lost all heads" in silent
    assert whole == (
        "The whole model's accuracy is 0.90 on 50 texts; heads were put in order on 45 other texts."
    )  # fmt: skip


def test_heads_that_were_named_are_answered_by_the_smaller_model() -> None:
    result = prune_result()
    kept = {name: table for name, table in result.tables.items() if name not in ("curve", "shares")}
    named = Result(result.manifest, kept)
    check_page(PAGE, named)
    assert findings(named)[0].startswith("The smaller model has 6 of 12 heads")
    tables = Tables(named, PAGE.schemas, PAGE.derived)
    assert [row["share"] for row in tables["line"]] == [0.0, 0.5]


def test_claims_fail_where_the_tables_say_something_else() -> None:
    result = prune_result()
    claims = claims_of(PAGE, result)
    turned = {
        name: {column: values[::-1] for column, values in table.to_pydict().items() if column in ("score", "share")}
        for name, table in result.tables.items()
    }
    changed = {name: {**table.to_pydict(), **turned[name]} for name, table in result.tables.items()}
    tables = Tables(Result(result.manifest, changed), PAGE.schemas, PAGE.derived)
    false = {(claim.kind, claim.table) for claim in claims if not holds(claim, tables)}
    assert {("value", "shares"), ("largest", "curve"), ("value", "sizes")} <= false


def test_groups_are_spoken_of_where_there_are_some_and_names_are_escaped() -> None:
    result = prune_result(grouped=True, cut=False, name="<b>bold", metric="perplexity")
    page = html_page(PAGE, result)
    assert "How many heads does &lt;b&gt;bold need?" in page
    assert "Its 12 heads share keys and values in 6 groups, and go group by group." in page
    assert "has risen by 1 %" in page
    assert "The smaller model" not in page


@pytest.mark.browser
@pytest.mark.parametrize("metric", ["accuracy", "perplexity"])
def test_every_chart_is_drawn_and_can_be_changed(
    open_report: Callable[[Path], Page], tmp_path: Path, metric: str
) -> None:
    prune_result(metric=metric).save(tmp_path / "out")
    page = open_report(tmp_path / "out")
    drawn = {
        "curve": (".mark-symbol.role-mark path", 3 * 5),
        "loss-curve": (".mark-symbol.role-mark path", 3 * 5),
        "turns": (".mark-rect.role-mark path", 12 + 12 + 6),  # the grid, cells, and a frame for each that was cut
        "faster": (".mark-symbol.role-mark path", 2 * 6),
    }
    for key, (marks, count) in drawn.items():
        assert page.locator(f"#figure-{key} svg {marks}").count() == count, key
    said = page.locator("#figure-curve svg .mark-text.role-mark text").all_text_contents()
    assert said.count("BERT on MNLI: 40 %") == 1
    assert [text for text in said if text.startswith("1 %")] == ["1 % more" if metric == "perplexity" else "1 % less"]
    cells = page.locator("#figure-turns")
    before = cells.locator("svg .mark-text.role-mark text").all_text_contents()
    cells.locator("select[name=show]").select_option("change of loss, alone")
    assert cells.locator("svg .mark-text.role-mark text").all_text_contents() != before
