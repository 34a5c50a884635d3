"""Layers that are streamed: the same numbers as in memory, one layer of weights at a time, each read once for a block
of texts; the untrained twin to the same bits; and what cannot be is refused in a sentence."""

from __future__ import annotations

import copy
import pickle
import shutil
from collections import Counter
from collections.abc import Callable
from functools import partial
from pathlib import Path
from threading import Thread
from typing import Any

import numpy as np
import pytest
import torch
import transformers
from safetensors.torch import load_file, save_file

import twins
from attlas.capture import Fold, Subject, load
from attlas.capture.mixing import mixing
from attlas.errors import AttlasError, CapabilityError, ModelError, NumberError
from attlas.models import streamed_in, take_turns
from attlas.models.drawing import draw_in_layers
from attlas.models.presence import at_hand
from attlas.models.streaming import StreamedWeights
from attlas.run.blocks import InBlocks
from attlas.run.fold import fold
from attlas.store import Result
from attlas.studies.importance.call import importance
from attlas.studies.norms.call import norms
from attlas.studies.norms.passes import Norms
from attlas.studies.relations.call import relations
from attlas.studies.survey.call import survey
from attlas.text import Document, Passage

LAYERS = 4
SIZES: dict[str, Any] = {
    "hidden_size": 32, "num_hidden_layers": LAYERS, "num_attention_heads": 4, "num_key_value_heads": 2,
    "intermediate_size": 48, "vocab_size": len(twins.tokenizer(True)), "max_position_embeddings": 128,
}  # fmt: skip
READING: dict[str, Any] = {"limit": 12, "budget": 64}


