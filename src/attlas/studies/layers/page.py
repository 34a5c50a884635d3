"""The page of layers: where in a model tasks are solved, as edge probing sees it.

First where every task lies (the paper's Figure 1), then gains and mixing weights layer by layer (its Figure 2), the
scores behind them with their controls, single labels, and, where heads were mixed, a map of them.
"""

from __future__ import annotations

from attlas.pages import (
    Chart,
    Listing,
    Page,
    Rows,
    Section,
    Style,
    Tables,
    charts,
)
from attlas.pages.charts import Spec
from attlas.store.schema import HEAD, LAYER, Column, Schema, is_known
from attlas.studies.layers import findings
from attlas.studies.layers.tables import DERIVED, SHOWN_LABELS
from attlas.studies.shared.layer_runs import TASKS as NAMES
from attlas.studies.shared.published import PIPELINE_LAYERS, PIPELINE_MODEL

KNOWN = (*NAMES, "spans")

TASK = Column("task", "task", labels=NAMES)
WHO = Column("who", "of", labels={"model": "the model", "twin": "untrained twin", "none": "neither"},
             meaning="the model or its untrained twins", was="model",
             were={"trained": "model", "untrained": "twin"})  # fmt: skip
GOLD = Column("labels", "labels", meaning="gold labels, or control labels")
UP_TO = Column("layer", "layer", "count", "0: what the model reads; l: after l layers")
SEED = Column("seed", "seed", "count")
SEEDS = Column("seeds", "seeds", "count")
IN_TRAINING, IN_TEST = Column("train", "in training", "count"), Column("test", "in test", "count")

TASKS = Schema(
    "tasks",
    "The answers: a row for each task, measure, model or twin, and kind of labels.",
    TASK, WHO, GOLD, Column("measure", "measure"),
    Column("value", "value", "number", "F1, points of it, layers or nats, as the measure says", ends=("low", "high")),
    Column("n", "seeds", "count", "of untrained twins: how many; the ends of several are the lowest and the highest"),
)  # fmt: skip
SCORES = Schema(
    "scores",
    "Every probe: those on layers 0 to l (cumulative), and those on one layer (single, and linear).",
    TASK, WHO, GOLD, Column("series", "series", meaning="cumulative, single, or linear (of one layer, too)"), UP_TO,
    SEED,
    Column("value", "F1", "percent", "micro-averaged over labels, on test", ends=("low", "high")),
    Column("difference", "gain", "percent", "above the probe on one layer less", ends=("difference_low",
           "difference_high"), definition="Tenney et al. 2019"),
    Column("selectivity", "selectivity", "percent", "gold less control", definition="Hewitt & Liang 2019"),
    Column("validation", "F1 on validation", "percent", was="dev"),
    Column("n", "labels given", "count"),
    Column("above_mlp", "above the MLP", "percent", "F1 of a linear probe less that of the MLP on the same layer",
           ends=("above_mlp_low", "above_mlp_high"), optional=True),
    Column("forced", "most likely label", "percent", "F1 where the most likely label is always said; none where an "
           "edge may have several", ends=("forced_low", "forced_high"), optional=True),
)  # fmt: skip
WEIGHTS = Schema(
    "weights",
    "The mix of the probe over all layers.",
    TASK, WHO, GOLD, SEED, UP_TO, Column("head", "head", "index", "counted from 0; none where layers are mixed"),
    Column("value", "weight", "share", "of the mix; they sum to one"),
    Column("gamma", "γ", "number", "what the mix is multiplied by"),
)  # fmt: skip
LABELS = Schema(
    "labels",
    "How well each label is told, by the layers that the probe may see.",
    TASK, Column("label", "label"), SEED, UP_TO, Column("value", "F1", "percent"), IN_TRAINING, IN_TEST,
)  # fmt: skip


def _with_ends(name: str, title: str, kind: str, meaning: str = "", **more: str) -> Column:
    return Column(name, title, kind, meaning, ends=(f"{name}_low", f"{name}_high"), optional=True, **more)  # type: ignore[arg-type]


