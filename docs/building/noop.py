"""docs/results/noop.md from result folders of ``attlas noop``: ours beside what was published."""

from __future__ import annotations

import statistics
from datetime import date
from pathlib import Path
from typing import Any

RESULTS = Path(__file__).resolve().parents[1] / "results"
PUBLISHED = "from layer 5 on, gradients for [SEP] become very small (bert-base-uncased, masked LM; Clark et al. 2019)"


def build(folders: list[Path]) -> None:
    """Write the page."""
    from attlas.reports.noop_findings import Layers
    from attlas.store import Result

    results = [Result.open(folder) for folder in folders]
    lines = [
        "# The no-op test: ours beside the published figures",
        "",
        f"Written by `python docs/build.py noop FOLDER ...` on {date.today()}. No machine of ours has bert-base-uncased, so what can agree is the",
        "shape of the finding. Layers count from 1. *Rests on* is whichever of [SEP], [CLS] and the first piece has the most weight in any layer;",
        "*over other keys* is the mean |∂L/∂α| divided by that for keys that are neither special, nor first, nor a period or comma, in the same layer.",
        "",
        f"Published: {PUBLISHED}.",
        "",
        "## In short",
        "",
        _row("model", "loss", "nats (twin)", "right (twin; majority)", "stream", "rests on", "weight there (twin)", "over other keys (twin)", "stays under .5, .25, .1 from layer", "heads over half there, of them under .5"),
        "|---" * 10 + "|",
    ]  # fmt: skip
    tables = [Layers(result.tables["noop_layers"].to_pylist()) for result in results]
    for result, layers in zip(results, tables, strict=True):
        lines += [_summary(result, layers, stream) for stream in layers.streams]
    for result, layers in zip(results, tables, strict=True):
        lines += _by_layer(result, layers)
    lines += ["", "## How they were made", ""]
    lines += [_made(folder, result) for folder, result in zip(folders, results, strict=True)]
    RESULTS.mkdir(exist_ok=True)
    (RESULTS / "noop.md").write_text("\n".join([*lines, ""]), encoding="utf-8")
    print(f"page: {RESULTS / 'noop.md'}")


def _summary(result: Any, layers: Any, stream: str) -> str:
    from attlas.reports.noop_findings import NAMES, small_from

    loss = result.tables["loss"].to_pylist()[0]
    rest = layers.resting(stream)
    rows = layers.of(stream, rest)
    starts = [small_from(rows, bar) for bar in (0.5, 0.25, 0.1)]
    heads = [row for row in result.table.to_pylist() if row["stream"] == stream and row["class"] == rest]
    parked = [row for row in heads if row["weight"] > 0.5]
    low = sum(row["relative"] < 0.5 for row in parked)
    majority = "" if loss["majority"] is None else f"; {loss['majority']:.3f}"
    return _row(
        result.manifest.model["name"],
        loss["loss"],
        f"{loss['value']:.3f} ({loss['twin_value']:.3f})",
        f"{loss['accuracy']:.3f} ({loss['twin_accuracy']:.3f}{majority})",
        stream,
        NAMES[rest],
        f"{_mean(rows, 'weight'):.2f} ({_mean(rows, 'twin_weight'):.2f})",
        f"{_mean(rows, 'relative'):.2f} ({_mean(rows, 'twin_relative'):.2f})",
        ", ".join("never" if start is None else str(start + 1) for start in starts),
        f"{len(parked)} of {len(heads)}, {low}",
    )


def _by_layer(result: Any, layers: Any) -> list[str]:
    lines = []
    for stream in layers.streams:
        keys = [key for key in ("sep", "cls", "first", "punctuation") if layers.of(stream, key)]
        names = {"sep": "[SEP]", "cls": "[CLS]", "first": "first piece", "punctuation": "periods and commas"}
        lines += ["", f"## {result.manifest.model['name']} on {result.manifest.corpus['name']}, {stream}", ""]
        lines += ["Over other keys (95 % interval; twin), with the shares of weight and of norm (twin).", ""]
        lines += [_row("layer", *(names[key] for key in keys)), "|---" * (1 + len(keys)) + "|"]
        for layer in range(len(layers.of(stream, "other"))):
            cells = [next((row for row in layers.of(stream, key) if row["layer"] == layer), None) for key in keys]
            lines.append(_row(str(layer + 1), *map(_cell, cells)))
    return lines


def _cell(row: Any) -> str:
    if row is None or row["relative"] is None:
        return ""
    interval = "" if row["relative_low"] is None else f"{row['relative_low']:.2f}–{row['relative_high']:.2f}; "
    twin = "n/a" if row["twin_relative"] is None else f"{row['twin_relative']:.2f}"
    shares = f"weight {row['weight']:.2f} ({row['twin_weight']:.2f})"
    if row.get("norm") is not None:  # older results have none
        shares += f", norm {row['norm']:.2f} ({row['twin_norm']:.2f})"
    return f"**{row['relative']:.2f}** ({interval}{twin}), {shares}"


def _made(folder: Path, result: Any) -> str:
    m = result.manifest
    options = m.plan["options"]
    limit = f" --limit {options['limit']}" if options["limit"] else ""
    command = f"attlas noop {m.corpus['name']} --model {m.model['name']} --loss {options['loss']}{limit} --max-pieces {options['max_pieces']}"
    skipped = "; ".join(f"{reason}: {count:,}" for reason, count in m.skipped.items()) or "nothing"
    trained = m.corpus.get("training passages")
    return (
        f"- `{command}` on {m.started[:10]}, seed {m.seed}, {m.seconds:.0f} s (folder {folder.name}): {m.corpus['passages']:,} passages, "
        f"{m.corpus['pieces']:,} pieces{f', head trained on {trained:,} others' if trained else ''}; model fingerprint {m.model['fingerprint']}; "
        f"corpus sha256 {m.corpus['sha256'][:16]}; cut or left out: {skipped}."
    )


def _mean(rows: Any, column: str) -> float:
    return statistics.mean(row[column] for row in rows if row[column] is not None)


def _row(*cells: str) -> str:
    return "| " + " | ".join(cells) + " |"
