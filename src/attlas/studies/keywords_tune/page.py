"""The page of a tagger of key phrases: how good it is, which of its heads it needs, and how it does with fewer."""

from __future__ import annotations

from collections.abc import Iterator

from attlas.pages import Claim, Finding, Listing, Page, Prose, Row, Section, Style, Tables, charts, keyed
from attlas.pages.findings import finding, value_claim
from attlas.pages.prose import count_of, listed, say, with_interval
from attlas.store.schema import PLACE, Column, Schema, is_known
from attlas.studies.shared.cutting.effects import HARM, as_heads_go, effect_map, effects_in_order, with_harm
from attlas.studies.shared.cutting.schemas import EFFECTS, GRADIENTS
from attlas.studies.shared.keywords.columns import AT, GOLD, SCORES, TEXTS
from attlas.studies.shared.published import KEYWORDS_BEST, KEYWORDS_MODEL
from attlas.studies.shared.wording import side_by_side, words

ORDERS = ("worst first", "best first", "importance", "random")
HARDLY = 0.05  # F1@M below which a tagger does not do its task

STAGE = Column("stage", "tagger", meaning="as it was tuned, with heads taken out of its weights, trained again")
UNIT = Column("unit", "F1 of", meaning="phrases by their stems; marked places, begin and end right; single words")
PUBLISHED = Column("published", "published", "share", "by others; data and count are not said", optional=True)
TAGGED = (STAGE, UNIT, AT, GOLD, *SCORES, PUBLISHED, TEXTS)
TAGGERS = Schema("scores", "F1 of each tagger on the test texts.", *TAGGED)
COUNTED = Schema("counted", "The same for charts.", *TAGGED, Column("what", "F1 of"))
RANK = Column("rank", "rank", "count", "1 is the head that is missed most, by F1 of marked places")
ABLATION = Schema("ablation", "One head off at a time, on the validation texts.", *PLACE, *EFFECTS, *GRADIENTS, RANK,
                  keys=())  # fmt: skip
EFFECT = Schema("effects", "The same for charts, the heads that are missed most first.", *ABLATION.columns, *HARM)
ORDER = Column("order", "heads go", labels={"importance": "by importance", "random": "at random"})
GONE = Column("share", "share of heads gone", "percent")
REMOVED = Column("removed", "heads gone", "count")
SCORE = Column("score", "F1 of places", "share", ends=("low", "high"))
LOSS = Column("loss", "loss", "number", "in nats")
CURVE = Schema(
    "curve", "Heads removed in order, on the test texts.", ORDER, Column("draw", "draw", "index"), REMOVED, GONE,
    SCORE, LOSS, TEXTS,
)  # fmt: skip
LINE = Schema("line", "The same for charts, with draws as one.", ORDER, REMOVED, GONE, SCORE, LOSS)
CHOOSING = Schema(
    "choosing", "How many heads can go, on the validation texts.", ORDER, REMOVED, GONE, SCORE, LOSS,
    Column("chosen", "chosen", "flag"),
)  # fmt: skip
TRAINING = Schema(
    "training", "What was seen after each pass over the training texts.", STAGE, Column("epoch", "epoch", "count"),
    Column("loss", "loss in training", "number"),
    Column("validation_loss", "loss on the validation texts", "number", was="held_loss"),
    Column("score", "F1 on the validation texts", "share"), Column("best", "kept", "flag"),
)  # fmt: skip
SIZE = (STAGE, Column("heads", "heads", "count"), Column("kept", "share kept", "percent"),
        Column("parameters", "parameters", "count"))  # fmt: skip
WHOLE = Schema("whole", "How large each tagger is.", *SIZE, Column("metric", "curves are scored by"))
BESIDE = {"phrases_m": "phrases, F1@M", "phrases_10": "F1@10", "spans": "places, F1", "words": "words, F1"}
COUNTS = {
    "phrases_m": {"unit": "phrases", "at": "M", "gold": "all"},
    "phrases_10": {"unit": "phrases", "at": "10", "gold": "all"},
    "spans": {"unit": "spans"},
    "words": {"unit": "words"},
}
SIZES = Schema(
    "sizes", "The taggers side by side.", *SIZE,
    *(Column(name, title, "share", ends=(f"{name}_low", f"{name}_high")) for name, title in BESIDE.items()),
)  # fmt: skip


