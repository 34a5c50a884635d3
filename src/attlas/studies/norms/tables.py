"""What the norms study found, as tidy rows: heads, layers, correlations, frequency, mixing, and pairs to look at.

The same of the untrained twin stands in every row. Correlations of weight and length come in two kinds. Over *texts*:
within each text, and then the mean over texts, which asks whether in one text the keys with short vectors get more
weight. Over *pairs*: of pairs drawn evenly from all texts, in one heap, also within a class of key; the interval is
from drawing the texts again.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from attlas.capture.mixing import STEPS
from attlas.ids import Stream
from attlas.measures.quantities import CLASSES, RANKS
from attlas.stats import METRICS, Bundle, Cases, Drawn, Estimate
from attlas.store.columns import as_columns
from attlas.studies.norms.marks import CELLS
from attlas.studies.norms.passes import MEANS, PAIRS, QUERIES, WORDS
from attlas.studies.norms.scatter import scatter
from attlas.studies.shared.figures import Array, cells_of, divide, ends_of, middle

if TYPE_CHECKING:
    from attlas.models import Example
    from attlas.studies.norms.passes import Norms

Row = dict[str, Any]

OTHER = CLASSES.index("other")
FEWEST = 20  # pairs, below which there is no correlation of them
REPLICATES = 200
SHOWN = 4  # heads of a stream whose pairs are shown one by one, unless some are named
_LAYER = ("stream", "layer")
_HEAD = (*_LAYER, "head")
_SHARES = ("weight", "weight_low", "weight_high", "norm", "norm_low", "norm_high")
_MEANS = ("mean_weight", "length", "mean_norm", "relative")
_ESTIMATE = ("value", "n", "low", "high", "twin", "twin_low", "twin_high")
COLUMNS = {
    "norms": (
        *_HEAD, "keys", *_SHARES, "chance", "n", *_MEANS, "pair_count", "key_count",
        *(f"twin_{name}" for name in (*_SHARES, *_MEANS)),
    ),
    "norms_layers": (
        *_LAYER, "keys", *_SHARES, "joint", "joint_low", "joint_high", "chance", "n", *_MEANS, "mean_joint",
        "length_low", "length_high", "pair_count", "key_count",
        *(f"twin_{name}" for name in (*_SHARES, "joint", "joint_low", "joint_high", *_MEANS, "mean_joint")),
    ),
    "spearman": (*_HEAD, "keys", "over", *_ESTIMATE),
    "spearman_layers": (*_LAYER, "keys", "over", *_ESTIMATE),
    "frequency": (*_HEAD, "words", *_ESTIMATE),
    "frequency_layers": (*_LAYER, "words", *_ESTIMATE),
    "bands": (*_LAYER, "rank_from", "rank_to", *_ESTIMATE, "relative", "twin_relative"),
    "mixing": (*_LAYER, "step", "queries", *_ESTIMATE),
    "scatter": (*_HEAD, "who", "shown", "keys", "weight", "length", "query", "key"),
}  # fmt: skip


def tables(
    study: Norms,
    bundle: Bundle,
    twin: Bundle,
    examples: Sequence[Example],
    heads: Mapping[Stream, Sequence[Any]] = {},
) -> dict[str, dict[str, list[Any]]]:
    """All tables, of a model and its untrained twin. ``examples`` are those that were read, to name the pieces of
    drawn pairs; ``heads`` are (layer, head) of each stream whose pairs are to be shown one by one.

    >>> from attlas.capture import load
    >>> from attlas.studies.norms.passes import Norms
    >>> study = Norms(load())
    >>> len(tables(study, study.empty(), study.empty(), [])["norms"]["weight"])
    0
    """
    rows: dict[str, list[Row]] = {name: [] for name in COLUMNS}
    for stream in study.streams:
        shape = study.subject.shape(stream)
        ours, theirs = (_classes(part, stream) for part in (bundle, twin))
        layer, head = ({name: range(count)} for name, count in zip(("layer", "head"), shape, strict=True))
        rows["norms"] += _named(stream, cells_of(ours["heads"], theirs["heads"], **layer, **head, keys=CLASSES))
        rows["norms_layers"] += _named(stream, cells_of(ours["layers"], theirs["layers"], **layer, keys=CLASSES))
        for name, part, labels in (
            ("spearman", "spearman", {"keys": PAIRS}),
            ("frequency", "words", {"words": WORDS}),
        ):
            rows[name] += _estimates(bundle, twin, stream, part, {**layer, **head, **labels})
            rows[f"{name}_layers"] += _estimates(
                bundle, twin, stream, f"layer-{part}", {**layer, **labels}, per=shape[1]
            )
        _over_pairs(rows, bundle, twin, stream, shape)
        rows["mixing"] += _estimates(
            bundle, twin, stream, "layer-mixing", {**layer, "step": STEPS, "queries": QUERIES}
        )
        rows["bands"] += _bands(bundle, twin, stream, shape)
        drawn, untrained = (_pairs(part, stream).result() for part in (bundle, twin))
        rows["scatter"] += scatter(stream, shape, drawn, untrained, examples, study.seed, heads.get(stream, ()))
    return {name: as_columns(rows[name], names) for name, names in COLUMNS.items()}


def resting_heads(bundle: Bundle, stream: Stream, most: int = SHOWN) -> list[tuple[int, int]]:
    """The heads that give the most weight to special pieces, periods and commas, as (layer, head), the first layers
    first.

    >>> from attlas.capture import load
    >>> from attlas.studies.norms.passes import Norms
    >>> len(resting_heads(Norms(load()).empty(), Stream.ENCODER))
    4
    """
    other = np.nan_to_num(bundle[f"{stream}-shares"].result().value)[:, :, 0, -1]
    order = np.argsort(other, axis=None, kind="stable")[:most]
    return sorted((int(place) // other.shape[1], int(place) % other.shape[1]) for place in order)


def _classes(bundle: Bundle, stream: Stream) -> dict[str, dict[str, Array]]:
    """Shares and means by class of key, for heads and for layers."""
    chance = bundle[f"{stream}-layer-chance"].result().value
    joint = bundle[f"{stream}-layer-joint"].result()
    heads_per_layer = bundle[f"{stream}-shares"].result().n.shape[1]
    figures: dict[str, dict[str, Array]] = {}
    for kind, prefix in (("heads", ""), ("layers", "layer-")):
        shares, means = bundle[f"{stream}-{prefix}shares"].result(), bundle[f"{stream}-{prefix}means"].result()
        per = heads_per_layer if kind == "layers" else 1
        by_class = _measure("weight", shares, 0) | _measure("norm", shares, 1)
        by_class |= {"chance": chance if kind == "layers" else np.repeat(chance[:, None], heads_per_layer, 1)}
        length = means.value[..., MEANS.index("length"), :]
        by_class |= {
            "n": shares.n[..., 0, :] / per,
            "mean_weight": means.value[..., MEANS.index("weight"), :],
            "mean_norm": means.value[..., MEANS.index("norm"), :],
            "length": length,
            "length_low": means.low[..., MEANS.index("length"), :],
            "length_high": means.high[..., MEANS.index("length"), :],
            "relative": divide(length, length[..., [OTHER]]),
            "pair_count": means.n[..., MEANS.index("weight"), :] / per,
            "key_count": means.n[..., MEANS.index("length"), :] / per,
        }
        figures[kind] = by_class
    figures["layers"] |= _measure("joint", joint, 0) | {"mean_joint": joint.value[..., 1, :]}
    return figures


def _measure(name: str, estimate: Estimate, measure: int) -> dict[str, Array]:
    """Value and interval of one measure, the second axis from the end."""
    return ends_of(estimate, (..., measure, slice(None)), name)


def _named(stream: Stream, cells: Iterable[tuple[Any, Row]]) -> list[Row]:
    return [{"stream": stream.value, **row} for _, row in cells]


def _estimates(
    bundle: Bundle, twin: Bundle, stream: Stream, part: str, axes: Mapping[str, Sequence[Any]], per: int = 1
) -> list[Row]:
    """Rows of an accumulator, the twin's figures beside ours; cases count once for every ``per`` of them."""
    ours, theirs = (found[f"{stream}-{part}"].result() for found in (bundle, twin))
    rows = _named(stream, cells_of(ours, theirs, **axes))
    return [{"over": "texts", **row, "n": row["n"] / per} for row in rows]


