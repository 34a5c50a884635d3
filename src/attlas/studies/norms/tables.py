"""What the norms study found, as tidy rows: heads, layers, correlations, frequency, mixing, and pairs to look at.

The same of the untrained twins stands in every row: their mean, the lowest and the highest. Correlations of weight
and length come in two kinds. Over *texts*: within each text, and then the mean over texts, which asks whether in one
text the keys with short vectors get more weight. Over *pairs*: of pairs drawn evenly from all texts, in one heap,
also within a class of key; the interval is from drawing the documents again.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from attlas.capture.mixing import STEPS
from attlas.ids import Stream
from attlas.measures.quantities import CLASSES, RANKS
from attlas.stats import METRICS, Bundle, Cases, Drawn, Estimate
from attlas.stats.intervals import FEWEST as FEWEST_UNITS
from attlas.store.columns import as_columns
from attlas.studies.norms.marks import CELLS
from attlas.studies.norms.passes import MEANS, PAIRS, QUERIES, WORDS
from attlas.studies.norms.scatter import scatter
from attlas.studies.shared.figures import (
    CORRELATION,
    NOT_BELOW_ZERO,
    SHARE,
    Array,
    cells_of,
    divide,
    ends_of,
    middle,
    spread,
)
from attlas.tasks import text_seed

if TYPE_CHECKING:
    from attlas.models import Example
    from attlas.studies.norms.passes import Norms

Row = dict[str, Any]

OTHER = CLASSES.index("other")
FEWEST = 20  # pairs, below which there is no correlation of them
REPLICATES = 200
RANGES = {
    "spearman": CORRELATION, "words": CORRELATION, "layer-spearman": CORRELATION, "layer-words": CORRELATION,
    "layer-bands": NOT_BELOW_ZERO, "layer-mixing": SHARE,
}  # fmt: skip
SHOWN = 4  # heads of a stream whose pairs are shown one by one, unless some are named
_LAYER = ("stream", "layer")
_HEAD = (*_LAYER, "head")
_SHARES = ("weight", "weight_low", "weight_high", "norm", "norm_low", "norm_high")
_MEANS = ("mean_weight", "length", "mean_norm", "relative")
_ESTIMATE = ("value", "n", "low", "high", "twin", "twin_low", "twin_high", "twins")
COLUMNS = {
    "norms": (
        *_HEAD, "keys", *_SHARES, "chance", "n", *_MEANS, "pair_count", "key_count",
        *(f"twin_{name}" for name in (*_SHARES, *_MEANS)), "twins",
    ),
    "norms_layers": (
        *_LAYER, "keys", *_SHARES, "joint", "joint_low", "joint_high", "chance", "n", *_MEANS, "mean_joint",
        "length_low", "length_high", "pair_count", "key_count",
        *(f"twin_{name}" for name in (*_SHARES, "joint", "joint_low", "joint_high", *_MEANS, "mean_joint")), "twins",
    ),
    "spearman": (*_HEAD, "keys", "over", *_ESTIMATE),
    "spearman_layers": (*_LAYER, "keys", "over", *_ESTIMATE),
    "frequency": (*_HEAD, "words", *_ESTIMATE),
    "frequency_layers": (*_LAYER, "words", *_ESTIMATE),
    "bands": (*_LAYER, "rank_from", "rank_to", *_ESTIMATE, "relative", "twin_relative"),
    "mixing": (*_LAYER, "step", "queries", *_ESTIMATE),
    "scatter": (*_HEAD, "who", "shown", "keys", "weight", "length", "query", "key"),
}  # fmt: skip


class Seen(NamedTuple):
    """What one model showed in one stream: figures by class of key, of heads and of layers; means, by what they are
    of; the correlation of weight and length over drawn pairs, by class of key and layer, with the number of pairs;
    and the pairs themselves."""

    classes: dict[str, dict[str, Array]]
    means: dict[str, Estimate]
    related: dict[str, list[tuple[Array, int]]]
    drawn: Sequence[Cases]


def seen_of(
    study: Norms, bundle: Bundle, examples: Sequence[Example], *, intervals: bool = True
) -> dict[Stream, Seen]:
    """What tables need of a model's sums, which are larger by far and can be let go. ``examples`` are those that
    pairs were drawn of; without ``intervals`` drawn pairs are not drawn again, as is enough for twins.

    >>> from attlas.capture import load
    >>> from attlas.studies.norms.passes import Norms
    >>> study = Norms(load())
    >>> list(seen_of(study, study.empty(), [])[Stream.ENCODER].means)[:2]
    ['spearman', 'words']
    """
    units = {text_key(example, study.seed): example.unit for example in examples}
    seen = {}
    for stream in study.streams:
        drawn = _pairs(bundle, stream).result()
        related = {
            keys: _related(
                cases, study.subject.grid(stream).shape, _copies(cases, units, REPLICATES if intervals else 0)
            )
            for keys, cases in zip(CELLS, drawn, strict=True)
            if len(cases.values) >= FEWEST
        }
        means = {name: bundle.pooled(f"{stream}-{name}").result(within) for name, within in RANGES.items()}
        heads = study.subject.grid(stream).sum(1)
        seen[stream] = Seen(_classes(bundle, stream, heads), means, related, drawn)
    return seen


def drawn_texts(bundle: Bundle, streams: Sequence[Stream]) -> set[int]:
    """The texts that drawn pairs are of, by :func:`text_key`.

    >>> from attlas.capture import load
    >>> from attlas.studies.norms.passes import Norms
    >>> drawn_texts(Norms(load()).empty(), [Stream.ENCODER])
    set()
    """
    return {
        int(place[0]) for stream in streams for cases in _pairs(bundle, stream).result() for place in cases.places
    }


def text_key(example: Example, seed: int) -> int:
    """What drawn pairs call their text.

    >>> from attlas.capture import load
    >>> from attlas.text import Document, Passage
    >>> text_key(load().pieces.encode(Passage(Document.from_text("It rained."))), 0) > 0
    True
    """
    return text_seed(example.passage, seed) >> 1


def tables(
    study: Norms,
    model: Mapping[Stream, Seen],
    twins: Sequence[Mapping[Stream, Seen]],
    examples: Sequence[Example],
    heads: Mapping[Stream, Sequence[Any]] = {},
) -> dict[str, dict[str, list[Any]]]:
    """All tables, of what a model and its untrained twins showed (:func:`seen_of`). ``examples`` are those that
    pairs were drawn of, to name their pieces; ``heads`` are (layer, head) of each stream whose pairs are to be shown
    one by one.

    >>> from attlas.capture import load
    >>> from attlas.studies.norms.passes import Norms
    >>> study = Norms(load())
    >>> seen = seen_of(study, study.empty(), [])
    >>> len(tables(study, seen, [seen], [])["norms"]["weight"])
    0
    """
    rows: dict[str, list[Row]] = {name: [] for name in COLUMNS}
    for stream in study.streams:
        grid = study.subject.grid(stream)
        own, others = model[stream], [twin[stream] for twin in twins]
        layer, head = ({name: range(count)} for name, count in zip(("layer", "head"), grid.shape, strict=True))
        of_twins = {
            kind: _of_twins([twin.classes[kind] for twin in others], known) for kind, known in own.classes.items()
        }
        rows["norms"] += _named(
            stream, cells_of(own.classes["heads"], of_twins["heads"], **layer, **head, keys=CLASSES)
        )
        rows["norms_layers"] += _named(
            stream, cells_of(own.classes["layers"], of_twins["layers"], **layer, keys=CLASSES)
        )
        for name, part, labels in (
            ("spearman", "spearman", {"keys": PAIRS}),
            ("frequency", "words", {"words": WORDS}),
        ):
            rows[name] += _estimates(own, others, stream, part, {**layer, **head, **labels})
            rows[f"{name}_layers"] += _estimates(
                own, others, stream, f"layer-{part}", {**layer, **labels}, per=grid.sum(1)
            )
        _over_pairs(rows, own, others, stream)
        rows["mixing"] += _estimates(
            own, others, stream, "layer-mixing", {**layer, "step": STEPS, "queries": QUERIES}
        )
        rows["bands"] += _bands(own, others, stream, grid)
        rows["scatter"] += scatter(
            stream, grid, own.drawn, others[0].drawn if others else [], examples, study.seed, heads.get(stream, ())
        )
    for added in rows.values():
        for row in added:
            row["twins"] = len(twins)
    return {name: as_columns(rows[name], names) for name, names in COLUMNS.items()}


def resting_heads(bundle: Bundle, stream: Stream, most: int = SHOWN) -> list[tuple[int, int]]:
    """The heads that give the most weight to special pieces, periods and commas, as (layer, head), the first layers
    first.

    >>> from attlas.capture import load
    >>> from attlas.studies.norms.passes import Norms
    >>> len(resting_heads(Norms(load()).empty(), Stream.ENCODER))
    4
    """
    shares = bundle[f"{stream}-shares"].result()
    other = np.nan_to_num(shares.value)[:, :, 0, -1]
    absent = shares.n[:, :, 0].sum(-1) == 0
    order = np.lexsort((other.ravel(), absent.ravel()))[:most]
    return sorted((int(place) // other.shape[1], int(place) % other.shape[1]) for place in order)


def _classes(bundle: Bundle, stream: Stream, heads: NDArray[np.int64]) -> dict[str, dict[str, Array]]:
    """Shares and means by class of key, for heads and for layers, which have so many ``heads``."""
    chance = bundle[f"{stream}-layer-chance"].result().value
    joint = bundle.pooled(f"{stream}-layer-joint").result(SHARE)  # of its mean, which is no share, the value alone
    widest = bundle.pooled(f"{stream}-shares").shape[1]
    figures: dict[str, dict[str, Array]] = {}
    for kind, prefix in (("heads", ""), ("layers", "layer-")):
        shares = bundle.pooled(f"{stream}-{prefix}shares").result(SHARE)
        means = bundle.pooled(f"{stream}-{prefix}means").result(NOT_BELOW_ZERO)
        per = np.maximum(heads, 1)[:, None] if kind == "layers" else 1
        by_class = _measure("weight", shares, 0) | _measure("norm", shares, 1)
        by_class |= {"chance": chance if kind == "layers" else np.repeat(chance[:, None], widest, 1)}
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


def _of_twins(figures: Sequence[dict[str, Array]], own: dict[str, Array]) -> dict[str, Array]:
    """The mean of several twins' figures; the ends of an interval are the lowest and the highest of them. Without
    twins nothing is known in the place of any of our ``own``."""
    if not figures:
        return {name: np.full(np.shape(array), np.nan) for name, array in own.items()}
    together = {name: np.mean([twin[name] for twin in figures], axis=0) for name in figures[0]}
    for name in figures[0]:
        if f"{name}_low" in together:
            each = [Estimate(twin[name], twin[name], twin[name], twin[name]) for twin in figures]
            reach = spread(each, each[0])
            together |= {f"{name}_low": reach.low, f"{name}_high": reach.high}
    return together


def _estimates(
    own: Seen,
    twins: Sequence[Seen],
    stream: Stream,
    part: str,
    axes: Mapping[str, Sequence[Any]],
    per: NDArray[np.int64] | None = None,
) -> list[Row]:
    """Rows of a mean, the twins' figures beside ours; cases count once for the heads of a layer, ``per`` layer so
    many."""
    rows = _named(
        stream, cells_of(own.means[part], spread([twin.means[part] for twin in twins], own.means[part]), **axes)
    )
    return [{"over": "texts", **row, "n": row["n"] / (1 if per is None else per[row["layer"]])} for row in rows]


def _bands(own: Seen, twins: Sequence[Seen], stream: Stream, grid: NDArray[np.bool_]) -> list[Row]:
    axes = {"layer": range(len(grid)), "band": RANKS}
    rows = _estimates(own, twins, stream, "layer-bands", axes, per=grid.sum(1))
    ours, *theirs = (_over_the_mean(seen.means["layer-bands"]) for seen in (own, *twins))
    for row in rows:
        cell = row["layer"], RANKS.index(row["band"])
        of_twins = np.mean([twin[cell] for twin in theirs]) if theirs else np.nan
        row |= {"relative": ours[cell], "twin_relative": of_twins}
    return [{**row, "rank_from": row["band"][0], "rank_to": row["band"][1]} for row in rows]


def _over_the_mean(bands: Estimate) -> Array:
    """Each band's mean over that of its layer."""
    means = divide((np.nan_to_num(bands.value) * bands.n).sum(-1), bands.n.sum(-1))
    return divide(bands.value, means[:, None])


