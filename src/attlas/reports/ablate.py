"""The report of an ablation: which heads a task needs, one at a time, and what a layer can do with one head.

First what was found, in sentences; then the map of effects, all effects sorted, the survivors, importance against
what was measured, the second corpus, the table of heads, and how it was made.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from html import escape
from typing import TYPE_CHECKING, Any

from attlas.reports import ablate_charts as charts
from attlas.reports.ablate_findings import LEVEL, Findings, label, signed
from attlas.reports.findings import number
from attlas.reports.made import counted, made, when_and_what
from attlas.reports.page import Figure, Section, grid, render
from attlas.reports.tables import share, table

if TYPE_CHECKING:
    import pyarrow

    from attlas.store import Manifest, Result

WORDS = {
    "cut": "the head's output is multiplied by zero before it meets the others, and nothing else is changed.",
    "change": "the score of the cut model minus that of the whole one, on the same texts.",
    "survivor": """the one head that a layer is left with; of all of them the one that leaves most of the score,
    chosen on other texts than it is scored on.""",
    "p": """the share of shuffles, in which whole and cut model swap their marks text by text, that differ as much;
    after Holm's correction for the number of cuts. Framed or coloured where it is below .01.""",
    "head 8-10": "the tenth head of the eighth layer, as the papers count; tables count from 0.",
}
LEADS = {
    "map": """Rows are layers, columns are heads. Red: worse without it; blue: better without it; the stronger, the
    more. What is significant after correction stands out, in a frame; the rest is pale. The number is the change
    itself.""",
    "sorted": """The same changes in order, each with its 95 % interval from resampled texts. How many stand clear of
    the line?""",
    "survivors": """All heads of a layer are cut but the one that is named, layer by layer; a thin line is the 95 %
    interval.""",
    "importance": """Each dot is a head: its importance, from one pass of gradients, against the size of what cutting
    it did. If gradients could stand for cutting, dots would rise from left to right.""",
    "other": """Each dot is a head: what cutting it does on one corpus, and on the other. Heads that matter anywhere
    lie along a rising line; heads that matter to one corpus alone lie along an axis.""",
    "table": "Every head that was cut, in order of its place.",
}
LIMITS = """<ul>
<li><b>One at a time.</b> A head may be cut without loss because another does the same work; cutting both may hurt.
See <code>attlas prune</code> for many at once.</li>
<li><b>Zero is a strange output.</b> The layers above have never seen it; some of a change is their surprise. With
<code>--means</code> a cut head gives its mean output instead.</li>
<li><b>Not significant is not the same as no effect.</b> With few texts only large effects show; look at the
intervals.</li>
<li><b>The best of many is partly luck.</b> Survivors are chosen on other texts than they are scored on; the most
harmful and the most useful head of the map are not.</li>
<li><b>The task decides.</b> A head that this task can do without may matter to another.</li>
</ul>"""


def ablate_page(result: Result) -> str:
    """Write the page of an ablation's result.

    >>> from types import SimpleNamespace
    >>> manifest = SimpleNamespace(
    ...     study="ablate", plan={}, versions={}, model={"name": "tiny"}, corpus={"name": "a book"}, seed=0,
    ...     skipped={}, started="2025-01-01T00:00:00+00:00", seconds=1.5,
    ... )
    >>> "What does tiny lose without each head?" in ablate_page(SimpleNamespace(manifest=manifest, tables={}))
    True
    """
    study = _Study(dict(result.tables), result.manifest)
    makers = (_in_short, _map, _survivors, _importance, _other, _table)
    sections = [section for maker in makers if (section := maker(study)) is not None]
    sections.append(made(study.manifest, LIMITS))
    shown = {name: study.tables[name] for name in ("ablation", "survivors") if name in study.tables}
    if study.other:
        shown["pairs"] = study.pairs
    title = f"What does {study.name} lose without each head?"
    return render(title, _opening(study), sections, shown, {"streams": study.streams})


