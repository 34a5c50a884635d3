"""What must hold of every page, and of every schema: for studies to test themselves with.

:func:`check_schema` asks whether columns are named by the one rule of all tables; :func:`check_page` whether a page
and a result fit: tables have the columns of their schemas, charts and tables of the page name columns that exist,
what charts are drawn from is Vega-Lite, every table is shown or said not to be, sections that are linked to are
there, every claim of a finding is true, the words of a sentence are those of its claims, and captions say no figure
and no order that is not the result's.
"""

from __future__ import annotations

from functools import cache
from typing import Any

from attlas.pages.charts import Chart
from attlas.pages.charts.base import Spec
from attlas.pages.findings import Claim, holds
from attlas.pages.page import Custom, Listing, Page
from attlas.pages.rows import Tables
from attlas.pages.truth import caption_faults, faults
from attlas.store import Result
from attlas.store.schema import Schema

IDS = {"answer", "content", "data", "found", "limits", "made", "streams", "theme", "words"}


def check_schema(schema: Schema) -> None:
    """One name for each idea: ``low`` and ``high`` for an interval, ``chance``, ``twin``, ``p`` and ``p_corrected``.

    For a column that is not the main one the name stands before: ``change_low``, ``change_p_corrected``; for its twin
    and its chance level, after: ``twin_change``, ``chance_change``.

    >>> from attlas.store.schema import Column
    >>> check_schema(Schema("heads", "", Column("value", "share", "share", ends=("from", "to"))))
    Traceback (most recent call last):
        ...
    AssertionError: heads.value: its interval is in ('from', 'to'), and not in low and high, ...
    """
    for column in schema.columns:
        name = f"{schema.table}.{column.name}"
        own = column.name
        assert column.ends in (None, ("low", "high"), (f"{own}_low", f"{own}_high")), (
            f"{name}: its interval is in {column.ends}, and not in low and high, or {own}_low and {own}_high"
        )
        assert column.twin in ("", "twin", f"twin_{own}"), f"{name}: its twin is in {column.twin}, not in twin_{own}"
        assert column.chance in ("", "chance", f"chance_{own}"), f"{name}: its chance level is in {column.chance}"
        if column.kind == "p":
            wanted = "p_corrected" if column.family else "p"
            assert own == wanted or own.endswith(f"_{wanted}"), f"{name}: a p of this kind is called {wanted}"


def check_page(page: Page, result: Result) -> None:
    """Whether a page and a result of its study fit, and what the page says is true.

    >>> from attlas.store import Manifest
    >>> check_page(Page("toy", "", answer=lambda tables: None), Result(Manifest("toy"), {"heads": {"head": [0]}}))
    Traceback (most recent call last):
        ...
    AssertionError: toy: the table 'heads' has no schema
    """
    for schema in page.schemas:
        check_schema(schema)
    tables = Tables(result, page.schemas, page.derived)
    for name in result.manifest.tables:
        assert name in tables.schemas, f"{page.study}: the table {name!r} has no schema"
        amiss = tables.schema(name).differs(tables.arrow[name].column_names)
        assert not amiss, f"{page.study}: table {name!r}: {'; '.join(amiss)}"
    taken = {section.key for section in page.sections} & IDS
    assert not taken, f"{page.study}: the page itself has parts called {sorted(taken)}; call the sections otherwise"
    parts = [part for section in page.sections for part in section.parts]
    tabled: list[Chart | Listing] = [*page.charts(), *(part for part in parts if isinstance(part, Listing))]
    for part in tabled:
        table = part.table
        assert table in tables.schemas, f"{page.study}: a part shows the table {table!r}, which has no schema"
        for column in part.columns:
            assert column in tables.schema(table), f"{page.study}: table {table!r} has no column {column!r}"
    for chart in page.charts():
        if chart.fits(tables):
            check_spec(chart.spec(tables), f"{page.study}: the chart {chart.key!r}")
    shown = {part.table for part in tabled}.union(*(part.tables for part in parts if isinstance(part, Custom)))
    unseen = set(result.manifest.tables) - shown - set(page.unshown) - set(page.derived)
    assert not unseen, f"{page.study}: no part shows the tables {sorted(unseen)}, and unshown does not say why"
    findings = page.found(tables)
    assert findings, f"{page.study}: the page has nothing to say"
    sections = {section.key for section in page.sections} | {chart.key for chart in page.charts()}
    for finding in findings:
        assert not finding.see or finding.see in sections, f"{page.study}: {finding.text} links to {finding.see!r}"
        for claim in finding.claims:
            assert holds(claim, tables), f"{page.study}: this is not so: {finding.text} ({claim})"
    assert any(finding.claims for finding in findings), f"{page.study}: no finding makes a claim that can be tested"
    wrong = faults(findings, tables) + caption_faults(page, tables)
    assert not wrong, f"{page.study}: {'; '.join(wrong)}"


def check_spec(spec: Spec, name: str = "the chart") -> None:
    """Whether a specification is one that Vega-Lite knows.

    >>> check_spec({"data": {"name": "rows"}, "mark": "point"})
    >>> check_spec({"data": {"name": "rows"}, "mark": "blob"})
    Traceback (most recent call last):
        ...
    AssertionError: the chart is no Vega-Lite: ...
    """
    from jsonschema.exceptions import best_match

    error = best_match(_vega_lite().iter_errors(spec))
    assert error is None, f"{name} is no Vega-Lite: {error.message}"


@cache
def _vega_lite() -> Any:
    """What asks whether something is Vega-Lite; made once, since making it takes as long as asking."""
    from altair.vegalite.v6.schema.core import load_schema
    from jsonschema.validators import validator_for

    schema = load_schema()
    kind = validator_for(schema)
    return kind(schema, format_checker=kind.FORMAT_CHECKER)


def claims_of(page: Page, result: Result) -> list[Claim]:
    """All claims that a page makes of a result.

    >>> from attlas.store import Manifest
    >>> claims_of(Page("toy", "", answer=lambda tables: None), Result(Manifest("toy"), {"heads": {"head": [0]}}))
    []
    """
    tables = Tables(result, page.schemas, page.derived)
    return [claim for finding in page.found(tables) for claim in finding.claims]
