"""The page of prune: how many heads can go, which went, and what the smaller model is like."""

from __future__ import annotations

from collections.abc import Iterator

from attlas.pages import Claim, Finding, Listing, Page, Prose, Row, Rows, Section, Style, Tables, charts
from attlas.pages.charts import Spec
from attlas.pages.findings import finding, keyed, value_claim
from attlas.pages.prose import listed, say
from attlas.store.schema import PLACE, Column, Schema, is_known
from attlas.studies.shared.cutting import chance
from attlas.studies.shared.cutting.effects import as_heads_go, between
from attlas.studies.shared.cutting.schemas import STANDING
from attlas.studies.shared.wording import side_by_side

ORDERS = {
    "importance": "by importance", "loss": "by measured loss", "loss reversed": "by measured loss, reversed",
    "score": "by fall of the score", "score reversed": "by fall of the score, reversed", "random": "by chance",
    "named": "by name",
}  # fmt: skip
MEASURED = ("importance", "loss", "score")
FALLS = (0.01, 0.05)
UPRIGHTS = {"BERT on MNLI": 0.4, "translation": 0.2}  # shares until which others found little lost

ORDER = Column("order", "heads go", labels=ORDERS)
DRAW = Column("draw", "draw", "index", "of an order by chance")
GONE = Column("share", "share of heads gone", "percent", "of units: heads, or groups that share keys and values")
HEADS = Column("heads", "heads", "count")
SCORE = Column("score", "score", "number", "of the model without them", ends=("low", "high"))
LOSS = Column("loss", "loss", "number", "mean loss per prediction, in nats")
METRIC = (Column("metric", "score is"), Column("better", "better when"))
CURVE = Schema(
    "curve", "One row for each step of each order.", ORDER, DRAW, GONE, Column("units", "units gone", "count"), HEADS,
    SCORE, LOSS, Column("n", "texts", "count"),
)  # fmt: skip
SHARES = Schema(
    "shares", "For each order, the share of heads that are gone when so much of the score is lost.", ORDER, DRAW,
    Column("fall", "lost", "percent", "of the whole model's score"),
    Column("share", "gone by then", "percent", "missing where it never is", ends=("low", "high")),
    Column("score", "score of the whole model", "number"), *METRIC, Column("n", "texts", "count"),
)  # fmt: skip
TURNS = (
    Column("unit", "unit", "index", "what goes at once: a head, or a group that shares keys and values"),
    Column("importance", "importance", "share", "E|dL/dξ| of its unit, of its layer's norm", optional=True,
           definition="Michel et al. 2019"),
    Column("importance_size", "E|dL/dξ|", "number", "the same, not divided", optional=True),
    Column("loss", "change of loss, alone", "signed", "when its unit alone is removed", optional=True, head=True,
           ends=("loss_low", "loss_high"), called="change of loss without its unit"),
    Column("score", "fall of the score, alone", "signed", "when its unit alone is removed", optional=True, head=True,
           called="fall of the score without its unit"),
    *(Column(f"{name}_turn", f"turn {ORDERS[name]}", "index", "when it goes", optional=True) for name in MEASURED),
    Column("cut", "taken out", "flag", "of the weights"),
)  # fmt: skip
HEAD_ORDER = Schema("order", "One row for each head: what it is worth, and when it goes.", *PLACE, *TURNS, keys=())
SIZES = Schema(
    "sizes", "The model before, with the heads gone from its weights, and trained again.",
    Column("stage", "model",
           labels={"whole": "whole model", "cut": "without the heads", "retuned": "and trained again"}),
    SCORE, LOSS, Column("parameters", "parameters", "count"), HEADS, Column("file", "file, bytes", "count"), *METRIC,
    Column("difference", "difference", "number",
           "the largest between its outputs and those of the gated model, over the largest output"),
    Column("plain", "opens in plain transformers", "flag"),
    Column("silent_layers", "layers without a head", "count"),
)  # fmt: skip
TIMES = (
    Column("batch", "texts", "count"), Column("length", "pieces", "count"),
    Column("whole", "whole, ms", "number", "milliseconds of a pass"),
    Column("gated", "gated, ms", "number", "with gates of 0"),
    Column("pruned", "pruned, ms", "number", "with the heads gone from the weights"),
    Column("reason", "left out", meaning="why a cell was not timed"),
)  # fmt: skip
SPEED = Schema("speed", "How fast the models are, for every number and length of texts.", *TIMES)
WHOLE = Schema("whole", "What the whole model does on the texts that are scored.", Column("task", "task"), *STANDING,
               Column("n", "texts", "count", optional=True))  # fmt: skip
