"""The page of an alignment study: what its sentences say, its tables, and that charts and grid are drawn."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from invented_align import HEADS, LAYERS, align_result

from attlas.pages import Tables, holds
from attlas.pages.html import html_page
from attlas.pages.laws import check_page, claims_of
from attlas.store import Result
from attlas.studies.align.call import align
from attlas.studies.align.findings import view_name, views
from attlas.studies.align.page import PAGE
from bitexts import documents, subject

if TYPE_CHECKING:
    from playwright.sync_api import Page


def opened(result: Result) -> Tables:
    return Tables(result, PAGE.schemas, PAGE.derived)


def told(result: Result) -> list[str]:
    return [str(finding.text) for finding in PAGE.found(opened(result))]


def test_the_page_keeps_the_laws() -> None:
    for result in (align_result(), align_result(back=True), align_result(gold=False)):
        check_page(PAGE, result)
    both = align(subject("marian"), documents(), back=subject("marian", 1), aligners=["diagonal"])
    check_page(PAGE, both)
    check_page(PAGE, align(subject("bert"), documents(gold=False), aligners=()))
    check_page(PAGE, align(subject("bert"), documents()[:1], aligners=["diagonal"]))


def test_findings_are_computed_from_the_tables() -> None:
    answer, given, output, choice, head, aligners = told(align_result())
    assert "Yes: read with input, by norm, in the layer that is chosen without gold (2), its links have" in answer
    assert "30.0 (95 % interval 28.0 to 32.0); untrained twins (random weights) 80.0 and the diagonal" in answer
    assert "Read with input, the best layer has an AER of 25.0 by norm (23.0 to 27.0; layer 3) and 35.0 by" in given
    assert "the mean over layers is 38.3 against 48.3" in given
    assert "better in 2 of 3 layers and worse in none; most in layer 2, where the rate changes by −10.0" in given
    assert "45.0 by norm (43.0 to 47.0; layer 2) and 50.0 by weight" in output
    assert (
        "layer 2 with input, that of the largest mean norm, at 30.0 by norm. The gold would choose layer 3, at"
        in choice
    )
    assert "costs 5.0 points. The layer that is best on one half of the pairs has 26.0 on the other" in choice
    assert "head (on all pairs: 3-1) knows less than a layer" in head
    assert "36.0 by norm (34.0 to 38.0) on the other, the layer that is best there 26.0" in head
    assert "Better than attention: eflomal (these pairs and more.tsv); lower, with" in aligners
    assert aligners.endswith("intervals that overlap: eflomal (these pairs).")
    published = [finding.published for finding in PAGE.found(opened(align_result()))]
    assert any("47.7 by weight, 41.4 by norm" in text for text in published)


def test_two_directions_and_no_gold() -> None:
    both = align_result(back=True)
    assert [view_name(*view) for view in views(opened(both))][:4] == [
        "with input", "with input, backward", "with output", "with output, backward",
    ]  # fmt: skip
    assert any(
        "(grow-diag-final-and) have 21.0 by norm with input, in layers chosen without gold; one direction alone has "
        "30.0 with input and 35.0 with input, backward" in text
        for text in told(both)
    )
    linked, largest = told(align_result(gold=False))
    assert "Without gold nothing can be scored; from 30.0 %" in linked
    assert "75.0 % (by norm with input, layer 3)" in linked
    assert "is layer 2 with input and layer 2 with output" in largest


def test_claims_fail_where_the_tables_say_otherwise() -> None:
    result = align_result(back=True)
    claims = claims_of(PAGE, result)
    turned = {name: table.to_pydict() for name, table in result.tables.items()}
    for name in ("scores", "choices"):
        turned[name]["value"] = turned[name]["value"][::-1]
    turned["gains"]["high"] = [1.0] * len(turned["gains"]["high"])
    other = opened(Result(result.manifest, turned))
    for table in ("scores", "choices", "gains"):
        assert not all(holds(claim, other) for claim in claims if claim.table == table), table


def test_a_model_that_does_not_align_is_warned_of() -> None:
    assert PAGE.warning(opened(align_result())) is None
    result = align_result()
    tables = {name: table.to_pydict() for name, table in result.tables.items()}
    for name in ("twin", "twin_low", "twin_high"):
        tables["scores"][name] = [None if value is None else 0.2 for value in tables["scores"]["twin"]]
    assert "No layer of tiny is better" in str(PAGE.warning(opened(Result(result.manifest, tables))))


def test_the_best_of_the_twins_is_the_bar() -> None:
    """Twins that are bad on average say nothing, where one of them is as good as the model."""
    result = align_result()
    tables = {name: table.to_pydict() for name, table in result.tables.items()}
    tables["scores"]["twin_low"] = [None if value is None else 0.26 for value in tables["scores"]["twin_low"]]
    tables["choices"]["twin_low"] = [0.26] * len(tables["choices"]["twin_low"])
    changed = Result(result.manifest, tables)
    assert "No layer of tiny is better than the same architecture untrained (26.0" in str(
        PAGE.warning(opened(changed))
    )
    assert told(changed)[0].startswith("No: read with input")


def test_a_choice_without_gold_that_misses_is_called_so() -> None:
    result = align_result()
    tables = {name: table.to_pydict() for name, table in result.tables.items()}
    choices = tables["choices"]
    rows = zip(choices["side"], choices["measure"], choices["unit"], choices["how"], strict=True)
    (at,) = [at for at, row in enumerate(rows) if row == ("output", "norm", "layer", "largest mean norm")]
    choices["value"][at], choices["layer"][at] = 0.65, 0
    changed = Result(result.manifest, tables)
    (text,) = [text for text in told(changed) if "cannot be relied on" in text]
    assert "read with output it takes layer 1, at 65.0, where layer 2 has 45.0." in text
    assert "From the other sides it comes near." in text
    assert not any("cannot be relied on" in text for text in told(result))
    check_page(PAGE, changed)


def test_tables_have_every_layer_the_change_and_every_method() -> None:
    page = html_page(PAGE, align_result(back=True, name="<b>bold"))
    assert "Does the attention of &lt;b&gt;bold align words?" in page
    line = '<td class="text">input</td><td class="text">forward</td><td data-v="1">2</td>'
    assert line + '<td data-v="0.4">40.0</td><td data-v="0.3">30.0</td>' in page
    assert "−13.0 to −7.0" in page
    rows = {row["method"]: row for row in opened(align_result(back=True))["methods"]}
    blind = rows["norm, input, layer 2, no gold"]
    assert (blind["AER"], blind["AER_low"], blind["precision"], blind["links"]) == pytest.approx(
        (0.3, 0.28, 0.7, 1234)
    )
    assert rows["norm, input, layer 3, oracle"]["AER"] == 0.25
    assert rows["eflomal + more.tsv, backward"]["AER"] == 0.2
    mixed = rows["norm, input, gdfa, layers 2+3, no gold"]
    assert (mixed["AER"], mixed["precision"]) == (0.21, None)
    assert "norm, input, head 3-1, on the other half" in rows


@pytest.mark.browser
def test_charts_are_drawn(open_report: Callable[[Path], Page], tmp_path: Path) -> None:
    align_result().save(tmp_path / "out")
    page = open_report(tmp_path / "out")
    layers = page.locator("#figure-layers")
    assert layers.locator("svg .mark-symbol.role-mark path").count() == (2 + 4) * LAYERS  # measures, and aligners
    layers.locator("select[name=view]").select_option("with output")
    layers.locator("select[name=score]").select_option("recall")
    assert page.locator("#figure-methods-dots svg .mark-symbol.role-mark path").count() == 2 * (2 * 4) + 2 * 4
    assert page.locator("#figure-norms svg .mark-symbol.role-mark path").count() == LAYERS * (1 + HEADS)
    heads = page.locator("#figure-map")
    written = heads.locator("svg .mark-text.role-mark text")
    assert sorted(written.all_text_contents()) == ["35", "40", "45", "50", "70", "80"]
    heads.locator("select[name=measure]").select_option("weight")
    assert "55" in written.all_text_contents()
    norms = page.locator("#figure-norm-map svg .mark-text.role-mark text")
    assert sorted(norms.all_text_contents()) == [".50", ".50", ".75", ".75", "1.0", "1.0"]


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
    assert page.locator("#methods, #figure-norms").count() == 0
    assert page.locator("#figure-layers svg .mark-symbol.role-mark path").count() == (2 + 4) * LAYERS
    assert page.locator("#figure-map svg .mark-text.role-mark text").count() == LAYERS * HEADS
