"""The untrained twin of a model: the same architecture with weights as they are before any training."""

from __future__ import annotations

import copy
from typing import TYPE_CHECKING, Any

import torch

from attlas.models import pruning
from attlas.models.adopting import Opened, adopt
from attlas.models.classes import shrunken
from attlas.models.devices import place_of
from attlas.models.drawing import draw_in_layers, draw_on
from attlas.models.streaming import streamed_in

if TYPE_CHECKING:
    from transformers import PreTrainedModel


def untrained(name: str, model: PreTrainedModel, tokenizer: Any, seed: int = 0) -> Opened:
    """The same architecture with weights as they are before any training, drawn by the seed: on the device where the
    model is (:func:`~attlas.models.drawing.draw_on`), or on the host where that is the CPU, where the model is spread
    over several devices, was pruned, or has its layers streamed. A device draws other numbers than the host does.

    >>> from transformers import BertConfig, BertModel
    >>> from attlas.models.fingerprints import fingerprint
    >>> small = dict(hidden_size=8, num_hidden_layers=1, num_attention_heads=2, intermediate_size=8, vocab_size=20)
    >>> tiny = BertModel(BertConfig(**small))
    >>> twins = [untrained("tiny", tiny, None, seed).fingerprint for seed in (7, 7, 8)]
    >>> twins[0] == twins[1], len({*twins, fingerprint(tiny)})
    (True, 3)
    """
    adapted: Any = model
    base = adapted.get_base_model() if hasattr(model, "get_base_model") else model  # below its adapters
    config = copy.deepcopy(base.config)
    if hasattr(config, "quantization_config"):  # random weights are not packed
        del config.quantization_config
    if streamed_in(model) is not None:
        return adopt(f"untrained {name}", draw_in_layers(name, type(base), config, seed, model.dtype), tokenizer)
    place, spread_out = place_of(model), bool(getattr(model, "hf_device_map", {}))
    if place.type != "cpu" and not spread_out and pruning.loads_plainly(config):
        return adopt(f"untrained {name}", draw_on(place, type(base), config, seed, model.dtype), tokenizer)
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed)
        fresh = shrunken(type(base), config)(config)
    fresh.__class__ = type(base)
    spread = {
        place: "cpu" if device == "disk" else device for place, device in getattr(model, "hf_device_map", {}).items()
    }
    if set(spread.values()) - {"cpu"}:
        from accelerate import dispatch_model

        return adopt(f"untrained {name}", dispatch_model(fresh.to(dtype=model.dtype), spread), tokenizer)  # type: ignore[call-arg]
    fresh.to(device=place, dtype=model.dtype)  # type: ignore[call-arg]
    return adopt(f"untrained {name}", fresh, tokenizer)
