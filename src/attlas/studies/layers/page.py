"""The page of layers: where in a model tasks are solved, as edge probing sees it.

First where every task lies (the paper's Figure 1), then gains and mixing weights layer by layer (its Figure 2), the
scores behind them with their controls, single labels, and, where heads were mixed, a map of them.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import combinations
from statistics import fmean
from typing import NamedTuple

from attlas.pages import (
    Chart,
    Claim,
    Finding,
    Listing,
    Page,
    Prose,
    Row,
    Rows,
    Section,
    Style,
    Tables,
    charts,
    value_claim,
)
from attlas.pages.charts import Spec
from attlas.pages.prose import listed, say, with_interval
from attlas.store.schema import HEAD, LAYER, Column, Schema, is_known
from attlas.studies.layers.tables import DERIVED, MEASURES, SHOWN_LABELS, depth_of, learned_nothing, over_heads
from attlas.studies.shared.layer_runs import TASKS as NAMES
from attlas.studies.shared.published import PIPELINE, PIPELINE_LAYERS, PIPELINE_MODEL
from attlas.studies.shared.wording import untrained

ALIKE = 0.03  # nats, within which two means of K are called alike
SYNTAX, SEMANTICS = ("pos", "constituents", "dependencies"), ("roles", "coreference", "proto-roles", "relations")
KNOWN = (*NAMES, "spans")

TASK = Column("task", "task", labels=NAMES)
WHO = Column("who", "of", labels={"model": "the model", "twin": "untrained twin", "none": "neither"},
             meaning="the model or its untrained twins", was="model",
             were={"trained": "model", "untrained": "twin"})  # fmt: skip
GOLD = Column("labels", "labels", meaning="gold labels, or control labels")
UP_TO = Column("layer", "layer", "count", "0: what the model reads; l: after l layers")
SEED = Column("seed", "seed", "count")
SEEDS = Column("seeds", "seeds", "count")
IN_TRAINING, IN_TEST = Column("train", "in training", "count"), Column("test", "in test", "count")

TASKS = Schema(
    "tasks",
    "The answers: a row for each task, measure, model or twin, and kind of labels.",
    TASK, WHO, GOLD, Column("measure", "measure"),
    Column("value", "value", "number", "F1, points of it, layers or nats, as the measure says", ends=("low", "high")),
    Column("n", "seeds", "count", "of untrained twins: how many; the ends of several are the lowest and the highest"),
)  # fmt: skip
SCORES = Schema(
    "scores",
    "Every probe: those on layers 0 to l (cumulative), and those on one layer (single, and linear).",
    TASK, WHO, GOLD, Column("series", "series", meaning="cumulative, single, or linear (of one layer, too)"), UP_TO,
    SEED,
    Column("value", "F1", "percent", "micro-averaged over labels, on test", ends=("low", "high")),
    Column("difference", "gain", "percent", "above the probe on one layer less", ends=("difference_low",
           "difference_high"), definition="Tenney et al. 2019"),
    Column("selectivity", "selectivity", "percent", "gold less control", definition="Hewitt & Liang 2019"),
    Column("validation", "F1 on validation", "percent", was="dev"),
    Column("n", "labels given", "count"),
    Column("above_mlp", "above the MLP", "percent", "F1 of a linear probe less that of the MLP on the same layer",
           ends=("above_mlp_low", "above_mlp_high"), optional=True),
    Column("forced", "most likely label", "percent", "F1 where the most likely label is always said; none where an "
           "edge may have several", ends=("forced_low", "forced_high"), optional=True),
)  # fmt: skip
WEIGHTS = Schema(
    "weights",
    "The mix of the probe over all layers.",
    TASK, WHO, GOLD, SEED, UP_TO, Column("head", "head", "index", "counted from 0; none where layers are mixed"),
    Column("value", "weight", "share", "of the mix; they sum to one"),
    Column("gamma", "γ", "number", "what the mix is multiplied by"),
)  # fmt: skip
LABELS = Schema(
    "labels",
    "How well each label is told, by the layers that the probe may see.",
    TASK, Column("label", "label"), SEED, UP_TO, Column("value", "F1", "percent"), IN_TRAINING, IN_TEST,
)  # fmt: skip


def _with_ends(name: str, title: str, kind: str, meaning: str = "", **more: str) -> Column:
    return Column(name, title, kind, meaning, ends=(f"{name}_low", f"{name}_high"), optional=True, **more)  # type: ignore[arg-type]


SUMMARY = Schema(
    "summary",
    "All that is measured of a task, in one row.",
    TASK,
    _with_ends("expected", "expected layer", "number", twin="twin_expected"),
    Column("published_expected", "published", "number"),
    Column("control_expected", "on control labels", "number"),
    Column("share", "of the depth", "percent"),
    Column("published_share", "published", "percent"),
    _with_ends("centre", "centre of gravity", "number", twin="twin_centre"),
    Column("published_centre", "published", "number"),
    Column("control_centre", "on control labels", "number"),
    Column("scaled_expected", "expected, published", "number"),
    Column("scaled_centre", "centre, published", "number"),
    Column("k_weights", "K(s)", "number"),
    Column("k_gains", "K(D)", "number"),
    _with_ends("score", "F1, all layers", "percent", twin="twin_score", chance="chance_score"),
    Column("published_score", "published", "percent"),
    _with_ends("base", "F1, layer 0", "percent", twin="twin_base"),
    Column("published_base", "published", "percent"),
    _with_ends("gain", "gain", "percent"),
    Column("best", "best layer", "count"),
    _with_ends("alone", "alone", "percent"),
    Column("control_base", "control, layer 0", "percent"),
    Column("control_score", "control", "percent"),
    _with_ends("selectivity", "selectivity", "percent", twin="twin_selectivity"),
    Column("base_selectivity", "at layer 0", "percent"),
    SEEDS,
    Column("twins", "twins", "count", "how many untrained twins were drawn", optional=True),
)
GAINS = Schema("gains", "What each further layer adds.", TASK, UP_TO,
               Column("gain", "points of F1", "percent", ends=("gain_low", "gain_high")),
               Column("points", "points of F1", "number"))  # fmt: skip
MIX = Schema("mix", "How much weight each layer has.", TASK, UP_TO, Column("weight", "weight", "share"))
CURVES = Schema("curves", "Scores by layer.", TASK, Column("line", "probe"), UP_TO,
                Column("value", "F1, per cent", "percent", ends=("low", "high")), SEEDS)  # fmt: skip
CONTROLS = Schema("controls", "What is known by heart.", TASK, WHO, UP_TO,
                  Column("selectivity", "selectivity, points of F1", "percent"),
                  Column("control", "F1 on control labels", "percent"))  # fmt: skip
FREQUENT = Schema("frequent", "The most frequent labels.", TASK, Column("label", "label"), UP_TO,
                  Column("value", "F1", "percent"), IN_TRAINING, IN_TEST)  # fmt: skip
HEADS = Schema("head_mix", "The mix over heads.", TASK, WHO, LAYER, HEAD,
               Column("times", "in even shares", "number", head=True), Column("weight", "weight", "share", head=True),
               SEEDS)  # fmt: skip
DATA = Schema(
    "data",
    "The data of every task.",
    TASK, Column("name", "file"), Column("labels", "labels", "count"), Column("train", "edges in train", "count"),
    Column("validation", "validation", "count"), Column("test", "test", "count"),
    Column("shares", "shares", meaning="of all edges, in train, validation and test, per cent"),
    Column("sentences", "sentences", meaning="in train, validation and test"),
    Column("units", "units of intervals", meaning="what of test counts as independent"),
    Column("types_known", "control word known", "percent"), Column("unseen", "labels unseen in training"),
    Column("epochs", "epochs", "count"), Column("divided", "divided"),
)  # fmt: skip


def _claims(rows: Rows | list[Row], *names: str) -> tuple[Claim, ...]:
    """That the table of tasks has these figures."""
    return tuple(
        Claim("value", "tasks", "value",
              [dict(zip(("measure", "who", "labels"), MEASURES[name], strict=True), task=row["task"])],
              value=row[name])
        for row in rows for name in names if is_known(row.get(name))
    )  # fmt: skip


def _named(row: Row) -> str:
    task = str(row["task"])
    return NAMES.get(task, task)


def _figure(row: Row, name: str, kind: str = "number") -> Prose:
    """A figure with its interval, where it has one."""
    return with_interval(row, name, (f"{name}_low", f"{name}_high"), kind)


def answer(tables: Tables) -> Finding | None:
    """Where the score rises and how high, beside the twin and the most frequent label."""
    rows = tables["summary"]
    placed, scored = rows.known("expected"), rows.known("score")
    if not placed and not scored:
        return None
    where = say(
        "No layer adds anything that can be told from chance" if _sound(rows) else "Nothing was learned for sure"
    )
    if placed:
        template = (
            "The score for **{first}** rises around layer {early} of {depth}" if len(placed) == 1
            else "Of {n} tasks, the score for **{first}** rises earliest, around layer {early} of {depth}, and that "
            "for **{last}** latest, around {late}{close}"
        )  # fmt: skip
        early, late = (_figure(placed[end], "expected") for end in (0, -1))
        close = "" if _apart(placed[0], placed[-1], "expected") else ", which is not sure"
        where = say(template, n=len(placed), first=_named(placed[0]), early=early, depth=depth_of(tables),
                    last=_named(placed[-1]), late=late, close=close)  # fmt: skip
    words = {
        "score": f"all layers reach an F1 of {{mean:percent}} %{' on average' if len(rows) > 1 else ''}",
        "twin_score": f"{untrained(rows)} {{mean:percent}} %{_apart_of(rows)}",
        "chance_score": "always saying the most frequent label {mean:percent} %",
    }
    means = [say(words[name], mean=mean) for name in words if (mean := scored.mean(name)) is not None]
    reached = say("; {reached}", reached=listed(means)) if means else ""
    claims = (*_claims(placed, "expected"), *_claims(scored, *words))
    return Finding(say("{where}{reached}.", where=where, reached=reached), claims, see="places")


def _apart_of(rows: Rows) -> str:
    """How far several twins lie apart, of a single task; of more their mean is told."""
    low, high = (rows[0].get(f"twin_score_{end}") for end in ("low", "high"))
    if len(rows) > 1 or (rows[0].get("twins") or 1) < 2 or low is None or high is None:
        return ""
    return f" (from {100 * low:.1f} to {100 * high:.1f})"


def warning(tables: Tables) -> Prose | None:
    """Where probes have not learned more, for sure, than which label is the most frequent."""
    rows = [row for row in tables["summary"] if learned_nothing(row)]
    if not rows:
        return None
    scores = "F1 {score:percent}{between} %" + "; the most frequent label: {chance:percent} %"
    told = [say("{task} (" + (scores if is_known(row.get("chance_score")) else scores.partition(";")[0]) + ")",
                task=_named(row), score=row["score"], between=_between(row), chance=row.get("chance_score"))
            for row in rows]  # fmt: skip
    return say("The probes did not train: for {tasks} all layers together are not surely better than always saying "
               "the most frequent label. No layers are named. Train longer (--epochs), or on more texts.",
               tasks=listed(told))  # fmt: skip


def _between(row: Row) -> str:
    """The interval of a score, where it has one."""
    low, high = row.get("score_low"), row.get("score_high")
    return f" ({100 * low:.1f}–{100 * high:.1f})" if low is not None and high is not None else ""


def _sound(rows: Rows) -> Rows:
    """The tasks whose probes have learned something."""
    return rows.where(lambda row: not learned_nothing(row))


def places(tables: Tables) -> Iterator[Finding]:
    """The tasks from early to late, or where the probe of the only one listens; and those without a place."""
    rows = tables["summary"].known("expected")
    told = sorted((PIPELINE[row["task"]].expected_layer, _named(row)) for row in rows if row["task"] in PIPELINE)
    published = ", ".join(f"{name} {layer:.1f}" for layer, name in told)
    published = published and f"of {PIPELINE_LAYERS} layers, {PIPELINE_MODEL}, the score rises at: {published}"
    if len(rows) > 1:
        order = listed([say("{task} {at}", task=_named(row), at=_figure(row, "expected")) for row in rows])
        yield Finding(say("From early to late, by the layer at which the score rises: {order}.", order=order),
                      _claims(rows, "expected"), "table", published)  # fmt: skip
    for row in rows.known("centre") if len(rows) == 1 else ():
        text = "The probe over all layers listens around layer {at} (centre of gravity)."
        yield Finding(say(text, at=_figure(row, "centre")), _claims([row], "centre"), "bars", published)
    lost = [row for row in _sound(tables["summary"]).known("gain") if not is_known(row.get("expected"))]
    if lost:
        yield Finding(say("For {named} the layers add nothing that can be told from chance: no place is given.",
                          named=listed([_named(row) for row in lost])), _claims(lost, "gain"))  # fmt: skip


class Order(NamedTuple):
    """How an order of tasks agrees with the published one: pairs of tasks, those in the same order by their values
    alone, those whose intervals are apart, and of these the ones in the same order and the ones turned round.

    >>> Order(4, 1, 0, 0, ()).tau
    -0.5
    """

    pairs: int
    same: int
    apart: int
    apart_same: int
    turned: tuple[tuple[Row, Row], ...]

    @property
    def tau(self) -> float:
        """Kendall's rank correlation."""
        return (2 * self.same - self.pairs) / self.pairs


