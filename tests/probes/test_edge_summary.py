"""Places, divergences and intervals of edge probing, against naive loops and scipy, and the tables made of them."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from attlas.errors import StatsError
from attlas.probes.edges import summary
from attlas.probes.edges.series import Origin, Spec, Trained, specs_for
from attlas.probes.edges.tables import tables_of

TASKS = ("task", "who", "labels", "measure", "value", "low", "high", "n")
SCORES = (
    "task", "who", "labels", "series", "layer", "seed", "value", "low", "high", "difference", "difference_low",
    "difference_high", "selectivity", "validation", "n", "above_mlp", "above_mlp_low", "above_mlp_high",
    "forced", "forced_low", "forced_high",
)  # fmt: skip
WEIGHTS = ("task", "who", "labels", "seed", "layer", "head", "value", "gamma")
LABELS = ("task", "label", "seed", "layer", "value", "train", "test")
CURVES = st.lists(st.floats(0.01, 0.99), min_size=2, max_size=14)


@given(CURVES)
def test_expected_layer_and_k_are_those_of_a_naive_loop(curve: list[float]) -> None:
    gains = [curve[layer] - curve[layer - 1] for layer in range(1, len(curve))]
    total = sum(gains)
    found = float(summary.expected_layer(curve))
    if total > 1e-6:
        assert found == pytest.approx(sum((k + 1) * gain for k, gain in enumerate(gains)) / total, rel=1e-6, abs=1e-6)
    elif total < -1e-6:
        assert math.isnan(found)
    positive = [max(gain, 0.0) for gain in gains]
    k = float(summary.gains_from_uniform(curve))
    if sum(positive) > 1e-6:
        shares = [gain / sum(positive) for gain in positive]
        assert k == pytest.approx(stats.entropy(shares, [1 / len(shares)] * len(shares)), abs=1e-9)


def test_expected_layer_counts_from_the_first_layer_that_was_probed() -> None:
    curve = [0.5, 0.6, 0.8]
    assert float(summary.expected_layer(curve, first=1)) == pytest.approx(float(summary.expected_layer(curve)) + 1)


def test_weights_that_do_not_sum_to_one_have_no_divergence() -> None:
    assert np.isnan(summary.from_uniform([0.5, 0.1]))
    assert np.isnan(summary.gains_from_uniform([0.5, 0.4]))


def test_an_interval_over_seeds_is_students() -> None:
    values = [0.71, 0.74, 0.69]
    found = summary.over_seeds(values)
    low, high = stats.t.interval(0.95, 2, loc=np.mean(values), scale=stats.sem(values))
    assert (found.value, found.low, found.high) == pytest.approx((np.mean(values), low, high))
    assert summary.over_seeds([0.71, float("nan"), 0.69]).n == 2
    assert math.isnan(summary.over_seeds([]).value)
    two = summary.over_seeds([0.71, 0.91], within=(0, 1))
    assert (two.low, two.high) == (0.0, 1.0)
    assert summary.estimate([0.71, 0.91], (0.5, 0.6), (0, 1))[1:3] == (0.0, 1.0)


def test_resampled_scores_are_those_of_the_drawn_sentences() -> None:
    rng = np.random.default_rng(5)
    marks = rng.integers(0, 4, (3, 7, 3)).astype(float) + np.array([0, 4, 4])
    found = summary.resampled(marks, seed=9, resamples=20)
    drawn = np.random.default_rng(9).multinomial(7, np.full(7, 1 / 7), size=20)
    for resample, copies in enumerate(drawn):
        for probe in range(3):
            common, predicted, given = (copies[:, None] * marks[probe]).sum(0)
            assert found[resample, probe] == pytest.approx(2 * common / (predicted + given))


def test_resamples_are_the_same_in_any_slices(monkeypatch: pytest.MonkeyPatch) -> None:
    marks = np.random.default_rng(0).integers(1, 4, (2, 9, 3)).astype(float)
    whole = summary.resampled(marks, resamples=50)
    monkeypatch.setattr(summary, "_AT_ONCE", 30)
    assert np.array_equal(summary.resampled(marks, resamples=50), whole)


def test_marks_of_another_shape_are_refused() -> None:
    with pytest.raises(StatsError, match="marks of shape"):
        summary.resampled(np.ones((2, 3)))


def test_the_interval_of_a_score_holds_the_truth_about_as_often_as_it_says() -> None:
    rng = np.random.default_rng(1)
    held = 0
    for _ in range(100):
        right = rng.random((1, 120)) < 0.8
        marks = np.stack([right, np.ones_like(right), np.ones_like(right)], -1).astype(float)
        low, high = summary.score_intervals(marks)
        held += bool(low[0] <= 0.8 <= high[0])
    assert 91 <= held <= 99


@pytest.mark.parametrize("units", [12, 40])
def test_the_interval_of_a_difference_holds_the_truth_about_as_often_as_it_says(units: int) -> None:
    """Of the two scores' own interval, and of what is resampled."""
    rng = np.random.default_rng(2)
    held, held_by_resamples = 0, 0
    for trial in range(200):
        hits = rng.binomial(9, np.clip(rng.normal([0.8, 0.6], 0.1, (units, 2)), 0, 1)).T
        marks = np.stack([hits, np.full_like(hits, 9), np.full_like(hits, 9)], -1).astype(float)
        drawn = summary.resampled(marks, seed=trial, resamples=400)
        low, high = summary.middle(drawn[:, 0] - drawn[:, 1], units)
        held_by_resamples += bool(low <= 0.2 <= high)
        low_end, high_end = summary.difference_interval(*marks)
        held += low_end <= 0.2 <= high_end
    assert 184 <= held <= 198
    assert 180 <= held_by_resamples <= 198


