"""The report of the chunking study: can a tagger be trained to attend elsewhere and tag the same?

First what was found, in sentences; then F1 beside what was published, the plane of attention and predictions, the
curve with its bend, guided models, ranks on either side of the bend, sentences under both kinds of attention, what
differs from the published study, and how it was made.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from html import escape
from typing import TYPE_CHECKING, Any

from attlas.reports import faith_chunking_charts as charts
from attlas.reports import faith_examples
from attlas.reports.faith_chunking_findings import Picture, called, findings, guide
from attlas.reports.faith_chunking_prose import DIFFERS, LEADS, LIMITS, TERMS
from attlas.reports.faith_chunking_rows import curve_rows, guided_rows, plane_rows, score_rows
from attlas.reports.faith_words import styles
from attlas.reports.findings import is_number, number
from attlas.reports.made import made, when_and_what
from attlas.reports.page import Figure, Section, grid, render
from attlas.reports.tables import Cell, Html, ends, share, table

if TYPE_CHECKING:
    import pyarrow

    from attlas.store import Manifest, Result


def faith_chunking_page(result: Result) -> str:
    """Write the page of a result of ``attlas faith chunking``.

    >>> from attlas.store import Manifest, Result
    >>> result = Result(Manifest("faith-chunking"), {"models": {"kind": ["original"], "f1": [0.9]}})
    >>> "Can a tagger attend elsewhere and tag the same?" in faith_chunking_page(result)
    True
    """
    study = _Study(dict(result.tables), result.manifest)
    makers = (_in_short, _scores, _plane, _bend, _guided, _ranks)
    sections = [section for maker in makers if (section := maker(study)) is not None]
    pairs = faith_examples.gallery_html(result)
    if pairs:
        title, lead = "The same sentence under both kinds of attention", faith_examples.LEADS["faith-chunking"]
        sections.append(Section("sentences", title, f"<p>{lead}</p>", pairs, short="Sentences"))
    sections += [_differs(study), made(study.manifest, LIMITS)]
    return render("Can a tagger attend elsewhere and tag the same?", _opening(study), sections, _shown(study))


@dataclass(frozen=True)
class _Study:
    """The tables and the manifest, and what several sections ask of them."""

    tables: Mapping[str, pyarrow.Table]
    manifest: Manifest

    @cached_property
    def picture(self) -> Picture:
        return Picture({name: found.to_pylist() for name, found in self.tables.items()})


def _shown(study: _Study) -> dict[str, pyarrow.Table]:
    """The tables that the charts read."""
    import pyarrow

    picture = study.picture
    shown = {
        "scores": score_rows(picture),
        "plane": plane_rows(picture),
        "curve": curve_rows(picture),
        "guided": guided_rows(picture),
        "ranks": picture.rows("ranks"),
    }
    return {name: pyarrow.Table.from_pylist(rows) for name, rows in shown.items() if rows}


def _opening(study: _Study) -> str:
    names = [
        f"<b>{escape(str(_about(study.manifest, part)['name']))}</b>"
        for part in ("train", "test")
        if _about(study.manifest, part).get("name")
    ]
    where = f", trained on {names[0]} and tested on {names[1]}" if len(names) == 2 else ""
    lead = (
        f"A small transformer tags chunks{where}. Adversaries are trained to give the same tags with other "
        f"attention, and "
        f"other models are guided by the attention of both. {when_and_what(study.manifest)}"
    )
    terms = "".join(f"<div><dt>{term}</dt><dd>{meaning}</dd></div>" for term, meaning in TERMS.items())
    return f'{styles()}\n<p class="lead">{lead}</p>\n<dl class="words">{terms}</dl>'


def _in_short(study: _Study) -> Section | None:
    found = findings(study.picture)
    if not found:
        return None
    items = (
        f"<li>{one.text}" + (f'<span class="published">{one.published}.</span>' if one.published else "") + "</li>"
        for one in found
    )
    options: Mapping[str, Any] = study.manifest.plan.get("options", {}) if study.manifest.plan else {}
    kind = {"kl": "KL", "kl-reversed": "KL the other way round", "jsd": "JSD"}.get(str(options.get("divergence")), "")
    paid = f" Adversaries were paid for {kind} per {'key' if options.get('per') == 'key' else 'row'}." if kind else ""
    return Section(
        "short", "In short", f"<p>{LEADS['short']}{escape(paid)}</p>", f'<ol class="findings">{"".join(items)}</ol>'
    )


def _scores(study: _Study) -> Section | None:
    rows = study.picture.rows("summary")
    if not rows:
        return None
    label = "F1 by lambda, from the original at 0, with intervals and the published figures"
    figures = (
        (Figure("scores", "F1 as λ grows", charts.score_line(), "scores", label=label),)
        if study.picture.adversaries
        else ()
    )
    head = ["model", "seeds", "F1", "95 %", "published", "ours less theirs", "NLL", "TVD", "KL", "JSD"]
    cells: list[list[Cell]] = []
    for row in rows:
        low, high = study.picture.interval(row)
        told = row.get("published")
        apart = "" if not is_number(told) else f"{100 * (row['f1'] - told):+.1f}".replace("-", "−")
        interval = ends(number(low), number(high)) if is_number(low) else ""
        cells.append([called(row), f"{row['seeds']}", Html(f"<b>{number(row['f1'])}</b>"), interval,
                      share(told) if is_number(told) else "", apart,
                      *(_plain(row[key]) for key in ("nll", "tvd", "kl", "jsd"))])  # fmt: skip
    body = grid(figures, "wide") + table(head, cells, label="All models")
    return Section("scores", "F1, ours beside the published", f"<p>{LEADS['scores']}</p>", body, figures, "F1")


def _plane(study: _Study) -> Section | None:
    if not plane_rows(study.picture):
        return None
    label = (
        "Divergence of attention against distance of predictions: trained adversaries by lambda, seeds, "
        "uniform attention, single words"
    )
    figures = (Figure("plane", "Attention and predictions", charts.plane(), "plane", label=label),)
    return Section(
        "plane", "How far can attention go?", f"<p>{LEADS['plane']}</p>", grid(figures, "wide"), figures, "Plane"
    )


def _bend(study: _Study) -> Section | None:
    rows = study.picture.rows("bend")
    if not study.picture.adversaries:
        return None
    label = "Distance of predictions against divergence of attention, a dot for each adversary, with the bend"
    figures = (Figure("bend", "Where predictions give way", charts.bend_curve(), "curve", label=label),)
    head = [
        "attention by",
        "predictions by",
        "bend at",
        "95 %",
        "slope before",
        "after",
        "squared error saved",
        "points",
        "published",
    ]
    cells = [
        [row["attention"].upper(), row["prediction"].upper(), number(row["at"]),
         ends(number(row["at_low"]), number(row["at_high"])) if is_number(row["at_low"]) else "",
         _plain(row["slope_before"]), _plain(row["slope_after"]), f"{100 * row['gain']:.0f} %", f"{row['points']}",
         share(row["published"]) if is_number(row["published"]) else ""]
        for row in rows if is_number(row["at"])
    ]  # fmt: skip
    method = f'<p class="note">Method: {escape(str(rows[0]["method"]))}.</p>' if rows else ""
    body = grid(figures, "wide") + (table(head, cells, label="The bend", text=(0, 1)) if cells else "") + method
    return Section("bend", "Where is the bend?", f"<p>{LEADS['bend']}</p>", body, figures, "Bend")


def _guided(study: _Study) -> Section | None:
    if not study.picture.guides:
        return None
    order = [guide(name) for name in study.picture.guides]
    label = "F1 of guided models by the attention that guides them, in both forms, with intervals"
    figures = (Figure("guided", "Guided by the attention of", charts.guided_dots(order), "guided", label=label),)
    return Section(
        "guided",
        "Does attention help another model?",
        f"<p>{LEADS['guided']}</p>",
        grid(figures, "wide"),
        figures,
        "Guided",
    )


def _ranks(study: _Study) -> Section | None:
    if not study.picture.rows("ranks"):
        return None
    label = "Agreement of the ranks of weights with the original’s, by lambda, on either side of the bend"
    figures = (Figure("ranks", "Ranks of weights", charts.rank_dots(), "ranks", label=label),)
    return Section(
        "ranks",
        "Is the order of the words kept?",
        f"<p>{LEADS['ranks']}</p>",
        grid(figures, "wide"),
        figures,
        "Ranks",
    )


def _differs(study: _Study) -> Section:
    said = DIFFERS.format(data=sentences_here(study.manifest), divergence=divergence_here(study.manifest))
    return Section("differs", "What differs from the published study", said, "", short="Differences")


def divergence_here(manifest: Manifest) -> str:
    """Which divergence adversaries were paid for here, in a clause.

    >>> from types import SimpleNamespace
    >>> divergence_here(SimpleNamespace(plan={"options": {"divergence": "kl-reversed", "per": "key"}}))
    'here it is taken from the adversary to the original, divided by the number of keys'
    """
    options = manifest.plan.get("options", {})
    words = {
        "kl": "here it is taken as written, from the original to the adversary",
        "kl-reversed": "here it is taken from the adversary to the original",
        "jsd": "here JSD is taken instead",
    }
    per = ", divided by the number of keys" if options.get("per") == "key" else ", per row"
    return words.get(str(options.get("divergence")), words["kl"]) + per


def sentences_here(manifest: Manifest) -> str:
    """How many sentences were read here, for training and for testing, in a clause.

    >>> from types import SimpleNamespace
    >>> sentences_here(SimpleNamespace(corpus={"sentences": 8936, "test_sentences": 2012}))
    'here 8,936 and 2,012'
    """
    counts = [manifest.corpus.get(part) for part in ("sentences", "test_sentences")]
    if not all(isinstance(count, int) for count in counts):
        return "here the files that are named, whole"
    return f"here {counts[0]:,} and {counts[1]:,}"


def _about(manifest: Manifest, part: str) -> Mapping[str, Any]:
    """What is known of the training or the test corpus."""
    found = manifest.corpus.get(part)
    return found if isinstance(found, Mapping) else {} if found is None else {"name": found}


def _plain(value: float | None) -> str:
    return number(value) if is_number(value) else ""
