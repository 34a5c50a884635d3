"""From the tables of an atlas to its site: ``index.html`` and the folder ``site`` beside it.

The folder is made whole under another name and takes its place at the end, so that a site that is written anew, or
whose writing fails, is never half of two. The page itself holds next to nothing: a policy that forbids it every
request that leaves its folder, the style, the script, and the first file of data.
"""

from __future__ import annotations

import hashlib
import os
import shutil
from collections.abc import Mapping, Sequence
from html import escape
from importlib.resources import files
from pathlib import Path
from typing import Any
from urllib.parse import quote

from attlas.errors import StoreError
from attlas.ids import paper_label
from attlas.views.script import join
from attlas.website.given import Given
from attlas.website.grids import grids
from attlas.website.index import answer, citation, index_of
from attlas.website.models import ModelFiles
from attlas.website.packing import put
from attlas.website.searching import Searching
from attlas.website.sentences import Sentences, roles_of
from attlas.whole import write_whole

STYLES = ("report.css", "site.css")
# What lies in the folder is 'self' from a server; some browsers say so of files, too, others know only their scheme.
POLICY = (
    "default-src 'none'; script-src 'self' file:; style-src 'self' file:; img-src 'self' data: blob:; "
    "base-uri 'none'; form-action 'none'"
)


def write_site(
    tables: Mapping[str, Any],
    out: str | Path,
    *,
    title: str = "",
    command: str = "",
    version: str = "",
    year: str = "",
    remarks: Sequence[str] = (),
) -> Path:
    """Write the site of an atlas into the folder ``out``; the page to open comes back.

    ``tables`` are Arrow tables, or columns, by name (:mod:`attlas.website.given`); ``title`` is what the site is
    called where there are several models, ``command`` the line that makes it again, ``version`` that of attlas,
    ``year`` stands in how to cite it, and ``remarks`` are what to know before figures are compared.

    >>> import tempfile
    >>> heads = {"model": ["tiny"], "stream": ["encoder"], "layer": [0], "head": [0], "study": ["survey"],
    ...     "quantity": ["previous"], "title": ["previous piece"], "kind": ["share"], "value": [0.5]}
    >>> models = {"model": ["tiny"], "stream": ["encoder"], "layers": [1], "heads": [1]}
    >>> page = write_site({"models": models, "heads": heads}, tempfile.mkdtemp())
    >>> page.name, sorted(path.name for path in (page.parent / "site").iterdir())
    ('index.html', ['attlas.css', 'attlas.js', 'data'])
    """
    out = Path(out)
    given = Given(tables)
    made, old = out / "site.new", out / "site.old"
    try:
        out.mkdir(parents=True, exist_ok=True)
        for folder in (made, old):
            if folder.exists():
                shutil.rmtree(folder)
        about = {"title": title, "command": command, "version": version, "year": year, "remarks": list(remarks)}
        names = _write_data(given, made / "data", about)
        style, script = site_styles(), site_script()
        (made / "attlas.css").write_text(style, encoding="utf-8")
        (made / "attlas.js").write_text(script, encoding="utf-8")
        stamp = _stamp(made)
        if (out / "site").exists():
            os.replace(out / "site", old)
        os.replace(made, out / "site")
        write_whole(out / "index.html", page_of(title or _called(names), stamp))
        shutil.rmtree(old, ignore_errors=True)
    except OSError as error:
        raise StoreError(f"{error.filename or out} cannot be written: {error.strerror}") from None
    finally:
        shutil.rmtree(made, ignore_errors=True)
    return out / "index.html"


def address(model: str, stream: str = "", layer: int | None = None, head: int | None = None) -> str:
    """The fragment of the site's address at which a model, or one of its heads, is shown.

    >>> address("org/model"), address("tiny", "encoder", 2, 0)
    ('#model/org%2Fmodel', '#head/tiny/encoder/3-1')
    """
    name = quote(model, safe="")
    if layer is None or head is None:
        return f"#model/{name}" + (f"/{quote(stream, safe='')}" if stream else "")
    return f"#head/{name}/{quote(stream, safe='')}/{paper_label(layer, head)}"


def site_script() -> str:
    """The one script of a site: its modules, and those of the viewer that they use.

    >>> "import {" in site_script(), "$attlas" in site_script()
    (False, True)
    """
    return f'(() => {{\n"use strict";\n{join("site", "attlas.website")}\n$site.begin();\n}})();\n'


def site_styles() -> str:
    """The style of the pages of studies, and what a site has beyond.

    >>> "--paper" in site_styles()
    True
    """
    pages = files("attlas.pages").joinpath("static", STYLES[0]).read_text(encoding="utf-8")
    return pages + files("attlas.website").joinpath("static", STYLES[1]).read_text(encoding="utf-8")


def page_of(title: str, stamp: str) -> str:
    """The page itself; ``stamp`` makes browsers forget what they kept of an earlier site.

    >>> "<title>&lt;b&gt;</title>" in page_of("<b>", "1")
    True
    """
    return f"""<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta http-equiv="Content-Security-Policy" content="{POLICY}">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<meta name="generator" content="attlas">
<meta name="referrer" content="no-referrer">
<title>{escape(title)}</title>
<link rel="icon" href="data:,">
<link rel="stylesheet" href="site/attlas.css?{stamp}">
<script src="site/attlas.js?{stamp}" defer></script>
<script src="site/data/index.js?{stamp}" defer></script>
</head>
<body data-stamp="{stamp}">
<a class="skip" href="#content">Skip to the content</a>
<noscript><main><h1>{escape(title)}</h1><p>This atlas is drawn by a script beside it; switch scripts on to see it.
Nothing is loaded from anywhere else.</p></main></noscript>
</body>
</html>
"""


def _write_data(given: Given, folder: Path, about: dict[str, Any]) -> list[str]:
    """Write all files of data; the names of the models come back."""
    roles = roles_of(given)
    sentences = Sentences(given, roles)
    searching = Searching(sentences)
    writer = ModelFiles(folder, given, sentences)
    models, answers = [], []
    for grid in grids(given):
        number = writer.numbers[grid.model]
        fingerprint = next(str(row.get("fingerprint") or "") for row in writer.shapes if row["model"] == grid.model)
        known = writer.write(grid, citation(grid, fingerprint, about["version"], about["year"]))
        searching.add(number, grid)
        rows, place = sentences.of(number, grid.heads)
        role, _ = sentences.of_heads(rows, place, len(grid.heads))
        models.append(known)
        told = "portraits" in given
        answers.append(answer(grid.model, roles, role, portraits=told))
        for at, stream in enumerate(known["streams"]):
            own = role[grid.heads.stream == at]
            stream["answer"] = answer(grid.model, roles, own, portraits=told, stream=stream["stream"])
    searching.write(folder)
    put(folder, "index", index_of(models, answers, roles, about))
    return [model["name"] for model in models]


def _called(names: list[str]) -> str:
    return f"The heads of {names[0]}" if len(names) == 1 else f"The heads of {len(names)} models"


def _stamp(folder: Path) -> str:
    """A few letters that are others when any file is another."""
    whole = hashlib.sha256()
    for path in sorted(folder.rglob("*")):
        if path.is_file():
            whole.update(path.relative_to(folder).as_posix().encode())
            whole.update(path.read_bytes())
    return whole.hexdigest()[:10]
