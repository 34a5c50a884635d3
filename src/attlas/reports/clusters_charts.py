"""The charts of the report on clusters: maps of heads, the tree, and distances by layer, without data.

Both axes of a map have one scale, whatever room it is given, since distances on it mean the same in all directions.
Every behaviour has a colour that most colour-blind readers can tell, and a shape that does without.
"""

from __future__ import annotations

from collections.abc import Sequence

import altair as alt

from attlas.reports.charts import Spec, finished

SIGNS = {
    "previous piece": ("#0072B2", "triangle-left"),
    "next piece": ("#56B4E9", "triangle-right"),
    "own piece": ("#0072B2", "diamond"),
    "[CLS]": ("#E69F00", "square"),
    "[SEP]": ("#D55E00", "square"),
    "first piece": ("#D55E00", "triangle-up"),
    "punctuation": ("#CC79A7", "triangle-down"),
    "special pieces": ("#E69F00", "diamond"),
    "broad": ("#009E73", "circle"),
    "relation": ("#B0489A", "cross"),
    "other": ("#8f9299", "circle"),
}
Reach = tuple[tuple[float, float], tuple[float, float]]
_ROWS = alt.NamedData(name="rows")
_LABEL = "(datum.layer + 1) + '-' + (datum.head + 1)"
_NEAREST = (
    "(datum.nearest_layer + 1) + '-' + (datum.nearest_head + 1) + ' (' + format(datum.nearest, '.3f') + ' nats)'"
)
_DOES = "datum.behaviour == 'relation' ? 'best head for ' + datum.relations : datum.behaviour"
_BREADTH = "format(datum.entropy, '.2f') + ' of ' + format(datum.even, '.2f') + ' nats'"
_VIRIDIS = alt.SchemeParams(name="viridis", extent=[0.18, 0.92])


def behaviour_map(behaviours: Sequence[str], reach: Reach, *, heads: int) -> Spec:
    """Heads in the plane, coloured and shaped by what they do; ``reach`` is from where to where the map goes, across
    and upwards.

    >>> spec = behaviour_map(["broad", "other"], ((-0.3, 0.4), (-0.2, 0.2)), heads=144)
    >>> spec["data"], len(spec["layer"])
    ({'name': 'rows'}, 2)
    """
    base = _described(alt.Chart(_ROWS)).transform_calculate(
        mark="datum.behaviour == 'relation' ? datum.relations"
        " : indexof(['previous piece', 'next piece', 'own piece'], datum.behaviour) >= 0 ? datum.name : ''",
        order="datum.behaviour == 'other' ? 0 : 1",
    )
    x, y = _plane(reach)
    dots = base.mark_point(filled=True, size=_size(heads), opacity=0.85, strokeWidth=0).encode(
        x=x,
        y=y,
        color=alt.Color("behaviour:N", title=None, scale=_scale(behaviours, 0), legend=_LEGEND),
        shape=alt.Shape("behaviour:N", title=None, scale=_scale(behaviours, 1), legend=_LEGEND),
        order=alt.Order("order:Q"),
        tooltip=_tooltip(),
    )
    names = base.mark_text(fontSize=9.5, dx=7, align="left", color="currentColor", opacity=0.8).encode(
        x=x, y=y, text="mark:N"
    )
    return finished(alt.layer(dots, names).properties(width="container", height=430))


def layer_map(reach: Reach, *, heads: int, layers: int) -> Spec:
    """Heads in the plane, coloured by layer.

    >>> layer_map(((-0.3, 0.4), (-0.2, 0.2)), heads=144, layers=12)["layer"][0]["encoding"]["color"]["field"]
    'number'
    """
    return _by_layer(_plane(reach), _tooltip(), heads, layers, 430)


def twin_map(reach: Reach, *, heads: int, layers: int) -> Spec:
    """Heads of the untrained twin in a plane of their own, coloured by layer.

    >>> twin_map(((-0.3, 0.4), (-0.2, 0.2)), heads=144, layers=12)["layer"][0]["encoding"]["x"]["field"]
    'twin_x'
    """
    tooltip = [
        _tooltip()[0],
        alt.Tooltip("twin_behaviour:N", title="mostly"),
        alt.Tooltip("twin_mean:Q", title="mean distance, nats", format=".4f"),
        alt.Tooltip("twin_entropy:Q", title="entropy, nats", format=".2f"),
    ]
    return _by_layer(_plane(reach, "twin_"), tooltip, heads, layers, 330)


def _by_layer(plane: tuple[alt.X, alt.Y], tooltip: list[alt.Tooltip], heads: int, layers: int, height: int) -> Spec:
    base = _described(alt.Chart(_ROWS)).transform_calculate(number="datum.layer + 1")
    colour = alt.Color(
        "number:Q",
        title="layer",
        scale=alt.Scale(scheme=_VIRIDIS, domain=[1, max(2, layers)]),
        legend=alt.Legend(format="d", tickMinStep=1, values=_ticks(layers)),
    )
    dots = base.mark_point(filled=True, size=_size(heads), opacity=0.9, strokeWidth=0).encode(
        x=plane[0], y=plane[1], color=colour, tooltip=tooltip
    )
    return finished(alt.layer(dots).properties(width="container", height=height))


