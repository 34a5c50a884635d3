"""What the charts of the chunking study show: rows made of its tables, and the curve with its bend."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import product
from typing import Any

import altair as alt

from attlas.pages import Chart, Row, Rows, Tables, charts
from attlas.pages.charts import Spec, choice, finished, rows_of_page
from attlas.store.schema import KINDS, is_known
from attlas.studies.faith_chunking.findings import FORMS, adversaries, called, ends_of_f1, guide, guides, original
from attlas.studies.shared.faith import plane

ROOM = 0.04  # of the chart's width or height: what a lambda that is written beside its dot takes
ADVERSARY = "trained adversary"
BESIDE = {"seed": "another seed", "uniform": "trained with uniform attention"}


def labelled(tables: Tables, table: str) -> Sequence[Row]:
    """Models with names to read, and how far F1 is from what was published."""
    rows = [{**row, "label": called(row)} for row in tables[table]]
    for row in rows if table == "summary" else ():
        row["apart"] = 100 * (row["f1"] - row["published"]) if is_known(row["published"]) else None
    return rows


def _scored(tables: Tables, row: Row, column: str, ours: str, **more: object) -> list[Row]:
    """F1 of a model with its interval, and what was published of it; ``column`` tells the two apart."""
    low, high = ends_of_f1(tables, row)
    points: list[Row] = [{**more, column: ours, "f1": row["f1"], "low": low, "high": high}]
    if is_known(row["published"]):
        points.append({**more, column: "published", "f1": row["published"], "low": None, "high": None})
    return points


def score_rows(tables: Tables) -> Iterator[Row]:
    """Originals (as lambda 0) and adversaries, and what was published of them."""
    for row in tables["summary"].where(kind=["original", "adversary"]):
        yield from _scored(tables, row, "whose", "ours", weight=row["weight"] or 0.0, seeds=row["seeds"])


def plane_rows(tables: Tables) -> list[Row]:
    """All that has a place in the plane of JSD and TVD."""
    rows = [
        plane.point("single", "adversary of one word", f"word {row['number'] + 1}", row)
        for row in tables["per_instance"].known("jsd")
    ]
    for row in tables["seeds"]:
        kind = BESIDE[row["kind"]]
        seeds = f"seed {row['seed']}" if row["kind"] == "uniform" else f"seeds {row['other']} and {row['seed']}"
        rows.append(plane.point("model", kind, f"{kind}, {seeds}", row))
    means = [
        plane.point("mean", ADVERSARY, called(row), {"jsd": row["jsd"], "tvd": row["tvd"]}, weight=row["weight"],
                    said=f"{row['weight']:g}")
        for row in adversaries(tables).known("jsd")
    ]  # fmt: skip
    return [*rows, *_spaced(means, "jsd", "tvd", plane.WIDTH)]


def _spaced(rows: list[dict[str, Any]], x: str, y: str, width: float | None = None) -> list[dict[str, Any]]:
    """Rows by weight; lambdas that would stand on each other are left unwritten, the last is spelled out."""
    across, height = (max((abs(row[key]) for row in rows), default=0.0) or 1.0 for key in (x, y))
    width = width or across
    kept: list[dict[str, Any]] = []
    for row in reversed(rows):
        rooms = [2 * ROOM, *[ROOM] * len(kept)]  # the last takes more
        if all(
            abs(row[x] - other[x]) / width > room or abs(row[y] - other[y]) / height > room
            for other, room in zip(kept, rooms, strict=False)
        ):
            kept.append(row)
        else:
            row["said"] = ""
    for row in kept[:1]:
        row["said"] = f"λ = {row['said']}"
    return rows


def curve_rows(tables: Tables) -> Iterator[Row]:
    """Originals and adversaries as points of the curve, for each pair of measures, with the bend."""
    empty = dict.fromkeys(("x", "y", "low", "high", "seed", "weight")) | {"label": "", "said": ""}
    for attention, prediction in product(("kl", "jsd"), ("nll", "tvd")):
        pair = {"attention": attention, "prediction": prediction, **empty}
        for row in tables["models"].where(lambda row: row["kind"] != "guided").known(attention):
            yield {**pair, "part": "model", "x": row[attention], "y": row[prediction], "seed": row["seed"],
                   "label": f"{called(row)}, seed {row['seed']}", "weight": row["weight"] or 0.0}  # fmt: skip
        means = [
            {**pair, "part": "mean", "x": row[attention], "y": row[prediction], "label": called(row),
             "said": f"{row['weight']:g}"}
            for row in adversaries(tables).known(attention)
        ]  # fmt: skip
        yield from _spaced(means, "x", "y")
        for row in tables["bend"].where(attention=attention, prediction=prediction).known("at"):
            yield {**pair, "part": "bend", "x": row["at"], "low": row["at_low"], "high": row["at_high"],
                   "label": f"bend {KINDS['number'].write(row['at'], None)}"}  # fmt: skip
            if is_known(row["published"]):
                label = f"published {row['published']:.2f}"
                yield {**pair, "part": "published", "x": row["published"], "label": label}


def guided_rows(tables: Tables) -> Sequence[Row]:
    """The guided models with intervals, what was published of them, and the original itself."""
    guided = [(form, row) for form in FORMS for row in guides(tables, form)]
    rows = [
        point for form, row in guided for point in _scored(tables, row, "form", form, label=guide(row["attention"]))
    ]
    rows.sort(key=lambda row: row["form"] == "published")
    own = original(tables)
    if rows and own is not None:
        rows += _scored(tables, own, "form", "attention kept", label="(the original itself)")[:1]
    return rows


def curve() -> Chart:
    """The chart of predictions against attention, with the bend."""
    label = "Distance of predictions against divergence of attention, a dot for each adversary, with the bend"
    return charts.custom("curve", "Where predictions give way", "curve", ("x", "y"), _curve, label=label)


def _curve(tables: Tables, rows: Rows) -> Spec:
    """Predictions against attention for every adversary, those of a seed joined as λ grows, with the bend."""
    params = [
        choice("attention", ["kl", "jsd"], ["KL (nats)", "JSD (nats)"], "attention by"),
        choice("prediction", ["nll", "tvd"], ["loss against the original (NLL)", "TVD"], "predictions by"),
    ]
    chosen = rows_of_page().transform_filter("datum.attention == attention && datum.prediction == prediction")
    part = {
        name: chosen.transform_filter(f"datum.part == '{name}'") for name in ("model", "mean", "bend", "published")
    }
    x = alt.X(
        "x:Q", title="divergence of attention", scale=alt.Scale(zero=True, nice=True), axis=alt.Axis(tickCount=8)
    )
    y = alt.Y("y:Q", title="distance of predictions", scale=alt.Scale(zero=True, nice=True))
    tooltip = [alt.Tooltip("label:N", title="model"), alt.Tooltip("x:Q", title="attention", format=".3f"),
               alt.Tooltip("y:Q", title="predictions", format=".4f")]  # fmt: skip
    ink = alt.value("currentColor")
    red: dict[str, Any] = {"filled": True, "color": charts.PINK}
    layered = []
    if rows.where(part="bend"):
        if rows.known("low"):
            band = part["bend"].mark_rect(opacity=0.14, color=charts.BLUE)
            layered.append(
                band.encode(x=alt.X("low:Q"), x2="high:Q", y=alt.value(0), y2=alt.value(alt.ExprRef("height")))
            )
        layered += [
            part["published"].mark_rule(strokeDash=[4, 3], color=charts.GREY, strokeWidth=1.6).encode(x=x),
            part["bend"].mark_rule(strokeWidth=1.6, color=charts.BLUE).encode(x=x),
        ]
    layered += [
        part["model"].mark_line(strokeWidth=1, color=charts.PINK, opacity=0.35)
        .encode(x=x, y=y, detail="seed:N", order="weight:Q"),
        part["model"].mark_point(**red, size=26, opacity=0.5).encode(x=x, y=y, tooltip=tooltip),
        part["mean"].mark_point(**red, size=60, opacity=1).encode(x=x, y=y, tooltip=tooltip),
        part["mean"].mark_text(align="right", baseline="bottom", dx=-6, dy=-4, fontSize=11)
        .encode(x=x, y=y, text="said:N", color=ink),
    ]  # fmt: skip
    if rows.where(part="bend"):
        layered += [
            part[name].mark_text(align="left", baseline="top", dx=5, fontSize=11)
            .encode(x=x, y=alt.value(top), text="label:N", color=ink)
            for name, top in (("bend", 2), ("published", 20))
        ]  # fmt: skip
    return finished(alt.layer(*layered).add_params(*params).properties(width="container", height=340))
