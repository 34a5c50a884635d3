"""The charts of the chunking study, as Vega-Lite specifications that carry no data (see
:mod:`attlas.reports.charts`).

One colour is the adversary's everywhere; what was published is hollow and grey.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import altair as alt

from attlas.reports.charts import Spec, choice, finished, rows_of_page
from attlas.reports.faith_charts import PLUS
from attlas.reports.faith_findings import LN2

ADVERSARY, SEED, UNIFORM, INSTANCE, TOLD = "#c2453a", "#3a80c2", "#3a9d5d", "#9473d8", "#8f8f8f"
FORM_COLOURS = {"attention kept": "#3a80c2", "none left": "#cb7a1c"}
SIDE_COLOURS = {"before": "#3a80c2", "after": "#c2453a"}
ATTENTION = {"kl": "KL (nats)", "jsd": "JSD (nats)"}
PREDICTION = {"nll": "loss against the original (NLL)", "tvd": "TVD"}
_POINTS = {
    "trained adversary": (ADVERSARY, "circle"),
    "another seed": (SEED, "triangle-up"),
    "trained with uniform attention": (UNIFORM, "square"),
    "adversary of one word": (INSTANCE, PLUS),
}


def score_line() -> Spec:
    """F1 by the weight of the divergence, with intervals and each seed; what was published is hollow.

    >>> score_line()["data"]["name"]
    'rows'
    """
    rows = rows_of_page()
    x = alt.X(
        "weight:Q",
        title="λ (0 is the original)",
        axis=alt.Axis(grid=False, tickCount=7),
        scale=alt.Scale(nice=False, padding=14),
    )
    y = alt.Y("f1:Q", title="F1", scale=alt.Scale(zero=False, nice=True), axis=alt.Axis(format="~g"))
    means, told = (rows.transform_filter(f"datum.part == '{part}'") for part in ("mean", "published"))
    tooltip = [
        alt.Tooltip("label:N", title="model"),
        alt.Tooltip("f1:Q", title="F1", format=".4f"),
        alt.Tooltip("low:Q", title="95 %, from", format=".4f"),
        alt.Tooltip("high:Q", title="to", format=".4f"),
        alt.Tooltip("seeds:Q", title="seeds"),
    ]
    line = means.mark_line(strokeWidth=1.8, color=ADVERSARY).encode(x=x, y=y)
    whiskers = means.mark_rule(color=ADVERSARY, opacity=0.7, strokeWidth=1.5).encode(
        x=x, y=alt.Y("low:Q"), y2="high:Q"
    )
    single = (
        rows.transform_filter("datum.part == 'model'")
        .mark_point(filled=True, size=16, opacity=0.45, color=ADVERSARY)
        .encode(x=x, y=y, tooltip=tooltip)
    )
    dots = means.mark_point(filled=True, size=60, opacity=1, color=ADVERSARY).encode(x=x, y=y, tooltip=tooltip)
    hollow = told.mark_point(filled=False, size=80, strokeWidth=1.8, color=TOLD, shape="diamond", opacity=1).encode(
        x=x, y=y, tooltip=tooltip[:2]
    )
    return finished(alt.layer(line, whiskers, single, dots, hollow).properties(width="container", height=260))


def plane() -> Spec:
    """Figure 5 of Wiegreffe & Pinter: attention's divergence and the output's distance; the line is the adversary as
    lambda grows, with its lambdas; triangles are seeds, the square is uniform attention, each plus one word.

    >>> plane()["data"]["name"]
    'rows'
    """
    rows, names = rows_of_page(), list(_POINTS)
    colour = alt.Color(
        "kind:N", title=None, scale=alt.Scale(domain=names, range=[_POINTS[name][0] for name in names]),
        legend=alt.Legend(symbolOpacity=1, columns=2),
    )  # fmt: skip
    shape = alt.Shape("kind:N", title=None, scale=alt.Scale(domain=names, range=[_POINTS[name][1] for name in names]))
    x = alt.X(
        "jsd:Q", title="divergence of attention (JSD, nats)",
        scale=alt.Scale(domain=[0, 0.72], nice=False), axis=alt.Axis(tickCount=7),
    )  # fmt: skip
    y = alt.Y("tvd:Q", title="distance of predictions (TVD)", scale=alt.Scale(zero=True, nice=True, domainMin=0),
              axis=alt.Axis(tickCount=7))  # fmt: skip
    tooltip = [
        alt.Tooltip("label:N", title="which"),
        alt.Tooltip("jsd:Q", title="JSD", format=".3f"),
        alt.Tooltip("tvd:Q", title="TVD", format=".4f"),
    ]
    means = rows.transform_filter("datum.part == 'mean'")
    line = means.mark_line(strokeDash=[3, 3], strokeWidth=1.6, color=ADVERSARY).encode(x=x, y=y, order="weight:Q")
    words = (
        rows.transform_filter("datum.part == 'word'")
        .mark_point(filled=False, size=34, opacity=0.7, strokeWidth=1)
        .encode(x=x, y=y, color=colour, shape=shape, tooltip=tooltip)
    )
    others = (
        rows.transform_filter("datum.part == 'model'")
        .mark_point(filled=True, size=66, opacity=0.85)
        .encode(x=x, y=y, color=colour, shape=shape, tooltip=tooltip)
    )
    dots = means.mark_point(filled=True, size=64, opacity=1).encode(
        x=x, y=y, color=colour, shape=shape, tooltip=tooltip
    )
    labels = means.mark_text(align="right", baseline="bottom", dx=-6, dy=-4, fontSize=11).encode(
        x=x, y=y, text="lam:N", color=alt.value("currentColor")
    )
    return finished(
        alt.layer(*_most(rows), line, words, others, dots, labels).properties(width="container", height=380)
    )


def bend_curve() -> Spec:
    """Predictions against attention for every adversary, those of a seed joined as λ grows, with the bend, its
    interval and the published place of it.

    >>> [param["name"] for param in bend_curve()["params"]]
    ['attention', 'prediction']
    """
    params = [
        choice("attention", list(ATTENTION), list(ATTENTION.values()), "attention by"),
        choice("prediction", list(PREDICTION), list(PREDICTION.values()), "predictions by"),
    ]
    rows = rows_of_page().transform_filter("datum.attention == attention && datum.prediction == prediction")
    part = {name: rows.transform_filter(f"datum.part == '{name}'") for name in ("model", "mean", "bend", "published")}
    x = alt.X(
        "x:Q", title="divergence of attention", scale=alt.Scale(zero=True, nice=True), axis=alt.Axis(tickCount=8)
    )
    y = alt.Y("y:Q", title="distance of predictions", scale=alt.Scale(zero=True, nice=True))
    tooltip = [
        alt.Tooltip("label:N", title="model"),
        alt.Tooltip("x:Q", title="attention", format=".3f"),
        alt.Tooltip("y:Q", title="predictions", format=".4f"),
    ]
    band = part["bend"].transform_filter("isValid(datum.low)").mark_rect(opacity=0.14, color=SEED).encode(
        x=alt.X("low:Q"), x2="high:Q", y=alt.value(0), y2=alt.value(alt.ExprRef("height"))
    )  # fmt: skip
    at = (
        part["bend"]
        .mark_rule(strokeWidth=1.6, color=SEED)
        .encode(x=x, tooltip=[alt.Tooltip("x:Q", title="bend", format=".3f")])
    )
    told = part["published"].mark_rule(strokeDash=[4, 3], color=TOLD, strokeWidth=1.6).encode(x=x)
    said = [
        part[name]
        .mark_text(align="left", baseline="top", dx=5, fontSize=11, color="currentColor")
        .encode(x=x, y=alt.value(y_), text="label:N")
        for name, y_ in (("bend", 2), ("published", 20))
    ]
    joined = (
        part["model"]
        .mark_line(strokeWidth=1, color=ADVERSARY, opacity=0.35)
        .encode(x=x, y=y, detail="seed:N", order="weight:Q")
    )
    single = (
        part["model"].mark_point(filled=True, size=26, opacity=0.5, color=ADVERSARY).encode(x=x, y=y, tooltip=tooltip)
    )
    dots = part["mean"].mark_point(filled=True, size=60, opacity=1, color=ADVERSARY).encode(x=x, y=y, tooltip=tooltip)
    labels = part["mean"].mark_text(align="right", baseline="bottom", dx=-6, dy=-4, fontSize=11).encode(
        x=x, y=y, text="lam:N", color=alt.value("currentColor")
    )  # fmt: skip
    layers = [band, told, at, joined, single, dots, labels, *said]
    return finished(alt.layer(*layers).add_params(*params).properties(width="container", height=340))


def guided_dots(order: Sequence[str]) -> Spec:
    """F1 of guided models by the attention that guides them, in both forms, with intervals; the original's F1 is
    dashed, and what was published is hollow.

    >>> guided_dots(["original"])["data"]["name"]
    'rows'
    """
    rows = rows_of_page()
    models, told = (rows.transform_filter(f"datum.part == '{part}'") for part in ("mean", "published"))
    forms = list(FORM_COLOURS)
    colour = alt.Color("form:N", title=None, scale=alt.Scale(domain=forms, range=list(FORM_COLOURS.values())),
                       legend=alt.Legend(symbolOpacity=1))  # fmt: skip
    shape = alt.Shape("form:N", title=None, scale=alt.Scale(domain=forms, range=["circle", "square"]))
    y = alt.Y("label:N", title=None, sort=list(order), axis=alt.Axis(labelLimit=170, grid=True, gridDash=[1, 3]))
    offset = alt.YOffset("form:N", sort=forms, scale=alt.Scale(paddingOuter=0.3))
    x = alt.X("f1:Q", title="F1", scale=alt.Scale(zero=False, nice=True), axis=alt.Axis(tickCount=6, format="~g"))
    tooltip = [
        alt.Tooltip("label:N", title="guided by"),
        alt.Tooltip("form:N"),
        alt.Tooltip("f1:Q", title="F1", format=".4f"),
        alt.Tooltip("low:Q", title="95 %, from", format=".4f"),
        alt.Tooltip("high:Q", title="to", format=".4f"),
        alt.Tooltip("seeds:Q", title="seeds"),
    ]
    original = (
        rows.transform_filter("datum.part == 'original'")
        .mark_rule(strokeDash=[4, 3], stroke="currentColor", opacity=0.7)
        .encode(x=x)
    )
    whiskers = models.mark_rule(strokeWidth=1.5, opacity=0.7).encode(
        x=alt.X("low:Q"), x2="high:Q", y=y, yOffset=offset, color=colour
    )
    dots = models.mark_point(filled=True, size=56, opacity=1).encode(
        x=x, y=y, yOffset=offset, color=colour, shape=shape, tooltip=tooltip
    )
    hollow = told.mark_point(filled=False, size=80, strokeWidth=1.8, color=TOLD, shape="diamond", opacity=1).encode(
        x=x, y=y, yOffset=offset, tooltip=tooltip[:3]
    )
    height = 44 * max(len(order), 2)
    return finished(alt.layer(original, whiskers, dots, hollow).properties(width="container", height=height))


def rank_dots() -> Spec:
    """How far the adversaries' weights rank words as the original's do, by lambda; colours say on which side of the
    bend they lie.

    >>> [param["name"] for param in rank_dots()["params"]]
    ['show']
    """
    shown = choice("show", ["kendall", "first"], ["Kendall’s τ", "rows with the same most attended word"])
    rows = rows_of_page().transform_calculate(
        shown="datum[show]", from_="show == 'kendall' ? datum.kendall_low : null"
    )
    sides = list(SIDE_COLOURS)
    colour = alt.Color("side:N", title=None, scale=alt.Scale(domain=sides, range=list(SIDE_COLOURS.values())),
                       legend=alt.Legend(symbolOpacity=1, labelExpr="datum.label + ' the bend'"))  # fmt: skip
    shape = alt.Shape("side:N", title=None, scale=alt.Scale(domain=sides, range=["circle", "square"]),
                      legend=alt.Legend(symbolOpacity=1, labelExpr="datum.label + ' the bend'"))  # fmt: skip
    x = alt.X(
        "weight:Q",
        title="λ",
        axis=alt.Axis(grid=False, tickCount=7),
        scale=alt.Scale(nice=False, zero=True, padding=14),
    )
    y = alt.Y("shown:Q", title="agreement with the original", scale=alt.Scale(zero=True, nice=True))
    tooltip = [
        alt.Tooltip("weight:Q", title="λ"),
        alt.Tooltip("seed:Q"),
        alt.Tooltip("kendall:Q", title="τ", format=".3f"),
        alt.Tooltip("kendall_low:Q", title="95 %, from", format=".3f"),
        alt.Tooltip("kendall_high:Q", title="to", format=".3f"),
        alt.Tooltip("first:Q", title="same most attended word", format=".1%"),
        alt.Tooltip("n:Q", title="rows", format=",.0f"),
    ]
    whiskers = (
        rows.transform_filter("isValid(datum.from_)")
        .mark_rule(strokeWidth=1.5, opacity=0.7)
        .encode(x=x, y=alt.Y("from_:Q"), y2="kendall_high:Q", color=colour)
    )
    dots = rows.mark_point(filled=True, size=52, opacity=0.9).encode(
        x=x, y=y, color=colour, shape=shape, tooltip=tooltip
    )
    return finished(alt.layer(whiskers, dots).add_params(shown).properties(width="container", height=240))


def _most(rows: alt.Chart) -> list[Any]:
    """The largest divergence that there is, as a line with its name."""
    once = rows.transform_aggregate(count="count()")
    at = alt.XDatum(LN2, type="quantitative")
    return [
        once.mark_rule(strokeDash=[4, 3], stroke="currentColor", opacity=0.5).encode(x=at),
        once.mark_text(text="ln 2", align="right", baseline="top", dx=-4, fontSize=11, opacity=0.7).encode(
            x=at, y=alt.value(2), color=alt.value("currentColor")
        ),
    ]
