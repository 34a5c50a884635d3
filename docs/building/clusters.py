"""docs/results/clusters.md from result folders of ``attlas clusters``: ours beside what was published."""

from __future__ import annotations

from collections import Counter
from datetime import date
from pathlib import Path
from typing import Any

RESULTS = Path(__file__).resolve().parents[1] / "results"
PAIRS = 5


def build(folders: list[Path]) -> None:
    """Write the page."""
    from attlas.store import Result

    results = [Result.open(folder) for folder in folders]
    lines = [
        "# Clusters: ours beside what was published",
        "",
        f"Written by `python docs/build.py clusters FOLDER ...` on {date.today()}. Distances are Jensen-Shannon divergences in nats, means over all queries, with",
        "95 % intervals by text; p is from 9,999 random deals of the heads to layers, one-sided. Published: Clark et al. (2019), bert-base-uncased on Wikipedia:",
        "heads within the same layer are often fairly close to each other, and heads of one behaviour form clusters. They give pictures and no figures; no",
        "machine of ours has that model, so what can agree is the finding.",
        "",
        "## Do heads of one layer lie together?",
        "",
        _row("model", "attention", "heads", "within layers", "between layers", "ratio", "p", "stress of the map", "halves agree (ρ)"),
        "|---" * 9 + "|",
    ]  # fmt: skip
    for result in results:
        for row in result.tables["togetherness"].to_pylist():
            lines.append(_together(result.manifest.model["name"], row))
    lines += [
        "",
        "## What heads mostly do",
        "",
        _row("model", "attention", "heads", "untrained twin"),
        "|---" * 4 + "|",
    ]
    for result in results:
        heads = result.tables["clusters"].to_pylist()
        for stream in dict.fromkeys(row["stream"] for row in heads):
            own = [row for row in heads if row["stream"] == stream]
            lines.append(
                _row(
                    result.manifest.model["name"],
                    stream,
                    *(_counted(row[column] for row in own) for column in ("behaviour", "twin_behaviour")),
                )
            )
    lines += ["", "## The nearest pairs", ""]
    lines += [
        "Chosen on one half of the passages, their distance from the other; the twin's is of the same two places.",
        "",
    ]
    lines += [_row("model", "attention", "pair", "nats", "untrained twin"), "|---" * 5 + "|"]
    for result in results:
        lines += _nearest(result)
    lines += ["", "## How they were made", ""]
    lines += [_made(folder, result) for folder, result in zip(folders, results, strict=True)]
    RESULTS.mkdir(exist_ok=True)
    (RESULTS / "clusters.md").write_text("\n".join([*lines, ""]), encoding="utf-8")
    print(f"page: {RESULTS / 'clusters.md'}")


def _together(model: str, row: dict[str, Any]) -> str:
    def ends(kind: str) -> str:
        values = [row[f"{kind}{end}"] for end in ("", "_low", "_high")]
        if values[0] is None:
            return "n/a"
        written = [f"{value:.3f}" if value >= 0.0095 else f"{value:.5f}" for value in values if value is not None]
        return f"{written[0]} ({written[1]}–{written[2]})" if len(written) == 3 else written[0]

    name = model if row["of"] == "model" else f"untrained {model}"
    numbers = [
        "n/a" if row[key] is None else f"{row[key]:.{digits}f}"
        for key, digits in (("ratio", 3), ("p", 4), ("stress", 2), ("halves", 3))
    ]
    return _row(name, row["stream"], str(row["heads"]), ends("within"), ends("between"), *numbers)


def _counted(behaviours: Any) -> str:
    return ", ".join(f"{number} {name}" for name, number in Counter(behaviours).most_common())


def _nearest(result: Any) -> list[str]:
    from attlas.ids import paper_label
    from attlas.reports.clusters_findings import tightest

    rows = result.tables["pairs"].to_pylist()
    lines = []
    for stream in dict.fromkeys(row["stream"] for row in rows):
        for row in tightest([row for row in rows if row["stream"] == stream], PAIRS):
            pair = f"{paper_label(row['layer'], row['head'])} and {paper_label(row['layer_b'], row['head_b'])}"
            lines.append(
                _row(result.manifest.model["name"], stream, pair, f"{row['scored']:.4f}", f"{row['twin']:.4f}")
            )
    return lines


def _made(folder: Path, result: Any) -> str:
    m = result.manifest
    options = m.plan["options"]
    command = f"attlas clusters {m.corpus['name']} --model {m.model['name']} --max-pieces {options['max_pieces']}"
    command += f" --limit {options['limit']}" if options["limit"] else ""
    command += " --relations RELATIONS" if options["relations"] else ""
    skipped = "; ".join(f"{reason}: {count:,}" for reason, count in m.skipped.items()) or "nothing"
    return (
        f"- `{command}` on {m.started[:10]}, seed {m.seed}, {m.seconds:.0f} s (folder {folder.name}): {m.corpus['passages']:,} passages"
        f"{' (sentence pairs)' if options['pairs'] else ''}, {m.corpus['pieces']:,} pieces; model fingerprint {m.model['fingerprint']}; "
        f"corpus sha256 {m.corpus['sha256'][:16]}; cut or left out: {skipped}."
    )


def _row(*cells: str) -> str:
    return "| " + " | ".join(cells) + " |"
