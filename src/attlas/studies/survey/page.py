"""The page of a survey: where every head looks, made from the quantities that were asked.

What a quantity is called, and where it is shown, stands in its record (:mod:`attlas.measures.quantities`);
:func:`survey_page` makes schemas, charts and columns of the table of heads from these.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any

import altair as alt

from attlas.measures.quantities import QUANTITIES, Quantity, places, titles
from attlas.pages import Chart, Listing, Page, Section, Style, charts
from attlas.pages.rows import Row, Rows, Tables
from attlas.store.schema import PLACE, Column, Schema
from attlas.studies.shared import wording
from attlas.studies.shared.wording import MEASURES
from attlas.studies.survey import findings

POS = Schema(
    "pos",
    "Of the attention between words, the share to and from each part of speech.",
    *PLACE,
    Column("measure", "measure", labels=MEASURES),
    Column("direction", "direction", labels={"to": "to it", "from": "from it"}),
    Column("pos", "part of speech"),
    Column("value", "share", "share", "of the attention between words", ends=("low", "high"), chance="chance",
           definition="Vig & Belinkov 2019", head=True, called="attention between words, {direction}: {pos}"),
    Column("n", "attention between words", "number"),
    keys=("direction", "pos", "measure"),
)  # fmt: skip
SPEARMAN = Schema(
    "spearman",
    "Rank correlation of α with ‖f(x)‖, on pairs drawn from each passage; the mean over passages.",
    *PLACE,
    Column("value", "rank correlation", "signed", "Spearman's, of weight and length of vector", ends=("low", "high"),
           definition="Kobayashi et al. 2020", head=True, called="rank correlation of weight and ‖f(x)‖"),
    Column("n", "passages", "count"),
    keys=(),
)  # fmt: skip
FREQUENCY = Schema(
    "frequency",
    "‖f(x)‖ by how frequent the word is in this corpus.",
    *PLACE,
    Column("rank_from", "frequency rank from", "count"),
    Column("rank_to", "to", "count", "none in the last band"),
    Column("value", "mean ‖f(x)‖", "number", ends=("low", "high"), definition="Kobayashi et al. 2020"),
    Column("n", "pieces", "count"),
)
PORTRAITS = Schema("portraits", "A sentence on each head.", *PLACE, Column("sentence", "what it does"))
PARTS = Schema("parts", "Parts of speech with how many times chance they get.", *POS.columns,
               Column("ratio", "times chance", "number"))  # fmt: skip
BANDS = Schema(
    "bands",
    "‖f(x)‖ by frequency band and layer.",
    *PLACE[:2],
    Column("band", "rank of the word, from frequent to rare"),
    Column("relative", "‖f(x)‖ over the layer's mean", "number"),
)


def _heads_schema(quantities: Sequence[Quantity] = QUANTITIES) -> Schema:
    """The table of heads: a row for every head, measure and quantity."""
    return Schema(
        "heads",
        "One row for each head, measure and quantity.",
        *PLACE,
        Column("measure", "measure", labels=MEASURES),
        Column("quantity", "quantity", meaning="what is measured; see the list of quantities",
               labels=titles(quantities), kinds={quantity.name: quantity.kind for quantity in quantities}),
        Column("value", "value", "number", "the mean over queries; entropy is in nats, distance in pieces",
               ends=("low", "high"), chance="chance", definition="Clark et al. 2019; Kobayashi et al. 2020",
               head=True, called="{quantity}"),
        Column("n", "cases", "number", "queries; for edges the attention between words"),
        Column("first_half", "on one half", "number", "of the documents, or texts", optional=True),
        Column("second_half", "on the other half", "number", "of the documents, or texts", optional=True),
        keys=("quantity", "measure"),
    )  # fmt: skip


def _by_head_schema(quantities: Sequence[Quantity] = QUANTITIES) -> Schema:
    """What the page tells of each head: the place it looks at most, and its quantities side by side."""
    columns = [
        Column(f"{quantity.name}{'' if measure == 'weight' else '_norm'}",
               f"{quantity.column or quantity.title}{'' if measure == 'weight' else ' norm'}", quantity.kind,
               optional=True,
               chance=f"chance_{quantity.name}" if measure == "weight" else "")
        for quantity in quantities
        for measure in MEASURES
    ]  # fmt: skip
    return Schema(
        "by_head",
        "One row for each head: where it looks most, and all its figures.",
        *PLACE,
        Column("place", "looks most at", labels=places("where", quantities)),
        Column("share", "share of its weight there", "share", ends=("low", "high"), chance="chance"),
        Column("focus", "entropy over uniform", "share"),
        Column("rho", "ρ", "signed", "rank correlation of weight and ‖f(x)‖", optional=True),
        Column("sentence", "what it does", optional=True),
        *columns,
    )


def by_head(quantities: Sequence[Quantity]) -> Callable[[Tables], Iterable[Row]]:
    """Makes a row for each head of a survey's tables."""
    named = places("where", quantities)

    def make(tables: Tables) -> Iterator[Row]:
        rho, said = _by_place(tables["spearman"], "value"), _by_place(tables["portraits"], "sentence")
        lines: dict[tuple[Any, ...], dict[str, Any]] = {}
        for row in tables["heads"].known("value"):
            place = (row["stream"], row["layer"], row["head"])
            line = lines.setdefault(place, dict(zip(("stream", "layer", "head"), place, strict=True)))
            name, weight = row["quantity"], row["measure"] == "weight"
            line[name if weight else f"{name}_norm"] = row["value"]
            if weight:
                line[f"chance_{name}"] = row.get("chance")
                if name in named and row["value"] > line.get("share", -1.0):
                    line |= {"place": name, "share": row["value"]}
                    line |= {column: row.get(column) for column in ("low", "high", "chance")}
        for place, line in lines.items():
            even = line.get("chance_entropy")
            focus = line["entropy"] / even if even and "entropy" in line else None
            yield line | {"focus": focus, "rho": rho.get(place), "sentence": said.get(place, "")}

    return make


