"""The page of align: which words attention links, by weight and by norm, against gold and beside word aligners.

Error rates stand in tables as shares and on the page as points out of a hundred, as the field writes them. A *view*
is one side of the attention read in one direction; charts and tables offer the one with the lowest error rate first.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Any

from attlas.pages import Custom, Listing, Page, Row, Rows, Section, Style, Tables, charts
from attlas.pages.rows import label_of
from attlas.store.schema import HEAD, LAYER, STREAM, Column, Schema, is_known
from attlas.studies.align import findings
from attlas.studies.align.findings import (
    BEST,
    DIRECTIONS,
    PUBLISHED,
    own_way,
    scored,
    single,
    view_name,
    views,
)
from attlas.studies.align.grid import STATIC, grid
from attlas.studies.align.tables import BY_HEADS, BY_NORM, HALVES, ORACLE
from attlas.studies.shared.wording import words

HOWS = {BY_NORM: "no gold", BY_HEADS: "no gold, heads summed", ORACLE: "oracle", HALVES: "on the other half"}

_DIRECTION = Column("direction", "direction", meaning="whose words pick, or how both directions were put together")
_MEASURE = Column("measure", "by", meaning="weight or norm; empty for aligners")
_SIDE = Column(
    "side", "side", meaning="which rows of attention are read; empty for aligners and for both at once", was="setting"
)
_VIEW = Column("view", "read", meaning="the side and the direction, in words")
_LINKS = Column("links", "links", "count", "how many links there are")
_TWINS = Column("twins", "twins", "count", "how many untrained twins were drawn", optional=True)
_TWIN = Column(
    "twin",
    "untrained twins",
    "percent",
    "their mean; ends: the lowest and the highest of them",
    ends=("twin_low", "twin_high"),
)
_OPTIONAL_HEAD = Column("head", "head", "index", "empty for all heads of a layer together")
_SCORE = Column("score", "score", meaning="AER, precision, recall or F1; linked where there is no gold")
_RATES = (
    Column("AER", "AER", "percent", "1 − (|A∩S| + |A∩P|) / (|A| + |S|); lower is better", ("AER_low", "AER_high"),
           twin="twin_AER"),
    Column("precision", "precision", "percent", "|A∩P| / |A|"),
    Column("recall", "recall", "percent", "|A∩S| / |S|"),
    Column("F1", "F1", "percent", "the harmonic mean of precision and recall"),
)  # fmt: skip


def best_of_twins(rows: Callable[[str], list[dict[str, Any]]]) -> dict[tuple[Any, ...], float]:
    """What the best head of the untrained twins has, by score, direction, side and measure.

    >>> names = ("score", "direction", "side", "measure", "head", "twin")
    >>> told = [dict(zip(names, ("AER", "forward", "input", "weight", head, twin)))
    ...         for head, twin in ((0, 0.9), (1, 0.8))]
    >>> best_of_twins(lambda table: told)
    {('AER', 'forward', 'input', 'weight'): 0.8}
    """
    best: dict[tuple[Any, ...], float] = {}
    for row in rows("scores"):
        if is_known(row.get("twin")) and row["head"] is not None:
            key = (row["score"], row["direction"], row["side"], row["measure"])
            better = min if row["score"] == "AER" else max
            best[key] = better(row["twin"], best.get(key, row["twin"]))
    return best


SCORES = Schema(
    "scores",
    "One row for each score of each way of finding links: layers and heads of attention, and word aligners.",
    Column("aligner", "aligner", meaning="attention, or a word aligner that knows no network"),
    Column("trained_on", "trained on", meaning="what an aligner learnt from"),
    _DIRECTION, STREAM, _MEASURE, _SIDE, LAYER, _OPTIONAL_HEAD,
    _SCORE,
    Column("value", "value", "percent", "with a 95 % interval over pairs of sentences", ends=("low", "high"),
           twin="twin", definition="Och and Ney 2003", head=True, against=best_of_twins,
           called="{score} of links, {direction}, {side}"),
    _TWIN, _TWINS, _LINKS,
    keys=("score", "direction", "side", "measure"),
)  # fmt: skip
CHOICES = Schema(
    "choices",
    "The layer and the head that one would take, by the largest mean norm and by looking at gold.",
    _DIRECTION, _MEASURE, _SIDE,
    Column("unit", "choose a", meaning="layer or head"),
    Column("how", "how it is chosen", labels={BY_HEADS: "largest mean norm, heads summed (the paper's script)"}),
    LAYER, _OPTIONAL_HEAD,
    Column("back_layer", "layer of the other direction", "index"),
    Column("mean_norm", "mean norm", "number"),
    Column("value", "AER", "percent", ends=("low", "high"), twin="twin"),
    replace(_TWIN, optional=True), _TWINS, _LINKS,
)  # fmt: skip
GAINS = Schema(
    "gains",
    "By how much norms beat weights in the same layer: the change of AER, tested pair by pair of sentences.",
    _DIRECTION, STREAM, _SIDE, LAYER,
    Column("weight", "AER by weight", "percent"),
    Column("norm", "AER by norm", "percent"),
    Column("change", "change", "percent", "norm minus weight: below zero, norms are better", ends=("low", "high")),
    Column("p", "raw p", "p", "by permutation over pairs of sentences"),
    Column("p_corrected", "p", "p", "of being other than weights, after Holm's correction", optional=True,
           family="all layers of a side and direction"),
)  # fmt: skip
MEAN_NORMS = Schema(
    "mean_norms",
    "Mean norms of layers (joint: of all heads together) and heads, over all queries and keys that meet.",
    _DIRECTION, STREAM, _SIDE, LAYER, _OPTIONAL_HEAD,
    Column("value", "mean norm", "number", ends=("low", "high"), twin="twin", definition="Kobayashi et al. 2020",
           head=True, called="mean norm, {direction}, {side}"),
    Column("n", "pairs of pieces", "count"),
    replace(_TWIN, kind="number", optional=True), _TWINS,
    keys=("direction", "side"),
)  # fmt: skip
PAIRS = Schema(
    "pairs",
    "Pairs of sentences that the page shows, with the links of several alignments.",
    Column("pair", "pair", "count", "its number in the bitext, counted from 1"),
    Column("source", "source", meaning="its words, as JSON"),
    Column("target", "target", meaning="its words, as JSON"),
    Column("sure", "sure links", meaning="of the gold, in Pharaoh's notation"),
    Column("possible", "possible links", meaning="those that are not sure"),
    Column("method", "alignment"),
    Column("predicted", "links given", meaning="in Pharaoh's notation, counted from 0"),
    Column("aer", "AER", "percent", "of this pair"),
)
LINKS = Schema(
    "links",
    "The links handed out, one row for each pair of the bitext.",
    Column("pair", "pair", "count", "its number in the bitext, counted from 1"),
    Column("method", "alignment"),
    Column("predicted", "links", meaning="in Pharaoh's notation, counted from 0"),
)
_SCORED = Column("value", "value", "percent", ends=("low", "high"), twin="twin")
PANELS = Schema(
    "panels", "Every score of layers and aligners, by view.", _VIEW, Column("kind", "by"), LAYER, _SCORE, _SCORED
)
HEADS = Schema(
    "heads", "Every head alone, in every view of one direction.", _VIEW, _MEASURE, LAYER, HEAD, _SCORE, _SCORED
)
HEAD_NORMS = Schema(
    "head_norms", "The mean norms of heads.", _VIEW, LAYER, HEAD, Column("value", "mean norm", "number", twin="twin")
)
METHODS = Schema(
    "methods",
    "Whole methods: aligners, and attention by each way of choosing.",
    Column("method", "method"), Column("unit", "unit"), Column("drawn", "in the chart", "flag"), *_RATES, _LINKS,
)  # fmt: skip
NORMS = Schema(
    "norms",
    "Mean norm and error rate of layers and heads.",
    _VIEW, Column("unit", "of a"), Column("place", "which"), Column("mean_norm", "mean norm", "number"),
    Column("AER", "AER by norm", "percent"),
)  # fmt: skip


def _spread(rows: Rows) -> dict[str, float | None]:
    """The scores of one place, side by side, each with its interval and its twin's."""
    named = {"{}": "value", "{}_low": "low", "{}_high": "high", "twin_{}": "twin"}
    return {name.format(row["score"]): row[column] for row in rows for name, column in named.items()}


