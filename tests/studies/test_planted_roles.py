"""Heads that were written by hand are found, each by its own definition and no other."""

from __future__ import annotations

from typing import Any

import numpy as np
import planted_heads
import pytest

from attlas.capture import Subject
from attlas.corpora import Corpus
from attlas.run.setting import as_corpus
from attlas.studies.roles.call import roles
from attlas.text import Document

DEFINITIONS = {
    "prefix_matching": "induction",
    "induction_text": "induction",
    "duplicate": "duplicate",
    "duplicate_text": "duplicate",
    "previous_random": "previous",
    "previous_text": "previous",
    "copying": "copying",
    "copying_weights": "copying",
}


def corpus() -> Corpus:
    """Texts in which some words come again."""
    rng = np.random.default_rng(0)
    texts = [[f"w{n}" for n in rng.integers(1, planted_heads.PIECES, 70)] for _ in range(12)]
    return as_corpus([Document.from_words(words, name=f"text {at}") for at, words in enumerate(texts)])


@pytest.fixture(scope="module")
def model() -> Subject:
    return planted_heads.planted()


@pytest.fixture(scope="module")
def result(model: Subject) -> Any:
    return roles(model, corpus(), texts=12)


def figures(result: Any, definition: str) -> dict[tuple[int, int], float]:
    rows = [row for row in result.rows("heads") if row["definition"] == definition]
    return {(row["layer"], row["head"]): row["value"] for row in rows}


@pytest.mark.parametrize(("definition", "role"), DEFINITIONS.items())
def test_each_score_names_the_planted_head_alone(result: Any, definition: str, role: str) -> None:
    found = figures(result, definition)
    planted = found.pop(planted_heads.WHERE[role])
    assert planted > 0.9
    assert max(found.values(), default=0.0) < 0.35
    named = [row for row in result.rows("named") if row["definition"] == definition and row["rank"] == 1]
    assert [(row["layer"], row["head"]) for row in named] == [planted_heads.WHERE[role]]


def test_a_head_that_counts_is_the_successor_head(monkeypatch: pytest.MonkeyPatch) -> None:
    from attlas.studies.roles import ordinals, weighed

    numbers = (tuple(f"w{number}" for number in range(1, 30)),)
    monkeypatch.setattr(ordinals, "LISTS", numbers)
    monkeypatch.setattr(weighed, "LISTS", numbers)
    counting = planted_heads.planted((("even", "succession", "copying", "even"), ("even", "copying", "even", "sink")))
    found = figures(roles(counting, corpus(), texts=12, closing=False), "successor")
    assert found.pop((0, 1)) == 1.0
    assert max(found.values()) < 0.1


def test_without_the_induction_head_a_repeated_text_is_not_foreseen() -> None:
    layers = ("previous", "duplicate", "sink", "even"), ("predicting", "sink", "copying", "even")
    result = roles(planted_heads.planted(layers), corpus(), texts=12)
    effects = {row["role"]: row for row in result.rows("effects")}
    assert effects["induction"]["heads"] == "2-1"
    assert effects["induction"]["change"] > 3
    assert effects["previous"]["heads"] == "1-1"
    assert effects["previous"]["change"] > 3  # which the induction head reads
    assert effects["duplicate"]["change"] == pytest.approx(0, abs=1e-4)
    assert effects["induction"]["sets"] == 7  # seven other heads are too few for a p
    assert effects["induction"]["p"] is None
    assert {row["role"]: row["reason"] for row in result.rows("untested")}["successor"]


def test_sinks_are_the_heads_that_rest_on_the_first_piece(result: Any) -> None:
    for definition, bar in (("sink", 0.99), ("first_key", 0.9), ("sink_bare", 0.99)):
        found = figures(result, definition)
        resting = {place for place, value in found.items() if value > bar}
        assert {(0, 2), (1, 1)} <= resting
        # heads that find nothing to look at spread evenly, and no other head rests
        assert resting <= {(0, 2), (1, 1)}


@pytest.mark.parametrize("twin", ["after", "none"])
def test_twins_may_come_after_the_model_or_not_at_all(result: Any, twin: str) -> None:
    other = roles(planted_heads.planted(), corpus(), texts=12, twin=twin, closing=False)
    ours, theirs = (sorted(one.rows("heads"), key=lambda row: (row["definition"], row["layer"], row["head"]))
                    for one in (result, other))  # fmt: skip
    assert [row["value"] for row in ours] == pytest.approx([row["value"] for row in theirs])
    if twin == "none":
        assert {row["twin"] for row in theirs} == {None}
    else:
        assert [row["twin"] for row in ours] == pytest.approx([row["twin"] for row in theirs])
