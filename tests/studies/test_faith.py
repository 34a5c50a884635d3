"""attlas.faith as one call: its tables on tiny models, the same after a kill, and what it refuses."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

import attlas
import faith_models
from attlas.capture.frozen import freeze
from attlas.errors import AttlasError, CapabilityError, CorpusError, PlanError
from attlas.pages import Tables
from attlas.run.progress import Silent
from attlas.store import Result
from attlas.studies.faith.page import PAGE
from attlas.studies.faith.tables import shown_instances
from attlas.text import Document

AGREEMENT = [
    "explanation", "layers", "heads", "against", "tau", "low", "high", "significant", "overlap", "overlap_low",
    "overlap_high", "k", "n",
]  # fmt: skip


def run(
    task: str = "classification", family: str = "bert", subject: attlas.Subject | None = None, **options: Any
) -> Result:
    small = {"steps": 3, "adversary_steps": 3, "permutations": 5}
    model = subject or faith_models.subject(task, family)
    return attlas.faith(model, faith_models.corpus(2), task, **{**small, **options})


def test_a_tagger_of_chunks_is_held_against_tags_by_lot() -> None:
    """By the name that its score really has, so that one that learned nothing is warned of."""
    small = {"steps": 3, "adversary_steps": 3, "permutations": 5}
    model = faith_models.subject("tagging:chunks")
    result = attlas.faith(model, "sample", "tagging:chunks", limit=12, **small)
    (whole,) = result.tables["whole"].to_pylist()
    assert whole["metric"] == "chunk F1"
    assert 0 < whole["chance_score"] < 0.7
    assert whole["score_low"] <= whole["chance_score"]
    assert "no better here than tags drawn by lot (chunk F1" in str(PAGE.warning(Tables(result, PAGE.schemas)))


def test_every_explanation_stands_in_one_table_beside_chance() -> None:
    result = run()
    rows = result.table.to_pylist()
    assert result.table.column_names == AGREEMENT
    places = [("last", "mean"), ("all", "mean")]
    expected = {(kind, *place) for kind in ("weight", "norm") for place in places} | {("rollout", "all", "mean")}
    expected |= {
        (kind, "", "") for kind in ("gradient", "integrated gradients", "leave-one-out", "position", "random")
    }
    assert {(row["explanation"], row["layers"], row["heads"]) for row in rows} == expected
    assert len(rows) == 3 * len(expected) - 3
    assert all(row["n"] == 8 and -1 <= row["tau"] <= 1 for row in rows)
    erased = result.tables["erasure"].to_pylist()
    assert len(erased) == len(expected)
    (whole,) = result.tables["whole"].to_pylist()
    assert (whole["task"], whole["metric"], whole["chance_score"], whole["n"]) == (
        "classification",
        "accuracy",
        0.5,
        8,
    )
    assert whole["attention"] == "weights, the mean over all heads of layer 3 of 3, at the first piece ([CLS])"
    instances = result.tables["instances"].to_pylist()
    assert sum(row["right"] for row in instances) / 8 == pytest.approx(whole["score"])
    shown = result.tables["examples"].to_pylist()
    assert len({row["text"] for row in shown}) == 6
    first = [row for row in shown if row["text"] == shown[0]["text"]]
    assert max(row["weight"] for row in first) == pytest.approx(instances[shown[0]["text"]]["largest"])
    assert [row["own"] for row in first] == pytest.approx([row["weight"] for row in first], abs=1e-5)
    figures = [row["figure"] for row in result.tables["card"].to_pylist()]
    assert figures == [
        "tau_gradient", "tau_leave_one_out", "permuted", "adversary", "uniform", "comprehensiveness", "paragraph"
    ]  # fmt: skip
    kinds = [(row["intervention"], row["layers"]) for row in result.tables["interventions"].to_pylist()]
    both = [(kind, layers) for kind in ("uniform", "permuted") for layers in ("last", "all")]
    assert kinds == [*both, ("adversary", "last")]
    assert all(row["adversary_within"] and row["adversary_tvd"] <= 0.01 for row in instances)
    assert {row["text"] for row in result.tables["shown"].to_pylist()} == {row["text"] for row in shown}


def test_other_models_and_frozen_attention_stand_beside_it(tmp_path: Path) -> None:
    """The model itself, as another one and as its own frozen attention, changes nothing; an evened one does."""
    model = faith_models.subject()
    _, instances = faith_models.posed()
    freeze(model, [instance.example for instance in instances]).save(tmp_path / "own.safetensors")
    result = attlas.faith(
        model, faith_models.corpus(), steps=2, adversary_steps=2, permutations=0, frozen=tmp_path / "own.safetensors",
        others=[faith_models.subject(), faith_models.subject()], evened=faith_models.subject(),
    )  # fmt: skip
    rows = {(row["intervention"], row["name"]): row for row in result.tables["interventions"].to_pylist()}
    for name in [("frozen", "own.safetensors"), ("other model", "bert"), ("other model", "bert (2)")]:
        assert rows[name]["tvd"] == pytest.approx(0, abs=1e-5)
        assert rows[name]["change"] == 0
    assert rows["evened model", "bert"]["tvd"] == pytest.approx(
        next(row["tvd"] for (kind, _), row in rows.items() if kind == "uniform" and row["layers"] == "all"), abs=1e-6
    )
    card = {row["figure"]: row for row in result.tables["card"].to_pylist()}
    assert "permuted" not in card
    assert card["uniform"]["name"] == "trained with uniform attention: change of accuracy"
    with pytest.raises(CorpusError, match="is not among the 4 texts"):
        run(frozen=[tmp_path / "own.safetensors"])
    with pytest.raises(CapabilityError, match="wrong shape"):
        run(frozen=[tmp_path / "own.safetensors"], subject=faith_models.subject(num_hidden_layers=2))


def test_words_are_tagged_and_a_layer_and_head_are_chosen() -> None:
    result = run("tagging:upos", "llama", layer="2", head="3", per_text=2, limit=10, erase="mask")
    rows = result.table.to_pylist()
    assert ("weight", "1", "2") in {(row["explanation"], row["layers"], row["heads"]) for row in rows}
    (whole,) = result.tables["whole"].to_pylist()
    assert whole["attention"] == "weights, head 3 of layer 2 of 3, at all pieces"
    assert (whole["layers"], whole["heads"], whole["n"]) == ("1", "2", 10)
    instances = result.tables["instances"].to_pylist()
    assert len({row["text"] for row in instances}) == whole["texts"] < 10
    assert {row["label"] for row in instances} <= set(faith_models.LABELS["tagging:upos"])


class _Killed(Silent):
    """Ends a run from the keyboard after so many batches."""

    def __init__(self, batches: int) -> None:
        self.left = batches

    def advance(self, pieces: int) -> None:
        self.left -= 1
        if not self.left:
            raise KeyboardInterrupt


@pytest.mark.parametrize("batches", [1, 6])
def test_a_run_that_was_killed_goes_on_to_the_same_tables(tmp_path: Path, batches: int) -> None:
    """In the first part, and in a later one."""
    options: dict[str, Any] = {"budget": 40, "checkpoint_every": 0.0, "limit": 4}
    with pytest.raises(KeyboardInterrupt):
        run(out=tmp_path / "killed", progress=_Killed(batches), **options)
    again = run(out=tmp_path / "killed", resume=True, **options)
    whole = run(out=tmp_path / "whole", **options)
    assert list(again.tables) == list(whole.tables)
    for name, table in whole.tables.items():
        assert again.tables[name].equals(table), name


def test_what_cannot_be_explained_is_refused(tmp_path: Path) -> None:
    corpus, classifier = faith_models.corpus(), faith_models.subject()
    words = attlas.faith
    refused: list[tuple[type[AttlasError], str, Any]] = [
        (CapabilityError, "gives no labels", lambda: words(None, corpus, "masked-lm")),
        (CapabilityError, "cannot be put to the task", lambda: words(None, corpus, "classification")),
        (CapabilityError, "has no layer 4", lambda: words(classifier, corpus, layer="4")),
        (CapabilityError, "has no head 5", lambda: words(classifier, corpus, head="5")),
        (PlanError, "a single head", lambda: words(classifier, corpus, layer="all", head="1")),
        (PlanError, "cannot be erased by 'burn'", lambda: words(classifier, corpus, erase="burn")),
        (CorpusError, "has no labels", lambda: words(classifier, [Document.from_text("It rained.")])),
        (CorpusError, "two words", lambda: words(classifier, [Document.from_words(["The"], label="good")])),
        (PlanError, "at least 1", lambda: words(classifier, corpus, limit=0)),
    ]
    for error, said, call in refused:
        with pytest.raises(error, match=said):
            call()
    assert not list(tmp_path.iterdir())


def test_strong_adversaries_are_shown_first() -> None:
    rows = [
        {"words": 9, "tau_gradient": tau, "adversary_jsd": jsd, "adversary_within": jsd != 0.6}
        for tau, jsd in [(0.1, 0.2), (0.3, 0.5), (0.9, 0.6), (0.3, 0.4), (float("nan"), 0.1)]
    ]
    assert shown_instances(rows, most=4) == [1, 3, 0, 4]
    assert shown_instances([{**row, "words": 60} for row in rows], most=4) == [1, 3, 0, 4]
