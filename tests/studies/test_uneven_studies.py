"""Studies of a model whose layers differ in their heads: every head that there is has the figures that it has in an
even model which does the same (``tests/uneven.py``), and no other head has any."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import attlas
import twins
import uneven
from attlas.capture import Subject
from attlas.studies.norms.passes import Norms
from attlas.studies.norms.tables import resting_heads

PLACES = {(layer, head) for layer, (heads, _) in enumerate(uneven.HEADS) for head in range(heads)}

Study = Callable[[Subject], Any]
STUDIES: dict[str, tuple[Study, str, tuple[str, ...], tuple[str, ...]]] = {
    "survey": (
        lambda subject: attlas.survey(subject, "sample", limit=3), "heads", ("measure", "quantity"),
        ("value", "chance", "n", "low", "high", "first_half"),
    ),
    "norms": (
        lambda subject: attlas.norms(subject, "sample", limit=3, twins=1), "norms", ("keys",),
        ("weight", "norm", "n", "length", "mean_weight", "pair_count", "chance"),
    ),
    "relations": (
        lambda subject: attlas.relations(subject, "sample", limit=8, twins=1), "relation_heads",
        ("direction", "relation"), ("value", "n", "low", "high", "margin"),
    ),
    "noop": (
        lambda subject: attlas.noop(subject, "sample", "causal-lm", limit=2, twins=1), "noop", ("keys",),
        ("value", "n", "pairs", "paid", "weight", "norm"),
    ),
    "importance": (
        lambda subject: attlas.importance(subject, "sample", "causal-lm", limit=2), "importance", (),
        ("value", "signed", "n", "normalised"),
    ),
    "ablate": (
        lambda subject: attlas.ablate(subject, "sample", "causal-lm", limit=2, survivors=False, importance=False),
        "ablation", (), ("score", "change", "loss"),
    ),
}  # fmt: skip


@pytest.fixture(scope="module")
def subjects() -> tuple[Subject, Subject]:
    return uneven.subject(), uneven.subject("even")


@pytest.mark.parametrize("name", STUDIES)
def test_heads_have_the_figures_of_the_even_model(name: str, subjects: tuple[Subject, Subject]) -> None:
    study, table, keys, columns = STUDIES[name]
    own, even = (study(subject).tables[table].to_pylist() for subject in subjects)
    rows, expected = (
        {(row["layer"], row["head"], *(row[key] for key in keys)): row for row in table} for table in (own, even)
    )
    assert {place[:2] for place in rows} == PLACES
    assert set(rows) == {place for place in expected if place[:2] in PLACES}
    for place, row in rows.items():
        for column in columns:
            ours, theirs = (np.nan if value is None else value for value in (row[column], expected[place][column]))
            assert ours == pytest.approx(theirs, rel=2e-3, abs=2e-5, nan_ok=True), (place, column)


def test_layers_are_means_over_the_heads_that_they_have(subjects: tuple[Subject, Subject]) -> None:
    result = attlas.norms(subjects[0], "sample", limit=2, twins=1)
    heads, layers = (result.tables[name].to_pylist() for name in ("norms", "norms_layers"))
    for row in layers:
        own = [head for head in heads if (head["layer"], head["keys"]) == (row["layer"], row["keys"])]
        assert len(own) == uneven.HEADS[row["layer"]][0]
        for column in ("weight", "norm", "n", "length"):
            assert row[column] == pytest.approx(np.mean([head[column] for head in own]), rel=1e-5), column
    assert {(row["layer"], row["head"]) for row in result.tables["scatter"].to_pylist()} <= PLACES


def test_a_head_that_is_not_there_does_not_rest(subjects: tuple[Subject, Subject]) -> None:
    study = Norms(subjects[0])
    bundle = study.empty()
    study.update(
        bundle, study.subject.pieces.encode_all([attlas.text.Passage(attlas.text.Document.from_text("Hi."))])
    )
    assert set(resting_heads(bundle, study.streams[0], most=11)) == PLACES


def test_distances_of_heads_and_of_layers(subjects: tuple[Subject, Subject]) -> None:
    own, even = (attlas.clusters(subject, "sample", limit=2, twins=1).tables for subject in subjects)
    pair = ("layer", "head", "layer_b", "head_b")
    rows, expected = (
        {tuple(row[key] for key in pair): row for row in tables["pairs"].to_pylist()} for tables in (own, even)
    )
    assert len(rows) == len(PLACES) * (len(PLACES) - 1) // 2
    for place, row in rows.items():
        assert row["value"] == pytest.approx(expected[place]["value"], rel=1e-3), place
    for row in own["layer_pairs"].to_pylist():
        apart = [
            each["value"] for place, each in rows.items() if {place[0], place[2]} == {row["layer"], row["layer_b"]}
        ]
        assert row["value"] == pytest.approx(np.mean(apart), rel=1e-5)
    within = [each["value"] for place, each in rows.items() if place[0] == place[2]]
    told = next(row for row in own["togetherness"].to_pylist() if row["who"] == "model")
    assert told["heads"] == len(PLACES)
    assert told["within"] == pytest.approx(np.mean(within), rel=1e-5)
    for row in own["clusters"].to_pylist():
        assert (row["layer"], row["head"]) in PLACES
        assert (row["nearest_layer"], row["nearest_head"]) in PLACES


def test_a_layer_that_has_lost_its_heads_is_in_no_table() -> None:
    whole = Subject.of(twins.model("bert"), twins.tokenizer(causal=False), "bert")
    pruned = whole.pruned(["1-1", "2-1", "2-2", "2-3", "2-4"])
    pruned.name = "pruned"
    heads = attlas.survey(pruned, "sample", limit=2).tables["portraits"].to_pylist()
    assert [(row["layer"], row["head"]) for row in heads] == [(0, 0), (0, 1), (0, 2), (2, 0), (2, 1), (2, 2), (2, 3)]
    layers = attlas.norms(pruned, "sample", limit=2, twins=1).tables["norms_layers"].to_pylist()
    assert {row["layer"] for row in layers} == {0, 2}
