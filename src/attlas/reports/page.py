"""One HTML page that needs nothing but itself.

Styles, scripts, the charting library and the numbers all lie in the page, each of them once. The numbers are packed
by column: a column of few different values is written as those values and their places, which keeps a page of
thousands of rows small. A policy in the head of the page forbids the browser every request, so that a report can be
opened anywhere and tells nobody that it was. Whatever comes from a user (names, labels, words) is escaped: as text on
its way into HTML, and as ``\\u003c`` on its way into a script.
"""

from __future__ import annotations

import json
import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from html import escape
from importlib.resources import files
from typing import TYPE_CHECKING, Any

from attlas.reports.charts import CONFIG, Spec
from attlas.views.page import script_json

if TYPE_CHECKING:
    import pyarrow

_POLICY = (
    "default-src 'none'; script-src 'unsafe-inline' 'unsafe-eval'; style-src 'unsafe-inline'; img-src data: blob:"
)


@dataclass(frozen=True)
class Figure:
    """A chart and the rows it shows: those of a table whose columns have one of the values in ``where``.

    ``label`` says what is seen, for those who cannot see it. ``drives`` names settings of this chart that another
    chart follows, ``picks`` a column whose value a click on this chart hands to another one.

    >>> Figure("sep", "[SEP]", {}, "heads", {"quantity": ["sep"]}).table
    'heads'
    """

    key: str
    title: str
    spec: Spec
    table: str
    where: Mapping[str, Sequence[str]] = field(default_factory=dict)
    label: str = ""
    note: str = ""
    drives: Mapping[str, Sequence[str]] = field(default_factory=dict)
    picks: Mapping[str, str] = field(default_factory=dict)

    def html(self) -> str:
        """The place in the page where the chart will be drawn.

        >>> print(Figure("sep", "[SEP] & co", {}, "heads").html())
        <figure id="figure-sep" data-figure="sep"><figcaption>[SEP] &amp; co</figcaption>
        <div class="chart" role="group" aria-label="[SEP] &amp; co"></div></figure>
        """
        note = f" <small>{escape(self.note)}</small>" if self.note else ""
        return (
            f'<figure id="figure-{escape(self.key)}" data-figure="{escape(self.key)}">'
            f"<figcaption>{escape(self.title)}{note}</figcaption>\n"
            f'<div class="chart" role="group" aria-label="{escape(self.label or self.title)}"></div></figure>'
        )


@dataclass(frozen=True)
class Section:
    """A part of the page: a heading, some sentences on how to read it (HTML), and what there is to see (HTML).

    >>> Section("made", "How it was made", "<p>So.</p>", "").figures
    ()
    """

    key: str
    title: str
    lead: str
    body: str
    figures: tuple[Figure, ...] = ()
    short: str = ""

    def html(self) -> str:
        """The section as HTML.

        >>> Section("made", "How it was made", "<p>So.</p>", "").html().splitlines()[0]
        '<section id="made" aria-labelledby="made-title">'
        """
        return (
            f'<section id="{escape(self.key)}" aria-labelledby="{escape(self.key)}-title">\n'
            f'<h2 id="{escape(self.key)}-title">{escape(self.title)}</h2>\n'
            f'<div class="prose">{self.lead}</div>\n{self.body}\n'
            '<p class="absent" hidden>Not measured in this attention.</p>\n</section>'
        )


def grid(figures: Iterable[Figure], kind: str = "small") -> str:
    """Charts beside each other, as many as fit: ``kind`` is small, half or wide.

    >>> grid([], "wide")
    '<div class="figures wide"></div>'
    """
    return f'<div class="figures {kind}">' + "\n".join(figure.html() for figure in figures) + "</div>"


