"""The charts of an ablation, as Vega-Lite specifications that carry no data (see :mod:`attlas.reports.charts`).

A change is shown as it is; colour says whether it is for the worse (red) or for the better (blue), which for an
accuracy and for a loss are opposite directions. ``worse`` is the sign of a change of score that is for the worse.
"""

from __future__ import annotations

from typing import Any

import altair as alt

from attlas.reports.charts import WEIGHT_COLOUR, Spec, choice, finished, map_size, rows_of_page

WORSE, BETTER, UNSURE = "#c2453a", "#2f7fc1", "#8f8f8f"
_NAME = "(datum.layer + 1) + '-' + (datum.head + 1)"
_SURE = "isValid(datum.corrected_shown) && datum.corrected_shown < 0.01"
_WRITTEN = (
    "!isValid(datum.shown) ? '' : abs(datum.shown) < 0.00095 ? (datum.shown == 0 ? '0' : format(datum.shown, '.0e'))"
    " : abs(datum.shown) < 0.0995 ? replace(format(datum.shown, '.3f'), regexp('^([-−]?)0'), '$1')"
    " : abs(datum.shown) < 0.995 ? replace(format(datum.shown, '.2f'), regexp('^([-−]?)0'), '$1')"
    " : format(datum.shown, abs(datum.shown) < 10 ? '.1f' : '.0f')"
)


def effect_map(metric: str, worse: int, *, layers: int, heads: int, first: str = "score") -> Spec:
    """A cell for each head: what cutting it does to score or loss, framed where that is significant.

    >>> [param["name"] for param in effect_map("accuracy", -1, layers=6, heads=12)["params"]]
    ['show']
    """
    x = alt.X("column:O", title="head", axis=alt.Axis(labelAngle=0, labelOverlap=True, orient="top"))
    y = alt.Y("row:O", title="layer", axis=alt.Axis(labelOverlap=True))
    shown, rows = _shown(metric, worse, first)
    placed = (
        rows.transform_calculate(size="abs(datum.shown)")
        .transform_joinaggregate(top="max(size)")
        .transform_calculate(
            row="datum.layer + 1", column="datum.head + 1", text=_WRITTEN,
            shade="datum.top > 0 ? (datum.bad > 0 ? 1 : -1) * sqrt(abs(datum.shown) / datum.top) : 0",
        )
    )  # fmt: skip
    scale = alt.Scale(domain=[-1, 0, 1], range=["#2166ac", "#f4f2ef", "#b2182b"], interpolate="lab")
    tooltip = _tooltip(metric)
    pale = alt.condition(_SURE, alt.value(1.0), alt.value(0.5))
    cells = placed.mark_rect().encode(
        x=x, y=y, color=alt.Color("shade:Q", scale=scale, legend=None), opacity=pale, tooltip=tooltip
    )  # fmt: skip
    frames = (
        placed.transform_filter(_SURE)
        .mark_rect(filled=False, stroke="currentColor", strokeWidth=2)
        .encode(x=x, y=y, tooltip=tooltip)
    )
    layered = [cells, frames]
    if heads <= 16 and layers <= 24:
        ink = alt.condition(f"({_SURE}) && abs(datum.shade) > 0.6", alt.value("#fff"), alt.value("currentColor"))
        layered.append(placed.mark_text(fontSize=9.5).encode(x=x, y=y, text="text:N", color=ink, tooltip=tooltip))
    return finished(alt.layer(*layered).add_params(shown).properties(**map_size(layers)))