@dataclass(frozen=True)
class _Study:
    """The tables and the manifest, and what several sections ask of them."""

    tables: Mapping[str, pyarrow.Table]
    manifest: Manifest

    def rows_of(self, name: str) -> list[dict[str, Any]]:
        return self.tables[name].to_pylist() if name in self.tables else []

    @property
    def name(self) -> str:
        return str(self.manifest.model.get("name", "a model"))

    @property
    def options(self) -> Mapping[str, Any]:
        return dict(self.manifest.plan.get("options", {}))

    @cached_property
    def rows(self) -> list[dict[str, Any]]:
        return self.rows_of("ablation")

    @cached_property
    def other(self) -> list[dict[str, Any]]:
        return self.rows_of("other")

    @cached_property
    def wholes(self) -> list[dict[str, Any]]:
        return self.rows_of("whole")

    @cached_property
    def found(self) -> Findings:
        whole = self.wholes[0] if self.wholes else {}
        return Findings(whole, self.rows, self.rows_of("survivors"), self.rows_of("correlation"))

    @cached_property
    def streams(self) -> list[str]:
        return list(dict.fromkeys(row["stream"] for row in self.rows))

    @cached_property
    def size(self) -> dict[str, int]:
        return {what: 1 + max((row[what[:-1]] for row in self.rows), default=0) for what in ("layers", "heads")}

    @property
    def pairs(self) -> pyarrow.Table:
        """Changes on both corpora side by side."""
        import pyarrow

        both = list(zip(self.rows, self.other, strict=True))
        columns: dict[str, list[Any]] = {key: [row[key] for row in self.rows] for key in ("stream", "layer", "head")}
        for prefix, column in (("", "change"), ("loss_", "loss_change")):
            columns[f"{prefix}here"] = [one[column] for one, _ in both]
            columns[f"{prefix}there"] = [other[column] for _, other in both]
        return pyarrow.table(columns)


def _opening(study: _Study) -> str:
    corpus = escape(str(study.manifest.corpus.get("name", "unnamed")))
    counts = counted(study.manifest)
    whole = study.found.whole
    task = escape(str(whole.get("task", "a task")))
    lead = (
        f"<b>{escape(study.name)}</b> does the task <b>{task}</b> on <b>{corpus}</b>"
        f"{f' ({counts})' if counts else ''}, once as it is and once without each of its heads. "
        f"{when_and_what(study.manifest)}"
    )
    words = "".join(f"<div><dt>{term}</dt><dd>{meaning}</dd></div>" for term, meaning in WORDS.items())
    return f'<p class="lead">{lead}</p>\n<dl class="words">{words}</dl>'


def _in_short(study: _Study) -> Section | None:
    if not study.rows:
        return None
    items = (
        f"<li>{finding.text}"
        + (f'<span class="published">{finding.published}.</span>' if finding.published else "")
        + "</li>"
        for finding in study.found.all()
    )
    return Section("short", "In short", _about(study), f'<ol class="findings">{"".join(items)}</ol>')


def _about(study: _Study) -> str:
    """The whole model's score, and which texts did what."""
    said = []
    for whole in study.wholes:
        where = "" if whole["part"] == "scored" else f" On {escape(str(whole['corpus']))}"
        beside = (
            "" if whole["baseline"] is None else f" (always the most frequent label: {number(whole['baseline'])})"
        )
        begin = "The whole model's" if not where else f"{where.strip()} its"
        loss = "" if whole["metric"] == "loss" else f", its loss {number(whole['loss'])}"
        said.append(
            f"{begin} {whole['metric']} is <b>{number(whole['score'])}</b>{beside}{loss}, on {whole['n']:,} texts."
        )
    chosen = study.manifest.corpus.get("chosen_on")
    if chosen:
        data = study.manifest.corpus.get("choose_on")
        which = escape(str(data["name"])) if isinstance(data, Mapping) else "one half of the documents"
        done = ["survivors were chosen"] if study.options.get("survivors") else []
        done += ["the heads' means were taken"] if study.options.get("means") else []
        rest = "" if isinstance(data, Mapping) else "; all scores are from the other half"
        said.append(f"{' and '.join(done).capitalize()} on {which} ({chosen:,} texts){rest}.")
    if study.options.get("means"):
        said.append("A head that is cut gives its mean output instead of nothing.")
    return f"<p>{' '.join(said)}</p>"


def _map(study: _Study) -> Section | None:
    if not study.rows:
        return None
    found = study.found
    figures = (
        Figure(
            "map", "Every head", charts.effect_map(found.metric, found.worse, **study.size, first=found.first),
            "ablation",
            label="Heat map of what cutting each head does, layer by head",
        ),
        Figure(
            "sorted", "In order", charts.sorted_effects(found.metric, found.worse, first=found.first), "ablation",
            label="Changes of all heads in order, with intervals",
        ),
    )  # fmt: skip
    lead = f"<p>{LEADS['map']}</p><p>{LEADS['sorted']}</p>"
    return Section("map", "Each head off in turn", lead, grid(figures, "wide"), figures, "Heads")


