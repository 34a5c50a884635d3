"""The charts of the comparison of key phrase methods, as Vega-Lite specifications that carry no data (see
:mod:`attlas.reports.charts`). Colour says what a method reads.
"""

from __future__ import annotations

from collections.abc import Sequence

import altair as alt

from attlas.reports.charts import NORM_COLOUR, WEIGHT_COLOUR, Spec, choice, finished, rows_of_page

GROUPS = {
    "attention": WEIGHT_COLOUR,
    "attention's candidates, ranked otherwise": "#8db6dc",
    "the model's embeddings": "#9473d8",
    "counts over the other texts": NORM_COLOUR,
    "the text alone": "#8a8f98",
}


def method_bars(names: Sequence[str], depths: Sequence[str], golds: Sequence[str]) -> Spec:
    """F1 of every method with its interval, at a depth and against a gold that can be chosen.

    >>> spec = method_bars(["attention"], ["10", "5"], ["all", "present"])
    >>> [param["name"] for param in spec["params"]]
    ['at', 'gold', 'show']
    """
    params = [
        choice("at", list(depths), [f"the first {at}" if at != "M" else "all found" for at in depths], "phrases"),
        choice("gold", list(golds), [_gold(gold) for gold in golds], "against"),
        choice("show", ["f1", "macro", "precision", "recall"],
               ["F1, counted over all texts", "mean of the texts' F1", "precision", "recall"]),
    ]  # fmt: skip
    rows = (
        rows_of_page()
        .transform_filter("datum.at == at && datum.gold == gold")
        .transform_calculate(
            shown="datum[show]", from_="show == 'f1' ? datum.low : show == 'macro' ? datum.macro_low : datum.shown",
            to="show == 'f1' ? datum.high : show == 'macro' ? datum.macro_high : datum.shown",
        )
        .transform_calculate(
            from_="isValid(datum.from_) ? datum.from_ : datum.shown",
            to="isValid(datum.to) ? datum.to : datum.shown",
        )
    )  # fmt: skip
    y = alt.Y("name:N", title=None, sort=list(names), axis=alt.Axis(labelLimit=330, labelFontSize=12))
    x = alt.X("shown:Q", title=None, scale=alt.Scale(zero=True, nice=True), axis=alt.Axis(tickCount=8))
    colour = alt.Color(
        "group:N", title="reads", scale=alt.Scale(domain=list(GROUPS), range=list(GROUPS.values())),
        legend=alt.Legend(symbolOpacity=1, columns=3, labelLimit=280),
    )  # fmt: skip
    tooltip = [
        alt.Tooltip("name:N", title="method"),
        alt.Tooltip("shown:Q", title="value", format=".3f"),
        alt.Tooltip("from_:Q", title="95 %, from", format=".3f"),
        alt.Tooltip("to:Q", title="to", format=".3f"),
        alt.Tooltip("precision:Q", format=".3f"),
        alt.Tooltip("recall:Q", format=".3f"),
        alt.Tooltip("p_holm:Q", title="p, corrected", format=".2~g"),
    ]
    bars = rows.mark_bar(height={"band": 0.66}, opacity=0.9).encode(y=y, x=x, color=colour, tooltip=tooltip)
    whiskers = rows.mark_rule(stroke="currentColor", strokeWidth=1.5).encode(y=y, x=alt.X("from_:Q"), x2="to:Q")
    layered = alt.layer(bars, whiskers).add_params(*params)
    return finished(layered.properties(width="container", height=28 * max(3, len(names))))


def speed_dots() -> Spec:
    """F1@10 against the time that a method takes for a text; to the left and above is better.

    >>> speed_dots()["layer"][0]["encoding"]["x"]["scale"]["type"]
    'log'
    """
    rows = rows_of_page().transform_filter(
        "datum.at == '10' && datum.gold == 'all' && datum.each > 0 && indexof(datum.group, 'candidates') < 0"
    )
    x = alt.X(
        "each:Q", title="milliseconds for a text, in this run", scale=alt.Scale(type="log", nice=False, padding=70),
        axis=alt.Axis(grid=False, tickCount=6, format="~g"),
    )  # fmt: skip
    y = alt.Y("f1:Q", title="F1@10", scale=alt.Scale(zero=False, nice=True), axis=alt.Axis(tickCount=6))
    tooltip = [
        alt.Tooltip("name:N", title="method"),
        alt.Tooltip("each:Q", title="milliseconds for a text", format=".3~r"),
        alt.Tooltip("f1:Q", title="F1@10", format=".3f"),
    ]
    fill = alt.condition("datum.group == 'attention'", alt.value(WEIGHT_COLOUR), alt.value("#8a8f98"))
    dots = rows.mark_point(filled=True, size=70, opacity=0.95).encode(x=x, y=y, color=fill, tooltip=tooltip)
    names = rows.mark_text(align="left", dx=7, fontSize=11).encode(
        x=x, y=y, text="name:N", color=alt.value("currentColor")
    )
    return finished(alt.layer(dots, names).properties(width="container", height=320))


def _gold(gold: str) -> str:
    return {"all": "all phrases that were given", "present": "those that stand in the text"}.get(gold, gold)
