"""The page of the norms study: what attention adds up, against its weights, by class of key, layer and head.

What Kobayashi et al. (2020) found of BERT is asked of this model, claim by claim. A class of key has *much* weight in
a layer if it is more than even attention would give by a quarter, and *little* norm if its share of the norm is below
its share of the weight, both beyond their intervals. A claim holds *as published* if it does so in two thirds of the
layers (or heads), *not* if in one third or fewer, and else in part; in part, too, if it is clearly the other way
round in more than a tenth of the layers.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from statistics import median
from typing import Any

from attlas.pages import Claim, Finding, Listing, Page, Row, Rows, Section, Style, Tables, charts, keyed, say
from attlas.pages.findings import finding, mean_claims, value_claim
from attlas.pages.prose import Prose, listed
from attlas.store.schema import PLACE, Column, Schema, is_known
from attlas.studies.shared.wording import (
    KEY_NAMES,
    KEY_TITLES,
    KOBAYASHI,
    band_of,
    first,
    further,
    in_layers,
    layer_by_layer,
    of_all,
    of_stream,
    published,
    told,
    where_known,
    words,
)

MUCH, TOGETHER = 1.25, 0.1
VERDICTS = {"yes": "as published", "part": "in part as published", "no": "not so here"}
MEASURES = {"weight": "weight", "norm": "norm, head by head", "joint": "norm, all heads together"}
STEPS = {"attention": "attention alone", "residual": "with the residual", "normalised": "with residual and norm"}
CLASSES = ("first", "cls", "sep", "punctuation", "other")
_CLASS = Column("keys", "keys", meaning="class of the key", labels=KEY_TITLES, was="class")
_KEYS = Column("keys", "keys", labels=KEY_TITLES | {"all": "all keys"})
_WORDS = Column("words", "words", labels={"all": "all words", "plain": "without . and ,"})
_OVER = Column("over", "over", labels={"texts": "within texts", "pairs": "over drawn pairs"})
_OF_TWINS = "mean of the twins; ends: the lowest and the highest of them"
_TWINS = Column("twins", "twins", "count", "how many untrained twins were drawn", optional=True)


def weights_there(rows: Callable[[str], list[dict[str, Any]]]) -> dict[tuple[Any, ...], float]:
    """The share of a head's weight that a class of keys gets: what the share of its norm is held against.

    >>> row = {"keys": "sep", "stream": "encoder", "layer": 0, "head": 1, "weight": 0.6}
    >>> weights_there(lambda table: [row])
    {('sep', 'encoder', 0, 1): 0.6}
    """
    names = ("keys", "stream", "layer", "head")
    return {tuple(row[name] for name in names): row["weight"] for row in rows("norms") if is_known(row["weight"])}


def _share(name: str, title: str, *, head: bool, chance: str = "") -> tuple[Column, Column]:
    """A share with its interval, and the twins' mean with the lowest and the highest of them."""
    return (
        Column(name, f"share of {title}", "share", "of all attention of a query",
               ends=(f"{name}_low", f"{name}_high"),
               twin=f"twin_{name}", chance=chance, definition="Kobayashi et al. 2020", head=head,
               against=weights_there if head and not chance else None),
        Column(f"twin_{name}", f"untrained twins, {title}", "share", _OF_TWINS,
               ends=(f"twin_{name}_low", f"twin_{name}_high")),
    )  # fmt: skip


def _means(*, head: bool) -> tuple[Column, ...]:
    return (
        Column("n", "queries", "number"),
        Column("mean_weight", "mean α", "number", "over pairs", twin="twin_mean_weight"),
        Column("length", "mean ‖f(x)‖", "number", "over keys", twin="twin_length", head=head,
               ends=None if head else ("length_low", "length_high")),
        Column("mean_norm", "mean ‖αf(x)‖", "number", "over pairs", twin="twin_mean_norm"),
        Column("relative", "‖f(x)‖ over other keys'", "number", twin="twin_relative", head=head),
        Column("pair_count", "pairs", "count"),
        Column("key_count", "keys seen", "count"),
        _TWINS,
    )  # fmt: skip


def _estimate(title: str, kind: str = "signed", meaning: str = "", *, head: bool = False) -> tuple[Column, ...]:
    return (
        Column("value", title, kind, meaning, ends=("low", "high"), twin="twin", head=head),
        Column("n", "cases", "number"),
        Column("twin", f"untrained twins, {title}", kind, _OF_TWINS, ends=("twin_low", "twin_high")),
        _TWINS,
    )


