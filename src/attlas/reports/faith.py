"""The report of attention as explanation: what a picture of a model's attention may be read for, and what not.

First the card, in six figures and a paragraph, and what was found, in sentences; then how explanations agree, what
erasing words by them does, what changing attention does (table and plane), the instances one by one, examples with
shaded words, and how it was made.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from html import escape
from typing import TYPE_CHECKING, Any

from attlas.reports import faith_charts as charts
from attlas.reports import faith_examples
from attlas.reports.ablate_findings import signed
from attlas.reports.faith_findings import (
    ATTENTION,
    BASELINES,
    INTERVENTIONS,
    REFERENCES,
    WORDS,
    Named,
    Picture,
    called,
    findings,
    named,
    title,
)
from attlas.reports.faith_prose import LEADS, LIMITS, TERMS
from attlas.reports.faith_words import examples_html, styles
from attlas.reports.findings import is_number, number
from attlas.reports.made import counted, made, when_and_what
from attlas.reports.page import Figure, Section, grid, render
from attlas.reports.tables import Cell, Html, ends, share, table
from attlas.studies.shared.published import TAU_MODEL, TAUS
from attlas.views.card import card_html, card_of

if TYPE_CHECKING:
    import pyarrow

    from attlas.store import Manifest, Result


def faith_page(result: Result) -> str:
    """Write the page of a result of ``attlas faith``.

    >>> from attlas.store import Manifest, Result
    >>> result = Result(Manifest("faith", model={"name": "tiny"}), {"whole": {"metric": ["accuracy"]}})
    >>> "Does attention explain what tiny says?" in faith_page(result)
    True
    """
    study = _Study(dict(result.tables), result.manifest)
    makers = (_in_short, _agreement, _erasure, _interventions, _plane, _instances, _examples)
    sections = [_card(result)] if "card" in study.tables else []
    sections += [section for maker in makers if (section := maker(study)) is not None]
    pairs = faith_examples.gallery_html(result)
    if pairs:
        heading, lead = "The same text under both kinds of attention", faith_examples.LEADS["faith"]
        sections.append(Section("texts", heading, f"<p>{lead}</p>", pairs, short="Pictures"))
    sections.append(made(study.manifest, LIMITS))
    return render(f"Does attention explain what {study.name} says?", _opening(study), sections, _shown(study))


@dataclass(frozen=True)
class _Study:
    """The tables and the manifest, and what several sections ask of them."""

    tables: Mapping[str, pyarrow.Table]
    manifest: Manifest

    @property
    def name(self) -> str:
        return str(self.manifest.model.get("name", "a model"))

    @cached_property
    def picture(self) -> Picture:
        return Picture({name: found.to_pylist() for name, found in self.tables.items()})

    @cached_property
    def bound(self) -> float | None:
        options: Mapping[str, Any] = self.manifest.plan.get("options", {}) if self.manifest.plan else {}
        return float(options["bound"]) if is_number(options.get("bound")) else None

    @cached_property
    def labels(self) -> list[str]:
        return sorted({str(row["predicted"]) for row in self.picture.rows("instances")})

    def order(self, name: str) -> list[str]:
        """The explanations of a table, in the order in which they are shown."""
        present = {named(row) for row in self.picture.rows(name)}
        return [title(one) for one in self.picture.explanations if one in present]


def _shown(study: _Study) -> dict[str, pyarrow.Table]:
    """The tables that the charts read, with names to read."""
    import pyarrow

    picture = study.picture
    shown = {
        "agreement": [
            {**row, "label": title(named(row)), "reference": WORDS[row["against"]]}
            for row in picture.rows("agreement")
        ],
        "erasure": [{**row, "label": title(named(row)), "group": _group(row)} for row in picture.rows("erasure")],
        "plane": _points(picture),
        "instances": list(picture.rows("instances")),
    }
    return {name: pyarrow.Table.from_pylist(rows) for name, rows in shown.items() if rows}


def _points(picture: Picture) -> list[dict[str, Any]]:
    """The instances' adversaries, and the mean of each intervention, as points of one plane."""
    ends_ = ("jsd_low", "jsd_high", "tvd_low", "tvd_high")
    points: list[dict[str, Any]] = [
        {"part": "instance", "kind": "adversary", "label": f"adversary of text {row['text'] + 1}",
         "jsd": row["adversary_jsd"], "tvd": row["adversary_tvd"], **dict.fromkeys(ends_), "n": 1}
        for row in picture.rows("instances") if is_number(row.get("adversary_jsd"))
    ]  # fmt: skip
    points += [
        {"part": "mean", "kind": INTERVENTIONS[row["intervention"]], "label": called(row), "jsd": row["jsd"],
         "tvd": row["tvd"],
         **{key: row[key] for key in ends_}, "n": row["n"]}
        for row in picture.rows("interventions") if is_number(row["jsd"]) and row["intervention"] in INTERVENTIONS
    ]  # fmt: skip
    return points


