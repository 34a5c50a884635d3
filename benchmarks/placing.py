"""A model over a GPU, the host and the disk gives the numbers that it gives on that GPU alone.

    python -m benchmarks.placing [PAGE.md]

A random Llama is written to disk and opened plainly on the GPU, and then with its weights placed elsewhere: a third
of the layers on the GPU, a third on the host, the last on the disk; all on the host but the first layer; layers on
the GPU and all else on the host; as accelerate places them by itself. Of each are compared what a look sees (weights,
norms of every head and of all heads together), the sums of a survey, the model's output under gates, W_O of every
layer and the fingerprint. Needs torch with CUDA, the model library and accelerate, and nothing beyond attlas's core
path. Two GPUs are not asked for; where there are two or more, the layers are spread over two of them as well.

With ``--device cpu`` all of it runs on the host and the disk, which shows that the script works and nothing of GPUs.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
from collections.abc import Iterator
from datetime import date
from pathlib import Path
from typing import Any

import torch

from attlas.capture import Subject, load

LAYERS, WIDTH, HEADS = 6, 256, 8
SENTENCES = (
    "The farmer offered apples to the housekeeper , because he had too many of them .",
    "Playing outside , the children forgot the unbelievable storm of yesterday .",
    "Nobody noticed .",
    "An engineer repaired the old bridge near the station and asked the designer what she was working on .",
)
TEXT = SENTENCES[0]
GATED = ["2-1", "4-5", "6-8"]
MOST = 1e-6


def make(folder: Path) -> None:
    """A random Llama with wide weights, so that attention is far from even, and its tokenizer."""
    from transformers import LlamaConfig, LlamaForCausalLM

    from attlas.models.shrinking import words

    tokenizer = words(SENTENCES)
    tokenizer.model_max_length = 128
    config = LlamaConfig(
        hidden_size=WIDTH, intermediate_size=2 * WIDTH, num_hidden_layers=LAYERS, num_attention_heads=HEADS,
        num_key_value_heads=HEADS // 2, vocab_size=len(tokenizer), max_position_embeddings=128, pad_token_id=0,
    )  # fmt: skip
    torch.manual_seed(0)
    model = LlamaForCausalLM(config)
    for parameter in model.parameters():
        if parameter.dim() == 2:
            parameter.data *= 1.3 / (config.initializer_range * parameter.shape[1] ** 0.5)
    model.save_pretrained(folder)
    tokenizer.save_pretrained(folder)


def maps(device: str) -> Iterator[tuple[str, Any]]:
    """Ways to place the weights, by what they are called."""
    outside = ("model.embed_tokens", "model.rotary_emb", "model.norm", "lm_head")
    first: Any = 0 if device == "cuda" else "cpu"

    def placed(*places: Any) -> dict[str, Any]:
        layers = {f"model.layers.{number}": places[number * len(places) // LAYERS] for number in range(LAYERS)}
        return {**dict.fromkeys(outside, places[0]), **layers}

    yield "thirds: device, host, disk", placed(first, "cpu", "disk")
    yield "the first layer on the device, the others on the host", placed(first, *["cpu"] * (LAYERS - 1))
    yield "embeddings and head on the host, the layers on the device", {
        **placed(first), **dict.fromkeys(outside, "cpu"),
    }  # fmt: skip
    if device == "cuda":
        yield "auto", "auto"
        if torch.cuda.device_count() > 1:
            yield "halves: two GPUs", placed(0, 1)


def seen(subject: Subject) -> dict[str, torch.Tensor]:
    """All that is compared, on the host."""
    from attlas.studies.survey.passes import Survey

    found: dict[str, torch.Tensor] = {}
    capture = subject.look(TEXT, joint="residual")
    for stream, weights in capture.weights.items():
        found[f"look, weights ({stream})"] = weights
        found[f"look, norms ({stream})"] = capture.norms[stream]
        found[f"look, joint norms ({stream})"] = capture.joint("residual")[stream]
    study = Survey(subject)
    bundle = study.empty()
    study.update(bundle, subject.pieces.encode_all([_passage(text) for text in SENTENCES]))
    for name, array in bundle.state().items():
        if array.dtype.kind == "f":
            found[f"survey, {name}"] = torch.from_numpy(array)
    with torch.no_grad():
        found["output"] = subject.run(subject.batch([TEXT])).logits
        with subject.gated(GATED):
            found["output under gates"] = subject.run(subject.batch([TEXT])).logits
    for site in subject.sites:
        found[f"W_O of {site}"] = subject.output_matrix(site)
    return {name: tensor.detach().double().cpu() for name, tensor in found.items()}


def _passage(text: str) -> Any:
    from attlas.text import Document, Passage

    return Passage(Document.from_text(text))


def apart(one: dict[str, torch.Tensor], other: dict[str, torch.Tensor]) -> dict[str, float]:
    """By kind of number, how far the farthest are apart, as a share of the largest."""
    assert one.keys() == other.keys()
    far: dict[str, float] = {}
    for name, tensor in one.items():
        kind = name.split(",")[0].split(" of ")[0]
        nan = torch.isnan(tensor)
        assert torch.equal(nan, torch.isnan(other[name])), name
        values = (tensor - other[name]).masked_fill(nan, 0.0).abs()
        size = max(1e-30, _largest(tensor))
        far[kind] = max(far.get(kind, 0.0), float(values.max()) / size if values.numel() else 0.0)
    return far


def _largest(tensor: torch.Tensor) -> float:
    known = tensor[~torch.isnan(tensor)]
    return float(known.abs().max()) if known.numel() else 0.0


def where(subject: Subject) -> str:
    """On which devices the weights lie."""
    count: dict[str, int] = {}
    for weight in subject.model.parameters():
        place = "elsewhere (host or disk)" if weight.is_meta else str(weight.device)
        count[place] = count.get(place, 0) + weight.numel()
    whole = sum(count.values())
    return ", ".join(f"{place} {100 * part / whole:.0f} %" for place, part in sorted(count.items()))


def main(page: Path | None, device: str) -> int:
    """Compare, print, and write the page; 1 where numbers are apart."""
    torch.manual_seed(0)
    named = torch.cuda.get_device_name() if device == "cuda" else "no GPU: the host and the disk alone"
    lines = [
        "# A model over a GPU, the host and the disk",
        "",
        f"Made by `python -m benchmarks.placing` on {date.today()}: {named}, torch {torch.__version__}.",
        f"A random Llama of {LAYERS} layers of {HEADS} heads, float32; the largest difference from the plain model",
        "on that device, as a share of the largest number of its kind.",
        "",
    ]
    worst, rows, kinds = 0.0, [], list[str]()
    with tempfile.TemporaryDirectory() as room:
        folder = Path(room) / "llama"
        make(folder)
        plain = load(folder, device=device)
        known, fingerprint = seen(plain), plain.fingerprint
        assert float((known["output"] - known["output under gates"]).abs().max()) > 1e-3, "gates change nothing"
        for number, (called, placed) in enumerate(maps(device)):
            offload = Path(room) / f"offload {number}" if _disk(placed) else None
            subject = load(folder, device_map=placed, offload=offload)
            far = apart(known, seen(subject))
            assert subject.fingerprint == fingerprint, called
            kinds = list(far)
            worst = max(worst, *far.values())
            rows.append(f"| {called} | {where(subject)} | " + " | ".join(f"{far[kind]:.1e}" for kind in kinds) + " |")
            del subject
    lines += [f"| weights | where they lie | {' | '.join(kinds)} |", "|---|---|" + "---|" * len(kinds), *rows, ""]
    count = torch.cuda.device_count() if device == "cuda" else 0
    lines += ["Fingerprints are the same. " + (
        "" if count > 1 else "Two GPUs were not at hand, so that layers on two of them were not run."
    ), ""]  # fmt: skip
    if page is not None:
        page.write_text("\n".join(lines), encoding="utf-8")
    print("\n".join(lines))
    return int(worst > MOST)


def _disk(placed: Any) -> bool:
    return isinstance(placed, dict) and "disk" in placed.values()


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("page", type=Path, nargs="?", help="the page that is written")
    parser.add_argument("--device", choices=("cuda", "cpu"), default="cuda")
    given = parser.parse_args()
    if given.device == "cuda" and not torch.cuda.is_available():
        sys.exit("there is no GPU here; --device cpu tries the script on the host and the disk")
    sys.exit(main(given.page, given.device))
