"""The page of importance: which heads the loss depends on, and whether gradients tell what cutting does."""

from __future__ import annotations

from collections.abc import Iterator

from attlas.pages import Claim, Finding, Listing, Page, Rows, Section, Style, Tables, charts, keyed, say
from attlas.store.schema import PLACE, Column, Schema
from attlas.studies.shared.cutting.schemas import CORRELATED

HEADS = Schema(
    "importance",
    "One row for each head that is at work in the task.",
    *PLACE,
    Column(
        "value", "E|dL/dξ|", "number", "mean size over texts of the loss's derivative by the head's gate",
        ends=("low", "high"), definition="Michel et al. 2019", head=True,
    ),
    Column("normalised", "of its layer", "share", "divided by the Euclidean norm of its layer's", head=True),
    Column("signed", "mean dL/dξ", "signed", "the same with its sign", head=True),
    Column("n", "texts", "count"),
    Column("change", "change of score when cut", "signed", "from attlas ablate", optional=True, head=True),
    Column("loss_change", "change of loss when cut", "signed", "from attlas ablate", optional=True, head=True),
)  # fmt: skip
LOSS = Schema(
    "loss",
    "The loss of a text, on average.",
    Column("task", "task"),
    Column("value", "loss", "number", "in nats", ends=("low", "high")),
    Column("n", "texts", "count"),
)
CORRELATION = Schema(
    "correlation",
    "How importance agrees with what cutting did, over heads.",
    Column("quantity", "importance", labels={"value": "E|dL/dξ|", "normalised": "of its layer"}),
    Column("against", "against", labels={"|loss_change|": "|change of loss|", "|change|": "|change of score|"}),
    *CORRELATED,
)


def answer(tables: Tables) -> Finding | None:
    """How few heads make up half of all importance, in the stream that has most of it."""
    findings = list(concentrated(tables))
    return findings[0] if findings else None


def concentrated(tables: Tables) -> Iterator[Finding]:
    """How few heads make up half of all importance, stream by stream."""
    for stream, heads in tables["importance"].by("stream"):
        most = heads.largest("value")
        half = _reaching_half(most)
        yield Finding(
            say(
                "{half} of {n} heads{where} make up half of all importance (even shares would take {even}); the loss "
                "depends most on **{names}**.",
                half=half, n=len(heads), even=(len(heads) + 1) // 2, names=most.sentence("value", "number", most=3),
                where=f" of the {stream}" if len(tables.streams) > 1 else "",
            ),
            (Claim("largest", "importance", "value", keyed(most[:3]), {"stream": stream}),),
            see="map",
        )  # fmt: skip


def others(tables: Tables) -> Iterator[Finding]:
    """The same of further streams."""
    yield from list(concentrated(tables))[1:]


def layers(tables: Tables) -> Iterator[Finding]:
    """Which layer has most of it."""
    for stream, heads in tables["importance"].by("stream"):
        sums = {layer: rows.total("value") for layer, rows in heads.by("layer")}
        best = max(sums, key=lambda layer: sums[layer])
        yield Finding(
            say(
                "Layer {layer}{where} has the largest share of it: {share:percent} % (even: {even:percent} %).",
                layer=best + 1, share=sums[best] / (sum(sums.values()) or 1.0),
                even=1 / max(1, sum(value > 0 for value in sums.values())),
                where=f" of the {stream}" if len(tables.streams) > 1 else "",
            ),
            (Claim("total", "importance", "value", among={"stream": stream, "layer": best}, value=sums[best]),),
            see="map",
        )  # fmt: skip


def agrees(tables: Tables) -> Iterator[Finding]:
    """Whether gradients tell what cutting really did."""
    for row in tables["correlation"][:1]:
        yield Finding(
            say(
                "Its rank correlation with the size of the changes of loss that cutting heads really made is "
                "**{spearman:share}** ({spearman_low:share} to {spearman_high:share}, {n} heads).", **row,
            ),
            (Claim("value", "correlation", "spearman", keyed([row], "quantity", "against"), value=row["spearman"]),),
            see="measured",
        )  # fmt: skip


def loss(tables: Tables) -> Iterator[Finding]:
    """The loss itself."""
    for row in tables["loss"]:
        yield Finding(
            say("The loss of a text is {value:number} on average, in the task {task}.", **row),
            (Claim("value", "loss", "value", keyed([row], "task"), value=row["value"]),),
        )


def _reaching_half(most: Rows) -> int:
    """How many of the largest values make up half of their sum."""
    total, so_far = most.total("value"), 0.0
    for count, row in enumerate(most, start=1):
        so_far += row["value"]
        if so_far >= total / 2:
            return count
    return len(most)


PAGE = Page(
    "importance",
    title="Which heads does {model} need?",
    answer=answer,
    chart=charts.head_map("importance", "value", "normalised", label="Heat map of importance, layer by head"),
    about="How much does the loss of **{model}** on **{corpus}** depend on each of its heads? One pass of gradients "
    "asks all of them at once.",
    findings=(others, layers, agrees, loss),
    schemas=(HEADS, LOSS, CORRELATION),
    sections=(
        Section(
            "measured", "Against cutting",
            "Each dot is a head: importance, from one pass of gradients, against the size of the change that cutting "
            "it really made, from as many runs as there are heads. If the first could stand for the second, dots "
            "would rise from left to right.",
            (
                charts.scatter(
                    "importance", ("value", "normalised"), ("loss_change", "change"), key="measured",
                    title="Importance against cutting", size_of=True, style=Style(root=True),
                    label="Importance against the size of the measured change of loss, one dot for each head",
                ),
                Listing("correlation", "quantity", "against", "spearman", "pearson", "n"),
            ),
            short="Measured",
        ),
        Section(
            "table", "All heads", "Every head, the most important of its layer first.",
            (
                Listing(
                    "importance", "head", "value", "normalised", "signed", "loss_change", "change",
                    order="-normalised",
                ),
            ),
            short="Table",
        ),
    ),
    words={
        "ξ": "a gate on the output of a head: 1 leaves it as it is, 0 cuts the head.",
        "E|dL/dξ|": "importance: how much the loss of a text would change, per unit, if the head's gate were moved a "
        "little; its size, averaged over texts.",
        "of its layer": "importance divided by the Euclidean norm of its layer's, since layers differ in how large "
        "their gradients are; the order in which `attlas prune` removes heads.",
        "mean dL/dξ": "the same with its sign: to first order the loss changes by minus this when the head is cut, "
        "so a positive one is a head that the loss would be better off without.",
    },
    limits={
        "A derivative is local.": "It is the slope where the gate is open; closing it is a long way to go, and a "
        "loss is not straight.",
        "One head at a time.": "Two heads that do the same thing may both look unimportant; removing both may hurt.",
        "The size has no sign.": "A head that harms the loss is as important here as one that helps.",
        "The task decides.": "What this loss does not depend on may matter to another.",
    },
    unshown={"loss": "its one figure stands among the findings"},
)  # fmt: skip