def parts(tables: Tables) -> Iterator[Row]:
    """Parts of speech as charts want them: those first that get most, with how many times chance they get."""
    totals: Counter[str] = Counter()
    for row in tables["pos"].where(direction="to").known("value"):
        totals[row["pos"]] += row["value"]
    order = {part: place for place, part in enumerate(sorted(totals, key=lambda part: (-totals[part], part)))}
    for row in sorted(tables["pos"], key=lambda row: order.get(row["pos"], len(order))):
        value, chance = row["value"], row["chance"]
        yield {**row, "ratio": value / chance if value is not None and chance else None}


def bands(tables: Tables) -> Iterator[Row]:
    """Length by frequency, mean over the heads of a layer, over the mean of the layer."""
    for stream, rows in tables["frequency"].known("value").by("stream"):
        for layer, own in rows.by("layer"):
            whole = own.mean("value") or 1.0
            for _, band in own.by("rank_from"):
                relative = (band.mean("value") or 0.0) / whole
                yield {"stream": stream, "layer": layer, "band": wording.band_of(band[0]), "relative": relative}


def _by_place(rows: Rows, column: str) -> dict[tuple[Any, ...], Any]:
    return {(row["stream"], row["layer"], row["head"]): row[column] for row in rows}


def _place_map(quantities: Sequence[Quantity] = QUANTITIES) -> Chart:
    """A cell for each head: its colour says where it looks most, its strength how much of its weight goes there."""
    named = places("where", quantities)

    def draw(tables: Tables, rows: Rows) -> charts.Spec:
        present = [place for place in named if place in rows.values("place")]
        label = "".join(f"datum.place == '{place}' ? '{named[place]}' : " for place in present) + "''"
        cells = charts.rows_of_page().transform_filter("isValid(datum.share)").transform_calculate(
            row="datum.layer + 1", column="datum.head + 1", name=charts.head_label(tables), label=label,
            text="replace(format(datum.share, '.2f'), regexp('^0'), '')",
        )  # fmt: skip
        colours = [charts.PALETTE[list(named).index(place) % len(charts.PALETTE)] for place in present]
        scale = alt.Scale(domain=[named[place] for place in present], range=colours)
        x = alt.X("column:O", title="head", axis=alt.Axis(labelAngle=0, labelOverlap=True, orient="top"))
        y = alt.Y("row:O", **charts.layer_axis(tables, labelOverlap=True))
        tooltip = [
            alt.Tooltip("name:N", title="head"), alt.Tooltip("sentence:N", title="it"),
            alt.Tooltip("label:N", title="most weight on"), alt.Tooltip("share:Q", title="share", format=".3f"),
            alt.Tooltip("low:Q", title="95 % interval from", format=".3f"),
            alt.Tooltip("high:Q", title="to", format=".3f"), alt.Tooltip("chance:Q", title="chance", format=".3f"),
        ]  # fmt: skip
        squares = cells.mark_rect().encode(
            x=x, y=y, tooltip=tooltip,
            color=alt.Color("label:N", title=None, scale=scale,
                            legend=alt.Legend(symbolOpacity=1, symbolType="square")),
            opacity=alt.Opacity("share:Q", legend=None, scale=alt.Scale(domain=[0, 1], range=[0.06, 1])),
        )  # fmt: skip
        layered = [squares]
        if tables.heads <= 16 and tables.layers <= 24:
            ink = alt.condition("datum.share > 0.55", alt.value("#fff"), alt.value("currentColor"))
            layered.append(cells.mark_text(fontSize=11).encode(x=x, y=y, text="text:N", color=ink, tooltip=tooltip))
        return charts.finished(alt.layer(*layered).properties(**charts.map_size(tables.layers)))

    return charts.custom(
        "places", "Where each head looks most", "by_head", ("layer", "head", "place", "share"), draw,
        label="Heat map, layer by head: the colour says on which place a head puts most of its weight",
    )  # fmt: skip


