"""The plane of Wiegreffe & Pinter (2019): how far attention is from a model's own, and how far its output moves.

To the right attention differs more, upwards the output does. Small marks are single instances, large ones means; a
name may stand beside each, and means may be joined by a dashed line in the order of a weight.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

import altair as alt

from attlas.pages import Chart, Rows, Tables, charts
from attlas.pages.charts import Spec, finished, rows_of_page
from attlas.store.schema import Column, Schema

LN2 = math.log(2)
WIDTH = 0.72  # of the axis of JSD, which ends at ln 2
PLUS = "M-1,0H1M0,-1V1"
SCHEMA = Schema(
    "plane",
    "Points of the plane of attention and output.",
    Column("part", "a single instance, a model, or a mean"),
    Column("kind", "kind"),
    Column("label", "which"),
    Column("said", "the name that stands beside it"),
    Column("jsd", "divergence of attention (JSD, nats)", "number", ends=("jsd_low", "jsd_high")),
    Column("tvd", "distance of output (TVD)", "number", ends=("tvd_low", "tvd_high")),
    Column("weight", "λ", "number", optional=True),
)
# the name of a mean; in a narrow chart without its kind, which the legend tells
_NAME = "width < 480 && indexof(datum.said, ', ') > 0 ? split(datum.said, ', ')[1] : datum.said"
_ENDS = ("jsd_low", "jsd_high", "tvd_low", "tvd_high")


def point(part: str, kind: str, label: str, row: Mapping[str, object], **more: object) -> dict[str, object]:
    """A row of the plane, from one that has a JSD and a TVD, and perhaps their intervals.

    >>> point("mean", "uniform", "uniform, last layer", {"jsd": 0.2, "tvd": 0.1})["jsd"]
    0.2
    """
    ends = {name: row.get(name) for name in _ENDS}
    return {"part": part, "kind": kind, "label": label, "said": "", "jsd": row["jsd"], "tvd": row["tvd"], **ends,
            "weight": None, **more}  # fmt: skip


def plane(
    kinds: Mapping[str, tuple[str, str]],
    title: str,
    output: str,
    *,
    label: str,
    path: bool = False,
    below: Sequence[str] = (),
) -> Chart:
    """The chart: ``kinds`` have a colour and a shape each; ``output`` names the axis; ``path`` joins the means; names
    of the kinds ``below`` stand below their marks, so that they do not meet others.

    >>> plane({"uniform": ("#3a9d5d", "square")}, "Attention and output", "TVD", label="").table
    'plane'
    """

    def draw(tables: Tables, rows: Rows) -> Spec:
        present = [kind for kind in kinds if kind in rows.values("kind")]
        legend = alt.Legend(symbolOpacity=1)
        colours, shapes = (alt.Scale(domain=present, range=[kinds[kind][at] for kind in present]) for at in (0, 1))
        colour = alt.Color("kind:N", title=None, legend=legend, scale=colours)
        shape = alt.Shape("kind:N", title=None, legend=legend, scale=shapes)
        x = alt.X("jsd:Q", title=SCHEMA["jsd"].title, scale=alt.Scale(domain=[0, WIDTH], nice=False),
                  axis=alt.Axis(tickCount=7))  # fmt: skip
        top = 1.1 * max((row[end] for end in ("tvd", "tvd_high") for row in rows.known(end)), default=1.0)
        y = alt.Y("tvd:Q", title=output, scale=alt.Scale(domain=[0, top or 1.0]), axis=alt.Axis(tickCount=6))
        tooltip = [
            alt.Tooltip("label:N", title="which"), alt.Tooltip("jsd:Q", title="JSD", format=".3f"),
            alt.Tooltip("tvd:Q", title="TVD", format=".4f"),
        ]  # fmt: skip
        coded = {"x": x, "y": y, "color": colour, "shape": shape, "tooltip": tooltip}
        parts = {part: rows_of_page().transform_filter(f"datum.part == '{part}'") for part in rows.values("part")}
        means = parts["mean"]
        layered = [*_limit(x=alt.XDatum(LN2, type="quantitative"), text="ln 2")]
        bound = tables.options.get("bound")
        if isinstance(bound, float) and "single" in rows.values("part"):
            layered += _limit(y=alt.YDatum(bound, type="quantitative"), text="bound")
        if path:
            line = means.mark_line(strokeDash=[3, 3], strokeWidth=1.6, color=kinds[present[-1]][0])
            layered.append(line.encode(x=x, y=y, order="weight:Q"))
        if rows.known("jsd_low"):
            across = means.mark_rule(opacity=0.6).encode(x=alt.X("jsd_low:Q"), x2="jsd_high:Q", y=y, color=colour)
            along = means.mark_rule(opacity=0.6).encode(x=x, y=alt.Y("tvd_low:Q"), y2="tvd_high:Q", color=colour)
            layered += [across, along]
        styles: dict[str, dict[str, Any]] = {
            "single": {"filled": False, "size": 32, "opacity": 0.6, "strokeWidth": 1},
            "model": {"filled": True, "size": 66, "opacity": 0.85},
            "mean": {"filled": True, "size": 80, "opacity": 1},
        }
        layered += [
            parts[part].mark_point(**style).encode(**coded)
            for part, style in styles.items()
            if part in rows.values("part")
        ]
        place: dict[str, Any] = {"dy": -7} if path else {
            "align": {"expr": "datum.jsd < 0.45 ? 'left' : 'right'"}, "dx": {"expr": "datum.jsd < 0.45 ? 8 : -8"},
            "dy": {"expr": f"indexof({list(below)}, datum.kind) >= 0 ? 13 : -3"},
        }  # fmt: skip
        named = means.mark_text(baseline="bottom", fontSize=11, limit=220, text=alt.ExprRef(_NAME), **place)
        layered.append(named.encode(x=x, y=y, color=alt.value("currentColor")))
        return finished(alt.layer(*layered).properties(width="container", height=360))

    return charts.custom("plane", title, "plane", ("kind", "jsd", "tvd"), draw, label=label)


def _limit(text: str, **at: alt.XDatum | alt.YDatum) -> list[alt.Chart]:
    """A dashed line across the chart, with its name."""
    once = rows_of_page().transform_aggregate(count="count()")
    upright = "x" in at
    place: dict[str, Any] = {**at, **({"y": alt.value(2)} if upright else {"x": alt.value(alt.ExprRef("width"))})}
    style: dict[str, Any] = {"align": "right", "baseline": "top" if upright else "bottom", "dx": -4}
    return [
        once.mark_rule(strokeDash=[4, 3], stroke="currentColor", opacity=0.5).encode(**at),
        once.mark_text(text=text, fontSize=11, opacity=0.8, **style).encode(**place, color=alt.value("currentColor")),
    ]
