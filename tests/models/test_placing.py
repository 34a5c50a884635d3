"""Weights on the host and on disk, in few bits, with an adapter, out of a gguf file: the plain model's numbers, or
those of the packed weights; and what cannot be is refused in a sentence, before any weights are read."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
import torch
import transformers

import twins
from attlas.capture import Subject, examine, load
from attlas.errors import AttlasError, CapabilityError
from attlas.studies.ablate.call import ablate
from attlas.studies.survey.call import survey

SPREAD = {
    "model.embed_tokens": "cpu", "model.rotary_emb": "cpu", "model.layers.0": "cpu", "model.layers.1": "disk",
    "model.norm": "disk", "lm_head": "disk",
}  # fmt: skip
TEXT = "The farmer offered apples."


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A small Llama, whose matrices are large enough to be packed."""
    torch.manual_seed(0)
    sizes: dict[str, Any] = {
        "hidden_size": 64, "num_hidden_layers": 2, "num_attention_heads": 4, "intermediate_size": 128,
        "vocab_size": len(twins.tokenizer(True)), "max_position_embeddings": 128,
    }  # fmt: skip
    model = transformers.LlamaForCausalLM(transformers.LlamaConfig(**sizes)).eval()
    twins.spread(model)
    written = tmp_path_factory.mktemp("llama")
    model.save_pretrained(written)
    twins.tokenizer(True).save_pretrained(written)
    return written


@pytest.fixture(scope="module")
def plain(folder: Path) -> Subject:
    return load(folder)


@pytest.fixture(scope="module")
def spread(folder: Path, tmp_path_factory: pytest.TempPathFactory) -> Subject:
    pytest.importorskip("accelerate", reason="accelerate is not installed")
    mapped = tmp_path_factory.mktemp("map") / "map.json"
    mapped.write_text(json.dumps(SPREAD))
    return load(folder, device_map=mapped, offload=tmp_path_factory.mktemp("offload"))


def test_host_and_disk_give_what_the_plain_model_gives(plain: Subject, spread: Subject) -> None:
    elsewhere = [name for name, weight in spread.model.named_parameters() if weight.is_meta]
    assert "model.layers.1.self_attn.o_proj.weight" in elsewhere
    assert spread.fingerprint == plain.fingerprint
    assert spread.describe() == plain.describe()
    one, other = (subject.look(TEXT, joint="residual") for subject in (plain, spread))
    for stream, weights in one.weights.items():
        assert torch.equal(weights, other.weights[stream])
        assert torch.equal(one.norms[stream], other.norms[stream])
        assert torch.equal(one.joint("residual")[stream], other.joint("residual")[stream])
    for site in plain.sites:
        assert torch.equal(plain.output_matrix(site), spread.output_matrix(site))
    outputs = []
    for subject in (plain, spread):
        with torch.no_grad(), subject.gated(["1-2", "2-3"]):
            outputs.append(subject.run(subject.batch([TEXT])).logits)
    assert torch.equal(*outputs)
    assert plain.twin(4).fingerprint == spread.twin(4).fingerprint


def test_studies_and_the_doctor_over_host_and_disk(plain: Subject, spread: Subject) -> None:
    for study, more in ((survey, {}), (ablate, {"task": "causal-lm"})):  # the second replays layers from a cut
        one, other = (study(subject, "sample", limit=2, **more) for subject in (plain, spread))
        assert one.table.equals(other.table)
    assert not [finding for finding in examine(spread) if finding.passed is False]


def test_weights_in_eight_bits_by_a_flag(folder: Path, plain: Subject) -> None:
    pytest.importorskip("bitsandbytes", reason="bitsandbytes is not installed")
    packed = load(folder, quantize="8bit")
    projection = packed.layout.projections[packed.sites[1]]
    assert type(projection).__name__ == "Linear8bitLt"
    state: Any = projection.state
    unpacked = state.CB.float() * state.SCB[:, None] / 127
    found = packed.output_matrix(packed.sites[1]).detach()
    assert torch.allclose(found.reshape(64, 64), unpacked.T, atol=0.01 * float(unpacked.abs().max()))
    assert packed.fingerprint == load(folder, quantize="8bit").fingerprint != plain.fingerprint
    assert not [finding for finding in examine(packed) if finding.passed is False]


def test_four_bits_have_no_gradient_on_a_processor(folder: Path) -> None:
    pytest.importorskip("bitsandbytes", reason="bitsandbytes is not installed")
    packed = load(folder, quantize="4bit")
    assert packed.look(TEXT).norms
    if packed.device.type == "cpu":
        with pytest.raises(CapabilityError, match="no gradients go back through weights in 4 bits on a CPU"):
            packed.require_gradients()
        answers = {finding.name: finding.passed for finding in examine(packed)}
        assert answers["gates get a gradient"] is None
        assert False not in answers.values()


def test_an_adapter_by_a_flag(folder: Path, plain: Subject, tmp_path: Path) -> None:
    peft = pytest.importorskip("peft", reason="peft is not installed")
    settings = peft.LoraConfig(target_modules=["o_proj"], r=4, init_lora_weights=False, task_type="CAUSAL_LM")
    base = transformers.AutoModelForCausalLM.from_pretrained(folder)
    peft.get_peft_model(base, settings).save_pretrained(tmp_path / "adapter")
    added, alone = load(folder, adapter=tmp_path / "adapter"), load(tmp_path / "adapter")
    assert added.fingerprint == alone.fingerprint != plain.fingerprint
    assert added.name == "adapter"
    with pytest.raises(CapabilityError, match="--stream-layers and --adapter do not go together"):
        load(tmp_path / "adapter", stream_layers=True)
    with pytest.raises(AttlasError, match=r"is of another model: it changes model\.layers\.0\.self_attn\.o_proj"):
        load(None, adapter=tmp_path / "adapter")
    with pytest.raises(AttlasError, match=r"is no adapter: it has no adapter_config\.json"):
        load(folder, adapter=folder)