DRAWN = (
    Schema("line", "The curves, with the draws of chance as one.", ORDER, GONE, HEADS, SCORE, LOSS),
    Schema(
        "gone", "What can go, by order.", ORDER, DRAW,
        Column("one", "1 % lost", "percent", ends=("one_low", "one_high")),
        Column("five", "5 % lost", "percent", ends=("five_low", "five_high")),
    ),
    Schema(
        "turns", "The table of heads, with the share that is gone once each is.", *PLACE, *TURNS,
        *(Column(f"{name}_share", f"when it goes {ORDERS[name]}", "share") for name in MEASURED),
        Column("kept", "kept", "count"),
    ),
    Schema(
        "faster", "How many times faster than the whole model, and than the gated one.", *TIMES,
        Column("cell", "texts × pieces"), Column("times", "pruned, times faster than whole", "number"),
        Column("gated_times", "gated", "number"), Column("than_gated", "pruned, than gated", "number"),
    ),
)  # fmt: skip
PUBLISHED = (
    "BERT on MNLI loses little until about 40 % of its heads are gone, a translation model until about 20 % (Michel "
    "et al. 2019; by importance, heads removed from all layers)"
)


def _lines(tables: Tables) -> Iterator[Row]:
    """A row for each order and share; of heads that were named, the model before and after."""
    yield from as_heads_go(tables["curve"], "heads")
    if "curve" not in tables:
        heads = max((row["heads"] for row in tables["sizes"]), default=0)
        for row in tables["sizes"].where(stage=["whole", "cut"]):
            yield {**row, "order": "named", "share": 1 - row["heads"] / heads, "heads": heads - row["heads"]}


def _gone(tables: Tables) -> Iterator[Row]:
    lost = {"one": {"fall": FALLS[0]}, "five": {"fall": FALLS[1]}}
    for row in side_by_side(tables["shares"], ("order", "draw"), "share", lost):
        yield row if row["order"] == "random" else {**row, "draw": None}


def _turns(tables: Tables) -> Iterator[Row]:
    units = len(tables["order"].values("unit"))
    for row in tables["order"]:
        known = {name: row[f"{name}_turn"] for name in MEASURED if f"{name}_turn" in row}
        shares = {f"{name}_share": (turn + 1) / units for name, turn in known.items()}
        yield {**row, **shares, "kept": int(not row["cut"])}


def _faster(tables: Tables) -> Iterator[Row]:
    ratios = {"times": ("whole", "pruned"), "gated_times": ("whole", "gated"), "than_gated": ("gated", "pruned")}
    for row in tables["speed"]:
        pairs = ratios.items() if is_known(row["pruned"]) else ()
        times = {name: row[slower] / row[faster] for name, (slower, faster) in pairs}
        yield {**row, "cell": f"{row['batch']} × {row['length']}", **times}


def _whole(tables: Tables) -> Row:
    """The score of the whole model, what it is called, and which way is better."""
    unknown = {"score": None, "metric": "score", "better": "higher"}
    return next(iter(tables["shares"] + tables["sizes"]), unknown)


def warning(tables: Tables) -> str | None:
    """A line where the whole model is not shown to be better than chance, and whether a smaller one was written."""
    told = chance.warning(tables)
    if told is None or not tables["sizes"]:
        return told
    written = (
        "The smaller model was written because it was asked for." if _written(tables) else "No model was written."
    )
    return f"{told} {written}"


def answer(tables: Tables) -> Finding | None:
    """What share of the heads can go; or what removing those that were named has done."""
    if chance.warning(tables) is not None:
        return chance.only_the_score(tables)
    return next(iter([*_by_order(tables), *smaller(tables)]), None)


def others(tables: Tables) -> Iterator[Finding]:
    """The same by the other orders, and by chance."""
    yield from _by_order(tables)[1:]


