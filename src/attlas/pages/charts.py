"""The shapes of charts, each over the columns of a table, as Vega-Lite specifications that carry no data.

A chart names the table it shows and the columns it needs; titles, number formats and tooltips come from the table's
schema, intervals, chance levels and untrained twins from what the schema says belongs to a column. Where a column is
missing, the chart falls out of its page. Every chart reads a table named ``rows``, which the page hands to it when it
is drawn: so the numbers lie in the page once. Text and axes have the colour of the surrounding text, so that a page
may go from light to dark without drawing anything again. Layers and heads count from 0 in tables and from 1 on axes.

What a reader can choose comes in two forms: several columns to ``show``, and columns to ``pick`` a value of.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import altair as alt

from attlas.pages.rows import Rows, Tables
from attlas.store.schema import KINDS, Column, Schema

Spec = dict[str, Any]

BLUE, ORANGE, GREEN, PURPLE, PINK, GREY = "#3a80c2", "#cb7a1c", "#2f8f6b", "#7d6bc4", "#c23b6b", "#8f9299"
PALETTE = (BLUE, ORANGE, GREEN, PURPLE, PINK, GREY, "#5b9fb5", "#a4893a")
SHAPES = ("circle", "diamond", "triangle-up", "square", "cross", "triangle-down", "triangle-right", "triangle-left")
WORSE, BETTER = "#b2182b", "#2166ac"
_FAINT = "rgba(128, 128, 128, 0.12)"
HEAD_LABEL = "(datum.layer + 1) + '-' + (datum.head + 1)"

CONFIG: Spec = {
    "background": None,
    "font": "system-ui, 'Segoe UI', Roboto, 'Noto Sans', 'Liberation Sans', sans-serif",
    "padding": 2,
    "view": {"stroke": None},
    "axis": {
        "labelColor": "currentColor", "titleColor": "currentColor", "labelOpacity": 0.8, "titleOpacity": 0.8,
        "titleFontWeight": "normal", "labelFontSize": 11.5, "titleFontSize": 12,
        "gridColor": "rgba(128, 128, 128, 0.22)", "domain": False, "ticks": False, "labelPadding": 5,
        "titlePadding": 8,
    },
    "legend": {
        "labelColor": "currentColor", "titleColor": "currentColor", "titleFontWeight": "normal",
        "labelFontSize": 11.5, "titleFontSize": 12, "labelOpacity": 0.8, "titleOpacity": 0.8, "orient": "top",
        "gradientLength": 160, "gradientThickness": 9, "offset": 10, "columns": {"expr": "max(1, floor(width / 150))"},
        "labelLimit": 260,
    },
    "scale": {"bandPaddingInner": 0.04},
}  # fmt: skip


@dataclass(frozen=True)
class Chart:
    """A chart over a table: what it needs, and how it is drawn once the tables are known.

    ``where`` keeps the rows whose columns have one of these values; ``label`` says what is seen, for those who cannot
    see it; ``drives`` names choices of this chart that others follow, ``picks`` a column whose value a click hands to
    another chart; ``width`` is wide, half or small.

    >>> head_map("heads", "value", title="Every head").columns
    ('layer', 'head', 'value')
    """

    key: str
    title: str
    table: str
    columns: tuple[str, ...]
    draw: Callable[[Tables, Rows], Spec]
    where: Mapping[str, Sequence[Any]] = field(default_factory=dict)
    label: str = ""
    note: str = ""
    drives: Mapping[str, Sequence[str]] = field(default_factory=dict)
    picks: Mapping[str, str] = field(default_factory=dict)
    width: str = "wide"

    def rows(self, tables: Tables) -> Rows:
        """The rows that the chart shows.

        >>> from attlas.store import Manifest, Result
        >>> len(head_map("heads", "value").rows(Tables(Result(Manifest("toy"), {"heads": {"layer": [0]}}))))
        1
        """
        return tables[self.table].where(**{name: list(values) for name, values in self.where.items()})

    def fits(self, tables: Tables) -> bool:
        """Whether there is anything to show: rows, with all columns.

        >>> from attlas.store import Manifest, Result
        >>> head_map("heads", "value").fits(Tables(Result(Manifest("toy"), {"heads": {"layer": [0]}})))
        False
        """
        return tables.has(self.table, *self.columns) and len(self.rows(tables)) > 0

    def spec(self, tables: Tables) -> Spec:
        """The specification, for these tables."""
        return self.draw(tables, self.rows(tables))

    def having(self, **changes: Any) -> Chart:
        """The same chart with another key, title, note, where or width.

        >>> head_map("heads", "value").having(key="second").key
        'second'
        """
        return replace(self, **changes)


@dataclass(frozen=True)
class Style:
    """What most shapes understand beside their columns.

    ``pick`` are columns a value of which is chosen beside the chart; ``tell`` are further columns for the tooltip;
    ``height`` is in pixels; ``domain`` fixes the axis of values; ``log`` and ``root`` change its scale; ``zero`` draws
    a line at zero.

    >>> Style(pick=("measure",)).pick
    ('measure',)
    """

    pick: tuple[str, ...] = ()
    tell: tuple[str, ...] = ()
    height: int = 300
    domain: tuple[float, float] | None = None
    log: bool = False
    root: bool = False
    zero: bool = False


PLAIN = Style()


def head_map(
    table: str,
    *show: str,
    key: str = "map",
    title: str = "Every head",
    style: Style = PLAIN,
    shade: Mapping[str, str] | None = None,
    sure: Mapping[str, str] | None = None,
    bar: float = 0.01,
    label: str = "Heat map, layer by head",
    where: Mapping[str, Sequence[Any]] | None = None,
) -> Chart:
    """A cell for each head: the brighter, the more. Several columns to ``show`` can be chosen from.

    With ``shade``, colours part at zero: it names, for each column shown, the one that says how much for the worse
    (red) or the better (blue) it is. ``sure`` names, for each, the corrected p below whose ``bar`` a cell is framed.

    >>> chart = head_map("heads", "value", "share")
    >>> chart.columns
    ('layer', 'head', 'value', 'share')
    """

    def draw(tables: Tables, rows: Rows) -> Spec:
        schema, layers, heads = tables.schema(table), tables.layers, tables.heads
        shown, base, params = _shown(schema, rows, show, style)
        x = alt.X("column:O", title="head", axis=alt.Axis(labelAngle=0, labelOverlap=True, orient="top"))
        y = alt.Y("row:O", title="layer", axis=alt.Axis(labelOverlap=True))
        tooltip = _tooltip(schema, rows, show, style, heads=True)
        painted = base.transform_calculate(
            row="datum.layer + 1", column="datum.head + 1", name=HEAD_LABEL,
            shade=_switch({name: f"datum['{(shade or {}).get(name, name)}']" for name in show}),
            sure=_switch({name: f"datum['{sure[name]}']" for name in show if name in sure}) if sure else "null",
        ).transform_calculate(size="abs(datum.shade)").transform_joinaggregate(top="max(size)")  # fmt: skip
        grid = (
            rows_of_page().transform_aggregate(count="count()", groupby=["layer", "head"])
            .transform_calculate(row="datum.layer + 1", column="datum.head + 1")
            .mark_rect(color=_FAINT).encode(x=x, y=y)
        )  # fmt: skip
        if shade:
            painted = painted.transform_calculate(
                depth="datum.top > 0 ? (datum.shade > 0 ? 1 : -1) * sqrt(datum.size / datum.top) : 0"
            )
            scale = alt.Scale(domain=[-1, 0, 1], range=[BETTER, "#f4f2ef", WORSE], interpolate="lab")
            colour, ink = alt.Color("depth:Q", scale=scale, legend=None), "abs(datum.depth) > 0.6"
            inks = alt.condition(ink, alt.value("#fff"), alt.value("#222"))
        else:
            legend = alt.Legend(tickCount=4, format=KINDS[schema[show[0]].kind].format or ".3~r", labelOverlap=True,
                                labelExpr="isFinite(datum.value) ? datum.label : ''")  # fmt: skip
            scale = alt.Scale(scheme="viridis", domainMin=0, nice=False)
            colour, ink = (
                alt.Color("shown:Q", title=None, scale=scale, legend=legend),
                "datum.shown > 0.6 * datum.top",
            )
            inks = alt.condition(ink, alt.value("#111"), alt.value("#fff"))
        layered = [grid, painted.mark_rect().encode(x=x, y=y, color=colour, tooltip=tooltip)]
        if sure:
            layered.append(
                painted.transform_filter(f"isValid(datum.sure) && datum.sure < {bar}")
                .mark_rect(filled=False, stroke="currentColor", strokeWidth=2).encode(x=x, y=y, tooltip=tooltip)
            )  # fmt: skip
        if heads <= 16 and layers <= 24:
            written = painted.transform_calculate(text=_cell_text(schema[show[0]]))
            layered.append(
                written.mark_text(fontSize=11).encode(x=x, y=y, text="text:N", color=inks, tooltip=tooltip)
            )
        return finished(alt.layer(*layered).add_params(*shown, *params).properties(**map_size(layers)))

    return Chart(key, title, table, ("layer", "head", *show), draw, where or {}, label)


def layer_dots(
    table: str,
    *show: str,
    key: str,
    title: str,
    colour: str = "",
    style: Style = PLAIN,
    label: str = "",
    where: Mapping[str, Sequence[Any]] | None = None,
) -> Chart:
    """A dot for each head, layer by layer, with the layer's mean as a line and chance as a dashed one; groups by
    ``colour`` stand side by side.

    >>> layer_dots("heads", "value", key="dots", title="Where it goes", colour="measure").columns
    ('layer', 'head', 'value', 'measure')
    """

    def draw(tables: Tables, rows: Rows) -> Spec:
        schema = tables.schema(table)
        shown, base, params = _shown(schema, rows, show, style)
        groups = rows.values(colour) if colour else [""]
        spread = 0.34 / max(1, len(groups) - 1) if len(groups) > 1 else 0.0
        shift = " : ".join(
            [f"datum['{colour}'] == {_quoted(group)} ? {spread * at - 0.17:.3f}" for at, group in enumerate(groups)]
            + ["0"]
        )
        placed = base.transform_calculate(
            at=f"datum.layer + 1 + ({shift})" if len(groups) > 1 else "datum.layer + 1", name=HEAD_LABEL
        )
        x = _layer_axis(tables.layers)
        y = _value_axis("shown", schema, show, style)
        coded = _codes(schema, colour, groups, shapes=True)
        size = 26 if tables.layers * tables.heads <= 200 else 13
        dots = placed.mark_point(filled=True, size=size, opacity=0.6, stroke=None).encode(
            x=x,
            y=y,
            tooltip=_tooltip(schema, rows, show, style, heads=True, extra=(colour,) if colour else ()),
            **coded,
        )
        group = [colour] if colour else []
        means = (
            placed.transform_aggregate(mean="mean(shown)", groupby=[*group, "at"])
            .mark_line(strokeWidth=1.8, **({} if colour else {"color": BLUE}))
            .encode(x=x, y=alt.Y("mean:Q"), **{name: code for name, code in coded.items() if name == "color"})
        )
        layered = [means, dots]
        if style.zero:
            layered.insert(0, _rule(0))
        elif any(_has(rows, schema[name].chance) for name in show):
            chance = (
                base.transform_filter("isValid(datum.chance_shown)")
                .transform_aggregate(chance="mean(chance_shown)", groupby=group)
                .mark_rule(strokeDash=[4, 3], stroke="currentColor", opacity=0.6).encode(y=alt.Y("chance:Q"))
            )  # fmt: skip
            layered.insert(0, chance)
        sized = {"width": "container", "height": style.height}
        return finished(alt.layer(*layered).add_params(*shown, *params).properties(**sized))

    needed = ("layer", "head", *show, *([colour] if colour else []))
    return Chart(key, title, table, needed, draw, where or {}, label or f"{title}: one dot for each head, by layer")


def lines(
    table: str,
    x: str,
    *show: str,
    key: str,
    title: str,
    colour: str = "",
    dash: str = "",
    style: Style = PLAIN,
    band: bool = True,
    label: str = "",
    where: Mapping[str, Sequence[Any]] | None = None,
) -> Chart:
    """A line for each group over a column, with intervals as a band, the untrained twin dashed and chance dotted.

    ``dash`` names a second column of groups, told apart by how the line is drawn.

    >>> lines("layers", "layer", "value", key="lines", title="By layer", colour="kind").columns
    ('layer', 'value', 'kind')
    """

    def draw(tables: Tables, rows: Rows) -> Spec:
        schema = tables.schema(table)
        shown, base, params = _shown(schema, rows, show, style)
        column = schema[x]
        at = base.transform_calculate(at=f"datum['{x}'] + 1" if column.kind == "index" else f"datum['{x}']")
        across = _layer_axis(1 + max(rows.column(x))) if column.kind == "index" else _across(column)
        y = _value_axis("shown", schema, show, style)
        groups = rows.values(colour) if colour else [""]
        coded = _codes(schema, colour, groups)
        dashed = {"strokeDash": alt.StrokeDash(f"{dash}:N", title=schema[dash].title)} if dash else {}
        tooltip = _tooltip(schema, rows, show, style, extra=tuple(filter(None, (x, colour, dash))))
        detail = {"detail": f"{dash}:N"} if dash else {}
        layered = []
        if band and any(schema[name].ends and _has(rows, schema[name].ends[0]) for name in show):  # type: ignore[index]
            layered.append(
                at.mark_area(opacity=0.16, **_alone(colour)).encode(
                    x=across, y=alt.Y("low_shown:Q", scale=_scale(style)), y2="high_shown:Q", **coded, **detail
                )
            )
        for column_shown, marks in (("twin_shown", [4, 3]), ("chance_shown", [1, 3])):
            owner = "twin" if column_shown.startswith("twin") else "chance"
            if any(_has(rows, getattr(schema[name], owner)) for name in show):
                layered.append(
                    at.transform_filter(f"isValid(datum.{column_shown})")
                    .mark_line(strokeWidth=1.4, strokeDash=marks, opacity=0.7, **_alone(colour))
                    .encode(x=across, y=alt.Y(f"{column_shown}:Q"), **coded, **detail)
                )  # fmt: skip
        if style.zero:
            layered.append(_rule(0))
        known = at.transform_filter("isValid(datum.shown)")
        layered.append(known.mark_line(strokeWidth=1.8, **_alone(colour)).encode(x=across, y=y, **coded, **dashed))
        layered.append(
            known.mark_point(filled=True, size=28, opacity=1, **_alone(colour)).encode(
                x=across, y=y, tooltip=tooltip, **coded, **detail
            )
        )
        sized = {"width": "container", "height": style.height}
        return finished(alt.layer(*layered).add_params(*shown, *params).properties(**sized))

    needed = tuple(filter(None, (x, *show, colour, dash)))
    return Chart(key, title, table, needed, draw, where or {}, label or f"{title}: lines over {x}")


def scatter(
    table: str,
    x: str | tuple[str, ...],
    y: str | tuple[str, ...],
    *,
    key: str,
    title: str,
    colour: str = "",
    style: Style = PLAIN,
    size_of: bool = False,
    diagonal: bool = False,
    label: str = "",
    where: Mapping[str, Sequence[Any]] | None = None,
) -> Chart:
    """A dot for each row: one column against another, each to be chosen where several are named.

    ``size_of`` shows the size of y without its sign; ``diagonal`` draws the line where both are equal.

    >>> scatter("heads", ("value", "share"), "change", key="against", title="Against cutting").columns
    ('value', 'share', 'change')
    """
    across, up = ((x,) if isinstance(x, str) else x), ((y,) if isinstance(y, str) else y)

    def draw(tables: Tables, rows: Rows) -> Spec:
        schema = tables.schema(table)
        picks, params = _picks(schema, rows, style.pick)
        chosen_x = _choice_of(schema, "across", across, "across")
        chosen_y = _choice_of(schema, "up", up, "up")
        heads = _has(rows, "head") and _has(rows, "layer")
        base = picks.transform_calculate(
            x=_switch({name: f"datum['{name}']" for name in across}, "across"),
            signed_y=_switch({name: f"datum['{name}']" for name in up}, "up"),
            **({"name": HEAD_LABEL} if heads else {}),
        ).transform_calculate(y="abs(datum.signed_y)" if size_of else "datum.signed_y")
        base = base.transform_filter("isValid(datum.x) && isValid(datum.y)")
        kind = alt.Scale(type="log") if style.log else alt.Scale(type="sqrt") if style.root else alt.Scale(zero=False)
        x_title = schema[across[0]].title if len(across) == 1 else "chosen across"
        y_title = (
            (f"size of {schema[up[0]].title}" if size_of else schema[up[0]].title) if len(up) == 1 else "chosen up"
        )
        tooltip = [
            *([alt.Tooltip("name:N", title="head")] if heads else []),
            *(
                _tip(schema[name])
                for name in (*((colour,) if colour else ()), *across, *up, *style.tell)
                if _has(rows, name)
            ),
        ]
        coded = _codes(schema, colour, rows.values(colour) if colour else [""], shapes=True)
        dots = base.mark_point(filled=True, size=44, opacity=0.7, **_alone(colour)).encode(
            x=alt.X("x:Q", title=x_title, scale=kind, axis=alt.Axis(tickCount=6)),
            y=alt.Y("y:Q", title=y_title, scale=kind, axis=alt.Axis(tickCount=6)),
            tooltip=tooltip, **coded,
        )  # fmt: skip
        layered: list[Any] = [dots]
        if style.zero:
            layered = [
                _rule(0),
                alt.Chart(alt.NamedData(name="rows")).mark_rule(opacity=0.4).encode(x=alt.XDatum(0)),
                dots,
            ]
        if diagonal:
            ends = base.transform_aggregate(
                low="min(x)", high="max(x)", low_y="min(y)", high_y="max(y)"
            ).transform_calculate(a="max(datum.low, datum.low_y)", b="min(datum.high, datum.high_y)")
            line = ends.mark_rule(strokeDash=[4, 3], opacity=0.5, stroke="currentColor").encode(
                x=alt.X("a:Q"), x2="b", y=alt.Y("a:Q"), y2="b"
            )
            layered.insert(0, line)
        sized = {"width": "container", "height": style.height}
        return finished(alt.layer(*layered).add_params(*chosen_x, *chosen_y, *params).properties(**sized))

    return Chart(key, title, table, tuple(filter(None, (*across, *up, colour))), draw, where or {},
                 label or f"{title}: a dot for each row")  # fmt: skip


def dots(
    table: str,
    category: str,
    *show: str,
    key: str,
    title: str,
    colour: str = "",
    style: Style = PLAIN,
    order: str = "",
    label: str = "",
    where: Mapping[str, Sequence[Any]] | None = None,
) -> Chart:
    """A line for each value of a column, with dots for the columns shown, their intervals, chance and twin.

    Either several columns stand in one line, each a colour, or, with ``colour``, one column in groups. Lines come in
    the order of the table, or by the column ``order`` (with a minus before it: largest first).

    >>> dots("relations", "relation", "value", "baseline", key="lines", title="Relation by relation").columns
    ('relation', 'value', 'baseline')
    """

    def draw(tables: Tables, rows: Rows) -> Spec:
        schema = tables.schema(table)
        base, params = _picks(schema, rows, style.pick)
        ordered = rows
        if order:
            ordered = rows.largest(order[1:]) if order.startswith("-") else rows.smallest(order)
        names = [schema[category].labels.get(value, value) for value in ordered.values(category)]
        marks = _marks_of(schema, rows, show) if not colour else {}
        labels = schema[category].labels
        line = (
            _switch(
                {key_: _quoted(text) for key_, text in labels.items()}, f"datum['{category}']", f"datum['{category}']"
            )
            if labels
            else f"datum['{category}']"
        )
        base = base.transform_calculate(line=line)
        if colour:
            column = schema[show[0]]
            low, high = column.ends or ("", "")
            folded = base.transform_calculate(
                mark=_labelled(schema[colour]),
                value=f"datum['{show[0]}']",
                low=f"datum['{low}']" if low else "null",
                high=f"datum['{high}']" if high else "null",
            )
            groups = [schema[colour].labels.get(value, value) for value in rows.values(colour)]
        else:
            named = {f"mark{at}": name for at, name in enumerate(marks)}
            folded = base.transform_calculate(**{mark: f"datum['{name}']" for mark, name in named.items()}).transform_fold(
                list(named), as_=["which", "value"]
            ).transform_calculate(
                mark=_switch({mark: _quoted(marks[name]) for mark, name in named.items()}, "datum.which"),
                low=_switch({mark: f"datum['{schema[name].ends[0]}']" for mark, name in named.items() if name in schema.names and schema[name].ends}, "datum.which"),  # type: ignore[index]
                high=_switch({mark: f"datum['{schema[name].ends[1]}']" for mark, name in named.items() if name in schema.names and schema[name].ends}, "datum.which"),  # type: ignore[index]
            )  # fmt: skip
            groups = list(marks.values())
        folded = folded.transform_filter("isValid(datum.value)")
        form = KINDS[schema[show[0]].kind].format or ".3~r"
        folded = folded.transform_calculate(
            interval=f"isValid(datum.low) ? format(datum.low, '{form}') + ' to ' + format(datum.high, '{form}') : 'none'"
        )
        y = alt.Y("line:N", title=None, sort=names, axis=alt.Axis(grid=True, labelLimit=220))
        scale = (
            _scale(style)
            if style.domain or style.log or style.root
            else alt.Scale(zero=schema[show[0]].kind != "signed", nice=True)
        )
        axis = alt.Axis(tickCount=6, format=KINDS[schema[show[0]].kind].format or "~g")
        across = alt.X("value:Q", title=schema[show[0]].title, scale=scale, axis=axis)
        coded = {
            "color": alt.Color(
                "mark:N",
                title=None,
                sort=groups,
                scale=alt.Scale(domain=groups, range=[PALETTE[at % len(PALETTE)] for at in range(len(groups))]),
                legend=alt.Legend(symbolOpacity=1) if len(groups) > 1 else None,
            ),
            "shape": alt.Shape(
                "mark:N",
                title=None,
                sort=groups,
                scale=alt.Scale(domain=groups, range=[SHAPES[at % len(SHAPES)] for at in range(len(groups))]),
                legend=alt.Legend(symbolOpacity=1) if len(groups) > 1 else None,
            ),
        }
        offset = {"yOffset": alt.YOffset("mark:N", sort=groups)} if colour and len(groups) > 1 else {}
        tooltip = [
            alt.Tooltip("line:N", title=schema[category].title), alt.Tooltip("mark:N", title="what"),
            alt.Tooltip("value:Q", title=schema[show[0]].title, format=form),
            alt.Tooltip("interval:N", title="95 % interval"),
            *(_tip(schema[name]) for name in style.tell if _has(rows, name)),
        ]  # fmt: skip
        whiskers = folded.transform_filter("isValid(datum.low)").mark_rule(strokeWidth=2.5, opacity=0.45).encode(
            x=alt.X("low:Q"), x2="high:Q", y=y, color=coded["color"], **offset
        )  # fmt: skip
        points = folded.mark_point(filled=True, size=62, opacity=0.95).encode(
            x=across, y=y, tooltip=tooltip, **coded, **offset
        )
        step = 22 * (max(1, len(groups) * 0.55) if offset else 1)
        ends = [schema[name].ends for name in show]
        layered: list[Any] = [whiskers, points] if any(rows.known(end[0]) for end in ends if end) else [points]
        if style.zero:
            layered.insert(
                0,
                alt.Chart(alt.NamedData(name="rows"))
                .mark_rule(opacity=0.4, strokeDash=[4, 3])
                .encode(x=alt.XDatum(0)),
            )
        sized = {"width": "container", "height": max(60, round(step * len(names)))}
        return finished(alt.layer(*layered).add_params(*params).properties(**sized))

    return Chart(
        key,
        title,
        table,
        tuple(filter(None, (category, *show, colour))),
        draw,
        where or {},
        label or f"{title}: dots with intervals",
    )


def grid(
    table: str,
    x: str,
    y: str,
    *show: str,
    key: str,
    title: str,
    style: Style = PLAIN,
    diverging: bool = False,
    label: str = "",
    where: Mapping[str, Sequence[Any]] | None = None,
) -> Chart:
    """A heat map of two columns; with ``diverging`` colours part at zero.

    >>> grid("pos", "layer", "pos", "value", key="pos", title="Parts of speech by layer").columns
    ('layer', 'pos', 'value')
    """

    def draw(tables: Tables, rows: Rows) -> Spec:
        schema = tables.schema(table)
        shown, base, params = _shown(schema, rows, show, style)
        placed = (
            base.transform_calculate(across=_labelled(schema[x]), up=_labelled(schema[y]))
            .transform_aggregate(shown="mean(shown)", groupby=["across", "up"])
            .transform_calculate(size="abs(datum.shown)")
            .transform_joinaggregate(top="max(size)")
        )
        columns, lines_ = _axis_values(schema[x], rows), _axis_values(schema[y], rows)
        across = alt.X(
            "across:O",
            title=schema[x].title,
            sort=columns,
            axis=alt.Axis(labelAngle=0 if len(columns) <= 16 else -45, labelOverlap=True, orient="top"),
        )
        up = alt.Y(
            "up:O",
            title=schema[y].title if schema[y].kind == "index" else None,
            sort=lines_,
            axis=alt.Axis(labelLimit=220),
        )
        largest = max((abs(value) for name in show for value in rows.known(name).column(name)), default=1.0) or 1.0
        scale = (
            alt.Scale(scheme="redblue", domain=[-largest, largest]) if diverging
            else alt.Scale(scheme="viridis", domainMin=0, nice=False)
        )  # fmt: skip
        form = KINDS[schema[show[0]].kind].format or ".3~r"
        colour = alt.Color("shown:Q", title=None, scale=scale, legend=alt.Legend(tickCount=4, format=form))
        tooltip = [
            alt.Tooltip("up:N", title=schema[y].title), alt.Tooltip("across:N", title=schema[x].title),
            alt.Tooltip("shown:Q", title=schema[show[0]].title if len(show) == 1 else "shown", format=form),
        ]  # fmt: skip
        layered = [placed.mark_rect().encode(x=across, y=up, color=colour, tooltip=tooltip)]
        if len(columns) <= 16:
            ink = alt.condition(
                "datum.size > 0.6 * datum.top",
                alt.value("#fff" if diverging else "#111"),
                alt.value("#222" if diverging else "#fff"),
            )
            layered.append(
                placed.transform_calculate(text=_cell_text(schema[show[0]]))
                .mark_text(fontSize=11)
                .encode(x=across, y=up, text="text:N", color=ink, tooltip=tooltip)
            )
        return finished(alt.layer(*layered).add_params(*shown, *params).properties(**map_size(len(lines_))))

    return Chart(key, title, table, (x, y, *show), draw, where or {}, label or f"{title}: heat map")


def ranked(
    table: str,
    *show: str,
    key: str,
    title: str,
    colour: str = "",
    style: Style = PLAIN,
    label: str = "",
    where: Mapping[str, Sequence[Any]] | None = None,
) -> Chart:
    """All rows in order, largest first, each with its interval: how many stand clear of the line?

    >>> ranked("heads", "change", key="sorted", title="In order").columns
    ('change',)
    """

    def draw(tables: Tables, rows: Rows) -> Spec:
        schema = tables.schema(table)
        shown, base, params = _shown(schema, rows, show, style)
        heads = _has(rows, "head") and _has(rows, "layer")
        placed = base.transform_filter("isValid(datum.shown)").transform_window(
            rank="row_number()", sort=[alt.SortField("shown", order="descending")]
        )  # fmt: skip
        placed = placed.transform_calculate(name=HEAD_LABEL) if heads else placed
        x = alt.X(
            "rank:Q",
            title="largest first",
            scale=alt.Scale(nice=False, zero=False, padding=10),
            axis=alt.Axis(grid=False, tickMinStep=1, tickCount=8),
        )
        y = _value_axis("shown", schema, show, style)
        coded = _codes(schema, colour, rows.values(colour) if colour else [""])
        points = placed.mark_point(filled=True, size=34, opacity=0.9, **_alone(colour)).encode(
            x=x,
            y=y,
            tooltip=_tooltip(schema, rows, show, style, heads=heads, extra=(colour,) if colour else ()),
            **coded,
        )
        layered: list[Any] = [points]
        if any(schema[name].ends and _has(rows, schema[name].ends[0]) for name in show):  # type: ignore[index]
            layered.insert(
                0,
                placed.transform_filter("isValid(datum.low_shown)")
                .mark_rule(opacity=0.5, **_alone(colour))
                .encode(x=x, y=alt.Y("low_shown:Q"), y2="high_shown:Q", **coded),
            )
        if style.zero:
            layered.insert(0, _rule(0))
        sized = {"width": "container", "height": style.height}
        return finished(alt.layer(*layered).add_params(*shown, *params).properties(**sized))

    return Chart(
        key,
        title,
        table,
        tuple(filter(None, (*show, colour))),
        draw,
        where or {},
        label or f"{title}: all rows in order, with intervals",
    )


def histogram(
    table: str,
    column: str,
    *,
    key: str,
    title: str,
    colour: str = "",
    style: Style = PLAIN,
    label: str = "",
    where: Mapping[str, Sequence[Any]] | None = None,
) -> Chart:
    """How often a column has which value.

    >>> histogram("instances", "tvd", key="tvd", title="How far").columns
    ('tvd',)
    """

    def draw(tables: Tables, rows: Rows) -> Spec:
        schema = tables.schema(table)
        base, params = _picks(schema, rows, style.pick)
        extent = list(style.domain) if style.domain else alt.Undefined
        coded = _codes(schema, colour, rows.values(colour) if colour else [""])
        bars = base.transform_filter(f"isValid(datum['{column}'])").mark_bar(opacity=0.8, **_alone(colour)).encode(
            x=alt.X(f"{column}:Q", title=schema[column].title, bin=alt.Bin(maxbins=30, extent=extent)),
            y=alt.Y("count():Q", title="how many"), tooltip=[alt.Tooltip("count():Q", title="how many")], **coded,
        )  # fmt: skip
        sized = {"width": "container", "height": style.height}
        return finished(alt.layer(bars).add_params(*params).properties(**sized))

    return Chart(
        key, title, table, tuple(filter(None, (column, colour))), draw, where or {}, label or f"{title}: histogram"
    )


def custom(
    key: str,
    title: str,
    table: str,
    columns: Sequence[str],
    draw: Callable[[Tables, Rows], Spec],
    *,
    where: Mapping[str, Sequence[Any]] | None = None,
    label: str = "",
) -> Chart:
    """A chart that is one of a kind: ``draw`` makes its specification from the tables and the rows it shows.

    >>> custom("tree", "The tree", "tree", ["x"], lambda tables, rows: {}).table
    'tree'
    """
    return Chart(key, title, table, tuple(columns), draw, where or {}, label)


def rows_of_page() -> alt.Chart:
    """A chart of the rows that the page will hand to it.

    >>> rows_of_page().data.name
    'rows'
    """
    return alt.Chart(alt.NamedData(name="rows"))


def finished(chart: Any) -> Spec:
    """A chart as the page takes it.

    >>> "config" in finished(alt.layer(rows_of_page().mark_point()))
    False
    """
    spec: Spec = chart.to_dict()
    spec.pop("config", None)
    return spec


def map_size(rows: int) -> Spec:
    """A map as wide as its place and as high as it has rows.

    >>> map_size(12)["height"]
    312
    """
    return {"width": "container", "height": max(rows, 2) * (26 if rows <= 16 else 22 if rows <= 24 else 17)}


def choice(name: str, options: Sequence[Any], labels: Sequence[str] | None = None, label: str = "") -> alt.Parameter:
    """A list to choose from beside a chart; its first option is chosen at first.

    >>> choice("measure", ["weight", "norm"]).param.value
    'weight'
    """
    bind = alt.binding_select(
        options=list(options), labels=[str(text) for text in labels or options], name=label or name
    )
    return alt.param(name=name, value=options[0] if options else "", bind=bind)


def _shown(schema: Schema, rows: Rows, show: Sequence[str], style: Style) -> tuple[list[Any], Any, list[Any]]:
    """The list of columns to choose from, rows with what is chosen (and what belongs to it), the other lists."""
    base, params = _picks(schema, rows, style.pick)
    columns = {name: schema[name] for name in show}
    base = base.transform_calculate(
        shown=_switch({name: f"datum['{name}']" for name in columns}),
        low_shown=_switch({name: f"datum['{c.ends[0]}']" for name, c in columns.items() if c.ends}),
        high_shown=_switch({name: f"datum['{c.ends[1]}']" for name, c in columns.items() if c.ends}),
        chance_shown=_switch({name: f"datum['{c.chance}']" for name, c in columns.items() if c.chance}),
        twin_shown=_switch({name: f"datum['{c.twin}']" for name, c in columns.items() if c.twin}),
    )
    return _choice_of(schema, "show", show, "show"), base, params


def _choice_of(schema: Schema, name: str, columns: Sequence[str], label: str) -> list[Any]:
    if len(columns) < 2:
        return [alt.param(name=name, value=columns[0])]
    return [choice(name, list(columns), [schema[column].title for column in columns], label)]


def _picks(schema: Schema, rows: Rows, columns: Sequence[str]) -> tuple[Any, list[Any]]:
    base, params = rows_of_page(), []
    for name in columns:
        values = rows.values(name)
        if not values:
            continue
        column = schema[name]
        base = base.transform_filter(f"datum['{name}'] == {name}")
        params.append(choice(name, values, [column.write(value) for value in values], column.title))
    return base, params


def _switch(cases: Mapping[str, str], on: str = "show", otherwise: str = "null") -> str:
    """An expression that has one of several values."""
    return "".join(f"{on} == {_quoted(name)} ? {value} : " for name, value in cases.items()) + otherwise


def _quoted(text: object) -> str:
    return "'" + str(text).replace("\\", "\\\\").replace("'", "\\'") + "'"


def _labelled(column: Column) -> str:
    here = f"datum['{column.name}']"
    if column.kind == "index":
        return f"{here} + 1"
    return (
        _switch({value: _quoted(text) for value, text in column.labels.items()}, here, here)
        if column.labels
        else here
    )


def _axis_values(column: Column, rows: Rows) -> list[Any]:
    values = rows.values(column.name)
    if column.kind == "index":
        return [value + 1 for value in sorted(values)]
    return [column.labels.get(value, value) for value in values]


def _tip(column: Column) -> alt.Tooltip:
    if not column.number or column.kind == "index":
        return alt.Tooltip(f"{column.name}:N", title=column.title)
    return alt.Tooltip(f"{column.name}:Q", title=column.title, format=KINDS[column.kind].format)


def _tooltip(
    schema: Schema, rows: Rows, show: Sequence[str], style: Style, *, heads: bool = False, extra: Sequence[str] = ()
) -> list[alt.Tooltip]:
    form = KINDS[schema[show[0]].kind].format or ".3~r"
    columns = [schema[name] for name in show]
    said = [alt.Tooltip("name:N", title="head")] if heads else []
    said += [_tip(schema[name]) for name in extra]
    said.append(alt.Tooltip("shown:Q", title=columns[0].title if len(columns) == 1 else "shown", format=form))
    if any(column.ends and _has(rows, column.ends[0]) for column in columns):
        said += [
            alt.Tooltip("low_shown:Q", title="95 % interval from", format=form),
            alt.Tooltip("high_shown:Q", title="to", format=form),
        ]
    if any(_has(rows, column.chance) for column in columns):
        said.append(alt.Tooltip("chance_shown:Q", title="chance", format=form))
    if any(_has(rows, column.twin) for column in columns):
        said.append(alt.Tooltip("twin_shown:Q", title="untrained twin", format=form))
    tell = [*style.tell, *(["n"] if "n" in schema and "n" not in style.tell else [])]
    return said + [_tip(schema[name]) for name in tell if _has(rows, name)]


def _has(rows: Rows, column: str) -> bool:
    return bool(column) and len(rows) > 0 and column in rows[0]


def _alone(colour: str) -> dict[str, str]:
    return {} if colour else {"color": BLUE}


def _marks_of(schema: Schema, rows: Rows, show: Sequence[str]) -> dict[str, str]:
    """The columns that stand in a line of dots, with what belongs to the first of them, and their names."""
    first = schema[show[0]]
    marks = {name: schema[name].title for name in show if _has(rows, name)}
    for name, said in ((first.twin, "untrained twin"), (first.chance, "chance")):
        if _has(rows, name):
            marks.setdefault(name, said)
    return marks


def _codes(schema: Schema, colour: str, groups: Sequence[Any], *, shapes: bool = False) -> dict[str, Any]:
    if not colour:
        return {}
    labels = schema[colour].labels
    legend = (
        alt.Legend(
            symbolOpacity=1,
            labelExpr=_switch({str(v): _quoted(t) for v, t in labels.items()}, "datum.label", "datum.label"),
        )
        if labels
        else alt.Legend(symbolOpacity=1)
    )
    shown = legend if len(groups) > 1 else None
    domain = list(groups)
    coded: dict[str, Any] = {
        "color": alt.Color(
            f"{colour}:N",
            title=None,
            scale=alt.Scale(domain=domain, range=[PALETTE[at % len(PALETTE)] for at in range(len(groups))]),
            legend=shown,
        )
    }
    if shapes:
        coded["shape"] = alt.Shape(
            f"{colour}:N",
            title=None,
            scale=alt.Scale(domain=domain, range=[SHAPES[at % len(SHAPES)] for at in range(len(groups))]),
            legend=shown,
        )
    return coded


def _layer_axis(layers: int) -> alt.X:
    return alt.X(
        "at:Q", title="layer", scale=alt.Scale(zero=False, nice=False, padding=12),
        axis=alt.Axis(values=list(range(1, layers + 1)), format="d", grid=False, labelOverlap=True),
    )  # fmt: skip


def _across(column: Column) -> alt.X:
    if column.number:
        form = KINDS[column.kind].format
        return alt.X(
            "at:Q",
            title=column.title,
            scale=alt.Scale(zero=False, nice=False, padding=12),
            axis=alt.Axis(tickCount=7, format=form, grid=False),
        )
    return alt.X("at:N", title=column.title, sort=None, axis=alt.Axis(labelAngle=0))


def _scale(style: Style) -> alt.Scale:
    if style.log:
        return alt.Scale(type="log", nice=False, padding=8)
    if style.domain:
        return alt.Scale(domain=list(style.domain), nice=False)
    return alt.Scale(type="sqrt") if style.root else alt.Scale(zero=True, nice=True)


def _value_axis(name: str, schema: Schema, show: Sequence[str], style: Style) -> alt.Y:
    title = schema[show[0]].title if len(show) == 1 else "shown"
    form = KINDS[schema[show[0]].kind].format or "~g"
    return alt.Y(f"{name}:Q", title=title, scale=_scale(style), axis=alt.Axis(tickCount=5, grid=True, format=form))


def _rule(at: float) -> alt.Chart:
    rule: alt.Chart = (
        rows_of_page().mark_rule(strokeDash=[4, 3], stroke="currentColor", opacity=0.5).encode(y=alt.YDatum(at))
    )
    return rule


def _cell_text(column: Column) -> str:
    if column.kind == "percent":
        return "isValid(datum.shown) ? format(100 * datum.shown, '.0f') : ''"
    return (
        "!isValid(datum.shown) ? '' : datum.shown == 0 ? '0'"
        " : abs(datum.shown) < 0.00095 ? format(datum.shown, '.0e')"
        " : abs(datum.shown) < 0.0995 ? replace(format(datum.shown, '.3f'), regexp('^([-−]?)0'), '$1')"
        " : abs(datum.shown) < 0.995 ? replace(format(datum.shown, '.2f'), regexp('^([-−]?)0'), '$1')"
        " : format(datum.shown, abs(datum.shown) < 10 ? '.1f' : '.0f')"
    )
