"""The report of a survey: where the attention of every head goes, told from the top down.

The page opens with what was done and what was found, in sentences; then come the charts, each with a word on how to
read it, the table of all heads, and at the end how it was made and what it cannot say. A section whose numbers a
survey does not have (parts of speech of a corpus that has none) is left out, not shown empty.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from html import escape
from typing import TYPE_CHECKING, Any

from attlas.reports import charts, prose
from attlas.reports.findings import Numbers, findings, is_number
from attlas.reports.made import counted, made, when_and_what
from attlas.reports.page import Figure, Section, grid, render
from attlas.views.figures import EDGES, REST, SHARES

if TYPE_CHECKING:
    import pyarrow

    from attlas.store import Manifest, Result

STREAMS = {
    "encoder": "the encoder's attention over the text",
    "decoder": "the decoder's attention over what stands before",
    "cross": "the decoder's attention over the encoder's text",
}
_TABLES = ("heads", "pos", "spearman", "frequency", "portraits")


def survey_page(result: Result) -> str:
    """Write the page of a survey's result.

    >>> from types import SimpleNamespace
    >>> import pyarrow
    >>> row = {"stream": "encoder", "layer": 2, "head": 0, "measure": "weight", "quantity": "previous", "value": 0.97}
    >>> manifest = SimpleNamespace(
    ...     study="survey", plan={}, versions={}, model={"name": "tiny"}, corpus={"name": "a book"}, seed=0,
    ...     skipped={}, started="2025-01-01T00:00:00+00:00", seconds=1.5,
    ... )
    >>> page = survey_page(SimpleNamespace(manifest=manifest, tables={"heads": pyarrow.Table.from_pylist([row])}))
    >>> "One head puts more than half of its attention on the previous piece: <b>3-1</b> (.97)." in page
    True
    """
    survey = _Survey(dict(result.tables), result.manifest)
    name = str(survey.manifest.model.get("name", "a model"))
    makers = (_in_short, _where, _map, _entropy, _distance, _norms, _parts, _edges, _heads, _made)
    sections = [section for maker in makers if (section := maker(survey)) is not None]
    extra = {"streams": survey.streams, "columns": _columns(survey)}
    tables = {name: table for name, table in survey.tables.items() if name in _TABLES}
    return render(f"Where the heads of {name} look", _opening(survey), sections, tables, extra)


@dataclass(frozen=True)
class _Survey:
    """A survey's tables and manifest, and what several sections ask of them."""

    tables: Mapping[str, pyarrow.Table]
    manifest: Manifest

    def rows(self, table: str) -> list[dict[str, Any]]:
        return self.tables[table].to_pylist() if table in self.tables else []

    @cached_property
    def numbers(self) -> Numbers:
        return Numbers(self.rows("heads"), self.rows("spearman"), self.rows("frequency"))

    @cached_property
    def places(self) -> set[tuple[str, int, int]]:
        return {(row["stream"], row["layer"], row["head"]) for row in self.rows("heads")}

    @cached_property
    def streams(self) -> list[str]:
        present = {stream for stream, _, _ in self.places}
        return [stream for stream in STREAMS if stream in present]

    @cached_property
    def quantities(self) -> set[str]:
        return set(self.tables["heads"].column("quantity").to_pylist()) if "heads" in self.tables else set()

    @cached_property
    def size(self) -> charts.Size:
        """The most layers and heads of any stream."""
        layers = 1 + max((layer for _, layer, _ in self.places), default=0)
        return {"layers": layers, "heads": 1 + max((head for _, _, head in self.places), default=0)}

    def has(self, table: str) -> bool:
        return table in self.tables and self.tables[table].num_rows > 0


def _opening(survey: _Survey) -> str:
    manifest = survey.manifest
    model, corpus = (escape(str(about.get("name", "unnamed"))) for about in (manifest.model, manifest.corpus))
    counts = counted(manifest)
    lead = (
        f"This page shows where each of the {len(survey.places)} attention heads of <b>{model}</b> looks while the "
        f"model reads <b>{corpus}</b>{f' ({counts})' if counts else ''}. For every head, attention was sorted by "
        f"where it goes and averaged over the corpus. {when_and_what(manifest)}"
    )
    words = "".join(
        f"<div><dt>{term}</dt><dd>{meaning}</dd></div>"
        for term, meaning in prose.WORDS.items()
        if term != "[CLS], [SEP]" or survey.quantities & {"cls", "sep"}
    )
    return f'<p class="lead">{lead}</p>\n<dl class="words">{words}</dl>'


def _in_short(survey: _Survey) -> Section | None:
    parts = []
    for stream in survey.streams:
        found = findings(survey.numbers, stream, 6 if len(survey.streams) == 1 else 3)
        if len(survey.streams) > 1 and found:
            parts.append(f"<h3>{stream.capitalize()} <small>{STREAMS[stream]}</small></h3>")
        items = (
            f"<li>{finding.text}"
            + (f'<span class="published">{finding.published}.</span>' if finding.published else "")
            + "</li>"
            for finding in found
        )
        parts.append(f'<ol class="findings">{"".join(items)}</ol>' if found else "")
    if not any(parts):
        return None
    return Section("short", "In short", "", "".join(parts))


def _where(survey: _Survey) -> Section | None:
    figures = _dots(survey, SHARES, "share", (0, 1))
    if not figures:
        return None
    return Section(
        "where",
        "Where attention goes",
        _lead("where"),
        _key(survey, figures) + grid(figures),
        figures,
        "Where it goes",
    )