def _bands(bundle: Bundle, twin: Bundle, stream: Stream, shape: tuple[int, int]) -> list[Row]:
    axes = {"layer": range(shape[0]), "band": RANKS}
    rows = _estimates(bundle, twin, stream, "layer-bands", axes, per=shape[1])
    for who, relative, part in (("value", "relative", bundle), ("twin", "twin_relative", twin)):
        bands = part[f"{stream}-layer-bands"].result()
        means = divide((np.nan_to_num(bands.value) * bands.n).sum(-1), bands.n.sum(-1))
        for row in rows:
            row[relative] = row[who] / means[row["layer"]]
    return [{**row, "rank_from": row["band"][0], "rank_to": row["band"][1]} for row in rows]


def _over_pairs(
    rows: dict[str, list[Row]], bundle: Bundle, twin: Bundle, stream: Stream, shape: tuple[int, int]
) -> None:
    """Spearman of weight and length over drawn pairs, by class of key."""
    for cell, keys in enumerate(CELLS):
        ours, theirs = (_pairs(part, stream).result()[cell] for part in (bundle, twin))
        if len(ours.values) < FEWEST:
            continue
        copies = _copies(ours)
        for layer in range(shape[0]):
            here, n = _spearman(ours.values.reshape(-1, *shape, 2)[:, layer], copies)
            there, _ = _spearman(theirs.values.reshape(-1, *shape, 2)[:, layer], copies)
            place = {"stream": stream.value, "layer": layer, "keys": keys, "over": "pairs", "n": n}
            if np.isfinite(here[:, 0]).any():
                rows["spearman_layers"].append(place | _ranged(_mean(here)) | _ranged(_mean(there), "twin"))
            for head in np.flatnonzero(np.isfinite(here[:, 0])):
                row = place | {"head": int(head)} | _ranged(here[head]) | _ranged(there[head], "twin")
                rows["spearman"].append(row)


