"""docs/models.md: which families attlas reads, what can be done with them and by which way, from the tables of the
sweep: ``table.jsonl`` of families built tiny, ``real.jsonl`` of real models examined by the doctor."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable
from pathlib import Path
from string import Template
from typing import Any

HERE = Path(__file__).parent
TABLE, REAL = HERE / "table.jsonl", HERE / "real.jsonl"
TEMPLATE = HERE / "models.md"
PAGE = HERE.parents[1] / "docs" / "models.md"
Row = dict[str, Any]
SEEN = ("exact", "fallback")
COLUMNS = ("model_type", "class", "layers", "way", "off by", "heads closed", "norms", "writing", "remarks")
REFUSALS = ("model_type", "class", "what is said")


def write_page() -> Path:
    """Write the page from both tables as they are."""
    PAGE.write_text(page(rows_of(TABLE), rows_of(REAL)), encoding="utf-8")
    return PAGE


def rows_of(file: Path) -> list[Row]:
    """The rows of a table; none where it was never made."""
    return [json.loads(line) for line in file.read_text(encoding="utf-8").splitlines()] if file.exists() else []


def page(families: list[Row], real: list[Row]) -> str:
    """The whole page."""
    counts = Counter(row["class"] for row in families)
    seen = [row for row in families if row["class"] in SEEN]
    unseen = [row for row in families if row["class"] not in SEEN]
    return Template(TEMPLATE.read_text(encoding="utf-8")).substitute(
        {kind: counts[kind] for kind in ("exact", "fallback", "refused", "wrong", "traceback")},
        all=len(families),
        unbuilt=counts["not built"],
        version=", ".join(sorted({row["transformers"] for row in families})),
        families=_table(COLUMNS, [_family(row) for row in seen]),
        refusals=_table(REFUSALS, [(row["family"], row["model"], _said(row)) for row in unseen]),
        real=_real(real),
    )


def _family(row: Row) -> tuple[str, ...]:
    answers = row["answers"]
    runs = "fallback" if row["way"] == "softmax" else row["runs"]
    weights = answers["weights"]
    remarks = [
        f"{name}: {answers[name]['note']}" for name in ("weights", "gates", "generation") if _odd(answers[name])
    ]
    remarks += [f"doctor: no, {answers['doctor']['note']}"] if answers["doctor"]["verdict"] == "says no" else []
    remarks += [f"load: {answers['load']['note']}"] if answers["load"]["verdict"] == "refused" else []
    return (
        row["family"], row["model"], row["streams"], f"{runs}, {row['statistics']}",
        f"{weights['number']:.0e}" if weights["number"] is not None else "-",
        *(_yes(answers[name]) for name in ("gates", "norms", "generation")), "; ".join(remarks),
    )  # fmt: skip


def _odd(answer: Row) -> bool:
    """Whether an answer needs a remark: not asked for another reason than that there is nothing to ask."""
    return answer["verdict"] == "not asked" and not answer["note"].startswith(
        ("it does not write", "it has no decoder")
    )


def _yes(answer: Row) -> str:
    return {"exact": "yes", "refused": "no"}.get(answer["verdict"], "-")


def _said(row: Row) -> str:
    answer = row["answers"].get("adopt", {"note": row["reason"]})
    return str(answer["note"]).partition(" [the model itself")[0]


def _real(rows: list[Row]) -> str:
    if not rows:
        return "No real model has been examined yet."
    lines = [
        ("layers and heads", *(row["streams"] for row in rows)),
        ("opened in, s", *(f"{row['load_seconds']:.1f}" for row in rows)),
        ("doctor, s", *(f"{row['doctor_seconds']:.0f}" for row in rows)),
        ("on", *(row["date"] for row in rows)),
    ]
    for question in dict.fromkeys(finding["name"] for row in rows for finding in row["findings"]):
        answers = [{finding["name"]: finding for finding in row["findings"]}.get(question) for row in rows]
        lines.append((question, *map(_answer, answers)))
    return _table(("", *(row["model"] for row in rows)), lines)


def _answer(finding: Row | None) -> str:
    if finding is None or finding["passed"] is None:
        return "n/a"
    if not finding["passed"]:
        return f"no: {finding['note']}"
    return "yes" if finding["error"] is None else f"{finding['error']:.0e}"


def _table(heads: Iterable[str], rows: Iterable[Iterable[str]]) -> str:
    heads = list(heads)
    first, *lines = ("| " + " | ".join(cell.replace("|", "\\|") for cell in row) + " |" for row in [heads, *rows])
    return "\n".join([first, "|---" * len(heads) + "|", *lines])