def _map(survey: _Survey) -> Section | None:
    every = {**SHARES, **EDGES, **REST}
    options = [(name, label) for name, label in every.items() if name in survey.quantities]
    if not options:
        return None
    spec = charts.head_map(options, **survey.size)
    figure = Figure("map", "Every head", spec, "heads", label="Heat map of one quantity, layer by head")
    return Section("map", "Head by head", _lead("map"), grid([figure], "wide"), (figure,), "Map")


def _entropy(survey: _Survey) -> Section | None:
    figures = _dots(survey, {"entropy": "all queries", "entropy_cls": "queries at [CLS]"}, "nats")
    if not figures:
        return None
    body = _key(survey, figures) + grid(figures, "half")
    return Section("entropy", "How broad, how focused", _lead("entropy"), body, figures, "Entropy")


def _distance(survey: _Survey) -> Section | None:
    figures = _dots(survey, {"distance": "mean distance from query to key"}, "pieces")
    if not figures:
        return None
    return Section(
        "distance", "How far", _lead("distance"), _key(survey, figures) + grid(figures, "wide"), figures, "Distance"
    )


def _norms(survey: _Survey) -> Section | None:
    figures = []
    if survey.has("spearman"):
        spec = charts.layer_dots("rank correlation", **survey.size, domain=(-1, 1), zero_line=True, height=240)
        label = "Rank correlation of weight and vector length, one dot per head, by layer"
        figures.append(Figure("spearman", "weight and ‖f(x)‖", spec, "spearman", label=label))
    if survey.has("frequency"):
        label = "Relative vector length by frequency rank of the word, one line per layer"
        figures.append(Figure("frequency", "‖f(x)‖ by frequency", charts.frequency_lines(), "frequency", label=label))
    if not figures:
        return None
    return Section("norms", "Weights against norms", _lead("norms"), grid(figures, "half"), tuple(figures), "Norms")


def _parts(survey: _Survey) -> Section | None:
    if not survey.has("pos"):
        return None
    totals: dict[str, float] = {}
    for row in survey.rows("pos"):
        if row["direction"] == "to" and is_number(row["value"]):
            totals[row["pos"]] = totals.get(row["pos"], 0.0) + row["value"]
    parts = sorted(totals, key=lambda part: (-totals[part], part))
    follows = {name: ["pos-heads"] for name in ("direction", "measure", "show")}
    figures = (
        Figure(
            "pos",
            "Parts of speech by layer",
            charts.part_map(parts, layers=survey.size["layers"]),
            "pos",
            label="Heat map of attention by part of speech and layer, mean over heads",
            drives=follows,
            picks={"pos": "pos-heads"},
        ),
        Figure(
            "pos-heads",
            "One part of speech, head by head",
            charts.part_heads_map(parts, **survey.size),
            "pos",
            label="Heat map of attention to one part of speech, layer by head",
        ),
    )
    return Section("pos", "Parts of speech", _lead("pos"), grid(figures, "half"), figures, "Parts of speech")


def _edges(survey: _Survey) -> Section | None:
    figures = _dots(survey, EDGES, "share")
    if not figures:
        return None
    return Section(
        "edges", "Dependency edges", _lead("edges"), _key(survey, figures) + grid(figures), figures, "Edges"
    )


def _heads(survey: _Survey) -> Section | None:
    if not survey.places:
        return None
    return Section("heads", "All heads", _lead("heads"), prose.TABLE)


def _made(survey: _Survey) -> Section:
    return made(survey.manifest, prose.LIMITS)


def _key(survey: _Survey, figures: tuple[Figure, ...]) -> str:
    quantities = [quantity for figure in figures for quantity in figure.where["quantity"]]
    return prose.key(
        norm=any(survey.numbers.of(stream, name, "norm") for stream in survey.streams for name in quantities)
    )


def _lead(section: str) -> str:
    return f"<p>{prose.LEADS[section]}</p>"


def _dots(
    survey: _Survey, names: Mapping[str, str], unit: str, domain: tuple[float, float] | None = None
) -> tuple[Figure, ...]:
    return tuple(
        Figure(
            name,
            label,
            charts.layer_dots(unit, **survey.size, domain=domain, height=190 if unit == "share" else 230),
            "heads",
            {"quantity": [name]},
            label=f"{label}: {unit} by layer, one dot per head",
        )
        for name, label in names.items()
        if name in survey.quantities
    )


def _columns(survey: _Survey) -> list[dict[str, str]]:
    """The columns of the table of heads: what to show, from which table, and how to write it."""
    wanted = [
        ("previous", "weight", "previous", "share"),
        ("next", "weight", "next", "share"),
        ("first", "weight", "first", "share"),
        ("first", "norm", "first norm", "share"),
        ("cls", "weight", "[CLS]", "share"),
        ("cls", "norm", "[CLS] norm", "share"),
        ("sep", "weight", "[SEP]", "share"),
        ("sep", "norm", "[SEP] norm", "share"),
        ("punctuation", "weight", "punct.", "share"),
        ("edges", "weight", "edges", "share"),
        ("entropy", "weight", "entropy", "number"),
        ("distance", "weight", "distance", "number"),
    ]
    columns = [
        {
            "key": f"{name}-{measure}",
            "title": title,
            "kind": kind,
            "table": "heads",
            "quantity": name,
            "measure": measure,
        }
        for name, measure, title, kind in wanted
        if any(survey.numbers.of(stream, name, measure) for stream in survey.streams)
        and not (name == "first" and survey.streams == ["encoder"])
    ]
    if survey.has("spearman"):
        columns.append({"key": "spearman", "title": "ρ", "kind": "signed", "table": "spearman"})
    return columns
