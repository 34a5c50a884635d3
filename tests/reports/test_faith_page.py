"""The page of attention as explanation: what its sentences say, how words are shaded, and that charts are drawn."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from invented_faith import CARD, EXPLANATIONS, INTERVENTIONS, SENTENCES, faith_result

from attlas.reports.faith import faith_page
from attlas.reports.faith_findings import Picture, called, findings, title
from attlas.reports.faith_words import examples_html, shades
from attlas.store import Result

if TYPE_CHECKING:
    from playwright.sync_api import Page


def picture(result: Result | None = None) -> Picture:
    tables = (result or faith_result()).tables
    return Picture({name: table.to_pylist() for name, table in tables.items()})


def test_findings_are_computed_from_the_tables() -> None:
    agreement, erasing, permuted, adversary, needed, elsewhere = findings(picture())
    assert "<b>Weights, last layer</b> rank the words of a text as gradients do with τ = <b>.21</b> (.19 to .23)" in (
        agreement.text
    )
    assert "gradients and leave-one-out agree with each other by .34" in agreement.text
    assert "In 26 % of texts" in agreement.text
    assert "<b>Norms, last layer</b> agree more with gradients (.30)." in agreement.text
    assert "SST .35 and .29" in agreement.published
    assert "takes <b>.14</b> from the probability" in erasing.text
    assert "more than erasing random words (+.080, +.060 to +.100)" in erasing.text
    assert "By <b>leave-one-out</b> it is most, .30; this attention is number 6 of 10." in erasing.text
    assert "moves by <b>.012</b> (TVD; mean .034)" in permuted.text
    assert "Accuracy changes by −.006 (−.026 to +.014, p .44)." in permuted.text
    assert "accuracy changes by −.241 (−.261 to −.221)." in permuted.text
    assert "<b>75 %</b> of ln 2" in adversary.text
    assert "The bound was not kept" not in adversary.text
    assert (
        "has accuracy <b>.869</b> (changes by −.043 (−.063 to −.023)): <b>the task needs attention</b>."
        in needed.text
    )
    assert "8.5 times as far" in elsewhere.text


def test_what_was_not_measured_is_not_said() -> None:
    tables = {name: rows for name, rows in picture().tables.items() if name in ("agreement", "instances", "whole")}
    without = [{key: value for key, value in row.items() if "adversary" not in key} for row in tables["instances"]]
    (alone,) = findings(Picture({**tables, "instances": without}))
    assert "rank the words" in alone.text
    given = {
        **picture().tables,
        "interventions": [row for row in picture().rows("interventions") if row["name"] == ""],
    }
    needed = findings(Picture(given))[-1]
    assert "Whether the task needs attention at all would take a model" in needed.text


def test_explanations_and_interventions_have_names_to_read() -> None:
    found = picture()
    assert [title(one) for one in found.explanations] == [
        "weights, last layer", "norms, last layer", "weights, all layers", "norms, all layers", "rollout",
        "gradients", "integrated gradients", "leave-one-out", "position", "random order",
    ]  # fmt: skip
    assert title(("weight", "3", "mean")) == "weights, layer 4"
    assert title(("weight", "last", "3")) == "weights, last layer, head 4"
    assert [called(row) for row in found.rows("interventions")][5:] == [
        "frozen minilm-seed1", "other model minilm-seed1", "evened model minilm-even",
    ]  # fmt: skip
    assert found.stated == ("weight", "last", "mean")


def test_words_are_shaded_by_the_strongest_of_their_line() -> None:
    assert shades([0.0, 0.0]) == [0.0, 0.0]
    rows = [
        {"text": 3, "place": 1, "word": word, "spelled": spelled, "weight": weight, "own": None}
        for word, (spelled, weight) in enumerate([("<i>", 0.2), ("b", -0.1)])
    ]
    shown = examples_html(rows, [])
    assert '<span style="--s:100%" title=".200">&lt;i&gt;</span>' in shown
    assert '<span class="against asked" style="--s:50%" title="−.100">b</span>' in shown
    assert "Text 4, the tag of “b”" in shown
    assert "own weights" not in shown
    both = [{**row, "own": row["weight"], "norm": 0.1, "adversary": 0.3} for row in rows]
    assert [part.split("<")[0] for part in examples_html(both, []).split('<th scope="row">')[1:]] == [
        "weights", "adversary’s weights", "norms",
    ]  # fmt: skip


@pytest.mark.parametrize("tagging", [False, True])
def test_the_page_has_the_card_and_escapes_names(tagging: bool) -> None:
    page = faith_page(faith_result(name="<b>bold", tagging=tagging, instances=20))
    assert "Does attention explain what &lt;b&gt;bold says?" in page
    assert CARD[-1][-1] in page
    assert "&lt;b&gt;almost&lt;/b&gt;" in page
    assert "<b>bold" not in page
    assert "<i>published: SST</i>" in page
    assert ("the word that is explained" in page) is tagging


@pytest.mark.browser
def test_every_chart_is_drawn_and_can_be_changed(open_report: Callable[[Path], Page], tmp_path: Path) -> None:
    faith_result(instances=40).save(tmp_path / "out")
    page = open_report(tmp_path / "out")
    taus = sum(tau is not None for taus, *_ in EXPLANATIONS.values() for tau in taus)
    drawn = {
        "agreement": (".mark-symbol.role-mark path", taus),
        "comprehensiveness": (".mark-symbol.role-mark path", len(EXPLANATIONS)),
        "sufficiency": (".mark-symbol.role-mark path", len(EXPLANATIONS)),
        "plane": (".mark-symbol.role-mark path", 40 + len(INTERVENTIONS)),
        "permuted": (".mark-symbol.role-mark path", 40),
    }
    for key, (marks, count) in drawn.items():
        assert page.locator(f"#figure-{key} svg {marks}").count() == count, key
    for key in ("tau-gradient", "tau-leave-one-out", "adversaries"):
        bars = page.locator(f"#figure-{key} svg .mark-rect.role-mark path")
        counts = [int(label.split("instances: ")[1].split(";")[0]) for label in bars.evaluate_all(
            "bars => bars.map(bar => bar.getAttribute('aria-label'))")]  # fmt: skip
        assert sum(counts) == 40, key
    figure = page.locator("#figure-agreement")
    before = figure.locator("svg.marks").inner_html()
    figure.locator("select[name=show]").select_option("overlap")
    assert figure.locator("svg.marks").inner_html() != before
    assert page.locator("#card .attlas-card-figures li").count() == 6
    assert page.locator(".faith-example").count() == len(SENTENCES)
    for width in (1280, 500):
        page.set_viewport_size({"width": width, "height": 800})
        assert page.evaluate("document.documentElement.scrollWidth <= window.innerWidth"), width