def order_of(tables: Tables, column: str, *, across: bool = False) -> Order | None:
    """Compare the order of tasks by ``expected`` or ``centre`` with the published one, pair by pair: of all tasks, or
    with ``across`` of syntactic with semantic ones, where the syntactic one is to come first. None where there is no
    pair.

    >>> from attlas.store import Manifest, Result
    >>> order_of(Tables(Result(Manifest("layers"), {"tasks": {"task": []}})), "expected") is None
    True
    """
    published = {"expected": "expected_layer", "centre": "centre_of_gravity"}[column]
    rows = {row["task"]: row for row in tables["summary"].known(column)}
    pairs = []
    for one, other in combinations([task for task in PIPELINE if task in rows], 2):
        if across and not (one in SYNTAX and other in SEMANTICS):
            continue
        turn = not across and getattr(PIPELINE[one], published) > getattr(PIPELINE[other], published)
        pairs.append((rows[other], rows[one]) if turn else (rows[one], rows[other]))
    if not pairs:
        return None
    same = [(first, later) for first, later in pairs if first[column] < later[column]]
    turned = tuple(pair for pair in pairs if pair not in same and _apart(*pair, column))
    apart, both = (sum(_apart(*pair, column) for pair in some) for some in (pairs, same))
    return Order(len(pairs), len(same), apart, both, turned)


