"""The report on clusters: which heads attend alike, as a map, a tree and a table, and whether layers lie together."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from html import escape
from typing import TYPE_CHECKING, Any

from attlas.ids import paper_label
from attlas.reports import clusters_charts as charts
from attlas.reports import prose
from attlas.reports.clusters_findings import cluster_findings, nats, p_in_words, tightest
from attlas.reports.findings import figure, is_number
from attlas.reports.made import counted, made, measure_of, when_and_what
from attlas.reports.page import Figure, Section, grid, render
from attlas.reports.tables import table

if TYPE_CHECKING:
    import pyarrow

    from attlas.store import Manifest, Result

Row = dict[str, Any]
STREAMS = {
    "encoder": "the encoder's attention over the text",
    "decoder": "the decoder's attention over what stands before",
    "cross": "the decoder's attention over the encoder's text",
}

SHOWN_PAIRS = 12
MANY = 2000  # heads beyond which the tree is left out of the page
_WORDS = {
    "distance": """how differently two heads attend: the Jensen-Shannon divergence of their rows, a mean over all
    pieces of all texts, in nats. 0: they always look alike. ln 2 = .69: they never look at the same piece.""",
    "behaviour": """what a head mostly does: over .5 of its attention on the previous, next or own piece; over .6 on
    special pieces ([CLS], [SEP], a first piece, periods and commas); <i>broad</i>, an entropy over .78 of that of
    even attention (which is 3.8 nats for 128 pieces, the published bar).""",
    "untrained twin": "the same architecture with random weights, read by the same route: what chance looks like.",
    "head 8-10": prose.WORDS["head 8-10"],
}
_LEADS = {
    "map": """Each sign is one head; heads that attend alike lie near each other, as far as a plane has room
    for it. The axes mean nothing in themselves, only distances do, and both axes have one scale. On the left
    signs tell what a head mostly does, on the right which layer it belongs to. Point at a head for its
    neighbours.""",
    "layers": """If heads of one layer lie together, the diagonal of the first chart is bright: it shows the
    mean distance of the heads of two layers, the brighter the nearer (in thousandths where all are within .1
    nats). The second sorts the same means by how many layers lie between, each over the mean of its model, so
    that the model and its untrained twin can be compared; the dashed line is where layers would not matter. The
    third is the map of the twin: where layers mean nothing, their colours mix. The p value is the share of random
    deals of the heads to layers in which heads of one layer are as near as they really are, the true deal counted
    in.""",
    "tree": """Heads that are joined low attend alike. At each height the two groups are joined whose heads
    are nearest on average. Signs are those of the map.""",
    "pairs": """The pairs of heads that are most alike: chosen on one half of the passages, with their
    distance from the other half, so that they are not merely the luckiest of so many pairs; the interval and the
    twin's distance of the same two places are from all passages.""",
    "heads": """One row for each head: what it mostly does and who is nearest, its mean distance from all
    other heads, and the figures behind its behaviour. Click a heading to sort. Type to filter by label
    (<kbd>3-</kbd>) or behaviour (<kbd>broad</kbd>).""",
}
_ALIKE = {
    "weight": """<b>Alike in weights is not alike in work.</b> Two heads that look at the same pieces may move quite
different vectors; and resting on [SEP] together may mean that neither does anything.""",
    "norm": """<b>Alike in norms is not alike in work.</b> Two heads that take as much from the same pieces may take
quite different vectors from them, and how much all of it is together is divided out.""",
}
_LIMITS = """<ul>
<li>{alike}</li>
<li><b>The behaviours are cut by bars.</b> A head just below one is "other". Groups by behaviour lie together on the
map by their making, since they are told by the same rows; that layers do is a finding, and has a test.</li>
<li><b>The test asks about layers alone.</b> It takes heads as exchangeable; that neighbouring layers are alike, too,
is shown, not tested. In models with grouped keys, heads of a group share theirs, as they do in the twin.</li>
<li><b>The map is a projection.</b> Look up distances in the tables before building on two signs that touch.</li>
<li><b>Intervals are for this corpus</b>, with the text as the unit.</li>
</ul>"""
_BY = {"weight": "", "norm": ", by the norms ‖αf(x)‖, each row divided by its sum, in place of the weights α"}
_COLUMNS = (
    ("mean", "mean dist.", "signed"),
    ("nearest", "nearest", "signed"),
    ("entropy", "entropy", "number"),
    ("previous", "previous", "share"),
    ("next", "next", "share"),
    ("self", "itself", "share"),
    ("first", "first", "share"),
    ("cls", "[CLS]", "share"),
    ("sep", "[SEP]", "share"),
    ("punctuation", "punct.", "share"),
    ("special", "all special", "share"),
)


