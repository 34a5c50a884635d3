"""The page of attention as explanation: what a picture of a model's attention may be read for, and what not."""

from __future__ import annotations

import math
from collections.abc import Iterator
from statistics import median

from attlas.pages import Custom, Listing, Page, Row, Section, Style, Tables, charts
from attlas.pages.prose import say
from attlas.store.schema import Column, Schema
from attlas.studies.faith import findings
from attlas.studies.faith.findings import ATTENTION, called, title
from attlas.studies.faith.findings import INTERVENTIONS as RENAMED
from attlas.studies.faith.margins import RATE
from attlas.studies.faith.words import WORDS, pictures, shaded
from attlas.studies.shared.faith import plane
from attlas.studies.shared.faith.pairs import JSD, READ, TVD
from attlas.studies.shared.published import TAU_MODEL

FEW_LABELS = 6
KINDS = {
    "uniform": (charts.GREEN, "square"), "shuffled": (charts.PURPLE, "diamond"),
    "frozen": (charts.ORANGE, "triangle-down"), "other model": (charts.BLUE, "triangle-up"),
    "evened model": ("#7d8a2e", "circle"),
    "adversary": (charts.PINK, "cross"), "adversary of one instance": (charts.PINK, plane.PLUS),
}  # fmt: skip
VERDICTS = {"holds": "✓ holds", "does not hold": "✗ does not hold", "cannot tell": "? cannot tell"}
_NAMED = (
    Column("explanation", "explanation", meaning="what gives each word a number", labels=WORDS),
    Column("layers", "layers", meaning="of attention: last, all, or one, counted from 0"),
    Column("heads", "heads", meaning="of attention: mean, or one, counted from 0"),
    Column("label", "explanation", meaning="the three together, to be read; on the page alone", optional=True),
)
_INSTANCE = (
    Column("text", "text", "index"),
    Column("place", "word", "index", "whose tag is explained; empty for texts"),
)
AGREEMENT = Schema(
    "agreement",
    "How each explanation agrees with gradients, integrated gradients and leave-one-out.",
    *_NAMED,
    Column("against", "agreement with", meaning="the explanation it is compared with", labels=WORDS),
    Column("tau", "Kendall’s τ", "share", "mean over instances; the interval is over texts", ends=("low", "high")),
    Column("significant", "instances with p < 0.05, %", "percent",
           "each by itself, not corrected: luck alone would give 5 %"),
    Column("overlap", "first words shared", "share", "of a tenth of the words, at least one",
           ends=("overlap_low", "overlap_high")),
    Column("k", "first words", "number", "how many these are, on average"),
    Column("n", "instances", "count"),
)  # fmt: skip
ERASURE = Schema(
    "erasure",
    "What erasing words by each explanation does to the probability of the predicted label.",
    *_NAMED,
    Column("comprehensiveness", "comprehensiveness", "number", "lost without the first words",
           ends=("comprehensiveness_low", "comprehensiveness_high"), definition="DeYoung et al. 2020"),
    Column("over_random", "over random words", "signed", "comprehensiveness less that of random words, paired",
           ends=("over_random_low", "over_random_high")),
    Column("sufficiency", "sufficiency", "number", "lost with only the first words",
           ends=("sufficiency_low", "sufficiency_high"), definition="DeYoung et al. 2020"),
    Column("n", "instances", "count"),
)  # fmt: skip
INTERVENTIONS = Schema(
    "interventions",
    "What happens when the model's attention is replaced, and nothing else.",
    Column("intervention", "attention", labels=RENAMED),
    Column("layers", "layers", meaning="last, all, or one, counted from 0"),
    Column("name", "file or model"),
    Column("label", "attention", meaning="the three together, to be read; on the page alone", optional=True),
    Column("score", "score", "share", ends=("score_low", "score_high")),
    Column("change", "change of score", "signed", ends=("change_low", "change_high")),
    Column("p", "raw p", "p", "of the change: paired permutation over texts", none="too few"),
    Column("p_corrected", "p", "p", "the same, corrected", family="all interventions (Holm)", optional=True,
           none="too few"),
    Column("tvd", "TVD, mean", "number", "how far the output moves", ends=("tvd_low", "tvd_high")),
    Column("tvd_median", "TVD, median", "number"),
    Column("jsd", "JSD", "number", "how far the attention is from the model's own", ends=("jsd_low", "jsd_high")),
    Column("flipped", "labels changed, %", "percent"),
    Column("n", "instances", "count"),
)  # fmt: skip
INSTANCES = Schema(
    "instances",
    "One row for each text whose label, or word whose tag, is explained.",
    *_INSTANCE,
    Column("words", "words", "count"),
    Column("label", "is"),
    Column("predicted", "predicted"),
    Column("group", "predicted", meaning="where there are few labels; on the page alone", optional=True),
    Column("confidence", "probability of the predicted label", "share"),
    Column("right", "right", "flag"),
    Column("largest", "largest weight on a word", "share"),
    Column("permuted", "TVD with shuffled attention, median", "number"),
    Column("uniform", "TVD with uniform attention", "number"),
    Column("adversary_jsd", "largest JSD within the bound (at most ln 2 = 0.69)", "number", optional=True),
    Column("adversary_tvd", "TVD of the adversary", "number", optional=True),
    Column("adversary_within", "adversary within the bound", "flag", optional=True),
    Column("tau_gradient", "τ with gradients", "share"),
    Column("tau_leave_one_out", "τ with leave-one-out", "share"),
)
EXAMPLES = Schema(
    "examples",
    "The words of some instances, with what each explanation gives them.",
    *_INSTANCE,
    Column("word", "number of the word", "index"),
    Column("spelled", "word"),
    *(Column(name, WORDS[name], "number", optional=True) for name in WORDS if name not in ("position", "random")),
)
SHOWN = Schema(
    "shown",
    "Some instances with their whole attention, for the head view.",
    *_INSTANCE,
    Column("spelled", "words"),
    Column("pieces", "pieces", meaning="subword tokens"),
    Column("piece_words", "word of each piece"),
    Column("piece_documents", "text of each piece"),
    Column("stream", "stream"),
    Column("layers", "layers", meaning="counted from 0"),
    Column("heads", "heads", "count"),
    Column("rows", "queries that the answer is read from"),
    Column("own", "the model's weights", meaning="float32 in bytes: layer, head, query, key"),
    Column("adversary", "the adversary's weights", meaning="the same"),
    Column("confidence", "probability of the predicted label", "share"),
    Column("adversary_confidence", "the same under the adversary", "share"),
    Column("jsd", "JSD", "number"),
    Column("tvd", "TVD", "number"),
)
CARD = Schema(
    "card",
    "Six figures, each of which holds, does not hold or cannot be told, and a paragraph on them.",
    Column("figure", "key"),
    Column("name", "test"),
    Column("value", "figure", "number", ends=("low", "high")),
    Column("bar", "bar", "number", "what the figure should reach; of adversaries, what it should stay below",
           optional=True),
    Column("margin", "beyond the bar", "signed",
           "how far the figure is on the right side of its bar, both on the same resamples of texts",
           ends=("margin_low", "margin_high"), optional=True, none="too few"),
    Column("verdict", "verdict", labels=VERDICTS),
    Column("says", "that is"),
)  # fmt: skip
WHOLE = Schema(
    "whole",
    "What the model does by itself, and which attention is meant.",
    Column("task", "task"),
    Column("metric", "score"),
    Column("better", "which is better", meaning="higher or lower"),
    Column("score", "score", "share", ends=("score_low", "score_high"), chance="chance_score"),
    Column("chance_score", "without a model", "share", "always the most frequent label, or tags by lot",
           was="majority"),
    Column("n", "instances", "count"),
    Column("texts", "texts", "count"),
    Column("layers", "layers", meaning="of the attention that is meant, counted from 0"),
    Column("heads", "heads", meaning="of the attention that is meant, counted from 0"),
    Column("attention", "the attention that is meant"),
    Column("integration_error", "error of integrated gradients", "number", optional=True),
)  # fmt: skip
SHARPNESS = Schema(
    "sharpness",
    "Instances by how sharp their attention is; made for the page.",
    Column("quarter", "largest weight on a word"),
    Column("middle", "TVD with shuffled attention, median", "number"),
    Column("n", "instances", "count"),
)


