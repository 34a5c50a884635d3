"""Run by a Python that has kvpress, which has no need of attlas: reads a folder of gates as kvpress itself does.

    kvpress_reads.py FOLDER MODEL

kvpress fetches the files of a model that it knows from its authors' repository; here the model is a tiny one that is
put on its list, and what it fetches are the files of the folder. Prints what it has read, and which heads of keys it
lets stream when half of them are to.
"""

import json
import sys
from pathlib import Path
from types import SimpleNamespace


def main() -> None:
    """Read the folder, and print what was read."""
    import requests
    import torch
    from kvpress import DuoAttentionPress
    from kvpress.presses import duo_attention_press
    from transformers import LlamaConfig, LlamaForCausalLM

    folder, name = Path(sys.argv[1]), sys.argv[2]

    def fetched(url: str, **_: object) -> SimpleNamespace:
        """A file of the folder in place of one from the network."""
        text = (folder / url.rpartition("/")[2]).read_text()
        return SimpleNamespace(text=text, json=lambda: json.loads(text))

    requests.get = fetched
    duo_attention_press.PATTERNS_DICT[name] = "here"
    torch.manual_seed(0)
    config = LlamaConfig(
        hidden_size=48, intermediate_size=64, num_hidden_layers=4, num_attention_heads=6, num_key_value_heads=2,
        vocab_size=100, max_position_embeddings=256, attn_implementation="sdpa",
    )  # fmt: skip
    model = LlamaForCausalLM(config).eval()
    model.config.name_or_path = name
    press = DuoAttentionPress(head_compression_ratio=0.5)
    _, _, gates = press.load_attention_pattern(model)
    press.post_init_from_model(model)
    with torch.no_grad(), press(model):
        model(torch.randint(100, (1, 200)))
    told = {
        "sink": press.sink_size, "recent": press.recent_size, "gates": gates.tolist(),
        "streaming": press.streaming_mask.tolist(), "ratio": press.compression_ratio,
    }  # fmt: skip
    print(json.dumps(told))


if __name__ == "__main__":
    main()
