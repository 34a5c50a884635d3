"""The pages of the studies of key words: what their sentences say, and that their charts are drawn."""

from __future__ import annotations

import re
from collections.abc import Callable
from html import unescape
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from invented_keywords import keywords_compare_result, keywords_study_result, keywords_tune_result

from attlas.reports.keywords_compare import keywords_compare_page
from attlas.reports.keywords_study import keywords_study_page
from attlas.reports.keywords_study_findings import enough_heads
from attlas.reports.keywords_tune import keywords_tune_page

if TYPE_CHECKING:
    from playwright.sync_api import Page


def sentences(html: str) -> list[str]:
    """The findings of a page, without tags."""
    found = re.search(r'<ol class="findings">(.*?)</ol>', html, re.DOTALL)
    assert found is not None
    return [
        unescape(re.sub(r"<[^>]*>", "", item)) for item in re.findall(r"<li>(.*?)</li>", found.group(1), re.DOTALL)
    ]


def test_a_study_is_told_from_its_tables() -> None:
    best, many, kinds, phrases, regression, against, mix = sentences(keywords_study_page(keywords_study_result()))
    assert best.startswith("Head 3-4 tells key words from others best (norm, mean): its AUC within texts is .85")
    assert "the same head untrained has .55" in best
    assert "Key words receive 1.7 times what others do, and it saves .35 (.30–.40) nats of the 4.50" in best
    assert many.startswith("7 of 12 heads give more to key words")
    assert kinds == (
        "The best head by each way of reading attention, by AUC: norm, mean: .850 (3-4); weight, mean: .830 (3-4); "
        "weight, max: .810 (3-4); norm, max: .770 (3-4)."
    )
    assert "(3 best heads, norm, mean) reach F1@10 .390 (.370–.410); best head .330" in phrases
    assert "all 12 heads (norm, mean) finds key words with F1 .592 (.572–.612)" in regression
    assert "8 of them are enough to come within .01" in regression
    assert "without any model, reaches .450 (.430–.470); all heads of the untrained twin .420" in against
    assert mix.startswith("The mix of heads lies at layer 2.4 on average (an even mix at 2.0)")


def test_a_study_without_a_twin_names_none_and_names_are_escaped() -> None:
    html = keywords_study_page(keywords_study_result(twin=False, name="<b>bold"))
    assert "What the heads of &lt;b&gt;bold know of key words" in html
    assert "untrained heads" not in html
    assert not any("twin" in text for text in sentences(html))


def test_enough_heads_counts_from_the_fewest() -> None:
    rows = [{"heads": 12, "f1": 0.6}, {"heads": 1, "f1": 0.592}, {"heads": 2, "f1": 0.3}]
    assert enough_heads(rows) == {"heads": 1, "f1": 0.592}
    assert enough_heads([]) is None


def test_a_comparison_says_who_is_ahead_and_who_is_not() -> None:
    html = keywords_compare_page(keywords_compare_result())
    _, ten, borrowed, fast = sentences(html)
    assert ten.startswith(
        "F1@10 of attention, chosen heads is .380 (.360–.400); the best without attention is tf-idf"
    )
    assert "−3.0 points" in ten
    assert "It is better than all 5 of these (p < .01" in ten
    assert fast.endswith("10 ms for a text in this run; with the same model, keybert takes 5.0 times as long.")
    assert "at best .310 (first, attention's candidates; −7.0 points" in borrowed
    assert '[<bdi dir="auto">photovoltaics</bdi>]' in html
    worse = sentences(keywords_compare_page(keywords_compare_result(better=False)))[1]
    assert "and worse than 1: tf-idf, our phrases" in worse
    assert "&lt;i&gt;sun&lt;/i&gt;" in html
    assert '<mark><bdi dir="auto">solar cell</bdi></mark>' in html
    assert "1 of 3" in html


def test_a_tagger_is_told_beside_what_was_published() -> None:
    html = keywords_tune_page(keywords_tune_result())
    tagger, smaller, heads, orders = sentences(html)
    assert '<tr><td class="text">worst first</td><td>3</td><td>25 %</td><td><b>.500</b></td>' in html
    assert "F1@M .410 (.390–.430) against all that were given, .470 (.450–.490)" in tagger
    assert ".36, best known then .42" in tagger
    assert smaller.startswith(
        "Without 3 of 12 heads (25 %), taken out worst first, F1@M is .420 (.400–.440), +1.0 points"
    )
    assert "trained again .430" in smaller
    assert ".37 when pruned" in smaller
    assert heads.startswith("One head off at a time, 6 of 12 heads are missed and 1 are better gone")
    assert "Missed most: 3-4 (−.080)" in heads
    assert "(.500 with all) is: worst first .450, best first .250, importance .400, random .340" in orders
    whole = keywords_tune_page(keywords_tune_result(stages=("tuned",)))
    assert "there is no smaller tagger" in whole


@pytest.mark.browser
def test_charts_of_a_study_are_drawn_and_follow_each_other(
    open_report: Callable[[Path], Page], tmp_path: Path
) -> None:
    keywords_study_result().save(tmp_path / "out")
    page = open_report(tmp_path / "out")
    for key in ("map-relative", "map-auc", "map-saved", "weights", "mix"):
        cells = page.locator(f"#figure-{key} svg .mark-text.role-mark text")
        assert cells.count() == 12, key
    assert page.locator("#figure-parts svg .mark-symbol.role-mark path").count() == 12
    assert page.locator("#figure-kept svg .mark-symbol.role-mark path").count() == 2 * 6
    assert page.locator("#figure-predictors svg .mark-rect.role-mark path").count() == 6
    first = page.locator("#figure-map-auc svg .mark-text.role-mark text").first
    assert first.text_content() == ".40"
    page.locator("#figure-map-saved select[name=kind]").select_option("norm, max")
    page.wait_for_function(
        "document.querySelector('#figure-map-auc svg .mark-text.role-mark text').textContent == '.32'"
    )
    page.locator("#figure-map-relative select[name=show]").select_option("times")


@pytest.mark.browser
def test_charts_of_comparison_and_tagger_are_drawn(open_report: Callable[[Path], Page], tmp_path: Path) -> None:
    keywords_compare_result().save(tmp_path / "compare")
    page = open_report(tmp_path / "compare")
    bars = page.locator("#figure-bars svg .mark-rect.role-mark path")
    assert bars.count() == 8
    boxes = [box for bar in bars.all() if (box := bar.bounding_box())]
    wide = [box["width"] for box in sorted(boxes, key=lambda box: box["y"])]
    assert wide == sorted(wide, reverse=True)
    page.locator("#figure-bars select[name=at]").select_option("5")
    assert page.locator("#figure-speed svg .mark-symbol.role-mark path").count() == 7
    keywords_tune_result().save(tmp_path / "tune")
    page = open_report(tmp_path / "tune")
    drawn = {"scores": 3 * 8 + 2, "curve": 4 * 5, "training": 4, "sorted": 12}
    for key, count in drawn.items():
        assert page.locator(f"#figure-{key} svg .mark-symbol.role-mark path").count() == count, key
    page.locator("#figure-curve select[name=show]").select_option("loss")
