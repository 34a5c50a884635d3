"""Choosing rows: the pieces of a long text that are looked from.

A row is named by its place in the text, counted from 1 as layers and heads are: "7", "5000..5200", "last:200", or
several of these. What is kept are spans, from 0 and without their ends, in the order of the text and each row once.
"""

from __future__ import annotations

import re
from collections.abc import Iterable

from attlas.errors import CapabilityError, TextError
from attlas.ids import refuse_number

Rows = str | Iterable[str]
Span = tuple[int, int]

_NAMED = re.compile(r"(?P<first>\d{1,9})(?:\.\.(?P<end>\d{1,9}))?|last:(?P<last>\d{1,9})")


def parse_rows(given: Rows) -> dict[str, Span]:
    """The spans that labels name, label by label, whatever the text: those from its end are below 0.

    >>> parse_rows("7,5000..5200,last:200")
    {'7': (6, 7), '5000..5200': (4999, 5200), 'last:200': (-200, 0)}
    >>> parse_rows("5000-5200")
    Traceback (most recent call last):
        ...
    attlas.errors.CapabilityError: '5000-5200' does not name rows; write places in the text counted from 1, such as
    '7', '5000..5200' or 'last:200'
    """
    refuse_number(given, "row")
    labels = given.split(",") if isinstance(given, str) else list(given)
    if not labels or labels == [""]:
        raise CapabilityError("no row was asked for; give at least one, or leave it out for all")
    spans = {}
    for label in labels:
        refuse_number(label, "row")
        written = label.strip() if isinstance(label, str) else ""
        found = _NAMED.fullmatch(written)
        if found is None or 0 in map(int, filter(None, found.groups())):
            raise CapabilityError(
                f"{label!r} does not name rows; write places in the text counted from 1, such as '7', '5000..5200' "
                "or 'last:200'"
            )
        if found["last"]:
            spans[written] = (-int(found["last"]), 0)
            continue
        first, end = int(found["first"]), int(found["end"] or found["first"])
        if end < first:
            raise CapabilityError(f"{written!r} names no rows, for it ends before it begins; write '{end}..{first}'")
        spans[written] = (first - 1, end)
    return spans


def spans_of(given: Rows | None, count: int) -> tuple[Span, ...]:
    """The rows asked for in a text of so many pieces, as spans that do not touch; none where all of them are.

    >>> spans_of("last:3,2..4,5", 20), spans_of(None, 20), spans_of("1..20", 20)
    (((1, 5), (17, 20)), (), ())
    >>> spans_of("5000..5200", 20)
    Traceback (most recent call last):
        ...
    attlas.errors.TextError: this text has no rows 5000..5200; its pieces are 1 to 20
    """
    if given is None:
        return ()
    placed = []
    for label, (start, stop) in parse_rows(given).items():
        first, end = (start, stop) if start >= 0 else (count + start, count)
        if first < 0 or end > count:
            what = f"rows {label}" if ".." in label else label if ":" in label else f"row {label}"
            raise TextError(f"this text has no {what}; its pieces are 1 to {count:,}")
        placed.append((first, end))
    joined: list[Span] = []
    for first, end in sorted(placed):
        if joined and first <= joined[-1][1]:
            joined[-1] = (joined[-1][0], max(end, joined[-1][1]))
        else:
            joined.append((first, end))
    return () if joined == [(0, count)] else tuple(joined)
