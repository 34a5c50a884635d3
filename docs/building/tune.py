"""docs/results/tune.md from folders that ``attlas tune`` has written: what was trained, on what, and how well it went."""

from __future__ import annotations

import json
from datetime import date
from pathlib import Path
from typing import Any

RESULTS = Path(__file__).resolve().parents[1] / "results"


def build(folders: list[Path]) -> None:
    """Write the page."""
    records = [json.loads((folder / "training.json").read_text(encoding="utf-8")) for folder in folders]
    lines = [
        "# Models that were trained for tasks",
        "",
        f"Written by `python docs/build.py tune FOLDER ...` on {date.today()}, from the `training.json` of each. The score is on the held-out texts that also chose the",
        "best pass; scores on test sets stand in [ablate.md](ablate.md). *Majority* is the score of always giving the most frequent label, where that is a score at all.",
        "",
        _row("model", "from", "task", "learned from", "held out", "passes (best)", "rate", "held-out score", "majority", "seconds", "on", "date"),
        "|---" * 12 + "|",
    ]  # fmt: skip
    lines += [_line(folder, record) for folder, record in zip(folders, records, strict=True)]
    lines += ["", "Versions: " + "; ".join(sorted({_versions(record) for record in records})) + ".", ""]
    RESULTS.mkdir(exist_ok=True)
    (RESULTS / "tune.md").write_text("\n".join(lines), encoding="utf-8")
    print(f"page: {RESULTS / 'tune.md'}")


def _line(folder: Path, record: dict[str, Any]) -> str:
    plan, curve, score = record["plan"], record["curve"], record["score"]
    majority = record.get("majority")
    held = plan["corpus"].get("validation", plan["corpus"].get("dev", {})).get("name", "a tenth of it")
    return _row(
        folder.name, plan["model"]["name"], plan["options"]["task"],
        f"{plan['corpus']['name']}: {record['texts']['learned']:,} texts", f"{held}: {record['texts']['held_out']:,} texts",
        f"{curve[-1]['epoch']} ({record['best_epoch']})", f"{plan['options']['rate']:g}", f"{score['name']} {score['value']:.4f}",
        "" if majority is None else f"{majority:.4f}", f"{record['seconds']:,.0f}", record["device"], record["started"][:10],
    )  # fmt: skip


def _versions(record: dict[str, Any]) -> str:
    return ", ".join(f"{name} {version}" for name, version in record["versions"].items() if name != "attlas")


def _row(*cells: str) -> str:
    return "| " + " | ".join(cells) + " |"