_HEAD_SHARES = (*_share("weight", "weight", head=True, chance="chance"), *_share("norm", "norm", head=True))
_LAYER_SHARES = (
    *_share("weight", "weight", head=False, chance="chance"),
    *_share("norm", "norm", head=False),
    *_share("joint", "norm, all heads together", head=False),
)
_RHO, _RARE = "rank correlation of α and ‖f(x)‖", "rank correlation of ‖f(x)‖ and rarity of the word"
NORMS = Schema("norms", "One row for each head and class of key.", *PLACE, _CLASS, *_HEAD_SHARES, *_means(head=True),
               keys=("keys",))  # fmt: skip
LAYERS = Schema(
    "norms_layers", "One row for each layer and class of key.", *PLACE[:2], _CLASS, *_LAYER_SHARES,
    *_means(head=False),
    Column("mean_joint", "mean joint norm", "number", "of all heads together, over pairs", twin="twin_mean_joint"),
)  # fmt: skip
SPEARMAN = Schema("spearman", "Rank correlation of α and ‖f(x)‖ of each head.", *PLACE, _KEYS, _OVER,
                  *_estimate(_RHO, head=True), keys=("keys", "over"))  # fmt: skip
SPEARMAN_LAYERS = Schema("spearman_layers", "The same, mean of a layer's heads.", *PLACE[:2], _KEYS, _OVER,
                         *_estimate(_RHO))  # fmt: skip
FREQUENCY = Schema("frequency", "Rank correlation of ‖f(x)‖ and how rare a word is, of each head.", *PLACE, _WORDS,
                   *_estimate(_RARE, head=True), keys=("words",))  # fmt: skip
FREQUENCY_LAYERS = Schema("frequency_layers", "The same, mean of a layer's heads.", *PLACE[:2], _WORDS,
                          *_estimate(_RARE))  # fmt: skip
_BAND = (Column("relative", "‖f(x)‖ over the layer's mean", "number", twin="twin_relative"),
         Column("twin_relative", "the same, untrained twins", "number"))  # fmt: skip
BANDS = Schema(
    "bands", "‖f(x)‖ by how frequent the word is in this corpus.", *PLACE[:2],
    Column("rank_from", "frequency rank from", "count"), Column("rank_to", "to", "count", "none in the last band"),
    *_estimate("mean ‖f(x)‖", "number"), *_BAND,
)  # fmt: skip
MIXING = Schema(
    "mixing", "How much of what a piece is made of comes from others.", *PLACE[:2],
    Column("step", "step", labels=STEPS),
    Column("queries", "pieces", labels=KEY_TITLES | {"all": "all pieces", "other": "other pieces"}),
    *_estimate("mixing ratio", "share", "‖others‖ / (‖others‖ + ‖itself‖)"),
)  # fmt: skip
SCATTER = Schema(
    "scatter", "Drawn pairs of a query and a key, to look at.", *PLACE,
    Column("who", "of", labels={"model": "the model", "twin": "an untrained twin"}),
    Column("shown", "pairs of"), _CLASS,
    Column("weight", "α, weight on the key", "number"),
    Column("length", "‖f(x)‖, length of the key's vector", "number"),
    Column("query", "query"), Column("key", "key"),
)  # fmt: skip
SHARES = Schema(
    "shares", "Shares by layer and class of key, a row for each measure.", *PLACE[:2], _CLASS,
    Column("measure", "measure", labels=MEASURES),
    Column("value", "share of attention", "share", ends=("low", "high"), twin="twin", chance="chance"),
)  # fmt: skip
MEANS = Schema("means", "Means over layers.", PLACE[0], *LAYERS.columns[2:])
BY_CLASS = Schema("by_class", "The table norms, the class first whose norm is farthest below its weight.",
                  *NORMS.columns, Column("ratio", "norm over weight", "number", twin="twin_ratio"))  # fmt: skip
