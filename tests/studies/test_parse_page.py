"""The page of the parsing probes: what it says follows from the numbers, and every chart is drawn."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from attlas.pages import Tables
from attlas.pages.findings import holds
from attlas.pages.laws import check_page, claims_of
from attlas.store import Manifest, Result
from attlas.studies.parse.page import PAGE

if TYPE_CHECKING:
    from playwright.sync_api import Page

SCORES = {
    "right-branching": 0.26,
    "best fixed offset": 0.27,
    "distances + vectors": 0.5,
    "attention": 0.6,
    "attention + vectors": 0.7,
    "structural probe": 0.65,
    "untrained: attention": 0.15,
    "untrained: attention + vectors": 0.3,
    "untrained: structural probe": 0.4,
}
HOSTILE = "</script><script>window.broken = true</script>"


def main_rows(**other: float) -> list[dict[str, Any]]:
    scores = SCORES | {name.replace("_", " "): value for name, value in other.items()}
    return [
        {
            "probe": probe, "reads": "states" if "structural" in probe else "attention",
            "who": "twin" if probe.startswith("untrained") else "model",
            "metric": "UUAS" if "structural" in probe else "UAS", "value": value, "n": 900.0, "low": value - 0.02,
            "high": value + 0.02, "validation": value, "published": 0.61 if probe == "attention" else None,
            "one_root": None if "structural" in probe else 0.5, "chosen": "layer 3" if "structural" in probe else "",
            "parameters": 99, "epochs": 3, "seconds": 1.0,
        }
        for probe, value in scores.items()
    ]  # fmt: skip


def invented(name: str = "tiny") -> Result:
    rows = {
        "parse": main_rows(),
        "differences": differences(main_rows()),
        "head_weights": [
            {"who": m, "stream": "encoder", "layer": k, "head": h, "direction": d, "weight": 1.0}
            | {"effect": k - h + 0.5}
            for m in ("model", "twin")
            for d in ("governor to dependent", "dependent to governor")
            for k in range(3)
            for h in range(4)
        ],
        "training": [
            {"probe": p, "epoch": e, "train_loss": 2 / e, "validation_loss": 2.1 / e,
             "validation_score": None if "str" in p else e / 4}
            for p in ("attention", "structural probe")
            for e in (1, 2, 3)
        ],
        "by_relation": [
            {"probe": p, "relation": r, "value": 0.5, "n": n, "low": 0.4, "high": 0.6}
            for p in ("attention", "attention + vectors")
            for r, n in (("det", 10.0), ("nsubj", 20.0))
        ],
        "structural_layers": [
            {"who": m, "layer": k, "validation_uuas": 0.5 + k / 20} for m in ("model", "twin") for k in range(4)
        ],
    }  # fmt: skip
    columns = {table: {key: [row[key] for row in made] for key in made[0]} for table, made in rows.items()}
    corpus = {
        "name": "trees.conllu", "passages": 30, "pieces": 300,
        "parts": {part: {"sentences": 10, "scored_words": 90} for part in ("train", "dev", "test")},
        "vectors": {"name": name, "size": 50, "known": 95, "words": 100},
        "divided": "trees.conllu was divided by article: 80 % train, 10 % dev, 10 % test",
    }  # fmt: skip
    manifest = Manifest(
        "parse", model={"name": name}, corpus=corpus, started="2025-01-02T00:00:00+00:00", seconds=9.0
    )
    return Result(manifest, columns)


def differences(rows: list[dict[str, Any]]) -> list[dict[str, Any]]:
    return [
        {"probe": one["probe"], "other": other["probe"], "value": more, "low": more - 0.005, "high": more + 0.005}
        for place, one in enumerate(rows)
        for other in rows[:place]
        if one["metric"] == other["metric"]
        for more in [one["value"] - other["value"]]
    ]


def of(rows: list[dict[str, Any]]) -> Result:
    made = {"parse": rows, "differences": differences(rows)}
    return Result(Manifest("parse"), {name: {key: [row[key] for row in table] for key in table[0]}
                                      for name, table in made.items()})  # fmt: skip


def said(result: Result) -> list[str]:
    return [str(finding.text) for finding in PAGE.found(Tables(result, PAGE.schemas, PAGE.derived))]


def test_a_page_and_its_claims_hold() -> None:
    check_page(PAGE, invented())
    result = invented()
    tables = {name: table.to_pydict() for name, table in result.tables.items()}
    tables["parse"]["value"].reverse()
    changed = Tables(Result(result.manifest, tables), PAGE.schemas, PAGE.derived)
    assert not all(holds(claim, changed) for claim in claims_of(PAGE, result))


def warned(result: Result) -> str:
    return str(PAGE.warning(Tables(result, PAGE.schemas, PAGE.derived)) or "")


@pytest.mark.parametrize(
    ("rival", "told"),
    [
        (
            "right-branching",
            "always naming the next word (60.0 %; a difference of 0.0 points, 95 % interval −0.5 to 0.5)",
        ),
        ("best fixed offset", "the word at the best fixed distance (60.0 %"),
        ("untrained: attention", "that of one untrained twin (60.0 %"),
    ],
)
def test_attention_that_beats_not_all_it_must_gets_the_red_line_and_no_verdict(rival: str, told: str) -> None:
    rows = main_rows(**{rival: 0.6})
    line, sentences = warned(of(rows)), said(of(rows))
    assert line.startswith("The probes have not shown that the model holds trees: the probe on attention alone")
    assert told in line
    assert len(sentences) == 2, "the figures, and what the structural probe says of states"
    assert sentences[1].startswith("The structural probe on the states")
    check_page(PAGE, of(rows))


def test_states_that_do_not_beat_the_twin_are_not_spoken_of() -> None:
    rows = main_rows(**{"untrained: structural probe": 0.649})
    assert "the probe on states (65.0 %) is not surely better than that of one untrained twin" in warned(of(rows))
    assert not any("structural probe on" in sentence for sentence in said(of(rows)))
    assert any("paper's order" in sentence for sentence in said(of(rows)))
    assert warned(of(main_rows())) == ""


def test_with_too_few_texts_for_an_interval_nothing_is_concluded() -> None:
    result = of(main_rows())
    tables = {name: table.to_pydict() for name, table in result.tables.items()}
    for end in ("low", "high"):
        tables["differences"][end] = [None] * len(tables["differences"][end])
    few = Result(result.manifest, tables)
    assert warned(few).count("too few texts for an interval") == 2
    assert len(said(few)) == 1


def test_several_twins_are_told_with_their_number_and_their_spread() -> None:
    rows = [row | ({"twins": 3, "twins_low": row["value"] - 0.01, "twins_high": row["value"] + 0.02}
                   if row["who"] == "twin" else dict.fromkeys(("twins", "twins_low", "twins_high")))
            for row in main_rows()]  # fmt: skip
    check_page(PAGE, of(rows))
    assert "that of 3 untrained twins 15.0 % (from 14.0 to 17.0)" in said(of(rows))[0]


def test_the_order_of_the_paper_is_named_where_it_holds_and_where_it_does_not() -> None:
    holds_so = " ".join(said(of(main_rows())))
    assert "Attention alone finds 60.0 % (58.0–62.0) of all governors; that of one untrained twin 15.0 %" in holds_so
    assert "The paper's order holds" in holds_so
    assert "20.0 points (19.5–20.5) are owed to what the heads have learned" in holds_so
    rows = main_rows()
    for row in rows:
        if row["probe"] == "distances + vectors":
            row["value"], row["low"], row["high"] = 0.71, 0.69, 0.73
    turned = " ".join(said(of(rows)))
    assert "distances + vectors (71.0) is above attention (60.0)" in turned
    assert "what the heads have learned takes 1.0 points away" in turned
    level = [row | ({"value": 0.699} if row["probe"] == "distances + vectors" else {}) for row in main_rows()]
    assert "adds nothing that can be told from chance" in " ".join(said(of(level)))


def test_findings_without_some_rows() -> None:
    rows = [row for row in main_rows() if row["probe"] in ("right-branching", "attention")]
    assert [text.split()[0] for text in said(of(rows))] == ["Attention", "Governors"]


@pytest.mark.browser
def test_every_chart_is_drawn_and_nothing_breaks_out(open_report: Callable[[Path], Page], tmp_path: Path) -> None:
    invented(HOSTILE).save(tmp_path / "out")
    tab = open_report(tmp_path / "out")
    assert tab.evaluate("window.broken") is None
    figures = tab.locator("figure")
    assert figures.count() == 5
    for number in range(5):
        marks = figures.nth(number).locator("svg .role-mark path")
        assert marks.count() > 0, figures.nth(number).get_attribute("id")
    assert (
        tab.locator("#figure-weights-map svg .mark-rect.role-mark path").count() == 24
    )  # a grid, and the cells on it
    first = tab.locator("#figure-weights-map svg .mark-text.role-mark text").all_text_contents()
    assert "−2.5" in first
    assert "60.0" in tab.locator("#table table").first.inner_text()
