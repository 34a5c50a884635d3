"""What a study found: a sentence, and the claim that it makes.

A sentence can be read by a person and a :class:`Claim` by a test: which rows of which table it speaks of, what it
says of them, and compared with what. :func:`holds` asks the tables whether it is so. A finding whose sentence and
claim are made of the same numbers cannot say one thing and mean another.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from statistics import fmean, median
from typing import Any

from attlas.pages.prose import Prose, say
from attlas.pages.rows import Row, Rows, Tables
from attlas.store.schema import is_known

KINDS = (
    "largest", "smallest", "value", "mean", "median", "total", "difference", "ratio", "distinct", "above", "below",
    "count",
)  # fmt: skip


@dataclass(frozen=True)
class Claim:
    """What a sentence says of a table.

    Of the rows of ``table`` that have the values ``among``:

    - ``largest``, ``smallest``: the rows ``rows`` are those with the largest (smallest) ``column``, in this order;
    - ``value``: the one row that ``rows`` names has ``value`` in ``column``;
    - ``mean``, ``median``, ``total``: the mean (median, sum) of ``column`` is ``value``; of these and of ``value``, a
      number ``than`` is what a sentence tells the value as a multiple of;
    - ``difference``, ``ratio``: ``value`` is what ``column`` of the first of two ``rows`` is more than (over) that of
      the second, or, with one row, than its column ``than``;
    - ``distinct``: ``column`` has ``value`` different values;
    - ``above``, ``below``: in each of ``rows`` (all, where none is named) ``column`` is above (below) ``than``, a
      number or another column;
    - ``count``: ``value`` rows have a ``column`` above ``than`` (below it, with ``below=True``; with ``size=True``
      the size of the column counts).

    >>> Claim("largest", "heads", "value", rows=[{"layer": 2, "head": 0}]).kind
    'largest'
    """

    kind: str
    table: str
    column: str
    rows: list[Mapping[str, Any]] = field(default_factory=list)
    among: Mapping[str, Any] = field(default_factory=dict)
    value: float | None = None
    than: float | str | None = None
    below: bool = False
    size: bool = False

    def __post_init__(self) -> None:
        if self.kind not in KINDS:
            raise ValueError(f"there is no kind of claim {self.kind!r}; choose one of {', '.join(KINDS)}")


@dataclass(frozen=True)
class Finding:
    """A sentence with the claims it makes; ``see`` is the key of the section that shows it, ``published`` what others
    have found.

    >>> from attlas.pages.prose import say
    >>> str(Finding(say("Head {head} leads.", head="3-1")).text)
    'Head 3-1 leads.'
    """

    text: Prose
    claims: tuple[Claim, ...] = ()
    see: str = ""
    published: str = ""


def keyed(rows: Iterable[Row], *columns: str) -> list[Mapping[str, Any]]:
    """Rows by the columns that tell them apart; stream, layer and head where none are named.

    >>> keyed([{"stream": "encoder", "layer": 0, "head": 1, "value": 0.5}])
    [{'stream': 'encoder', 'layer': 0, 'head': 1}]
    """
    names = columns or ("stream", "layer", "head")
    return [{name: row[name] for name in names} for row in rows]


def value_claim(table: str, column: str, row: Row, *keys: str) -> Claim:
    """The claim that a row, by the columns that tell it from others, has the value it has.

    >>> value_claim("bend", "at", {"attention": "kl", "at": 0.3}, "attention").value
    0.3
    """
    return Claim("value", table, column, keyed([row], *keys), value=row[column])


def mean_claims(tables: Tables, table: str, among: Mapping[str, Any], *columns: str) -> list[Claim]:
    """The claims that columns have the means they have, of those that are known at all.

    >>> from attlas.store import Manifest, Result
    >>> tables = Tables(Result(Manifest("toy"), {"heads": {"value": [0.5, 0.9], "norm": [None, None]}}))
    >>> [claim.value for claim in mean_claims(tables, "heads", {}, "value", "norm")]
    [0.7]
    """
    means = {column: tables[table].where(**dict(among)).mean(column) for column in columns}
    return [
        Claim("mean", table, column, among=among, value=mean) for column, mean in means.items() if mean is not None
    ]


def finding(text: str, /, *claims: Claim, see: str = "", published: str = "", **values: Any) -> Finding:
    """A finding whose sentence is a template, filled with these values; a row may be handed whole.

    >>> str(finding("Head {head} has {value:percent} %.", head="3-1", **{"value": 0.5, "low": 0.4}).text)
    'Head 3-1 has 50.0 %.'
    """
    return Finding(say(text, **values), claims, see, published)


def holds(claim: Claim, tables: Tables) -> bool:
    """Whether a claim is true of the tables.

    >>> from attlas.store import Manifest, Result
    >>> tables = Tables(Result(Manifest("toy"), {"heads": {"head": [0, 1, 2], "value": [0.5, 0.9, 0.1]}}))
    >>> holds(Claim("largest", "heads", "value", rows=[{"head": 1}, {"head": 0}]), tables)
    True
    >>> holds(Claim("count", "heads", "value", value=2, than=0.5), tables)
    False
    """
    rows = tables[claim.table].where(**dict(claim.among))
    named = [rows.where(**dict(key)) for key in claim.rows]
    if claim.kind in ("largest", "smallest"):
        ordered = rows.largest(claim.column) if claim.kind == "largest" else rows.smallest(claim.column)
        values = [each[0][claim.column] for each in named if len(each) == 1]
        others = ordered[: len(named)].column(claim.column)
        return 0 < len(named) == len(values) == len(others) and all(map(_same, values, others))
    if claim.kind == "value":
        return len(named) == 1 and len(named[0]) == 1 and _same(named[0][0].get(claim.column), claim.value)
    if claim.kind in ("mean", "median", "total"):
        known = rows.known(claim.column).column(claim.column)
        taken: dict[str, Callable[[list[Any]], float]] = {"mean": fmean, "median": median, "total": sum}
        return _same(taken[claim.kind](known) if known or claim.kind == "total" else None, claim.value)
    if claim.kind in ("difference", "ratio"):
        cells: list[Any] = [each[0].get(claim.column) for each in named if len(each) == 1]
        cells += [named[0][0].get(str(claim.than))] if len(named) == len(cells) == 1 else []
        if len(cells) != 2 or not all(map(is_known, cells)) or (claim.kind == "ratio" and not cells[1]):
            return False
        return _same(cells[0] - cells[1] if claim.kind == "difference" else cells[0] / cells[1], claim.value)
    if claim.kind == "distinct":
        return len(rows.values(claim.column)) == claim.value
    if claim.kind == "count":
        return sum(_passes(row, claim, below=claim.below) for row in rows) == claim.value
    asked = Rows(row for each in named for row in each) if named else rows
    return len(asked) > 0 and all(_passes(row, claim, below=claim.kind == "below") for row in asked)


def _passes(row: Row, claim: Claim, *, below: bool) -> bool:
    value: Any = row.get(claim.column)
    bar: Any = row.get(claim.than) if isinstance(claim.than, str) else claim.than
    if not is_known(value) or not is_known(bar):
        return False
    value = abs(value) if claim.size else value
    return bool(value < bar if below else value > bar)


def _same(value: Any, other: Any) -> bool:
    return is_known(value) and is_known(other) and math.isclose(value, other, rel_tol=1e-6, abs_tol=1e-9)
