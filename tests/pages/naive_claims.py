"""Claims asked of plain lists, with loops and nothing of what pages are made with: the slow twin of ``holds``."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

from attlas.pages import Claim

Cells = Sequence[Mapping[str, Any]]


def known(value: Any) -> bool:
    """Whether a cell holds something."""
    return value is not None and value == value and value not in (math.inf, -math.inf)


def same(one: Any, other: Any) -> bool:
    """Whether two cells hold the same number."""
    return known(one) and known(other) and abs(one - other) <= 1e-9 + 1e-6 * max(abs(one), abs(other))


def chosen(rows: Cells, wanted: Mapping[str, Any]) -> list[Mapping[str, Any]]:
    """The rows with these values."""
    kept = []
    for row in rows:
        fits = True
        for name, value in wanted.items():
            allowed = value if isinstance(value, list | tuple | set) else [value]
            if row.get(name) not in allowed:
                fits = False
        if fits:
            kept.append(row)
    return kept


def is_so(claim: Claim, rows: Cells) -> bool:
    """Whether a claim is true of the rows of its table."""
    rows = chosen(rows, claim.among)
    named = []
    for key in claim.rows:
        own = chosen(rows, key)
        if len(own) != 1 and claim.kind not in ("above", "below"):
            return False
        named += own
    values = [row[claim.column] for row in rows if known(row.get(claim.column))]
    cells = [row.get(claim.column) for row in named]
    match claim.kind:
        case "largest" | "smallest":
            ordered = sorted(values, reverse=claim.kind == "largest")
            return bool(cells) and all(same(*pair) for pair in zip(cells, ordered[: len(cells)], strict=True))
        case "value":
            return len(cells) == 1 and same(cells[0], claim.value)
        case "mean":
            return bool(values) and same(math.fsum(values) / len(values), claim.value)
        case "median":
            ordered = sorted(values)
            middle = len(ordered) // 2
            if not ordered:
                return False
            return same(ordered[middle] if len(ordered) % 2 else (ordered[middle - 1] + ordered[middle]) / 2,
                        claim.value)  # fmt: skip
        case "total":
            return same(math.fsum(values), claim.value)
        case "difference" | "ratio":
            first, second = cells if len(cells) == 2 else (cells[0], named[0].get(claim.than))
            if not known(first) or not known(second):
                return False
            return same(first - second if claim.kind == "difference" else first / second, claim.value)
        case "distinct":
            return len({row[claim.column] for row in rows if known(row.get(claim.column))}) == claim.value
    passed = 0
    asked = named if claim.rows else rows
    for row in asked if claim.kind in ("above", "below") else rows:
        value, bar = row.get(claim.column), row.get(claim.than) if isinstance(claim.than, str) else claim.than
        if known(value) and known(bar):
            value = abs(value) if claim.size else value
            down = claim.below if claim.kind == "count" else claim.kind == "below"
            passed += (value < bar) if down else (value > bar)
    return passed == claim.value if claim.kind == "count" else 0 < passed == len(asked)
