"""The charts of clusters that are one of a kind: heads in a plane, and the tree that joins them.

Both axes of a map have one scale, whatever room it is given, since distances on it mean the same in all directions.
Every behaviour has a colour that most colour-blind readers can tell, and a shape that does without.
"""

from __future__ import annotations

from typing import Any

import altair as alt

from attlas.pages import Chart, Rows, Tables, charts
from attlas.pages.charts import HEAD_LABEL, Spec, finished, rows_of_page

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
_NAMED = "['previous piece', 'next piece', 'own piece']"  # behaviours whose heads are named on the map


def behaviour_map(table: str) -> Chart:
    """Heads in the plane, coloured and shaped by what they do.

    >>> behaviour_map("described").key
    'behaviour'
    """

    def draw(tables: Tables, rows: Rows) -> Spec:
        x, y = _plane(rows)
        base = rows_of_page().transform_calculate(
            name=charts.head_label(tables), order="datum.behaviour == 'other' ? 0 : 1",
            text=f"datum.behaviour == 'relation' ? datum.relations : indexof({_NAMED}, datum.behaviour) >= 0 ? "
            f"{HEAD_LABEL} : ''",
        )  # fmt: skip
        signs = _signs(rows, base.mark_point(filled=True, size=_size(rows), opacity=0.85, strokeWidth=0))
        names = base.mark_text(fontSize=11, dx=7, align="left", color="currentColor", opacity=0.8)
        layered = alt.layer(
            signs.encode(x=x, y=y, order=alt.Order("order:Q"), tooltip=_tooltip()),
            names.encode(x=x, y=y, text="text:N"),
        )  # fmt: skip
        return finished(layered.properties(width="container", height=430))

    label = "Map of heads, coloured and shaped by what each mostly does"
    return charts.custom("behaviour", "By behaviour", table, ("x", "y", "behaviour"), draw, label=label)


def layer_map(table: str, *, twin: bool = False) -> Chart:
    """Heads in the plane, coloured by layer: the model's, or the untrained twin's in a plane of their own.

    >>> layer_map("described", twin=True).columns
    ('twin_x', 'twin_y')
    """
    prefix = "twin_" if twin else ""

    def draw(tables: Tables, rows: Rows) -> Spec:
        x, y = _plane(rows, prefix)
        step = max(1, round((tables.layers - 1) / 5))
        colour = alt.Color(
            "number:Q", title="layer",
            scale=alt.Scale(scheme=alt.SchemeParams(name="viridis", extent=[0.18, 0.92]),
                            domain=[1, max(2, tables.layers)]),
            legend=alt.Legend(format="d", tickMinStep=1, values=list(range(1, tables.layers + 1, step))),
        )  # fmt: skip
        base = rows_of_page().transform_calculate(name=charts.head_label(tables), number="datum.layer + 1")
        dots = base.mark_point(filled=True, size=_size(rows), opacity=0.9, strokeWidth=0)
        layered = alt.layer(dots.encode(x=x, y=y, color=colour, tooltip=_tooltip(prefix)))
        return finished(layered.properties(width="container", height=330 if twin else 430))

    key, title = ("twin", "Map of an untrained twin, at its own scale") if twin else ("layer", "By layer")
    label = f"Map of {'the heads of an untrained twin' if twin else 'heads'}, coloured by layer"
    return charts.custom(key, title, table, (f"{prefix}x", f"{prefix}y"), draw, label=label)