BY_HEAD = Schema(
    "by_head", "One row for each head.", *PLACE,
    *(Column(f"{kind}_{measure}", f"{KEY_TITLES[kind]}{' norm' * (measure == 'norm')}", "share", optional=True)
      for kind in CLASSES[:-1] for measure in ("weight", "norm")),
    Column("rho", "ρ", "signed", "rank correlation of α and ‖f(x)‖ within texts", optional=True),
)  # fmt: skip
BY_BAND = Schema("by_band", "The table bands, with bands in words.", *PLACE[:2],
                 Column("band", "rank of the word, from frequent to rare"), *_BAND)  # fmt: skip


def widest(tables: Tables, stream: str) -> Row | None:
    """The class and layer of a stream in which the norm is farthest below the weight."""
    for row in tables["gaps"].where(stream=stream).largest("gap"):
        return next(iter(tables["norms_layers"].where(stream=stream, layer=row["layer"], keys=row["keys"])))
    return None


def gaps(tables: Tables) -> Iterator[Row]:
    """How much more of the weight than of the norm each special piece and punctuation take, layer by layer."""
    for stream, rows in tables["norms_layers"].known("weight", "norm").by("stream"):
        for row in rows.where(lambda row: row["keys"] != "other") or rows:
            place = {"stream": stream, "layer": row["layer"], "keys": row["keys"]}
            yield place | {"gap": float(row["weight"] - row["norm"])}


def shares(tables: Tables) -> Iterator[Row]:
    """Shares with a row for each measure, the class first that is widest apart."""
    for row in _widest_first(tables, tables["norms_layers"]):
        for measure in MEASURES:
            yield {
                "stream": row["stream"], "layer": row["layer"], "keys": row["keys"], "measure": measure,
                "value": row[measure], "low": row[f"{measure}_low"], "high": row[f"{measure}_high"],
                "twin": row[f"twin_{measure}"], "chance": row["chance"] if measure == "weight" else None,
            }  # fmt: skip


def means(tables: Tables) -> Iterator[Row]:
    """Means over layers of each class of key."""
    names = [column.name for column in LAYERS.columns[3:]] + ["chance", "twin_relative"]
    for stream, layers in tables["norms_layers"].by("stream"):
        for kind in CLASSES:
            if own := layers.where(keys=kind):
                yield {"stream": stream, "keys": kind} | {name: own.mean(name) for name in names}


def pairs(tables: Tables) -> list[Row]:
    """Drawn pairs: the widest layer first, the many under the few, and weights under a millionth on the edge."""
    row = widest(tables, tables.streams[0]) if tables.streams else None
    first = f"layer {row['layer'] + 1}" if row is not None else ""
    drawn = [{**pair, "weight": max(pair["weight"], 1e-6)} for pair in tables["scatter"]]
    return sorted(drawn, key=lambda pair: (pair["who"] != "model", pair["shown"] != first, pair["keys"] != "other"))


def by_class(tables: Tables) -> Iterator[Row]:
    """Heads by class of key, with how much norm comes of the weight."""
    for row in _widest_first(tables, tables["norms"]):
        both = {who: (row[f"{who}norm"], row[f"{who}weight"]) for who in ("", "twin_")}
        yield {**row} | {f"{who}ratio": norm / weight if weight else None for who, (norm, weight) in both.items()}


def by_head(tables: Tables) -> Iterator[Row]:
    """Heads with all classes of key side by side."""
    lines: dict[tuple[Any, ...], dict[str, Any]] = {}
    for row in tables["norms"]:
        line = lines.setdefault((row["stream"], row["layer"], row["head"]), {**keyed([row])[0], "rho": None})
        line |= {f"{row['keys']}_{measure}": row[measure] for measure in ("weight", "norm")}
    for row in tables["spearman"].where(keys="all", over="texts"):
        lines[row["stream"], row["layer"], row["head"]]["rho"] = row["value"]
    yield from lines.values()


def by_band(tables: Tables) -> Iterator[Row]:
    """Frequency bands in words."""
    for row in tables["bands"]:
        kept = ("stream", "layer", "relative", "twin_relative")
        yield {name: row[name] for name in kept} | {"band": band_of(row)}


def _widest_first(tables: Tables, rows: Rows) -> Iterator[Row]:
    for stream, own in rows.by("stream"):
        best = widest(tables, stream) or {"keys": ""}
        yield from own.where(keys=best["keys"]) + own.where(lambda row, best=best: row["keys"] != best["keys"])  # type: ignore[misc]


