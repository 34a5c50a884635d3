"""The charts of attention as explanation, as Vega-Lite specifications that carry no data (see
:mod:`attlas.reports.charts`).

Colours belong to what is compared (three references, six ways to change attention) and never stand alone: shapes or
words say the same.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import altair as alt

from attlas.reports.charts import Spec, choice, finished, rows_of_page
from attlas.reports.faith_findings import LN2, REFERENCES, WORDS

REFERENCE_COLOURS = ("#3a80c2", "#cb7a1c", "#3a9d5d")
REFERENCE_SHAPES = ("circle", "diamond", "square")
KINDS = {
    "uniform": ("#3a9d5d", "square"),
    "shuffled": ("#8a63c9", "diamond"),
    "adversary": ("#c2453a", "cross"),
    "frozen": ("#cb7a1c", "triangle-down"),
    "other model": ("#3a80c2", "triangle-up"),
    "evened model": ("#7d8a2e", "circle"),
}
PLUS = "M-1,0H1M0,-1V1"
_BELOW = ["shuffled", "other model", "evened model"]  # names that stand below their mark, so that they do not meet
LABEL_COLOURS = ("#3a80c2", "#cb7a1c", "#3a9d5d", "#8a63c9")
GROUPS = {"attention": "#3a80c2", "others": "#3a9d5d", "chance": "#8f8f8f"}
_SHOWN = {"tau": "Kendall’s τ", "overlap": "top words shared", "significant": "share of texts with p < .05"}


def agreement_dots(order: Sequence[str]) -> Spec:
    """A line for each explanation, with its agreement with each of the three references and the intervals; the mean
    of a random order is dashed.

    >>> agreement_dots(["weights, last layer"])["params"][0]["name"]
    'show'
    """
    shown = choice("show", list(_SHOWN), list(_SHOWN.values()))
    rows = rows_of_page().transform_calculate(
        shown="datum[show]",
        from_="show == 'tau' ? datum.low : show == 'overlap' ? datum.overlap_low : null",
        to="show == 'tau' ? datum.high : show == 'overlap' ? datum.overlap_high : null",
    )
    names = [WORDS[name] for name in REFERENCES]
    colour = alt.Color(
        "reference:N", title=None, scale=alt.Scale(domain=names, range=list(REFERENCE_COLOURS)),
        legend=alt.Legend(symbolOpacity=1, columns=3),
    )  # fmt: skip
    shape = alt.Shape(
        "reference:N", title=None, scale=alt.Scale(domain=names, range=list(REFERENCE_SHAPES)),
        legend=alt.Legend(symbolOpacity=1, columns=3),
    )  # fmt: skip
    y, offset = _names(order), alt.YOffset("reference:N", sort=names, scale=alt.Scale(paddingOuter=0.35))
    tooltip = [
        alt.Tooltip("label:N", title="explanation"),
        alt.Tooltip("reference:N", title="with"),
        alt.Tooltip("tau:Q", title="τ", format=".3f"),
        alt.Tooltip("low:Q", title="95 %, from", format=".3f"),
        alt.Tooltip("high:Q", title="to", format=".3f"),
        alt.Tooltip("significant:Q", title="texts with p < .05", format=".0%"),
        alt.Tooltip("overlap:Q", title="top words shared", format=".2f"),
        alt.Tooltip("n:Q", title="instances", format=",.0f"),
    ]
    x = alt.X("shown:Q", title=None, scale=alt.Scale(nice=True, zero=True), axis=alt.Axis(tickCount=6))
    whiskers = (
        rows.transform_filter("isValid(datum.from_)")
        .mark_rule(strokeWidth=1.5, opacity=0.7)
        .encode(x=alt.X("from_:Q"), x2="to:Q", y=y, yOffset=offset, color=colour)
    )
    dots = rows.mark_point(filled=True, size=44, opacity=1).encode(
        x=x, y=y, yOffset=offset, color=colour, shape=shape, tooltip=tooltip
    )
    return finished(
        alt.layer(_dashed(rows, "datum.explanation == 'random'"), whiskers, dots)
        .add_params(shown)
        .properties(width="container", height=44 * max(len(order), 2))
    )


def erasure_dots(order: Sequence[str], column: str) -> Spec:
    """A line for each explanation: what erasing by it does, with its interval; what random words do is dashed.

    >>> len(erasure_dots(["gradients"], "comprehensiveness")["layer"])
    3
    """
    rows = rows_of_page().transform_calculate(
        shown=f"datum.{column}", from_=f"datum.{column}_low", to=f"datum.{column}_high"
    )  # fmt: skip
    scale = alt.Scale(domain=list(GROUPS), range=list(GROUPS.values()))
    colour, y = alt.Color("group:N", scale=scale, legend=None), _names(order)
    tooltip = [
        alt.Tooltip("label:N", title="explanation"),
        alt.Tooltip("shown:Q", title=column, format=".3f"),
        alt.Tooltip("from_:Q", title="95 %, from", format=".3f"),
        alt.Tooltip("to:Q", title="to", format=".3f"),
        alt.Tooltip("over_random:Q", title="over random words", format="+.3f"),
        alt.Tooltip("n:Q", title="instances", format=",.0f"),
    ]
    x = alt.X("shown:Q", title=None, scale=alt.Scale(nice=True, zero=True), axis=alt.Axis(tickCount=5))
    whiskers = rows.mark_rule(strokeWidth=1.5, opacity=0.7).encode(x=alt.X("from_:Q"), x2="to:Q", y=y, color=colour)
    dots = rows.mark_point(filled=True, size=48, opacity=1).encode(x=x, y=y, color=colour, tooltip=tooltip)
    chance = _dashed(rows, "datum.explanation == 'random'")
    height = 25 * max(len(order), 2)
    return finished(alt.layer(chance, whiskers, dots).properties(width="container", height=height))


def plane(kinds: Sequence[str], bound: float | None) -> Spec:
    """The plane of Wiegreffe & Pinter: how far attention is from the model's own, and how far the output; a small
    plus for each instance's adversary, a large mark with its name for each way to change attention.

    >>> plane(["uniform"], 0.01)["data"]["name"]
    'rows'
    """
    rows = rows_of_page()
    shown = [kind for kind in KINDS if kind in kinds]
    colour = alt.Color(
        "kind:N", title=None, scale=alt.Scale(domain=shown, range=[KINDS[kind][0] for kind in shown]),
        legend=alt.Legend(symbolOpacity=1, columns=3),
    )  # fmt: skip
    shape = alt.Shape(
        "kind:N", title=None, scale=alt.Scale(domain=shown, range=[KINDS[kind][1] for kind in shown]),
        legend=alt.Legend(symbolOpacity=1, columns=3),
    )  # fmt: skip
    x = alt.X(
        "jsd:Q", title="divergence of attention (JSD, nats)",
        scale=alt.Scale(domain=[0, 0.72], nice=False), axis=alt.Axis(tickCount=7),
    )  # fmt: skip
    y = alt.Y("tvd:Q", title="distance of output (TVD)", scale=alt.Scale(zero=True, nice=True, domainMin=0),
              axis=alt.Axis(tickCount=6))  # fmt: skip
    tooltip = [
        alt.Tooltip("label:N", title="attention"),
        alt.Tooltip("jsd:Q", title="JSD", format=".3f"),
        alt.Tooltip("tvd:Q", title="TVD", format=".4f"),
        alt.Tooltip("n:Q", title="instances", format=",.0f"),
    ]
    small = (
        rows.transform_filter("datum.part == 'instance'")
        .mark_point(filled=False, size=30, opacity=0.55, strokeWidth=1, shape=PLUS)
        .encode(x=x, y=y, color=colour, tooltip=tooltip)
    )
    means = rows.transform_filter("datum.part == 'mean'")
    across = means.mark_rule(opacity=0.6).encode(x=alt.X("jsd_low:Q"), x2="jsd_high:Q", y=y, color=colour)
    along = means.mark_rule(opacity=0.6).encode(x=x, y=alt.Y("tvd_low:Q"), y2="tvd_high:Q", color=colour)
    large = means.mark_point(filled=True, size=110, opacity=1, stroke="currentColor", strokeWidth=0.8).encode(
        x=x, y=y, color=colour, shape=shape, tooltip=tooltip
    )
    labels = [
        means.transform_filter(f"indexof({_BELOW}, datum.kind) {'>=' if below else '<'} 0")
        .mark_text(align="left", baseline="middle", dx=9, dy=10 if below else -9, fontSize=11, limit=190)
        .encode(x=x, y=y, text="label:N", color=alt.value("currentColor"))
        for below in (False, True)
    ]
    most = _line(x=alt.XDatum(LN2, type="quantitative"))
    said = (
        rows.transform_aggregate(count="count()")
        .mark_text(text="ln 2", align="right", baseline="top", dx=-4, fontSize=11, color="currentColor", opacity=0.7)
        .encode(x=alt.XDatum(LN2, type="quantitative"), y=alt.value(2))
    )
    limits = [most, said]
    if bound is not None:
        limits.append(_line(y=alt.YDatum(bound, type="quantitative")))
    layers = [*limits, small, across, along, large, *labels]
    return finished(alt.layer(*layers).properties(width="container", height=380))


def tau_histogram(column: str, labels: Sequence[str]) -> Spec:
    """How many instances have which tau, in steps of a tenth; the mean is dashed, zero is drawn through.

    >>> tau_histogram("tau_gradient", ["positive", "negative"])["data"]["name"]
    'rows'
    """
    return _histogram(column, labels, "Kendall’s τ", (-1, 1), 0.1, zero=True)


def adversary_histogram(labels: Sequence[str]) -> Spec:
    """How many instances have an adversary how far off; the mean is dashed.

    >>> adversary_histogram(["positive"])["data"]["name"]
    'rows'
    """
    return _histogram("adversary_jsd", labels, "largest JSD within the bound (at most ln 2 = .69)", (0, 0.7), 0.05)


def permuted_dots(labels: Sequence[str]) -> Spec:
    """A dot for each instance: its largest weight, and how far its output moves in the median when weights are
    shuffled; the median of all instances in each quarter is a line.

    >>> permuted_dots(["positive"])["data"]["name"]
    'rows'
    """
    rows = rows_of_page().transform_filter("isValid(datum.permuted) && isValid(datum.largest)")
    x = alt.X("largest:Q", title="largest weight on a word", scale=alt.Scale(domain=[0, 1], nice=False))
    y = alt.Y(
        "permuted:Q", title="median TVD, shuffled", scale=alt.Scale(zero=True, nice=True), axis=alt.Axis(tickCount=5)
    )
    tooltip = [*_instance(), alt.Tooltip("largest:Q", format=".3f"), alt.Tooltip("permuted:Q", format=".4f")]
    dots = rows.mark_point(filled=True, size=20, opacity=0.55).encode(
        x=x, y=y, color=_labels(labels), tooltip=tooltip
    )
    quarters = (
        rows.transform_calculate(quarter="min(3, floor(4 * datum.largest))")
        .transform_aggregate(middle="median(permuted)", n="count()", groupby=["quarter"])
        .transform_calculate(start="datum.quarter / 4", stop="(datum.quarter + 1) / 4")
        .mark_rule(strokeWidth=3, stroke="currentColor", opacity=0.85)
        .encode(
            x=alt.X("start:Q"), x2="stop:Q", y=alt.Y("middle:Q"),
            tooltip=[alt.Tooltip("middle:Q", title="median", format=".4f"), alt.Tooltip("n:Q", title="instances")],
        )
    )  # fmt: skip
    return finished(alt.layer(dots, quarters).properties(width="container", height=220))


def _histogram(
    column: str, labels: Sequence[str], title: str, ends: tuple[float, float], step: float, *, zero: bool = False
) -> Spec:
    rows = rows_of_page().transform_filter(f"isValid(datum.{column})")
    binned = (
        rows.transform_calculate(at=f"min({ends[1]} - {step}, floor(datum.{column} / {step} + 1e-9) * {step})")
        .transform_aggregate(count="count()", groupby=["at", "predicted"])
        .transform_calculate(until=f"datum.at + {step}")
    )
    x = alt.X(
        "at:Q", bin="binned", title=title, scale=alt.Scale(domain=list(ends), nice=False), axis=alt.Axis(tickCount=6)
    )
    tooltip = [
        alt.Tooltip("predicted:N"),
        alt.Tooltip("at:Q", title="from", format=".2f"),
        alt.Tooltip("until:Q", title="to", format=".2f"),
        alt.Tooltip("count:Q", title="instances"),
    ]
    bars = binned.mark_bar(opacity=0.85).encode(
        x=x, x2="until:Q", y=alt.Y("count:Q", title="instances", stack="zero"), color=_labels(labels), tooltip=tooltip
    )
    mean = (
        rows.transform_aggregate(mean=f"mean({column})")
        .mark_rule(strokeDash=[4, 3], strokeWidth=1.6, stroke="currentColor")
        .encode(x=alt.X("mean:Q"))
    )
    layers = [bars, mean, *([_line(x=alt.XDatum(0, type="quantitative"), dash=None)] if zero else [])]
    return finished(alt.layer(*layers).properties(width="container", height=200))


def _names(order: Sequence[str]) -> alt.Y:
    return alt.Y("label:N", title=None, sort=list(order), axis=alt.Axis(labelLimit=180, grid=True, gridDash=[1, 3]))


def _labels(labels: Sequence[str]) -> Any:
    """A colour for each predicted label where there are few, else one for all."""
    if len(labels) > len(LABEL_COLOURS):
        return alt.value(LABEL_COLOURS[0])
    scale = alt.Scale(domain=list(labels), range=list(LABEL_COLOURS[: len(labels)]))
    return alt.Color("predicted:N", title="predicted", scale=scale, legend=alt.Legend(symbolOpacity=1))


def _instance() -> list[alt.Tooltip]:
    return [alt.Tooltip("text:Q", title="text"), alt.Tooltip("predicted:N"), alt.Tooltip("label:N", title="is")]


def _dashed(rows: alt.Chart, which: str) -> alt.Chart:
    line: alt.Chart = (
        rows.transform_filter(which)
        .transform_aggregate(chance="mean(shown)")
        .mark_rule(strokeDash=[4, 3], stroke="currentColor", opacity=0.6)
        .encode(x=alt.X("chance:Q"))
    )
    return line


def _line(*, dash: Sequence[int] | None = (4, 3), **at: Any) -> alt.Chart:
    rows = rows_of_page().transform_aggregate(count="count()")
    style: dict[str, Any] = {"stroke": "currentColor", "opacity": 0.5, **({"strokeDash": list(dash)} if dash else {})}
    line: alt.Chart = rows.mark_rule(**style).encode(**at)
    return line
