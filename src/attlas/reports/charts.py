"""The charts of a report, as Vega-Lite specifications that carry no data.

Every chart reads a table named ``rows``, which the page hands to it when it is drawn: so the numbers lie in the page
once, however many charts show them. Charts take the width of the place they stand in. Text and axes have the colour
of the surrounding text (``currentColor``), the background is clear and the grid is half transparent, so that a page
may go from light to dark without drawing anything again. Layers and heads count from 0 in the tables and from 1 on
the axes, as the papers count them.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, TypedDict

import altair as alt

from attlas.measures.names import MEASURES

Spec = dict[str, Any]

_ROWS = alt.NamedData(name="rows")
WEIGHT_COLOUR = "#3a80c2"
NORM_COLOUR = "#cb7a1c"
CLASS_COLOURS = {
    "first": "#c23b6b",
    "cls": "#8a63c9",
    "sep": "#cb7a1c",
    "punctuation": "#3a9d5d",
    "other": "#3a80c2",
}
CLASS_LABELS = {
    "first": "first piece",
    "cls": "[CLS]",
    "sep": "[SEP]",
    "punctuation": ". and ,",
    "other": "other keys",
}
_FAINT = "rgba(128, 128, 128, 0.12)"
_MEASURES = list(MEASURES)
_SHORT = (
    "!isValid(datum.shown) ? '' : abs(datum.shown) < 0.995"
    " ? replace(format(datum.shown, '.2f'), regexp('^(-?)0'), '$1')"
    " : format(datum.shown, abs(datum.shown) < 10 ? '.1f' : '.0f')"
)
_LABEL = "(datum.layer + 1) + '-' + (datum.head + 1)"
_INTERVAL = "isValid(datum.low) ? format(datum.low, '.3~r') + ' to ' + format(datum.high, '.3~r') : 'none'"
_RANKS = (
    "format(datum.rank_from, ',') + (isValid(datum.rank_to) ? ' to ' + format(datum.rank_to, ',') : ' and beyond')"
)
_CHANCE = "isValid(datum.chance) ? format(datum.chance, '.3~r') : 'none'"

CONFIG: Spec = {
    "background": None,
    "font": "system-ui, 'Segoe UI', Roboto, 'Noto Sans', 'Liberation Sans', sans-serif",
    "padding": 2,
    "view": {"stroke": None},
    "axis": {
        "labelColor": "currentColor",
        "titleColor": "currentColor",
        "labelOpacity": 0.75,
        "titleOpacity": 0.75,
        "titleFontWeight": "normal",
        "labelFontSize": 11,
        "titleFontSize": 11.5,
        "gridColor": "rgba(128, 128, 128, 0.22)",
        "domain": False,
        "ticks": False,
        "labelPadding": 5,
        "titlePadding": 8,
    },
    "legend": {
        "labelColor": "currentColor",
        "titleColor": "currentColor",
        "titleFontWeight": "normal",
        "labelFontSize": 11,
        "titleFontSize": 11.5,
        "labelOpacity": 0.75,
        "titleOpacity": 0.75,
        "orient": "top",
        "gradientLength": 160,
        "gradientThickness": 9,
        "offset": 10,
    },
    "scale": {"bandPaddingInner": 0.04},
}


class Size(TypedDict):
    """How many layers and heads a chart must have room for.

    >>> Size(layers=12, heads=12)["heads"]
    12
    """

    layers: int
    heads: int


def layer_dots(
    title: str,
    *,
    layers: int,
    heads: int,
    domain: tuple[float, float] | None = None,
    zero_line: bool = False,
    height: int = 190,
) -> Spec:
    """One dot for each head, layer by layer, with the layer's mean as a line and chance as a dashed one.

    Weights and norms stand side by side in each layer, in colours and shapes of their own. ``domain`` fixes the
    vertical axis, so that charts beside each other can be compared; ``zero_line`` draws a line at zero instead of
    chance. Dots are smaller where there are many.

    >>> spec = layer_dots("share", layers=12, heads=12, domain=(0, 1))
    >>> spec["data"], len(spec["layer"]), "config" in spec
    ({'name': 'rows'}, 3, False)
    """
    scale = alt.Scale(domain=list(domain), nice=False) if domain else alt.Scale(zero=True, nice=True)
    x = alt.X(
        "at:Q",
        title="layer",
        scale=alt.Scale(zero=False, nice=False, padding=10),
        axis=alt.Axis(values=list(range(1, layers + 1)), format="d", grid=False, labelOverlap=True),
    )
    colour = alt.Color(
        "measure:N", scale=alt.Scale(domain=_MEASURES, range=[WEIGHT_COLOUR, NORM_COLOUR]), legend=None
    )
    shape = alt.Shape("measure:N", scale=alt.Scale(domain=_MEASURES, range=["circle", "diamond"]), legend=None)
    y = alt.Y("value:Q", title=title, scale=scale, axis=alt.Axis(tickCount=5, grid=True))
    base = (
        rows_of_page()
        .transform_calculate(measure="isValid(datum.measure) ? datum.measure : 'weight'")
        .transform_joinaggregate(measures="distinct(measure)")
        .transform_calculate(at="datum.layer + 1 + (datum.measures < 2 ? 0 : datum.measure == 'norm' ? 0.17 : -0.17)")
    )
    dots = (
        _described(base)
        .mark_point(filled=True, size=26 if layers * heads <= 200 else 13, opacity=0.6, stroke=None)
        .encode(
            x=x,
            y=y,
            color=colour,
            shape=shape,
            tooltip=_tooltip(*(() if zero_line else ("measure:N",)), chance=not zero_line),
        )
    )
    means = (
        base.transform_aggregate(mean="mean(value)", groupby=["measure", "at"])
        .mark_line(strokeWidth=1.8)
        .encode(x=x, y=alt.Y("mean:Q"), color=colour)
    )
    known = rows_of_page() if zero_line else rows_of_page().transform_filter("isValid(datum.chance)")
    chance = (
        known.transform_aggregate(chance="mean(chance)", groupby=["measure"])
        .mark_rule(strokeDash=[4, 3], stroke="currentColor", opacity=0.6)
        .encode(y=alt.YDatum(0, type="quantitative") if zero_line else alt.Y("chance:Q"))
    )
    return finished(alt.layer(chance, means, dots).properties(width="container", height=height))


def head_map(quantities: Sequence[tuple[str, str]], *, layers: int, heads: int) -> Spec:
    """A heat map, layer by head, with one list to choose the quantity and one to choose the measure.

    ``quantities`` are pairs (name in the table, name to read). Cells have their number written in them where a model
    has few enough heads.

    >>> spec = head_map([("previous", "previous piece")], layers=12, heads=12)
    >>> [param["name"] for param in spec["params"]]
    ['quantity', 'measure']
    """
    chosen = choice("quantity", [name for name, _ in quantities], [label for _, label in quantities])
    measure = choice("measure", _MEASURES)
    rows = rows_of_page().transform_filter("datum.quantity == quantity && datum.measure == measure")
    chart = head_cells(rows.transform_calculate(shown="datum.value"), "measure:N", layers=layers, heads=heads)
    missing = (
        rows_of_page()
        .transform_calculate(fits="datum.quantity == quantity && datum.measure == measure ? 1 : 0")
        .transform_aggregate(fits="sum(fits)")
        .transform_filter("datum.fits == 0")
        .mark_text(fontSize=13, color="currentColor", text="not measured in this way")
        .encode(x=alt.value(alt.ExprRef("width / 2")), y=alt.value(alt.ExprRef("height / 2")))
    )
    return finished(alt.layer(*chart, missing).add_params(chosen, measure).properties(**map_size(layers)))


def part_map(parts: Sequence[str], *, layers: int) -> Spec:
    """A heat map, part of speech by layer, means over heads; the direction, the measure and the scale can be chosen.

    >>> [param["name"] for param in part_map(["NOUN"], layers=12)["params"]]
    ['direction', 'measure', 'show']
    """
    rows = (
        rows_of_page()
        .transform_filter("datum.direction == direction && datum.measure == measure")
        .transform_calculate(shown=_RELATIVE)
        .transform_aggregate(shown="mean(shown)", heads="count()", groupby=["layer", "pos"])
        .transform_joinaggregate(top="max(shown)")
        .transform_calculate(text=_SHORT, row="datum.layer + 1")
    )
    x = alt.X("row:O", title="layer", axis=alt.Axis(labelAngle=0, labelOverlap=True, orient="top"))
    y = alt.Y("pos:N", title=None, sort=list(parts))
    tooltip = [
        alt.Tooltip("pos:N", title="part of speech"),
        alt.Tooltip("row:O", title="layer"),
        alt.Tooltip("shown:Q", title="mean over heads", format=".3~r"),
    ]
    chart = _painted(rows, x, y, tooltip, numbers=layers <= 16)
    directions = choice("direction", ["to", "from"], ["attention to", "attention from"])
    params = [directions, choice("measure", _MEASURES), choice("show", ["share", "ratio"], _SCALES)]
    return finished(alt.layer(*chart).add_params(*params).properties(**map_size(len(parts))))


def part_heads_map(parts: Sequence[str], *, layers: int, heads: int) -> Spec:
    """A heat map, layer by head, of one part of speech that can be chosen.

    Direction, measure and scale follow those of :func:`part_map`; the page keeps them the same.

    >>> [param["name"] for param in part_heads_map(["NOUN"], layers=12, heads=12)["params"]]
    ['pos', 'direction', 'measure', 'show']
    """
    params = [
        choice("pos", list(parts), label="part of speech"),
        alt.param(name="direction", value="to"),
        alt.param(name="measure", value="weight"),
        alt.param(name="show", value="share"),
    ]
    rows = (
        rows_of_page()
        .transform_filter("datum.pos == pos && datum.direction == direction && datum.measure == measure")
        .transform_calculate(shown=_RELATIVE)
    )
    chart = head_cells(rows, "pos:N", layers=layers, heads=heads)
    return finished(alt.layer(*chart).add_params(*params).properties(**map_size(layers)))


def frequency_lines() -> Spec:
    """How long the vectors f(x) are by the frequency rank of their word: a line for each layer, relative to its mean.

    >>> frequency_lines()["layer"][0]["encoding"]["x"]["scale"]["type"]
    'log'
    """
    base = (
        rows_of_page()
        .transform_calculate(upper="isValid(datum.rank_to) ? datum.rank_to : datum.rank_from * 2")
        .transform_aggregate(value="mean(value)", groupby=["layer", "rank_from", "rank_to", "upper"])
        .transform_joinaggregate(level="mean(value)", groupby=["layer"])
        .transform_calculate(
            at="sqrt(max(1, datum.rank_from) * max(1, datum.upper))",
            relative="datum.value / datum.level",
            number="datum.layer + 1",
            ranks=_RANKS,
        )
    )
    x = alt.X(
        "at:Q",
        title="frequency rank of the word (1 is the most frequent)",
        scale=alt.Scale(type="log", nice=False, padding=14),
        axis=alt.Axis(format="~s", grid=False, tickCount=5, labelOverlap=True),
    )
    y = alt.Y(
        "relative:Q", title="‖f(x)‖ over the layer's mean", scale=alt.Scale(zero=False), axis=alt.Axis(tickCount=5)
    )
    colour = alt.Color(
        "number:Q",
        title="layer",
        scale=alt.Scale(scheme=alt.SchemeParams(name="viridis", extent=[0.18, 0.88])),
        legend=alt.Legend(format="d", tickMinStep=1),
    )
    tooltip = [
        alt.Tooltip("number:Q", title="layer"),
        alt.Tooltip("ranks:N", title="ranks"),
        alt.Tooltip("value:Q", title="mean ‖f(x)‖", format=".3~r"),
        alt.Tooltip("relative:Q", title="over the layer's mean", format=".2f"),
    ]
    lines = base.mark_line(strokeWidth=1.8).encode(x=x, y=y, color=colour, detail="layer:N")
    dots = base.mark_point(filled=True, size=26, opacity=1).encode(x=x, y=y, color=colour, tooltip=tooltip)
    return finished(alt.layer(lines, dots).properties(width="container", height=240))


_SCALES = ["share of attention", "times chance"]
_RELATIVE = (
    "show == 'share' ? datum.value : isValid(datum.chance) && datum.chance > 0 ? datum.value / datum.chance : null"
)


def rows_of_page() -> alt.Chart:
    """A chart of the rows that the page will hand to it.

    >>> rows_of_page().data.name
    'rows'
    """
    return alt.Chart(_ROWS)


def _described(chart: alt.Chart) -> alt.Chart:
    described: alt.Chart = chart.transform_calculate(name=_LABEL, interval=_INTERVAL, uniform=_CHANCE)
    return described


def _tooltip(*extra: str, chance: bool = True) -> list[alt.Tooltip]:
    return [
        alt.Tooltip("name:N", title="head"),
        *(alt.Tooltip(field) for field in extra),
        alt.Tooltip("value:Q", title="value", format=".3~r"),
        *([alt.Tooltip("uniform:N", title="chance")] if chance else []),
        alt.Tooltip("interval:N", title="95 % interval"),
        alt.Tooltip("n:Q", title="n", format=",.0f"),
    ]


def choice(name: str, options: Sequence[str], labels: Sequence[str] | None = None, label: str = "") -> alt.Parameter:
    """A list to choose from beside a chart; its first option is chosen at first.

    >>> choice("measure", ["weight", "norm"]).param.value
    'weight'
    """
    bind = alt.binding_select(options=list(options), labels=list(labels or options), name=label or name)
    return alt.param(name=name, value=options[0] if options else "", bind=bind)


def map_size(rows: int) -> Spec:
    """A map as wide as its place and as high as it has rows.

    >>> map_size(12)["height"]
    312
    """
    return {"width": "container", "height": max(rows, 2) * (26 if rows <= 16 else 22 if rows <= 24 else 17)}


def head_cells(rows: alt.Chart, detail: str, *, layers: int, heads: int) -> list[alt.Chart]:
    """A map of one cell for each head, on a grid that is there even where nothing was measured; the colour is the
    column ``shown`` of the rows.

    >>> len(head_cells(rows_of_page(), "pos:N", layers=12, heads=12))
    3
    """
    x = alt.X("column:O", title="head", axis=alt.Axis(labelAngle=0, labelOverlap=True, orient="top"))
    y = alt.Y("row:O", title="layer", axis=alt.Axis(labelOverlap=True))
    grid = (
        rows_of_page()
        .transform_aggregate(count="count()", groupby=["layer", "head"])
        .transform_calculate(row="datum.layer + 1", column="datum.head + 1")
        .mark_rect(color=_FAINT)
        .encode(x=x, y=y)
    )
    placed = (
        _described(rows)
        .transform_joinaggregate(top="max(shown)")
        .transform_calculate(row="datum.layer + 1", column="datum.head + 1", text=_SHORT)
    )
    return [grid, *_painted(placed, x, y, _tooltip(detail), numbers=heads <= 16 and layers <= 24)]


def _painted(rows: alt.Chart, x: alt.X, y: alt.Y, tooltip: list[alt.Tooltip], *, numbers: bool) -> list[alt.Chart]:
    scale = alt.Scale(scheme="viridis", domainMin=0, nice=False)
    legend = alt.Legend(
        tickCount=4, format=".3~r", labelOverlap=True, labelExpr="isFinite(datum.value) ? datum.label : ''"
    )
    colour = alt.Color("shown:Q", title=None, scale=scale, legend=legend)
    cells = rows.mark_rect().encode(x=x, y=y, color=colour, tooltip=tooltip)
    if not numbers:
        return [cells]
    ink = alt.condition("datum.shown > 0.6 * datum.top", alt.value("#111"), alt.value("#fff"))
    written = rows.mark_text(fontSize=9.5).encode(x=x, y=y, text="text:N", color=ink, tooltip=tooltip)
    return [cells, written]


def lettered_cells(
    rows: alt.Chart, colour: alt.Color, tooltip: list[alt.Tooltip], bright: str, *, layers: int, heads: int
) -> list[alt.Chart]:
    """A map of one cell for each head with its number in it (the column ``text``), where there is room for numbers;
    ``bright`` says in which cells it is written dark.

    >>> colour = alt.Color("shown:Q")
    >>> [len(lettered_cells(rows_of_page(), colour, [], "true", layers=6, heads=heads)) for heads in (12, 32)]
    [2, 1]
    """
    x = alt.X("column:O", title="head", axis=alt.Axis(labelAngle=0, labelOverlap=True, orient="top"))
    y = alt.Y("row:O", title="layer", axis=alt.Axis(labelOverlap=True))
    cells = [rows.mark_rect().encode(x=x, y=y, color=colour, tooltip=tooltip)]
    if heads <= 16:
        ink = alt.condition(bright, alt.value("#111"), alt.value("#fff"))
        size = 9.5 if layers <= 24 else 8.5
        cells.append(rows.mark_text(fontSize=size).encode(x=x, y=y, text="text:N", color=ink, tooltip=tooltip))
    return cells


def finished(chart: Any) -> Spec:
    """A chart as the page takes it.

    >>> "config" in finished(alt.layer(rows_of_page().mark_point()))
    False
    """
    spec: Spec = chart.to_dict()
    spec.pop("config", None)
    return spec
