"""What attention links, in sentences, each with the claims that a test can check.

A *view* is one side of the attention read in one direction; sentences speak first of the one with the lowest error
rate. Error rates stand in tables as shares and in sentences as points out of a hundred, as the field writes them.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from attlas.measures.names import MEASURES
from attlas.pages import Claim, Finding, Prose, Row, Rows, Tables
from attlas.pages.findings import finding, keyed, mean_claims, value_claim
from attlas.pages.prose import listed, say
from attlas.pages.rows import label_of
from attlas.store.schema import is_known
from attlas.studies.align.tables import BY_HEADS, BY_NORM, HALVES, ORACLE
from attlas.studies.shared.wording import where_known

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
NEAR = 0.02  # an error rate this close to an untrained twin's is no better
FAR = 0.1  # an error rate so far above that of the layer that gold chooses is not worth having


def view_name(side: str, direction: str) -> str:
    """A side and a direction in words."""
    return SIDES.get(side, side) + ("" if own_way(side, direction) else f", {direction}")


def own_way(side: str, direction: str) -> bool:
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


def _key_of(*rows: Row) -> list[Mapping[str, Any]]:
    """What tells a choice from others."""
    return keyed(rows, "direction", "measure", "side", "unit", "how")


def _value_of(row: Row) -> Claim:
    """That a choice has its error rate."""
    return Claim("value", "choices", "value", _key_of(row), value=row["value"])


def _rate_of(row: Row) -> Claim:
    """That an aligner has its error rate."""
    return value_claim("scores", "value", row, "aligner", "trained_on", "direction", "score")


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
    sure = bool(known) and is_known(blind["high"]) and blind["high"] < lowest
    told = [say("{name} **{value:percent}**", name=name, value=value) for name, value in known.items()]
    ends = "(95 % interval {low:percent} to {high:percent})" if is_known(blind["low"]) else "(too few pairs for more)"
    verdict = "Yes" if sure else "No" if blind["value"] >= lowest else "Hardly"
    return finding(
        "{verdict} {view}, by norm, in the layer that is chosen without gold ({layer:index}), its links "
        f"have an alignment error rate (AER) of **{{value:percent}}** {ends}; {{told}}.",
        _value_of(blind),
        *(_rate_of(row) for row in _aligners(tables, view[1]).where(aligner="diagonal")),
        *([Claim("below", "choices", "high", _key_of(blind), than=lowest)] if sure else []),
        verdict=say("**{verdict}:** read", verdict=verdict) if known else "Read",
        view=view_name(*view),
        told=listed(told) if known else "nothing stands beside it to tell whether that is much",
        see="layers", **blind,
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
        among: dict[str, Any] = {"side": view[0], "direction": view[1]}
        gains = tables["gains"].where(**among).known("change", "low", "high")
        among["layer"] = gains.values("layer")
        if gains:
            better, worse = gains.count(lambda row: row["high"] < 0), gains.count(lambda row: row["low"] > 0)
            most = gains.smallest("change")[0]
            gained = say(
                "; most in layer {layer:index}, where the rate changes by {change:percent} points ({low:percent} to "
                "{high:percent})", **most,
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
        half = "The layer that is best on one half of the pairs has {value:percent} on the other."
        text += say(half, **honest)
    among = {"side": view[0], "direction": view[1], "head": None}
    claims = [_value_of(row) for row in (blind, oracle, summed, honest) if row]
    claims.append(
        Claim("difference", "choices", "value", _key_of(blind, oracle), value=blind["value"] - oracle["value"])
    )
    claims += [Claim("largest", "mean_norms", "value", [{"layer": blind["layer"]}], among)] if (
        tables["mean_norms"].where(**among)) else []  # fmt: skip
    yield Finding(text, tuple(claims), "choices")


def missed(tables: Tables) -> Iterator[Finding]:
    """From which sides the choice without gold misses the layer that aligns."""
    told, claims, clean = [], [], False
    for view in single(tables) if scored(tables) else ():
        blind, oracle = (_choice(tables, view, "norm", how) for how in (BY_NORM, ORACLE))
        if blind is None or oracle is None:
            continue
        if blind["value"] - oracle["value"] < FAR:
            clean = True
            continue
        claims += [_value_of(blind), _value_of(oracle)]
        told.append(say(
            "{name} it takes layer {layer:index}, at **{value:percent}**, where layer {best:index} has "
            "**{least:percent}**", name=view_name(*view), best=oracle["layer"], least=oracle["value"], **blind,
        ))  # fmt: skip
    if told:
        yield finding(
            "The choice without gold **cannot be relied on**: read {told}.{rest}", *claims, told=listed(told),
            rest=" From the other sides it comes near." if clean else "", see="choices",
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
    more, less = _surely_below(best, layer), _surely_below(layer, best)
    shown = [Claim("below", "choices", "high", _key_of(first), than=second["low"])
             for first, second, sure in ((best, layer, more), (layer, best, less)) if sure]  # fmt: skip
    yield finding(
        "A single head{named} {verdict} a layer: the head that is best on one half has an AER of **{value:percent}** "
        "by {measure}{ends} on the other, the layer that is best there {of_layer:percent} by norm{layer_ends}.",
        _value_of(best), _value_of(layer), *shown, *([] if oracle is None else [_value_of(oracle)]), see="map",
        of_layer=layer["value"], **best, named="" if oracle is None else f" (on all pairs: {label_of(oracle)})",
        ends=_bracketed(best), layer_ends=_bracketed(layer),
        verdict="knows more than" if more else "knows less than" if less
        else "is not shown to know more or less than",
    )  # fmt: skip


def _surely_below(row: Row, other: Row) -> bool:
    """Whether an error rate is below another for sure: their intervals have nothing in common."""
    return is_known(row["high"]) and is_known(other["low"]) and bool(row["high"] < other["low"])


def _bracketed(row: Row) -> Prose:
    """The interval of an error rate in brackets, where it has one."""
    return say(" ({low:percent} to {high:percent})", **row) if is_known(row["low"]) else say("")


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
    below = [name for name, row in zip(names, rows, strict=True) if _surely_below(row, own)]
    near = [name for name, row in zip(names, rows, strict=True) if row["value"] < own["value"] and name not in below]
    among = {"direction": rows[0]["direction"], "score": "AER", "aligner": rows.values("aligner")}
    verdict = (
        "All of them are better" if len(below) == len(rows) else "None of them is surely better" if not below
        else f"Better than attention: {', '.join(below)}"
    )  # fmt: skip
    yield finding(
        "In the same direction, aligners that know no network have {told}, against {value:percent} by norm in the "
        "layer chosen without gold. {verdict}{near}.",
        *(Claim("count", "scores", "high", among=among, value=len(below), than=end, below=True)
          for end in filter(is_known, [own["low"]])),
        Claim("count", "scores", "value", among=among, value=len(below) + len(near), than=own["value"], below=True),
        _value_of(own), *map(_rate_of, rows),
        see="methods", published="fast_align 28.4, GIZA++ 21.0 (German-English, trained on far more text)",
        told=listed(told), value=own["value"], verdict=verdict,
        near=f"; lower, with intervals that overlap: {', '.join(near)}" if near else "",
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
            *(_value_of(row) for _, row in alone if row is not None),
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
        "the sentence or another piece outside words.{twins}",
        Claim("smallest", "scores", "value", keyed(rows[:1], *key), among),
        Claim("largest", "scores", "value", keyed(rows[-1:], *key), among),
        *mean_claims(tables, "scores", among, "twin"),
        low=low, high=high, see="layers",
        twins=where_known(" Untrained twins link {twin:percent} % on average.", twin=rows.mean("twin")),
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
