"""Maps: a cell for each head, or for each pair of values of two columns; the brighter, the more."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Unpack

import altair as alt

from attlas.pages.charts.base import (
    BETTER,
    LABELS,
    PLAIN,
    WORSE,
    About,
    Chart,
    Spec,
    Style,
    drawn,
    layer_axis,
    map_size,
    rows_of_page,
    shaped,
    switch,
)
from attlas.pages.charts.sketch import Sketch
from attlas.pages.rows import Rows, Tables
from attlas.store.schema import Column

_FAINT = "rgba(128, 128, 128, 0.12)"
_WRITTEN = 16  # columns up to which numbers stand in the cells
_ROOM = 32  # pixels that a number takes
_SHORT = 12  # letters; longer names stand upright over their columns


def head_map(
    table: str,
    *show: str,
    style: Style = PLAIN,
    shade: Mapping[str, str] | None = None,
    sure: Mapping[str, str] | None = None,
    bar: float = 0.01,
    **about: Unpack[About],
) -> Chart:
    """A cell for each head: the brighter, the more. Several columns to ``show`` can be chosen from.

    With ``shade``, colours part at zero: it names, for each column shown, the one that says how much for the worse
    (red) or the better (blue) it is. ``sure`` names, for each, the corrected p below whose ``bar`` a cell is framed.
    Both may be expressions, such as "0.5 - datum.auc".

    >>> head_map("heads", "value", "share").columns
    ('layer', 'head', 'value')
    """

    def draw(tables: Tables, rows: Rows) -> Spec:
        sketch = Sketch.of(tables, table, rows, show, style)
        x = alt.X("column:O", title="head", axis=alt.Axis(labelAngle=0, labelOverlap=True, orient="top"))
        y = alt.Y("row:O", **layer_axis(tables, labelOverlap=True))
        place = {"row": "datum.layer + 1", "column": "datum.head + 1"}
        cells = rows_of_page().transform_aggregate(count="count()", groupby=["layer", "head"])
        empty = cells.transform_calculate(**place).mark_rect(color=_FAINT).encode(x=x, y=y)
        shades, sures = shade or {}, sure or {}
        base = sketch.shown().transform_calculate(
            **place,
            shade=switch({name: _expressed(shades.get(name, name)) for name in sketch.show}),
            sure=switch({name: _expressed(sures[name]) for name in sketch.show if name in sures}),
        )
        tooltip, columns = sketch.tooltip(), tables.heads if tables.layers <= 24 else _WRITTEN + 1
        layers = [empty, *_painted(base, x, y, sketch, tooltip, parted=bool(shade), columns=columns)]
        if sure:
            framed = base.transform_filter(f"isValid(datum.sure) && datum.sure < {bar}")
            frame = framed.mark_rect(filled=False, stroke="currentColor", strokeWidth=2)
            layers.insert(2, frame.encode(x=x, y=y, tooltip=tooltip))
        return drawn(layers, sketch.params(), map_size(tables.layers)["height"])

    seen = {"key": "map", "title": "Every head"}
    return shaped(table, ("layer", "head", *show[:1]), draw, about, "heat map, layer by head", **seen)


def grid(
    table: str, x: str, y: str, *show: str, style: Style = PLAIN, diverging: bool = False, **about: Unpack[About]
) -> Chart:
    """A heat map of two columns, means where several rows meet; with ``diverging`` colours part at zero.

    >>> grid("pos", "layer", "pos", "value", key="pos", title="Parts of speech by layer").columns
    ('layer', 'pos', 'value')
    """

    def draw(tables: Tables, rows: Rows) -> Spec:
        sketch = Sketch.of(tables, table, rows, show, style)
        columns, lines = sketch.values(x), sketch.values(y)
        placed = sketch.shown().transform_calculate(
            across=sketch.labelled(x), up=sketch.labelled(y), **{x: f"datum['{x}']", y: f"datum['{y}']"}
        )
        base = placed.transform_aggregate(
            shown="mean(shown)", groupby=["across", "up", x, y]
        ).transform_calculate(shade="datum.shown")  # fmt: skip
        names = sketch.schema[x].labels or {}
        upright = any(len(str(names.get(value, value))) > _SHORT for value in columns)  # long ones, read from below
        angle = -90 if upright else 0 if len(columns) <= _WRITTEN else -45
        tilted = alt.Axis(labelAngle=angle, labelOverlap=not upright, labelLimit=160, orient="top")
        across = alt.X("across:O", title=None if upright else sketch.called(x), sort=columns, axis=tilted)
        title = sketch.called(y) if sketch.schema[y].kind == "index" else None
        up = alt.Y("up:O", title=title, sort=lines, axis=alt.Axis(labelLimit=alt.ExprRef(LABELS)))
        tooltip = [
            alt.Tooltip("up:N", title=sketch.called(y)),
            alt.Tooltip("across:N", title=sketch.called(x)),
            alt.Tooltip("shown:Q", title=sketch.title, format=sketch.format),
        ]
        painted = _painted(base, across, up, sketch, tooltip, parted=diverging, columns=len(columns))
        return drawn(painted, sketch.params(), map_size(len(lines))["height"])

    return shaped(table, (x, y, *show[:1]), draw, about, "heat map")


def _painted(
    base: Any, x: alt.X, y: alt.Y, sketch: Sketch, tooltip: list[alt.Tooltip], *, parted: bool, columns: int
) -> list[Any]:
    """Coloured cells, with their numbers in them where there is room (on a phone there is not)."""
    sized = base.transform_calculate(size="abs(datum.shade)").transform_joinaggregate(top="max(size)")
    if parted:
        depth = "datum.top > 0 ? (datum.shade > 0 ? 1 : -1) * sqrt(datum.size / datum.top) : 0"
        sized = sized.transform_calculate(depth=depth)
        scale = alt.Scale(domain=[-1, 0, 1], range=[BETTER, "#f4f2ef", WORSE], interpolate="lab")
        colour = alt.Color("depth:Q", scale=scale, legend=None)
        ink = alt.condition("abs(datum.depth) > 0.6", alt.value("#fff"), alt.value("#222"))
    else:
        finite = "isFinite(datum.value) ? datum.label : ''"
        legend = alt.Legend(tickCount=4, format=sketch.format, labelOverlap=True, labelExpr=finite)
        scale = alt.Scale(scheme="viridis", domainMin=0, nice=False)
        colour = alt.Color("shown:Q", title=None, scale=scale, legend=legend)
        ink = alt.condition("datum.shown > 0.6 * datum.top", alt.value("#111"), alt.value("#fff"))
    cells = [sized.mark_rect().encode(x=x, y=y, color=colour, tooltip=tooltip)]
    if columns <= _WRITTEN:
        written = sized.transform_calculate(text=_text(sketch.columns[0])).mark_text(fontSize=11)
        room = alt.value(alt.ExprRef(f"width < {_ROOM * columns} ? 0 : 1"))
        cells.append(written.encode(x=x, y=y, text="text:N", color=ink, opacity=room, tooltip=tooltip))
    return cells


def _expressed(column: str) -> str:
    return column if "datum." in column else f"datum['{column}']"


def _text(column: Column) -> str:
    """An expression for the number in a cell: two figures, and no zero before the point, for room."""
    if column.kind == "percent":
        return "isValid(datum.shown) ? format(100 * datum.shown, '.0f') : ''"
    return (
        "!isValid(datum.shown) ? '' : datum.shown == 0 ? '0'"
        " : abs(datum.shown) < 0.00095 ? format(datum.shown, '.0e')"
        " : abs(datum.shown) < 0.0995 ? replace(format(datum.shown, '.3f'), regexp('^([-−]?)0'), '$1')"
        " : abs(datum.shown) < 0.995 ? replace(format(datum.shown, '.2f'), regexp('^([-−]?)0'), '$1')"
        " : format(datum.shown, abs(datum.shown) < 10 ? '.1f' : '.0f')"
    )
