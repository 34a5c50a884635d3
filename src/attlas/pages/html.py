"""A page as one HTML file that needs nothing but itself.

Styles, scripts, the charting library and the numbers all lie in the file, each of them once. The numbers are packed
by column: a column of few different values is written as those values and their places, which keeps a page of
thousands of rows small. A policy in the head of the page forbids the browser every request, so that a page can be
opened anywhere and tells nobody that it was. Everything is put together as :class:`~markupsafe.Markup`, which escapes
whatever comes from a user on its way in; numbers and names inside scripts go as JSON in which ``<`` is escaped.
"""

from __future__ import annotations

import json
import math
from collections.abc import Iterable, Mapping, Sequence
from functools import lru_cache
from importlib.resources import files
from typing import TYPE_CHECKING, Any

from markupsafe import Markup

from attlas.pages import made
from attlas.pages.charts import CONFIG, Chart
from attlas.pages.findings import Finding
from attlas.pages.page import Listing, Page, Section, said
from attlas.pages.prose import Prose, as_prose, say
from attlas.pages.rows import Row, Tables, label_of
from attlas.store.schema import Column, Schema, interval, is_known
from attlas.views.page import script_json

if TYPE_CHECKING:
    from attlas.store import Result

_POLICY = (
    "default-src 'none'; script-src 'unsafe-inline' 'unsafe-eval'; style-src 'unsafe-inline'; img-src data: blob:"
)
_VOID = frozenset({"br", "img", "input"})  # elements that have nothing inside, and no end
# marks that turn the direction of all that follows, figures too: they are shown, as the viewer does
_TURNING = {letter: f"⟨{letter:x}⟩" for letter in (*range(0x202A, 0x202F), *range(0x2066, 0x206A))}
_SEARCHED = 20  # rows from which on a table can be searched


def tag(name: str, *inside: Any, **attributes: Any) -> Markup:
    """An element: what is inside and the attributes' values are escaped, unless they are markup already.

    >>> tag("p", "a < b", tag("b", "!"), class_="lead", data_key='"x"')
    Markup('<p class="lead" data-key="&#34;x&#34;">a &lt; b<b>!</b></p>')
    """
    said = Markup("").join(
        Markup(" {}" if value is True else ' {}="{}"').format(Markup(key.rstrip("_").replace("_", "-")), value)
        for key, value in attributes.items()
        if value is not None and value is not False
    )
    whole = "<{name}{said}>" if name in _VOID else "<{name}{said}>{inside}</{name}>"
    return Markup(whole).format(name=Markup(name), said=said, inside=Markup("").join(inside))


def html_page(page: Page, result: Result, *, command: str = "", around: Sequence[tuple[str, str]] = ()) -> str:
    """Write the whole page; ``command`` is the line that repeats the run, ``around`` are names and places of
    other pages, which stand on top.

    >>> from attlas.store import Manifest, Result
    >>> result = Result(Manifest("toy", model={"name": "<tiny>"}), {"heads": {"head": [0]}})
    >>> text = html_page(Page("toy", "What {model} does", answer=lambda tables: None), result)
    >>> "<title>What &lt;tiny&gt; does</title>" in text, text.count("http-equiv")
    (True, 1)
    """
    tables = Tables(result, page.schemas, page.derived)
    sections = [section for section in page.sections if section.present(tables)]
    charts = [chart for chart in page.charts() if chart.fits(tables)]
    title = str(as_prose(page.title, **tables.names))
    shown = [_section(section, tables) for section in sections]
    opening = [*_around(around), *_opening(page, tables, title)]
    body = Markup("\n").join([*opening, *shown, *_closing(page, tables, command)])
    named = {section.key: section.short or section.title for section in sections}
    named |= ({"words": "Words"} if page.words else {}) | {"made": "How it was made"}
    links = Markup("").join(tag("a", name, href=f"#{key}") for key, name in named.items())
    data = {
        "config": CONFIG,
        "figures": {chart.key: _figure_data(chart, tables) for chart in charts},
        "tables": {name: pack(tables[name]) for name in dict.fromkeys(chart.table for chart in charts)},
        "streams": tables.streams,
    }
    library = Markup(_chart_library()) if charts else Markup("")
    style, script = (
        Markup("\n".join(_static(name) for name in (f"report{kind}", *page.static) if name.endswith(kind)))
        for kind in (".css", ".js")
    )
    whole = _WHOLE.format(
        policy=_POLICY, title=title, links=links, body=body, data=Markup(script_json(drawable(data))),
        library=library, style=style, script=script,
    )  # fmt: skip
    return whole.translate(_TURNING)


