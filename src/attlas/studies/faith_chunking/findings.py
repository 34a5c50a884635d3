"""What the chunking study found, in sentences, each with the claims that a test can check."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import takewhile
from statistics import fmean, median

from attlas.pages import Claim, Finding, Prose, Row, Rows, Tables, count_of, keyed, listed, say, value_claim
from attlas.pages.findings import finding
from attlas.store.schema import KINDS, interval, is_known
from attlas.studies.shared.faith.plane import LN2
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
    row = next(iter(_single(tables, row)), row)
    return row["f1_low"], row["f1_high"]


def _single(tables: Tables, row: Row) -> Rows:
    """The one model of a kind, where its interval is taken from sentences."""
    return tables["models"].where(**{key: row[key] for key in _KEYS})[: 0 if is_known(row["f1_low"]) else 1]


def _of_sentences(tables: Tables, row: Row) -> Iterator[Claim]:
    return (value_claim("models", "f1", model, *_KEYS, "seed") for model in _single(tables, row))


def tags(own: Row) -> bool:
    """Whether the original tagger has learned to tag, so that there is something to compare.

    >>> tags({"f1": 0.9}), tags({"f1": 0.02})
    (True, False)
    """
    return bool(own["f1"] >= LEAST)


def answer(tables: Tables) -> Finding | None:
    """How far attention gets before F1 is lost, beside what other seeds do."""
    own, rows = original(tables), adversaries(tables)
    if own is None or not rows:
        return None
    if not tags(own):
        text = say("The original tagger has F1 **{own:percent} %**{ends}: whether one that tags can attend elsewhere "
                   "cannot be told from it.", own=own["f1"], ends=_f1_ends(tables, own))  # fmt: skip
        return Finding(text, (_claim("f1", own), *_of_sentences(tables, own)), see="scores")
    kept = list(takewhile(lambda row: row["f1"] >= own["f1"] - POINT, rows))
    row = kept[-1] if kept else rows[0]
    said = "**No**: the original tagger has F1 **{own:percent} %**{ends}, and even the adversary of λ = {λ} only "
    said += "{f1:percent} %"
    if kept:
        said = "**Up to a point**: adversaries stay within a point of the original’s F1 of **{own:percent} %**{ends} "
        said += "up to λ = **{λ}** ({f1:percent} %)"
    said += ", with attention JSD **{jsd:number}** from the original’s (at most 0.69{compared})."
    seeds = tables["seeds"].where(kind="seed")
    compared = say("; two seeds of the original: {jsd:number}", jsd=seeds.mean("jsd")) if seeds else ""
    claims = [_claim("f1", own), _claim("f1", row), _claim("jsd", row), *_means(seeds, "seeds", "kind", "jsd")]
    claims += _of_sentences(tables, own)
    text = say(said, own=own["f1"], ends=_f1_ends(tables, own), compared=compared, **_lettered(row))
    return Finding(text, tuple(claims), see="scores")


def farthest(tables: Tables) -> Iterator[Finding]:
    """The adversary of the largest weight."""
    said = "At λ = {λ} F1 is **{f1:percent} %**{ends}, attention {kl:number} nats off in KL and {jsd:number} in JSD."
    published = f"original 90 %, λ = 0.2 90 %, λ = 3 75 % ({CHUNKING_MODEL})"
    for row in adversaries(tables)[-1:]:
        text = say(said, ends=_f1_ends(tables, row), **_lettered(row))
        claims = (_claim("f1", row), _claim("kl", row), *_of_sentences(tables, row))
        yield Finding(text, claims, see="scores", published=published)


def bending(tables: Tables) -> Iterator[Finding]:
    """Where predictions give way."""
    rows = tables["bend"].known("at")
    for row in (rows.where(attention="kl", prediction="nll") or rows)[:1]:
        before = [other for other in adversaries(tables) if other[row["attention"]] < row["at"]]
        then: Prose | str = ""
        if row["gain"] < CLEAR:
            then = say(": **hardly a bend**, the curve is as good as straight")
        elif row["slope_after"] <= row["slope_before"]:
            then = say("; the curve gets **flatter** there, not steeper")
        elif before:
            then = say("; up to λ = {λ} adversaries lie before it", **_lettered(before[-1]))
        ends = _bend_ends(row)
        words = {name: MEASURES[row[name]] for name in ("prediction", "attention")}
        text = say(
            "The {prediction} changes by {slope_before:signed} for each nat of {attention} at first and by "
            "{slope_after:signed} later; the two lines meet at {attention} **{at:number}**{ends}, and the second "
            "saves {gain:percent} % of the squared error of a single line{then}.",
            **{**row, **words, "ends": ends, "then": then},
        )
        claims = tuple(value_claim("bend", column, row, "attention", "prediction") for column in ("at", "gain"))
        published = f"the loss turns up at KL {CHUNKING_BEND:.2f}, read off the curve ({CHUNKING_MODEL})"
        yield Finding(text, claims, see="bend", published=published)


def beside_seeds(tables: Tables) -> Iterator[Finding]:
    """What two trainings that differ in their seed do, and a model with uniform attention."""
    seeds = tables["seeds"].where(kind="seed")
    if not seeds:
        return
    jsd, tvd = (fmean(seeds.column(column)) for column in ("jsd", "tvd"))
    claims, off = (
        _means(seeds, "seeds", "kind", "jsd", "tvd"),
        adversaries(tables).where(lambda row: row["jsd"] > jsd),
    )
    beyond = off.where(lambda row: row["tvd"] <= tvd)
    said = "No adversary goes farther in attention without going farther in its predictions, too"
    if beyond:
        said = (
            "The adversary of λ = {λ} has attention farther off ({jsd:number}) and predictions no farther "
            "({tvd:number}): attention other than the seeds’ does as well"
        )
    else:
        claims += [Claim("above", "summary", "tvd", keyed(off, *_KEYS), than=tvd)] if off else []
    even = "; a model with uniform attention has F1 {f1:percent} % and lies at JSD {jsd:number}, TVD {tvd:number}"
    uniform = tables["seeds"].where(kind="uniform")
    claims += [value_claim("seeds", "f1", row, "kind", "seed", "other") for row in uniform[:1]]
    claims += [_claim("jsd", row) for row in beyond[-1:]]
    yield finding(
        "Two trainings of the original, alike but for their seed, differ by **{jsd:number}** (JSD) in attention and "
        "{tvd:number} (TVD) in predictions. {does}{even}.",
        *claims, see="plane", jsd=jsd, tvd=tvd,
        does=say(said, **_lettered(beyond[-1]) if beyond else {}), even=say(even, **uniform[0]) if uniform else "",
    )  # fmt: skip


def single_words(tables: Tables) -> Iterator[Finding]:
    """How far attention gets that is free for one word at a time."""
    rows = tables["per_instance"].known("jsd")
    if not rows:
        return
    middle, bound = median(rows.column("jsd")), rows[0]["bound"]
    trained = say("no trained adversary stays within that bound")
    adversary = adversaries(tables).where(lambda row: row["tvd"] <= bound)[-1:]
    for row in adversary:
        trained = say("a trained adversary within the same bound gets to {jsd:number}", **row)
    within = rows.count(lambda row: bool(row["within"]))
    yield finding(
        "Attention that is free for one word at a time gets to **{middle:number}** in the median ({share:percent} % "
        "of ln 2) with the output within {bound:number}, on {within} of {n} words; {trained}.",
        Claim("median", "per_instance", "jsd", value=middle, than=LN2),
        Claim("count", "per_instance", "within", value=within, than=0),
        Claim("above", "per_instance", "bound", than=0), Claim("mean", "per_instance", "bound", value=bound),
        *(_claim("jsd", row) for row in adversary), see="plane", middle=middle, share=middle / LN2, bound=bound,
        within=within, n=len(rows), trained=trained,
    )  # fmt: skip


def guiding(tables: Tables) -> Iterator[Finding]:
    """Whether the original's attention helps another model more than other attention does."""
    parts, claims = [], []
    for form, label in FORMS.items():
        rows = guides(tables, form)
        for own in rows.where(attention="original"):
            claims += [_claim("f1", row) for row in rows]
            claims += [Claim("difference", "summary", "f1", keyed([row, own], *_KEYS), value=row["f1"] - own["f1"])
                       for row in rows if row is not own]  # fmt: skip
            told = [
                say("{guide} {f1:percent} ({apart:signed})", guide=guide(row["attention"]), f1=row["f1"],
                    apart=100 * (row["f1"] - own["f1"]))
                for row in rows if row is not own
            ]  # fmt: skip
            others = say(" (other guides, with the difference in points: {told})", told=listed(told, between="; "))
            said = "**{f1:percent} %** {label}{others}"
            parts.append(say(said, f1=own["f1"], label=label, others=others if told else ""))
    if parts:
        published = "guided by the original 90 %, by the adversary of λ = 0.2 90 %, of λ = 3 89 %, attention kept "
        yield finding(
            "Guided by the original’s attention, F1 is {parts}.", *claims, see="guided",
            parts=listed(parts, between=", and "), published=f"{published}({CHUNKING_MODEL})",
        )  # fmt: skip


