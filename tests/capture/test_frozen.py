"""Frozen attention: it comes back from its file as it was, and fits no other model and no other text."""

from __future__ import annotations

from pathlib import Path

import pytest
import torch
import transformers

import twins
from attlas.capture import Override, Recorder, Subject
from attlas.capture.frozen import Frozen, freeze
from attlas.errors import CapabilityError, CorpusError, StoreError
from attlas.models import Example
from attlas.store.tensors import save_arrays
from attlas.text import Document, Passage


def subject(family: str = "bert") -> Subject:
    return Subject.of(twins.model(family), twins.tokenizer(family in twins.CAUSAL), family)


def examples(model: Subject, *texts: str) -> list[Example]:
    return model.pieces.encode_all([Passage(Document.from_text(text)) for text in texts or twins.SENTENCES[:3]])


@pytest.mark.parametrize("family", ["bert", "gpt2", "t5"])
def test_a_file_gives_back_what_was_frozen(family: str, tmp_path: Path) -> None:
    model = subject(family)
    texts = examples(model)
    kept = freeze(model, [*texts, texts[0]])
    kept.save(tmp_path / "own.safetensors")
    again = Frozen.load(tmp_path / "own.safetensors")
    assert (len(again), again.heads, again.model) == (3, kept.heads, family)
    recorder = Recorder()
    batch = model.pieces.batch(texts[::-1])
    with torch.no_grad(), model.use(recorder):
        model.run(batch)
    width = batch.inputs["input_ids"].shape[1]
    for site in again.sites:
        padded = again.padded(site, texts[::-1], width)
        for row, text in enumerate(texts[::-1]):
            own = recorder.get(site)[row, :, : text.length, : text.length]
            assert torch.allclose(padded[row, :, : text.length, : text.length], own, atol=1e-6)
            assert not padded[row, :, :, text.length :].any()


def test_only_the_sites_that_were_asked_for_are_frozen() -> None:
    model = subject()
    texts = examples(model)
    batch = model.pieces.batch(texts)
    kept = freeze(model.twin(5), texts, model.sites[-1:])
    plain, after = Recorder(), Recorder()
    with torch.no_grad():
        for recorder, instruments in (
            (plain, ()),
            (after, [kept.override(texts, batch.inputs["input_ids"].shape[1])]),
        ):
            with model.use(*instruments, recorder):
                model.run(batch)
    same = [torch.allclose(plain.get(site), after.get(site), atol=1e-6) for site in model.sites]
    assert same == [True, True, False]
    with pytest.raises(CapabilityError, match="no self-attention at encoder layer 9"):
        freeze(model, texts, [model.sites[0]._replace(layer=9)])


def test_a_run_of_ones_own_is_what_is_frozen() -> None:
    model = subject()
    texts = examples(model)

    def run(some: list[Example]) -> None:
        with model.use(Override.uniform()):
            model.run(model.pieces.batch(some))

    kept = freeze(model, texts, run=run)
    length = texts[0].length
    assert torch.allclose(kept.weights[model.sites[0]][0], torch.full((4, length, length), 1 / length))


def test_a_pass_holds_as_many_texts_as_the_budget_allows(monkeypatch: pytest.MonkeyPatch) -> None:
    """Short texts together, padding counted; one that is longer than the budget alone."""
    model = subject()
    texts = examples(model, "a b a b a b a b a b", "a", "b", "a b", "c")
    lengths = [text.source.length for text in texts]
    passes: list[list[int]] = []

    def run(some: list[Example]) -> None:
        passes.append([text.source.length for text in some])
        model.run(model.pieces.batch(some))

    monkeypatch.setattr("attlas.capture.frozen.BUDGET", 3 * min(lengths))
    kept = freeze(model, texts, run=run)
    short, middle, long = sorted(set(lengths))
    assert passes == [[short] * 3, [middle], [long]]
    assert [weights.shape[-1] for weights in kept.weights[model.sites[0]]] == lengths


def test_a_model_of_another_shape_is_refused(tmp_path: Path) -> None:
    small = subject()
    config = twins.config("bert")
    config.num_hidden_layers = 2
    other = Subject.of(transformers.AutoModel.from_config(config), twins.tokenizer(False), "smaller")
    kept = freeze(other, examples(other))
    kept.save(tmp_path / "two.safetensors")
    message = (
        r"two.safetensors: frozen attention of the wrong shape: smaller has 2 layers of 4 heads, and bert 3 layers"
    )
    with pytest.raises(CapabilityError, match=message):
        Frozen.load(tmp_path / "two.safetensors").require_fit(small)
    kept.require_fit(other)


def test_a_text_that_was_not_frozen_is_named(tmp_path: Path) -> None:
    model = subject()
    kept = freeze(model, examples(model))
    kept.require_texts(examples(model)[::-1])
    unseen = examples(model, "Nobody noticed the engineer near the old bridge.")
    for use in (kept.require_texts, lambda texts: kept.override(texts, 40)):
        with pytest.raises(
            CorpusError, match=r"text 'Nobody noticed the engineer near the \.\.\.' is not among the 3"
        ):
            use(unseen)


def test_what_is_no_such_file_is_refused(tmp_path: Path) -> None:
    (tmp_path / "text.safetensors").write_text("It rained.")
    save_arrays(tmp_path / "other.safetensors", {}, {"step": 3})
    save_arrays(tmp_path / "newer.safetensors", {}, {"kind": "frozen attention", "schema": 99})
    for name, said in (
        ("text", "not a file of frozen attention"),
        ("other", "not a file of frozen attention"),
        ("newer", "another version"),
        ("none", "no such file"),
    ):
        with pytest.raises(CorpusError, match=said):
            Frozen.load(tmp_path / f"{name}.safetensors")
    with pytest.raises(StoreError, match="cannot be written"):
        freeze(subject(), examples(subject())).save(tmp_path / "text.safetensors" / "x.safetensors")
