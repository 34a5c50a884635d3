"""What the chunking study found, in sentences, each with the claims that a test can check."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import takewhile
from statistics import fmean, median

from attlas.pages import Claim, Finding, Prose, Row, Rows, Tables, say
from attlas.store.schema import KINDS, interval, is_known
from attlas.studies.shared.faith.plane import LN2
from attlas.studies.shared.faith.said import joined, value_claim
from attlas.studies.shared.published import CHUNKING_BEND, CHUNKING_MODEL

LEAST = 0.5  # F1 of an original that tags at all
POINT = 0.01  # of F1: what an adversary may lose and still count as tagging the same
CLEAR = 0.5  # a second line that saves less than half of the squared error is no bend to speak of
FORMS = {"attention kept": "with the parameters of attention kept", "none left": "with none left"}
MEASURES = {"kl": "KL", "jsd": "JSD", "nll": "loss against the original’s predictions", "tvd": "TVD of predictions"}
_KEYS = ("kind", "attention", "form", "weight")


def called(row: Row) -> str:
    """A model of the study, to read.

    >>> called({"kind": "adversary", "weight": 0.2}), called({"kind": "original"})
    ('adversary, λ = 0.2', 'original')
    >>> called({"kind": "guided", "attention": "adversary 3", "form": "none left"})
    'guided by adversary λ = 3, none left'
    """
    if row["kind"] == "adversary":
        return f"adversary, λ = {row['weight']:g}"
    if row["kind"] == "guided":
        return f"guided by {guide(row['attention'])}" + (f", {row['form']}" if row["form"] else "")
    return str(row["kind"])


def guide(attention: str) -> str:
    """An attention that guides, to read.

    >>> guide("adversary 0.2"), guide("uniform")
    ('adversary λ = 0.2', 'uniform')
    """
    kind, _, weight = attention.partition(" ")
    return f"{kind} λ = {weight}" if weight else attention


def original(tables: Tables) -> Row | None:
    """The original models together."""
    return next(iter(tables["summary"].where(kind="original")), None)


def adversaries(tables: Tables) -> Rows:
    """The adversaries, one row for each weight, by weight."""
    return tables["summary"].where(kind="adversary").smallest("weight")


def guides(tables: Tables, form: str) -> Rows:
    """The guided models of one form: by the original's attention, the adversaries' by weight, uniform, random."""
    order = ("original", "adversary", "uniform", "random")

    def place(row: Row) -> tuple[int, float]:
        kind, _, weight = row["attention"].partition(" ")
        return order.index(kind), float(weight or 0)

    return Rows(sorted(tables["summary"].where(kind="guided", form=form), key=place))


def ends_of_f1(tables: Tables, row: Row) -> tuple[float | None, float | None]:
    """The interval of F1: over seeds, or where there is one, over sentences of that model."""
    if not is_known(row["f1_low"]):
        keys = ("kind", "attention", "form", "weight")
        row = next(iter(tables["models"].where(**{key: row[key] for key in keys})), row)
    return row["f1_low"], row["f1_high"]


def answer(tables: Tables) -> Finding | None:
    """How far attention gets before F1 is lost, beside what other seeds do."""
    own, rows = original(tables), adversaries(tables)
    if own is None or not rows:
        return None
    kept = list(takewhile(lambda row: row["f1"] >= own["f1"] - POINT, rows))
    claims = [value_claim("summary", "f1", own, *_KEYS)]
    seeds = tables["seeds"].where(kind="seed")
    beside = say("; two seeds of the original: {jsd:number}", jsd=seeds.mean("jsd")) if seeds else ""
    if seeds:
        claims.append(Claim("mean", "seeds", "jsd", among={"kind": "seed"}, value=seeds.mean("jsd")))
    if kept:
        last = kept[-1]
        claims += [value_claim("summary", "f1", last, *_KEYS), value_claim("summary", "jsd", last, *_KEYS)]
        text = say(
            "**Up to a point**: adversaries stay within a point of the original’s F1 of **{own:percent} %**{ends} up "
            "to λ = **{weight}** ({f1:percent} %), with attention JSD **{jsd:number}** from the original’s (at most "
            "0.69{beside}).",
            own=own["f1"], ends=_f1_ends(tables, own), weight=f"{last['weight']:g}", f1=last["f1"], jsd=last["jsd"],
            beside=beside,
        )  # fmt: skip
    else:
        first = rows[0]
        claims.append(value_claim("summary", "f1", first, *_KEYS))
        text = say(
            "**No**: the original tagger has F1 **{own:percent} %**{ends}, and even the adversary of λ = {weight} "
            "only {f1:percent} %, with attention JSD **{jsd:number}** from the original’s (at most 0.69{beside}).",
            own=own["f1"], ends=_f1_ends(tables, own), weight=f"{first['weight']:g}", f1=first["f1"],
            jsd=first["jsd"], beside=beside,
        )  # fmt: skip
    return Finding(text, tuple(claims), see="scores")


def farthest(tables: Tables) -> Iterator[Finding]:
    """The adversary of the largest weight."""
    for row in adversaries(tables)[-1:]:
        yield Finding(
            say("At λ = {weight} F1 is **{f1:percent} %**{ends}, with attention {kl:number} nats off in KL, "
                "{jsd:number} in JSD.",
                **{**row, "weight": f"{row['weight']:g}", "ends": _f1_ends(tables, row)}),
            (value_claim("summary", "f1", row, *_KEYS), value_claim("summary", "kl", row, *_KEYS)),
            see="scores",
            published=f"original 90 %, λ = 0.2 90 %, λ = 3 75 % ({CHUNKING_MODEL})",
        )  # fmt: skip


def bending(tables: Tables) -> Iterator[Finding]:
    """Where predictions give way."""
    rows = tables["bend"].known("at")
    for row in (rows.where(attention="kl", prediction="nll") or rows)[:1]:
        before = [other for other in adversaries(tables) if other[row["attention"]] < row["at"]]
        if row["gain"] < CLEAR:
            then = say(": **hardly a bend**, the curve is as good as straight")
        elif row["slope_after"] <= row["slope_before"]:
            then = say("; the curve gets **flatter** there, not steeper")
        else:
            then = (
                say("; up to λ = {weight} adversaries lie before it", weight=f"{before[-1]['weight']:g}")
                if before
                else say("")
            )
        ends = say(" ({low:number} to {high:number} over seeds)", low=row["at_low"], high=row["at_high"])
        yield Finding(
            say(
                "The {prediction} changes by {slope_before:signed} for each nat of {attention} at first and by "
                "{slope_after:signed} later; the two lines meet at {attention} **{at:number}**{ends}, and the second "
                "saves {gain:percent} % of the squared error of a single line{then}.",
                **{**row, "prediction": MEASURES[row["prediction"]], "attention": MEASURES[row["attention"]],
                   "ends": ends if is_known(row["at_low"]) else "", "then": then},
            ),
            tuple(value_claim("bend", column, row, "attention", "prediction") for column in ("at", "gain")),
            see="bend",
            published=f"the loss turns up at KL {CHUNKING_BEND:.2f}, read off the curve ({CHUNKING_MODEL})",
        )  # fmt: skip


def beside_seeds(tables: Tables) -> Iterator[Finding]:
    """What two trainings that differ in their seed do, and a model with uniform attention."""
    seeds = tables["seeds"].where(kind="seed")
    if not seeds:
        return
    jsd, tvd = fmean(seeds.column("jsd")), fmean(seeds.column("tvd"))
    beyond = adversaries(tables).where(lambda row: row["jsd"] > jsd and row["tvd"] <= tvd)
    does = say(
        "The adversary of λ = {weight} has attention farther off ({jsd:number}) and predictions no farther "
        "({tvd:number}): attention other than the seeds’ does as "
        "well", **{**beyond[-1], "weight": f"{beyond[-1]['weight']:g}"}
    ) if beyond else say("No adversary goes farther in attention without going farther in its predictions, "
                         "too")  # fmt: skip
    uniform = next(iter(tables["seeds"].where(kind="uniform")), None)
    even = say(
        "; a model with uniform attention has F1 {f1:percent} % and lies at JSD {jsd:number}, TVD {tvd:number}",
        **uniform or {},
    )
    yield Finding(
        say(
            "Two trainings of the original, alike but for their seed, differ by **{jsd:number}** (JSD) in attention "
            "and {tvd:number} (TVD) in predictions. {does}{even}.",
            jsd=jsd, tvd=tvd, does=does, even=even if uniform is not None else "",
        ),
        tuple(Claim("mean", "seeds", column, among={"kind": "seed"}, value=value)
              for column, value in (("jsd", jsd), ("tvd", tvd))),
        see="plane",
    )  # fmt: skip


def single_words(tables: Tables) -> Iterator[Finding]:
    """How far attention gets that is free for one word at a time."""
    rows = tables["per_instance"].known("jsd")
    if not rows:
        return
    middle, bound = median(rows.column("jsd")), rows[0]["bound"]
    near = adversaries(tables).where(lambda row: row["tvd"] <= bound)
    trained = say("a trained adversary within the same bound gets to {jsd:number}", **near[-1]) if near else say(
        "no trained adversary stays within that bound"
    )  # fmt: skip
    within = rows.count(lambda row: row["within"])
    yield Finding(
        say(
            "Attention that is free for one word at a time gets to **{middle:number}** in the median "
            "({share:percent} % of ln 2) with the output within {bound:number}, on {within} of {n} words; {trained}.",
            middle=middle, share=middle / LN2, bound=bound, within=within, n=len(rows), trained=trained,
        ),
        (Claim("count", "per_instance", "jsd", value=rows.count(lambda row: row["jsd"] > middle), than=middle),),
        see="plane",
    )  # fmt: skip


def guiding(tables: Tables) -> Iterator[Finding]:
    """Whether the original's attention helps another model more than other attention does."""
    parts, claims = [], []
    for form, label in FORMS.items():
        rows = guides(tables, form)
        own = next(iter(rows.where(attention="original")), None)
        if own is None:
            continue
        claims += [value_claim("summary", "f1", row, *_KEYS) for row in rows]
        told = [
            say("{guide} {f1:percent} ({apart:signed})", guide=guide(row["attention"]), f1=row["f1"],
                apart=100 * (row["f1"] - own["f1"]))
            for row in rows if row is not own
        ]  # fmt: skip
        others = (
            say(" (other guides, with the difference in points: {told})", told=joined(told, "; ")) if told else ""
        )
        parts.append(say("**{f1:percent} %** {label}{others}", f1=own["f1"], label=label, others=others))
    if parts:
        yield Finding(
            say("Guided by the original’s attention, F1 is {parts}.", parts=joined(parts, ", and ")),
            tuple(claims),
            see="guided",
            published="guided by the original 90 %, by the adversary of λ = 0.2 90 %, of λ = 3 89 %, attention kept "
            f"({CHUNKING_MODEL})",
        )


