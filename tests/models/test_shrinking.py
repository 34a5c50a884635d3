"""Tiny twins of configurations as real models have them: of the same kind, windows of a few pieces, and exact."""

from __future__ import annotations

from typing import Any

import pytest
import torch
import transformers

from attlas.models.shrinking import drawn, shrunk, tiny, with_attention

LONG_ROPE = {"type": "longrope", "short_factor": [1.0] * 48, "long_factor": [2.0] * 48}
LLAMA_3 = {"rope_type": "llama3", "factor": 8.0, "low_freq_factor": 1.0, "high_freq_factor": 4.0,
           "original_max_position_embeddings": 8192}  # fmt: skip
REAL: dict[str, tuple[str, str, dict[str, Any]]] = {
    "llama 3": ("LlamaForCausalLM", "LlamaConfig", {"num_hidden_layers": 32, "rope_scaling": LLAMA_3}),
    "three heads": ("BertModel", "BertConfig", {"hidden_size": 48, "num_attention_heads": 3, "num_hidden_layers": 2}),
    "phi 3": ("Phi3ForCausalLM", "Phi3Config", {"rope_scaling": LONG_ROPE, "max_position_embeddings": 131072}),
    "phi 2": ("PhiForCausalLM", "PhiConfig", {"partial_rotary_factor": 0.4}),
    "opt 350": ("OPTForCausalLM", "OPTConfig", {"hidden_size": 1024, "word_embed_proj_dim": 512}),
    "falcon 7": ("FalconForCausalLM", "FalconConfig", {"num_attention_heads": 71, "hidden_size": 4544}),
    "jamba": ("JambaForCausalLM", "JambaConfig", {"attn_layer_period": 8, "attn_layer_offset": 4}),
    "deepseek 3": ("DeepseekV3ForCausalLM", "DeepseekV3Config", {}),
    "marian": ("MarianMTModel", "MarianConfig", {"bad_words_ids": [[59513]], "pad_token_id": 58100}),
}  # fmt: skip


def config_of(name: str) -> Any:
    _, kind, settings = REAL[name]
    return getattr(transformers, kind)(**settings)


@pytest.mark.parametrize("name", REAL)
def test_a_twin_is_built_from_the_configuration_of_a_real_model_and_reads(name: str) -> None:
    twin = drawn(getattr(transformers, REAL[name][0]), shrunk(config_of(name)))
    assert sum(parameter.numel() for parameter in twin.parameters()) < 300_000
    inputs = {"input_ids": torch.arange(5, 25)[None]}
    if twin.config.is_encoder_decoder:
        inputs["decoder_input_ids"] = inputs["input_ids"][:, :9]
    with torch.no_grad():
        plain, eager = twin(**inputs)[0], with_attention(twin, "eager")(**inputs)[0]
    assert torch.allclose(plain, eager, atol=1e-4)


def test_windows_and_choices_are_a_few_pieces_and_every_kind_of_layer_stays() -> None:
    window = shrunk(transformers.Qwen2Config(num_hidden_layers=28, use_sliding_window=True, max_window_layers=21))
    assert set(window.layer_types) == {"full_attention", "sliding_attention"}
    assert window.sliding_window < 10
    chosen = shrunk(transformers.DeepseekV32Config())
    assert chosen.index_topk < 10
    chunked = shrunk(transformers.Llama4TextConfig())
    assert chunked.attention_chunk_size < 10
    assert set(chunked.layer_types) == {"chunked_attention", "full_attention"}


def test_what_is_not_of_the_class_stays_behind() -> None:
    config = transformers.BertConfig(attlas_pruned={"kept": {"encoder": [[1]]}, "plain": False}, num_labels=7)
    config.quantization_config = {"bits": 4}
    twin = shrunk(config)
    assert not hasattr(twin, "attlas_pruned")
    assert not hasattr(twin, "quantization_config")


def test_a_twin_of_adapters_is_of_the_class_below_them() -> None:
    peft = pytest.importorskip("peft", reason="peft is not installed")
    model = drawn(transformers.LlamaForCausalLM, shrunk(transformers.LlamaConfig()))
    adapted = peft.get_peft_model(model, peft.LoraConfig(target_modules=["o_proj"]))
    assert type(tiny(adapted)) is transformers.LlamaForCausalLM


def test_grouped_keys_stay_grouped() -> None:
    keys = {8: 2, 32: 4, 1: 1}
    for given, small in keys.items():
        config = transformers.LlamaConfig(num_attention_heads=32, num_key_value_heads=given)
        assert shrunk(config).num_key_value_heads == small
