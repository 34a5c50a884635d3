"""What was found of attention as explanation, in sentences, each with the claims that a test can check."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import PurePath
from statistics import fmean, median
from typing import Any

from attlas.ids import paper_label
from attlas.pages import Claim, Finding, Prose, Row, Rows, Tables, count_of, keyed, listed, say
from attlas.store.schema import is_known
from attlas.studies.faith.words import WORDS
from attlas.studies.shared.faith.plane import LN2
from attlas.studies.shared.faith.said import joined, value_claim
from attlas.studies.shared.published import TAU_MODEL, TAUS

SURE, PARAGRAPH = 0.01, "paragraph"
INTERVENTIONS = {"permuted": "shuffled"}  # what is called otherwise in the tables
ATTENTION = ("weight", "norm", "rollout")
_TAU_KEYS, _ERASED_KEYS = ("explanation", "layers", "heads", "against"), ("explanation", "layers", "heads")
_CHANGE_KEYS = ("intervention", "layers", "name")
PUBLISHED_TAUS = f"{TAU_MODEL}: τ with gradients and with leave-one-out " + ", ".join(
    f"{data} {tau.gradient:.2f} and {tau.left_out:.2f} (p < 0.05 in {100 * tau.gradient_significant:.0f} and "
    f"{100 * tau.left_out_significant:.0f} % of texts)"
    for data, tau in TAUS.items()
)


def title(row: Row) -> str:
    """An explanation to read; layers and heads count from 1 here, and from 0 in the tables.

    >>> title({"explanation": "weight", "layers": "last", "heads": "mean"})
    'weights, last layer'
    >>> title({"explanation": "norm", "layers": "5", "heads": "3"})
    'norms, head 6-4'
    """
    name, layers, heads = WORDS[row["explanation"]], row["layers"] or "", row["heads"] or ""
    if row["explanation"] == "rollout" or not layers:
        return name
    if layers.isdigit() and heads.isdigit():
        return f"{name}, head {paper_label(int(layers), int(heads))}"
    return f"{name}, {_layers(layers)}" + (f", head {int(heads) + 1}" if heads.isdigit() else "")


def called(row: Row) -> str:
    """An intervention to read: what was done, where, and with what.

    >>> called({"intervention": "permuted", "layers": "all", "name": ""})
    'shuffled, all layers'
    """
    word = str(INTERVENTIONS.get(row["intervention"], row["intervention"]))
    if row["name"]:
        return f"{word} {PurePath(row['name']).name.removesuffix('.safetensors')}"
    return f"{word}, {_layers(row['layers'])}" if row["layers"] else word


def _layers(layers: str) -> str:
    return f"layer {int(layers) + 1}" if layers.isdigit() else f"{layers} layer{'' if layers == 'last' else 's'}"


def whole(tables: Tables) -> Row:
    """The one row on the model itself."""
    return tables["whole"][0] if tables["whole"] else {}


def stated(tables: Tables, table: str = "agreement", **more: Any) -> Row | None:
    """The row of the attention that is meant, else of the first."""
    rows, about = tables[table].where(explanation="weight", **more), whole(tables)
    exact = rows.where(layers=about.get("layers"), heads=about.get("heads"))
    return next(iter(exact or rows), None)


def tests(tables: Tables) -> Rows:
    """The figures of the card, without its paragraph."""
    return tables["card"].where(lambda row: row["figure"] != PARAGRAPH)


def answer(tables: Tables) -> Finding | None:
    """How many of the card's tests hold, and how attention agrees with gradients."""
    row = stated(tables, against="gradient")
    if row is None or not is_known(row["tau"]):
        return None
    figures = tests(tables)
    holds, fails = (len(figures.where(verdict=verdict)) for verdict in ("holds", "does not hold"))
    none = "No" if fails == len(figures) else "Hardly"
    word = none if not holds else "Yes, by these tests" if holds == len(figures) else "In part at best"
    passed = say("**{word}**: {holds} of {n} tests hold; a", word=word, holds=holds, n=len(figures))
    claims = [value_claim("agreement", "tau", row, *_TAU_KEYS)]
    others = []
    beside = {
        "a random order": {"explanation": "random", "against": "gradient"},
        "gradients and leave-one-out with each other": {"explanation": "gradient", "against": "leave-one-out"},
    }
    for said, which in beside.items():
        other = _first(tables, "agreement", **which)
        if other is not None and is_known(other["tau"]):
            others.append(say("; {said}: {tau:share}", said=said, tau=other["tau"]))
            claims.append(value_claim("agreement", "tau", other, *_TAU_KEYS))
    return Finding(
        say(
            "{passed}ttention ({name}) ranks the words of a text as gradients do with τ = **{tau:share}** "
            "({low:share} to {high:share}{others}).",
            passed=passed if figures else "A", name=title(row), tau=row["tau"], low=row["low"], high=row["high"],
            others=joined(others, "") if others else "",
        ),
        tuple(claims),
        see="agreement",
    )  # fmt: skip