def _apart(row: Row, other: Row, column: str) -> bool:
    """Whether two intervals have nothing in common."""
    ends = [each[name] for each in (row, other) for name in (f"{column}_low", f"{column}_high")
            if is_known(each.get(name))]  # fmt: skip
    return len(ends) == 4 and bool(ends[1] < ends[2] or ends[3] < ends[0])


def published_order(tables: Tables) -> Iterator[Finding]:
    """In how many pairs of tasks the published order holds."""
    order, centre = order_of(tables, "expected"), order_of(tables, "centre")
    if order is None or order.pairs < 2:
        return
    apart = (
        "Of {pairs} pairs of tasks, {n} have expected layers whose intervals are apart; of these **{same}** stand in "
        "the published order." if order.apart
        else "Of {pairs} pairs of tasks, none has expected layers whose intervals are apart: no order can be told."
    )  # fmt: skip
    text = say(apart, pairs=order.pairs, n=order.apart, same=order.apart_same)
    text += say("By the values alone it would be {same} of {pairs} (Kendall's τ {tau:signed}).", same=order.same,
                pairs=order.pairs, tau=order.tau)  # fmt: skip
    if centre is not None:
        text += say("By centre of gravity it would be {same} of {pairs} (τ {tau:signed}).", same=centre.same,
                    pairs=centre.pairs, tau=centre.tau)  # fmt: skip
    yield Finding(text, _claims(tables["summary"], "expected", "centre"), "table")


