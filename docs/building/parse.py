"""docs/results/parse.md: the parsing probes, ours beside the figures that Clark et al. published."""

from __future__ import annotations

from datetime import date
from pathlib import Path
from typing import Any

PAGE = Path(__file__).resolve().parents[1] / "results" / "parse.md"


def build(folders: list[Path]) -> None:
    """Read result folders of ``attlas parse`` and write the page."""
    from attlas.reports.parse_findings import findings
    from attlas.store import Result

    results = [Result.open(folder) for folder in folders]
    tables = [{name: table.to_pylist() for name, table in result.tables.items()} for result in results]
    names = [f"{r.manifest.model['name']} on {r.manifest.corpus['name']}" for r in results]
    probes = list(dict.fromkeys(row["probe"] for found in tables for row in found["parse"]))
    lines = [
        "# Parsing from attention: ours beside the published figures",
        "",
        f"Written by `python docs/build.py parse FOLDER ...` on {date.today()}. Per cent of words, punctuation aside,",
        "whose governor was found on test (UAS), with 95 % intervals by sentence; * of edges, without direction (UUAS).",
        "Published: bert-base-uncased on the Wall Street Journal with Stanford dependencies (Clark et al. 2019, table 3); no",
        "machine of ours has that model, and the treebank is another, so what must agree is the order of the rows.",
        "",
        _row("probe", "published", *names),
        "|---" * (2 + len(names)) + "|",
    ]
    for probe in probes:
        found = [next((row for row in one["parse"] if row["probe"] == probe), None) for one in tables]
        known = next(row for row in found if row is not None)
        published = "" if known["published"] is None else f"{100 * known['published']:.0f}"
        star = "*" if known["metric"] == "UUAS" else ""
        lines.append(_row(probe + star, published, *(_score(row) for row in found)))
    for name, found in zip(names, tables, strict=True):
        lines += ["", f"## {name}", ""]
        lines += [f"- {_plain(finding.text)}" for finding in findings(found)]
        lines += [f"- {text}" for text in (*_layers(found), *_costs(found))]
    lines += ["", "## How they were made", ""]
    lines += [_made(folder, result) for folder, result in zip(folders, results, strict=True)]
    PAGE.parent.mkdir(exist_ok=True)
    PAGE.write_text("\n".join([*lines, ""]), encoding="utf-8")
    print(f"page: {PAGE}")


def _score(row: dict[str, Any] | None) -> str:
    if row is None:
        return "n/a"
    chosen = f", {row['chosen']}" if row["chosen"] and row["probe"] != "right-branching" else ""
    return f"**{100 * row['value']:.1f}** ({100 * row['low']:.1f}–{100 * row['high']:.1f}{chosen})"


def _layers(found: dict[str, Any]) -> list[str]:
    rows = found.get("structural_layers", [])
    said = []
    for model in dict.fromkeys(row["model"] for row in rows):
        values = ", ".join(f"{100 * row['dev_uuas']:.1f}" for row in rows if row["model"] == model)
        said.append(f"Structural probe on dev by layer of states, {model}, from 0: {values}.")
    return said


def _costs(found: dict[str, Any]) -> list[str]:
    trained = [row for row in found["parse"] if row["epochs"]]
    listed = "; ".join(
        f"{row['probe']} {row['parameters']:,} parameters, {row['epochs']} epochs, {row['seconds']:.0f} s"
        for row in trained
    )
    return [f"Cost: {listed}."]


def _made(folder: Path, result: Any) -> str:
    m = result.manifest
    options = m.plan["options"]
    command = f"attlas parse {m.corpus['name']}"
    command += "".join(
        f" --{part} {m.corpus[part]['name']}" for part in ("dev", "test") if isinstance(m.corpus.get(part), dict)
    )
    command += f" --model {m.model['name']} --vectors {options['vectors']}"
    command += f" --limit {options['limit']}" if options["limit"] else ""
    parts = ", ".join(f"{name} {part['sentences']:,} sentences" for name, part in m.corpus["parts"].items())
    vectors = m.corpus["vectors"]
    skipped = "; ".join(f"{reason}: {count:,}" for reason, count in m.skipped.items()) or "nothing"
    return (
        f"- `{command}` on {m.started[:10]}, seed {m.seed}, {m.seconds:.0f} s (folder {folder.name}): {parts}; vectors of "
        f"{vectors['size']} numbers for {100 * vectors['known'] / vectors['words']:.1f} % of the words; model fingerprint "
        f"{m.model['fingerprint']}; corpus sha256 {m.corpus['sha256'][:16]}; left out: {skipped}."
    )


def _plain(html: str) -> str:
    for tag, mark in (("<b>", "**"), ("</b>", "**"), ("<i>", "*"), ("</i>", "*")):
        html = html.replace(tag, mark)
    return html


def _row(*cells: str) -> str:
    return "| " + " | ".join(cells) + " |"
