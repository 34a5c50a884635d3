"""The claims that the sentences of both pages make of single rows."""

from __future__ import annotations

from attlas.pages import Claim, Row, keyed


def value_claim(table: str, column: str, row: Row, *keys: str) -> Claim:
    """The claim that a row, by the columns that tell it from others, has the value it has.

    >>> value_claim("bend", "at", {"attention": "kl", "at": 0.3}, "attention").value
    0.3
    """
    return Claim("value", table, column, keyed([row], *keys), value=row[column])
