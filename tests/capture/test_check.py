"""What a model must prove: rows that do not sum to one are seen; a twin that cannot be asked is no yes and no no."""

from __future__ import annotations

import pytest
import torch

import twins
from attlas.capture import Subject, examine, tiny
from attlas.capture.check import _sums_to_one
from attlas.ids import Stream
from attlas.models.depth import declared_layers


@pytest.mark.parametrize(
    ("family", "short", "long"),
    [("bert", False, False), ("gpt_oss", True, False)],  # sinks take a part of a row, and never add to it
)
def test_a_single_row_that_does_not_sum_to_one_is_seen(family: str, short: bool, long: bool) -> None:
    subject = Subject.of(twins.model(family), twins.tokenizer(family in twins.CAUSAL), family)
    even = torch.full((1, 2, 3, 4), 0.25)
    assert _sums_to_one(even, subject)
    for weight, passes in ((0.2, short), (0.3, long)):
        weights = even.clone()
        weights[0, 1, 2] = weight
        assert _sums_to_one(weights, subject) is passes


def test_a_twin_that_cannot_be_built_is_a_question_that_could_not_be_asked(monkeypatch: pytest.MonkeyPatch) -> None:
    subject = Subject.of(twins.model("bert"), twins.tokenizer(False), "bert")

    def refuse(model: object) -> object:
        raise ValueError("no such width")

    monkeypatch.setattr(tiny, "tiny", refuse)
    asked: list[str] = []
    findings = examine(subject, advance=asked.append)
    assert [finding.name for finding in findings if "twin" in finding.name] == [tiny.BUILT]
    assert findings[-1].passed is None
    assert findings[-1].note == "it cannot be built (ValueError: no such width)"
    assert len(asked) == len(tiny.QUESTIONS) + tiny.QUESTIONS_OF_TWIN


def test_all_questions_are_put_to_a_twin_whose_window_is_shorter_than_the_texts() -> None:
    model = twins.model("mistral")
    model.config.sliding_window = 4096
    found = tiny.twins_of(Subject.of(model, twins.tokenizer(True), "mistral"))
    assert found.model.config.sliding_window < len(found.tokenizer(tiny.TEXTS[0])["input_ids"])
    assert found.model.config._attn_implementation == "sdpa"


def test_layers_of_hybrids_are_counted_by_their_kinds() -> None:
    from transformers import JambaConfig

    hybrid = JambaConfig(num_hidden_layers=16, attn_layer_period=8, attn_layer_offset=4)
    assert declared_layers(hybrid, [Stream.DECODER]) == {Stream.DECODER: 2}