def tree(behaviours: Sequence[str], *, heads: int) -> Spec:
    """The tree of joins above its leaves, the heads, which stand in colours and shapes of what they do.

    >>> [layer["mark"]["type"] for layer in tree(["other"], heads=144)["layer"]]
    ['line', 'point', 'text']
    """
    x = alt.X("x:Q", title=None, axis=None, scale=alt.Scale(domain=[-1, heads], nice=False))
    y = alt.Y("y:Q", title="mean distance, nats", axis=alt.Axis(tickCount=5), scale=alt.Scale(zero=True))
    branches = alt.Chart(_ROWS).transform_filter("datum.kind == 'branch'")
    lines = branches.mark_line(stroke="currentColor", strokeWidth=0.9, opacity=0.55).encode(
        x=x, y=y, detail="join:N", order="step:Q", tooltip=[alt.Tooltip("top:Q", title="joined at", format=".3f")]
    )
    leaves = _described(alt.Chart(_ROWS).transform_filter("datum.kind == 'leaf'"))
    dots = leaves.mark_point(filled=True, size=34 if heads <= 160 else 14, opacity=1, strokeWidth=0).encode(
        x=x,
        y=y,
        color=alt.Color("behaviour:N", title=None, scale=_scale(behaviours, 0), legend=_LEGEND),
        shape=alt.Shape("behaviour:N", title=None, scale=_scale(behaviours, 1), legend=_LEGEND),
        tooltip=_tooltip(),
    )
    names = leaves.mark_text(
        fontSize=7.5, angle=90, dx=7, align="left", baseline="middle", color="currentColor", opacity=0.85, clip=False
    ).encode(x=x, y=y, text="name:N")
    layers = [lines, dots, names] if heads <= 160 else [lines, dots]
    return finished(alt.layer(*layers).properties(width="container", height=380))


def layer_heat(*, layers: int) -> Spec:
    """Mean distance of the heads of two layers, the brighter the nearer; of the model or of its twin.

    >>> [param["name"] for param in layer_heat(layers=12)["params"]]
    ['of']
    """
    who = alt.param(
        name="of",
        value="value",
        bind=alt.binding_select(options=["value", "twin"], labels=["the model", "the untrained twin"], name="of"),
    )
    rows = (
        alt.Chart(_ROWS)
        .transform_calculate(shown="of == 'value' ? datum.value : datum.twin")
        .transform_joinaggregate(least="min(shown)", most="max(shown)")
        .transform_calculate(
            a="datum.layer + 1",
            b="datum.layer_b + 1",
            interval="format(of == 'value' ? datum.low : datum.twin_low, '.4~r') + ' to ' + "
            "format(of == 'value' ? datum.high : datum.twin_high, '.4~r')",
            text="datum.most < 0.1 ? format(1000 * datum.shown, '.1f') : "
            "replace(format(datum.shown, '.2f'), regexp('^0'), '')",
        )
    )
    x = alt.X("b:O", title="layer", axis=alt.Axis(labelAngle=0, labelOverlap=True, orient="top"))
    y = alt.Y("a:O", title="layer", axis=alt.Axis(labelOverlap=True))
    tooltip = [
        alt.Tooltip("a:O", title="layer"),
        alt.Tooltip("b:O", title="and layer"),
        alt.Tooltip("shown:Q", title="mean distance, nats", format=".4~r"),
        alt.Tooltip("interval:N", title="95 % interval"),
    ]
    scale = alt.Scale(scheme="viridis", reverse=True, zero=False, nice=False)
    colour = alt.Color("shown:Q", title="nats", scale=scale, legend=alt.Legend(tickCount=4, format=".3~r"))
    cells = rows.mark_rect().encode(x=x, y=y, color=colour, tooltip=tooltip)
    shown = [cells]
    if layers <= 16:
        bright = "datum.shown < datum.least + 0.4 * (datum.most - datum.least)"
        ink = alt.condition(bright, alt.value("#111"), alt.value("#fff"))
        shown.append(rows.mark_text(fontSize=9.5).encode(x=x, y=y, text="text:N", color=ink, tooltip=tooltip))
    height = max(layers, 2) * (28 if layers <= 16 else 17)
    return finished(alt.layer(*shown).add_params(who).properties(width="container", height=height))