def reading(tables: Tables) -> Iterator[Finding]:
    """What the card's paragraph says of a picture of this attention."""
    for row in tables["card"].where(figure=PARAGRAPH):
        yield Finding(say("{says}", says=row["says"]), see="card")


def verdicts(tables: Tables) -> Iterator[Finding]:
    """The six tests by their verdicts."""
    parts, claims = [], []
    for verdict, rows in tests(tables).by("verdict"):
        told = [say("{name} {value:number}", **row) for row in rows]
        parts.append(say("*{verdict}*: {told}", verdict=verdict, told=listed(told)))
        claims += [value_claim("card", "value", row, "figure") for row in rows.known("value")]
    if parts:
        yield Finding(say("The tests: {told}.", told=joined(parts, "; ")), tuple(claims), see="card")


def agreeing(tables: Tables) -> Iterator[Finding]:
    """Whether agreement is more than luck, that with leave-one-out, and which reading of attention is best."""
    row, left_out = stated(tables, against="gradient"), stated(tables, against="leave-one-out")
    if row is None or not is_known(row["tau"]):
        return
    claims, parts = [value_claim("agreement", "tau", row, *_TAU_KEYS)], []
    if is_known(row["significant"]):
        parts.append(say("In {share:percent} % of instances that agreement with gradients is more than luck (p < "
                         "0.05).",
                         share=row["significant"]))  # fmt: skip
        claims.append(value_claim("agreement", "significant", row, *_TAU_KEYS))
    if left_out is not None and is_known(left_out["tau"]):
        parts.append(say("With leave-one-out τ is {tau:share} ({low:share} to {high:share}).", **left_out))
        claims.append(value_claim("agreement", "tau", left_out, *_TAU_KEYS))
    rivals = tables["agreement"].where(explanation=list(ATTENTION), against="gradient").largest("tau")
    if len(rivals) > 1:
        best = rivals[0]
        claims.append(Claim("largest", "agreement", "tau", keyed([best], *_TAU_KEYS),
                            {"against": "gradient", "explanation": list(ATTENTION)}))  # fmt: skip
        parts.append(
            say("No reading of attention agrees more with gradients.") if best["tau"] <= row["tau"]
            else say("Most like gradients is the order by **{name}** "
                     "({tau:share}).", name=title(best), tau=best["tau"])
        )  # fmt: skip
    if parts:
        yield Finding(joined(parts), tuple(claims), see="explanations", published=PUBLISHED_TAUS)


def erasing(tables: Tables) -> Iterator[Finding]:
    """Whether erasing the most attended words costs more than erasing random ones."""
    row, ranked = stated(tables, "erasure"), tables["erasure"].largest("comprehensiveness")
    if row is None or not is_known(row["over_random"]):
        return
    verdict = (
        "more than" if row["over_random_low"] > 0 else "less than" if row["over_random_high"] < 0 else "no more than"
    )
    place = 1 + [_key(other) for other in ranked].index(_key(row))
    yield Finding(
        say(
            "Erasing the words to which most attention goes ({name}) takes **{comprehensiveness:number}** from the "
            "probability of the predicted label: {verdict} erasing random words ({over_random:signed}, "
            "{over_random_low:signed} to {over_random_high:signed}). By **{best}** it is most, {most:number}; this "
            "attention is number {place} of {n}.",
            **{**row, "name": title(row), "verdict": verdict, "best": title(ranked[0]), "place": place,
               "most": ranked[0]["comprehensiveness"], "n": len(ranked)},
        ),
        (
            value_claim("erasure", "over_random", row, *_ERASED_KEYS),
            Claim("largest", "erasure", "comprehensiveness", keyed(ranked[:1], *_ERASED_KEYS)),
        ),
        see="erasure",
    )  # fmt: skip


