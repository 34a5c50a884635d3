"""The page of the study of key words: which heads see them, what all know together, and what phrases come of it.

A head is named as the best only after it was the best on the texts for choosing; all other figures are of the texts
that are scored, unless it says else.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Any

from attlas.pages import (
    Claim,
    Finding,
    Listing,
    Page,
    Row,
    Rows,
    Section,
    Style,
    Tables,
    charts,
    keyed,
    label_of,
    listed,
    say,
    with_interval,
)
from attlas.store.schema import PLACE, Column, Schema, is_known
from attlas.studies.shared.keywords.columns import AT, GOLD, MEASURE, OVER, SCORES, TEXTS
from attlas.studies.shared.wording import words

LEVEL = 0.01  # of a corrected p
NEAR = 0.01  # F1 that is as good as all heads'
AUC = ("auc_low", "auc_high")

KIND = Column("kind", "attention by", meaning="measure, and over which of the words that attend")
CHOSEN = Column("chosen", "chosen", "flag", "whether it is among the heads that weigh texts best, as phrases")
PART = Column("part", "texts", labels={
    "chosen on": "for choosing", "scored on": "for scoring", "cross-validated": "for choosing, cross-validated",
})  # fmt: skip
SEEN = (
    Column("auc", "AUC", "share", "how often a key word receives more than another word of its text, ties counting "
           "half; 0.5 is chance", ends=AUC, twin="twin_auc", head=True),
    Column("twin_auc", "AUC, untrained", "share", "of the untrained twin", optional=True),
    Column("relative", "relative attention", "signed", "what key words receive less what others do, mean over texts",
           ends=("low", "high"), definition="Štefánik", head=True),
    Column("p", "p", "p", "Wilcoxon's signed ranks of relative attention, over texts"),
    Column("p_corrected", "p, corrected", "p", "Wilcoxon's signed ranks of relative attention, over texts",
           family="all heads of a kind (Holm)", was="p_holm"),
    Column("key", "key words receive", "number", head=True),
    Column("other", "others receive", "number", head=True),
    Column("saved", "nats saved", "signed", "how much less the cross-entropy is than that of even attention",
           ends=("saved_low", "saved_high"), head=True),
    Column("cross_entropy", "cross-entropy", "number", "of what it gives to words as a guess at the key words"),
    Column("choosing_auc", "AUC, choosing", "share", "on the texts for choosing"),
    Column("choosing_relative", "relative attention, choosing", "signed", "on the texts for choosing"),
    Column("choosing_saved", "nats saved, choosing", "signed", "on the texts for choosing"),
    CHOSEN,
    TEXTS,
)  # fmt: skip
HEADS = Schema("heads", "Every head by every kind of attention.", *PLACE, MEASURE, OVER, *SEEN)
BY_KIND = Schema(
    "by_kind", "The same for charts, the kind of the chosen heads first.", *PLACE, KIND,
    Column("times", "key ÷ others", "number", "what key words receive over what others do"),
    Column("set", "set"), *(Column(f"less_{name}", name) for name in ("auc", "relative", "times", "saved")),
    Column("free", "not chosen", "number"), *SEEN,
)  # fmt: skip
CHOICE = Schema(
    "choice", "The heads that were chosen, the best first.", *PLACE, MEASURE, OVER, Column("rank", "rank", "count"),
    Column("choosing_auc", "AUC, choosing", "share"),
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
    Column("weight", "weight", "signed", "mean over folds; above 0 it speaks for a key word", head=True),
    Column("least", "least of the folds", "signed", was="low"),
    Column("most", "most of the folds", "signed", was="high"),
    Column("order", "place by size", "count"),
)  # fmt: skip
AGAINST = Schema("against", "The same for charts.", *WEIGHTS.columns, Column("less", "against", "number"))
MIX = Schema(
    "mix", "The scalar mix of all heads.", *PLACE,
    Column("share", "share of the mix", "percent", "positive, and all sum to one", definition="Tenney et al. 2019",
           head=True),
    Column("gamma", "γ", "number", optional=True),
)  # fmt: skip
PREDICTORS = Schema(
    "predictors", "All that was asked to find key words.", Column("predictor", "predictor"), *WORD_SCORES,
    Column("auc", "AUC", "share", ends=AUC), TEXTS,
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
    """All heads with their kind, that of the chosen ones first, and how far each figure is below chance."""
    kind = _chosen_kind(tables)
    for row in sorted(tables["heads"], key=lambda row: any(row[name] != value for name, value in kind.items())):
        times = row["key"] / row["other"] if row["other"] else None
        yield {
            **row, "kind": _kind_of(row), "times": times, "set": "chosen" if row["chosen"] else "not chosen",
            "less_auc": 0.5 - row["auc"], "less_relative": -row["relative"], "less_saved": -row["saved"],
            "less_times": -math.log(max(times, 1e-3)) if times is not None else None,
            "free": 0.0 if row["chosen"] else 1.0,
        }  # fmt: skip


def sets(tables: Tables) -> Iterator[Row]:
    """A line for each set of heads, with its scores side by side."""
    for part, rows in tables["phrases"].by("part"):
        for selection, some in rows.by("selection"):
            for measure, own in some.by("measure"):
                for over, scores in own.by("over"):
                    line: dict[str, Any] = {
                        "part": part, "selection": selection, "kind": f"{measure}, {over}",
                        "heads": scores[0]["heads"], "chosen": any(scores.column("chosen")),
                    }  # fmt: skip
                    for name, (at, gold) in DEPTHS.items():
                        found = scores.where(at=at, gold=gold)
                        for end, column in (("", "f1"), ("_low", "low"), ("_high", "high")):
                            line[f"{name}{end}"] = found[0][column] if found else None
                    yield line


def steps(tables: Tables) -> Iterator[Row]:
    """The regression by the number of heads, as a word, so that steps stand evenly."""
    return ({**row, "count": str(row["heads"])} for row in tables["regression"])


def against(tables: Tables) -> Iterator[Row]:
    """Weights of heads with the sign turned: what speaks against a key word."""
    return ({**row, "less": -row["weight"]} for row in tables["regression_weights"])


def enough_heads(rows: Rows) -> Row | None:
    """The fewest heads with which the regression is as good as with all of them, within :data:`NEAR`."""
    ordered = rows.smallest("heads")
    return next((row for row in ordered if row["f1"] >= ordered[-1]["f1"] - NEAR), None)


def answer(tables: Tables) -> Finding | None:
    """The head that tells key words from others best."""
    kind = _chosen_kind(tables)
    rows = tables["heads"].where(**kind).largest("choosing_auc")
    if not rows:
        return None
    best, untrained = rows[0], rows.largest("twin_auc")
    claims = [Claim("largest", "heads", "choosing_auc", keyed([best]), kind),
              Claim("value", "heads", "auc", keyed([best]), kind, value=best["auc"])]  # fmt: skip
    twin = say("")
    if untrained:
        twin = say(", the same head untrained {own:share} and the best of all untrained heads {most:share}",
                   own=best["twin_auc"], most=untrained[0]["twin_auc"])  # fmt: skip
        claims.append(Claim("largest", "heads", "twin_auc", keyed(untrained[:1]), kind))
    text = say(
        "Head **{head}** tells key words from others best ({kind}): a key word receives more than another word of "
        "its text with probability (AUC) {auc}, where chance gives 0.50{twin}.",
        head=label_of(best), kind=_kind_of(best), auc=with_interval(best, "auc", AUC), twin=twin,
    )  # fmt: skip
    return Finding(text, tuple(claims), see="map")


def best_head(tables: Tables) -> Iterator[Finding]:
    """What else is known of the best head."""
    kind = _chosen_kind(tables)
    for best in tables["heads"].where(**kind).largest("choosing_auc")[:1]:
        yield Finding(
            say(
                "Key words receive {times} from it, and it saves {saved} nats of the {even:number} that even "
                "attention has.",
                times=say("**{times:number}** times what others do", times=best["key"] / best["other"])
                if best["other"] else "all there is",
                saved=with_interval(best, "saved", ("saved_low", "saved_high")),
                even=best["cross_entropy"] + best["saved"],
            ),
            (Claim("value", "heads", "saved", keyed([best]), kind, value=best["saved"]),),
            see="table",
        )  # fmt: skip


def many(tables: Tables) -> Iterator[Finding]:
    """How many heads give more to key words, and how many less."""
    kind = _chosen_kind(tables)
    rows = tables["heads"].where(**kind)
    if rows:
        sure = rows.where(lambda row: is_known(row["p_corrected"]) and row["p_corrected"] < LEVEL)
        more, less = sure.count(lambda row: row["relative"] > 0), sure.count(lambda row: row["relative"] < 0)
        yield Finding(
            say(
                "**{more} of {n}** heads give more to key words than to others (p < 0.01 after Holm's correction), "
                "{less} give less. Being a rarer, longer word is part of it: look at what needs no model.",
                more=more, n=len(rows), less=less,
            ),
            (Claim("count", "heads", "p_corrected", among=kind, value=len(sure), than=LEVEL, below=True),),
            see="map",
        )  # fmt: skip


def kinds(tables: Tables) -> Iterator[Finding]:
    """The best head by each way of reading attention."""
    groups = {(row["measure"], row["over"]): None for row in tables["heads"]}
    best = []
    for measure, over in groups:
        best += list(tables["heads"].where(measure=measure, over=over).largest("choosing_auc")[:1])
    if len(best) > 1:
        ranked = sorted(best, key=lambda row: -row["auc"])
        named = [say("{kind} **{auc:share}** ({head})", kind=_kind_of(row), auc=row["auc"], head=label_of(row))
                 for row in ranked]  # fmt: skip
        claims = [
            Claim("largest", "heads", "choosing_auc", keyed([row]), {"measure": row["measure"], "over": row["over"]})
            for row in ranked
        ]
        yield Finding(say("By the way of reading attention, the AUC of the best head is: {named}.",
                          named=listed(named, between="; ")), tuple(claims), see="map")  # fmt: skip


def phrases(tables: Tables) -> Iterator[Finding]:
    """How good the phrases of the chosen heads are."""
    scored = {"part": "scored on", "at": "10", "gold": "all"}
    rows = tables["phrases"].where(**scored)
    for chosen in rows.where(chosen=True)[:1]:
        others = rows.where(chosen=False).where(selection=set(rows.values("selection")) - {chosen["selection"]})
        beside = [say("{name} {f1}", name=row["selection"], f1=with_interval(row, "f1")) for row in others]
        columns = ("selection", "measure", "over")
        yield Finding(
            say(
                "As phrases, the chosen heads ({selection}, {kind}) reach F1@10 {f1}{beside}.",
                selection=chosen["selection"], kind=_kind_of(chosen), f1=with_interval(chosen, "f1"),
                beside=say("; {others}", others=listed(beside, between="; ")) if beside else "",
            ),
            (Claim("value", "phrases", "f1", keyed([chosen], *columns), {**scored, "chosen": True}, chosen["f1"]),),
            see="phrases",
        )  # fmt: skip


def regression(tables: Tables) -> Iterator[Finding]:
    """What all heads know together, and how few are enough."""
    every = tables["regression"]
    part = "scored on" if every.where(part="scored on") else "cross-validated"
    rows = every.where(part=part)
    for whole in rows.largest("heads")[:1]:
        folds, few = every.where(part="cross-validated", heads=whole["heads"]), enough_heads(rows)
        trained = say(", cross-validated where it was trained {f1:share}", f1=folds[0]["f1"]) if folds else ""
        enough = say("; **{few}** of them are enough to come within 0.01 of it", few=few["heads"]) if few else ""
        text = say(
            "A regression on all {n} heads ({kind}) finds key words with F1 {f1}{trained}{few}.",
            n=whole["heads"], kind=_read_by(tables), f1=with_interval(whole, "f1"),
            trained="" if part == "cross-validated" else trained,
            few=enough if few and few["heads"] < whole["heads"] else "",
        )  # fmt: skip
        claims = (Claim("value", "regression", "f1", keyed([whole], "part", "heads"), value=whole["f1"]),)
        yield Finding(text, claims, see="regression")


def others(tables: Tables) -> Iterator[Finding]:
    """What stands beside: no model, the untrained twin, a single head."""
    known = {
        "length, place and frequency": "a regression on a word's length, its place and how often it occurs, without "
        "any model, reaches",
        "all heads, with length, place and frequency": "both together",
        "all heads of the untrained twin": "all heads of the untrained twin",
        "best head": "the best single head",
        "every word": "calling every word a key word",
    }
    rows = [row for name in known for row in tables["predictors"].where(predictor=name)]
    if rows:
        named = [say("{what} {f1}", what=known[row["predictor"]], f1=with_interval(row, "f1")) for row in rows]
        claims = [Claim("value", "predictors", "f1", keyed([row], "predictor"), value=row["f1"]) for row in rows]
        yield Finding(say("Beside it, {named}.", named=listed(named, between="; ")), tuple(claims), see="predictors")


def mix(tables: Tables) -> Iterator[Finding]:
    """Where the mix of heads lies."""
    rows = tables["mix"].largest("share")
    if rows:
        layer = sum(row["share"] * (row["layer"] + 1) for row in rows)
        yield Finding(
            say(
                "The mix of heads lies at layer **{layer:number}** on average (an even mix at {even:number}); it "
                "gives most, in per cent, to **{named}**.",
                layer=layer, even=(1 + tables.layers) / 2, named=rows.sentence("share", "percent", most=3),
            ),
            (Claim("largest", "mix", "share", keyed(rows[:3])),),
            see="mix",
        )  # fmt: skip


def _read_by(tables: Tables) -> str:
    """The kind that regression, mix and single predictors read."""
    return next((str(kind) for kind in tables["whole"].values("kind")), "")


_PICK = Style(pick=("kind",))
PAGE = Page(
    "keywords-study",
    title="Which heads of {model} know the key words of a text?",
    answer=answer,
    chart=charts.head_map(
        "by_kind", "auc", "relative", "times", "saved", style=_PICK,
        shade={name: f"less_{name}" for name in ("auc", "relative", "times", "saved")},
        sure=dict.fromkeys(("auc", "relative", "times", "saved"), "free"),
        label="Heat map of how well each head tells key words from others, layer by head",
    ).having(note="blue: more for key words than for others; red: less; framed: the chosen heads"),
    about="Does attention know which words of a text matter? In **{corpus}** people have said so. Every head of "
    "**{model}** is asked how much the words of a text receive, and whether that is where the key words are.",
    findings=(best_head, many, kinds, phrases, regression, others, mix),
    schemas=(HEADS, CHOICE, PHRASES, REGRESSION, WEIGHTS, MIX, PREDICTORS, WHOLE, BY_KIND, SETS, STEPS, AGAINST),
    derived={"by_kind": by_kind, "sets": sets, "steps": steps, "against": against},
    sections=(
        Section(
            "predictors", "Against simpler guesses",
            "All that was asked to find key words, on the same texts. A head or a model says something only as far "
            "as it is above what needs no model.",
            (
                charts.dots("predictors", "predictor", "f1", "auc", key="all-predictors", title="All predictors",
                            order="-f1"),
                Listing("predictors", "predictor", "f1", "precision", "recall", "auc", order="-f1"),
            ),
            short="Predictors",
        ),
        Section(
            "order", "Head after head",
            "All heads from the best to the worst with 95 % confidence intervals (bootstrap over texts), and each on "
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
                charts.head_map("against", "weight", key="weights", title="Weights of the regression",
                                shade={"weight": "less"}, style=Style(tell=("least", "most", "order"))),
                charts.head_map("mix", "share", key="shares", title="Shares of the mix, in per cent"),
            ),
            short="Weights", width="half",
        ),
        Section(
            "phrases", "As key phrases",
            "Words weighed by sets of heads, phrases made of the weights, and held against those that people gave "
            "(by stems). The best F1@10 on the texts for choosing decides which heads are chosen.",
            (
                Listing("sets", "selection", "kind", "heads", "chosen", *DEPTHS, order="-f1_10",
                        title="On the texts for scoring", where={"part": "scored on"}),
                Listing("sets", "selection", "kind", "heads", "chosen", *DEPTHS, order="-f1_10",
                        title="All candidates, on the texts for choosing", where={"part": "chosen on"}),
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
        "that. The predictor without a model is a first control, the untrained twin a second.",
        "People disagree about key phrases,": "and those they gave that do not stand in the text cannot be found by "
        "anybody. Words are marked by stemmed match, which marks every place of a phrase, also where it means "
        "little.",
        "AUC, cross-entropy and differences are within texts,": "so that long and short texts count alike; texts in "
        "which all words or none are key words do not count.",
        "Attention that is received is not what a model uses.": "That a head dwells on key words does not show that "
        "the model needs them for its task; `attlas keywords tune` takes heads away.",
    },
    unshown={
        "heads": "its rows are shown by kind of attention", "regression_weights": "they are shown as a map",
        "phrases": "its scores stand side by side for each set of heads",
    },
)  # fmt: skip
