"""The report of the parsing probes: how much of a dependency tree can be read off a model's attention.

The table has the form of Clark et al.'s: one row for each probe, ours beside the published figure. Then come the
weights that the probe has learned for every head, what it gets right by relation, the structural probe by layer, and
how training went.
"""

from __future__ import annotations

from collections.abc import Mapping
from html import escape
from typing import TYPE_CHECKING, Any

from attlas.reports import parse_charts as charts
from attlas.reports.made import made, measure_of, when_and_what
from attlas.reports.page import Figure, Section, grid, render
from attlas.reports.parse_findings import Rows, findings
from attlas.reports.tables import Cell, Html, between, percent, table

if TYPE_CHECKING:
    from attlas.store import Manifest, Result

SAID = {
    "right-branching": "the next word",
    "best fixed offset": "the word at the best distance",
    "distances + vectors": "how far apart the two words stand",
    "attention": "two weights per head",
    "attention + vectors": "weights per head that depend on the two words",
    "structural probe": "distances between projected states",
    "untrained: attention": "the same, before any training of the model",
    "untrained: attention + vectors": "the same, before any training of the model",
    "untrained: structural probe": "the same, before any training of the model",
}
SHOWN_RELATIONS = 30

LIMITS = """<ul>
<li><b>A probe learns, too.</b> What it gets right shows that the information is there in a form that a linear rule
can read, not that the model uses it. The rows of the untrained twin and of distances say how much the probe can do
without anything that the model has learned.</li>
<li><b>Two scores.</b> UAS asks for the governor of each word; UUAS, marked *, only for the edge. They are not the
same measure, and UUAS is the easier one.</li>
<li><b>Governors are chosen one by one,</b> as in the paper: what comes out need not be a tree.</li>
<li><b>The published figures</b> are those of bert-base-uncased on the Wall Street Journal with Stanford
dependencies; here model, texts, annotation and often the vectors are others. What can be compared is the order of the
rows.</li>
<li><b>Intervals</b> are for other sentences of the same kind (bootstrap by sentence), not for another training or
another kind of text.</li>
</ul>"""


def parse_page(result: Result) -> str:
    """Write the page of a result.

    >>> callable(parse_page)
    True
    """
    tables = dict(result.tables)
    rows = {name: found.to_pylist() for name, found in tables.items()}
    manifest = result.manifest
    name = str(manifest.model.get("name", "a model"))
    sections = [
        section
        for section in (
            _in_short(rows),
            _scores(rows["parse"]),
            _weights(rows.get("head_weights", [])),
            _relations(rows.get("by_relation", [])),
            _layers(rows.get("structural_layers", [])),
            _training(rows.get("training", [])),
            made(manifest, LIMITS),
        )
        if section is not None
    ]
    streams = sorted({row["stream"] for row in rows.get("head_weights", [])})
    return render(
        f"Trees from the attention of {name}", _opening(manifest, rows), sections, tables, {"streams": streams}
    )


def _opening(manifest: Manifest, rows: Mapping[str, Rows]) -> str:
    model, corpus = (escape(str(about.get("name", "unnamed"))) for about in (manifest.model, manifest.corpus))
    parts: Mapping[str, Any] = manifest.corpus.get("parts", {})
    sizes = ", ".join(f"{part['sentences']:,} sentences to {_PURPOSES[name]}" for name, part in parts.items())
    divided = f" {escape(str(manifest.corpus['divided']))}." if "divided" in manifest.corpus else ""
    vectors = manifest.corpus.get("vectors", {})
    known = ""
    if vectors:
        share = 100 * vectors["known"] / max(1, vectors["words"])
        known = f" Word vectors: {escape(str(vectors['name']))}, which has {share:.1f} % of the words."
    heads = len({(row["layer"], row["head"]) for row in rows.get("head_weights", [])})
    lead = (
        f"Can a dependency tree be read off the attention of <b>{model}</b>? For every word of <b>{corpus}</b> a "
        f"probe chooses its governor from the attention between words in all {heads} heads"
        f"{_BY[measure_of(manifest)]}; it is trained on some sentences and scored on others ({sizes}).{divided}"
        f"{known} {when_and_what(manifest)}"
    )
    words = "".join(f"<div><dt>{term}</dt><dd>{meaning}</dd></div>" for term, meaning in _WORDS.items())
    return f'<p class="lead">{lead}</p>\n<dl class="words">{words}</dl>'


_BY = {"weight": "", "norm": ", by norms ‖αf(x)‖"}
_PURPOSES = {"train": "train on", "dev": "stop by", "test": "score on"}
_WORDS = {
    "governor": "the word that another depends on in the tree; the root's governor is ROOT.",
    "UAS": """the share of words, punctuation aside, whose governor is found. <i>UUAS</i>: of edges, without
    direction.""",
    "untrained": "the model's twin: the same architecture with random weights, captured and probed in the same way.",
    "ROOT": "competes with the words; its attention is that of [CLS], [SEP] and their like together.",
}


def _in_short(rows: Mapping[str, Rows]) -> Section:
    found = "".join(
        f"<li>{finding.text}"
        + (f'<span class="published">{finding.published}.</span>' if finding.published else "")
        + "</li>"
        for finding in findings(rows)
    )
    return Section("short", "In short", "", f'<ol class="findings">{found}</ol>')


