"""The site in a real Chromium, from the disk and from a server: every page says what the tables say, every link and
button does what it is for, and nothing is asked for outside the folder."""

from __future__ import annotations

import re
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pytest
from made_up_sites import COMMAND, REMARK, Open, go

from attlas.ids import paper_label

if TYPE_CHECKING:
    from playwright.sync_api import Page

pytestmark = pytest.mark.browser


def rows(table: Any) -> list[dict[str, Any]]:
    listed: list[dict[str, Any]] = (table if isinstance(table, pa.Table) else pa.table(table)).to_pylist()
    return listed


def told(tables: dict[str, Any], **where: Any) -> list[dict[str, Any]]:
    return [row for row in rows(tables["portraits"]) if all(row[name] == value for name, value in where.items())]


def saved(page: Page, button: str) -> str:
    """Click a button of the menu of exports, and read what it saves."""
    with page.expect_download() as download:
        page.locator(".export-menu").get_by_role("button", name=button, exact=True).first.click()
    return Path(download.value.path()).read_text(encoding="utf-8")


@pytest.mark.parametrize("served", [False, True], ids=["disk", "server"])
def test_every_page_opens(four: Path, open_site: Open, served: bool) -> None:
    page = open_site(four, served=served)
    assert page.locator("ul.models li").count() == 4
    for fragment in ("#model/tiny", "#model/tiny/decoder?by=layer", "#model/tiny?by=survey:previous:sample",
                     "#head/tiny/decoder/2-3", "#search/object", "#compare/tiny/small", "#compare/wide/deep/tiny",
                     "#card/deep", "#models"):  # fmt: skip
        go(page, fragment)
        assert page.locator("h1").inner_text()
        assert page.locator("#answer").inner_text()
        assert page.locator(".warning").count() == 0


def test_the_map_shows_every_head_in_the_colour_of_its_role(
    one: Path, one_tables: dict[str, Any], open_site: Open
) -> None:
    page = open_site(one)
    cells = page.evaluate("""[...document.querySelectorAll('.map .cell')].map((cell) => (
      { text: cell.innerText, href: cell.getAttribute('href'), said: cell.getAttribute('aria-label'),
        fill: getComputedStyle(cell).backgroundColor }))""")
    assert len(cells) == 72
    titles = {row["role"]: row["title"] for row in rows(one_tables["roles"])}
    fills: dict[str, str] = {}
    for cell in cells:
        label = cell["href"].rsplit("/", 1)[1]
        layer, head = (int(part) - 1 for part in label.split("-"))
        first = next(
            (row for row in told(one_tables, layer=layer, head=head) if row["part"] in ("does", "rests")), None
        )
        title = titles[first["role"]] if first else "other"
        assert f"Head {label} {title}" in cell["said"]
        assert (first is None) or first["sentence"] in cell["said"]
        assert fills.setdefault(title, cell["fill"]) == cell["fill"]
    assert len(set(fills.values())) == len(fills) == 8


def test_the_legend_counts_and_filters(one: Path, open_site: Open) -> None:
    page = open_site(one)
    counts = {button.split("\n")[0]: int(button.split("\n")[-1])
              for button in page.locator(".legend button").all_inner_texts()}  # fmt: skip
    assert sum(counts.values()) == 72
    page.locator(".legend button", has_text="induction").click()
    page.wait_for_selector(".legend button[aria-pressed=true]")
    assert page.locator(".map .cell:not(.dim)").count() == counts["induction"]
    assert page.locator("#heads .role").count() == 1
    page.locator(".legend button[aria-pressed=true]").click()
    page.wait_for_selector(".legend button[aria-pressed=true]", state="detached")
    assert page.locator(".map .cell.dim").count() == 0


def test_the_map_by_a_figure_shows_its_values_and_chance(
    one: Path, one_tables: dict[str, Any], open_site: Open
) -> None:
    page = open_site(one)
    page.select_option("#by", label="induction")
    page.wait_for_selector(".ramp b")
    own = {(row["layer"], row["head"]): row for row in rows(one_tables["heads"]) if row["quantity"] == "induction"}
    for (layer, head), row in own.items():
        cell = page.locator(f".map .cell[href$='/{paper_label(layer, head)}']")
        assert float(cell.inner_text()) == pytest.approx(row["value"], rel=0.06)
        framed = "framed" in (cell.get_attribute("class") or "")
        assert framed == (row["low"] > row["chance"])
    place = page.evaluate("parseFloat(document.querySelector('.ramp b').style.left)")
    assert place == pytest.approx(100 * 0.05 / max(row["value"] for row in own.values()), abs=0.2)