def saved(model: Any, folder: Path, *, shard: str = "20KB") -> Path:
    model.save_pretrained(folder, max_shard_size=shard)
    twins.tokenizer(True).save_pretrained(folder)
    return folder


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A small Llama in several files."""
    torch.manual_seed(0)
    model = transformers.LlamaForCausalLM(transformers.LlamaConfig(**SIZES)).eval()
    twins.spread(model)
    written = saved(model, tmp_path_factory.mktemp("llama"))
    assert len(list(written.glob("*.safetensors"))) > 2
    return written


@pytest.fixture(scope="module")
def whole(folder: Path) -> Subject:
    return load(folder)


@pytest.fixture(scope="module")
def streamed(folder: Path) -> Subject:
    return load(folder, stream_layers=True, block=200)


def weights_of(subject: Subject) -> StreamedWeights:
    weights = streamed_in(subject.model)
    assert weights is not None
    return weights


def same(one: Result, other: Result) -> None:
    """Two results with the same tables, number by number."""
    assert list(one.tables) == list(other.tables)
    for name, table in one.tables.items():
        for column in table.column_names:
            mine, theirs = (each[column].to_pylist() for each in (table, other.tables[name]))
            if isinstance(mine[0], float):
                np.testing.assert_allclose(np.array(mine, float), np.array(theirs, float), rtol=0, atol=1e-6)
            else:
                assert mine == theirs


def test_a_survey_reads_each_layer_once_for_a_block_of_texts(
    whole: Subject, streamed: Subject, monkeypatch: pytest.MonkeyPatch
) -> None:
    weights, brought = weights_of(streamed), Counter[str]()
    bring = weights._bring

    def counted(place: str) -> None:
        inside = [p for block in weights.blocks.values() for p in block.parameters()]
        assert all(parameter.is_meta for parameter in inside), "the layer before is still there"
        bring(place)
        present = [place for place, block in weights.blocks.items() if not next(block.parameters()).is_meta]
        assert present == [place]
        brought.update([place])

    monkeypatch.setattr(weights, "_bring", counted)
    same(survey(whole, "sample", **READING), survey(streamed, "sample", **READING))
    assert set(brought) == set(weights.blocks)
    assert len(set(brought.values())) == 1
    blocks, batches = brought["model.layers.0"], 12
    assert 3 <= blocks < batches, "several blocks, and several batches in each"
    assert weights.resident == ()


def test_other_studies_of_one_pass(whole: Subject, streamed: Subject) -> None:
    few: dict[str, Any] = {"limit": 4, "budget": 64}
    same(norms(whole, "sample", **few), norms(streamed, "sample", **few))
    same(relations(whole, "sample", twins=1, **few), relations(streamed, "sample", twins=1, **few))

    def entropy(call: Any, batch: Any) -> Any:
        return torch.special.entr(call.weights()).sum(-1).mean(-1)

    same(fold(whole, "sample", entropy, **few), fold(streamed, "sample", entropy, **few))


def test_who_has_not_looked_for_residuals_finds_them_in_the_middle_of_a_block(
    whole: Subject, streamed: Subject
) -> None:
    """As on a worker, which opens the model itself: the first batch looks, and the others wait for what it finds."""
    arrived: Subject = pickle.loads(pickle.dumps(streamed))
    assert "_looked_for_residuals" not in vars(arrived)
    seen: list[list[tuple[int, ...]]] = [[], [], []]

    def read(number: int) -> None:
        watched = Fold(lambda call: seen[number].append(tuple(call.values.shape)))
        with torch.no_grad(), arrived.use(watched), mixing(arrived, lambda layer: None):
            arrived.run(arrived.batch(["The farmer slept."]))

    waiting = Thread(target=take_turns, args=([partial(read, number) for number in range(3)],), daemon=True)
    waiting.start()
    waiting.join(60)
    assert not waiting.is_alive(), "the batches of a block wait for each other"
    assert [str(site) for site in arrived.residuals] == [str(site) for site in whole.residuals]
    assert len(seen[0]) == LAYERS, "who looks for residuals makes a pass that nobody else sees"
    assert seen[0] == seen[1] == seen[2]
    assert weights_of(arrived).resident == ()


def test_looking_gating_and_norms(whole: Subject, streamed: Subject) -> None:
    assert whole.fingerprint == streamed.fingerprint
    assert whole.describe() == streamed.describe()
    one, other = (each.look("The farmer slept.", joint="residual") for each in (whole, streamed))
    for stream, weights in one.weights.items():
        assert torch.equal(weights, other.weights[stream])
        assert torch.equal(one.norms[stream], other.norms[stream])
        assert torch.equal(one.joint("residual")[stream], other.joint("residual")[stream])
    outputs = []
    for subject in (whole, streamed):
        with torch.no_grad(), subject.gated(["1-2", "4-1"]):
            outputs.append(subject.run(subject.batch(["The farmer slept.", "Nobody noticed."])).logits)
    assert torch.equal(*outputs)
    for site in whole.sites:
        assert torch.equal(whole.output_matrix(site), streamed.output_matrix(site))
    assert weights_of(streamed).resident == ()


FAMILIES: dict[str, Callable[[], Any]] = {
    "gpt2, whose weights are drawn by names": lambda: twins.model("gpt2"),
    "tied embeddings, bfloat16": lambda: transformers.LlamaForCausalLM(
        transformers.LlamaConfig(**SIZES, tie_word_embeddings=True)
    ).to(torch.bfloat16),
    "experts, merged when they are read": lambda: transformers.MixtralForCausalLM(
        transformers.MixtralConfig(**SIZES, num_local_experts=3)
    ),
    "one module for all layers": lambda: twins.model("albert"),
}


@pytest.mark.parametrize("family", FAMILIES)
def test_families_and_their_twins(family: str, tmp_path: Path) -> None:
    torch.manual_seed(1)
    model = FAMILIES[family]()
    model.save_pretrained(tmp_path)
    twins.tokenizer(model.config.model_type in ("gpt2", "llama", "mixtral")).save_pretrained(tmp_path)
    dtype = model.dtype
    one, other = load(tmp_path, dtype=dtype), load(tmp_path, dtype=dtype, stream_layers=True, block=200)
    assert one.fingerprint == other.fingerprint
    text = "The farmer asked the designer."
    for mine, theirs in ((one, other), (one.twin(5), other.twin(5))):
        seen, known = theirs.look(text), mine.look(text)
        for stream, weights in known.weights.items():
            assert torch.equal(seen.weights[stream], weights)
    assert one.twin(5).fingerprint == other.twin(5).fingerprint != other.twin(6).fingerprint


def test_what_goes_to_another_process_is_how_to_open_it(streamed: Subject) -> None:
    for subject in (streamed, streamed.twin(2)):
        packed = pickle.dumps(subject)
        assert len(packed) < 2000
        again = pickle.loads(packed)
        assert again is not subject
        assert (again.name, again.fingerprint, again.block) == (subject.name, subject.fingerprint, subject.block)


def test_what_one_pass_of_a_block_finds_out_for_all_holds_up_none(whole: Subject, streamed: Subject) -> None:
    passages = [Passage(Document.from_text(text)) for text in twins.SENTENCES]
    batches = [[example] for example in whole.pieces.encode_all(passages)]
    here, there = Norms(whole), pickle.loads(pickle.dumps(Norms(streamed)))  # which has not looked for residuals yet
    assert "_looked_for_residuals" not in vars(there.subject)
    told, asked = here.empty(), there.empty()
    for batch in batches:
        here.update(told, batch)
    work = Thread(target=InBlocks(there).update, args=(asked, batches), daemon=True)
    work.start()
    work.join(60)
    assert not work.is_alive(), "passes wait for each other"
    assert weights_of(there.subject).resident == ()
    for key, array in told.state().items():
        if array.dtype.kind == "f":
            np.testing.assert_allclose(asked.state()[key], array, rtol=1e-6, atol=1e-9, err_msg=key)


def test_weights_that_somebody_holds_are_not_written_over(whole: Subject, streamed: Subject) -> None:
    with at_hand(streamed.layout.projections[streamed.sites[0]]):
        held = streamed.layout.projections[streamed.sites[0]].weight  # a person may keep it
    for _ in range(2):
        streamed.look("The farmer slept.")
    assert torch.equal(held, whole.layout.projections[whole.sites[0]].weight)  # type: ignore[arg-type]


def test_every_weight_of_the_twin_is_that_of_the_model_made_in_one_go() -> None:
    config = transformers.LlamaConfig(**SIZES)
    torch.manual_seed(3)
    whole = transformers.LlamaForCausalLM(copy.deepcopy(config))
    torch.rand(7)  # whatever else is drawn does not matter
    drawn = draw_in_layers("tiny", transformers.LlamaForCausalLM, config, 3, torch.float32)
    known = dict(whole.named_parameters())
    places = [place for place, module in drawn.named_modules() if module._parameters]
    for place in reversed(places):  # in any order
        module = drawn.get_submodule(place)
        with at_hand(module, recurse=False):
            for key, weight in module.named_parameters(recurse=False):
                assert torch.equal(weight, known[f"{place}.{key}"])


def test_weights_that_are_written_outside_their_layer_are_refused() -> None:
    class Rescaled(transformers.LlamaModel):
        def _init_weights(self, module: Any) -> None:
            super()._init_weights(module)
            if module is self:
                self.layers[0].mlp.up_proj.weight.data.mul_(2)

    Rescaled.__module__ = transformers.LlamaModel.__module__  # else it is code of its own, which the library handles
    with pytest.raises(CapabilityError, match="not drawn layer by layer"):
        draw_in_layers("odd", Rescaled, transformers.LlamaConfig(**SIZES), 0, torch.float32)


def test_what_needs_more_than_one_pass_forward_is_refused(streamed: Subject, tmp_path: Path) -> None:
    for ask in (
        lambda: importance(streamed, "sample", task="causal-lm", limit=2),
        lambda: streamed.look_generating("The farmer"),
        lambda: streamed.pruned(["1-1"]),
        lambda: copy.deepcopy(streamed),
        lambda: streamed.save(tmp_path / "copy"),
    ):
        with pytest.raises(CapabilityError, match=r"its layers are streamed.* open it without --stream-layers"):
            ask()
    gates = {site: torch.ones(4, requires_grad=True) for site in streamed.sites}
    from attlas.capture import Gates

    with pytest.raises(CapabilityError, match="gone when gradients would go back"), streamed.use(Gates(gates)):
        streamed.run(streamed.batch(["The farmer slept."]))
    assert weights_of(streamed).resident == ()


def test_an_error_in_a_batch_ends_the_block(streamed: Subject) -> None:
    def picky(call: Any, batch: Any) -> Any:
        if call.site.layer == 2 and call.shape[0] == 1:
            raise LookupError("a batch of one")
        return call.weights()[:, :, 0, 0]

    with pytest.raises(LookupError, match="a batch of one"):
        fold(streamed, "sample", picky, limit=12, budget=64)
    assert weights_of(streamed).resident == ()
    assert streamed.look("The farmer slept.").weights


def test_what_cannot_be_streamed_is_refused(folder: Path, tmp_path: Path) -> None:
    copied = shutil.copytree(folder, tmp_path / "pickled")
    for file in copied.glob("*.safetensors*"):
        file.unlink()
    torch.save({}, copied / "pytorch_model.bin")
    twins.model("bart").save_pretrained(tmp_path / "bart")
    twins.tokenizer(False).save_pretrained(tmp_path / "bart")
    for name, said in ((copied, "has no safetensors weights"), (tmp_path / "bart", "has an encoder and a decoder")):
        with pytest.raises(AttlasError, match=said) as refused:
            load(name, stream_layers=True)
        assert "\n" not in str(refused.value)
    with pytest.raises(CapabilityError, match="--stream-layers and --device-map do not go together"):
        load(folder, stream_layers=True, device_map="auto")


@pytest.mark.parametrize("damage", ["missing", "nan"])
def test_damage_is_seen_when_a_layer_is_read(damage: str, tmp_path: Path) -> None:
    model = transformers.LlamaForCausalLM(transformers.LlamaConfig(**SIZES))
    saved(model, tmp_path, shard="10GB")
    tensors = load_file(tmp_path / "model.safetensors")
    name = "model.layers.2.self_attn.o_proj.weight"
    if damage == "nan":
        tensors[name][3, 3] = float("nan")
    else:
        del tensors[name]
    save_file(tensors, tmp_path / "model.safetensors", {"format": "pt"})
    kind = NumberError if damage == "nan" else ModelError
    with pytest.raises(kind, match=r"layers\.2\.self_attn\.o_proj\.weight"):
        load(tmp_path, stream_layers=True)