def named(tables: Tables, table: str) -> list[Row]:
    """The rows of explanations with names to read: attention first, then the references, then what chance gives."""
    order, place = list(WORDS), {"last": 0, "all": 2}
    rows = sorted(tables[table], key=lambda row: (
        0 if row["explanation"] in ATTENTION else 1 + order.index(row["explanation"]),
        place.get(row["layers"], 1),
    ))  # fmt: skip
    return [{**row, "label": title(row)} for row in rows]


def grouped(tables: Tables) -> list[Row]:
    """The instances, by predicted label where there are few."""
    few = len(tables["instances"].values("predicted")) <= FEW_LABELS
    return [{**row, "group": row["predicted"] if few else "any"} for row in tables["instances"]]


def points(tables: Tables) -> list[Row]:
    """The instances' adversaries, and the mean of each intervention, as points of one plane."""
    single = [
        plane.point("single", "adversary of one instance", f"adversary of text {row['text'] + 1}",
                    {"jsd": row["adversary_jsd"], "tvd": row["adversary_tvd"]})
        for row in tables["instances"].known("adversary_jsd")
    ]  # fmt: skip
    kind = INTERVENTIONS["intervention"]
    means = [
        plane.point("mean", kind.write(row["intervention"]), called(row), row, said=called(row))
        for row in tables["interventions"].known("jsd")
    ]
    return [*single, *means]


