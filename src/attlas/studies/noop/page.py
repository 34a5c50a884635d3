"""The page of a no-op test: does the loss depend on attention to the places where heads rest?

The resting place of a stream is whichever of [SEP], [CLS] and the first piece has the most weight in any layer.
Gradients are compared within a layer only, as a ratio to those of other keys.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from statistics import median
from typing import Any

from attlas.pages import Claim, Finding, Listing, Page, Row, Rows, Section, Style, Tables, charts, keyed, value_claim
from attlas.pages.findings import mean_claims
from attlas.pages.prose import Prose, listed, say
from attlas.store.schema import PLACE, Column, Schema, is_known
from attlas.studies.shared.cutting import chance
from attlas.studies.shared.cutting.schemas import STANDING
from attlas.studies.shared.wording import (
    CLARK,
    KEY_NAMES,
    KEY_TITLES,
    drawn,
    first,
    further,
    layer_by_layer,
    mostly_in,
    of_all,
    of_stream,
    published,
    told,
    untrained,
    where_known,
    words,
)

RESTS = ("sep", "cls", "first")
CLASSES = (*RESTS, "punctuation")
PLACES = ("self", "previous", "next")
SMALL = {0.5: "half", 0.25: "a quarter", 0.1: "a tenth"}
PARKED = 0.5
_PLACES = ("stream", "layer", "head")
_LAYER = ("stream", "keys", "layer")  # what tells one row of the layers from others
_KEYS = Column("keys", "keys", meaning="class or place of the key", labels=KEY_TITLES, was="class")


def _shares(*, head: bool) -> tuple[Column, ...]:
    """How much of the attention goes there."""
    return (
        Column("weight", "share of weight", "share", twin="twin_weight", head=head),
        Column("norm", "share of norm", "share", "of ‖αf(x)‖; none where the model does not let it be computed",
               twin="twin_norm", optional=True),
    )  # fmt: skip


def at_other_keys(rows: Callable[[str], list[dict[str, Any]]]) -> dict[tuple[Any, ...], float]:
    """The gradient for all other keys, by class of key and head.

    >>> place = {"stream": "encoder", "layer": 0, "head": 1}
    >>> at_other_keys(lambda table: [place | {"keys": "sep", "value": 0.1}, place | {"keys": "other", "value": 0.3}])
    {('sep', 'encoder', 0, 1): 0.3}
    """
    told = rows("noop")
    others = {tuple(row[name] for name in _PLACES): row["value"] for row in told if row["keys"] == "other"}
    return {
        (row["keys"], *place): others[place]
        for row in told
        if row["keys"] != "other" and is_known(others.get(place := tuple(row[name] for name in _PLACES)))
    }


def _gradient(*, head: bool) -> tuple[Column, ...]:
    """The mean gradient and how many texts and pairs it is over."""
    return (
        Column("value", "mean |dL/dα|", "number", "over the visible pairs of a text, and then over texts",
                   ends=("low", "high"), twin="twin", definition="Clark et al. 2019", head=head,
               against=at_other_keys if head else None, called="mean |dL/dα|, {keys}", quantity="gradient"),
        Column("n", "texts", "number"),
        Column("pairs", "pairs", "count", "visible pairs of a query and such a key"),
    )  # fmt: skip


_TWINS = Column("twins", "twins", "count", "how many untrained twins were drawn", optional=True)
_OF_TWINS = "mean of the twins; ends: the lowest and the highest, where there are several"
_TWIN = Column("twin", "untrained twins' |dL/dα|", "number", _OF_TWINS, ends=("twin_low", "twin_high"))
HEADS = Schema(
    "noop",
    "One row for each head and class or place of key.",
    *PLACE,
    _KEYS,
    *_gradient(head=True),
    Column("relative", "over other keys", "number", "divided by that for other keys of the same head",
           twin="twin_relative", head=True),
    Column("paid", "α·|dL/dα|", "number", "gradient times weight", twin="twin_paid", head=True),
    *_shares(head=True),
    _TWINS,
    keys=("keys",),
)  # fmt: skip
LAYERS = Schema(
    "noop_layers",
    "One row for each layer and class or place of key, mean over heads.",
    *PLACE[:2],
    _KEYS,
    *_gradient(head=False),
    Column("relative", "over other keys", "number", "divided by that for other keys of the same layer",
           ends=("relative_low", "relative_high"), twin="twin_relative"),
    Column("paid", "α·|dL/dα|", "number", "gradient times weight", twin="twin_paid"),
    Column("paid_share", "share of α·|dL/dα|", "share", "of the layer's", twin="twin_paid_share"),
    *_shares(head=False),
    _TWIN,
    Column("twin_relative", "untrained twins, over other keys", "number", _OF_TWINS,
           ends=("twin_relative_low", "twin_relative_high")),
    _TWINS,
)  # fmt: skip
LOSS = Schema(
    "loss",
    "The loss itself, of the model and its untrained twins.",
    Column("task", "task", was="loss"),
    Column("value", "loss", "number", "in nats per prediction; chance is guessing evenly among all choices",
           ends=("low", "high"), twin="twin", chance="chance"),
    Column("accuracy", "right", "percent", "share of right predictions; chance is the most frequent tag's",
           ends=("accuracy_low", "accuracy_high"), twin="twin_accuracy", chance="chance_accuracy"),
    Column("n", "predictions", "count"),
    Column("twin", "untrained twins' loss", "number", _OF_TWINS, ends=("twin_low", "twin_high"), was="twin_value"),
    Column("twin_accuracy", "untrained twins, right", "percent", _OF_TWINS,
           ends=("twin_accuracy_low", "twin_accuracy_high")),
    Column("chance", "even guessing", "number", was="even"),
    Column("chance_accuracy", "most frequent tag, right", "percent", was="majority"),
    Column("majority_tag", "most frequent tag"),
    Column("passes", "passes", "number", "of training, to the best one; none for a head of the model's own"),
    _TWINS,
)  # fmt: skip
WHOLE = Schema("whole", "The model's score on the texts that gradients are measured on, against chance.",
               Column("task", "task"), *STANDING, Column("n", "texts", "count"))  # fmt: skip
BY_CLASS = Schema("by_class", "The table noop, the resting place first.", *HEADS.columns)


def by_class(tables: Tables) -> Iterator[Row]:
    """Heads, the keys first on which each stream rests: charts show first what comes first."""
    for stream, heads in tables["noop"].by("stream"):
        rest = resting(tables, stream)
        yield from sorted(heads, key=lambda row, rest=rest: row["keys"] != rest)  # type: ignore[misc]


def resting(tables: Tables, stream: str) -> str:
    """The class on which attention rests in a stream; "" where there is none."""
    rows = tables["noop_layers"].where(stream=stream, keys=RESTS).largest("weight")
    return str(rows[0]["keys"]) if rows else ""


def depends(tables: Tables) -> Iterator[Finding]:
    """Whether the loss depends on attention to the resting place, in the layer where most is paid to it."""
    for stream, rest, rows in _rests(tables):
        row = rows.largest("weight")[0]
        depends, than, shown = _verdict(row)
        yield Finding(
            say(
                "The loss {depends} on attention to {rest}, where heads{of} rest{than}: in layer {at} it takes "
                "**{weight:share}** of the weight, and |dL/dα| is **{relative:number}** times{ends} that for other "
                "keys{beside}.",
                depends=depends, than=than, rest=KEY_NAMES[rest], of=of_stream(tables, stream), at=row["layer"] + 1,
                ends=_ends(row), **row, beside=where_known(
                    " ({twins}: {relative:number} times{reach})", twins=untrained([row]),
                    relative=row["twin_relative"], reach=_reach(row)),
            ),
            (Claim("largest", "noop_layers", "weight", keyed([row], "layer"), {"stream": stream, "keys": rest}),
             value_claim("noop_layers", "relative", row, *_LAYER),
             *(Claim(kind, "noop_layers", column, keyed([row], *_LAYER), than=1.0)
               for kind, column in shown)),
            see="relative",
        )  # fmt: skip


def _verdict(row: Row) -> tuple[str, str, list[tuple[str, str]]]:
    """Whether the loss depends less or more on these keys, in words, and what that claims of the ratio and of the
    end of its interval that is nearer to 1."""
    ratio, low, high = row["relative"], row.get("relative_low"), row.get("relative_high")
    less, more = ratio if high is None else high, ratio if low is None else low
    if ratio < 0.8 and less < 1:
        claims = [("below", "relative"), *([("below", "relative_high")] if high is not None else [])]
        return (
            ("hardly depends", "", claims)
            if ratio < 0.25
            else ("depends less", ", than on that to other keys", claims)
        )
    if ratio >= 1.25 and more > 1:
        claims = [("above", "relative"), *([("above", "relative_low")] if low is not None else [])]
        return "depends more", ", than on that to other keys", claims
    if 0.8 <= ratio < 1.25:
        return "depends as much", ", as on that to other keys", []
    return "is not shown to depend otherwise", ", than on that to other keys", []


def _ends(row: Row) -> Prose:
    known = is_known(row.get("relative_low")) and is_known(row.get("relative_high"))
    return say(" ({relative_low:number} to {relative_high:number})" if known else "", **row)


def _reach(row: Row) -> Prose:
    """The lowest and the highest of several twins."""
    several = (row.get("twins") or 1) > 1 and is_known(row.get("twin_relative_low"))
    return say(", from {twin_relative_low:number} to {twin_relative_high:number}" if several else "", **row)


def rests(tables: Tables) -> Iterator[Finding]:
    """How much heads rest in all the layers where they mostly do, and what rides on it."""
    for stream, rest, rows in _rests(tables):
        layers, where = mostly_in({row["layer"]: row["weight"] for row in rows}, PARKED)
        kept, among = rows.where(layer=layers), {"stream": stream, "keys": rest, "layer": layers}
        whole = tables["noop_layers"].where(stream=stream, keys=rest).known("paid_share")
        norm = say(", **{norm:share}** of the norm ‖αf(x)‖", norm=whole.mean("norm"))
        every = {"stream": stream, "keys": rest, "layer": whole.values("layer")}
        yield Finding(
            say(
                "{rest} takes **{weight:share}** of the weight{of} in {where}{beside}, "
                "with a gradient {ratio:number} times that for other keys. Over all layers it takes {all:share} of "
                "the weight{norm} and **{paid:share}** of what rides on the weight, α·|dL/dα|"
                "{paid_beside}.",
                rest=KEY_NAMES[rest][0].upper() + KEY_NAMES[rest][1:], weight=kept.mean("weight"),
                of=of_stream(tables, stream), where=where,
                beside=where_known(" ({twins} {twin:share})", twins=untrained(rows), twin=kept.mean("twin_weight")),
                ratio=kept.mean("relative"), all=whole.mean("weight"),
                norm=norm if whole.mean("norm") is not None else "", paid=whole.mean("paid_share"),
                paid_beside=where_known(" ({twins} {twin:share})", twins=untrained(rows),
                                        twin=whole.mean("twin_paid_share")),
            ),
            (*mean_claims(tables, "noop_layers", among, "weight", "twin_weight", "relative"),
             *mean_claims(tables, "noop_layers", every, "weight", "norm", "paid_share", "twin_paid_share"),
             *([] if "most" not in where else
               [Claim("largest", "noop_layers", "weight", keyed(kept, "layer"), {"stream": stream, "keys": rest})]),
             *(value_claim("noop_layers", "weight", row, *_LAYER) for row in kept),
             *drawn("noop_layers", rows, *_LAYER)),
            see="layers",
        )  # fmt: skip


def from_where(tables: Tables) -> Iterator[Finding]:
    """From which layer on the gradient stays small."""
    for stream, rest, known in _rests(tables):
        rows = tables["noop_layers"].where(stream=stream, keys=rest)
        among, last = {"stream": stream, "keys": rest}, max(rows.column("layer"))
        starts = {bar: start for bar in SMALL if (start := _small_from(rows, bar)) is not None}
        smallest = {start: bar for bar, start in sorted(starts.items(), reverse=True)}  # the smallest of each start
        if smallest:
            spans = [f"under {SMALL[bar]} {_from(start, last)}" for start, bar in smallest.items()]
            twin = _small_from(rows, 0.5, "twin_relative")
            text = say(
                "The gradient for {rest}{of}, against that for other keys, stays **{spans}**{beside}.",
                rest=KEY_NAMES[rest], of=of_stream(tables, stream), spans=", ".join(spans),
                beside=say("; that of {twins} {twin}", twins=untrained(rows),
                           twin="never stays under half" if twin is None else f"stays under half {_from(twin, last)}")
                if tables.baseline else "",
            )  # fmt: skip
            claims = [_stays(among, "relative", start, last, bar) for start, bar in smallest.items()]
            if tables.baseline:
                claims += [_stays(among, "twin_relative", twin, last, 0.5), *drawn("noop_layers", rows, *_LAYER)]
        else:
            low = known.smallest("relative")[0]
            text = say(
                "There is no layer{of} from which on the gradient for {rest} stays under half of that for other "
                "keys; it is smallest in layer {layer}, at {ratio:number} of it.",
                of=of_stream(tables, stream), rest=KEY_NAMES[rest], layer=low["layer"] + 1, ratio=low["relative"],
            )  # fmt: skip
            claims = [Claim("smallest", "noop_layers", "relative", keyed([low], "layer"), among),
                      _stays(among, "relative", None, last, 0.5)]  # fmt: skip
        said = published(stream, f"{CLARK}: from layer 5 on, gradients for [SEP] become very small")
        yield Finding(text, tuple(claims), see="relative", published=said)


def _small_from(rows: Rows, bar: float, column: str = "relative") -> int | None:
    """The layer from which on a ratio stays below a bar to the end; None where it does not."""
    start: int | None = None
    for row in sorted(rows, key=lambda row: int(row["layer"])):
        if row[column] is None or row[column] >= bar:
            start = None
        elif start is None:
            start = int(row["layer"])
    return start


def _stays(among: Row, column: str, start: int | None, last: int, bar: float) -> Claim:
    """That a ratio is below a bar from a layer on; where it never stays there, that it is not in the last one."""
    if start is None:
        here = {**among, "layer": last}
        return Claim("count", "noop_layers", column, among=here, value=0, than=bar, below=True)
    return Claim("below", "noop_layers", column, among={**among, "layer": [*range(start, last + 1)]}, than=bar)


def _from(start: int, last: int) -> str:
    return "in all layers" if not start else "in the last layer" if start == last else f"from layer {start + 1} on"


def _parked(tables: Tables) -> Iterator[Row]:
    """Heads with what they give to the resting place of their stream, and whether that is more than half."""
    for stream in tables.streams:
        rows = tables["noop"].where(stream=stream, keys=resting(tables, stream)).known("weight", "relative")
        yield from ({**row, "parked": row["weight"] > PARKED} for row in rows)


def heads(tables: Tables) -> Iterator[Finding]:
    """Whether heads that rest do nothing there."""
    for stream, rest, _ in _rests(tables):
        own = tables["parked"].where(stream=stream)
        parked, free = (own.where(parked=parks).column("relative") for parks in (True, False))
        if not own:
            continue
        text = say("No head of {n}{of} puts more than half of its weight on {rest}.", n=len(own),
                   rest=KEY_NAMES[rest], of=of_stream(tables, stream))  # fmt: skip
        if parked:
            text = say(
                "**{parked}** heads{of} put more than half of the weight on {rest}; in **{low}** of them the "
                "gradient there is less than half of that for other keys of the same head (median ratio "
                "{middle:number}{free}).",
                parked=of_all(len(parked), len(own)), of=of_stream(tables, stream), rest=KEY_NAMES[rest],
                low=sum(ratio < 0.5 for ratio in parked), middle=median(parked),
                free=say("; in the heads that rest less, {middle:number}", middle=median(free)) if free else "",
            )  # fmt: skip
        claims = [Claim("count", "parked", "weight", among={"stream": stream}, than=PARKED, value=len(parked))]
        for some, parks in ((parked, True), (free, False)):
            which = {"stream": stream, "parked": parks}
            claims += [Claim("median", "parked", "relative", among=which, value=median(some)),
                       Claim("count", "parked", "relative", among=which, value=sum(ratio < 0.5 for ratio in some),
                             than=0.5, below=True)] if some else []  # fmt: skip
        yield Finding(text, tuple(claims), see="heads")


def rest_of_keys(tables: Tables) -> Iterator[Finding]:
    """All other classes and places."""
    for stream, rest, _ in _rests(tables):
        parts, claims = [], []
        for keys in (*CLASSES, *PLACES):
            rows = tables["noop_layers"].where(stream=stream, keys=keys).known("relative")
            if keys != rest and rows:
                parts.append(say("{keys} {ratio:number}{twin}", keys=KEY_NAMES[keys], ratio=rows.mean("relative"),
                                 twin=where_known(" ({twin:number})", twin=rows.mean("twin_relative"))))  # fmt: skip
                which = {"stream": stream, "keys": keys, "layer": rows.values("layer")}
                claims += mean_claims(tables, "noop_layers", which, "relative", "twin_relative")
        if parts:
            yield Finding(
                say("The rest{of}, as times the gradient for other keys (mean of the layers{twins}): {parts}.",
                    of=of_stream(tables, stream), parts=listed(parts),
                    twins=say("; in brackets, {twins}", twins=untrained(tables["noop_layers"]))
                    if tables.baseline else ""),
                (*claims, *drawn("noop_layers", tables["noop_layers"], *_LAYER)), see="layers",
            )  # fmt: skip


def loss(tables: Tables) -> Iterator[Finding]:
    """The loss itself."""
    for row in tables["loss"].known("value"):
        trained = say("")
        if row.get("majority_tag") is not None:
            trained = say(
                " It is that of a small linear head, trained here on the other half of the documents with the model "
                "left as it is; the most frequent tag ({tag}) would be right in {share:percent} %.{twins}",
                tag=row["majority_tag"], share=row["chance_accuracy"],
                twins=" Each twin's head was trained in the same way." if tables.baseline else "",
            )  # fmt: skip
        yield Finding(
            say(
                "The loss in the task {task} is {value:number} nats per prediction ({n:count} of them, "
                "{accuracy:percent} % right); {beside}that of guessing evenly among all choices {chance:number}."
                "{trained}", trained=trained, **row, beside=where_known(
                    "that of {twins} is {twin:number} ({right:percent} % right), and ", twins=untrained([row]),
                    twin=row["twin"], right=row["twin_accuracy"]),
            ),
            (value_claim("loss", "value", row, "task"),),
        )  # fmt: skip


def warning(tables: Tables) -> str | None:
    """One line where the model is not shown to do the task, so that its gradients say nothing of heads."""
    if tables["whole"]:
        return chance.warning(tables)
    for row in tables["loss"].known("value", "chance"):  # a result from before scores were held against chance
        standing = {"metric": "loss", "better": "lower", "score": row["value"], "chance": row["chance"]}
        return chance.unshown({**standing, "guess": "guessing evenly", "n": tables.manifest.corpus.get("passages")})
    return None


def answer(tables: Tables) -> Finding | None:
    """Whether the loss depends on attention to the resting place, if the model is shown to do the task."""
    if warning(tables) is None:
        return first(depends)(tables)
    return chance.only_the_score(tables) or next(loss(tables), None)


def shown(find: chance.Find) -> chance.Find:
    """What is found, unless the model is not shown to do the task."""
    return lambda tables: find(tables) if warning(tables) is None else ()


def _rests(tables: Tables) -> Iterator[tuple[str, str, Rows]]:
    """Streams, where each rests, and the layers of which a ratio is known."""
    for stream in tables.streams:
        rest = resting(tables, stream)
        rows = tables["noop_layers"].where(stream=stream, keys=rest).known("relative", "weight")
        if rest and rows:
            yield stream, rest, rows


def resting_layers(tables: Tables) -> Rows:
    """The layers of each stream's resting place."""
    rows = [row for stream in tables.streams
            for row in tables["noop_layers"].where(stream=stream, keys=resting(tables, stream))]  # fmt: skip
    return told(tables, Rows(rows))


