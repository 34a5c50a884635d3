"""The report of pruning: how many heads can go, which went, and what the smaller model is like.

First what was found, in sentences; then the curves, what can go for how much, the map of heads, the smaller model's
size, score and speed, and how it was made.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from html import escape
from typing import TYPE_CHECKING, Any

from attlas.reports import prune_charts as charts
from attlas.reports.findings import number
from attlas.reports.made import counted, made, when_and_what
from attlas.reports.page import Figure, Section, grid, render
from attlas.reports.tables import table

if TYPE_CHECKING:
    import pyarrow

    from attlas.store import Manifest, Result

PUBLISHED = {"BERT on MNLI: 40 %": 0.4, "translation: 20 %": 0.2}
STAGES = {"whole": "whole model", "cut": "without the heads", "retuned": "and trained again"}
WORDS = {
    "unit": """what is removed at once: a head, or in models whose heads share keys and values the whole group of
    heads that do, since no part of a group can be taken out of the weights.""",
    "by importance": """least important first: E|dL/dξ| of a head's gate ξ, added up over a group and divided by the
    Euclidean norm of its layer.""",
    "by measured loss": "first what cost least when it was removed alone (the change of the mean loss of a text).",
    "by fall of the score": "first what cost least of the score when it was removed alone.",
    "reversed": "first what cost most when it was removed alone: how fast the score can fall.",
    "by chance": "three orders drawn by the seed: what any order is worth.",
    "gated, pruned": """heads closed by a gate of 0 are still computed; heads that are pruned are gone from the
    weights. Both give the same answers.""",
}
LEADS = {
    "curve": """Heads are removed in order, by gates, and the model is scored after every step on texts that the order
    was not made on. Bands are 95 % intervals over texts (for orders by chance, the range of the draws). Dotted lines
    mark a score that is worse by 1 % and by 5 %. Upright lines are what was published of other models and tasks
    (Michel et al. 2019): until there, BERT and a translation model lost little.""",
    "shares": """The share of heads that are gone when the score has fallen by so much of the whole model's; in a
    straight line between steps, the first crossing. The interval is over resampled texts. "Never" means that even the
    model without any head in these layers is not that much worse.""",
    "map": """Rows are layers, columns are heads. The darker, the sooner a head goes; choose the order, or the numbers
    that made it. Heads with a cross were taken out of the weights.""",
    "sizes": """The model before, with the heads gone from its weights, and (if asked for) trained again; all scored
    on the same texts. <i>Difference</i> is the largest between its outputs and those of the gated model, over the
    largest output, on texts of the corpus and on a batch with padding.""",
    "speed": """Milliseconds of one pass over random pieces, without the language-model head, which no pruning
    touches; the three took turns. Above the dashed line is faster than the whole model.""",
}
LIMITS = """<ul>
<li><b>An order is no optimum.</b> Heads are ranked one by one; which set of heads can go together is another
question.</li>
<li><b>The task decides.</b> What this score does not need may matter to another.</li>
<li><b>Heads that go are not replaced.</b> A model that is trained again after the cut may do well with far
fewer.</li>
<li><b>Speed is of this machine.</b> Attention is a part of the work; most of it is elsewhere, so half the heads are
never twice the speed.</li>
</ul>"""


def prune_page(result: Result) -> str:
    """Write the page of a pruning.

    >>> from types import SimpleNamespace
    >>> manifest = SimpleNamespace(
    ...     study="prune", plan={}, versions={}, model={"name": "tiny"}, corpus={"name": "a book"}, seed=0,
    ...     skipped={}, started="2025-01-01T00:00:00+00:00", seconds=1.5,
    ... )
    >>> "How many heads does tiny need?" in prune_page(SimpleNamespace(manifest=manifest, tables={}))
    True
    """
    study = _Study(dict(result.tables), result.manifest)
    makers = (_in_short, _curves, _shares, _map, _sizes, _speed)
    sections = [section for maker in makers if (section := maker(study)) is not None]
    sections.append(made(study.manifest, LIMITS))
    shown = {name: study.tables[name] for name in ("curve", "speed") if name in study.tables}
    if "order" in study.tables:
        shown["order"] = study.with_shares
    return render(
        f"How many heads does {study.name} need?", _opening(study), sections, shown, {"streams": study.streams}
    )


@dataclass(frozen=True)
class _Study:
    """The tables and the manifest, and what several sections ask of them."""

    tables: Mapping[str, pyarrow.Table]
    manifest: Manifest

    def rows(self, name: str) -> list[dict[str, Any]]:
        return self.tables[name].to_pylist() if name in self.tables else []

    @property
    def name(self) -> str:
        return str(self.manifest.model.get("name", "a model"))

    @property
    def options(self) -> Mapping[str, Any]:
        found: Mapping[str, Any] = self.manifest.plan.get("options", {})
        return found

    @cached_property
    def streams(self) -> list[str]:
        return list(dict.fromkeys(row["stream"] for row in self.rows("order")))

    @cached_property
    def orders(self) -> list[str]:
        known = {row["order"] for row in self.rows("shares")}
        return [name for name in charts.ORDERS if name in known]

    @cached_property
    def metric(self) -> tuple[str, str]:
        """The name of the score, and which way is better."""
        for name in ("shares", "sizes"):
            for row in self.rows(name):
                return row["metric"], row["better"]
        return "score", "higher"

    @cached_property
    def whole(self) -> float | None:
        found = next((row["score"] for row in [*self.rows("shares"), *self.rows("sizes")]), None)
        return None if found is None else float(found)

    @cached_property
    def units(self) -> tuple[int, int]:
        """How many heads there are, and in how many units."""
        rows = self.rows("order")
        return len(rows), len({row["unit"] for row in rows})

    @cached_property
    def with_shares(self) -> pyarrow.Table:
        """The table of heads, with the share of units that are gone once each is."""
        import pyarrow

        table = self.tables["order"]
        for name in ("importance", "loss"):
            if f"{name}_turn" in table.column_names:
                gone = [(turn + 1) / self.units[1] for turn in table.column(f"{name}_turn").to_pylist()]
                table = table.append_column(f"{name}_share", pyarrow.array(gone))
        return table


def _opening(study: _Study) -> str:
    corpus = escape(str(study.manifest.corpus.get("name", "unnamed")))
    counts, task = counted(study.manifest), escape(str(study.options.get("task", "a task")))
    lead = (
        f"Heads of <b>{escape(study.name)}</b> are removed one after another. How good is it at <b>{task}</b> on "
        f"<b>{corpus}</b>{f' ({counts})' if counts else ''} without them? {when_and_what(study.manifest)}"
    )
    heads, units = study.units
    skip = {label for name, label in charts.ORDERS.items() if name not in study.orders}
    skip |= {"unit"} if heads == units else set()
    words = "".join(
        f"<div><dt>{term}</dt><dd>{meaning}</dd></div>" for term, meaning in WORDS.items() if term not in skip
    )
    return f'<p class="lead">{lead}</p>\n<dl class="words">{words}</dl>'


def _in_short(study: _Study) -> Section | None:
    items = []
    shares = study.rows("shares")
    metric, better = study.metric
    verb = "fallen" if better == "higher" else "risen"
    for order in study.orders:
        one, five = (
            [row for row in shares if row["order"] == order and row["fall"] == fall] for fall in (0.01, 0.05)
        )
        if order == "random":
            items.append(f"By chance, 1 % is lost {_when(one)}, and 5 % {_when(five)}.")
        else:
            items.append(
                f"Removed {charts.ORDERS[order]}: {metric} has {verb} by 1 % <b>{_when(one)}</b> "
                f"({_interval(one[0])}), and by 5 % <b>{_when(five)}</b>."
            )
    best = _best(study)
    if best:
        items.append(best)
    heads, units = study.units
    if units < heads:
        items.append(f"Its {heads} heads share keys and values in {units} groups, and go group by group.")
    items += _cut_in_words(study)
    if not items:
        return None
    about = ""
    if study.whole is not None:
        about = f"<p>The whole model's {metric} is <b>{number(study.whole)}</b>.</p>"
    body = f'<ol class="findings">{"".join(f"<li>{item}</li>" for item in items)}</ol>'
    return Section("short", "In short", about, body)


def _best(study: _Study) -> str:
    """Whether the model is ever better with fewer heads than with all."""
    _, better = study.metric
    rows = [row for row in study.rows("curve") if row["order"] != "random" and row["score"] is not None]
    if not rows or study.whole is None:
        return ""
    sign = 1 if better == "higher" else -1
    top = max(rows, key=lambda row: sign * row["score"])
    if sign * (top["score"] - study.whole) <= 0 or not top["share"]:
        return ""
    return (
        f"It is at its best with {_share(top['share'])} of its heads gone {charts.ORDERS[top['order']]}: "
        f"<b>{number(top['score'])}</b> ({number(top['low'])} to {number(top['high'])}); as the best of all steps, "
        "that may be luck."
    )


def _cut_in_words(study: _Study) -> list[str]:
    rows = {row["stage"]: row for row in study.rows("sizes")}
    if "cut" not in rows:
        return []
    whole, cut = rows["whole"], rows["cut"]
    items = [
        f"The smaller model has <b>{cut['heads']} of {whole['heads']} heads</b> and {_millions(cut['parameters'])} "
        f"instead of {_millions(whole['parameters'])} million parameters; {study.metric[0]} is "
        f"<b>{number(cut['score'])}</b> instead of {number(whole['score'])}"
        + (f", and {number(rows['retuned']['score'])} after training again" if "retuned" in rows else "")
        + f". Its outputs are those of the gated model {_apart(cut['difference'])}."
    ]
    if cut["silent_layers"]:
        count = cut["silent_layers"]
        items.append(
            f"{count} {'layer has' if count == 1 else 'layers have'} lost all heads: attention there adds its output "
            "bias and nothing else (one head's shape is kept, with zeros, since the model library cannot do without)."
        )
    items.append(
        "Any program can open it: its configuration says how many heads there are."
        if cut["plain"]
        else "Only <code>attlas.load</code> opens it: its configuration cannot say that layers have these heads."
    )
    return items


def _curves(study: _Study) -> Section | None:
    if not study.orders or study.whole is None:
        return None
    metric, better = study.metric
    sign = -1 if better == "higher" else 1
    bars = {
        f"{fall} % {'less' if sign < 0 else 'more'}": study.whole + sign * abs(study.whole) * fall / 100
        for fall in (1, 5)
    }
    spec = charts.curves(study.orders, metric, bars=bars, published=PUBLISHED, log=metric == "perplexity")
    label = f"{metric} against the share of heads that are gone, a line for each order"
    figures = (Figure("curve", f"{metric} as heads go", spec, "curve", label=label),)
    return Section("curve", "As heads go", f"<p>{LEADS['curve']}</p>", grid(figures, "wide"), figures, "Curves")


def _shares(study: _Study) -> Section | None:
    rows = study.rows("shares")
    if not rows:
        return None
    lines = []
    for order, draw in dict.fromkeys((row["order"], row["draw"]) for row in rows):
        own = {row["fall"]: row for row in rows if (row["order"], row["draw"]) == (order, draw)}
        name = charts.ORDERS[order] + (f", draw {draw + 1}" if order == "random" else "")
        line = [name]
        for fall in (0.01, 0.05):
            line += [_share(own[fall]["share"]), _interval(own[fall])]
        lines.append(line)
    lines += [
        ["published: BERT on MNLI", "about 40 %", "", "", ""],
        ["published: translation", "about 20 %", "", "", ""],
    ]
    body = table(["heads go", "1 % lost", "95 %", "5 % lost", "95 %"], lines, label="What can go")
    return Section("shares", "What can go", f"<p>{LEADS['shares']}</p>", body, short="What can go")


def _map(study: _Study) -> Section | None:
    rows = study.rows("order")
    orders = [name for name in study.orders if name in ("importance", "loss", "score")]
    if not rows or not orders:
        return None
    layers, heads = (1 + max(row[what] for row in rows) for what in ("layer", "head"))
    cut = any(row["cut"] for row in rows)
    label = "Heat map of the turn at which each head goes, layer by head"
    figures = (
        Figure(
            "map",
            "Which heads went when",
            charts.turns(orders, layers=layers, heads=heads, cut=cut),
            "order",
            label=label,
        ),
    )
    return Section("map", "Head by head", f"<p>{LEADS['map']}</p>", grid(figures, "wide"), figures, "Map")


def _sizes(study: _Study) -> Section | None:
    rows = study.rows("sizes")
    if not rows:
        return None
    head = ["", "heads", "million parameters", "file, MB", study.metric[0], "95 %", "loss", "difference"]
    lines = [
        [STAGES[row["stage"]], f"{row['heads']:,}", _millions(row["parameters"]),
         "" if row["file"] is None else f"{row['file'] / 1e6:,.1f}", number(row["score"]),
         f"{number(row['low'])} to {number(row['high'])}", number(row["loss"]),
         "" if row["difference"] is None else f"{row['difference']:.0e}" if row["difference"] else "0"]
        for row in rows
    ]  # fmt: skip
    body = table(head, lines, label="Size and score before and after")
    return Section("sizes", "The smaller model", f"<p>{LEADS['sizes']}</p>", body, short="Size")


def _speed(study: _Study) -> Section | None:
    rows = study.rows("speed")
    if not rows:
        return None
    figures = (Figure("speed", "Speed", charts.speeds(), "speed", label="Times faster than the whole model"),)
    lines = []
    for row in rows:
        times = [row[name] for name in ("whole", "gated", "pruned")]
        if row["reason"]:
            lines.append([f"{row['batch']}", f"{row['length']}", "", "", "", "", "", row["reason"]])
        else:
            ratios = [f"{times[0] / times[2]:.2f}", f"{times[1] / times[2]:.2f}"]
            lines.append([f"{row['batch']}", f"{row['length']}", *(f"{value:,.1f}" for value in times), *ratios, ""])
    head = ["texts", "pieces", "whole, ms", "gated, ms", "pruned, ms", "faster than whole", "than gated", "left out"]
    body = grid(figures, "wide") + table(head, lines, label="Speed before and after", text=(7,))
    return Section("speed", "Speed", f"<p>{LEADS['speed']}</p>", body, figures)


def _share(value: float | None) -> str:
    return "never" if value is None else f"{100 * value:.0f} %"


def _interval(row: Mapping[str, Any]) -> str:
    return f"{100 * row['low']:.0f} to {100 * row['high']:.0f} %"


def _when(rows: list[dict[str, Any]]) -> str:
    """When a score has fallen by so much, in one or several draws of an order."""
    known = [_share(row["share"]) for row in rows if row["share"] is not None]
    if not known:
        return "not even when all are gone"
    listed = known[0] if len(known) == 1 else f"{', '.join(known[:-1])} or {known[-1]}"
    more = " (in one draw never)" if len(known) < len(rows) else ""
    return f"when {listed} are gone{more}"


def _apart(value: float) -> str:
    return f"to {value:.0e}" if value else "to the last digit"


def _millions(count: int) -> str:
    return f"{count / 1e6:,.1f}" if count >= 1e5 else f"{count / 1e6:,.3f}"