def test_pointing_tells_and_clicking_opens(one: Path, one_tables: dict[str, Any], open_site: Open) -> None:
    page = open_site(one)
    cell = page.locator(".map .cell[href$='/2-5']")
    cell.hover()
    assert "Head 2-5" in page.locator(".tip").inner_text()
    cell.click()
    page.wait_for_function("() => document.querySelector('h1').innerText.startsWith('Head 2-5')")
    page.go_back()
    page.wait_for_function("() => document.querySelector('h1').innerText.startsWith('What the heads')")


def test_the_map_is_walked_by_keys(one: Path, open_site: Open) -> None:
    page = open_site(one)
    assert page.locator(".map .cell[tabindex='0']").count() == 1
    page.locator(".map .cell[tabindex='0']").focus()
    for key in ("ArrowRight", "ArrowRight", "ArrowDown", "ArrowLeft"):
        page.keyboard.press(key)
    assert page.evaluate("document.activeElement.getAttribute('href')").endswith("/2-2")
    assert page.locator(".map .cell[tabindex='0']").count() == 1
    page.keyboard.press("Enter")
    page.wait_for_function("() => document.querySelector('h1').innerText.startsWith('Head 2-2')")


def test_heads_that_share_keys_stand_together(four: Path, open_site: Open) -> None:
    page = open_site(four, "#model/tiny/encoder")
    assert page.locator(".map .bracket").count() == 2
    lefts = page.evaluate("[...document.querySelectorAll('.map .cell')].slice(0, 6).map((cell) => cell.offsetLeft)")
    steps = [b - a for a, b in pairwise(lefts)]
    assert steps[2] > max(steps[:2] + steps[3:]) + 3
    assert "2 groups in a layer" in page.locator("main").inner_text()


def test_streams_are_tabs(four: Path, open_site: Open) -> None:
    page = open_site(four, "#model/small")
    assert page.locator(".map .cell").count() == 24
    page.get_by_role("button", name="decoder").click()
    page.wait_for_selector("#streams button[aria-pressed=true] >> text=decoder")
    assert all("/decoder/" in href for href in page.evaluate(
        "[...document.querySelectorAll('.map .cell')].map((cell) => cell.getAttribute('href'))"))  # fmt: skip


def test_a_head_s_page_says_all_that_is_known(one: Path, one_tables: dict[str, Any], open_site: Open) -> None:
    page = open_site(one, "#head/tiny/encoder/1-1")
    sentences = [row["sentence"] for row in told(one_tables, layer=0, head=0)]
    text = page.locator(".portrait").inner_text()
    assert text.startswith(f"Head 1-1 {sentences[0]}")
    assert all(sentence in text for sentence in sentences)
    assert "Studies disagree\n\nsurvey says that it rests on [SEP]" in text
    figures = {row["title"]: row for row in rows(one_tables["heads"]) if (row["layer"], row["head"]) == (0, 0)}
    page.fill(".filter input", "figure 1")
    shown = page.evaluate("""[...document.querySelectorAll('.figure-row')].map((row) => (
      { title: row.querySelector('.name a').innerText, value: row.querySelector('.value b').innerText,
        facts: row.querySelector('.facts-of').innerText }))""")
    assert {one["title"] for one in shown} == {title for title in figures if title.startswith("figure 1")}
    for one_shown in shown:
        value = float(one_shown["value"].replace("−", "-").removesuffix(" %"))
        own = figures[one_shown["title"]]["value"]
        assert value == pytest.approx(100 * own if "%" in one_shown["value"] else own, rel=0.06, abs=0.006)
        others = [row["value"] for row in rows(one_tables["heads"]) if row["title"] == one_shown["title"]]
        assert re.match(rf"{1 + sum(other > own for other in others)}(st|nd|rd|th) of 72", one_shown["facts"])


def test_figures_that_say_most_come_first(one: Path, one_tables: dict[str, Any], open_site: Open) -> None:
    """What a head is found to do is its first figure; the rest is folded, and there when asked for."""
    strong = next(row for row in told(one_tables, role="previous") if row["strength"] > 0.5)
    page = open_site(one, f"#head/tiny/encoder/{paper_label(strong['layer'], strong['head'])}")
    assert page.locator(".figure-row .name a").first.inner_text() == "previous piece"
    before = page.locator(".figure-row").count()
    assert before < 20
    for details in page.locator(".figures-of-head details").all():
        details.locator("summary").click()
    page.wait_for_function("() => document.querySelectorAll('.figure-row').length === 20")


