"""The page of clusters: which heads attend alike, as a map, a tree and a table, and whether layers lie together."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterator, Sequence

from attlas.ids import paper_label
from attlas.pages import Listing, Page, Section, Style, charts
from attlas.pages.findings import Claim, Finding, finding, keyed, value_claim
from attlas.pages.prose import Prose, listed, say
from attlas.pages.rows import Row, Rows, Tables, label_of
from attlas.store.schema import PLACE, STREAM, Column, Schema, is_known
from attlas.studies.clusters.maps import behaviour_map, layer_map, tree_chart
from attlas.studies.shared.wording import first, further, of_stream, published, told, words

SURE = 0.01
PAIRS_SHOWN = 12
MANY = 2000  # heads beyond which the tree is left out of the page
CLARK = "Clark et al. 2019"

WHO = Column("who", "of", labels={"model": "the model", "twin": "its untrained twins"}, was="of")
_OF_TWINS = "mean of the twins; ends: the lowest and the highest"
_TWINS = Column("twins", "twins", "count", "how many untrained twins were drawn", optional=True)
DISTANCE = "mean Jensen-Shannon divergence of their rows, in nats"
_FIGURES = (
    Column("x", "across", "number", "place on the map, in nats", twin="twin_x"),
    Column("y", "upwards", "number", "place on the map, in nats", twin="twin_y"),
    Column("behaviour", "mostly", meaning="what the head mostly does; in the first twin", twin="twin_behaviour",
           definition=CLARK),
    Column("relations", "best for", meaning="relations that the head is surely best for, where these are known"),
    Column("leaf", "leaf of the tree", "index"),
    Column("nearest_layer", "layer of the nearest head", "index"),
    Column("nearest_head", "nearest head", "index"),
    Column("nearest", "nearest, nats", "number", "distance from the nearest head", head=True,
           called="distance from the nearest head, nats"),
    Column("mean", "mean dist., nats", "number", "mean distance from all other heads", twin="twin_mean", head=True,
           called="mean distance from all other heads, nats"),
    Column("entropy", "entropy, nats", "number", twin="twin_entropy"),
    Column("even", "entropy of even attention", "number", "over what may be seen, in nats"),
    Column("previous", "previous", "share", "attention on the piece before"),
    Column("next", "next", "share", "attention on the piece after"),
    Column("self", "itself", "share", "attention on the own piece"),
    Column("first", "first", "share", "attention on a first piece that is no [CLS]"),
    Column("cls", "[CLS]", "share"),
    Column("sep", "[SEP]", "share"),
    Column("punctuation", "punct.", "share", "attention on periods and commas"),
    Column("special", "all special", "share", "[CLS], [SEP], a first piece, periods and commas together"),
    Column("n", "queries", "count"),
    Column("twin_mean", "untrained twins, mean dist.", "number", _OF_TWINS,
           ends=("twin_mean_low", "twin_mean_high"), optional=True),
    Column("twin_entropy", "untrained twins, entropy", "number", _OF_TWINS,
           ends=("twin_entropy_low", "twin_entropy_high"), optional=True),
    _TWINS,
)  # fmt: skip
CLUSTERS = Schema(
    "clusters", "One row for each head: its place on the map, what it mostly does, and who is nearest.",
    *PLACE, *_FIGURES, keys=(),
)  # fmt: skip
PAIRS = Schema(
    "pairs", "One row for each pair of heads of a stream.",
    *PLACE, Column("layer_b", "layer of the other", "index"), Column("head_b", "other head", "index"),
    Column("value", "distance, nats", "number", DISTANCE, ends=("low", "high"), twin="twin", definition=CLARK),
    Column("n", "queries", "count"),
    Column("first_half", "on one half", "number", "distance on one half of the documents, or texts"),
    Column("second_half", "on the other half", "number", "distance on the other half"),
    Column("twin", "untrained twins, nats", "number", "mean of the twins; ends: the lowest and the highest",
           ends=("twin_low", "twin_high"), optional=True),
    _TWINS,
    pair=("layer_b", "head_b"),
)  # fmt: skip
JOINS = Schema(
    "joins", "The tree: which two groups were joined, step by step, heads first (as scipy numbers them).",
    STREAM, WHO, Column("join", "step", "index"), Column("a", "group", "count"), Column("b", "and group", "count"),
    Column("value", "joined at, nats", "number", "mean distance of the heads of both"),
    Column("heads", "heads", "count"),
)  # fmt: skip
LAYERS = Schema(
    "layer_pairs", "Mean distance of the heads of two layers.",
    STREAM, Column("layer", "layer", "index"), Column("layer_b", "and layer", "index"),
    Column("value", "the model, nats", "number", DISTANCE, ends=("low", "high")),
    Column("n", "queries", "count"),
    Column("twin", "untrained twins, nats", "number", "mean of the twins; ends: the lowest and the highest",
           ends=("twin_low", "twin_high")),
    _TWINS,
)  # fmt: skip
TOGETHER = Schema(
    "togetherness", "Whether heads of one layer lie together.",
    STREAM, WHO, Column("draw", "twin", "count", "which of the twins, from 1", optional=True),
    Column("within", "within layers, nats", "number", "mean distance of heads of one layer",
           ends=("within_low", "within_high")),
    Column("between", "between layers, nats", "number", "mean distance of heads of different layers",
           ends=("between_low", "between_high")),
    Column("ratio", "ratio", "number", "within over between: 1 where layers mean nothing"),
    Column("p", "p", "p", "share of random deals of the heads to layers that lie as near, the true one counted in"),
    Column("shuffles", "random deals", "count"),
    Column("stress", "stress of the map", "share", "share of the distances that it gets wrong; of twins, the "
           "map of the first alone"),
    Column("halves", "halves agree (ρ)", "share", "rank correlation of the distances on both halves of the documents "
           "(or texts)"),
    Column("heads", "heads", "count"), Column("n", "queries", "count"), _TWINS,
)  # fmt: skip
DESCRIBED = Schema(
    "described", "Heads with what they do and who is nearest in words.",
    *CLUSTERS.columns, Column("does", "mostly"), Column("nearest_name", "nearest head"),
)  # fmt: skip
TREE = Schema("tree", "The tree as points of a chart.", *(Column(name, name) for name in ("part", "x", "y")))
GAPS = Schema(
    "gaps", "Mean distance by how many layers lie between.",
    STREAM, WHO, Column("gap", "layers apart (0: heads of one layer)", "count"),
    Column("value", "mean distance, nats", "number"),
    Column("relative", "distance over the mean", "number", "over the mean of the model, or of its twins"),
)  # fmt: skip
BEHAVIOURS = Schema(
    "behaviours", "How many heads do what.",
    STREAM, Column("behaviour", "mostly"),
    Column("heads", "heads", "count", "of the model; in the first twin", twin="twin_heads"),
)  # fmt: skip
NEAREST = Schema(
    "nearest_pairs", "The nearest pairs of heads.",
    STREAM, Column("one", "head"), Column("one_does", "mostly"), Column("other", "and head"),
    Column("other_does", "mostly"),
    Column("chosen", "nats apart where chosen", "number", "on one half of the documents, or texts: in this order"),
    Column("scored", "on the other half", "number", "of the documents, or texts"),
    Column("value", "on all of them", "number", ends=("low", "high"), twin="twin"),
)  # fmt: skip


def described(tables: Tables) -> list[Row]:
    """Heads with what they do and who is nearest in words."""
    return [
        {**row, "does": _does(row), "nearest_name": paper_label(row["nearest_layer"], row["nearest_head"])}
        for row in tables["clusters"]
    ]


def gaps(tables: Tables) -> Iterator[Row]:
    """Mean distances over their model's mean, by how many layers lie between."""
    for stream, rows in tables["layer_pairs"].by("stream"):
        apart = Rows({**row, "gap": row["layer_b"] - row["layer"]} for row in rows)
        for who, column in (("model", "value"), ("twin", "twin")):
            pairs = apart.known(column).where(lambda row: row["gap"] >= 0)
            level = pairs.mean(column) or 1.0
            for gap in sorted(pairs.values("gap")):
                mean = pairs.where(gap=gap).mean(column) or 0.0
                yield {"stream": stream, "who": who, "gap": gap, "value": mean, "relative": mean / level}


