"""The report of an alignment study: which word goes with which, by weight and by norm, against gold and aligners.

First what was found, in sentences; then error rates layer by layer in each setting, the table of them, whole methods
beside aligners and the choice made without gold, the map of heads, pairs of sentences as grids of links, and how it
was made.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from html import escape
from typing import TYPE_CHECKING, Any

from attlas.ids import paper_label
from attlas.measures.names import MEASURES
from attlas.reports import align_charts as charts
from attlas.reports.align_findings import (
    BY_HEADS,
    BY_NORM,
    DIRECTIONS,
    HALVES,
    ORACLE,
    Row,
    Scores,
    aligner_name,
    findings,
    interval,
    points,
    view_name,
)
from attlas.reports.align_grid import grid_script, grid_section, shown_pairs
from attlas.reports.align_prose import LEADS, LIMITS, WORDS
from attlas.reports.findings import is_number
from attlas.reports.made import counted, made, when_and_what
from attlas.reports.page import Figure, Section, grid, render
from attlas.reports.tables import Cell, Html, table

if TYPE_CHECKING:
    import pyarrow

    from attlas.store import Manifest, Result

_NAMES = ("scores", "choices", "gains", "mean_norms", "pairs")
HOWS = {
    BY_NORM: "chosen without gold",
    BY_HEADS: "chosen without gold by the sum of its heads",
    ORACLE: "oracle",
    HALVES: "chosen on the other half",
}
_RATES = ("AER", "precision", "recall", "F1")


def align_page(result: Result) -> str:
    """Write the page of an alignment study's result.

    >>> from types import SimpleNamespace
    >>> manifest = SimpleNamespace(
    ...     study="align", plan={}, versions={}, model={"name": "tiny"}, corpus={"name": "a bitext"}, seed=0,
    ...     skipped={}, started="2025-01-01T00:00:00+00:00", seconds=1.5,
    ... )
    >>> "Does the attention of tiny align words?" in align_page(SimpleNamespace(manifest=manifest, tables={}))
    True
    """
    study = _Study(dict(result.tables), result.manifest)
    makers = (_in_short, _layers, _table, _methods, _choices, _map)
    sections = [section for maker in makers if (section := maker(study)) is not None]
    shown = shown_pairs(study.rows["pairs"])
    pairs = grid_section(shown)
    sections += [] if pairs is None else [pairs]
    sections.append(made(study.manifest, LIMITS))
    title = f"Does the attention of {study.name} align words?"
    if study.rows["scores"] and not study.scores.scored:
        title = f"Which words does the attention of {study.name} link?"
    tables = {name: _as_table(rows) for name, rows in study.shown.items() if rows}
    tail = "" if pairs is None else grid_script()
    return render(title, _opening(study), sections, tables, {"alignment": shown}, tail)


@dataclass(frozen=True)
class _Study:
    """The tables and the manifest, and what several sections ask of them."""

    tables: Mapping[str, pyarrow.Table]
    manifest: Manifest

    @property
    def name(self) -> str:
        return str(self.manifest.model.get("name", "a model"))

    @cached_property
    def rows(self) -> dict[str, list[dict[str, Any]]]:
        return {name: self.tables[name].to_pylist() if name in self.tables else [] for name in _NAMES}

    @cached_property
    def scores(self) -> Scores:
        return Scores(self.rows["scores"], self.rows["choices"], self.rows["gains"])

    @cached_property
    def size(self) -> dict[str, int]:
        places = [row for row in self.rows["scores"] if row["layer"] is not None]
        heads = [row["head"] for row in places if row["head"] is not None]
        return {"layers": 1 + max((row["layer"] for row in places), default=0), "heads": 1 + max(heads, default=-1)}

    @cached_property
    def rates(self) -> list[str]:
        """The scores there are."""
        present = {row["score"] for row in self.rows["scores"]}
        return [rate for rate in (*_RATES, "linked") if rate in present]

    @cached_property
    def methods(self) -> list[dict[str, Any]]:
        return _method_rows(self)

    @cached_property
    def shown(self) -> dict[str, list[dict[str, Any]]]:
        """The rows that charts show."""
        return {
            "layers": list(_layer_rows(self)),
            "methods": [{name: row[name] for name in row if name != "row"} for row in self.methods],
            "heads": list(_head_rows(self)),
            "norms": list(_norm_rows(self)),
        }


def _as_table(rows: list[dict[str, Any]]) -> pyarrow.Table:
    import pyarrow

    return pyarrow.Table.from_pylist(rows)


def _opening(study: _Study) -> str:
    corpus = escape(str(study.manifest.corpus.get("name", "unnamed")))
    counts = counted(study.manifest).replace("documents", "pairs of sentences").replace("passages", "read")
    gold = study.scores.scored
    question = (
        "do these links agree with those that people made?" if gold else "which words are linked, and which are not?"
    )
    lead = (
        f"Given a sentence and its translation, which word of the one does each word of the other look at? In "
        f"<b>{escape(study.name)}</b>, on <b>{corpus}</b>{f' ({counts})' if counts else ''}: {question} "
        f"{when_and_what(study.manifest)}"
    )
    settings = {setting for setting, _ in study.scores.views}
    known = {
        "sure, possible": gold,
        "AER": gold,
        "with output, with input": bool({"output", "input"} & settings),
        "to source, to target": bool({"to source", "to target"} & settings),
    }
    words = "".join(
        f"<div><dt>{term}</dt><dd>{meaning}</dd></div>" for term, meaning in WORDS.items() if known.get(term, True)
    )
    return f'<p class="lead">{lead}</p>\n<dl class="words">{words}</dl>'


def _in_short(study: _Study) -> Section | None:
    found = findings(study.scores)
    if not found:
        return None
    items = "".join(
        f"<li>{finding.text}"
        + (f'<span class="published">{finding.published}.</span>' if finding.published else "")
        + "</li>"
        for finding in found
    )
    return Section("short", "In short", "", f'<ol class="findings">{items}</ol>')


def _layer_rows(study: _Study) -> Iterator[dict[str, Any]]:
    for setting, direction in study.scores.views:
        view = view_name(setting, direction)
        for rate in study.rates:
            for measure in MEASURES:
                for row in study.scores.layers(setting, direction, measure, rate).values():
                    yield _cells(row) | {"view": view, "kind": measure, "layer": row["layer"], "label": measure}
            for row in study.scores.aligners(direction, rate):
                more = row["trained_on"] not in ("", "these pairs", None)
                beside = {"view": view, "kind": row["aligner"], "layer": None, "label": aligner_name(row)}
                yield _cells(row) | beside | {"more": more}


def _cells(row: Row) -> dict[str, Any]:
    kept = {name: row.get(name) for name in ("value", "low", "high", "twin")}
    return {"score": row.get("score", "AER"), **kept, "more": False}


def _layers(study: _Study) -> Section | None:
    if not study.shown["layers"]:
        return None
    keys = [f"layers-{number}" for number, _ in enumerate(study.scores.views)]
    figures = tuple(
        Figure(
            key,
            name.capitalize(),
            charts.layer_marks(study.rates, layers=study.size["layers"]),
            "layers",
            {"view": [name]},
            label=f"{study.rates[0]} by layer {name}, for weights and norms, with aligners as level lines",
            drives={"score": [other for other in keys if other != key]},
        )
        for key, name in zip(keys, (view_name(*view) for view in study.scores.views), strict=True)
    )
    lead = f"<p>{LEADS['layers' if study.scores.scored else 'linked']}</p>"
    body = _key(study) + grid(figures, "half")
    return Section("layers", "Layer by layer", lead, body, figures, "Layers")


def _key(study: _Study) -> str:
    """What the marks and lines of the panels mean."""
    weight, norm = (charts.KINDS[measure] for measure in MEASURES)
    twin = '<path d="M2 7H21" stroke="currentColor" stroke-width="2" stroke-dasharray="1 4" stroke-linecap="round"/>'
    signs = {
        "weight": f'<svg width="14" height="14"><circle cx="7" cy="7" r="4" fill="{weight}"/></svg>',
        "norm": f'<svg width="14" height="14"><path d="M7 2L12 7L7 12L2 7Z" fill="{norm}"/></svg>',
        "untrained twin": f'<svg width="22" height="14">{twin}</svg>',
    }
    for row in study.shown["layers"]:
        if row["layer"] is None:
            dash = ' stroke-dasharray="7 4"' if row["more"] else ""
            line = f'<path d="M1 7H25" stroke="{charts.KINDS[row["kind"]]}" stroke-width="2"{dash}/>'
            signs[row["label"]] = f'<svg width="26" height="14">{line}</svg>'
    return '<p class="key">' + "".join(f"<span>{sign} {escape(name)}</span>" for name, sign in signs.items()) + "</p>"


def _table(study: _Study) -> Section | None:
    if not study.scores.scored:
        return None
    parts = []
    for direction in dict.fromkeys(direction for _, direction in study.scores.views):
        settings = [setting for setting, way in study.scores.views if way == direction]
        heading = (
            f"<h3>{direction.capitalize()}</h3>" if len(study.scores.views) > len(study.scores.single[:2]) else ""
        )
        parts.append(heading + _layer_table(study, direction, settings))
    return Section("table", "All layers", f"<p>{LEADS['table']}</p>", "".join(parts), short="Table")


def _layer_table(study: _Study, direction: str, settings: list[str]) -> str:
    scores = study.scores
    head: list[Cell] = ["layer"]
    columns: list[Mapping[int, Cell]] = []
    for setting in settings:
        named = setting or "both"
        twins = []
        for measure in MEASURES:
            rows = scores.layers(setting, direction, measure)
            lowest = min((row["value"] for row in rows.values()), default=None)
            head.append(Html(f"{named}<br>{measure}"))
            twins.append({layer: _number(row.get("twin")) for layer, row in rows.items()})
            columns.append({layer: _rate(row, bold=row["value"] == lowest) for layer, row in rows.items()})
        gains = {
            row["layer"]: _change(row)
            for row in scores.gains
            if (row["setting"], row["direction"]) == (setting, direction)
        }
        if gains:
            head.append(Html("change,<br>norm − weight"))
            columns.append(gains)
        head.append(Html("untrained twin<br>weight, norm"))
        columns.append({layer: f"{twins[0][layer]}, {twins[1].get(layer, '')}" for layer in twins[0]})
    lines: list[list[Cell]] = [
        [str(layer + 1), *(column.get(layer, "") for column in columns)] for layer in range(study.size["layers"])
    ]
    return table(head, lines, label=f"AER by layer, {direction}", text=())


def _rate(row: Row, *, bold: bool = False) -> Html:
    value = f"<b>{points(row['value'])}</b>" if bold else points(row["value"])
    return Html(f"{value}<br><small>{interval(row).replace(' to ', '–')}</small>")


def _change(row: Row) -> Html:
    sign = "+" if row["change"] > 0 else ""
    value = f"{sign}{points(row['change'])}"
    sure = is_number(row["high"]) and row["high"] < 0
    return Html(f"{f'<b>{value}</b>' if sure else value}<br><small>{interval(row)}</small>")


def _number(value: object) -> str:
    return points(value) if is_number(value) else ""  # type: ignore[arg-type]


def _method_rows(study: _Study) -> list[dict[str, Any]]:
    """Whole methods with their error rates, the best first: aligners, and attention by each way of choosing."""
    found = []
    for direction in DIRECTIONS:
        for row in study.scores.aligners(direction):
            label = f"{aligner_name(row)}, {direction}"
            found.append(_cells(row) | {"label": label, "kind": row["aligner"], "unit": "", "row": row})
    for row in study.scores.choices:
        if is_number(row["value"]) and row["how"] in HOWS:
            place = _chosen(row)
            how = HOWS[row["how"]]
            view = view_name(row["setting"], row["direction"])
            label = f"{row['measure']} {view}, {place}, {how}"
            found.append(_cells(row) | {"label": label, "kind": row["measure"], "unit": row["unit"], "row": row})
    return sorted(found, key=lambda row: (float(row["value"]), row["label"]))


def _chosen(row: Row) -> str:
    """The layer or head of a choice; two layers where two models were put together."""
    if row["layer"] is None:
        return f"best {row['unit']}"
    if row["head"] is not None:
        return f"head {paper_label(row['layer'], row['head'])}"
    back = row.get("back_layer")
    if back is None or back == row["layer"]:
        return f"layer {row['layer'] + 1}"
    return f"layers {row['layer'] + 1} and {back + 1}"


def _methods(study: _Study) -> Section | None:
    rows = study.methods
    if not rows:
        return None
    labels = [row["label"] for row in rows if _drawn(row["row"])]
    figures = (
        Figure(
            "methods", "Error rates", charts.method_dots(labels), "methods", {"label": labels},
            label="AER of every method with its interval, the best first",
        ),
    )  # fmt: skip
    body = grid(figures, "wide")
    for label, single, opened in (("Aligners, and layers of attention", False, " open"), ("Single heads", True, "")):
        kept = [row for row in rows if (row["unit"] == "head") == single]
        if kept:
            body += f"<details{opened}><summary>{label}</summary>{_method_table(study, kept, label)}</details>"
    return Section("methods", "Methods beside aligners", f"<p>{LEADS['methods']}</p>", body, figures, "Methods")


def _drawn(row: Row) -> bool:
    """Whether a method stands in the chart: no single heads, and not every direction."""
    if row.get("unit") == "head" or row.get("how") == HALVES:
        return False
    if row.get("aligner") is not None:
        return str(row["direction"]) in ("forward", "grow-diag-final-and")
    return bool(row["direction"] != "backward" or row["setting"] == "to target")


def _method_table(study: _Study, rows: list[dict[str, Any]], label: str) -> str:
    head: list[Cell] = ["method", "AER", "95 %", "precision", "recall", "F1", "links", "twin"]
    lines: list[list[Cell]] = []
    for row in rows:
        more = _other_scores(study, row["row"])
        lines.append(
            [row["label"], Html(f"<b>{points(row['value'])}</b>"), interval(row).replace(" to ", "–"),
             *(_number(more.get(rate)) for rate in _RATES[1:]), f"{row['row']['links']:,}", _number(row["twin"])]
        )  # fmt: skip
    return table(head, lines, label=label)


def _other_scores(study: _Study, row: Row) -> dict[str, float]:
    """Precision, recall and F1 of a method, where they were counted: not for choices that mix several layers."""
    if row.get("aligner", "attention") == "attention":
        mixed = row["layer"] is None or row.get("back_layer") not in (None, row["layer"])
        wanted = ("attention", "", *(row[name] for name in ("direction", "measure", "setting", "layer", "head")))
    else:
        mixed, wanted = False, (row["aligner"], row["trained_on"], row["direction"], "", "", None, None)
    names = ("aligner", "trained_on", "direction", "measure", "setting", "layer", "head")
    kept = () if mixed else study.rows["scores"]
    return {row["score"]: row["value"] for row in kept if tuple(row[name] for name in names) == wanted}


def _head_rows(study: _Study) -> Iterator[dict[str, Any]]:
    views = dict.fromkeys(study.scores.single)
    for row in study.rows["scores"]:
        if row["head"] is not None and (row["setting"], row["direction"]) in views:
            place = {name: row[name] for name in ("measure", "layer", "head")}
            yield _cells(row) | place | {"view": view_name(row["setting"], row["direction"])}
    for row in study.rows["mean_norms"]:
        if row["head"] is not None:
            place = {"measure": None, "layer": row["layer"], "head": row["head"], "score": "mean norm"}
            yield _cells(row) | place | {"view": view_name(row["setting"], row["direction"])}


def _map(study: _Study) -> Section | None:
    rows = study.shown["heads"]
    if not rows:
        return None
    shown = [rate for rate in (*study.rates, "mean norm") if any(row["score"] == rate for row in rows)]
    views = _views(study)
    spec = charts.head_map(shown, views, **study.size)
    figures = (Figure("map", "Every head", spec, "heads", label="Heat map of one score, layer by head"),)
    return Section("map", "Head by head", f"<p>{LEADS['map']}</p>", grid(figures, "wide"), figures, "Heads")


def _views(study: _Study) -> list[str]:
    """The views of one direction in words; with input first, as it is the better one."""
    return [view_name(*view) for view in sorted(study.scores.single, key=lambda view: view[0] == "output")]


def _norm_rows(study: _Study) -> Iterator[dict[str, Any]]:
    rates = {
        (row["setting"], row["direction"], row["layer"], row["head"]): row["value"]
        for row in study.rows["scores"]
        if row["measure"] == "norm" and row["score"] == "AER" and row["layer"] is not None
    }
    for row in study.rows["mean_norms"]:
        value = rates.get((row["setting"], row["direction"], row["layer"], row["head"]))
        if value is not None:
            place = {"layer": row["layer"], "head": row["head"], "norm": row["value"], "value": value}
            yield place | {"view": view_name(row["setting"], row["direction"])}


def _choices(study: _Study) -> Section | None:
    if not study.shown["norms"]:
        return None
    spec = charts.norms_against_errors(_views(study))
    label = "Mean norm against AER, a dot for each head and a diamond for each layer"
    figures = (Figure("norms", "Mean norm against error rate", spec, "norms", label=label),)
    title = "Choosing without gold"
    return Section("choices", title, f"<p>{LEADS['choices']}</p>", grid(figures, "wide"), figures, "Choice")