def panel_rows(tables: Tables) -> Iterator[Row]:
    """Layers by view and measure; aligners are level lines, with a row for each layer."""
    for side, direction in views(tables):
        scores = tables["scores"].where(direction=direction)  # in no stream, for aligners stand beside all of them
        rows = Rows({name: value for name, value in row.items() if name != "stream"} for row in scores)
        for row in rows.where(aligner="attention", side=side, head=None):
            yield {**row, "view": view_name(side, direction), "kind": row["measure"]}
        for row in rows.where(lambda row: row["aligner"] != "attention"):
            for layer in range(tables.layers):
                yield {**row, "view": view_name(side, direction), "kind": _taught(row), "layer": layer}


def head_rows(tables: Tables) -> Iterator[Row]:
    """Heads by view, norms first, and how much worse each is than its twin."""
    for side, direction in single(tables):
        alone = tables["scores"].where(lambda row: row["head"] is not None, side=side, direction=direction)
        for row in alone.where(measure="norm") + alone.where(measure="weight"):
            known = is_known(row["value"]) and is_known(row["twin"])
            worse = (row["value"] - row["twin"]) * (1 if row["score"] == "AER" else -1) if known else None
            yield {**row, "view": view_name(side, direction), "worse": worse}


def head_norm_rows(tables: Tables) -> Iterator[Row]:
    """Mean norms of heads."""
    for row in tables["mean_norms"].where(lambda row: row["head"] is not None):
        yield {**row, "view": view_name(row["side"], row["direction"])}


