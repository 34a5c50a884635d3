"""Which task head a checkpoint really holds."""

from __future__ import annotations

from pathlib import Path

import pytest
import transformers

import twins
from attlas.capture import load
from attlas.errors import CapabilityError
from attlas.models import head_of, possible_heads


def saved(folder: Path, family: str, name: str, **changes: object) -> Path:
    config = twins.config(family)
    for key, value in changes.items():
        setattr(config, key, value)
    getattr(transformers, name)(config).save_pretrained(folder)
    twins.tokenizer(family in twins.CAUSAL).save_pretrained(folder)
    return folder


@pytest.mark.parametrize(
    ("family", "name", "head", "holds"),
    [
        ("bert", "BertForMaskedLM", "masked-lm", True),
        ("bert", "BertModel", "masked-lm", False),
        ("llama", "LlamaForCausalLM", "causal-lm", True),
        ("llama", "LlamaModel", "causal-lm", False),
        ("marian", "MarianMTModel", "seq2seq", True),
        ("bert", "BertForMaskedLM", "tagging", False),
    ],
)
def test_missing_weights_of_a_head_are_noticed(
    family: str, name: str, head: str, holds: bool, tmp_path: Path
) -> None:
    folder = saved(tmp_path / "model", family, name, tie_word_embeddings=family == "marian")
    subject = load(folder, task_head=head)
    assert (subject.missing == ()) is holds
    assert subject.task_head == (head if holds else None)
    assert head_of(subject.model) == head
    assert load(folder).task_head is None


def test_tied_weights_are_not_missing(tmp_path: Path) -> None:
    """A causal model may keep its head in its embeddings: its plain checkpoint has all that is needed."""
    folder = saved(tmp_path / "gpt2", "gpt2", "GPT2Model", tie_word_embeddings=True)
    assert load(folder, task_head="causal-lm").task_head == "causal-lm"


def test_the_head_a_checkpoint_was_saved_with_is_tried_first() -> None:
    config = twins.config("bert")
    assert possible_heads(config)[0] == "masked-lm"
    config.architectures = ["BertLMHeadModel"]
    assert possible_heads(config) == ("causal-lm", "masked-lm")
    assert possible_heads(twins.config("marian")) == ("seq2seq",)
    assert possible_heads(twins.config("llama")) == ("causal-lm",)


def test_a_head_that_reads_through_encoder_and_decoder_is_refused(tmp_path: Path) -> None:
    folder = saved(tmp_path / "model", "bart", "BartForSequenceClassification")
    with pytest.raises(CapabilityError, match="reads a text through both"):
        load(folder, task_head="classification")
