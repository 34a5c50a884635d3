"""What the no-op test found, as tidy rows: head by head, layer by layer, and the loss itself.

Gradients are larger in some layers than in others, so that they can only be compared within a layer: beside every
mean gradient stands its ratio to that of *other* keys (neither special nor punctuation nor the first piece) in the
same texts and the same layer or head. ``n`` counts texts, ``pairs`` the visible pairs of a query and such a key in
them. The same of the untrained twins stands in every row: their mean, and where intervals of the model are told, the
lowest and the highest of them; a single one (``twins``) has no such ends. Intervals are by unit, and none is given
below six of them.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from attlas.ids import Stream
from attlas.measures.quantities import CLASSES
from attlas.stats import Bundle, Estimate, estimate
from attlas.store.columns import as_columns
from attlas.studies.noop.passes import KEYS
from attlas.studies.shared.figures import NOT_BELOW_ZERO, SHARE, Array, cells_of, divide, ends_of, spread

if TYPE_CHECKING:
    from attlas.capture.reading import Reading
    from attlas.studies.noop.passes import NoOp

COLUMNS = {
    "noop": (
        "stream", "layer", "head", "keys", "value", "n", "low", "high", "pairs", "relative", "paid", "weight", "norm",
        "twin", "twin_relative", "twin_paid", "twin_weight", "twin_norm", "twins",
    ),
    "noop_layers": (
        "stream", "layer", "keys", "value", "n", "low", "high", "pairs", "relative", "relative_low", "relative_high",
        "paid", "paid_share", "weight", "norm", "twin", "twin_low", "twin_high", "twin_relative",
        "twin_relative_low", "twin_relative_high", "twin_paid", "twin_paid_share", "twin_weight", "twin_norm",
        "twins",
    ),
}  # fmt: skip


def tables(study: NoOp, bundle: Bundle, twins: Sequence[Bundle]) -> dict[str, dict[str, list[Any]]]:
    """The tables noop (heads) and noop_layers, of a model and its untrained twins.

    >>> from attlas.capture import load
    >>> from attlas.studies.noop.passes import NoOp
    >>> from attlas.tasks import Tagging
    >>> study = NoOp(load(), Tagging(load(), "upos", tags=["NOUN"]))
    >>> len(tables(study, study.empty(), [study.empty()])["noop"]["value"])
    0
    """
    rows: dict[str, list[dict[str, Any]]] = {name: [] for name in COLUMNS}
    for stream in study.streams:
        grid = study.subject.grid(stream)
        layers, heads = map(range, grid.shape)
        ours, *theirs = (_figures(each, stream, grid.sum(1)) for each in (bundle, *twins))
        axes: dict[str, dict[str, Any]] = {
            "noop": {"layer": layers, "head": heads, "keys": KEYS},
            "noop_layers": {"layer": layers, "keys": KEYS},
        }
        for name, own_axes in axes.items():
            cells = cells_of(ours[name], _of_all([figures[name] for figures in theirs], ours[name]), **own_axes)
            rows[name] += [row | {"stream": stream.value, "twins": len(twins)} for _, row in cells]
    return {name: as_columns(rows[name], names) for name, names in COLUMNS.items()}


def loss_table(
    part: NoOp,
    bundle: Bundle,
    twins: Sequence[Bundle],
    trained_on: Reading | None,
    measured_on: Reading,
    passes: float | None,
) -> dict[str, list[Any]]:
    """The one row about the loss itself: the model's and its twins', what even guessing and the most frequent tag
    would give, and how many passes a head was trained."""
    from attlas.studies.noop.lessons import tag_counts

    task: Any = part.task
    row: dict[str, Any] = {"task": task.name}
    for part_name, name, within in (("loss", "value", NOT_BELOW_ZERO), ("right", "accuracy", SHARE)):
        own = bundle.pooled(part_name).result(within, hits=within == SHARE)
        theirs = spread([twin.pooled(part_name).result() for twin in twins], own)
        twin_name = "twin" if name == "value" else f"twin_{name}"
        row |= {"n": own.n} | ends_of(own, (), name) | ends_of(theirs, (), twin_name)
    row |= {"chance": math.log(task.choices), "chance_accuracy": math.nan, "majority_tag": None, "passes": passes}
    if trained_on is not None:
        layer, known = task.name.split(":")[1], set(task.tags)
        counts = Counter({tag: n for tag, n in tag_counts(measured_on, layer).items() if tag in known})
        often = tag_counts(trained_on, layer).most_common(1)[0][0]
        row |= {"chance_accuracy": counts[often] / max(1, counts.total()), "majority_tag": often}
    return as_columns([row | {"twins": len(twins)}])


def _of_all(twins: Sequence[dict[str, Array]], own: dict[str, Array]) -> dict[str, Array]:
    """The figures of all twins: the mean of each, and in the place of intervals their lowest and highest; without
    twins nothing is known in the place of any of our ``own``."""
    if not twins:
        return {name: np.full(np.shape(array), np.nan) for name, array in own.items()}
    figures = {name: np.mean([twin[name] for twin in twins], axis=0) for name in twins[0]}
    for value, low, high in (("value", "low", "high"), ("relative", "relative_low", "relative_high")):
        if low in figures:
            each = [Estimate(twin[value], twin["n"], twin[low], twin[high]) for twin in twins]
            reach = spread(each, each[0])
            figures |= {low: reach.low, high: reach.high}
    return figures


def _figures(bundle: Bundle, stream: Stream, heads: NDArray[np.int64]) -> dict[str, dict[str, Array]]:
    """All figures of one stream of one model, of heads and of layers, which have so many ``heads``: arrays by
    column."""
    gradient, rival, paid, weight, pairs, layers, rides = (
        bundle.pooled(f"{stream}-{what}").result(NOT_BELOW_ZERO)
        for what in ("gradient", "rival", "paid", "weight", "pairs", "layers", "rides")
    )
    norm = bundle[f"{stream}-norm"].result() if f"{stream}-norm" in bundle else None
    beside = bundle.pooled(f"{stream}-beside").rows()[0]
    relative = estimate(beside[:, 0], beside[:, 1], NOT_BELOW_ZERO)  # a ratio of sums over units, too
    seen = np.nan_to_num(pairs.value) * pairs.n
    of_heads = gradient._asdict() | {
        "pairs": seen, "relative": divide(gradient.value, rival.value), "paid": paid.value, "weight": weight.value,
        "norm": np.full(weight.value.shape, np.nan) if norm is None else norm.value,
    }  # fmt: skip
    of_layers = layers._asdict() | {
        "n": layers.n / np.maximum(heads, 1)[:, None], "pairs": seen.sum(1), "relative": relative.value,
        "relative_low": relative.low, "relative_high": relative.high, "paid": _over_heads(paid),
        "weight": _over_heads(weight),
        "norm": np.full(layers.value.shape, np.nan) if norm is None else _over_heads(norm),
        "paid_share": divide(rides.value, rides.value[:, : len(CLASSES)].sum(-1, keepdims=True)),
    }  # fmt: skip
    return {"noop": of_heads, "noop_layers": of_layers}


def _over_heads(estimate: Estimate) -> Array:
    """The mean over the heads of a layer, each with its number of cases."""
    return divide((np.nan_to_num(estimate.value) * estimate.n).sum(1), estimate.n.sum(1))
