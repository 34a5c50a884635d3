"""The page of one case across layers: a sentence, spans of it, and what every task's probes give them."""

from __future__ import annotations

from collections.abc import Iterator

from attlas.pages import Claim, Custom, Finding, Listing, Page, Row, Section, Tables, charts, keyed, listed, say
from attlas.store.schema import Column, Schema
from attlas.studies.layers_case.drawing import draw, name_of, numbered, words_of
from attlas.studies.layers_case.panels import GIVEN, NOTICED, Panel, brief, panels_of
from attlas.studies.shared.layer_runs import TASKS

TASK, RUN = Column("task", "task", labels=TASKS), Column("run", "run")
LAYER = Column("layer", "layer", "count", "the probe sees layers 0 to this one")
QUESTION = Column("question", "question")
PROBABILITIES = Schema(
    "probabilities",
    "A row for each span or pair, run, layer and label.",
    Column("edge", "edge", "count", "the number of the span or pair, as asked"), RUN, TASK,
    Column("first", "first", meaning="the span as asked, A:B"), Column("first_words", "its words"),
    Column("second", "second", meaning="the second span of a pair"), Column("second_words", "its words"),
    LAYER, Column("label", "label"), Column("value", "probability", "share"),
)  # fmt: skip
WORDS = Schema("words", "The words of the sentence.", Column("word", "number", "count"), Column("form", "word"),
               Column("after", "after it", meaning="what stands between it and the next"))  # fmt: skip
RUNS = Schema(
    "runs",
    "The runs that were asked.",
    RUN, TASK, Column("paired", "pairs", "flag", optional=True), Column("over", "mixes"),
    Column("labels", "labels", "count", optional=True),
    Column("score", "F1", "percent", "with all layers", ends=("low", "high")),
    Column("score_at_0", "at layer 0", "percent"), Column("train", "edges in training", "count", optional=True),
    Column("test", "in test", "count", optional=True),
)  # fmt: skip
LABELS = Schema(
    "labels",
    "How well each run knows its labels.",
    RUN, Column("label", "label"), Column("value", "F1", "percent", "with all layers, the mean of the seeds"),
    Column("train", "in training", "count"), Column("test", "in test", "count", optional=True),
)  # fmt: skip
QUESTIONS = Schema(
    "questions",
    "What was asked and answered.",
    Column("asked", "asked about"), Column("task_name", "task"), Column("was", "at the first layer"),
    Column("now", "at the last layer"), Column("settled", "settles at layer", "count"),
)  # fmt: skip
FINAL = Schema("final", "How likely the probes hold their last answer.", QUESTION, LAYER,
               Column("value", "probability of the last answer", "share"))  # fmt: skip


def _edges(tables: Tables) -> dict[int, Row]:
    return {edge: rows[0] for edge, rows in tables["probabilities"].by("edge")}


def questions(tables: Tables) -> Iterator[Row]:
    """Each question with its first and its last answer."""
    edges = _edges(tables)
    for panel in panels_of(tables["probabilities"]):
        yield {"asked": words_of(edges[panel.edge], 22), "task_name": name_of(tables, panel), "was": brief(panel, 0),
               "now": brief(panel, -1), "settled": panel.settled}  # fmt: skip


def final(tables: Tables) -> Iterator[Row]:
    """The label that leads at the last layer, layer by layer."""
    edges = _edges(tables)
    for panel in panels_of(tables["probabilities"]):
        label = panel.shown[0]
        asked = f"{name_of(tables, panel)}: {label}, {words_of(edges[panel.edge], 14)}"
        for layer, value in zip(panel.layers, panel.row(label), strict=True):
            yield {"question": asked, "layer": layer, "value": value}


def _moves(tables: Tables) -> Iterator[Row]:
    """Each question that is asked of several layers, and whether the first answer differs from the last."""
    for panel in panels_of(tables["probabilities"]):
        if len(panel.layers) > 1:
            moved = panel.chosen(0) != panel.chosen(-1)
            yield {"edge": panel.edge, "run": panel.run, "task": panel.task, "moved": moved}


def _settled(tables: Tables) -> Iterator[Row]:
    """The layer from which on the answers of a task stay what they are."""
    panels = [panel for panel in panels_of(tables["probabilities"]) if len(panel.layers) > 1]
    for task in dict.fromkeys(panel.task for panel in panels):
        yield {"task": task, "settled": max(panel.settled for panel in panels if panel.task == task)}


def _leads(panels: list[Panel], at: int = -1) -> tuple[Claim, ...]:
    """That the last answers lead at the last layer, or others at theirs."""
    return tuple(
        Claim("largest", "probabilities", "value", [{"label": panel.leaders[at]}],
              {"edge": panel.edge, "run": panel.run, "task": panel.task, "layer": panel.layers[at]})
        for panel in panels if panel.leaders[at] is not None
    )  # fmt: skip


