"""The report on layers: where in a model tasks are solved, as edge probing sees it.

First where every task lies (the paper's Figure 1), then mixing weights and gains layer by layer (its Figure 2), the
scores behind them with their controls, single labels, and, where heads were mixed, a map of them.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import replace
from html import escape
from typing import TYPE_CHECKING, Any

from attlas.reports import layers_charts as charts
from attlas.reports.findings import is_number
from attlas.reports.layers_findings import NAMES, Known, Picture, findings, name_of
from attlas.reports.layers_rows import (
    SHOWN_LABELS,
    bar_rows,
    control_rows,
    head_rows,
    label_rows,
    line_rows,
    place_rows,
)
from attlas.reports.made import made, when_and_what
from attlas.reports.page import Figure, Section, grid, render
from attlas.reports.tables import Cell, Html, between, ends, percent, table
from attlas.studies.shared.published import PIPELINE, PIPELINE_LAYERS, PIPELINE_MODEL

if TYPE_CHECKING:
    from attlas.store import Manifest, Result

LIMITS = f"""<ul>
<li><b>A probe learns, too.</b> That a label can be read off states does not show that the model uses it. Control
labels say how much a probe of this size learns by heart, the untrained twin how much words and positions alone give
away.</li>
<li><b>Mixing weights are not importance.</b> Neighbouring layers hold much the same, so that a mix may take either;
and a probe that hardly leaves uniform weights (small K) has not chosen. States are brought to one length before they
are mixed, or weights would say which layer has the longest.</li>
<li><b>The expected layer is a mean over gains.</b> Where layers add little in all, it is a mean over noise: look at
its interval, and at the points below it. Losses count, too.</li>
<li><b>Tasks differ in more than what they ask:</b> in size, in number of labels, in texts. Their order is safer than
their distances.</li>
<li><b>Published figures</b> are those of {PIPELINE_MODEL}, of {PIPELINE_LAYERS} layers, on other data, on dev; in the
chart they are moved to this model's depth. What can be compared is the order. Most could not be held against the
paper's text again; check them before you cite them.</li>
<li><b>Intervals</b> are over seeds where there are several, with few of them wide; with one seed they are over test
sentences, and say nothing of another training.</li>
</ul>"""

_WORDS = {
    "layer 0": "what the model reads, before any layer; layer l is after l layers.",
    "mixing weights s": """a probe over all layers mixes their states by weights that sum to one. Their mean layer is
    the <i>centre of gravity</i>; K(s) says how far they are from uniform, in nats.""",
    "gain D": """by how much the F1 of a probe on layers 0 to l is above that of one on 0 to l−1. The mean layer of
    the gains is the <i>expected layer</i>; K(D) says how far they are from uniform, losses taken as none.""",
    "control labels": """every word type has drawn the labels of some training edge; a probe can only know them by
    heart. <i>Selectivity</i> is gold less control.""",
    "untrained": "the model's twin: the same architecture with random weights, probed in the same way.",
    "F1": "micro-averaged over labels; a label is predicted where its sigmoid is above one half.",
}


def layers_page(result: Result) -> str:
    """Write the page of a result, of one task or of several.

    >>> from attlas.store import Manifest, Result
    >>> row = {"task": ["pos"], "model": ["trained"], "labels": ["gold"], "measure": ["score"], "value": [0.9]}
    >>> row |= {"low": [None], "high": [None], "n": [1]}
    >>> layers_page(Result(Manifest("layers", model={"name": "tiny"}), {"tasks": row}))[:15]
    '<!doctype html>'
    """
    import pyarrow

    manifest = result.manifest
    picture = Picture({name: found.to_pylist() for name, found in result.tables.items()})
    shown = {
        "places": place_rows(picture),
        "bars": bar_rows(picture),
        "lines": line_rows(picture),
        "control_rows": control_rows(picture),
        "label_rows": label_rows(picture),
        "head_rows": head_rows(picture),
    }
    makers = (_in_short, _places, _panels, _scores, _controls, _labels, _heads)
    sections = [section for maker in makers if (section := maker(picture, shown)) is not None]
    tables = {name: pyarrow.Table.from_pylist(list(rows)) for name, rows in shown.items() if rows}
    name = str(manifest.model.get("name", "a model"))
    title = f"What the layers of {name} know"
    last = made(replace(manifest, corpus={k: v for k, v in manifest.corpus.items() if k != "tasks"}), LIMITS)
    return render(title, _opening(manifest, picture), [*sections, last], tables)


def _opening(manifest: Manifest, picture: Picture) -> str:
    model = escape(str(manifest.model.get("name", "unnamed")))
    about: Mapping[str, Any] = manifest.corpus.get("tasks", {})
    what = "outputs of heads" if picture.heads else "states"
    named = _listed([f"<b>{name_of(task)}</b>" for task in picture.tasks])
    seeds = {picture.seeds(task) for task in picture.tasks}
    trained = f"{max(seeds, default=0)} seeds" if max(seeds, default=0) > 1 else "one seed"
    if len(seeds) > 1:
        trained = f"one to {max(seeds)} seeds"
    lead = (
        f"Where in <b>{model}</b> can {named} be told? Small probes read spans of words, or pairs of them, off its "
        f"frozen {what}, layer by layer, and are scored on texts that they have not seen ({trained}). "
        f"{_made(manifest)}"
    )
    words = "".join(f"<div><dt>{term}</dt><dd>{meaning}</dd></div>" for term, meaning in _WORDS.items())
    return f'<p class="lead">{lead}</p>\n<dl class="words">{words}</dl>{_data(picture, about)}'


def _made(manifest: Manifest) -> str:
    """When it was made and what was left out; where that is a long list, it is left to the end of the page."""
    told = when_and_what(manifest)
    if len(manifest.skipped) <= 3:
        return told
    return f"{told.partition(' Cut or left out:')[0]} What was cut or left out is listed at the end."


def _data(picture: Picture, about: Mapping[str, Any]) -> str:
    """How large every task is, folded away."""
    lines: list[list[Cell]] = []
    for task in picture.tasks:
        known: Mapping[str, Any] = about.get(task, {})
        parts: Mapping[str, Any] = known.get("parts", {})
        edges = [parts.get(part, {}).get("edges") for part in ("train", "dev", "test")]
        seen = known.get("types_known")
        lines.append(
            [
                NAMES.get(task, task),
                str(known.get("name", "")),
                str(known.get("labels", "")),
                *("" if count is None else f"{count:,}" for count in edges),
                "" if seen is None else f"{100 * seen:.0f} %",
                _unseen(known.get("unseen", {})),
                str(known.get("epochs", "")),
            ]
        )
    head: list[Cell] = [
        "task", "file", "labels", "edges in train", "dev", "test", "control word known", "labels unseen in training",
        "epochs",
    ]  # fmt: skip
    divided = "; ".join(
        f"{name_of(task)}: {escape(str(about[task]['divided']))}"
        for task in picture.tasks
        if "divided" in about.get(task, {})
    )
    note = """<p class="note"><i>Control word known</i>: the share of test edges whose word, by which the control
    label goes, training has; of others it cannot be known. Labels that training has not seen count as missed."""
    return (
        '<details style="margin-top: 0.9rem"><summary>The data of every task</summary>'
        + table(head, lines, label="The data of every task", text=(0, 1))
        + f"{note} {divided}</p></details>"
    )


def _unseen(parts: Mapping[str, Mapping[str, int]]) -> str:
    """How many labels of dev and test training has not seen, and how often they are given."""
    counts: Counter[str] = Counter()
    for found in parts.values():
        counts.update(found)
    return f"{len(counts)} ({counts.total():,} times)" if counts else "none"


def _in_short(picture: Picture, shown: Mapping[str, Any]) -> Section | None:
    found = "".join(
        f"<li>{finding.text}"
        + (f'<span class="published">{finding.published}.</span>' if finding.published else "")
        + "</li>"
        for finding in findings(picture)
    )
    return Section("short", "In short", "", f'<ol class="findings">{found}</ol>') if found else None


def _places(picture: Picture, shown: Mapping[str, Any]) -> Section | None:
    rows = shown["places"]
    if not any(is_number(row["value"]) for row in rows):
        return None
    names = list(dict.fromkeys(row["name"] for row in rows))
    told = any(row["scaled"] is not None for row in rows)
    spec = charts.places(names, picture.layers, published=told, first=picture.first)
    figure = Figure(
        "places", "Expected layer and centre of gravity", spec,
        "places", label="Expected layer and centre of gravity of every task, with intervals",
    )  # fmt: skip
    hollow = (
        f" Hollow marks are the published figures ({PIPELINE_MODEL}), moved from {PIPELINE_LAYERS} layers to "
        f"{picture.layers}."
        if told
        else ""
    )
    lead = f"""<p>Tasks from early to late. The diamond is the expected layer, where the score rises; the triangle the
    centre of gravity, where the probe over all layers listens. Lines are 95 % intervals: over seeds, or with one seed
    over test sentences (mixing weights then have none).{hollow}</p>"""
    return Section(
        "places", "Where tasks lie", lead, grid([figure], "wide") + _place_table(picture), (figure,), "Places"
    )


def _panels(picture: Picture, shown: Mapping[str, Any]) -> Section | None:
    figures = []
    for task in picture.tasks:
        rows = [row for row in shown["bars"] if row["task"] == task and row["part"] == "bar"]
        weights = [row["value"] for row in rows if row["kind"] == "weight"]
        gains = [end for row in rows if row["kind"] == "gain" for end in (row["value"], row["low"], row["high"])]
        ends = [0.0, *(float(end) for end in gains if end is not None)]
        if not weights:
            continue
        bounds = charts.Bounds(max(weights), min(ends), max(ends))
        known = {name: picture.of(task, name) for name in ("K(s)", "K(D)")}
        note = ", ".join(f"{name} {found.value:.2f}" for name, found in known.items() if found is not None)
        spec = charts.mix_and_gains(picture.layers, bounds, first=picture.first)
        label = f"Mixing weights and gains by layer: {NAMES.get(task, task)}"
        figures.append(
            Figure(f"bars-{task}", NAMES.get(task, task), spec, "bars", {"task": [task]}, label=label, note=note)
        )
    if not figures:
        return None
    summed = " Weights of a layer's heads are summed." if picture.heads else ""
    lead = f"""<p>As Figure 2 of the paper. Above, in blue, how much weight the probe over all layers gives to each
    layer; the fine dashed line is the same weight to all, the upright one the centre of gravity.{summed} Below, in
    violet, the points of F1 that each further layer adds, with its interval, and the expected layer. Every panel has
    scales of its own.</p>"""
    kind = "half" if picture.layers > 16 or len(figures) < 3 else "small"
    return Section("panels", "Layer by layer", lead, grid(figures, kind), tuple(figures), "By layer")


def _scores(picture: Picture, shown: Mapping[str, Any]) -> Section | None:
    present = dict.fromkeys(row["line"] for row in shown["lines"])
    figures = tuple(
        Figure(
            f"lines-{task}",
            NAMES.get(task, task),
            charts.score_lines(picture.layers, first=picture.first),
            "lines",
            {"task": [task]},
            label=f"F1 by layer: {NAMES.get(task, task)}",
        )
        for task in picture.tasks
        if any(row["task"] == task for row in shown["lines"])
    )
    lead = """<p>F1 on test, by the layers that a probe may see. Where violet is far above blue, the mix of layers
    knows more than any one of them. Grey is what the same probes find in a model that has learned nothing. Bands are
    intervals over test sentences, or with several seeds the range of the seeds. The scales differ.</p>"""
    kind = "half" if picture.layers > 16 or len(figures) < 3 else "small"
    body = _key([name for name in charts.LINES if name in present]) + grid(figures, kind) if figures else ""
    return Section("scores", "Scores by layer", lead, body + _score_table(picture), figures, "Scores")


def _controls(picture: Picture, shown: Mapping[str, Any]) -> Section | None:
    rows = shown["control_rows"]
    if not rows:
        return None
    names = list(dict.fromkeys(row["name"] for row in rows))
    figures = tuple(
        Figure(
            key,
            title,
            charts.control_lines(names, picture.layers, unit, first=picture.first),
            "control_rows",
            {"measure": [measure]},
            label=f"{title}, by layer",
            drives={"model": [other]},
        )
        for key, other, title, unit, measure in (
            ("control", "selective", "Control labels", "F1, per cent", "control labels"),
            ("selective", "control", "Selectivity: gold less control", "points of F1", "selectivity"),
        )
    )
    lead = """<p>Left, how well the same probes tell labels that belong to words by chance: what they can learn by
    heart. Right, how much better they tell the real ones. Where scores rise and selectivity does not, what is gained
    is in part that the probe knows word types again.</p>"""
    return Section("controls", "What is known by heart", lead, grid(figures, "half"), figures, "Controls")


def _labels(picture: Picture, shown: Mapping[str, Any]) -> Section | None:
    rows = shown["label_rows"]
    tasks = {task: NAMES.get(task, task) for task in picture.tasks if any(row["task"] == task for row in rows)}
    if not tasks:
        return None
    most = max(len({row["label"] for row in rows if row["task"] == task}) for task in tasks)
    figures = (
        Figure(
            "label-lines",
            "The six most frequent labels",
            charts.label_lines(tasks, picture.layers, first=picture.first),
            "label_rows",
            label="F1 of the most frequent labels by layer",
            drives={"task": ["label-map"]},
        ),
        Figure(
            "label-map",
            f"Up to {SHOWN_LABELS} labels",
            charts.label_map(tasks, picture.layers, most),
            "label_rows",
            label="Heat map of F1 by label and layer",
        ),
    )
    lead = """<p>F1 of single labels, by the layers 0 to l that the probe may see; the most frequent in test first.
    Labels that are told at layer 0 already need no context; those that come late say where it is made.</p>"""
    return Section("labels", "Label by label", lead, grid(figures, "half"), figures, "Labels")


def _heads(picture: Picture, shown: Mapping[str, Any]) -> Section | None:
    rows = shown["head_rows"]
    if not rows:
        return None
    tasks = {task: NAMES.get(task, task) for task in picture.tasks if any(row["task"] == task for row in rows)}
    spec = charts.head_weights(tasks, layers=picture.layers, heads=picture.heads)
    figure = Figure(
        "heads", "Weight of every head in the mix", spec, "head_rows",
        label="Heat map of mixing weights, layer by head",
    )  # fmt: skip
    lead = """<p>The probe over all layers mixes what single heads bring. Rows are layers, columns are heads; the
    number is the head's weight in even shares, 1 being what it would have if all had the same. Heads that do the same
    share their weight.</p>"""
    return Section("heads", "Which heads", lead, grid([figure], "wide"), (figure,), "Heads")


def _place_table(picture: Picture) -> str:
    head: list[Cell] = [
        "task", "expected layer", "95 %", "published", "centre of gravity", "95 %", "published", "K(s)", "K(D)",
        "untrained: expected", "untrained: centre", "control: expected", "control: centre", "seeds",
    ]  # fmt: skip
    lines: list[list[Cell]] = []
    for task in picture.tasks:
        told = None if picture.heads else PIPELINE.get(task)
        expected, centre = picture.place(task), picture.of(task, "centre of gravity")
        lines.append(
            [
                NAMES.get(task, task),
                _bold(_place(expected)),
                _span(expected),
                "" if told is None else f"{told.expected_layer:.2f}",
                _bold(_place(centre)),
                _span(centre),
                "" if told is None else f"{told.centre_of_gravity:.2f}",
                *(_place(picture.of(task, measure)) for measure in ("K(s)", "K(D)")),
                _place(picture.place(task, "untrained")),
                _place(picture.of(task, "centre of gravity", "untrained")),
                _place(picture.place(task, labels="control")),
                _place(picture.of(task, "centre of gravity", labels="control")),
                str(picture.seeds(task)),
            ]
        )
    note = f"""<p class="note">Published: {PIPELINE_MODEL}, of {PIPELINE_LAYERS} layers; this model has
    {picture.layers}. An empty cell: not measured, or no place, since further layers add nothing that can be told from
    chance.</p>"""
    return _measured(head, lines, "Where every task lies") + note


def _score_table(picture: Picture) -> str:
    head: list[Cell] = [
        "task", "layer 0", "95 %", "published", "all layers", "95 %", "published", "gain", "best layer", "alone",
        "untrained", "control", "selectivity", "95 %", "at layer 0", "untrained: selectivity", "most frequent",
    ]  # fmt: skip
    lines: list[list[Cell]] = []
    for task in picture.tasks:
        told = None if picture.heads else PIPELINE.get(task)
        base, score, selectivity = (
            picture.of(task, measure) for measure in ("score at layer 0", "score", "selectivity")
        )
        best = picture.of(task, "best single layer")
        lines.append(
            [
                NAMES.get(task, task),
                _percent(base),
                _range(base),
                "" if told is None else percent(told.base),
                _bold(_percent(score)),
                _range(score),
                "" if told is None else percent(told.score),
                _percent(picture.of(task, "gain")),
                "" if best is None else f"{best.value:.0f}",
                _percent(picture.of(task, "score of it")),
                _percent(picture.of(task, "score", "untrained")),
                _percent(picture.of(task, "score", labels="control")),
                _percent(selectivity),
                _range(selectivity),
                _percent(picture.of(task, "selectivity at layer 0")),
                _percent(picture.of(task, "selectivity", "untrained")),
                _percent(picture.of(task, "most frequent label", "none")),
            ]
        )
    note = f"""<p class="note">Micro-F1 on test, per cent; <i>best layer</i> is the single layer that is best on dev,
    <i>alone</i> its score on test; <i>selectivity</i> is all layers on gold less all layers on control labels;
    <i>most frequent</i> is the score of always saying that label. Published: {PIPELINE_MODEL}, on dev.</p>"""
    return _measured(head, lines, "Scores of all tasks") + note


def _measured(head: Sequence[Cell], lines: Sequence[Sequence[Cell]], label: str) -> str:
    """A table without the columns of what was not measured for any task."""
    empty = ("", Html("<b></b>"))
    kept = [column for column in range(len(head)) if any(line[column] not in empty for line in lines)]
    return table([head[k] for k in kept], [[line[k] for k in kept] for line in lines], label=label)


def _key(names: Sequence[str]) -> str:
    """What the lines of the charts below it mean."""
    dashes = {name: f' stroke-dasharray="{" ".join(map(str, dash))}"' for name, dash in charts.DASHES.items()}
    signs = (
        f'<span><svg width="26" height="14"><path d="M1 7H25" stroke-width="2" stroke="{charts.LINES[name]}"'
        f"{dashes.get(name, '')}/></svg> {name}</span>"
        for name in names
    )
    return f'<p class="key">{"".join(signs)}</p>'


def _listed(names: Sequence[str]) -> str:
    return names[0] if len(names) == 1 else f"{', '.join(names[:-1])} and {names[-1]}" if names else "nothing"


def _bold(text: str) -> Html:
    return Html(f"<b>{escape(text)}</b>")


def _place(known: Known | None) -> str:
    return "" if known is None else f"{known.value:.2f}".replace("-", "−")


def _span(known: Known | None) -> str:
    if known is None or known.low is None or known.high is None:
        return ""
    return ends(f"{known.low:.2f}", f"{known.high:.2f}")


def _percent(known: Known | None) -> str:
    return "" if known is None else percent(known.value).replace("-", "−")


def _range(known: Known | None) -> str:
    return "" if known is None else between(known.low, known.high)