def method_rows(tables: Tables) -> Iterator[Row]:
    """Whole methods: aligners, and attention by each way of choosing, with what else was counted of them."""
    aligners = tables["scores"].where(lambda row: row["aligner"] != "attention")
    named = Rows({**row, "name": f"{_taught(row)}, {_short(row['direction'])}"} for row in aligners)
    for name, rows in named.by("name") if scored(tables) else ():
        usual = rows[0]["direction"] in ("forward", "grow-diag-final-and")
        yield {"method": name, "unit": "", "drawn": usual, **_spread(rows), "links": rows[0]["links"]}
    for row in tables["choices"].known("value").where(how=list(HOWS)):
        direct = own_way(row["side"], row["direction"])
        way = "" if direct else _short(row["direction"])
        parts = (row["measure"], row["side"], way, _place(row), HOWS[row["how"]])
        mixed = row["layer"] is None or row["back_layer"] not in (None, row["layer"])
        same = {name: row[name] for name in ("direction", "measure", "side", "layer", "head")}
        others = Rows() if mixed else tables["scores"].where(aligner="attention", **same)
        drawn = row["unit"] == "layer" and row["how"] != HALVES and (direct or row["direction"] in DIRECTIONS[2:])
        yield {
            "method": ", ".join(filter(None, parts)), "unit": row["unit"], "drawn": drawn,
            **dict.fromkeys(("precision", "recall", "F1")), **_spread(others),
            **_spread(Rows([{**row, "score": "AER"}])), "links": row["links"],
        }  # fmt: skip


def _taught(row: Row) -> str:
    further = str(row["trained_on"]).partition(" and ")[2]
    return f"{row['aligner']} + {further}" if further else str(row["aligner"])


