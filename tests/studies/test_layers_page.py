"""The page on layers: what it says follows from the numbers, and every chart is drawn, whatever was measured."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from invented_layers import invented
from scipy import stats

from attlas.pages import Tables
from attlas.pages.findings import holds
from attlas.pages.laws import check_page, claims_of
from attlas.pages.markdown import markdown_page
from attlas.store import Manifest, Result
from attlas.studies.layers.findings import order_of
from attlas.studies.layers.page import PAGE
from attlas.studies.reporting import command_line, write_report
from attlas.studies.shared.published import PIPELINE

if TYPE_CHECKING:
    from playwright.sync_api import Page


def made_of(*rows: dict[str, Any]) -> Result:
    plain = {"who": "model", "labels": "gold", "low": None, "high": None, "n": 1}
    whole = [plain | row for row in rows]
    return Result(Manifest("layers"), {"tasks": {key: [row[key] for row in whole] for key in whole[0]}})


def placed(**places: float | tuple[float, float, float]) -> Result:
    rows = []
    for name, place in places.items():
        value, low, high = place if isinstance(place, tuple) else (place, None, None)
        rows.append(
            {"task": name.replace("_", "-"), "measure": "expected layer", "value": value, "low": low, "high": high}
        )
    return made_of(*rows)


def sure(places: dict[str, float]) -> Result:
    """Places with intervals so narrow that all are apart."""
    return placed(**{name: (place, place - 1e-3, place + 1e-3) for name, place in places.items()})


def tables_of(result: Result) -> Tables:
    return Tables(result, PAGE.schemas, PAGE.derived)


def said(result: Result) -> str:
    return " ".join(str(finding.text) for finding in PAGE.found(tables_of(result)))


@pytest.mark.parametrize("kind", ["several", "bare", "heads"])
def test_a_page_and_its_claims_hold(kind: str) -> None:
    result = invented(sentences=60, **KINDS[kind][0])
    check_page(PAGE, result)
    tables = {name: table.to_pydict() for name, table in result.tables.items()}
    tables["tasks"]["value"].reverse()
    changed = tables_of(Result(result.manifest, tables))
    assert not all(holds(claim, changed) for claim in claims_of(PAGE, result))


def test_the_published_order_agrees_with_itself() -> None:
    same = sure({task.replace("-", "_"): known.expected_layer for task, known in PIPELINE.items()})
    order = order_of(tables_of(same), "expected")
    assert order is not None
    assert (order.pairs, order.same, order.tau, order.turned) == (28, 28, 1.0, ())
    assert "Syntax comes before semantics throughout: of 12 pairs" in said(same)
    assert "12 have intervals that are apart; the syntactic one has the lower expected layer in 12." in said(same)
    assert "28 have expected layers whose intervals are apart; of these 28 stand in the published order" in said(same)
    by_layer = sorted(PIPELINE, key=lambda task: PIPELINE[task].expected_layer)
    assert tables_of(same)["summary"].column("task") == by_layer


def test_tau_is_kendalls_and_turned_pairs_are_named() -> None:
    places = {"pos": 3.0, "constituents": 2.0, "dependencies": 6.5, "roles": 6.0, "relations": 7.0}
    result = sure(places)
    order = order_of(tables_of(result), "expected")
    assert order is not None
    expected = stats.kendalltau([PIPELINE[task].expected_layer for task in places], list(places.values())).statistic
    assert order.tau == pytest.approx(expected)
    assert "Syntax mostly comes before semantics: of 6 pairs" in said(result)
    assert "in 5; dependencies (6.50) comes after semantic roles (6.00)" in said(result)


def test_pairs_count_as_apart_only_where_their_intervals_are() -> None:
    result = placed(pos=(3.0, 2.5, 3.5), roles=(3.4, 3.1, 3.9), relations=(5.0, 4.5, 5.5))
    order = order_of(tables_of(result), "expected")
    assert order is not None
    assert (order.apart, order.apart_same) == (2, 2)
    assert "2 have expected layers whose intervals are apart; of these 2 stand in the published order" in said(result)


def test_nothing_is_called_ordered_where_intervals_overlap() -> None:
    none = placed(pos=(3.0, 1.0, 5.0), constituents=(3.1, 1.0, 5.0), roles=(3.4, 2.0, 5.0), relations=(4.0, 2.0, 6.0))
    assert "Whether syntax comes before semantics cannot be told" in said(none)
    assert "none has expected layers whose intervals are apart" in said(none)
    assert "throughout" not in said(none)
    assert "around 4.00 (2.00–6.00), which is not sure" in said(none)
    some = placed(pos=(1.0, 0.8, 1.2), constituents=(3.1, 1.0, 5.0), roles=(3.4, 2.0, 5.0), relations=(4.0, 2.0, 6.0))
    assert "Syntax comes before semantics where it can be told: of 4 pairs" in said(some)
    assert "2 have intervals that are apart; the syntactic one has the lower expected layer in 2." in said(some)


def test_what_further_layers_cost_is_called_so() -> None:
    figures = {"score": 0.6, "score at layer 0": 0.635, "best single layer": 2, "score of it": 0.567}
    result = made_of(
        {"task": "pos", "measure": "gain", "value": -0.035, "low": -0.05, "high": -0.02},
        *({"task": "pos", "measure": measure, "value": value} for measure, value in figures.items()),
    )
    assert "Layers above 0 cost part of speech 3.5 points of F1 (63.5 to 60.0)." in said(result)
    assert "part of speech layer 2 (3.3 points worse)" in said(result)
    assert "-3" not in said(result)
    assert "−3" not in said(result)


def test_probes_that_did_not_train_get_one_red_line_and_no_place() -> None:
    chance = {"measure": "most frequent label", "who": "none", "value": 0.2}
    figures = {"expected layer": 3.0, "score": 0.001, "best single layer": 2, "score of it": 0.01, "gain": 0.001,
               "centre of gravity": 2.0}  # fmt: skip
    rows = [{"task": "pos", "measure": measure, "value": value} for measure, value in figures.items()]
    result = made_of(*rows, {"task": "pos", **chance})
    warned = str(PAGE.warning(tables_of(result)))
    assert "The probes did not train: for part of speech (F1 0.1 %; the most frequent label: 20.0 %)" in warned
    assert said(result) == (
        "Nothing was learned for sure; all layers reach an F1 of 0.1 % and always saying the most frequent label "
        "20.0 %."
    )
    unsure = made_of(
        {"task": "pos", "measure": "score", "value": 0.25, "low": 0.19, "high": 0.3}, {"task": "pos", **chance}
    )
    assert "not surely better" in str(PAGE.warning(tables_of(unsure)))
    sound = made_of(
        {"task": "pos", "measure": "score", "value": 0.25, "low": 0.21, "high": 0.3}, {"task": "pos", **chance}
    )
    assert PAGE.warning(tables_of(sound)) is None


def test_a_task_whose_layers_add_nothing_sure_gets_no_place() -> None:
    result = made_of(
        {"task": "pos", "measure": "expected layer", "value": 3.0},
        {"task": "roles", "measure": "expected layer", "value": 4.0},
        {"task": "roles", "measure": "gain", "value": 0.002, "low": -0.01, "high": 0.01},
    )
    assert tables_of(result)["summary"].column("expected") == [3.0, None]
    assert tables_of(result)["summary"].column("task") == ["pos", "roles"]
    assert "For semantic roles the layers add nothing that can be told from chance" in said(result)


def test_where_the_network_underfits_and_where_it_says_nothing_is_told() -> None:
    result = invented(("pos", "roles"), layers=4, sentences=300)
    text = said(result)
    assert "a linear probe of the same layer is better by more than its interval" in text
    rows = [row for row in result.tables["scores"].to_pylist() if row["series"] == "linear" and row["who"] == "model"]
    ahead = [row for row in rows if row["above_mlp_low"] > 0]
    assert 0 < len(ahead) < len(rows)
    largest = max(ahead, key=lambda row: row["above_mlp"])
    assert f"semantic roles layer {largest['layer']} (by {100 * largest['above_mlp']:.1f}" in text
    assert "The MLP underfits here" in text
    columns = result.tables["scores"].to_pydict()
    places = [at for at, low in enumerate(columns["above_mlp_low"]) if low is not None and low > 0]
    columns["above_mlp_low"] = [-0.1 if at in places[1:] else low for at, low in enumerate(columns["above_mlp_low"])]
    once = said(Result(result.manifest, {**result.tables, "scores": columns}))
    assert "There is hardly a sign that the MLP underfits: in 1 of" in once
    assert "where the most likely label is always said" in text
    lines = {row["line"] for row in tables_of(result)["curves"]}
    assert lines == {"layers 0 to l", "layer l alone", "layer l alone, linear", "untrained twin"}
    even = invented(("pos",), layers=4, sentences=300)
    assert "On no layer is a linear probe surely better than the MLP" in said(even)


def test_a_page_says_what_its_tables_hold(tmp_path: Path) -> None:
    result = invented(("pos", "roles"), layers=4, seeds={"pos": 2}, sentences=80)
    result.save(tmp_path / "out")
    page = write_report(tmp_path / "out").read_text(encoding="utf-8")
    rows = {(row["task"], row["measure"], row["who"], row["labels"]): row for row in result.table.to_pylist()}
    for task in ("pos", "roles"):
        for measure in ("score", "score at layer 0", "selectivity"):
            assert f"{100 * rows[task, measure, 'model', 'gold']['value']:.1f}" in page
        assert f"{rows[task, 'centre of gravity', 'model', 'gold']['value']:.2f}" in page
    assert "one to 2 seeds" in page
    assert "1 (3 times)" in page  # labels unseen in training
    assert "untrained</button>" in page


def test_what_was_not_measured_has_no_column(tmp_path: Path) -> None:
    invented(("entities",), layers=3, controls=False, sentences=40).save(tmp_path / "out")
    page = write_report(tmp_path / "out").read_text(encoding="utf-8")
    assert "untrained</button>" not in page
    assert "selectivity</button>" not in page
    assert "F1, all layers</button>" in page


@pytest.mark.parametrize(
    ("syntax", "semantics", "verdict"),
    [
        ((0.5, 0.2), (0.3, 0.1), "Syntax is the more local"),
        ((0.2, 0.1), (0.3, 0.1), "Semantics is the more local"),
        ((0.5, 0.1), (0.3, 0.2), "Whether syntax is more local depends on the measure"),
        ((0.31, 0.1), (0.3, 0.1), "Neither syntax nor semantics is more local"),
    ],
)
def test_what_is_local_is_said_by_both_divergences(
    syntax: tuple[float, float], semantics: tuple[float, float], verdict: str
) -> None:
    rows = [
        {"task": task, "measure": measure, "value": value}
        for task, values in (("pos", syntax), ("relations", semantics))
        for measure, value in zip(("K(D)", "K(s)"), values, strict=True)
    ]
    assert verdict in said(made_of(*rows))


KINDS: dict[str, tuple[dict[str, Any], int]] = {
    "several": ({"tasks": ("pos", "roles", "relations"), "layers": 6, "seeds": {"pos": 3}}, 1 + 2 + 3 + 1 + 3),
    "bare": ({"tasks": ("entities",), "layers": 4, "controls": False}, 1 + 2 + 1 + 1),
    "heads": ({"tasks": ("pos",), "layers": 3, "heads": 4}, 1 + 2 + 1 + 1 + 1 + 1),
}


@pytest.mark.browser
@pytest.mark.parametrize("kind", KINDS)
def test_every_chart_is_drawn_and_nothing_breaks_out(
    kind: str, open_report: Callable[[Path], Page], tmp_path: Path
) -> None:
    asked, count = KINDS[kind]
    invented(name="</script><script>window.broken = true</script>", sentences=60, **asked).save(tmp_path / "out")
    tab = open_report(tmp_path / "out")
    assert tab.evaluate("window.broken") is None
    figures = tab.locator("figure")
    assert figures.count() == count
    for number in range(count):
        marks = figures.nth(number).locator("svg .role-mark path")
        assert marks.count() > 0, figures.nth(number).get_attribute("id")
    if kind == "several":
        assert tab.locator("#figure-places svg .role-legend").count() > 0
        # six further layers of three tasks; seven with a weight; a choice that shows the twin's
        assert tab.locator("#figure-gains svg .mark-rect.role-mark path").count() == 18
        assert tab.locator("#figure-mix svg .mark-rect.role-mark path").count() == 21
        line = tab.locator("#figure-control-lines svg .mark-line.role-mark path").first
        before = line.get_attribute("d")
        tab.locator("#figure-control-lines select").nth(1).select_option("twin")
        tab.wait_for_function(
            "before => document.querySelector('#figure-control-lines svg .mark-line.role-mark path')"
            ".getAttribute('d') !== before",
            arg=before,
        )
    if kind == "heads":
        cells = tab.locator("#figure-head-map svg .mark-rect.role-mark path")
        assert cells.count() == 24  # a grid, and the cells on it


def test_the_results_page_is_written_from_folders() -> None:
    runs = [
        invented(("pos", "roles"), layers=4, sentences=60),
        invented(("pos",), layers=3, heads=2, controls=False, sentences=60),
    ]
    text = markdown_page(PAGE, [(result, command_line(result.manifest)) for result in runs], title="Layers")
    assert "| part of speech |" in text
    assert "14.1" in text  # 3.39 of 24 layers, published
    assert "attlas layers together" in text
    assert "attlas layers pos.jsonl --model tiny --test pos-test.jsonl --over heads" in text