SUMMARY = Schema(
    "summary",
    "All that is measured of a task, in one row.",
    TASK,
    _with_ends("expected", "expected layer", "number", twin="twin_expected"),
    Column("published_expected", "published", "number"),
    Column("control_expected", "on control labels", "number"),
    Column("share", "of the depth", "percent"),
    Column("published_share", "published", "percent"),
    _with_ends("centre", "centre of gravity", "number", twin="twin_centre"),
    Column("published_centre", "published", "number"),
    Column("control_centre", "on control labels", "number"),
    Column("scaled_expected", "expected, published", "number"),
    Column("scaled_centre", "centre, published", "number"),
    Column("k_weights", "K(s)", "number"),
    Column("k_gains", "K(D)", "number"),
    _with_ends("score", "F1, all layers", "percent", twin="twin_score", chance="chance_score"),
    Column("published_score", "published", "percent"),
    _with_ends("base", "F1, layer 0", "percent", twin="twin_base"),
    Column("published_base", "published", "percent"),
    _with_ends("gain", "gain", "percent"),
    Column("best", "best layer", "count"),
    _with_ends("alone", "alone", "percent"),
    Column("control_base", "control, layer 0", "percent"),
    Column("control_score", "control", "percent"),
    _with_ends("selectivity", "selectivity", "percent", twin="twin_selectivity"),
    Column("base_selectivity", "at layer 0", "percent"),
    SEEDS,
    Column("twins", "twins", "count", "how many untrained twins were drawn", optional=True),
)
GAINS = Schema("gains", "What each further layer adds.", TASK, UP_TO,
               Column("gain", "points of F1", "percent", ends=("gain_low", "gain_high")),
               Column("points", "points of F1", "number"))  # fmt: skip
MIX = Schema("mix", "How much weight each layer has.", TASK, UP_TO, Column("weight", "weight", "share"))
CURVES = Schema("curves", "Scores by layer.", TASK, Column("line", "probe"), UP_TO,
                Column("value", "F1, per cent", "percent", ends=("low", "high")), SEEDS)  # fmt: skip
CONTROLS = Schema("controls", "What is known by heart.", TASK, WHO, UP_TO,
                  Column("selectivity", "selectivity, points of F1", "percent"),
                  Column("control", "F1 on control labels", "percent"))  # fmt: skip
FREQUENT = Schema("frequent", "The most frequent labels.", TASK, Column("label", "label"), UP_TO,
                  Column("value", "F1", "percent"), IN_TRAINING, IN_TEST)  # fmt: skip
HEADS = Schema("head_mix", "The mix over heads.", TASK, WHO, LAYER, HEAD,
               Column("times", "in even shares", "number", head=True), Column("weight", "weight", "share", head=True),
               SEEDS)  # fmt: skip
DATA = Schema(
    "data",
    "The data of every task.",
    TASK, Column("name", "file"), Column("labels", "labels", "count"), Column("train", "edges in train", "count"),
    Column("validation", "validation", "count"), Column("test", "test", "count"),
    Column("shares", "shares", meaning="of all edges, in train, validation and test, per cent"),
    Column("sentences", "sentences", meaning="in train, validation and test"),
    Column("units", "units of intervals", meaning="what of test counts as independent"),
    Column("types_known", "control word known", "percent"), Column("unseen", "labels unseen in training"),
    Column("epochs", "epochs", "count"), Column("divided", "divided"),
)  # fmt: skip


def _curve(task: str) -> Chart:
    """Scores of one task by layer, on an axis of its own."""

    def draw(tables: Tables, rows: Rows) -> Spec:
        ends = [row[name] for row in rows for name in ("value", "low", "high") if is_known(row[name])]
        room = 0.06 * (max(ends) - min(ends)) or 0.01
        style = Style(height=210, tell=("seeds",), domain=(max(0.0, min(ends) - room), min(1.0, max(ends) + room)))
        drawn = charts.lines("curves", "layer", "value", key="", title="", colour="line", style=style)
        return drawn.draw(tables, rows)

    name = NAMES.get(task, task)
    return charts.custom(f"curve-{task}", name.capitalize(), "curves", ("layer", "value", "line"), draw,
                         where={"task": [task]}, label=f"F1 by layer: {name}")  # fmt: skip