def apart(tables: Tables) -> Iterator[Finding]:
    """Where weight and norm are farthest apart, stream by stream."""
    for stream in tables.streams:
        row = widest(tables, stream)
        if row is None:
            continue
        of, here = of_stream(tables, stream), ("stream", "layer", "keys")
        if row["weight"] <= row["norm"]:
            none = Claim("count", "gaps", "gap", among={"stream": stream}, than=0.0, value=0)
            text = "In no layer{of} does a special piece or punctuation take more of the weight than of the norm."
            yield finding(text, none, of=of, see="shares")
            continue
        lead = f"Much of what {tables.model} attends to adds little"
        yield finding(
            "{lead}: {name}{of} takes {by_weight} of the weight in layer {layer:index} and {by_norm} of the norm; "
            "even attention would give it {chance:share}{twins}.",
            *(value_claim("norms_layers", name, row, *here) for name in ("weight", "norm")),
            Claim("largest", "gaps", "gap", keyed([row], "layer", "keys"), {"stream": stream}), see="shares",
            by_weight=_with_ends(row, "weight"), by_norm=_with_ends(row, "norm"),
            lead=lead if row["norm"] < row["weight"] / 2
            else "Weight and norm tell much the same; they differ most here",
            name=KEY_NAMES[row["keys"]], of=of, **{**row, "twins": where_known(
                ", and untrained twins have {weight:share} and {norm:share}", weight=row["twin_weight"],
                norm=row["twin_norm"])},
        )  # fmt: skip


def _with_ends(row: Row, name: str) -> Prose:
    """A share with its interval, where that is known."""
    low, high = row[f"{name}_low"], row[f"{name}_high"]
    ends = say(" ({low:share} to {high:share})", low=low, high=high) if is_known(low) and is_known(high) else ""
    return say("**{value:share}**{ends}", value=row[name], ends=ends)


def parked(tables: Tables) -> Iterator[Finding]:
    """Whether special pieces and punctuation have much weight and little norm."""
    for mean in tables["means"].where(keys=CLASSES[:-1]):
        stream, kind = mean["stream"], mean["keys"]
        if kind == "first" and stream != "decoder":
            continue
        among = {"stream": stream, "keys": kind}
        rows = tables["norms_layers"].where(**among)
        known = rows.known("weight_low", "norm_high", "chance")
        much = {row["layer"] for row in known if row["weight_low"] > MUCH * row["chance"]}
        little = {row["layer"] for row in known if row["norm_high"] < row["weight_low"]}
        over = {row["layer"] for row in known if row["norm_low"] > row["weight_high"]}
        verdict = _verdict(len(much & little), len(rows))
        if verdict == "yes":
            how = f"Much weight and less norm in {of_all(len(much & little), len(rows))} layers."
        elif len(much) * 3 <= len(rows):
            how = "It gets no more weight than its number of keys explains"
            how += f", except in {in_layers(sorted(much))}" if much else ""
            how += f"; its norm is above its weight in {of_all(len(over), len(rows))} layers." if over else "."
        else:
            how = f"Much weight in {of_all(len(much), len(rows))} layers, less norm than weight in "
            how += f"{of_all(len(little), len(rows))}."
        name = KEY_NAMES[kind]
        yield finding(
            "{name}{of}, much weight and little norm: **{verdict}**. Weight **{weight:share}** (even attention "
            "{chance:share}), norm **{norm:share}**, all heads together {joint:share}{twins}; ‖f(x)‖ is "
            "{relative:number} of other keys'. {how}",
            *(value_claim("means", column, mean, "stream", "keys") for column in ("weight", "relative")),
            *mean_claims(tables, "norms_layers", among, *MEASURES),
            *(Claim("distinct", "norms_layers", "layer", among={**among, "layer": sorted(some)}, value=len(some))
              for some in (much, little, over, much & little) if some),
            Claim("distinct", "norms_layers", "layer", among=among, value=len(rows)),
            *(Claim("below", "norms_layers", "norm_high", among={**among, "layer": sorted(little)}, than="weight_low")
              for _ in [*little][:1]),
            *(Claim("above", "norms_layers", "norm_low", among={**among, "layer": sorted(over)}, than="weight_high")
              for _ in [*over][:1]),
            *(Claim("above", "norms_layers", "weight_low", among={**among, "layer": sorted(much)}, than="chance")
              for _ in [*much][:1]),
            name=name[0].upper() + name[1:], of=of_stream(tables, stream), how=how, see="shares",
            verdict="so here" if kind == "first" and verdict == "yes" else VERDICTS[verdict],
            published=published(stream, f"{KOBAYASHI}: special pieces and punctuation: much weight, little norm"),
            **{**mean, "twins": where_known(" (untrained twins {weight:share}, {norm:share})",
                                            weight=mean["twin_weight"], norm=mean["twin_norm"])},
        )  # fmt: skip


