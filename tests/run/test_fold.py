"""A statistic of one's own over a corpus, against a naive loop over single texts."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
import torch
import transformers

import attlas
import twins
from attlas.capture import Override, Recorder, Subject, load
from attlas.errors import NumberError, StatsError
from attlas.models import AttentionCall, Batch
from attlas.stats import estimate
from attlas.text import Document

TEXTS = [*twins.SENTENCES[:4], "It rained.", "Nobody noticed the old bridge."]


def previous(call: AttentionCall, batch: Batch) -> tuple[torch.Tensor, torch.Tensor]:
    """The weight on the previous piece, summed over queries, and how many queries have one."""
    side = batch.queries(call.site.stream)
    assert side is not None
    real = side.real[:, None, 1:]
    steps = call.weights().diagonal(-1, 2, 3)
    return (steps * real).sum(-1), real.sum(-1).expand(steps.shape[:2])


def previous_by_text(call: AttentionCall, batch: Batch) -> torch.Tensor:
    """The same as a mean over the queries of each text."""
    sums, counts = previous(call, batch)
    return sums / counts


def twin(family: str) -> Subject:
    torch.manual_seed(0)
    auto = transformers.AutoModelForCausalLM if family in twins.CAUSAL else transformers.AutoModel
    made = auto.from_config(twins.config(family)).eval()
    twins.spread(made)
    return Subject.of(made, twins.tokenizer(family in twins.CAUSAL), family)


def naive(subject: Subject) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Sums (text, layer, head), counts (text,), and the same sums for even attention, text by text."""
    sums, counts, even = [], [], []
    for text in TEXTS:
        weights = subject.look(text).weights[subject.pieces.own].double().numpy()
        length = weights.shape[-1]
        sums.append(sum(weights[:, :, i, i - 1] for i in range(1, length)))
        counts.append(length - 1)
        with torch.no_grad(), subject.use(Override.uniform()), subject.use(recorder := Recorder()):
            subject.run(subject.batch([text]))
        matrix = np.stack([recorder.get(site)[0].double().numpy() for site in subject.sites])
        even.append(sum(matrix[:, :, i, i - 1] for i in range(1, length)))
    return np.array(sums), np.array(counts), np.array(even)


@pytest.mark.parametrize(
    "family",
    [pytest.param("bundled", marks=pytest.mark.real), "bert", "gpt2", "llama", "gemma2", "gpt_oss", "gpt_neo"],
)
def test_the_weight_on_the_previous_piece(family: str) -> None:
    subject = load() if family == "bundled" else twin(family)
    corpus = [Document.from_text(text) for text in TEXTS]
    sums, counts, even = naive(subject)
    layers, heads = subject.shape(subject.pieces.own)
    pooled = attlas.fold(subject, corpus, previous, budget=70)
    by_text = attlas.fold(subject, corpus, previous_by_text)
    assert pooled.manifest.study == "fold"
    assert len(pooled.rows()) == len(by_text.rows()) == layers * heads
    means = sums / counts[:, None, None]
    interval = estimate(means, np.ones(means.shape))
    for row, other in zip(pooled.rows(), by_text.rows(), strict=True):
        place = row["layer"], row["head"]
        assert (other["layer"], other["head"], row["stream"]) == (*place, subject.pieces.own.value)
        assert row["value"] == pytest.approx(sums.sum(0)[place] / counts.sum(), abs=1e-5)
        assert row["chance"] == pytest.approx(even.sum(0)[place] / counts.sum(), abs=1e-5)
        assert (row["n"], other["n"]) == (counts.sum(), len(TEXTS))
        assert other["value"] == pytest.approx(means.mean(0)[place], abs=1e-5)
        assert (other["low"], other["high"]) == pytest.approx((interval.low[place], interval.high[place]), abs=1e-4)
        assert row["low"] <= row["value"] <= row["high"]


def test_an_interval_stays_within_the_range_that_is_told() -> None:
    """The weight of six texts on one piece is seldom, if ever, below 0 or above 1; its free interval may be."""
    corpus = [Document.from_text(text) for text in TEXTS]

    def last(call: AttentionCall, batch: Batch) -> torch.Tensor:
        weights = call.weights()
        return (weights[:, :, 0, 0] > weights[:, :, 0, 0].median()).double() ** 4

    subject = twin("bert")
    free, told = (attlas.fold(subject, corpus, last, within=within).rows() for within in (None, (0.0, 1.0)))
    assert [row["value"] for row in free] == [row["value"] for row in told]
    assert any(row["low"] < 0 or row["high"] > 1 for row in free)
    assert all(0 <= row["low"] <= row["value"] <= row["high"] <= 1 for row in told)


def test_below_six_texts_there_is_no_interval() -> None:
    rows = attlas.fold(twin("bert"), [Document.from_text(text) for text in TEXTS[:5]], previous).rows()
    assert all(row["low"] is None and row["high"] is None for row in rows)


def test_several_figures_have_names_and_all_streams_are_read() -> None:
    subject = twin("marian")
    texts = [Document.from_text(text) for text in TEXTS[:2]]
    pairs = [replace(text, translation=texts[0]) for text in texts]

    def two(call: AttentionCall, batch: Batch) -> torch.Tensor:
        weights = call.weights()
        return torch.stack([weights.amax((2, 3)), weights[:, :, 0, 0]], -1)

    rows = attlas.fold(subject, pairs, two, names=["largest", "first"]).rows()
    assert {row["figure"] for row in rows} == {"largest", "first"}
    assert len(rows) == 2 * sum(subject.layout.heads.values())
    with pytest.raises(StatsError, match="there are 0 names for the 2 figures"):
        attlas.fold(subject, pairs, two)
    assert attlas.fold(subject, pairs, two, names=["a", "b"]).to_pandas().shape == (len(rows), 9)


@pytest.mark.parametrize(
    ("function", "error", "words"),
    [
        (lambda call, batch: call.weights(), StatsError, r"of shape \(2, 4, .* where a tensor of shape \(2, 4\)"),
        (lambda call, batch: call.weights().mean(), StatsError, r"of shape \(\) at encoder layer 0"),
        (lambda call, batch: 0.5, StatsError, "of the type float at encoder layer 0"),
        (lambda call, batch: call.weights().sum((1, 2)), StatsError, "2 texts and 4 heads"),
        (
            lambda call, batch: (torch.ones(call.shape[:2]), torch.ones(2, 4, 3)),
            StatsError,
            r"sums of shape \(2, 4\) and counts of shape \(2, 4, 3\)",
        ),
        (
            lambda call, batch: torch.ones(*call.shape[:2], 1 + call.site.layer),
            StatsError,
            "0 names for the 2 figures that the function gave at encoder layer 1",
        ),
        (
            lambda call, batch: torch.full(call.shape[:2], torch.nan),
            NumberError,
            "NaN or infinity at encoder layer 0",
        ),
    ],
)
def test_what_is_no_statistic_is_refused(function: Any, error: type[Exception], words: str) -> None:
    corpus = [Document.from_text(text) for text in TEXTS[:2]]
    with pytest.raises(error, match=words):
        attlas.fold(twin("bert"), corpus, function)
    with pytest.raises(StatsError, match="there are 2 names for the 1 figures"):
        attlas.fold(twin("bert"), corpus, previous, names=["a", "b"])