def answer(tables: Tables) -> Finding | None:
    """In how many questions the probes change their answer on the way, and the first such question."""
    panels = panels_of(tables["probabilities"])
    several = [panel for panel in panels if len(panel.layers) > 1]
    moved = [panel for panel in several if panel.chosen(0) != panel.chosen(-1)]
    if not panels:
        return None
    if not several:
        named = listed([say("{task}: {now}", task=name_of(tables, panel), now=brief(panel, -1)) for panel in panels])
        return Finding(say("The probes see one layer alone: {named}.", named=named), _leads(panels))
    text = say("What the probes hold for likely at the first and at the last layer differs in **{moved} of {n}** "
               "questions{what}", moved=len(moved), n=len(several),
               what="" if len(several) == 1 else " (spans or pairs, asked of a task)")  # fmt: skip
    count = Claim("count", "moves", "moved", value=len(moved), than=0)
    if not moved:
        return Finding(say("{text}.", text=text), (count, *_leads(several)), "panels")
    panel = moved[0]
    text = say(
        "{text}: for {words}, {task}, it is {was} at layer {first} and **{now}** at layer {last}.", text=text,
        words=words_of(_edges(tables)[panel.edge], 22), task=name_of(tables, panel), was=brief(panel, 0),
        first=panel.layers[0], now=brief(panel, -1), last=panel.layers[-1],
    )  # fmt: skip
    return Finding(text, (count, *_leads(several), *_leads([panel], 0)), "panels")


def settling(tables: Tables) -> Iterator[Finding]:
    """Which tasks settle first and which last."""
    rows = tables["settled"]
    early, late = (end(rows.column("settled"), default=0) for end in (min, max))
    if early < late:
        first, last = (rows.where(settled=end) for end in (early, late))
        yield Finding(
            say("First to settle for good: **{first}** (layer {early}); last: **{last}** (layer {late}). One "
                "sentence is no order of tasks; runs over a test set show that.",
                first=listed([TASKS.get(row["task"], row["task"]) for row in first]), early=early,
                last=listed([TASKS.get(row["task"], row["task"]) for row in last]), late=late),
            (Claim("smallest", "settled", "settled", keyed(first, "task")),
             Claim("largest", "settled", "settled", keyed(last, "task"))), "panels",
        )  # fmt: skip


PAGE = Page(
    "layers-case",
    title="One sentence through the layers of {model}",
    answer=answer,
    chart=charts.grid(
        "final", "layer", "question", "value", key="final",
        title="How likely the probes hold what they say at the last layer",
        label="Heat map: probability of the last answer, by question and layer",
    ),
    about="Probes that read labels off the states of **{model}**, layer by layer, are asked about spans of one "
    "sentence: what do they take them for at each layer, and where do they change their answer?",
    findings=(settling,),
    schemas=(PROBABILITIES, WORDS, RUNS, LABELS, QUESTIONS, FINAL),
    derived={"questions": questions, "final": final, "moves": _moves, "settled": _settled},
    static=("layers_case.css",),
    sections=(
        Section(
            "table", "Questions and answers",
            "What leads at the first and the last layer, and from where on it stays. Words are numbered as they are "
            "asked for.",
            (
                Custom(numbered, ("words",)),
                Listing("questions", "asked", "task_name", "was", "now", "settled"),
                Listing("runs", "run", "task", "over", "labels", "score", "score_at_0", "train", "test",
                        title="The runs that were asked"),
            ),
            short="Answers",
        ),
        Section(
            "panels", "Layer by layer",
            "Rows are labels, columns are layers; the height of a bar is the probability, from 0 to 1. Orange bars "
            "are answers that the probes gave up on the way. Point at a bar for its number.",
            (Custom(draw, ("probabilities", "labels")),),
        ),
    ),
    words={
        "probe": "a small classifier, trained by `attlas layers` to read the labels of a task off the frozen states "
        "of a model. For each label it gives a probability of its own, so those of a span need not sum to one.",
        "layer": "the probe at layer 3 sees layers 0 to 3, mixed; layer 0 is what the model reads (embeddings), "
        "before any attention. So each column may know more than the one before it, and no less.",
        "leads": f"the label with the largest probability, if it reaches {NOTICED:.2f}. Over {GIVEN:.2f}, a probe "
        "*gives* a label: that is what its score counts.",
        "settles": "from this layer on the leading label (where several labels are given, all of them) stays.",
    },
    limits={
        "This is an anecdote.": "What holds in general is in the report of the runs themselves, with scores, "
        "intervals and controls.",
        "It is the probe that speaks.": "A label may rise because the model has worked it out by then, or because "
        "this probe, with its own weights, reads these layers better. Small ups and downs mean nothing.",
        "A probe knows its own labels only,": "as training has shown them to it, and answers in any case: a span "
        "that its task would never label (a preposition, for entities) may get anything.",
        "One probe for each layer.": "Where a run trained several seeds, those of its first are asked.",
        "The order of a pair matters,": "and each task has its own; a panel says what it takes the two spans for. "
        "Ask a task the other way round (`--span TASK=C:D,A:B`) where that is wrong.",
        "A causal model reads from left to right:": "the states of a span know nothing of what comes after it.",
        "At most twelve labels are drawn:": f"the six largest that reach {NOTICED:.2f}, and further ones over one "
        "half; all are in the table `probabilities`.",
    },
)  # fmt: skip
