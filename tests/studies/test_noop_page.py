"""The page of a no-op test: what its sentences say, and that its charts are drawn."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from invented_noop import noop_result
from noop_models import TEXTS, subject

from attlas.pages import Tables, holds
from attlas.pages.html import html_page
from attlas.pages.laws import check_page, claims_of
from attlas.store import Result
from attlas.studies.noop.call import noop
from attlas.studies.noop.page import PAGE, resting

if TYPE_CHECKING:
    from playwright.sync_api import Page


def said(result: Result) -> list[str]:
    return [str(finding.text) for finding in PAGE.found(Tables(result, PAGE.schemas, PAGE.derived))]


def test_findings_are_computed_from_the_tables() -> None:
    result = noop_result()
    assert resting(Tables(result, PAGE.schemas), "encoder") == "sep"
    answer, rests, fades, parked, rest, _ = said(result)
    assert (
        "The loss depends more on attention to [SEP], where heads rest, than on that to other keys: in layer 1"
        in answer
    )
    assert "takes 0.60 of the weight, and |dL/dα| is 1.50 times (1.35 to 1.65) that for other keys" in answer
    assert "(one untrained twin: 1.00 times)" in answer
    assert (
        "[SEP] takes 0.60 of the weight in layers 1–4 (one untrained twin 0.10), with a gradient 0.54 times" in rests
    )
    assert "0.60 of the weight, 0.070 of the norm ‖αf(x)‖ and 0.30 of what rides on the weight" in rests
    assert "under half from layer 2 on, under a quarter from layer 3 on, under a tenth in the last layer" in fades
    assert "that of one untrained twin never stays under half" in fades
    assert "all 12 heads put more than half of the weight on [SEP]; in 9 of them" in parked
    assert "periods and commas 1.00 (1.00)" in rest


def test_a_trained_head_is_shown_beside_the_majority_and_names_are_escaped() -> None:
    page = html_page(PAGE, noop_result(majority=0.17, name="<b>bold"))
    assert "Does &lt;b&gt;bold do nothing where its heads rest?" in page
    assert "the most frequent tag (NOUN) would be right in 17.0 %" in page
    assert "that of one untrained twin is 2.70 (20.0 % right)" in page
    assert "trained here" not in html_page(PAGE, noop_result())


def test_a_model_that_guesses_is_warned_of() -> None:
    result = noop_result()
    columns = {name: table.to_pydict() for name, table in result.tables.items()}
    columns["loss"]["value"] = [3.0]  # a result from before there was a table of the whole model
    page = html_page(PAGE, Result(result.manifest, columns))
    assert "its loss of 3 (20 texts) cannot be told from 2.8, that of guessing evenly" in page
    assert "[SEP], where heads" not in page
    assert "has not shown" not in html_page(PAGE, result)


def test_several_twins_are_told_with_their_number_and_their_spread() -> None:
    columns = {name: table.to_pydict() for name, table in noop_result().tables.items()}
    for table in columns.values():
        table["twins"] = [5] * len(next(iter(table.values())))
    result = Result(noop_result().manifest, columns)
    check_page(PAGE, result)
    answer, *_, loss = said(result)
    assert "(5 untrained twins: 1.00 times, from 0.90 to 1.10)" in answer
    assert "that of 5 untrained twins is 2.70" in loss


def test_older_results_without_norms_do_not_speak_of_them() -> None:
    old = noop_result(norms=False)
    check_page(PAGE, old)
    assert "0.60 of the weight and 0.30 of what rides" in said(old)[1]


@pytest.mark.parametrize("streams", [("encoder",), ("encoder", "cross")])
def test_page_and_results_fit(streams: tuple[str, ...]) -> None:
    check_page(PAGE, noop_result(streams, majority=0.2))
    check_page(PAGE, noop_result(streams))


def test_page_and_a_real_result_fit() -> None:
    check_page(PAGE, noop(subject("llama"), TEXTS))


def test_claims_fail_when_the_tables_are_turned_round() -> None:
    result = noop_result()
    columns = {name: table.to_pydict() for name, table in result.tables.items()}
    columns["noop_layers"]["relative"] = columns["noop_layers"]["relative"][::-1]
    turned = Tables(Result(result.manifest, columns), PAGE.schemas, PAGE.derived)
    assert any(not holds(claim, turned) for claim in claims_of(PAGE, result))


@pytest.mark.browser
def test_every_chart_is_drawn_and_can_be_changed(open_report: Callable[[Path], Page], tmp_path: Path) -> None:
    noop_result(("encoder", "cross")).save(tmp_path / "out")
    page = open_report(tmp_path / "out")
    drawn = {
        "classes": (".mark-line.role-mark path", 2 * 3),
        "places": (".mark-area.role-mark path", 3),
        "layers-class": (".mark-line.role-mark path", 2 * 4),
        "layers-place": (".mark-line.role-mark path", 2 * 4),
        "weights": (".mark-symbol.role-mark path", 12),
        "map": (".mark-rect.role-mark path", 2 * 12),
    }
    for key, (marks, count) in drawn.items():
        assert page.locator(f"#figure-{key} svg {marks}").count() == count, key
    lines = page.locator("#figure-layers-class")
    before = lines.locator("svg .role-axis-label text").all_text_contents()
    lines.locator("select[name=show]").select_option("paid")
    assert lines.locator("svg .role-axis-label text").all_text_contents() != before
    heads = page.locator("#figure-map")
    assert heads.locator("select[name=keys]").input_value() == "sep"
    assert "1.5" in heads.locator("svg .mark-text.role-mark text").all_text_contents()
    for column, written in (("weight", ".60"), ("norm", ".070"), ("twin_weight", ".10")):
        heads.locator("select[name=show]").select_option(column)
        assert set(heads.locator("svg .mark-text.role-mark text").all_text_contents()) == {written}
    rows = page.locator("#table tbody tr:not([hidden])").all()
    sep = next(row for row in rows if "[SEP]" in row.inner_text()).locator("td").all_inner_texts()
    assert sep[3:7] == ["0.60", "0.10", "0.07", "0.11"]
    page.locator("#streams button", has_text="cross").click()
    page.wait_for_selector("html[data-ready=true]")
