"""Dots: in lines with their intervals, in order, against each other; and how often a value comes."""

from __future__ import annotations

from typing import Any, Unpack

import altair as alt

from attlas.pages.charts.base import LABELS, PLAIN, About, Chart, Spec, Style, drawn, quoted, rule, shaped, switch
from attlas.pages.charts.sketch import Sketch, coded
from attlas.pages.rows import Rows, Tables


def dots(
    table: str,
    category: str,
    *show: str,
    colour: str = "",
    style: Style = PLAIN,
    order: str = "",
    **about: Unpack[About],
) -> Chart:
    """A line for each value of a column, with dots for the columns shown, their intervals, chance and twin.

    Either several columns stand in one line, each a colour, or, with ``colour``, one column in groups. Lines come in
    the order of the table, or by the column ``order`` (with a minus before it: largest first).

    >>> dots("relations", "relation", "value", "baseline", key="lines", title="Relation by relation").columns
    ('relation', 'value')
    """

    def draw(tables: Tables, rows: Rows) -> Spec:
        sketch = Sketch.of(tables, table, rows, show, style)
        schema, form = sketch.schema, sketch.format
        ordered = rows if not order else rows.largest(order[1:]) if order[0] == "-" else rows.smallest(order)
        names = [schema[category].labels.get(value, value) for value in ordered.values(category)]
        base, groups = _grouped(sketch, colour) if colour else _folded(sketch)
        written = f"isValid(datum.low) ? format(datum.low, '{form}') + ' to ' + format(datum.high, '{form}') : 'none'"
        placed = base.transform_filter("isValid(datum.value)").transform_calculate(
            line=sketch.labelled(category), interval=written
        )
        y = alt.Y("line:N", title=None, sort=names, axis=alt.Axis(grid=True, labelLimit=alt.ExprRef(LABELS)))
        scale = style.scale(zero=schema[show[0]].kind != "signed")
        title = style.axis or schema[show[0]].title
        x = alt.X("value:Q", title=title, scale=scale, axis=alt.Axis(tickCount=6, format=form))
        codes = coded("mark", groups, shapes=True)
        apart = {"yOffset": alt.YOffset("mark:N", sort=groups)} if colour and len(groups) > 1 else {}
        tooltip = [
            alt.Tooltip("line:N", title=schema[category].title),
            alt.Tooltip("mark:N", title="what"),
            alt.Tooltip("value:Q", title=title, format=form),
            alt.Tooltip("interval:N", title="95 % interval"),
            *sketch.told(),
        ]
        whiskers = placed.transform_filter("isValid(datum.low)").mark_rule(strokeWidth=2.5, opacity=0.45)
        points = placed.mark_point(filled=True, size=62, opacity=0.95)
        layers: list[Any] = [rule(x=0)] if style.zero else []
        if sketch.intervals:
            layers.append(whiskers.encode(x=alt.X("low:Q"), x2="high:Q", y=y, color=codes["color"], **apart))
        layers.append(points.encode(x=x, y=y, tooltip=tooltip, **codes, **apart))
        step = 22 * max(1.0, len(groups) * 0.55) if apart else 22
        return drawn(layers, sketch.choices(), max(60, round(step * len(names))))

    return shaped(table, (category, *show[:1], colour), draw, about, "dots with intervals")


def _grouped(sketch: Sketch, colour: str) -> tuple[Any, list[str]]:
    """One column in groups of another."""
    column = sketch.columns[0]
    low, high = column.ends if column.ends is not None and sketch.has(*column.ends) else ("", "")
    base = sketch.base().transform_calculate(
        mark=sketch.labelled(colour), value=f"datum['{column.name}']", low=f"datum['{low}']", high=f"datum['{high}']"
    )
    return base, sketch.values(colour)


def _folded(sketch: Sketch) -> tuple[Any, list[str]]:
    """Several columns in one line, with the twin and the chance level of the first."""
    first = sketch.columns[0]
    titles = {column.name: column.title for column in sketch.columns}
    for name, title in ((first.twin, "untrained twin"), (first.chance, "chance")):
        if sketch.has(name):
            titles.setdefault(name, title)
    ends = {column.name: column.ends for column in sketch.columns if column.ends and sketch.has(*column.ends)}
    base = sketch.base().transform_calculate(**{f"mark {name}": f"datum['{name}']" for name in titles})
    folded = base.transform_fold([f"mark {name}" for name in titles], as_=["which", "value"])
    placed = folded.transform_calculate(
        mark=switch({f"mark {name}": quoted(title) for name, title in titles.items()}, "datum.which"),
        low=switch({f"mark {name}": f"datum['{low}']" for name, (low, _) in ends.items()}, "datum.which"),
        high=switch({f"mark {name}": f"datum['{high}']" for name, (_, high) in ends.items()}, "datum.which"),
    )
    return placed, list(titles.values())


