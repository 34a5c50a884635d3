"""The report of the norms study: what is seen of attention with its vectors and not with its weights alone.

First what was published of BERT, claim by claim, beside what is found here; then shares by class of key and layer,
lengths, drawn pairs of weight and length, their correlation, lengths by frequency, mixing, every head, every layer,
and how it was made.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from html import escape
from typing import TYPE_CHECKING, Any

from attlas.measures.names import MEASURES
from attlas.reports import norms_charts as charts
from attlas.reports.charts import CLASS_LABELS, Size, frequency_lines
from attlas.reports.findings import is_number
from attlas.reports.made import counted, made, when_and_what
from attlas.reports.norms_findings import NAMES, Picture, claims, findings
from attlas.reports.page import Figure, Section, grid, render
from attlas.reports.prose import TABLE
from attlas.reports.tables import Html, share, table

if TYPE_CHECKING:
    import pyarrow

    from attlas.store import Manifest, Result

STREAMS = {
    "encoder": "the encoder's attention over the text",
    "decoder": "the decoder's attention over what stands before",
    "cross": "the decoder's attention over the encoder's text",
}
SIGNS = {"yes": "✓", "part": "◐", "no": "✗"}
WORDS = {
    "α": "the weight that a query gives to a key; the weights of a query sum to one.",
    "f(x)": """the vector that a head has to offer of a key: its state through the head's value and output matrices.
    ‖f(x)‖ is its length.""",
    "norm": """‖αf(x)‖, the length of what a key really brings in: weight times length. As a <i>share</i>, of the sum
    over all keys of the query.""",
    "all heads together": """the length of the sum of all heads' αf(x) of one key, as a share. Heads may bring in
    vectors that cancel each other.""",
    "mixing ratio": """of what a piece is made of after the attention, how much comes from other pieces: ‖others‖ /
    (‖others‖ + ‖itself‖).""",
    "untrained twin": """the same architecture with random weights, on the same texts; what it shows is owed to the
    architecture and not to training. It is dashed.""",
    "even attention": "what a head would give that attends to every key it may see alike. It is dotted.",
    "[CLS], [SEP]": "the pieces that open and close a text, whatever the model calls them (BOS, EOS).",
}
LEADS = {
    "short": """What Kobayashi et al. (2020) found of BERT-base, claim by claim, and what is found here.""",
    "shares": """The share of each class of key in all attention, mean over heads and queries, layer by layer. Where
    the line of weight runs above those of norm, attention goes to vectors that are short: little comes of it.""",
    "lengths": """How long the vectors f(x) of each class are, over those of other keys (neither special nor
    punctuation) in the same layer, mean over heads. Far below 1 is where weight can be parked.""",
    "pairs": """Each dot is a query and a key in one head, drawn evenly from all texts; in a layer, all its heads in
    turn. Both axes are logarithmic, so that ‖αf(x)‖ is the same along every falling diagonal. Dots at the upper left
    get much weight and have short vectors; weights under a millionth lie on the lower edge. Point at a dot for its
    pieces.""",
    "correlation": """Left, within each text: does what gets more weight have the shorter vector? A dot for each head
    (mean over texts), over all keys, and over other keys alone. Right, over pairs drawn from all texts, within one
    class of key: mean of the heads, with 95 % intervals.""",
    "frequency": """Left, a dot for each head: the rank correlation of ‖f(x)‖ with how rare a word is in this corpus,
    over the different words of a text, mean over texts; above 0 rare words have the longer vectors. Right, the mean
    length by frequency band, a line for each layer.""",
    "mixing": """What a piece takes in from other pieces, against what it keeps: by attention alone, with the residual
    that the attention is added to, and through the norm that reads their sum. In cross attention all keys stand
    against the residual, and attention alone has no ratio.""",
    "map": """Rows are layers, columns are heads; the brighter, the more. <i>Norm over weight</i> far below 1 is a
    head that gives such keys more weight than comes of it. Point at a cell for all its numbers.""",
    "heads": """One row for each head: share of weight and of norm for each class of key; ρ is the rank correlation of
    α and ‖f(x)‖ within texts. Click a heading to sort, click again to turn the order round. Type to filter by label
    (<kbd>3-</kbd>).""",
    "layers": "Every layer and class of key: shares, means over pairs, and the twin's shares.",
}
MIXING_LIMIT = """<li><b>The mixing ratio sees one layer.</b> States have been mixed in the layers below it already.
</li>
"""
LIMITS = f"""<ul>
<li><b>A long vector is not an important one.</b> A norm says how much is added, not whether anything depends on
it.</li>
<li><b>Lengths say nothing of direction.</b> Two long vectors may cancel; that is why shares of all heads together
stand beside those head by head.</li>
<li><b>Shares and means differ.</b> A class with many keys can have a large share and a small mean weight; compare
with even attention.</li>
{MIXING_LIMIT}<li><b>Frequencies are those of this corpus</b>, counted in word forms; in a small one most words
are equally rare.</li>
</ul>"""


def norms_page(result: Result) -> str:
    """Write the page of a norms study's result.

    >>> from types import SimpleNamespace
    >>> manifest = SimpleNamespace(
    ...     study="norms", plan={}, versions={}, model={"name": "tiny"}, corpus={"name": "a book"}, seed=0,
    ...     skipped={}, started="2025-01-01T00:00:00+00:00", seconds=1.5,
    ... )
    >>> "What tiny’s attention adds up" in norms_page(SimpleNamespace(manifest=manifest, tables={}))
    True
    """
    study = _Study(dict(result.tables), result.manifest)
    makers = (
        _in_short, _shares, _lengths, _pairs, _correlation, _frequency, _mixing, _map, _heads, _layers,
    )  # fmt: skip
    sections = [section for maker in makers if (section := maker(study)) is not None]
    sections.append(made(study.manifest, LIMITS if study.has("mixing") else LIMITS.replace(MIXING_LIMIT, "")))
    extra = {"streams": study.picture.streams, "columns": _columns(study)}
    return render(f"What {study.name}’s attention adds up", _opening(study), sections, _shown(study), extra)


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
        return Picture(self.tables)

    @cached_property
    def classes(self) -> list[str]:
        """All classes of key of any stream."""
        present = {kind for stream in self.picture.streams for kind in self.picture.classes(stream)}
        return [kind for kind in NAMES if kind in present]

    @cached_property
    def widest(self) -> tuple[str, int]:
        """The class and layer of the first stream in which weight and norm are farthest apart."""
        rows = self.picture.rows("norms_layers", stream=next(iter(self.picture.streams), ""))
        rows = [row for row in rows if row["class"] != "other"] or rows
        best = max(rows, key=lambda row: float(row["weight"]) - float(row["norm"]))
        return str(best["class"]), int(best["layer"])

    @cached_property
    def size(self) -> Size:
        heads = self.picture.rows("norms")
        return {
            "layers": 1 + max((row["layer"] for row in heads), default=0),
            "heads": 1 + max((row["head"] for row in heads), default=0),
        }

    def has(self, name: str) -> bool:
        return name in self.tables and self.tables[name].num_rows > 0


def _shown(study: _Study) -> dict[str, pyarrow.Table]:
    """The tables that the page's charts read, as they want them: "class" is no name for a setting of a chart."""
    import pyarrow

    if not study.has("norms"):
        return {}
    names = ("norms", "norms_layers", "spearman_layers", "frequency", "bands", "mixing", "scatter")
    shown = {name: _renamed(study.tables[name]) for name in names if study.has(name)}
    if "scatter" in shown:  # the few are drawn on top of the many
        few = [row for row in study.picture.rows("scatter") if row["class"] != "other"]
        many = [row for row in study.picture.rows("scatter") if row["class"] == "other"]
        shown["scatter"] = _renamed(pyarrow.Table.from_pylist([*many, *few]))
    within = study.picture.rows("spearman", over="texts")
    if within:
        shown["spearman"] = pyarrow.Table.from_pylist(within)
        shown["rho"] = pyarrow.Table.from_pylist([row for row in within if row["keys"] == "all"])
    shown["heads"] = pyarrow.Table.from_pylist(
        [
            {"stream": row["stream"], "layer": row["layer"], "head": row["head"], "measure": measure,
             "quantity": row["class"], "value": row[measure]}
            for row in study.picture.rows("norms")
            for measure in MEASURES
        ]
    )  # fmt: skip
    return shown


