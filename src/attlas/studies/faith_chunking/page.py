"""The page of the chunking study: can a tagger be trained to attend elsewhere and tag the same?"""

from __future__ import annotations

from attlas.pages import Custom, Listing, Page, Section, Style, charts
from attlas.store.schema import Column, Schema
from attlas.studies.faith_chunking import findings, rows
from attlas.studies.faith_chunking.findings import MEASURES
from attlas.studies.faith_chunking.sentences import sentences
from attlas.studies.shared.faith import plane
from attlas.studies.shared.faith.pairs import JSD, READ, TVD
from attlas.studies.shared.published import CHUNKING_MODEL

KINDS = {
    "adversary of one word": (charts.PURPLE, plane.PLUS), "another seed": (charts.BLUE, "triangle-up"),
    "trained with uniform attention": (charts.GREEN, "square"), rows.ADVERSARY: (charts.PINK, "circle"),
}  # fmt: skip
_KIND = (
    Column("kind", "kind", meaning="original, adversary or guided"),
    Column("attention", "guided by", meaning="whose attention guides it"),
    Column("form", "form", meaning="attention kept, or none left of its parameters"),
    Column("weight", "λ", "number", "the weight of the divergence in an adversary's loss"),
    Column("label", "model", meaning="the four together, to be read; on the page alone", optional=True),
)
_PUBLISHED = Column("published", "published F1, %", "percent", definition="Yang")


def _distances(*, ends: bool) -> tuple[Column, ...]:
    """The columns of how far a model is from the original of its seed."""
    named = {
        "nll": ("NLL", "loss against the original's tags"), "tvd": ("TVD", "of predictions"),
        "kl": ("KL", "of attention, as adversaries are paid for it"), "jsd": ("JSD", "of attention, at most ln 2"),
    }  # fmt: skip
    return tuple(
        Column(name, title, "number", meaning, ends=(f"{name}_low", f"{name}_high") if ends else None)
        for name, (title, meaning) in named.items()
    )