def sorted_effects(metric: str, worse: int, *, first: str = "score") -> Spec:
    """A dot with its interval for each head, from the worst cut to the best.

    >>> len(sorted_effects("accuracy", -1)["layer"])
    3
    """
    shown, rows = _shown(metric, worse, first)
    ranked = rows.transform_window(
        rank="row_number()",
        sort=[alt.SortField("bad", order="descending"), alt.SortField("loss_change", order="descending")],
    )
    x = alt.X(
        "rank:Q",
        title="heads, from the worst cut to the best",
        scale=alt.Scale(nice=False, zero=False, padding=10),
        axis=alt.Axis(grid=False, tickMinStep=1, tickCount=8),
    )
    colour = _colour()
    whiskers = ranked.mark_rule(opacity=0.55).encode(
        x=x, y=alt.Y("low_shown:Q", title="change when cut"), y2="high_shown:Q", color=colour
    )  # fmt: skip
    dots = ranked.mark_point(filled=True, size=34, opacity=0.95).encode(
        x=x, y=alt.Y("shown:Q"), color=colour, tooltip=_tooltip(metric)
    )  # fmt: skip
    return finished(alt.layer(_zero(), whiskers, dots).add_params(shown).properties(width="container", height=300))


def survivors(metric: str, worse: int, *, layers: int, first: str = "score") -> Spec:
    """Layer by layer, what is left when one head is, with its interval and its name.

    >>> survivors("BLEU", -1, layers=6)["data"]["name"]
    'rows'
    """
    shown, rows = _shown(metric, worse, first)
    placed = rows.transform_calculate(at="datum.layer + 1")
    x = alt.X(
        "at:Q", title="layer", scale=alt.Scale(zero=False, nice=False, padding=16),
        axis=alt.Axis(values=list(range(1, layers + 1)), format="d", grid=False, labelOverlap=True),
    )  # fmt: skip
    y, colour, tooltip = alt.Y("shown:Q", title="change with one head left"), _colour(), _tooltip(metric)
    stems = placed.transform_calculate(zero="0").mark_rule(opacity=0.35, strokeWidth=6).encode(
        x=x, y=alt.Y("zero:Q", title="change with one head left"), y2="shown:Q", color=colour, tooltip=tooltip
    )  # fmt: skip
    whiskers = placed.mark_rule(opacity=0.8).encode(x=x, y="low_shown:Q", y2="high_shown:Q", color=colour)
    dots = placed.mark_point(filled=True, size=46, opacity=1).encode(x=x, y=y, color=colour, tooltip=tooltip)
    layered = [_zero(), stems, whiskers, dots]
    if layers <= 16:
        names = placed.mark_text(fontSize=10.5, dx=8, align="left", baseline="middle", color="currentColor")
        layered.append(names.encode(x=x, y=y, text="name:N", color=alt.value("currentColor")))
    return finished(alt.layer(*layered).add_params(shown).properties(width="container", height=280))


def against_importance(metric: str) -> Spec:
    """A dot for each head: importance by gradients against the size of what cutting it did.

    >>> [param["name"] for param in against_importance("accuracy")["params"]]
    ['show', 'by']
    """
    shown = choice("show", ["loss_change", "change"], ["change of loss", f"change of {metric}"])
    by = choice("by", ["importance", "normalised"], ["E|dL/dξ|", "E|dL/dξ| of its layer"], "against")
    rows = rows_of_page().transform_calculate(name=_NAME, size="abs(datum[show])", gradient="datum[by]")
    tooltip = [
        alt.Tooltip("name:N", title="head"),
        alt.Tooltip("gradient:Q", title="importance", format=".3~g"),
        alt.Tooltip("loss_change:Q", title="change of loss", format="+.3~g"),
        alt.Tooltip("change:Q", title=f"change of {metric}", format="+.3~g"),
    ]
    dots = rows.mark_point(filled=True, size=42, opacity=0.7, color=WEIGHT_COLOUR).encode(
        x=alt.X("gradient:Q", title="importance", scale=alt.Scale(type="sqrt"), axis=alt.Axis(tickCount=6)),
        y=alt.Y("size:Q", title="size of the change when cut", scale=alt.Scale(type="sqrt"),
                axis=alt.Axis(tickCount=6)),
        tooltip=tooltip,
    )  # fmt: skip
    return finished(alt.layer(dots).add_params(shown, by).properties(width="container", height=300))


