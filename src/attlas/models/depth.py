"""How many layers of attention a configuration declares, to count those that were found against."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from attlas.ids import Stream

_KINDS = ("layer_types", "layers_block_type")
_WITHOUT = {"linear_attention", "mamba", "conv", "recurrent", "moe", "mlp"}  # kinds of layers that do not attend
_COUNTS = {
    Stream.ENCODER: ("encoder_layers", "num_encoder_layers", "num_hidden_layers"),
    Stream.DECODER: ("decoder_layers", "num_decoder_layers", "num_hidden_layers"),
}


def declared_layers(config: Any, streams: Iterable[Stream]) -> dict[Stream, int]:
    """The layers that attend in each stream, as far as a configuration says.

    >>> from transformers import BartConfig, LlamaConfig
    >>> declared_layers(BartConfig(encoder_layers=6, decoder_layers=3), list(Stream))
    {<Stream.ENCODER: 'encoder'>: 6, <Stream.DECODER: 'decoder'>: 3, <Stream.CROSS: 'cross'>: 3}
    >>> kinds = ["linear_attention", "full_attention"] * 2
    >>> declared_layers(LlamaConfig(num_hidden_layers=4, layer_types=kinds), [Stream.DECODER])
    {<Stream.DECODER: 'decoder'>: 2}
    """
    counts: dict[Stream, int] = {}
    for stream in streams:
        side = Stream.ENCODER if stream is Stream.ENCODER else Stream.DECODER
        part = getattr(config, side.value, None)
        text = part if hasattr(part, "to_dict") else config.get_text_config()
        count = next((n for name in _COUNTS[side] if isinstance(n := getattr(text, name, None), int)), None)
        kinds = next((k for name in _KINDS if isinstance(k := getattr(text, name, None), list)), None)
        if kinds is not None and len(kinds) == count:
            count = sum(kind not in _WITHOUT for kind in kinds)
        if count is not None:
            counts[stream] = count
    return counts
