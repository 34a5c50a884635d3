"""The charts of the study of key words, as Vega-Lite specifications that carry no data (see
:mod:`attlas.reports.charts`).

In maps blue is more than nothing would give, red less; what *nothing* is depends on the quantity: a difference of 0,
a ratio of 1, an area of one half. Charts that have a choice of ``kind`` keep it the same on the whole page.
"""

from __future__ import annotations

from collections.abc import Sequence

import altair as alt

from attlas.reports.charts import NORM_COLOUR, WEIGHT_COLOUR, Spec, choice, finished, map_size, rows_of_page

GREY = "#8a8f98"
PARTS = {"cross-validated": NORM_COLOUR, "scored on": WEIGHT_COLOUR}
QUANTITIES = {
    "relative": "received by key words less by others",
    "times": "received by key words over by others",
    "auc": "AUC within texts",
    "saved": "nats saved against even attention",
}
_NAME = "(datum.layer + 1) + '-' + (datum.head + 1)"
_WRITTEN = (
    "!isValid(datum.shown) ? '' : abs(datum.shown) < 0.00995 ? (datum.shown == 0 ? '0'"
    " : replace(format(datum.shown, '.1r'), regexp('^([-−]?)0'), '$1'))"
    " : abs(datum.shown) < 0.995 ? replace(format(datum.shown, '.2f'), regexp('^([-−]?)0'), '$1')"
    " : format(datum.shown, abs(datum.shown) < 10 ? '.1f' : '.0f')"
)
_DIVERGING = alt.Scale(domain=[-1, 0, 1], range=["#b2182b", "#f4f2ef", "#2166ac"], interpolate="lab")


def head_quantity(quantities: Sequence[str], kinds: Sequence[str], *, layers: int, heads: int) -> Spec:
    """A cell for each head with its number; chosen heads are framed. With several quantities one can be chosen.

    >>> spec = head_quantity(["relative", "times"], ["norm, mean"], layers=6, heads=12)
    >>> [param["name"] for param in spec["params"]]
    ['kind', 'show']
    """
    params = [choice("kind", list(kinds), label="attention by")]
    if len(quantities) > 1:
        params.append(choice("show", list(quantities), [QUANTITIES[name] for name in quantities]))
        shown = "datum[show]"
        apart = "show == 'times' ? log(max(datum.shown, 1e-3)) : datum.shown"
    else:
        shown = f"datum.{quantities[0]}"
        apart = "datum.shown - 0.5" if quantities[0] == "auc" else "datum.shown"
    rows = (
        rows_of_page()
        .transform_filter("datum.kind == kind")
        .transform_calculate(shown=shown, name=_NAME)
        .transform_filter("isValid(datum.shown)")
        .transform_calculate(apart=apart)
        .transform_calculate(size="abs(datum.apart)")
        .transform_joinaggregate(top="max(size)")
        .transform_calculate(
            shade="datum.top > 0 ? datum.apart / datum.top : 0", text=_WRITTEN, row="datum.layer + 1",
            column="datum.head + 1", auc_interval=_interval("auc_low", "auc_high"),
            interval=_interval("low", "high"), saved_interval=_interval("saved_low", "saved_high"),
        )
    )  # fmt: skip
    tooltip = [
        alt.Tooltip("name:N", title="head"),
        alt.Tooltip("key:Q", title="key words receive", format=".3~r"),
        alt.Tooltip("other:Q", title="others", format=".3~r"),
        alt.Tooltip("relative:Q", title="difference", format="+.3~r"),
        alt.Tooltip("interval:N", title="its 95 % interval"),
        alt.Tooltip("p_holm:Q", title="p, corrected", format=".2~g"),
        alt.Tooltip("auc:Q", title="AUC", format=".3f"),
        alt.Tooltip("auc_interval:N", title="its 95 % interval"),
        alt.Tooltip("twin_auc:Q", title="AUC, untrained twin", format=".3f"),
        alt.Tooltip("saved:Q", title="nats saved", format="+.3f"),
        alt.Tooltip("saved_interval:N", title="its 95 % interval"),
        alt.Tooltip("choosing_auc:Q", title="AUC where chosen", format=".3f"),
    ]
    cells = _cells(rows, tooltip, layers=layers, heads=heads)
    framed = rows.transform_filter("datum.chosen").mark_rect(filled=False, stroke="#d98324", strokeWidth=2.2)
    x, y = _axes()
    layered = alt.layer(*cells, framed.encode(x=x, y=y, tooltip=tooltip)).add_params(*params)
    return finished(layered.properties(**map_size(layers)))