def test_intervals_are_by_unit_and_there_is_none_with_five() -> None:
    rng = np.random.default_rng(3)
    right = np.repeat(rng.random(20) < 0.5, 10)  # the sentences of a document are right together
    marks = np.stack([right, np.ones_like(right), np.ones_like(right)], -1).astype(float)[None]
    alone, together = (
        summary.score_intervals(summary.by_unit(marks, units)) for units in (None, np.repeat(np.arange(20), 10))
    )
    assert together[1][0] - together[0][0] > 2.5 * (alone[1][0] - alone[0][0])
    few = summary.by_unit(marks, np.arange(200) % 5)
    assert np.isnan(summary.score_intervals(few)[0]).all()
    assert np.isnan(summary.middle(summary.resampled(few), few.shape[1])[0]).all()


def test_a_place_that_many_resamples_do_not_have_gets_no_interval() -> None:
    low, high = summary.middle([1.0] * 90 + [float("nan")] * 10, 50)
    assert np.isnan(low)
    assert np.isnan(high)


SOURCES = [Origin(layer) for layer in range(4)]


def trained(model: str, seed: int, *, controls: bool = True, lift: float = 0.0) -> Trained:
    specs = specs_for(SOURCES, control=controls)
    rng = np.random.default_rng([seed, model == "model"])
    given_labels = np.full((len(specs), 30), 5)
    shares = [0.5 + lift + 0.1 * spec.layer - 0.2 * (spec.labels == "control") for spec in specs]
    common = rng.binomial(5, np.clip(shares, 0, 1)[:, None], (len(specs), 30))
    marks = np.stack([common, given_labels, given_labels], -1).astype(float)
    weights = np.array([[spec.sees(source) for source in SOURCES] for spec in specs], dtype=float)
    weights *= 1 + rng.random(weights.shape)
    weights /= weights.sum(-1, keepdims=True)
    by_label = np.stack([marks.sum(1) * 0.7, marks.sum(1) * 0.3], 1)
    dev = np.array([0.9 if (spec.series, spec.layer) == ("single", 2) else 0.1 for spec in specs])
    return Trained(model, seed, specs, marks, by_label, weights, 1 + rng.random(len(specs)), dev)


def made(runs: list[Trained]) -> dict[str, list[dict[str, Any]]]:
    tables = tables_of("pos", runs, SOURCES, ("NN", "VB"), (90, 40), (70, 30), 0.4, 0)
    return {
        name: [dict(zip(columns, row, strict=True)) for row in zip(*columns.values(), strict=True)]
        for name, columns in tables.items()
    }


def measure(rows: list[dict[str, Any]], name: str, model: str = "model", labels: str = "gold") -> dict[str, Any]:
    (row,) = (row for row in rows if (row["measure"], row["who"], row["labels"]) == (name, model, labels))
    return row


def test_tables_have_their_columns_and_a_row_for_every_probe() -> None:
    runs = [trained("model", 0), trained("model", 1), trained("twin", 0)]
    tables = tables_of("pos", runs, SOURCES, ("NN", "VB"), (90, 40), (70, 30), 0.4, 0)
    assert {name: tuple(columns) for name, columns in tables.items()} == {
        "tasks": TASKS, "scores": SCORES, "weights": WEIGHTS, "labels": LABELS,
    }  # fmt: skip
    assert len(tables["scores"]["layer"]) == 3 * 11
    assert len(tables["weights"]["layer"]) == 3 * 2 * 4
    assert len(tables["labels"]["layer"]) == 2 * 2 * 4  # of the trained model alone
    assert all(sum(tables["weights"]["value"][k : k + 4]) == pytest.approx(1) for k in range(0, 24, 4))