REFUSED: dict[str, tuple[dict[str, Any], str]] = {
    "no such map": ({"device_map": "evenly"}, "there is no device map 'evenly'"),
    "no such device": ({"device_map": {"": "cuda:7"}}, "puts 'all' on 'cuda:7', which this machine does not have"),
    "no folder": ({"device_map": "disk"}, "needs a folder for it; give one with --offload"),
    "nothing to offload": ({"offload": "x"}, "needs a device map that uses it"),
    "folder not writable": (
        {"device_map": "disk", "offload": "/proc/nobody"}, "weights cannot be written to /proc/nobody",
    ),
    "bits": ({"quantize": "3bit"}, "there is no '3bit' to quantize to; choose 8bit or 4bit"),
    "bits and devices": ({"quantize": "8bit", "device_map": "auto"}, "--quantize and --device-map do not go"),
    "bits and streams": ({"quantize": "8bit", "stream_layers": True}, "--stream-layers and --quantize do not go"),
    "a block of what": ({"block": 9}, "a block of texts (--block) is one of layers that are streamed"),
}  # fmt: skip


@pytest.mark.parametrize("what", REFUSED)
def test_what_does_not_go_together_is_refused_before_weights_are_read(
    what: str, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def read(*_: Any, **__: Any) -> None:
        raise AssertionError("weights were read")

    monkeypatch.setattr(transformers.PreTrainedModel, "from_pretrained", read)
    options, said = REFUSED[what]
    with pytest.raises(AttlasError) as refused:
        load(folder, **options)
    assert said in str(refused.value)
    assert "\n" not in str(refused.value)


def test_gguf_files(tmp_path: Path) -> None:
    pytest.importorskip("gguf", reason="gguf is not installed")
    model = written(tmp_path / "tiny.gguf")
    subject = load(tmp_path / "tiny.gguf")
    assert subject.name == "tiny"
    assert type(subject.model).__name__ == "LlamaForCausalLM"
    for site in subject.sites:
        known = model.model.layers[site.layer].self_attn.o_proj.weight
        assert torch.equal(subject.output_matrix(site).reshape(32, 32), known.T)
    ids = torch.tensor([[3, 4, 5, 6]])
    with torch.no_grad():
        assert torch.allclose(subject.model(ids).logits, model(ids).logits, atol=1e-5)
    (tmp_path / "none.gguf").write_bytes(b"PK and more")
    for file, options, said in (
        ("none.gguf", {}, "is no gguf file: it does not begin with GGUF"),
        ("away.gguf", {}, "there is no file"),
        ("tiny.gguf", {"stream_layers": True}, "--stream-layers and a gguf file do not go together"),
    ):
        with pytest.raises(AttlasError, match=said):
            load(tmp_path / file, **options)


def written(file: Path) -> Any:
    """A tiny Llama as a gguf file; the model that is in it."""
    import gguf

    pieces = ["<unk>", "<s>", "</s>", *(chr(code) for code in range(97, 123)), "th", "the", "Ġ"]
    merges = ["t h", "th e"]
    config = transformers.LlamaConfig(
        hidden_size=32, num_hidden_layers=2, num_attention_heads=4, intermediate_size=64, vocab_size=len(pieces),
        max_position_embeddings=64, rms_norm_eps=1e-5, tie_word_embeddings=False,
    )  # fmt: skip
    torch.manual_seed(0)
    model = transformers.LlamaForCausalLM(config).eval()
    writer = gguf.GGUFWriter(str(file), "llama")
    writer.add_context_length(64)
    writer.add_embedding_length(32)
    writer.add_block_count(2)
    writer.add_feed_forward_length(64)
    writer.add_head_count(4)
    writer.add_head_count_kv(4)
    writer.add_layer_norm_rms_eps(1e-5)
    writer.add_rope_freq_base(10000.0)
    writer.add_vocab_size(len(pieces))
    writer.add_tokenizer_model("gpt2")
    writer.add_token_list(pieces)
    writer.add_token_merges(merges)
    writer.add_bos_token_id(1)
    writer.add_eos_token_id(2)
    writer.add_unk_token_id(0)
    names = {
        "self_attn.q_proj": "attn_q", "self_attn.k_proj": "attn_k", "self_attn.v_proj": "attn_v",
        "self_attn.o_proj": "attn_output", "mlp.gate_proj": "ffn_gate", "mlp.up_proj": "ffn_up",
        "mlp.down_proj": "ffn_down", "input_layernorm": "attn_norm", "post_attention_layernorm": "ffn_norm",
    }  # fmt: skip
    outside = {"model.embed_tokens": "token_embd", "model.norm": "output_norm", "lm_head": "output"}
    for name, weight in model.state_dict().items():
        place = name.removesuffix(".weight")
        kept = weight
        if place in outside:
            short = outside[place]
        else:
            _, _, number, inner = place.split(".", 3)
            short = f"blk.{number}.{names[inner]}"
            if inner in (
                "self_attn.q_proj",
                "self_attn.k_proj",
            ):  # gguf has the two halves of rotary pairs side by side
                kept = weight.reshape(4, 2, 4, 32).swapaxes(1, 2).reshape(32, 32)
        writer.add_tensor(f"{short}.weight", kept.contiguous().numpy())
    for write in (writer.write_header_to_file, writer.write_kv_data_to_file, writer.write_tensors_to_file):
        write()
    writer.close()
    return model
