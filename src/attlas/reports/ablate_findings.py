"""How old pages write a head and a change; it leaves with the last of them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from attlas.reports.findings import number

from attlas.ids import paper_label

LEVEL = 0.01

Row = Mapping[str, Any]


def label(row: Row, *, stream: bool = True) -> str:
    """A head in the papers' form, with its stream where that is not plain.

    >>> label({"stream": "cross", "layer": 5, "head": 2}), label({"stream": "encoder", "layer": 0, "head": 0})
    ('cross 6-3', '1-1')
    """
    name = paper_label(row["layer"], row["head"])
    return f"{row['stream']} {name}" if stream and row["stream"] == "cross" else name


def signed(value: float | None) -> str:
    """A change.

    >>> signed(0.0123), signed(-1.5), signed(0.0), signed(None)
    ('+.012', '−1.50', '0', '')
    """
    if value is None:
        return ""
    if value == 0:
        return "0"
    size = abs(value)
    text = f"{size:.1e}" if size < 0.001 else number(size)
    return ("−" if value < 0 else "+") + text