def _survivors(study: _Study) -> Section | None:
    rows = study.found.survivors
    if not rows:
        return None
    found = study.found
    layers = 1 + max(row["layer"] for row in rows)
    chart = charts.survivors(found.metric, found.worse, layers=layers, first=found.first)
    label_ = "What each layer loses when it is left with one head"
    figures = (Figure("survivors", "Layer by layer", chart, "survivors", label=label_),)
    cells = [
        [row["stream"], f"{row['layer'] + 1}", label(row, stream=False), number(row["score"]),
         signed(row["change"]), f"{signed(row['low'])} to {signed(row['high'])}", _p(row["corrected"]),
         signed(row["loss_change"]), _p(row["loss_corrected"])]
        for row in rows
    ]  # fmt: skip
    head = ["stream", "layer", "survivor", found.metric, "change", "95 %", "p", "change of loss", "p"]
    body = grid(figures, "wide") + table(head, cells, label="Survivors", text=(0,))
    return Section("survivors", "One head left", f"<p>{LEADS['survivors']}</p>", body, figures, "Survivors")


def _importance(study: _Study) -> Section | None:
    if not study.rows or "importance" not in study.rows[0]:
        return None
    label_ = "Importance against the size of the measured change, one dot for each head"
    chart = charts.against_importance(study.found.metric)
    figures = (Figure("importance", "Gradients against cutting", chart, "ablation", label=label_),)
    body = grid(figures, "wide") + _correlations(study, ("importance", "first order"))
    return Section(
        "importance", "Importance by gradients", f"<p>{LEADS['importance']}</p>", body, figures, "Importance"
    )


def _other(study: _Study) -> Section | None:
    if not study.other:
        return None
    here, there = (str(whole["corpus"]) for whole in study.wholes[:2])
    chart = charts.two_corpora(study.found.metric, here, there)
    label_ = "Changes on one corpus against changes on the other, one dot for each head"
    figures = (Figure("other", f"{here} and {there}", chart, "pairs", label=label_),)
    sure = len(study.found.sure(study.other))
    both = sum(
        1
        for one, other in zip(study.rows, study.other, strict=True)
        if one in study.found.sure([one]) and other in study.found.sure([other])
    )
    note = (
        f"<p>{len(study.found.sure(study.rows))} heads matter here, {sure} there, and {both} on both "
        f"(p &lt; {share(LEVEL)} after correction).</p>"
    )
    body = grid(figures, "wide") + note + _correlations(study, ("other corpus",))
    return Section("other", "The same heads elsewhere", f"<p>{LEADS['other']}</p>", body, figures, "Elsewhere")


def _correlations(study: _Study, kinds: tuple[str, ...]) -> str:
    names = {
        "importance": "importance and the size of the change",
        "first order": "minus the signed gradient and the change",
        "other corpus": "changes on both corpora",
    }
    rows = [
        [names[row["with"]], study.found.metric if row["quantity"] == "score" else "loss", share(row["spearman"]),
         f"{share(row['spearman_low'])} to {share(row['spearman_high'])}", share(row["pearson"]),
         f"{share(row['pearson_low'])} to {share(row['pearson_high'])}", f"{row['n']}"]
        for row in study.found.correlation if row["with"] in kinds and row["spearman"] is not None
    ]  # fmt: skip
    head = ["correlation of", "of", "Spearman", "95 %", "Pearson", "95 %", "heads"]
    return table(head, rows, label="Correlations", text=(0, 1)) if rows else ""


def _table(study: _Study) -> Section | None:
    if not study.rows:
        return None
    importance = "importance" in study.rows[0]
    head = ["stream", "head", study.found.metric, "change", "95 %", "p", "change of loss", "95 %", "p"]
    head += ["E|dL/dξ|"] if importance else []
    rows = []
    for row in study.rows:
        line = [
            row["stream"], label(row, stream=False), number(row["score"]), signed(row["change"]),
            f"{signed(row['low'])} to {signed(row['high'])}", _p(row["corrected"]), signed(row["loss_change"]),
            f"{signed(row['loss_low'])} to {signed(row['loss_high'])}", _p(row["loss_corrected"]),
        ]  # fmt: skip
        rows.append(line + ([f"{row['importance']:.2e}"] if importance else []))
    body = table(head, rows, label="Heads", text=(0,))
    return Section("table", "All heads", f"<p>{LEADS['table']}</p>", body, short="Table")


def _p(value: float | None) -> str:
    if value is None:
        return ""
    return "<.001" if value < 0.001 else f"{value:.3f}"[1:] if value < 0.01 else share(value)