def two_corpora(metric: str, here: str, there: str) -> Spec:
    """A dot for each head: what cutting it did on one corpus, and on the other.

    >>> [param["name"] for param in two_corpora("accuracy", "a", "b")["params"]]
    ['show']
    """
    shown = choice("show", ["score", "loss"], [f"change of {metric}", "change of loss"])
    rows = rows_of_page().transform_calculate(
        name=_NAME, x="show == 'score' ? datum.here : datum.loss_here",
        y="show == 'score' ? datum.there : datum.loss_there",
    )  # fmt: skip
    tooltip = [
        alt.Tooltip("name:N", title="head"),
        alt.Tooltip("x:Q", title=here, format="+.3~g"),
        alt.Tooltip("y:Q", title=there, format="+.3~g"),
    ]
    ticks = alt.Axis(tickCount=6)
    dots = rows.mark_point(filled=True, size=42, opacity=0.7, color=WEIGHT_COLOUR).encode(
        x=alt.X("x:Q", title=f"change on {here}", axis=ticks),
        y=alt.Y("y:Q", title=f"change on {there}", axis=ticks),
        tooltip=tooltip,
    )
    return finished(alt.layer(*_axes(), dots).add_params(shown).properties(width="container", height=320))


def _shown(metric: str, worse: int, first: str) -> tuple[alt.Parameter, alt.Chart]:
    """A choice between score and loss, and the rows with what was chosen under one name."""
    options = {"score": f"change of {metric}", "loss": "change of loss"}
    order = [first, *(name for name in options if name != first)]
    if metric == "loss":
        order = ["loss"]
    shown = choice("show", order, [options[name] for name in order])

    def chosen(name: str) -> str:
        return f"show == 'score' ? datum.{name} : datum.loss_{name}"

    rows = rows_of_page().transform_calculate(
        name=_NAME, shown=chosen("change"), low_shown=chosen("low"), high_shown=chosen("high"),
        corrected_shown=chosen("corrected"),
    )  # fmt: skip
    rows = rows.transform_filter("isValid(datum.shown)").transform_calculate(
        bad=f"(show == 'score' ? {worse} : 1) * datum.shown"
    )  # fmt: skip
    told = rows.transform_calculate(found=f"!({_SURE}) ? 'not significant' : datum.bad > 0 ? 'worse' : 'better'")
    return shown, told


def _colour() -> alt.Color:
    """Colours of what was found: told apart by words in the legend, too."""
    domain = ["worse", "better", "not significant"]
    return alt.Color(
        "found:N", title=None, scale=alt.Scale(domain=domain, range=[WORSE, BETTER, UNSURE]),
        legend=alt.Legend(symbolType="circle"),
    )  # fmt: skip


def _zero() -> alt.Chart:
    rows = rows_of_page().transform_aggregate(count="count()").mark_rule(stroke="currentColor", opacity=0.5)
    line: alt.Chart = rows.encode(y=alt.YDatum(0, type="quantitative"))
    return line


def _axes() -> list[alt.Chart]:
    rows: alt.Chart = rows_of_page().transform_aggregate(count="count()")
    line: dict[str, Any] = {"stroke": "currentColor", "opacity": 0.35}
    return [
        rows.mark_rule(**line).encode(y=alt.YDatum(0, type="quantitative")),
        rows.mark_rule(**line).encode(x=alt.XDatum(0, type="quantitative")),
    ]


def _tooltip(metric: str) -> list[alt.Tooltip]:
    return [
        alt.Tooltip("name:N", title="head"),
        alt.Tooltip("change:Q", title=f"change of {metric}", format="+.3~g"),
        alt.Tooltip("low:Q", title="from", format="+.3~g"),
        alt.Tooltip("high:Q", title="to", format="+.3~g"),
        alt.Tooltip("corrected:Q", title="p, corrected", format=".2~g"),
        alt.Tooltip("loss_change:Q", title="change of loss", format="+.3~g"),
        alt.Tooltip("loss_corrected:Q", title="p of the loss, corrected", format=".2~g"),
    ]
