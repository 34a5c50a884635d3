"""Pages as Markdown, for ``docs/results``: what was found by several runs of a study, their tables, and how they were
made.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from datetime import date
from typing import TYPE_CHECKING, Any

from attlas.pages import made
from attlas.pages.html import cells_of
from attlas.pages.page import Listing, Page, said
from attlas.pages.prose import as_prose, say
from attlas.pages.rows import Tables

if TYPE_CHECKING:
    from attlas.store import Result

MOST, BY = 40, 3  # rows of a table, options that tell runs apart
_SPECIAL = re.compile(r"([\\`|<\[])")  # what would mean something in a cell


def markdown_page(
    page: Page, runs: Sequence[tuple[Result, str]], *, title: str, intro: str = "", command: str = ""
) -> str:
    """The results of several runs of a study, each a result and the line that repeats it.

    >>> from attlas.store import Manifest, Result
    >>> result = Result(Manifest("toy", model={"name": "tiny"}, corpus={"name": "a book"}), {"heads": {"head": [0]}})
    >>> text = markdown_page(Page("toy", "", answer=lambda tables: None), [(result, "attlas toy")], title="Toys")
    >>> text.splitlines()[0], "`attlas toy`" in text
    ('# Toys', True)
    """
    lines = [f"# {title}", ""]
    lines += [f"Written by `{command}` on {date.today()}.", ""] if command else []
    lines += [intro, ""] if intro else []
    differs = _differences([result for result, _ in runs])
    for (result, _), by in zip(runs, differs, strict=True):
        lines += _run(page, result, by)
    lines += ["## How they were made", ""]
    for result, repeat in runs:
        manifest = result.manifest
        told = say(
            "{read}; seed {seed}, {day}, {seconds} s on {device}, attlas {version}, result {result}",
            read=made.counted(manifest), seed=str(manifest.seed), day=manifest.started[:10],
            seconds=f"{manifest.seconds:.0f}", device=manifest.model.get("device", "cpu"),
            version=manifest.versions.get("attlas", ""), result=result.fingerprint,
        )  # fmt: skip
        lines.append(f"- {_as_code(repeat)}: {told.markdown()}")
    return "\n".join([*lines, ""])


def _differences(results: Sequence[Result]) -> list[str]:
    """By what each run differs from another of the same model and corpus, as a heading says it: seed and options."""
    manifests = [result.manifest for result in results]
    names = [(manifest.model.get("name"), manifest.corpus.get("name")) for manifest in manifests]
    given = [{**manifest.plan.get("options", {}), "seed": manifest.seed} for manifest in manifests]
    said = []
    for name, options in zip(names, given, strict=True):
        others = [other for of, other in zip(names, given, strict=True) if of == name]
        by = [
            f"{key} {_told(value)}"
            for key, value in options.items()
            if not isinstance(value, dict) and any(other.get(key) != value for other in others)
        ]
        said.append(", ".join(by[:BY]))
    return said


def _told(value: object) -> str:
    """An option in words."""
    if isinstance(value, bool | None):
        return "yes" if value else "no"
    return " and ".join(map(str, value)) if isinstance(value, list) else str(value)


def _run(page: Page, result: Result, by: str) -> list[str]:
    tables = Tables(result, page.schemas, page.derived)
    heading = as_prose("{model} on {corpus}" + (" ({by})" if by else ""), **tables.names, by=by)
    lines = [f"## {heading.markdown()}", ""]
    warned = page.warning(tables)
    lines += [as_prose(warned, **tables.names).markdown(), ""] if warned else []
    for told in made.remarks(tables):
        lines += [told.markdown(), ""]
    for finding in page.found(tables):
        published = say(" (Published: {told}.)", told=finding.published.rstrip(".")).markdown()
        lines.append(f"- {finding.text.markdown()}{published if finding.published else ''}")
    lines.append("")
    for section in page.sections:
        listings = [part for part in section.present(tables) if isinstance(part, Listing)]
        if not listings:
            continue
        lines += [f"### {section.title}", ""]
        note = said(section.note, tables)
        lines += [note.markdown(), ""] if note is not None else []
        for part in listings:
            lines += [f"*{as_prose(part.title, **tables.names).markdown()}*", ""] if part.title else []
            lines += [*_table_lines(part, tables), ""]
    return lines


def _table_lines(part: Listing, tables: Tables) -> list[str]:
    """A table of a page in Markdown; rows beyond the first forty are counted."""
    rows = part.shown(tables)
    cells = cells_of(tables.schema(part.table), rows, part.columns, tables.blocks)
    lines = [
        _row(title for title, _, _, _ in cells),
        "|" + "".join("---:|" if number else "---|" for _, number, _, _ in cells),
    ]
    lines += [_row(written[at] for _, _, _, written in cells) for at in range(min(MOST, len(rows)))]
    more = len(rows) - MOST
    return [*lines, "", f"... and {more:,} rows more."] if more > 0 else lines


def _row(cells: Iterable[Any]) -> str:
    return "| " + " | ".join(_SPECIAL.sub(r"\\\1", " ".join(str(cell).splitlines())) for cell in cells) + " |"


def _as_code(text: str) -> str:
    """A line as code, between as many backquotes as it does not hold itself."""
    fence = "`" * (1 + max(map(len, re.findall("`+", text)), default=0))
    return f"{fence}{' '.join(text.splitlines())}{fence}"
