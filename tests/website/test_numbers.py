"""Numbers are written in the browser as they are in Python, and read there as they were packed."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

from attlas.store.schema import KINDS, interval
from attlas.views.script import join
from attlas.website.packing import packed
from browsers import Tabs

if TYPE_CHECKING:
    from playwright.sync_api import Page

pytestmark = pytest.mark.browser
WRITTEN = ("share", "number", "signed", "percent", "p", "count", "seconds")


@pytest.fixture
def tab(tabs: Tabs) -> Iterator[Page]:
    page = tabs.lend({})
    yield page
    tabs.take_back(page)


def numbers() -> list[float]:
    random = np.random.default_rng(3)
    drawn = np.concatenate([sign * 10 ** random.uniform(-7, 5, 150) for sign in (-1, 1)])
    return [0.0, 1.0, 0.0999, 0.0994, 9.949, 9.951, 99.49, 99.51, 1234.4, 1e6, *drawn.tolist()]


@pytest.mark.parametrize("kind", WRITTEN)
def test_numbers_are_written_alike(kind: str, tab: Page) -> None:
    values = numbers()
    values = [abs(value) % 1 if kind == "p" else abs(value) for value in values] if kind in ("p", "count") else values
    script = f"{join('kinds', 'attlas.website')}; values.map((value) => $kinds.write(value, kind))"
    written = tab.evaluate("([script, values, kind]) => eval(script)", [script, values, kind])
    expected = [KINDS[kind].write(value, None) for value in values]
    assert [pair for pair in zip(values, expected, written, strict=True) if pair[1] != pair[2]] == []


def test_intervals_are_written_alike(tab: Page) -> None:
    ends = [(0.1, 0.25), (-0.2, 0.1), (-3.0, -1.5), (12.0, 144.0)]
    script = f"{join('kinds', 'attlas.website')}; ends.map(([low, high]) => $kinds.interval(low, high, 'number'))"
    written = tab.evaluate("([script, ends]) => eval(script)", [script, ends])
    assert written == [interval(*(KINDS["number"].write(end, None) for end in pair)) for pair in ends]
    nothing = f"{join('kinds', 'attlas.website')}; [$kinds.write(null), $kinds.write(NaN), $kinds.interval(1, null)]"
    assert tab.evaluate("(script) => eval(script)", nothing) == ["", "", ""]


def test_packed_numbers_are_read(tab: Page) -> None:
    values = [*numbers(), float("nan"), 1e-30, -3e30]
    script = f"{join('store', 'attlas.website')}; $store.floats(text)"
    read = tab.evaluate(
        "async ([script, text]) => Array.from(await eval(script), (v) => (Number.isNaN(v) ? null : v))",
        [script, packed(values)],
    )
    assert len(read) == len(values)
    for value, there in zip(values, read, strict=True):
        assert (there is None) if np.isnan(value) else there == pytest.approx(value, rel=1e-5, abs=0)


def table() -> dict[str, Any]:
    def cell(shown: str, value: Any) -> dict[str, Any]:
        return {"shown": shown, "value": value}

    return {
        "name": "a table", "caption": "50 % of & all_heads",
        "columns": [{"title": "head"}, {"title": "value", "number": True}, {"title": "sentence"}],
        "rows": [[cell("3-1", "3-1"), cell("0.12", 0.123456789), cell('says "a, b" | <c>', "")],
                 [cell("=1+1", "=1+1"), cell("−2.0", -2), cell("two\nlines \\input{x} $y$", "")]],
    }  # fmt: skip


def test_tables_as_csv_are_read_by_others(tab: Page, tmp_path: Path) -> None:
    import pandas as pd

    script = f"{join('texts', 'attlas.website')}; $texts.csv(table)"
    (tmp_path / "a.csv").write_text(tab.evaluate("([script, table]) => eval(script)", [script, table()]), newline="")
    frame = pd.read_csv(tmp_path / "a.csv")
    assert frame.columns.tolist() == ["head", "value", "sentence"]
    assert frame["value"].tolist() == [0.123457, -2.0]
    assert frame["head"].tolist() == ["3-1", "'=1+1"]
    assert frame["sentence"].tolist() == ['says "a, b" | <c>', "two lines \\input{x} $y$"]


def test_tables_as_latex_and_markdown_are_escaped(tab: Page) -> None:
    script = f"{join('texts', 'attlas.website')}; [$texts.latex(table), $texts.markdown(table)]"
    latex, markdown = tab.evaluate("([script, table]) => eval(script)", [script, table()])
    assert r"\caption{50 \% of \& all\_heads}" in latex
    assert r"\textbackslash{}input\{x\} \$y\$" in latex
    assert r"=1+1 & $-$2.0 & two lines" in latex
    assert latex.count(r"\begin") == latex.count(r"\end") == 2
    lines = markdown.splitlines()
    assert lines[2] == "| head | value | sentence |"
    assert lines[3] == "|---|--:|---|"
    assert r"says \"a" not in lines[4]
    assert r"\| \<c\>" in lines[4]
    assert len(lines) == 6


def pdf_objects(data: bytes) -> dict[int, bytes]:
    """The objects of a PDF, found by its table of places alone."""
    start = int(data.rsplit(b"startxref\n", 1)[1].split(b"\n", 1)[0])
    head, *lines = data[start:].split(b"trailer", 1)[0].splitlines()
    assert head == b"xref"
    first, count = map(int, lines[0].split())
    assert (first, len(lines) - 1) == (0, count)
    found = {}
    for number, line in enumerate(lines[2:], 1):
        assert len(line) in (18, 19)  # twenty bytes with the two of its line end
        place = int(line[:10])
        assert data[place:].startswith(b"%d 0 obj\n" % number)
        found[number] = data[place:].split(b"endobj", 1)[0]
    return found


def test_a_pdf_is_one(tab: Page) -> None:
    """Its places are right, its lengths too; letters that Helvetica lacks are a stencil and not another letter."""
    script = f"""{join("pdf", "attlas.website")}
      const surface = $pdf.pdfSurface(300, 200);
      surface.rect(10, 10, 50, 20, "#ff0000", 0.5);
      surface.disc(100, 50, 5, "rgb(0,0,255)");
      surface.frame(10, 40, 20, 20, "#000000");
      surface.text("Größe (a) − 50 %", 20, 80, {{ font: "600 12px sans-serif", fill: "#000000" }});
      surface.text("注意 頭", 20, 120, {{ font: "12px sans-serif", fill: "#000000", align: "center" }});
      surface.finish().arrayBuffer().then((whole) => Array.from(new Uint8Array(whole)))"""
    data = bytes(tab.evaluate("async (script) => await eval(script)", script))
    assert data.startswith(b"%PDF-1.4")
    objects = pdf_objects(data)
    for body in objects.values():
        if b"stream\n" in body:
            length = int(body.split(b"/Length ", 1)[1].split()[0])
            inside = body.split(b"stream\n", 1)[1]
            assert inside[length:].startswith(b"\nendstream")
    content = next(body for body in objects.values() if b" re f" in body)
    assert b"/MediaBox [0 0 225 150]" in objects[3]
    assert b"1 0 0 rg 10 170 50 20 re f" in content
    assert "Größe (a) – 50 %".encode("cp1252").hex().encode() in content
    assert sum(b"/ImageMask true" in body for body in objects.values()) == 1