def syntax_first(tables: Tables) -> Iterator[Finding]:
    """Whether syntactic tasks come before semantic ones, by the pairs whose intervals are apart."""
    order = order_of(tables, "expected", across=True)
    if order is None or order.pairs < 2:
        return
    late = [say("{first} ({a:number}) comes after {later} ({b:number})", first=_named(first), a=first["expected"],
                later=_named(later), b=later["expected"]) for first, later in order.turned]  # fmt: skip
    more = [say("{n} more", n=len(late) - 4)] if len(late) > 4 else []
    ordered, apart = order.apart_same, order.apart
    verdict = (
        "**Whether syntax comes before semantics cannot be told**" if not apart
        else "**Syntax comes before semantics** throughout" if ordered == order.pairs
        else "**Syntax comes before semantics where it can be told**" if ordered == apart
        else "**Syntax mostly comes before semantics**" if ordered > 0.75 * apart
        else "**Syntax does not clearly come before semantics**" if ordered
        else "**Syntax comes after semantics**"
    )  # fmt: skip
    rest = "the syntactic one has the lower expected layer in **{ordered}**{but}" if apart else "none can be ordered"
    yield Finding(
        say(
            verdict + ": of {pairs} pairs of a syntactic task (part of speech, constituents, dependencies) and a "
            "semantic one (roles, coreference, proto-roles, relations), {apart} have intervals that are apart; "
            f"{rest}.",
            ordered=ordered, pairs=order.pairs, apart=apart or "none",
            but=say("; {late}", late=listed([*late[:4], *more])) if late else "",
        ),
        _claims(tables["summary"], "expected"), "places", f"all {order.pairs} of these pairs ({PIPELINE_MODEL})",
    )  # fmt: skip