def _group(row: Mapping[str, Any]) -> str:
    return (
        "attention" if row["explanation"] in ATTENTION else "chance" if row["explanation"] in BASELINES else "others"
    )


def _opening(study: _Study) -> str:
    corpus = escape(str(study.manifest.corpus.get("name", "unnamed")))
    whole, counts = study.picture.whole, counted(study.manifest)
    task = f" does the task <b>{escape(str(whole['task']))}</b> on" if whole.get("task") else ", on"
    lead = (
        f"<b>{escape(study.name)}</b>{task} <b>{corpus}</b>{f' ({counts})' if counts else ''}. Its attention is set "
        f"against other explanations of the same answers, and replaced, to see what hangs on it. "
        f"{when_and_what(study.manifest)}"
    )
    terms = "".join(f"<div><dt>{term}</dt><dd>{meaning}</dd></div>" for term, meaning in TERMS.items())
    return f'{styles()}\n<p class="lead">{lead}</p>\n<dl class="words">{terms}</dl>'


def _card(result: Result) -> Section:
    return Section("card", "The card", f"<p>{LEADS['card']}</p>", card_html(card_of(result)))


def _in_short(study: _Study) -> Section | None:
    found = findings(study.picture)
    if not found:
        return None
    items = (
        f"<li>{one.text}" + (f'<span class="published">{one.published}.</span>' if one.published else "") + "</li>"
        for one in found
    )
    return Section("short", "In short", _about(study), f'<ol class="findings">{"".join(items)}</ol>')


def _about(study: _Study) -> str:
    """The model's score, and which attention is meant."""
    whole = study.picture.whole
    if not is_number(whole.get("score")):
        return ""
    beside = (
        ""
        if not is_number(whole.get("majority"))
        else f"; always the most frequent label: {number(whole['majority'])}"
    )
    interval = (
        f" ({number(whole['score_low'])} to {number(whole['score_high'])}{beside})"
        if is_number(whole.get("score_low"))
        else ""
    )
    meant = f" The attention that is meant: {escape(str(whole['attention']))}." if whole.get("attention") else ""
    many = f"{whole['n']:,} instances" + (f" of {whole['texts']:,} texts" if whole["texts"] != whole["n"] else "")
    return (
        f"<p>The model’s {study.picture.metric} is <b>{number(whole['score'])}</b>{interval}, on {many}.{meant}</p>"
    )


def _agreement(study: _Study) -> Section | None:
    order = study.order("agreement")
    if not order:
        return None
    label = "Agreement of each explanation with gradients, integrated gradients and leave-one-out, with intervals"
    figures = (
        Figure(
            "agreement",
            "Agreement with three other explanations",
            charts.agreement_dots(order),
            "agreement",
            label=label,
        ),
    )
    head = ["explanation", *(cell for name in REFERENCES for cell in (f"τ, {WORDS[name]}", "p < .05", "shared"))]
    rows: list[list[Cell]] = [[title(one), *_taus(study, one)] for one in study.picture.explanations]
    for data, tau in TAUS.items():
        told = [share(tau.gradient), _part(tau.gradient_significant), "", "", "", "", share(tau.left_out),
                _part(tau.left_out_significant), ""]  # fmt: skip
        rows.append([Html(f"<i>published: {data}</i>"), *(Html(f"<i>{cell}</i>") for cell in told)])
    k = [row["k"] for row in study.picture.rows("agreement") if is_number(row.get("k"))]
    first = (
        f"a tenth of the words (at least one; {number(sum(k) / len(k))} on average)" if k else "a tenth of the words"
    )
    note = (
        '<p class="note"><i>p &lt; .05</i>: in how many texts the agreement is more than luck. <i>Shared</i>: of the '
        "first words "
        f"of one explanation, {first}, the share that is among the other’s. Published: {escape(TAU_MODEL)}, "
        f"other models on other "
        "data: for the size of such numbers, not to be matched.</p>"
    )
    body = grid(figures, "wide") + table(head, rows, label="Agreement of explanations") + note
    heading = "Does attention agree with other explanations?"
    return Section("agreement", heading, f"<p>{LEADS['agreement']}</p>", body, figures, "Agreement")


def _taus(study: _Study, one: Named) -> list[Cell]:
    cells: list[Cell] = []
    for name in REFERENCES:
        row = study.picture.tau(one, name)
        cells += [""] * 3 if row is None else [
            Html(f"<b>{share(row['tau'])}</b> ({ends(share(row['low']), share(row['high']))})"),
            _part(row["significant"]), share(row["overlap"]),
        ]  # fmt: skip
    return cells


