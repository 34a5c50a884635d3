"""The tables of a tagger of key phrases, from what its parts have left."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from attlas.store import Result
from attlas.store.columns import as_columns

if TYPE_CHECKING:
    from attlas.capture import Subject

NAMES = {"score": "worst first", "score reversed": "best first"}  # orders, as they are called here


def ranked(ablation: Result) -> dict[str, Any]:
    """The table of an ablation with the rank of each head: 1 is the one without which F1 falls most."""
    rows = ablation.rows("ablation")
    order = sorted(range(len(rows)), key=lambda row: (rows[row]["change"], -rows[row]["loss_change"]))
    ranks = {row: rank for rank, row in enumerate(order, start=1)}
    return as_columns([{**row, "rank": ranks[number]} for number, row in enumerate(rows)])


def curve_of(removal: Result) -> dict[str, Any]:
    """The curves of removal under the names that they have here."""
    rows = []
    for row in removal.rows("curve"):
        same = {name: row[name] for name in ("share", "score", "low", "high", "loss", "n")}
        order = NAMES.get(row["order"], row["order"])
        rows.append({"order": order, "draw": row["draw"], "removed": row["heads"], **same})
    return as_columns(rows)


def passes_of(stage: str, record: Mapping[str, Any]) -> list[dict[str, Any]]:
    """What was seen after each pass of a training."""
    return [
        {
            "stage": stage, "epoch": row["epoch"], "loss": row["loss"], "validation_loss": row["held_loss"],
            "score": row["score"], "best": row["epoch"] == record["best_epoch"],
        }
        for row in record["curve"]
    ]  # fmt: skip


def size_of(stage: str, model: Subject, tuned: Subject) -> dict[str, Any]:
    """How large a tagger is."""
    heads, every = (
        sum(count for site, count in each.layout.heads.items() if each.kept[site]) for each in (model, tuned)
    )
    return {
        "stage": stage, "parameters": model.describe()["parameters"], "heads": heads, "kept": heads / every,
        "metric": "chunk F1",
    }  # fmt: skip