def drawable(data: Any) -> Any:
    """The same data with what would turn a page's writing around shown instead, and a blank for the two letters that
    end a line in scripts but not in JSON: the charting library writes texts into scripts as JSON, and would draw
    nothing at all.

    >>> drawable({"names": ["\\u202eabc", "a\\u2028b", 1]})
    {'names': ['⟨202e⟩abc', 'a b', 1]}
    """
    if isinstance(data, str):
        return data.replace("\u2028", " ").replace("\u2029", " ").translate(_TURNING)
    if isinstance(data, Mapping):
        return {key: drawable(value) for key, value in data.items()}
    return [drawable(value) for value in data] if isinstance(data, list | tuple) else data


_WHOLE = Markup("""<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta http-equiv="Content-Security-Policy" content="{policy}">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<meta name="generator" content="attlas">
<title>{title}</title>
<style>
{style}</style>
<script>
{script}</script>
</head>
<body>
<a class="skip" href="#content">Skip to the content</a>
<header class="bar"><nav aria-label="Sections">{links}</nav>
<div class="controls"><div id="streams"></div>
<button type="button" id="theme" aria-pressed="false">Dark</button></div></header>
<main id="content">
{body}
</main>
<script type="application/json" id="data">{data}</script>
<script>{library}</script>
</body>
</html>
""")


def _opening(page: Page, tables: Tables, title: str) -> list[Markup]:
    """The first screen: the title, the answer, the chart that shows it; then what was found."""
    parts = [tag("h1", title)]
    warned = page.warning(tables)
    if warned:
        parts.append(tag("p", as_prose(warned, **tables.names).html(), class_="warning", role="note"))
    answer = page.answer(tables)
    found = page.found(tables)[0 if answer is None else 1 :]
    if answer is not None:
        parts.append(tag("p", answer.text.html(), class_="answer", id="answer"))
    if page.chart is not None and page.chart.fits(tables):
        parts.append(tag("div", _figure(page.chart), class_="figures wide first"))
    parts.append(
        Markup(
            '<noscript><p class="absent">The charts are drawn by scripts inside this page; switch scripts on to see '
            "them. Nothing is loaded from anywhere.</p></noscript>"
        )
    )
    parts += [tag("p", told.html(), class_="note") for told in made.remarks(tables)]
    if answer is not None and answer.published:
        parts.append(tag("p", answer.published.rstrip("."), ".", class_="published"))
    if found:
        parts.append(_titled("found", "What was found", tag("ol", *map(_finding, found), class_="findings")))
    return parts


def _around(links: Sequence[tuple[str, str]]) -> list[Markup]:
    """Links to other pages."""
    if not links:
        return []
    named = (tag("a", name, href=place) for name, place in links)
    return [tag("nav", *named, class_="around", aria_label="Other pages")]


def _titled(key: str, title: str, *inside: Markup) -> Markup:
    """A section under a heading."""
    heading = tag("h2", title, id=f"{key}-title")
    return tag("section", heading, *inside, id=key, aria_labelledby=f"{key}-title")


def _finding(finding: Finding) -> Markup:
    inside = [finding.text.html()]
    if finding.see:
        inside.append(Markup(" {}").format(tag("a", "See", href=f"#{finding.see}", class_="see")))
    if finding.published:
        inside.append(tag("span", finding.published.rstrip("."), ".", class_="published"))
    return tag("li", *inside)


def _section(section: Section, tables: Tables) -> Markup:
    present = section.present(tables)
    charts = [_figure(part) for part in present if isinstance(part, Chart)]
    parts = [_listing(part, tables) if isinstance(part, Listing) else part.html(tables) or Markup("")
             for part in present if not isinstance(part, Chart)]  # fmt: skip
    return _titled(
        section.key, section.title, *_paragraphs(said(section.lead, tables)),
        *([tag("div", *charts, class_=f"figures {section.width}")] if charts else []), *parts,
        *_paragraphs(said(section.note, tables)),
        Markup('<p class="absent" hidden>Not measured in this attention.</p>'),
    )  # fmt: skip


