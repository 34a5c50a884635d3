"""docs/results/coref.md from result folders of ``attlas coref``: ours beside what was published."""

from __future__ import annotations

import re
from datetime import date
from pathlib import Path
from typing import Any

RESULTS = Path(__file__).resolve().parents[1] / "results"
SHOWN = (
    ("best head", "mentions"),
    ("best for its kind", "mentions"),
    ("best head", "preceding"),
    ("best for its kind", "preceding"),
    ("best head", "words"),
    ("nearest", "preceding"),
    ("head match", "preceding"),
    ("sieve", "preceding"),
    ("untrained twin", "mentions"),
    ("untrained twin", "preceding"),
    ("untrained twin", "words"),
    ("chance", "mentions"),
    ("chance", "preceding"),
    ("chance", "words"),
)


def build(folders: list[Path]) -> None:
    """Write the page."""
    from attlas.reports.coref import findings
    from attlas.store import Result

    results = [Result.open(folder) for folder in folders]
    lines = [
        "# Coreference by head: ours beside the published figures",
        "",
        f"Written by `python docs/build.py coref FOLDER ...` on {date.today()}. Per cent of mentions whose choice is an antecedent, with 95 % intervals (bootstrap by",
        "document); heads were chosen on other documents. Heads count from 1; *to* is the mention attending, *from* the antecedent. **Bold** beats head match on",
        "the same mentions (p < .01, Holm). Published: Clark et al. 2019, BERT-base on CoNLL-2012, one head throughout (5-4); a neural system there has 83 over all.",
    ]
    for result in results:
        rows = result.table.to_pylist()
        found = {(row["kind"], row["candidates"], row["who"]): row for row in rows}
        kinds = list(dict.fromkeys(row["kind"] for row in rows))
        m = result.manifest
        lines += ["", f"## {m.model['name']}, {m.plan['options']['measure']}s, {m.corpus['name']}", ""]
        lines += [f"- {_plain(text)}" for text in findings(found, result.tables["coref_heads"])]
        sizes = {row["kind"]: row["n"] for row in rows}
        lines += ["", _row("who", "among", *(f"{kind} (n {sizes[kind]:,.0f})" for kind in kinds), "published"), "|---" * (3 + len(kinds)) + "|"]  # fmt: skip
        for who, candidates in SHOWN:
            told = [found.get((kind, candidates, who)) for kind in kinds]
            published = [
                f"{100 * row['published']:.0f}" for row in told if row is not None and row["published"] is not None
            ]
            lines.append(_row(who, candidates, *map(_cell, told), " / ".join(published)))
    lines += ["", "## How they were made", ""]
    lines += [_made(folder, result) for folder, result in zip(folders, results, strict=True)]
    RESULTS.mkdir(exist_ok=True)
    (RESULTS / "coref.md").write_text("\n".join([*lines, ""]), encoding="utf-8")
    print(f"page: {RESULTS / 'coref.md'}")


def _cell(row: dict[str, Any] | None) -> str:
    from attlas.ids import paper_label

    if row is None:
        return ""
    value = f"{100 * row['value']:.1f}"
    if row["p_head_match"] is not None and row["p_head_match"] < 0.01:
        value = f"**{value}**"
    head = "" if row["layer"] is None else f", {paper_label(row['layer'], row['head'])} {row['direction']}"
    return f"{value} ({100 * row['low']:.0f}–{100 * row['high']:.0f}{head})"


def _made(folder: Path, result: Any) -> str:
    m = result.manifest
    options, select = m.plan["options"], m.plan["corpus"].get("select")
    command = f"attlas coref {m.corpus['name']}" + (f" --select {select['name']}" if select else "")
    command += f" --model {m.model['name']} --measure {options['measure']} --max-pieces {options['max_pieces']}"
    chosen = f", heads chosen on {select['name']} (sha256 {select['sha256'][:16]})" if select else ""
    skipped = "; ".join(f"{reason}: {count:,}" for reason, count in m.skipped.items()) or "nothing"
    asked = m.corpus["mentions_chosen_on"] + m.corpus["mentions_scored_on"]
    return (
        f"- `{command}` on {m.started[:10]}, seed {m.seed}, {m.seconds:.0f} s (folder {folder.name}): chosen on {m.corpus['mentions_chosen_on']:,}, scored on "
        f"{m.corpus['mentions_scored_on']:,} mentions ({100 * asked / m.corpus['mentions_with_an_antecedent']:.1f} % of all with an antecedent); model fingerprint "
        f"{m.model['fingerprint']}; corpus sha256 {m.corpus['sha256'][:16]}{chosen}; cut or left out: {skipped}."
    )


def _plain(html: str) -> str:
    spans = re.sub(r'<span class="published">(.*?)</span>', r" Published: \1", html)
    return re.sub(r"</?[bi]>", "*", spans).replace("&lt;", "<").replace("&amp;", "&")


def _row(*cells: str) -> str:
    return "| " + " | ".join(cells) + " |"