def _over_pairs(rows: dict[str, list[Row]], own: Seen, twins: Sequence[Seen], stream: Stream) -> None:
    """Spearman of weight and length over drawn pairs, by class of key."""
    for keys, by_layer in own.related.items():
        for layer, (here, n) in enumerate(by_layer):
            there = [twin.related[keys][layer][0] for twin in twins]
            place = {"stream": stream.value, "layer": layer, "keys": keys, "over": "pairs", "n": n}
            if np.isfinite(here[:, 0]).any():
                means = [_mean(twin)[:1] for twin in there]
                rows["spearman_layers"].append(place | _ranged(_mean(here)) | _lowest_to_highest(means))
            for head in np.flatnonzero(np.isfinite(here[:, 0])):
                of_twins = _lowest_to_highest([twin[head, :1] for twin in there])
                rows["spearman"].append(place | {"head": int(head)} | _ranged(here[head]) | of_twins)


def _related(cases: Cases, shape: tuple[int, int], copies: Array) -> list[tuple[Array, int]]:
    """Spearman of weight and length over drawn pairs, layer by layer."""
    return [_spearman(cases.values.reshape(-1, *shape, 2)[:, layer], copies) for layer in range(shape[0])]


def _copies(cases: Cases, units: Mapping[int, int], replicates: int) -> Array:
    """How often each pair counts: once, and then in every replicate as often as the unit of its text was drawn; there
    are no replicates of fewer units than an interval needs."""
    unit = np.array([units.get(int(text), int(text)) for text in cases.places[:, 0]])
    _, unit = np.unique(unit, return_inverse=True)
    count = int(unit.max(initial=0)) + 1
    drawn = np.random.default_rng(0).poisson(1.0, (replicates if count >= FEWEST_UNITS else 0, count))
    return np.concatenate([np.ones((1, len(unit))), drawn[:, unit]])


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


def _ranged(found: Array) -> Row:
    """A value and the middle 95 % of its replicates, where there are any."""
    low, high = middle(found[1:]) if len(found) > 1 else (np.array(np.nan),) * 2
    return ends_of(Estimate(found[0], np.array(1.0), low, high), ())


def _lowest_to_highest(twins: Sequence[Array]) -> Row:
    """The mean of the twins' values, with the lowest and the highest."""
    each = [Estimate(value, value, value, value) for value in twins]
    unknown = np.full(1, np.nan)
    return ends_of(spread(each, Estimate(unknown, unknown, unknown, unknown)), (0,), "twin")


def _pairs(bundle: Bundle, stream: Stream) -> Drawn:
    found = bundle[f"{stream}-pairs"]
    assert isinstance(found, Drawn)
    return found