def _what(row: Row) -> str:
    """What a score counts, in words."""
    unit = {"spans": "places"}.get(row["unit"], row["unit"])
    return f"{unit} @{row['at']}, {row['gold']}" if row["at"] else str(unit)


def counted(tables: Tables) -> Iterator[Row]:
    """Scores with what they count; phrases against all first."""
    return ({**row, "what": _what(row)} for row in sorted(tables["scores"], key=lambda row: row["gold"] == "present"))


def effects(tables: Tables) -> Iterator[Row]:
    """What cutting each head did, and how bad that is."""
    return with_harm(tables["ablation"].smallest("rank"), "higher")


def line(tables: Tables) -> Iterator[Row]:
    """A row for each order and share; the draws of chance are one, with their range."""
    return as_heads_go(tables["curve"], "removed")


def sizes(tables: Tables) -> Iterator[Row]:
    """The taggers with their main scores."""
    scores = {row["stage"]: row for row in side_by_side(tables["scores"], ["stage"], "f1", COUNTS)}
    return ({**row, **scores.get(row["stage"], {})} for row in tables["whole"])


def scored(tables: Tables, stage: str, at: str = "M", gold: str = "all") -> Row | None:
    """One score of a tagger's phrases."""
    return next(iter(tables["scores"].where(stage=stage, unit="phrases", at=at, gold=gold)), None)


def cut_order(tables: Tables) -> str:
    """In which order heads were taken out of the smaller tagger."""
    return ORDER.write(next(iter(tables["choosing"].where(chosen=True).column("order")), "worst first"))


def claim(row: Row) -> Claim:
    """That a tagger has this F1."""
    return value_claim("scores", "f1", row, "stage", "unit", "at", "gold")


def warning(tables: Tables) -> Prose | None:
    """Where the tagger does not do its task."""
    row = scored(tables, "tuned")
    if row is None or row["f1"] >= HARDLY:
        return None
    return say(
        "The tagger hardly finds a key phrase (F1@M {f1:share}): what its heads are worth to it says little. Train "
        "it for longer, or on more texts.", f1=row["f1"]
    )  # fmt: skip


def answer(tables: Tables) -> Finding | None:
    """How good the tagger is, whole and with fewer heads."""
    whole, row, again = (scored(tables, stage) for stage in ("tuned", "pruned", "retuned"))
    sizes = {row["stage"]: row for row in tables["whole"]}
    if whole is None or "tuned" not in sizes:
        return None
    known = ", ".join(
        f"{PUBLISHED.write(each['published'])} {each['stage']}" for each in (whole, row)
        if each and is_known(each["published"])
    )  # fmt: skip
    best = f", best known then {PUBLISHED.write(KEYWORDS_BEST)} ({KEYWORDS_MODEL}); data and count are not said"
    about = {"see": "scores", "published": known and known + best}
    text = "The tagger's phrases have F1@M {whole} against all that people gave; "
    if row is None or "pruned" not in sizes:
        text += "no head could go for less than a standard error of F1, so that there is no smaller tagger."
        return finding(text, claim(whole), **about, whole=with_interval(whole, "f1"))
    heads, left = sizes["tuned"]["heads"], sizes["pruned"]
    return finding(
        text + "without **{gone} of {heads}** heads ({share:percent} %), taken out {order}, {f1}, {apart:signed}"
        "{again}.",
        *map(claim, filter(None, (whole, row, again))),
        *(Claim("difference", "whole", column, keyed([sizes["tuned"], left], "stage"),
                value=sizes["tuned"][column] - left[column]) for column in ("heads", "kept")),
        Claim("difference", "scores", "f1", keyed([row, whole], "stage", "unit", "at", "gold"),
              value=row["f1"] - whole["f1"]), **about,
        whole=with_interval(whole, "f1"), gone=heads - left["heads"], heads=heads,
        share=sizes["tuned"]["kept"] - left["kept"],
        order=cut_order(tables), f1=with_interval(row, "f1"), apart=row["f1"] - whole["f1"],
        again="" if again is None else say(", trained again {f1}", f1=with_interval(again, "f1")),
    )  # fmt: skip


