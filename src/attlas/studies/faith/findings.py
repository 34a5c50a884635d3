"""What was found of attention as explanation, in sentences, each with the claims that a test can check."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import PurePath
from statistics import fmean, median
from typing import Any

from attlas.ids import paper_label
from attlas.pages import Claim, Finding, Prose, Row, Rows, Tables, keyed, listed, say, value_claim
from attlas.pages.findings import finding
from attlas.stats.chance import GUESSES
from attlas.store.schema import is_known
from attlas.studies.faith.words import WORDS
from attlas.studies.shared.faith.guard import has_learned
from attlas.studies.shared.faith.plane import LN2
from attlas.studies.shared.published import TAU_MODEL, TAUS

SURE, PARAGRAPH = 0.01, "paragraph"
INTERVENTIONS = {"permuted": "shuffled"}  # what is called otherwise in the tables
ATTENTION = ("weight", "norm", "rollout")
_KEYS = {
    "agreement": ("explanation", "layers", "heads", "against"), "erasure": ("explanation", "layers", "heads"),
    "interventions": ("intervention", "layers", "name"),
}  # fmt: skip
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


def _whole(tables: Tables) -> Row:
    """The one row on the model itself."""
    return tables["whole"][0] if tables["whole"] else {}


def _stated(tables: Tables, table: str = "agreement", **more: Any) -> Row | None:
    """The row of the attention that is meant, else of the first."""
    rows, about = tables[table].where(explanation="weight", **more), _whole(tables)
    exact = rows.where(layers=about.get("layers"), heads=about.get("heads"))
    return next(iter(exact or rows), None)


def card_figures(tables: Tables) -> Rows:
    """The figures of the card, without its paragraph."""
    return tables["card"].where(lambda row: row["figure"] != PARAGRAPH)


def answer(tables: Tables) -> Finding | None:
    """How many of the card's tests hold, and how attention agrees with gradients; of a model that has not learned
    its task the latter alone."""
    row = _stated(tables, against="gradient")
    if row is None or not is_known(row["tau"]):
        return None
    figures = card_figures(tables) if has_learned(_whole(tables)) else Rows(())
    holds, fails = (len(figures.where(verdict=verdict)) for verdict in ("holds", "does not hold"))
    none = "No" if fails == len(figures) else "Hardly"
    word = none if not holds else "Yes, by these tests" if holds == len(figures) else "In part at best"
    passed = say("**{word}**: {holds} of {n} tests hold; a", word=word, holds=holds, n=len(figures))
    told, claims = [_ends(row, "low", "high", "share")], [_claim("agreement", "tau", row)]
    if figures:
        among = {"figure": figures.values("figure")}
        claims += [Claim("distinct", "card", "figure", among=among, value=len(figures)),
                   Claim("distinct", "card", "figure", among={**among, "verdict": "holds"}, value=holds)]  # fmt: skip
    beside = {
        "a random order": {"explanation": "random", "against": "gradient"},
        "gradients and leave-one-out with each other": {"explanation": "gradient", "against": "leave-one-out"},
    }
    for said, which in beside.items():
        for other in tables["agreement"].where(**which).known("tau")[:1]:
            told.append(say("{said}: {tau:share}", said=said, tau=other["tau"]))
            claims.append(_claim("agreement", "tau", other))
    return finding(
        "{passed}ttention ({name}) ranks the words of a text as gradients do with τ = **{tau:share}** ({told}).",
        *claims, see="agreement", passed=passed if figures else "A", name=title(row), tau=row["tau"],
        told=listed(told, between="; "),
    )  # fmt: skip


def reading(tables: Tables) -> Iterator[Finding]:
    """What the card's paragraph says of a picture of this attention."""
    for row in tables["card"].where(figure=PARAGRAPH):
        yield finding("{says}", see="card", says=row["says"])


