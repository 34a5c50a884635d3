"""docs/results/translate_train.md from the folders of models made by ``attlas translate-train``: BLEU, time, recipe."""

from __future__ import annotations

import json
from datetime import date
from pathlib import Path
from typing import Any

RESULTS = Path(__file__).resolve().parents[1] / "results"
_RECIPE = ("rate", "warmup", "falling", "batch_pieces", "epochs", "smoothing")


def build(folders: list[Path]) -> None:
    """Write the page."""
    records = [
        (folder.name, json.loads((folder / "training.json").read_text(encoding="utf-8"))) for folder in folders
    ]
    sets = list(dict.fromkeys((row["set"], row["name"]) for _, record in records for row in record["bleu"]))
    lines = [
        "# Translation models from nothing",
        "",
        f"Written by `python docs/build.py translate_train FOLDER ...` on {date.today()} from the records of `attlas translate-train`. BLEU is sacrebleu's (13a, cased), greedy unless said",
        "otherwise. *Alike* is the mean cosine between the encoder's states of one sentence: near 1 the encoder has lost which piece is which, and nothing can be aligned by its attention",
        "([translate-train.md](../translate-train.md)). *Spread* is that of fresh weights, times the root of the width.",
        "",
        _row("model", "layers, heads, width", "pairs learned from", "passes", "held-out loss", *(f"BLEU, {kind} {name}" for kind, name in sets), "alike", "spread", "minutes of training", "on"),
        "|---" * (9 + len(sets)) + "|",
    ]  # fmt: skip
    lines += [_model(folder, name, record, sets) for folder, (name, record) in zip(folders, records, strict=True)]
    lines += ["", "## How they were made", ""]
    lines += [_made(name, record) for name, record in records]
    RESULTS.mkdir(exist_ok=True)
    (RESULTS / "translate_train.md").write_text("\n".join([*lines, ""]), encoding="utf-8")
    print(f"page: {RESULTS / 'translate_train.md'}")


def _model(folder: Path, name: str, record: dict[str, Any], sets: list[tuple[str, str]]) -> str:
    sizes = record["sizes"]
    scores = {(row["set"], row["name"]): f"{row['bleu']:.1f}" for row in record["bleu"]}
    config = json.loads((folder / "config.json").read_text(encoding="utf-8"))
    return _row(
        name,
        f"{sizes['layers']} + {sizes['layers']}, {sizes['heads']}, {sizes['width']}",
        f"{record['texts']['learned']:,}",
        f"{record['curve'][-1]['epoch']}",
        f"{record['held_out_loss']:.2f}",
        *(scores.get(one, "") for one in sets),
        f"{record['encoder_alike']:.2f}",
        f"{config['init_std'] * config['d_model'] ** 0.5:.2f}",
        f"{record['seconds'] / 60:.0f}",
        f"{record['device']}",
    )


def _made(name: str, record: dict[str, Any]) -> str:
    options = record["plan"]["options"]
    versions = ", ".join(
        f"{package} {version}" for package, version in record["versions"].items() if package != "attlas"
    )
    recipe = ", ".join(f"{one.replace('_', ' ')} {options[one]}" for one in _RECIPE)
    return (
        f"- {name}: {record['data']['name']}{', swapped' if options['swap'] else ''}, seed {options['seed']}; dropout {record['sizes']['dropout']}, {recipe}; "
        f"{record['steps']:,} steps, {record['pieces_per_second']:,} pieces a second; begun {record['started'][:16]}, {versions}."
    )


def _row(*cells: str) -> str:
    return "| " + " | ".join(cells) + " |"
