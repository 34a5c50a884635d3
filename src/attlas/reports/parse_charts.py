"""The charts of the parsing report: scores with intervals, weights of heads, relations, layers, training."""

from __future__ import annotations

from collections.abc import Sequence

import altair as alt

from attlas.reports.charts import NORM_COLOUR, WEIGHT_COLOUR, Spec, finished

GREY = "#8a8f98"
COLOURS = {"trained": WEIGHT_COLOUR, "untrained": NORM_COLOUR, "none": GREY}
_LINES = ("#3a80c2", "#1f9d8a", "#8a62c9", "#cb7a1c", "#c2506b", "#8a8f98")
_ROWS = alt.NamedData(name="rows")
_TWO_LINES = "indexof(datum.label, ': ') < 0 ? ['', datum.label] : split(datum.label, ': ')"
_INTERVAL = "isValid(datum.low) ? format(100 * datum.low, '.1f') + ' to ' + format(100 * datum.high, '.1f') : 'none'"


def score_bars(probes: Sequence[str]) -> Spec:
    """A bar for each probe with its interval, and a mark where the published figure lies.

    >>> len(score_bars(["attention"])["layer"])
    4
    """
    y = alt.Y("probe:N", sort=list(probes), title=None, axis=alt.Axis(labelLimit=220))
    x = alt.X(
        "percent:Q", title="per cent right on test", scale=alt.Scale(domain=[0, 100]), axis=alt.Axis(tickCount=10)
    )
    colour = alt.Color("model:N", scale=alt.Scale(domain=list(COLOURS), range=list(COLOURS.values())), legend=None)
    tooltip = [
        alt.Tooltip("probe:N"),
        alt.Tooltip("metric:N"),
        alt.Tooltip("percent:Q", title="test", format=".1f"),
        alt.Tooltip("interval:N", title="95 % interval"),
        alt.Tooltip("told:N", title="published"),
        alt.Tooltip("n:Q", title="words", format=",.0f"),
    ]
    base = alt.Chart(_ROWS).transform_calculate(
        percent="100 * datum.value",
        low100="100 * datum.low",
        high100="100 * datum.high",
        published100="100 * datum.published",
        told="isValid(datum.published) ? format(100 * datum.published, '.0f') : 'none'",
        interval=_INTERVAL,
        written="format(100 * datum.value, '.1f') + (datum.metric == 'UUAS' ? ' *' : '')",
    )
    bars = base.mark_bar(opacity=0.75, height={"band": 0.62}).encode(y=y, x=x, color=colour, tooltip=tooltip)
    spans = (
        base.transform_filter("isValid(datum.low)")
        .mark_rule(strokeWidth=1.6, color="currentColor")
        .encode(y=y, x=alt.X("low100:Q"), x2="high100:Q")
    )
    told = (
        base.transform_filter("isValid(datum.published)")
        .mark_tick(thickness=2, height={"band": 0.85}, color="currentColor")
        .encode(y=y, x="published100:Q", tooltip=tooltip)
    )
    text = base.mark_text(align="left", dx=6, fontSize=11.5, color="currentColor").encode(
        y=y, x=alt.XDatum(0, type="quantitative"), text="written:N", tooltip=tooltip
    )
    return finished(alt.layer(bars, spans, told, text).properties(width="container", height=34 * max(2, len(probes))))


def weight_map(*, layers: int, heads: int) -> Spec:
    """What the probe has learned of each head, layer by head, for one direction and for the model or its twin.

    >>> [param["name"] for param in weight_map(layers=2, heads=2)["params"]]
    ['direction', 'model']
    """
    params = [
        _choice("direction", ["dependent to governor", "governor to dependent"]),
        _choice("model", ["trained", "untrained"]),
    ]
    rows = (
        alt.Chart(_ROWS)
        .transform_filter("datum.direction == direction && datum.model == model")
        .transform_calculate(size="abs(datum.effect)")
        .transform_joinaggregate(top="max(size)")
        .transform_calculate(
            row="datum.layer + 1",
            column="datum.head + 1",
            name="(datum.layer + 1) + '-' + (datum.head + 1)",
            share="datum.top > 0 ? datum.effect / datum.top : 0",
            text="abs(datum.effect) < 0.05 ? '' : replace(format(datum.effect, '.1f'), '-', '−')",
        )
    )
    x = alt.X("column:O", title="head", axis=alt.Axis(labelAngle=0, labelOverlap=True, orient="top"))
    y = alt.Y("row:O", title="layer", axis=alt.Axis(labelOverlap=True))
    tooltip = [
        alt.Tooltip("name:N", title="head"),
        alt.Tooltip("direction:N"),
        alt.Tooltip("effect:Q", title="effect", format="+.2f"),
        alt.Tooltip("weight:Q", title="weight", format="+.1f"),
    ]
    colour = alt.Color(
        "share:Q",
        title="effect, of the largest",
        scale=alt.Scale(scheme="redblue", domain=[-1, 1], domainMid=0, nice=False),
        legend=alt.Legend(values=[-1, 0, 1], format="+.0%"),
    )
    cells = rows.mark_rect().encode(x=x, y=y, color=colour, tooltip=tooltip)
    layered = [cells]
    if heads <= 16 and layers <= 24:
        ink = alt.condition("abs(datum.share) > 0.6", alt.value("#fff"), alt.value("#222"))
        layered.append(rows.mark_text(fontSize=9.5).encode(x=x, y=y, text="text:N", color=ink, tooltip=tooltip))
    chart = alt.layer(*layered).add_params(*params)
    height = max(layers, 2) * (26 if layers <= 16 else 17)
    return finished(chart.properties(width="container", height=height))


