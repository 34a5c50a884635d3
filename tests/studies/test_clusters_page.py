"""The page on clusters: what it says, and that a real browser draws it."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

from attlas.pages import Tables, holds
from attlas.pages.laws import check_page, claims_of
from attlas.store import Manifest, Result
from attlas.studies.clusters.arrangement import join, lay_out, square, togetherness
from attlas.studies.clusters.behaviour import BEHAVIOURS
from attlas.studies.clusters.maps import SIGNS
from attlas.studies.clusters.page import PAGE, tree_rows
from attlas.studies.reporting import page_of

if TYPE_CHECKING:
    from playwright.sync_api import Page

LAYERS, HEADS = 4, 5
HOSTILE = "</script><script>window.broken = true</script>"


def invented(
    streams: tuple[str, ...] = ("encoder",), *, name: str = "an-invented-model", relation: str = "det"
) -> Result:
    """A result with the tables of a real one; heads of one layer lie together."""
    count = LAYERS * HEADS
    rng = np.random.default_rng(0)
    tables: dict[str, list[dict[str, Any]]] = {
        name: [] for name in ("clusters", "pairs", "joins", "layer_pairs", "togetherness")
    }
    first, second = np.triu_indices(count, 1)
    for stream in streams:
        same = first // HEADS == second // HEADS
        values = np.where(same, 0.15, 0.3) + rng.uniform(0, 0.1, len(first))
        distances = square(values, count)
        places, tree = lay_out(distances), join(distances)
        for k in range(count):
            others = distances[k] + 9 * (np.arange(count) == k)
            kind = BEHAVIOURS[k % len(BEHAVIOURS)]
            tables["clusters"].append(
                {
                    "stream": stream,
                    "layer": k // HEADS,
                    "head": k % HEADS,
                    "x": places.places[k, 0],
                    "y": places.places[k, 1],
                    "behaviour": kind,
                    "relations": relation if kind == "relation" else "",
                    "leaf": tree.leaves.index(k),
                    "nearest_layer": int(others.argmin()) // HEADS,
                    "nearest_head": int(others.argmin()) % HEADS,
                    "nearest": others.min(),
                    "mean": 0.3,
                    "entropy": 2.0,
                    "even": 4.0,
                    "previous": None if stream == "cross" else 0.1,
                    "next": 0.1,
                    "self": 0.1,
                    "first": None,
                    "cls": 0.1,
                    "sep": 0.2,
                    "punctuation": 0.1,
                    "special": 0.4,
                    "n": 900,
                    "twin_x": rng.normal() / 1000,
                    "twin_y": rng.normal() / 1000,
                    "twin_behaviour": "broad",
                    "twin_mean": 0.004,
                    "twin_entropy": 3.9,
                }
            )
        for a, b, value in zip(first, second, values, strict=True):
            tables["pairs"].append(
                {
                    "stream": stream,
                    "layer": int(a) // HEADS,
                    "head": int(a) % HEADS,
                    "layer_b": int(b) // HEADS,
                    "head_b": int(b) % HEADS,
                    "value": value,
                    "n": 900,
                    "low": value - 0.01,
                    "high": value + 0.01,
                    "first_half": value - 0.001,
                    "second_half": value + 0.001,
                    "twin": 0.004,
                }
            )
        for number, (a, b, value, size) in enumerate(tree.joins):
            row = {"stream": stream, "who": "model", "join": number, "a": int(a), "b": int(b)}
            tables["joins"].append({**row, "value": value, "heads": int(size)})
        for a in range(LAYERS):
            for b in range(LAYERS):
                value = 0.2 if a == b else 0.3 + abs(a - b) / 50
                ends = {"low": value - 0.01, "high": value + 0.01, "twin_low": 0.003, "twin_high": 0.005}
                row = {"stream": stream, "layer": a, "layer_b": b, "value": value, "n": 900, "twin": 0.004}
                tables["layer_pairs"].append({**row, **ends})
        found = togetherness(distances, [len(distances) // LAYERS] * LAYERS, shuffles=199)
        assert found is not None
        for who, within, between, ratio, p in (
            ("model", found.within, found.between, found.ratio, found.p),
            ("twin", 0.004, 0.004, 1.0, 0.5),
        ):
            ends = {f"{k}_{e}": v for k, v in (("within", within), ("between", between)) for e in ("low", "high")}
            row = {"stream": stream, "who": who, "within": within, "between": between, "ratio": ratio, "p": p, **ends}
            more = {"shuffles": 199, "stress": places.stress, "halves": 0.99, "heads": count, "n": 900}
            tables["togetherness"].append({**row, **more})
    columns = {table: {column: [row[column] for row in rows] for column in rows[0]} for table, rows in tables.items()}
    return Result(Manifest("clusters", model={"name": name}, corpus={"name": "invented numbers"}), columns)


def test_every_behaviour_has_a_sign_of_its_own() -> None:
    assert set(SIGNS) == set(BEHAVIOURS)
    assert len(set(SIGNS.values())) == len(BEHAVIOURS)


def test_the_page_says_what_was_found() -> None:
    check_page(PAGE, invented())
    check_page(PAGE, invented(("encoder", "decoder", "cross")))
    page = page_of(invented())
    assert "<b>Heads of one layer lie together</b>" in page
    assert "(p 0.005 by 199 random deals of the heads to layers)" in page
    assert "a ratio of 1.00 (p 0.50)" in page
    assert "heads within the same layer are often fairly close" in page
    assert page.count("<tr data-stream") >= 12 + 20


def test_claims_fail_where_the_tables_are_turned_round() -> None:
    result = invented()
    tables = {name: result.tables[name].to_pydict() for name in result.tables}
    for table, column in (("togetherness", "ratio"), ("pairs", "first_half")):
        tables[table][column].reverse()
        turned = Tables(Result(result.manifest, tables), PAGE.schemas, PAGE.derived)
        assert not all(holds(claim, turned) for claim in claims_of(PAGE, result) if claim.table == table)


def test_a_layer_apart_is_not_claimed() -> None:
    result = invented()
    rows = result.tables["togetherness"].to_pylist()
    rows[0] |= {"ratio": 1.01, "p": 0.4}
    columns = {name: [row[name] for row in rows] for name in rows[0]}
    other = Result(result.manifest, {**result.tables, "togetherness": columns})
    check_page(PAGE, other)
    page = page_of(other)
    assert "<b>Heads of one layer do not surely lie together</b>" in page
    assert "a ratio of <b>1.01</b> (p 0.40 by" in page


def test_the_tree_goes_up_from_its_leaves() -> None:
    result = invented()
    heads, joins = (result.tables[name].to_pylist() for name in ("clusters", "joins"))
    rows = tree_rows(heads, joins)
    leaves = {row["x"] for row in rows if row["part"] == "leaf"}
    assert leaves == set(range(LAYERS * HEADS))
    branches = [row for row in rows if row["part"] == "branch"]
    assert len(branches) == 4 * len(joins)
    for row in branches:
        assert 0 <= row["y"] <= row["top"]
        assert -0.5 < row["x"] < LAYERS * HEADS


@pytest.mark.browser
def test_all_charts_are_drawn(open_report: Callable[[Path], Page], tmp_path: Path) -> None:
    page = open_report(invented().save(tmp_path / "out"))
    count = LAYERS * HEADS
    for figure in ("behaviour", "layer", "twin", "tree-chart"):
        assert page.locator(f"#figure-{figure} svg .mark-symbol.role-mark path").count() == count, figure
    assert page.locator("#figure-tree-chart svg .mark-line.role-mark path").count() == count - 1
    assert page.locator("#figure-layer-pairs svg .mark-rect.role-mark path").count() == LAYERS**2
    assert page.locator("#figure-gaps-chart svg .mark-line.role-mark path").count() == 2
    labels = page.locator("#figure-behaviour svg .mark-text.role-mark text").all_text_contents()
    assert "det" in labels
    page.locator("#figure-behaviour svg .mark-symbol.role-mark path").first.hover(force=True)
    page.wait_for_selector("#vg-tooltip-element.visible")
    assert "nearest head" in page.locator("#vg-tooltip-element").inner_text()
    page.locator("#figure-layer-pairs select").select_option("twin")
    assert ".004" in page.locator("#figure-layer-pairs svg .mark-text.role-mark text").all_text_contents()
    page.fill("#heads input[type=search]", "broad")
    assert page.locator("#heads output").inner_text() == "2 of 20 rows"
    ticks = """svg => ['x', 'y'].map((axis, k) => {
        const labels = [...svg.querySelectorAll(`.role-axis-label`)[k].querySelectorAll('text')];
        const at = labels.map(t => [parseFloat(t.textContent.replace('−', '-')),
            t.getBoundingClientRect()[axis] + t.getBoundingClientRect()[axis == 'x' ? 'width' : 'height'] / 2]);
        const [a, b] = [at[0], at[at.length - 1]];
        return Math.abs((b[1] - a[1]) / (b[0] - a[0]));
    })"""
    across, upwards = page.locator("#figure-layer svg").first.evaluate(ticks)
    assert across == pytest.approx(upwards, rel=0.05), "both axes of a map have one scale"


@pytest.mark.browser
def test_streams_can_be_chosen_and_hostile_names_run_nothing(
    open_report: Callable[[Path], Page], tmp_path: Path
) -> None:
    page = open_report(invented(("encoder", "cross"), name=HOSTILE, relation=HOSTILE).save(tmp_path / "out"))
    page.click("#streams button:has-text('cross')")
    page.wait_for_selector("html[data-ready=true]")
    assert page.locator("#figure-tree-chart svg .mark-symbol.role-mark path").count() == LAYERS * HEADS
    assert page.evaluate("window.broken") is None
    assert page.evaluate("document.documentElement.scrollWidth") == 1280
