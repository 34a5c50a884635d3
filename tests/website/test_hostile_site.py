"""Texts that would break out, in every slot that people fill: names of models, titles, words, sentences, corpora."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from benchmarks.invented_atlas import Shape, invented
from made_up_sites import Open, go

from attlas.website import address, write_site

pytestmark = pytest.mark.browser
KNOWN = ("part", "kind", "example", "by")  # whose values the site itself must know
TEXTS = (
    "</script><img src=x onerror=\"window.broken='markup'\"><svg onload=\"window.broken='svg'\">",
    "\"'><b onmouseover=\"window.broken='attribute'\" autofocus onfocus=\"window.broken='focus'\">",
    "javascript:window.broken='address'//../../../etc\\..\\x",
    "a\u2028b\u2029c\r\nd\x00e\x0bf\x85g\u202eabc\u2066def`*_|[x](javascript:alert(1))${7*7}{{7*7}}<!--]]>",
    "https://example.org/x?y#z",
)


def hostile(tables: dict[str, Any], text: str) -> dict[str, Any]:
    """All tables with a text before every text in them; names stay names of the same thing."""

    def changed(column: str, value: Any) -> Any:
        if column in KNOWN or not isinstance(value, str):
            return [changed(column, item) for item in value] if isinstance(value, list) else value
        return value if column == "role" and value == "other" else text + value

    made = {}
    for name, table in tables.items():
        columns = (table if isinstance(table, pa.Table) else pa.table(table)).to_pydict()
        made[name] = {column: [changed(column, value) for value in values] for column, values in columns.items()}
    return made


@pytest.mark.parametrize("text", TEXTS, ids=["markup", "attribute", "address", "lines", "link"])
def test_texts_stay_texts(text: str, tmp_path: Path, open_site: Open) -> None:
    tables = hostile(invented(Shape(models=3, layers=2, heads=3, figures=8)), text)
    write_site(tables, tmp_path, title=text, command=text, version=text)
    for script in (tmp_path / "site" / "data").rglob("*.js"):
        whole = script.read_text(encoding="utf-8")
        assert whole.count("\n") == 1
        assert "<" not in whole.replace("\\u003c", "")
        json.loads(whole[whole.index(",") + 1 : -3])
    first, other = tables["models"]["model"][:2]
    stream = tables["models"]["stream"][0]
    page = open_site(tmp_path)
    search = address(text[:60] or "x").replace("#model/", "#search/")
    compare = address(first).replace("#model/", "#compare/") + "/" + address(other).removeprefix("#model/")
    for fragment in ("#models", address(first), address(first, stream), address(first, stream, 0, 0), search, compare,
                     address(first).replace("#model/", "#card/")):  # fmt: skip
        go(page, fragment)
        page.evaluate("for (const d of document.querySelectorAll('details')) d.open = true")
        page.wait_for_timeout(30)
        assert page.evaluate("window.broken") is None
        assert page.locator("main script, main img, main iframe, main b[onmouseover]").count() == 0
        links = page.evaluate("[...document.querySelectorAll('a')].map((a) => a.href)")
        assert all(link.startswith(tmp_path.as_uri() + "/") for link in links)
        assert page.locator(".warning", has_text="missing").count() == 0
        shown = page.locator("body").inner_text()
        assert not {"\u202e", "\u2066"} & {*shown}, "they turn around what follows, figures too"
        assert ("⟨202e⟩abc⟨2066⟩" in shown) == ("\u202e" in text)
    assert page.locator("h1").inner_text()
