"""The page of importance: what its sentences say, and that they are true of the tables."""

from __future__ import annotations

from typing import Any

import pytest

from attlas.pages import Tables, holds
from attlas.pages.html import html_page
from attlas.pages.laws import check_page, claims_of
from attlas.store import Manifest, Result
from attlas.studies.importance.page import PAGE


def importance_result(streams: tuple[str, ...] = ("encoder",), *, cut: bool = True, name: str = "tiny") -> Result:
    """Three layers of four heads: heads 2-1 and 3-4 have more than half of all importance."""
    places = [(stream, layer, head) for stream in streams for layer in range(3) for head in range(4)]
    values = {(1, 0): 0.5, (2, 3): 0.1}
    heads: list[dict[str, Any]] = []
    for stream, layer, head in places:
        value = values.get((layer, head), 0.05)
        row = {"stream": stream, "layer": layer, "head": head, "value": value, "low": value / 2, "high": 2 * value}
        row |= {"normalised": value / 0.7, "signed": -value, "n": 40}
        heads.append(row | ({"change": -value, "loss_change": value / 3} if cut else {}))
    tables = {"importance": _columns(heads)}
    tables["loss"] = _columns([{"task": "causal-lm", "value": 3.25, "low": 3.0, "high": 3.5, "n": 40}])
    if cut:
        ends = {f"{kind}_{end}": value for kind in ("spearman", "pearson")
                for end, value in (("low", 0.7), ("high", 0.9), ("p", 0.001))}  # fmt: skip
        row = {"quantity": "value", "against": "|loss_change|", "spearman": 0.8, "pearson": 0.85, **ends, "n": 12}
        tables["correlation"] = _columns([row])
    manifest = Manifest(
        "importance", {"options": {"task": "causal-lm"}}, model={"name": name}, corpus={"name": "tale"}
    )
    return Result(manifest, tables)


def _columns(rows: list[dict[str, Any]]) -> dict[str, list[Any]]:
    return {name: [row[name] for row in rows] for name in rows[0]}


def findings(result: Result) -> list[str]:
    return [str(finding.text) for finding in PAGE.found(Tables(result, PAGE.schemas, PAGE.derived))]


@pytest.mark.parametrize("cut", [True, False])
@pytest.mark.parametrize("streams", [("encoder",), ("encoder", "decoder", "cross")])
def test_page_and_result_fit(streams: tuple[str, ...], cut: bool) -> None:
    check_page(PAGE, importance_result(streams, cut=cut))


def test_findings_are_computed_from_the_tables() -> None:
    answer, layer, agrees, loss = findings(importance_result())
    assert answer.startswith("2 of 12 heads make up half of all importance (even shares would take 6); the loss")
    assert "2-1 (0.50), 3-4 (0.10)" in answer
    assert layer == "Layer 2 has the largest share of it: 59.1 % (even: 33.3 %)."
    assert "is 0.80 (0.70 to 0.90, 12 heads)" in agrees
    assert loss == "The loss of a text is 3.25 on average, in the task causal-lm."


def test_sentences_map_and_table_have_one_order() -> None:
    """By what heads are of their layer, another order would come out."""
    result = importance_result()
    heads = result.tables["importance"].to_pydict()
    heads["normalised"] = list(reversed(heads["value"]))
    result = Result(result.manifest, {**result.tables, "importance": heads})
    tables = Tables(result, PAGE.schemas, PAGE.derived)
    table = next(part for section in PAGE.sections if section.key == "table" for part in section.parts)
    listed = [(row["layer"], row["head"]) for row in table.shown(tables)[:2]]
    assert listed == [(1, 0), (2, 3)]
    assert "2-1 (0.50), 3-4 (0.10)" in findings(result)[0]
    assert PAGE.chart is not None
    assert PAGE.chart.columns[-1] == "value"


def test_of_a_model_that_is_no_better_than_chance_nothing_is_concluded() -> None:
    result = importance_result()
    row = {"task": "classification", "metric": "accuracy", "better": "higher", "score": 0.52, "chance": 0.5}
    row |= {"gain": 0.02, "gain_low": -0.05, "gain_high": 0.09, "units": 90, "n": 90}
    for low, warned in ((-0.05, True), (0.01, False)):
        poor = Result(result.manifest, {**result.tables, "whole": _columns([row | {"gain_low": low}])})
        check_page(PAGE, poor)
        page = html_page(PAGE, poor)
        assert ("has not shown that it can do this task: its accuracy of 0.52 (90 texts)" in page) == warned
        told = " ".join(findings(poor))
        assert ("depends most" in told, "largest share" in told, "rank correlation" in told) == (not warned,) * 3
        assert "accuracy" in told


def test_claims_fail_where_the_tables_say_something_else() -> None:
    result = importance_result()
    claims = claims_of(PAGE, result)
    heads = result.tables["importance"].to_pydict()
    turned = heads | {"value": heads["value"][5:] + heads["value"][:5]}
    tables = Tables(Result(result.manifest, {**result.tables, "importance": turned}), PAGE.schemas, PAGE.derived)
    false = {(claim.kind, claim.table) for claim in claims if not holds(claim, tables)}
    assert false == {("largest", "importance"), ("largest", "layers")}


def test_names_are_escaped() -> None:
    assert "Which heads does &lt;b&gt;bold need?" in html_page(PAGE, importance_result(name="<b>bold"))
