"""Which task head a checkpoint really holds."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
import torch
import transformers

import twins
from attlas.capture import load
from attlas.errors import CapabilityError
from attlas.ids import Stream
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
    assert load(folder).task_head == ("causal-lm" if name == "LlamaForCausalLM" else None)
    assert load(folder, task_head="none").task_head is None


def test_tied_weights_are_not_missing(tmp_path: Path) -> None:
    """A causal model may keep its head in its embeddings: its plain checkpoint has all that is needed."""
    folder = saved(tmp_path / "gpt2", "gpt2", "GPT2Model", tie_word_embeddings=True)
    assert load(folder, task_head="causal-lm").task_head == "causal-lm"


@pytest.mark.parametrize(
    ("family", "name", "tied", "head"),
    [
        ("llama", "LlamaForCausalLM", False, "causal-lm"),
        ("gemma3", "Gemma3ForCausalLM", True, "causal-lm"),
        ("llama", "LlamaModel", False, None),  # whose head would be random
        ("bert", "BertForMaskedLM", True, None),  # which nobody asks for
    ],
)
def test_a_decoder_that_does_not_say_what_it_was_saved_from_has_the_head_that_it_holds(
    family: str, name: str, tied: bool, head: str | None, tmp_path: Path
) -> None:
    folder = saved(tmp_path / "model", family, name, tie_word_embeddings=tied)
    config = json.loads((folder / "config.json").read_text())
    del config["architectures"]
    (folder / "config.json").write_text(json.dumps(config))
    assert load(folder).task_head == head
    assert load(folder, task_head="none").task_head is None


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


@pytest.mark.parametrize(("family", "name"), [("gpt2", "GPT2LMHeadModel"), ("llama", "LlamaForCausalLM")])
def test_a_decoder_is_opened_with_its_language_model_head(family: str, name: str, tmp_path: Path) -> None:
    subject = load(saved(tmp_path, family, name))
    plain = load(tmp_path, task_head="none")
    assert (subject.task_head, plain.task_head) == ("causal-lm", None)
    captured = subject.look_generating("The farmer", max_new_pieces=4)
    assert captured.weights[Stream.DECODER].shape[:2] == (3, 4)
    with pytest.raises(CapabilityError, match="without a head that writes; load it with task_head='causal-lm'"):
        plain.look_generating("The farmer")


@pytest.mark.parametrize("family", sorted(twins.CAUSAL))
def test_its_head_changes_nothing_of_what_a_decoder_shows(family: str, tmp_path: Path) -> None:
    """Attention, states and the untrained twin are those of the plain model, to the last bit."""
    name = type(transformers.AutoModelForCausalLM.from_config(twins.config(family))).__name__
    subject = load(saved(tmp_path, family, name))
    plain = load(tmp_path, task_head="none")
    assert subject.task_head == "causal-lm"
    for ours, theirs in ((subject, plain), (subject.twin(3), plain.twin(3))):
        for text in twins.SENTENCES[:2]:
            one, other = (s.look(text, hidden_states=True) for s in (ours, theirs))
            assert torch.equal(one.weights[Stream.DECODER], other.weights[Stream.DECODER])
            assert torch.equal(one.hidden_states[Stream.DECODER], other.hidden_states[Stream.DECODER])
        batch = ours.batch(twins.SENTENCES)
        with torch.no_grad():
            states = [s.read(batch).last_hidden_state for s in (ours, theirs)]
            whole = ours.run(batch, output_hidden_states=True)
        assert torch.equal(*states)
        assert torch.equal(whole.hidden_states[-1], states[0])
        assert whole.logits.shape[-1] == ours.model.config.vocab_size


def test_an_encoder_saved_with_a_causal_head_is_opened_plainly(tmp_path: Path) -> None:
    assert load(saved(tmp_path / "encoder", "bert", "BertLMHeadModel")).task_head is None
    assert load(saved(tmp_path / "decoder", "bert", "BertLMHeadModel", is_decoder=True)).task_head == "causal-lm"


def test_a_head_that_its_checkpoint_only_claims_is_left_out(tmp_path: Path) -> None:
    folder = saved(tmp_path, "llama", "LlamaModel", tie_word_embeddings=False)
    config = json.loads((folder / "config.json").read_text())
    (folder / "config.json").write_text(json.dumps(config | {"architectures": ["LlamaForCausalLM"]}))
    subject = load(folder)
    assert (subject.task_head, subject.missing) == (None, ())
    with pytest.raises(CapabilityError, match=r"cannot write: its checkpoint does not hold .*lm_head.weight"):
        load(folder, task_head="causal-lm").look_generating("The farmer")