def behaviours(tables: Tables) -> Iterator[Row]:
    """How many heads of the model and of its first twin do what, stream by stream."""
    for stream, rows in tables["clusters"].by("stream"):
        own, twins = (Counter(rows.column(name)) for name in ("behaviour", "twin_behaviour"))
        for name, _ in (own + twins).most_common():
            if name is not None:
                yield {"stream": stream, "behaviour": name, "heads": own[name], "twin_heads": twins[name]}


def nearest_pairs(tables: Tables) -> Iterator[Row]:
    """The nearest pairs of each stream: chosen on one half of the units, their distance from the other."""
    for stream, pairs in tables["pairs"].by("stream"):
        does = {label_of(row): _does(row) for row in tables["clusters"].where(stream=stream)}
        chosen, scored = _halves(pairs)
        for row in pairs.smallest(chosen)[:PAIRS_SHOWN]:
            one, other = label_of(row), paper_label(row["layer_b"], row["head_b"])
            numbers = {name: row[name] for name in ("value", "low", "high", "twin")}
            yield {"stream": stream, "one": one, "one_does": does[one], "other": other, "other_does": does[other],
                   "chosen": row[chosen], "scored": row[scored], **numbers}  # fmt: skip


def tree(tables: Tables) -> Iterator[Row]:
    """The tree of each stream as points of a chart, of the model alone."""
    for stream, heads in tables["described"].by("stream"):
        if len(heads) <= MANY:
            yield from tree_rows(heads, tables["joins"].where(stream=stream, who="model"))


