"""The charts of an alignment study, as Vega-Lite specifications without data (see :mod:`attlas.reports.charts`).

Weights are round and blue, norms are diamonds and orange, as everywhere; aligners that know no network have colours
of their own, dashed where they were trained on more text than the pairs. The untrained twin is dotted.
"""

from __future__ import annotations

from collections.abc import Sequence

import altair as alt

from attlas.measures.names import MEASURES
from attlas.reports.charts import (
    NORM_COLOUR,
    WEIGHT_COLOUR,
    Spec,
    choice,
    finished,
    lettered_cells,
    map_size,
    rows_of_page,
)

ALIGNERS = {"eflomal": "#3a9d5d", "fast_align": "#8a63c9", "diagonal": "#8a8a8a"}
KINDS = {"weight": WEIGHT_COLOUR, "norm": NORM_COLOUR, **ALIGNERS}
_PERCENT = ".1%"
_INTERVAL = "isValid(datum.low) ? format(datum.low, '.1%') + ' to ' + format(datum.high, '.1%') : 'none'"
_GOOD_IS_LOW = "score == 'AER'"


def layer_marks(scores: Sequence[str], *, layers: int, height: int = 280) -> Spec:
    """A score by layer, weights and norms side by side with their intervals, the twin's faint and aligners as rules.

    >>> spec = layer_marks(["AER", "F1"], layers=6)
    >>> [param["name"] for param in spec["params"]], len(spec["layer"])
    (['score'], 5)
    """
    rows = (
        rows_of_page()
        .transform_filter("datum.score == score")
        .transform_calculate(at="datum.layer + 1 + (datum.kind == 'norm' ? 0.13 : -0.13)", interval=_INTERVAL)
    )
    attention = rows.transform_filter("isValid(datum.layer)")
    axis = alt.Axis(values=list(range(1, layers + 1)), format="d", grid=False, labelOverlap=True)
    x = alt.X("at:Q", title="layer", scale=alt.Scale(domain=[0.5, layers + 0.5], nice=False), axis=axis)
    scale = alt.Scale(domain=[0, 1], nice=False)
    y = alt.Y("value:Q", title=None, scale=scale, axis=alt.Axis(format="%", tickCount=6))
    colour = alt.Color("kind:N", scale=alt.Scale(domain=list(KINDS), range=list(KINDS.values())), legend=None)
    shape = alt.Shape("kind:N", scale=alt.Scale(domain=MEASURES, range=["circle", "diamond"]), legend=None)
    tooltip = [
        alt.Tooltip("kind:N", title="by"),
        alt.Tooltip("layer_shown:Q", title="layer"),
        alt.Tooltip("value:Q", title="score", format=_PERCENT),
        alt.Tooltip("interval:N", title="95 % interval"),
        alt.Tooltip("twin:Q", title="untrained twin", format=_PERCENT),
    ]
    shown = attention.transform_calculate(layer_shown="datum.layer + 1")
    lines = shown.mark_line(strokeWidth=1.4, opacity=0.75).encode(x=x, y=y, color=colour)
    ends = shown.mark_rule(strokeWidth=2).encode(x=x, y=alt.Y("low:Q", title=None), y2="high:Q", color=colour)
    dots = shown.mark_point(filled=True, size=70, opacity=1).encode(
        x=x, y=y, color=colour, shape=shape, tooltip=tooltip
    )
    twins = (
        attention.transform_filter("isValid(datum.twin)")
        .mark_line(strokeDash=[1, 4], strokeCap="round", strokeWidth=2, opacity=0.8)
        .encode(x=x, y=alt.Y("twin:Q", title=None, scale=scale), color=colour)
    )
    beside = [alt.Tooltip("label:N", title="aligner"), *tooltip[2:4]]
    dash = alt.StrokeDash(
        "more:N", scale=alt.Scale(domain=[False, True], range=[[1, 0], [7, 4]]), legend=None, type="nominal"
    )
    rules = (
        rows.transform_filter("!isValid(datum.layer)")
        .mark_rule(strokeWidth=1.6)
        .encode(y=y, color=colour, strokeDash=dash, tooltip=beside)
    )
    chart = alt.layer(rules, twins, lines, ends, dots).add_params(choice("score", list(scores)))
    return finished(chart.properties(width="container", height=height))


def method_dots(labels: Sequence[str]) -> Spec:
    """The error rates of whole methods with their intervals, the best at the top.

    >>> method_dots(["norm, input"])["layer"][1]["mark"]["type"]
    'point'
    """
    rows = rows_of_page().transform_calculate(interval=_INTERVAL)
    y = alt.Y("label:N", title=None, sort=list(labels), axis=alt.Axis(labelLimit=420, grid=True))
    scale = alt.Scale(zero=True, nice=True)
    x = alt.X("value:Q", title="AER (left is better)", scale=scale, axis=alt.Axis(format="%", tickCount=8))
    colour = alt.Color("kind:N", scale=alt.Scale(domain=list(KINDS), range=list(KINDS.values())), legend=None)
    shape = alt.Shape(
        "kind:N",
        scale=alt.Scale(domain=list(KINDS), range=["circle", "diamond", "square", "square", "square"]),
        legend=None,
    )
    tooltip = [
        alt.Tooltip("label:N", title="method"),
        alt.Tooltip("value:Q", title="AER", format=_PERCENT),
        alt.Tooltip("interval:N", title="95 % interval"),
        alt.Tooltip("twin:Q", title="untrained twin", format=_PERCENT),
    ]
    ends = rows.mark_rule(strokeWidth=2).encode(x=alt.X("low:Q", title=None), x2="high:Q", y=y, color=colour)
    dots = rows.mark_point(filled=True, size=64, opacity=1).encode(
        x=x, y=y, color=colour, shape=shape, tooltip=tooltip
    )
    return finished(alt.layer(ends, dots).properties(width="container", height=22 * max(2, len(labels))))