def clusters_page(result: Result) -> str:
    """Write the page of a result of the study of clusters.

    >>> from types import SimpleNamespace
    >>> manifest = SimpleNamespace(
    ...     study="clusters", plan={}, versions={}, model={"name": "tiny"}, corpus={"name": "a book"}, seed=0,
    ...     skipped={}, started="2025-01-01T00:00:00+00:00", seconds=1.5,
    ... )
    >>> "Which heads of tiny attend alike" in clusters_page(SimpleNamespace(manifest=manifest, tables={}))
    True
    """
    found = _Clusters(dict(result.tables), result.manifest)
    name = str(found.manifest.model.get("name", "a model"))
    makers = (_in_short, _map, _layers, _tree, _pairs, _heads)
    sections = [section for maker in makers if (section := maker(found)) is not None]
    sections.append(made(found.manifest, _LIMITS.format(alike=_ALIKE[measure_of(found.manifest)])))
    columns = [
        {"key": key, "title": title, "kind": kind, "table": "heads", "quantity": key, "measure": "weight"}
        for key, title, kind in _COLUMNS
        if any(is_number(row[key]) for row in found.heads)
    ]
    extra = {"streams": found.streams, "columns": columns}
    title = f"Which heads of {name} attend alike"
    return render(title, _opening(found), sections, _page_tables(found), extra)


@dataclass(frozen=True)
class _Clusters:
    """The tables and the manifest, and what several sections ask of them."""

    tables: Mapping[str, pyarrow.Table]
    manifest: Manifest

    def rows(self, name: str, stream: str | None = None) -> list[Row]:
        rows: list[Row] = self.tables[name].to_pylist() if name in self.tables else []
        return rows if stream is None else [row for row in rows if row["stream"] == stream]

    @cached_property
    def heads(self) -> list[Row]:
        return self.rows("clusters")

    @cached_property
    def streams(self) -> list[str]:
        present = {row["stream"] for row in self.heads}
        return [stream for stream in STREAMS if stream in present]

    @cached_property
    def size(self) -> dict[str, int]:
        """The most layers, and the most heads of all layers, of any stream."""
        layers = 1 + max((row["layer"] for row in self.heads), default=0)
        heads = max((sum(row["stream"] == stream for row in self.heads) for stream in self.streams), default=0)
        return {"layers": layers, "heads": heads}

    @cached_property
    def behaviours(self) -> list[str]:
        present = {row["behaviour"] for row in self.heads}
        return [name for name in charts.SIGNS if name in present]

    def reach(self, prefix: str = "") -> charts.Reach:
        """From where to where the map goes, across and upwards; never from a point to itself."""
        ends = []
        for axis in "xy":
            places = [row[f"{prefix}{axis}"] for row in self.heads if is_number(row[f"{prefix}{axis}"])]
            low, high = min(places, default=0.0), max(places, default=0.0)
            ends.append((low, high) if high - low > 1e-9 else (low - 1e-9, high + 1e-9))
        return ends[0], ends[1]

    @property
    def has_twin(self) -> bool:
        return any(is_number(row["twin_x"]) for row in self.heads)


def _opening(found: _Clusters) -> str:
    manifest = found.manifest
    model, corpus = (escape(str(about.get("name", "unnamed"))) for about in (manifest.model, manifest.corpus))
    counts = counted(manifest)
    lead = (
        f"Which of the {len(found.heads)} attention heads of <b>{model}</b> look at the same pieces while the model "
        f"reads <b>{corpus}</b>{f' ({counts})' if counts else ''}, and do heads of one layer lie together? The "
        f"distance of every pair of heads was measured, over all pieces{_BY[measure_of(manifest)]}. "
        f"{when_and_what(manifest)}"
    )
    words = "".join(f"<div><dt>{term}</dt><dd>{meaning}</dd></div>" for term, meaning in _WORDS.items())
    return f'<p class="lead">{lead}</p>\n<dl class="words">{words}</dl>'


