"""The report of a no-op test: does the loss depend on attention to the places where heads rest?

First what was found, in sentences; then gradients by layer and class of key, the same relative to other keys, weight
against gradient head by head, the map of heads, the table of layers, and how it was made.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from html import escape
from typing import TYPE_CHECKING, Any

from attlas.reports import noop_charts as charts
from attlas.reports.findings import figure, is_number
from attlas.reports.made import counted, made, when_and_what
from attlas.reports.noop_findings import NAMES, RESTS, Layers, findings
from attlas.reports.page import Figure, Section, grid, render
from attlas.reports.tables import share, table

if TYPE_CHECKING:
    import pyarrow

    from attlas.store import Manifest, Result

STREAMS = {
    "encoder": "the encoder's attention over the text",
    "decoder": "the decoder's attention over what stands before",
    "cross": "the decoder's attention over the encoder's text",
}
LOSSES = {
    "causal-lm": "the loss of {} in predicting the next piece",
    "masked-lm": "the loss of {} in predicting masked pieces (15 % of a text)",
    "translation": "the loss of {} in predicting the reference translation",
    "classification": "the loss of {} in telling the labels of whole texts",
    "tagging:upos": "the loss of a linear head that tells universal parts of speech from the last states of {}",
    "tagging:xpos": "the loss of a linear head that tells parts of speech from the last states of {}",
    "tagging:chunks": "the loss of a linear head that tells chunks from the last states of {}",
    "tagging:keyphrases": "the loss of a linear head that tells key phrases from the last states of {}",
}
WORDS = {
    "α": "the weight that a query gives to a key; the weights of a query sum to one.",
    "norm": """‖αf(x)‖, the length of what a key really adds to a query: the weight times the length of the key's
    transformed vector. Shown as a share of its row, as weights are.""",
    "|dL/dα|": """how much the loss of a text would change, per unit, if that one weight were changed and nothing
    else; the mean over all visible pairs of a query and such a key in a text, and then over texts.""",
    "over other keys": """divided by the same mean for <i>other keys</i> of the same layer (or head): those that are
    neither special, nor the first piece, nor a period or comma. Gradients are larger in some layers than in
    others, so only this can be compared between layers; 1 is no difference.""",
    "α·|dL/dα|": "the gradient times the weight that is really paid: what rides on that attention.",
    "untrained twin": """the same architecture with random weights, through the same steps and the same loss; what it
    shows is owed to the architecture and the text, not to training. It is dashed.""",
    "[CLS], [SEP]": "the pieces that open and close a text, whatever the model calls them (BOS, EOS).",
}
LEADS = {
    "layers": """One line for each class of key, mean over heads and texts; dashed, the untrained twin. Choose
    α·|dL/dα| to see what rides on the attention that is really paid. Heights of different layers do not compare:
    gradients grow or shrink along the model.""",
    "relative": """The same gradients, each divided by that for other keys of its layer, with 95 % intervals. A line
    far below 1 is a class that the loss hardly depends on: attention that is put there does nothing. A line above 1
    is attention that matters more than the average key's.""",
    "heads": """Each dot is a head: to the right, heads that put much weight on such keys; below the line, heads whose
    gradient there is smaller than for other keys. If resting is doing nothing, dots on the right lie low.""",
    "map": """Rows are layers, columns are heads; the brighter, the more. Point at a cell for all its numbers and the
    twin's.""",
    "norms": "Where the share of weight is bright and the share of norm is dark, a head rests.",
    "table": """Layer by layer, the classes on which heads may rest, beside other keys: the shares of weight and of
    norm that they take, and the gradient. The interval is that of the ratio, with the text as the unit.""",
}
LIMITS = """<ul>
<li><b>A small gradient is a small slope, here.</b> It says that a little more or less of that weight changes nothing;
taking all of it away is another experiment.</li>
<li><b>Each weight is changed alone.</b> In a real softmax weight that goes to one key is taken from others; the
gradient does not know that.</li>
<li><b>It is partly the vector's length.</b> dL/dα is the gradient at the head's output times the key's vector f(x): a
key with a short vector has small gradients wherever it stands, which is the same finding as its small norm.</li>
<li><b>The loss decides.</b> What does not matter to this loss may matter to another one.</li>
<li><b>Gradients are those of a text's mean loss</b>, so long texts have smaller ones; compare classes, not
corpora.</li>
</ul>"""


