"""The charts of the report on coreference: the best head beside its rivals, and every head."""

from __future__ import annotations

from collections.abc import Sequence

import altair as alt

from attlas.reports.charts import (
    NORM_COLOUR,
    WEIGHT_COLOUR,
    Spec,
    choice,
    finished,
    head_cells,
    map_size,
    rows_of_page,
)

WHO = ("best head", "best for its kind", "sieve", "head match", "nearest", "untrained twin", "chance")
_COLOURS = (WEIGHT_COLOUR, "#7d6bc4", "#2f8f6b", "#6bb392", "#a9c9b5", NORM_COLOUR, "#8f9299")
_SHAPES = ("circle", "circle", "triangle-up", "triangle-up", "triangle-up", "diamond", "square")
SETS = {
    "mentions": "among all other mentions",
    "preceding": "among preceding mentions",
    "words": "among all words",
}
WAYS = {"to": "mention attends to antecedent", "from": "antecedent attends to mention"}


def kinds_chart(kinds: Sequence[str]) -> Spec:
    """For each kind of mention the best head with its interval, the simple rules, the untrained twin and chance; the
    set of candidates can be chosen. Published figures are hollow.

    >>> spec = kinds_chart(["all", "pronoun"])
    >>> [param["name"] for param in spec["params"]], len(spec["layer"])
    (['candidates'], 3)
    """
    fits = "datum.candidates == candidates || indexof(['nearest', 'head match', 'sieve'], datum.who) >= 0"
    rows = (
        rows_of_page()
        .transform_filter(fits)
        .transform_calculate(
            name="isValid(datum.layer) ? (datum.layer + 1) + '-' + (datum.head + 1) + ', ' + datum.direction : ''",
            interval="format(datum.low, '.3f') + ' to ' + format(datum.high, '.3f')",
        )
    )
    x = alt.X("kind:N", title=None, sort=list(kinds), axis=alt.Axis(labelAngle=0, labelFontSize=12.5))
    offset = alt.XOffset("who:N", sort=list(WHO), scale=alt.Scale(paddingOuter=0.6))
    y = alt.Y("value:Q", title="share right", scale=alt.Scale(domain=[0, 1]), axis=alt.Axis(tickCount=6))
    legend = alt.Legend(orient="top", symbolOpacity=1, columns=7)
    colour = alt.Color(
        "who:N", title=None, sort=list(WHO), scale=alt.Scale(domain=list(WHO), range=list(_COLOURS)), legend=legend
    )
    shape = alt.Shape(
        "who:N", title=None, sort=list(WHO), scale=alt.Scale(domain=list(WHO), range=list(_SHAPES)), legend=legend
    )
    tooltip = [
        alt.Tooltip("kind:N", title="mentions"),
        alt.Tooltip("who:N"),
        alt.Tooltip("name:N", title="head"),
        alt.Tooltip("value:Q", title="share right", format=".3f"),
        alt.Tooltip("interval:N", title="95 % interval"),
        alt.Tooltip("published:Q", format=".2f"),
        alt.Tooltip("n:Q", title="n", format=",.0f"),
    ]
    lines = rows.mark_rule(strokeWidth=2.5, opacity=0.5).encode(
        x=x, xOffset=offset, y=alt.Y("low:Q", title="share right"), y2="high:Q", color=colour
    )
    dots = rows.mark_point(filled=True, size=75, opacity=1).encode(
        x=x, xOffset=offset, y=y, color=colour, shape=shape, tooltip=tooltip
    )
    published = (
        rows.transform_filter("isValid(datum.published)")
        .mark_point(filled=False, size=75, opacity=0.85, strokeWidth=1.5)
        .encode(x=x, xOffset=offset, y=alt.Y("published:Q"), color=colour, shape=shape, tooltip=tooltip)
    )
    chosen = choice("candidates", list(SETS), list(SETS.values()), label="heads choose")
    return finished(
        alt.layer(lines, published, dots).add_params(chosen).properties(width="container", height=330)
    )  # fmt: skip


def coref_map(kinds: Sequence[str], *, layers: int, heads: int) -> Spec:
    """A heat map of heads for a kind of mention, a set of candidates and a direction that can be chosen; heads that
    beat the nearest mention are framed.

    >>> [param["name"] for param in coref_map(["all"], layers=12, heads=12)["params"]]
    ['kind', 'candidates', 'direction', 'who']
    """
    params = [
        choice("kind", list(kinds), label="mentions"),
        choice("candidates", list(SETS), list(SETS.values())),
        choice("direction", list(WAYS), list(WAYS.values())),
        choice("who", ["trained", "untrained"], ["the model", "its untrained twin"], label="of"),
    ]
    fits = " && ".join(f"datum.{name} == {name}" for name in ("kind", "candidates", "direction", "who"))
    rows = rows_of_page().transform_filter(fits).transform_calculate(shown="datum.value")
    cells = head_cells(rows, "kind:N", layers=layers, heads=heads)
    framed = (
        rows.transform_filter("isValid(datum.p_nearest) && datum.p_nearest < 0.01")
        .transform_calculate(row="datum.layer + 1", column="datum.head + 1")
        .mark_rect(filled=False, stroke="#ff5a36", strokeWidth=2)
        .encode(x=alt.X("column:O", title="head"), y=alt.Y("row:O", title="layer"))
    )
    return finished(alt.layer(*cells, framed).add_params(*params).properties(**map_size(layers)))


def layers_chart(kinds: Sequence[str], *, layers: int, heads: int) -> Spec:
    """One dot for each head by layer, in its better direction; the model's beside those of its untrained twin.

    >>> [param["name"] for param in layers_chart(["all"], layers=12, heads=12)["params"]]
    ['kind', 'candidates']
    """
    params = [
        choice("kind", list(kinds), label="mentions"),
        choice("candidates", list(SETS), list(SETS.values())),
    ]
    best = (
        rows_of_page()
        .transform_filter("datum.kind == kind && datum.candidates == candidates")
        .transform_aggregate(value="max(value)", chance="mean(chance)", groupby=["who", "layer", "head"])
        .transform_calculate(
            at="datum.layer + 1 + (datum.who == 'trained' ? -0.14 : 0.14)",
            name="(datum.layer + 1) + '-' + (datum.head + 1)",
        )
    )
    x = alt.X(
        "at:Q",
        title="layer",
        scale=alt.Scale(zero=False, nice=False, padding=14),
        axis=alt.Axis(values=list(range(1, layers + 1)), format="d", grid=False, labelOverlap=True),
    )
    y = alt.Y("value:Q", title="share right", scale=alt.Scale(zero=True), axis=alt.Axis(tickCount=5))
    scale = alt.Scale(domain=["trained", "untrained"], range=[WEIGHT_COLOUR, NORM_COLOUR])
    colour = alt.Color("who:N", title=None, scale=scale, legend=alt.Legend(orient="top", symbolOpacity=1))
    tooltip = [alt.Tooltip("name:N", title="head"), alt.Tooltip("who:N"), alt.Tooltip("value:Q", format=".3f")]
    dots = best.mark_circle(size=30 if layers * heads <= 200 else 15, opacity=0.65).encode(
        x=x, y=y, color=colour, tooltip=tooltip
    )
    chance = (
        best.transform_aggregate(chance="mean(chance)")
        .mark_rule(strokeDash=[4, 3], stroke="currentColor", opacity=0.6)
        .encode(y=alt.Y("chance:Q"))
    )
    return finished(alt.layer(chance, dots).add_params(*params).properties(width="container", height=240))
