"""Lines over a column, and dots of heads over layers: how something changes with the layer, or with a setting."""

from __future__ import annotations

from typing import Any, Unpack

import altair as alt

from attlas.pages.charts.base import PLAIN, About, Chart, Spec, Style, drawn, layer_axis, quoted, rule, shaped
from attlas.pages.charts.sketch import Sketch
from attlas.pages.rows import Rows, Tables
from attlas.store.schema import KINDS, Column

_MANY = 200  # heads from which on dots are small


def layer_dots(table: str, *show: str, colour: str = "", style: Style = PLAIN, **about: Unpack[About]) -> Chart:
    """A dot for each head, layer by layer, with the layer's mean as a line and chance as a dashed one; groups by
    ``colour`` stand side by side.

    >>> layer_dots("heads", "value", key="dots", title="Where it goes", colour="measure").columns
    ('layer', 'head', 'value', 'measure')
    """

    def draw(tables: Tables, rows: Rows) -> Spec:
        sketch = Sketch.of(tables, table, rows, show, style)
        at = f"datum.layer + 1 + ({_shift(colour, rows.values(colour) if colour else [])})"
        placed = sketch.shown().transform_calculate(at=at)
        x, codes = _layers(tables, tables.layers), sketch.codes(colour, shapes=bool(colour))
        group = [colour] if colour else []
        size = 26 if tables.layers * tables.heads <= _MANY else 13
        dots = placed.mark_point(filled=True, size=size, opacity=0.6, stroke=None)
        means = placed.transform_aggregate(mean="mean(shown)", groupby=[*group, "at"]).mark_line(strokeWidth=1.8)
        layers: list[Any] = [
            means.encode(x=x, y=alt.Y("mean:Q"), color=codes["color"]),
            dots.encode(x=x, y=sketch.y(), tooltip=sketch.tooltip(colour), **codes),
        ]
        if style.zero:
            layers.insert(0, rule(y=0))
        elif sketch.belongs("chance"):
            known = sketch.shown().transform_filter("isValid(datum.chance_shown)")
            chance = known.transform_aggregate(chance="mean(chance_shown)", groupby=group)
            dashed = chance.mark_rule(strokeDash=[4, 3], stroke="currentColor", opacity=0.6)
            layers.insert(0, dashed.encode(y=alt.Y("chance:Q")))
        return drawn(layers, sketch.params(), style.height)

    return shaped(table, ("layer", "head", *show[:1], colour), draw, about, "one dot for each head, by layer")


def lines(table: str, x: str, *show: str, colour: str = "", style: Style = PLAIN, **about: Unpack[About]) -> Chart:
    """A line for each group over a column, with intervals as a band, the untrained twin dashed and chance dotted.

    >>> lines("layers", "layer", "value", key="lines", title="By layer", colour="kind").columns
    ('layer', 'value', 'kind')
    """

    def draw(tables: Tables, rows: Rows) -> Spec:
        sketch = Sketch.of(tables, table, rows, show, style)
        column = sketch.schema[x]
        counted = column.kind == "index"
        base = sketch.shown().transform_calculate(at=f"datum['{x}']" + (" + 1" if counted else ""))
        across = _layers(tables, 1 + max(rows.values(x))) if counted else _across(column)
        codes = sketch.codes(colour)
        layers: list[Any] = [rule(y=0)] if style.zero else []
        if sketch.intervals:
            area = base.transform_filter("isValid(datum.low_shown)").mark_area(opacity=0.16)
            low = alt.Y("low_shown:Q", scale=style.scale())
            layers.append(area.encode(x=across, y=low, y2="high_shown:Q", **codes))
        for kind, strokes in (("twin", [4, 3]), ("chance", [1, 3])):
            if sketch.belongs(kind):
                known = base.transform_filter(f"isValid(datum.{kind}_shown)")
                line = known.mark_line(strokeWidth=1.4, strokeDash=strokes, opacity=0.7)
                layers.append(line.encode(x=across, y=alt.Y(f"{kind}_shown:Q"), **codes))
        known = base.transform_filter("isValid(datum.shown)")
        layers.append(known.mark_line(strokeWidth=1.8).encode(x=across, y=sketch.y(), **codes))
        dots = known.mark_point(filled=True, size=28, opacity=1)
        layers.append(dots.encode(x=across, y=sketch.y(), tooltip=sketch.tooltip(x, colour), **codes))
        return drawn(layers, sketch.params(), style.height)

    return shaped(table, (x, *show[:1], colour), draw, about, f"lines over {x}")


def _shift(colour: str, groups: list[Any]) -> str:
    """An expression that sets groups side by side."""
    if len(groups) < 2:
        return "0"
    spread = 0.34 / (len(groups) - 1)
    cases = [f"datum['{colour}'] == {quoted(group)} ? {spread * at - 0.17:.3f}" for at, group in enumerate(groups)]
    return " : ".join([*cases, "0"])


def _layers(tables: Tables, count: int) -> alt.X:
    axis = layer_axis(tables, values=list(range(1, count + 1)), format="d", grid=False, labelOverlap=True)
    return alt.X("at:Q", scale=alt.Scale(zero=False, nice=False, padding=12), **axis)


def _across(column: Column) -> alt.X:
    if not column.number:
        return alt.X("at:N", title=column.title, sort=None, axis=alt.Axis(labelAngle=0))
    axis = alt.Axis(tickCount=7, format=KINDS[column.kind].format, grid=False)
    return alt.X("at:Q", title=column.title, scale=alt.Scale(zero=False, nice=False, padding=12), axis=axis)
