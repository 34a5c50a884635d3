"""The experiment of layers under test: a made-up model whose states know one thing, and probes that are told how well
they do on which part.

Words are labelled by whether they stand at an even or an odd place. The model's states know that and nothing else;
those of its twin know nothing. Whoever takes the model for its twin, gold labels for control labels, or chooses on
the part that is scored, gets another answer than the one asked for here.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import pytest
import torch

import twins
from attlas.capture import Subject
from attlas.corpora import Corpus
from attlas.pages import Tables
from attlas.probes.edges.series import Spec
from attlas.probes.edges.states import Mixable, Writer
from attlas.probes.edges.training import Marks, Training
from attlas.store import Result
from attlas.studies.layers.call import layers
from attlas.studies.layers.page import PAGE
from attlas.text import Document, Edge, Span

SMALL: dict[str, Any] = {"epochs": 6, "step_pieces": 48}
WORDS = sorted({word.strip(".,;") for sentence in twins.SENTENCES[:4] for word in sentence.split()})


def texts(count: int, seed: int) -> list[Document]:
    draw = random.Random(seed)
    made = []
    for number in range(count):
        words = [draw.choice(WORDS) for _ in range(8)]
        edges = [Edge(Span(at, at + 1), None, ("odd" if at % 2 else "even",)) for at in range(8)]
        made.append(Document.from_words(words, edges=edges, name=f"text {seed}-{number}"))
    return made


def parts() -> dict[str, Any]:
    return {"corpus": texts(20, 0), "validation": texts(8, 1), "test": texts(20, 2)}


@pytest.fixture
def model() -> Subject:
    return Subject.of(twins.model("bert"), twins.tokenizer(False), "made up")


@pytest.fixture
def planted(monkeypatch: pytest.MonkeyPatch, model: Subject) -> None:
    """States of the model from layer 2 on say at which kind of place a word stands; all others say nothing."""
    reading: list[Any] = []
    update, capture = Writer.update, Mixable.capture

    def noting(self: Writer, bundle: Any, batch: Sequence[Any]) -> None:
        reading[:] = batch
        update(self, bundle, batch)

    def told(self: Mixable, batch: Any) -> torch.Tensor:
        states = torch.ones_like(capture(self, batch))
        if self.subject is model:
            for place, item in enumerate(reading):
                words = torch.tensor(item.example.source.segmentation.words)
                states[place, : len(words), 2:, 0] = torch.where(words % 2 == 0, 5.0, -5.0)[:, None]
        return states

    monkeypatch.setattr(Writer, "update", noting)
    monkeypatch.setattr(Mixable, "capture", told)


def measures(result: Result) -> dict[tuple[str, str, str], Any]:
    return {(row["measure"], row["who"], row["labels"]): row["value"] for row in result.rows("tasks")}


@pytest.mark.usefixtures("planted")
def test_the_twin_is_not_the_model_and_control_labels_are_not_gold(model: Subject) -> None:
    result = layers(model, task="spans", **parts(), **SMALL)
    known = measures(result)
    assert known["score", "model", "gold"] > 0.99
    assert known["score at layer 0", "model", "gold"] < 0.8
    assert known["score", "twin", "gold"] < 0.8
    assert known["score", "model", "control"] < 0.8
    assert known["selectivity", "model", "gold"] > 0.2
    assert known["expected layer", "model", "gold"] == pytest.approx(2, abs=0.1)
    singles = {(row["who"], row["series"], row["layer"]): row["value"] for row in result.rows("scores")
               if row["labels"] == "gold"}  # fmt: skip
    for series in ("single", "linear"):
        assert singles["model", series, 1] < 0.8
        assert singles["model", series, 2] > 0.99
        assert singles["twin", series, 2] < 0.8


def test_several_twins_are_other_draws_and_have_their_lowest_and_highest(
    monkeypatch: pytest.MonkeyPatch, model: Subject
) -> None:
    seeds, draw = [], Subject.twin

    def drawing(self: Subject, seed: int = 0) -> Subject:
        seeds.append(seed)
        return draw(self, seed)

    monkeypatch.setattr(Subject, "twin", drawing)
    few: dict[str, Any] = SMALL | {"epochs": 1, "control": False, "singles": False}
    result = layers(model, task="spans", **parts(), **few, seed=7, twins=3)
    assert seeds == [7, 8, 9]
    drawn = [row["value"] for row in result.rows("scores") if row["who"] == "twin" and row["layer"] == 3]
    (row,) = [row for row in result.rows("tasks") if (row["measure"], row["who"]) == ("score", "twin")]
    assert len(set(drawn)) > 1
    assert row["n"] == 3
    told = [row[name] for name in ("value", "low", "high")]
    assert told == pytest.approx([sum(drawn) / 3, min(drawn), max(drawn)])
    answer = str(PAGE.answer(Tables(result, PAGE.schemas, PAGE.derived)).text)  # type: ignore[union-attr]
    assert f"3 untrained twins {100 * told[0]:.1f} % (from {100 * told[1]:.1f} to {100 * told[2]:.1f})" in answer


def plant_marks(monkeypatch: pytest.MonkeyPatch, score: Callable[[str, int, Spec], float]) -> None:
    """Let probes be as good on a part as they are told to be, by their place in the series and their spec."""

    def told(self: Training[Any], part: str) -> Marks:
        sentences = self.reader.layouts[part].sentences
        shares = np.array([score(part, place, spec) for place, spec in enumerate(self.specs)])
        marks = np.full((len(shares), sentences, 3), 8.0)
        rng = np.random.default_rng(0)
        marks[..., 0] = (8 * shares)[:, None] + rng.integers(-1, 2, sentences) * (shares < 0.9)[:, None]
        return Marks(marks, marks[:, :2], marks)

    monkeypatch.setattr(Training, "marks", told)


def test_the_best_layer_and_strength_are_chosen_on_validation(
    monkeypatch: pytest.MonkeyPatch, model: Subject
) -> None:
    """Layer 2 is best on validation and layer 3 on test; of strengths the second and the third."""

    def score(part: str, place: int, spec: Spec) -> float:
        favourite = {"dev": 2, "test": 3}[part]
        if spec.series == "linear":
            return 0.75 if place % 3 == favourite - 1 else 0.25
        return 0.5 + 0.25 * (spec.series == "single" and spec.layer == favourite)

    plant_marks(monkeypatch, score)
    result = layers(model, task="spans", **parts(), **SMALL | {"epochs": 1}, twin="none", control=False)
    known = measures(result)
    assert known["best single layer", "model", "gold"] == 2
    assert known["score of it", "model", "gold"] == pytest.approx(0.5, abs=0.05)
    linear = [row for row in result.rows("scores") if row["series"] == "linear"]
    assert len(linear) == 4
    assert all(row["value"] == pytest.approx(0.25, abs=0.05) for row in linear)
    assert all(row["validation"] > 0.6 for row in linear)


def test_what_a_linear_probe_has_more_than_the_network_has_its_sign(
    monkeypatch: pytest.MonkeyPatch, model: Subject
) -> None:
    plant_marks(monkeypatch, lambda part, place, spec: {"linear": 0.75, "single": 0.5}.get(spec.series, 0.25))
    result = layers(model, task="spans", **parts(), **SMALL | {"epochs": 1}, twin="none", control=False)
    rows = {row["layer"]: row for row in result.rows("scores") if row["series"] == "linear"}
    assert rows[2]["above_mlp"] == pytest.approx(0.25)
    assert rows[0]["above_mlp"] == pytest.approx(0.5)  # there the network is the cumulative one
    assert 0 < rows[2]["above_mlp_low"] <= rows[2]["above_mlp"] <= rows[2]["above_mlp_high"]


def test_documents_are_the_units_where_test_has_enough(monkeypatch: pytest.MonkeyPatch, model: Subject) -> None:
    """The same marks of the same sentences: taken by document they leave another doubt."""
    plant_marks(monkeypatch, lambda part, place, spec: 0.5)
    few = {"epochs": 1, "step_pieces": 48, "twin": "none", "control": False, "singles": False}
    scored = tuple(texts(64, 2))
    results = [
        layers(model, task="spans", **parts() | {"test": Corpus(scored, "documents", "test", "", owners)}, **few)
        for owners in (tuple(range(64)), tuple(at // 4 for at in range(64)))
    ]
    about = [result.manifest.corpus["tasks"]["spans"] for result in results]
    assert [(one["unit"], one["units"]) for one in about] == [("text", 64), ("document", 16)]
    alone, together = ([(row["low"], row["value"]) for row in result.rows("scores")] for result in results)
    assert [value for _, value in alone] == [value for _, value in together]
    assert not any(one == other for (one, _), (other, _) in zip(alone, together, strict=True))


@pytest.mark.usefixtures("planted")
def test_probes_learn_on_the_training_part_alone(model: Subject) -> None:
    """Test has its labels turned round: what is learned on it would score."""
    given, other = parts(), {("odd",): ("even",), ("even",): ("odd",)}
    turned = [
        Document.from_words(
            [text.word(at) for at in range(8)], name=text.name,
            edges=[edge._replace(labels=other[edge.labels]) for edge in text.edges or ()],
        )
        for text in given["test"]
    ]  # fmt: skip
    result = layers(model, task="spans", **given | {"test": turned}, **SMALL, twin="none", control=False)
    assert measures(result)["score", "model", "gold"] < 0.1