MODELS = Schema(
    "models",
    "One row for each training.",
    *_KIND,
    Column("seed", "seed", "count"),
    Column("f1", "F1, %", "percent", "of chunks; the interval is over sentences", ends=("f1_low", "f1_high")),
    *_distances(ends=False),
    _PUBLISHED,
    Column("epochs", "epochs", "count"),
    Column("seconds", "seconds", "seconds"),
)
SUMMARY = Schema(
    "summary",
    "The mean over seeds of every kind of model, with Student's intervals.",
    *_KIND,
    Column("seeds", "seeds", "count"),
    _PUBLISHED,
    Column("apart", "ours less theirs, points", "signed", "on the page alone", optional=True),
    Column("f1", "F1, %", "percent", ends=("f1_low", "f1_high")),
    *_distances(ends=True),
)
SEEDS = Schema(
    "seeds",
    "Originals beside originals of other seeds, and models trained with uniform attention beside their originals.",
    Column("kind", "beside the original", labels=rows.BESIDE),
    Column("seed", "seed", "count"),
    Column("other", "of seed", "count"),
    Column("f1", "F1, %", "percent"),
    *_distances(ends=False),
)
BEND = Schema(
    "bend",
    "Where predictions begin to give way as attention moves off.",
    Column("attention", "attention by", labels=MEASURES),
    Column("prediction", "predictions by", labels=MEASURES),
    Column("at", "bend at", "number", "the mean of the seeds' bends; Student's interval", ends=("at_low", "at_high"),
           none="too few seeds"),
    Column("slope_before", "slope before", "signed"),
    Column("slope_after", "slope after", "signed"),
    Column("gain", "squared error saved, %", "percent", "by a second line"),
    Column("method", "method"),
    Column("seeds", "seeds", "count", optional=True),
    Column("points", "points", "count"),
    Column("published", "published", "share", definition="Yang"),
)  # fmt: skip
RANKS = Schema(
    "ranks",
    "How well the ranks of an adversary's weights agree with its original's.",
    Column("weight", "λ", "number"),
    Column("seed", "seed", "count"),
    Column("kl", "KL", "number", "of attention", optional=True),
    Column("side", "side of the bend", labels={"before": "before the bend", "after": "after the bend"}),
    Column("kendall", "Kendall’s τ", "share", ends=("kendall_low", "kendall_high")),
    Column("first", "rows with the same most attended word, %", "percent"),
    Column("n", "words", "count"),
)
PER_INSTANCE = Schema(
    "per_instance",
    "Test words with an adversary of their own.",
    Column("number", "number", "count"),
    Column("tvd", "TVD", "number"),
    Column("jsd", "JSD", "number"),
    Column("within", "within the bound", "flag"),
    Column("bound", "bound", "number"),
)
EXAMPLES = Schema(
    "examples",
    "The attention of the first original and its adversaries on some sentences.",
    Column("sentence", "sentence", "count"),
    Column("weight", "λ", "number", "0: the original"),
    Column("head", "head", "index"),
    Column("query", "query", "index"),
    Column("key", "key", "index"),
    Column("value", "weight", "share"),
)
SENTENCES = Schema(
    "sentences",
    "The words of these sentences, with everybody's tags.",
    Column("sentence", "sentence", "count"),
    Column("word", "number of the word", "index"),
    Column("spelled", "word"),
    Column("gold", "tag"),
    Column("original", "original"),
    Column("adversary *", "adversary", meaning="a column for each λ", optional=True),
)
SCORES = Schema(
    "scores",
    "F1 as λ grows; made for the page.",
    Column("weight", "λ (0 is the original)", "number"),
    Column("f1", "F1, %", "percent", ends=("low", "high")),
    Column("whose", "whose"),
    Column("seeds", "seeds", "count"),
)
GUIDED = Schema(
    "guided",
    "Guided models; made for the page.",
    Column("label", "guided by"),
    Column("form", "form"),
    Column("f1", "F1, %", "percent", ends=("low", "high")),
)
CURVE = Schema(
    "curve",
    "Predictions against attention; made for the page.",
    Column("attention", "attention by"),
    Column("prediction", "predictions by"),
    Column("part", "a model, a mean, a bend or what was published"),
    Column("x", "divergence of attention", "number", ends=("low", "high")),
    Column("y", "distance of predictions", "number"),
    Column("label", "model"),
    Column("said", "the name that stands beside it"),
    Column("seed", "seed", "count"),
    Column("weight", "λ", "number"),
)
PAGE = Page(
    "faith-chunking",
    title="Can a tagger attend elsewhere and tag the same?",
    answer=findings.answer,
    warning=findings.warning,
    chart=plane.plane(
        KINDS, "Attention and predictions", "distance of predictions (TVD)", path=True,
        label="Divergence of attention against distance of predictions: trained adversaries by lambda, seeds, "
              "uniform attention, single words",
    ),
    about="A small transformer tags chunks, trained on **{corpus}**. Adversaries are trained to give the same tags "
          "with other attention, and other models are guided by the attention of both. All figures are on the test "
          "set.",
    findings=(
        findings.farthest, findings.bending, findings.beside_seeds, findings.single_words, findings.guiding,
        findings.ranking,
    ),
    schemas=(
        MODELS, SUMMARY, SEEDS, BEND, RANKS, PER_INSTANCE, EXAMPLES, SENTENCES, SCORES, GUIDED, CURVE, plane.SCHEMA
    ),
    derived={
        "models": lambda tables: rows.labelled(tables, "models"),
        "summary": lambda tables: rows.labelled(tables, "summary"), "scores": rows.score_rows,
        "plane": rows.plane_rows, "curve": rows.curve_rows, "guided": rows.guided_rows,
    },
    sections=(
        Section(
            "scores", "F1, ours beside the published",
            "At λ = 0 is the original. *Ours less theirs* is in points of F1; of several seeds these are means with "
            "Student’s 95 % interval over seeds, else the interval is over sentences.",
            (
                charts.lines("scores", "weight", "f1", key="scores", title="F1 as λ grows", colour="whose",
                             style=Style(height=240, tell=("seeds",), tight=True),
                             label="F1 by lambda, from the original at 0, with intervals and the published figures"),
                Listing("summary", "label", "seeds", "f1", "published", "apart", "nll", "tvd", "kl", "jsd"),
            ),
            short="F1", note=findings.differs,
        ),
        Section(
            "far", "How far can attention go?",
            "The first chart is Figure 5 of Wiegreffe & Pinter for this task. To the right attention is farther from "
            "the original’s, upwards predictions are. Where the dashed line, the trained adversary with its λ, runs "
            "far to the right before it rises, quite different attention tags the same. Triangles are what chance "
            "does: two trainings that differ in their seed. A plus is one word whose attention was free to move, "
            "with the output held.",
            (Listing("seeds", "kind", "seed", "other", "f1", "nll", "tvd", "kl", "jsd"),),
            short="Seeds",
        ),
        Section(
            "bend", "Where is the bend?",
            "Yang’s figure: a small dot for each adversary, joined by seed as λ grows, and a large one for the mean "
            "of each λ (at 0 are the originals). Before the bend attention moves and predictions hardly do. The line "
            "and its band are the bend and Student’s 95 % interval over those seeds that have a bend, from three of "
            "them on (`--middle 3`); grey and dashed is where it was published.",
            (
                rows.curve(),
                Listing("bend", "attention", "prediction", "at", "seeds", "slope_before", "slope_after",
                        "gain", "points", "published"),
            ),
            short="Bend", note=findings.method,
        ),
        Section(
            "guided", "Does attention help another model?",
            "If the original’s attention guides better than uniform or random attention, there is something in it "
            "that helps. If the adversary’s guides as well as the original’s, they hold the same.",
            (
                charts.dots(
                    "guided", "label", "f1", key="guides", title="Guided by the attention of", colour="form",
                    style=Style(tight=True),
                    label="F1 of guided models by the attention that guides them, in both forms, with intervals",
                ),
            ),
            short="Guided",
        ),
        Section(
            "ranks", "Is the order of the words kept?",
            "Kendall’s τ of an adversary’s row of weights with the original’s, over all words and heads: 1 is the "
            "same order of words, 0 is chance. A divergence can be large with the order kept.",
            (
                charts.scatter("ranks", "weight", ("kendall", "first"), key="rank", title="Ranks of weights",
                               colour="side", style=Style(height=240, tell=("seed",)),
                               label="Agreement of the ranks of weights with the original’s, by lambda"),
                Listing("ranks", "weight", "seed", "side", "kendall", "first", "n"),
            ),
            short="Ranks",
        ),
        Section(
            "sentences", "The same sentence under both kinds of attention",
            f"A is the attention of the original, B that of the adversary of this λ. {READ} Picked out is the word "
            "whose rows are farthest apart; click another to see its own.",
            (Custom(sentences, ("sentences", "examples")),),
            short="Sentences",
        ),
        Section(
            "models", "All models", "Every training by itself; the interval of F1 is over sentences.",
            (Listing("models", "label", "seed", "f1", "nll", "tvd", "kl", "jsd", "epochs", "seconds"),),
            short="Models",
        ),
    ),
    words={
        "original": "a tagger of one layer, trained on chunks; one for each seed.",
        "adversary":
            "a tagger that is trained to predict what an original predicts and to attend elsewhere: its loss is NLL "
            "− λ · divergence, so the larger λ, the more it is paid for other attention.",
        "KL, JSD":
            "how far attention is from the original’s, mean over words and heads: Kullback-Leibler divergence in "
            f"nats, as adversaries are paid for it, and {JSD}.",
        "NLL, TVD":
            "how far predictions are from the original’s: the loss against its tags (negative log-likelihood), and "
            f"{TVD}",
        "bend":
            "where predictions begin to give way as attention moves off: where two straight lines through the curve "
            "meet. Yang’s “safe point”.",
        "guided":
            "a tagger whose attention is given and frozen, and which learns everything else. *Attention kept*: it "
            "still has all parameters of attention; *none left*: a feed-forward layer, the given weights, and a "
            "linear layer.",
    },
    limits={
        "One small model.":
            "A single layer of attention over word vectors has few other paths; deep models have more (`attlas "
            "faith` asks them).",
        "An adversary is as good as its training:": "that none was found does not show that there is none.",
        "KL is no distance.": "It is ruled by single weights near zero; read JSD beside it.",
        "Heads are compared by number,":
            "though two trainings may give the same work to other heads; compare adversaries with seeds, of which "
            "the same is true.",
        "A bend is nearly always found": "where two lines are fitted; look at the squared error that it saves.",
        "Few seeds.": "Intervals of a single seed are over sentences and say nothing of other trainings.",
    },
    unshown={"per_instance": "one point each in the plane"},
    static=("faith_examples.css",),
    published=f"one run each of a tagger of {CHUNKING_MODEL}, two digits; its bend was read off a curve.",
)  # fmt: skip
