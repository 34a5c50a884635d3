"""The pages of the studies of key words: what their sentences say, whether it is so, and that charts are drawn."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pytest
from invented_keywords import keywords_compare_result, keywords_study_result, keywords_tune_result

from attlas.pages import Page as Record
from attlas.pages import Rows, Tables, holds
from attlas.pages.laws import check_page, claims_of
from attlas.store import Result
from attlas.studies.keywords_compare.page import PAGE as COMPARE
from attlas.studies.keywords_study.page import PAGE as STUDY
from attlas.studies.keywords_study.page import enough_heads
from attlas.studies.keywords_tune.page import PAGE as TUNE
from attlas.studies.reporting import page_of

if TYPE_CHECKING:
    from playwright.sync_api import Page


def sentences(page: Record, result: Result) -> list[str]:
    """What a page says of a result, the answer first."""
    return [str(finding.text) for finding in page.found(Tables(result, page.schemas, page.derived))]


def reversed_in(result: Result, table: str, column: str) -> Result:
    """The same result with a column turned upside down."""
    rows = result.tables[table]
    turned = rows.set_column(rows.column_names.index(column), column, pa.array(rows[column].to_pylist()[::-1]))
    return Result(result.manifest, {**result.tables, table: turned})


@pytest.mark.parametrize(
    ("page", "result", "table", "column"),
    [
        (STUDY, keywords_study_result(), "heads", "auc"),
        (STUDY, keywords_study_result(twin=False, name="<b>bold"), "mix", "share"),
        (COMPARE, keywords_compare_result(), "methods", "f1"),
        (COMPARE, keywords_compare_result(better=False), "methods", "change"),
        (TUNE, keywords_tune_result(), "scores", "f1"),
        (TUNE, keywords_tune_result(stages=("tuned",)), "ablation", "change"),
    ],
)
def test_pages_keep_the_laws_and_claims_fail_where_tables_are_changed(
    page: Record, result: Result, table: str, column: str
) -> None:
    check_page(page, result)
    changed = Tables(reversed_in(result, table, column), page.schemas, page.derived)
    assert not all(holds(claim, changed) for claim in claims_of(page, result))


def test_a_study_is_told_from_its_tables() -> None:
    best, saved, many, kinds, phrases, regression, against, mix = sentences(STUDY, keywords_study_result())
    assert best.startswith("Head 3-4 tells key words from others best (norm, mean)")
    assert "(AUC) 0.85 (0.82–0.88), where chance gives 0.50, the same head of one untrained twin 0.55" in best
    assert saved.startswith("Key words receive 1.70 times what others do from it, and it saves 0.35 (0.30–0.40) nats")
    assert many.startswith("7 of 12 heads give more to key words")
    assert kinds.endswith(
        "norm, mean 0.85 (3-4); weight, mean 0.83 (3-4); weight, max 0.81 (3-4); norm, max 0.77 (3-4)."
    )
    assert "(3 best heads, norm, mean) reach F1@10 0.39 (0.37–0.41); best head 0.33" in phrases
    assert "all 12 heads (norm, mean) finds key words with F1 0.59 (0.57–0.61)" in regression
    assert "8 of them are enough to come within 0.01" in regression
    assert "without any model, reaches 0.45 (0.43–0.47); all heads of one untrained twin 0.42" in against
    assert mix.startswith("The mix of heads lies at layer 2.41 on average (an even mix at 2.00)")


def test_a_study_without_a_twin_names_none_and_names_are_escaped() -> None:
    result = keywords_study_result(twin=False, name="<b>bold")
    assert "Which heads of &lt;b&gt;bold know the key words" in page_of(result)
    assert not any("untrained" in text or "twin" in text for text in sentences(STUDY, result))


def test_enough_heads_counts_from_the_fewest() -> None:
    rows = [{"heads": 12, "f1": 0.6}, {"heads": 1, "f1": 0.592}, {"heads": 2, "f1": 0.3}]
    assert enough_heads(Rows(rows)) == {"heads": 1, "f1": 0.592}
    assert enough_heads(Rows()) is None


def changed(result: Result, table: str, **columns: Callable[[dict[str, Any]], Any]) -> Result:
    """A result with some columns of a table made anew, row by row."""
    tables = {name: own.to_pydict() for name, own in result.tables.items()}
    rows = result.rows(table)
    tables[table] |= {name: [make(row) for row in rows] for name, make in columns.items()}
    return Result(result.manifest, tables)


def test_heads_that_know_nothing_are_not_recommended() -> None:
    result = keywords_study_result()
    assert STUDY.warning(Tables(result, STUDY.schemas, STUDY.derived)) is None
    for low, auc in ((0.48, 0.52), (None, 0.5)):
        blind = changed(result, "heads", auc=lambda row, auc=auc: auc, auc_low=lambda row, low=low: low)
        check_page(STUDY, blind)
        assert "nothing is to be made of these heads" in str(
            STUDY.warning(Tables(blind, STUDY.schemas, STUDY.derived))
        )
        answer, regression, beside = sentences(STUDY, blind)
        assert answer.startswith("No head was found that tells key words from others, not even")
        assert regression.startswith("A regression on all")
        assert beside.startswith("Beside it")
    few = changed(result, "heads", p=lambda row: None, p_corrected=lambda row: None)
    assert not any("give more to key words than to others" in text for text in sentences(STUDY, few))


def test_attention_that_is_no_better_than_chance_is_warned_of() -> None:
    result = keywords_compare_result()
    opened = Tables(result, COMPARE.schemas, COMPARE.derived)
    assert COMPARE.warning(opened) is None
    drawn = changed(
        result, "methods", form=lambda row: "attention's candidates" if row["method"] == "random" else row["form"],
        change_p_corrected=lambda row: 0.4 if row["method"] == "random" else row["change_p_corrected"],
    )  # fmt: skip
    told = COMPARE.warning(Tables(drawn, COMPARE.schemas, COMPARE.derived))
    assert "not better than the same candidates in random order (F1@10 0.10)" in str(told)


def test_a_comparison_says_who_is_ahead_and_who_is_not() -> None:
    result = keywords_compare_result()
    ten, _, _, borrowed, fast, _ = sentences(COMPARE, result)
    assert ten.startswith("F1@10 of attention, chosen heads is 0.38 (0.36–0.40), better than all 5 methods")
    assert "the best of them, tf-idf, our phrases, has 0.35 (0.33–0.37) (−0.030, p < 0.001)" in ten
    assert ten.endswith("phrases at random 0.10.")
    assert fast.endswith("10.0 ms for a text in this run; with the same model, keybert takes 5.00 times as long.")
    assert "at best 0.31 (0.29–0.33), by first, attention's candidates (−0.070" in borrowed
    kinds = next(text for text in sentences(COMPARE, result) if "single words" in text)
    assert "0.70 of the given phrases are single words: of single words attention, chosen heads has 0.19" in kinds
    assert "and tf-idf, our phrases, the best without attention, 0.17" in kinds
    assert "of phrases of several words attention, chosen heads has 0.38 among its first ten" in kinds
    assert "ask for single words (--longest 1)" in kinds
    assert "worse than tf-idf, our phrases" in sentences(COMPARE, keywords_compare_result(better=False))[0]
    html = page_of(result)
    assert '[<bdi dir="auto">photovoltaics</bdi>]' in html
    assert "&lt;i&gt;sun&lt;/i&gt;" in html
    assert '<mark><bdi dir="auto">solar cell</bdi></mark>' in html
    assert "1 of 3" in html


def test_a_tagger_is_told_beside_what_was_published() -> None:
    result = keywords_tune_result()
    tagger, otherwise, heads, orders = sentences(TUNE, result)
    assert "F1@M 0.41 (0.39–0.43) against all that people gave; without 3 of 12 heads (25.0 %), taken out" in tagger
    assert "worst first, 0.42 (0.40–0.44), +0.0100, trained again 0.43" in tagger
    assert "those that stand in the text 0.47 (0.45–0.49)" in otherwise
    assert heads.startswith("One head off at a time, 6 of 12 heads are missed and 1 better gone")
    assert "Missed most: 3-4 (−0.080)" in heads
    assert "is worst first 0.45, best first 0.25, by importance 0.40 and at random 0.34 (0.50 with all" in orders
    assert "0.36 tuned, 0.37 pruned, best known then 0.42" in page_of(result)
    assert "there is no smaller tagger" in sentences(TUNE, keywords_tune_result(stages=("tuned",)))[0]
    assert 'class="warning"' not in page_of(result)


@pytest.mark.browser
def test_charts_of_a_study_are_drawn(open_report: Callable[[Path], Page], tmp_path: Path) -> None:
    keywords_study_result().save(tmp_path / "out")
    page = open_report(tmp_path / "out")
    for key in ("map", "weights", "shares"):
        cells = page.locator(f"#figure-{key} svg .mark-text.role-mark text")
        assert cells.count() == 12, key
    assert page.locator("#figure-parts svg .mark-symbol.role-mark path").count() == 12
    assert page.locator("#figure-kept svg .mark-symbol.role-mark path").count() == 2 * 6
    assert page.locator("#figure-all-predictors svg .mark-symbol.role-mark path").count() == 2 * 6
    first = page.locator("#figure-map svg .mark-text.role-mark text").first
    assert first.text_content() == ".40"
    page.locator("#figure-map select[name=kind]").select_option("norm, max")
    page.wait_for_function("document.querySelector('#figure-map svg .mark-text.role-mark text').textContent == '.32'")
    page.locator("#figure-map select[name=show]").select_option("times")
    assert page.locator("#table .listing tbody tr").count() == 4 * 12


@pytest.mark.browser
def test_charts_of_comparison_and_tagger_are_drawn(open_report: Callable[[Path], Page], tmp_path: Path) -> None:
    keywords_compare_result().save(tmp_path / "compare")
    page = open_report(tmp_path / "compare")
    dots = page.locator("#figure-methods svg .mark-symbol.role-mark path")
    assert dots.count() == 8
    boxes = [box for dot in dots.all() if (box := dot.bounding_box())]
    across = [box["x"] for box in sorted(boxes, key=lambda box: box["y"])]
    assert across == sorted(across, reverse=True)
    page.locator("#figure-methods select[name=at]").select_option("5")
    assert page.locator("#figure-speed svg .mark-symbol.role-mark path").count() == 8
    keywords_tune_result().save(tmp_path / "tune")
    page = open_report(tmp_path / "tune")
    drawn = {"f1": 3 * 8, "removal": 4 * 5, "passes": 4, "sorted": 12}
    for key, count in drawn.items():
        assert page.locator(f"#figure-{key} svg .mark-symbol.role-mark path").count() == count, key
    page.locator("#figure-removal select[name=show]").select_option("loss")
