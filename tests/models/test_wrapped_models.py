"""Adapters, packed weights, weights on disk, compiled models: exact, or refused by name; and never changed."""

from __future__ import annotations

import copy
from pathlib import Path
from typing import Any

import pytest
import torch
import transformers

import twins
from attlas.capture import Subject, examine, load
from attlas.capture.instruments import Recorder
from attlas.errors import CapabilityError, ModelError

IDS = torch.tensor([[5, 6, 7, 8, 9, 10, 11, 12]])


def causal(**sizes: Any) -> transformers.PreTrainedModel:
    """A small Llama, whose matrices are large enough to be packed."""
    torch.manual_seed(0)
    settings = {"hidden_size": 64, "num_hidden_layers": 2, "num_attention_heads": 4, "intermediate_size": 128}
    known = {"vocab_size": len(twins.tokenizer(True)), "max_position_embeddings": 128, "head_dim": 16, **sizes}
    made = transformers.LlamaForCausalLM(transformers.LlamaConfig(**settings, **known)).eval()
    twins.spread(made)
    return made


def logits(model: Any) -> torch.Tensor:
    with torch.no_grad():
        found: torch.Tensor = model(IDS).logits
    return found


def test_the_matrix_of_a_layer_with_an_adapter_is_both_together() -> None:
    peft = pytest.importorskip("peft", reason="peft is not installed")
    adapter = peft.LoraConfig(target_modules=["o_proj", "q_proj"], r=4, init_lora_weights=False)
    model = peft.get_peft_model(causal(), adapter).eval()
    plain = logits(model)
    subject = Subject.of(model, twins.tokenizer(True), "with adapters")
    assert torch.equal(logits(model), plain)
    assert subject.has_norms
    merged = copy.deepcopy(model).merge_and_unload()
    for site, layer in zip(subject.sites, merged.model.layers, strict=True):
        whole = layer.self_attn.o_proj.weight.T.reshape(4, 16, 64)
        assert torch.allclose(subject.output_matrix(site), whole, atol=1e-5)
        base = model.get_base_model().model.layers[site.layer].self_attn.o_proj.base_layer.weight
        assert (whole.reshape(64, 64) - base.T).abs().max() > 0.01, "the adapter does something"
    assert not [finding for finding in examine(subject) if finding.passed is False]
    assert type(subject.twin().model) is transformers.LlamaForCausalLM


def saved_with_adapter(folder: Path, *, prompts: bool = False) -> Any:
    """A folder with a base model and one with its adapter; the model with the adapter on."""
    peft = pytest.importorskip("peft", reason="peft is not installed")
    causal().save_pretrained(folder / "base")
    twins.tokenizer(True).save_pretrained(folder / "base")
    base = transformers.AutoModelForCausalLM.from_pretrained(folder / "base")
    matrices = peft.LoraConfig(
        target_modules=["o_proj", "v_proj"], r=4, init_lora_weights=False, task_type="CAUSAL_LM"
    )
    learned = peft.PromptTuningConfig(task_type="CAUSAL_LM", num_virtual_tokens=3)
    model = peft.get_peft_model(base, learned if prompts else matrices).eval()
    model.save_pretrained(folder / "adapter")
    return model


def test_an_adapter_folder_opens_with_its_base(tmp_path: Path) -> None:
    model = saved_with_adapter(tmp_path)
    subject = load(tmp_path / "adapter")
    assert torch.equal(logits(subject.model), logits(model))
    assert (logits(subject.model) - logits(load(tmp_path / "base").model)).abs().max() > 0.01
    merged = copy.deepcopy(model).merge_and_unload().model.layers[1].self_attn.o_proj.weight
    assert torch.allclose(subject.output_matrix(subject.sites[1]), merged.T.reshape(4, 16, 64), atol=1e-5)
    assert subject.fingerprint != load(tmp_path / "base").fingerprint
    assert subject.look_generating("The farmer", max_new_pieces=2).weights