def _renamed(found: pyarrow.Table) -> pyarrow.Table:
    return found.rename_columns(["keys" if column == "class" else column for column in found.column_names])


def _opening(study: _Study) -> str:
    corpus = escape(str(study.manifest.corpus.get("name", "unnamed")))
    counts = counted(study.manifest)
    lead = (
        "Attention adds up vectors, each multiplied by its weight; weights alone do not show how long the vectors "
        f"are. This page sets the two against each other in <b>{escape(study.name)}</b> on <b>{corpus}</b>"
        f"{f' ({counts})' if counts else ''}, by what kind of piece is attended to. {when_and_what(study.manifest)}"
    )
    left_out = set()
    if not {"cls", "sep"} & set(study.classes):
        left_out.add("[CLS], [SEP]")
    if not study.has("mixing"):
        left_out.add("mixing ratio")
    words = "".join(
        f"<div><dt>{term}</dt><dd>{meaning}</dd></div>" for term, meaning in WORDS.items() if term not in left_out
    )
    return f'<p class="lead">{lead}</p>\n<dl class="words">{words}</dl>'


def _in_short(study: _Study) -> Section | None:
    parts = []
    streams = study.picture.streams
    for stream in streams:
        if len(streams) > 1:
            parts.append(f"<h3>{stream.capitalize()} <small>{STREAMS[stream]}</small></h3>")
        asked = claims(study.picture, stream)
        head = ["published of BERT", "here", "untrained twin", ""]
        rows: list[list[str | Html]] = [
            [claim.claim, Html(claim.here), claim.twin,
             Html(f'<b class="verdict {claim.holds}">{SIGNS[claim.holds]} {claim.verdict}</b>')]
            for claim in asked
        ]  # fmt: skip
        if rows:
            parts.append(table(head, rows, label=f"Claims, {stream}", text=(0, 1, 2, 3)))
        found = findings(study.picture, stream)
        items = (
            f"<li>{finding.text}"
            + (f'<span class="published">{finding.published}.</span>' if finding.published else "")
            + "</li>"
            for finding in found
        )
        parts.append(f'<ol class="findings">{"".join(items)}</ol>' if found else "")
    if not any(parts):
        return None
    return Section("short", "In short", _lead("short"), _WRAPPED + "".join(parts))