def tree_rows(heads: Sequence[Row], joins: Sequence[Row]) -> list[Row]:
    """The tree of one stream as rows of a chart: four points for each join, and one for each leaf.

    >>> heads = [{"stream": "encoder", "leaf": leaf} for leaf in (1, 0)]
    >>> rows = tree_rows(heads, [{"stream": "encoder", "join": 0, "a": 0, "b": 1, "value": 0.5}])
    >>> [(row["x"], row["y"]) for row in rows if row["part"] == "branch"]
    [(1.0, 0.0), (1.0, 0.5), (0.0, 0.5), (0.0, 0.0)]
    """
    shown = ("layer", "head", "behaviour", "does", "nearest_name", "mean", "entropy")
    empty = dict.fromkeys(("join", "step", "top", *shown))
    at = {number: (float(row["leaf"]), 0.0) for number, row in enumerate(heads)}
    rows: list[Row] = []
    for join in joins:
        (left, low), (right, lower) = at[join["a"]], at[join["b"]]
        top = join["value"]
        at[len(heads) + join["join"]] = ((left + right) / 2, top)
        for step, (x, y) in enumerate(((left, low), (left, top), (right, top), (right, lower))):
            place = {"stream": join["stream"], "part": "branch", "x": x, "y": y}
            rows.append({**empty, **place, "join": join["join"], "step": step, "top": top})
    leaves = [
        {**empty, "stream": row["stream"], "part": "leaf", "x": float(row["leaf"]), "y": 0.0,
         **{name: row.get(name) for name in shown}}
        for row in heads
    ]  # fmt: skip
    return rows + leaves


