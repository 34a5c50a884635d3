"""Heads removed in order: numbers against naive loops of full passes."""

from __future__ import annotations

import numpy as np
import pytest
import torch
import transformers

import twins
from attlas.capture import Subject
from attlas.capture.gating import closed
from attlas.ids import Site, Stream
from attlas.stats import METRICS
from attlas.studies.prune.speed import measure
from attlas.studies.shared.cutting.removal import (
    OneOff,
    Removal,
    Unit,
    by_chance,
    evenly,
    gates_without,
    to_remove,
    units_of,
)
from attlas.studies.shared.cutting.removal_tables import Line, curve_table, first_crossing, scores_of, shares_table
from attlas.tasks import make_task
from attlas.text import Document, Passage


@pytest.fixture(scope="module", params=["llama", "gpt2"])
def subject(request: pytest.FixtureRequest) -> Subject:
    torch.manual_seed(0)
    model = transformers.AutoModelForCausalLM.from_config(twins.config(request.param))
    twins.spread(model)
    return Subject.of(model, twins.tokenizer(True), request.param)


def examples(subject: Subject) -> list:
    texts = ["The farmer asked the designer.", "Nobody noticed.", "An engineer repaired the old bridge."]
    return subject.pieces.encode_all([Passage(Document.from_text(text)) for text in texts])


def mean_losses(subject: Subject, gone: list[Unit]) -> np.ndarray:
    """The mean loss of every text alone, in a full pass of its own with gates."""
    task = make_task(subject, "causal-lm")
    found = []
    for example in examples(subject):
        question = task.ask([example])
        with torch.no_grad(), subject.use(closed(subject, [head for unit in gone for head in unit.ids])):
            found.append(task.judge(question, subject.run(question.batch, use_cache=False)).mean.item())
    return np.array(found)


def test_units_are_heads_or_groups(subject: Subject) -> None:
    units = units_of(subject, [Stream.DECODER])
    grouped = subject.name == "llama"
    assert len(units) == (6 if grouped else 12)
    assert units[0].heads == ((0, 1) if grouped else (0,))
    assert gates_without(subject, units[:1]).xi[subject.sites[0]].tolist() == (
        [0, 0, 1, 1] if grouped else [0, 1, 1, 1]
    )


def test_one_off_losses_equal_a_loop_of_full_passes(subject: Subject) -> None:
    units = units_of(subject, [Stream.DECODER])
    study = OneOff(make_task(subject, "causal-lm"), units)
    bundle = study.empty()
    study.update(bundle, examples(subject)[:2])
    study.update(bundle, examples(subject)[2:])
    whole = mean_losses(subject, [])
    naive = [(mean_losses(subject, [unit]) - whole).mean() for unit in units]
    assert np.allclose(bundle["change"].result().value, naive, atol=1e-5)


def test_removal_equals_a_loop_of_full_passes(subject: Subject) -> None:
    units = units_of(subject, [Stream.DECODER])
    patterns = [[], units[:2], units[1:4], units]
    study = Removal(make_task(subject, "causal-lm"), patterns, texts=3, marks=2)
    bundle = study.empty()
    numbered = list(enumerate(examples(subject)))
    study.update(bundle, [numbered[2], numbered[0]])
    study.update(bundle, [numbered[1]])
    losses = bundle["losses"].result()
    for place, gone in enumerate(patterns):
        assert np.allclose(losses[:, place, 0] / losses[:, place, 1], mean_losses(subject, gone), atol=1e-5)
    scores = scores_of(METRICS["perplexity"], bundle["marks"].result(), losses, seed=0, resamples=20)
    assert np.allclose(scores.values, np.exp(losses[:, :, 0].sum(0) / losses[:, :, 1].sum(0)))
    assert scores.resampled.shape == (20, 4)


UNITS = [Unit(Site(Stream.ENCODER, layer), (head,)) for layer in range(3) for head in range(4)]


def test_orders_are_even_where_asked() -> None:
    order = by_chance(UNITS, seed=1, draw=0)
    assert sorted(order) == list(range(12))
    assert order != by_chance(UNITS, seed=1, draw=1)
    even = evenly(UNITS, order)
    for step in range(0, 13, 3):
        lost = [UNITS[place].site.layer for place in even[:step]]
        assert [lost.count(layer) for layer in range(3)] == [step // 3] * 3
    own = [[place for place in listed if UNITS[place].site.layer == 1] for listed in (order, even)]
    assert own[0] == own[1]
    assert to_remove(UNITS, order, 0.5, even=False) == order[:6]
    gone = [UNITS[place].site.layer for place in to_remove(UNITS, order, 0.5, even=True)]
    assert [gone.count(layer) for layer in range(3)] == [2, 2, 2]


def test_crossings_are_interpolated_and_never_is_never() -> None:
    shares = [0.0, 0.25, 0.5, 1.0]
    assert first_crossing(shares, np.array([0, 0.01, 0.03, 0.5]), 0.02) == pytest.approx(0.375)
    assert first_crossing(shares, np.array([0, 0.03, 0.0, 0.5]), 0.02) == pytest.approx(1 / 6)  # the first one counts
    assert np.isnan(first_crossing(shares, np.array([0, -0.1, 0, 0.01]), 0.02))
    assert first_crossing(shares, np.array([0, np.nan, 0, 0.0]), 0.02) == 0.25


def test_tables_of_curves_for_scores_that_rise_and_fall() -> None:
    marks = np.zeros((40, 3, 2))
    marks[..., 1] = 1
    marks[:, 0, 0] = 1  # accuracy 1, .9, .5
    marks[:36, 1, 0] = 1
    marks[:20, 2, 0] = 1
    scores = scores_of(METRICS["accuracy"], marks, marks, seed=0)
    line = Line("importance", 0, [0, 2, 4], [0, 1, 2])
    table = curve_table([line], 4, [[0, 2, 4]], scores)
    assert table["score"] == [1.0, 0.9, 0.5]
    assert table["share"] == [0.0, 0.5, 1.0]
    assert table["low"][2] < 0.5 < table["high"][2]
    found = shares_table(METRICS["accuracy"], [line], 4, scores)
    assert found["share"] == pytest.approx([0.05, 0.25])
    assert found["low"][0] <= 0.05 <= found["high"][0]
    rising = scores_of(METRICS["perplexity"], np.where(np.arange(2) == 0, 1 - marks[..., :1], 1.0), marks, seed=0)
    assert shares_table(METRICS["perplexity"], [line], 4, rising)["share"][1] < 0.5


def test_speed_leaves_out_what_takes_too_long(subject: Subject) -> None:
    gates = gates_without(subject, [])
    rows = list(measure(subject, subject, gates, batches=[1, 64], lengths=[16, 256], seconds=1e-9))
    assert [row["reason"] is None for row in rows] == [True, False, False, False]
    assert rows[0]["pruned"] > 0
    assert "more than" in rows[1]["reason"]
    assert "window of 128 pieces" in rows[2]["reason"]
