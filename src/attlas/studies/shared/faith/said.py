"""What the sentences of both pages are put together with."""

from __future__ import annotations

from collections.abc import Sequence

from attlas.pages import Claim, Prose, Row, keyed, say


def value_claim(table: str, column: str, row: Row, *keys: str) -> Claim:
    """The claim that a row, by the columns that tell it from others, has the value it has.

    >>> value_claim("bend", "at", {"attention": "kl", "at": 0.3}, "attention").value
    0.3
    """
    return Claim("value", table, column, keyed([row], *keys), value=row[column])


def joined(parts: Sequence[Prose], between: str = " ") -> Prose:
    """Several sentences or clauses, one after the other.

    >>> str(joined([say("One."), say("Two.")]))
    'One. Two.'
    """
    slots = between.join(f"{{part{at}}}" for at in range(len(parts)))
    return say(slots, **{f"part{at}": part for at, part in enumerate(parts)})