def _copies(cases: Cases) -> Array:
    """How often each pair counts: once, and then in every replicate as often as its text was drawn."""
    _, text = np.unique(cases.places[:, 0], return_inverse=True)
    drawn = np.random.default_rng(0).poisson(1.0, (REPLICATES, int(text.max(initial=0)) + 1))
    return np.concatenate([np.ones((1, len(text))), drawn[:, text]])


def _spearman(values: NDArray[np.float32], copies: Array) -> tuple[Array, int]:
    """Spearman of weight and length in every head and replicate, (head, 1 + replicates), from (pair, head, 2), and
    the number of pairs that this layer can see; NaN where there are too few, or all lengths are the same."""
    seen = values[:, :, 0].max(1) > 0  # a window may hide what other layers see
    # What differs by less than a ten-thousandth counts as equal, as it does within texts.
    known = np.round(np.log(np.maximum(values[seen].transpose(1, 0, 2).astype(np.float64), 1e-30)) * 1e4)
    if known.shape[1] < FEWEST:
        return np.full((known.shape[0], len(copies)), np.nan), known.shape[1]
    metric = METRICS["spearman"]
    found = metric.of(np.einsum("rp,hpc->hrc", copies[:, seen], metric.counts(known), optimize=True))
    constant = np.ptp(known, axis=1).min(-1) == 0
    return np.where(constant[:, None], np.nan, found), known.shape[1]


def _mean(found: Array) -> Array:
    """The mean of all heads that have a correlation, in every replicate."""
    known = np.isfinite(found[:, 0])
    mean: Array = np.nanmean(found[known], axis=0) if known.any() else np.full(found.shape[1], np.nan)
    return mean


def _ranged(found: Array, name: str = "value") -> Row:
    """A value and the middle 95 % of its replicates."""
    low, high = middle(found[1:])
    return ends_of(Estimate(found[0], np.array(1.0), low, high), (), name)


def _pairs(bundle: Bundle, stream: Stream) -> Drawn:
    found = bundle[f"{stream}-pairs"]
    assert isinstance(found, Drawn)
    return found