def sorted_heads(kinds: Sequence[str]) -> Spec:
    """A dot with its interval for each head, from the best to the worst, and the same head of the untrained twin
    where it is known.

    >>> [param["name"] for param in sorted_heads(["norm, mean"])["params"]]
    ['kind', 'show']
    """
    names = {"auc": "AUC within texts", "relative": "relative attention", "saved": "nats saved"}
    params = [
        choice("kind", list(kinds), label="attention by"),
        choice("show", list(names), list(names.values())),
    ]
    bounds = {
        side: f"show == 'auc' ? datum.auc_{side} : show == 'saved' ? datum.saved_{side} : datum.{side}"
        for side in ("low", "high")
    }
    ranked = (
        rows_of_page()
        .transform_filter("datum.kind == kind")
        .transform_calculate(
            name=_NAME, shown="datum[show]", from_=bounds["low"], to=bounds["high"],
            twin="show == 'auc' ? datum.twin_auc : null", found="datum.chosen ? 'chosen' : 'not chosen'",
        )
        .transform_filter("isValid(datum.shown)")
        .transform_window(rank="row_number()", sort=[alt.SortField("shown", order="descending")])
    )  # fmt: skip
    x = alt.X(
        "rank:Q", title="heads, from the best to the worst on the texts for scoring",
        scale=alt.Scale(nice=False, zero=False, padding=8), axis=alt.Axis(grid=False, tickMinStep=1, tickCount=10),
    )  # fmt: skip
    y = alt.Y("shown:Q", title=None, scale=alt.Scale(zero=False), axis=alt.Axis(tickCount=6))
    colour = alt.Color(
        "found:N", title=None, sort=["chosen", "not chosen"],
        scale=alt.Scale(domain=["chosen", "not chosen", "untrained twin"], range=["#d98324", WEIGHT_COLOUR, GREY]),
        legend=alt.Legend(symbolType="circle", symbolOpacity=1),
    )  # fmt: skip
    tooltip = [
        alt.Tooltip("name:N", title="head"),
        alt.Tooltip("shown:Q", title="value", format=".3~r"),
        alt.Tooltip("from_:Q", title="95 %, from", format=".3~r"),
        alt.Tooltip("to:Q", title="to", format=".3~r"),
        alt.Tooltip("twin:Q", title="untrained twin", format=".3f"),
    ]
    even = (
        rows_of_page()
        .transform_aggregate(count="count()")
        .transform_calculate(at="show == 'auc' ? 0.5 : 0")
        .mark_rule(strokeDash=[4, 3], stroke="currentColor", opacity=0.6)
        .encode(y=alt.Y("at:Q"))
    )
    twins = (
        ranked.transform_filter("isValid(datum.twin)")
        .transform_calculate(found="'untrained twin'")
        .mark_point(filled=True, size=14, opacity=0.7)
        .encode(x=x, y=alt.Y("twin:Q"), color=colour, tooltip=tooltip)
    )
    whiskers = ranked.mark_rule(opacity=0.5).encode(x=x, y=alt.Y("from_:Q"), y2="to:Q", color=colour)
    dots = ranked.mark_point(filled=True, size=30, opacity=0.95).encode(x=x, y=y, color=colour, tooltip=tooltip)
    layered = alt.layer(even, twins, whiskers, dots).add_params(*params)
    return finished(layered.properties(width="container", height=300))


