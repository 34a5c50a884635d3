"""What cutting heads did, as pages show it: how bad each change is, whether it is sure, and two charts of that.

A change is shown as it is; colour says whether it is for the worse (red) or for the better (blue), which for an
accuracy and for a loss are opposite directions.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

import altair as alt

from attlas.pages import Chart, Prose, Row, Rows, Style, Tables, charts, label_of
from attlas.pages.charts import BETTER, GREY, WORSE, Spec
from attlas.pages.charts.base import drawn, rule, switch
from attlas.pages.charts.sketch import Sketch
from attlas.pages.prose import say
from attlas.store.schema import Column, is_known
from attlas.studies.shared.cutting.chance import warning

LEVEL = 0.01
HARM = (
    Column("harm", "harm", "signed", "the change of score, turned so that more is worse"),
    Column("sure_harm", "sure harm", "signed", "the same where it is significant after correction, else 0"),
    Column("sure_loss", "sure change of loss", "signed", "the change of loss where it is significant, else 0"),
)
GRADIENTS_LEAD = (
    "Each dot is a head: its importance, from one pass of gradients, against the size of what cutting it did, from "
    "as many runs as there are heads. If the first could stand for the second, dots would rise from left to right."
)
_SURE = {"change": "datum.sure_harm", "loss_change": "datum.sure_loss"}
_BAD = {"change": "datum.harm", "loss_change": "datum.loss_change"}


def with_harm(rows: Iterable[Row], better: str) -> Iterator[dict[str, Any]]:
    """Rows of cuts with how bad each is, for a score that is better ``higher`` or ``lower``.

    >>> row = {"change": -0.2, "p_corrected": 0.001, "loss_change": 0.1, "loss_p_corrected": 0.5}
    >>> told = next(with_harm([row], "higher"))
    >>> told["harm"], told["sure_harm"], told["sure_loss"]
    (0.2, 0.2, 0.0)
    """
    for row in rows:
        change, loss = row["change"] or 0.0, row["loss_change"] or 0.0
        harm = -change if better == "higher" else change
        yield {
            **row, "harm": harm, "sure_harm": harm if _is_sure(row["p_corrected"]) else 0.0,
            "sure_loss": loss if _is_sure(row["loss_p_corrected"]) else 0.0,
        }  # fmt: skip


def worst_first(rows: Rows) -> list[Row]:
    """Cuts from the one that costs most: by the score, and where that is the same by the loss."""
    return sorted(rows, key=lambda row: (row["harm"], row["loss_change"] or 0.0), reverse=True)


def between(row: Row, kind: str, low: str = "low", high: str = "high") -> Prose | str:
    """The interval of a figure in brackets, or why there is none.

    >>> str(between({"low": -0.1, "high": 0.2}, "signed")), str(between({"low": None, "high": None}, "signed"))
    (' (−0.10 to +0.20)', ' (too few texts for an interval)')
    """
    if not is_known(row[low]) or not is_known(row[high]):
        return " (too few texts for an interval)"
    return say(f" ({{low:{kind}}} to {{high:{kind}}})", low=row[low], high=row[high])


def ends_of(row: Row, column: str) -> Prose | str:
    """The interval of a correlation; nothing where there is none.

    >>> str(ends_of({"spearman_low": 0.1, "spearman_high": 0.2}, "spearman")), ends_of({"n": 3}, "spearman")
    ('0.10 to 0.20', '')
    """
    low, high = row.get(f"{column}_low"), row.get(f"{column}_high")
    return say("{low:share} to {high:share}", low=low, high=high) if is_known(low) and is_known(high) else ""


def head_of(row: Row, tables: Tables) -> str:
    """A row's head by label, with its stream where the model has several."""
    return f"{row['stream']} {label_of(row)}" if len(tables.streams) > 1 else label_of(row)


def changes_shown(rows: Rows) -> tuple[str, ...]:
    """The changes to choose from, first the score's, unless only the loss has anything to show."""
    if all(row["change"] == row["loss_change"] for row in rows):
        return ("loss_change",)
    only_loss = any(row["sure_loss"] for row in rows) and not any(row["sure_harm"] for row in rows)
    return ("loss_change", "change") if only_loss else ("change", "loss_change")