def tree_chart(table: str) -> Chart:
    """The tree of joins above its leaves, the heads, which stand in colours and shapes of what they do.

    >>> tree_chart("tree").key
    'tree-chart'
    """

    def draw(tables: Tables, rows: Rows) -> Spec:
        leaves = 1 + max(rows.where(part="leaf").column("x"))
        x = alt.X("x:Q", title=None, axis=None, scale=alt.Scale(domain=[-1, leaves], nice=False))
        y = alt.Y("y:Q", title="mean distance, nats", axis=alt.Axis(tickCount=5), scale=alt.Scale(zero=True))
        branches = rows_of_page().transform_filter("datum.part == 'branch'")
        lines = branches.mark_line(stroke="currentColor", strokeWidth=0.9, opacity=0.55).encode(
            x=x, y=y, detail="join:N", order="step:Q",
            tooltip=[alt.Tooltip("top:Q", title="joined at", format=".3f")],
        )  # fmt: skip
        heads = rows_of_page().transform_filter("datum.part == 'leaf'").transform_calculate(name=HEAD_LABEL)
        dots = _signs(rows, heads.mark_point(filled=True, size=34 if leaves <= 160 else 14, opacity=1, strokeWidth=0))
        room = alt.ExprRef(f"width / {leaves + 1:g} >= 11 ? 0.85 : 0")  # names only where they do not touch
        names = heads.mark_text(
            fontSize=11, angle=90, dx=7, align="left", baseline="middle", color="currentColor", opacity=room,
            clip=False,
        )  # fmt: skip
        layered = alt.layer(
            lines, dots.encode(x=x, y=y, tooltip=_tooltip()), names.encode(x=x, y=y, text="name:N")
        )  # fmt: skip
        return finished(layered.properties(width="container", height=380))

    label = "Tree of heads, joined by mean distance"
    return charts.custom("tree-chart", "Joined by mean distance", table, ("x", "y", "part"), draw, label=label)


def _signs(rows: Rows, marks: Any) -> Any:
    """Marks in the colours and shapes of behaviours."""
    present = rows.values("behaviour")
    shown = [name for name in SIGNS if name in present]
    legend = alt.Legend(symbolSize=70, symbolOpacity=1)
    colour, shape = (
        kind("behaviour:N", title=None, legend=legend,
             scale=alt.Scale(domain=shown, range=[SIGNS[name][at] for name in shown]))
        for at, kind in enumerate((alt.Color, alt.Shape))
    )  # fmt: skip
    return marks.encode(color=colour, shape=shape)


def _tooltip(prefix: str = "") -> list[alt.Tooltip]:
    own = [("does:N", "mostly"), ("nearest_name:N", "nearest head")]
    names = [("name:N", "head"), *([("twin_behaviour:N", "mostly")] if prefix else own)]
    numbers = [(f"{prefix}mean:Q", "mean distance, nats"), (f"{prefix}entropy:Q", "entropy, nats")]
    return [
        *(alt.Tooltip(field, title=title) for field, title in names),
        *(alt.Tooltip(field, title=title, format=".3~r") for field, title in numbers),
    ]


def _plane(rows: Rows, prefix: str = "") -> tuple[alt.X, alt.Y]:
    """Two axes on one scale: as many nats to a pixel across as upwards, the heads in the middle."""
    ends = []
    for side in ("x", "y"):
        places = rows.known(f"{prefix}{side}").column(f"{prefix}{side}")
        low, high = min(places, default=0.0), max(places, default=0.0)
        ends.append((low, high) if high - low > 1e-9 else (low - 1e-9, high + 1e-9))
    (left, right), (low, high) = ends
    unit = f"max({1.2 * (right - left):.6g} / width, {1.12 * (high - low):.6g} / height)"

    def scale(side: str, middle: float) -> alt.Scale:
        half = f"{unit} * {side} / 2"
        first, last = (alt.ExprRef(f"{middle:.6g} {sign} {half}") for sign in "-+")
        return alt.Scale(domainMin=first, domainMax=last, nice=False, zero=False)

    axis = alt.Axis(tickCount=6, format="~g", labelOverlap=True)
    return (
        alt.X(f"{prefix}x:Q", title="nats", scale=scale("width", (left + right) / 2), axis=axis),
        alt.Y(f"{prefix}y:Q", title="nats", scale=scale("height", (low + high) / 2), axis=axis),
    )


def _size(rows: Rows) -> int:
    return 70 if len(rows) <= 200 else 40 if len(rows) <= 500 else 18
