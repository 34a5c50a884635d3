"""The charts of the report on layers: where tasks lie, mixing weights and gains by layer, scores, labels, heads.

Layers count from 0, what the model reads, as in the paper.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple

import altair as alt

from attlas.reports.charts import Spec, choice, finished, head_cells, map_size, rows_of_page

MIX_COLOUR, GAIN_COLOUR, GREY = "#2f6fb3", "#9b5fd0", "#8a8f98"
PLACES = {"expected layer": GAIN_COLOUR, "centre of gravity": MIX_COLOUR}
LINES = {
    "layers 0 to l": GAIN_COLOUR,
    "layer l alone": MIX_COLOUR,
    "untrained twin": GREY,
}
DASHES: dict[str, list[int]] = {"untrained twin": [5, 3]}
_LABEL_LINES = ("#2f6fb3", "#1f9d8a", "#9b5fd0", "#cb7a1c", "#c2506b", "#8a8f98")
_TASK_LINES = (*_LABEL_LINES, "#7a9a2e", "#b0873a")
_UPPER = 1.42  # where the mixing weights stand above the gains, in heights of either


class Bounds(NamedTuple):
    """What one panel must have room for: the largest weight, the least and the largest gain (shares).

    >>> Bounds(0.2, -0.01, 0.1).most
    0.1
    """

    weight: float
    least: float
    most: float


def places(tasks: Sequence[str], layers: int, *, published: bool, first: int = 0) -> Spec:
    """Expected layer and centre of gravity of all tasks with their intervals, one row a task; hollow marks are the
    published figures.

    >>> [len(places(["pos"], 12, published=known)["layer"]) for known in (False, True)]
    [2, 3]
    """
    y = alt.Y("name:N", sort=list(tasks), title=None, axis=alt.Axis(labelLimit=180, grid=True, labelFontSize=12))
    offset = alt.YOffset("measure:N", sort=list(PLACES), scale=alt.Scale(paddingOuter=0.35))
    colour = alt.Color(
        "measure:N", title=None, scale=alt.Scale(domain=list(PLACES), range=list(PLACES.values())), sort=list(PLACES)
    )
    shape = alt.Shape("measure:N", title=None, scale=alt.Scale(domain=list(PLACES), range=["diamond", "triangle-up"]))
    tooltip = [
        alt.Tooltip("name:N", title="task"),
        alt.Tooltip("measure:N"),
        alt.Tooltip("value:Q", format=".2f"),
        alt.Tooltip("interval:N", title="95 % interval"),
        alt.Tooltip("told:N", title="published, of 24 layers"),
        alt.Tooltip("scaled:Q", title=f"as if of {layers}", format=".2f"),
    ]
    base = rows_of_page().transform_calculate(
        interval="isValid(datum.low) ? format(datum.low, '.2f') + ' to ' + format(datum.high, '.2f') : 'none'",
        told="isValid(datum.published) ? format(datum.published, '.2f') : 'none'",
    )
    x = _along("value", layers, first)
    known = base.transform_filter("isValid(datum.value)")
    spans = (
        known.transform_filter("isValid(datum.low)")
        .transform_calculate(left=f"max({first - 0.3}, datum.low)", right=f"min({layers + 0.3}, datum.high)")
        .mark_rule(strokeWidth=2, opacity=0.55)
        .encode(x=alt.X("left:Q"), x2="right:Q", y=y, yOffset=offset, color=colour)
    )
    dots = known.mark_point(filled=True, size=95, opacity=1).encode(
        x=x, y=y, yOffset=offset, color=colour, shape=shape, tooltip=tooltip
    )
    told = (
        base.transform_filter("isValid(datum.scaled)")
        .mark_point(filled=False, size=80, opacity=0.75, strokeWidth=1.3)
        .encode(x=alt.X("scaled:Q"), y=y, yOffset=offset, color=colour, shape=shape, tooltip=tooltip)
    )
    layered = [told, spans, dots] if published else [spans, dots]
    return finished(alt.layer(*layered).properties(width="container", height=34 * max(2, len(tasks)) + 10))


def mix_and_gains(layers: int, bounds: Bounds, *, first: int = 0) -> Spec:
    """One panel as in the paper's Figure 2: the weights of the mix above, what each layer adds below, with the centre
    of gravity and the expected layer as lines.

    >>> len(mix_and_gains(12, Bounds(0.2, 0.0, 0.1))["layer"])
    7
    """
    reach = max(bounds.most - bounds.least, 1e-9)
    zero = -bounds.least / reach
    even = 1 / (layers + 1 - first)
    top = max(bounds.weight, even)
    ticks: dict[float, str] = {zero: "0", _UPPER: "0", _UPPER + 1: f"{top:.2f}".lstrip("0")}
    if bounds.most > 0:
        ticks[1.0] = f"+{100 * bounds.most:.1f}"
    if bounds.least < 0 and zero > 0.2:
        ticks[0.0] = f"−{100 * -bounds.least:.1f}"
    labels = " : ".join(f"abs(datum.value - {at:.6f}) < 1e-4 ? '{text}'" for at, text in ticks.items())
    axis = alt.Axis(values=sorted(ticks), labelExpr=f"{labels} : ''", grid=False, title=None, minExtent=34)
    y = alt.Y("bottom:Q", scale=alt.Scale(domain=[0, _UPPER + 1.24], nice=False), axis=axis)
    x = _along("left", layers, first)
    colour = alt.Color(
        "kind:N",
        scale=alt.Scale(domain=["weight", "gain"], range=[MIX_COLOUR, GAIN_COLOUR]),
        legend=None,
    )
    placed = rows_of_page().transform_calculate(
        left="datum.layer - 0.36",
        right="datum.layer + 0.36",
        bottom=f"datum.kind == 'weight' ? {_UPPER} : {zero}",
        top=f"datum.kind == 'weight' ? {_UPPER} + datum.value / {top} : {zero} + datum.value / {reach}",
        shown="datum.kind == 'weight' ? 'weight ' + format(datum.value, '.3f')"
        " : format(100 * datum.value, '+.2f') + ' points'",
        span=_interval("+.2f"),
        low_at=f"{zero} + datum.low / {reach}",
        high_at=f"{zero} + datum.high / {reach}",
        named="datum.kind == 'weight' ? 'centre of gravity ' + format(datum.at, '.2f')"
        " : 'expected layer ' + format(datum.at, '.2f')",
        line_from=f"datum.kind == 'weight' ? {_UPPER} : 0",
        line_to=f"datum.kind == 'weight' ? {_UPPER + 1.24} : 1.24",
        written="format(datum.at, '.1f')",
    )
    bars = placed.transform_filter("datum.part == 'bar'")
    tooltip = [
        alt.Tooltip("layer:Q"),
        alt.Tooltip("shown:N", title="value"),
        alt.Tooltip("span:N", title="interval"),
    ]
    drawn = bars.mark_rect(opacity=0.85).encode(x=x, x2="right:Q", y=y, y2="top:Q", color=colour, tooltip=tooltip)
    ends = (
        bars.transform_filter("isValid(datum.low)")
        .mark_rule(strokeWidth=1, color="currentColor", opacity=0.7)
        .encode(x=alt.X("layer:Q"), y=alt.Y("low_at:Q"), y2="high_at:Q")
    )
    once = rows_of_page().transform_aggregate(count="count()")
    rules = [
        once.mark_rule(color="currentColor", opacity=opacity, strokeDash=dash).encode(
            y=alt.YDatum(at, type="quantitative")
        )
        for at, opacity, dash in (
            (zero, 0.4, [1, 0]),
            (_UPPER, 0.4, [1, 0]),
            (_UPPER + even / top, 0.75, [3, 3]),
        )
    ]
    marked = placed.transform_filter("datum.part == 'place' && isValid(datum.at)")
    lines = marked.mark_rule(strokeWidth=1.8, color="currentColor", strokeDash=[6, 2]).encode(
        x=alt.X("at:Q"), y=alt.Y("line_from:Q"), y2="line_to:Q", tooltip=[alt.Tooltip("named:N", title="place")]
    )
    numbers = marked.mark_text(align="left", baseline="top", dx=4, fontSize=11, color="currentColor").encode(
        x=alt.X("at:Q"), y=alt.Y("line_to:Q"), text="written:N"
    )
    return finished(alt.layer(drawn, *rules, ends, lines, numbers).properties(width="container", height=205))


def score_lines(layers: int, *, first: int = 0) -> Spec:
    """Scores of one task by layer: a line for each kind of probe, with a band of what is uncertain.

    >>> len(score_lines(12)["layer"])
    3
    """
    names = list(LINES)
    colour = alt.Color("line:N", scale=alt.Scale(domain=names, range=list(LINES.values())), legend=None)
    dash = alt.StrokeDash(
        "line:N", scale=alt.Scale(domain=names, range=[DASHES.get(name, [1, 0]) for name in names]), legend=None
    )
    base = rows_of_page().transform_calculate(
        percent="100 * datum.value",
        low100="100 * datum.low",
        high100="100 * datum.high",
        span=_interval(".1f"),
    )
    x = _along("layer", layers, first)
    y = alt.Y("percent:Q", title="F1, per cent", scale=alt.Scale(zero=False), axis=alt.Axis(tickCount=5))
    tooltip = [
        alt.Tooltip("line:N", title="probe"),
        alt.Tooltip("layer:Q"),
        alt.Tooltip("percent:Q", title="F1", format=".1f"),
        alt.Tooltip("span:N", title="interval"),
        alt.Tooltip("seeds:Q"),
    ]
    band = (
        base.transform_filter("isValid(datum.low)")
        .mark_area(opacity=0.16)
        .encode(x=x, y=alt.Y("low100:Q"), y2="high100:Q", color=colour)
    )
    lines = base.mark_line(strokeWidth=1.8).encode(x=x, y=y, color=colour, strokeDash=dash)
    dots = base.mark_point(filled=True, size=24, opacity=1).encode(x=x, y=y, color=colour, tooltip=tooltip)
    return finished(alt.layer(band, lines, dots).properties(width="container", height=210))


def control_lines(tasks: Sequence[str], layers: int, title: str, *, first: int = 0) -> Spec:
    """What control labels say by layer, a line for each task, of the model or its twin.

    >>> [param["name"] for param in control_lines(["roles"], 12, "points")["params"]]
    ['model']
    """
    base = rows_of_page().transform_filter("datum.model == model").transform_calculate(percent="100 * datum.value")
    x = _along("layer", layers, first)
    y = alt.Y("percent:Q", title=title, scale=alt.Scale(zero=True), axis=alt.Axis(tickCount=5))
    colour = alt.Color(
        "name:N",
        title=None,
        scale=alt.Scale(domain=list(tasks), range=[_TASK_LINES[k % len(_TASK_LINES)] for k in range(len(tasks))]),
        legend=alt.Legend(columns=4, labelLimit=120),
    )
    tooltip = [
        alt.Tooltip("name:N", title="task"),
        alt.Tooltip("model:N"),
        alt.Tooltip("layer:Q", title="layers 0 to"),
        alt.Tooltip("percent:Q", title=title, format=".1f"),
    ]
    lines = base.mark_line(strokeWidth=1.8).encode(x=x, y=y, color=colour)
    dots = base.mark_point(filled=True, size=24, opacity=1).encode(x=x, y=y, color=colour, tooltip=tooltip)
    chart = alt.layer(lines, dots).add_params(choice("model", ["trained", "untrained"]))
    return finished(chart.properties(width="container", height=230))


def label_lines(tasks: Mapping[str, str], layers: int, *, first: int = 0) -> Spec:
    """F1 of the most frequent labels of a task that can be chosen, by layer.

    >>> [param["name"] for param in label_lines({"pos": "part of speech"}, 12)["params"]]
    ['task']
    """
    base = _of_task().transform_filter("datum.order < 6").transform_calculate(percent="100 * datum.value")
    x = _along("layer", layers, first)
    y = alt.Y("percent:Q", title="F1, per cent", scale=alt.Scale(zero=False), axis=alt.Axis(tickCount=5))
    colour = alt.Color(
        "label:N",
        title=None,
        scale=alt.Scale(range=list(_LABEL_LINES)),
        sort=alt.EncodingSortField(field="order", op="min"),
        legend=alt.Legend(columns=3, labelLimit=150),
    )
    lines = base.mark_line(strokeWidth=1.8).encode(x=x, y=y, color=colour)
    dots = base.mark_point(filled=True, size=24, opacity=1).encode(x=x, y=y, color=colour, tooltip=_LABEL_TIPS)
    chart = alt.layer(lines, dots).add_params(choice("task", list(tasks), list(tasks.values())))
    return finished(chart.properties(width="container", height=300))


def label_map(tasks: Mapping[str, str], layers: int, labels: int) -> Spec:
    """F1 by label and layer of the task that is chosen beside it, the most frequent label on top.

    >>> len(label_map({"pos": "part of speech"}, 12, 20)["layer"]), len(label_map({}, 30, 20)["layer"])
    (2, 1)
    """
    rows = _of_task().transform_calculate(
        percent="100 * datum.value", text="isValid(datum.value) ? format(100 * datum.value, '.0f') : ''"
    )
    x = alt.X("layer:O", title="layer", axis=alt.Axis(orient="top", labelAngle=0, labelOverlap=True))
    y = alt.Y(
        "label:N",
        title=None,
        sort=alt.EncodingSortField(field="order", op="min"),
        axis=alt.Axis(labelLimit=150),
    )
    colour = alt.Color("value:Q", title=None, scale=alt.Scale(scheme="viridis", domain=[0, 1]), legend=None)
    cells = rows.mark_rect().encode(x=x, y=y, color=colour, tooltip=_LABEL_TIPS)
    layered = [cells]
    if layers <= 16:
        ink = alt.condition("datum.value > 0.6", alt.value("#111"), alt.value("#fff"))
        layered.append(rows.mark_text(fontSize=9.5).encode(x=x, y=y, text="text:N", color=ink, tooltip=_LABEL_TIPS))
    start = next(iter(tasks), "")
    chart = alt.layer(*layered).add_params(alt.param(name="task", value=start))
    return finished(chart.properties(width="container", height=21 * max(4, labels)))


def head_weights(tasks: Mapping[str, str], *, layers: int, heads: int) -> Spec:
    """The mix over heads, layer by head, for a task and the model or its twin, in even shares.

    >>> [param["name"] for param in head_weights({"pos": "part of speech"}, layers=2, heads=2)["params"]]
    ['task', 'model']
    """
    params = [choice("task", list(tasks), list(tasks.values())), choice("model", ["trained", "untrained"])]
    rows = _of_task().transform_filter("datum.model == model").transform_calculate(shown="datum.times")
    cells = head_cells(rows, "model:N", layers=layers, heads=heads)
    return finished(alt.layer(*cells).add_params(*params).properties(**map_size(layers)))


_LABEL_TIPS = [
    alt.Tooltip("label:N"),
    alt.Tooltip("layer:Q", title="layers 0 to"),
    alt.Tooltip("percent:Q", title="F1", format=".1f"),
    alt.Tooltip("train:Q", title="in training", format=",.0f"),
    alt.Tooltip("test:Q", title="in test", format=",.0f"),
]


def _interval(form: str) -> str:
    """The ends of an interval in per cent, as an expression."""
    low, high = (f"format(100 * datum.{end}, '{form}')" for end in ("low", "high"))
    return f"isValid(datum.low) ? {low} + ' to ' + {high} : 'none'"


def _of_task() -> alt.Chart:
    chosen: alt.Chart = rows_of_page().transform_filter("datum.task == task")
    return chosen


def _along(field: str, layers: int, first: int) -> alt.X:
    """Layers from left to right, with room for bars on either end."""
    values = list(range(first, layers + 1, 1 if layers <= 16 else 2 if layers <= 32 else 4))
    return alt.X(
        f"{field}:Q",
        title="layer",
        scale=alt.Scale(domain=[first - 0.5, layers + 0.5], nice=False, clamp=True),
        axis=alt.Axis(values=values, format="d", grid=False, labelOverlap=True),
    )