def agreeing(tables: Tables) -> Iterator[Finding]:
    """Whether agreement is more than luck, that with leave-one-out, and which reading of attention is best."""
    row, left_out = _stated(tables, against="gradient"), _stated(tables, against="leave-one-out")
    if row is None or not is_known(row["tau"]):
        return
    claims, parts = [_claim("agreement", "tau", row)], []
    if is_known(row["significant"]):
        said = "In {significant:percent} % of instances that agreement with gradients has p < 0.05, where luck alone "
        said += "would give 5 %."
        parts.append(say(said, **row))
        claims.append(_claim("agreement", "significant", row))
    if left_out is not None and is_known(left_out["tau"]):
        ends = _ends(left_out, "low", "high", "share")
        parts.append(say("With leave-one-out τ is {tau:share} ({ends}).", tau=left_out["tau"], ends=ends))
        claims.append(_claim("agreement", "tau", left_out))
    among = {"explanation": list(ATTENTION), "against": "gradient"}
    rivals = tables["agreement"].where(**among).largest("tau")
    if len(rivals) > 1:
        best = rivals[0]
        claims.append(Claim("largest", "agreement", "tau", keyed([best], *_KEYS["agreement"]), among))
        more = say("Most like gradients is the order by **{name}** ({tau:share}).", name=title(best), tau=best["tau"])
        parts.append(more if best["tau"] > row["tau"] else say("No reading of attention agrees more with gradients."))
    if parts:
        yield Finding(listed(parts, between=" "), tuple(claims), see="explanations", published=PUBLISHED_TAUS)


def erasing(tables: Tables) -> Iterator[Finding]:
    """Whether erasing the most attended words costs more than erasing random ones."""
    row, ranked = _stated(tables, "erasure"), tables["erasure"].largest("comprehensiveness")
    if row is None or not is_known(row["over_random"]):
        return
    best, own = (keyed(rows, *_KEYS["erasure"]) for rows in (ranked[:1], [row]))
    verdict, shown = "perhaps no more", list[Claim]()
    if is_known(row["over_random_low"]):
        low, high = row["over_random_low"], row["over_random_high"]
        verdict = "more" if low > 0 else "less" if high < 0 else "no more"
        shown += [Claim("above", "erasure", "over_random_low", own, than=0)] if low > 0 else []
        shown += [Claim("below", "erasure", "over_random_high", own, than=0)] if high < 0 else []
    ahead = ranked.count(lambda other: other["comprehensiveness"] > row["comprehensiveness"])
    yield finding(
        "Erasing the words to which most attention goes ({name}) takes **{comprehensiveness:number}** from the "
        "probability of the predicted label: {verdict} than erasing random words ({over_random:signed}, {ends}). By "
        "**{best}** it is most, {most:number}; {ahead} of {count} orders take more than this attention.",
        _claim("erasure", "over_random", row), Claim("largest", "erasure", "comprehensiveness", best), *shown,
        Claim("count", "erasure", "comprehensiveness", value=ahead, than=row["comprehensiveness"]),
        see="erasure", name=title(row), verdict=verdict,
        ends=_ends(row, "over_random_low", "over_random_high", "signed"),
        best=title(ranked[0]), most=ranked[0]["comprehensiveness"], count=len(ranked), ahead=ahead, **row,
    )  # fmt: skip


def shuffling(tables: Tables) -> Iterator[Finding]:
    """What shuffled attention does, in the last layer and in all."""
    rows = tables["interventions"].where(intervention="permuted")
    if not rows:
        return
    row, *wider = sorted(rows, key=lambda row: row["layers"] != "last")
    claims = [_claim("interventions", "tvd_median", row)]
    parts = [
        say(
            "With the weights of {where} shuffled among the keys, the output of the median instance moves by "
            "**{tvd_median:number}** (TVD; mean {tvd:number}), and {flipped:percent} % of labels change.",
            where="the last layer" if row["layers"] == "last" else "all layers",
            **row,
        )
    ]
    if is_known(row["change"]):
        parts.append(say("{metric} {changed}.", metric=_metric(tables).capitalize(), changed=_changed(row)))
    for wide in wider[:1]:
        claims.append(_claim("interventions", "tvd_median", wide))
        more = say(", and {metric} {changed}", metric=_metric(tables), changed=_changed(wide))
        said = "Shuffled in all layers, the median is {tvd_median:number}{more}."
        parts.append(say(said, more=more if is_known(wide["change"]) else "", **wide))
    yield Finding(listed(parts, between=" "), tuple(claims), see="interventions")


