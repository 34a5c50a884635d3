"""What layers and probes show, in sentences, each with the claims that a test can check.

Where the score of each task rises, in which order, whether syntax comes before semantics, and what stands beside it:
the untrained twin, control labels, single layers, linear probes.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import combinations
from math import comb
from statistics import fmean
from typing import NamedTuple

from attlas.pages import Claim, Finding, Prose, Row, Rows, Tables, keyed, value_claim
from attlas.pages.findings import mean_claims
from attlas.pages.prose import listed, say, with_interval
from attlas.store.schema import is_known
from attlas.studies.layers.tables import MEASURES, depth_of, learned_nothing, over_heads
from attlas.studies.shared.layer_runs import TASKS as NAMES
from attlas.studies.shared.published import PIPELINE, PIPELINE_LAYERS, PIPELINE_MODEL
from attlas.studies.shared.wording import drawn, untrained

OUTSIDE, SELDOM = 0.025, 0.05  # of intervals on either side, by luck; what is less probable is no luck
ALIKE = 0.03  # nats, within which two means of K are called alike
_PROBE = ("task", "who", "labels", "series", "layer", "seed")
_LINEAR = {"who": "model", "labels": "gold", "series": "linear"}
SYNTAX, SEMANTICS = ("pos", "constituents", "dependencies"), ("roles", "coreference", "proto-roles", "relations")


def _claims(rows: Rows | list[Row], *names: str) -> tuple[Claim, ...]:
    """That the table of tasks has these figures."""
    return tuple(
        Claim("value", "tasks", "value",
              [dict(zip(("measure", "who", "labels"), MEASURES[name], strict=True), task=row["task"])],
              value=row[name])
        for row in rows for name in names if is_known(row.get(name))
    )  # fmt: skip


def _sizes(rows: list[Row]) -> Iterator[Claim]:
    """What is told without its sign: a gain, as how much layers bring or cost."""
    return (Claim("value", "summary", "gain", keyed([row], "task"), value=row["gain"],
                  than=1 if row["gain"] > 0 else -1) for row in rows)  # fmt: skip


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
        sure = all(
            _apart(end, row, "expected") for end in (placed[0], placed[-1]) for row in placed if row is not end
        )
        close = "" if sure else ", by their values: not all intervals are apart"
        if not _apart(placed[0], placed[-1], "expected"):
            close = ", which is not sure"
        where = say(template, n=len(placed), first=_named(placed[0]), early=early, depth=depth_of(tables),
                    last=_named(placed[-1]), late=late, close=close)  # fmt: skip
    words = {
        "score": f"all layers reach an F1 of {{mean:percent}} %{' on average' if len(rows) > 1 else ''}",
        "twin_score": "{twins} {mean:percent} %{apart}",
        "chance_score": "always saying the most frequent label {mean:percent} %",
    }
    beside = {"twins": untrained(rows), "apart": _apart_of(rows)}
    means = [say(words[name], mean=mean, **beside) for name in words if (mean := scored.mean(name)) is not None]
    reached = say("; {reached}", reached=listed(means)) if means else ""
    which = {"task": scored.values("task")}
    claims = (*_claims(placed, "expected"), *mean_claims(tables, "summary", which, *words), *_claims(scored, *words))
    claims += drawn("summary", rows, "task")
    claims += (Claim("count", "scores", "layer", value=0, than=depth_of(tables)),) if placed else ()
    if len(placed) > 1:
        claims += (
            Claim("smallest", "summary", "expected", keyed(placed[:1], "task"), {"task": placed.values("task")}),
            Claim("largest", "summary", "expected", keyed(placed[-1:], "task"), {"task": placed.values("task")}),
        )
    return Finding(say("{where}{reached}.", where=where, reached=reached), claims, see="places")


def _apart_of(rows: Rows) -> Prose:
    """How far several twins lie apart, of a single task; of more their mean is told."""
    low, high = (rows[0].get(f"twin_score_{end}") for end in ("low", "high"))
    several = len(rows) == 1 and (rows[0].get("twins") or 1) > 1 and is_known(low) and is_known(high)
    return say(" (from {low:percent} to {high:percent})" if several else "", low=low, high=high)


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
                      (*_claims(rows, "expected"), Claim("smallest", "summary", "expected", keyed(rows, "task"))),
                      "table", published)  # fmt: skip
    for row in rows.known("centre") if len(rows) == 1 else ():
        text = "The probe over all layers listens around layer {at} (centre of gravity)."
        yield Finding(say(text, at=_figure(row, "centre")), _claims([row], "centre"), "bars", published)
    lost = [row for row in _sound(tables["summary"]).known("gain") if not is_known(row.get("expected"))]
    if lost:
        yield Finding(say("For {named} the layers add nothing that can be told from chance: no place is given.",
                          named=listed([_named(row) for row in lost])), _claims(lost, "gain"))  # fmt: skip


def _pairs(tables: Tables, column: str, *, across: bool) -> list[tuple[Row, Row]]:
    """Pairs of tasks, the one that is published to come first before the other."""
    published = {"expected": "expected_layer", "centre": "centre_of_gravity"}[column]
    rows = {row["task"]: row for row in tables["summary"].known(column)}
    pairs = []
    for one, other in combinations([task for task in PIPELINE if task in rows], 2):
        if across and not (one in SYNTAX and other in SEMANTICS):
            continue
        turn = not across and getattr(PIPELINE[one], published) > getattr(PIPELINE[other], published)
        pairs.append((rows[other], rows[one]) if turn else (rows[one], rows[other]))
    return pairs


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
    pairs = _pairs(tables, column, across=across)
    if not pairs:
        return None
    same = [(first, later) for first, later in pairs if first[column] < later[column]]
    turned = tuple(pair for pair in pairs if pair not in same and _apart(*pair, column))
    apart, both = (sum(_apart(*pair, column) for pair in some) for some in (pairs, same))
    return Order(len(pairs), len(same), apart, both, turned)


def order_pairs(tables: Tables) -> Iterator[Row]:
    """Every pair of tasks that is compared with the published order, by each figure: whether it is the same, and
    whether the intervals are apart."""
    for column, across in (("expected", False), ("centre", False), ("expected", True)):
        for first, later in _pairs(tables, column, across=across):
            same, apart = first[column] < later[column], _apart(first, later, column)
            yield {
                "by": column, "across": across, "first": first["task"], "later": later["task"], "same": same,
                "apart": apart, "apart_same": same and apart, "sign": 1 if same else -1,
            }  # fmt: skip


def _order_claims(tables: Tables, order: Order, column: str, *, across: bool = False) -> tuple[Claim, ...]:
    """That so many pairs are in the published order, so many apart, and so many both."""
    among = {"by": column, "across": across}
    counts = {"same": order.same, "apart": order.apart, "apart_same": order.apart_same}
    return (
        *(Claim("count", "order_pairs", name, among=among, value=count, than=0) for name, count in counts.items()),
        Claim("mean", "order_pairs", "sign", among=among, value=order.tau),
    )


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
    claims = _order_claims(tables, order, "expected")
    claims += () if centre is None else _order_claims(tables, centre, "centre")
    yield Finding(text, (*_claims(tables["summary"], "expected", "centre"), *claims), "table")


def syntax_first(tables: Tables) -> Iterator[Finding]:
    """Whether syntactic tasks come before semantic ones, by the pairs whose intervals are apart."""
    order = order_of(tables, "expected", across=True)
    if order is None or order.pairs < 2:
        return
    late = [say("{first} ({a:number}) comes after {later} ({b:number})", first=_named(first), a=first["expected"],
                later=_named(later), b=later["expected"]) for first, later in order.turned]  # fmt: skip
    more = [say("others")] if len(late) > 4 else []
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
        (*_claims(tables["summary"], "expected"), *_order_claims(tables, order, "expected", across=True)), "places",
        f"all {order.pairs} of these pairs ({PIPELINE_MODEL})",
    )  # fmt: skip


def spread(tables: Tables) -> Iterator[Finding]:
    """Whether syntax is local and semantics spread, by how far gains and weights are from uniform."""
    rows = tables["local"]
    if not rows:
        return
    told = [say("for {what} is **{syntax:number}** in syntax and **{semantics:number}** in semantics", **row,
                what={"k_gains": "gains K(D)", "k_weights": "mixing weights K(s)"}[row["by"]])
            for row in rows]  # fmt: skip
    more = [row["syntax"] - row["semantics"] for row in rows]
    verdict = "Whether syntax is more local depends on the measure"
    if max(map(abs, more)) < ALIKE:
        verdict = "Neither syntax nor semantics is more local"
    elif min(more) > -ALIKE:
        verdict = "Syntax is the more local"
    elif max(more) < ALIKE:
        verdict = "Semantics is the more local"
    yield Finding(
        say("**{verdict}**: {told} (mean of the tasks, without an interval; the larger, the more in a few layers).",
            verdict=verdict, told=listed(told)),
        tuple(claim for row, gap in zip(rows, more, strict=True) for claim in (
            *(value_claim("local", name, row, "by") for name in ("syntax", "semantics")),
            *([Claim("above" if gap > 0 else "below", "local", "syntax", keyed([row], "by"), than="semantics")]
              if gap else []))), "bars", "syntax is local, semantics is spread over layers",
    )  # fmt: skip


def local(tables: Tables) -> Iterator[Row]:
    """How far gains and weights are from uniform, on average over syntactic and over semantic tasks."""
    rows = _sound(tables["summary"])
    for column in ("k_gains", "k_weights"):
        syntax, semantics = (rows.where(task=list(group)).mean(column) for group in (SYNTAX, SEMANTICS))
        if syntax is not None and semantics is not None:
            yield {"by": column, "syntax": syntax, "semantics": semantics}


def leads(tables: Tables) -> Iterator[Row]:
    """How far probes of the model are above those of the untrained twin, task by task."""
    for row in _sound(tables["summary"]).known("score", "twin_score"):
        lead = row["score"] - row["twin_score"]
        yield {"task": row["task"], "lead": lead, "size": abs(lead), "twin_score": row["twin_score"]}


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
    first = min(tables["scores"].column("layer"), default=0)
    text = say(f"Layers above {first} {{gain}}{both}.", gain=brought[0], other=brought[-1])
    sound = {"task": rows.values("task")}
    ordered = [Claim("largest", "summary", "gain", keyed(ends[:1], "task"), sound),
               Claim("smallest", "summary", "gain", keyed(ends[-1:], "task"), sound)]  # fmt: skip
    signs = [Claim("below" if row["gain"] < 0 else "above", "summary", "gain", keyed([row], "task"), than=0)
             for row in ends if row["gain"]]  # fmt: skip
    told = [(row["task"], PIPELINE[row["task"]]) for row in ends if row["task"] in PIPELINE]
    published = ", ".join(f"{NAMES[task]} {100 * (known.score - known.base):.1f}" for task, known in told)
    yield Finding(text, (*_claims(ends, "gain", "base", "score"), *ordered, *signs, *_sizes(ends)), "table",
                  f"{published} ({PIPELINE_MODEL}, dev)" if published else "")  # fmt: skip


def twin(tables: Tables) -> Iterator[Finding]:
    """How far the untrained twin stays below, where there are several tasks; of one the answer tells."""
    rows = tables["leads"].smallest("lead")
    if len(rows) > 1:
        row, least, mean = rows[0], rows[0]["lead"], fmean(rows.column("lead"))
        beside = tables["summary"].known("twin_score")
        text = say(
            "The same probes on {twins} score **{mean:percent}** points {way} on average; for {task} they are "
            "{closest} ({lead:percent} points {task_way}; untrained: {twin:percent} %). What is in there, words and "
            "positions alone give away.", twins=untrained(beside),
            mean=abs(mean), way=_way(mean), task=_named(row), lead=abs(least), task_way=_way(least),
            closest="closest" if least >= 0 else "better than the model's", twin=row["twin_score"],
        )  # fmt: skip
        yield Finding(text, (*drawn("summary", beside, "task"),
                             Claim("mean", "leads", "lead", value=mean, than=1 if mean > 0 else -1),
                             Claim("smallest", "leads", "lead", keyed([row], "task")),
                             Claim("above", "leads", "lead", keyed([row], "task"), than=0) if least > 0
                             else Claim("count", "leads", "lead", among={"task": row["task"]}, than=0, value=0)),
                      "scores")  # fmt: skip


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
        sound = {"task": rows.values("task")}
        claims = (*mean_claims(tables, "summary", sound, "selectivity"),
                  Claim("smallest", "summary", "selectivity", keyed([row], "task"), sound))  # fmt: skip
        yield Finding(text, (*_claims(rows, "selectivity", "control_score"), *claims), "controls")


def single(tables: Tables) -> Iterator[Finding]:
    """The best layer alone, against the mix of all."""
    rows = tables["summary"].known("best", "alone", "score")
    if rows:
        bests = listed([say("{task} layer {best:count} ({how})", task=_named(row), best=row["best"],
                            how=_against(row["alone"] - row["score"])) for row in rows])  # fmt: skip
        text = say("The best layer alone, chosen on validation, and how it scores against the mix of all: {bests}.",
                   bests=bests)  # fmt: skip
        apart = (Claim("difference", "summary", "alone", keyed([row], "task"), value=row["alone"] - row["score"],
                       than="score") for row in rows)  # fmt: skip
        yield Finding(text, (*_claims(rows, "best", "alone", "score"), *apart), "scores")


def _against(more: float) -> Prose:
    """By how many points a score is better or worse; level, where that would be written as none."""
    if round(100 * abs(more), 1) == 0:
        return say("level")
    return say("{points:percent} points {way}", points=abs(more), way="better" if more > 0 else "worse")


def by_luck(ahead: int, of: int) -> float:
    """How probable it is that at least so many of some 95 % intervals lie above zero where nothing is better.

    >>> round(by_luck(1, 182), 2), round(by_luck(8, 14), 4)
    (0.99, 0.0)
    """
    return 1 - sum(comb(of, n) * OUTSIDE**n * (1 - OUTSIDE) ** (of - n) for n in range(ahead))


def linear(tables: Tables) -> Iterator[Finding]:
    """Where a linear probe reads more off a layer than the MLP, which then underfits."""
    sound = [row["task"] for row in _sound(tables["summary"])]
    rows = tables["scores"].where(**_LINEAR, task=sound).known("above_mlp", "above_mlp_low")
    ahead = rows.where(lambda row: row["above_mlp_low"] > 0)
    if not rows:
        return
    if not ahead:
        yield Finding(say("On no layer is a linear probe surely better than the MLP: there is no sign that it "
                          "underfits."), (_underfits(rows, 0),), see="scores")  # fmt: skip
        return
    told = [say("{task} layer {layer:count} (by {by})", task=_named(row), layer=row["layer"],
                by=with_interval(row, "above_mlp", ("above_mlp_low", "above_mlp_high"), "percent"))
            for row in ahead.largest("above_mlp")[:4]]  # fmt: skip
    lucky = by_luck(len(ahead), len(rows)) >= SELDOM
    opening = "There is hardly a sign that the MLP underfits: in" if lucky else "**The MLP underfits here**: in"
    ending = "So many may be luck among so many intervals" if lucky else "Read single layers there by the linear line"
    yield Finding(
        say(f"{opening} {{ahead}} of {{n}} cases a linear probe of the same layer is better by more than its "
            f"interval, in points of F1{{most}}: {{told}}. {ending}.",
            ahead=len(ahead), n=len(rows), told=listed(told), most=", most of all" if len(ahead) > len(told) else ""),
        (*(value_claim("scores", "above_mlp", row, *_PROBE) for row in ahead.largest("above_mlp")[:4]),
         Claim("largest", "scores", "above_mlp", keyed(ahead.largest("above_mlp")[:4], *_PROBE),
               {**_LINEAR, "above_mlp_low": ahead.values("above_mlp_low"), "task": ahead.values("task")}),
         _underfits(rows, len(ahead))),
        "scores",
    )  # fmt: skip


def _underfits(rows: Rows, ahead: int) -> Claim:
    """That so many linear probes are surely better than the MLP of their layer."""
    among = {**_LINEAR, "task": rows.values("task"), "above_mlp_low": rows.values("above_mlp_low")}
    return Claim("count", "scores", "above_mlp_low", among=among, value=ahead, than=0)


def hesitant(tables: Tables) -> Iterator[Finding]:
    """Where a probe knows more than it says, since no label reaches one half."""
    sound = [row["task"] for row in _sound(tables["summary"])]
    rows = tables["scores"].where(who="model", labels="gold", series=["cumulative", "single"], task=sound)
    rows = rows.known("forced_low", "high").where(lambda row: row["forced_low"] > row["high"])
    for row in sorted(rows, key=lambda row: row["value"] - row["forced"])[:1]:
        yield Finding(
            say("A label counts as said where its sigmoid is above one half, so that a probe says nothing of states "
                "that are hard to tell: for {task} {which} has {value:percent}, and {forced} where the most likely "
                "label is always said.", task=_named(row), value=row["value"],
                which=say("layer {layer:count} alone" if row["series"] == "single" else "the mix up to layer "
                          "{layer:count}", layer=row["layer"]),
                forced=with_interval(row, "forced", ("forced_low", "forced_high"), "percent")),
            (*(value_claim("scores", name, row, *_PROBE) for name in ("value", "forced")),
             Claim("above", "scores", "forced_low", keyed([row], *_PROBE), than="high")),
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
