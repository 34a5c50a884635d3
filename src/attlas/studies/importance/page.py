"""The page of importance: which heads the loss depends on, and whether gradients tell what cutting does."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

from attlas.pages import Claim, Finding, Listing, Page, Row, Rows, Section, Tables, charts, keyed, label_of
from attlas.pages.findings import finding, value_claim
from attlas.pages.prose import say
from attlas.store.schema import PLACE, Column, Schema
from attlas.studies.shared.cutting import chance
from attlas.studies.shared.cutting.effects import GRADIENTS_LEAD, against_gradients, ends_of
from attlas.studies.shared.cutting.schemas import CORRELATED, STANDING
from attlas.studies.shared.wording import first, further, of_stream


def of_average_heads(rows: Callable[[str], list[dict[str, Any]]]) -> dict[tuple[Any, ...], float]:
    """The mean importance of a stream's heads.

    >>> of_average_heads(lambda table: [{"stream": "encoder", "value": value} for value in (0.5, 0.1)])
    {('encoder',): 0.3}
    """
    known = Rows(rows("importance")).known("value")
    return {(stream,): own.mean("value") or 0.0 for stream, own in known.by("stream")}


HEADS = Schema(
    "importance",
    "One row for each head that is at work in the task.",
    *PLACE,
    Column(
        "value", "E|dL/dξ|", "number", "mean size over texts of the loss's derivative by the head's gate",
        ends=("low", "high"), definition="Michel et al. 2019", head=True, called="importance, E|dL/dξ|",
        against=of_average_heads,
    ),
    Column("normalised", "of its layer", "share", "divided by the Euclidean norm of its layer's", head=True,
           called="importance, of its layer's"),
    Column("signed", "mean dL/dξ", "signed", "the same with its sign", head=True),
    Column("n", "texts", "count"),
    Column("change", "change of score when cut", "signed", "from attlas ablate", optional=True),
    Column("loss_change", "change of loss when cut", "signed", "from attlas ablate", optional=True),
    keys=(),
)  # fmt: skip
LOSS = Schema(
    "loss",
    "The loss of a text, on average.",
    Column("task", "task"),
    Column("value", "loss", "number", "in nats", ends=("low", "high")),
    Column("n", "texts", "count"),
)
WHOLE = Schema("whole", "What the whole model does on these texts.", Column("task", "task"), *STANDING,
               Column("n", "texts", "count", optional=True))  # fmt: skip
CORRELATION = Schema(
    "correlation",
    "How importance agrees with what cutting did, over heads.",
    Column("quantity", "importance", labels={"value": "E|dL/dξ|", "normalised": "of its layer"}),
    Column("against", "against", labels={"|loss_change|": "|change of loss|", "|change|": "|change of score|"}),
    *CORRELATED,
)


def _ranks(tables: Tables) -> Iterator[Row]:
    """Heads from the most important on, each with the share of all importance that those before it have."""
    for _, heads in tables["importance"].by("stream"):
        before, total, most = 0.0, heads.total("value"), heads.largest("value")
        for rank, row in enumerate(most):
            yield {name: row[name] for name in ("stream", "layer", "head")} | {
                "before": before / total if total else 0.0, "even": rank / len(most),
            }  # fmt: skip
            before += row["value"]


def _layers(tables: Tables) -> Iterator[Row]:
    """The share of all importance that each layer has; even shares are those of layers that have any."""
    for stream, heads in tables["importance"].by("stream"):
        sums = {layer: rows.total("value") for layer, rows in heads.by("layer")}
        for layer, total in sums.items():
            even = 1 / max(1, sum(value > 0 for value in sums.values()))
            yield {"stream": stream, "layer": layer, "share": total / (sum(sums.values()) or 1.0), "even": even}


def concentrated(tables: Tables) -> Iterator[Finding]:
    """How few heads make up half of all importance, stream by stream."""
    for stream, heads in tables["importance"].by("stream"):
        most, among = heads.largest("value"), {"stream": stream}
        half = tables["ranks"].where(lambda row: row["before"] < 0.5, **among)
        if most:
            yield finding(
                "{half} of {n} heads{where} make up half of all importance (even shares would take {even}); the loss "
                "depends most on **{names}**.",
                Claim("largest", "importance", "value", keyed(most[:3]), among),
                Claim("count", "ranks", "before", among=among, value=len(half), than=0.5, below=True),
                Claim("count", "ranks", "even", among=among, value=(len(most) + 1) // 2, than=0.5, below=True),
                see="map", half=len(half), n=len(most), even=(len(most) + 1) // 2,
                names=most.sentence("value", "number", most=3), where=of_stream(tables, stream),
            )  # fmt: skip


def layers(tables: Tables) -> Iterator[Finding]:
    """Which layer has most of it."""
    for stream, rows in tables["layers"].by("stream"):
        largest = rows.largest("share")
        if len(largest) > 1:
            yield finding(
                "Layer {layer}{where} has the largest share of it: {share:percent} % (even: {even:percent} %).",
                Claim("largest", "layers", "share", keyed(largest[:1], "layer"), {"stream": stream}),
                see="map", where=of_stream(tables, stream), **{**largest[0], "layer": label_of(largest[0])},
            )  # fmt: skip


def agrees(tables: Tables) -> Iterator[Finding]:
    """Whether gradients tell what cutting really did."""
    for row in tables["correlation"][:1]:
        yield finding(
            "Its rank correlation with the size of the changes of loss that cutting heads really made is "
            "**{spearman:share}** ({between}{n} heads){same}.",
            value_claim("correlation", "spearman", row, "quantity", "against"), see="measured", **row,
            between=say("{ends}, ", ends=ends) if (ends := ends_of(row, "spearman")) else "",
            same="; both are of texts of the same corpus, whose oddities they may share"
            if tables.manifest.corpus.get("ablated_here") else "",
        )  # fmt: skip


def loss(tables: Tables) -> Iterator[Finding]:
    """The loss itself."""
    for row in tables["loss"]:
        said = "The loss of a text is {value:number} on average, in the task {task}."
        yield finding(said, value_claim("loss", "value", row, "task"), **row)


def score(tables: Tables) -> Iterator[Finding]:
    """The score of the whole model, where it is not the answer already."""
    for row in tables["whole"] if chance.warning(tables) is None else ():
        yield finding("The whole model's {metric} on these texts is {score:number}{chance}.",
                      value_claim("whole", "score", row, "task"),
                      **{**row, "chance": chance.by_chance(row)})  # fmt: skip


def answer(tables: Tables) -> Finding | None:
    """Which heads the loss depends on most, if the model is shown to do the task."""
    if chance.warning(tables) is not None:
        return chance.only_the_score(tables)
    return first(concentrated)(tables)


PAGE = Page(
    "importance",
    title="Which heads does {model} need?",
    answer=answer,
    warning=chance.warning,
    chart=charts.head_map("importance", "value", "normalised", label="Heat map of importance, layer by head"),
    about="How much does the loss of **{model}** on **{corpus}** depend on each of its heads? One pass of gradients "
    "asks all of them at once.",
    findings=(*map(chance.shown, (further(concentrated), layers, agrees)), score, loss),
    schemas=(HEADS, LOSS, WHOLE, CORRELATION),
    derived={"ranks": _ranks, "layers": _layers},
    sections=(
        Section(
            "measured", "Against cutting",
            GRADIENTS_LEAD,
            (
                against_gradients("importance", "value", key="measured"),
                Listing("correlation", "quantity", "against", "spearman", "pearson", "n"),
            ),
            short="Measured",
        ),
        Section(
            "table", "All heads", "Every head, the most important first, as the map and the sentences have it.",
            (Listing("importance", "head", "value", "normalised", "signed", "loss_change", "change",
                     title="Every head, the most important first", order="-value"),),
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
    unshown=dict.fromkeys(("loss", "whole"), "its figures stand among the findings"),
)  # fmt: skip