def test_examples_show_weights_and_open_in_the_viewer(one: Path, one_tables: dict[str, Any], open_site: Open) -> None:
    page = open_site(one, "#head/tiny/encoder/1-3")
    page.wait_for_selector(".example")
    examples = [row for row in rows(one_tables["examples"]) if (row["layer"], row["head"]) == (0, 2)]
    assert page.locator(".examples h4").all_inner_texts() == ["best", "typical", "where it fails"]
    words = rows(one_tables["texts"])[0]["words"]
    for place, example in enumerate(examples):
        spans = page.locator(".example").nth(place).locator(".text > span")
        assert spans.all_inner_texts() == words
        shades = spans.evaluate_all("(all) => all.map((one) => Number(one.style.getPropertyValue('--weight')))")
        assert shades.index(max(shades)) == example["weights"].index(max(example["weights"]))
        assert spans.nth(example["query"]).get_attribute("class") == "query"
    page.locator(".example .open").first.click()
    page.wait_for_function("() => document.title === 'the viewer'")
    assert page.url.endswith("/tiny/texts/0.html#view=head&stream=encoder&layer=0&head=2&heads=2&unit=word")


def test_neighbours_by_keys_and_links(one: Path, open_site: Open) -> None:
    page = open_site(one, "#head/tiny/encoder/1-12")
    page.keyboard.press("ArrowRight")
    page.wait_for_function("() => document.querySelector('h1').innerText.startsWith('Head 2-1')")
    page.keyboard.press("ArrowLeft")
    page.wait_for_function("() => document.querySelector('h1').innerText.startsWith('Head 1-12')")
    page.locator(".nearest a").first.click()
    page.wait_for_function("() => document.querySelector('h1').innerText.startsWith('Head 2-1')")
    page.locator(".study a.see[href$='survey/report.html']").click()
    page.wait_for_function("() => document.title === 'a study'")


def test_search_answers_in_the_order_of_evidence(four: Path, four_tables: dict[str, Any], open_site: Open) -> None:
    page = open_site(four)
    for question, fits in (
        ("previous", lambda row: row["role"] == "previous"),
        ("[SEP]", lambda row: row["role"] == "sep"),
        ("matters for sentiment", lambda row: row["part"] == "without"),
        ("anaphora antecedent", lambda row: row["role"] == "coreference"),
    ):
        page.fill("#search", question)
        page.wait_for_function("(q) => document.querySelector('h1').innerText.includes(q)", arg=question)
        page.wait_for_selector("html[data-ready=true]")
        found = found_on(page)
        wanted = sorted((row for row in told(four_tables) if fits(row)), key=lambda row: -row["strength"])
        assert found
        assert [sentence for _, sentence in found] == [row["sentence"] for row in wanted][: len(found)]
        assert len(found) == min(40, len(wanted))


def found_on(page: Page) -> list[tuple[str, str]]:
    return [tuple(pair) for pair in page.evaluate("""[...document.querySelectorAll('ol.found li')].map((li) => (
      [li.querySelector('a').innerText, li.querySelector('.sentence').innerText]))""")]  # fmt: skip


def test_sentences_that_say_a_word_come_before_roles_that_mean_it(four: Path, open_site: Open) -> None:
    page = open_site(four, "#search/object")
    said = ["object" in sentence for _, sentence in found_on(page)]
    assert any(said)
    assert not all(said)
    assert said == sorted(said, reverse=True)


def test_doing_nothing_comes_before_nothing_to_say(four: Path, open_site: Open) -> None:
    page = open_site(four, "#search/does%20nothing?most=4000")
    adds = [sentence.startswith("adds little") for _, sentence in found_on(page)]
    assert any(adds)
    assert not all(adds)
    assert adds == sorted(adds, reverse=True)


def test_search_in_one_model_gives_the_same_as_among_all(four: Path, open_site: Open) -> None:
    page = open_site(four, "#search/object?most=4000")
    everywhere = [(head.removeprefix("tiny "), said) for head, said in found_on(page) if head.startswith("tiny ")]
    page.select_option("#within", label="tiny")
    page.wait_for_function("() => document.querySelector('#answer').innerText.includes('of tiny')")
    within = [(head.removeprefix("tiny "), said) for head, said in found_on(page)]
    assert within == everywhere
    assert within


