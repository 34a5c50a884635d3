"""docs/results/norms.md from result folders of ``attlas norms``: ours beside what was published."""

from __future__ import annotations

import re
from datetime import date
from pathlib import Path
from typing import Any

RESULTS = Path(__file__).resolve().parents[1] / "results"
PUBLISHED = (
    "[CLS], [SEP] and punctuation take much weight and little norm; α and ‖f(x)‖ are negatively related; rare words have larger ‖f(x)‖ than frequent ones "
    "(BERT-base, Kobayashi et al. 2020)"
)
KINDS = {
    "first": "first piece",
    "cls": "[CLS]",
    "sep": "[SEP]",
    "punctuation": "periods and commas",
    "other": "other",
}


def build(folders: list[Path]) -> None:
    """Write the page."""
    from attlas.reports.norms_findings import Picture
    from attlas.store import Result

    results = [Result.open(folder) for folder in folders]
    pictures = [Picture(result.tables) for result in results]
    lines = [
        "# Weights against norms: ours beside the published picture",
        "",
        f"Written by `python docs/build.py norms FOLDER ...` on {date.today()}. No machine of ours has bert-base-uncased, so what can agree is the shape of the finding. Layers and heads count",
        "from 1. *Even* is what attention would give that treats all keys alike; *all heads* is the norm of the heads' summed vectors; *twin* is the same architecture before any training.",
        "",
        f"Published: {PUBLISHED}.",
        "",
        "## Claim by claim",
        "",
        _row("model", "stream", "claim", "here", "untrained twin", "verdict"),
        "|---" * 6 + "|",
    ]  # fmt: skip
    for result, picture in zip(results, pictures, strict=True):
        for stream in picture.streams:
            lines += _claims(result, picture, stream)
    lines += ["", "## Shares of weight and norm, mean of the layers", "", _row("model", "stream", "keys", "weight", "norm", "all heads", "even", "‖f(x)‖ over other keys'", "twin: weight", "norm", "all heads"), "|---" * 11 + "|"]  # fmt: skip
    for result, picture in zip(results, pictures, strict=True):
        for stream in picture.streams:
            for kind in picture.classes(stream):
                mean = picture.mean(stream, kind)
                names = ("weight", "norm", "joint", "chance", "relative", "twin_weight", "twin_norm", "twin_joint")
                lines.append(_row(_name(result), stream, KINDS[kind], *(f"{mean[name]:.2f}" for name in names)))
    lines += ["", "## How much a piece takes in from others", "", "Mixing ratio, mean of the layers (untrained twin): ‖others‖ / (‖others‖ + ‖itself‖); in cross attention all keys against the residual.", "", _row("model", "stream", "attention alone", "with the residual", "with residual and norm"), "|---" * 5 + "|"]  # fmt: skip
    for result, picture in zip(results, pictures, strict=True):
        lines += [_mixing(result, picture, stream) for stream in picture.streams]
    for result, picture in zip(results, pictures, strict=True):
        for stream in picture.streams:
            lines += _by_layer(result, picture, stream)
    lines += ["", "## How they were made", ""]
    lines += [_made(folder, result) for folder, result in zip(folders, results, strict=True)]
    RESULTS.mkdir(exist_ok=True)
    (RESULTS / "norms.md").write_text("\n".join([*lines, ""]), encoding="utf-8")
    print(f"page: {RESULTS / 'norms.md'}")


def _claims(result: Any, picture: Any, stream: str) -> list[str]:
    from attlas.reports.norms_findings import claims

    return [
        _row(_name(result), stream, claim.claim, _plain(claim.here), _plain(claim.twin), f"**{claim.verdict}**")
        for claim in claims(picture, stream)
    ]


def _mixing(result: Any, picture: Any, stream: str) -> str:
    from attlas.reports.norms_findings import mean_of

    cells = []
    for step in ("attention", "residual", "normalised"):
        rows = picture.rows("mixing", stream=stream, step=step, queries="all")
        cells.append(f"**{mean_of(rows, 'value'):.2f}** ({mean_of(rows, 'twin'):.2f})" if rows else "n/a")
    return _row(_name(result), stream, *cells)


def _by_layer(result: Any, picture: Any, stream: str) -> list[str]:
    kinds = [kind for kind in picture.classes(stream) if kind != "other"]
    head = [f"{KINDS[kind]}: weight → norm, all heads (length)" for kind in kinds]
    head += [
        "Spearman of α and ‖f(x)‖: all keys, other keys",
        "Spearman of rarity and ‖f(x)‖",
        "mixing with residual and norm",
    ]
    lines = ["", f"## {_name(result)} on {result.manifest.corpus['name']}, {stream}", "", _row("layer", *head), "|---" * (1 + len(head)) + "|"]  # fmt: skip
    for layer in range(len(picture.layers(stream, "other"))):
        cells = []
        for kind in kinds:
            row = next((row for row in picture.layers(stream, kind) if row["layer"] == layer), None)
            cells.append("" if row is None else f"{row['weight']:.2f} → {row['norm']:.2f}, {row['joint']:.2f} ({row['relative']:.2f})")  # fmt: skip
        where = {"stream": stream, "layer": layer}
        rhos = [picture.rows("spearman_layers", **where, keys=keys, over="texts") for keys in ("all", "other")]
        cells.append(", ".join(_estimate(rows) for rows in rhos))
        cells.append(_estimate(picture.rows("frequency_layers", **where, words="plain")))
        cells.append(_estimate(picture.rows("mixing", **where, step="normalised", queries="all")))
        lines.append(_row(str(layer + 1), *cells))
    return lines


def _estimate(rows: Any) -> str:
    if not rows or rows[0]["value"] is None:
        return "n/a"
    row = rows[0]
    half = "" if row["low"] is None else f" ± {(row['high'] - row['low']) / 2:.2f}"
    return f"{row['value']:.2f}{half}"


def _made(folder: Path, result: Any) -> str:
    m = result.manifest
    options = m.plan["options"]
    limit = f" --limit {options['limit']}" if options["limit"] else ""
    command = f"attlas norms {m.corpus['name']} --model {m.model['name']}{limit} --max-pieces {options['max_pieces']}"
    skipped = "; ".join(f"{reason}: {count:,}" for reason, count in m.skipped.items()) or "nothing"
    return (
        f"- `{command}` on {m.started[:10]}, seed {m.seed}, {m.seconds:.0f} s with the twin (folder {folder.name}): {m.corpus['passages']:,} passages"
        f"{' (sentence pairs)' if options['pairs'] else ''}, {m.corpus['pieces']:,} pieces; model fingerprint {m.model['fingerprint']}; "
        f"corpus sha256 {m.corpus['sha256'][:16]}; cut or left out: {skipped}."
    )


def _name(result: Any) -> str:
    return str(result.manifest.model["name"])


def _plain(text: str) -> str:
    """HTML of a page as Markdown: bold stays, the rest goes."""
    text = re.sub(r"</?b>", "**", text)
    return re.sub(r"<[^>]+>", "", text)


def _row(*cells: str) -> str:
    return "| " + " | ".join(cells) + " |"
