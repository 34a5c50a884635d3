"""The page of the norms study: what its sentences say, and that its charts are drawn."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

import pyarrow
import pytest
from invented_norms import CLASSES, HEADS, LAYERS, norms_result

from attlas.reports.norms import norms_page
from attlas.reports.norms_findings import Picture, claims, findings

if TYPE_CHECKING:
    from playwright.sync_api import Page


def test_claims_are_judged_by_the_tables() -> None:
    cls, sep, punctuation, related, frequency = claims(Picture(norms_result().tables), "encoder")
    assert (cls.holds, sep.holds, punctuation.holds, related.holds, frequency.holds) == (
        "yes", "yes", "no", "part", "yes",
    )  # fmt: skip
    assert "weight <b>.40</b> (even attention .04), norm <b>.12</b>, all heads together .06" in sep.here
    assert "in all 4 layers" in sep.here
    assert "weight .04, norm .04" in sep.twin
    assert "no more weight than its number of keys explains; its norm is <i>above</i> its weight in all 4 layers" in (
        punctuation.here
    )
    assert "negative in <b>9 of 12</b> heads (9 beyond their interval), median <b>−.30</b>" in related.here
    assert "<i>positive</i> in layer 4" in related.here  # in one layer of four: so only in part
    assert "in <b>all 4</b> layers and all 12 heads" in frequency.here


def test_the_first_piece_of_a_causal_model_is_asked_the_same_but_was_not_published() -> None:
    first, *_ = claims(Picture(norms_result(("decoder",)).tables), "decoder")
    assert (first.published, first.verdict) == (False, "so here")
    assert not [claim for claim in claims(Picture(norms_result().tables), "encoder") if not claim.published]


def test_findings_are_computed_from_the_tables() -> None:
    widest, among, mixing = findings(Picture(norms_result().tables), "encoder")
    assert "for [SEP] in layer 1: <b>.40</b> of the weight, <b>.12</b> of the norm, .06 with all heads" in widest.text
    assert "The untrained twin has .04 and .04" in widest.text
    assert "mostly the special pieces and punctuation that make the relation" in among.text
    assert "<b>.90</b> by attention alone, <b>.30</b> with the residual, <b>.20</b> with the norm" in mixing.text
    (*_, mixing) = findings(Picture(norms_result(("cross",)).tables), "cross")
    assert "attention alone" not in mixing.text
    assert len(findings(Picture(norms_result(mixing=False).tables), "encoder")) == 2


def test_layers_where_weight_goes_to_long_vectors_are_told() -> None:
    place = {"stream": "encoder", "layer": 10}
    other = {**place, "keys": "other", "over": "texts", "value": 0.4, "low": 0.35, "twin": -0.01}
    tables = {
        "spearman_layers": pyarrow.Table.from_pylist([other, {**other, "layer": 9, "value": 0.1, "low": 0.05}]),
        "frequency_layers": pyarrow.Table.from_pylist([{**place, "words": "plain", "value": 0.66}]),
    }
    (together,) = findings(Picture(tables), "encoder")
    assert "In layer 11 weight and length go <i>together</i> among other keys" in together.text
    assert "<b>.40</b>, untrained twin −.01" in together.text
    assert "correlate by .66" in together.text


def test_names_are_escaped_and_what_is_missing_is_left_out() -> None:
    page = norms_page(norms_result(name="<b>bold", mixing=False))
    assert "What &lt;b&gt;bold’s attention adds up" in page
    assert 'id="mixing"' not in page
    assert "mixing ratio" not in page
    assert 'id="mixing"' in norms_page(norms_result())


@pytest.mark.browser
def test_every_chart_is_drawn_and_can_be_changed(open_report: Callable[[Path], Page], tmp_path: Path) -> None:
    norms_result(("encoder", "cross")).save(tmp_path / "out")
    page = open_report(tmp_path / "out")
    kinds = CLASSES["encoder"]
    drawn = {
        **{f"share-{kind}": (".mark-line.role-mark path", 3 + 3 + 1) for kind in kinds},
        "lengths": (".mark-line.role-mark path", 2 * (len(kinds) - 1)),
        "pairs": (".mark-symbol.role-mark path", HEADS * len(kinds)),
        "spearman": (".mark-symbol.role-mark path", 2 * LAYERS * HEADS),
        "classes": (".mark-area.role-mark path", len(kinds)),
        "frequency": (".mark-symbol.role-mark path", LAYERS * HEADS),
        "bands": (".mark-line.role-mark path", LAYERS),
        "mixing": (".mark-line.role-mark path", 2 * 3),
        "map": (".mark-rect.role-mark path", LAYERS * HEADS),
    }
    for key, (marks, count) in drawn.items():
        assert page.locator(f"#figure-{key} svg {marks}").count() == count, key
    # The layers' means of the model and of its twin are lines of their own: they must not fall on each other.
    lines = page.locator("#figure-spearman svg .mark-line.role-mark path")
    assert len({lines.nth(place).get_attribute("d") for place in range(lines.count())}) == 4
    assert page.locator("#heads-table tbody tr").count() == LAYERS * HEADS
    assert page.locator("#short .verdict").all_text_contents()[:3] == [
        "✓ as published", "✓ as published", "✗ not so here",
    ]  # fmt: skip
    pairs = page.locator("#figure-pairs")
    assert pairs.locator("select[name=shown]").input_value() == "layer 1"
    pairs.locator("select[name=who]").select_option("twin")
    assert pairs.locator("svg .mark-symbol.role-mark path").count() == HEADS * len(kinds)
    heads = page.locator("#figure-map")
    assert set(heads.locator("svg .mark-text.role-mark text").all_text_contents()) == {".40"}
    heads.locator("select[name=show]").select_option("ratio")
    assert set(heads.locator("svg .mark-text.role-mark text").all_text_contents()) == {".30"}
    heads.locator("select[name=who]").select_option("twin")
    assert set(heads.locator("svg .mark-text.role-mark text").all_text_contents()) == {"1.0"}
    page.locator("#streams button", has_text="cross").click()
    page.wait_for_selector("html[data-ready=true]")
    assert page.locator("#figure-mixing svg .mark-line.role-mark path").count() == 2 * 2
    assert page.locator("#figure-share-cls").is_hidden()
