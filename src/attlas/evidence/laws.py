"""What must hold of every study that takes part in an atlas, and of every atlas: for studies to test themselves with.

:func:`check_evidence` asks whether the rows of tables with keys are distinct, whether every figure that a schema
declares is there, whether no two quantities have one name, and whether all that is said of heads is true;
:func:`check_atlas` asks the last of the tables of an atlas.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any, cast

from attlas.evidence.figures import figures, repeated
from attlas.evidence.gathering import Told, part_of
from attlas.evidence.portraits import AMONG, OWN, PLACE, claims_of
from attlas.evidence.uniting import joined
from attlas.pages.findings import Claim, holds
from attlas.pages.rows import Row, Rows, Tables
from attlas.store.schema import KINDS, is_known

if TYPE_CHECKING:
    import pyarrow as pa

    from attlas.store import Result

OF_PAIRS = (*(name for name in OWN if name != "quantity"), "order")


def check_evidence(told: Told, result: Result) -> None:
    """Whether a result of a study can take part in an atlas, and what is said of its heads is true.

    >>> from attlas.pages import Page
    >>> from attlas.store import Manifest, Result
    >>> from attlas.store.schema import PLACE, Column, Schema
    >>> heads = Schema("heads", "", *PLACE, Column("value", "share", "share", head=True), keys=())
    >>> columns = {"stream": ["encoder"] * 2, "layer": [0, 0], "head": [1, 1], "value": [0.5, 0.6]}
    >>> page = Page("toy", "", answer=lambda tables: None, schemas=(heads,))
    >>> check_evidence(Told(page), Result(Manifest("toy"), {"heads": columns}))
    Traceback (most recent call last):
        ...
    AssertionError: toy: the table 'heads' has two rows of {'stream': 'encoder', 'layer': 0, 'head': 1}, so ...
    """
    study, tables = result.manifest.study, result.tables
    for schema in told.page.schemas:
        table = tables.get(schema.table)
        if not schema.figures or table is None:
            continue
        twice = repeated(table, schema)
        assert twice is None, (
            f"{study}: the table {schema.table!r} has two rows of {twice}, so its keys do not tell its rows apart"
        )
        lost = [column.name for column in schema.figures if column.name not in table.column_names]
        lost = [name for name in lost if not schema[name].optional]
        assert not lost, f"{study}: the table {schema.table!r} has not the figure {lost[:1]}"
    named, _ = figures(study, tables, told.page.schemas)
    told_of = {(figure.table, figure.column) for figure in named}
    for schema in told.page.schemas:
        table = tables.get(schema.table)
        for column in schema.figures if table is not None else ():
            cells = table[column.name].to_pylist() if table is not None and column.name in table.column_names else []
            known = any(map(is_known, cells))
            assert not known or (schema.table, column.name) in told_of, (
                f"{study}: the figure {column.name!r} of the table {schema.table!r} gives nothing"
            )
    counted = Counter(figure.quantity for figure in named)
    double = [name for name, count in counted.items() if count > 1]
    assert not double, f"{study}: two quantities are called {double[0]!r}"
    strange = [figure.kind for figure in named if figure.kind not in KINDS]
    assert not strange, f"{study}: there is no kind {strange[0]!r}"
    part = part_of(result, told)
    if part is not None:
        check_atlas(joined([part]))


def check_atlas(tables: Mapping[str, pa.Table]) -> None:
    """Whether the figures of an atlas are told apart, and all that it says of heads is true of them.

    >>> from attlas.evidence.example import example
    >>> check_atlas(example().tables)
    """
    asked = _Asked(tables)
    for key, rows in asked.own.items():
        assert len(rows) == 1, f"there are {len(rows)} figures of {key}"
    ordered: dict[tuple[Any, ...], list[Row]] = defaultdict(list)
    for row in tables["portraits"].to_pylist():
        ordered[tuple(row[name] for name in PLACE)].append(row)
    for place, rows in ordered.items():
        assert [row["order"] for row in rows] == list(range(len(rows))), f"the sentences of {place} are not in order"
        strengths = [row["strength"] for row in rows]
        assert strengths == sorted(strengths, reverse=True), f"{place}: the strongest sentence is not the first"
        assert all(0 <= strength <= 1 for strength in strengths), f"{place}: a strength beyond 0 and 1: {strengths}"
    for name in ("portraits", "disagreements", "stands_out"):
        for row in tables[name].to_pylist():
            claims = claims_of(row)
            assert claims, f"nothing is claimed by: {row['sentence']}"
            for claim in claims:
                assert asked.holds(claim), f"this is not so: {row['sentence']} ({claim})"


class _Asked:
    """The rows of an atlas that claims are about, found without going through all of them."""

    def __init__(self, tables: Mapping[str, pa.Table]) -> None:
        heads, pairs = tables["heads"].to_pylist(), tables["alike"].to_pylist()
        self.own = _grouped(heads, OWN)
        self.among = _grouped(heads, AMONG)
        self.places = _grouped(heads, PLACE)
        self.pairs = _grouped(pairs, OF_PAIRS)

    def holds(self, claim: Claim) -> bool:
        """Whether a claim is true."""
        if claim.table == "alike":
            rows = [row for key in claim.rows for row in self.pairs.get(tuple(key[name] for name in OF_PAIRS), [])]
        elif claim.kind == "count":
            rows = self.places.get(tuple(claim.among[name] for name in PLACE), [])
        elif claim.kind in ("largest", "smallest"):
            rows = self.among.get(tuple(claim.among[name] for name in AMONG), [])
        else:
            rows = [row for key in claim.rows for row in self.own.get(tuple(key[name] for name in OWN), [])]
        return holds(claim, cast(Tables, {claim.table: Rows(rows)}))


def _grouped(rows: Iterable[Row], names: tuple[str, ...]) -> dict[tuple[Any, ...], list[Row]]:
    groups: dict[tuple[Any, ...], list[Row]] = defaultdict(list)
    for row in rows:
        groups[tuple(row[name] for name in names)].append(row)
    return groups
