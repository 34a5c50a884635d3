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
    """The table of an ablation with the rank of each head: 1 is the one without which F1 falls most.

    >>> from attlas.store import Manifest
    >>> table = {"head": [0, 1], "change": [0.1, -0.1], "loss_change": [0.0, 0.0]}
    >>> ranked(Result(Manifest("ablate"), {"ablation": table}))["rank"]
    [2, 1]
    """
    rows = ablation.rows("ablation")
    order = sorted(range(len(rows)), key=lambda row: (rows[row]["change"], -rows[row]["loss_change"]))
    ranks = {row: rank for rank, row in enumerate(order, start=1)}
    return as_columns([{**row, "rank": ranks[number]} for number, row in enumerate(rows)])


def curve_of(removal: Result) -> dict[str, Any]:
    """The curves of removal under the names that they have here.

    >>> from attlas.store import Manifest
    >>> step = {"order": ["score"], "draw": [0], "heads": [3], "share": [0.25], "score": [0.5], "low": [0.4]}
    >>> step |= {"high": [0.6], "loss": [1.0], "n": [9]}
    >>> curve_of(Result(Manifest("prune"), {"curve": step}))["order"]
    ['worst first']
    """
    return as_columns(
        [
            {
                "order": NAMES.get(row["order"], row["order"]), "draw": row["draw"], "removed": row["heads"],
                **{name: row[name] for name in ("share", "score", "low", "high", "loss", "n")},
            }
            for row in removal.rows("curve")
        ]
    )  # fmt: skip


def passes_of(stage: str, record: Mapping[str, Any]) -> list[dict[str, Any]]:
    """What was seen after each pass of a training.

    >>> passes_of("tuned", {"curve": [{"epoch": 1, "loss": 1.0, "held_loss": 2.0, "score": 0.5}], "best_epoch": 1})
    [{'stage': 'tuned', 'epoch': 1, 'loss': 1.0, 'validation_loss': 2.0, 'score': 0.5, 'best': True}]
    """
    return [
        {
            "stage": stage, "epoch": row["epoch"], "loss": row["loss"], "validation_loss": row["held_loss"],
            "score": row["score"], "best": row["epoch"] == record["best_epoch"],
        }
        for row in record["curve"]
    ]  # fmt: skip


def size_of(stage: str, model: Subject, tuned: Subject) -> dict[str, Any]:
    """How large a tagger is.

    >>> from attlas.capture import load
    >>> size_of("tuned", load(), load())["heads"]
    72
    """
    heads, every = (
        sum(count for site, count in one.layout.heads.items() if one.kept[site]) for one in (model, tuned)
    )  # fmt: skip
    return {
        "stage": stage, "parameters": model.describe()["parameters"], "heads": heads, "kept": heads / every,
        "metric": "chunk F1",
    }  # fmt: skip