def layers(tables: Tables) -> Iterator[Finding]:
    """Whether heads of one layer lie together, stream by stream."""
    for stream, rows in tables["togetherness"].by("stream"):
        model = next(iter(rows.where(who="model").known("ratio")), None)
        twins, untrained = rows.where(who="twin").known("ratio"), {"stream": stream, "who": "twin"}
        if model is None:
            continue
        together = model["ratio"] < 1 and is_known(model["p"]) and model["p"] < SURE
        yield finding(
            "**Heads of one layer{where} {verdict} together**: they are {within:number} nats apart on average{ends}, "
            "heads of different layers {between:number}, a ratio of **{ratio:number}**{luck}{twin}.",
            *(_value(model, column) for column in ("within", "between", "ratio")),
            *(Claim("mean", "togetherness", "ratio", among=untrained, value=twins.mean("ratio")) for _ in twins[:1]),
            *(Claim(kind, "togetherness", column, keyed(row, "stream", "who", "draw"), untrained)
              for kind, column, row in _extremes(twins)),
            *(_value(row, "ratio") for row in twins[: 0 if _extremes(twins) else 1]),
            *(Claim("below", "togetherness", column, [{"stream": stream, "who": "model"}], than=bar)
              for column, bar in (("ratio", 1), ("p", SURE)) if together),
            where=of_stream(tables, stream), twin=_beside(twins),
            verdict="lie" if together else "do not surely lie", luck=_by_lot(model),
            ends=say(" ({within_low:number} to {within_high:number})", **model) if model["within_low"] is not None
            else "", see="layers", **model,
            published=published(stream, f"{CLARK}: heads within the same layer are often fairly close to each other"),
        )  # fmt: skip


def what_they_do(tables: Tables) -> Iterator[Finding]:
    """How many heads do what."""
    for stream, rows in tables["behaviours"].by("stream"):
        own = rows.where(lambda row: row["heads"] > 0 and row["behaviour"] != "other").largest("heads")
        other = rows.where(behaviour="other").total("heads")
        twins = rows.where(lambda row: row["twin_heads"] > 0).largest("twin_heads")[:3]
        yield finding(
            "What the {n} heads{where} mostly do: {names}{other}.{twins}",
            *(value_claim("behaviours", "heads", row, "stream", "behaviour") for row in rows),
            Claim("total", "behaviours", "heads", among={"stream": stream}, value=rows.total("heads")),
            n=round(rows.total("heads")), where=of_stream(tables, stream), see="map",
            names=_counted(own, "heads") if own else "nothing that the bars used here would name",
            other=f"; {round(other)} do none of this" if own and other else "",
            twins=say(" Of an untrained twin's: {names}.", names=_counted(twins, "twin_heads")) if twins else "",
        )  # fmt: skip


def nearest(tables: Tables) -> Iterator[Finding]:
    """The two heads that are most alike."""
    for stream, pairs in tables["pairs"].by("stream"):
        chosen, scored = _halves(pairs)
        row = pairs.smallest(chosen)[0]
        key = ("stream", "layer", "head", "layer_b", "head_b")
        mean = pairs.mean("value")
        yield finding(
            "The two heads{where} most alike are **{one}** and **{other}**, {apart:number} nats apart, where two "
            f"heads are {{mean:number}} apart on average and {math.log(2):.2f} (ln 2) is the most possible.",
            Claim("smallest", "pairs", chosen, keyed([row], *key), {"stream": stream}),
            value_claim("pairs", scored, row, *key),
            Claim("mean", "pairs", "value", among={"stream": stream}, value=mean),
            where=of_stream(tables, stream), one=label_of(row), apart=row[scored], mean=mean,
            other=paper_label(row["layer_b"], row["head_b"]), see="pairs",
        )  # fmt: skip


def farthest(tables: Tables) -> Iterator[Finding]:
    """The head that is least like the others."""
    for stream, heads in tables["described"].by("stream"):
        lone = heads.largest("mean")[0]
        if len(heads) > 2:
            yield finding(
                "The head{where} farthest from all others is **{name}** ({does}): {mean:number} nats from the others "
                "on average, and {nearest:number} from its nearest, {nearest_name}.",
                Claim("largest", "clusters", "mean", keyed([lone]), {"stream": stream}),
                where=of_stream(tables, stream), name=label_of(lone), see="heads", **lone,
            )  # fmt: skip


def trust(tables: Tables) -> Iterator[Finding]:
    """How far the map and the distances can be trusted."""
    steady = " The distances themselves have a rank correlation of {halves:share} on the two halves of the texts."
    for row in tables["togetherness"].where(who="model").known("stress"):
        yield finding(
            "The map{where} keeps distances only roughly (stress {stress:share}: 0 would be a true map of them): "
            "what is far apart on it is far apart, what touches may not be alike.{steady}",
            _value(row, "stress"), where=of_stream(tables, row["stream"]), see="map", **row,
            steady=say(steady, **row) if row["halves"] is not None else "",
        )  # fmt: skip