def test_an_adapter_that_cannot_be_opened_says_why(tmp_path: Path) -> None:
    saved_with_adapter(tmp_path)
    config = tmp_path / "adapter" / "adapter_config.json"
    said = config.read_text()
    config.write_text(said.replace(str(tmp_path / "base"), "no/such-base"))
    with pytest.raises(ModelError, match="is an adapter of 'no/such-base', which cannot be opened: no model"):
        load(tmp_path / "adapter")
    config.write_text(said[:40])
    with pytest.raises(ModelError, match=r"adapter_config.json is damaged"):
        load(tmp_path / "adapter")
    config.write_text(said)
    (tmp_path / "adapter" / "adapter_model.safetensors").rename(tmp_path / "adapter" / "adapter_model.bin")
    with pytest.raises(ModelError, match="no safetensors weights"):
        load(tmp_path / "adapter")
    saved_with_adapter(tmp_path / "prompted", prompts=True)
    with pytest.raises(CapabilityError, match="has learned prompts"):
        load(tmp_path / "prompted" / "adapter")


def test_learned_prompts_are_refused() -> None:
    peft = pytest.importorskip("peft", reason="peft is not installed")
    prompts = peft.PromptTuningConfig(task_type="CAUSAL_LM", num_virtual_tokens=3)
    model = peft.get_peft_model(causal(), prompts)
    with pytest.raises(CapabilityError, match="learned prompts"):
        Subject.of(model, twins.tokenizer(True), "prompted")


@pytest.mark.parametrize("bits", ["load_in_4bit", "load_in_8bit"])
def test_packed_weights_are_left_as_they_are(bits: str, tmp_path: Path) -> None:
    pytest.importorskip("bitsandbytes", reason="bitsandbytes is not installed")
    causal().save_pretrained(tmp_path)
    packed = transformers.BitsAndBytesConfig(**{bits: True})
    model = transformers.AutoModelForCausalLM.from_pretrained(tmp_path, quantization_config=packed).eval()
    plain = logits(model)
    subject = Subject.of(model, twins.tokenizer(True), "packed")
    assert torch.equal(logits(model), plain)
    with subject.use(Recorder()):
        assert torch.allclose(logits(model), plain, atol=0.05 * float(plain.abs().max()))
    assert subject.twin().name == "untrained packed"


def test_weights_packed_by_torchao_are_left_as_they_are() -> None:
    packing = pytest.importorskip("torchao.quantization", reason="torchao is not installed")
    whole, model = causal(), causal()
    packing.quantize_(model, packing.Int8WeightOnlyConfig())
    plain = logits(model)
    assert (plain - logits(whole)).abs().max() > 1e-3, "it is packed"
    subject = Subject.of(model, twins.tokenizer(True), "packed")
    assert torch.equal(logits(model), plain)
    unpacked = model.model.layers[1].self_attn.o_proj.weight.dequantize()  # type: ignore[operator,union-attr]
    assert torch.allclose(subject.output_matrix(subject.sites[1]), unpacked.T.reshape(4, 16, 64), atol=1e-5)
    assert not [finding for finding in examine(subject) if finding.passed is False]


def test_weights_on_disk_are_fetched(tmp_path: Path) -> None:
    accelerate = pytest.importorskip("accelerate", reason="accelerate is not installed")
    model = causal()
    plain, whole = logits(model), Subject.of(copy.deepcopy(model), twins.tokenizer(True)).look("The farmer slept.")
    accelerate.disk_offload(model, tmp_path, execution_device=torch.device("cpu"))
    subject = Subject.of(model, twins.tokenizer(True), "on disk")
    assert torch.equal(logits(model), plain)
    capture = subject.look("The farmer slept.")
    for stream, weights in whole.weights.items():
        assert torch.allclose(capture.weights[stream], weights, atol=1e-6)
        assert torch.allclose(capture.norms[stream], whole.norms[stream], atol=1e-5)


def test_a_compiled_model_is_refused_before_and_after() -> None:
    model = causal()
    with pytest.raises(CapabilityError, match="is compiled"):
        Subject.of(torch.compile(model), twins.tokenizer(True), "compiled")  # type: ignore[arg-type]
    subject = Subject.of(model, twins.tokenizer(True), "later")
    model.compile()
    with pytest.raises(CapabilityError, match="was compiled since"), subject.use(Recorder()):
        pass
