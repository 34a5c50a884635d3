"""Tables that are written into the page as they are: a study's main answer, to be read without a script.

Cells are plain text and are escaped; what is HTML already comes as :class:`Html`. Columns of numbers stand to the
right.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from html import escape
from typing import NamedTuple


class Html(NamedTuple):
    """A cell that is HTML already.

    >>> Html("<b>1</b>").html
    '<b>1</b>'
    """

    html: str


Cell = str | Html


def table(head: Sequence[Cell], rows: Sequence[Sequence[Cell]], *, label: str, text: Collection[int] = (0,)) -> str:
    """An HTML table that scrolls where it is too wide; ``text`` are the columns that are no numbers.

    >>> table(["relation", "accuracy"], [["<det>", ".94"]], label="Relations").splitlines()[2]
    '<tr><td class="text">&lt;det&gt;</td><td>.94</td></tr>'
    """
    heads = "".join(_cell("th", cell, number in text) for number, cell in enumerate(head))
    lines = [
        "<tr>" + "".join(_cell("td", cell, number in text) for number, cell in enumerate(row)) + "</tr>"
        for row in rows
    ]
    return "\n".join(
        [
            f'<div class="scroll whole" tabindex="0" role="region" aria-label="{escape(label)}">',
            f"<table><thead><tr>{heads}</tr></thead><tbody>",
            *lines,
            "</tbody></table></div>",
        ]
    )


def share(value: float | None) -> str:
    """A share as people write it: two digits, no leading zero; nothing where there is none.

    >>> share(0.974), share(1.0), share(-0.5), share(None)
    ('.97', '1.00', '−.50', '')
    """
    if value is None or value != value:
        return ""
    text = f"{abs(value):.2f}"
    return ("−" if value < 0 and text.strip("0.") else "") + (text[1:] if text.startswith("0") else text)


def percent(value: float | None) -> str:
    """A share in per cent with one digit, as the papers' tables have it.

    >>> percent(0.9431), percent(None)
    ('94.3', '')
    """
    return "" if value is None or value != value else f"{100 * value:.1f}"


def between(low: float | None, high: float | None) -> str:
    """The two ends of an interval, in per cent.

    >>> between(0.9, 0.95), between(None, None)
    ('90.0–95.0', '')
    """
    return "" if low is None or high is None else ends(percent(low), percent(high))


def ends(low: str, high: str) -> str:
    """Two numbers as an interval; a dash would be lost among minus signs.

    >>> ends("3.1", "4.0"), ends("-1.2", "0.4")
    ('3.1–4.0', '−1.2 to 0.4')
    """
    low, high = (number.replace("-", "−") for number in (low, high))
    return f"{low} to {high}" if "−" in (low[:1], high[:1]) else f"{low}–{high}"


def _cell(tag: str, cell: Cell, text: bool) -> str:
    inner = cell.html if isinstance(cell, Html) else escape(cell)
    scope = ' scope="col"' if tag == "th" else ""
    return f'<{tag}{scope} class="text">{inner}</{tag}>' if text else f"<{tag}{scope}>{inner}</{tag}>"