def shuffling(tables: Tables) -> Iterator[Finding]:
    """What shuffled attention does."""
    row = _first(tables, "interventions", intervention="permuted", layers="last")
    row = row or _first(tables, "interventions", intervention="permuted")
    if row is None:
        return
    claims = [value_claim("interventions", "tvd_median", row, *_CHANGE_KEYS)]
    parts = [
        say(
            "With the weights of {where} shuffled among the keys, the output of the median instance moves by "
            "**{tvd_median:number}** (TVD; mean {tvd:number}), and {flipped:percent} % of labels change.",
            **{**row, "where": "the last layer" if row["layers"] == "last" else "all layers"},
        )
    ]  # fmt: skip
    if is_known(row["change"]):
        parts.append(say("{metric} {changed}.", metric=_metric(tables).capitalize(), changed=_changed(row)))
    wide = _first(tables, "interventions", intervention="permuted", layers="all")
    if wide is not None and wide is not row:
        claims.append(value_claim("interventions", "tvd_median", wide, *_CHANGE_KEYS))
        more = say(", and {metric} {changed}", metric=_metric(tables), changed=_changed(wide))
        parts.append(say("Shuffled in all layers, the median is {middle:number}{more}.", middle=wide["tvd_median"],
                         more=more if is_known(wide["change"]) else ""))  # fmt: skip
    yield Finding(joined(parts), tuple(claims), see="interventions")


def adversaries(tables: Tables) -> Iterator[Finding]:
    """How far attention can go while the output stays."""
    rows = tables["instances"].known("adversary_jsd")
    if not rows:
        return
    middle = median(rows.column("adversary_jsd"))
    half = rows.count(lambda row: row["adversary_jsd"] > LN2 / 2)
    outside = rows.count(lambda row: row.get("adversary_within") is False)
    within = rows.where(lambda row: row.get("adversary_within") is not False)
    text = say(
        "Attention was found that gives every instance the same output to within {bound:number} (TVD) and diverges "
        "from the model’s own by **{middle:number}** nats in the median, **{share:percent} %** of ln 2, which is the "
        "most there is; for {half} of {n} instances it is more than half of that.{outside}",
        bound=max(within.column("adversary_tvd"), default=0.0), middle=middle, share=middle / LN2, half=half,
        n=len(rows), outside=f" In {count_of(outside, 'instance')} the bound was not kept." if outside else "",
    )  # fmt: skip
    claim = Claim("count", "instances", "adversary_jsd", value=half, than=LN2 / 2)
    yield Finding(text, (claim,), see="plane", published=f"such attention was found for most texts ({TAU_MODEL})")


def needed(tables: Tables) -> Iterator[Finding]:
    """Whether the task needs attention."""
    evened = _first(tables, "interventions", intervention="evened model")
    parts, claims = [], []
    for layers, where in (("last", "in the last layer"), ("all", "everywhere")):
        row = _first(tables, "interventions", intervention="uniform", layers=layers)
        if row is not None and is_known(row["change"]):
            parts.append(say("With uniform weights {where} {metric} {changed}.", where=where, metric=_metric(tables),
                             changed=_changed(row)))  # fmt: skip
            claims.append(value_claim("interventions", "change", row, *_CHANGE_KEYS))
    if evened is not None and is_known(evened["change"]):
        told = _first(tables, "card", figure="uniform")
        parts.append(
            say(
                "A model that was trained with uniform attention has {metric} **{score:share}**, {changed}{told}.",
                metric=_metric(tables), score=evened["score"], changed=_changed(evened, "a change of", "the same"),
                told=say(": **{says}**", says=told["says"]) if told is not None else "",
            )
        )  # fmt: skip
        claims.append(value_claim("interventions", "change", evened, *_CHANGE_KEYS))
    elif parts:
        parts.append(
            say("Whether the task needs attention at all would take a model that was trained with uniform attention.")
        )
    if parts:
        published = (
            "models trained with uniform attention lose nothing that matters on AG News and 20 Newsgroups (Wiegreffe "
            "& Pinter 2019, as Yang retells it)"
        )
        yield Finding(joined(parts), tuple(claims), see="interventions", published=published)