def _by_order(tables: Tables) -> list[Finding]:
    whole, told = _whole(tables), list[Finding]()
    drawn = tables["shares"].where(order="random", fall=FALLS[0])
    for order, rows in tables["shares"].by("order"):
        first, (one, five) = not told, (_when(rows.where(fall=fall), whole["better"]) for fall in FALLS)
        chance = say("; in orders drawn by chance it {when}", when=_when(drawn, whole["better"])) if drawn else ""
        told.append(finding(
            "With heads removed {order}, {metric}{whole} {one}, and {five}{chance}.",
            *(value_claim("shares", column, row, "order", "draw", "fall") for column in ("fall", "share")
              for row in (rows + drawn if first else rows).known(column)),
            see="curve", published=PUBLISHED if first else "", order=ORDERS[order], metric=whole["metric"], one=one,
            five=five, whole=say(" ({score:number})", **whole) if first else "", chance=chance if first else "",
        ))  # fmt: skip
    return told


def _when(rows: Rows, better: str) -> Prose:
    """When a score has fallen (or risen) by so much, in one or several draws of an order."""
    known, fall = rows.known("share"), rows[0]["fall"]
    has, never = ("has fallen", "never falls") if better == "higher" else ("has risen", "never rises")
    if not known:
        return say("{never} by {fall:count} %, even when all are gone", never=never, fall=100 * fall)
    interval = (
        ""
        if len(rows) > 1 or not is_known(rows[0]["low"])
        else say(" (95 % interval {low:percent} to {high:percent} %)", **rows[0])
    )
    return say(
        "{has} by {fall:count} % when **{shares} %** are gone{interval}{rest}", has=has, fall=100 * fall,
        shares=listed(known.column("share"), "percent"), interval=interval,
        rest=" (in a draw never)" if len(known) < len(rows) else "",
    )  # fmt: skip


def best(tables: Tables) -> Iterator[Finding]:
    """Whether the model is ever better with fewer heads than with all."""
    whole, rows = _whole(tables), tables["curve"].where(lambda row: row["order"] != "random")
    higher = whole["better"] == "higher"
    for top in (rows.largest("score") if higher else rows.smallest("score"))[:1]:
        if top["share"] and (top["score"] > whole["score"] if higher else top["score"] < whole["score"]):
            among = {"order": rows.values("order")}
            yield finding(
                "It is at its best with {share:percent} % of its heads gone {order}: **{score:number}**{between}; "
                "as the best of all steps, that may be luck.",
                Claim("largest" if higher else "smallest", "curve", "score", keyed([top], "order", "draw", "units"),
                      among),
                see="curve", **{**top, "order": ORDERS[top["order"]], "between": between(top, "number")},
            )  # fmt: skip


def groups(tables: Tables) -> Iterator[Finding]:
    """How many heads go at once."""
    heads, units = len(tables["order"]), len(tables["order"].values("unit"))
    if units < heads:
        yield finding("Its {heads} heads share keys and values in {units} groups, and go group by group.",
                      Claim("distinct", "order", "unit", value=units), heads=heads, units=units)  # fmt: skip


def smaller(tables: Tables) -> Iterator[Finding]:
    """What the smaller model is like."""
    stages = {row["stage"]: row for row in tables["sizes"]}
    if "cut" not in stages:
        return
    whole, cut, retuned = stages["whole"], stages["cut"], stages.get("retuned")
    yield finding(
        "The smaller model has **{heads} of {all} heads** and {parameters:count} instead of {before:count} "
        "parameters; its {metric} is **{score:number}**{between} instead of {whole:number}{again}.",
        *(value_claim("sizes", "score", row, "stage") for row in stages.values()),
        value_claim("sizes", "heads", cut, "stage"), see="sizes",
        **cut, between=between(cut, "number"), all=whole["heads"], before=whole["parameters"], whole=whole["score"],
        again="" if retuned is None else say(", and {score:number} after training again", score=retuned["score"]),
    )  # fmt: skip
    yield finding(
        "Its outputs are those of the gated model{apart}; {opens}.",
        *(value_claim("sizes", "difference", row, "stage") for row in Rows([cut]).known("difference")), see="sizes",
        apart=say(" to {difference:number}", **cut) if cut["difference"] else " to the last digit" * (
            cut["difference"] == 0),
        opens="any program can open it, since its configuration says how many heads there are" if cut["plain"]
        else say("only `attlas.load` opens it, since its configuration cannot say that layers have these heads"),
    )  # fmt: skip
    if count := cut["silent_layers"]:
        yield finding(
            "{layers} lost all heads: attention there adds its output bias and nothing else (one head's shape is "
            "kept, with zeros, since the model library cannot do without).",
            value_claim("sizes", "silent_layers", cut, "stage"), see="sizes",
            layers="1 layer has" if count == 1 else f"{count} layers have",
        )  # fmt: skip


