"""docs/results/ablate.md from result folders of ``attlas ablate``: how many heads matter, survivors, correlations."""

from __future__ import annotations

from datetime import date
from pathlib import Path
from typing import Any

RESULTS = Path(__file__).resolve().parents[1] / "results"
PUBLISHED = (
    "8 of 96 encoder heads matter (p < .01), four of them for the better when cut; the last encoder-decoder layer with one head loses 13.56 BLEU of 36.05; "
    "changes on two test sets correlate with .56 (translation) and .68 (BERT on MNLI) (Michel et al. 2019)"
)


def build(folders: list[Path]) -> None:
    """Write the page."""
    from attlas.store import Result

    results = [Result.open(folder) for folder in folders]
    lines = [
        "# Cutting heads: ours beside the published figures",
        "",
        f"Written by `python docs/build.py ablate FOLDER ...` on {date.today()}. p is two-sided, by paired permutation over texts, and corrected by Holm's method for all heads of a run; heads count",
        "from 1 (8-10: layer 8, head 10). *Worse* and *better* are what cutting does. Survivors were chosen on other texts than they are scored on.",
        "",
        f"Published: {PUBLISHED}.",
        "",
        "## How many heads matter at p < .01",
        "",
        _row("model", "task, corpus", "texts", "score", "a cut head gives", "heads", "matter to the score: worse, better", "to the loss: worse, better", "the cut that costs most", "the cut that gains most"),
        "|---" * 10 + "|",
    ]  # fmt: skip
    for result in results:
        lines += [_heads(result, whole, table) for whole, table in _parts(result)]
    lines += ["", "## One head left", ""]
    for result in results:
        lines += _survivors(result)
    lines += ["## Agreement over heads", "", _row("model", "task", "of what", "by", "Spearman", "Pearson", "heads"), "|---" * 7 + "|"]  # fmt: skip
    for result in results:
        lines += _agreement(result)
    lines += ["", "## How they were made", ""]
    lines += [_made(folder, result) for folder, result in zip(folders, results, strict=True)]
    RESULTS.mkdir(exist_ok=True)
    (RESULTS / "ablate.md").write_text("\n".join([*lines, ""]), encoding="utf-8")
    print(f"page: {RESULTS / 'ablate.md'}")


def _parts(result: Any) -> list[tuple[dict[str, Any], str]]:
    names = {"scored": "ablation", "other": "other"}
    return [(whole, names[whole["part"]]) for whole in result.tables["whole"].to_pylist()]


def _heads(result: Any, whole: dict[str, Any], table: str) -> str:
    from attlas.reports.ablate_findings import Findings, label, signed
    from attlas.reports.findings import number

    rows = result.tables[table].to_pylist()
    found = Findings(whole, rows, [], [])

    def counted(prefix: str, sign: int) -> str:
        sure = found.sure(rows, prefix)
        worse = sum(sign * row[f"{prefix}change"] > 0 for row in sure)
        return f"{worse}, {len(sure) - worse}"

    ranked = sorted(rows, key=lambda row: found.worse * (row["change"] or 0.0))
    best, worst = ranked[0], ranked[-1]
    gains = f"{label(best)} {signed(best['change'])}" if found.worse * best["change"] < 0 else "none"
    baseline = "" if whole["baseline"] is None else f" (majority {number(whole['baseline'])})"
    return _row(
        result.manifest.model["name"],
        f"{whole['task']}, {whole['corpus']}",
        f"{whole['n']:,}",
        f"{whole['metric']} {number(whole['score'])}{baseline}",
        "its mean" if result.manifest.plan["options"].get("means") else "0",
        len(rows),
        counted("", found.worse),
        counted("loss_", 1),
        f"{label(worst)} {signed(worst['change'])}",
        gains,
    )


def _survivors(result: Any) -> list[str]:
    from attlas.reports.ablate_findings import label, signed

    if "survivors" not in result.tables:
        return []
    whole = result.tables["whole"].to_pylist()[0]
    rows = result.tables["survivors"].to_pylist()
    name = f"**{result.manifest.model['name']}**, {whole['task']} on {whole['corpus']}"
    lines = [
        f"{name}: change of {whole['metric']} (and of the loss) with one head left; * p < .01 after correction.",
        "",
    ]
    lines += [_row("stream", *(f"layer {row['layer'] + 1}" for row in _longest(rows))), "|---" * (1 + len(_longest(rows))) + "|"]  # fmt: skip
    for stream in dict.fromkeys(row["stream"] for row in rows):
        cells = [
            f"{label(row, stream=False)}: {signed(row['change'])}{'*' if _sure(row, '') else ''} ({signed(row['loss_change'])}{'*' if _sure(row, 'loss_') else ''})"
            for row in rows
            if row["stream"] == stream
        ]
        lines.append(_row(stream, *cells))
    return [*lines, ""]


def _longest(rows: list[dict[str, Any]]) -> list[dict[str, Any]]:
    streams = [
        [row for row in rows if row["stream"] == stream] for stream in dict.fromkeys(r["stream"] for r in rows)
    ]
    return max(streams, key=len)


def _sure(row: dict[str, Any], prefix: str) -> bool:
    return row[f"{prefix}corrected"] is not None and row[f"{prefix}corrected"] < 0.01


def _agreement(result: Any) -> list[str]:
    from attlas.reports.tables import share

    if "correlation" not in result.tables:
        return []
    whole = result.tables["whole"].to_pylist()[0]
    names = {
        "importance": "importance and the size of the change",
        "first order": "minus the signed gradient and the change",
        "other corpus": "changes on both corpora",
    }
    return [
        _row(
            result.manifest.model["name"], whole["task"], names[row["with"]],
            whole["metric"] if row["quantity"] == "score" else "loss",
            f"{share(row['spearman'])} ({share(row['spearman_low'])} to {share(row['spearman_high'])})",
            f"{share(row['pearson'])} ({share(row['pearson_low'])} to {share(row['pearson_high'])})", row["n"],
        )
        for row in result.tables["correlation"].to_pylist() if row["spearman"] is not None
    ]  # fmt: skip


def _made(folder: Path, result: Any) -> str:
    manifest = result.manifest
    corpus = manifest.corpus
    options = manifest.plan.get("options", {})
    extra = "".join(
        f" --{name.replace('_', '-')} {options[name]}"
        for name in ("score", "limit", "max_pieces")
        if options.get(name)
    )
    read = manifest.plan["corpus"]
    other = "".join(
        f" --{name.replace('_', '-')} {read[name]['name']}" for name in ("other", "choose_on") if name in read
    )
    extra += "" if options.get("survivors", True) else " --no-survivors"
    extra += " --means" if options.get("means") else ""
    what = "survivors chosen" if options.get("survivors", True) else "means taken"
    chosen = f", {what} on {corpus['chosen_on']:,} others" if corpus.get("chosen_on") else ""
    return (
        f"- `attlas ablate {options.get('task')} {corpus['name']} --model {manifest.model['name']}{extra}{other} --out {folder.name}`: {corpus['passages']:,} texts, "
        f"{corpus['pieces']:,} pieces{chosen}; seed {manifest.seed}, {manifest.started[:10]}, {manifest.seconds:.0f} s on {manifest.model.get('device', 'cpu')}, attlas {manifest.versions.get('attlas')}"
    )


def _row(*cells: Any) -> str:
    return "| " + " | ".join(str(cell) for cell in cells) + " |"