def sharpness(tables: Tables) -> Iterator[Row]:
    """Does shuffling hurt where attention is sharp? Medians by the largest weight on a word, in quarters."""
    rows = tables["instances"].known("permuted", "largest")
    for quarter in range(4):
        moved = [row["permuted"] for row in rows if min(3, math.floor(4 * row["largest"])) == quarter]
        if moved:
            ends = f"{quarter / 4:.2f} to {(quarter + 1) / 4:.2f}"
            yield {"quarter": ends, "middle": median(moved), "n": len(moved)}


def _histogram(column: str, key: str, title: str, domain: tuple[float, float]) -> charts.Chart:
    style = Style(domain=domain, height=200)
    return charts.histogram("instances", column, key=key, title=title, colour="group", style=style)


PAGE = Page(
    "faith",
    title="Does attention explain what {model} says?",
    answer=findings.answer,
    warning=findings.warning,
    chart=charts.dots(
        "agreement", "label", "tau", key="agreement", title="Agreement with three other explanations",
        colour="against", style=Style(zero=True, tell=("significant", "overlap", "n")),
        label="Agreement of each explanation with gradients, integrated gradients and leave-one-out, with intervals",
    ),
    about=findings.about,
    findings=(
        findings.reading, findings.agreeing, findings.erasing, findings.shuffling, findings.adversaries,
        findings.needed, findings.elsewhere,
    ),
    schemas=(AGREEMENT, ERASURE, INTERVENTIONS, INSTANCES, EXAMPLES, SHOWN, CARD, WHOLE, SHARPNESS, plane.SCHEMA),
    derived={
        "agreement": lambda tables: named(tables, "agreement"), "erasure": lambda tables: named(tables, "erasure"),
        "interventions": lambda tables: [{**row, "label": called(row)} for row in tables["interventions"]],
        "instances": grouped, "plane": points, "sharpness": sharpness,
    },
    sections=(
        Section(
            "card", "The card",
            "Six tests that attention should pass if a picture of it were to explain what the model says. The card "
            "can stand beside any such picture: `attlas view --card`. A test *holds* if the whole interval of "
            "*beyond the bar* is 0 or more, and *does not hold* if it is below; where figure and bar were truly the "
            f"same, at most {100 * RATE:.0f} % of runs would give a verdict ({50 * RATE:.1f} % on either side). That "
            "is the rate of each test by itself.",
            (Listing("card", "verdict", "name", "value", "bar", "margin", "says", rows=findings.card_figures),),
        ),
        Section(
            "explanations", "Does attention agree with other explanations?",
            "The first chart in numbers, with 95 % intervals over texts. Look at the references first: where "
            "gradients and leave-one-out hardly agree with each other, there is little to agree with. *First words "
            "shared*: of the first tenth of the words of one explanation, the share that is among the other’s.",
            (Listing("agreement", "label", "against", "tau", "significant", "overlap", "k", "n"),),
            short="Agreement",
        ),
        Section(
            "erasure", "What is lost without those words?",
            "First, higher is better: the model misses the words that come first. Then, lower is better: with only "
            "those words left, it does without the rest. The last line is what random words do.",
            (
                charts.dots("erasure", "label", "comprehensiveness", key="comprehensiveness",
                            title="Comprehensiveness: without the first words", style=Style(tell=("over_random",))),
                charts.dots("erasure", "label", "sufficiency", key="sufficiency",
                            title="Sufficiency: with only the first words"),
                Listing("erasure", "label", "comprehensiveness", "over_random", "sufficiency", "n"),
            ),
            short="Erasing", width="half",
        ),
        Section(
            "interventions", "What happens with other attention?",
            "If attention explained the output, other attention should give other output. *Change* is what happens "
            "to the score, TVD to the probabilities; JSD says how different the attention was. An *evened model* was "
            "trained with uniform attention, an *other model* by itself.",
            (
                Listing("interventions", "label", "score", "change", "p_corrected", "tvd", "tvd_median", "flipped",
                        "jsd", "n"),
            ),
            short="Replaced",
        ),
        Section(
            "far", "How far can attention go?",
            "To the right attention is farther from the model’s own, upwards the output is. A plus is one instance’s "
            "adversary, below the bound: the farther to the right, the less does attention decide.",
            (
                plane.plane(
                    KINDS, "Attention and output", "distance of output (TVD)", below=("shuffled", "other model"),
                    label="Divergence of attention against distance of output: instances’ adversaries and the mean "
                          "of each intervention",
                ),
            ),
            short="Plane",
        ),
        Section(
            "instances", "Instance by instance",
            "As in the figures of Jain & Wallace. A τ spread around zero means that in many texts attention has "
            "nothing to do with the other explanation, whatever the mean. Does shuffling hurt where attention is "
            "sharp (to the right)? And how far did the adversaries get?",
            (
                _histogram("tau_gradient", "tau-gradient", "τ with gradients", (-1, 1)),
                _histogram("tau_leave_one_out", "tau-leave-one-out", "τ with leave-one-out", (-1, 1)),
                charts.scatter("instances", "largest", "permuted", key="permuted", title="Shuffled attention",
                               colour="group", style=Style(tell=("text", "label"), height=220)),
                _histogram("adversary_jsd", "adversaries", "Adversaries", (0, 0.7)),
                Listing("sharpness", "quarter", "middle", "n", title="Shuffled attention, by how sharp it is"),
            ),
            short="Instances", width="half",
        ),
        Section(
            "examples", "Words under each explanation",
            lambda tables: say(
                "Each line shades the words by one explanation, the strongest in full. Point at a word for its "
                "number.{apart}", apart=findings.apart(tables, "examples"),
            ),
            (Custom(shaded, ("examples",)),),
            short="Examples",
        ),
        Section(
            "texts", "The same text under both kinds of attention",
            lambda tables: say(
                f"A is the model’s own attention, B the adversary’s.{{apart}} {READ} "
                "Picked out is the query that the answer is read from: in the last layer only such rows were free.",
                apart=findings.apart(tables, "shown"),
            ),
            (Custom(pictures, ("shown",)),),
            short="Pictures",
        ),
    ),
    words={
        "explanation":
            "a number for each word of a text: how much the answer is owed to it (a feature attribution). Attention, "
            "gradients, integrated gradients and leave-one-out are candidates; none is the truth.",
        "agreement":
            "Kendall’s τ of two explanations of a text: of all pairs of words, those in the same order less those in "
            "the opposite one. 1 is the same order, 0 is chance.",
        "TVD": f"how far two outputs are apart: {TVD}",
        "JSD": f"how far two attentions are apart: {JSD}, mean over the rows and heads that matter.",
        "adversary":
            "for one instance, the attention farthest from the model’s own that was found with the output within the "
            "bound. It was put into the model and checked.",
        "comprehensiveness":
            "how much of the predicted label’s probability is lost without the words that an explanation ranks "
            "first; *sufficiency*: how much is lost with only these. Means over 1, 5, 10, 20 and 50 % of the words.",
    },
    limits={
        "No reference is the truth.":
            "Gradients see small changes, leave-one-out one word at a time, erasing makes texts that the model has "
            "never read. Where they disagree, attention cannot agree with all.",
        "That another attention gives the same output":
            "does not show that the model’s own is idle, but that attention alone does not determine the output. An "
            "adversary is free in ways that no trained model is (`attlas faith chunking` trains them).",
        "The last layer reads states that are mixed already:":
            "what stands at a word’s place after all layers below.",
        "Which attention is asked decides.":
            "A single head may do better or worse than what was chosen here, and the best of many is partly luck.",
        "Not significant is not the same as no effect;": "with few texts only large effects show.",
    },
    unshown={"whole": "its figures stand in the sentences on the model"},
    static=("faith.css", "faith_examples.css"),
    published=f"{TAU_MODEL}, other models on other data: for the size of such numbers, not to be matched. That "
    "uniform attention costs nothing on AG News and 20 Newsgroups is Wiegreffe & Pinter 2019, as Yang retells it.",
)  # fmt: skip