def adversaries(tables: Tables) -> Iterator[Finding]:
    """How far attention can go while the output stays."""
    rows = tables["instances"].known("adversary_jsd")
    if not rows:
        return
    middle = median(rows.column("adversary_jsd"))
    half = rows.count(lambda row: row["adversary_jsd"] > LN2 / 2)
    within = rows.where(lambda row: row.get("adversary_within") is not False)
    farthest = within.largest("adversary_tvd")[:1]
    every = len(within) == len(rows)
    if not farthest:
        yield finding("Attention that diverges and leaves the output as it is was found for none of {n} instances.",
                      *_kept(rows), n=len(rows), see="plane")  # fmt: skip
        return
    yield finding(
        "Attention was found that gives {which} the same output to within {adversary_tvd:number} (TVD) and diverges "
        "from the model’s own by **{middle:number}** nats in the median, **{share:percent} %** of ln 2, which is the "
        "most there is; for {half} of {n} instances it is more than half of that.",
        Claim("count", "instances", "adversary_jsd", value=half, than=LN2 / 2),
        Claim("median", "instances", "adversary_jsd", value=middle, than=LN2),
        Claim("largest", "instances", "adversary_tvd", keyed(farthest, "text", "place"),
              {"adversary_within": True} if not every else {}), *_kept(rows), see="plane",
        published=f"such attention was found for most texts ({TAU_MODEL})", middle=middle, share=middle / LN2,
        half=half, n=len(rows), which="every instance" if every else f"{len(within)} of {len(rows)} instances",
        adversary_tvd=farthest[0]["adversary_tvd"],
    )  # fmt: skip


def _kept(rows: Rows) -> Iterator[Claim]:
    """In how many instances the bound was kept; results of old do not say."""
    if "adversary_within" in rows[0]:
        kept = rows.count(lambda row: bool(row["adversary_within"]))
        yield Claim("count", "instances", "adversary_within", value=kept, than=0)


def apart(tables: Tables, table: str) -> Prose | str:
    """How far the adversaries' outputs are from the model's at most, in the instances that a table shows; nothing
    where that is not known."""
    shown = {(row["text"], row["place"]) for row in tables[table]}
    rows = tables["instances"].known("adversary_tvd").where(lambda row: (row["text"], row["place"]) in shown)
    farthest = rows.largest("adversary_tvd")[:1]
    said = (
        " However different the model’s own weights and the adversary’s look, their outputs are "
        "{adversary_tvd:number} (TVD) apart at most."
    )
    return say(said, **farthest[0]) if farthest else ""


def needed(tables: Tables) -> Iterator[Finding]:
    """Whether the task needs attention."""
    changed = tables["interventions"].known("change")
    parts, claims = [], []
    for layers, where in (("last", "in the last layer"), ("all", "everywhere")):
        for row in changed.where(intervention="uniform", layers=layers):
            said = "With uniform weights {where} {metric} {changed}."
            parts.append(say(said, where=where, metric=_metric(tables), changed=_changed(row)))
            claims.append(_claim("interventions", "change", row))
    evened = changed.where(intervention="evened model")[:1]
    for row in evened:
        told = next(iter(tables["card"].where(figure="uniform")), None)
        parts.append(
            say(
                "A model that was trained with uniform attention has {metric} **{score:share}**, {changed}{told}.",
                metric=_metric(tables), score=row["score"], changed=_changed(row, "a change of", "the same"),
                told=say(": **{says}**", says=told["says"]) if told is not None else "",
            )
        )  # fmt: skip
        claims.append(_claim("interventions", "change", row))
    if parts and not evened:
        said = "Whether the task needs attention at all would take a model that was trained with uniform attention."
        parts.append(say(said))
    if parts:
        published = "models trained with uniform attention lose nothing that matters on AG News and 20 Newsgroups "
        published += "(Wiegreffe & Pinter 2019, as Yang retells it)"
        yield Finding(listed(parts, between=" "), tuple(claims), see="interventions", published=published)