def _short(direction: str) -> str:
    return {"grow-diag-final-and": "gdfa", "intersection": "∩"}.get(direction, direction)


def _place(row: Row) -> str:
    """The layer or head of a choice; two layers where two models were put together."""
    if row["layer"] is None:
        return f"best {row['unit']}"
    if row["head"] is None and row.get("back_layer") not in (None, row["layer"]):
        return f"layers {row['layer'] + 1}+{row['back_layer'] + 1}"
    return f"{'layer' if row['head'] is None else 'head'} {label_of(row)}"


def norm_rows(tables: Tables) -> Iterator[Row]:
    """Mean norms beside error rates by norm, for layers and heads."""
    for side, direction in single(tables) if scored(tables) else ():
        place = {"side": side, "direction": direction}
        rates = tables["scores"].where(aligner="attention", measure="norm", score="AER", **place)
        known = {(row["layer"], row["head"]): row["value"] for row in rates}
        for row in tables["mean_norms"].where(**place):
            yield {
                "view": view_name(side, direction), "unit": "layer" if row["head"] is None else "head",
                "place": _place(row), "mean_norm": row["value"], "AER": known.get((row["layer"], row["head"])),
            }  # fmt: skip


PAGE = Page(
    "align",
    title="Does the attention of {model} align words?",
    answer=findings.answer,
    warning=findings.warning,
    chart=charts.lines(
        "panels", "layer", "value", key="layers", title="Layer by layer", colour="kind",
        style=Style(pick=("score", "view"), domain=(0, 1), axis="score"),
        label="A score by layer, for weights and norms, with aligners as level lines and the untrained twins dashed",
    ),
    about="Given a sentence and its translation, which word of the one does each word of the other look at? In "
    "**{model}**, on **{corpus}**. A dot is a layer, all its heads together, with its 95 % interval over pairs of "
    "sentences; dashed, the mean of untrained twins; level lines are aligners that know no network, in the same "
    "direction.",
    findings=(findings.norms, findings.choice, findings.missed, findings.heads, findings.beside_aligners,
              findings.together, findings.blind_layers, findings.handed),
    schemas=(SCORES, CHOICES, GAINS, MEAN_NORMS, PAIRS, LINKS, PANELS, HEADS, HEAD_NORMS, METHODS, NORMS),
    derived={"panels": panel_rows, "heads": head_rows, "head_norms": head_norm_rows, "methods": method_rows,
             "norms": norm_rows},
    sections=(
        Section(
            "table", "All layers",
            "The change from weight to norm is tested pair by pair of sentences: where its interval lies below zero, "
            "norms are better; *p* is corrected for all layers of the side.",
            (Listing("gains", "side", "direction", "layer", "weight", "norm", "change", "p_corrected"),
             Listing("panels", "view", "kind", "layer", "score", "value", title="Every view",
                     where={"aligner": "attention", "score": ["AER", "linked"]})), short="Table",
        ),
        Section(
            "methods", "Methods beside aligners",
            "Attention as one would use it without gold, and as an oracle would; aligners trained on the same pairs "
            "and, after a plus sign, on more text. *gdfa* is grow-diag-final-and, ∩ the intersection.",
            (charts.dots("methods", "method", "AER", key="methods-dots", title="Error rates, the best first",
                         order="AER", where={"drawn": [True]},
                         label="AER of every method with its interval, the best first"),
             *(Listing("methods", "method", "AER", "precision", "recall", "F1", "links", order="AER", title=title,
                       where={"unit": units})
               for title, units in (("Aligners, and layers of attention", ["", "layer"]), ("Single heads", "head")))),
            short="Methods",
        ),
        Section(
            "choices", "Choosing without gold",
            "If the layer that adds most to the decoder's state is the one that aligns, layers of large mean norm "
            "have a low error rate. Often they have, read with input; read with output the largest norm may stand in "
            "a layer that aligns nothing.",
            (charts.scatter("norms", "mean_norm", "AER", key="norms", title="Mean norm against error rate",
                            colour="unit", style=Style(pick=("view",), tell=("place",)),
                            label="Mean norm against AER, a mark for each head and each layer"),
             charts.head_map("head_norms", "value", key="norm-map", title="Mean norms", style=Style(pick=("view",)),
                             label="Heat map of mean norms, layer by head"),
             Listing("choices", "side", "direction", "measure", "unit", "how", "head", "mean_norm",
                     rows=lambda tables: [] if scored(tables) else tables["choices"].known("layer"))),
            short="Choice",
        ),
        Section(
            "map", "Head by head",
            "Every head alone: blue is better than the mean of untrained twins (or links more words), red is worse.",
            (charts.head_map("heads", "value", style=Style(pick=("score", "measure", "view")),
                             shade={"value": "worse"}, label="Heat map of one score, layer by head"),
             Listing("heads", "head", "view", "measure", "score", "value", title="The best heads", most=100,
                     rows=lambda tables: tables["heads"].where(score=["AER", "linked"]).smallest("worse"))),
            short="Heads",
        ),
        Section(
            "pairs", "Pair by pair",
            "Source words stand above, target words to the left; a dot is a link given, a filled square a sure link "
            "of the gold, an outlined one a possible link. Choose another pair or alignment (with the arrow keys "
            "too); point at a place to see which words meet there.",
            (Custom(grid, ("pairs",)),), short="Pairs",
        ),
    ),
    words={
        "link": "a word of the source and the word of the target that translates it. Forward, every target word has "
        "at most one; backward, every source word.",
        "sure, possible": "how certain the people were who made the gold alignment; every sure link is possible too.",
        "AER": "alignment error rate, 1 − (|A∩S| + |A∩P|) / (|A| + |S|) of the links given (A), sure (S) and "
        "possible (P): lower is better. Precision is |A∩P| / |A|, recall |A∩S| / |S|, F1 is their harmonic mean.",
        "with output, with input": "where a translation model is asked: at the query that predicts a target piece "
        "(subword token), or at the query that reads it, one place later.",
        "to source, to target": "of an encoder that reads both sentences at once: links by what target words give to "
        "source words, or source words to target words.",
        "weight, norm": "α, averaged over the heads of a layer, or the length of what a source word adds: ‖αf(x)‖ of "
        "a head, ‖Σαf(x)‖ of a layer's heads together.",
        "no gold": "the layer (or head) of the largest mean norm; of a layer, the joint norm of its heads, or the "
        "sum of theirs: a guess, which can miss by far. The *oracle* looks at the gold and flatters; made honest, it "
        "chooses on one half of the pairs and is scored on the other.",
    } | words("untrained twin"),
    limits={
        "Attention gives one link per word at most.": "Gold has words with several; no single direction finds them "
        "all, which costs recall, and putting two together helps.",
        "The reference is forced.": "The model is shown the given translation, which it might never have written.",
        "Words and pieces differ.": "Pieces of an attended word are summed, of an attending one averaged; a corpus "
        "that splits words otherwise than people write them gives rare spellings.",
        "Aligners learn from these very pairs,": "with no gold; the model learnt from other text, mostly far more of "
        "it. eflomal draws at random, so its figures change a little with every run.",
        "Gold differs.": "Error rates compare within one gold alignment only; many possible links make it kinder.",
    },
    unshown={"scores": "layers, heads and methods show them", "mean_norms": "they stand beside heads and layers",
             "links": "they are for programs; the grid shows those of some pairs"},
    static=STATIC,
    published=f"AER of the best layer of {PUBLISHED}: {BEST['output']} with output (means over layers 68.4 and "
    f"62.9), {BEST['input']} with input (68.6 and 60.5); fast_align 28.4, GIZA++ 21.0.",
)  # fmt: skip
