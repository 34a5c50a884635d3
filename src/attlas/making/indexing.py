"""The index of a folder with several results: one page that names each, with its answer and a link to its page."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from importlib.resources import files
from pathlib import Path

from markupsafe import Markup

from attlas.errors import AttlasError, StoreError, printable
from attlas.making.places import PAGE, is_atlas, results_in
from attlas.pages.html import tag
from attlas.pages.prose import as_prose
from attlas.pages.rows import Tables
from attlas.store import Manifest, Result
from attlas.store.damage import told_as_damage
from attlas.studies.reporting import open_result, study_of, write_report
from attlas.studies.surroundings import MARK, REPORT
from attlas.whole import write_whole

POLICY = "default-src 'none'; style-src 'unsafe-inline'"
STYLE = """
.results { list-style: none; padding: 0; margin: 0; max-width: 50em; }
.results li { padding: 0.8rem 0; border-top: 1px solid var(--line); }
.results p { margin: 0.2rem 0; }
.results small { color: var(--soft); font: 13px/1.45 var(--sans); }
section { margin-top: 2.2rem; }
"""


def write_index(folder: Path) -> Path:
    """Write the page of every result in a folder, and ``index.html`` there, which names them all; results that cannot
    be read are named with the reason.

    >>> write_index(Path("no such folder"))
    Traceback (most recent call last):
        ...
    attlas.errors.StoreError: no such folder: there is no result in it; give the --out of a finished run, or ...
    """
    places = list(results_in(folder))
    if not places:
        raise StoreError(
            f"{folder}: there is no result in it; give the --out of a finished run, or a folder that has some"
        )
    entries: dict[str, list[Markup]] = {}
    shown: list[Path] = []
    for place in places:
        try:
            result = open_result(place)
            with told_as_damage(place):
                entry = _entry(result, place.relative_to(folder).as_posix())
            model = str(result.manifest.model.get("name", "no model"))
            shown.append(place)
        except AttlasError as error:
            model, entry = "Left out", tag("li", printable(str(error)))
        entries.setdefault(model, []).append(entry)
    page = folder / PAGE
    if page.exists() and not _ours(page):
        raise StoreError(f"{page}: there is a page of somebody else's here; move it away first")
    write_whole(page, _page(folder.resolve().name, entries))
    for place in shown:  # which link up to the index
        write_report(place)
    return page


def has_several(folder: Path) -> bool:
    """Whether a folder is no result itself, and has some (or is an atlas, which is made of some).

    >>> has_several(Path("no such folder"))
    False
    """
    from attlas.store.folder import MANIFEST, locate

    alone = locate(folder, MANIFEST).exists() and not is_atlas(folder)
    return not alone and next(iter(results_in(folder)), None) is not None


def _entry(result: Result, place: str) -> Markup:
    """One result: what its page asks, what it answers, and of what."""
    page, manifest = study_of(result.manifest).load_page(), result.manifest
    tables = Tables(result, page.schemas, page.derived)
    answer = page.answer(tables)
    title = str(as_prose(page.title, **tables.names))
    told = tag("p", answer.text.html()) if answer is not None else Markup("")
    about = f"{manifest.study} on {manifest.corpus.get('name', 'no corpus')}{_when(manifest)}; {place}"
    return tag("li", tag("a", title, href=f"{_quoted(place)}/{REPORT}"), told, tag("small", about))


def _when(manifest: Manifest) -> str:
    try:
        moment = datetime.fromisoformat(manifest.started)
    except ValueError:
        return ""
    return f", {moment.day} {moment:%B %Y}, attlas {manifest.versions.get('attlas', '')}"


def _quoted(place: str) -> str:
    from urllib.parse import quote

    return quote(place)


def _ours(page: Path) -> bool:
    from attlas.studies.surroundings import is_ours

    return is_ours(page)


def _page(name: str, entries: dict[str, list[Markup]]) -> str:
    """The whole page."""
    count = sum(len(own) for model, own in entries.items() if model != "Left out")
    title = f"{count} results in {name}" if count != 1 else f"1 result in {name}"
    style = files("attlas.pages").joinpath("static", "report.css").read_text(encoding="utf-8") + STYLE
    order: Sequence[str] = sorted(entries, key=lambda model: (model == "Left out", model))
    sections = [tag("section", tag("h2", model), tag("ul", *entries[model], class_="results")) for model in order]
    return Markup(
        '<!doctype html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
        '<meta http-equiv="Content-Security-Policy" content="{policy}">\n'
        '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        '<meta name="color-scheme" content="light dark">\n{mark}\n<title>{title}</title>\n<style>\n{style}</style>\n'
        "</head>\n<body>\n<main>\n{body}\n</main>\n</body>\n</html>\n"
    ).format(
        policy=Markup(POLICY), mark=Markup(MARK), title=title, style=Markup(style),
        body=Markup("\n").join([tag("h1", title), *sections]),
    )  # fmt: skip
