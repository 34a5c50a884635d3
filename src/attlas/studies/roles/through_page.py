"""The page of roles through training: curves of definitions over checkpoints, and when they rise."""

from __future__ import annotations

from itertools import pairwise

from attlas.pages import Listing, Page, Section, Style, charts
from attlas.pages.findings import Claim, Finding, finding, keyed, value_claim
from attlas.pages.rows import Row, Tables, label_of
from attlas.store.schema import PLACE, STREAM, Column, Schema
from attlas.studies.roles.page import DEFINITION, LEFT_OUT, NAMES

WHICH = {"now": "the first head of that checkpoint", "end": "the first head of the last checkpoint"}
STEP = Column("step", "step", "count", "the last number in a checkpoint's name, or its place in the series")
_SCORE = (
    Column("value", "score", "number", "by the definition's own formula", ends=("low", "high"), chance="chance",
           definition="as the definition is named"),
)  # fmt: skip
CURVES = Schema(
    "curves",
    "The head that was first on one half of the texts, scored on the other half, checkpoint by checkpoint.",
    STREAM, DEFINITION, STEP, Column("checkpoint", "checkpoint"), Column("which", "which head", labels=WHICH),
    *PLACE[1:], *_SCORE,
)  # fmt: skip
HEADS = Schema(
    "heads", "Every head at every checkpoint, on all texts.",
    *PLACE, DEFINITION, STEP, Column("checkpoint", "checkpoint"), *_SCORE,
)  # fmt: skip
KNOWN = Schema(
    "definitions", "What was scored, whose definition it is, and how to read it.",
    DEFINITION, Column("title", "role"), Column("by", "by"), Column("reading", "how to read it"),
)  # fmt: skip
CHECKPOINTS = Schema(
    "checkpoints", "The checkpoints.", STEP, Column("checkpoint", "checkpoint"), Column("opens", "what was opened"),
    Column("fingerprint", "fingerprint of its weights"),
)  # fmt: skip
CHANGES = Schema(
    "changes", "From one checkpoint to the next.",
    STREAM, DEFINITION, Column("from_step", "from step", "count"), Column("to_step", "to step", "count"),
    Column("before", "score before", "number"), Column("after", "score after", "number"),
    Column("rise", "by how much it rises", "number"),
    Column("apart", "intervals are apart", "flag", "whether the interval after lies above the one before"),
)  # fmt: skip
RISES = Schema(
    "rises", "The largest rise between two neighbouring checkpoints, and the end.",
    *CHANGES.columns, Column("last", "score at the end", "number"), *PLACE[1:],
)  # fmt: skip


def changes(tables: Tables) -> list[Row]:
    """By how much each definition's first head rises from one checkpoint to the next."""
    found: list[Row] = []
    for definition, rows in tables["curves"].where(which="now").by("definition"):
        for stream, own in rows.by("stream"):
            for one, other in pairwise(sorted(own, key=lambda row: row["step"])):
                apart = one["high"] is not None and other["low"] is not None and other["low"] > one["high"]
                found.append({
                    "stream": stream, "definition": definition, "from_step": one["step"], "to_step": other["step"],
                    "before": one["value"], "after": other["value"], "rise": other["value"] - one["value"],
                    "apart": apart,
                })  # fmt: skip
    return found


def rises(tables: Tables) -> list[Row]:
    """Between which two checkpoints each definition's first head rises most, and the head and score at the end."""
    found: list[Row] = []
    for definition, rows in tables["changes"].by("definition"):
        for stream, own in rows.by("stream"):
            curve = tables["curves"].where(which="now", definition=definition, stream=stream)
            end = max(curve, key=lambda row: row["step"])
            most = max(own, key=lambda row: row["rise"])
            found.append({**most, "last": end["value"], "layer": end["layer"], "head": end["head"]})
    return found


def answer(tables: Tables) -> Finding | None:
    """When the first definition that was asked for rises."""
    return _told(tables["rises"][0]) if len(tables["rises"]) else None


def others(tables: Tables) -> list[Finding]:
    """The same of all others."""
    return [_told(row) for row in tables["rises"][1:]]


def _told(row: Row) -> Finding:
    columns = ("from_step", "to_step", "before", "after", "last")
    figures = {name: row[name] for name in columns}
    among = {"stream": row["stream"], "definition": row["definition"]}
    return finding(
        "By {definition}, the first head of a checkpoint goes from {before:number} at step {from_step:count} to "
        "{after:number} at step {to_step:count}, its largest step up; at the end it is **{head}**, with "
        "{last:number}.",
        Claim("largest", "changes", "rise", keyed([row], "stream", "definition", "to_step"), among),
        *(value_claim("rises", column, row, "stream", "definition") for column in columns),
        definition=NAMES[row["definition"]], head=label_of(row), see="curves", **figures,
    )  # fmt: skip


PAGE = Page(
    "roles-through",
    title="When do the heads of {model} take up their roles?",
    answer=answer,
    chart=charts.lines(
        "curves", "step", "value", key="through-chart", title="The first head, checkpoint by checkpoint",
        colour="which", style=Style(pick=("definition",), tell=("checkpoint", "layer", "head"), axis="score"),
        label="Score over steps of training, of the first head of each checkpoint and of the last one's first head",
    ),
    about="Roles through the training of **{model}**.",
    findings=(others,),
    schemas=(CURVES, HEADS, KNOWN, CHECKPOINTS, LEFT_OUT, CHANGES, RISES),
    derived={"changes": changes, "rises": rises},
    sections=(
        Section("curves", "When roles appear", "Heads are chosen on one half of the texts and scored on the other.",
                (Listing("rises", "definition", "from_step", "to_step", "before", "after", "apart", "last", "head"),
                 Listing("curves", "definition", "step", "which", "head", "value")),
                short="Curves"),
        Section(
            "definitions", "Definitions", "",
            (Listing("definitions", "definition", "reading"),
             Listing("checkpoints", "step", "checkpoint", "opens", "fingerprint"),
             Listing("left_out", "definition", "reason")),
        ),
    ),
    limits={
        "A checkpoint has its own intervals.": "They are over texts; another training would give another curve, and "
        "how much another is seen from several seeds alone.",
    },
)  # fmt: skip
