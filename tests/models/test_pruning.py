"""Heads taken out of the weights of every family: the same answers as behind closed gates, also when opened again."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import pytest
import torch
import transformers

import twins
from attlas.capture import Subject, examine, load
from attlas.capture.check import TARGETS, TEXTS, output_of
from attlas.capture.pruned import difference, groups, keeping
from attlas.errors import CapabilityError, ModelError
from attlas.ids import HeadId, Site, Stream
from attlas.models import loads_plainly

FAMILIES = tuple(family for family in twins.TWINS if family not in {"albert", "electra", "mistral"})
PATTERN = ([0, 1], [2, 3], [], [0, 1, 2, 3])  # whole groups of the grouped families; uneven; one layer without any


def subject_of(family: str) -> Subject:
    return Subject.of(twins.model(family), twins.tokenizer(family in twins.CAUSAL), family)


def uneven(subject: Subject) -> dict[Site, Sequence[int]]:
    return {site: PATTERN[place % len(PATTERN)] for place, site in enumerate(subject.sites)}


def closed(subject: Subject, kept: dict[Site, Sequence[int]]) -> list[HeadId]:
    return [
        HeadId(site.stream, site.layer, head)
        for site, heads in kept.items()
        for head in range(subject.heads(site))
        if head not in heads
    ]


def answers(subject: Subject, gone: Sequence[HeadId] = ()) -> torch.Tensor:
    """What a subject makes of a padded batch of texts, at real positions."""
    texts = list(zip(TEXTS, TARGETS, strict=True)) if subject.pieces.translating else list(TEXTS)
    batch = subject.batch(texts)
    side = batch.target or batch.source
    with torch.no_grad(), subject.gated(list(gone)):
        return output_of(subject.run(batch))[side.real]


def near(one: torch.Tensor, other: torch.Tensor) -> bool:
    return float((one - other).abs().max()) <= 1e-5 * float(other.abs().max())


@pytest.mark.parametrize("family", FAMILIES)
def test_pruned_equals_gated_and_is_the_same_when_opened_again(family: str, tmp_path: Path) -> None:
    subject = subject_of(family)
    kept = uneven(subject)
    gated = answers(subject, closed(subject, kept))
    assert not near(gated, answers(subject))
    smaller = keeping(subject, kept)
    ours = answers(smaller)
    assert near(ours, gated)
    width = 2 if family in {"llama", "qwen3", "gemma2", "gemma3", "gpt_oss"} else 1
    assert smaller.layout.heads == {site: len(heads) or width for site, heads in kept.items()}
    assert smaller.kept == {site: tuple(heads) for site, heads in kept.items()}
    assert near(answers(subject), answers(subject_of(family)))  # the whole one is untouched
    smaller.save(tmp_path)
    again = load(tmp_path)
    assert torch.equal(answers(again), ours)
    assert (again.kept, again.missing, type(again.model)) == (smaller.kept, (), type(subject.model))


@pytest.mark.parametrize("family", FAMILIES)
def test_matrices_are_smaller_by_what_was_cut(family: str) -> None:
    subject = subject_of(family)
    site = subject.sites[0]
    smaller = keeping(subject, {site: [2, 3]})
    before, after = (dict(each.model.named_parameters()) for each in (subject, smaller))
    changed = {name for name in before if before[name].shape != after[name].shape}
    lost = sum(before[name].numel() - after[name].numel() for name in changed)
    grouped = family in {"llama", "qwen3", "gemma2", "gemma3", "gpt_oss"}
    matrices = 32 * 16 * 2 + 32 * (8 if grouped else 16) * 2
    vectors = sum(before[name].numel() - after[name].numel() for name in changed if before[name].dim() == 1)
    assert lost - vectors == matrices
    assert smaller.describe()["parameters"] == subject.describe()["parameters"] - lost


@pytest.mark.parametrize("family", ["bert", "llama", "t5", "mpnet"])
def test_a_pruned_model_passes_the_examination_and_can_be_looked_at(family: str) -> None:
    subject = subject_of(family)
    smaller = keeping(subject, uneven(subject))
    assert not [finding for finding in examine(smaller) if finding.passed is False]
    capture = smaller.look((TEXTS[0], TARGETS[0]) if subject.pieces.translating else TEXTS[0])
    for stream, weights in capture.weights.items():
        sums = weights.sum(-1)
        for layer, count in enumerate(smaller.grid(stream).sum(1)):
            top = sums[layer, :count]
            assert torch.allclose(top, torch.ones_like(top), atol=1e-4)
            assert sums[layer, count:].isnan().all()
    assert len(capture.scene().strands) == len(subject.streams)


def test_a_pruned_model_can_be_pruned_again_gated_and_made_anew() -> None:
    subject = subject_of("bert")
    first = keeping(subject, {Site(Stream.ENCODER, 0): [1, 2, 3], Site(Stream.ENCODER, 2): []})
    second = keeping(first, {Site(Stream.ENCODER, 0): [0, 2], Site(Stream.ENCODER, 1): [3]})
    assert list(second.kept.values()) == [(1, 3), (3,), ()]
    assert near(answers(second), answers(subject, closed(subject, second.kept)))
    gone = HeadId(Stream.ENCODER, 0, 1)
    assert near(answers(second, [gone]), answers(second.pruned([gone])))
    twin = second.twin(3)
    assert (twin.layout.heads, twin.kept) == (second.layout.heads, second.kept)
    assert not near(answers(twin), answers(second))


@pytest.mark.parametrize("family", ["gpt2", "gpt_neox", "llama", "gpt_oss", "gpt_neo"])
def test_a_pruned_model_writes_as_the_gated_one_does(family: str) -> None:
    torch.manual_seed(1)
    model = transformers.AutoModelForCausalLM.from_config(twins.config(family))
    twins.spread(model)
    subject = Subject.of(model, twins.tokenizer(True), family)
    _compare_writing(subject, ["The farmer asked", "Nobody noticed what she was working on"])


@pytest.mark.parametrize("family", ["marian", "t5"])
def test_a_pruned_translator_writes_as_the_gated_one_does(family: str) -> None:
    torch.manual_seed(1)
    model = transformers.AutoModelForSeq2SeqLM.from_config(twins.config(family))
    twins.spread(model)
    subject = Subject.of(model, twins.tokenizer(False), family)
    _compare_writing(subject, [TEXTS[0], TEXTS[1]])


def _compare_writing(subject: Subject, texts: list[str]) -> None:
    kept = uneven(subject)
    smaller = keeping(subject, kept)
    batch = subject.batch(texts, pad_left=not subject.pieces.translating)
    settings = {"max_new_tokens": 8, "min_new_tokens": 8, "do_sample": False, "num_beams": 1, "use_cache": True}
    with subject.gated(closed(subject, kept)):
        expected = subject.model.generate(**batch.inputs, **settings)
    assert torch.equal(smaller.model.generate(**batch.inputs, **settings), expected)


def test_a_family_that_shares_its_layers_loses_heads_in_all_of_them_or_none() -> None:
    subject = subject_of("albert")
    with pytest.raises(CapabilityError, match="3 layers share one matrix"):
        subject.pruned(["2-1"])
    everywhere = ["1-1", "2-1", "3-1"]
    assert near(answers(subject.pruned(everywhere)), answers(subject, subject.named(everywhere)))


def test_half_a_group_is_refused() -> None:
    subject = subject_of("llama")
    assert groups(subject)[subject.sites[0]] == ((0, 1), (2, 3))
    with pytest.raises(CapabilityError, match=r"heads 0, 1 of decoder layer 1 share .* only whole groups"):
        subject.pruned(["2-1"])
    assert near(answers(subject.pruned(["2-1", "2-2"])), answers(subject, subject.named(["2-1", "2-2"])))


def test_heads_that_do_not_exist_are_refused() -> None:
    subject = subject_of("bert")
    with pytest.raises(CapabilityError, match="there is no head 4-1"):
        subject.pruned(["4-1"])
    with pytest.raises(CapabilityError, match="no head 4 at encoder layer 0"):
        keeping(subject, {Site(Stream.ENCODER, 0): [0, 4]})
    with pytest.raises(CapabilityError, match="has no encoder layer 3"):
        keeping(subject, {Site(Stream.ENCODER, 3): [0]})


def test_heads_that_are_mixed_before_they_are_told_apart_are_refused() -> None:
    config = transformers.Olmo2Config(**twins.TWINS["llama"][1], vocab_size=500, pad_token_id=0, eos_token_id=2)
    subject = Subject.of(transformers.Olmo2Model(config), twins.tokenizer(True), "a norm over all heads")
    with pytest.raises(CapabilityError, match="cannot be told apart in the weights"):
        keeping(subject, {subject.sites[0]: [0, 1]})


@pytest.mark.parametrize("family", ["llama", "mistral", "qwen3", "gemma2", "gemma3", "gpt_oss"])
def test_even_cuts_are_opened_by_the_plain_library(family: str, tmp_path: Path) -> None:
    subject = subject_of(family)
    kept = {site: PATTERN[place % 2] for place, site in enumerate(subject.sites)}
    smaller = keeping(subject, kept)
    assert loads_plainly(smaller.model.config)
    smaller.save(tmp_path)
    plain = transformers.AutoModel.from_pretrained(tmp_path, attn_implementation="eager")
    batch = subject.batch(list(TEXTS))
    with torch.no_grad():
        theirs = plain(**batch.inputs).last_hidden_state[batch.source.real]
    assert near(theirs, answers(smaller))
    assert (plain.config.num_attention_heads, plain.config.num_key_value_heads) == (2, 1)
    again = load(tmp_path)
    assert again.kept == {site: tuple(heads) for site, heads in kept.items()}
    silent = keeping(again, {subject.sites[1]: []})  # and back to what only we can open
    assert not loads_plainly(silent.model.config)
    silent.save(tmp_path / "silent")
    assert torch.equal(answers(load(tmp_path / "silent")), answers(silent))


@pytest.mark.parametrize("family", ["bert", "gpt2", "marian", "t5"])
def test_families_that_cannot_say_it_plainly_do_not(family: str) -> None:
    subject = subject_of(family)
    assert not loads_plainly(keeping(subject, {site: [0, 1] for site in subject.sites}).model.config)


def test_a_pruned_folder_is_opened_with_a_task_head_and_in_another_format(tmp_path: Path) -> None:
    subject = subject_of("bert")
    keeping(subject, uneven(subject)).save(tmp_path)
    tagging = load(tmp_path, task_head="tagging", dtype="float64")
    assert {name.partition(".")[0] for name in tagging.missing} == {"classifier"}
    assert tagging.model.dtype == torch.float64
    assert list(tagging.layout.heads.values()) == [2, 2, 1]
    tagging.save(tmp_path / "tagger")
    assert load(tmp_path / "tagger", task_head="tagging").missing == ()


def test_a_record_that_does_not_fit_is_refused(tmp_path: Path) -> None:
    subject = subject_of("bert")
    keeping(subject, uneven(subject)).save(tmp_path)
    config = transformers.AutoConfig.from_pretrained(tmp_path)
    for record, message in (
        ({"kept": {"encoder": [[0]]}, "plain": False}, "does not fit the layers"),
        ({"plain": False}, "cannot be read"),
        ({"kept": {"encoder": [[0], [9], [1]]}, "whole": {}, "plain": False}, "no head 9"),
    ):
        config.attlas_pruned = record
        config.save_pretrained(tmp_path)
        with pytest.raises(ModelError, match=message):
            load(tmp_path)


def test_the_difference_is_measured() -> None:
    subject = subject_of("bert")
    kept = {subject.sites[0]: [0, 1]}
    smaller = keeping(subject, kept)
    ids = torch.tensor([[5, 6, 7, 8]])
    inputs = {"input_ids": ids, "attention_mask": torch.ones_like(ids)}
    assert difference(subject, smaller, kept, inputs) < 1e-5
    assert difference(subject, smaller, {subject.sites[0]: [0, 2]}, inputs) > 1e-3