_WRAPPED = """<style>#short td { white-space: normal; vertical-align: top; line-height: 1.45; }
#short td:nth-child(1) { min-width: 11rem; } #short td:nth-child(2) { min-width: 24rem; }
#short td:nth-child(4) { white-space: nowrap; } #short .verdict.no { color: #c2453a; }
#short .scroll { margin-bottom: 1.2rem; }
#short .verdict.yes { color: #2f8f6b; } #short .verdict.part { color: #b5791c; }
</style>"""


def _shares(study: _Study) -> Section | None:
    figures = tuple(
        Figure(
            f"share-{kind}",
            CLASS_LABELS[kind],
            charts.share_lines(layers=study.size["layers"]),
            "norms_layers",
            {"keys": [kind]},
            label=f"Share of weight, norm and joint norm on {NAMES[kind]} by layer, the twin dashed",
        )
        for kind in study.classes
    )
    if not figures:
        return None
    signs = [(name, charts.COLOURS[measure], "") for measure, name in charts.MEASURES.items()]
    signs += [("untrained twin", "currentColor", ' stroke-dasharray="4 3"')]
    signs += [("even attention", "currentColor", ' stroke-dasharray="1 3"')]
    line = '<svg width="22" height="14"><path d="M1 7H21" stroke-width="2" stroke="{}"{}/></svg>'
    spans = "".join(f"<span>{line.format(colour, dash)} {name}</span>" for name, colour, dash in signs)
    key = f'<p class="key">{spans}</p>'
    body = key + grid(figures, "half")
    return Section("shares", "Weights against norms", _lead("shares"), body, figures, "Shares")


def _lengths(study: _Study) -> Section | None:
    if len(study.classes) < 2:
        return None
    spec = charts.length_lines(study.classes, layers=study.size["layers"])
    label = "Mean length of the vectors of each class over that of other keys, by layer, the twin dashed"
    figures = (Figure("lengths", "‖f(x)‖ over other keys’", spec, "norms_layers", label=label),)
    return Section("lengths", "How long the vectors are", _lead("lengths"), grid(figures, "wide"), figures, "Lengths")


def _pairs(study: _Study) -> Section | None:
    if not study.has("scatter"):
        return None
    shown = list(dict.fromkeys(row["shown"] for row in study.picture.rows("scatter", who="model")))
    first = f"layer {study.widest[1] + 1}"
    shown.sort(key=lambda name: name != first)
    spec = charts.pair_dots(shown, study.classes)
    label = "Weight against length of the vector, a dot for each drawn pair of pieces, coloured by class of key"
    figures = (Figure("pairs", "α and ‖f(x)‖", spec, "scatter", label=label),)
    return Section("pairs", "Pair by pair", _lead("pairs"), grid(figures, "wide"), figures, "Pairs")


def _correlation(study: _Study) -> Section | None:
    figures = []
    if study.picture.rows("spearman", over="texts"):
        label = "Rank correlation of weight and length within texts, one dot for each head, by layer"
        spec = charts.correlation_dots(**study.size)
        figures.append(Figure("spearman", "α and ‖f(x)‖ within texts", spec, "spearman", label=label))
    if study.picture.rows("spearman_layers", over="pairs"):
        kept = [kind for kind in study.classes if study.picture.rows("spearman_layers", over="pairs", keys=kind)]
        label = "Rank correlation of weight and length over drawn pairs, a line for each class of key, by layer"
        spec = charts.class_correlations(kept, layers=study.size["layers"])
        where = {"over": ["pairs"], "keys": kept}
        figures.append(Figure("classes", "within a class of key", spec, "spearman_layers", where, label=label))
    if not figures:
        return None
    title = "Do weight and length go against each other?"
    return Section(
        "correlation", title, _lead("correlation"), grid(figures, "half"), tuple(figures), "Correlation"
    )  # fmt: skip