def head_map(scores: Sequence[str], views: Sequence[str], *, layers: int, heads: int) -> Spec:
    """A map of heads by score, or by mean norm; bright is good, so an error rate is turned round.

    >>> [param["name"] for param in head_map(["AER"], ["with input"], layers=6, heads=8)["params"]]
    ['score', 'measure', 'view']
    """
    params = [
        choice("score", list(scores), label="show"),
        choice("measure", list(reversed(MEASURES))),
        choice("view", list(views), label="setting"),
    ]
    rows = (
        rows_of_page()
        .transform_filter("datum.score == score && datum.view == view")
        .transform_filter("datum.measure == measure || datum.score == 'mean norm'")
        .transform_calculate(
            row="datum.layer + 1",
            column="datum.head + 1",
            name="(datum.layer + 1) + '-' + (datum.head + 1)",
            text="!isValid(datum.value) ? '' : datum.score == 'mean norm' ? format(datum.value, '.2~r') "
            ": format(100 * datum.value, '.0f')",
            interval=_INTERVAL,
        )
        .transform_joinaggregate(top="max(value)", bottom="min(value)")
        .transform_calculate(
            place="(datum.value - datum.bottom) / max(1e-9, datum.top - datum.bottom)",
        )
    )
    scale = alt.Scale(scheme="viridis", nice=False, zero=False, reverse=alt.ExprRef(_GOOD_IS_LOW))
    points = "score == 'mean norm' ? datum.label : format(100 * datum.value, '.0f')"
    legend = alt.Legend(tickCount=4, format=".2~g", labelExpr=points, labelOverlap=True)
    colour = alt.Color("value:Q", title=None, scale=scale, legend=legend)
    tooltip = [
        alt.Tooltip("name:N", title="head"),
        alt.Tooltip("value:Q", title="value", format=".3~g"),
        alt.Tooltip("low:Q", title="low", format=".3~g"),
        alt.Tooltip("high:Q", title="high", format=".3~g"),
        alt.Tooltip("twin:Q", title="untrained twin", format=".3~g"),
    ]
    bright = f"({_GOOD_IS_LOW} ? 1 - datum.place : datum.place) > 0.6"
    cells = lettered_cells(rows, colour, tooltip, bright, layers=layers, heads=heads)
    return finished(alt.layer(*cells).add_params(*params).properties(**map_size(layers)))


def norms_against_errors(views: Sequence[str]) -> Spec:
    """Mean norm against error rate: a small dot for each head, a large one for each layer with its heads together.

    >>> [param["name"] for param in norms_against_errors(["with input"])["params"]]
    ['view']
    """
    rows = (
        rows_of_page()
        .transform_filter("datum.view == view")
        .transform_calculate(number="datum.layer + 1")
        .transform_calculate(
            name="isValid(datum.head) ? 'head ' + datum.number + '-' + (datum.head + 1) : 'layer ' + datum.number",
            unit="isValid(datum.head) ? 'head' : 'layer'",
        )
    )
    tooltip = [
        alt.Tooltip("name:N", title="of"),
        alt.Tooltip("norm:Q", title="mean norm", format=".3~g"),
        alt.Tooltip("value:Q", title="AER by norm", format=_PERCENT),
    ]
    x = alt.X("norm:Q", title="mean norm", scale=alt.Scale(zero=True, nice=True), axis=alt.Axis(tickCount=6))
    y = alt.Y("value:Q", title="AER by norm", scale=alt.Scale(zero=False, nice=True), axis=alt.Axis(format="%"))
    colour = alt.Color(
        "number:Q",
        title="layer",
        scale=alt.Scale(scheme=alt.SchemeParams(name="viridis", extent=[0.15, 0.9])),
        legend=alt.Legend(format="d", tickMinStep=1),
    )
    heads = rows.transform_filter("datum.unit == 'head'").mark_point(filled=True, size=34, opacity=0.75)
    joint = rows.transform_filter("datum.unit == 'layer'").mark_point(
        filled=True, size=150, opacity=1, shape="diamond", stroke="currentColor", strokeWidth=1
    )
    named = rows.transform_filter("datum.unit == 'layer'").mark_text(dx=12, align="left", color="currentColor")
    chart = alt.layer(
        heads.encode(x=x, y=y, color=colour, tooltip=tooltip),
        joint.encode(x=x, y=y, color=colour, tooltip=tooltip),
        named.encode(x=x, y=y, text="number:Q"),
    )
    return finished(
        chart.add_params(choice("view", list(views), label="setting")).properties(width="container", height=320)
    )