def after_cut(tables: Tables) -> Iterator[Finding]:
    """The same, where it is not the answer already."""
    told, warned = list(smaller(tables)), chance.warning(tables) is not None
    if not warned or _written(tables):
        yield from told if tables["shares"] or warned else told[1:]


def _written(tables: Tables) -> bool:
    """Whether a smaller model was written."""
    return any(is_known(row["file"]) for row in tables["sizes"])


def whole_model(tables: Tables) -> Iterator[Finding]:
    """What the whole model does, and on which texts heads were put in order."""
    corpus, whole = tables.manifest.corpus, _whole(tables)
    if whole["score"] is not None:
        chosen = corpus.get("chosen_on")
        yield finding(
            "The whole model's {metric} is {score:number}{chance} on {texts:count} texts{others}.",
            *(value_claim("shares", "score", row, "order", "draw", "fall") for row in tables["shares"][:1]),
            *(value_claim("sizes", "score", row, "stage") for row in tables["sizes"][:1] if not tables["shares"]),
            *(value_claim("whole", "score", row, "task") for row in tables["whole"][:1]),
            **whole, texts=corpus.get("passages"), chance=next(map(chance.by_chance, tables["whole"]), ""),
            others=say("; heads were put in order on {n:count} other texts", n=chosen) if chosen else "",
        )  # fmt: skip


def _curve(tables: Tables, rows: Rows) -> Spec:
    """The score against the share of heads gone, with lines where so much is lost, and what was published."""
    about, sign = _whole(tables), -1 if _whole(tables)["better"] == "higher" else 1
    whole, log = about["score"] or 0.0, about["metric"] == "perplexity"
    ends = [value for name in ("low", "high", "score") for value in rows.known(name).column(name)]
    pad = 0.04 * (max(ends) - min(ends) or 1.0)
    domain = None if log else (min(ends) - pad, max(ends) + pad)
    style = Style(height=330, log=log, domain=domain)
    spec = charts.lines("line", "share", "score", key="", title="", colour="order", style=style).draw(tables, rows)
    rule = {"type": "rule", "stroke": "currentColor", "opacity": 0.5, "strokeDash": [2, 3]}
    text = {"type": "text", "fontSize": 11, "color": "currentColor", "opacity": 0.8}
    for number, fall in enumerate(FALLS):
        place = {"y": {"datum": whole + sign * abs(whole) * fall, "type": "quantitative"}}
        name = f"{100 * fall:.0f} % {'less' if sign < 0 else 'more'}"
        mark = {**text, "text": name, "align": "right", "dy": -7 if (number == 0) == (sign < 0) else 9}
        spec["layer"].insert(0, _once(rule, place))
        spec["layer"].append(_once(mark, {**place, "x": {"value": {"expr": "width - 4"}}}))
    for number, (name, share) in enumerate(UPRIGHTS.items() if "curve" in tables else ()):
        place = {"x": {"datum": share, "type": "quantitative"}}
        mark = {**text, "text": f"{name}: {100 * share:.0f} %", "align": "left", "dx": 4, "dy": -15 * number}
        spec["layer"].insert(0, _once({**rule, "strokeDash": [1, 0], "opacity": 0.3}, place))
        spec["layer"].append(_once(mark, {**place, "y": {"value": {"expr": "height - 6"}}}))
    for layer in spec["layer"]:  # bands and lines across, too
        if "value" not in layer["encoding"].get("y", {"value": 0}):
            scale = {"type": "log"} if log else {"domain": list(domain or ()), "zero": False}
            layer["encoding"]["y"]["scale"] = {**scale, "nice": False}
    return spec


def _once(mark: Spec, encoding: Spec) -> Spec:
    count = {"aggregate": [{"op": "count", "as": "n"}], "groupby": []}
    return {"data": {"name": "rows"}, "transform": [count], "mark": mark, "encoding": encoding}


def _map(tables: Tables, rows: Rows) -> Spec:
    """When each head goes, or how much it is worth, by the orders that there are; heads that were cut are framed."""
    show = [name for end in ("_share", "") for order in MEASURED if (name := f"{order}{end}") in rows[0]]
    show = show or ["kept"]
    return charts.head_map("turns", *show, sure=dict.fromkeys(show, "kept"), bar=0.5).draw(tables, rows)