def _in_short(found: _Clusters) -> Section | None:
    parts = []
    for stream in found.streams:
        about = [found.rows(name, stream) for name in ("togetherness", "clusters", "pairs")]
        items = [
            f"<li>{finding.text}"
            + (
                f'<span class="published">{finding.published}.</span>'
                if finding.published and stream == "encoder"
                else ""
            )
            + "</li>"
            for finding in cluster_findings(about[0], about[1], about[2])
        ]
        if len(found.streams) > 1:
            parts.append(f"<h3>{stream.capitalize()} <small>{STREAMS[stream]}</small></h3>")
        parts.append(f'<ol class="findings">{"".join(items)}</ol>')
    return Section("short", "In short", "", "".join(parts)) if parts else None


def _map(found: _Clusters) -> Section | None:
    if not found.heads:
        return None
    heads, reach = found.size["heads"], found.reach()
    figures = [
        Figure(
            "behaviour",
            "By behaviour",
            charts.behaviour_map(found.behaviours, reach, heads=heads),
            "clusters",
            label="Map of heads, coloured and shaped by what each mostly does",
        ),
        Figure(
            "layer",
            "By layer",
            charts.layer_map(reach, **found.size),
            "clusters",
            label="The same map of heads, coloured by layer",
        ),
    ]
    return Section("map", "A map of heads", f"<p>{_LEADS['map']}</p>", grid(figures, "half"), tuple(figures), "Map")


def _layers(found: _Clusters) -> Section | None:
    rows = found.rows("togetherness")
    if not any(is_number(row["ratio"]) for row in rows):
        return None
    lines = [
        [
            *([row["stream"]] if len(found.streams) > 1 else []),
            "the model" if row["of"] == "model" else "its untrained twin",
            *(
                f"{nats(row[kind], 1)} ({nats(row[f'{kind}_low'], 1)}–{nats(row[f'{kind}_high'], 1)})"
                if is_number(row[f"{kind}_low"])
                else nats(row[kind], 1)
                for kind in ("within", "between")
            ),
            figure(row["ratio"], 3),
            p_in_words(row["p"]).removeprefix("p = "),
            figure(row["stress"]),
            figure(row["halves"], 3) if is_number(row["halves"]) else "",
        ]
        for row in rows
        if is_number(row["ratio"])
    ]
    names = ["", "within layers", "between layers", "ratio", "p", "stress of the map", "halves agree (ρ)"]
    several = len(found.streams) > 1
    shown = table(
        [*(["attention"] if several else []), *names], lines, label="Within and between layers",
        text=(0, 1) if several else (0,),
    )  # fmt: skip
    figures = [
        Figure(
            "layer-pairs",
            "Heads of two layers, mean distance",
            charts.layer_heat(layers=found.size["layers"]),
            "layer_pairs",
            label="Heat map of the mean distance of heads, layer by layer",
        ),
        Figure(
            "gaps",
            "By how many layers lie between",
            charts.gaps(layers=found.size["layers"]),
            "layer_pairs",
            label="Mean distance over the model's mean, by how many layers lie between two heads, model and twin",
        ),
    ]
    if found.has_twin:
        spec = charts.twin_map(found.reach("twin_"), **found.size)
        label = "Map of the heads of the untrained twin, coloured by layer"
        figures.append(Figure("twin", "Map of the untrained twin, at its own scale", spec, "clusters", label=label))
    body = f'{shown}<div style="margin-top: 1.8rem">{grid(figures)}</div>'
    return Section("layers", "Layer by layer", f"<p>{_LEADS['layers']}</p>", body, tuple(figures), "Layers")


def _tree(found: _Clusters) -> Section | None:
    if not found.rows("joins") or found.size["heads"] > MANY:
        return None
    spec = charts.tree(found.behaviours, heads=found.size["heads"])
    figure_ = Figure("tree", "Joined by mean distance", spec, "tree", label="Tree of heads, joined by mean distance")
    return Section("tree", "A tree of heads", f"<p>{_LEADS['tree']}</p>", grid([figure_], "wide"), (figure_,), "Tree")