def _paragraphs(prose: Prose | None) -> list[Markup]:
    """A lead or a note, its paragraphs parted by an empty line; nothing where there is none."""
    parts = [] if prose is None else [Markup(part) for part in str(prose.html()).split("\n\n") if part.strip()]
    return [tag("div", *(tag("p", part) for part in parts), class_="prose")] if parts else []


def _figure(chart: Chart) -> Markup:
    """The place in the page where a chart will be drawn."""
    caption = [chart.title, *([" ", tag("small", chart.note)] if chart.note else [])]
    place = tag("div", class_="chart", role="group", aria_label=chart.label or chart.title)
    return tag("figure", tag("figcaption", *caption), "\n", place, id=f"figure-{chart.key}", data_figure=chart.key)


def _figure_data(chart: Chart, tables: Tables) -> dict[str, Any]:
    return {
        "spec": {**chart.spec(tables), "description": chart.label or chart.title},
        "table": chart.table,
        "where": {column: list(values) for column, values in chart.where.items()},
        "drives": {signal: list(keys) for signal, keys in chart.drives.items()},
        "picks": dict(chart.picks),
    }


def _listing(part: Listing, tables: Tables) -> Markup:
    """A table that can be sorted by its heads, and searched where it is long."""
    schema, rows = tables.schema(part.table), part.shown(tables)
    cells = cells_of(schema, rows, part.columns, tables.blocks)
    heads = [tag("th", tag("button", title, type="button"), scope="col", class_=None if number else "text")
             for title, number, _, _ in cells]  # fmt: skip
    lines = []
    for at, row in enumerate(rows):
        line = [
            tag("td", written[at], class_=None if number else "text", data_v=values[at] if number else None)
            for _, number, values, written in cells
        ]
        lines.append(tag("tr", *line, data_stream=row.get("stream")))
    label = part.title or f"Table of {part.table}"
    table = tag("table", tag("thead", tag("tr", *heads)), tag("tbody", *lines), class_="sortable")
    search = Markup("")
    if len(rows) >= _SEARCHED:
        search = tag("div", tag("input", type="search", placeholder="search", aria_label=f"Search: {label}"),
                     tag("output", ""), class_="filter")  # fmt: skip
    caption = tag("h3", part.title) if part.title else Markup("")
    return tag(
        "div", caption, search,
        tag("div", table, class_="scroll", tabindex="0", role="region", aria_label=label), class_="listing",
    )  # fmt: skip


def cells_of(
    schema: Schema, rows: Iterable[Row], columns: Iterable[str], blocks: Mapping[str, Sequence[int]] = {}
) -> list[tuple[str, bool, list[Any], list[str]]]:
    """Title, whether they are numbers, values and written cells of each column that the rows have.

    What belongs to a column (its interval, its chance level, its untrained twin) stands in columns beside it, and so
    does the block of the model that a layer is, by stream, where these have other numbers (:attr:`.Tables.blocks`).
    A column has one number of decimals, and each quantity its own where rows are of several.

    >>> schema = Schema("heads", "", Column("value", "share", "share", ends=("low", "high")))
    >>> [cells[0] for cells in cells_of(schema, [{"value": 0.5, "low": 0.4, "high": 0.6}], ["value"])]
    ['share', '95 %']
    """
    rows, cells = list(rows), []
    present = set().union(*(row.keys() for row in rows)) if rows else set()
    streams = {row.get("stream") for row in rows}
    for name in columns:
        if name == "head" and "layer" in present:
            if len(streams) > 1:
                cells.append(("stream", False, [row["stream"] for row in rows], [str(row["stream"]) for row in rows]))
            order = [None if row["layer"] is None else row["layer"] * 1000 + (row.get("head") or 0) for row in rows]
            named = ["" if row["layer"] is None else label_of(row) for row in rows]
            cells.append(("head", True, order, named))
            cells += _block_cells(schema, rows, blocks)
            continue
        if name not in present:
            continue
        column = schema[name]
        values = [row.get(name) for row in rows]
        places = column.places(values, [row.get(schema.mixed) for row in rows])
        cells.append((column.title, column.number, values, list(map(column.write, values, places))))
        if name == "layer":
            cells += _block_cells(schema, rows, blocks)
        if column.ends and column.ends[0] in present:
            both = [_interval(column, row, decimals) for row, decimals in zip(rows, places, strict=True)]
            cells.append(("95 %", True, [row.get(column.ends[0]) for row in rows], both))
        for other, title in ((column.chance, "chance"), (column.twin, "untrained")):
            if other in present:
                beside = [row.get(other) for row in rows]
                cells.append((title, column.number, beside, list(map(column.write, beside, places))))
    return cells


