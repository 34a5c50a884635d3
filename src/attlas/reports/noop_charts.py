"""The charts of a no-op test, as Vega-Lite specifications that carry no data (see :mod:`attlas.reports.charts`).

Every class of key has one colour in all of them; the untrained twin is dashed.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import altair as alt

from attlas.reports.charts import CLASS_COLOURS, CLASS_LABELS, Spec, finished, lettered_cells, map_size

COLOURS = CLASS_COLOURS | {"self": "#8a8a8a", "previous": "#2aa3a3", "next": "#a3933a"}
LABELS = CLASS_LABELS | {"self": "itself", "previous": "previous", "next": "next"}
_KEY = "datum.keys"  # the page names the column so: "class" is no name for a setting of a chart
_SHOWN = {
    "value": "mean |dL/dα|",
    "paid": "mean α·|dL/dα|",
    "weight": "share of weight",
    "norm": "share of norm",
    "relative": "|dL/dα| over other keys",
}
_ROUND = [round(power + digit, 6) for power in range(-12, 4) for digit in (0.0, math.log10(2), math.log10(5))]
_WRITTEN = (
    "!isValid(datum.shown) ? '' : datum.shown == 0 ? '0' : abs(datum.shown) < 0.00995 ? format(datum.shown, '.0e')"
    " : abs(datum.shown) < 0.995 ? replace(format(datum.shown, '.2f'), regexp('^(-?)0'), '$1')"
    " : format(datum.shown, abs(datum.shown) < 10 ? '.1f' : '.0f')"
)


def layer_lines(keys: Sequence[str], *, layers: int) -> Spec:
    """Gradient by layer, a line for each class of key and a dashed one for the twin; what is shown and the scale can
    be chosen.

    >>> [param["name"] for param in layer_lines(["sep", "other"], layers=6)["params"]]
    ['show', 'axis']
    """
    shown = _choice("show", ["value", "paid"], [_SHOWN["value"], _SHOWN["paid"]])
    axis = _choice("axis", ["log", "even"], ["logarithmic", "linear"], "scale")
    folded = (
        alt.Chart(alt.NamedData(name="rows"))
        .transform_calculate(model="show == 'value' ? datum.value : datum.paid")
        .transform_calculate(untrained="show == 'value' ? datum.twin : datum.twin_paid")
        .transform_fold(["model", "untrained"], as_=["who", "shown"])
        .transform_filter("isValid(datum.shown) && datum.shown > 0")
        .transform_calculate(
            at="datum.layer + 1", height="axis == 'log' ? log(datum.shown) / LN10 : datum.shown", label=_label()
        )
    )
    labels = "axis == 'log' ? format(pow(10, datum.value), '.0e') : format(datum.value, '.2~g')"
    y = alt.Y(
        "height:Q",
        title=None,
        scale=alt.Scale(zero=False, nice=True),
        axis=alt.Axis(labelExpr=labels, values=alt.ExprRef(f"axis == 'log' ? {_ROUND} : null"), labelOverlap=True),
    )
    chart = alt.layer(*_marks(folded, keys, y, layers)).add_params(shown, axis)
    return finished(chart.properties(width="container", height=300))


def relative_lines(keys: Sequence[str], *, layers: int) -> Spec:
    """The same, each layer's gradient for other keys being 1: with intervals, on a logarithmic scale.

    >>> relative_lines(["sep"], layers=6)["data"]["name"]
    'rows'
    """
    rows = alt.Chart(alt.NamedData(name="rows"))
    folded = (
        rows.transform_calculate(model="datum.relative", untrained="datum.twin_relative")
        .transform_fold(["model", "untrained"], as_=["who", "shown"])
        .transform_filter("isValid(datum.shown) && datum.shown > 0")
        .transform_calculate(at="datum.layer + 1", height="datum.shown", label=_label())
    )
    scale = alt.Scale(type="log", nice=False, padding=8)
    y = alt.Y("height:Q", title="times other keys", scale=scale, axis=alt.Axis(format="~g", tickCount=6))
    band = (
        rows.transform_filter("datum.relative_low > 0")
        .transform_calculate(at="datum.layer + 1", label=_label())
        .mark_area(opacity=0.18)
        .encode(x=_x(layers), y=alt.Y("relative_low:Q", scale=scale), y2="relative_high:Q", color=_colour(keys))
    )
    one = (
        rows.transform_aggregate(count="count()")
        .mark_rule(stroke="currentColor", opacity=0.5, strokeWidth=1)
        .encode(y=alt.YDatum(1, type="quantitative", scale=scale))
    )
    return finished(alt.layer(one, band, *_marks(folded, keys, y, layers)).properties(width="container", height=300))


def weight_against_gradient(keys: Sequence[str], first: str) -> Spec:
    """One dot for each head: its weight on a class of keys, and its gradient there over that for other keys.

    >>> [param["name"] for param in weight_against_gradient(["sep", "cls"], "sep")["params"]]
    ['keys', 'who']
    """
    keys = sorted((key for key in keys if key != "other"), key=lambda key: key != first)
    chosen = _choice("keys", list(keys), [LABELS[key] for key in keys])
    who = _choice("who", ["model", "twin"], ["the model", "untrained twin"], "of")
    rows = (
        alt.Chart(alt.NamedData(name="rows"))
        .transform_filter(f"{_KEY} == keys")
        .transform_calculate(
            weight_shown="who == 'model' ? datum.weight : datum.twin_weight",
            shown="who == 'model' ? datum.relative : datum.twin_relative",
            number="datum.layer + 1",
            name="(datum.layer + 1) + '-' + (datum.head + 1)",
        )
        .transform_filter("isValid(datum.shown) && datum.shown > 0")
    )
    x = alt.X("weight_shown:Q", title="share of the head's weight", scale=alt.Scale(domain=[0, 1], nice=False))
    y = alt.Y(
        "shown:Q",
        title="|dL/dα| over other keys",
        scale=alt.Scale(type="log", nice=False, padding=8),
        axis=alt.Axis(format="~g", tickCount=6),
    )
    colour = alt.Color(
        "number:Q",
        title="layer",
        scale=alt.Scale(scheme=alt.SchemeParams(name="viridis", extent=[0.15, 0.9])),
        legend=alt.Legend(format="d", tickMinStep=1),
    )
    tooltip = [
        alt.Tooltip("name:N", title="head"),
        alt.Tooltip("weight_shown:Q", title="weight", format=".3f"),
        alt.Tooltip("shown:Q", title="over other keys", format=".3~g"),
    ]
    dots = rows.mark_point(filled=True, size=34, opacity=0.8).encode(x=x, y=y, color=colour, tooltip=tooltip)
    one = (
        alt.Chart(alt.NamedData(name="rows"))
        .transform_aggregate(count="count()")
        .mark_rule(stroke="currentColor", opacity=0.5, strokeWidth=1)
        .encode(y=alt.YDatum(1, type="quantitative"))
    )
    return finished(alt.layer(one, dots).add_params(chosen, who).properties(width="container", height=300))


def head_map(keys: Sequence[str], first: str, *, layers: int, heads: int, norms: bool = True) -> Spec:
    """A heat map, layer by head, of one class of keys: gradient over other keys, gradient, weight, norm.

    >>> [param["name"] for param in head_map(["sep"], "sep", layers=6, heads=12)["params"]]
    ['keys', 'show', 'who']
    """
    keys = sorted(keys, key=lambda key: key != first)
    kinds = ["relative", "value", "paid", "weight", *(["norm"] if norms else [])]
    params = [
        _choice("keys", list(keys), [LABELS[key] for key in keys]),
        _choice("show", kinds, [_SHOWN[kind] for kind in kinds]),
        _choice("who", ["model", "twin"], ["the model", "untrained twin"], "of"),
    ]
    rows = (
        alt.Chart(alt.NamedData(name="rows"))
        .transform_filter(f"{_KEY} == keys")
        .transform_calculate(
            shown="who == 'model' ? datum[show] : show == 'value' ? datum.twin : datum['twin_' + show]",
            row="datum.layer + 1",
            column="datum.head + 1",
            name="(datum.layer + 1) + '-' + (datum.head + 1)",
        )
        .transform_calculate(text=_WRITTEN)
        .transform_joinaggregate(top="max(shown)")
    )
    colour = alt.Color(
        "shown:Q",
        title=None,
        scale=alt.Scale(scheme="viridis", domainMin=0, nice=False),
        legend=alt.Legend(tickCount=4, format=".2~g", labelOverlap=True),
    )
    tooltip = [
        alt.Tooltip("name:N", title="head"),
        alt.Tooltip("value:Q", title="|dL/dα|", format=".3~g"),
        alt.Tooltip("relative:Q", title="over other keys", format=".3~g"),
        alt.Tooltip("weight:Q", title="weight", format=".3f"),
        *([alt.Tooltip("norm:Q", title="norm", format=".3f")] if norms else []),
        alt.Tooltip("twin_relative:Q", title="twin, over other keys", format=".3~g"),
        alt.Tooltip("twin_weight:Q", title="twin, weight", format=".3f"),
        *([alt.Tooltip("twin_norm:Q", title="twin, norm", format=".3f")] if norms else []),
    ]
    cells = lettered_cells(rows, colour, tooltip, "datum.shown > 0.6 * datum.top", layers=layers, heads=heads)
    return finished(alt.layer(*cells).add_params(*params).properties(**map_size(layers)))


def _marks(folded: Any, keys: Sequence[str], y: alt.Y, layers: int) -> list[Any]:
    dash = alt.StrokeDash(
        "who:N", title=None, scale=alt.Scale(domain=["model", "untrained"], range=[[1, 0], [4, 3]]), legend=None
    )
    tooltip = [
        alt.Tooltip("label:N", title="keys"),
        alt.Tooltip("at:Q", title="layer", format="d"),
        alt.Tooltip("who:N", title="of"),
        alt.Tooltip("shown:Q", title="value", format=".3~g"),
        alt.Tooltip("relative:Q", title="over other keys", format=".3~g"),
        alt.Tooltip("weight:Q", title="share of weight", format=".3f"),
    ]
    lines = folded.mark_line(strokeWidth=1.8).encode(x=_x(layers), y=y, color=_colour(keys), strokeDash=dash)
    faint = alt.condition("datum.who == 'model'", alt.value(1.0), alt.value(0.45))
    dots = folded.mark_point(filled=True, size=24).encode(
        x=_x(layers), y=y, color=_colour(keys), opacity=faint, tooltip=tooltip
    )
    return [lines, dots]


def _x(layers: int) -> alt.X:
    axis = alt.Axis(values=list(range(1, layers + 1)), format="d", grid=False, labelOverlap=True)
    return alt.X("at:Q", title="layer", scale=alt.Scale(zero=False, nice=False, padding=10), axis=axis)


def _colour(keys: Sequence[str]) -> alt.Color:
    scale = alt.Scale(domain=[LABELS[key] for key in keys], range=[COLOURS[key] for key in keys])
    return alt.Color("label:N", title=None, scale=scale, legend=alt.Legend(symbolOpacity=1))


def _label() -> str:
    cases = "".join(f"{_KEY} == '{key}' ? '{label}' : " for key, label in LABELS.items())
    return f"{cases}''"


def _choice(name: str, options: Sequence[str], labels: Sequence[str], label: str = "") -> alt.Parameter:
    bind = alt.binding_select(options=list(options), labels=list(labels), name=label or name)
    return alt.param(name=name, value=options[0] if options else "", bind=bind)
