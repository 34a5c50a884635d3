"""The page of the norms study: what its sentences say, and that its charts are drawn."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from invented_norms import CLASSES, HEADS, LAYERS, norms_result

import twins
from attlas.capture import Subject
from attlas.errors import CapabilityError
from attlas.pages import Tables, holds
from attlas.pages.html import html_page
from attlas.pages.laws import check_page, claims_of
from attlas.store import Manifest, Result
from attlas.studies.norms.call import norms
from attlas.studies.norms.page import PAGE, mixing, together
from attlas.text import Document

if TYPE_CHECKING:
    from playwright.sync_api import Page


def tables_of(result: Result) -> Tables:
    return Tables(result, PAGE.schemas, PAGE.derived)


def said(result: Result) -> list[str]:
    return [str(finding.text) for finding in PAGE.found(tables_of(result))]


def test_claims_of_the_paper_are_judged_by_the_tables() -> None:
    _, cls, sep, punctuation, related, frequency, _ = said(norms_result())
    assert cls.startswith("[CLS], much weight and little norm: as published.")
    assert sep.startswith(
        "[SEP], much weight and little norm: as published. Weight 0.40 (even attention 0.040), norm 0.12"
    )
    assert "all heads together 0.060 (untrained twins 0.040, 0.040)" in sep
    assert "in all 4 layers" in sep
    assert punctuation.startswith("Periods and commas, much weight and little norm: not so here.")
    assert (
        "no more weight than its number of keys explains; its norm is above its weight in all 4 layers" in punctuation
    )
    assert "negatively related: in part as published. They are in 9 of 12 heads (9 beyond their interval)" in related
    assert "median −0.30" in related
    assert "the mean is positive in layer 4" in related  # in one layer of four: so only in part
    assert "mostly special pieces and punctuation that make the relation" in related
    assert "in all 4 layers and all 12 heads" in frequency


def test_the_first_piece_of_a_causal_model_is_asked_the_same_but_was_not_published() -> None:
    findings = PAGE.found(tables_of(norms_result(("decoder",))))
    assert "The first piece, much weight and little norm: so here." in str(findings[1].text)
    assert not any(finding.published for finding in findings)


def test_the_answer_and_mixing_are_computed_from_the_tables() -> None:
    answer, *_, mixed = said(norms_result())
    assert "[SEP] takes 0.40 (0.40 to 0.40) of the weight in layer 1 and 0.12 (0.12 to 0.12) of the norm" in answer
    assert "even attention would give it 0.040, and untrained twins have 0.040 and 0.040" in answer
    assert "0.90 by attention alone, 0.30 with the residual and 0.20 with residual and norm" in mixed
    [mixed_across] = mixing(tables_of(norms_result(("cross",))))
    assert "attention alone" not in str(mixed_across.text)
    assert not list(mixing(tables_of(norms_result(mixing=False))))


def test_layers_where_weight_goes_to_long_vectors_are_told() -> None:
    row = {"stream": "encoder", "keys": "other", "over": "texts"}
    layers = [{**row, "layer": 10, "value": 0.4, "low": 0.35, "twin": -0.01},
              {**row, "layer": 9, "value": 0.1, "low": 0.05, "twin": -0.01}]  # fmt: skip
    rare = {"stream": ["encoder"], "layer": [10], "words": ["plain"], "value": [0.66]}
    columns = {name: [each[name] for each in layers] for name in layers[0]}
    [finding] = together(Tables(Result(Manifest("norms"), {"spearman_layers": columns, "frequency_layers": rare})))
    assert "In layer 11 weight and length go together among other keys" in str(finding.text)
    assert "+0.40, untrained twins −0.010" in str(finding.text)
    assert "correlate by +0.66" in str(finding.text)


def test_names_are_escaped_and_what_is_missing_is_left_out() -> None:
    page = html_page(PAGE, norms_result(name="<b>bold", mixing=False))
    assert "What does &lt;b&gt;bold’s attention add up?" in page
    assert 'id="mixing"' not in page
    assert 'id="mixing"' in html_page(PAGE, norms_result())


@pytest.mark.parametrize("streams", [("encoder",), ("decoder",), ("encoder", "decoder", "cross")])
def test_page_and_invented_results_fit(streams: tuple[str, ...]) -> None:
    check_page(PAGE, norms_result(streams))
    check_page(PAGE, norms_result(streams, mixing=False))


def test_page_and_a_real_result_fit() -> None:
    documents = [Document.from_text("The farmer slept, and rain fell."), Document.from_text("Nobody noticed.")]
    check_page(
        PAGE, norms(Subject.of(twins.model("bert"), twins.tokenizer(False), "twin"), documents, heads="1-1, 2-3")
    )


def test_claims_fail_when_the_tables_are_turned_round() -> None:
    result = norms_result()
    columns = {name: table.to_pydict() for name, table in result.tables.items()}
    columns["norms_layers"]["weight"] = [1 - value for value in columns["norms_layers"]["weight"]]
    turned = tables_of(Result(result.manifest, columns))
    assert not holds(claims_of(PAGE, result)[0], turned)


def test_a_head_by_number_is_refused() -> None:
    with pytest.raises(CapabilityError, match="3 is no head; name heads by label"):
        norms(None, [Document.from_text("It rained.")], heads=[3])


@pytest.mark.browser
def test_every_chart_is_drawn_and_can_be_changed(open_report: Callable[[Path], Page], tmp_path: Path) -> None:
    norms_result(("encoder", "cross")).save(tmp_path / "out")
    page = open_report(tmp_path / "out")
    kinds = CLASSES["encoder"]
    drawn = {
        "shares-layers": (".mark-line.role-mark path", 3 + 3 + 1),
        "lengths": (".mark-line.role-mark path", 2 * (len(kinds) - 1)),
        "pairs": (".mark-symbol.role-mark path", HEADS * len(kinds)),
        "spearman": (".mark-symbol.role-mark path", 2 * LAYERS * HEADS),
        "classes": (".mark-area.role-mark path", len(kinds)),
        "frequency": (".mark-symbol.role-mark path", LAYERS * HEADS),
        "rarity": (".mark-line.role-mark path", 2),
        "bands": (".mark-rect.role-mark path", LAYERS * 3),
        "mixing": (".mark-line.role-mark path", 2 * 3),
        "map": (".mark-rect.role-mark path", 2 * LAYERS * HEADS),
    }
    for key, (marks, count) in drawn.items():
        assert page.locator(f"#figure-{key} svg {marks}").count() == count, key
    page.locator("#figure-classes select[name=over]").select_option("texts")
    assert page.locator("#figure-classes svg .mark-area.role-mark path").count() == 2
    assert page.locator("#heads tbody tr:not([hidden])").count() == LAYERS * HEADS
    pairs = page.locator("#figure-pairs")
    assert pairs.locator("select[name=shown]").input_value() == "layer 1"
    pairs.locator("select[name=who]").select_option("twin")
    assert pairs.locator("svg .mark-symbol.role-mark path").count() == HEADS * len(kinds)
    heads = page.locator("#figure-map")
    for column, written in (("weight", ".40"), ("ratio", ".30"), ("twin_ratio", "1.0")):
        heads.locator("select[name=show]").select_option(column)
        assert set(heads.locator("svg .mark-text.role-mark text").all_text_contents()) == {written}
    page.locator("#streams button", has_text="cross").click()
    page.wait_for_selector("html[data-ready=true]")
    assert page.locator("#figure-mixing svg .mark-line.role-mark path").count() == 2 * 2
    assert page.locator("#figure-shares-layers select[name=keys] option").count() == len(CLASSES["cross"])
