"""What every key brings to every query in a BERT or Llama twin, all heads together, as it stands on paper: one vector
of the model's width for each pair of pieces, from the states between layers and the modules' own weights."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor

from attlas.capture import Capture, Subject
from attlas.ids import Site, Stream


def joint_by_hand(subject: Subject, capture: Capture, stream: Stream) -> dict[str, Tensor]:
    """Joint norms at all steps, (layer, query, key) in float64; the capture must hold hidden states."""
    found: dict[str, list[Tensor]] = {"attention": [], "residual": [], "normalised": []}
    for layer in range(len(capture.layers[stream])):
        matrix = subject.output_matrix(Site(stream, layer)).detach().double()
        weights, values = (held[stream][layer].double() for held in (capture.weights, capture.values))
        alone = torch.einsum("hqk,hkw,hwd->qkd", weights, values, matrix)
        state = capture.hidden_states[stream][layer].detach().double()
        both = alone.clone()
        for place in range(len(state)):
            both[place, place] += state[place]
        norm, bias = _after(subject.model, layer)
        whole = both.sum(1) + bias
        if isinstance(norm, torch.nn.LayerNorm):
            scale = (whole.var(-1, unbiased=False) + norm.eps).sqrt()
            through = (both - both.mean(-1, keepdim=True)) * norm.weight.detach().double()
        else:
            scale = (whole.square().mean(-1) + norm.variance_epsilon).sqrt()
            through = both * norm.weight.detach().double()
        for step, vectors in zip(found, (alone, both, through / scale[:, None, None]), strict=True):
            found[step].append(vectors.norm(dim=-1))
    return {step: torch.stack(layers) for step, layers in found.items()}


def _after(model: Any, layer: int) -> tuple[Any, Tensor]:
    """The norm that reads the sum of attention and residual, and the bias of W_O."""
    if hasattr(model, "encoder"):
        output = model.encoder.layer[layer].attention.output
        return output.LayerNorm, output.dense.bias.detach().double()
    return model.layers[layer].post_attention_layernorm, torch.zeros(()).double()