def related(tables: Tables) -> Iterator[Finding]:
    """Whether weight and length go against each other, over all keys and over other keys alone."""
    for stream in tables.streams:
        among = {"stream": stream, "keys": "all", "over": "texts"}
        heads = tables["spearman"].where(**among).known("value")
        if not heads:
            continue
        layers = tables["spearman_layers"].where(**among).known("low")
        above = [row["layer"] for row in layers if row["low"] > 0]
        sure = heads.known("high").count(lambda row: row["high"] < 0)
        verdict = _verdict(sure, len(heads), against=10 * len(above) > len(layers))
        below, middle = _negative(heads)
        twin_below, twin_middle = _negative(heads, "twin")
        alone = tables["spearman"].where(**among | {"keys": "other"}).known("value")
        yield finding(
            "α and ‖f(x)‖{of} are negatively related: **{verdict}**. They are in **{below}** heads ({sure} beyond "
            "their interval), median **{middle:signed}**{twins}{above}.{alone}",
            *_relation_claims(among, heads, "value"), *_relation_claims(among, heads, "twin"),
            *_relation_claims({**among, "keys": "other"}, alone, "value"),
            Claim("count", "spearman", "high", among=among, than=0.0, below=True, value=sure),
            *(Claim("above", "spearman_layers", "low", among={**among, "layer": above}, than=0.0) for _ in above[:1]),
            of=of_stream(tables, stream), verdict=VERDICTS[verdict], below=of_all(below, len(heads)), sure=sure,
            middle=middle, twins=where_known(
                " (untrained twins, their mean: {twin}, {middle:signed})", middle=twin_middle,
                twin=of_all(twin_below, len(heads.known("twin")))),
            above=f"; the mean is positive in {in_layers(above)}" if above else "",
            alone=_among_words(alone, middle) if alone else "",
            see="correlation", published=published(stream, f"{KOBAYASHI}: negatively related"),
        )  # fmt: skip


def _relation_claims(among: Mapping[str, Any], heads: Rows, column: str) -> Iterator[Claim]:
    """In how many heads a correlation is negative, and their median."""
    below, middle = _negative(heads, column)
    if heads.known(column):
        yield Claim("count", "spearman", column, among=among, than=0.0, below=True, value=below)
        yield Claim("median", "spearman", column, among=among, value=middle)


def _among_words(alone: Rows, middle: float) -> Prose:
    """Whether the relation is one of special pieces and punctuation only."""
    below, own = _negative(alone)
    verdict = (
        "so it is no relation of special pieces only" if middle >= 0
        else "so it is mostly special pieces and punctuation that make the relation, not words" if own > middle / 2
        else "so the relation holds among words, too"
    )  # fmt: skip
    return say(" Over other keys alone they are in {below} (median {own:signed}), {verdict}.",
               below=of_all(below, len(alone)), own=own, verdict=verdict)  # fmt: skip


def together(tables: Tables) -> Iterator[Finding]:
    """Layers in which long vectors get more weight, special pieces and punctuation left out."""
    for stream in tables.streams:
        among = {"stream": stream, "keys": "other", "over": "texts"}
        rows = tables["spearman_layers"].where(**among).known("low").where(lambda row: row["low"] > TOGETHER)
        if not rows:
            continue
        layers = sorted(rows.column("layer"))
        yield finding(
            "In {layers}{of} weight and length go *together* among other keys (mean rank correlation "
            "**{rho:signed}**{twins}): what is attended to has the longer vectors. There "
            "rarity of the word and ‖f(x)‖ correlate by {rare:signed}.",
            Claim("above", "spearman_layers", "low", among={**among, "layer": layers}, than=TOGETHER),
            *mean_claims(tables, "spearman_layers", {**among, "layer": layers}, "value", "twin"),
            *mean_claims(tables, "frequency_layers", {"stream": stream, "words": "plain", "layer": layers}, "value"),
            layers=in_layers(layers), of=of_stream(tables, stream), rho=rows.mean("value"),
            twins=where_known(", untrained twins {twin:signed}", twin=rows.mean("twin")),
            rare=tables["frequency_layers"].where(stream=stream, words="plain", layer=layers).mean("value"),
            see="correlation", published=published(stream, f"{KOBAYASHI}: negatively related"),
        )  # fmt: skip


