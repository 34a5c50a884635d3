"""The charts of the report on relations: one line per relation, and a map of heads for each."""

from __future__ import annotations

from collections.abc import Sequence

import altair as alt

from attlas.reports.charts import (
    NORM_COLOUR,
    WEIGHT_COLOUR,
    Spec,
    choice,
    finished,
    head_cells,
    map_size,
    rows_of_page,
)

KINDS = ("chosen head", "best fixed offset", "untrained twin", "published head")
_COLOURS = (WEIGHT_COLOUR, "#8f9299", NORM_COLOUR, "#B0489A")
_SHAPES = ("circle", "triangle-up", "diamond", "cross")


def relation_lines(labels: Sequence[str]) -> Spec:
    """For each relation the chosen head with its interval, the best offset, the untrained twin, the published head.

    >>> len(relation_lines(["all", "det"])["layer"])
    2
    """
    wide = (
        rows_of_page()
        .transform_calculate(
            **{
                KINDS[0]: "datum.value",
                KINDS[1]: "datum.baseline",
                KINDS[2]: "datum.twin",
                KINDS[3]: "datum.published",
                "name": "(datum.layer + 1) + '-' + (datum.head + 1)",
                "interval": "format(datum.low, '.3f') + ' to ' + format(datum.high, '.3f')",
            }
        )
        .transform_fold(list(KINDS), as_=["kind", "accuracy"])
        .transform_filter("isValid(datum.accuracy)")
    )
    y = alt.Y("relation:N", title=None, sort=list(labels), axis=alt.Axis(grid=True, labelLimit=140))
    x = alt.X("accuracy:Q", title="accuracy", scale=alt.Scale(domain=[0, 1]), axis=alt.Axis(tickCount=6))
    tooltip = [
        alt.Tooltip("relation:N"),
        alt.Tooltip("kind:N", title="what"),
        alt.Tooltip("accuracy:Q", format=".3f"),
        alt.Tooltip("name:N", title="chosen head"),
        alt.Tooltip("interval:N", title="its 95 % interval"),
        alt.Tooltip("offset:Q", title="best offset"),
        alt.Tooltip("n:Q", title="n", format=",.0f"),
    ]
    interval = rows_of_page().mark_rule(strokeWidth=2.5, color=WEIGHT_COLOUR, opacity=0.45).encode(
        y=y, x=alt.X("low:Q", title="accuracy"), x2="high:Q"
    )  # fmt: skip
    legend = alt.Legend(orient="top", symbolOpacity=1)
    dots = wide.mark_point(filled=True, size=62, opacity=0.95).encode(
        x=x,
        y=y,
        color=alt.Color(
            "kind:N", title=None, scale=alt.Scale(domain=list(KINDS), range=list(_COLOURS)), legend=legend
        ),
        shape=alt.Shape(
            "kind:N", title=None, scale=alt.Scale(domain=list(KINDS), range=list(_SHAPES)), legend=legend
        ),
        tooltip=tooltip,
    )
    return finished(alt.layer(interval, dots).properties(width="container", height=max(4, len(labels)) * 21))


def relation_map(labels: Sequence[str], *, layers: int, heads: int) -> Spec:
    """A heat map of heads for one relation and direction that can be chosen; heads that beat the offset are framed.

    >>> [param["name"] for param in relation_map(["all"], layers=12, heads=12)["params"]]
    ['relation', 'direction', 'show']
    """
    params = [
        choice("relation", list(labels)),
        choice("direction", ["to", "from"], ["dependent attends to governor", "governor attends to dependent"]),
        choice("show", ["value", "margin"], ["accuracy", "points above the best offset"]),
    ]
    rows = (
        rows_of_page()
        .transform_filter("datum.relation == relation && datum.direction == direction")
        .transform_calculate(shown="show == 'value' ? datum.value : max(0, datum.margin)")
    )
    cells = head_cells(rows, "relation:N", layers=layers, heads=heads)
    framed = (
        rows.transform_filter("isValid(datum.p_adjusted) && datum.p_adjusted < 0.01 && datum.margin > 0")
        .transform_calculate(row="datum.layer + 1", column="datum.head + 1")
        .mark_rect(filled=False, stroke="#ff5a36", strokeWidth=2)
        .encode(x=alt.X("column:O", title="head"), y=alt.Y("row:O", title="layer"))
    )
    return finished(alt.layer(*cells, framed).add_params(*params).properties(**map_size(layers)))