def render(
    title: str,
    opening: str,
    sections: Sequence[Section],
    tables: Mapping[str, pyarrow.Table],
    extra: Mapping[str, Any] | None = None,
    tail: str = "",
) -> str:
    """Write the whole page: ``opening`` is the HTML below the title, ``extra`` goes to the page's script, ``tail`` is
    HTML at the very end, such as a gallery of scenes.

    >>> page = render("A <b>", "<p>Hello.</p>", [], {})
    >>> "<title>A &lt;b&gt;</title>" in page, page.count("http-equiv")
    (True, 1)
    """
    figures = [figure for section in sections for figure in section.figures]
    data = {
        "config": CONFIG,
        "figures": {
            figure.key: {
                "spec": {**figure.spec, "description": figure.label or figure.title},
                "table": figure.table,
                "where": {column: list(values) for column, values in figure.where.items()},
                "drives": {signal: list(keys) for signal, keys in figure.drives.items()},
                "picks": dict(figure.picks),
            }
            for figure in figures
        },
        "tables": {name: pack(table) for name, table in tables.items()},
        **(extra or {}),
    }
    links = "".join(
        f'<a href="#{escape(section.key)}">{escape(section.short or section.title)}</a>' for section in sections
    )
    library = _chart_library() if figures else ""
    return f"""<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta http-equiv="Content-Security-Policy" content="{_POLICY}">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<meta name="generator" content="attlas">
<title>{escape(title)}</title>
<style>
{_static("report.css")}</style>
<script>
{_static("report.js")}</script>
</head>
<body>
<a class="skip" href="#content">Skip to the content</a>
<header class="bar"><nav aria-label="Sections">{links}</nav>
<div class="controls"><div id="streams"></div>
<button type="button" id="theme" aria-pressed="false">Dark</button></div></header>
<main id="content">
<h1>{escape(title)}</h1>
{opening}
<noscript><p class="absent">The charts and the table of heads are drawn by scripts inside this page; switch scripts on
to see them. Nothing is loaded from anywhere.</p></noscript>
{chr(10).join(section.html() for section in sections)}
</main>
<script type="application/json" id="data">{script_json(data)}</script>
<script>{library}</script>
{tail}
</body>
</html>
"""


def pack(table: pyarrow.Table) -> dict[str, Any]:
    """The columns of a table, small in JSON: fractions keep four significant digits, counts keep all.

    >>> import pyarrow
    >>> pack(pyarrow.table({"stream": ["encoder"] * 4, "value": [0.123456, 2.0, None, 1.0]}))
    {'rows': 4, 'columns': {'stream': {'of': ['encoder'], 'at': [0, 0, 0, 0]}, 'value': [0.1235, 2, None, 1]}}
    """
    columns = {}
    for name in table.column_names:
        plain = [_short(value) for value in table.column(name).to_pylist()]
        places = {value: place for place, value in enumerate(dict.fromkeys(plain))}
        coded = {"of": list(places), "at": [places[value] for value in plain]}
        columns[name] = coded if len(json.dumps(coded)) < len(json.dumps(plain)) else plain
    return {"rows": table.num_rows, "columns": columns}


def _short(value: Any) -> Any:
    if not isinstance(value, float):
        return value
    if not math.isfinite(value):
        return None
    rounded = float(f"{value:.4g}") if abs(value) < 1000 else round(value)
    return int(rounded) if rounded == int(rounded) else rounded


def _static(name: str) -> str:
    return files("attlas.reports").joinpath("static").joinpath(name).read_text(encoding="utf-8")


@lru_cache(maxsize=1)
def _chart_library() -> str:
    """Vega, Vega-Lite and Vega-Embed as one script, of the version the charts are written for."""
    import altair
    import vl_convert

    wanted = ".".join(altair.SCHEMA_VERSION.lstrip("v").split(".")[:2])
    known: list[str] = vl_convert.get_vegalite_versions()
    version = wanted if wanted in known else known[-1]
    bundle: str = vl_convert.javascript_bundle("window.vegaEmbed = vegaEmbed;", version)
    return bundle.replace("</script", "<\\/script").replace("<!--", "<\\!--")