def all_layers(tables: Tables) -> Rows:
    """Layer by layer, the classes on which heads may rest, beside other keys."""
    return layer_by_layer(tables, tables["noop_layers"].where(keys=[*CLASSES, "other"]))


def _lines(key: str, title: str, keys: tuple[str, ...], *show: str) -> charts.Chart:
    return charts.lines(
        "noop_layers", "layer", *show, key=key, title=title, colour="keys", where={"keys": keys},
        style=Style(log=True, tell=("weight",)), label=f"{title}, by layer, a line for each, twins dashed",
    )  # fmt: skip


PAGE = Page(
    "noop",
    title="Does {model} do nothing where its heads rest?",
    answer=answer,
    chart=_lines("classes", "Gradient over that for other keys of the layer", CLASSES, "relative").having(
        note="dashed: untrained (random weights); of several twins the mean"
    ),
    warning=warning,
    about="Heads put much of their attention on [SEP], the first piece or punctuation. Is that a way of doing "
    "nothing? How much the loss of **{model}** on **{corpus}** depends on each attention weight was measured, by the "
    "class of the key that it goes to.",
    findings=(*map(shown, (further(depends), rests, from_where, heads, rest_of_keys)), loss),
    schemas=(HEADS, LAYERS, LOSS, WHOLE, BY_CLASS),
    derived={"by_class": by_class, "parked": _parked},
    sections=(
        Section(
            "relative", "Against other keys of the same layer",
            "The gradients |dL/dα| of each class, divided by that for other keys of the same layer, with 95 % "
            "intervals; dashed, untrained twins. Far below 1 the loss hardly depends on a class: attention that "
            "is put there does nothing. Above 1 it matters more than the average key's.",
            (_lines("places", "The same by place", PLACES, "relative"),
             Listing("noop_layers", "stream", "layer", "keys", "weight", "norm", "relative",
                     rows=resting_layers, title="Where heads rest, layer by layer")),
            short="Relative",
        ),
        Section(
            "layers", "Layer by layer",
            "The gradients themselves, mean over heads and texts; dashed, untrained twins. Choose α·|dL/dα| to "
            "see what rides on the attention that is really paid. Heights of different layers do not compare: "
            "gradients grow or shrink along the model.",
            (_lines("layers-class", "Gradient by class of key", (*CLASSES, "other"), "value", "paid"),
             _lines("layers-place", "Gradient by place of key", (*PLACES, "other"), "value", "paid")),
            short="By layer", width="half",
        ),
        Section(
            "heads", "Heads that rest",
            "Each dot is a head: to the right, heads that put much weight on such keys; below 1, heads whose "
            "gradient there is smaller than for other keys. If resting is doing nothing, dots on the right lie low.",
            (charts.scatter("by_class", "weight", "relative", key="weights", title="Weight against gradient",
                            style=Style(pick=("keys",), root=True, tell=("norm", "twin_weight", "twin_relative")),
                            label="Weight on a class of keys against its relative gradient, one dot for each head"),),
        ),
        Section(
            "map", "Head by head",
            "Rows are layers, columns are heads; the brighter, the more. Point at a cell for its numbers and the "
            "twin's. Where the share of weight is bright and the share of norm is dark, a head rests.",
            (charts.head_map("by_class", "relative", "weight", "norm", "value", "paid", "twin_relative",
                             "twin_weight", "twin_norm", style=Style(pick=("keys",)),
                             label="Heat map of one class of keys, layer by head"),),
            short="Map",
        ),
        Section(
            "table", "All layers",
            "Layer by layer, the classes on which heads may rest, beside other keys. Intervals have the text as the "
            "unit.",
            (Listing("noop_layers", "stream", "layer", "keys", "weight", "norm", "value", "relative", "paid",
                     "paid_share", rows=all_layers),),
            short="Table",
        ),
    ),
    words=words("piece", "α, weight", "norm") | {
        "|dL/dα|": "how much the loss of a text would change, per unit, with that one weight alone; the mean over "
        "all visible pairs of a query and such a key in a text, and then over texts.",
        "over other keys": "divided by the same mean for *other keys* of the same layer (or head), neither special, "
        "nor the first piece, nor a period or comma. As gradients are larger in some layers than in others, only "
        "this can be compared between layers; 1 is no difference.",
        "α·|dL/dα|": "the gradient times the weight that is really paid: what rides on that attention.",
    } | words("untrained twin", "[CLS], [SEP]"),
    limits={
        "A small gradient is a small slope, here.": "A little more or less of that weight changes nothing; taking "
        "all of it away is another experiment.",
        "Each weight is changed alone.": "In a real softmax, what goes to one key is taken from others.",
        "It is partly the vector's length.": "dL/dα is the gradient at the head's output times the key's vector "
        "f(x): a short vector has small gradients wherever it stands, the same finding as its small norm.",
        "Untrained twins are draws:": "one of them is no level of chance. Where a head is trained for each, it "
        "costs a training of its own, so there is one (`--twins` for more); else there are five, and tables have the "
        "lowest and the highest beside their mean.",
        "The loss decides.": "What does not matter to this loss may matter to another one.",
        "Gradients are those of a text's mean loss,": "so long texts have smaller ones: compare classes, not "
        "corpora.",
    },
    unshown={"loss": "its figures stand among the findings", "whole": "it stands on top where it matters",
             "noop": "it is shown with the resting place first"},
    published="bert-base-uncased (Clark et al. 2019): from layer 5 on, gradients for [SEP] become very small.",
)  # fmt: skip
