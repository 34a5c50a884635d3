"""Every sentence of every page is true of its tables: of invented results, and of them changed at random.

Claims are asked of plain lists (`naive_claims`), not of what pages are made with; numbers, heads and words that
compare are read off the sentence itself (`attlas.pages.truth`). Captions write no number that is not the result's,
and say no order that is not kept; warnings must at least be sayable.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from naive_claims import is_so
from perturbed import CHANGES, perturbed

from attlas.pages import Listing, Section, Tables, charts, holds
from attlas.pages.page import Page
from attlas.pages.prose import say
from attlas.pages.truth import caption_faults, faults
from attlas.store import Result
from attlas.studies import studies

sys.path.append(str(Path(__file__).parents[1] / "studies"))  # where results are invented

import test_clusters_page
import test_coref_page
import test_importance_page
import test_parse_page
import test_relations_page
from invented_ablate import ablate_result
from invented_align import align_result
from invented_faith import faith_result
from invented_faith_chunking import faith_chunking_result
from invented_keywords import (
    keywords_compare_result,
    keywords_result,
    keywords_study_result,
    keywords_tune_result,
)
from invented_layers import invented as layers_result
from invented_layers_case import layers_case_result
from invented_noop import noop_result
from invented_norms import norms_result
from invented_prune import prune_result
from invented_survey import survey

import invented_roles

DRAWS = 4
RESULTS: dict[str, Callable[[], Result]] = {
    "ablate": ablate_result,
    "align": lambda: align_result(back=True),
    "clusters": test_clusters_page.invented,
    "coref": test_coref_page.invented,
    "faith": lambda: faith_result(instances=40),
    "faith-chunking": faith_chunking_result,
    "importance": test_importance_page.importance_result,
    "keywords": keywords_result,
    "keywords-compare": keywords_compare_result,
    "keywords-study": keywords_study_result,
    "keywords-tune": keywords_tune_result,
    "layers": lambda: layers_result(("pos", "dependencies", "roles", "coreference"), layers=3, sentences=40),
    "layers-case": layers_case_result,
    "noop": lambda: noop_result(majority=0.2),
    "norms": norms_result,
    "parse": test_parse_page.invented,
    "prune": prune_result,
    "relations": test_relations_page.invented,
    "roles": invented_roles.page_result,
    "roles-through": invented_roles.through,
    "survey": lambda: survey({"encoder": (2, 3)}),
}
SHARED = {"layers-together"}  # has the page of another study


def test_every_study_with_a_page_is_here() -> None:
    assert set(RESULTS) | SHARED == {name for name, study in studies().items() if study.page}


@pytest.mark.parametrize("study", sorted(name for name, study in studies().items() if study.page))
def test_every_table_of_a_page_shows_something(study: str) -> None:
    for section in studies()[study].load_page().sections:
        for part in section.parts:
            assert not isinstance(part, Listing) or part.columns, f"{study}: the table {part.table} has no columns"


def check_truth(page: Page, result: Result) -> None:
    """Every sentence of a page is true, has claims for what it says, and says only what is known."""
    tables = Tables(result, page.schemas, page.derived)
    findings = page.found(tables)
    assert not faults(findings, tables)
    for told in findings:
        for claim in told.claims:
            assert is_so(claim, list(tables[claim.table])), f"this is not so: {told.text} ({claim})"
            assert holds(claim, tables)
    page.warning(tables)
    assert not caption_faults(page, tables)


@pytest.mark.parametrize("study", RESULTS)
def test_sentences_are_true_of_invented_results_and_of_changed_ones(study: str) -> None:
    page, result = studies()[study].load_page(), RESULTS[study]()
    check_truth(page, result)
    for seed in range(DRAWS):
        changed, changes = perturbed(page, result, np.random.default_rng(seed))
        try:
            check_truth(page, changed)
        except Exception as error:
            raise AssertionError(f"{study}, seed {seed}, {', '.join(changes)}: {error}") from error


def of_several_twins(page: Page, result: Result) -> Result:
    """The same, had so many twins been drawn as nothing else counts; with their lowest and highest, where told."""
    columns = {name: table.to_pydict() for name, table in result.tables.items()}
    for schema in page.schemas:
        table, names = columns.get(schema.table, {}), {column.name for column in schema.columns}
        if table and "twins" in names:
            size = len(next(iter(table.values())))
            table |= {"twins": [97] * size}
            table |= {name: [value] * size for name, value in (("twins_low", 0.123), ("twins_high", 0.789))
                      if name in names}  # fmt: skip
    if result.manifest.study.startswith("layers"):  # where rows are means of seeds, or of twins
        tasks = columns["tasks"]
        tasks["n"] = [97 if who == "twin" else n for who, n in zip(tasks["who"], tasks["n"], strict=True)]
    return Result(result.manifest, columns)


SEVERAL = {  # those whose pages tell how many there were
    **{name: RESULTS[name] for name in ("keywords-study", "layers", "noop", "parse")},
    "layers, one task": lambda: layers_result(("pos",), layers=3, sentences=40),
}


@pytest.mark.parametrize("study", SEVERAL)
def test_so_many_twins_as_are_told_were_drawn(study: str) -> None:
    """Sentences may write the number of twins, and how far apart they lie; claims must know of both."""
    page, result = studies()[study.partition(",")[0]].load_page(), SEVERAL[study]()
    several = of_several_twins(page, result)
    check_truth(page, several)
    check_truth(page, perturbed(page, several, np.random.default_rng(0))[0])
    findings = page.found(Tables(several, page.schemas, page.derived))
    assert any("97 untrained twins" in str(told.text) for told in findings)


@pytest.mark.parametrize("change", CHANGES)
def test_every_change_changes_something(change: str) -> None:
    """A change that does nothing to any result would make the test above weaker than it looks."""
    for study, made in RESULTS.items():
        page, result = studies()[study].load_page(), made()
        for schema in page.schemas:
            if schema.table in result.tables:
                rows = [dict(row) for row in result.tables[schema.table].to_pylist()]
                before = [dict(row) for row in rows]
                CHANGES[change](schema, rows, np.random.default_rng(0))
                if rows != before:
                    return
    raise AssertionError(f"{change} changes no result")


def test_captions_that_are_not_so_are_found() -> None:
    """A number that is none of the result's, and an order that another column has."""
    page, result = studies()["ablate"].load_page(), RESULTS["ablate"]()
    tables = Tables(result, page.schemas, page.derived)
    assert not caption_faults(page, tables)
    (place,) = (at for at, section in enumerate(page.sections) if section.key == "sorted")
    section = page.sections[place]
    invented = replace(section, note=lambda tables: say("Of {n} heads.", n=123_457))
    listing = Listing(
        "effects", "head", "change", rows=lambda tables: [*tables["effects"][1::2], *tables["effects"][::2]]
    )
    unordered = replace(section, lead="All of them, the worst cut first.", parts=(listing,))
    for other, wrong in ((invented, "no figure of the result is 123,457"), (unordered, "not in this order")):
        sections = (*page.sections[:place], other, *page.sections[place + 1 :])
        lines = caption_faults(replace(page, sections=sections), tables)
        assert lines, wrong
        assert all(line.startswith(wrong) for line in lines)


def test_a_chart_over_which_an_order_stands_keeps_it() -> None:
    """The lines of a chart come as its specification says, not as its rows do."""
    page, result = studies()["align"].load_page(), RESULTS["align"]()
    tables = Tables(result, page.schemas, page.derived)
    (chart,) = (chart for chart in page.charts() if chart.key == "methods-dots")
    other = charts.dots(
        "methods", "method", "AER", key="methods-dots", title=chart.title, order="method", where=dict(chart.where)
    )
    section = Section("methods", "Methods", parts=(other,))
    lines = caption_faults(replace(page, chart=None, sections=(section,)), tables)
    assert lines[0] == f"not in this order: {chart.title}"
    assert not caption_faults(replace(page, chart=chart, sections=()), tables)
