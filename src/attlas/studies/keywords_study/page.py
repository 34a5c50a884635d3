"""The page of the study of key words: which heads see them, what all know together, and what phrases come of it.

A head is named as the best only after it was the best on the texts for choosing; all other figures are of the texts
that are scored, unless it says else.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

from attlas.pages import (
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
    keyed,
    label_of,
)
from attlas.pages.findings import finding, value_claim
from attlas.pages.prose import listed, say, with_interval
from attlas.store.schema import PLACE, Column, Schema, is_known
from attlas.studies.shared.keywords.columns import AT, GOLD, MEASURE, OVER, SCORES, TEXTS
from attlas.studies.shared.wording import drawn, side_by_side, untrained, words

LEVEL = 0.01  # of a corrected p
CHANCE = 0.5  # AUC
NEAR = 0.01  # F1 that is as good as all heads'
AUC = ("auc_low", "auc_high")
ONE = ("stream", "layer", "head", "measure", "over")  # what tells one row of the heads from others

KIND = Column("kind", "attention by", meaning="measure, and over which of the words that attend")
CHOSEN = Column("chosen", "chosen", "flag", "whether it is among the heads that weigh texts best, as phrases")
PART = Column("part", "texts", labels={
    "chosen on": "for choosing", "scored on": "for scoring", "cross-validated": "for choosing, cross-validated",
})  # fmt: skip
TWINS = Column("twins", "twins", "count", "how many untrained twins were drawn", optional=True)


def even_odds(rows: Callable[[str], list[dict[str, Any]]]) -> dict[tuple[Any, ...], float]:
    """The AUC of a guess, for every kind of attention.

    >>> even_odds(lambda table: [{"over": "mean", "measure": "weight"}])
    {('mean', 'weight'): 0.5}
    """
    return {(row["over"], row["measure"]): CHANCE for row in rows("heads")}


SEEN = (
    Column("auc", "AUC", "share", "how often a key word receives more than another word of its text, ties counting "
           "half; 0.5 is chance", ends=AUC, twin="twin_auc", head=True, against=even_odds,
           halves=("choosing_auc", "auc"), called="AUC of key words, attention of {over}"),
    Column("twin_auc", "AUC, untrained", "share", "of the same place in untrained twins, their mean; ends: the "
           "lowest and the highest, where there are several", ends=("twin_auc_low", "twin_auc_high"), optional=True),
    TWINS,
    Column("relative", "relative attention", "signed", "what key words receive less what others do, mean over texts",
           ends=("low", "high"), definition="Štefánik", head=True, p="p_corrected",
           halves=("choosing_relative", "relative"), called="relative attention of key words, of {over}"),
    Column("p", "p", "p", "Wilcoxon's signed ranks of relative attention, over texts"),
    Column("p_corrected", "p, corrected", "p", "Wilcoxon's signed ranks of relative attention, over texts",
           family="all heads of a kind (Holm)", none="too few", was="p_holm"),
    Column("key", "key words receive", "number"),
    Column("other", "others receive", "number"),
    Column("saved", "nats saved", "signed", "how much less the cross-entropy is than that of even attention",
           ends=("saved_low", "saved_high"), head=True, halves=("choosing_saved", "saved"),
           called="nats saved as a guess at key words, attention of {over}"),
    Column("cross_entropy", "cross-entropy", "number", "of what it gives to words as a guess at the key words"),
    Column("choosing_auc", "AUC, choosing", "share", "on the texts for choosing"),
    Column("choosing_relative", "relative attention, choosing", "signed", "on the texts for choosing"),
    Column("choosing_saved", "nats saved, choosing", "signed", "on the texts for choosing"),
    CHOSEN,
    TEXTS,
)  # fmt: skip
HEADS = Schema("heads", "Every head by every kind of attention.", *PLACE, MEASURE, OVER, *SEEN,
               keys=("over", "measure"))  # fmt: skip
BY_KIND = Schema(
    "by_kind", "The same for charts, the kind of the chosen heads first.", *PLACE, KIND,
    Column("times", "key ÷ others", "number", "what key words receive over what others do"), Column("set", "set"),
    *SEEN,
)  # fmt: skip
LESS = {  # how far each figure is below chance
    "auc": "0.5 - datum.auc", "relative": "-datum.relative", "saved": "-datum.saved",
    "times": "isValid(datum.times) ? -log(max(datum.times, 0.001)) : null",
}  # fmt: skip
CHOICE = Schema(
    "choice", "The heads that were chosen, the best first.", *PLACE, MEASURE, OVER, Column("rank", "rank", "count"),
    Column("choosing_auc", "AUC, choosing", "share"),
    Column("longest", "longest phrase", "count", "the most words of a phrase: 1 where most phrases given to the "
           "texts to choose on are single words", optional=True),
)  # fmt: skip
SELECTION = Column("selection", "heads", meaning="which heads weigh the words")
SET_SIZE = Column("heads", "how many", "count")
PHRASES = Schema(
    "phrases", "Phrases made by sets of heads, held against those that people gave.", PART, SELECTION, MEASURE, OVER,
    SET_SIZE, CHOSEN, AT, GOLD, *SCORES, TEXTS,
)  # fmt: skip
DEPTHS = {"f1_5": ("5", "all"), "f1_10": ("10", "all"), "f1_m": ("M", "all"), "present_10": ("10", "present")}
SETS = Schema(
    "sets", "The same, a line for each set.", PART, SELECTION, KIND, SET_SIZE, CHOSEN,
    *(Column(name, f"F1@{at}" if gold == "all" else f"F1@{at}, in the text", "share",
             ends=(f"{name}_low", f"{name}_high")) for name, (at, gold) in DEPTHS.items()),
)  # fmt: skip
WORD_SCORES = (
    Column("f1", "F1 of words", "share", ends=("low", "high")),
    Column("precision", "precision", "share"),
    Column("recall", "recall", "share"),
)
KEPT = Column("heads", "heads kept", "count", "each time those with the largest weights")
REGRESSION = Schema(
    "regression", "A logistic regression on what words receive, by the number of heads it keeps.", PART, KEPT,
    *WORD_SCORES, Column("auc", "AUC", "share"), Column("c", "C", "number", "the inverse strength of the penalty"),
    TEXTS,
)  # fmt: skip
STEPS = Schema("steps", "The same for charts.", *REGRESSION.columns, Column("count", "heads kept"))
WEIGHTS = Schema(
    "regression_weights", "The regression on all heads, head by head.", *PLACE,
    Column("weight", "weight", "signed", "mean over folds; above 0 it speaks for a key word", head=True,
           called="weight in a regression on key words"),
    Column("least", "least of the folds", "signed", was="low"),
    Column("most", "most of the folds", "signed", was="high"),
    Column("order", "place by size", "count"),
    keys=(),
)  # fmt: skip
MIX = Schema(
    "mix", "The scalar mix of all heads.", *PLACE,
    Column("share", "share of the mix", "percent", "positive, and all sum to one", definition="Tenney et al. 2019",
           head=True, called="share of the mix that knows key words"),
    Column("gamma", "γ", "number", optional=True),
    keys=(),
)  # fmt: skip
PREDICTORS = Schema(
    "predictors", "All that was asked to find key words.", Column("predictor", "predictor"), *WORD_SCORES,
    Column("auc", "AUC", "share", ends=AUC), TEXTS, TWINS,
    Column("twins_low", "lowest of the twins", "share", "F1, where there are several", optional=True),
    Column("twins_high", "highest of the twins", "share", "F1, where there are several", optional=True),
)  # fmt: skip
WHOLE = Schema(
    "whole", "What was read.", PART, Column("documents", "documents", "count"), Column("words", "words", "count"),
    Column("key_words", "key words", "count"), Column("share", "share of key words", "percent"),
    Column("given", "phrases given", "count"), Column("present", "of these in the text", "count"),
    Column("windows", "windows", "count"), Column("language", "language"),
    Column("kind", "all heads read by", meaning="attention that regression, mix and single predictors read"),
)  # fmt: skip


def _kind_of(row: Row) -> str:
    """How attention was read, in words."""
    return f"{row['measure']}, {row['over']}"


def _chosen_kind(tables: Tables) -> dict[str, Any]:
    """The kind of the chosen heads, as values of columns."""
    known = tables["choice"] or tables["heads"]
    return {name: known[0][name] for name in ("measure", "over")} if known else {}


def by_kind(tables: Tables) -> Iterator[Row]:
    """All heads with their kind, that of the chosen ones first."""
    kind = _chosen_kind(tables)
    for row in sorted(tables["heads"], key=lambda row: any(row[name] != value for name, value in kind.items())):
        times = row["key"] / row["other"] if row["other"] else None
        yield {**row, "kind": _kind_of(row), "times": times, "set": "chosen" if row["chosen"] else "not chosen"}


def sets(tables: Tables) -> Iterator[Row]:
    """A line for each set of heads, with its scores side by side."""
    keys = ("part", "selection", "measure", "over", "heads", "chosen")
    counts = {name: {"at": at, "gold": gold} for name, (at, gold) in DEPTHS.items()}
    return ({**row, "kind": _kind_of(row)} for row in side_by_side(tables["phrases"], keys, "f1", counts))


def steps(tables: Tables) -> Iterator[Row]:
    """The regression by the number of heads, as a word, so that steps stand evenly."""
    return ({**row, "count": str(row["heads"])} for row in tables["regression"])


def enough_heads(rows: Rows) -> Row | None:
    """The fewest heads with which the regression is as good as with all of them, within :data:`NEAR`."""
    ordered = rows.smallest("heads")
    return next((row for row in ordered if row["f1"] >= ordered[-1]["f1"] - NEAR), None)


def _best_heads(tables: Tables) -> Rows:
    """The heads of the chosen kind, the best where they were chosen first."""
    return tables["heads"].where(**_chosen_kind(tables)).largest("choosing_auc")


def _knows(best: Row) -> bool:
    """Whether a head is above chance, beyond its interval where it has one."""
    return bool((best["auc_low"] if is_known(best["auc_low"]) else best["auc"]) > CHANCE)


def warning(tables: Tables) -> Prose | None:
    """That no head knows key words, where the one that seemed best does not where it is scored."""
    for best in _best_heads(tables)[:1]:
        if not _knows(best):
            return say(
                "The head that seemed best where heads were chosen, {head}, does not tell key words from others in "
                "the texts that are scored (AUC {auc}): nothing is to be made of these heads.", head=label_of(best),
                auc=with_interval(best, "auc", AUC),
            )  # fmt: skip
    return None


def shown(find: Callable[[Tables], Iterator[Finding]]) -> Callable[[Tables], Iterator[Finding]]:
    """What is found of heads, unless the best of them does not tell key words from others."""

    def told(tables: Tables) -> Iterator[Finding]:
        if warning(tables) is None:
            yield from find(tables)

    return told


def answer(tables: Tables) -> Finding | None:
    """The head that tells key words from others best."""
    rows, kind = _best_heads(tables), _chosen_kind(tables)
    if not rows:
        return None
    best, twin = rows[0], rows.largest("twin_auc")[:1]
    beside = ", the same head of {twins} {own:share} and the best of all untrained heads {most:share}"
    return finding(
        "{verdict} ({kind}): a key word receives more than another word of its text with probability (AUC) {auc}, "
        "where chance gives 0.50{twin}.",
        Claim("largest", "heads", "choosing_auc", keyed([best]), kind), value_claim("heads", "auc", best, *ONE),
        *(Claim("largest", "heads", "twin_auc", keyed([row]), kind) for row in twin), *drawn("heads", rows, *ONE),
        verdict=say("Head **{head}** tells key words from others best" if _knows(best) else
                    "**No head** was found that tells key words from others, not even {head}", head=label_of(best)),
        see="map", kind=_kind_of(best), auc=with_interval(best, "auc", AUC),
        twin=say(beside, twins=untrained(rows), own=best["twin_auc"], most=twin[0]["twin_auc"]) if twin else "",
    )  # fmt: skip


def best_head(tables: Tables) -> Iterator[Finding]:
    """What else is known of the best head."""
    for best in _best_heads(tables)[:1]:
        own, times = keyed([best], *ONE), best["key"] / (best["other"] or 1.0)
        more = say("**{times:number}** times what others do", times=times)
        saves = best["saved"] > 0
        yield finding(
            "Key words receive {times} from it, and it {saves} {saved} nats against even attention, with "
            "{cross_entropy:number} left.",
            Claim("above" if saves else "below", "heads", "saved", own, than=0 if saves else 1e-12),
            *([Claim("ratio", "heads", "key", own, value=times, than="other")] if best["other"] else []),
            value_claim("heads", "saved", best, *ONE), see="table", times=more if best["other"] else "all there is",
            saves="saves" if saves else "saves nothing:", cross_entropy=best["cross_entropy"],
            saved=with_interval(best, "saved", ("saved_low", "saved_high")),
        )  # fmt: skip


def many(tables: Tables) -> Iterator[Finding]:
    """How many heads give more to key words, and how many less."""
    kind, rows = _chosen_kind(tables), _best_heads(tables)
    if rows.known("p_corrected"):  # there is none where there are too few texts
        sure = rows.known("p_corrected").where(lambda row: row["p_corrected"] < LEVEL)
        more, less = (sum(sign * row["relative"] > 0 for row in sure) for sign in (1, -1))
        yield finding(
            "**{more} of {n}** heads give more to key words than to others (p < 0.01 after Holm's correction), "
            "{less} give less. Being a rarer, longer word is part of it: look at what needs no model.",
            Claim("count", "heads", "p_corrected", among=kind, value=len(sure), than=LEVEL, below=True),
            *(Claim("count", "heads", "relative", among={**kind, "p_corrected": sure.values("p_corrected")},
                    value=count, than=0, below=below) for count, below in ((more, False), (less, True))),
            see="map", more=more, n=len(rows), less=less,
        )  # fmt: skip


def kinds(tables: Tables) -> Iterator[Finding]:
    """The best head by each way of reading attention."""
    best = Rows(rows.largest("choosing_auc")[0] for _, rows in tables["by_kind"].by("kind")).largest("auc")
    if len(best) > 1:
        named = [say("{kind} **{auc:share}** ({name})", **row, name=label_of(row)) for row in best]
        yield finding(
            "By the way of reading attention, the AUC of the best head is: {named}.",
            *(Claim("largest", "by_kind", "choosing_auc", keyed([row]), {"kind": row["kind"]}) for row in best),
            see="map", named=listed(named, between="; "),
        )  # fmt: skip


def phrases(tables: Tables) -> Iterator[Finding]:
    """How good the phrases of the chosen heads are."""
    rows = tables["phrases"].where(part="scored on", at="10", gold="all")
    for chosen in rows.where(chosen=True)[:1]:
        others = rows.where(chosen=False, selection=set(rows.values("selection")) - {chosen["selection"]})
        beside = [say("{name} {f1}", name=row["selection"], f1=with_interval(row, "f1")) for row in others]
        keys = ("selection", "measure", "over", "part", "at", "gold", "chosen")
        yield finding(
            "As phrases, the chosen heads ({selection}, {kind}) reach F1@10 {f1}.",
            *(value_claim("phrases", "f1", row, *keys) for row in (chosen, *others)), see="phrases",
            selection=chosen["selection"],
            kind=_kind_of(chosen), f1=listed([with_interval(chosen, "f1"), *beside], between="; "),
        )  # fmt: skip


def regression(tables: Tables) -> Iterator[Finding]:
    """What all heads know together, and how few are enough."""
    every = tables["regression"]
    scored = every.where(part="scored on")
    rows = scored or every.where(part="cross-validated")
    for whole in rows.largest("heads")[:1]:
        folds = every.where(part="cross-validated", heads=whole["heads"]) if scored else ()
        few = enough_heads(rows) or whole
        yield finding(
            "A regression on all {n} heads ({kind}) finds key words with F1 {f1}{trained}{few}.",
            *(value_claim("regression", "f1", row, "part", "heads") for row in (whole, few, *folds[:1])),
            see="regression", n=whole["heads"],
            kind=_read_by(tables), f1=with_interval(whole, "f1"),
            trained=say(", cross-validated where it was trained {f1:share}", f1=folds[0]["f1"]) if folds else "",
            few=say("; **{heads}** of them are enough to come within 0.01 of it", **few) if few != whole else "",
        )  # fmt: skip


def others(tables: Tables) -> Iterator[Finding]:
    """What stands beside: no model, untrained twins, a single head."""
    known = {
        "length, place and frequency": "a regression on a word's length, its place and how often it occurs, without "
        "any model, reaches",
        "all heads, with length, place and frequency": "both together",
        "all heads of the untrained twin": f"all heads of {untrained(tables['predictors'])}",
        "best head": "the best single head",
        "every word": "calling every word a key word",
    }
    rows = [row for name in known for row in tables["predictors"].where(predictor=name)]
    if rows:
        named = [say("{what} {f1}", what=known[row["predictor"]], f1=with_interval(row, "f1")) for row in rows]
        claims = [value_claim("predictors", "f1", row, "predictor") for row in rows]
        yield finding("Beside it, {named}.", *claims, see="predictors", named=listed(named, between="; "))


def mix(tables: Tables) -> Iterator[Finding]:
    """Where the mix of heads lies."""
    rows = tables["mix"].largest("share")
    if rows:
        places = tables["mixed"]
        layer, even = places.total("weighed"), places.mean("place")
        yield finding(
            "The mix of heads lies at layer **{layer:number}** on average (an even mix at {even:number}); it gives "
            "most, in per cent, to **{named}**.", Claim("largest", "mix", "share", keyed(rows[:3])),
            Claim("total", "mixed", "weighed", value=layer), Claim("mean", "mixed", "place", value=even), see="mix",
            layer=layer, even=even, named=rows.sentence("share", "percent", most=3),
        )  # fmt: skip


def _mixed(tables: Tables) -> Iterator[Row]:
    """Heads of the mix with their layer, counted from 1, and what it is times their share."""
    for row in tables["mix"].known("share"):
        place = row["layer"] + 1
        yield {
            **{name: row[name] for name in ("stream", "layer", "head")},
            "place": place,
            "weighed": place * row["share"],
        }


def _read_by(tables: Tables) -> str:
    """The kind that regression, mix and single predictors read."""
    return next((str(kind) for kind in tables["whole"].values("kind")), "")


_PICK = Style(pick=("kind",))
PAGE = Page(
    "keywords-study",
    title="Which heads of {model} know the key words of a text?",
    answer=answer,
    warning=warning,
    chart=charts.head_map(
        "by_kind", "auc", "relative", "times", "saved", style=_PICK, shade=LESS,
        sure=dict.fromkeys(LESS, "datum.chosen ? 0 : 1"),
        label="Heat map of how well each head tells key words from others, layer by head",
    ).having(note="blue: more for key words than for others; red: less; framed: the chosen heads"),
    about="Does attention know which words of a text matter? In **{corpus}** people have said so. Every head of "
    "**{model}** is asked how much the words of a text receive, and whether that is where the key words are.",
    findings=(*map(shown, (best_head, many, kinds, phrases)), regression, others, shown(mix)),
    schemas=(HEADS, CHOICE, PHRASES, REGRESSION, WEIGHTS, MIX, PREDICTORS, WHOLE, BY_KIND, SETS, STEPS),
    derived={"by_kind": by_kind, "sets": sets, "steps": steps, "mixed": _mixed},
    sections=(
        Section(
            "predictors", "Against simpler guesses",
            "All that was asked to find key words, on the same texts. A head or a model says something only as far "
            "as it is above what needs no model.",
            (
                charts.dots("predictors", "predictor", "f1", "auc", key="all-predictors", title="All predictors",
                            order="-f1"),
                Listing("predictors", "predictor", "f1", "precision", "recall", "auc", "twins", "twins_low",
                        "twins_high", order="-f1"),
            ),
            short="Predictors",
        ),
        Section(
            "order", "Head after head",
            "All heads from the best to the worst with 95 % confidence intervals over texts, and each on "
            "the texts it was chosen on against those it is scored on: along the dashed line it is as good on new "
            "texts.",
            (
                charts.ranked("by_kind", "auc", "relative", "saved", key="sorted", title="In order", colour="set",
                              style=_PICK),
                charts.scatter("by_kind", "choosing_auc", "auc", key="parts", title="Chosen and scored",
                               colour="set", diagonal=True, style=_PICK),
            ),
            short="Order", width="half",
        ),
        Section(
            "regression", "All heads together",
            lambda tables: say(
                "A logistic regression on what all heads let a word receive, then with fewer and fewer of them; "
                "attention is read by {kind} here and for all predictors. *Cross-validated* is within the texts for "
                "choosing, by folds of whole texts, penalty and threshold found inside each; *for scoring* is "
                "trained on all of them and scored on the others.", kind=_read_by(tables)),
            (
                charts.lines("steps", "count", "f1", "auc", key="kept", title="By the number of heads",
                             colour="part", style=Style(tight=True)),
                Listing("regression", "part", "heads", "f1", "precision", "recall", "auc", "c"),
            ),
            short="Regression",
        ),
        Section(
            "mix", "Which heads count",
            "What the regression makes of each head: blue speaks for a key word, red against. Heads that say the "
            "same share their weight or are played against each other, so a pale head need not be ignorant. In the "
            "mix, shares are positive and sum to one, so it shows where the information lies.",
            (
                charts.head_map("regression_weights", "weight", key="weights", title="Weights of the regression",
                                shade={"weight": "-datum.weight"}, style=Style(tell=("least", "most", "order"))),
                charts.head_map("mix", "share", key="shares", title="Shares of the mix, in per cent"),
            ),
            short="Weights", width="half",
        ),
        Section(
            "phrases", "As key phrases",
            "Words weighed by sets of heads, phrases made of the weights, and held against those that people gave "
            "(by stems). The best F1@10 on the texts for choosing decides which heads are chosen.",
            (
                *(
                    Listing("sets", "selection", "kind", "heads", "chosen", *DEPTHS, order="-f1_10", title=title,
                            where={"part": part})
                    for part, title in (("scored on", "On the texts for scoring"),
                                        ("chosen on", "All candidates, on the texts for choosing"))
                ),
                Listing("choice", "rank", "head", "measure", "over", "choosing_auc", title="The chosen heads"),
            ),
            short="Phrases",
        ),
        Section(
            "table", "All heads",
            "In the order of AUC on the texts for choosing; all other figures are of the texts for scoring.",
            (
                Listing("by_kind", "head", "kind", "choosing_auc", "auc", "relative", "p_corrected", "times", "key",
                        "other", "saved", "choosing_relative", "choosing_saved", "set", order="-choosing_auc"),
            ),
            short="Table",
        ),
        Section("read", "The texts", "", (Listing("whole", *WHOLE.names),), short="Texts"),
    ),
    words={
        "key word": "a word of the text inside a key phrase that people gave it; phrases are found by their stems, "
        "so “neural network” stands in “Neural networks”.",
        "received": "what a word gets from the words of its text, by the mean over them or by the largest; by weight "
        "α or by norm ‖αf(x)‖. Special pieces (special tokens) do not count as readers.",
        "relative attention": "what key words receive less what others do, per text, averaged over texts. Norms have "
        "a scale of their own in each head; the ratio of the two has none.",
        "nats saved": "what a head receives, normalised over the words of a text, as a guess at its key words: its "
        "cross-entropy is less than that of even attention by so much. Below 0 it is a worse guess than none.",
        "for choosing, for scoring": "heads were chosen and predictors trained on some texts, and all figures are of "
        "others, unless it says else.",
        **words("untrained twin", "head 8-10"),
    },
    limits={
        "Key words are unlike other words anyway.": "They are longer, rarer nouns; much of what a head sees may be "
        "that. The predictor without a model is a first control, untrained twins a second.",
        "An untrained twin is one draw,": "and no level of chance; of several (`--twins`) the mean is told, with the "
        "lowest and the highest.",
        "People disagree about key phrases,": "and those they gave that do not stand in the text cannot be found by "
        "anybody. Words are marked by stemmed match, which marks every place of a phrase, also where it means "
        "little.",
        "AUC, cross-entropy and differences are within texts,": "so that long and short texts count alike; texts in "
        "which all words or none are key words do not count.",
        "Attention that is received is not what a model uses.": "That a head dwells on key words does not show that "
        "the model needs them for its task; `attlas keywords tune` takes heads away.",
    },
    unshown={
        "heads": "its rows are shown by kind of attention",
        "phrases": "its scores stand side by side for each set of heads",
    },
)  # fmt: skip
