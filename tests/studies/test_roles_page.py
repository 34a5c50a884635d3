"""The page of roles: what it says of an invented result, and that a browser draws it."""

from __future__ import annotations

from collections.abc import Callable
from io import StringIO
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from rich.console import Console

from attlas.pages import Tables
from attlas.pages.laws import check_page
from attlas.pages.terminal import print_page
from attlas.store import Result
from attlas.studies.reporting import page_of
from attlas.studies.roles.page import PAGE, names_that_hold, naming_nobody
from invented_roles import page_result

if TYPE_CHECKING:
    from playwright.sync_api import Page


def test_the_page_keeps_the_laws_and_answers_first() -> None:
    result = page_result()
    check_page(PAGE, result)
    told = PAGE.answer(Tables(result, PAGE.schemas, PAGE.derived))
    assert told is not None
    text = told.text.markdown()
    assert "The first heads by prefix matching (Olsson et al. 2022) are **3-1, 3-2**" in text
    assert "corrected over roles" in text
    page = page_of(result)
    for said in ("tiny has no learned sinks", "no head was named by successor", "rain, hill, stone", "made up"):
        assert said in page


def test_without_a_test_the_answer_is_who_is_named() -> None:
    result = page_result()
    tables = {name: table for name, table in result.tables.items() if name not in ("effects", "untested")}
    check_page(PAGE, Result(result.manifest, tables))
    told = PAGE.answer(Tables(Result(result.manifest, tables), PAGE.schemas, PAGE.derived))
    assert told is not None
    assert "the first heads of **a/tiny** are 3-1, 3-2, 3-3" in told.text.markdown()


def test_scores_that_are_no_shares_are_not_drawn_on_an_axis_of_shares() -> None:
    result = page_result()
    leaders = Tables(result, PAGE.schemas, PAGE.derived)["leaders"]
    assert "dormant" in {row["definition"] for row in result.rows("named")}
    assert {row["definition"] for row in leaders} == {
        "prefix_matching", "duplicate", "previous_text", "sink", "retrieval_forced",
    }  # fmt: skip


def test_a_definition_whose_heads_are_no_more_than_chance_names_nobody() -> None:
    result = page_result()
    tables = Tables(result, PAGE.schemas, PAGE.derived)
    assert {row["beyond"] for row in tables["first"]} == {5}
    assert not list(naming_nobody(tables))
    named = result.rows("named")
    for row in named:
        if row["definition"] == "duplicate":
            row |= {"value": 0.03, "low": 0.01, "high": 0.05}
        if row["definition"] == "dormant":  # small figures are meant
            row |= {"value": 1.3, "low": 1.2, "high": 1.4, "chance": 1.0}
        if row["definition"] == "sink":
            row |= {"chance": None}
        if row["definition"] == "retrieval_forced":  # now of the weights alone, which have no interval
            row |= {"definition": "copying_weights", "value": row["value"] - 0.1, "low": None, "high": None}
            row["chance"] = 0.0
    columns = {name: [row[name] for row in named] for name in named[0]}
    other = Result(result.manifest, {**result.tables, "named": columns})
    check_page(PAGE, other)
    tables = Tables(other, PAGE.schemas, PAGE.derived)
    assert {row["definition"]: row["beyond"] for row in tables["first"]} == {
        "prefix_matching": 5, "duplicate": 0, "previous_text": 5, "sink": None, "dormant": 0, "copying_weights": 2,
    }  # fmt: skip
    (told,) = naming_nobody(tables)
    assert "**Nobody** is named by duplicate piece (Wang et al. 2023) and dormant by output norm" in (
        told.text.markdown()
    )


@pytest.mark.parametrize("number", [1, 3])
def test_names_hold_or_are_not_shown_to(number: int) -> None:
    result = page_result()
    effects = result.rows("effects")[:number]
    columns = {name: [row[name] for row in effects] for name in effects[0]}
    some = Result(result.manifest, {**result.tables, "effects": columns})
    check_page(PAGE, some)
    told = [str(one.text) for one in names_that_hold(Tables(some, PAGE.schemas, PAGE.derived))]
    assert told == (
        ["One role's heads were closed, and its name holds: induction."] if number == 1 else
        ["Of 3 roles whose heads were closed, the names of 2 hold: induction and previous piece.",
         "Of 3 roles whose heads were closed, the names of 1 are not shown to hold: duplicate piece."]
    )  # fmt: skip


def test_the_list_of_heads_begins_with_those_that_a_definition_means() -> None:
    tables = Tables(page_result(), PAGE.schemas, PAGE.derived)
    for definition, small in (("prefix_matching", False), ("dormant", True)):
        shown = tables["foremost"].where(definition=definition).column("value")
        every = sorted(tables["heads"].where(definition=definition).column("value"), reverse=not small)
        assert shown == every[:12]


@pytest.mark.parametrize("width", [50, 64, 80, 81, 97, 120, 200])
def test_no_figure_is_cut_in_a_terminal(width: int) -> None:
    result = page_result()
    tables = {name: table for name, table in result.tables.items() if name not in ("effects", "untested")}
    heard = StringIO()
    print_page(PAGE, Result(result.manifest, tables), Console(file=heard, width=width))
    lines = heard.getvalue().splitlines()
    assert max(map(len, lines)) <= width
    shown = heard.getvalue().count("not tested")
    assert shown in (0, 6)  # a column of six definitions, whole or not at all
    assert shown == 6 or width < 97
    assert "0.88–0.91" in heard.getvalue()


@pytest.mark.browser
def test_charts_are_drawn_and_nothing_is_clipped(open_report: Callable[[Path], Page], tmp_path: Path) -> None:
    page = open_report(page_result().save(tmp_path / "out"))
    assert page.locator("#figure-roles-chart svg .mark-symbol.role-mark path").count() >= 5
    assert page.locator("#figure-agreement-chart svg .mark-rect.role-mark path").count() == 15
    assert page.locator("#definitions .listing").count() == 3
    assert page.locator("#definitions .listing tbody tr td").count() > 30
    for width in (1280, 390):
        page.set_viewport_size({"width": width, "height": 900})
        assert page.evaluate("document.documentElement.scrollWidth") == width
    top = page.locator("#figure-roles-chart").bounding_box()
    assert top is not None
    assert top["y"] < 900
