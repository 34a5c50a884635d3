"""The charts of the norms study, as Vega-Lite specifications that carry no data (see :mod:`attlas.reports.charts`).

Weight, norm and joint norm have one colour each in all of them, and so has every class of key; the untrained twin is
dashed.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import altair as alt

from attlas.reports.charts import (
    CLASS_COLOURS,
    CLASS_LABELS,
    NORM_COLOUR,
    WEIGHT_COLOUR,
    Spec,
    choice,
    finished,
    lettered_cells,
    map_size,
    rows_of_page,
)

JOINT_COLOUR = "#2f8f6b"
MEASURES = {"weight": "weight", "norm": "norm, head by head", "joint": "norm, all heads together"}
COLOURS = {"weight": WEIGHT_COLOUR, "norm": NORM_COLOUR, "joint": JOINT_COLOUR}
STEPS = {"attention": "attention alone", "residual": "with the residual", "normalised": "with residual and norm"}
STEP_COLOURS = {"attention": WEIGHT_COLOUR, "residual": NORM_COLOUR, "normalised": JOINT_COLOUR}
_TENS = [float(f"1e{power}") for power in range(-6, 1)]
_STEPS = [float(f"{digit}e{power}") for power in range(-4, 5) for digit in (1, 2, 5)]
QUERIES = {"all": "all pieces"} | CLASS_LABELS | {"other": "other pieces"}
_NAME = "(datum.layer + 1) + '-' + (datum.head + 1)"
_LABEL = "".join(f"datum.keys == '{kind}' ? '{label}' : " for kind, label in CLASS_LABELS.items()) + "'all keys'"
_WRITTEN = (
    "!isValid(datum.shown) ? '' : abs(datum.shown) < 0.995"
    " ? replace(format(datum.shown, '.2f'), regexp('^(-?)0'), '$1')"
    " : format(datum.shown, abs(datum.shown) < 10 ? '.1f' : '.0f')"
)


def share_lines(*, layers: int, top: float | None = None) -> Spec:
    """Shares of one class of key by layer: weight, norm and joint norm, the twin's weight dashed, chance dotted.

    >>> share_lines(layers=6)["data"]["name"]
    'rows'
    """
    rows = rows_of_page()
    names = list(MEASURES)
    folded = rows.transform_fold([*names], as_=["measure", "share"]).transform_calculate(
        at="datum.layer + 1", low="datum[datum.measure + '_low']", high="datum[datum.measure + '_high']",
        untrained="datum['twin_' + datum.measure]",
        written="datum.measure == 'weight' ? 'weight' : datum.measure == 'norm' ? 'norm' : 'all heads together'",
    )  # fmt: skip
    colour = alt.Color(
        "measure:N", scale=alt.Scale(domain=names, range=[COLOURS[name] for name in names]), legend=None
    )
    scale = alt.Scale(domainMin=0, nice=True) if top is None else alt.Scale(domain=[0, top], nice=False)
    y = alt.Y("share:Q", title="share", scale=scale, axis=alt.Axis(tickCount=5, format="~g"))
    tooltip = [
        alt.Tooltip("written:N", title="measure"),
        alt.Tooltip("at:Q", title="layer", format="d"),
        alt.Tooltip("share:Q", title="share", format=".3f"),
        alt.Tooltip("low:Q", title="95 %, from", format=".3f"),
        alt.Tooltip("high:Q", title="to", format=".3f"),
        alt.Tooltip("untrained:Q", title="untrained twin", format=".3f"),
        alt.Tooltip("chance:Q", title="even attention", format=".3f"),
        alt.Tooltip("relative:Q", title="‖f(x)‖ over other keys", format=".2f"),
    ]
    band = folded.mark_area(opacity=0.16).encode(
        x=_x(layers), y=alt.Y("low:Q", scale=scale), y2="high:Q", color=colour
    )
    lines = folded.mark_line(strokeWidth=1.8).encode(x=_x(layers), y=y, color=colour)
    dots = folded.mark_point(filled=True, size=26, opacity=1).encode(x=_x(layers), y=y, color=colour, tooltip=tooltip)
    twin = (
        folded.transform_filter("isValid(datum.untrained)")
        .mark_line(strokeWidth=1.4, strokeDash=[4, 3], opacity=0.6)
        .encode(x=_x(layers), y=alt.Y("untrained:Q", scale=scale), color=colour)
    )
    even = (
        rows.transform_filter("isValid(datum.chance)")
        .transform_calculate(at="datum.layer + 1")
        .mark_line(strokeWidth=1.2, strokeDash=[1, 3], stroke="currentColor", opacity=0.7)
        .encode(x=_x(layers), y=alt.Y("chance:Q", scale=scale))
    )
    return finished(alt.layer(even, band, twin, lines, dots).properties(width="container", height=200))


def length_lines(kinds: Sequence[str], *, layers: int) -> Spec:
    """‖f(x)‖ of each class of key over that of other keys, by layer, on a logarithmic scale; the twin dashed.

    >>> length_lines(["sep"], layers=6)["data"]["name"]
    'rows'
    """
    rows = rows_of_page().transform_filter("datum.keys != 'other'").transform_calculate(label=_LABEL)
    folded = (
        rows.transform_calculate(model="datum.relative", untrained="datum.twin_relative")
        .transform_fold(["model", "untrained"], as_=["who", "ratio"])
        .transform_filter("isValid(datum.ratio) && datum.ratio > 0")
        .transform_calculate(at="datum.layer + 1")
    )
    scale = alt.Scale(type="log", nice=False, padding=8)
    y = alt.Y("ratio:Q", title="times other keys'", scale=scale, axis=alt.Axis(format="~g", values=_STEPS))
    tooltip = [
        alt.Tooltip("label:N", title="keys"),
        alt.Tooltip("at:Q", title="layer", format="d"),
        alt.Tooltip("who:N", title="of"),
        alt.Tooltip("ratio:Q", title="‖f(x)‖ over other keys'", format=".3~g"),
        alt.Tooltip("length:Q", title="mean ‖f(x)‖", format=".3~g"),
        alt.Tooltip("weight:Q", title="share of weight", format=".3f"),
    ]
    shown = [kind for kind in kinds if kind != "other"]
    return finished(
        alt.layer(_rule(1), *_lines(folded, y, _class_colour(shown), layers, tooltip)).properties(
            width="container", height=260
        )
    )


def pair_dots(shown: Sequence[str], kinds: Sequence[str]) -> Spec:
    """Weight against length, a dot for each drawn pair, coloured by class of key; the layer or head can be chosen.

    >>> [param["name"] for param in pair_dots(["layer 3", "layer 1"], ["sep", "other"])["params"]]
    ['shown', 'who']
    """
    rows = rows_of_page()
    chosen = "datum.shown == shown && datum.who == who"
    dots = rows.transform_filter(chosen).transform_calculate(
        label=_LABEL, name=_NAME, height="max(datum.weight, 1e-6)", norm="datum.weight * datum.length"
    )
    scale = alt.Scale(type="log", nice=False, padding=12)
    x = alt.X(
        "length:Q",
        title="‖f(x)‖, length of the key's vector",
        scale=scale,
        axis=alt.Axis(format="~g", values=_STEPS, labelOverlap=True),
    )
    y = alt.Y("height:Q", title="α, weight on the key", scale=scale, axis=alt.Axis(format="~g", values=_TENS))
    tooltip = [
        alt.Tooltip("key:N", title="key"),
        alt.Tooltip("query:N", title="query"),
        alt.Tooltip("name:N", title="head"),
        alt.Tooltip("weight:Q", title="α", format=".3~g"),
        alt.Tooltip("length:Q", title="‖f(x)‖", format=".3~g"),
        alt.Tooltip("norm:Q", title="‖αf(x)‖", format=".3~g"),
    ]
    many = "datum.keys == 'other'"
    points = dots.mark_point(filled=True).encode(
        x=x,
        y=y,
        color=_class_colour(kinds),
        size=alt.condition(many, alt.value(26), alt.value(34)),
        opacity=alt.condition(many, alt.value(0.5), alt.value(0.8)),
        tooltip=tooltip,
    )
    missing = (
        rows.transform_calculate(fits=f"{chosen} ? 1 : 0")
        .transform_aggregate(fits="sum(fits)")
        .transform_filter("datum.fits == 0")
        .mark_text(fontSize=13, color="currentColor", text="of the untrained twin there are layers only")
        .encode(x=alt.value(alt.ExprRef("width / 2")), y=alt.value(alt.ExprRef("height / 2")))
    )
    params = [
        choice("shown", list(shown), label="pairs of"),
        choice("who", ["model", "twin"], ["the model", "untrained twin"], "of"),
    ]
    return finished(alt.layer(points, missing).add_params(*params).properties(width="container", height=380))


def correlation_dots(*, layers: int, heads: int) -> Spec:
    """Rank correlation of weight and length within texts: a dot for each head over all keys, and one over other keys
    alone; lines are the layers' means, dashed the twin's.

    >>> correlation_dots(layers=6, heads=12)["data"]["name"]
    'rows'
    """
    kinds = ["all", "other"]
    base = rows_of_page().transform_calculate(
        at="datum.layer + 1 + (datum.keys == 'all' ? -0.17 : 0.17)", label=_LABEL, name=_NAME,
    )  # fmt: skip
    scale = alt.Scale(domain=["all keys", "other keys"], range=[JOINT_COLOUR, CLASS_COLOURS["other"]])
    colour = alt.Color("label:N", title=None, scale=scale, legend=alt.Legend(symbolOpacity=1))
    shape = alt.Shape(
        "label:N", title=None, scale=alt.Scale(domain=["all keys", "other keys"], range=["circle", "diamond"])
    )
    y = alt.Y("value:Q", title="rank correlation", scale=alt.Scale(domain=[-1, 1], nice=False), axis=_fives())
    dots = (
        base.transform_filter(f"indexof({kinds}, datum.keys) >= 0")
        .mark_point(filled=True, size=26 if layers * heads <= 200 else 13, opacity=0.6)
        .encode(x=_x(layers), y=y, color=colour, shape=shape, tooltip=_head_tooltip("label:N"))
    )
    means = (
        base.transform_aggregate(mean="mean(value)", groupby=["label", "at"])
        .mark_line(strokeWidth=1.8)
        .encode(x=_x(layers), y=alt.Y("mean:Q"), color=colour)
    )
    twin = (
        base.transform_aggregate(untrained="mean(twin)", groupby=["label", "at"])
        .mark_line(strokeWidth=1.4, strokeDash=[4, 3], opacity=0.6)
        .encode(x=_x(layers), y=alt.Y("untrained:Q"), color=colour)
    )
    return finished(alt.layer(_rule(0), twin, means, dots).properties(width="container", height=280))


def class_correlations(kinds: Sequence[str], *, layers: int) -> Spec:
    """Rank correlation of weight and length over drawn pairs of one class, mean of the heads, by layer; with
    intervals, the twin dashed.

    >>> class_correlations(["sep", "other"], layers=6)["data"]["name"]
    'rows'
    """
    rows = rows_of_page().transform_calculate(label=_LABEL, at="datum.layer + 1")
    folded = (
        rows.transform_calculate(model="datum.value", untrained="datum.twin")
        .transform_fold(["model", "untrained"], as_=["who", "rho"])
        .transform_filter("isValid(datum.rho)")
    )
    y = alt.Y("rho:Q", title="rank correlation", scale=alt.Scale(nice=True), axis=_fives())
    band = rows.mark_area(opacity=0.15).encode(
        x=_x(layers), y=alt.Y("low:Q"), y2="high:Q", color=_class_colour(kinds)
    )
    tooltip = [
        alt.Tooltip("label:N", title="keys"),
        alt.Tooltip("at:Q", title="layer", format="d"),
        alt.Tooltip("who:N", title="of"),
        alt.Tooltip("rho:Q", title="mean of the heads", format=".3f"),
        alt.Tooltip("low:Q", title="95 %, from", format=".3f"),
        alt.Tooltip("high:Q", title="to", format=".3f"),
        alt.Tooltip("n:Q", title="pairs", format=",.0f"),
    ]
    lines = _lines(folded, y, _class_colour(kinds), layers, tooltip)
    return finished(alt.layer(_rule(0), band, *lines).properties(width="container", height=280))


def head_map(kinds: Sequence[str], first: str, *, layers: int, heads: int) -> Spec:
    """A heat map, layer by head, of one class of key: norm over weight, shares, length.

    >>> [param["name"] for param in head_map(["sep"], "sep", layers=6, heads=12)["params"]]
    ['keys', 'show', 'who']
    """
    ordered = sorted(kinds, key=lambda kind: kind != first)
    shown = {
        "weight": "share of weight", "norm": "share of norm", "ratio": "norm over weight",
        "relative": "‖f(x)‖ over other keys'",
    }  # fmt: skip
    params = [
        choice("keys", ordered, [CLASS_LABELS[kind] for kind in ordered]),
        choice("show", list(shown), list(shown.values())),
        choice("who", ["model", "twin"], ["the model", "untrained twin"], "of"),
    ]
    ratio = "who == 'model' ? datum.norm / datum.weight : datum.twin_norm / datum.twin_weight"
    rows = (
        rows_of_page()
        .transform_filter("datum.keys == keys")
        .transform_calculate(
            shown=f"show == 'ratio' ? {ratio} : who == 'model' ? datum[show] : datum['twin_' + show]",
            row="datum.layer + 1", column="datum.head + 1", name=_NAME,
        )
        .transform_calculate(text=_WRITTEN)
        .transform_joinaggregate(top="max(shown)")
    )  # fmt: skip
    colour = alt.Color(
        "shown:Q", title=None, scale=alt.Scale(scheme="viridis", domainMin=0, nice=False),
        legend=alt.Legend(tickCount=4, format=".2~g", labelOverlap=True),
    )  # fmt: skip
    tooltip = [
        alt.Tooltip("name:N", title="head"),
        alt.Tooltip("weight:Q", title="share of weight", format=".3f"),
        alt.Tooltip("norm:Q", title="share of norm", format=".3f"),
        alt.Tooltip("chance:Q", title="even attention", format=".3f"),
        alt.Tooltip("mean_weight:Q", title="mean α", format=".3~g"),
        alt.Tooltip("length:Q", title="mean ‖f(x)‖", format=".3~g"),
        alt.Tooltip("mean_norm:Q", title="mean ‖αf(x)‖", format=".3~g"),
        alt.Tooltip("twin_weight:Q", title="twin: weight", format=".3f"),
        alt.Tooltip("twin_norm:Q", title="twin: norm", format=".3f"),
    ]
    cells = lettered_cells(rows, colour, tooltip, "datum.shown > 0.6 * datum.top", layers=layers, heads=heads)
    return finished(alt.layer(*cells).add_params(*params).properties(**map_size(layers)))


def frequency_dots(*, layers: int, heads: int) -> Spec:
    """Rank correlation of ‖f(x)‖ with how rare the word is: a dot for each head, the layers' mean, the twin's dashed.

    >>> [param["name"] for param in frequency_dots(layers=6, heads=12)["params"]]
    ['words']
    """
    params = choice("words", ["plain", "all"], ["without . and ,", "all words"])
    base = (
        rows_of_page()
        .transform_filter("datum.words == words")
        .transform_calculate(at="datum.layer + 1", name=_NAME)
    )  # fmt: skip
    y = alt.Y("value:Q", title="rank correlation", scale=alt.Scale(domain=[-1, 1], nice=False), axis=_fives())
    dots = base.mark_point(
        filled=True, size=26 if layers * heads <= 200 else 13, opacity=0.6, color=NORM_COLOUR
    ).encode(x=_x(layers), y=y, tooltip=_head_tooltip())  # fmt: skip
    lines = [
        base.transform_aggregate(**{f"{column}_mean": f"mean({column})"}, groupby=["at"])
        .mark_line(strokeWidth=1.8, color=NORM_COLOUR, strokeDash=dash, opacity=opacity)
        .encode(x=_x(layers), y=alt.Y(f"{column}_mean:Q"))
        for column, dash, opacity in (("value", [1, 0], 1.0), ("twin", [4, 3], 0.6))
    ]
    return finished(
        alt.layer(_rule(0), *lines, dots).add_params(params).properties(width="container", height=240)
    )  # fmt: skip


def mixing_lines(queries: Sequence[str], *, layers: int) -> Spec:
    """The mixing ratio by layer at each step, with intervals, the twin dashed; the class of query can be chosen.

    >>> [param["name"] for param in mixing_lines(["all", "cls"], layers=6)["params"]]
    ['queries']
    """
    chosen = choice("queries", list(queries), [QUERIES[kind] for kind in queries], "of")
    label = "".join(f"datum.step == '{step}' ? '{text}' : " for step, text in STEPS.items()) + "''"
    rows = (
        rows_of_page()
        .transform_filter("datum.queries == queries")
        .transform_calculate(at="datum.layer + 1", label=label)
    )  # fmt: skip
    folded = (
        rows.transform_calculate(model="datum.value", untrained="datum.twin")
        .transform_fold(["model", "untrained"], as_=["who", "ratio"])
        .transform_filter("isValid(datum.ratio)")
    )
    colour = alt.Color(
        "label:N", title=None, scale=alt.Scale(domain=list(STEPS.values()), range=list(STEP_COLOURS.values())),
        legend=alt.Legend(symbolOpacity=1),
    )  # fmt: skip
    y = alt.Y("ratio:Q", title="mixing ratio", scale=alt.Scale(domain=[0, 1], nice=False), axis=alt.Axis(tickCount=5))
    band = rows.mark_area(opacity=0.16).encode(x=_x(layers), y=alt.Y("low:Q"), y2="high:Q", color=colour)
    tooltip = [
        alt.Tooltip("label:N", title="step"),
        alt.Tooltip("at:Q", title="layer", format="d"),
        alt.Tooltip("who:N", title="of"),
        alt.Tooltip("ratio:Q", title="from others", format=".3f"),
        alt.Tooltip("low:Q", title="95 %, from", format=".3f"),
        alt.Tooltip("high:Q", title="to", format=".3f"),
        alt.Tooltip("n:Q", title="pieces", format=",.0f"),
    ]
    lines = _lines(folded, y, colour, layers, tooltip)
    return finished(alt.layer(band, *lines).add_params(chosen).properties(width="container", height=300))


def _lines(folded: Any, y: alt.Y, colour: alt.Color, layers: int, tooltip: list[alt.Tooltip]) -> list[Any]:
    """A line for the model and a dashed one for the twin, with dots to point at."""
    dash = alt.StrokeDash(
        "who:N", title=None, scale=alt.Scale(domain=["model", "untrained"], range=[[1, 0], [4, 3]]), legend=None
    )
    faint = alt.condition("datum.who == 'model'", alt.value(1.0), alt.value(0.5))
    lines = folded.mark_line(strokeWidth=1.8).encode(x=_x(layers), y=y, color=colour, strokeDash=dash, opacity=faint)
    dots = folded.mark_point(filled=True, size=24).encode(
        x=_x(layers), y=y, color=colour, opacity=faint, tooltip=tooltip
    )
    return [lines, dots]


def _x(layers: int) -> alt.X:
    axis = alt.Axis(values=list(range(1, layers + 1)), format="d", grid=False, labelOverlap=True)
    return alt.X("at:Q", title="layer", scale=alt.Scale(zero=False, nice=False, padding=10), axis=axis)


def _fives() -> alt.Axis:
    return alt.Axis(tickCount=5, format="~g")


def _rule(at: float) -> Any:
    return (
        rows_of_page()
        .transform_aggregate(count="count()")
        .mark_rule(stroke="currentColor", opacity=0.5, strokeWidth=1)
        .encode(y=alt.YDatum(at, type="quantitative"))
    )


def _class_colour(kinds: Sequence[str]) -> alt.Color:
    scale = alt.Scale(
        domain=[CLASS_LABELS[kind] for kind in kinds], range=[CLASS_COLOURS[kind] for kind in kinds]
    )  # fmt: skip
    return alt.Color("label:N", title=None, scale=scale, legend=alt.Legend(symbolOpacity=1))


def _head_tooltip(*more: str) -> list[alt.Tooltip]:
    return [
        alt.Tooltip("name:N", title="head"),
        *(alt.Tooltip(field, title="over") for field in more),
        alt.Tooltip("value:Q", title="rank correlation", format=".3f"),
        alt.Tooltip("low:Q", title="95 %, from", format=".3f"),
        alt.Tooltip("high:Q", title="to", format=".3f"),
        alt.Tooltip("n:Q", title="texts", format=",.0f"),
        alt.Tooltip("twin:Q", title="untrained twin", format=".3f"),
    ]