def gaps(*, layers: int) -> Spec:
    """Mean distance by how many layers lie between two heads, over the mean of all: the model and its twin.

    >>> [layer["mark"]["type"] for layer in gaps(layers=12)["layer"]]
    ['rule', 'point', 'line', 'point']
    """
    base = (
        alt.Chart(_ROWS)
        .transform_fold(["value", "twin"], as_=["of", "shown"])
        .transform_filter("isValid(datum.shown) && datum.layer <= datum.layer_b")
        .transform_calculate(
            gap="datum.layer_b - datum.layer", who="datum.of == 'value' ? 'the model' : 'its untrained twin'"
        )
        .transform_joinaggregate(level="mean(shown)", groupby=["who"])
        .transform_calculate(
            relative="datum.shown / datum.level", pair="(datum.layer + 1) + ' and ' + (datum.layer_b + 1)"
        )
    )
    x = alt.X(
        "gap:Q",
        title="layers apart (0: heads of one layer)",
        scale=alt.Scale(nice=False, padding=12),
        axis=alt.Axis(values=list(range(layers)), format="d", grid=False, labelOverlap=True),
    )
    y = alt.Y("relative:Q", title="distance over the mean", scale=alt.Scale(zero=False), axis=alt.Axis(tickCount=5))
    who = ["the model", "its untrained twin"]
    colour = alt.Color("who:N", title=None, scale=alt.Scale(domain=who, range=["#0072B2", "#E69F00"]), legend=_LEGEND)
    shape = alt.Shape("who:N", title=None, scale=alt.Scale(domain=who, range=["circle", "diamond"]), legend=_LEGEND)
    one = alt.Chart(_ROWS).transform_aggregate(count="count()").mark_rule(
        strokeDash=[4, 3], stroke="currentColor", opacity=0.6
    )  # fmt: skip
    dots = base.mark_point(filled=True, size=18, opacity=0.35, strokeWidth=0).encode(
        x=x,
        y=y,
        color=colour,
        shape=shape,
        tooltip=[
            alt.Tooltip("who:N", title="of"),
            alt.Tooltip("pair:N", title="layers"),
            alt.Tooltip("shown:Q", title="mean distance, nats", format=".4~r"),
            alt.Tooltip("relative:Q", title="over the mean", format=".3f"),
        ],
    )
    mean = base.transform_aggregate(mean="mean(relative)", groupby=["who", "gap"])
    lines = mean.mark_line(strokeWidth=2).encode(x=x, y=alt.Y("mean:Q"), color=colour)
    points = mean.mark_point(filled=True, size=46, opacity=1, strokeWidth=0).encode(
        x=x, y=alt.Y("mean:Q"), color=colour, shape=shape
    )
    return finished(
        alt.layer(one.encode(y=alt.YDatum(1, type="quantitative")), dots, lines, points).properties(
            width="container", height=300
        )
    )


_LEGEND = alt.Legend(symbolSize=70, columns=4, symbolOpacity=1)


def _described(chart: alt.Chart) -> alt.Chart:
    described: alt.Chart = chart.transform_calculate(
        name=_LABEL, nearest_head_name=_NEAREST, does=_DOES, wide=_BREADTH
    )
    return described


def _tooltip() -> list[alt.Tooltip]:
    return [
        alt.Tooltip("name:N", title="head"),
        alt.Tooltip("does:N", title="mostly"),
        alt.Tooltip("nearest_head_name:N", title="nearest head"),
        alt.Tooltip("mean:Q", title="mean distance, nats", format=".3f"),
        alt.Tooltip("wide:N", title="entropy"),
        alt.Tooltip("special:Q", title="on special pieces", format=".2f"),
    ]


def _plane(reach: Reach, prefix: str = "") -> tuple[alt.X, alt.Y]:
    """Two axes on one scale: as many nats to a pixel across as upwards, the heads in the middle."""
    (left, right), (low, high) = reach
    unit = f"max({1.2 * (right - left):.6g} / width, {1.12 * (high - low):.6g} / height)"

    def scale(side: str, middle: float) -> alt.Scale:
        half = f"{unit} * {side} / 2"
        ends = (alt.ExprRef(f"{middle:.6g} - {half}"), alt.ExprRef(f"{middle:.6g} + {half}"))
        return alt.Scale(domainMin=ends[0], domainMax=ends[1], nice=False, zero=False)

    axis = alt.Axis(tickCount=6, format="~g", labelOverlap=True)
    return (
        alt.X(f"{prefix}x:Q", title="nats", scale=scale("width", (left + right) / 2), axis=axis),
        alt.Y(f"{prefix}y:Q", title="nats", scale=scale("height", (low + high) / 2), axis=axis),
    )


def _scale(behaviours: Sequence[str], part: int) -> alt.Scale:
    return alt.Scale(domain=list(behaviours), range=[SIGNS[name][part] for name in behaviours])


def _size(heads: int) -> int:
    return 70 if heads <= 200 else 40 if heads <= 500 else 18


def _ticks(layers: int) -> list[int]:
    step = max(1, round((layers - 1) / 5))
    return list(range(1, layers + 1, step))
