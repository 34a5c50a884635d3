"""What the no-op test found, as tidy rows: head by head, layer by layer, and the loss itself.

Gradients are larger in some layers than in others, so that they can only be compared within a layer: beside every
mean gradient stands its ratio to that of *other* keys (neither special nor punctuation nor the first piece) in the
same texts and the same layer or head. ``n`` counts texts, ``pairs`` the visible pairs of a query and such a key in
them. The same of the untrained twin stands in every row.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from attlas.ids import Stream
from attlas.measures.quantities import CLASSES
from attlas.stats import Bundle, Estimate, Resampled
from attlas.store.columns import as_cell, as_columns
from attlas.studies.noop.passes import KEYS

if TYPE_CHECKING:
    from attlas.capture.reading import Reading
    from attlas.studies.noop.passes import NoOp

Array = NDArray[np.float64]


def tables(study: NoOp, bundle: Bundle, twin: Bundle) -> dict[str, dict[str, list[Any]]]:
    """The tables noop (heads) and noop_layers, of a model and its untrained twin.

    >>> from attlas.capture import load
    >>> from attlas.studies.noop.passes import NoOp
    >>> from attlas.tasks import Tagging
    >>> study = NoOp(load(), Tagging(load(), "upos", tags=["NOUN"]))
    >>> len(tables(study, study.empty(), study.empty())["noop"]["value"])
    0
    """
    heads: list[dict[str, Any]] = []
    layers: list[dict[str, Any]] = []
    for stream in study.streams:
        ours, theirs = _of(bundle, stream), _of(twin, stream)
        count, per_layer = study.subject.shape(stream)
        for layer, head, key in np.ndindex(count, per_layer, len(KEYS)):
            if ours["heads_n"][layer, head, key] > 0:
                place = {"stream": stream.value, "layer": layer, "head": head, "keys": KEYS[key]}
                heads.append(place | _head_row(ours, theirs, (layer, head, key)))
        for layer, key in np.ndindex(count, len(KEYS)):
            if ours["layers_n"][layer, key] > 0:
                place = {"stream": stream.value, "layer": layer, "keys": KEYS[key]}
                layers.append(place | _layer_row(ours, theirs, (layer, key)))
    return {"noop": _columns(heads, HEAD_COLUMNS), "noop_layers": _columns(layers, LAYER_COLUMNS)}


def loss_table(
    part: NoOp,
    bundle: Bundle,
    twin: Bundle,
    trained_on: Reading | None,
    measured_on: Reading,
    passes: float | None,
) -> dict[str, list[Any]]:
    """The one row about the loss itself: the model's and its twin's, what even guessing and the most frequent tag
    would give, and how many passes a head was trained."""
    from attlas.studies.noop.lessons import tag_counts

    task: Any = part.task
    row: dict[str, Any] = {"task": task.name}
    for name, accuracy, who in (("value", "accuracy", bundle), ("twin", "twin_accuracy", twin)):
        value, right = who["loss"].result(), who["right"].result()
        ends = ("low", "high") if name == "value" else ("twin_low", "twin_high")
        row |= {name: value.value, ends[0]: value.low, ends[1]: value.high, "n": value.n}
        row |= {accuracy: right.value, f"{accuracy}_low": right.low, f"{accuracy}_high": right.high}
    row |= {"chance": math.log(task.choices), "chance_accuracy": math.nan, "majority_tag": None, "passes": passes}
    if trained_on is not None:
        layer, known = task.name.split(":")[1], set(task.tags)
        counts = Counter({tag: n for tag, n in tag_counts(measured_on, layer).items() if tag in known})
        often = tag_counts(trained_on, layer).most_common(1)[0][0]
        row |= {"chance_accuracy": counts[often] / max(1, counts.total()), "majority_tag": often}
    return as_columns([row])


HEAD_COLUMNS = (
    "stream", "layer", "head", "keys", "value", "n", "low", "high", "pairs", "relative", "paid", "weight", "norm",
    "twin", "twin_relative", "twin_paid", "twin_weight", "twin_norm",
)  # fmt: skip
HEAD_SHARED = ("relative", "paid", "weight", "norm")
LAYER_COLUMNS = (
    "stream", "layer", "keys", "value", "n", "low", "high", "pairs", "relative", "relative_low", "relative_high",
    "paid", "paid_share", "weight", "norm", "twin", "twin_low", "twin_high", "twin_relative", "twin_relative_low",
    "twin_relative_high", "twin_paid", "twin_paid_share", "twin_weight", "twin_norm",
)  # fmt: skip


def _of(bundle: Bundle, stream: Stream) -> dict[str, Array]:
    """All figures of one stream of one model, as arrays over layers (heads) and classes or places of keys."""
    gradient, rival, paid, weight, pairs, layers, rides = (
        bundle[f"{stream}-{what}"].result()
        for what in ("gradient", "rival", "paid", "weight", "pairs", "layers", "rides")
    )
    norm = bundle[f"{stream}-norm"].result() if f"{stream}-norm" in bundle else None
    resampled = bundle[f"{stream}-resampled"]
    assert isinstance(resampled, Resampled)
    means = resampled.means()
    relative = _divide(means[:, 0], means[:, 1])
    low, high = _middle(relative[1:])
    heads = gradient.value.shape[1]
    seen = np.nan_to_num(pairs.value) * pairs.n
    return {
        "heads": gradient.value, "heads_n": gradient.n, "heads_low": gradient.low, "heads_high": gradient.high,
        "heads_pairs": seen, "heads_relative": _divide(gradient.value, rival.value), "heads_paid": paid.value,
        "heads_weight": weight.value, "heads_norm": _unknown(weight.value) if norm is None else norm.value,
        "layers": layers.value, "layers_n": layers.n / heads, "layers_low": layers.low, "layers_high": layers.high,
        "pairs": seen.sum(1), "relative": relative[0], "relative_low": low, "relative_high": high,
        "paid": _over_heads(paid), "weight": _over_heads(weight),
        "norm": _unknown(layers.value) if norm is None else _over_heads(norm),
        "paid_share": _divide(rides.value, rides.value[:, : len(CLASSES)].sum(-1, keepdims=True)),
    }  # fmt: skip


def _unknown(like: Array) -> Array:
    return np.full(like.shape, np.nan)


def _over_heads(estimate: Estimate) -> Array:
    """The mean over the heads of a layer, each with its number of cases."""
    return _divide((np.nan_to_num(estimate.value) * estimate.n).sum(1), estimate.n.sum(1))


def _head_row(ours: Mapping[str, Array], theirs: Mapping[str, Array], cell: tuple[int, ...]) -> dict[str, Any]:
    row = {"value": ours["heads"][cell]}
    row |= {name: ours[f"heads_{name}"][cell] for name in ("n", "low", "high", "pairs", *HEAD_SHARED)}
    row |= {"twin": theirs["heads"][cell]}
    return row | {f"twin_{name}": theirs[f"heads_{name}"][cell] for name in HEAD_SHARED}


def _layer_row(ours: Mapping[str, Array], theirs: Mapping[str, Array], cell: tuple[int, ...]) -> dict[str, Any]:
    shared = ("relative", "relative_low", "relative_high", "paid", "paid_share", "weight", "norm")
    row = {"value": ours["layers"][cell], "pairs": ours["pairs"][cell]}
    row |= {name: ours[f"layers_{name}"][cell] for name in ("n", "low", "high")}
    row |= {name: ours[name][cell] for name in shared}
    row |= {"twin": theirs["layers"][cell]}
    row |= {f"twin_{end}": theirs[f"layers_{end}"][cell] for end in ("low", "high")}
    return row | {f"twin_{name}": theirs[name][cell] for name in shared}


def _divide(above: Array, below: Array) -> Array:
    above, below = np.broadcast_arrays(above, below)
    divided: Array = np.divide(above, below, out=np.full(above.shape, np.nan), where=np.nan_to_num(below) > 0)
    return divided


def _middle(replicates: Array) -> tuple[Array, Array]:
    """The middle 95 % of replicates, cell by cell."""
    low, high = np.full(replicates.shape[1:], np.nan), np.full(replicates.shape[1:], np.nan)
    for cell in np.ndindex(*replicates.shape[1:]):
        known = replicates.reshape(len(replicates), -1)[:, np.ravel_multi_index(cell, low.shape)]
        known = known[np.isfinite(known)]
        if len(known):
            low[cell], high[cell] = np.quantile(known, (0.025, 0.975))
    return low, high


def _columns(rows: list[dict[str, Any]], names: tuple[str, ...]) -> dict[str, list[Any]]:
    return {name: [as_cell(row[name]) for row in rows] for name in names}