def elsewhere(tables: Tables) -> Iterator[Finding]:
    """How far attention and output of other trainings are."""
    others = tables["interventions"].where(intervention="other model").known("jsd", "tvd")
    if not others:
        return
    means = {column: fmean(others.column(column)) for column in ("jsd", "tvd")}
    among = {"intervention": "other model"}
    farther: Prose | str = ""
    claims = [Claim("mean", "interventions", column, among=among, value=mean) for column, mean in means.items()]
    for row in tables["interventions"].where(intervention="adversary")[:1] if means["jsd"] else ():
        farther = say("; the adversaries’ attention is {times:number} times as far", times=row["jsd"] / means["jsd"])
        claims.append(replace(_claim("interventions", "jsd", row), than=means["jsd"]))
    many = (
        f"{len(others)} other models of the same task have" if len(others) > 1 else "The other model of the task has"
    )
    yield finding(
        "{many} attention that diverges by {jsd:number} nats and output that moves by {tvd:number} (TVD){farther}.",
        *claims, see="plane", many=many, farther=farther, **means,
        published="how far attention goes from one training to the next is what an adversary must be measured "
        "against (Wiegreffe & Pinter 2019)",
    )  # fmt: skip


def warning(tables: Tables) -> Prose | None:
    """A model that does no better than chance has little to explain."""
    row = _whole(tables)
    if has_learned(row):
        return None
    return say(
        "{model} does no better here than {than} ({metric} {score:share}, {score_low:share} to {score_high:share}; "
        "that has {chance_score:share}): there is nothing to explain, and no test is judged.",
        model=tables.model, than=GUESSES.get(row["metric"], "chance"), **row,
    )  # fmt: skip


def about(tables: Tables) -> Prose:
    """The task, the model's score, and which attention is meant."""
    row = {"task": "", "metric": "score", "score": None, "attention": "", "model": tables.model, **_whole(tables)}
    said = [
        "Attention of **{model}** in the task **{task}** was set against other explanations of the same answers, and "
        "replaced, to see what hangs on it."
    ]
    if is_known(row["score"]):
        chance = "; {guess}: {chance_score:share}" if is_known(row["chance_score"]) else ""
        said.append(
            "The model’s {metric} is **{score:share}** ({score_low:share} to {score_high:share}" + chance + "), on "
            "{n} instances of {texts} texts."
        )
    if row["attention"]:
        said.append("The attention that is meant: {attention}.")
    return say(" ".join(said), guess=GUESSES.get(str(row["metric"]), "chance"), **row)


def _claim(table: str, column: str, row: Row) -> Claim:
    return value_claim(table, column, row, *_KEYS[table])


def _ends(row: Row, low: str, high: str, kind: str) -> Prose:
    """An interval in words."""
    if not is_known(row[low]):
        return say("too few texts for an interval")
    return say(f"{{low:{kind}}} to {{high:{kind}}}", low=row[low], high=row[high])


def _metric(tables: Tables) -> str:
    return str(_whole(tables).get("metric", "score"))


def _changed(row: Row, moved: str = "changes by", stayed: str = "stays as it is") -> Prose:
    """What happened to the score, in a clause."""
    if row["change"] == 0:
        return say("{stayed}", stayed=stayed)
    p = row.get("p_corrected", row["p"])  # results of old have the raw one alone
    luck = say(", p {p:p}", p=p) if is_known(p) and p >= SURE else ""
    ends = _ends(row, "change_low", "change_high", "signed")
    return say("{moved} {change:signed} ({ends}{luck})", **{**row, "luck": luck, "moved": moved, "ends": ends})
