"""docs/results/prune.md from result folders of ``attlas prune``: curves, what can go, the smaller models."""

from __future__ import annotations

from datetime import date
from pathlib import Path
from typing import Any

RESULTS = Path(__file__).resolve().parents[1] / "results"
PUBLISHED = "BERT on MNLI loses little until about 40 % of its heads are gone, the translation model until about 20 % (Michel et al. 2019; by importance, heads removed from all layers)"
ORDERS = {"importance": "by importance", "loss": "by measured loss", "random": "by chance"}


def build(folders: list[Path]) -> None:
    """Write the page."""
    from attlas.store import Result

    results = [Result.open(folder) for folder in folders]
    lines = [
        "# Pruning: what can go",
        "",
        f"Written by `python docs/build.py prune FOLDER ...` on {date.today()}. Orders were made on other texts than the scores. *Gone* is the share of heads (of groups, where heads",
        "share keys and values) that are gone when the score has fallen by 1 % or 5 % of the whole model's, with its 95 % interval over resampled texts; by chance: the three draws.",
        "",
        f"Published: {PUBLISHED}.",
        "",
        "## What can go",
        "",
        _row("model", "task", "corpus", "score of the whole", "heads go", "gone at 1 %", "gone at 5 %"),
        "|---" * 7 + "|",
    ]
    for result in results:
        lines += _shares(result)
    lines += ["", "## The curves", ""]
    for result in results:
        lines += _curve(result)
    cut = [result for result in results if "sizes" in result.tables]
    if cut:
        lines += ["## Smaller models", "", _row("model", "stage", "heads", "million parameters", "file, MB", "score", "loss", "differs from gated by", "opens in plain transformers"), "|---" * 9 + "|"]  # fmt: skip
        for result in cut:
            lines += _sizes(result)
        lines += ["", "## Speed", "", "Milliseconds of a pass, without the language-model head.", ""]
        for result in cut:
            lines += _speed(result)
    lines += ["", "## How they were made", ""]
    lines += [_made(folder, result) for folder, result in zip(folders, results, strict=True)]
    RESULTS.mkdir(exist_ok=True)
    (RESULTS / "prune.md").write_text("\n".join([*lines, ""]), encoding="utf-8")
    print(f"page: {RESULTS / 'prune.md'}")


def _shares(result: Any) -> list[str]:
    if "shares" not in result.tables:
        return []
    rows, m = result.tables["shares"].to_pylist(), result.manifest
    lines = []
    for order in dict.fromkeys(row["order"] for row in rows):
        cells = []
        for fall in (0.01, 0.05):
            own = [row for row in rows if row["order"] == order and row["fall"] == fall]
            shown = ", ".join(_percent(row["share"]) for row in own)
            cells.append(
                shown
                if order == "random"
                else f"**{shown}** ({_percent(own[0]['low'])} to {_percent(own[0]['high'])})"
            )
        score = f"{rows[0]['metric']} {rows[0]['score']:.4g}"
        lines.append(_row(m.model["name"], m.plan["options"]["task"], m.corpus["name"], score, ORDERS[order], *cells))
    return lines


def _curve(result: Any) -> list[str]:
    if "curve" not in result.tables:
        return []
    rows, m = result.tables["curve"].to_pylist(), result.manifest
    orders = list(dict.fromkeys(row["order"] for row in rows))
    lines = [f"**{m.model['name']}, {m.plan['options']['task']} on {m.corpus['name']}** ({rows[0]['n']:,} texts)", ""]
    lines += [_row("gone", "heads", *(ORDERS[order] for order in orders)), "|---" * (2 + len(orders)) + "|"]
    for share in dict.fromkeys(row["share"] for row in rows):
        at = [row for row in rows if row["share"] == share]
        cells = []
        for order in orders:
            own = [row for row in at if row["order"] == order]
            scores = [row["score"] for row in own if row["score"] is not None]
            if order == "random":
                cells.append(" / ".join(f"{score:.4g}" for score in scores))
            else:
                cells.append("" if not scores else f"{scores[0]:.4g} ({own[0]['low']:.4g} to {own[0]['high']:.4g})")
        lines.append(_row(_percent(share), str(at[0]["heads"]), *cells))
    return [*lines, ""]


def _sizes(result: Any) -> list[str]:
    lines = []
    for row in result.tables["sizes"].to_pylist():
        file = "" if row["file"] is None else f"{row['file'] / 1e6:.1f}"
        apart = "" if row["difference"] is None else f"{row['difference']:.0e}" if row["difference"] else "0"
        plain = "" if row["plain"] is None else "yes" if row["plain"] else "no"
        score = f"{row['metric']} {row['score']:.4g} ({row['low']:.4g} to {row['high']:.4g})"
        lines.append(_row(result.manifest.model["name"], row["stage"], str(row["heads"]), f"{row['parameters'] / 1e6:.1f}", file, score, f"{row['loss']:.3f}", apart, plain))  # fmt: skip
    return lines


def _speed(result: Any) -> list[str]:
    if "speed" not in result.tables:
        return []
    lines = [f"**{result.manifest.model['name']}**", ""]
    lines += [
        _row("texts × pieces", "whole", "gated", "pruned", "times faster than whole", "than gated"),
        "|---" * 6 + "|",
    ]
    for row in result.tables["speed"].to_pylist():
        cell = f"{row['batch']} × {row['length']}"
        if row["reason"]:
            lines.append(_row(cell, row["reason"], "", "", "", ""))
            continue
        times = [row[name] for name in ("whole", "gated", "pruned")]
        lines.append(
            _row(
                cell, *(f"{time:,.1f}" for time in times), f"{times[0] / times[2]:.2f}", f"{times[1] / times[2]:.2f}"
            )
        )
    return [*lines, ""]


def _made(folder: Path, result: Any) -> str:
    m = result.manifest
    options = m.plan["options"]
    flags = [
        f"--{name.replace('_', '-')} {options[name]}"
        for name in ("steps", "keep", "limit", "max_pieces", "score")
        if options[name] is not None
    ]
    read = m.plan["corpus"]
    flags += [f"--{name.replace('_', '-')} {read[name]['name']}" for name in ("order_on", "retune") if name in read]
    flags += ["--even"] if options["even"] else []
    flags += [f"--heads {','.join(options['heads'])}"] if options["heads"] else []
    skipped = "; ".join(f"{reason}: {count:,}" for reason, count in m.skipped.items()) or "nothing"
    command = " ".join(["attlas prune", options["task"], m.corpus["name"], "--model", m.model["name"], *flags])
    ordered = f", orders on {m.corpus['order_passages']:,} others" if "order_passages" in m.corpus else ""
    return (
        f"- `{command}` on {m.started[:10]}, seed {m.seed}, {m.seconds:.0f} s on {m.model.get('device', 'cpu')} (folder {folder.name}): {m.corpus['passages']:,} texts scored, {m.corpus['pieces']:,} pieces{ordered}; "
        f"model fingerprint {m.model['fingerprint']}; corpus sha256 {m.corpus['sha256'][:16]}; cut or left out: {skipped}."
    )


def _percent(share: float | None) -> str:
    return "never" if share is None else f"{100 * share:.0f} %"


def _row(*cells: str) -> str:
    return "| " + " | ".join(cells) + " |"