def spread(tables: Tables) -> Iterator[Finding]:
    """Whether syntax is local and semantics spread, by how far gains and weights are from uniform."""
    told, more = [], []
    rows = _sound(tables["summary"])
    for column, what in (("k_gains", "gains K(D)"), ("k_weights", "mixing weights K(s)")):
        syntax, semantics = (rows.where(task=list(group)).mean(column) for group in (SYNTAX, SEMANTICS))
        if syntax is not None and semantics is not None:
            more.append(syntax - semantics)
            told.append(say("for {what} is **{a:number}** in syntax and **{b:number}** in semantics", what=what,
                            a=syntax, b=semantics))  # fmt: skip
    if not told:
        return
    verdict = "Whether syntax is more local depends on the measure"
    if max(map(abs, more)) < ALIKE:
        verdict = "Neither syntax nor semantics is more local"
    elif min(more) > -ALIKE:
        verdict = "Syntax is the more local"
    elif max(more) < ALIKE:
        verdict = "Semantics is the more local"
    yield Finding(
        say("**{verdict}**: {told} (mean of the tasks; the larger, the more in a few layers).", verdict=verdict,
            told=listed(told)),
        _claims(rows, "k_gains", "k_weights"), "bars", "syntax is local, semantics is spread over layers",
    )  # fmt: skip


def gain(tables: Tables) -> Iterator[Finding]:
    """What further layers bring or take, most and least."""
    rows = _sound(tables["summary"]).largest("gain")
    if not rows:
        return
    ends = [rows[0], *rows[1:][-1:]]
    known = all(is_known(row.get(name)) for row in ends for name in ("base", "score"))
    template = "{verb} {name} **{points:percent}** points of F1" + (
        " ({base:percent} to {score:percent})" if known else ""
    )
    brought = [say(template, verb="cost" if row["gain"] < 0 else "bring", name=_named(row), points=abs(row["gain"]),
                   base=row.get("base"), score=row.get("score")) for row in ends]  # fmt: skip
    both = " (the best of all tasks), and {other} (the worst)" if len(ends) > 1 else ""
    text = say(f"Layers above {{first}} {{gain}}{both}.", gain=brought[0], other=brought[-1],
               first=min(tables["scores"].column("layer"), default=0))  # fmt: skip
    told = [(row["task"], PIPELINE[row["task"]]) for row in ends if row["task"] in PIPELINE]
    published = ", ".join(f"{NAMES[task]} {100 * (known.score - known.base):.1f}" for task, known in told)
    yield Finding(text, _claims(ends, "gain", "base", "score"), "table",
                  f"{published} ({PIPELINE_MODEL}, dev)" if published else "")  # fmt: skip


def twin(tables: Tables) -> Iterator[Finding]:
    """How far the untrained twin stays below, where there are several tasks; of one the answer tells."""
    rows = _sound(tables["summary"]).known("score", "twin_score")
    if len(rows) > 1:
        leads = [row["score"] - row["twin_score"] for row in rows]
        least, row = min(zip(leads, rows, strict=True), key=lambda pair: pair[0])
        text = say(
            "The same probes on {twins} score **{mean:percent}** points {way} on average; for {task} they are "
            "{closest} ({lead:percent} points {task_way}; untrained: {twin:percent} %). What is in there, words and "
            "positions alone give away.", twins=untrained(rows),
            mean=abs(fmean(leads)), way=_way(fmean(leads)), task=_named(row), lead=abs(least), task_way=_way(least),
            closest="closest" if least >= 0 else "better than the model's", twin=row["twin_score"],
        )  # fmt: skip
        yield Finding(text, _claims(rows, "score", "twin_score"), "scores")


def selectivity(tables: Tables) -> Iterator[Finding]:
    """How much better gold labels are told than control labels."""
    rows = _sound(tables["summary"]).smallest("selectivity")
    for row in rows[:1]:
        control = say(", where control labels are told at {control_score:percent}", **row)
        mean = say(" {mean:percent} points on average and least for {task}:", mean=rows.mean("selectivity"),
                   task=_named(row)) if len(rows) > 1 else ""  # fmt: skip
        text = say("Selectivity, gold less control labels, is{mean} {least} points{control}.", mean=mean,
                   least=_figure(row, "selectivity", "percent"),
                   control=control if is_known(row.get("control_score")) else "")  # fmt: skip
        yield Finding(text, _claims(rows, "selectivity", "control_score"), "controls")


