"""Every score made of attention equals a loop over the eager model's own weights, on the same texts."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
import transformers

import twins
from attlas.capture import Subject, load
from attlas.run.setting import as_corpus
from attlas.studies.roles import texts as making
from attlas.studies.roles.definitions import DEFINITIONS
from attlas.studies.roles.passes import SeamScores
from attlas.studies.roles.scores import scored
from attlas.text import Document

SMOLLM2 = Path("~/.cache/attlas-models/smollm2").expanduser()
Cases = Callable[
    [np.ndarray, list[int], int], list[float]
]  # (query, key) weights, ids, first place of text > figures


def after_earlier(weights: np.ndarray, ids: list[int], first: int) -> list[float]:
    found = []
    for i in range(first, len(ids)):
        places = [j + 1 for j in range(first, i) if ids[j] == ids[i] and j + 1 < i]
        if places:
            found.append(sum(weights[i, j] for j in places))
    return found


def earlier(weights: np.ndarray, ids: list[int], first: int) -> list[float]:
    found = []
    for i in range(first, len(ids)):
        places = [j for j in range(first, i) if ids[j] == ids[i]]
        if places:
            found.append(sum(weights[i, j] for j in places))
    return found


def before(weights: np.ndarray, ids: list[int], first: int) -> list[float]:
    return [weights[i, i - 1] for i in range(first + 1, len(ids))]


def itself(weights: np.ndarray, ids: list[int], first: int) -> list[float]:
    return [weights[i, i] for i in range(first, len(ids))]


def imp(weights: np.ndarray, k: int) -> float:
    readers = [i for i in range(len(weights)) if i >= k and weights[i, k] > 0]
    return sum(weights[i, k] for i in readers) / len(readers) if readers else 0.0


def rests(weights: np.ndarray, ids: list[int], first: int) -> list[float]:
    return [float(imp(weights, 0) > 0.3)]


def first_key(weights: np.ndarray, ids: list[int], first: int) -> list[float]:
    return [imp(weights, 0)]


def second_sink(weights: np.ndarray, ids: list[int], first: int) -> list[float]:
    return [
        float(any(imp(weights, k) > 0.3 for k in range(1, len(ids)) if (weights[:, k] > 0).sum() * 2 >= len(ids)))
    ]


NAIVE: dict[str, tuple[Cases, Callable[..., Any]]] = {
    "prefix_matching": (after_earlier, making.repeated),
    "duplicate": (earlier, making.repeated),
    "previous_random": (before, making.repeated),
    "previous_text": (before, making.natural),
    "own_text": (itself, making.natural),
    "duplicate_text": (earlier, making.natural),
    "induction_text": (after_earlier, making.natural),
    "sink": (rests, making.natural),
    "first_key": (first_key, making.natural),
    "second_sink": (second_sink, making.natural),
    "sink_bare": (rests, making.natural_without_beginning),
}


def corpus() -> Any:
    return as_corpus([Document.from_text(" ".join(twins.SENTENCES[:4] * 3), name=f"t{at}") for at in range(4)])


def causal(family: str) -> Subject:
    config = twins.config(family)
    torch.manual_seed(1)
    model = transformers.AutoModelForCausalLM.from_config(config).eval()
    twins.spread(model)
    return Subject.of(model, twins.tokenizer(True), family)


def eager_weights(subject: Subject, ids: tuple[int, ...]) -> list[np.ndarray]:
    """The library's own, of a copy that knows nothing of a seam."""
    model = subject.model
    fresh = type(model)(model.config.__class__.from_dict({**model.config.to_dict(), "dtype": "float32"}))
    fresh.load_state_dict(model.state_dict())
    fresh.set_attn_implementation("eager")
    with torch.no_grad():
        given = fresh.eval()(torch.tensor([ids]), output_attentions=True, use_cache=False).attentions
    return [layer[0].float().numpy() for layer in given]


def compare(subject: Subject, setting: making.Setting, keys: list[str]) -> None:
    for make in dict.fromkeys(NAIVE[key][1] for key in keys):
        asked = [DEFINITIONS[key] for key in keys if NAIVE[key][1] is make]
        texts = make(setting)
        study = SeamScores(subject, asked, setting)
        bundle = study.empty()
        study.update(bundle, texts)
        ours = scored(bundle, study.streams[0]).mean()
        weights = [eager_weights(subject, text.source.ids) for text in texts]
        for number, definition in enumerate(asked):
            cases = NAIVE[definition.key][0]
            for layer in range(ours.shape[0]):
                for head in range(ours.shape[1]):
                    found = [
                        case
                        for text, layers in zip(texts, weights, strict=True)
                        for case in cases(layers[layer][head], list(text.source.ids), text.source.roles.index(""))
                    ]
                    assert ours[layer, head, number] == pytest.approx(np.mean(found), abs=1e-5), (
                        definition.key, layer, head,
                    )  # fmt: skip


@pytest.mark.parametrize("family", ["llama", "gpt2", "gemma3", "qwen3"])
def test_scores_equal_a_loop_over_eager_weights(family: str) -> None:
    subject = causal(family)
    compare(subject, making.Setting(subject, corpus(), texts=3, max_pieces=48), list(NAIVE))


@pytest.mark.skipif(not SMOLLM2.exists(), reason="smollm2 is not in the cache")
def test_scores_of_a_real_model_equal_a_loop() -> None:
    subject = load(SMOLLM2, device="cpu")
    compare(subject, making.Setting(subject, as_corpus("sample"), texts=2), list(NAIVE))
