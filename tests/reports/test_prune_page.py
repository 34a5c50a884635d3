"""The page of a pruning: what its sentences say, and that its charts are drawn."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from invented_prune import prune_result

from attlas.reports.prune import prune_page

if TYPE_CHECKING:
    from playwright.sync_api import Page


def test_findings_are_computed_from_the_tables() -> None:
    page = prune_page(prune_result()).replace("\n", " ")
    assert "by importance: accuracy has fallen by 1 % <b>when 36 % are gone</b> (10 to 60 %), and by 5 %" in page
    assert "By chance, 1 % is lost when 5 %, 5 % or 5 % are gone, and 5 % not even when all are gone." in page
    assert "at its best with 25 % of its heads gone by importance: <b>.910</b>" in page
    assert "<b>6 of 12 heads</b> and 6.0 instead of 12.0 million parameters" in page
    assert ".890 after training again" in page
    assert "1 layer has lost all heads" in page
    assert "Only <code>attlas.load</code> opens it" in page
    assert "share keys and values" not in page


def test_groups_are_spoken_of_where_there_are_some_and_names_are_escaped() -> None:
    page = prune_page(prune_result(grouped=True, cut=False, name="<b>bold", metric="perplexity")).replace("\n", " ")
    assert "How many heads does &lt;b&gt;bold need?" in page
    assert "Its 12 heads share keys and values in 6 groups, and go group by group." in page
    assert "perplexity has risen by 1 %" in page
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
        "map": (".mark-rect.role-mark path", 12),
        "speed": (".mark-symbol.role-mark path", 2 * 6),
    }
    for key, (marks, count) in drawn.items():
        assert page.locator(f"#figure-{key} svg {marks}").count() == count, key
    crosses = page.locator("#figure-map svg .mark-text.role-mark text")
    assert [text for text in crosses.all_text_contents() if text] == ["×"] * 6
    curve = page.locator("#figure-curve")
    assert curve.locator("svg .mark-text.role-mark text").all_text_contents().count("BERT on MNLI: 40 %") == 1
    before = curve.locator("svg .role-axis-label text").all_text_contents()
    curve.locator("select[name=show]").select_option("loss")
    assert curve.locator("svg .role-axis-label text").all_text_contents() != before
    page.locator("#figure-map select[name=show]").select_option("loss")
