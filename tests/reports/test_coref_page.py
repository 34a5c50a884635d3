"""The page on coreference: what its sentences say, and that its charts are drawn."""

from __future__ import annotations

from collections.abc import Callable
from itertools import product
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from attlas.reports.coref import coref_page, findings
from attlas.store import Manifest, Result

if TYPE_CHECKING:
    from playwright.sync_api import Page

KINDS = ("all", "pronoun", "proper", "nominal")
SETS = ("mentions", "preceding", "words")
VALUES = {
    "best head": 0.62,
    "best for its kind": 0.62,
    "untrained twin": 0.1,
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
        head = who in ("best head", "best for its kind", "untrained twin")
        if who == "best for its kind" and kind == "all":
            continue
        if who in ("nearest", "head match", "sieve") and candidates != "preceding":
            continue
        rows.append(
            {
                "kind": kind, "candidates": candidates, "who": who, "value": VALUES[who], "n": 200.0,
                "low": VALUES[who] - 0.05, "high": VALUES[who] + 0.05, "layer": 2 if head else None,
                "head": 1 if head else None, "direction": "to" if head else None, "when_chosen": 0.6,
                "p_nearest": 1e-9 if who == "best head" else None,
                "p_head_match": 0.4 if who == "best head" else None,
                "published": 0.65 if who == "best head" and candidates == "mentions" else None,
            }
        )  # fmt: skip
    heads = [
        {
            "who": who, "stream": "encoder", "layer": layer, "head": head, "direction": direction,
            "candidates": candidates, "kind": kind, "value": (layer + head) / 10, "chance": 0.08, "n": 200.0,
            "low": 0.0, "high": 1.0, "when_chosen": 0.1,
            "p_nearest": 1e-4 if layer + head > 3 and who == "trained" else 1.0,
            "p_head_match": 1.0,
        }
        for who, layer, head, direction, candidates, kind in product(
            ("trained", "untrained"), range(3), range(4), ("to", "from"), SETS, KINDS
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
    found = {(row["kind"], row["candidates"], row["who"]): row for row in result.table.to_pylist()}
    best, fair, kinds, words, many = findings(found, result.tables["coref_heads"])
    assert "head <b>3-2</b> (to) finds an antecedent for 62.0 % of mentions (95 %: 57.0–67.0)" in best
    assert (
        "untrained twin for 10.0 %, choosing blindly 8.0 %. Rules: nearest 30.0, head match 50.0, sieve 70.0" in best
    )
    assert "better than nearest (p &lt; .001) and not shown to be better than head match (p .400)" in fair
    assert "pronoun 62.0 % (head 3-2; nearest 30.0" in kinds
    assert "Among <i>all</i> words" in words
    assert "3 of 12 heads beat the nearest mention" in many
    assert "none beat head match" in many


def test_the_page_says_what_was_left_out_and_escapes_names() -> None:
    page = coref_page(invented(name="<b>bold", text="<i>She"))
    assert "Which heads of &lt;b&gt;bold find antecedents" in page
    assert "75.0 % of all mentions with an antecedent have one inside their window of 512 pieces" in page
    assert "<mark>&lt;i&gt;She</mark>" in page
    assert "chose <b>Karim</b> (50.0 %); antecedent Emma" in page


@pytest.mark.browser
def test_every_chart_is_drawn_and_can_be_changed(open_report: Callable[[Path], Page], tmp_path: Path) -> None:
    invented().save(tmp_path / "out")
    page = open_report(tmp_path / "out")
    points = "#figure-kinds .mark-symbol.role-mark path"
    assert page.locator(points).count() == 7 * 4 - 1 + 4  # seven for each kind but one, and the published heads
    page.locator("#figure-kinds select").select_option("among preceding mentions")
    assert page.locator(points).count() == 7 * 4 - 1
    assert page.locator("#figure-layers .mark-symbol.role-mark path").count() == 2 * 12
    assert page.locator("#figure-coref-map .mark-rect.role-mark path[fill^='rgb']").count() > 0
    framed = "#figure-coref-map .mark-rect.role-mark path[stroke='#ff5a36']"
    assert page.locator(framed).count() == 3
    page.locator("#figure-coref-map select").nth(3).select_option("its untrained twin")
    assert page.locator(framed).count() == 0
