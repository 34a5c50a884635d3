"""The page of one case across layers: what its sentences say, and that its bars are as high as they should be."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from invented_layers_case import TASKS, layers_case_result

from attlas.pages import Tables
from attlas.pages.findings import holds
from attlas.pages.laws import check_page, claims_of
from attlas.store import Result
from attlas.studies.layers_case.page import PAGE
from attlas.studies.layers_case.panels import Panel, brief, panels_of, told
from attlas.studies.reporting import page_of

if TYPE_CHECKING:
    from playwright.sync_api import Page


def panel(*rows: tuple[float, ...], labels: tuple[str, ...] = ("A", "B", "C", "D"), task: str = "pos") -> Panel:
    return Panel(0, "run", task, tuple(range(len(rows[0]))), labels[: len(rows)], rows)


@pytest.mark.parametrize(
    ("asked", "sentence", "settled"),
    [
        (panel((0.6, 0.9)), "A leads at every layer: 0.60 at layer 0, 0.90 at layer 1.", 0),
        (
            panel((0.6, 0.3, 0.1), (0.3, 0.4, 0.9)),
            "A leads at layer 0 (0.60); from layer 1 on it is B, 0.90 at layer 2. It is over one half "
            "from layer 2 on.",
            1,
        ),
        (
            panel((0.02, 0.4, 0.3, 0.1), (0.01, 0.1, 0.2, 0.3)),
            "No label reaches 0.10 at layer 0, A at layers 1–2 (at most 0.40); from layer 3 on it is B, "
            "0.30 at layer 3. It is not over one half there, so the probe would give no label.",
            3,
        ),
        (panel((0.04, 0.02)), "No label reaches 0.10 at any layer: the probe has nothing to say of this.", 0),
        (panel((0.6, 0.02)), "A leads at layer 0 (0.60); from layer 1 on no label reaches 0.10.", 1),
        (
            panel((0.6, 0.2, 0.6, 0.2, 0.6), (0.2, 0.5, 0.1, 0.5, 0.1)),
            "The leading label changes 4 times, among A and B; from layer 4 on it is A, 0.60 at layer 4.",
            4,
        ),
        (panel((0.7,), (0.2,)), "A leads with 0.70.", 0),
    ],
)
def test_where_the_leading_label_changes_is_told(asked: Panel, sentence: str, settled: int) -> None:
    assert str(told(asked)) == sentence
    assert asked.settled == settled


def test_where_several_labels_are_given_the_set_is_told() -> None:
    asked = panel((0.9, 0.9, 0.9), (0.8, 0.2, 0.1), (0.1, 0.7, 0.8), (0.6, 0.7, 0.7))
    assert asked.plural
    assert str(told(asked)) == (
        "At layer 2 A, C and D are over one half. Since layer 0 C came and B "
        "went. The set stays as it is from layer 1 on."
    )
    assert brief(asked, -1) == "A 0.90, C 0.80 + 1"


def test_only_labels_that_matter_are_drawn() -> None:
    labels = tuple(f"L{number}" for number in range(20))
    rising = [(0.02 * number, 0.04 * number) for number in range(20)]
    asked = panel(*rising, labels=labels)
    assert asked.shown == ("L19", "L18", "L17", "L16", "L15", "L14", "L13")  # six, and one more over one half
    assert asked.left_out == 10
    assert panel((0.01, 0.02), (0.0, 0.03)).shown == ("B",)


def test_a_page_and_its_claims_hold() -> None:
    result = layers_case_result()
    check_page(PAGE, result)
    tables = {name: table.to_pydict() for name, table in result.tables.items()}
    tables["probabilities"]["value"].reverse()
    changed = Tables(Result(result.manifest, tables), PAGE.schemas, PAGE.derived)
    assert not all(holds(claim, changed) for claim in claims_of(PAGE, result))


def test_questions_are_counted_and_the_last_to_settle_named() -> None:
    result = layers_case_result()
    assert [panel.task for panel in panels_of(result.table.to_pylist())] == [
        "pos", "entities", "dependencies", "roles", "proto-roles"
    ]  # fmt: skip
    changed, order = (str(finding.text) for finding in PAGE.found(Tables(result, PAGE.schemas, PAGE.derived)))
    assert "in 4 of 5 questions" in changed
    assert "for “toronto”, part of speech, it is NN 0.62 at layer 0 and NNP 0.97 at layer 6" in changed
    assert "dependencies (layer 0); last: proto-roles (layer 5)" in order


def test_labels_and_words_are_escaped() -> None:
    tasks = {"<i>task": {"<b>&": (0.9, 0.9, 0.5)}}
    page = page_of(layers_case_result(text="a <u> b", spans=[("1:3", None)], tasks=tasks, name="<em>"))
    assert "layers of &lt;em&gt;" in page
    assert "&lt;b&gt;&amp;</b> leads" in page
    for raw in ("<b>&amp;", "<i>task", "<u>", "<em>"):
        assert raw not in page


def test_two_runs_of_one_task_are_told_apart() -> None:
    asked = {"pos": TASKS["pos"]}
    result = layers_case_result(tasks=asked, spans=[("2:3", None)], runs=["ewt"])
    assert "Part of speech <small>" in page_of(result)
    tables = dict(result.tables)
    runs = tables["runs"].to_pydict()
    tables["runs"] = type(tables["runs"]).from_pydict({name: values * 2 for name, values in runs.items()} | {
        "run": ["ewt", "gum"]
    })  # fmt: skip
    twice = type(result)(result.manifest, tables)
    assert "Part of speech (ewt) <small>" in page_of(twice)


@pytest.mark.parametrize("layers", [1, 2, 31])
def test_few_and_many_layers(layers: int) -> None:
    page = page_of(layers_case_result(layers=layers))
    noticed = sum(max(first, last) >= 0.1 for labels in TASKS.values() for first, last, _ in labels.values())
    assert noticed == 17
    assert page.count('class="step') == layers * (noticed if layers > 1 else 11)  # some are given up on the way
    assert ('class="quiet"' in page) is (layers == 31)


@pytest.mark.browser
def test_bars_are_as_high_as_probabilities(open_report: Callable[[Path], Page], tmp_path: Path) -> None:
    result = layers_case_result()
    result.save(tmp_path / "out")
    page = open_report(tmp_path / "out")
    assert page.locator("#edge-0 .case-panel").count() == 2
    assert page.locator("#edge-1 .case-panel").count() == 3
    assert page.locator("#edge-1 .case-sentence mark").all_text_contents() == ["smoked", "toronto"]
    strip = page.locator("#edge-0 .case-panel").first.locator("tbody tr").first
    assert strip.locator("th").text_content() == "NNP"
    heights = strip.locator("td.step").evaluate_all(
        "cells => cells.map(cell => parseFloat(getComputedStyle(cell, '::before').height) + 3)"
    )
    rows = [row for row in result.table.to_pylist() if (row["edge"], row["task"], row["label"]) == (0, "pos", "NNP")]
    whole = strip.locator("td.step").first.evaluate("cell => cell.clientHeight")
    assert [height / whole for height in heights] == pytest.approx([row["value"] for row in rows], abs=0.06)
    last = strip.locator("td.step").nth(6)
    last.hover()
    tip = last.locator("span").evaluate("span => getComputedStyle(span, '::before').content")
    assert tip == '"NNP, layer 6: 0.97"'
    assert page.evaluate("document.documentElement.scrollWidth <= window.innerWidth")
    page.set_viewport_size({"width": 390, "height": 800})
    assert page.evaluate("document.documentElement.scrollWidth <= window.innerWidth")