def against_gradients(table: str, importance: str, key: str) -> Chart:
    """A dot for each head: its importance by gradients against the size of what cutting it did."""
    return charts.scatter(
        table, (importance, "normalised"), ("loss_change", "change"), key=key, size_of=True, style=Style(root=True),
        title="Gradients against cutting",
        label="Importance against the size of the measured change, one dot for each head",
    )  # fmt: skip


def as_heads_go(curve: Rows, count: str) -> Iterator[dict[str, Any]]:
    """A row for each order and share of a curve of removal; the draws of chance are one, with their range. ``count``
    is the column that says how many heads are gone."""
    for order, rows in curve.by("order"):
        low, high = ("score", "score") if order == "random" else ("low", "high")
        for share, same in rows.known("score").by("share"):
            yield {
                "order": order, "share": share, count: same[0][count], "score": same.mean("score"),
                "low": min(same.known(low).column(low), default=None),
                "high": max(same.known(high).column(high), default=None), "loss": same.mean("loss"),
            }  # fmt: skip


def effect_map(table: str = "effects") -> Chart:
    """A cell for each head: what cutting it does to score or loss, framed where that is significant."""

    def draw(tables: Tables, rows: Rows) -> Spec:
        drawn = charts.head_map(
            table, *changes_shown(rows), shade=_BAD,
            sure={"change": "p_corrected", "loss_change": "loss_p_corrected"},
            bar=LEVEL if warning(tables) is None else -1.0,
        )  # fmt: skip
        return drawn.draw(tables, rows)

    return charts.custom(
        "map", "What cutting each head does", table, ("layer", "head", "change", "loss_change"), draw,
        label="Heat map of what cutting each head does, layer by head",
    ).having(note="red: worse without it, blue: better; framed: p < 0.01 after correction")  # fmt: skip


def effects_in_order(table: str = "effects") -> Chart:
    """A dot with its interval for each head, from the worst cut to the best."""

    def draw(tables: Tables, rows: Rows) -> Spec:
        sketch = Sketch.of(tables, table, rows, changes_shown(rows), Style())
        order = [alt.SortField("bad", order="descending"), alt.SortField("loss_change", order="descending")]
        ranked = (
            sketch.shown()
            .transform_calculate(sure=switch(_SURE), bad=switch(_BAD))
            .transform_filter("isValid(datum.shown)")
            .transform_calculate(verdict="datum.sure > 0 ? 'worse' : datum.sure < 0 ? 'better' : 'not significant'")
            .transform_window(rank="row_number()", sort=order)
        )
        x = alt.X("rank:Q", title="heads, from the worst cut to the best", axis=alt.Axis(grid=False, tickMinStep=1),
                  scale=alt.Scale(nice=False, zero=False, padding=10))  # fmt: skip
        verdicts = alt.Scale(domain=["worse", "better", "not significant"], range=[WORSE, BETTER, GREY])
        colour = alt.Color("verdict:N", title=None, scale=verdicts, legend=alt.Legend(symbolType="circle"))
        whiskers = ranked.mark_rule(opacity=0.55).encode(
            x=x, y=alt.Y("low_shown:Q", title=sketch.title), y2="high_shown:Q", color=colour
        )
        points = ranked.mark_point(filled=True, size=34, opacity=0.95).encode(
            x=x, y=alt.Y("shown:Q", axis=alt.Axis(format=sketch.format)), color=colour,
            tooltip=[*sketch.tooltip(), alt.Tooltip("verdict:N", title="without it")],
        )  # fmt: skip
        return drawn([rule(y=0), whiskers, points], sketch.params(), 280)

    return charts.custom("sorted", "In order", table, ("change", "loss_change"), draw,
                         label="Changes of all heads in order, with intervals")  # fmt: skip


def _is_sure(p: Any) -> bool:
    return is_known(p) and p < LEVEL
