"""The page of align: which words attention links, by weight and by norm, against gold and beside word aligners.

Error rates stand in tables as shares and on the page as points out of a hundred, as the field writes them. A *view*
is one side of the attention read in one direction; charts and tables offer the one with the lowest error rate first.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from attlas.measures.names import MEASURES
from attlas.pages import Claim, Custom, Finding, Listing, Page, Prose, Row, Rows, Section, Style, Tables, charts
from attlas.pages.findings import finding, keyed, value_claim
from attlas.pages.prose import listed, say
from attlas.pages.rows import label_of
from attlas.store.schema import HEAD, LAYER, STREAM, Column, Schema, is_known
from attlas.studies.align.grid import STATIC, grid
from attlas.studies.align.tables import BY_HEADS, BY_NORM, HALVES, ORACLE
from attlas.studies.shared.wording import words

View = tuple[str, str]  # the side that is read, and the direction of its links
PUBLISHED = "a German-English model of 6 layers and 4 heads, Kobayashi et al. 2020"
BEST = {"output": "47.7 by weight, 41.4 by norm", "input": "29.8 by weight, 25.0 by norm"}  # of the published model
SIDES = {
    "output": "with output",
    "input": "with input",
    "to source": "from target to source",
    "to target": "from source to target",
    "": "in both blocks",
}
DIRECTIONS = ("forward", "backward", "intersection", "grow-diag-final-and")
HOWS = {BY_NORM: "no gold", BY_HEADS: "no gold, heads summed", ORACLE: "oracle", HALVES: "on the other half"}
NEAR = 0.02  # an error rate this close to an untrained twin's is no better
FAR = 0.1  # an error rate so far above that of the layer that gold chooses is not worth having

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

SCORES = Schema(
    "scores",
    "One row for each score of each way of finding links: layers and heads of attention, and word aligners.",
    Column("aligner", "aligner", meaning="attention, or a word aligner that knows no network"),
    Column("trained_on", "trained on", meaning="what an aligner learnt from"),
    _DIRECTION, STREAM, _MEASURE, _SIDE, LAYER, _OPTIONAL_HEAD,
    _SCORE,
    Column("value", "value", "percent", "with a 95 % interval over pairs of sentences", ends=("low", "high"),
           twin="twin", definition="Och and Ney 2003", head=True),
    _TWIN, _TWINS, _LINKS,
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
           head=True),
    Column("n", "pairs of pieces", "count"),
    replace(_TWIN, kind="number", optional=True), _TWINS,
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


def view_name(side: str, direction: str) -> str:
    """A side and a direction in words."""
    return SIDES.get(side, side) + ("" if _own_way(side, direction) else f", {direction}")


def _own_way(side: str, direction: str) -> bool:
    """Whether links of this direction are what the side gives by itself."""
    return direction == ("backward" if side == "to target" else "forward")


def views(tables: Tables) -> list[View]:
    """The views of attention: those of one direction first, and of these the one with the lowest error rate (with
    input, where there is no gold)."""
    attention = tables["scores"].where(aligner="attention")
    known = dict.fromkeys((row["side"], row["direction"]) for row in attention)

    def order(view: View) -> tuple[bool, float, int, bool]:
        best = min(_by_layer(tables, view, "norm").column("value"), default=1.0)
        return view[1] not in DIRECTIONS[:2], best, DIRECTIONS.index(view[1]), view[0] == "output"

    return sorted(known, key=order)


def single(tables: Tables) -> list[View]:
    """The views of one model in one direction."""
    return [view for view in views(tables) if view[1] in DIRECTIONS[:2]]


def best_view(tables: Tables) -> View | None:
    """The view of one direction in which norms of some layer have the lowest error rate, where there is gold."""
    return next(iter(single(tables)), None) if scored(tables) else None


def scored(tables: Tables) -> bool:
    """Whether there was gold."""
    return len(tables["scores"].where(score="AER")) > 0


def _by_layer(tables: Tables, view: View, measure: str) -> Rows:
    return tables["scores"].where(**_among(view, measure)).known("value")


def _among(view: View, measure: str) -> dict[str, object]:
    """What tells the error rates of all layers of a view from other rows."""
    place = {"side": view[0], "direction": view[1], "measure": measure, "head": None}
    return {"aligner": "attention", "score": "AER", **place}


def _choice(tables: Tables, view: View, measure: str, how: str, unit: str = "layer") -> Row | None:
    """What was chosen in one way, where it has an error rate."""
    rows = tables["choices"].where(side=view[0], direction=view[1], measure=measure, how=how, unit=unit)
    return next(iter(rows.known("value")), None)


def _value_of(row: Row) -> Claim:
    """That a choice has its error rate."""
    return value_claim("choices", "value", row, "direction", "measure", "side", "unit", "how")


def _aligners(tables: Tables, direction: str) -> Rows:
    """The error rates of aligners that know no network, best first."""
    rows = tables["scores"].where(lambda row: row["aligner"] != "attention", direction=direction, score="AER")
    return rows.smallest("value")


def answer(tables: Tables) -> Finding | None:
    """Whether attention aligns words, in the layer that one would take without gold; else how many words it links."""
    if not scored(tables):
        return next(iter(linked(tables)), None)
    view = views(tables)[0]
    blind = _choice(tables, view, "norm", BY_NORM)
    if blind is None:
        return None
    bars = {"untrained twins (random weights)": blind["twin"]}
    bars |= {f"the {row['aligner']}": row["value"] for row in _aligners(tables, view[1]).where(aligner="diagonal")}
    known = {name: value for name, value in bars.items() if is_known(value)}
    lowest = min([*known.values(), *filter(is_known, [blind.get("twin_low")])], default=1.0)
    sure = is_known(blind["high"]) and blind["high"] < lowest
    told = [say("{name} **{value:percent}**", name=name, value=value) for name, value in known.items()]
    ends = "(95 % interval {low:percent} to {high:percent})" if is_known(blind["low"]) else "(too few pairs for more)"
    return finding(
        "**{verdict}:** read {view}, by norm, in the layer that is chosen without gold ({layer:index}), its links "
        f"have an alignment error rate (AER) of **{{value:percent}}** {ends}; {{told}}.",
        _value_of(blind), verdict="Yes" if sure else "No" if blind["value"] >= lowest else "Hardly",
        view=view_name(*view), told=listed(told), see="layers", **blind,
    )  # fmt: skip


def norms(tables: Tables) -> Iterator[Finding]:
    """Norms against weights, view by view."""
    for view in single(tables) if scored(tables) else ():
        rows = {measure: _by_layer(tables, view, measure) for measure in MEASURES}
        if (view[1] == "backward" and view[0] != "to target") or not all(rows.values()):
            continue
        best = {measure: own.smallest("value")[0] for measure, own in rows.items()}
        means = {measure: own.mean("value") for measure, own in rows.items()}
        claims = [Claim("smallest", "scores", "value", keyed([best[m]], "layer"), _among(view, m)) for m in MEASURES]
        claims += [Claim("mean", "scores", "value", among=_among(view, m), value=means[m]) for m in MEASURES]
        ours, theirs = (
            say("**{value:percent}** by {measure} ({ends}layer {layer:index})", ends=_ends(best[m]), **best[m])
            for m in ("norm", "weight")
        )
        text = say(
            "Read {view}, the best layer has an AER of {ours} and {theirs}; the mean over layers is {norm:percent} "
            "against {weight:percent}.", view=view_name(*view), ours=ours, theirs=theirs, **means,
        )  # fmt: skip
        among = {"side": view[0], "direction": view[1]}
        gains = tables["gains"].where(**among).known("change", "low", "high")
        if gains:
            better, worse = gains.count(lambda row: row["high"] < 0), gains.count(lambda row: row["low"] > 0)
            most = gains.smallest("change")[0]
            gained = say(
                "; they gain most in layer {layer:index}: {gain:percent} points ({least:percent} to {most:percent})",
                **most, gain=-most["change"], least=-most["high"], most=-most["low"],
            ) if most["change"] < 0 else ""  # fmt: skip
            text += say(
                "Beyond the interval, norms are better in {better} of {n} layers and worse in {worse}{gained}.",
                better=better, n=len(gains), worse=worse or "none", gained=gained,
            )  # fmt: skip
            claims += [
                Claim("count", "gains", "high", among=among, value=better, than=0, below=True),
                Claim("count", "gains", "low", among=among, value=worse, than=0),
                Claim("smallest", "gains", "change", keyed([most], "layer"), among),
            ]
        said = BEST.get(view[0]) if view[1] == "forward" else None
        yield Finding(text, tuple(claims), "table", f"{PUBLISHED}, best layer: {said}" if said else "")


def _ends(row: Row) -> Prose:
    """The interval of a row, where it has one, before what else is told of it."""
    return say("{low:percent} to {high:percent}; ", **row) if is_known(row["low"]) else say("")


def choice(tables: Tables) -> Iterator[Finding]:
    """What it costs not to know the gold, read from the best side."""
    view = best_view(tables)
    hows = (BY_NORM, ORACLE, BY_HEADS, HALVES)
    blind, oracle, summed, honest = (view and _choice(tables, view, "norm", how) for how in hows)
    if not view or not blind or not oracle:
        return
    text = say(
        "Without gold one takes layer **{layer:index}** {name}, that of the largest mean norm, at "
        "**{value:percent}** by norm.", name=view_name(*view), **blind,
    )  # fmt: skip
    if blind["layer"] == oracle["layer"]:
        text += say("It is the layer that the gold would choose.")
    else:
        text += say(
            "The gold would choose layer {layer:index}, at {value:percent}: not to know it costs {cost:percent} "
            "points.", cost=blind["value"] - oracle["value"], **oracle,
        )  # fmt: skip
    if summed and summed["layer"] != blind["layer"]:
        sums = "By the sum of its heads' mean norms one would take layer {layer:index}, at {value:percent}."
        text += say(sums, **summed)
    if honest:
        half = "Chosen on one half of the pairs and scored on the other, the best layer has {value:percent}."
        text += say(half, **honest)
    yield Finding(text, tuple(_value_of(row) for row in (blind, oracle, summed, honest) if row), "choices")


def missed(tables: Tables) -> Iterator[Finding]:
    """From which sides the choice without gold misses the layer that aligns."""
    told, claims, clean = [], [], 0
    for view in single(tables) if scored(tables) else ():
        blind, oracle = (_choice(tables, view, "norm", how) for how in (BY_NORM, ORACLE))
        if blind is None or oracle is None:
            continue
        if blind["value"] - oracle["value"] < FAR:
            clean += 1
            continue
        told.append(say(
            "{name} it takes layer {layer:index}, at **{value:percent}**, where layer {best:index} has "
            "**{least:percent}**", name=view_name(*view), best=oracle["layer"], least=oracle["value"], **blind,
        ))  # fmt: skip
        claims += [_value_of(blind), _value_of(oracle)]
    if told:
        yield finding(
            "The choice without gold **cannot be relied on**: read {told}.{rest}", *claims, told=listed(told),
            rest=f" From {clean} of {clean + len(told)} sides it comes near." if clean else "", see="choices",
        )  # fmt: skip


def heads(tables: Tables) -> Iterator[Finding]:
    """Whether a single head knows more than a layer."""
    view = best_view(tables)
    layer = _choice(tables, view, "norm", HALVES) if view else None
    rows = Rows(filter(None, (view and _choice(tables, view, measure, HALVES, "head") for measure in MEASURES)))
    if view is None or layer is None or not rows:
        return
    best = rows.smallest("value")[0]
    oracle = _choice(tables, view, best["measure"], ORACLE, "head")
    gap = layer["value"] - best["value"]
    yield finding(
        "A single head{named} knows {verdict} a layer: chosen on one half and scored on the other, the best head has "
        "an AER of **{value:percent}** by {measure}, the best layer {of_layer:percent} by norm.",
        _value_of(best), _value_of(layer), see="map", of_layer=layer["value"], **best,
        named="" if oracle is None else f" (on all pairs: {label_of(oracle)})",
        verdict="more than" if gap > 0.005 else "less than" if gap < -0.005 else "as much as",
    )  # fmt: skip


def beside_aligners(tables: Tables) -> Iterator[Finding]:
    """Whether aligners that know no network are better."""
    view = best_view(tables)
    own = _choice(tables, view, "norm", BY_NORM) if view else None
    rows = _aligners(tables, view[1]) if view else Rows()
    if own is None or not rows:
        return
    names = [f"{row['aligner']} ({row['trained_on']})" if row["trained_on"] else row["aligner"] for row in rows]
    named = dict(zip(names, rows.column("value"), strict=True))
    told = [say("{name} **{value:percent}**", name=name, value=value) for name, value in named.items()]
    below = [name for name, value in named.items() if value < own["value"]]
    among = {"direction": rows[0]["direction"], "score": "AER", "aligner": rows.values("aligner")}
    yield finding(
        "In the same direction, aligners that know no network have {told}, against {value:percent} by norm in the "
        "layer chosen without gold. {verdict}.",
        Claim("count", "scores", "value", among=among, value=len(below), than=own["value"], below=True),
        see="methods", published="fast_align 28.4, GIZA++ 21.0 (German-English, trained on far more text)",
        told=listed(told), value=own["value"],
        verdict="All of them are better" if len(below) == len(rows) else "None of them is better" if not below
        else f"Better than attention: {', '.join(below)}",
    )  # fmt: skip


def together(tables: Tables) -> Iterator[Finding]:
    """What both directions have together."""
    among = {"direction": DIRECTIONS[2:], "how": BY_NORM}
    for best in tables["choices"].where(**among).smallest("value")[:1]:
        alone = [(view, _choice(tables, view, best["measure"], BY_NORM)) for view in single(tables)]
        told = [
            say("{value:percent} {view}", value=row["value"], view=view_name(*view))
            for view, row in alone
            if row is not None and best["side"] in ("", view[0])
        ]
        yield finding(
            "Both directions put together ({direction}) have **{value:percent}** by {measure}{where}, in layers "
            "chosen without gold; one direction alone has {alone}.",
            Claim("smallest", "choices", "value", keyed([best], "direction", "measure", "side"), among),
            where=f" {SIDES[best['side']]}" if best["side"] else "", alone=listed(told), see="methods", **best,
        )  # fmt: skip


def linked(tables: Tables) -> Iterator[Finding]:
    """Without gold: how many words have a link."""
    among = {"aligner": "attention", "score": "linked", "head": None}
    rows = tables["scores"].where(**among).smallest("value")
    if not rows:
        return
    low, high = (
        say("**{value:percent} %** (by {measure} {view}, layer {layer:index})", **row,
            view=view_name(row["side"], row["direction"]))
        for row in (rows[0], rows[-1])
    )  # fmt: skip
    key = ("side", "direction", "measure", "layer")
    yield finding(
        "Without gold nothing can be scored; from {low} to {high} of words have a link; the others pick the end of "
        "the sentence or another piece outside words. Untrained twins link {twin:percent} % on average.",
        Claim("smallest", "scores", "value", keyed(rows[:1], *key), among),
        Claim("largest", "scores", "value", keyed(rows[-1:], *key), among),
        Claim("mean", "scores", "twin", among=among, value=rows.mean("twin")),
        low=low, high=high, twin=rows.mean("twin"), see="layers",
    )  # fmt: skip


def blind_layers(tables: Tables) -> Iterator[Finding]:
    """Without gold: the layer to take."""
    told, claims = [], []
    for side, direction in () if scored(tables) else single(tables):
        among = {"side": side, "direction": direction, "head": None}
        for most in tables["mean_norms"].where(**among).largest("value")[:1]:
            told.append(say("layer **{layer:index}** {view}", layer=most["layer"], view=view_name(side, direction)))
            claims.append(Claim("largest", "mean_norms", "value", keyed([most], "layer"), among))
    if told:
        text = "The layer of the largest mean norm, the one to take blindly, is {told}."
        yield finding(text, *claims, told=listed(told), see="choices")


def handed(tables: Tables) -> Iterator[Finding]:
    """Which links were handed out."""
    for row in tables["links"][:1]:
        yield finding("The links that were handed out are those of {method}.", see="pairs", **row)


def warning(tables: Tables) -> Prose | None:
    """That the model shows no alignment at all, where that is so."""
    rows = tables["scores"].where(aligner="attention", score="AER", head=None).known("value", "twin")
    twin = min((row["twin_low"] if is_known(row["twin_low"]) else row["twin"] for row in rows), default=1.0)
    if any(row["value"] <= twin - NEAR and not (is_known(row["high"]) and row["high"] >= twin) for row in rows):
        return None
    return say(
        "No layer of {model} is better than the same architecture untrained ({twin:percent} at best): it shows no "
        "alignment at all. Where an encoder gives all pieces of a sentence one and the same state, attention has "
        "nothing to choose by.", model=tables.model, twin=twin,
    ) if rows else None  # fmt: skip


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
        own_way = _own_way(row["side"], row["direction"])
        way = "" if own_way else _short(row["direction"])
        parts = (row["measure"], row["side"], way, _place(row), HOWS[row["how"]])
        mixed = row["layer"] is None or row["back_layer"] not in (None, row["layer"])
        same = {name: row[name] for name in ("direction", "measure", "side", "layer", "head")}
        others = Rows() if mixed else tables["scores"].where(aligner="attention", **same)
        drawn = row["unit"] == "layer" and row["how"] != HALVES and (own_way or row["direction"] in DIRECTIONS[2:])
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
    answer=answer,
    warning=warning,
    chart=charts.lines(
        "panels", "layer", "value", key="layers", title="Layer by layer", colour="kind",
        style=Style(pick=("score", "view"), domain=(0, 1), axis="score"),
        label="A score by layer, for weights and norms, with aligners as level lines and the untrained twins dashed",
    ),
    about="Given a sentence and its translation, which word of the one does each word of the other look at? In "
    "**{model}**, on **{corpus}**. A dot is a layer, all its heads together, with its 95 % interval over pairs of "
    "sentences; dashed, the mean of untrained twins; level lines are aligners that know no network, in the same "
    "direction.",
    findings=(norms, choice, missed, heads, beside_aligners, together, blind_layers, handed),
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