def ranking(tables: Tables) -> Iterator[Finding]:
    """Whether adversaries reorder the words."""
    said = (
        "{side} the bend they agree with the original’s by τ = **{kendall:share}**, and {first:percent} % of rows "
        "have the same most attended word"
    )
    parts, claims = [], []
    for side in ("before", "after"):
        rows = tables["ranks"].where(side=side)
        if rows:
            parts.append(say(said, side=side, kendall=rows.mean("kendall"), first=rows.mean("first")))
            claims += _means(rows, "ranks", "side", "kendall", "first")
    if parts:
        yield finding(
            "Do adversaries reorder the words, or only stretch the weights? As to ranks, {parts}.", *claims,
            see="ranks", published="asked for as further work by Yang; no figures", parts=listed(parts, between="; "),
        )  # fmt: skip


def warning(tables: Tables) -> Prose | None:
    """Taggers that miss most chunks have little to compare."""
    row = original(tables)
    if row is None or tags(row):
        return None
    return say("The original tagger itself misses most chunks (F1 {f1:percent} %): there is little to compare; train "
               "it longer, or on more sentences.", f1=row["f1"])  # fmt: skip


def differs(tables: Tables) -> Prose:
    """What differs from the published study."""
    options, corpus = tables.options, tables.manifest.corpus
    kl = "as written, from the original to the adversary"
    paid = {"kl-reversed": "from the adversary to the original", "jsd": "as JSD instead"}
    return say(
        "What differs from the published study:\n\n**Data.** Yang read 8,042 sentences for training and 2,012 for "
        "testing; here {train:count} and {test:count}.\n\n**Training.** The paper gives neither sizes nor learning "
        "rates nor epochs; ours stand at the end.\n\n**KL.** The paper writes it from the original to the adversary "
        "and does not say over what it is averaged. To the letter, per row, it has no upper end, and any λ drives it "
        "to what the number format allows; here it is taken {paid}, {per}.\n\n**λ.** Its text speaks of 2.5 where "
        "its table says 3.\n\n**The bend** was read off a curve of one training there; here it is fitted for "
        "{seeds}.\n\n**Guided models** had all parameters of attention there (*attention kept*). The form with none "
        "left and the ranks are what its author asks for as further work; uniform and random guides, seeds and free "
        "attention of single words come from Wiegreffe & Pinter and from Jain & Wallace.",
        train=corpus.get("sentences"), test=corpus.get("test_sentences"),
        paid=paid.get(str(options.get("divergence")), kl),
        per="divided by the number of keys" if options.get("per") == "key" else "per row", seeds=_bent(tables),
    )  # fmt: skip


