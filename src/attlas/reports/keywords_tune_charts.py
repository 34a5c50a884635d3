"""The charts of the tagger of key phrases, as Vega-Lite specifications that carry no data (see
:mod:`attlas.reports.charts`). Stages and orders keep their colours in all of them.
"""

from __future__ import annotations

from collections.abc import Sequence

import altair as alt

from attlas.reports.charts import NORM_COLOUR, WEIGHT_COLOUR, Spec, choice, finished, rows_of_page

STAGES = {"tuned": WEIGHT_COLOUR, "pruned": NORM_COLOUR, "retuned": "#3a9d5d"}
ORDERS = {
    "worst first": WEIGHT_COLOUR,
    "best first": "#c2453a",
    "importance": "#9473d8",
    "random": "#8a8a8a",
}
TOLD = "#8f8f8f"


def score_dots(names: Sequence[str], stages: Sequence[str], *, published: bool) -> Spec:
    """F1 of every stage with its interval, by what is counted; hollow diamonds are the published figures.

    >>> [len(score_dots(["words"], ["tuned"], published=known)["layer"]) for known in (False, True)]
    [2, 3]
    """
    rows = rows_of_page()
    y = alt.Y("what:N", title=None, sort=list(names), axis=alt.Axis(labelLimit=260, grid=True, labelFontSize=12))
    offset = alt.YOffset("stage:N", sort=list(stages), scale=alt.Scale(paddingOuter=0.3))
    colour = alt.Color(
        "stage:N", title=None, scale=alt.Scale(domain=list(stages), range=[STAGES[name] for name in stages]),
        legend=alt.Legend(symbolOpacity=1),
    )  # fmt: skip
    tooltip = [
        alt.Tooltip("stage:N"),
        alt.Tooltip("what:N", title="F1 of"),
        alt.Tooltip("f1:Q", title="F1", format=".3f"),
        alt.Tooltip("low:Q", title="95 %, from", format=".3f"),
        alt.Tooltip("high:Q", title="to", format=".3f"),
        alt.Tooltip("precision:Q", format=".3f"),
        alt.Tooltip("recall:Q", format=".3f"),
        alt.Tooltip("published:Q", format=".2f"),
    ]
    x = alt.X("f1:Q", title="F1", scale=alt.Scale(zero=False, nice=True), axis=alt.Axis(tickCount=8))
    spans = rows.mark_rule(strokeWidth=2, opacity=0.55).encode(
        y=y, yOffset=offset, x=alt.X("low:Q"), x2="high:Q", color=colour
    )
    dots = rows.mark_point(filled=True, size=70, opacity=1).encode(
        y=y, yOffset=offset, x=x, color=colour, tooltip=tooltip
    )
    layered = [spans, dots]
    if published:
        told = rows.transform_filter("isValid(datum.published)").mark_point(
            filled=False, size=80, strokeWidth=1.8, shape="diamond", opacity=1
        )
        layered.append(told.encode(y=y, yOffset=offset, x=alt.X("published:Q"), color=colour, tooltip=tooltip))
    return finished(alt.layer(*layered).properties(width="container", height=38 * max(2, len(names))))