def test_scores_differences_and_selectivity_are_as_defined() -> None:
    run = trained("model", 3)
    rows = made([run])["scores"]
    expected = {
        spec: float(2 * run.marks[k, :, 0].sum() / run.marks[k, :, 1:].sum()) for k, spec in enumerate(run.specs)
    }
    for row, spec in zip(rows, run.specs, strict=True):
        assert row["value"] == pytest.approx(expected[spec])
        assert row["low"] < row["value"] < row["high"]
        assert row["n"] == 150
        before = expected.get(Spec(spec.labels, "cumulative", spec.layer - 1))
        if spec.series == "single" or before is None:
            assert row["difference"] is None
        else:
            assert row["difference"] == pytest.approx(expected[spec] - before)
            assert row["difference_low"] < row["difference"] < row["difference_high"]
        if spec.labels == "gold" and spec.series == "cumulative":
            control = expected[Spec("control", "cumulative", spec.layer)]
            assert row["selectivity"] == pytest.approx(expected[spec] - control)
        else:
            assert row["selectivity"] is None


def test_with_one_seed_intervals_are_over_sentences_and_weights_have_none() -> None:
    rows = made([trained("model", 0), trained("twin", 0, lift=-0.2)])["tasks"]
    for name in ("score", "score at layer 0", "gain", "expected layer", "score of it", "selectivity"):
        row = measure(rows, name)
        assert row["low"] < row["value"] < row["high"], name
        assert row["n"] == 1
    for name in ("centre of gravity", "K(s)", "K(D)", "best single layer"):
        assert measure(rows, name)["low"] is None, name
    assert measure(rows, "score", "twin")["value"] < measure(rows, "score")["value"]
    assert measure(rows, "most frequent label", "none")["value"] == 0.4


def test_with_several_seeds_intervals_are_over_seeds() -> None:
    runs = [trained("model", seed) for seed in range(3)]
    rows = made(runs)["tasks"]
    whole = [run.specs.index(Spec("gold", "cumulative", 3)) for run in runs]
    values = [2 * run.marks[k, :, 0].sum() / run.marks[k, :, 1:].sum() for run, k in zip(runs, whole, strict=True)]
    low, high = stats.t.interval(0.95, 2, loc=np.mean(values), scale=stats.sem(values))
    row = measure(rows, "score")
    assert (row["value"], row["low"], row["high"], row["n"]) == pytest.approx((np.mean(values), low, high, 3))
    centres = [float(run.weights[k] @ np.arange(4)) for run, k in zip(runs, whole, strict=True)]
    assert measure(rows, "centre of gravity")["value"] == pytest.approx(np.mean(centres))
    assert measure(rows, "centre of gravity")["low"] is not None


def test_the_best_layer_alone_is_chosen_on_dev() -> None:
    run = trained("model", 0)
    rows = made([run])["tasks"]
    assert measure(rows, "best single layer")["value"] == 2
    place = run.specs.index(Spec("gold", "single", 2))
    expected = 2 * run.marks[place, :, 0].sum() / run.marks[place, :, 1:].sum()
    assert measure(rows, "score of it")["value"] == pytest.approx(expected)


def test_without_controls_there_is_no_selectivity() -> None:
    tables = made([trained("model", 0, controls=False)])
    assert not {row["measure"] for row in tables["tasks"]} & {"selectivity", "selectivity at layer 0"}
    assert {row["labels"] for row in tables["scores"]} == {"gold"}


def test_heads_begin_with_layer_one_and_weights_name_them() -> None:
    origins = [Origin(layer, head) for layer in (1, 2) for head in (0, 1)]
    specs = specs_for(origins)
    marks = np.ones((len(specs), 6, 3))
    marks[[k for k, spec in enumerate(specs) if spec.layer == 1], :, 0] = 0.5
    weights = np.array([[spec.sees(source) / 2 / spec.layer for source in origins] for spec in specs])
    run = Trained("model", 0, specs, marks, marks[:, :1], weights, np.ones(len(specs)), np.ones(len(specs)))
    tables = tables_of("pos", [run], origins, ("NN",), (9,), (6,), 0.4, 0)
    rows = dict(zip(tables["tasks"]["measure"], tables["tasks"]["value"], strict=True))
    assert "score at layer 0" not in rows
    assert rows["centre of gravity"] == 1.5
    gold = [
        value
        for name, labels, value in zip(
            tables["tasks"]["measure"], tables["tasks"]["labels"], tables["tasks"]["value"], strict=True
        )
        if (name, labels) == ("expected layer", "gold")
    ]
    assert gold == [2.0]
    assert tables["weights"]["head"][:4] == [0, 1, 0, 1]


def test_a_label_that_is_neither_given_nor_predicted_has_no_score() -> None:
    run = trained("model", 0)
    empty = run.label_marks.copy()
    empty[:, 1] = 0
    tables = made([run._replace(label_marks=empty)])
    assert {row["value"] for row in tables["labels"] if row["label"] == "VB"} == {None}
