"""The page of the chunking study: what its sentences say, and that its charts are drawn."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from invented_faith_chunking import BEND, GUIDED, WEIGHTS, faith_chunking_result

from attlas.pages import Tables
from attlas.pages.findings import holds
from attlas.pages.html import html_page
from attlas.pages.laws import check_page, claims_of
from attlas.store import Result
from attlas.studies.faith_chunking.findings import adversaries, differs, ends_of_f1, original
from attlas.studies.faith_chunking.page import PAGE
from attlas.studies.faith_chunking.rows import _spaced

if TYPE_CHECKING:
    from playwright.sync_api import Page


def tables_of(seeds: int = 3, **changed: list[dict[str, Any]]) -> Tables:
    """The tables of an invented result, some of them changed."""
    result = faith_chunking_result(seeds=seeds)
    tables: dict[str, Any] = {name: table.to_pydict() for name, table in result.tables.items()}
    for name, rows in changed.items():
        tables[name] = {key: [row[key] for row in rows] for key in rows[0]}
    return Tables(Result(result.manifest, tables), PAGE.schemas, PAGE.derived)


def rows_of(table: str) -> list[dict[str, Any]]:
    rows: list[dict[str, Any]] = faith_chunking_result().tables[table].to_pylist()
    return rows


def said(tables: Tables) -> list[str]:
    return [str(finding.text) for finding in PAGE.found(tables)]


def test_findings_are_computed_from_the_tables() -> None:
    first, farthest, bend, seeds, words, guided, ranks = said(tables_of())
    assert "within a point of the original’s F1 of 90.0 % (89.6–90.4) up to λ = 1 (89.3 %)" in first
    assert "JSD 0.11 from the original’s (at most 0.69; two seeds of the original: 0.17)" in first
    assert farthest.startswith("At λ = 3 F1 is 77.9 %")
    assert "changes by +0.020 for each nat of KL at first and by +0.17 later" in bend
    assert "meet at KL 0.60 (0.48 to 0.72 over 3 seeds), and the second saves 94.0 %" in bend
    assert "up to λ = 1 adversaries lie before it." in bend
    assert "differ by 0.17 (JSD) in attention and 0.041 (TVD)" in seeds
    assert "No adversary goes farther in attention without going farther in its predictions" in seeds
    assert "a model with uniform attention has F1 86.0 %" in seeds
    assert "on 120 of 120 words; no trained adversary stays within that bound." in words
    assert "F1 is 89.9 % with the parameters of attention kept (other guides" in guided
    assert "adversary λ = 0.2 89.8 (−0.10); " in guided
    assert "and 88.1 % with none left" in guided
    assert "before the bend they agree with the original’s by τ = 0.79, and 80.8 % of rows" in ranks
    published = [finding.published for finding in PAGE.found(tables_of())]
    assert "λ = 3 75 %" in published[1]
    assert "KL 0.33" in published[2]


def test_a_straight_curve_and_a_cheap_adversary_are_told() -> None:
    straight = [{**row, "gain": 0.1} for row in rows_of("bend")]
    assert "hardly a bend" in said(tables_of(bend=straight))[2]
    falling = [{**row, "slope_after": -0.1} for row in rows_of("bend")]
    assert "gets flatter there" in said(tables_of(bend=falling))[2]
    cheap = [{**row, "tvd": 0.005} if row["kind"] == "adversary" else row for row in rows_of("summary")]
    _, _, _, seeds, words, *_ = said(tables_of(summary=cheap))
    assert "The adversary of λ = 3 has attention farther off (0.44) and predictions no farther (0.0050)" in seeds
    assert "a trained adversary within the same bound gets to 0.44." in words
    poor = [{**row, "f1": 0.5} if row["kind"] == "adversary" else row for row in rows_of("summary")]
    assert said(tables_of(summary=poor))[0].startswith("No: the original tagger has F1 90.0 %")
    assert PAGE.warning(tables_of(summary=poor)) is None
    bad = [{**row, "f1": 0.2} for row in rows_of("summary")]
    assert "itself misses most chunks (F1 20.0 %)" in str(PAGE.warning(tables_of(summary=bad)))
    first = said(tables_of(summary=bad))[0]
    assert first.startswith("The original tagger has F1 20.0 %")
    assert first.endswith("cannot be told from it.")


def test_one_seed_has_the_interval_of_its_sentences_and_no_seeds_to_compare() -> None:
    alone = tables_of(seeds=1)
    own = original(alone)
    assert own is not None
    assert own["f1_low"] is None
    low, high = ends_of_f1(alone, own)
    assert low == pytest.approx(own["f1"] - 0.006)
    assert high == pytest.approx(own["f1"] + 0.006)
    assert "meet at KL 0.60 (1 seed, too few for an interval: it takes 3, --middle 3), and" in said(alone)[2]
    assert "too few seeds" in html_page(PAGE, faith_chunking_result(seeds=1))
    assert "too few seeds" not in html_page(PAGE, faith_chunking_result(seeds=3))


def test_the_curve_of_a_seed_is_joined_in_the_order_of_lambda() -> None:
    drawn = tables_of()["curve"].where(attention="kl", prediction="nll")
    first = drawn.where(part="model", seed=0).column("weight")
    assert min(first) == 0.0
    assert len(first) == len(set(first))
    assert drawn.where(part="bend").column("x") == [BEND]


def test_only_the_last_lambda_is_spelled_out_and_none_on_another() -> None:
    assert tables_of()["plane"].where(part="mean").column("said") == ["0.2", "0.5", "1", "1.5", "2", "2.5", "λ = 3"]
    near = [{**row, "jsd": 0.05, "tvd": 0.022} if row["weight"] == 0.2 else row for row in rows_of("summary")]
    assert tables_of(summary=near)["plane"].where(part="mean").column("said")[:2] == ["", "0.5"]


@pytest.mark.parametrize("seeds", [1, 3])
def test_the_page_keeps_its_laws_and_tells_ours_from_theirs(seeds: int) -> None:
    result = faith_chunking_result(seeds=seeds)
    check_page(PAGE, result)
    tables = tables_of()
    assert "here it is fitted for the 3 seeds with enough λs." in str(differs(tables))
    assert "Yang read 8,042 sentences for training and 2,012 for testing; here 8,936 and 2,012." in str(
        differs(tables)
    )
    page = html_page(PAGE, result)
    assert "guided by adversary λ = 3, none left" in page
    assert tables["summary"].where(kind="adversary", weight=3.0)[0]["apart"] == pytest.approx(2.9, abs=0.1)


def test_a_claim_fails_when_the_tables_are_others() -> None:
    moved = [{**row, "f1": row["f1"] / 2} for row in rows_of("summary")]
    claims = [
        claim
        for claim in claims_of(PAGE, faith_chunking_result())
        if claim.column == "f1" and claim.table == "summary"
    ]
    assert len(adversaries(tables_of())) == len(WEIGHTS)
    assert claims
    assert not any(holds(claim, tables_of(summary=moved)) for claim in claims)


@pytest.mark.browser
def test_every_chart_is_drawn_and_can_be_changed(open_report: Callable[[Path], Page], tmp_path: Path) -> None:
    faith_chunking_result().save(tmp_path / "out")
    page = open_report(tmp_path / "out")
    models = 3 + 3 + 3 + (len(WEIGHTS) - 2)
    drawn = {
        "scores": (1 + len(WEIGHTS)) + 3,
        "plane": 120 + 3 + 1 + len(WEIGHTS),
        "curve": models + len(WEIGHTS),
        "guides": len(GUIDED) + 3 + 1,
        "rank": len(WEIGHTS),
    }
    for key, count in drawn.items():
        assert page.locator(f"#figure-{key} svg .mark-symbol.role-mark path").count() == count, key
    bend = page.locator("#figure-curve")
    said = bend.locator("svg .mark-text.role-mark text")
    assert {"bend 0.60", "published 0.33"} <= set(said.all_text_contents())
    bend.locator("select[name=attention]").select_option("jsd")
    assert "bend 0.12" in said.all_text_contents()
    assert "published 0.33" not in said.all_text_contents()
    assert page.locator("#sentences .look").count() == 2
    for width in (1280, 500):
        page.set_viewport_size({"width": width, "height": 800})
        assert page.evaluate("document.documentElement.scrollWidth <= window.innerWidth"), width


def test_lambdas_that_would_stand_on_each_other_are_left_unwritten() -> None:
    """On a chart of 100 by 100 a lambda takes 4, the last one, which is spelled out, twice as much."""
    places = [(100, 100), (83, 0), (87, 0), (91.5, 0), (92, 9), (100, 0)]
    rows = [{"x": x, "y": y, "said": str(number)} for number, (x, y) in enumerate(places)]
    said = [row["said"] for row in _spaced(rows, "x", "y")]
    assert said == ["0", "", "2", "3", "4", "λ = 5"]
    for one, other in (("x", "y"), ("y", "x")):
        rows = [{one: place, other: 0, "said": str(number)} for number, place in enumerate((88, 92, 100))]
        assert [row["said"] for row in _spaced(rows, "x", "y", 100)] == ["0", "", "λ = 2"]
