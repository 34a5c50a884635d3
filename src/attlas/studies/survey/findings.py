"""What a survey found, stream by stream, in sentences with claims that a test can check.

What was published about bert-base-uncased stands beside them, for encoders only.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import replace
from statistics import median
from typing import Any

from attlas.measures.quantities import places
from attlas.pages import Claim, Finding, Row, Rows, Tables, count_of, keyed, label_of, say, value_claim
from attlas.pages.findings import mean_claims
from attlas.pages.prose import Prose, listed
from attlas.studies.shared.wording import CLARK, KOBAYASHI, layer_means, mostly_in, of_all, of_stream, published

OVER = 0.5  # of its weight: from there on a head is said to look at one place
RESTS = ("sep", "cls", "first")


def one_place(tables: Tables) -> Iterator[Finding]:
    """How many heads look at one place, and at which, stream by stream."""
    labels = tables.schema("by_head")["place"].labels
    for stream, heads in tables["by_head"].known("share").by("stream"):
        over = heads.where(lambda row: row["share"] > OVER)
        counts = Counter(over.column("place"))
        best = (heads.largest("low") or heads.largest("share"))[0]
        among = {"stream": stream}
        claims = [Claim("count", "by_head", "share", among=among, than=OVER, value=len(over))]
        claims += [
            Claim("count", "by_head", "share", among={**among, "place": place}, than=OVER, value=count)
            for place, count in counts.items()
        ]
        claims.append(value_claim("by_head", "share", best))
        sure = "low" if heads.known("low") else "share"
        claims.append(Claim("largest", "by_head", sure, keyed([best]), among))
        where = [say("{n} on {place}", n=count, place=labels[place]) for place, count in counts.most_common()]
        yield Finding(
            say(
                "**{over}** heads{of} put more than half of their weight on one place{where}; the surest is "
                "**{head}**, with **{share:share}** on {place}{interval}.",
                over=of_all(len(over), len(heads)), of=of_stream(tables, stream),
                where=say(": {places}", places=listed(where)) if where else "", head=label_of(best),
                share=best["share"], place=labels[best["place"]], interval=_interval(best),
            ),
            tuple(claims), see="where",
        )  # fmt: skip


def _interval(row: Row) -> Prose:
    """The interval and chance of a share in brackets, as far as they are known."""
    said = {"low": "{low:share} to {high:share}", "chance": "chance {chance:share}"}
    parts = [say(template, **row) for name, template in said.items() if row.get(name) is not None]
    return say(" ({parts})" if parts else "", parts=listed(parts, between=", "))


def neighbours(tables: Tables) -> Iterator[Finding]:
    """Heads that look at the piece before or after."""
    known = {
        "previous": "4 heads over half on the previous piece (layers 2, 4, 7, 8)",
        "next": "5 heads over half on the next piece (layers 1, 2, 2, 3, 6)",
    }
    for stream, heads, among in _by_stream(tables, *known):
        ranked = heads.largest("value")
        over = ranked.where(lambda row: row["value"] > OVER)
        shown = over[:5] or ranked[:1]
        yield Finding(
            say(
                "{over}{of} {put} more than half of the weight on {place}{named}{chance}.",
                over=count_of(len(over), "head") if over else "No head", put="put" if len(over) > 1 else "puts",
                of=of_stream(tables, stream), place=places("where")[among["quantity"]],
                named=say(": **{heads}**{more}" if over else "; the most is **{heads}**",
                          heads=shown.sentence("value", "share"),
                          more=f" and {len(over) - 5} more" if len(over) > 5 else ""),
                chance=_chance(heads),
            ),
            (Claim("largest", "heads", "value", keyed(shown), among),
             Claim("count", "heads", "value", among=among, than=OVER, value=len(over)),
             *mean_claims(tables, "heads", among, "chance")),
            see="where", published=published(stream, f"{CLARK}: {known[among['quantity']]}"),
        )  # fmt: skip


def resting_place(tables: Tables) -> Iterator[Finding]:
    """The piece on which attention rests: whichever of [SEP], [CLS] and the first piece has the most in any layer."""
    for stream in tables.streams:
        resting = {among["quantity"]: heads for _, heads, among in _by_stream(tables, *RESTS, stream=stream)}
        means = {quantity: layer_means(heads) for quantity, heads in resting.items()}
        if not means:
            continue
        quantity = max(means, key=lambda name: max(means[name].values()))
        layers, where = mostly_in(means[quantity], OVER)
        at = {"stream": stream, "measure": "weight", "quantity": quantity, "layer": layers}
        asked = {"weight": at, "norm": at | {"measure": "norm"}, "own": at | {"quantity": "sep_to_sep"}}
        figures = {what: tables["heads"].where(**among).mean("value") for what, among in asked.items()}
        weight, norm, own = figures.values()
        claims = [claim for among in asked.values() for claim in mean_claims(tables, "heads", among, "value")]
        claims += mean_claims(tables, "heads", {**at, "layer": list(means[quantity])}, "chance")
        claims += [
            claim for layer in layers for claim in mean_claims(tables, "heads", {**at, "layer": layer}, "value")
        ]
        but = "but only" if norm is not None and weight is not None and norm < weight / 2 else "and"
        name = places("where")[quantity]
        yield Finding(
            say(
                "{name}{of} takes **{weight:share}** of the weight in {where}{norm}{chance}.{own}",
                name=name[0].upper() + name[1:], of=of_stream(tables, stream), weight=weight,
                where=where, chance=_chance(resting[quantity]),
                norm="" if norm is None else say(f", {but} **{{norm:share}}** of the norm", norm=norm),
                own="" if own is None or quantity != "sep"
                else say(" [SEP] itself puts {own:share} on [SEP] there.", own=own),
            ),
            tuple(claims), see="where",
            published=published(stream, f"{CLARK}: over half of the attention of layers 6–10 goes to [SEP]; [SEP] "
                                        "puts over 0.90 on [SEP]"),
        )  # fmt: skip


def lengths(tables: Tables) -> Iterator[Finding]:
    """Whether much weight goes with short vectors, and rare words with long ones."""
    for stream, heads in tables["spearman"].known("value").by("stream"):
        below, middle = heads.count(lambda row: row["value"] < 0), median(heads.column("value"))
        tendency = (
            "much weight does not go with short vectors" if middle >= 0
            else "what gets much weight tends to have a short vector" if middle <= -0.3
            else "what gets much weight tends, weakly, to have a short vector"
        )  # fmt: skip
        bands = tables["frequency"].where(stream=stream).known("value")
        means = {first: rows.mean("value") or 0.0 for first, rows in bands.by("rank_from")}
        rare, among = say(""), {"stream": stream}
        claims = [Claim("count", "spearman", "value", among=among, than=0.0, below=True, value=below),
                  Claim("median", "spearman", "value", among=among, value=middle)]  # fmt: skip
        if len(means) > 1 and means[min(means)] > 0:
            rare = say(" The rarest words' vectors are {ratio:number} times as long as those of the most frequent.",
                       ratio=means[max(means)] / means[min(means)])  # fmt: skip
            often, seldom = ({"stream": stream, "rank_from": first} for first in (min(means), max(means)))
            claims += mean_claims(tables, "frequency", often, "value")
            claims += [replace(claim, than=means[min(means)])
                       for claim in mean_claims(tables, "frequency", seldom, "value")]  # fmt: skip
        yield Finding(
            say(
                "In **{below}** heads{of}, weight and ‖f(x)‖ are negatively related (median rank correlation "
                "{middle:signed}): {tendency}.{rare}",
                below=of_all(below, len(heads)), of=of_stream(tables, stream), middle=middle,
                tendency=tendency, rare=rare,
            ),
            tuple(claims), see="norms",
            published=published(stream, f"{KOBAYASHI}: negatively related; rare words have the longer vectors"),
        )  # fmt: skip


def edge_times(tables: Tables) -> Iterator[Row]:
    """How many times chance each head puts on dependency edges."""
    for _, heads, _ in _by_stream(tables, "edges"):
        for row in heads.where(lambda row: bool(row.get("chance"))):
            yield {**{name: row[name] for name in ("stream", "layer", "head")}, "times": row["value"] / row["chance"]}


def edges(tables: Tables) -> Iterator[Finding]:
    """The head that follows dependency edges most."""
    for stream, known, among in _by_stream(tables, "edges"):
        heads = known.where(lambda row: bool(row.get("chance")))
        if not heads:
            continue
        head, value, claims = _best(heads, among)
        twice = tables["times"].where(stream=stream).count(lambda row: row["times"] > 2)
        yield Finding(
            say(
                "Head **{head}**{of} follows dependency edges most: **{value:share}** of its attention between "
                "words, {times:number} times chance. {twice} heads put more than twice chance there.",
                head=label_of(head), of=of_stream(tables, stream), value=value,
                times=value / head["chance"], twice=of_all(twice, len(heads)),
            ),
            (*claims, *(Claim("ratio", "heads", of, keyed([head]), among, value=value / head["chance"], than="chance")
                        for of in {claim.column for claim in claims[1:]}),
             Claim("count", "times", "times", among={"stream": stream}, value=twice, than=2.0)), see="edges",
        )  # fmt: skip


def breadth(tables: Tables) -> Iterator[Finding]:
    """The broadest and the most focused heads and layers."""
    for stream, heads, among in _by_stream(tables, "entropy"):
        broad, widest, claims = _best(heads, among)
        narrow, least, more_claims = _best(heads, among, least=True)
        means = sorted((mean, layer + 1) for layer, mean in layer_means(heads).items())
        ends = [claim for _, layer in (means[0], means[-1])
                for claim in mean_claims(tables, "heads", {**among, "layer": layer - 1}, "value")]  # fmt: skip
        ends += mean_claims(tables, "heads", among, "chance")
        own = layer_means(tables["heads"].where(**among | {"quantity": "entropy_cls"}))
        own = own if any(abs(value) > 1e-6 for value in own.values()) else {}  # a first piece that sees itself alone
        if own:
            last = {**among, "quantity": "entropy_cls", "layer": max(own)}
            ends += mean_claims(tables, "heads", last, "value")
        yield Finding(
            say(
                "The broadest head{of} is **{broad}** ({widest:number} nats{chance}), the most focused **{narrow}** "
                "({least:number}).{layers}{cls}",
                of=of_stream(tables, stream), broad=label_of(broad), widest=widest, narrow=label_of(narrow),
                least=least, chance=_chance(heads, "; uniform attention {chance:number}"),
                layers=say(" Layer {a} is the broadest ({x:number} on average) and layer {b} the most focused "
                           "({y:number}).", a=means[-1][1], x=means[-1][0], b=means[0][1], y=means[0][0])
                if len(means) > 1 else "",
                cls=say(" From [CLS], the last layer's entropy is {own:number} nats.", own=own[max(own)])
                if own else "",
            ),
            (*claims, *more_claims, *ends), see="entropy",
            published=published(stream, f"{CLARK}: last-layer entropy from [CLS] 3.89 nats; layer 1 has heads that "
                                        "spread over the whole text"),
        )  # fmt: skip


def reach(tables: Tables) -> Iterator[Finding]:
    """How far heads look."""
    for stream, heads, among in _by_stream(tables, "distance"):
        near, least, claims = _best(heads, among, least=True)
        far, most, more_claims = _best(heads, among)
        mean = heads.mean("value")
        yield Finding(
            say(
                "A head{of} looks {mean:number} pieces away on average{chance}; the nearest is **{near}** "
                "({least:number}), the farthest is **{far}** ({most:number}).",
                of=of_stream(tables, stream), mean=mean, near=label_of(near), least=least, far=label_of(far),
                most=most, chance=_chance(heads, " (uniform attention: {chance:number})"),
            ),
            (*mean_claims(tables, "heads", among, "value", "chance"), *claims, *more_claims), see="distance",
        )  # fmt: skip


def _by_stream(tables: Tables, *quantities: str, stream: str = "") -> Iterator[tuple[str, Rows, dict[str, Any]]]:
    """Of each stream, or of one, the known weights of each quantity that it has, and what tells them from others."""
    for each in [stream] if stream else tables.streams:
        for quantity in quantities:
            among = {"stream": each, "measure": "weight", "quantity": quantity}
            if rows := tables["heads"].where(**among).known("value"):
                yield each, rows, among


def _best(heads: Rows, among: dict[str, Any], *, least: bool = False) -> tuple[Row, float, tuple[Claim, ...]]:
    """The head with the most (or the least), chosen on one half of the documents (or texts), with its number on the
    other; both from all of them where halves are not known. The best of many is partly luck."""
    halved = len(heads.known("first_half", "second_half")) == len(heads)
    by, of = ("first_half", "second_half") if halved else ("value", "value")
    head = (heads.smallest(by) if least else heads.largest(by))[0]
    return head, head[of], (
        Claim("smallest" if least else "largest", "heads", by, keyed([head]), among),
        Claim("value", "heads", of, keyed([head]), among, value=head[of]),
    )  # fmt: skip


def _chance(heads: Rows, said: str = "; uniform attention would put {chance:share} there") -> Prose:
    """What chance gives, as part of a sentence; nothing where it is not known."""
    chance = heads.mean("chance")
    return say("") if chance is None else say(said, chance=chance)
