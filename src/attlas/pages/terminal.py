"""A page in a terminal: the answer, what was found, and of its first table the first rows and the columns that fit.

The same record that makes the HTML page makes this, so that the two cannot differ. :func:`as_json` gives the same as
data, for programs.
"""

from __future__ import annotations

from itertools import accumulate
from typing import TYPE_CHECKING, Any

from attlas.errors import printable
from attlas.pages import made
from attlas.pages.html import cells_of
from attlas.pages.page import Listing, Page
from attlas.pages.prose import count_of
from attlas.pages.rows import Tables

if TYPE_CHECKING:
    from rich.console import Console

    from attlas.store import Result

MOST = 12


def print_page(page: Page, result: Result, console: Console) -> None:
    """Print the answer, the findings and the first table.

    >>> from rich.console import Console
    >>> from attlas.store import Manifest, Result
    >>> result = Result(Manifest("toy"), {"heads": {"head": [0]}})
    >>> print_page(Page("toy", "", answer=lambda tables: None), result, Console())
    """
    from rich.table import Table
    from rich.text import Text

    tables = Tables(result, page.schemas, page.derived)
    warned = page.warning(tables)
    if warned:
        console.print(Text(printable(str(warned)), style="red"))
    for number, finding in enumerate(page.found(tables)):
        console.print(Text(printable(str(finding.text)), style="bold" if number == 0 else ""))
    for told in made.remarks(tables):
        console.print(Text(printable(str(told))))
    part = _first_listing(page, tables)
    if part is None:
        return
    if part.title:
        console.print(Text(printable(f"{part.title}:")))
    rows = part.shown(tables)
    found = cells_of(tables.schema(part.table), rows, part.columns, tables.blocks)
    cells = [(title, number, [printable(cell) for cell in written[:MOST]]) for title, number, _, written in found]
    widths = [_width(title, number, written) for title, number, written in cells]
    fitting = max(1, sum(total <= console.width for total in accumulate(widths)))
    table = Table(box=None, header_style="bold", padding=(0, 1))
    texts = max(1, sum(not number for _, number, _ in cells[:fitting]))
    spare = max(0, console.width - sum(widths[:fitting])) // texts  # what each column of texts may take more
    for (title, number, written), width in zip(cells[:fitting], widths, strict=False):
        wanted = 0 if number else max(map(len, (title, *written))) + 2 - width
        table.add_column(title, justify="right" if number else "left", width=width - 2 + min(spare, wanted))
    for at in range(min(MOST, len(rows))):
        table.add_row(*(Text(written[at]) for _, _, written in cells[:fitting]))
    console.print(table)
    more = [(len(rows) - MOST, "row", "rows"), (len(cells) - fitting, "column", "columns")]
    rest = [count_of(number, one, many) for number, one, many in more if number > 0]
    if rest:
        console.print(f"... and {' and '.join(rest)} more, in the report", highlight=False)


def _width(title: str, number: bool, written: list[str]) -> int:
    """The least width of a column: of its widest number, or of the longest word of a text, which can be wrapped."""
    return 2 + max(map(len, (*title.split(), *(written if number else " ".join(written).split()))), default=0)


def as_json(page: Page, result: Result) -> dict[str, Any]:
    """The answer, the findings and the first table, as data; and the warning, where there is one, and the blocks that
    layers are, where these have other numbers; ``baseline`` is there, and null, where a run was made without twins.

    >>> from attlas.store import Manifest, Result
    >>> as_json(Page("toy", "", answer=lambda tables: None), Result(Manifest("toy"), {"heads": {"head": [0]}}))
    {'study': 'toy', 'findings': [], 'table': None, 'rows': []}
    """
    tables = Tables(result, page.schemas, page.derived)
    part, warned = _first_listing(page, tables), page.warning(tables)
    return {
        "study": page.study,
        **({"warning": str(warned)} if warned else {}),
        **({"blocks": tables.blocks} if tables.blocks else {}),
        **({} if tables.baseline else {"baseline": None}),
        "findings": [str(finding.text) for finding in page.found(tables)],
        "table": None if part is None else part.table,
        "rows": [] if part is None else [dict(row) for row in part.shown(tables)],
    }


def _first_listing(page: Page, tables: Tables) -> Listing | None:
    """The first table of a page that has rows."""
    parts = (part for section in page.sections for part in section.parts if isinstance(part, Listing))
    return next((part for part in parts if part.fits(tables)), None)