def _erasure(study: _Study) -> Section | None:
    order = study.order("erasure")
    if not order:
        return None
    titles = {"comprehensiveness": ("Comprehensiveness", "without the first words"),
              "sufficiency": ("Sufficiency", "with only the first words")}  # fmt: skip
    figures = tuple(
        Figure(column, name, charts.erasure_dots(order, column), "erasure", note=note,
               label=f"{name} of each explanation, with intervals")
        for column, (name, note) in titles.items()
    )  # fmt: skip
    head = [
        "explanation",
        "comprehensiveness",
        "95 %",
        "over random words",
        "95 %",
        "sufficiency",
        "95 %",
        "instances",
    ]
    rows = []
    for one in study.picture.explanations:
        row = study.picture.erased(one)
        if row is not None:
            over = (
                ("", "")
                if not is_number(row["over_random"])
                else (signed(row["over_random"]), _interval(row, "over_random", signed))
            )
            rows.append([
                title(one), number(row["comprehensiveness"]), _interval(row, "comprehensiveness", number), *over,
                number(row["sufficiency"]), _interval(row, "sufficiency", number), f"{row['n']:,}",
            ])  # fmt: skip
    body = grid(figures, "half") + table(head, rows, label="Erasing words")
    return Section(
        "erasure", "What is lost without those words?", f"<p>{LEADS['erasure']}</p>", body, figures, "Erasing"
    )


def _interventions(study: _Study) -> Section | None:
    rows = study.picture.rows("interventions")
    if not rows:
        return None
    head = [
        "attention",
        study.picture.metric,
        "change",
        "95 %",
        "p",
        "TVD, mean",
        "95 %",
        "median",
        "labels changed",
        "JSD",
        "instances",
    ]
    cells: list[list[Cell]] = []
    for row in rows:
        change: Cell = signed(row["change"])
        if is_number(row["p"]) and row["p"] < 0.01:
            change = Html(f'<b class="sure">{change}</b>')
        cells.append([
            called(row), number(row["score"]), change, _interval(row, "change", signed), _p(row["p"]),
            number(row["tvd"]),
            _interval(row, "tvd", number), number(row["tvd_median"]), _part(row["flipped"], 1), number(row["jsd"]),
            f"{row['n']:,}",
        ])  # fmt: skip
    body = table(head, cells, label="Attention replaced")
    return Section(
        "interventions",
        "What happens with other attention?",
        f"<p>{LEADS['interventions']}</p>",
        body,
        short="Replaced",
    )


def _plane(study: _Study) -> Section | None:
    points = _points(study.picture)
    if not points:
        return None
    kinds = list(dict.fromkeys(point["kind"] for point in points))
    label = (
        "Divergence of attention against distance of output: instances’ adversaries and the mean of each intervention"
    )
    note = "" if study.bound is None else f"the lower dashed line is the bound, {number(study.bound)}"
    figures = (
        Figure("plane", "Attention and output", charts.plane(kinds, study.bound), "plane", label=label, note=note),
    )
    return Section(
        "plane", "How far can attention go?", f"<p>{LEADS['plane']}</p>", grid(figures, "wide"), figures, "Plane"
    )


def _instances(study: _Study) -> Section | None:
    rows = study.picture.rows("instances")
    figures = []
    for column, name in (("tau_gradient", "gradients"), ("tau_leave_one_out", "leave-one-out")):
        if any(is_number(row.get(column)) for row in rows):
            label = f"Histogram of the instances’ agreement of attention with {name}"
            spec = charts.tau_histogram(column, study.labels)
            figures.append(Figure(column.replace("_", "-"), f"τ with {name}", spec, "instances", label=label))
    if any(is_number(row.get("permuted")) for row in rows):
        label = (
            "Median distance of output under shuffled attention against the largest weight, a dot for each instance"
        )
        figures.append(
            Figure("permuted", "Shuffled attention", charts.permuted_dots(study.labels), "instances", label=label)
        )
    if any(is_number(row.get("adversary_jsd")) for row in rows):
        label = "Histogram of the divergence of the instances’ adversaries"
        spec = charts.adversary_histogram(study.labels)
        figures.append(Figure("adversaries", "Adversaries", spec, "instances", label=label))
    if not figures:
        return None
    return Section(
        "instances",
        "Instance by instance",
        f"<p>{LEADS['instances']}</p>",
        grid(figures, "half"),
        tuple(figures),
        "Instances",
    )


def _examples(study: _Study) -> Section | None:
    rows = study.picture.rows("examples")
    if not rows:
        return None
    body = examples_html(rows, study.picture.rows("instances"))
    return Section("examples", "Words under each explanation", f"<p>{LEADS['examples']}</p>", body, short="Examples")


def _interval(row: Mapping[str, Any], key: str, write: Any) -> str:
    low, high = row[f"{key}_low"], row[f"{key}_high"]
    return ends(write(low), write(high)) if is_number(low) and is_number(high) else ""


def _part(value: float | None, digits: int = 0) -> str:
    return f"{100 * value:.{digits}f} %" if value is not None and is_number(value) else ""


def _p(value: float | None) -> str:
    if value is None or not is_number(value):
        return ""
    return "<.001" if value < 0.001 else f"{value:.3f}"[1:] if value < 0.01 else share(value)