def _block_cells(
    schema: Schema, rows: Sequence[Row], blocks: Mapping[str, Sequence[int]]
) -> list[tuple[str, bool, list[Any], list[str]]]:
    """A column of the blocks that the rows' layers are, counted from 1; none where they have the same numbers."""
    if not blocks or not schema.by_layer:
        return []
    only = next(iter(blocks.values())) if len(blocks) == 1 else ()
    numbers = []
    for row in rows:
        own = blocks.get(str(row["stream"]), ()) if row.get("stream") else only
        layer = row.get("layer")
        numbers.append(own[layer] + 1 if layer is not None and layer < len(own) else None)
    return [("block", True, numbers, ["" if number is None else str(number) for number in numbers])]


def _interval(column: Column, row: Row, decimals: int | None) -> str:
    """The interval of a figure, or why there is none."""
    assert column.ends is not None
    low, high = (row.get(end) for end in column.ends)
    if not (is_known(low) and is_known(high)):
        return column.none if is_known(row.get(column.name)) else ""
    return interval(column.write(low, decimals), column.write(high, decimals))


def _closing(page: Page, tables: Tables, command: str) -> list[Markup]:
    """How to read it, its limits, and how it was made."""
    parts = []
    if page.words:
        words = [tag("div", tag("dt", as_prose(term, **tables.names).html()), tag("dd", as_prose(meaning).html()))
                 for term, meaning in page.words.items()]  # fmt: skip
        parts.append(_titled("words", "Words", tag("dl", *words, class_="words")))
    if page.limits:
        items = [tag("li", tag("b", as_prose(short).html()), " ", as_prose(why).html())
                 for short, why in page.limits.items()]  # fmt: skip
        listed = tag("div", tag("ul", *items), class_="prose")
        parts.append(_titled("limits", "What these figures cannot say", listed))
    manifest = tables.manifest
    about = said(page.about, tables)
    counts = made.counted(manifest)
    lead = [tag("p", about.html())] if about is not None else []
    read = say("Read: {corpus}, {counts}. ", corpus=tables.corpus, counts=counts).html() if counts else Markup("")
    lead.append(tag("p", read, made.when_and_what(manifest).html()))
    if command:
        lead.append(tag("p", "To repeat it: ", tag("code", command)))
    groups = [
        tag("div", tag("h3", title), tag("dl", *(tag("div", tag("dt", key), tag("dd", value))
                                                  for key, value in group.items())))
        for title, group in made.facts(manifest).items()
    ]  # fmt: skip
    cite = say("To cite: attlas {version}, study *{study}* of {model} on {corpus}.", study=manifest.study,
               version=manifest.versions.get("attlas", ""), **tables.names)  # fmt: skip
    told = (tag("div", *lead, class_="prose"), tag("div", *groups, class_="facts"))
    return [*parts, _titled("made", "How it was made", *told, tag("p", cite.html(), class_="cite"))]


def pack(rows: Iterable[Row]) -> dict[str, Any]:
    """Rows by column, small in JSON: fractions keep four significant digits, counts keep all.

    >>> pack([{"stream": "encoder", "value": value} for value in (0.123456, 2.0, None, 1.0)])
    {'rows': 4, 'columns': {'stream': {'of': ['encoder'], 'at': [0, 0, 0, 0]}, 'value': [0.1235, 2, None, 1]}}
    """
    listed = list(rows)
    columns: dict[str, Any] = {}
    for name in listed[0] if listed else ():
        plain = [_short(row.get(name)) for row in listed]
        if any(isinstance(value, list | dict) for value in plain):
            columns[name] = plain
            continue
        places = {value: place for place, value in enumerate(dict.fromkeys(plain))}
        coded = {"of": list(places), "at": [places[value] for value in plain]}
        columns[name] = coded if len(json.dumps(coded)) < len(json.dumps(plain)) else plain
    return {"rows": len(listed), "columns": columns}


def _short(value: Any) -> Any:
    if not isinstance(value, float):
        return value
    if not math.isfinite(value):
        return None
    rounded = float(f"{value:.4g}") if abs(value) < 1000 else round(value)
    return int(rounded) if rounded == int(rounded) else rounded


def _static(name: str) -> str:
    return files("attlas.pages").joinpath("static").joinpath(name).read_text(encoding="utf-8")


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