def two_parts(kinds: Sequence[str]) -> Spec:
    """A dot for each head: its AUC on the texts for choosing, and on those for scoring.

    >>> [param["name"] for param in two_parts(["norm, mean"])["params"]]
    ['kind']
    """
    rows = (
        rows_of_page()
        .transform_filter("datum.kind == kind")
        .transform_calculate(name=_NAME, found="datum.chosen ? 'chosen' : 'not chosen'")
    )
    x = alt.X("choosing_auc:Q", title="AUC on the texts for choosing", scale=alt.Scale(zero=False, nice=True))
    y = alt.Y("auc:Q", title="AUC on the texts for scoring", scale=alt.Scale(zero=False, nice=True))
    colour = alt.Color(
        "found:N", title=None,
        scale=alt.Scale(domain=["chosen", "not chosen"], range=["#d98324", WEIGHT_COLOUR]),
        legend=alt.Legend(symbolType="circle", symbolOpacity=1),
    )  # fmt: skip
    tooltip = [
        alt.Tooltip("name:N", title="head"),
        alt.Tooltip("choosing_auc:Q", title="for choosing", format=".3f"),
        alt.Tooltip("auc:Q", title="for scoring", format=".3f"),
    ]
    line = (
        rows_of_page()
        .transform_filter("datum.kind == kind")
        .transform_aggregate(least="min(auc)", most="max(auc)")
        .transform_fold(["least", "most"], as_=["end", "at"])
        .mark_line(strokeDash=[4, 3], stroke="currentColor", opacity=0.5, strokeWidth=1)
        .encode(x=alt.X("at:Q"), y=alt.Y("at:Q"))
    )
    dots = rows.mark_point(filled=True, size=38, opacity=0.8).encode(x=x, y=y, color=colour, tooltip=tooltip)
    layered = alt.layer(line, dots).add_params(choice("kind", list(kinds), label="attention by"))
    return finished(layered.properties(width="container", height=300))


def heads_kept() -> Spec:
    """F1 of the regression against the number of heads that it keeps, with intervals; dots have the AUC, too.

    >>> heads_kept()["layer"][0]["encoding"]["x"]["scale"]["type"]
    'log'
    """
    rows = rows_of_page()
    x = alt.X(
        "heads:Q", title="heads kept (each time those with the largest weights)",
        scale=alt.Scale(type="log", nice=False, padding=10), axis=alt.Axis(grid=False, tickCount=8, format="~d"),
    )  # fmt: skip
    y = alt.Y("f1:Q", title="F1 of words", scale=alt.Scale(zero=False), axis=alt.Axis(tickCount=6))
    colour = alt.Color(
        "part:N", title=None, scale=alt.Scale(domain=list(PARTS), range=list(PARTS.values())),
        legend=alt.Legend(symbolOpacity=1),
    )  # fmt: skip
    tooltip = [
        alt.Tooltip("part:N"),
        alt.Tooltip("heads:Q", title="heads"),
        alt.Tooltip("f1:Q", title="F1", format=".3f"),
        alt.Tooltip("low:Q", title="95 %, from", format=".3f"),
        alt.Tooltip("high:Q", title="to", format=".3f"),
        alt.Tooltip("precision:Q", format=".3f"),
        alt.Tooltip("recall:Q", format=".3f"),
        alt.Tooltip("auc:Q", title="AUC", format=".3f"),
    ]
    bands = rows.mark_area(opacity=0.16).encode(x=x, y=alt.Y("low:Q"), y2="high:Q", color=colour)
    lines = rows.mark_line(strokeWidth=1.9).encode(x=x, y=y, color=colour)
    dots = rows.mark_point(filled=True, size=36, opacity=1).encode(x=x, y=y, color=colour, tooltip=tooltip)
    return finished(alt.layer(bands, lines, dots).properties(width="container", height=290))


def weight_map(*, layers: int, heads: int) -> Spec:
    """The weights of the regression, one cell for each head: blue speaks for a key word, red against.

    >>> weight_map(layers=6, heads=12)["height"]
    156
    """
    rows = (
        rows_of_page()
        .transform_calculate(shown="datum.weight", name=_NAME, size="abs(datum.weight)")
        .transform_joinaggregate(top="max(size)")
        .transform_calculate(
            shade="datum.top > 0 ? datum.shown / datum.top : 0", text=_WRITTEN, row="datum.layer + 1",
            column="datum.head + 1", interval=_interval("low", "high"), place="datum.order",
        )
    )  # fmt: skip
    tooltip = [
        alt.Tooltip("name:N", title="head"),
        alt.Tooltip("weight:Q", title="weight", format="+.3f"),
        alt.Tooltip("interval:N", title="range over folds"),
        alt.Tooltip("place:Q", title="place by size"),
    ]
    cells = _cells(rows, tooltip, layers=layers, heads=heads)
    return finished(alt.layer(*cells).properties(**map_size(layers)))


