"""A decoder whose layers have different numbers of heads, as OpenELM's have, and an even one that does the same.

In the even one every layer has as many heads as the layer with most. Those that the uneven model does not have are
random, and W_O takes next to nothing from them: so both say the same, and every figure of a head that both have must
be the same. That is the truth that studies of the uneven model are held against.
"""

from __future__ import annotations

import copy
from typing import Any

import torch
import transformers
from transformers.models.llama.modeling_llama import LlamaAttention

import twins
from attlas.capture import Subject

HEADS = ((2, 2), (6, 2), (3, 1))  # of each layer: heads, and groups of them that share keys and values
MOST, WIDTH = 6, 8


class UnevenLlama(transformers.LlamaForCausalLM):
    """Llama with so many heads in each layer as ``config.heads_by_layer`` says."""

    attlas_head = "causal-lm"

    def __init__(self, config: Any) -> None:
        super().__init__(config)
        for number, layer in enumerate(self.model.layers):
            own = copy.copy(config)
            own.num_attention_heads, own.num_key_value_heads = config.heads_by_layer[number]
            layer.self_attn = LlamaAttention(own, number)
            layer.self_attn.config = config
        self.post_init()


def config(heads: tuple[tuple[int, int], ...] = HEADS) -> Any:
    """The configuration of a small one."""
    made = twins.config("llama")
    made.heads_by_layer = [list(counts) for counts in heads]
    return made


def model(**options: Any) -> Any:
    """The uneven model, with weights that make attention far from uniform."""
    torch.manual_seed(0)
    made = UnevenLlama._from_config(config(), **options)
    twins.spread(made)
    return made.eval()


def even_model() -> Any:
    """The even one: more heads, from which next to nothing is taken."""
    torch.manual_seed(1)
    made, uneven = UnevenLlama(config(((MOST, MOST),) * len(HEADS))), model()
    twins.spread(made)
    own = made.state_dict()
    for name, theirs in uneven.state_dict().items():
        if "self_attn" not in name:
            own[name].copy_(theirs)
            continue
        heads, groups = HEADS[int(name.split("layers.")[1].split(".")[0])]
        if ".o_proj." in name:
            own[name].mul_(1e-6)
            own[name][:, : heads * WIDTH].copy_(theirs)
        elif ".q_proj." in name:
            own[name][: heads * WIDTH].copy_(theirs)
        else:
            shared = theirs.reshape(groups, WIDTH, -1).repeat_interleave(heads // groups, 0)
            own[name][: heads * WIDTH].copy_(shared.reshape(heads * WIDTH, -1))
    made.load_state_dict(own)
    return made.eval()


def subject(name: str = "uneven") -> Subject:
    """The uneven model under study, or the even one."""
    return Subject.of(model() if name == "uneven" else even_model(), twins.tokenizer(causal=True), name)
