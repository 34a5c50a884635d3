"""The page of attention as explanation: what its sentences say, how words are shaded, and that charts are drawn."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from invented_faith import CARD, EXPLANATIONS, INTERVENTIONS, SENTENCES, faith_result

import faith_models
from attlas.pages import Tables
from attlas.pages.findings import holds
from attlas.pages.html import html_page
from attlas.pages.laws import check_page, claims_of
from attlas.store import Result
from attlas.studies.faith.call import faith
from attlas.studies.faith.findings import called, title
from attlas.studies.faith.page import PAGE
from attlas.studies.faith.words import shaded, shades

if TYPE_CHECKING:
    from playwright.sync_api import Page


def tables_of(result: Result | None = None, **changed: list[dict[str, Any]] | None) -> Tables:
    """The tables of an invented result, some of them changed or taken away."""
    return Tables(altered(result or faith_result(), **changed), PAGE.schemas, PAGE.derived)


def altered(result: Result, **changed: list[dict[str, Any]] | None) -> Result:
    tables: dict[str, Any] = {name: table.to_pydict() for name, table in result.tables.items()}
    for name, rows in changed.items():
        tables.pop(name)
        if rows:
            tables[name] = {key: [row[key] for row in rows] for key in rows[0]}
    return Result(result.manifest, tables)


def said(tables: Tables) -> list[str]:
    return [str(finding.text) for finding in PAGE.found(tables)]


def test_findings_are_computed_from_the_tables() -> None:
    first, reading, agreement, erasing, shuffled, adversary, needed, elsewhere = said(tables_of())
    assert first.startswith("In part at best: 2 of 6 tests hold; attention (weights, last layer) ranks the words")
    assert "τ = 0.21 (0.19 to 0.23; a random order: 0.00; gradients and leave-one-out with each other: 0.34)" in first
    assert reading == CARD[-1][-1]
    assert "In 26.0 % of instances" in agreement
    assert "Most like gradients is the order by norms, last layer (0.30)." in agreement
    assert "takes 0.14 from the probability" in erasing
    assert "more than erasing random words (+0.080, +0.060 to +0.10)" in erasing
    assert "By leave-one-out it is most, 0.30; 5 of 10 orders take more than this attention." in erasing
    assert "moves by 0.012 (TVD; mean 0.034)" in shuffled
    assert "Accuracy changes by −0.0060 (−0.026 to +0.014, p > 0.99)." in shuffled
    assert "accuracy changes by −0.24 (−0.26 to −0.22)." in shuffled
    assert "74.7 % of ln 2" in adversary
    assert "the bound was not kept" not in adversary
    assert "has accuracy 0.87, a change of −0.043 (−0.063 to −0.023, p 0.02): the task needs attention." in needed
    assert "8.50 times as far" in elsewhere
    published = " ".join(finding.published for finding in PAGE.found(tables_of()))
    assert "SST 0.35 and 0.29 (p < 0.05 in 49 and 36 % of texts)" in published


def test_what_was_not_measured_is_not_said() -> None:
    instances = [
        {key: value for key, value in row.items() if "adversary" not in key}
        for row in faith_result().tables["instances"].to_pylist()
    ]
    nothing = dict.fromkeys(("erasure", "interventions", "examples", "card"))
    first, agreement = said(tables_of(instances=instances, **nothing))
    assert first.startswith("Attention (weights, last layer) ranks the words")
    assert "has p < 0.05, where luck alone would give 5 %" in agreement
    plain = [row for row in faith_result().tables["interventions"].to_pylist() if row["name"] == ""]
    assert "Whether the task needs attention at all would take a model" in said(tables_of(interventions=plain))[-1]


def test_a_model_that_does_not_do_the_task_is_warned_of() -> None:
    assert PAGE.warning(tables_of()) is None
    whole = [{**row, "score_low": 0.45} for row in faith_result().tables["whole"].to_pylist()]
    assert "does no better here than always giving the most frequent label" in str(
        PAGE.warning(tables_of(whole=whole))
    )


def test_a_model_that_learned_nothing_has_a_warning_and_no_verdict() -> None:
    whole = [{**row, "score_low": 0.45} for row in faith_result().tables["whole"].to_pylist()]
    assert said(tables_of(whole=whole))[0].startswith("Attention (weights, last layer) ranks the words of a text")
    poor = {"metric": "chunk F1", "chance_score": 0.05, "score": 0.01, "score_low": 0.0, "score_high": 0.02}
    whole = [{**row, **poor} for row in faith_result().tables["whole"].to_pylist()]
    assert "no better here than tags drawn by lot (chunk F1 0.010, 0.00 to 0.020; that has 0.05" in str(
        PAGE.warning(tables_of(whole=whole))
    )


def test_a_change_is_sure_after_correction_alone() -> None:
    assert "a change of −0.043 (−0.063 to −0.023, p 0.02)" in said(tables_of())[-2]


def test_a_result_of_old_without_bars_and_corrected_p_is_still_shown() -> None:
    old = {
        name: [
            {key: value for key, value in row.items() if key not in ("bar", "p_corrected") and "margin" not in key}
            for row in faith_result().tables[name].to_pylist()
        ]
        for name in ("card", "interventions")
    }
    result = altered(faith_result(), **old)
    check_page(PAGE, result)
    assert "a change of −0.043 (−0.063 to −0.023)" in said(tables_of(result))[-2]


def test_the_card_states_its_rate_and_shows_what_verdicts_rest_on() -> None:
    page = html_page(PAGE, faith_result())
    assert "at most 5 % of runs would give a verdict (2.5 % on either side)" in page
    assert "beyond the bar" in page
    for row in faith_result().tables["card"].to_pylist()[:-1]:
        verdict = "holds" if row["margin_low"] >= 0 else "does not hold" if row["margin_high"] < 0 else "cannot tell"
        assert row["verdict"] == verdict


def test_the_first_word_of_the_answer_counts_verdicts() -> None:
    def first(*verdicts: str) -> str:
        rows = faith_result().tables["card"].to_pylist()
        changed = [{**row, "verdict": verdict} for row, verdict in zip(rows[:2], verdicts, strict=True)]
        return said(tables_of(card=[*changed, rows[-1]]))[0].split(":")[0]

    assert first("holds", "holds") == "Yes, by these tests"
    assert first("holds", "cannot tell") == "In part at best"
    assert first("does not hold", "cannot tell") == "Hardly"
    assert first("does not hold", "does not hold") == "No"


def test_explanations_and_interventions_have_names_to_read() -> None:
    tables = tables_of()
    assert tables["erasure"].column("label") == [
        "weights, last layer", "norms, last layer", "weights, all layers", "norms, all layers", "rollout",
        "gradients", "integrated gradients", "leave-one-out", "position", "random order",
    ]  # fmt: skip
    assert title({"explanation": "weight", "layers": "3", "heads": "mean"}) == "weights, layer 4"
    assert title({"explanation": "weight", "layers": "last", "heads": "3"}) == "weights, last layer, head 4"
    assert [called(row) for row in tables["interventions"]][5:] == [
        "frozen minilm-seed1", "other model minilm-seed1", "evened model minilm-even",
    ]  # fmt: skip


def test_words_are_shaded_by_the_strongest_of_their_line() -> None:
    assert shades([0.0, 0.0]) == [0.0, 0.0]
    rows = [
        {"text": 3, "place": 1, "word": word, "spelled": spelled, "weight": weight, "own": None}
        for word, (spelled, weight) in enumerate([("<i>", 0.2), ("b", -0.1)])
    ]

    def shown(examples: list[dict[str, Any]]) -> str:
        return str(shaded(tables_of(examples=examples, instances=None)))

    assert '<span style="--s:100%" title="0.20">&lt;i&gt;</span>' in shown(rows)
    assert '<span class="against asked" style="--s:50%" title="−0.10">b</span>' in shown(rows)
    assert "Text 4, the tag of “b”" in shown(rows)
    assert "own weights" not in shown(rows)
    both = [{**row, "own": row["weight"], "norm": 0.1, "adversary": 0.3} for row in rows]
    assert [part.split("<")[0] for part in shown(both).split('<th scope="row">')[1:]] == [
        "weights", "adversary’s weights", "norms",
    ]  # fmt: skip


@pytest.mark.parametrize("tagging", [False, True])
def test_the_page_keeps_its_laws_and_escapes_names(tagging: bool) -> None:
    result = faith_result(name="<b>bold", tagging=tagging, instances=20)
    check_page(PAGE, result)
    page = html_page(PAGE, result)
    assert "Does attention explain what &lt;b&gt;bold says?" in page
    assert CARD[-1][-1] in page
    assert "&lt;b&gt;almost&lt;/b&gt;" in page
    assert "<b>bold" not in page
    assert ("the word that is explained" in page) is tagging


@pytest.mark.parametrize("task", ["classification", "tagging:upos"])
def test_the_page_of_a_real_run_keeps_its_laws(task: str) -> None:
    result = faith(
        faith_models.subject(task), faith_models.corpus(), task, steps=2, adversary_steps=2, permutations=2
    )
    check_page(PAGE, result)


def test_a_claim_fails_when_the_tables_are_others() -> None:
    rows = faith_result().tables["erasure"].to_pylist()
    turned = [{**row, "comprehensiveness": -row["comprehensiveness"]} for row in rows]
    claims = [
        claim for claim in claims_of(PAGE, faith_result()) if claim.kind == "largest" and claim.table == "erasure"
    ]
    assert claims
    assert not any(holds(claim, tables_of(erasure=turned)) for claim in claims)


@pytest.mark.browser
def test_every_chart_is_drawn(open_report: Callable[[Path], Page], tmp_path: Path) -> None:
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
        counts = [int(label.split("how many: ")[1].split(";")[0]) for label in bars.evaluate_all(
            "bars => bars.map(bar => bar.getAttribute('aria-label'))")]  # fmt: skip
        assert sum(counts) == 40, key
    assert page.locator("#card .listing tbody tr").count() == 6
    assert page.locator(".faith-example").count() == len(SENTENCES)
    for width in (1280, 500):
        page.set_viewport_size({"width": width, "height": 800})
        assert page.evaluate("document.documentElement.scrollWidth <= window.innerWidth"), width
    page.set_viewport_size({"width": 390, "height": 844})
    page.reload()
    page.wait_for_selector("html[data-ready=true]")
    clipped = page.evaluate(
        "[...document.querySelectorAll('.chart svg.marks')].filter((svg) => [...svg.querySelectorAll('.role-legend')]"
        ".some((legend) => legend.getBoundingClientRect().top < svg.getBoundingClientRect().top - 2))"
        ".map((svg) => svg.closest('figure').id)"
    )
    assert clipped == [], "no legend is cut off on a phone"