def single(tables: Tables) -> Iterator[Finding]:
    """The best layer alone, against the mix of all."""
    rows = tables["summary"].known("best", "alone", "score")
    if rows:
        bests = listed([say("{task} layer {best:count} ({points:percent} points {way})", task=_named(row),
                            best=row["best"], points=abs(row["alone"] - row["score"]),
                            way="better" if row["alone"] > row["score"] else "worse") for row in rows])  # fmt: skip
        text = say("The best layer alone, chosen on validation, and how it scores against the mix of all: {bests}.",
                   bests=bests)  # fmt: skip
        yield Finding(text, _claims(rows, "best", "alone", "score"), "scores")


def linear(tables: Tables) -> Iterator[Finding]:
    """Where a linear probe reads more off a layer than the MLP, which then underfits."""
    sound = [row["task"] for row in _sound(tables["summary"])]
    rows = tables["scores"].where(who="model", labels="gold", series="linear", task=sound).known("above_mlp_low")
    ahead = rows.where(lambda row: row["above_mlp_low"] > 0)
    if not rows:
        return
    if not ahead:
        yield Finding(say("On no layer is a linear probe surely better than the MLP: there is no sign that it "
                          "underfits."), see="scores")  # fmt: skip
        return
    told = [say("{task} layer {layer:count} (by {by})", task=_named(row), layer=row["layer"],
                by=with_interval(row, "above_mlp", ("above_mlp_low", "above_mlp_high"), "percent"))
            for row in ahead.largest("above_mlp")[:4]]  # fmt: skip
    more = [say("{n} more", n=len(ahead) - 4)] if len(ahead) > 4 else []
    yield Finding(
        say("**The MLP underfits here**: a linear probe of the same layer is better by more than its interval, in "
            "points of F1: {told}. Read single layers there by the linear line.", told=listed([*told, *more])),
        tuple(value_claim("scores", "above_mlp", row, "task", "who", "labels", "series", "layer", "seed")
              for row in ahead.largest("above_mlp")[:4]),
        "scores",
    )  # fmt: skip


def hesitant(tables: Tables) -> Iterator[Finding]:
    """Where a probe knows more than it says, since no label reaches one half."""
    sound = [row["task"] for row in _sound(tables["summary"])]
    rows = tables["scores"].where(who="model", labels="gold", series=["cumulative", "single"], task=sound)
    rows = rows.known("forced_low").where(lambda row: row["forced_low"] > row["high"])
    for row in sorted(rows, key=lambda row: row["value"] - row["forced"])[:1]:
        yield Finding(
            say("A label counts as said where its sigmoid is above one half, so that a probe says nothing of states "
                "that are hard to tell: for {task} {which} has {value:percent}, and {forced} where the most likely "
                "label is always said.", task=_named(row), value=row["value"],
                which=say("layer {layer:count} alone" if row["series"] == "single" else "the mix up to layer "
                          "{layer:count}", layer=row["layer"]),
                forced=with_interval(row, "forced", ("forced_low", "forced_high"), "percent")),
            tuple(value_claim("scores", name, row, "task", "who", "labels", "series", "layer", "seed")
                  for name in ("value", "forced")),
            "scores",
        )  # fmt: skip


def _way(more: float) -> str:
    return "below" if more >= 0 else "above"


def about(tables: Tables) -> Prose:
    """What was done, and with how many seeds."""
    seeds = tables["summary"].values("seeds") or [1]
    most = f"{max(seeds)} seeds" if max(seeds) > 1 else "one seed"
    told = say(
        "Where in **{model}** can {tasks} be told? Small probes (classifiers) read spans of words, or pairs of them, "
        "off its frozen {what}, layer by layer, and are scored on texts that they have not seen ({seeds}).",
        model=tables.model, tasks=listed([_named(row) for row in tables["summary"]]),
        what="outputs of heads" if over_heads(tables) else "states",
        seeds=f"one to {most}" if len(set(seeds)) > 1 else most,
    )  # fmt: skip
    data = tables["data"]
    if len(data) == 1 and data[0]["shares"]:
        shares = dict(zip(("train", "validation", "test"), data[0]["shares"].split("/"), strict=True))
        told += say("Of a hundred labelled spans, {train} are trained on, {validation} choose the epoch, and {test} "
                    "are scored on.", **shares)  # fmt: skip
        if data[0]["divided"]:
            told += say("{divided}.", divided=data[0]["divided"])
    return told


