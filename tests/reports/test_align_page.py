"""The page of an alignment study: what its sentences say, its tables, and that charts and grid are drawn."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from invented_align import HEADS, LAYERS, align_result

from attlas.reports.align import align_page
from attlas.reports.align_findings import Scores, findings, view_name

if TYPE_CHECKING:
    from playwright.sync_api import Page

    from attlas.store import Result


def scores(result: Result) -> Scores:
    rows = (
        result.tables[name].to_pylist() if name in result.tables else [] for name in ("scores", "choices", "gains")
    )
    return Scores(*rows)


def test_findings_are_computed_from_the_tables() -> None:
    output, given, choice, head, aligners, twin = findings(scores(align_result()))
    assert "<b>45.0</b> by norm (43.0 to 47.0; layer 2) and <b>50.0</b> by weight" in output.text
    assert "47.7 by weight, 41.4 by norm" in output.published
    assert "Read with input, the best layer has an AER of <b>25.0</b> by norm (23.0 to 27.0; layer 3)" in given.text
    assert "<b>35.0</b> by weight" in given.text
    assert "the mean over layers is 38.3 against 48.3" in given.text
    assert "better in 2 of 3 layers and worse in none; they gain most in layer" in given.text
    assert "layer <b>2</b>, with an AER of <b>30.0</b> by norm. The gold would choose layer 3, at 25.0" in choice.text
    assert (
        "costs 5.0 points. Chosen on one half of the pairs and scored on the other, the best layer has 26.0"
        in choice.text
    )
    assert "head (on all pairs: 3-1) knows less than a layer" in head.text
    assert "<b>36.0</b> by norm, the best layer 26.0" in head.text
    assert "Better than attention: eflomal (these pairs and more.tsv), eflomal (these pairs)." in aligners.text
    assert "no better than <b>80.0</b> in any layer with input, by weight or norm, and the diagonal" in twin.text
    assert "has 75.0. What attention knows beyond that was learnt." in twin.text


def test_two_directions_and_no_gold() -> None:
    both = scores(align_result(back=True))
    assert [view_name(*view) for view in both.views][:4] == [
        "with output", "with input", "with output, backward", "with input, backward",
    ]  # fmt: skip
    told = [finding.text for finding in findings(both)]
    assert any(
        "(grow-diag-final-and) have <b>21.0</b> by norm with input, in layers chosen without gold; one direction "
        "alone has 30.0 with input, 35.0 with input, backward" in text
        for text in told
    )
    linked, largest = findings(scores(align_result(gold=False)))
    assert "There is no gold here, so nothing is scored. From <b>30.0 %</b>" in linked.text
    assert "<b>75.0 %</b> (norm, with input, layer 3)" in linked.text
    assert "is layer <b>2</b> with output, layer <b>2</b> with input" in largest.text


def test_tables_have_every_layer_the_change_and_every_method() -> None:
    page = align_page(align_result(back=True, name="<b>bold"))
    assert "Does the attention of &lt;b&gt;bold align words?" in page
    assert "<td>40.0<br><small>38.0–42.0</small></td><td>30.0<br><small>28.0–32.0</small></td>" in page
    assert "<td><b>−10.0</b><br><small>−13.0 to −7.0</small></td><td>80.0, 80.0</td>" in page
    assert "<td>−10.0<br><small>−13.0 to 10.0</small></td>" in page  # an interval that holds zero is not bold
    line = '<td class="text">{}</td><td><b>{}</b></td><td>{}</td><td>{}</td><td>50.0</td><td>60.0</td><td>1,234</td>'
    assert line.format("norm with input, layer 2, chosen without gold", "30.0", "28.0–32.0", "70.0") in page
    assert line.format("norm with input, layer 3, oracle", "25.0", "23.0–27.0", "75.0") in page
    assert line.format("eflomal (these pairs and more.tsv), backward", "20.0", "18.0–22.0", "80.0") in page
    mixed = "norm with input, grow-diag-final-and, layers 2 and 3, chosen without gold"
    assert f'<td class="text">{mixed}</td><td><b>21.0</b></td><td>19.0–23.0</td><td></td>' in page
    assert "norm with input, head 3-1, chosen on the other half" in page


@pytest.mark.browser
def test_charts_are_drawn_and_scores_go_together(open_report: Callable[[Path], Page], tmp_path: Path) -> None:
    align_result().save(tmp_path / "out")
    page = open_report(tmp_path / "out")
    for panel in ("layers-0", "layers-1"):
        figure = page.locator(f"#figure-{panel} svg")
        assert figure.locator(".mark-symbol.role-mark path").count() == 2 * LAYERS
        assert figure.locator(".mark-rule.role-mark line").count() == 2 * LAYERS + 4  # intervals, and aligners
    assert page.locator("#figure-methods svg .mark-symbol.role-mark path").count() == 2 * 4 + 2 * 4
    assert page.locator("#figure-norms svg .mark-symbol.role-mark path").count() == LAYERS * (1 + HEADS)
    heads = page.locator("#figure-map")
    written = heads.locator("svg .mark-text.role-mark text")
    assert sorted(written.all_text_contents()) == ["35", "40", "45", "50", "70", "80"]
    heads.locator("select[name=measure]").select_option("weight")
    assert "55" in written.all_text_contents()
    heads.locator("select[name=score]").select_option("mean norm")
    assert sorted(written.all_text_contents()) == ["0.5", "0.5", "0.75", "0.75", "1", "1"]
    page.locator("#figure-layers-0 select[name=score]").select_option("recall")
    assert page.locator("#figure-layers-1 select[name=score]").input_value() == "recall"


@pytest.mark.browser
def test_the_grid_shows_gold_and_given_links(open_report: Callable[[Path], Page], tmp_path: Path) -> None:
    align_result().save(tmp_path / "out")
    page = open_report(tmp_path / "out")
    grid = page.locator("#alignment-grid svg")

    def counts() -> list[int]:
        return [grid.locator(f".{kind}").count() for kind in ("sure", "possible", "found")]

    assert counts() == [3, 1, 4]
    assert grid.locator("text").all_text_contents() == ["das", "alte", "<Haus>", "the", "old", "house", "!"]
    said = page.locator("#alignment-said")
    assert said.inner_text().splitlines()[0] == "2 of 3 sure links found (AER 25.0), missed: <Haus> – house."
    assert "3 of 4 given links are in the gold, not: alte – house." in said.inner_text()
    grid.locator(".found").nth(2).hover()
    assert page.locator("#alignment-here").inner_text() == "alte – house: not in the gold, given"
    assert page.locator("#alignment text.on").all_text_contents() == ["alte", "house"]
    page.locator("#alignment-method").select_option("weight, input, layer 2")
    assert counts() == [3, 1, 1]
    page.locator("#alignment-pair").focus()
    page.keyboard.press("ArrowDown")
    assert counts() == [1, 0, 0]
    assert "0 of 1 sure links found (AER 100.0), missed: ja – yes." in said.inner_text()
    assert page.locator("#alignment-after").is_disabled()
    page.locator("#alignment-before").click()
    assert counts() == [3, 1, 1]


@pytest.mark.browser
def test_the_page_without_gold(open_report: Callable[[Path], Page], tmp_path: Path) -> None:
    align_result(gold=False).save(tmp_path / "out")
    page = open_report(tmp_path / "out")
    grid = page.locator("#alignment-grid svg")
    assert [grid.locator(f".{kind}").count() for kind in ("sure", "possible", "found")] == [0, 0, 4]
    assert "4 links." in page.locator("#alignment-said").inner_text()
    assert "0 of 4 target words without a link" in page.locator("#alignment-said").inner_text()
    assert page.locator("#methods, #table, #choices").count() == 0
    assert page.locator("#figure-layers-1 svg .mark-symbol.role-mark path").count() == 2 * LAYERS
    assert page.locator("#figure-map select[name=score] option").all_text_contents() == ["linked", "mean norm"]
