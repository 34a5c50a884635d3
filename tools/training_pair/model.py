"""Several small models of Llama's architecture as one: every parameter has the model as its first axis.

What is trained is what the model library's ``LlamaForCausalLM`` computes (a test holds one against the other), but
all models take their step in the same products of matrices, since one of them alone would leave a GPU idle. Names of
parameters are the library's, so that a checkpoint is a slice. Heads can be closed: ``gates`` are factors of the
heads' outputs, a set for each model.
"""

from __future__ import annotations

import json
import math
from dataclasses import asdict, dataclass
from pathlib import Path

import torch
from safetensors.torch import save_file
from torch import Tensor
from torch.nn import functional

Parameters = dict[str, Tensor]
EPSILON = 1e-6
THETA = 10_000.0


@dataclass(frozen=True)
class Shape:
    """The numbers that make the architecture."""

    vocabulary: int
    width: int = 384
    layers: int = 5
    heads: int = 8
    hidden: int = 1024
    window: int = 512

    @property
    def head_width(self) -> int:
        """Numbers in a query or key."""
        return self.width // self.heads

    def parameters(self) -> int:
        """How many numbers are trained: the matrix of pieces is that of the output, too.

        >>> Shape(4096).parameters()
        10424448
        """
        layer = 4 * self.width**2 + 3 * self.width * self.hidden + 2 * self.width
        return self.vocabulary * self.width + self.layers * layer + self.width


def fresh(shape: Shape, seeds: list[int], device: str = "cpu") -> Parameters:
    """Parameters of one model for each seed: normal, .02 wide, those that write into the stream narrower by depth."""
    models = [_one_fresh(shape, torch.Generator().manual_seed(seed)) for seed in seeds]
    return {name: torch.stack([one[name] for one in models]).to(device) for name in models[0]}


def _one_fresh(shape: Shape, generator: torch.Generator) -> Parameters:
    def normal(rows: int, columns: int, spread: float = 0.02) -> Tensor:
        return torch.randn(rows, columns, generator=generator) * spread

    width, narrow = shape.width, 0.02 / math.sqrt(2 * shape.layers)
    made = {"model.embed_tokens.weight": normal(shape.vocabulary, width), "model.norm.weight": torch.ones(width)}
    for layer in range(shape.layers):
        at = f"model.layers.{layer}."
        for name in ("q_proj", "k_proj", "v_proj"):
            made[f"{at}self_attn.{name}.weight"] = normal(width, width)
        made[f"{at}self_attn.o_proj.weight"] = normal(width, width, narrow)
        made[f"{at}mlp.gate_proj.weight"] = normal(shape.hidden, width)
        made[f"{at}mlp.up_proj.weight"] = normal(shape.hidden, width)
        made[f"{at}mlp.down_proj.weight"] = normal(width, shape.hidden, narrow)
        made[f"{at}input_layernorm.weight"] = torch.ones(width)
        made[f"{at}post_attention_layernorm.weight"] = torch.ones(width)
    return made


def forward(
    parameters: Parameters,
    shape: Shape,
    ids: Tensor,
    gates: Tensor | None = None,
    weights: list[Tensor] | None = None,
) -> Tensor:
    """Logits (model, text, piece, vocabulary) for ``ids`` (model, text, piece).

    ``gates`` (model, layer, head) close heads. Where ``weights`` is given, each layer's attention weights (model,
    text, head, query, key) are appended to it, and attention is computed in the open.
    """
    models, texts, length = ids.shape
    begin = torch.arange(models, device=ids.device)[:, None, None] * shape.vocabulary
    embedding = parameters["model.embed_tokens.weight"]
    states = functional.embedding(ids + begin, embedding.reshape(-1, shape.width))
    cosine, sine = _rotation(length, shape.head_width, states)
    for layer in range(shape.layers):
        at = f"model.layers.{layer}."
        read = _normed(states, parameters[f"{at}input_layernorm.weight"])
        heads = [
            _linear(read, parameters[f"{at}self_attn.{name}.weight"])
            .view(models * texts, length, shape.heads, shape.head_width)
            .transpose(1, 2)
            for name in ("q_proj", "k_proj", "v_proj")
        ]
        query, key = _rotated(heads[0], cosine, sine), _rotated(heads[1], cosine, sine)
        if weights is None:
            mixed = functional.scaled_dot_product_attention(query, key, heads[2], is_causal=True)
        else:
            hidden = torch.ones(length, length, dtype=torch.bool, device=ids.device).triu(1)
            scores = query @ key.transpose(-1, -2) / math.sqrt(shape.head_width)
            weight = scores.masked_fill(hidden, -torch.inf).softmax(-1)
            weights.append(weight.view(models, texts, shape.heads, length, length))
            mixed = weight @ heads[2]
        mixed = mixed.view(models, texts, shape.heads, length, shape.head_width)
        if gates is not None:
            mixed = mixed * gates[:, None, layer, :, None, None].to(mixed.dtype)
        joined = mixed.transpose(2, 3).reshape(models, texts, length, shape.width)
        states = states + _linear(joined, parameters[f"{at}self_attn.o_proj.weight"])
        read = _normed(states, parameters[f"{at}post_attention_layernorm.weight"])
        gate = functional.silu(_linear(read, parameters[f"{at}mlp.gate_proj.weight"]))
        inner = gate * _linear(read, parameters[f"{at}mlp.up_proj.weight"])
        states = states + _linear(inner, parameters[f"{at}mlp.down_proj.weight"])
    return _linear(_normed(states, parameters["model.norm.weight"]), embedding)