def _curve(task: str) -> Chart:
    """Scores of one task by layer, on an axis of its own."""

    def draw(tables: Tables, rows: Rows) -> Spec:
        ends = [row[name] for row in rows for name in ("value", "low", "high") if is_known(row[name])]
        room = 0.06 * (max(ends) - min(ends)) or 0.01
        style = Style(height=210, tell=("seeds",), domain=(max(0.0, min(ends) - room), min(1.0, max(ends) + room)))
        drawn = charts.lines("curves", "layer", "value", key="", title="", colour="line", style=style)
        return drawn.draw(tables, rows)

    name = NAMES.get(task, task)
    return charts.custom(f"curve-{task}", name.capitalize(), "curves", ("layer", "value", "line"), draw,
                         where={"task": [task]}, label=f"F1 by layer: {name}")  # fmt: skip


def _label_map(task: str) -> Chart:
    name = NAMES.get(task, task)
    return charts.grid("frequent", "layer", "label", "value", key=f"labels-{task}", title=name.capitalize(),
                       where={"task": [task]}, label=f"Heat map of F1 by label and layer: {name}")  # fmt: skip


PAGE = Page(
    "layers",
    title="Which layers of {model} know what?",
    answer=answer,
    warning=warning,
    chart=charts.dots(
        "summary", "task", "expected", "centre", "scaled_expected", "scaled_centre", key="places",
        title="Expected layer and centre of gravity", style=Style(axis="layer"),
        label="Expected layer and centre of gravity of every task, with intervals",
    ).having(columns=("task", "centre")),
    about=about,
    findings=(places, published_order, syntax_first, spread, gain, twin, selectivity, single, linear, hesitant),
    schemas=(TASKS, SCORES, WEIGHTS, LABELS, SUMMARY, GAINS, MIX, CURVES, CONTROLS, FREQUENT, HEADS, DATA),
    derived=DERIVED,
    sections=(
        Section(
            "table", "Where tasks lie",
            f"Tasks from early to late. Published: {PIPELINE_MODEL}, of {PIPELINE_LAYERS} layers; in the chart above "
            "moved to this model's depth. An empty cell: not measured, or layers add nothing beyond chance.",
            (
                Listing("summary", "task", "expected", "score"),
                Listing("summary", "task", "published_expected", "share", "published_share", "centre",
                        "published_centre", "k_weights", "k_gains", "control_expected", "control_centre", "seeds",
                        "twins", title="Their places"),
            ),
            short="Places",
        ),
        Section(
            "bars", "Layer by layer",
            "As Figure 2 of the paper: the points of F1 that each further layer adds, and how much weight the probe "
            "over all layers gives to each (of heads, the sum).",
            (
                charts.grid("gains", "layer", "task", "points", key="gains", diverging=True,
                            title="Points of F1 that each layer adds"),
                charts.grid("mix", "layer", "task", "weight", key="mix", title="Mixing weights"),
                Listing("gains", "task", "layer", "gain", title="What each layer adds"),
            ),
            short="By layer",
        ),
        Section(
            "scores", "Scores by layer",
            "F1 on test, by the layers that a probe may see. Where the mix of layers 0 to l is far above layer l "
            "alone, it knows more than any one of them; an untrained twin has learned nothing. Where the linear "
            "line is above that of layer l alone, the MLP underfits. Bands are intervals over test documents or "
            "sentences, or with several seeds their range. Scales differ.",
            (
                *(_curve(task) for task in KNOWN),
                Listing("summary", "task", "base", "published_base", "score", "published_score", "gain", "best",
                        "alone", "control_base", "control_score", "selectivity", "base_selectivity"),
            ),
            short="Scores",
            width="half",
            note="Micro-F1 on test, per cent. *Best layer*: the single layer that is best on validation, *alone* its "
            "score on test; *selectivity*: all layers on gold less all layers on control labels; *chance*: always "
            f"saying the most frequent label. Published: {PIPELINE_MODEL}, on dev.",
        ),
        Section(
            "controls", "What is known by heart",
            "How much better the probes tell real labels than labels that words have by chance (selectivity), and "
            "how well they tell the latter, which can only be learned by heart. Where scores rise and selectivity "
            "does not, probes in part merely know word types again.",
            (
                charts.lines("controls", "layer", "selectivity", "control", key="control-lines", title="By layer",
                             colour="task", style=Style(pick=("who",), height=260)),
            ),
            short="Controls",
        ),
        Section(
            "labels", "Label by label",
            f"F1 of single labels, by the layers 0 to l that the probe may see; up to {SHOWN_LABELS}, the most "
            "frequent in test first. Labels told at layer 0 need no context; late ones say where it is made.",
            tuple(_label_map(task) for task in KNOWN),
            short="Labels",
            width="half",
        ),
        Section(
            "heads", "Which heads",
            "The probe over all layers mixes what single heads bring. The number is the head's weight in even "
            "shares, 1 being what it would have if all had the same. Heads that do the same share their weight.",
            (
                charts.head_map("head_mix", "times", "weight", key="head-map",
                                title="Weight of every head in the mix",
                                style=Style(pick=("task", "who")), label="Heat map of mixing weights, layer by head"),
            ),
            short="Heads",
        ),
        Section(
            "edges", "The data of every task",
            "*Control word known*: the share of test edges whose word, by which the control label goes, training "
            "has; of others it cannot be known. Labels that training has not seen count as missed.",
            (
                Listing("data", "task", "name", "labels", "train", "validation", "test", "shares", "sentences",
                        "units", "types_known", "unseen", "epochs", "divided"),
            ),
            short="Data",
        ),
    ),
    words={
        "edge, probe": "a labelled span of words, or pair of spans; a small classifier that reads its labels off "
        "frozen states.",
        "layer 0": "what the model reads (embeddings), before any layer; layer l is after l layers.",
        "mixing weights s": "a probe over all layers mixes their states by weights that sum to one. Their mean layer "
        "is the *centre of gravity*; K(s) says how far they are from uniform, in nats.",
        "gain D": "by how much the F1 of a probe on layers 0 to l is above that of one on 0 to l−1. The mean layer "
        "of the gains is the *expected layer*; K(D) says how far they are from uniform, losses taken as none.",
        "control labels": "every word type has drawn the labels of some training edge; a probe can only know them by "
        "heart. *Selectivity* is gold less control.",
        "untrained twin": "(random-weights baseline) the same architecture with random weights, probed the same way. "
        "One is one draw, and no level of chance; of several (`--twins`) the mean is told, with the lowest and the "
        "highest.",
        "linear": "a probe without a hidden layer (logistic regression for each label, its weights kept small by the "
        "strength that is best on validation), on the mean of a span's pieces; its score beside the MLP's on the "
        "same layer shows where the MLP underfits.",
        "F1": "micro-averaged over labels; a label is predicted where its sigmoid is above one half.",
    },
    limits={
        "A probe learns, too.": "That a label can be read off states does not show that the model uses it. Control "
        "labels say what such a probe learns by heart, untrained twins what words and positions give away.",
        "Mixing weights are not importance.": "Neighbouring layers hold much the same, so that a mix may take "
        "either; a probe that hardly leaves uniform weights (small K) has not chosen. States are brought to one "
        "length before they are mixed, or weights would say which layer has the longest.",
        "The expected layer is a mean over gains,": "losses too. Where layers add little in all, it is a mean over "
        "noise: look at its interval, and at the points below it.",
        "Tasks differ in size, labels and texts, too.": "Their order is safer than their distances.",
        "Published figures": f"are of {PIPELINE_MODEL}, of {PIPELINE_LAYERS} layers, on other data, on dev: compare "
        "the order. Most could not be held against the paper's text again; check them before you cite them.",
        "Intervals": "are over seeds where there are several, wide with few of them; with one seed over the "
        "documents of test where there are at least 16, else over its sentences (none with fewer than six), which "
        "says nothing of another training; mixing weights then have none.",
    },
    unshown={
        "tasks": "its figures stand in the tables of tasks", "scores": "they are drawn as lines, means of the seeds",
        "weights": "they are drawn by layer or by head", "labels": "the most frequent are drawn",
    },
    published=f"{PIPELINE_MODEL}, {PIPELINE_LAYERS} layers (Figure 1; scores on dev, mostly OntoNotes); that model "
    "and that corpus are not at hand, so that what can agree is the order of the tasks. Of these figures only the "
    "expected layer of coreference is confirmed (quoted in issue 1084 of the authors' toolkit, nyu-mll/jiant).",
)  # fmt: skip
