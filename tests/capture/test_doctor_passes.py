"""The doctor is lean: how many passes a whole model goes through, and of how many pieces, is counted."""

from __future__ import annotations

from typing import Any

import pytest
import torch
import transformers

import twins
from attlas.capture import Subject
from attlas.capture.asking import answers
from attlas.capture.check import TEXTS
from attlas.capture.patient import Patient


@pytest.mark.parametrize(("kind", "long", "most"), [("LlamaForCausalLM", 3, 19), ("BertModel", 3, 16)])
def test_few_passes_are_of_whole_texts(kind: str, long: int, most: int) -> None:
    """A plain pass, a watched one and an eager one; all others are of a few pieces, or of a pair of sentences, which
    is no longer than a text. There were 15 long ones in a decoder, and 13 in an encoder."""
    causal = kind.startswith("Llama")
    torch.manual_seed(0)
    model: Any = getattr(transformers, kind)(twins.config("llama" if causal else "bert"))
    subject = Subject.of(model, twins.tokenizer(causal), "tiny")
    lengths: list[int] = []
    counted = model.base_model if causal else model

    def note(module: Any, args: Any, given: dict[str, Any]) -> None:
        ids = given.get("input_ids", args[0] if args else None)
        lengths.append(ids.numel())

    with counted.register_forward_pre_hook(note, with_kwargs=True):
        findings = answers(Patient(subject))
    assert not [finding for finding in findings if finding.passed is False]
    whole = max(map(len, (subject.batch([text]).inputs["input_ids"][0] for text in TEXTS)))
    assert sum(length > whole for length in lengths) == long
    assert len(lengths) <= most