def frequency(tables: Tables) -> Iterator[Finding]:
    """Whether rare words have longer vectors."""
    for stream in tables.streams:
        among = {"stream": stream, "words": "plain"}
        layers = tables["frequency_layers"].where(**among).known("low", "high")
        heads = tables["frequency"].where(**among).known("value")
        if not layers:
            continue
        up = [row["layer"] for row in layers if row["low"] > 0]
        down = [row["layer"] for row in layers if row["high"] < 0]
        verdict = _verdict(len(up), len(layers), against=10 * len(down) > len(layers))
        top, known = layers.largest("value")[0], {**among, "layer": layers.values("layer")}
        yield finding(
            "Rare words{of} have longer f(x) than frequent ones: **{verdict}**. The rarer, the longer, in **{up}** "
            "layers and {heads} heads (mean rank correlation of rarity and ‖f(x)‖ **{rho:signed}**"
            "{twins}; most in layer {layer:index}: {value:signed}){down}.",
            Claim("count", "frequency_layers", "low", among=known, than=0.0, value=len(up)),
            Claim("count", "frequency", "value", among=among, than=0.0,
                  value=heads.count(lambda row: row["value"] > 0)),
            *mean_claims(tables, "frequency_layers", known, "value", "twin"),
            *(Claim("below", "frequency_layers", "high", among={**among, "layer": down}, than=0.0) for _ in down[:1]),
            Claim("largest", "frequency_layers", "value", keyed([top], "layer"), known),
            of=of_stream(tables, stream), verdict=VERDICTS[verdict], up=of_all(len(up), len(layers)),
            heads=of_all(heads.count(lambda row: row["value"] > 0), len(heads)), rho=layers.mean("value"),
            twins=where_known(", untrained twins {twin:signed}", twin=layers.mean("twin")), layer=top["layer"],
            value=top["value"],
            down=f"; the other way round in {in_layers(down)}" if down else "",
            see="frequency", published=published(stream, f"{KOBAYASHI}: rare words have the longer vectors"),
        )  # fmt: skip


def mixing(tables: Tables) -> Iterator[Finding]:
    """What a piece takes in from others, against what it keeps."""
    for stream in tables.streams:
        rows = tables["mixing"].where(stream=stream)
        known = {step: own for step in STEPS if (own := rows.where(step=step, queries="all").known("value"))}
        if "residual" not in known:
            continue
        names = STEPS | {"attention": "by attention alone"}
        steps = [say("**{ratio:share}** {step}", ratio=own.mean("value"), step=names[step])
                 for step, own in known.items()]  # fmt: skip
        alone = {"first", "cls"} if stream == "decoder" else set()  # such a piece sees nobody but itself
        pieces = {kind: rows.where(step="normalised", queries=kind).mean("value")
                  for kind in CLASSES if kind not in alone}  # fmt: skip
        apart = [say("{name} {ratio:share}", name="other pieces" if kind == "other" else KEY_NAMES[kind], ratio=ratio)
                 for kind, ratio in pieces.items() if ratio is not None]  # fmt: skip
        yield finding(
            "What a piece{of} takes in from {whom}, against what it keeps of itself: {steps} (mean of the layers"
            "{twins}). By what the piece is: {apart}.",
            *(claim for step in known for claim in mean_claims(
                tables, "mixing", {"stream": stream, "step": step, "queries": "all"}, "value", "twin")),
            *(claim for kind in pieces for claim in mean_claims(
                tables, "mixing", {"stream": stream, "step": "normalised", "queries": kind}, "value")),
            of=of_stream(tables, stream), whom="all source pieces" if stream == "cross" else "other pieces",
            steps=listed(steps), twins=_mixing_of_twins([own.mean("twin") for own in known.values()]),
            apart=listed(apart), see="mixing",
        )  # fmt: skip