def _pairs(found: _Clusters) -> Section | None:
    parts = []
    for stream in found.streams:
        behaviours = {(row["layer"], row["head"]): row for row in found.rows("clusters", stream)}
        lines = []
        for row in tightest(found.rows("pairs", stream), SHOWN_PAIRS):
            ends = (row["layer"], row["head"]), (row["layer_b"], row["head_b"])
            interval = f"{nats(row['low'])}–{nats(row['high'])}" if is_number(row["low"]) else ""
            twin = nats(row["twin"]) if is_number(row["twin"]) else ""
            lines.append(
                [
                    *(text for end in ends for text in (paper_label(*end), _does(behaviours[end]))),
                    nats(row["scored"]),
                    interval,
                    twin,
                ]
            )
        if len(found.streams) > 1:
            parts.append(f"<h3>{stream.capitalize()} <small>{STREAMS[stream]}</small></h3>")
        names = ["head", "mostly", "and head", "mostly", "nats apart", "95 % interval", "untrained twin"]
        parts.append(table(names, lines, label=f"Nearest pairs of heads, {stream}", text=(0, 1, 2, 3)))
    return Section("pairs", "The nearest pairs", f"<p>{_LEADS['pairs']}</p>", "".join(parts)) if parts else None


def _heads(found: _Clusters) -> Section | None:
    return Section("heads", "All heads", f"<p>{_LEADS['heads']}</p>", prose.TABLE) if found.heads else None


def _does(row: Row) -> str:
    return f"best for {row['relations']}" if row["behaviour"] == "relation" else str(row["behaviour"])


def _page_tables(found: _Clusters) -> dict[str, pyarrow.Table]:
    """The tables that the page's charts and its table of heads read, as those want them."""
    import pyarrow

    if not found.heads:
        return {}
    place = ("stream", "layer", "head")
    long = [
        {**{name: row[name] for name in place}, "measure": "weight", "quantity": key, "value": row[key]}
        for row in found.heads
        for key, _, _ in _COLUMNS
        if is_number(row[key])
    ]
    sentences = [
        {
            **{name: row[name] for name in place},
            "sentence": f"{_does(row)}; nearest is {paper_label(row['nearest_layer'], row['nearest_head'])}",
        }
        for row in found.heads
    ]
    made_ = {
        "clusters": found.tables["clusters"],
        "heads": pyarrow.Table.from_pylist(long),
        "portraits": pyarrow.Table.from_pylist(sentences),
    }
    if "layer_pairs" in found.tables:
        made_["layer_pairs"] = found.tables["layer_pairs"]
    branches = [
        row for stream in found.streams for row in tree_rows(found.rows("clusters", stream), _joins(found, stream))
    ]
    if branches and found.size["heads"] <= MANY:
        names = {name: None for row in branches for name in row}
        made_["tree"] = pyarrow.table({name: [row.get(name) for row in branches] for name in names})
    return made_


def _joins(found: _Clusters, stream: str) -> list[Row]:
    return [row for row in found.rows("joins", stream) if row["of"] == "model"]


def tree_rows(heads: Sequence[Row], joins: Sequence[Row]) -> list[Row]:
    """The tree of one stream as rows of a chart: four points for each join, and one for each leaf.

    >>> heads = [{"stream": "encoder", "leaf": leaf} for leaf in (1, 0)]
    >>> rows = tree_rows(heads, [{"stream": "encoder", "join": 0, "a": 0, "b": 1, "value": 0.5}])
    >>> [(row["x"], row["y"]) for row in rows if row["kind"] == "branch"]
    [(1.0, 0.0), (1.0, 0.5), (0.0, 0.5), (0.0, 0.0)]
    """
    at = {number: (float(row["leaf"]), 0.0) for number, row in enumerate(heads)}
    rows: list[Row] = []
    for join in joins:
        (left, low), (right, lower) = at[join["a"]], at[join["b"]]
        top = join["value"]
        at[len(heads) + join["join"]] = ((left + right) / 2, top)
        corners = ((left, low), (left, top), (right, top), (right, lower))
        rows += [
            {
                "stream": join["stream"],
                "kind": "branch",
                "join": join["join"],
                "step": step,
                "x": x,
                "y": y,
                "top": top,
            }
            for step, (x, y) in enumerate(corners)
        ]
    return rows + [{**row, "kind": "leaf", "x": float(row["leaf"]), "y": 0.0} for row in heads]