def _dots(quantities: Sequence[Quantity], section: str, style: Style) -> tuple[Chart, ...]:
    """A chart for each quantity of a section: a dot for each head, in weight and in norm."""
    return tuple(
        charts.layer_dots(
            "heads", "value", key=quantity.name, title=quantity.title, colour="measure", style=style,
            where={"quantity": [quantity.name]},
            label=f"{quantity.title}: {style.axis} by layer, one dot for each head",
        )
        for quantity in quantities
        if quantity.section == section
    )  # fmt: skip


def survey_page(quantities: Sequence[Quantity] = QUANTITIES) -> Page:
    """The page of a survey that has asked these quantities.

    >>> survey_page().study
    'survey'
    """
    small, shares = Style(height=190, domain=(0, 1), axis="share"), Style(height=190, axis="share")
    follows = {name: ["pos-heads"] for name in ("direction", "measure", "show")}
    columns = [
        name
        for quantity in quantities
        if quantity.column
        for name in (quantity.name, *([f"{quantity.name}_norm"] if quantity.norm else []))
    ]
    schema = _by_head_schema(quantities)
    return Page(
        "survey",
        title="Where do the heads of {model} look?",
        answer=wording.first(findings.one_place),
        chart=_place_map(quantities),
        about="Where does each attention head of **{model}** look while the model reads **{corpus}**? For every "
        "head, attention was sorted by where it goes and averaged over the corpus, in weights and in norms.",
        findings=(wording.further(findings.one_place), findings.resting_place, findings.neighbours, findings.lengths,
                  findings.edges, findings.breadth, findings.reach),
        schemas=(_heads_schema(quantities), POS, SPEARMAN, FREQUENCY, PORTRAITS, schema, PARTS, BANDS),
        derived={"by_head": by_head(quantities), "parts": parts, "bands": bands, "times": findings.edge_times},
        sections=(
            Section(
                "where", "Where attention goes",
                "Each dot is one head; its height is the share of its attention that goes to such pieces, in weight "
                "and, beside it, in norm. Previous, next, itself and near ask for a piece's place, others for its "
                "kind; *receives most* is the share of all attention in a text that one piece gets. Lines are means "
                "of layers, dashed is chance. Where weight is above norm, vectors carry little.",
                _dots(quantities, "where", small), short="Where it goes", width="small",
            ),
            Section(
                "map", "Head by head",
                "Rows are layers, columns are heads; the brighter, the more, from zero to the largest value of what "
                "is chosen. Point at a cell for chance and the interval.",
                (charts.head_map("heads", "value", key="map", style=Style(pick=("quantity", "measure")),
                                 label="Heat map of one quantity, layer by head"),),
                short="Map",
            ),
            Section(
                "entropy", "How broad, how focused",
                "Entropy says how widely a head spreads its attention: 0 nats is all on one piece, the dashed line "
                "is the same to all. Heads near the line average over the text; heads near the floor pick one piece. "
                "The largest score of a row is taken before the softmax; there, the line is a query of zero.",
                (*_dots(quantities, "entropy", Style(height=230, axis="nats")),
                 Listing("by_head", "head", "entropy", "sentence", order="focus", most=12,
                         title="The most focused heads")),
                short="Entropy", width="half",
            ),
            Section(
                "distance", "How far",
                "How far away, in pieces and to either side, the attended keys lie on average. Heads at 1 look at a "
                "neighbour; attention that rests on a fixed piece such as [SEP] counts with its distance, too.",
                _dots(quantities, "distance", Style(height=230, axis="pieces")), short="Distance",
            ),
            Section(
                "copies", "Where a piece occurred before",
                "Of the queries whose piece occurred before, the mean weight on these occurrences (the eight "
                "nearest), and on what followed them: heads high in the second chart are induction heads in this "
                "corpus, wherever they rest otherwise. The third says in how many texts a head rests on the first "
                "piece: its sink rate after Gu et al. (2025), the share of texts whose first key gets more than 0.3 "
                "from an average query (of the first 64 where texts are read one way; shorter ones do not count).",
                _dots(quantities, "copies", shares), short="Copies", width="small",
            ),
            Section(
                "norms", "Weights against norms",
                "A head adds up αf(x): the weight α times the key's vector after the head's own transformation. In "
                "the first chart the two are correlated by rank, on pairs of pieces drawn from each passage: dots "
                "below zero are heads that give much weight to short vectors, a way of attending to nothing. In the "
                "second, the length of vectors from frequent words to rare ones, over the mean of the layer.",
                (charts.layer_dots("spearman", "value", key="spearman", title="weight and ‖f(x)‖",
                                   style=Style(height=240, domain=(-1, 1), zero=True),
                                   label="Rank correlation of weight and vector length, a dot for each head"),
                 charts.grid("bands", "band", "layer", "relative", key="frequency", title="‖f(x)‖ by frequency",
                             label="Vector length by frequency rank of the word and layer")),
                short="Norms", width="half",
            ),
            Section(
                "pos", "Parts of speech",
                "Of the attention between words, the share that goes *to* each part of speech, or comes *from* it, "
                "mean over heads. Shares follow how common a part of speech is; *times chance* takes that out. "
                "Choose a part of speech, or click its row, to see its heads.",
                (charts.grid("parts", "layer", "pos", "value", "ratio", key="pos", title="Parts of speech by layer",
                             style=Style(pick=("direction", "measure")),
                             label="Heat map of attention by part of speech and layer, mean over heads")
                 .having(drives=follows, picks={"pos": "pos-heads"}),
                 charts.head_map("parts", "value", "ratio", key="pos-heads", title="One part of speech, head by head",
                                 style=Style(pick=("pos", "direction", "measure")),
                                 label="Heat map of attention to one part of speech, layer by head")),
                short="Parts of speech", width="half",
            ),
            Section(
                "edges", "Dependency edges",
                "How much attention runs along the edges of the dependency tree: what a word gives to its governor, "
                "to its dependents, and all of it as a share of the attention between words. The first piece, where "
                "a head may merely rest, is set aside. Dots far above the dashed line follow syntax, or something "
                "that goes with it, such as standing next to each other.",
                _dots(quantities, "edges", shares), short="Edges", width="small",
            ),
            Section(
                "heads", "All heads",
                "One row for each head, in weights unless it says norm; ρ is the rank correlation of weight and "
                "‖f(x)‖. Click a heading to sort, again to turn the order round. Type to search by label (3-) or by "
                "what is said of a head (previous).",
                (Listing("by_head", "head", "sentence", *columns, "rho", rows=_without_chance),), short="Heads",
            ),
        ),
        words=wording.words("piece", "α, weight", "norm", "chance", "[CLS], [SEP]", "head 8-10"),
        limits={
            "A weight is not an explanation.": "That a head looks at something does not show that the model uses it; "
            "that takes an experiment, such as cutting the head.",
            "Much weight may mean nothing to do.": "Heads may rest on [CLS], [SEP] or the first piece; compare the "
            "norms to see how much comes of it.",
            "The best of many is partly luck.": "A head that is named as the most of all was chosen on one half of "
            "the documents (or texts), and its number comes from the other; the surest is the one whose interval "
            "lies highest. Lists of heads above a bar are from all passages.",
            "Intervals are for this corpus.": "They say how a mean would vary with other documents of the same kind, "
            "not with another kind of text.",
        },
        unshown={
            "portraits": "its sentences stand in the table of heads",
            "pos": "its rows are shown with how many times chance they are",
            "frequency": "it is shown as means of layers",
        },
        published="bert-base-uncased on Wikipedia (Clark et al. 2019) and BERT (Kobayashi et al. 2020). What must "
        "agree is the shape of a finding, not the number.",
    )  # fmt: skip


def _without_chance(tables: Tables) -> Iterator[Row]:
    """The rows of all heads without chance levels, which would double the columns of the longest table."""
    for row in tables["by_head"]:
        yield {name: value for name, value in row.items() if not name.startswith("chance")}


PAGE = survey_page()