def _mixing_of_twins(ratios: list[float | None]) -> Prose:
    """The ratios of untrained twins, where there are some."""
    return (
        say("; untrained twins {ratios}", ratios=listed(ratios, "share")) if any(map(is_known, ratios)) else say("")
    )


def _negative(heads: Rows, who: str = "value") -> tuple[int, float]:
    """In how many heads a correlation is negative, and the median."""
    known = heads.known(who).column(who)
    return sum(value < 0 for value in known), median(known) if known else float("nan")


def _verdict(held: int, of: int, *, against: bool = False) -> str:
    return "no" if 3 * held <= of else "yes" if 3 * held >= 2 * of and not against else "part"


_TWIN = "dashed: untrained twins (random weights), their mean"
PAGE = Page(
    "norms",
    title="What does {model}’s attention add up?",
    answer=first(apart),
    chart=charts.lines(
        "shares", "layer", "value", key="shares-layers", title="Share of attention by layer", colour="measure",
        style=Style(pick=("keys",)), label="Share of weight, norm and joint norm on a class of keys by layer",
        note=f"{_TWIN}; dotted: even attention",
    ),
    about="Attention adds up vectors, each multiplied by its weight; weights alone do not show how long the vectors "
    "are. The two were set against each other in **{model}** on **{corpus}**, by what kind of piece is attended to.",
    findings=(further(apart), parked, related, together, frequency, mixing),
    schemas=(NORMS, LAYERS, SPEARMAN, SPEARMAN_LAYERS, FREQUENCY, FREQUENCY_LAYERS, BANDS, MIXING, SCATTER, SHARES,
             MEANS, BY_CLASS, BY_HEAD, BY_BAND),
    derived={"shares": shares, "means": means, "gaps": gaps, "scatter": pairs, "by_class": by_class,
             "by_head": by_head, "by_band": by_band},
    sections=(
        Section(
            "shares", "Weights against norms",
            "The share of each class of key in all attention, mean over heads and queries. Where weight is above "
            "norm, attention goes to short vectors: little comes of it. Below, how long each class's f(x) are, over "
            "those of the layer's other keys (no special piece, no punctuation): far below 1, weight can be parked.",
            (charts.lines("norms_layers", "layer", "relative", key="lengths", title="‖f(x)‖ over other keys’",
                          colour="keys", where={"keys": CLASSES[:-1]},
                          style=Style(log=True, height=260, tell=("weight",)), note=_TWIN,
                          label="Mean length of the vectors of each class over that of other keys, by layer"),
             Listing("means", "stream", "keys", "weight", "norm", "joint", "relative", title="Means over layers",
                     rows=lambda tables: told(tables, tables["means"]))),
            short="Shares",
        ),
        Section(
            "pairs", "Pair by pair",
            "Each dot is a query and a key in one head, drawn evenly from all texts; in a layer, all its heads in "
            "turn. Both axes are logarithmic, so that ‖αf(x)‖ is the same along every falling diagonal. Dots at the "
            "upper left get much weight and have short vectors; weights under a millionth lie on the lower edge. Of "
            "an untrained twin there are layers only. Point at a dot for its pieces.",
            (charts.scatter("scatter", "length", "weight", key="pairs", title="α and ‖f(x)‖", colour="keys",
                            style=Style(pick=("shown", "who"), log=True, height=380, tell=("key", "query")),
                            label="Weight against length of the vector, a dot for each drawn pair of pieces"),),
            short="Pairs",
        ),
        Section(
            "correlation", "Do weight and length go against each other?",
            "Within each text: does what gets more weight have the shorter vector? First a dot for each head (mean "
            "over texts), over all keys and over other keys alone; then means of layers with 95 % intervals, also "
            "over pairs drawn from all texts, within one class of key.",
            (charts.layer_dots("spearman", "value", key="spearman", title="α and ‖f(x)‖ within texts", colour="keys",
                               where={"over": ["texts"]}, style=Style(domain=(-1, 1), zero=True, height=280),
                               label="Rank correlation of weight and length within texts, a dot for each head"),
             charts.lines("spearman_layers", "layer", "value", key="classes", title="by layer", colour="keys",
                          style=Style(pick=("over",), zero=True, height=280), note=_TWIN,
                          label="Rank correlation of weight and length by layer, a line for each class of key")),
            short="Correlation", width="half",
        ),
        Section(
            "frequency", "Frequent words and rare ones",
            "The rank correlation of ‖f(x)‖ with how rare a word is in this corpus, over the different words of a "
            "text, mean over texts: above 0 rare words have the longer vectors. A dot for each head; then means of "
            "layers; then the mean length by frequency band.",
            (charts.layer_dots("frequency", "value", key="frequency", title="‖f(x)‖ and rarity of the word",
                               style=Style(pick=("words",), domain=(-1, 1), zero=True, height=240),
                               label="Rank correlation of vector length and rarity of the word, a dot for each head"),
             charts.lines("frequency_layers", "layer", "value", key="rarity", title="by layer",
                          style=Style(pick=("words",), zero=True, height=240), note=_TWIN,
                          label="Rank correlation of vector length and rarity by layer"),
             charts.grid("by_band", "band", "layer", "relative", "twin_relative", key="bands",
                         title="‖f(x)‖ by frequency", label="Vector length by frequency rank of the word and layer")),
            short="Frequency", width="half",
        ),
        Section(
            "mixing", "From others, and from itself",
            "What a piece takes in from other pieces, against what it keeps: by attention alone, with the residual "
            "that the attention is added to, and through the norm that reads their sum. In cross attention all keys "
            "stand against the residual, and attention alone has no ratio.",
            (charts.lines("mixing", "layer", "value", key="mixing", title="Mixing ratio", colour="step", note=_TWIN,
                          style=Style(pick=("queries",), height=280),
                          label="Mixing ratio by layer, a line for each step"),), short="Mixing",
        ),
        Section(
            "map", "Head by head",
            "Rows are layers, columns are heads; the brighter, the more. *Norm over weight* far below 1 is a head "
            "that gives such keys more weight than comes of it. Point at a cell for its numbers.",
            (charts.head_map("by_class", "weight", "norm", "ratio", "relative", "twin_weight", "twin_norm",
                             "twin_ratio", "twin_relative",
                             style=Style(pick=("keys",), tell=("mean_weight", "length", "mean_norm")),
                label="Heat map of one class of keys, layer by head"),),
            short="Map",
        ),
        Section(
            "heads", "All heads",
            "Share of weight and of norm for each class of key; ρ is the rank correlation of α and ‖f(x)‖ within "
            "texts. Click a heading to sort, again to turn the order round. Type to search by label (3-).",
            (Listing("by_head", "head", *BY_HEAD.names[3:]),), short="Heads",
        ),
        Section(
            "layers", "All layers", "Every layer and class of key: shares, means over pairs, and the twins'.",
            (Listing("norms_layers", "stream", "layer", "keys", "weight", "norm", "joint", "mean_weight", "length",
                     "mean_norm", "relative", rows=lambda tables: layer_by_layer(tables, tables["norms_layers"])),),
            short="Layers",
        ),
    ),
    words=words("piece", "α, weight", "f(x)", "norm") | {
        "all heads together": "the length of the sum of all heads' αf(x) of one key, as a share. Heads may bring in "
        "vectors that cancel each other.",
        "mixing ratio": "of what a piece is made of after the attention, how much comes from other pieces: ‖others‖ "
        "/ (‖others‖ + ‖itself‖).",
        "even attention": "what a head would give that attends to every key it may see alike.",
        "as published": "it holds in two thirds of the layers (or heads), beyond intervals; *not so here*: in one "
        "third or fewer. *Much* weight is a quarter more than even attention would give.",
    } | words("untrained twin", "[CLS], [SEP]"),
    limits={
        "A long vector is not an important one.": "A norm says how much is added, not what depends on it.",
        "Lengths say nothing of direction.": "Two long vectors may cancel: hence the shares of all heads together.",
        "Shares and means differ.": "Many keys can have a large share and a small mean; compare with even attention.",
        "The mixing ratio sees one layer.": "States have been mixed in the layers below it already.",
        "Frequencies are those of this corpus,": "counted in word forms; in a small one most words are equally rare.",
    },
    unshown={"norms": "it is shown by class of key, and head by head", "bands": "it is shown in words"},
    published="BERT-base (Kobayashi et al. 2020): [CLS], [SEP] and punctuation have much weight and little norm, "
    "weight and ‖f(x)‖ are negatively related, and rare words have the longer vectors.",
)  # fmt: skip