def elsewhere(tables: Tables) -> Iterator[Finding]:
    """How far attention and output of other trainings are."""
    others = tables["interventions"].where(intervention="other model").known("jsd", "tvd")
    if not others:
        return
    adversary = _first(tables, "interventions", intervention="adversary")
    jsd, tvd = fmean(others.column("jsd")), fmean(others.column("tvd"))
    farther = "" if adversary is None or not jsd else say(
        "; the adversaries’ attention is {times:number} times as far", times=adversary["jsd"] / jsd
    )  # fmt: skip
    many = (
        f"{len(others)} other models of the same task have" if len(others) > 1 else "The other model of the task has"
    )
    yield Finding(
        say("{many} attention that diverges by {jsd:number} nats and output that moves by {tvd:number} "
            "(TVD){farther}.",
            many=many, jsd=jsd, tvd=tvd, farther=farther),
        tuple(Claim("mean", "interventions", column, among={"intervention": "other model"}, value=value)
              for column, value in (("jsd", jsd), ("tvd", tvd))),
        see="plane",
        published="how far attention goes from one training to the next is what an adversary must be measured "
                  "against (Wiegreffe & Pinter 2019)",
    )  # fmt: skip


def warning(tables: Tables) -> Prose | None:
    """A model that does no better than the most frequent label has little to explain."""
    row = whole(tables)
    chance = row.get("chance_score")
    if not is_known(chance) or not is_known(row.get("score_low")) or row["score_low"] > chance:
        return None
    return say(
        "{model} does no better here than always giving the most frequent label ({metric} {score:share}, "
        "{score_low:share} to {score_high:share}; most frequent label {chance_score:share}): there is little to "
        "explain.",
        model=tables.model, **row,
    )  # fmt: skip


def about(tables: Tables) -> Prose:
    """The task, the model's score, and which attention is meant."""
    row = {"task": "", "metric": "score", "score": None, "attention": "", **whole(tables)}
    said = [
        say("Attention of **{model}** in the task **{task}** was set against other explanations of the same answers, "
            "and replaced, to see what hangs on it.", model=tables.model, task=row["task"])
    ]  # fmt: skip
    if is_known(row["score"]):
        chance = say("; always the most frequent label: {value:share}", value=row.get("chance_score"))
        said.append(
            say("The model’s {metric} is **{score:share}** ({score_low:share} to {score_high:share}{chance}), on {n} "
                "instances of {texts} texts.",
                **{**row, "chance": chance if is_known(row.get("chance_score")) else ""})
        )  # fmt: skip
    if row["attention"]:
        said.append(say("The attention that is meant: {attention}.", attention=row["attention"]))
    return joined(said)


def _first(tables: Tables, table: str, **wanted: Any) -> Row | None:
    return next(iter(tables[table].where(**wanted)), None)


def _metric(tables: Tables) -> str:
    return str(whole(tables).get("metric", "score"))


def _changed(row: Row, moved: str = "changes by", stayed: str = "stays as it is") -> Prose:
    """What happened to the score, in a clause."""
    if row["change"] == 0:
        return say("{stayed}", stayed=stayed)
    luck = "" if is_known(row["p"]) and row["p"] < SURE else say(", p {p:p}", p=row["p"])
    said = "{moved} {change:signed} ({change_low:signed} to {change_high:signed}{luck})"
    return say(said, **{**row, "luck": luck, "moved": moved})


def _key(row: Row) -> tuple[Any, ...]:
    return tuple(row[name] for name in _ERASED_KEYS)