def _label_map(task: str) -> Chart:
    name = NAMES.get(task, task)
    return charts.grid("frequent", "layer", "label", "value", key=f"labels-{task}", title=name.capitalize(),
                       where={"task": [task]}, label=f"Heat map of F1 by label and layer: {name}")  # fmt: skip


PAGE = Page(
    "layers",
    title="Which layers of {model} know what?",
    answer=findings.answer,
    warning=findings.warning,
    chart=charts.dots(
        "summary", "task", "expected", "centre", "scaled_expected", "scaled_centre", key="places",
        title="Expected layer and centre of gravity", style=Style(axis="layer"),
        label="Expected layer and centre of gravity of every task, with intervals",
    ).having(columns=("task", "centre")),
    about=findings.about,
    findings=(findings.places, findings.published_order, findings.syntax_first, findings.spread, findings.gain,
              findings.twin, findings.selectivity, findings.single, findings.linear, findings.hesitant),
    schemas=(TASKS, SCORES, WEIGHTS, LABELS, SUMMARY, GAINS, MIX, CURVES, CONTROLS, FREQUENT, HEADS, DATA),
    derived={**DERIVED, "order_pairs": findings.order_pairs, "local": findings.local, "leads": findings.leads},
    sections=(
        Section(
            "table", "Where tasks lie",
            f"Tasks from early to late. Published: {PIPELINE_MODEL}, of {PIPELINE_LAYERS} layers; in the chart above "
            "moved to this model's depth. An empty cell: not measured, or layers add nothing beyond chance.",
            (
                Listing("summary", "task", "expected", "score"),
                Listing("summary", "task", "published_expected", "share", "published_share", "centre",
                        "published_centre", "k_weights", "k_gains", "control_expected", "control_centre", "seeds",
                        "twins", title="Their places"),
            ),
            short="Places",
        ),
        Section(
            "bars", "Layer by layer",
            "As Figure 2 of the paper: the points of F1 that each further layer adds, and how much weight the probe "
            "over all layers gives to each (of heads, the sum).",
            (
                charts.grid("gains", "layer", "task", "points", key="gains", diverging=True,
                            title="Points of F1 that each layer adds"),
                charts.grid("mix", "layer", "task", "weight", key="mix", title="Mixing weights"),
                Listing("gains", "task", "layer", "gain", title="What each layer adds"),
            ),
            short="By layer",
        ),
        Section(
            "scores", "Scores by layer",
            "F1 on test, by the layers that a probe may see. Where the mix of layers 0 to l is far above layer l "
            "alone, it knows more than any one of them; an untrained twin has learned nothing. Where the linear "
            "line is above that of layer l alone, the MLP underfits. Bands are intervals over test documents or "
            "sentences, or with several seeds their range. Scales differ.",
            (
                *(_curve(task) for task in KNOWN),
                Listing("summary", "task", "base", "published_base", "score", "published_score", "gain", "best",
                        "alone", "control_base", "control_score", "selectivity", "base_selectivity"),
            ),
            short="Scores",
            width="half",
            note="Micro-F1 on test, per cent. *Best layer*: the single layer that is best on validation, *alone* its "
            "score on test; *selectivity*: all layers on gold less all layers on control labels; *chance*: always "
            f"saying the most frequent label. Published: {PIPELINE_MODEL}, on dev.",
        ),
        Section(
            "controls", "What is known by heart",
            "How much better the probes tell real labels than labels that words have by chance (selectivity), and "
            "how well they tell the latter, which can only be learned by heart. Where scores rise and selectivity "
            "does not, probes in part merely know word types again.",
            (
                charts.lines("controls", "layer", "selectivity", "control", key="control-lines", title="By layer",
                             colour="task", style=Style(pick=("who",), height=260)),
            ),
            short="Controls",
        ),
        Section(
            "labels", "Label by label",
            f"F1 of single labels, by the layers 0 to l that the probe may see; up to {SHOWN_LABELS}, the most "
            "frequent in test first. Labels told at layer 0 need no context; late ones say where it is made.",
            tuple(_label_map(task) for task in KNOWN),
            short="Labels",
            width="half",
        ),
        Section(
            "heads", "Which heads",
            "The probe over all layers mixes what single heads bring. The number is the head's weight in even "
            "shares, 1 being what it would have if all had the same. Heads that do the same share their weight.",
            (
                charts.head_map("head_mix", "times", "weight", key="head-map",
                                title="Weight of every head in the mix",
                                style=Style(pick=("task", "who")), label="Heat map of mixing weights, layer by head"),
            ),
            short="Heads",
        ),
        Section(
            "edges", "The data of every task",
            "*Control word known*: the share of test edges whose word, by which the control label goes, training "
            "has; of others it cannot be known. Labels that training has not seen count as missed.",
            (
                Listing("data", "task", "name", "labels", "train", "validation", "test", "shares", "sentences",
                        "units", "types_known", "unseen", "epochs", "divided"),
            ),
            short="Data",
        ),
    ),
    words={
        "edge, probe": "a labelled span of words, or pair of spans; a small classifier that reads its labels off "
        "frozen states.",
        "layer 0": "what the model reads (embeddings), before any layer; layer l is after l layers.",
        "mixing weights s": "a probe over all layers mixes their states by weights that sum to one. Their mean layer "
        "is the *centre of gravity*; K(s) says how far they are from uniform, in nats.",
        "gain D": "by how much the F1 of a probe on layers 0 to l is above that of one on 0 to l−1. The mean layer "
        "of the gains is the *expected layer*; K(D) says how far they are from uniform, losses taken as none.",
        "control labels": "every word type has drawn the labels of some training edge; a probe can only know them by "
        "heart. *Selectivity* is gold less control.",
        "untrained twin": "(random-weights baseline) the same architecture with random weights, probed the same way. "
        "One is one draw, and no level of chance; of several (`--twins`) the mean is told, with the lowest and the "
        "highest.",
        "linear": "a probe without a hidden layer (logistic regression for each label, its weights kept small by the "
        "strength that is best on validation), on the mean of a span's pieces; its score beside the MLP's on the "
        "same layer shows where the MLP underfits.",
        "F1": "micro-averaged over labels; a label is predicted where its sigmoid is above one half.",
    },
    limits={
        "A probe learns, too.": "That a label can be read off states does not show that the model uses it. Control "
        "labels say what such a probe learns by heart, untrained twins what words and positions give away.",
        "Mixing weights are not importance.": "Neighbouring layers hold much the same, so that a mix may take "
        "either; a probe that hardly leaves uniform weights (small K) has not chosen. States are brought to one "
        "length before they are mixed, or weights would say which layer has the longest.",
        "The expected layer is a mean over gains,": "losses too. Where layers add little in all, it is a mean over "
        "noise: look at its interval, and at the points below it.",
        "Tasks differ in size, labels and texts, too.": "Their order is safer than their distances.",
        "Published figures": f"are of {PIPELINE_MODEL}, of {PIPELINE_LAYERS} layers, on other data, on dev: compare "
        "the order. Most could not be held against the paper's text again; check them before you cite them.",
        "Intervals": "are over seeds where there are several, wide with few of them; with one seed over the "
        "documents of test where there are at least 16, else over its sentences (none with fewer than six), which "
        "says nothing of another training; mixing weights then have none.",
    },
    unshown={
        "tasks": "its figures stand in the tables of tasks", "scores": "they are drawn as lines, means of the seeds",
        "weights": "they are drawn by layer or by head", "labels": "the most frequent are drawn",
    },
    published=f"{PIPELINE_MODEL}, {PIPELINE_LAYERS} layers (Figure 1; scores on dev, mostly OntoNotes); that model "
    "and that corpus are not at hand, so that what can agree is the order of the tasks. Of these figures only the "
    "expected layer of coreference is confirmed (quoted in issue 1084 of the authors' toolkit, nyu-mll/jiant).",
)  # fmt: skip
