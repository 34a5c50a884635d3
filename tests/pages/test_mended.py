"""Sentences that were false of some tables once, each with the tables of which it was."""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

from attlas.pages import Tables
from attlas.store import Result
from attlas.studies import studies

sys.path.append(str(Path(__file__).parents[1] / "studies"))  # where results are invented

from invented_ablate import ablate_result
from invented_align import align_result
from invented_faith import faith_result
from invented_keywords import keywords_tune_result
from invented_layers import invented as layers_result
from invented_noop import noop_result
from invented_prune import prune_result


def told(result: Result, table: str, change: Callable[[dict[str, Any]], dict[str, Any]]) -> str:
    """What the page says of a result whose rows of one table are changed."""
    page = studies()[result.manifest.study].load_page()
    rows = [row | change(row) for row in result.tables[table].to_pylist()]
    tables = {**result.tables, table: {name: [row[name] for row in rows] for name in rows[0]}}
    findings = page.found(Tables(Result(result.manifest, tables), page.schemas, page.derived))
    return " ".join(str(finding.text) for finding in findings)


def test_no_layer_suffers_where_none_loses_anything() -> None:
    text = told(ablate_result(), "survivors", lambda row: {"change": 0.1, "loss_change": -0.1})
    assert "No layer suffers from it." in text
    assert "Most of all suffers" not in text


def test_the_loss_does_not_rise_most_where_it_falls() -> None:
    fallen = {"change": 0.0, "loss_change": -0.1, "p_corrected": 1.0}
    text = told(ablate_result(), "ablation", lambda row: fallen)
    assert "without none of them the loss rises" in text
    assert "rises most" not in text


def test_gradients_say_nothing_of_cutting_where_the_interval_includes_zero() -> None:
    text = told(ablate_result(), "correlation", lambda row: {"spearman_low": -0.1})
    assert "Importance by gradients is not shown to say anything of what cutting does" in text


def test_heads_are_missed_only_where_f1_falls() -> None:
    assert "Missed most: 3-4 (−0.080)" in told(keywords_tune_result(), "ablation", lambda row: {})
    turned = told(keywords_tune_result(), "ablation", lambda row: {"change": abs(row["change"])})
    assert "Without none of them F1 falls" in turned
    assert "Missed most" not in turned


def test_outputs_are_not_the_same_to_the_last_digit_where_nobody_looked() -> None:
    assert "to the last digit" in told(prune_result(), "sizes", lambda row: {"difference": 0.0})
    assert "to the last digit" not in told(prune_result(), "sizes", lambda row: {"difference": None})


def test_a_bound_that_was_not_kept_everywhere_is_not_told_of_every_instance() -> None:
    text = told(faith_result(), "instances", lambda row: {"adversary_within": row["text"] > 3})
    assert "gives every instance" not in text
    assert "gives 156 of 160 instances the same output" in text
    none = told(faith_result(), "instances", lambda row: {"adversary_within": False})
    assert "was found for none of 160 instances" in none


def test_the_loss_depends_less_only_beyond_the_interval() -> None:
    low = {"relative": 0.6, "relative_low": 0.4, "relative_high": 0.9}
    assert "depends less on attention" in told(noop_result(), "noop_layers", lambda row: low)
    wide = told(noop_result(), "noop_layers", lambda row: low | {"relative_high": 1.3})
    assert "is not shown to depend otherwise on attention" in wide


def test_a_head_knows_less_than_a_layer_only_beyond_the_intervals() -> None:
    assert "knows less than a layer" in told(align_result(), "choices", lambda row: {})
    wide = told(align_result(), "choices", lambda row: {"low": 0.0, "high": 1.0})
    assert "is not shown to know more or less than a layer" in wide


def test_earliest_and_latest_are_by_value_where_intervals_overlap() -> None:
    result = layers_result()
    text = told(result, "tasks", lambda row: {})
    assert "by their values: not all intervals are apart" in text
    assert "0.0 points worse" not in text