def share_map(*, layers: int, heads: int) -> Spec:
    """The shares of heads in the mix, one cell for each head, in per cent.

    >>> share_map(layers=6, heads=12)["height"]
    156
    """
    rows = (
        rows_of_page()
        .transform_calculate(shown="datum.share", name=_NAME)
        .transform_joinaggregate(top="max(shown)", even="mean(shown)")
        .transform_calculate(
            text="datum.shown < 0.0005 ? '0' : format(100 * datum.shown, '.1f')",
            row="datum.layer + 1",
            column="datum.head + 1",
        )
    )
    tooltip = [
        alt.Tooltip("name:N", title="head"),
        alt.Tooltip("share:Q", title="share", format=".3~r"),
        alt.Tooltip("even:Q", title="an even share", format=".3~r"),
    ]
    x, y = _axes()
    colour = alt.Color(
        "shown:Q", title=None, scale=alt.Scale(scheme="viridis", domainMin=0, nice=False),
        legend=alt.Legend(tickCount=4, format=".1~%", labelExpr="isFinite(datum.value) ? datum.label : ''"),
    )  # fmt: skip
    cells = [rows.mark_rect().encode(x=x, y=y, color=colour, tooltip=tooltip)]
    if heads <= 16 and layers <= 24:
        ink = alt.condition("datum.shown > 0.6 * datum.top", alt.value("#111"), alt.value("#fff"))
        cells.append(rows.mark_text(fontSize=9.5).encode(x=x, y=y, text="text:N", color=ink, tooltip=tooltip))
    return finished(alt.layer(*cells).properties(**map_size(layers)))


def predictor_bars(names: Sequence[str]) -> Spec:
    """A bar with its interval for each predictor of key words.

    >>> [param["name"] for param in predictor_bars(["all heads"])["params"]]
    ['show']
    """
    shown = choice("show", ["f1", "auc"], ["F1 of words", "AUC"])
    rows = rows_of_page().transform_calculate(
        shown="datum[show]", from_="show == 'f1' ? datum.low : datum.auc_low",
        to="show == 'f1' ? datum.high : datum.auc_high",
    ).transform_filter("isValid(datum.shown)")  # fmt: skip
    y = alt.Y("predictor:N", title=None, sort=list(names), axis=alt.Axis(labelLimit=300, labelFontSize=12))
    x = alt.X("shown:Q", title=None, scale=alt.Scale(domain=[0, 1], nice=False), axis=alt.Axis(tickCount=6))
    tooltip = [
        alt.Tooltip("predictor:N"),
        alt.Tooltip("shown:Q", title="value", format=".3f"),
        alt.Tooltip("from_:Q", title="95 %, from", format=".3f"),
        alt.Tooltip("to:Q", title="to", format=".3f"),
    ]
    bars = rows.mark_bar(color=WEIGHT_COLOUR, opacity=0.75, height={"band": 0.62}).encode(y=y, x=x, tooltip=tooltip)
    whiskers = rows.mark_rule(stroke="currentColor", strokeWidth=1.5).encode(y=y, x=alt.X("from_:Q"), x2="to:Q")
    layered = alt.layer(bars, whiskers).add_params(shown)
    return finished(layered.properties(width="container", height=30 * max(2, len(names))))


def _axes() -> tuple[alt.X, alt.Y]:
    x = alt.X("column:O", title="head", axis=alt.Axis(labelAngle=0, labelOverlap=True, orient="top"))
    return x, alt.Y("row:O", title="layer", axis=alt.Axis(labelOverlap=True))


def _cells(rows: alt.Chart, tooltip: list[alt.Tooltip], *, layers: int, heads: int) -> list[alt.Chart]:
    """Cells by their shade from -1 to 1, with numbers where there is room."""
    x, y = _axes()
    colour = alt.Color("shade:Q", scale=_DIVERGING, legend=None)
    cells = [rows.mark_rect().encode(x=x, y=y, color=colour, tooltip=tooltip)]
    if heads <= 16 and layers <= 24:
        ink = alt.condition("abs(datum.shade) > 0.55", alt.value("#fff"), alt.value("#222"))
        cells.append(rows.mark_text(fontSize=9.5).encode(x=x, y=y, text="text:N", color=ink, tooltip=tooltip))
    return cells


def _interval(low: str, high: str) -> str:
    known = f"format(datum.{low}, '.3~r') + ' to ' + format(datum.{high}, '.3~r')"
    return f"isValid(datum.{low}) ? {known} : 'none'"