def _frequency(study: _Study) -> Section | None:
    figures = []
    if study.has("frequency"):
        label = "Rank correlation of vector length and rarity of the word, one dot for each head, by layer"
        spec = charts.frequency_dots(**study.size)
        figures.append(Figure("frequency", "‖f(x)‖ and rarity of the word", spec, "frequency", label=label))
    if study.has("bands"):
        label = "Relative vector length by frequency rank of the word, one line per layer"
        figures.append(Figure("bands", "‖f(x)‖ by frequency", frequency_lines(), "bands", label=label))
    if not figures:
        return None
    title = "Frequent words and rare ones"
    return Section("frequency", title, _lead("frequency"), grid(figures, "half"), tuple(figures), "Frequency")


def _mixing(study: _Study) -> Section | None:
    if not study.has("mixing"):
        return None
    present = {row["queries"] for row in study.picture.rows("mixing")}
    queries = [kind for kind in charts.QUERIES if kind in present]
    spec = charts.mixing_lines(queries, layers=study.size["layers"])
    label = "Mixing ratio by layer, a line for each step, the twin dashed"
    figures = (Figure("mixing", "Mixing ratio", spec, "mixing", label=label),)
    title = "From others, and from itself"
    return Section("mixing", title, _lead("mixing"), grid(figures, "wide"), figures, "Mixing")


def _map(study: _Study) -> Section | None:
    if not study.classes:
        return None
    spec = charts.head_map(study.classes, study.widest[0], **study.size)
    label = "Heat map of one class of keys, layer by head"
    figures = (Figure("map", "Every head", spec, "norms", label=label),)
    return Section("map", "Head by head", _lead("map"), grid(figures, "wide"), figures, "Map")


def _heads(study: _Study) -> Section | None:
    return Section("heads", "All heads", _lead("heads"), TABLE) if study.has("norms") else None


def _columns(study: _Study) -> list[dict[str, str]]:
    """The columns of the table of heads: what to show, from which table, and how to write it."""
    columns = [
        {"key": f"{kind}-{measure}", "title": f"{CLASS_LABELS[kind]}{' norm' if measure == 'norm' else ''}",
         "kind": "share", "table": "heads", "quantity": kind, "measure": measure}
        for kind in study.classes
        if kind != "other"
        for measure in MEASURES
    ]  # fmt: skip
    return [*columns, {"key": "rho", "title": "ρ", "kind": "signed", "table": "rho"}]


def _layers(study: _Study) -> Section | None:
    head = ["stream", "layer", "keys", "weight", "norm", "all heads", "even", "mean α", "mean ‖f(x)‖",
            "mean ‖αf(x)‖", "‖f(x)‖ over other", "twin: weight", "norm", "all heads"]  # fmt: skip
    rows = []
    for stream in study.picture.streams:
        by_layer: dict[int, list[Mapping[str, Any]]] = {}
        for kind in study.picture.classes(stream):
            for row in study.picture.layers(stream, kind):
                by_layer.setdefault(int(row["layer"]), []).append(row)
        rows += [_line(row) for layer in sorted(by_layer) for row in by_layer[layer]]
    if not rows:
        return None
    if len(study.picture.streams) == 1:
        body = table(head[1:], [row[1:] for row in rows], label="Layers and classes of keys", text=(1,))
    else:
        body = table(head, rows, label="Layers and classes of keys", text=(0, 2))
    return Section("layers", "All layers", _lead("layers"), body)


def _line(row: Mapping[str, Any]) -> Sequence[str]:
    return [
        row["stream"], str(row["layer"] + 1), NAMES[row["class"]], share(row["weight"]), share(row["norm"]),
        share(row["joint"]), share(row["chance"]), _number(row["mean_weight"]), _number(row["length"]),
        _number(row["mean_norm"]), share(row["relative"]), share(row["twin_weight"]), share(row["twin_norm"]),
        share(row["twin_joint"]),
    ]  # fmt: skip


def _number(value: float | None) -> str:
    """A number of any size, with three digits that count."""
    return "" if not is_number(value) else f"{value:.3g}"


def _lead(section: str) -> str:
    return f"<p>{LEADS[section]}</p>"