PAGE = Page(
    "prune",
    title="How many heads does {model} need?",
    answer=answer,
    chart=charts.custom(
        "curve", "The score as heads go", "line", ("order", "share", "score"), _curve,
        label="Score against the share of heads that are gone, a line for each order",
    ).having(note="bands: 95 % confidence intervals; for orders by chance, the range of the draws"),
    about="Heads of **{model}** are removed one after another, and it is scored without them on **{corpus}**, on "
    "texts that the order was not made on.",
    warning=warning,
    findings=(*map(chance.shown, (others, best)), groups, after_cut, chance.shown(whole_model)),
    schemas=(CURVE, SHARES, HEAD_ORDER, SIZES, SPEED, WHOLE, *DRAWN),
    derived={"line": _lines, "gone": _gone, "turns": _turns, "faster": _faster},
    sections=(
        Section(
            "shares", "What can go",
            "The share of heads that are gone when the score has fallen by so much of the whole model's; in a "
            "straight line between steps, the first crossing. Its interval is over resampled texts. Where a cell is "
            "empty, even the model without any head in these layers is not that much worse. Upright lines of the "
            "chart are what was published of other models and tasks.",
            (Listing("gone", "order", "draw", "one", "five"),), short="What can go",
        ),
        Section(
            "loss", "The loss as heads go", "The same steps by the loss, which is finer than a score.",
            (charts.lines("line", "share", "loss", key="loss-curve", title="Loss", colour="order"),
             Listing("curve", "order", "draw", "share", "heads", "score", "loss")),
            short="Loss",
        ),
        Section(
            "map", "Head by head",
            "Rows are layers, columns are heads. The brighter, the later a head goes; choose the order, or the "
            "numbers that made it. Heads in a frame were taken out of the weights.",
            (
                charts.custom("turns", "Which heads went when", "turns", ("layer", "head", "kept"), _map,
                              label="Heat map of the turn at which each head goes, layer by head"),
                Listing("order", "head", "unit", "importance", "loss", "score", "importance_turn", "loss_turn",
                        "score_turn", "cut"),
            ),
            short="Map",
        ),
        Section(
            "sizes", "The smaller model",
            "The model before, with the heads gone from its weights, and (if asked for) trained again; all scored on "
            "the same texts. *Difference* is measured on texts of the corpus and on a batch with padding.",
            (Listing("sizes", "stage", "heads", "parameters", "file", "score", "loss", "difference", "plain"),),
            short="Size",
        ),
        Section(
            "speed", "Speed",
            "Milliseconds of one pass over random pieces, without the language-model head, which no pruning touches; "
            "the three took turns. More than 1 is faster than the whole model.",
            (
                charts.dots("faster", "cell", "times", "gated_times", key="faster",
                            title="Times faster than the whole model"),
                Listing("faster", "batch", "length", "whole", "gated", "pruned", "times", "than_gated", "reason"),
            ),
        ),
    ),
    words={
        "unit": "what is removed at once: a head, or in models whose heads share keys and values (grouped-query "
        "attention) the whole group of heads that do, since no part of a group can be taken out of the weights.",
        "by importance": "least important first: E|dL/dξ| of a head's gate ξ, added up over a group and divided by "
        "the Euclidean norm of its layer.",
        "by measured loss": "first what cost least when it was removed alone (the change of a text's mean loss).",
        "by fall of the score": "first what cost least of the score when it was removed alone.",
        "reversed": "first what cost most when it was removed alone: how fast the score can fall.",
        "by chance": "three orders drawn by the seed: what any order is worth.",
        "gated, pruned": "heads closed by a gate of 0 are still computed; heads that are pruned are gone from the "
        "weights. Both give the same answers.",
    },
    limits={
        "An order is no optimum.": "Heads are ranked one by one; which set of heads can go together is another "
        "question.",
        "The task decides.": "What this score does not need may matter to another.",
        "Heads that go are not replaced.": "A model that is trained again after the cut may do well with far fewer.",
        "Speed is of this machine.": "Attention is a part of the work; most of it is elsewhere, so half the heads "
        "are never twice the speed.",
    },
    unshown={
        "shares": "shown as the table gone, a line for each order",
        "whole": "its figures stand among the findings",
        "speed": "shown as the table faster, with how many times",
    },
    published=f"{PUBLISHED}.",
)  # fmt: skip