def test_search_finds_heads_models_and_figures_by_name(four: Path, open_site: Open) -> None:
    page = open_site(four, "#search/2-3")
    assert page.locator(".named a").count() == 8
    go(page, "#search/deep")
    page.locator(".named a", has_text="deep").first.click()
    page.wait_for_function("() => document.querySelector('h1').innerText.includes('heads of deep')")
    go(page, "#search/figure%208%20norms")
    page.locator(".measured a").first.click()
    page.wait_for_selector(".ramp")
    go(page, "#search/zzz")
    assert "No sentence" in page.locator("#answer").inner_text()


def test_compare_sets_matched_heads_beside_each_other(
    four: Path, four_tables: dict[str, Any], open_site: Open
) -> None:
    page = open_site(four, "#compare/tiny/small")
    matched = [row for row in rows(four_tables["matches"]) if (row["model"], row["other"]) == ("tiny", "small")]
    count = sum(row["matched"] for row in matched)
    assert page.locator("#answer").inner_text() == f"{count} of 48 heads of tiny have one in small that does alike."
    lines = pairs_on(page)
    assert len(lines) == count
    page.locator("#pairs summary").click()
    page.wait_for_function("() => document.querySelectorAll('#pairs tbody tr').length === 48")
    lines = pairs_on(page)
    for row in matched:
        there = paper_label(row["other_layer"], row["other_head"])
        own = next(
            parts for parts in lines if parts[0] == f"{row['stream']} {paper_label(row['layer'], row['head'])}"
        )
        assert own[2] == (f"{row['stream']} {there}" if row["matched"] else "")
        assert float(own[4]) == pytest.approx(row["distance"], abs=0.006)


def pairs_on(page: Page) -> list[list[str]]:
    """The cells of all pairs of heads that are shown."""
    lines = page.locator("#pairs tbody tr").all_inner_texts()
    return [[part.strip() for part in line.split("\t")] for line in lines]


def test_compare_by_number_too_and_from_the_other_side(
    four: Path, four_tables: dict[str, Any], open_site: Open
) -> None:
    page = open_site(four, "#compare/wide/deep")
    assert "that does alike" in page.locator("#answer").inner_text()
    page.get_by_role("button", name="by number").click()
    page.wait_for_function("() => document.querySelector('#answer').innerText.includes('under their number')")
    assert page.locator("#pairs th").all_inner_texts()[-1] == "alike"
    assert pairs_on(page)
    assert all(parts[0] == parts[2] for parts in pairs_on(page))
    go(page, "#compare/small/tiny")
    turned = {
        f"{row['stream']} {paper_label(row['other_layer'], row['other_head'])}":
            f"{row['stream']} {paper_label(row['layer'], row['head'])}" if row["matched"] else ""
        for row in rows(four_tables["matches"]) if (row["model"], row["other"]) == ("tiny", "small")
    }  # fmt: skip
    page.locator("#pairs summary").click()
    page.wait_for_function(f"() => document.querySelectorAll('#pairs tbody tr').length === {len(turned)}")
    assert {parts[0]: parts[2] for parts in pairs_on(page)} == turned


def test_compare_marks_the_partner_and_counts_roles(four: Path, open_site: Open) -> None:
    page = open_site(four, "#compare/tiny/small")
    page.locator(".map").first.locator(".cell").first.hover()
    assert page.locator(".map").nth(1).locator(".cell.marked").count() <= 1
    assert "↔ small" in page.locator(".tip").inner_text()
    counts = [line.split("\t") for line in page.locator("#roles tbody tr").all_inner_texts()]
    assert sum(int(one) for _, one, _ in counts) == sum(int(other) for *_, other in counts) == 48


def test_nothing_to_compare_is_said(one: Path, open_site: Open) -> None:
    page = open_site(one, "#compare/tiny")
    assert "one model in this atlas" in page.locator("#answer").inner_text()


def test_the_card_tells_what_was_run(one: Path, one_tables: dict[str, Any], open_site: Open) -> None:
    page = open_site(one, "#card/tiny")
    text = page.locator("main").inner_text()
    for row in rows(one_tables["sources"]):
        assert row["command"] in text
    for piece in ("0.1.0", "sample", "no bitext was given", "@misc{attlas-tiny", "year = {2026}", COMMAND,
                  "1,000,000", "6 layers of 12 heads", REMARK):  # fmt: skip
        assert piece in text
    assert not re.search(r"\dT\d\d:", page.locator("#studies").inner_text()), "times as people write them"
    assert page.locator("#studies a").first.get_attribute("href") == "./tiny/survey/report.html"


