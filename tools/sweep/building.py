"""A tiny model of any family, from its configuration class.

The default configuration of a family is taken and made small, as :mod:`attlas.models.shrinking` does with that of a
real model; what a default lacks to be a model at all, or to be one worth asking, stands here.
"""

from __future__ import annotations

from typing import Any

import torch

from attlas.models.shrinking import EOS, PAD, SPECIAL, VOCABULARY, WIDTH, drawn, shrunk
from attlas.models.shrinking import with_attention as twin_of
from tools.sweep.families import Family, config_class, model_class

__all__ = ["EOS", "PAD", "VOCABULARY", "WIDTH", "build", "tiny_config", "twin_of"]

# What default configurations lack, by family (``text_config.x`` reaches into a part).
CHOSEN: dict[str, dict[str, Any]] = {
    "dbrx": {"attn_config.rope_theta": 10000.0, "attn_config.kv_n_heads": 2, "attn_config.clip_qkv": 8.0},
    "esm": {"vocab_size": VOCABULARY, "position_embedding_type": "rotary", "mask_token_id": 4},
    "fsmt": {"decoder_start_token_id": EOS},  # where it starts with padding, a full pass does not see the start
    "nemotron": {"num_key_value_heads": 2},
    "t5gemma2_encoder": {"text_config.dropout_rate": 0.0},
}  # fmt: skip

# Families whose default configuration is refused by the library, and what it must be given.
GIVEN: dict[str, dict[str, Any]] = {
    "gemma4_assistant": {"text_config": {"model_type": "gemma4_text", "hidden_size_per_layer_input": 0,
                                         "vocab_size_per_layer_input": 0}},
}  # fmt: skip


def tiny_config(family: Family) -> Any:
    """The configuration of a tiny model."""
    default = config_class(family)(**GIVEN.get(family.kind, {}))
    return shrunk(default, {**SPECIAL.get(family.kind, {}), **CHOSEN.get(family.kind, {})})


def build(family: Family, seed: int = 0, attention: str | None = None, dtype: torch.dtype = torch.float32) -> Any:
    """A tiny model with spread weights, ready to read; the same weights for the same seed, whatever its attention."""
    return drawn(model_class(family), tiny_config(family), seed, attention=attention, dtype=dtype)