def about(tables: Tables) -> Prose:
    """What was done."""
    norm = tables.options.get("measure") == "norm"
    return say(
        "Which of the {n} attention heads of **{model}** look at the same pieces (subword tokens) while the model "
        "reads **{corpus}**, and do heads of one layer lie together? The distance of every pair of heads was "
        "measured, over all pieces{by}.",
        n=len(tables["clusters"]), **tables.names,
        by=", by the norms ‖αf(x)‖, each row divided by its sum, in place of the weights α" if norm else "",
    )  # fmt: skip


def _extremes(twins: Rows) -> list[tuple[str, str, Rows]]:
    """The twin with the smallest ratio, that with the largest, and that with the smallest p, as claims have them;
    none where there is a single twin."""
    if len(twins) < 2 or "draw" not in twins[0] or not twins.known("p"):
        return []
    least, most, sure = twins.smallest("ratio")[:1], twins.largest("ratio")[:1], twins.smallest("p")[:1]
    return [("smallest", "ratio", least), ("largest", "ratio", most), ("smallest", "p", sure)]


def _by_lot(model: Row) -> Prose | str:
    """How often heads dealt to layers at random lie as near, in brackets."""
    text = " (p {p:p} by {shuffles} random deals of the heads to layers)"
    return say(text, **model) if is_known(model["p"]) else ""


def _beside(twins: Rows) -> Prose:
    """What the untrained twins show, behind a semicolon."""
    if not twins:
        return say("")
    if not (extremes := _extremes(twins)):
        template = "; in an untrained twin (random weights) {within:number} and {between:number}, a ratio of "
        return say(template + "{ratio:number}{luck}", luck=say(" (p {p:p})", **twins[0]) if is_known(twins[0]["p"])
                   else "", **twins[0])  # fmt: skip
    (least,), (most,), (sure,) = (rows for _, _, rows in extremes)
    return say(
        "; in {n} untrained twins (random weights) a ratio of {mean:number} on average ({least:number} to "
        "{most:number}; the smallest p is {p:p})",
        n=len(twins), mean=twins.mean("ratio"), least=least["ratio"], most=most["ratio"], p=sure["p"],
    )  # fmt: skip


def _together(who: str) -> Listing:
    """What is known of the layers of the model, or of its twins; the stream only where there are several."""
    return Listing(
        "togetherness", "stream", "within", "between", "ratio", "p", "stress", "halves",
        rows=lambda tables: told(tables, tables["togetherness"].where(who=who).known("ratio")),
        title=WHO.labels[who].capitalize(),
    )  # fmt: skip


def _halves(pairs: Rows) -> tuple[str, str]:
    """The column to choose pairs by, and the one to tell their distance from: the same where a half is missing."""
    halved = len(pairs.known("first_half", "second_half")) == len(pairs)
    return ("first_half", "second_half") if halved else ("value", "value")


def _does(row: Row) -> str:
    return f"best for {row['relations']}" if row["behaviour"] == "relation" else str(row["behaviour"])


def _counted(rows: Rows, column: str) -> Prose:
    return listed([f"{row['behaviour']} ({row[column]})" for row in rows])


def _value(row: Row, column: str) -> Claim:
    return value_claim("togetherness", column, row, "stream", "who")