def noop_page(result: Result) -> str:
    """Write the page of a no-op test's result.

    >>> from types import SimpleNamespace
    >>> import pyarrow
    >>> manifest = SimpleNamespace(
    ...     study="noop", plan={}, versions={}, model={"name": "tiny"}, corpus={"name": "a book"}, seed=0,
    ...     skipped={}, started="2025-01-01T00:00:00+00:00", seconds=1.5,
    ... )
    >>> "Does tiny do nothing where its heads rest?" in noop_page(SimpleNamespace(manifest=manifest, tables={}))
    True
    """
    test = _Test(dict(result.tables), result.manifest)
    name = str(test.manifest.model.get("name", "a model"))
    makers = (_in_short, _by_layer, _relative, _heads, _map, _table, _made)
    sections = [section for maker in makers if (section := maker(test)) is not None]
    shown = {
        name: _named(test.tables[name]) for name in ("noop", "noop_layers") if name in test.tables
    }  # fmt: skip
    title = f"Does {name} do nothing where its heads rest?"
    return render(title, _opening(test), sections, shown, {"streams": test.layers.streams})


@dataclass(frozen=True)
class _Test:
    """The tables and the manifest of a test, and what several sections ask of them."""

    tables: Mapping[str, pyarrow.Table]
    manifest: Manifest

    @cached_property
    def heads(self) -> list[dict[str, Any]]:
        return self.tables["noop"].to_pylist() if "noop" in self.tables else []

    @cached_property
    def layers(self) -> Layers:
        return Layers(self.tables["noop_layers"].to_pylist() if "noop_layers" in self.tables else [])

    @cached_property
    def loss(self) -> dict[str, Any]:
        return dict(self.tables["loss"].to_pylist()[0]) if "loss" in self.tables else {}

    @cached_property
    def keys(self) -> list[str]:
        present = {row["class"] for row in self.heads}
        return [key for key in NAMES if key in present]

    @cached_property
    def rest(self) -> str:
        """Where the first stream rests."""
        streams = self.layers.streams
        return (self.layers.resting(streams[0]) if streams else "") or (self.keys[0] if self.keys else "")

    @cached_property
    def norms(self) -> bool:
        """Whether norms are known: of older results and of models whose W_O was not found they are not."""
        return any(is_number(row.get("norm")) for row in self.heads)

    @cached_property
    def size(self) -> dict[str, int]:
        return {what: 1 + max((row[f"{what[:-1]}"] for row in self.heads), default=0) for what in ("layers", "heads")}


def _named(rows: pyarrow.Table) -> pyarrow.Table:
    """A table as charts want it: "class" is no name for a setting of a chart."""
    return rows.rename_columns(["keys" if name == "class" else name for name in rows.column_names])


def _opening(test: _Test) -> str:
    manifest = test.manifest
    model, corpus = (escape(str(about.get("name", "unnamed"))) for about in (manifest.model, manifest.corpus))
    counts = counted(manifest)
    loss = LOSSES.get(str(test.loss.get("loss", "")), "the loss of {}").format(f"<b>{model}</b>")
    lead = (
        "Heads put much of their attention on [SEP], the first piece or punctuation. Is that a way of doing nothing? "
        f"This page asks how much {loss} on <b>{corpus}</b>{f' ({counts})' if counts else ''} "
        f"depends on each attention weight, by the class of the key that it goes to. {when_and_what(manifest)}"
    )
    known = {"[CLS], [SEP]": bool({"cls", "sep"} & set(test.keys)), "norm": test.norms}
    kept = [term for term in WORDS if known.get(term, True)]
    words = "".join(
        f"<div><dt>{term}</dt><dd>{meaning}</dd></div>" for term, meaning in WORDS.items() if term in kept
    )
    return f'<p class="lead">{lead}</p>\n<dl class="words">{words}</dl>'


def _in_short(test: _Test) -> Section | None:
    parts = []
    streams = test.layers.streams
    for stream in streams:
        found = findings(test.layers, test.heads, stream)
        if len(streams) > 1 and found:
            parts.append(f"<h3>{stream.capitalize()} <small>{STREAMS[stream]}</small></h3>")
        items = (
            f"<li>{finding.text}"
            + (f'<span class="published">{finding.published}.</span>' if finding.published else "")
            + "</li>"
            for finding in (found if len(streams) == 1 else found[:3])
        )
        parts.append(f'<ol class="findings">{"".join(items)}</ol>' if found else "")
    about = _about_loss(test.loss)
    if not any(parts) and not about:
        return None
    return Section("short", "In short", about, "".join(parts))