def scatter(
    table: str,
    x: str | tuple[str, ...],
    y: str | tuple[str, ...],
    *,
    colour: str = "",
    style: Style = PLAIN,
    size_of: bool = False,
    diagonal: bool = False,
    **about: Unpack[About],
) -> Chart:
    """A dot for each row: one column against another, each to be chosen where several are named.

    ``size_of`` shows the size of y without its sign; ``diagonal`` draws the line where both are equal.

    >>> scatter("heads", ("value", "share"), "change", key="against", title="Against cutting").columns
    ('value', 'change')
    """
    across, up = ((x,) if isinstance(x, str) else x), ((y,) if isinstance(y, str) else y)

    def draw(tables: Tables, rows: Rows) -> Spec:
        sketch = Sketch.of(tables, table, rows, (*across, *up), style)
        columns = [name for name in across if sketch.has(name)], [name for name in up if sketch.has(name)]
        titles = [sketch.schema[names[0]].title if len(names) == 1 else "chosen" for names in columns]
        base = (
            sketch.base()
            .transform_calculate(
                x=switch({name: f"datum['{name}']" for name in columns[0]}, "across"),
                up_value=switch({name: f"datum['{name}']" for name in columns[1]}, "up"),
            )
            .transform_calculate(y="abs(datum.up_value)" if size_of else "datum.up_value")
            .transform_filter("isValid(datum.x) && isValid(datum.y)")
        )
        told = [sketch.tip(name) for name in (colour, *columns[0], *columns[1]) if name]
        named = [alt.Tooltip("name:N", title="head")] if sketch.has("layer", "head") else []
        axis = alt.Axis(tickCount=6)
        points = base.mark_point(filled=True, size=44, opacity=0.7).encode(
            x=alt.X("x:Q", title=titles[0], scale=style.scale(zero=False), axis=axis),
            y=alt.Y("y:Q", title=f"size of {titles[1]}" if size_of else titles[1], scale=style.scale(zero=False),
                    axis=axis),
            tooltip=[*named, *told, *sketch.told()], **sketch.codes(colour, shapes=bool(colour)),
        )  # fmt: skip
        layers: list[Any] = [rule(y=0), rule(x=0)] if style.zero else []
        layers += [_diagonal(base)] if diagonal else []
        return drawn([*layers, points], sketch.choices(across=columns[0], up=columns[1]), style.height)

    return shaped(table, (*across[:1], *up[:1], colour), draw, about, "a dot for each row")


def _diagonal(base: Any) -> Any:
    """The line where both axes have the same value, as far as there are dots."""
    ends = base.transform_aggregate(left="min(x)", right="max(x)", bottom="min(y)", top="max(y)")
    both = ends.transform_calculate(a="max(datum.left, datum.bottom)", b="min(datum.right, datum.top)")
    line = both.mark_rule(strokeDash=[4, 3], opacity=0.5, stroke="currentColor")
    return line.encode(x=alt.X("a:Q"), x2="b", y=alt.Y("a:Q"), y2="b")


def ranked(table: str, *show: str, colour: str = "", style: Style = PLAIN, **about: Unpack[About]) -> Chart:
    """All rows in order, largest first, each with its interval: how many stand clear of the line?

    >>> ranked("heads", "change", key="sorted", title="In order").columns
    ('change',)
    """

    def draw(tables: Tables, rows: Rows) -> Spec:
        sketch = Sketch.of(tables, table, rows, show, style)
        placed = sketch.shown().transform_filter("isValid(datum.shown)").transform_window(
            rank="row_number()", sort=[alt.SortField("shown", order="descending")]
        )  # fmt: skip
        scale = alt.Scale(nice=False, zero=False, padding=10)
        x = alt.X("rank:Q", title="largest first", scale=scale, axis=alt.Axis(grid=False, tickMinStep=1, tickCount=8))
        codes = sketch.codes(colour)
        layers: list[Any] = [rule(y=0)] if style.zero else []
        if sketch.intervals:
            whiskers = placed.transform_filter("isValid(datum.low_shown)").mark_rule(opacity=0.5)
            layers.append(whiskers.encode(x=x, y=alt.Y("low_shown:Q"), y2="high_shown:Q", **codes))
        points = placed.mark_point(filled=True, size=34, opacity=0.9)
        layers.append(points.encode(x=x, y=sketch.y(), tooltip=sketch.tooltip(colour), **codes))
        return drawn(layers, sketch.params(), style.height)

    return shaped(table, (*show[:1], colour), draw, about, "all rows in order, with intervals")


def histogram(table: str, column: str, *, colour: str = "", style: Style = PLAIN, **about: Unpack[About]) -> Chart:
    """How often a column has which value.

    >>> histogram("instances", "tvd", key="tvd", title="How far").columns
    ('tvd',)
    """

    def draw(tables: Tables, rows: Rows) -> Spec:
        sketch = Sketch.of(tables, table, rows, (column,), style)
        bins = alt.Bin(maxbins=30, extent=list(style.domain)) if style.domain else alt.Bin(maxbins=30)
        bars = sketch.base().transform_filter(f"isValid(datum['{column}'])").mark_bar(opacity=0.8).encode(
            x=alt.X(f"{column}:Q", title=sketch.title, bin=bins), y=alt.Y("count():Q", title="how many"),
            tooltip=[alt.Tooltip("count():Q", title="how many")], **sketch.codes(colour),
        )  # fmt: skip
        return drawn([bars], sketch.choices(), style.height)

    return shaped(table, (column, colour), draw, about, "histogram")
