"""Pages as data: the same record in a browser, in a terminal and in Markdown; claims that are true, and can fail."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import replace
from typing import TYPE_CHECKING

import pytest
import vl_convert
from toy_page import HEADS, PAGE, SHAPES, toy_result

from attlas.pages import Claim, Custom, Finding, Listing, Section, Tables, holds, say
from attlas.pages.html import cells_of, html_page, tag
from attlas.pages.laws import check_page, check_schema
from attlas.pages.markdown import markdown_page
from attlas.pages.page import Page
from attlas.pages.terminal import as_json, print_page
from attlas.store import Result
from attlas.store.schema import KINDS, Column, Schema, interval
from browsers import Tabs

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from playwright.sync_api import Page as Tab


def changed(result: Result, table: str, column: str, values: list[object]) -> Result:
    columns = {name: result.tables[name].to_pydict() for name in result.tables}
    columns[table][column] = values
    return Result(result.manifest, columns)


def test_the_page_and_its_result_fit() -> None:
    check_page(PAGE, toy_result())


def test_a_claim_fails_when_the_tables_are_turned_round() -> None:
    result = toy_result()
    values = result.tables["heads"].column("value").to_pylist()
    turned = Tables(changed(result, "heads", "value", [1 - value for value in values]), PAGE.schemas)
    claims = [claim for finding in PAGE.found(Tables(result, PAGE.schemas)) for claim in finding.claims]
    assert not holds(claims[0], turned)


def test_a_sentence_that_is_not_so_is_found_out() -> None:
    def boast(tables: Tables) -> Iterator[Finding]:
        yield Finding(say("All kinds beat the best offset."), (Claim("above", "kinds", "value", than="baseline"),))

    with pytest.raises(AssertionError, match="this is not so: All kinds"):
        check_page(replace(PAGE, findings=(boast,)), toy_result())


@pytest.mark.parametrize(
    ("claim", "true"),
    [
        (Claim("value", "kinds", "value", [{"kind": "det"}], value=0.9), True),
        (Claim("value", "kinds", "value", [{"kind": "det"}], value=0.8), False),
        (Claim("value", "kinds", "value", [{"kind": "nobody"}], value=0.9), False),
        (Claim("smallest", "kinds", "value", [{"kind": "<nsubj>"}, {"kind": "obj"}]), True),
        (Claim("smallest", "kinds", "value", [{"kind": "obj"}, {"kind": "<nsubj>"}]), False),
        (Claim("mean", "kinds", "value", value=0.7), True),
        (Claim("total", "kinds", "value", value=2.0), False),
        (Claim("below", "kinds", "value", [{"kind": "<nsubj>"}], than="baseline"), True),
        (Claim("below", "kinds", "value", than="baseline"), False),
        (Claim("above", "kinds", "value", [{"kind": "obj"}], than="baseline"), False),  # there is no baseline
        (Claim("count", "kinds", "value", value=1, than=0.6, below=True), True),
        (Claim("count", "kinds", "value", value=2, than=0.6, below=True), False),
    ],
)
def test_claims(claim: Claim, true: bool) -> None:
    assert holds(claim, Tables(toy_result(), PAGE.schemas)) is true


def test_a_column_that_no_schema_has_is_refused() -> None:
    with pytest.raises(AssertionError, match=r"heads.*valu"):
        check_page(replace(PAGE, sections=(Section("x", "X", parts=(Listing("heads", "valu"),)),)), toy_result())


def test_a_table_that_nothing_shows_is_refused() -> None:
    lone = replace(PAGE, sections=(), findings=(), published="")
    with pytest.raises(AssertionError, match="no part shows the tables"):
        check_page(lone, toy_result())
    check_page(replace(lone, unshown={"kinds": "few"}), toy_result())


def test_names_of_columns_follow_one_rule() -> None:
    check_schema(HEADS)
    for column in (
        Column("value", "v", "share", twin="untrained"),
        Column("value", "v", "share", chance="expected"),
        Column("corrected", "p", "p", family="heads"),
        Column("p_value", "p", "p"),
    ):
        with pytest.raises(AssertionError, match=f"toys.{column.name}"):
            check_schema(Schema("toys", "", column))


@pytest.mark.parametrize("chart", SHAPES, ids=lambda chart: chart.key)
def test_every_shape_is_a_chart_that_draws(chart) -> None:  # type: ignore[no-untyped-def]
    tables = Tables(toy_result(), PAGE.schemas)
    spec = chart.spec(tables)
    spec = {**spec, "width": 500, "datasets": {"rows": [dict(row) for row in chart.rows(tables)]}}
    svg = vl_convert.vegalite_to_svg(spec)
    assert svg.count("<path") > 3 or svg.count("<text") > 5
    assert "undefined" not in svg
    assert "NaN" not in svg


@pytest.mark.parametrize(
    ("kind", "value", "text"),
    [
        ("share", 0.974, "0.97"),
        ("share", -0.5, "−0.50"),
        ("share", 0.0312, "0.031"),
        ("share", 3e-5, "3.0e−5"),
        ("signed", 0.012, "+0.012"),
        ("signed", -0.0, "0.00"),
        ("percent", 0.9431, "94.3"),
        ("p", 0.0, "< 0.001"),
        ("p", 1.0, "> 0.99"),
        ("p", 0.0042, "0.004"),
        ("p", 0.042, "0.04"),
        ("count", 1200, "1,200"),
        ("number", 1234.5, "1,234"),
        ("number", 36.06, "36.1"),
        ("flag", True, "yes"),
        ("index", 2, "3"),
        ("share", None, ""),
        ("share", float("nan"), ""),
    ],
)
def test_one_rule_for_numbers(kind: str, value: float | None, text: str) -> None:
    assert Column("x", "x", kind).write(value) == text
    assert kind in KINDS


def test_a_column_has_the_same_number_of_decimals() -> None:
    assert Column("x", "x", "number").written([12.345, 0.5, 3]) == ["12.3", "0.5", "3.0"]
    assert Column("x", "x", "signed").written([0.25, 0.00004, -0.00004]) == ["+0.25", "0.00", "0.00"]
    assert Column("x", "x", "share").written([0.00008, 0.00012, 0.0]) == ["0.00008", "0.00012", "0.00000"]
    assert Column("x", "x", "share").written([0.000004, 0.0000051]) == ["4.0e−6", "5.1e−6"]  # all of it is so small
    assert interval("−0.1", "0.2") == "−0.1 to 0.2"


def test_quantities_that_share_a_column_have_decimals_of_their_own() -> None:
    which = Column("which", "which", kinds={"matching": "share", "copying": "signed"})
    value = Column("value", "score", "number", ends=("low", "high"), chance="chance")
    rows = [
        {"which": "matching", "value": 0.9, "low": 0.85, "high": 0.95, "chance": 0.00007},
        {"which": "copying", "value": 0.00004, "low": -0.00002, "high": 0.0003, "chance": 0.0},
        {"which": "copying", "value": 0.00031, "low": 0.0002, "high": 0.0004, "chance": 0.0},
        {"which": "matching", "value": 0.02, "low": 0.01, "high": 0.03, "chance": 0.0},
    ]
    cells = {title: written for title, _, _, written in cells_of(Schema("heads", "", which, value), rows, ["value"])}
    assert cells == {
        "score": ["0.90", "0.00004", "0.00031", "0.02"],
        "95 %": ["0.85–0.95", "−0.00002 to 0.00030", "0.00020–0.00040", "0.01–0.03"],
        "chance": ["0.00", "0.00000", "0.00000", "0.00"],
    }


def test_what_comes_from_users_is_escaped_in_html_and_markdown() -> None:
    result = toy_result(name="<img src=x onerror=alert(1)>")
    text = html_page(PAGE, result, command="attlas toy '</script><b>'")
    assert "<img src=x" not in text
    assert "<b>'" not in text
    assert "&lt;nsubj&gt;" in text
    assert "\\<img" in markdown_page(PAGE, [(result, "attlas toy")], title="Toys")
    assert str(tag("p", "<b>", title='"')) == '<p title="&#34;">&lt;b&gt;</p>'


def test_markdown_has_findings_published_figures_tables_and_how_they_were_made() -> None:
    text = markdown_page(PAGE, [(toy_result(), "attlas toy book.txt")], title="Toys")
    assert "- Head **" in text
    assert "(Published: BERT: all of them.)" in text
    assert "| det | 90.0 | 80.0–95.0 | 50.0 |" in text
    assert "`attlas toy book.txt`: 1,200 pieces; seed 0, 2026-01-02" in text
    assert "What is not there" not in text


def test_markdown_says_what_a_table_lists() -> None:
    listing = Listing("heads", "head", "value", title="The first heads", order="-value")
    page = replace(PAGE, sections=(Section("all", "All heads", parts=(listing, listing)),))
    text = markdown_page(page, [(toy_result(), "attlas toy")], title="Toys")
    assert text.count("*The first heads*\n\n| head |") == 2


def test_runs_of_one_model_on_one_corpus_are_told_apart_by_their_options() -> None:
    plans = [{"options": {"measure": measure, "heads": None, "more": {}}} for measure in ("weight", "norm")]
    results = [Result(replace(toy_result().manifest, plan=plan), toy_result().tables) for plan in plans]
    other = toy_result(name="other")
    text = markdown_page(PAGE, [(result, "attlas toy") for result in (*results, other)], title="Toys")
    headings = [line for line in text.splitlines() if line.startswith("## ")]
    assert headings[:3] == [
        "## tiny on a book (measure weight)", "## tiny on a book (measure norm)", "## other on a book",
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("corpus", "said"),
    [
        ({"unit": "document", "units": 90}, "1,200 pieces, intervals by document (90 of them)"),
        ({"unit": "text", "units": 3}, "1,200 pieces, intervals by text (3 of them: too few for any)"),
    ],
)
def test_every_page_says_once_what_its_intervals_are_by(corpus: dict[str, object], said: str) -> None:
    result = toy_result()
    told = Result(replace(result.manifest, corpus={**result.manifest.corpus, **corpus}), result.tables)
    assert html_page(PAGE, told).count(said) == 1
    assert markdown_page(PAGE, [(told, "attlas toy")], title="Toys").count(said) == 1
    assert "intervals by" not in html_page(PAGE, result)  # an older result does not know


def test_the_terminal_says_the_same(capsys: pytest.CaptureFixture[str]) -> None:
    from rich.console import Console

    print_page(PAGE, toy_result(), Console(width=120))
    said = capsys.readouterr().out
    assert "2 of 3 kinds" not in said
    assert "1 of 3 kinds beat the best offset." in said
    assert "80.0–95.0" in said
    data = as_json(PAGE, toy_result())
    assert data["findings"][1] == "1 of 3 kinds beat the best offset."
    assert json.loads(json.dumps(data))["rows"][0]["kind"] == "det"


def test_a_narrow_terminal_shows_the_columns_that_fit(capsys: pytest.CaptureFixture[str]) -> None:
    from rich.console import Console

    print_page(PAGE, toy_result(), Console(width=24))
    said = capsys.readouterr().out
    assert "90.0" in said
    assert "80.0–95.0" not in said
    assert "... and 2 columns more" in said


def test_parts_that_have_nothing_to_show_fall_out() -> None:
    page = replace(PAGE, sections=(*PAGE.sections, Section("custom", "Custom", parts=(Custom(lambda tables: None),))))
    text = html_page(page, toy_result())
    assert 'id="gone"' not in text
    assert 'id="custom"' not in text


@pytest.fixture
def open_page(tabs: Tabs, tmp_path: Path) -> Iterator[Callable[..., Tab]]:
    complaints: list[str] = []
    opened: list[Tab] = []

    def open_record(page: Page, result: Result, width: int = 1280, height: int = 900) -> Tab:
        path = tmp_path / "page.html"
        path.write_text(html_page(page, result), encoding="utf-8")
        heard = {
            "console": lambda message: complaints.append(message.text),
            "pageerror": lambda error: complaints.append(str(error)),
        }
        tab = tabs.lend(heard, viewport={"width": width, "height": height}, offline=True)
        opened.append(tab)
        tab.goto(path.as_uri())
        tab.wait_for_selector("html[data-ready=true]", timeout=60_000)
        return tab

    yield open_record
    for tab in opened:
        tabs.take_back(tab)
    assert complaints == []


@pytest.mark.browser
@pytest.mark.parametrize(("width", "height"), [(1280, 900), (390, 844)])
def test_answer_and_chart_stand_on_the_first_screen(open_page: Callable[..., Tab], width: int, height: int) -> None:
    tab = open_page(PAGE, toy_result(layers=12, heads=12), width, height)
    answer = tab.locator("#answer").bounding_box()
    chart = tab.locator("#figure-map svg.marks").bounding_box()
    assert answer is not None
    assert chart is not None
    assert answer["y"] + answer["height"] < chart["y"] < height / 2
    assert chart["y"] + chart["height"] < height
    assert tab.evaluate("document.documentElement.scrollWidth") <= width
    small = tab.evaluate(
        "[...document.querySelectorAll('svg text')].map((text) => parseFloat(getComputedStyle(text).fontSize))"
        ".filter((size) => size < 11).length"
    )
    assert small == 0


@pytest.mark.browser
def test_tables_sort_search_and_follow_the_stream(open_page: Callable[..., Tab]) -> None:
    tab = open_page(PAGE, toy_result(streams=("encoder", "cross")))
    rows = tab.locator("#table tbody tr:visible")
    assert rows.count() == 24  # of the encoder alone
    tab.locator("#table input").fill("3-")
    assert rows.count() == 8
    tab.locator("#table input").fill("3- norm")
    assert rows.count() == 4
    tab.locator("#table input").fill("")
    tab.locator("#table th", has_text="change when cut").get_by_role("button").click()
    first = [
        float(text.replace("−", "-"))
        for text in tab.locator("#table tbody tr:visible td:nth-child(8)").all_inner_texts()
    ]
    assert first == sorted(first, reverse=True)
    tab.get_by_role("button", name="cross").click()
    tab.wait_for_selector("html[data-ready=true]")
    assert set(tab.locator("#table tbody tr:visible td:first-child").all_inner_texts()) == {"cross"}