def _about_loss(loss: Mapping[str, Any]) -> str:
    if not loss or not is_number(loss.get("value")):
        return ""
    text = (
        f"<p>The loss is <b>{figure(loss['value'])}</b> nats per prediction ({loss['n']:,.0f} of them, "
        f"{100 * loss['accuracy']:.1f} % right); the untrained twin's is {figure(loss['twin_value'])} "
        f"({100 * loss['twin_accuracy']:.1f} % right), and guessing evenly among all choices costs "
        f"{figure(loss['even'])}."
    )
    if is_number(loss.get("majority")):
        text += (
            " The head was trained on the other half of the documents, the model left as it is; the most frequent "
            f"tag ({escape(str(loss['majority_tag']))}) would be right in {100 * loss['majority']:.1f} %. The "
            "twin's head was trained in the same way on the twin's states."
        )
    return text + "</p>"


def _by_layer(test: _Test) -> Section | None:
    if not test.heads:
        return None
    figures = tuple(
        Figure(
            f"layers-{what}",
            f"Gradient by {what} of key",
            charts.layer_lines(keys, layers=test.size["layers"]),
            "noop_layers",
            {"keys": keys},
            label=f"Mean gradient by layer, one line for each {what} of key, the twin dashed",
        )
        for what, keys in _kinds(test, extra="other")
    )
    return Section("layers", "Layer by layer", _lead("layers"), grid(figures, "half"), figures, "By layer")


def _relative(test: _Test) -> Section | None:
    figures = tuple(
        Figure(
            f"relative-{what}",
            f"Over other keys, by {what}",
            charts.relative_lines(keys, layers=test.size["layers"]),
            "noop_layers",
            {"keys": keys},
            label=f"Gradient over that for other keys, by layer, one line for each {what} of key, the twin dashed",
        )
        for what, keys in _kinds(test)
    )
    if not figures:
        return None
    title = "Against other keys of the same layer"
    return Section("relative", title, _lead("relative"), grid(figures, "half"), figures, "Relative")


def _kinds(test: _Test, extra: str = "") -> list[tuple[str, list[str]]]:
    """Classes and places that there are; ``extra`` goes with both."""
    places = [key for key in test.keys if key in ("self", "previous", "next")]
    classes = [key for key in test.keys if key not in (*places, "other")]
    more = [key for key in test.keys if key == extra]
    return [(what, keys + more) for what, keys in (("class", classes), ("place", places)) if keys]


def _heads(test: _Test) -> Section | None:
    if not test.keys:
        return None
    spec = charts.weight_against_gradient(test.keys, test.rest)
    label = "Weight on a class of keys against its relative gradient, one dot for each head"
    figures = (Figure("weights", "Weight against gradient", spec, "noop", label=label),)
    return Section("heads", "Heads that rest", _lead("heads"), grid(figures, "wide"), figures, "Heads")


def _map(test: _Test) -> Section | None:
    if not test.keys:
        return None
    spec = charts.head_map(test.keys, test.rest, **test.size, norms=test.norms)
    figures = (Figure("map", "Every head", spec, "noop", label="Heat map of one class of keys, layer by head"),)
    lead = _lead("map") + (_lead("norms") if test.norms else "")
    return Section("map", "Head by head", lead, grid(figures, "wide"), figures, "Map")


def _table(test: _Test) -> Section | None:
    head = ["stream", "layer", "keys", "weight", "norm", "|dL/dα|", "over other keys", "95 %", "α·|dL/dα|",
            "share of it", "twin: weight", "norm", "over other keys"]  # fmt: skip
    rows = []
    for stream in test.layers.streams:
        kept = [key for key in (*RESTS, "punctuation", "other") if test.layers.of(stream, key)]
        for layer in range(test.size["layers"]):
            for key in kept:
                rows += [_line(row) for row in test.layers.of(stream, key) if row["layer"] == layer]
    if not rows:
        return None
    body = table(head, rows, label="Layers and classes of keys", text=(0, 2))
    return Section("table", "All layers", _lead("table"), body)


def _line(row: Mapping[str, Any]) -> Sequence[str]:
    return [
        row["stream"], str(row["layer"] + 1), charts.LABELS[row["class"]], share(row["weight"]),
        share(row.get("norm")), _small(row["value"]), share(row["relative"]),
        _span(row["relative_low"], row["relative_high"]), _small(row["paid"]), share(row["paid_share"]),
        share(row["twin_weight"]), share(row.get("twin_norm")), share(row["twin_relative"]),
    ]  # fmt: skip


def _span(low: float | None, high: float | None) -> str:
    return f"{share(low)}–{share(high)}" if is_number(low) and is_number(high) else ""


def _small(value: float | None) -> str:
    return "" if not is_number(value) else f"{value:.2e}"


def _made(test: _Test) -> Section:
    return made(test.manifest, LIMITS)


def _lead(section: str) -> str:
    return f"<p>{LEADS[section]}</p>"