def depths(tables: Tables) -> Iterator[Finding]:
    """The other counts of the whole tagger."""
    kinds = {("M", "present"): " against those that stand in the text", ("5", "all"): "", ("10", "all"): ""}
    rows = [row for at, gold in kinds if (row := scored(tables, "tuned", at, gold))]
    if rows:
        named = [
            say("F1@{at}{against} {f1}", at=row["at"], against=kinds[row["at"], row["gold"]],
                f1=with_interval(row, "f1"))
            for row in rows
        ]  # fmt: skip
        yield finding("Counted otherwise: {named}.", *map(claim, rows), see="scores", named=listed(named))


def heads(tables: Tables) -> Iterator[Finding]:
    """How many heads are missed, and which most."""
    rows = tables["effects"]
    if rows:
        missed, gone = rows.count(lambda row: row["sure_harm"] > 0), rows.count(lambda row: row["sure_harm"] < 0)
        harmed = rows.smallest("change").where(lambda row: row["change"] < 0)
        relieved = harmed.count(lambda row: row["loss_change"] < 0)
        guide = (
            " Without {heads} the loss falls although F1 falls too: it is no guide to what a tagger needs once "
            "training has made it too sure of itself."
        )
        yield finding(
            "One head off at a time, {missed} of {n} heads are missed and {gone} better gone, by F1 of places on "
            "the validation texts (p < 0.01 after correction). {most}.{relieved}",
            *([Claim("smallest", "ablation", "change", keyed(harmed[:3])),
               Claim("below", "ablation", "change", keyed(harmed[:3]), than=0)] if harmed else []),
            Claim("count", "effects", "loss_change", among={"change": harmed.values("change")}, value=relieved,
                  than=0, below=True),
            Claim("count", "effects", "sure_harm", value=missed, than=0.0),
            Claim("count", "effects", "sure_harm", value=gone, than=0.0, below=True),
            see="heads", missed=missed, n=len(rows), gone=gone,
            most=say("Missed most: **{named}**", named=harmed.sentence("change", "signed", most=3)) if harmed
            else "Without none of them F1 falls",
            relieved=say(guide, heads=count_of(relieved, "head")) if relieved else "",
        )  # fmt: skip


def orders(tables: Tables) -> Iterator[Finding]:
    """The score of each order at the step nearest to one half."""
    rows = tables["line"]
    if rows:
        share = min(rows.values("share"), key=lambda value: (abs(value - 0.5), value))
        known = [row for order in ORDERS for row in rows.where(order=order, share=share)]
        named = [say("{name} **{score:share}**", **row, name=ORDER.write(row["order"])) for row in known]
        whole = rows.where(removed=0)
        yield finding(
            "With {share:percent} % of the heads gone, F1 of places on the test texts is {named}{whole}.",
            *(Claim("mean", "curve", "score", among=keyed([row], "order", "share")[0], value=row["score"])
              for row in known),
            *(Claim("mean", "curve", "score", among=keyed([row], "order", "share")[0], value=row["score"])
              for row in whole[:1]), *(value_claim("line", "share", row, "order", "share") for row in known[:1]),
            see="curve", share=share, named=listed(named),
            whole=say(" ({score:share} with all heads)", score=whole[0]["score"]) if whole else "",
        )  # fmt: skip


def _parts(tables: Tables) -> Prose:
    corpus = tables.manifest.corpus
    others = [corpus[part] for part in ("validation", "test") if isinstance(corpus.get(part), dict)]
    whys = {"documents": "learn from", "validation_documents": "decide on", "test_documents": "score"}
    texts = [f"{corpus[key]:,} texts to {why}" for key, why in whys.items() if isinstance(corpus.get(key), int)]
    return say(
        "**{model}** is trained end to end to mark the key phrases of a text, on {names} ({texts}). Which of its "
        "heads does it need for that?", model=tables.model, texts=", ".join(texts),
        names=listed(list(dict.fromkeys([tables.corpus, *(str(part["name"]) for part in others)]))),
    )  # fmt: skip


def _cut(tables: Tables) -> Prose:
    if not tables["whole"].where(stage="pruned"):
        return say("There is none: no head could go for less than a standard error of F1 on the validation texts.")
    keep = tables.options.get("keep")
    how = ", as many as could go for less than a standard error of F1 on the validation texts"
    return say(
        "The tagger as it was tuned, with heads taken out of its weights, and (if asked for) trained again. Heads "
        "went {order}{how}.", order=cut_order(tables),
        how=how if keep is None else say(", so that {keep:percent} % are kept", keep=keep),
    )  # fmt: skip


