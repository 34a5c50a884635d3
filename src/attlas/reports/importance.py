"""The report of an importance study: which heads the loss depends on, to first order, and whether cutting agrees.

First what was found, in sentences; then the map of heads, importance against what cutting each head really did (where
that was measured), the table of heads, and how it was made.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from html import escape
from typing import TYPE_CHECKING, Any

import altair as alt

from attlas.ids import paper_label
from attlas.reports.charts import WEIGHT_COLOUR, Spec, choice, finished, head_cells, map_size, rows_of_page
from attlas.reports.findings import number
from attlas.reports.made import counted, made, when_and_what
from attlas.reports.page import Figure, Section, grid, render
from attlas.reports.tables import share, table

if TYPE_CHECKING:
    import pyarrow

    from attlas.store import Manifest, Result

WORDS = {
    "ξ": "a gate on the output of a head: 1 leaves it as it is, 0 cuts the head.",
    "E|dL/dξ|": """importance: how much the loss of a text would change, per unit, if the head's gate were moved a
    little; its size, averaged over texts.""",
    "of its layer": """importance divided by the Euclidean norm of its layer's, since layers differ in how large their
    gradients are; the order in which <code>attlas prune</code> removes heads.""",
    "mean dL/dξ": """the same with its sign: to first order the loss changes by minus this when the head is cut, so
    a positive one is a head that the loss would be better off without.""",
}
LEADS = {
    "map": """Rows are layers, columns are heads; the brighter, the more the loss depends on it. Point at a cell for
    its interval over texts.""",
    "measured": """Each dot is a head: importance, from one pass of gradients, against the size of the change that
    cutting it really made, from as many runs as there are heads. If the first could stand for the second, dots would
    rise from left to right.""",
    "table": "Every head, the most important of its layer first.",
}
LIMITS = """<ul>
<li><b>A derivative is local.</b> It is the slope where the gate is open; closing it is a long way to go, and a loss
is not straight.</li>
<li><b>One head at a time.</b> Two heads that do the same thing may both look unimportant; removing both may
hurt.</li>
<li><b>The size has no sign.</b> A head that harms the loss is as important here as one that helps.</li>
<li><b>The task decides.</b> What this loss does not depend on may matter to another.</li>
</ul>"""


def importance_page(result: Result) -> str:
    """Write the page of an importance study's result.

    >>> from types import SimpleNamespace
    >>> manifest = SimpleNamespace(
    ...     study="importance", plan={}, versions={}, model={"name": "tiny"}, corpus={"name": "a book"}, seed=0,
    ...     skipped={}, started="2025-01-01T00:00:00+00:00", seconds=1.5,
    ... )
    >>> "Which heads does tiny need?" in importance_page(SimpleNamespace(manifest=manifest, tables={}))
    True
    """
    study = _Study(dict(result.tables), result.manifest)
    makers = (_in_short, _map, _measured, _table)
    sections = [section for maker in makers if (section := maker(study)) is not None]
    sections.append(made(study.manifest, LIMITS))
    shown = {"importance": study.tables["importance"]} if "importance" in study.tables else {}
    title = f"Which heads does {study.name} need?"
    return render(title, _opening(study), sections, shown, {"streams": study.streams})


@dataclass(frozen=True)
class _Study:
    """The tables and the manifest, and what several sections ask of them."""

    tables: Mapping[str, pyarrow.Table]
    manifest: Manifest

    @property
    def name(self) -> str:
        return str(self.manifest.model.get("name", "a model"))

    @cached_property
    def rows(self) -> list[dict[str, Any]]:
        return self.tables["importance"].to_pylist() if "importance" in self.tables else []

    @cached_property
    def streams(self) -> list[str]:
        return list(dict.fromkeys(row["stream"] for row in self.rows))

    @cached_property
    def loss(self) -> dict[str, Any]:
        return dict(self.tables["loss"].to_pylist()[0]) if "loss" in self.tables else {}

    @cached_property
    def correlation(self) -> list[dict[str, Any]]:
        return self.tables["correlation"].to_pylist() if "correlation" in self.tables else []

    @cached_property
    def size(self) -> dict[str, int]:
        return {what: 1 + max((row[what[:-1]] for row in self.rows), default=0) for what in ("layers", "heads")}


def _opening(study: _Study) -> str:
    corpus = escape(str(study.manifest.corpus.get("name", "unnamed")))
    counts = counted(study.manifest)
    task = escape(str(study.loss.get("task", "a task")))
    lead = (
        f"How much does the loss of <b>{escape(study.name)}</b> in the task <b>{task}</b> on <b>{corpus}</b>"
        f"{f' ({counts})' if counts else ''} depend on each of its heads? One pass of gradients asks all of them at "
        f"once. {when_and_what(study.manifest)}"
    )
    words = "".join(f"<div><dt>{term}</dt><dd>{meaning}</dd></div>" for term, meaning in WORDS.items())
    return f'<p class="lead">{lead}</p>\n<dl class="words">{words}</dl>'


def _in_short(study: _Study) -> Section | None:
    if not study.rows:
        return None
    items = []
    for stream in study.streams:
        rows = [row for row in study.rows if row["stream"] == stream]
        total = sum(row["value"] for row in rows) or 1.0
        most = sorted(rows, key=lambda row: -row["value"])
        half = _half([row["value"] for row in most])
        names = ", ".join(f"{_label(row)} ({number(row['value'])})" for row in most[:3])
        where = f" of the {stream}" if len(study.streams) > 1 else ""
        items.append(
            f"The heads{where} that the loss depends on most are <b>{names}</b>. {half} of {len(rows)} heads make up "
            f"half of all importance; even shares would take {(len(rows) + 1) // 2}."
        )
        layers = [sum(row["value"] for row in rows if row["layer"] == layer) for layer in range(study.size["layers"])]
        best = max(range(len(layers)), key=lambda layer: layers[layer])
        items.append(
            f"Layer {best + 1}{where} has the largest share of it: {100 * layers[best] / total:.0f} % "
            f"(even: {100 / max(1, sum(value > 0 for value in layers)):.0f} %)."
        )
    for row in study.correlation[:1]:
        items.append(
            "Its rank correlation with the size of the changes of loss that cutting heads really made is "
            f"<b>{share(row['spearman'])}</b> ({share(row['spearman_low'])} to {share(row['spearman_high'])}, "
            f"{row['n']} heads)."
        )
    about = f"<p>The loss of a text is <b>{number(study.loss['value'])}</b> on average.</p>" if study.loss else ""
    body = f'<ol class="findings">{"".join(f"<li>{item}</li>" for item in items)}</ol>'
    return Section("short", "In short", about, body)


def _half(values: Sequence[float]) -> int:
    """How many of the largest values make up half of their sum."""
    total, so_far = sum(values), 0.0
    for count, value in enumerate(values, start=1):
        so_far += value
        if so_far >= total / 2:
            return count
    return len(values)


def _map(study: _Study) -> Section | None:
    if not study.rows:
        return None
    figures = (
        Figure(
            "map", "Every head", head_map(**study.size), "importance", label="Heat map of importance, layer by head"
        ),
    )
    return Section("map", "Head by head", f"<p>{LEADS['map']}</p>", grid(figures, "wide"), figures, "Map")


def _measured(study: _Study) -> Section | None:
    if not study.correlation:
        return None
    label = "Importance against the size of the measured change of loss, one dot for each head"
    figures = (Figure("measured", "Importance against cutting", against_cutting(), "importance", label=label),)
    names = {"value": "E|dL/dξ|", "normalised": "of its layer"}
    rows = [
        [names[row["quantity"]], row["against"].replace("_", " of ").replace("|change|", "|change of score|"),
         share(row["spearman"]), f"{share(row['spearman_low'])} to {share(row['spearman_high'])}",
         share(row["pearson"]), f"{row['n']}"]
        for row in study.correlation
    ]  # fmt: skip
    head = ["importance", "against", "Spearman", "95 %", "Pearson", "heads"]
    body = grid(figures, "wide") + table(head, rows, label="Correlations", text=(0, 1))
    return Section("measured", "Against cutting", f"<p>{LEADS['measured']}</p>", body, figures, "Measured")


def _table(study: _Study) -> Section | None:
    if not study.rows:
        return None
    cut = "loss_change" in study.rows[0]
    head = ["stream", "head", "E|dL/dξ|", "95 %", "of its layer", "mean dL/dξ"]
    head += ["change of loss when cut", "of score"] if cut else []
    rows = []
    for row in sorted(study.rows, key=lambda row: (study.streams.index(row["stream"]), -row["normalised"])):
        line = [
            row["stream"], _label(row), f"{row['value']:.2e}", f"{row['low']:.1e} to {row['high']:.1e}",
            share(row["normalised"]), f"{row['signed']:+.1e}",
        ]  # fmt: skip
        rows.append(line + ([_signed(row["loss_change"]), _signed(row["change"])] if cut else []))
    body = table(head, rows, label="Heads", text=(0,))
    return Section("table", "All heads", f"<p>{LEADS['table']}</p>", body, short="Table")


def head_map(*, layers: int, heads: int) -> Spec:
    """A heat map, layer by head, of importance as it is or within its layer.

    >>> [param["name"] for param in head_map(layers=6, heads=12)["params"]]
    ['show']
    """
    shown = choice("show", ["normalised", "value"], ["of its layer", "E|dL/dξ|"])
    rows = rows_of_page().transform_calculate(shown="datum[show]")
    cells = head_cells(rows, "normalised:Q", layers=layers, heads=heads)
    return finished(alt.layer(*cells).add_params(shown).properties(**map_size(layers)))


def against_cutting() -> Spec:
    """A dot for each head: importance against the size of the measured change of loss.

    >>> against_cutting()["layer"][0]["mark"]["type"]
    'point'
    """
    shown = choice("show", ["value", "normalised"], ["E|dL/dξ|", "of its layer"])
    rows = rows_of_page().transform_filter("isValid(datum.loss_change)").transform_calculate(
        shown="datum[show]", size="abs(datum.loss_change)", name="(datum.layer + 1) + '-' + (datum.head + 1)"
    )  # fmt: skip
    tooltip = [
        alt.Tooltip("name:N", title="head"),
        alt.Tooltip("shown:Q", title="importance", format=".3~g"),
        alt.Tooltip("loss_change:Q", title="change of loss when cut", format="+.3~g"),
        alt.Tooltip("change:Q", title="change of score", format="+.3~g"),
    ]
    dots = rows.mark_point(filled=True, size=42, opacity=0.7, color=WEIGHT_COLOUR).encode(
        x=alt.X("shown:Q", title="importance", scale=alt.Scale(type="sqrt"), axis=alt.Axis(tickCount=6)),
        y=alt.Y(
            "size:Q", title="|change of loss| when cut", scale=alt.Scale(type="sqrt"), axis=alt.Axis(tickCount=6)
        ),
        tooltip=tooltip,
    )
    return finished(alt.layer(dots).add_params(shown).properties(width="container", height=300))


def _label(row: Mapping[str, Any]) -> str:
    return paper_label(row["layer"], row["head"])


def _signed(value: float | None) -> str:
    return "" if value is None else f"{value:+.2g}".replace("-", "−")
