"""docs/results/relations.md from result folders of ``attlas relations``: ours beside what was published."""

from __future__ import annotations

from datetime import date
from pathlib import Path
from typing import Any

RESULTS = Path(__file__).resolve().parents[1] / "results"
FEWEST = 20


def build(folders: list[Path]) -> None:
    """Write the page."""
    from attlas.reports.relations import findings
    from attlas.store import Result

    results = [Result.open(folder) for folder in folders]
    lines = [
        "# Relations: ours beside the published figures",
        "",
        f"Written by `python docs/build.py relations FOLDER ...` on {date.today()}. Accuracy in per cent of the head that was chosen on other",
        "sentences, with a 95 % interval (bootstrap by sentence); the best fixed offset and the head of the untrained twin were chosen in the same way.",
        "**Bold**: better than the offset, p < .01 after Holm's correction for all chosen heads. Published: Clark et al. (2019), bert-base-uncased on",
        "the Wall Street Journal in Stanford dependencies; no machine of ours has that model, so what can agree is the picture, not the number.",
    ]
    for result in results:
        rows = [row for row in result.table.to_pylist() if row["best"]]
        options = result.manifest.plan["options"]
        lines += ["", f"## {result.manifest.model['name']}, {options['measure']}s", ""]
        lines += [f"- {_plain(text)}" for text in findings(rows, result.tables["relation_heads"])]
        lines += ["", _row("relation", "n", "head", "accuracy", "95 %", "best offset", "better by", "p", "untrained twin", "published (best offset)"), "|---" * 10 + "|"]  # fmt: skip
        lines += [_line(row) for row in rows if row["n"] >= FEWEST]
        rare = [row["relation"] for row in rows if row["n"] < FEWEST]
        if rare:
            lines += ["", f"With fewer than {FEWEST} cases, in the tables only: {', '.join(rare)}."]
    lines += ["", "## How they were made", ""]
    lines += [_made(folder, result) for folder, result in zip(folders, results, strict=True)]
    RESULTS.mkdir(exist_ok=True)
    (RESULTS / "relations.md").write_text("\n".join([*lines, ""]), encoding="utf-8")
    print(f"page: {RESULTS / 'relations.md'}")


def _line(row: dict[str, Any]) -> str:
    from attlas.ids import paper_label
    from attlas.reports.relations import sure

    value = f"{100 * row['value']:.1f}"
    published = ""
    if row["published"] is not None:
        published = f"{row['published_relation']} {row['published_head']}: {100 * row['published']:.1f} ({100 * row['published_baseline']:.1f})"
    p = row["p_adjusted"]
    return _row(
        row["relation"],
        f"{row['n']:,}",
        f"{paper_label(row['layer'], row['head'])} {row['direction']}",
        f"**{value}**" if sure(row) else value,
        f"{100 * row['low']:.1f}–{100 * row['high']:.1f}",
        f"{100 * row['baseline']:.1f} ({row['offset']:+d})",
        f"{100 * row['margin']:+.1f}",
        "" if p is None else "< .001" if p < 0.001 else f"{p:.3f}",
        f"{100 * row['twin']:.1f} ({100 * row['twin_low']:.1f}–{100 * row['twin_high']:.1f})",
        published,
    )


def _made(folder: Path, result: Any) -> str:
    m = result.manifest
    options = m.plan["options"]
    select = m.plan["corpus"].get("select")
    command = f"attlas relations {m.corpus['name']}" + (f" --select {select['name']}" if select else "")
    command += f" --model {m.model['name']} --measure {options['measure']}" + (
        f" --limit {options['limit']}" if options["limit"] else ""
    )
    skipped = "; ".join(f"{reason}: {count:,}" for reason, count in m.skipped.items()) or "nothing"
    chosen = f", heads chosen on {select['name']} (sha256 {select['sha256'][:16]})" if select else ""
    return (
        f"- `{command}` on {m.started[:10]}, seed {m.seed}, {m.seconds:.0f} s (folder {folder.name}): chosen on {m.corpus['chosen_on']:,}, scored on "
        f"{m.corpus['scored_on']:,} sentences; model fingerprint {m.model['fingerprint']}; corpus sha256 {m.corpus['sha256'][:16]}{chosen}; cut or left out: {skipped}."
    )


def _plain(html: str) -> str:
    import re

    spans = re.sub(r'<span class="published">(.*?)</span>', r" Published: \1", html)
    return re.sub(r"</?[bi]>", "*", spans).replace("&lt;", "<").replace("&amp;", "&")


def _row(*cells: str) -> str:
    return "| " + " | ".join(cells) + " |"