def ranking(tables: Tables) -> Iterator[Finding]:
    """Whether adversaries reorder the words."""
    parts, claims = [], []
    for side in ("before", "after"):
        rows = tables["ranks"].where(side=side)
        if rows:
            kendall = rows.mean("kendall")
            parts.append(
                say("{side} the bend they agree with the original’s by τ = **{kendall:share}**, and {first:percent} "
                    "% of rows have the same most attended "
                    "word", side=side, kendall=kendall, first=rows.mean("first"))
            )  # fmt: skip
            claims.append(Claim("mean", "ranks", "kendall", among={"side": side}, value=kendall))
    if parts:
        yield Finding(
            say(
                "Do adversaries reorder the words, or only stretch the weights? As to ranks, {parts}.",
                parts=joined(parts, "; "),
            ),
            tuple(claims),
            see="ranks",
            published="asked for as further work by Yang; no figures",
        )


def warning(tables: Tables) -> Prose | None:
    """Taggers that miss most chunks have little to compare."""
    row = original(tables)
    if row is None or row["f1"] >= LEAST:
        return None
    return say("The original tagger itself misses most chunks (F1 {f1:percent} %): there is little to compare; train "
               "it longer, or on more sentences.", f1=row["f1"])  # fmt: skip


def differs(tables: Tables) -> Prose:
    """What differs from the published study."""
    options, corpus = tables.options, tables.manifest.corpus
    paid = {
        "kl": "here it is taken as written, from the original to the adversary",
        "kl-reversed": "here it is taken from the adversary to the original",
        "jsd": "here JSD is taken instead",
    }.get(str(options.get("divergence")), "here it is taken as written, from the original to the adversary")
    counts = [corpus.get(part) for part in ("sentences", "test_sentences")]
    return say(
        "What differs from the published study:\n\n**Data.** Yang read 8,042 sentences for training and 2,012 for "
        "testing; here {train:count} and {test:count}.\n\n**Training.** The paper’s text gives neither sizes nor "
        "learning rates nor epochs; ours stand at the end.\n\n**KL.** The paper writes it from the original to the "
        "adversary and does not say over what it is averaged. To the letter, per row, it has no upper end, and any λ "
        "drives it to what the number format allows; {paid}{per}.\n\n**λ.** Its text speaks of 2.5 where its table "
        "says 3.\n\n**The bend** was read off a curve of one training there; here it is fitted, over all "
        "seeds.\n\n**Guided models** had all parameters of attention there (*attention kept*). The form with none "
        "left is what its author asks for as further work, as are the ranks; uniform and random guides, seeds and "
        "free attention of single words come from Wiegreffe & Pinter and from Jain & Wallace.",
        train=counts[0], test=counts[1], paid=paid,
        per=", divided by the number of keys" if options.get("per") == "key" else ", per row",
    )  # fmt: skip


def method(tables: Tables) -> Prose | None:
    """How the bend was found."""
    rows = tables["bend"]
    return say("Method: {method}.", method=rows[0]["method"]) if rows else None


def _f1_ends(tables: Tables, row: Row) -> str:
    low, high = (KINDS["percent"].write(end, None) if is_known(end) else "" for end in ends_of_f1(tables, row))
    return f" ({interval(low, high)})" if low else ""
