"""Pages as Markdown, for ``docs/results``: what was found by several runs of a study, their tables, and how they were
made.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from datetime import date
from typing import TYPE_CHECKING, Any

from attlas.pages import made
from attlas.pages.html import cells_of
from attlas.pages.page import Listing, Page, said
from attlas.pages.prose import as_prose
from attlas.pages.rows import Rows, Tables

if TYPE_CHECKING:
    from attlas.store import Result

MOST = 40


def markdown_page(
    page: Page,
    runs: Sequence[tuple[Result, str]],
    *,
    title: str,
    intro: str = "",
    command: str = "",
    most: int = MOST,
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
    for result, _ in runs:
        lines += _run(page, result, most)
    lines += ["## How they were made", ""]
    for result, repeat in runs:
        manifest = result.manifest
        about = (
            f"{made.counted(manifest)}; seed {manifest.seed}, {manifest.started[:10]}, {manifest.seconds:.0f} s on "
        )
        about += f"{manifest.model.get('device', 'cpu')}, attlas {manifest.versions.get('attlas', '')}, "
        about += f"result {result.fingerprint}"
        lines.append(f"- `{repeat}`: {about}")
    return "\n".join([*lines, ""])


def _run(page: Page, result: Result, most: int) -> list[str]:
    tables = Tables(result, page.schemas, page.derived)
    lines = [f"## {as_prose('{model} on {corpus}', **tables.names).markdown()}", ""]
    warned = page.warning(tables)
    lines += [as_prose(warned, **tables.names).markdown(), ""] if warned else []
    for finding in page.found(tables):
        published = f" (Published: {finding.published.rstrip('.')}.)" if finding.published else ""
        lines.append(f"- {finding.text.markdown()}{published}")
    lines.append("")
    for section in page.sections:
        listings = [part for part in section.present(tables) if isinstance(part, Listing)]
        if not listings:
            continue
        lines += [f"### {section.title}", ""]
        note = said(section.note, tables)
        lines += [note.markdown(), ""] if note is not None else []
        for part in listings:
            lines += [*table_lines(part, tables, most), ""]
    return lines


def table_lines(part: Listing, tables: Tables, most: int = MOST) -> list[str]:
    """A table of a page in Markdown; rows beyond ``most`` are counted.

    >>> from attlas.store import Manifest, Result
    >>> from attlas.store.schema import Column, Schema
    >>> schema = Schema("heads", "", Column("value", "share|d", "share"))
    >>> tables = Tables(Result(Manifest("toy"), {"heads": {"value": [0.5]}}), [schema])
    >>> table_lines(Listing("heads", "value"), tables)
    ['| share\\\\|d |', '|---:|', '| 0.50 |']
    """
    rows = part.shown(tables)
    cells = cells_of(tables.schema(part.table), rows, part.columns)
    lines = [
        _row(title for title, _, _, _ in cells),
        "|" + "".join("---:|" if number else "---|" for _, number, _, _ in cells),
    ]
    lines += [_row(written[at] for _, _, _, written in cells) for at in range(min(most, len(rows)))]
    more = len(rows) - most
    return [*lines, "", f"... and {more:,} rows more."] if more > 0 else lines


def plain_table(rows: Rows, columns: Sequence[tuple[str, str]]) -> list[str]:
    """Rows as a Markdown table, as they are written already: pairs of a title and a column.

    >>> plain_table(Rows([{"a": 1}]), [("first", "a")])
    ['| first |', '|---|', '| 1 |']
    """
    lines = [_row(title for title, _ in columns), "|" + "---|" * len(columns)]
    return lines + [_row("" if row.get(name) is None else row[name] for _, name in columns) for row in rows]


def _row(cells: Iterable[Any]) -> str:
    return "| " + " | ".join(str(cell).replace("|", "\\|").replace("\n", " ") for cell in cells) + " |"