PAGE = Page(
    "clusters",
    title="Which heads of {model} attend alike?",
    answer=first(layers),
    chart=charts.lines(
        "gaps", "gap", "relative", key="gaps-chart", title="How far apart heads are, by how many layers lie between",
        colour="who", style=Style(tell=("value",), tight=True),
        label="Mean distance over the model's mean, by how many layers lie between two heads, model and twins",
    ),
    about=about,
    findings=(further(layers), what_they_do, nearest, farthest, trust),
    schemas=(CLUSTERS, PAIRS, JOINS, LAYERS, TOGETHER, DESCRIBED, TREE, GAPS, BEHAVIOURS, NEAREST),
    derived={"described": described, "gaps": gaps, "behaviours": behaviours, "nearest_pairs": nearest_pairs,
             "tree": tree},
    sections=(
        Section(
            "map", "A map of heads",
            "Each sign is one head; heads that attend alike lie near each other, as far as a plane has room for it. "
            "Only distances mean something, and both axes have one scale. Signs tell what a head mostly does, or "
            "which layer it belongs to. Point at a head for its neighbours.",
            (behaviour_map("described"), layer_map("described"),
             Listing("behaviours", "behaviour", "heads", order="-heads", title="How many heads do what")),
            short="Map", width="half",
        ),
        Section(
            "layers", "Layer by layer",
            "If heads of one layer lie together, the diagonal of the first chart is dark: it shows the mean distance "
            "of the heads of two layers. The second is the map of the first twin: where layers mean nothing, their "
            "colours mix. p is the share of random deals of the heads to layers that lie as near, the true one "
            "counted in.",
            (charts.grid("layer_pairs", "layer_b", "layer", "value", "twin", key="layer-pairs",
                         title="Heads of two layers, mean distance",
                         label="Heat map of the mean distance of heads, layer by layer"),
             layer_map("described", twin=True), _together("model"), _together("twin")),
            short="Layers", width="half",
        ),
        Section(
            "tree", "A tree of heads",
            "Heads that are joined low attend alike. At each height the two groups are joined whose heads are "
            "nearest on average. Signs are those of the map.",
            (tree_chart("tree"),), short="Tree",
        ),
        Section(
            "pairs", "The nearest pairs",
            "The pairs of heads that are most alike: chosen on one half of the documents (or texts), with their "
            "distance from the other, lest they be the luckiest of many; interval and twins (the same places) are of "
            "all.",
            (Listing("nearest_pairs", "one", "one_does", "other", "other_does", "chosen", "scored", "value"),),
            short="Pairs",
        ),
        Section(
            "heads", "All heads",
            "One row for each head: what it mostly does and who is nearest, its mean distance from all other heads, "
            "and the figures behind its behaviour. Search by label (3-) or behaviour (broad).",
            (Listing("described", "head", "does", "nearest_name", "nearest", "mean", "entropy", "previous", "next",
                     "self", "first", "cls", "sep", "punctuation", "special"),), short="Heads",
        ),
    ),
    words={
        "distance": "how differently two heads attend: the Jensen-Shannon divergence of their rows, a mean over all "
        "pieces (subword tokens) of all texts, in nats. 0: they always look alike. ln 2 = 0.69: they never look at "
        "the same piece.",
        "mostly": "what a head mostly does: over 0.5 of its attention on the previous, next or own piece; over 0.6 "
        "on special pieces ([CLS], [SEP], a first piece, periods and commas); *broad*: an entropy over 0.78 of that "
        "of even attention (which is 3.8 nats for 128 pieces, the published bar); *relation*: the best head for one.",
        **words("untrained twin", "head 8-10"),
    },
    limits={
        "Alike in attention is not alike in work.": "Two heads that look at the same pieces, or by norm take as much "
        "from them, may move quite different vectors; and two that rest on [SEP] may both do nothing.",
        "The behaviours are cut by bars.": "A head just below one is “other”. Groups by behaviour lie together on "
        "the map by their making, since they are told by the same rows; that layers do is a finding, and has a test.",
        "The test asks about layers alone.": "It takes heads as exchangeable; that neighbouring layers are alike, "
        "too, is shown, not tested. With grouped keys, heads of a group share theirs, as they do in the twin.",
        "The map is a projection.": "Look up distances in the tables before building on two signs that touch.",
        "Intervals are for this corpus": "with the document as the unit, or the text where there are few documents; "
        "beside twins stand the lowest and the highest of them.",
    },
    unshown={"clusters": "its rows stand in the map and in the table of heads, described in words",
             "pairs": "the nearest are listed; there are too many to show all", "joins": "the tree shows them"},
    published="Clark et al. 2019 (bert-base-uncased on Wikipedia): heads within the same layer are often fairly "
    "close to each other, and heads of one behaviour form clusters; pictures, and no figures",
)  # fmt: skip