PAGE = Page(
    "keywords-tune",
    title="{model} as a tagger of key phrases",
    answer=answer,
    warning=warning,
    chart=charts.dots(
        "counted", "what", "f1", key="f1", title="F1 on the test texts", colour="stage",
        style=Style(tell=("precision", "recall", "published")), label="F1 of each tagger by what is counted",
    ),
    about=_parts,
    findings=(depths, heads, orders),
    schemas=(TAGGERS, ABLATION, CURVE, TRAINING, WHOLE, CHOOSING, COUNTED, EFFECT, LINE, SIZES),
    derived={"counted": counted, "effects": effects, "line": line, "sizes": sizes},
    sections=(
        Section(
            "scores", "How good it is",
            "F1 on the test texts with 95 % confidence intervals over texts. Published figures of a tuned tagger and "
            f"of a pruned one ({KEYWORDS_MODEL}) stand beside F1@M against all phrases, the nearest in kind: on what "
            "data and by what count they were measured is not said.",
            (Listing("counted", "what", "stage", "f1", "precision", "recall", "macro", "published"),),
            short="Scores",
        ),
        Section(
            "heads", "One head off",
            "Each head off in turn, on the validation texts; the heads that are missed most come first.",
            (
                effect_map(), effects_in_order(),
                Listing("effects", "rank", "head", "change", "p_corrected", "loss_change", "loss_p_corrected",
                        "importance", "normalised", "signed"),
            ),
            short="Heads",
        ),
        Section(
            "curve", "Worst first, best first",
            "Heads are removed in order, by gates, and the tagger is scored on the test texts after every step; the "
            "orders come from the validation texts. Bands are 95 % intervals over texts (for random orders, the "
            "range of the draws). The farther the lines of worst first and best first are apart, the more the order "
            "knows.",
            (charts.lines("line", "share", "score", "loss", key="removal", title="As heads go", colour="order"),),
            short="Curves",
        ),
        Section(
            "smaller", "The smaller tagger", _cut,
            (
                Listing("sizes", "stage", "heads", "kept", "parameters", *BESIDE),
                Listing("choosing", "order", "removed", "share", "score", "loss", "chosen",
                        title="How many can go, on the validation texts"),
            ),
            short="Smaller",
        ),
        Section(
            "training", "Training", "After every pass over the training texts.",
            (
                charts.lines("training", "epoch", "score", "validation_loss", "loss", key="passes",
                             title="Pass by pass", colour="stage", style=Style(tell=("best",), height=220)),
                Listing("training", "stage", "epoch", "loss", "validation_loss", "score", "best"),
            ),
        ),
    ),
    words={
        "tagger": "the whole model with a layer on top that calls each word the begin of a key phrase, inside of "
        "one, or neither; fine-tuned end to end.",
        "phrases": "what the tagger marks, the same phrase once, in the order of how sure it is; held against the "
        "phrases that people gave by their stems. F1@M counts all of them, F1@5 and F1@10 the first ones.",
        "all, present": "held against all phrases that were given, or only against those that stand in the text.",
        "places, words": "F1 of marked places (chunks), begin and end both right; and of single words, inside a "
        "key phrase or not.",
        "worst first": "heads in the order of how much F1 of places falls without each alone on the validation "
        "texts, the least first; *best first* is the reverse.",
        "importance": "heads in the order of E|dL/dξ|, what the loss owes to a head's gate by its gradient, divided "
        "by the norm of its layer, the least first.",
        **words("head 8-10"),
    },
    limits={
        "A tagger marks what stands in the text.": "Given phrases that do not stand there lower its recall against "
        "*all*, and nothing it could do would change that.",
        "The published figures are another model's,": "and what they were measured on is not known; they say whether "
        "the picture is alike (a pruned tagger loses nothing), not more.",
        "One head at a time": "misses heads that stand in for each other; the curves show what happens when many go.",
        "One run is one seed.": "Taggers of other seeds differ by more than the intervals over texts say; train "
        "several before small differences are believed.",
    },
    unshown={
        "ablation": "its rows are shown with how bad each change is", "curve": "draws of chance are shown as one",
        "scores": "they are shown with what they count", "whole": "sizes stand beside the scores",
    },
)  # fmt: skip
