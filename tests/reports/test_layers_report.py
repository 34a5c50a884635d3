"""The page on layers: what it says follows from the numbers, and every chart is drawn, whatever was measured."""

from __future__ import annotations

import sys
from collections.abc import Callable
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from invented_layers import invented
from scipy import stats

from attlas.reports import write_report
from attlas.reports.layers_findings import Picture, findings, order_of
from attlas.studies.shared.published import PIPELINE

if TYPE_CHECKING:
    from playwright.sync_api import Page


def picture(**places: float | tuple[float, float, float]) -> Picture:
    rows = []
    for name, place in places.items():
        value, low, high = place if isinstance(place, tuple) else (place, None, None)
        row = {"task": name.replace("_", "-"), "model": "trained", "labels": "gold", "n": 1}
        rows.append(row | {"measure": "expected layer", "value": value, "low": low, "high": high})
    return Picture({"tasks": rows})


def said(found: Picture) -> str:
    return " ".join(finding.text for finding in findings(found))


def test_the_published_order_agrees_with_itself() -> None:
    same = picture(**{task.replace("-", "_"): known.expected_layer for task, known in PIPELINE.items()})
    order = order_of(same, "expected layer")
    assert order is not None
    assert (order.pairs, order.same, order.tau, order.turned) == (28, 28, 1.0, ())
    assert "<b>Syntax comes before semantics</b> throughout: in 12 of 12 pairs" in said(same)
    assert "<b>28</b> stand in the published order" in said(same)
    assert same.tasks == sorted(PIPELINE, key=lambda task: PIPELINE[task].expected_layer)


def test_tau_is_kendalls_and_turned_pairs_are_named() -> None:
    places = {"pos": 3.0, "constituents": 2.0, "dependencies": 6.5, "roles": 6.0, "relations": 7.0}
    found = picture(**places)
    order = order_of(found, "expected layer")
    assert order is not None
    expected = stats.kendalltau([PIPELINE[task].expected_layer for task in places], list(places.values())).statistic
    assert order.tau == pytest.approx(expected)
    text = said(found)
    assert "in 5 of 6 pairs" in text
    assert "but dependencies (6.50) comes after semantic roles (6.00)" in text


def test_pairs_count_as_apart_only_where_their_intervals_are() -> None:
    found = picture(pos=(3.0, 2.5, 3.5), roles=(3.4, 3.1, 3.9), relations=(5.0, 4.5, 5.5))
    order = order_of(found, "expected layer")
    assert order is not None
    assert (order.apart, order.apart_same) == (2, 2)
    assert "Of the 2 whose intervals are apart, 2 do." in said(found)


def test_a_task_whose_layers_add_nothing_sure_gets_no_place() -> None:
    rows = list(picture(pos=3.0, roles=4.0).rows["tasks"])
    gain = {"task": "roles", "model": "trained", "labels": "gold", "measure": "gain", "n": 1}
    found = Picture({"tasks": [*rows, gain | {"value": 0.002, "low": -0.01, "high": 0.01}]})
    assert found.place("roles") is None
    assert found.tasks == ["pos", "roles"]
    assert "For semantic roles the layers add nothing that can be told from chance" in said(found)


def test_a_page_says_what_its_tables_hold(tmp_path: Path) -> None:
    result = invented(("pos", "roles"), layers=4, seeds={"pos": 2}, sentences=80)
    result.save(tmp_path / "out")
    page = write_report(tmp_path / "out").read_text(encoding="utf-8")
    rows = {(row["task"], row["measure"], row["model"], row["labels"]): row for row in result.table.to_pylist()}
    for task in ("pos", "roles"):
        for measure in ("score", "score at layer 0", "selectivity"):
            assert f"{100 * rows[task, measure, 'trained', 'gold']['value']:.1f}" in page
        assert f"{rows[task, 'centre of gravity', 'trained', 'gold']['value']:.2f}" in page
    assert "one to 2 seeds" in page
    assert "1 (3 times)" in page  # labels unseen in training
    assert "untrained: expected" in page


def test_what_was_not_measured_has_no_column(tmp_path: Path) -> None:
    invented(("entities",), layers=3, controls=False, sentences=40).save(tmp_path / "out")
    page = write_report(tmp_path / "out").read_text(encoding="utf-8")
    assert "untrained: expected" not in page
    assert '<th scope="col">selectivity</th>' not in page
    assert '<th scope="col">all layers</th>' in page


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
        {"task": task, "model": "trained", "labels": "gold", "measure": measure, "value": value}
        | {"low": None, "high": None, "n": 1}
        for task, values in (("pos", syntax), ("relations", semantics))
        for measure, value in zip(("K(D)", "K(s)"), values, strict=True)
    ]
    assert f"<b>{verdict}</b>" in said(Picture({"tasks": rows}))


KINDS: dict[str, tuple[dict[str, Any], int]] = {
    "several": ({"tasks": ("pos", "roles", "relations"), "layers": 6, "seeds": {"pos": 3}}, 1 + 3 + 3 + 2 + 2),
    "bare": ({"tasks": ("entities",), "layers": 4, "controls": False}, 1 + 1 + 1 + 2),
    "heads": ({"tasks": ("pos",), "layers": 3, "heads": 4}, 1 + 1 + 1 + 2 + 2 + 1),
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
        # six further layers and seven with a weight, two places, and a choice that moves the map of labels along
        assert tab.locator("#figure-bars-pos svg .mark-rect.role-mark path").count() == 13
        assert tab.locator("#figure-bars-pos svg .mark-text.role-mark text").count() == 2
        cells = "#figure-label-map svg .mark-text.role-mark"
        before = tab.locator(cells).text_content()
        tab.select_option("#figure-label-lines select", "relations")
        changed = "([cells, before]) => document.querySelector(cells).textContent !== before"
        tab.wait_for_function(changed, arg=[cells, before])
    if kind == "heads":
        assert tab.locator("#figure-heads svg .mark-rect.role-mark path").count() == 24  # a grid, and the cells on it
        assert tab.locator("#figure-places svg .role-legend").count() > 0


def test_the_results_page_is_written_from_folders(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(str(Path(__file__).resolve().parents[2] / "docs"))
    building = import_module("building.layers")
    monkeypatch.setattr(building, "RESULTS", tmp_path / "results")
    one = invented(("pos", "roles"), layers=4, sentences=60).save(tmp_path / "one")
    two = invented(("pos",), layers=3, heads=2, controls=False, sentences=60).save(tmp_path / "two")
    building.build([one, two])
    text = (tmp_path / "results" / "layers.md").read_text(encoding="utf-8")
    assert "| part of speech | 14 |" in text  # 3.39 of 24 layers, published
    assert "## tiny, over heads: 3 layers" in text
    assert "attlas layers roles roles.jsonl" in text
    sys.modules.pop("building.layers", None)
