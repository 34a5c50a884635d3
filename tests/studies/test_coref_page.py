"""The page on coreference: what its sentences say, and that its charts are drawn."""

from __future__ import annotations

from collections.abc import Callable
from itertools import product
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from attlas.pages import Tables, holds
from attlas.pages.laws import check_page, claims_of
from attlas.store import Manifest, Result
from attlas.studies.coref.page import PAGE
from attlas.studies.reporting import page_of

if TYPE_CHECKING:
    from playwright.sync_api import Page

KINDS = ("all", "pronoun", "proper", "nominal")
SETS = ("mentions", "preceding", "words")
VALUES = {
    "best head": 0.62,
    "best for its kind": 0.62,
    "twin": 0.1,
    "chance": 0.08,
    "nearest": 0.3,
    "head match": 0.5,
    "sieve": 0.7,
}


def columns(rows: list[dict[str, Any]]) -> dict[str, list[Any]]:
    return {name: [row[name] for row in rows] for name in rows[0]}


def invented(name: str = "tiny", text: str = "She") -> Result:
    rows = []
    for kind, candidates, who in product(KINDS, SETS, VALUES):
        head = who in ("best head", "best for its kind", "twin")
        if who == "best for its kind" and kind == "all":
            continue
        if who in ("nearest", "head match", "sieve") and candidates != "preceding":
            continue
        rows.append(
            {
                "kind": kind, "candidates": candidates, "who": who, "value": VALUES[who], "n": 200.0,
                "low": VALUES[who] - 0.05, "high": VALUES[who] + 0.05, "layer": 2 if head else None,
                "head": 1 if head else None, "direction": "to" if head else None, "when_chosen": 0.6,
                "nearest_p_corrected": 1e-9 if who == "best head" else None,
                "head_match_p_corrected": 0.4 if who == "best head" else None,
                "published": 0.65 if who == "best head" and candidates == "mentions" else None,
            }
        )  # fmt: skip
    heads = [
        {
            "who": who, "stream": "encoder", "layer": layer, "head": head, "direction": direction,
            "candidates": candidates, "kind": kind, "value": (layer + head) / 10, "chance": 0.08, "n": 200.0,
            "low": 0.0, "high": 1.0, "when_chosen": 0.1,
            "nearest_p_corrected": 1e-4 if layer + head > 3 and who == "model" else 1.0,
            "head_match_p_corrected": 1.0,
        }
        for who, layer, head, direction, candidates, kind in product(
            ("model", "twin"), range(3), range(4), ("to", "from"), SETS, KINDS
        )
    ]  # fmt: skip
    cases = [
        {
            "kind": "pronoun", "outcome": outcome, "weight": 0.5, "document": "tale", "mention": text,
            "antecedent": "Emma", "chose": "Karim" if outcome == "wrong" else "Emma", "before": "Emma slept. ",
            "text": text, "after": " woke.",
        }
        for outcome in ("right", "wrong")
    ]  # fmt: skip
    corpus = {
        "name": "tales",
        "mentions_chosen_on": 100,
        "mentions_scored_on": 200,
        "mentions_with_an_antecedent": 400,
    }
    manifest = Manifest(
        "coref", plan={"options": {"measure": "weight", "max_pieces": 512}}, model={"name": name}, corpus=corpus,
        started="2025-01-02T00:00:00+00:00",
    )  # fmt: skip
    return Result(manifest, {"coref": columns(rows), "coref_heads": columns(heads), "cases": columns(cases)})


def test_findings_are_computed_from_the_tables() -> None:
    result = invented()
    check_page(PAGE, result)
    found = [str(finding.text) for finding in PAGE.found(Tables(result, PAGE.schemas, PAGE.derived))]
    best, fair, pronouns, _, _, words, many = found
    assert (
        "head 3-2 (mention to antecedent), which was best on other documents, finds an antecedent for 62.0 %" in best
    )
    assert "untrained twins (random weights) for 10.0 % and choosing blindly would for 8.0 %" in best
    assert "better than nearest (p < 0.001) and not shown to be better than head match (p 0.40)" in fair
    assert "nearest 30.0 %, head match 50.0 % and sieve 70.0 %" in fair
    assert "again among preceding ones, head 3-2 was best on other documents: it is right for 62.0 %" in pronouns
    assert "Among all words" in words
    assert "3 of 12 heads beat the nearest mention" in many
    assert "none beat head match" in many


def test_claims_fail_where_the_tables_are_turned_round() -> None:
    result = invented()
    tables = {name: result.tables[name].to_pydict() for name in result.tables}
    tables["coref"]["value"].reverse()
    tables["coref_heads"]["nearest_p_corrected"] = [1.0] * len(tables["coref_heads"]["who"])
    turned = Tables(Result(result.manifest, tables), PAGE.schemas, PAGE.derived)
    assert not all(holds(claim, turned) for claim in claims_of(PAGE, result) if claim.table == "coref")
    assert not all(holds(claim, turned) for claim in claims_of(PAGE, result) if claim.table == "better_way")


def test_a_result_of_the_first_format_is_read_under_present_names(tmp_path: Path) -> None:
    from attlas.studies.reporting import with_present_names

    result = invented()
    old = result.tables["coref_heads"].rename_columns(
        [{"nearest_p_corrected": "p_nearest"}.get(name, name) for name in result.tables["coref_heads"].column_names]
    )
    at = old.column_names.index("who")
    values = ["trained" if who == "model" else "untrained" for who in old.column("who").to_pylist()]
    _, present = with_present_names(result.manifest, {"coref_heads": old.set_column(at, "who", [values])})
    assert present["coref_heads"].to_pylist() == result.tables["coref_heads"].to_pylist()


def test_the_page_says_what_was_left_out_and_escapes_names() -> None:
    page = page_of(invented(name="<b>bold", text="<i>She"))
    assert "Which heads of &lt;b&gt;bold find antecedents" in page
    assert "75.0 % of all mentions with an antecedent have one inside their window of 512 pieces" in page
    assert "<mark>&lt;i&gt;She</mark>" in page
    assert "chose <b>Karim</b> (50.0 %); antecedent Emma" in page


@pytest.mark.browser
def test_every_chart_is_drawn_and_can_be_changed(open_report: Callable[[Path], Page], tmp_path: Path) -> None:
    invented().save(tmp_path / "out")
    page = open_report(tmp_path / "out")
    assert "62.0 %" in page.locator("#answer").inner_text()
    points = "#figure-kinds-chart .mark-symbol.role-mark path"
    assert page.locator(points).count() == 7 * 4 - 1  # seven for each kind but one
    page.locator("#figure-kinds-chart select").select_option("preceding mentions")
    assert page.locator(points).count() == 7 * 4 - 1
    assert page.locator("#figure-layers-chart .mark-symbol.role-mark path").count() == 2 * 12
    assert page.locator("#figure-coref-map .mark-rect.role-mark path[fill^='rgb']").count() > 0
    framed = "#figure-coref-map .mark-rect.role-mark path[stroke='currentColor']"
    assert page.locator(framed).count() == 3
    page.locator("#figure-coref-map select").nth(3).select_option("its untrained twin")
    assert page.locator(framed).count() == 0
