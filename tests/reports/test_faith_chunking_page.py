"""The page of the chunking study: what its sentences say, and that its charts are drawn."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from invented_faith_chunking import BEND, GUIDED, WEIGHTS, faith_chunking_result

from attlas.reports.faith_chunking import faith_chunking_page
from attlas.reports.faith_chunking_findings import Picture, findings
from attlas.reports.faith_chunking_rows import curve_rows, plane_rows

if TYPE_CHECKING:
    from playwright.sync_api import Page


def picture(seeds: int = 3, **changed: list) -> Picture:
    tables = faith_chunking_result(seeds=seeds).tables
    return Picture({**{name: table.to_pylist() for name, table in tables.items()}, **changed})


def test_findings_are_computed_from_the_tables() -> None:
    scores, bend, seeds, words, guided, ranks = findings(picture())
    assert (
        "The original tagger has F1 <b>.900</b> (.896–.904). Adversaries stay within a point of it up to λ = <b>1</b>"
        in scores.text
    )
    assert "at λ = 3 it is <b>.779</b>" in scores.text
    assert "λ = 3 .75" in scores.published
    assert "changes by +.020 for each nat of KL at first and by +.170 later" in bend.text
    assert "meet at KL <b>.600</b> (.480–.720 over seeds), and the second saves 94 %" in bend.text
    assert "Up to λ = 1 adversaries lie before it." in bend.text
    assert "KL .33" in bend.published
    assert "differ by <b>.167</b> (JSD) in attention and .041 (TVD)" in seeds.text
    assert "No adversary goes farther in attention without going farther in its predictions" in seeds.text
    assert "a model with uniform attention has F1 .860" in seeds.text
    assert "on 120 words; no trained adversary stays within that bound." in words.text
    assert (
        "F1 is <b>.899</b> with the parameters of attention kept (other guides: adversary λ = .2 .898 (−.001); "
        in (guided.text)
    )
    assert "and <b>.881</b> with none left" in guided.text
    assert "Before the bend they agree with the original’s by τ = <b>.79</b>, and 81 % of rows" in ranks.text


def test_a_straight_curve_and_a_cheap_adversary_are_told() -> None:
    straight = [{**row, "gain": 0.1} for row in picture().rows("bend")]
    assert "<b>hardly a bend</b>" in findings(picture(bend=straight))[1].text
    falling = [{**row, "slope_after": -0.1} for row in picture().rows("bend")]
    assert "gets <b>flatter</b> there" in findings(picture(bend=falling))[1].text
    cheap = [{**row, "tvd": 0.005} if row["kind"] == "adversary" else row for row in picture().rows("summary")]
    _, _, seeds, words, *_ = findings(picture(summary=cheap))
    assert "The adversary of λ = 3 has attention farther off (.440) and predictions no farther (.005)" in seeds.text
    assert "a trained adversary within the same bound gets to .440." in words.text


def test_one_seed_has_the_interval_of_its_sentences_and_no_seeds_to_compare() -> None:
    alone = picture(seeds=1, seeds_=[])
    original = alone.original
    assert original is not None
    assert original["f1_low"] is None
    low, high = alone.interval(original)
    assert low == pytest.approx(original["f1"] - 0.006)
    assert high == pytest.approx(original["f1"] + 0.006)
    assert "over seeds" not in findings(alone)[1].text


def test_the_curve_of_a_seed_is_joined_in_the_order_of_lambda() -> None:
    drawn = [row for row in curve_rows(picture()) if (row["attention"], row["prediction"]) == ("kl", "nll")]
    first = [row["weight"] for row in drawn if row["part"] == "model" and row["seed"] == 0]
    assert sorted(first)[0] == 0.0
    assert len(first) == len(set(first))
    assert [row["x"] for row in drawn if row["part"] == "bend"] == [BEND]


def test_only_the_first_lambda_is_spelled_out_and_none_on_another() -> None:
    def labels(**changed: list) -> list[str]:
        return [row["lam"] for row in plane_rows(picture(**changed)) if row["part"] == "mean"]

    assert labels() == ["λ = .2", ".5", "1", "1.5", "2", "2.5", "3"]
    near = [{**row, "jsd": 0.05, "tvd": 0.022} if row["weight"] == 0.2 else row for row in picture().rows("summary")]
    assert labels(summary=near) == ["", "λ = .5", "1", "1.5", "2", "2.5", "3"]


def test_the_page_tells_ours_from_theirs() -> None:
    page = faith_chunking_page(faith_chunking_result())
    assert "Yang read 8,042 sentences for training and 2,012 for testing; here 8,936 and 2,012." in page
    assert "<td>.75</td><td>+2.9</td>" in page
    assert "guided by adversary λ = 3, none left" in page


@pytest.mark.browser
def test_every_chart_is_drawn_and_can_be_changed(open_report: Callable[[Path], Page], tmp_path: Path) -> None:
    faith_chunking_result().save(tmp_path / "out")
    page = open_report(tmp_path / "out")
    models = 3 + 3 + 3 + (len(WEIGHTS) - 2)
    drawn = {
        "scores": models + (1 + len(WEIGHTS)) + 3,
        "plane": 120 + 3 + 1 + len(WEIGHTS),
        "bend": models + len(WEIGHTS),
        "guided": len(GUIDED) + 3,
        "ranks": len(WEIGHTS),
    }
    for key, count in drawn.items():
        assert page.locator(f"#figure-{key} svg .mark-symbol.role-mark path").count() == count, key
    bend = page.locator("#figure-bend")
    said = bend.locator("svg .mark-text.role-mark text")
    assert {"bend .600", "published .33"} <= set(said.all_text_contents())
    bend.locator("select[name=attention]").select_option("jsd")
    assert "bend .120" in said.all_text_contents()
    assert "published .33" not in said.all_text_contents()
    assert page.locator("#sentences .look").count() == 2
    for width in (1280, 500):
        page.set_viewport_size({"width": width, "height": 800})
        assert page.evaluate("document.documentElement.scrollWidth <= window.innerWidth"), width