def method(tables: Tables) -> Prose | None:
    """How the bend was found."""
    rows = tables["bend"]
    return say("Method: {method}.", method=rows[0]["method"]) if rows else None


def _bend_ends(row: Row) -> Prose:
    """The interval of a bend, and over how many seeds; results of old do not say how many."""
    seeds = row.get("seeds")
    if not is_known(row["at_low"]):
        few = say(" ({seeds}, too few for an interval: it takes 3, `--middle 3`)", seeds=count_of(seeds or 0, "seed"))
        return few if seeds else say("")
    over = count_of(seeds, "seed") if seeds else "seeds"
    return say(" ({at_low:number} to {at_high:number} over {over})", **{**row, "over": over})


def _bent(tables: Tables) -> str:
    """For how many seeds a bend was fitted, in words."""
    most = max((row.get("seeds") or 0 for row in tables["bend"]), default=0)
    return f"the {count_of(most, 'seed')} with enough λs" if most > 1 else "each seed with enough λs"


def _claim(column: str, row: Row) -> Claim:
    return value_claim("summary", column, row, *_KEYS)


def _means(rows: Rows, table: str, by: str, *columns: str) -> list[Claim]:
    """The claims that rows of one value in a column have these means of others."""
    return [Claim("mean", table, name, among={by: rows[0][by]}, value=rows.mean(name)) for name in columns if rows]


def _lettered(row: Row) -> dict[str, object]:
    """A row whose weight is written as lambda is."""
    return {**row, "λ": f"{row['weight']:g}"}


def _f1_ends(tables: Tables, row: Row) -> str:
    low, high = (KINDS["percent"].write(end, None) if is_known(end) else "" for end in ends_of_f1(tables, row))
    return f" ({interval(low, high)})" if low else ""
