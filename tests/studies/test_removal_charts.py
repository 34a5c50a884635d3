"""Rows that charts of removal show, and how intervals are written, by hand."""

from __future__ import annotations

from typing import Any

import pytest

from attlas.pages import Tables
from attlas.store import Manifest, Result
from attlas.studies.shared.cutting.effects import as_heads_go, between, worst_first

NAMES = ("order", "share", "gone", "score", "low", "high", "loss")
CURVE = [
    ("loss", 0.5, 6, 0.8, 0.7, 0.85, 1.0), ("loss", 1.0, 12, 0.4, None, None, 2.0),
    ("random", 0.5, 6, 0.7, 0.1, 0.9, 1.5), ("random", 0.5, 6, 0.5, 0.1, 0.9, 2.5),
]  # fmt: skip


def test_draws_of_chance_are_one_line_with_their_range() -> None:
    """Orders keep the intervals they have; of chance the least and the most that was drawn is shown."""
    columns = {name: list(cells) for name, cells in zip(NAMES, zip(*CURVE, strict=True), strict=True)}
    curve = Tables(Result(Manifest("prune"), {"curve": columns}))["curve"]
    rows = [tuple(row[name] for name in NAMES) for row in as_heads_go(curve, "gone")]
    assert rows == [
        ("loss", 0.5, 6, 0.8, 0.7, 0.85, 1.0),
        ("loss", 1.0, 12, 0.4, None, None, 2.0),
        ("random", 0.5, 6, pytest.approx(0.6), 0.5, 0.7, 2.0),
    ]


@pytest.mark.parametrize(
    ("low", "high", "said"),
    [
        (-0.1, 0.2, "(−0.10 to +0.20)"), (None, 0.2, "(too few texts for an interval)"),
        (-0.1, None, "(too few texts for an interval)"), (float("nan"), 0.2, "(too few texts for an interval)"),
    ],
)  # fmt: skip
def test_an_interval_has_two_ends(low: Any, high: Any, said: str) -> None:
    assert str(between({"low": low, "high": high}, "signed")).strip() == said


def test_of_equal_scores_the_larger_loss_is_worse() -> None:
    rows: Any = [{"harm": 0.1, "loss_change": change} for change in (None, 0.3, -0.2)] + [
        {"harm": 0.2, "loss_change": 0}
    ]
    assert [(row["harm"], row["loss_change"]) for row in worst_first(rows)] == [
        (0.2, 0), (0.1, 0.3), (0.1, None), (0.1, -0.2),
    ]  # fmt: skip