def relation_map(probes: Sequence[str], relations: Sequence[str]) -> Spec:
    """Accuracy by relation and probe.

    >>> len(relation_map(["attention"], ["det"])["layer"])
    2
    """
    rows = alt.Chart(_ROWS).transform_calculate(
        text="format(100 * datum.value, '.0f')",
        percent="100 * datum.value",
        interval=_INTERVAL,
    )
    axis = alt.Axis(orient="top", labelAngle=0, labelLimit=200, labelExpr=_TWO_LINES, labelPadding=19)
    x = alt.X("probe:N", sort=list(probes), title=None, axis=axis)
    y = alt.Y("relation:N", sort=list(relations), title=None)
    tooltip = [
        alt.Tooltip("relation:N"),
        alt.Tooltip("probe:N"),
        alt.Tooltip("percent:Q", title="right", format=".1f"),
        alt.Tooltip("interval:N", title="95 % interval"),
        alt.Tooltip("n:Q", title="words", format=",.0f"),
    ]
    colour = alt.Color("value:Q", title=None, scale=alt.Scale(scheme="viridis", domain=[0, 1]), legend=None)
    cells = rows.mark_rect().encode(x=x, y=y, color=colour, tooltip=tooltip)
    ink = alt.condition("datum.value > 0.6", alt.value("#111"), alt.value("#fff"))
    text = rows.mark_text(fontSize=10).encode(x=x, y=y, text="text:N", color=ink, tooltip=tooltip)
    return finished(alt.layer(cells, text).properties(width="container", height=21 * max(2, len(relations))))


def layer_lines() -> Spec:
    """The structural probe on the dev part, layer by layer, for the model and its twin.

    >>> len(layer_lines()["layer"])
    2
    """
    colour = alt.Color(
        "model:N", title=None, scale=alt.Scale(domain=list(COLOURS)[:2], range=list(COLOURS.values())[:2])
    )
    base = alt.Chart(_ROWS).transform_calculate(percent="100 * datum.dev_uuas")
    x = alt.X("layer:O", title="layer of states (0: before the first)", axis=alt.Axis(labelAngle=0))
    y = alt.Y("percent:Q", title="UUAS on dev, per cent", scale=alt.Scale(zero=False))
    tooltip = [alt.Tooltip("model:N"), alt.Tooltip("layer:O"), alt.Tooltip("percent:Q", title="UUAS", format=".1f")]
    lines = base.mark_line(strokeWidth=1.8).encode(x=x, y=y, color=colour)
    dots = base.mark_point(filled=True, size=30, opacity=1).encode(x=x, y=y, color=colour, tooltip=tooltip)
    return finished(alt.layer(lines, dots).properties(width="container", height=240))


def training_lines(probes: Sequence[str], column: str, title: str) -> Spec:
    """How a number went over the epochs, a line for each probe.

    >>> len(training_lines(["attention"], "dev_loss", "loss")["layer"])
    2
    """
    colour = alt.Color(
        "probe:N",
        title=None,
        scale=alt.Scale(domain=list(probes), range=[_LINES[k % len(_LINES)] for k in range(len(probes))]),
        legend=alt.Legend(columns=2, labelLimit=240),
    )
    base = alt.Chart(_ROWS).transform_filter(f"isValid(datum.{column})")
    x = alt.X("epoch:Q", title="epoch", axis=alt.Axis(format="d", tickMinStep=1, grid=False))
    y = alt.Y(f"{column}:Q", title=title, scale=alt.Scale(zero=False))
    tooltip = [alt.Tooltip("probe:N"), alt.Tooltip("epoch:Q"), alt.Tooltip(f"{column}:Q", format=".3f")]
    lines = base.mark_line(strokeWidth=1.7).encode(x=x, y=y, color=colour)
    dots = base.mark_point(filled=True, size=20, opacity=1).encode(x=x, y=y, color=colour, tooltip=tooltip)
    return finished(alt.layer(lines, dots).properties(width="container", height=230))


def _choice(name: str, options: Sequence[str]) -> alt.Parameter:
    bind = alt.binding_select(options=list(options), labels=list(options), name=name)
    return alt.param(name=name, value=options[0], bind=bind)
