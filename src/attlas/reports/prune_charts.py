"""The charts of pruning, as Vega-Lite specifications that carry no data (see :mod:`attlas.reports.charts`).

Orders keep their colours in all of them: by importance, by measured loss, and by chance (dashed, with the range of
its draws).
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence

import altair as alt

from attlas.reports.charts import NORM_COLOUR, WEIGHT_COLOUR, Spec, choice, finished, map_size, rows_of_page

ORDERS = {
    "importance": "by importance", "loss": "by measured loss", "loss reversed": "by measured loss, reversed",
    "score": "by fall of the score", "score reversed": "by fall of the score, reversed", "random": "by chance",
}  # fmt: skip
COLOURS = {"importance": WEIGHT_COLOUR, "loss": NORM_COLOUR, "loss reversed": "#9467bd"} | {
    "score": NORM_COLOUR, "score reversed": "#9467bd", "random": "#8a8a8a",
}  # fmt: skip
_LABEL = f"({json.dumps(ORDERS)})[datum.order]"


def curves(
    orders: Sequence[str], metric: str, *, bars: Mapping[str, float], published: Mapping[str, float], log: bool
) -> Spec:
    """Score, or loss, against the share of heads that are gone, a line for each order with its 95 % interval.

    ``bars`` are scores to draw a line at, ``published`` shares at which others found their models still whole.

    >>> spec = curves(["importance"], "accuracy", bars={"1 % less": 0.9}, published={}, log=False)
    >>> [param["name"] for param in spec["params"]]
    ['show']
    """
    shown = choice("show", ["score", "loss"], [metric, "loss in nats"])
    base = (
        rows_of_page()
        .transform_calculate(
            label=_LABEL,
            shown="datum[show]",
            least="show == 'loss' || datum.order == 'random' ? datum[show] : datum.low",
            most="show == 'loss' || datum.order == 'random' ? datum[show] : datum.high",
        )
        .transform_filter("isValid(datum.shown)")
        .transform_aggregate(
            shown="mean(shown)", least="min(least)", most="max(most)", heads="max(heads)", draws="count()",
            groupby=["order", "label", "share"],
        )
        .transform_calculate(interval="format(datum.least, '.4~g') + ' to ' + format(datum.most, '.4~g')")
    )  # fmt: skip
    x = alt.X(
        "share:Q",
        title="share of heads that are gone",
        scale=alt.Scale(domain=[0, 1], nice=False),
        axis=alt.Axis(format="%", tickCount=10, grid=False),
    )
    scale = alt.Scale(type="log", nice=False) if log else alt.Scale(zero=False)
    y = alt.Y("shown:Q", title=None, scale=scale, axis=alt.Axis(tickCount=6))
    colour = alt.Color(
        "label:N",
        title=None,
        scale=alt.Scale(domain=[ORDERS[name] for name in orders], range=[COLOURS[name] for name in orders]),
        legend=alt.Legend(symbolOpacity=1),
    )
    dash = alt.condition("datum.order == 'random'", alt.value([4, 3]), alt.value([1, 0]))
    tooltip = [
        alt.Tooltip("label:N", title="heads go"),
        alt.Tooltip("share:Q", title="gone", format=".0%"),
        alt.Tooltip("heads:Q", title="heads", format=",d"),
        alt.Tooltip("shown:Q", title="value", format=".4~g"),
        alt.Tooltip("interval:N", title="interval (range of draws)"),
    ]
    bands = base.mark_area(opacity=0.16).encode(x=x, y=alt.Y("least:Q", scale=scale), y2="most:Q", color=colour)
    lines = base.mark_line(strokeWidth=1.9).encode(x=x, y=y, color=colour, strokeDash=dash)
    dots = base.mark_point(filled=True, size=30, opacity=1).encode(x=x, y=y, color=colour, tooltip=tooltip)
    top = max(bars.values(), default=0.0)
    rules = [part for name, value in bars.items() for part in _bar(name, value, above=value == top)]
    rules += [part for name, value in published.items() for part in _published(name, value)]
    return finished(alt.layer(*rules, bands, lines, dots).add_params(shown).properties(width="container", height=330))


def _bar(name: str, value: float, *, above: bool) -> list[alt.Chart]:
    """A dashed line across, where the score has fallen by so much; only while scores are shown."""
    one = rows_of_page().transform_aggregate(count="count()").transform_filter("show == 'score'")
    place = alt.Y("at:Q")
    line = one.transform_calculate(at=f"{value!r}").mark_rule(strokeDash=[2, 3], stroke="currentColor", opacity=0.55)
    text = one.transform_calculate(at=f"{value!r}").mark_text(
        text=name, align="right", dy=-6 if above else 8, fontSize=10, color="currentColor", opacity=0.75
    )
    return [line.encode(y=place), text.encode(y=place, x=alt.value(alt.ExprRef("width - 4")))]


def _published(name: str, share: float) -> list[alt.Chart]:
    """A faint line upright, at a share that was published of another model."""
    one = rows_of_page().transform_aggregate(count="count()").transform_calculate(at=f"{share!r}")
    line = one.mark_rule(stroke="currentColor", opacity=0.25).encode(x=alt.X("at:Q"))
    text = one.mark_text(text=name, align="left", dx=4, fontSize=10, color="currentColor", opacity=0.65).encode(
        x=alt.X("at:Q"), y=alt.value(alt.ExprRef("height - 6"))
    )
    return [line, text]


def turns(orders: Sequence[str], *, layers: int, heads: int, cut: bool) -> Spec:
    """A heat map, layer by head: when each head goes, or how much it is worth; heads that were cut are crossed.

    >>> [param["name"] for param in turns(["importance", "loss"], layers=6, heads=12, cut=True)["params"]]
    ['show']
    """
    options = [f"{name}_share" for name in orders] + list(orders)
    labels = [f"when it goes {ORDERS[name]}" for name in orders]
    alone = {"importance": "importance", "loss": "change of loss, alone", "score": "fall of the score, alone"}
    labels += [alone[name] for name in orders]
    shown = choice("show", options, labels)
    rows = rows_of_page().transform_calculate(
        row="datum.layer + 1", column="datum.head + 1", shown="datum[show]",
        name="(datum.layer + 1) + '-' + (datum.head + 1)", crossed="datum.cut ? '×' : ''",
    )  # fmt: skip
    x = alt.X("column:O", title="head", axis=alt.Axis(labelAngle=0, labelOverlap=True, orient="top"))
    y = alt.Y("row:O", title="layer", axis=alt.Axis(labelOverlap=True))
    colour = alt.Color(
        "shown:Q",
        title=None,
        scale=alt.Scale(scheme="viridis", nice=False, zero=False),
        legend=alt.Legend(
            tickCount=4, format=".2~g", labelOverlap=True, labelExpr="isFinite(datum.value) ? datum.label : ''"
        ),
    )
    tooltip = [alt.Tooltip("name:N", title="head")]
    tooltip += [alt.Tooltip(f"{name}_share:Q", title=f"gone {ORDERS[name]}", format=".0%") for name in orders]
    tooltip += [alt.Tooltip(f"{name}:Q", title=name, format=".3~g") for name in orders]
    cells = [rows.mark_rect().encode(x=x, y=y, color=colour, tooltip=tooltip)]
    if cut:
        marks = rows.transform_joinaggregate(top="max(shown)", least="min(shown)").mark_text(fontSize=13)
        ink = alt.condition(
            "datum.shown - datum.least > 0.6 * (datum.top - datum.least)", alt.value("#111"), alt.value("#fff")
        )
        cells.append(marks.encode(x=x, y=y, text="crossed:N", color=ink, tooltip=tooltip))
    return finished(alt.layer(*cells).add_params(shown).properties(**map_size(layers)))


def speeds() -> Spec:
    """How many times faster than the whole model the gated and the pruned one are, by number and length of texts.

    >>> speeds()["layer"][0]["mark"]["type"]
    'rule'
    """
    rows = (
        rows_of_page()
        .transform_filter("isValid(datum.pruned)")
        .transform_fold(["gated", "pruned"], as_=["model", "time"])
        .transform_calculate(
            times="datum.whole / datum.time",
            cell="datum.batch + ' × ' + datum.length",
            place="datum.length * 1000 + datum.batch",
        )
    )
    x = alt.X(
        "cell:N", title="texts × pieces", sort=alt.EncodingSortField("place", op="min"),
        axis=alt.Axis(labelAngle=0, labelOverlap=True),
    )  # fmt: skip
    colour = alt.Color(
        "model:N", title=None, scale=alt.Scale(domain=["gated", "pruned"], range=["#8a8a8a", WEIGHT_COLOUR])
    )
    tooltip = [
        alt.Tooltip("model:N"),
        alt.Tooltip("cell:N", title="texts × pieces"),
        alt.Tooltip("time:Q", title="milliseconds", format=",.1f"),
        alt.Tooltip("times:Q", title="times faster than whole", format=".2f"),
    ]
    even = (
        rows_of_page()
        .transform_aggregate(count="count()")
        .transform_calculate(at="1")
        .mark_rule(strokeDash=[4, 3], stroke="currentColor", opacity=0.6)
        .encode(y=alt.Y("at:Q", title="times faster than the whole model"))
    )
    dots = rows.mark_point(filled=True, size=70, opacity=0.9).encode(
        x=x, y=alt.Y("times:Q", scale=alt.Scale(zero=False)), color=colour, tooltip=tooltip
    )
    return finished(alt.layer(even, dots).properties(width="container", height=230))