def test_tables_and_pictures_are_taken_along(one: Path, one_tables: dict[str, Any], open_site: Open) -> None:
    page = open_site(one, "#model/tiny?by=survey:previous:sample")
    page.locator(".export summary").click()
    lines = saved(page, "CSV").splitlines()
    assert lines[0] == "head,stream,layer,role,sentence"
    assert len(lines) == 73
    assert r"\begin{tabular}{llrll}" in saved(page, "LaTeX")
    assert saved(page, "Markdown").count("\n") == 76
    svg = saved(page, "SVG")
    assert svg.count("<rect") > 72
    assert "Heads of tiny by previous piece (survey, sample)" in svg
    assert 'fill="#ffffff"' in svg.split("\n")[1]
    page.locator(".export-menu input[type=checkbox]").check()
    assert 'fill="#ffffff"/>' not in saved(page, "SVG").split("\n")[1]
    assert saved(page, "BibTeX").startswith("@misc{attlas-tiny,")
    assert "attlas survey sample" in page.locator(".export-menu code").inner_text()
    with page.expect_download() as download:
        page.locator(".export-menu").get_by_role("button", name="PDF", exact=True).first.click()
    assert Path(download.value.path()).read_bytes().startswith(b"%PDF-1.4")


def test_maps_that_are_compared_are_saved_one_by_one(four: Path, open_site: Open) -> None:
    page = open_site(four, "#compare/tiny/small")
    page.locator(".export summary").click()
    page.wait_for_selector(".export-menu .row")
    rows = page.locator(".export-menu .row", has=page.get_by_role("button", name="SVG"))
    assert [row.split("\n")[0] for row in rows.all_inner_texts()] == ["tiny", "small"]
    assert "Heads of tiny by what they do" in saved(page, "SVG")


def test_every_page_has_something_to_take_along(four: Path, open_site: Open) -> None:
    page = open_site(four)
    for fragment in (
        "#models",
        "#model/tiny",
        "#head/tiny/encoder/1-1",
        "#search/object",
        "#compare/tiny/small",
        "#card/tiny",
    ):
        go(page, fragment)
        page.locator(".export summary").click()
        assert saved(page, "CSV").count("\n") > 1


@pytest.mark.parametrize("width", [390, 1280])
@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_nothing_is_clipped_or_too_small(four: Path, open_site: Open, width: int, scheme: str) -> None:
    """On every page: no sideways scrolling, no letters below 11 pixels, and the map on the first screen."""
    page = open_site(four, viewport={"width": width, "height": 900 if width > 600 else 844}, color_scheme=scheme)
    for fragment in ("", "#model/tiny", "#model/tiny?by=layer", "#model/tiny?by=survey:previous:sample",
                     "#head/tiny/encoder/1-1", "#search/object", "#compare/tiny/small", "#card/tiny"):  # fmt: skip
        go(page, fragment)
        assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")
        small = page.evaluate("""[...document.querySelectorAll('body *')].filter((one) => one.childNodes.length
          && [...one.childNodes].some((node) => node.nodeType === 3 && node.data.trim())
          && !['SCRIPT', 'STYLE', 'NOSCRIPT', 'OPTION'].includes(one.tagName)
          && parseFloat(getComputedStyle(one).fontSize) < 11).map((one) => one.outerHTML.slice(0, 90))""")
        assert small == []
        if fragment.startswith("#model"):
            bottom = page.evaluate("document.querySelector('.map').getBoundingClientRect().top")
            assert bottom < 500
            assert page.evaluate("""[...document.querySelectorAll('.map .cell span')].every((one) =>
              one.getBoundingClientRect().width <= one.parentNode.getBoundingClientRect().width)""")


def test_light_and_dark_are_the_reader_s(one: Path, open_site: Open) -> None:
    page = open_site(one)
    light = page.evaluate("getComputedStyle(document.body).backgroundColor")
    page.locator("#theme").click()
    page.wait_for_selector("html[data-ready=true]")
    assert page.evaluate("getComputedStyle(document.body).backgroundColor") != light
    page.reload()
    page.wait_for_selector("html[data-ready=true][data-theme=dark]")


def test_what_is_not_there_is_said(four: Path, open_site: Open) -> None:
    page = open_site(four, "#model/nobody")
    assert "no such model" in page.locator("h1").inner_text()
    go(page, "#head/tiny/encoder/99-1")
    assert "no such head" in page.locator("h1").inner_text()
    go(page, "#head/tiny/encoder/__proto__")
    assert "no such head" in page.locator("h1").inner_text()
    go(page, "#constructor/%E0%A4%A")
    assert page.locator("ul.models li").count() == 4