def _linear(states: Tensor, weight: Tensor) -> Tensor:
    models, texts, length, _ = states.shape
    return torch.bmm(states.flatten(1, 2), weight.transpose(1, 2)).view(models, texts, length, -1)


def _normed(states: Tensor, weight: Tensor) -> Tensor:
    return functional.rms_norm(states, states.shape[-1:], eps=EPSILON) * weight[:, None, None, :]


def _rotation(length: int, width: int, like: Tensor) -> tuple[Tensor, Tensor]:
    frequencies = THETA ** -(torch.arange(0, width, 2, device=like.device, dtype=torch.float32) / width)
    angles = torch.arange(length, device=like.device, dtype=torch.float32)[:, None] * frequencies
    both = torch.cat([angles, angles], dim=-1)
    return both.cos().to(like.dtype), both.sin().to(like.dtype)


def _rotated(states: Tensor, cosine: Tensor, sine: Tensor) -> Tensor:
    first, second = states.chunk(2, dim=-1)
    return states * cosine + torch.cat([-second, first], dim=-1) * sine


def losses(
    parameters: Parameters,
    shape: Shape,
    ids: Tensor,
    gates: Tensor | None = None,
    weights: list[Tensor] | None = None,
) -> Tensor:
    """Loss (model, text, piece - 1) of every piece but the first, in nats."""
    logits = forward(parameters, shape, ids, gates, weights)[:, :, :-1].float()
    wanted = ids[:, :, 1:]
    return functional.cross_entropy(logits.flatten(0, 2), wanted.flatten(), reduction="none").view(wanted.shape)


def write_checkpoint(parameters: Parameters, shape: Shape, model: int, tokenizer: Path, folder: Path) -> None:
    """Write one model as a folder that the model library and ``attlas.load`` open, in half precision (bfloat16)."""
    folder.mkdir(parents=True, exist_ok=True)
    own = {name: value[model].to(torch.bfloat16).cpu().contiguous() for name, value in parameters.items()}
    save_file(own, folder / "model.safetensors", metadata={"format": "pt"})
    config = {
        "architectures": ["LlamaForCausalLM"],
        "model_type": "llama",
        "vocab_size": shape.vocabulary,
        "hidden_size": shape.width,
        "intermediate_size": shape.hidden,
        "num_hidden_layers": shape.layers,
        "num_attention_heads": shape.heads,
        "num_key_value_heads": shape.heads,
        "head_dim": shape.head_width,
        "max_position_embeddings": shape.window,
        "rms_norm_eps": EPSILON,
        "rope_parameters": {"rope_type": "default", "rope_theta": THETA},
        "tie_word_embeddings": True,
        "hidden_act": "silu",
        "bos_token_id": 0,
        "eos_token_id": 1,
        "dtype": "bfloat16",
    }
    (folder / "config.json").write_text(json.dumps(config, indent=2) + "\n")
    (folder / "tokenizer.json").write_bytes(tokenizer.read_bytes())
    names = {"tokenizer_class": "PreTrainedTokenizerFast", "bos_token": "<begin>", "eos_token": "<end>"}
    (folder / "tokenizer_config.json").write_text(json.dumps(names, indent=2) + "\n")


def described(shape: Shape) -> dict[str, int]:
    """The shape as numbers for a file, with the number of parameters."""
    return {**asdict(shape), "parameters": shape.parameters()}