def removal(metric: str, cut: float | None = None) -> Spec:
    """F1, or loss, against the share of heads that are gone, a line for each order; an upright line where the smaller
    tagger was cut.

    >>> [param["name"] for param in removal("chunk F1", 0.25)["params"]]
    ['show']
    """
    shown = choice("show", ["score", "loss"], [metric, "loss in nats"])
    base = (
        rows_of_page()
        .transform_calculate(
            shown="datum[show]",
            least="show == 'loss' || datum.order == 'random' ? datum[show] : datum.low",
            most="show == 'loss' || datum.order == 'random' ? datum[show] : datum.high",
        )
        .transform_filter("isValid(datum.shown)")
        .transform_aggregate(
            shown="mean(shown)", least="min(least)", most="max(most)", removed="max(removed)",
            groupby=["order", "share"],
        )
        .transform_calculate(interval="format(datum.least, '.3f') + ' to ' + format(datum.most, '.3f')")
    )  # fmt: skip
    x = alt.X(
        "share:Q", title="share of heads that are gone", scale=alt.Scale(domain=[0, 1], nice=False),
        axis=alt.Axis(format="%", tickCount=10, grid=False),
    )  # fmt: skip
    y = alt.Y("shown:Q", title=None, scale=alt.Scale(zero=False), axis=alt.Axis(tickCount=6))
    colour = alt.Color(
        "order:N", title="heads go", scale=alt.Scale(domain=list(ORDERS), range=list(ORDERS.values())),
        legend=alt.Legend(symbolOpacity=1),
    )  # fmt: skip
    dash = alt.condition("datum.order == 'random'", alt.value([4, 3]), alt.value([1, 0]))
    tooltip = [
        alt.Tooltip("order:N", title="heads go"),
        alt.Tooltip("share:Q", title="gone", format=".0%"),
        alt.Tooltip("removed:Q", title="heads", format=",d"),
        alt.Tooltip("shown:Q", title="value", format=".3f"),
        alt.Tooltip("interval:N", title="interval (range of draws)"),
    ]
    bands = base.mark_area(opacity=0.14).encode(x=x, y=alt.Y("least:Q"), y2="most:Q", color=colour)
    lines = base.mark_line(strokeWidth=1.9).encode(x=x, y=y, color=colour, strokeDash=dash)
    dots = base.mark_point(filled=True, size=30, opacity=1).encode(x=x, y=y, color=colour, tooltip=tooltip)
    layered = [bands, lines, dots]
    if cut is not None:
        one = rows_of_page().transform_aggregate(count="count()").transform_calculate(at=f"{cut!r}")
        layered.append(one.mark_rule(stroke="currentColor", strokeDash=[2, 3], opacity=0.6).encode(x=alt.X("at:Q")))
        name = one.mark_text(text="the smaller tagger", align="left", dx=4, fontSize=10, color="currentColor")
        layered.append(name.encode(x=alt.X("at:Q"), y=alt.value(alt.ExprRef("height - 6"))))
    return finished(alt.layer(*layered).add_params(shown).properties(width="container", height=320))


def training(stages: Sequence[str]) -> Spec:
    """Loss in training and on the dev texts, or the dev score, after every pass.

    >>> [param["name"] for param in training(["tuned"])["params"]]
    ['show']
    """
    shown = choice("show", ["score", "held_loss", "loss"], ["F1 on the dev texts", "loss there", "loss in training"])
    rows = rows_of_page().transform_calculate(shown="datum[show]").transform_filter("isValid(datum.shown)")
    x = alt.X(
        "epoch:Q", title="passes over the training texts", scale=alt.Scale(nice=False, zero=False, padding=12),
        axis=alt.Axis(tickMinStep=1, format="d", grid=False),
    )  # fmt: skip
    y = alt.Y("shown:Q", title=None, scale=alt.Scale(zero=False), axis=alt.Axis(tickCount=5))
    colour = alt.Color(
        "stage:N", title=None, scale=alt.Scale(domain=list(STAGES), range=list(STAGES.values())),
        legend=alt.Legend(symbolOpacity=1) if len(stages) > 1 else None,
    )  # fmt: skip
    tooltip = [
        alt.Tooltip("stage:N"),
        alt.Tooltip("epoch:Q", title="pass"),
        alt.Tooltip("shown:Q", title="value", format=".3f"),
    ]
    lines = rows.mark_line(strokeWidth=1.9).encode(x=x, y=y, color=colour)
    size = alt.condition("datum.best", alt.value(110), alt.value(36))
    dots = rows.mark_point(filled=True, opacity=1).encode(x=x, y=y, color=colour, size=size, tooltip=tooltip)
    return finished(alt.layer(lines, dots).add_params(shown).properties(width="container", height=220))