def _scores(rows: Rows) -> Section:
    names = [row["probe"] for row in rows]
    figure = Figure(
        "scores", "Right on test", charts.score_bars(names), "parse", label="Score of every probe, with its interval"
    )
    head: list[Cell] = [
        "probe",
        "what it reads",
        "test",
        "95 %",
        "dev",
        "published",
        "one root",
        "parameters",
        "epochs",
    ]
    lines: list[list[Cell]] = []
    for row in rows:
        chosen = f" ({row['chosen']})" if row["chosen"] and row["probe"] != "right-branching" else ""
        lines.append(
            [
                row["probe"] + ("*" if row["metric"] == "UUAS" else ""),
                SAID.get(str(row["probe"]), str(row["reads"])) + chosen,
                Html(f"<b>{percent(row['value'])}</b>"),
                between(row["low"], row["high"]),
                percent(row["dev"]),
                "" if row["published"] is None else f"{100 * row['published']:.0f}",
                "" if row["one_root"] is None else f"{percent(row['one_root'])} %",
                f"{row['parameters']:,}" if row["parameters"] > 1 else "",
                str(row["epochs"]) if row["epochs"] else "",
            ]
        )
    lead = """<p>Per cent of words whose governor was found, on sentences that no probe has seen. Blue bars read what
    the trained model computes, brown ones its untrained twin, grey ones only where words stand. The line at the end
    of a bar is the 95 % interval, the upright mark what was published for that row. * UUAS, not UAS. <i>One root</i>
    is the share of sentences in which exactly one word was given to ROOT.</p>"""
    body = grid([figure], "wide") + table(head, lines, label="Scores of all probes", text=(0, 1))
    return Section("scores", "How much of the tree", lead, body, (figure,), "Scores")


def _weights(rows: Rows) -> Section | None:
    if not rows:
        return None
    layers, heads = (1 + max(row[axis] for row in rows) for axis in ("layer", "head"))
    figure = Figure(
        "weights", "What each head says", charts.weight_map(layers=layers, heads=heads), "head_weights",
        label="Heat map of learned weights, layer by head",
    )  # fmt: skip
    lead = """<p>The probe on attention alone has two weights per head: for what a word gives to its candidate
    governor, and for what the candidate gives to the word. Shown is the <i>effect</i>, the weight times the head's
    usual attention between words: how much of the probe's decision runs over this head. Blue speaks for a governor,
    red against. Heads that do the same share their credit, so a pale head is not a useless one.</p>"""
    return Section("weights", "Which heads", lead, grid([figure], "wide"), (figure,), "Heads")


def _relations(rows: Rows) -> Section | None:
    sizes: dict[str, float] = {}
    for row in rows:
        sizes[row["relation"]] = max(sizes.get(row["relation"], 0.0), row["n"])
    kept = sorted(sizes, key=lambda name: (-sizes[name], name))[:SHOWN_RELATIONS]
    if not kept:
        return None
    probes = [name for name in SAID if any(row["probe"] == name for row in rows) and name != "best fixed offset"]
    figure = Figure(
        "relations", "By relation", charts.relation_map(probes, kept), "by_relation",
        {"relation": kept, "probe": probes}, label="Heat map of accuracy by relation and probe",
    )  # fmt: skip
    few = f" The {len(kept)} most frequent of {len(sizes)} are shown." if len(sizes) > len(kept) else ""
    lead = f"""<p>The same by the relation of a word to its governor, the most frequent first: what is right of a
    hundred such words.{few} Where attention is far above distances, it is not mere position.</p>"""
    return Section("relations", "By relation", lead, grid([figure], "wide"), (figure,), "Relations")


def _layers(rows: Rows) -> Section | None:
    if not rows:
        return None
    figure = Figure(
        "layers", "Structural probe, layer by layer", charts.layer_lines(), "structural_layers",
        label="Structural probe's UUAS on dev by layer, trained and untrained",
    )  # fmt: skip
    lead = """<p>One structural probe for the states of every layer. The layer with the best figure here, on the dev
    part, is the one that was scored on test.</p>"""
    return Section("layers", "States, layer by layer", lead, grid([figure], "wide"), (figure,), "Layers")


def _training(rows: Rows) -> Section | None:
    if not rows:
        return None
    names = list(dict.fromkeys(row["probe"] for row in rows))
    scored = [name for name in names if any(row["probe"] == name and row["dev_score"] is not None for row in rows)]
    figures = (
        Figure("loss", "Loss on dev", charts.training_lines(scored, "dev_loss", "nats per word"), "training",
               {"probe": scored}, label="Dev loss by epoch, a line for each probe"),
        Figure("score", "UAS on dev", charts.training_lines(scored, "dev_score", "share right"), "training",
               {"probe": scored}, label="Dev UAS by epoch, a line for each probe"),
    )  # fmt: skip
    lead = """<p>After each epoch the probe is tried on the dev part; the rate is halved when nothing was gained,
    training stops when that has happened some times in a row, and the probe with the least loss is kept.</p>"""
    return Section("training", "How training went", lead, grid(figures, "half"), figures, "Training")
