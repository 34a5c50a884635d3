"""What layers and probes show, in sentences, each with the claims that a test can check.

Where the score of each task rises, in which order, whether syntax comes before semantics, and what stands beside it:
the untrained twin, control labels, single layers, linear probes.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import combinations
from statistics import fmean
from typing import NamedTuple

from attlas.pages import Claim, Finding, Prose, Row, Rows, Tables, value_claim
from attlas.pages.prose import listed, say, with_interval
from attlas.store.schema import is_known
from attlas.studies.layers.tables import MEASURES, depth_of, learned_nothing, over_heads
from attlas.studies.shared.layer_runs import TASKS as NAMES
from attlas.studies.shared.published import PIPELINE, PIPELINE_LAYERS, PIPELINE_MODEL

ALIKE = 0.03  # nats, within which two means of K are called alike
SYNTAX, SEMANTICS = ("pos", "constituents", "dependencies"), ("roles", "coreference", "proto-roles", "relations")


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
        "twin_score": "the untrained twin {mean:percent} %",
        "chance_score": "always saying the most frequent label {mean:percent} %",
    }
    means = [say(words[name], mean=mean) for name in words if (mean := scored.mean(name)) is not None]
    reached = say("; {reached}", reached=listed(means)) if means else ""
    claims = (*_claims(placed, "expected"), *_claims(scored, *words))
    return Finding(say("{where}{reached}.", where=where, reached=reached), claims, see="places")


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
            "The same probes on the untrained twin score **{mean:percent}** points {way} on average; for {task} they "
            "are {closest} ({lead:percent} points {task_way}; the twin has {twin:percent}). What it has, words and "
            "positions alone give away.",
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
