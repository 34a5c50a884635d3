"""The answer of the study of clusters, as tidy rows.

The main table has a row for each head: its place on the map, its behaviour and the figures behind it, the head
nearest to it. All tables show the untrained twins, as many as ``twins`` says: in columns that begin with ``twin``
(their mean, and the lowest and the highest of them), or, where the two do not go head by head (the tree,
togetherness), in rows of their own, told apart by the columns ``who`` and ``draw``. Map, behaviour and tree are those
of the first twin.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from itertools import zip_longest
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from attlas.ids import Stream
from attlas.measures.divergence import head_pairs
from attlas.stats import Bundle, Estimate, PooledMean
from attlas.store.columns import as_columns
from attlas.studies.clusters.arrangement import Map, Tree, join, lay_out, square, togetherness
from attlas.studies.clusters.behaviour import FIGURES, Place, behaviour
from attlas.studies.shared.figures import Range, cells_of, ends_of, spread

if TYPE_CHECKING:
    from attlas.studies.clusters.passes import Clusters

Row = dict[str, Any]
Known = Mapping[Place, Sequence[str]]
DIVERGENCE: Range = (0.0, math.log(2))  # of Jensen and Shannon, in nats

COLUMNS = {
    "clusters": (
        "stream", "layer", "head", "x", "y", "behaviour", "relations", "leaf", "nearest_layer", "nearest_head",
        "nearest", "mean", *FIGURES, "n", "twin_x", "twin_y", "twin_behaviour", "twin_mean", "twin_mean_low",
        "twin_mean_high", "twin_entropy", "twin_entropy_low", "twin_entropy_high", "twins",
    ),
    "pairs": (
        "stream", "layer", "head", "layer_b", "head_b", "value", "n", "low", "high", "first_half", "second_half",
        "twin", "twin_low", "twin_high", "twins",
    ),
    "joins": ("stream", "who", "join", "a", "b", "value", "heads"),
    "layer_pairs": (
        "stream", "layer", "layer_b", "value", "n", "low", "high", "twin", "twin_low", "twin_high", "twins",
    ),
    "togetherness": (
        "stream", "who", "draw", "within", "within_low", "within_high", "between", "between_low", "between_high",
        "ratio", "p", "shuffles", "stress", "halves", "heads", "n", "twins",
    ),
}  # fmt: skip


class Seen(NamedTuple):
    """What one model showed in one stream: its distances, on all texts, on each half of them, of layers, and within
    and between layers; and the heads' own figures."""

    pairs: Estimate
    halves: tuple[NDArray[np.float64], NDArray[np.float64]]
    distances: NDArray[np.float64]
    layers: Estimate
    apart: Estimate
    figures: list[dict[str, float]]


class _Arranged(NamedTuple):
    """The map and the tree of one model's heads in one stream."""

    map: Map
    tree: Tree


def seen_of(study: Clusters, bundle: Bundle) -> dict[Stream, Seen]:
    """What tables need of a model's sums, which are many times as large and can be let go; streams without a text are
    left out.

    >>> from attlas.capture import load
    >>> from attlas.studies.clusters.passes import Clusters
    >>> study = Clusters(load())
    >>> seen_of(study, study.empty())
    {}
    """
    seen = {}
    for stream in study.streams:
        parts = [PooledMean.from_state(bundle.pooled(f"{stream}-pairs-{half}").state()) for half in (1, 2)]
        first, second = (part.result().value for part in parts)
        parts[0].merge(parts[1])
        pairs = parts[0].result(DIVERGENCE)
        if not pairs.n.size or not pairs.n[0] > 0:
            continue
        figures = bundle.pooled(f"{stream}-figures").result()
        seen[stream] = Seen(
            pairs,
            (first, second),
            square(pairs.value, int(study.subject.grid(stream).sum())),
            bundle.pooled(f"{stream}-layers").result(DIVERGENCE),
            bundle.pooled(f"{stream}-apart").result(DIVERGENCE),
            [_known(figures, place) for place in range(len(figures.n))],
        )
    return seen


def cluster_tables(
    study: Clusters, model: Mapping[Stream, Seen], twins: Sequence[Mapping[Stream, Seen]], relations: Known
) -> dict[str, dict[str, list[Any]]]:
    """All tables, the main one first, of what a model and its twins showed (:func:`seen_of`); ``relations`` names
    heads that are known for one (:func:`.relation_heads`).

    >>> from attlas.capture import load
    >>> from attlas.studies.clusters.passes import Clusters
    >>> cluster_tables(Clusters(load()), {}, [{}], {})["togetherness"]["p"]
    []
    """
    rows: dict[str, list[Row]] = {name: [] for name in COLUMNS}
    for stream in study.streams:
        if stream not in model:
            continue
        own, others = model[stream], [twin[stream] for twin in twins]
        grid = study.subject.grid(stream)
        layers, places = range(len(grid)), [(int(layer), int(head)) for layer, head in np.argwhere(grid)]
        arranged = [
            _Arranged(lay_out(seen.distances, study.seed), join(seen.distances)) for seen in (own, *others[:1])
        ]
        by_layer = cells_of(
            own.layers, spread([twin.layers for twin in others], own.layers), layer=layers, layer_b=layers
        )
        of_stream: dict[str, list[Row]] = {
            "clusters": list(_heads(stream, places, own, others, arranged, relations)),
            "pairs": list(_pairs(places, own, others)),
            "layer_pairs": [row for _, row in by_layer],
            "joins": [
                {"who": who, "join": step, "a": int(a), "b": int(b), "value": value, "heads": int(heads)}
                for who, of in zip(("model", "twin"), arranged, strict=False)
                for step, (a, b, value, heads) in enumerate(of.tree.joins)
            ],
            "togetherness": [
                {"who": "twin" if draw else "model", "draw": draw or None, "stress": stress,
                 **_togetherness(study, grid.sum(1).tolist(), seen)}
                for draw, (seen, stress) in enumerate(
                    zip_longest((own, *others), [of.map.stress for of in arranged])
                )
            ],
        }  # fmt: skip
        for name, added in of_stream.items():
            rows[name] += [{"stream": stream.value, "twins": len(others), **row} for row in added]
    return {name: as_columns(rows[name], names) for name, names in COLUMNS.items()}


def _known(figures: Estimate, head: int) -> dict[str, float]:
    cells = {name: (head, number) for number, name in enumerate(FIGURES)}
    return {name: float(figures.value[cell]) for name, cell in cells.items() if figures.n[cell] > 0}


def _heads(
    stream: Stream,
    places: Sequence[tuple[int, int]],
    own: Seen,
    twins: Sequence[Seen],
    arranged: Sequence[_Arranged],
    relations: Known,
) -> Iterator[Row]:
    count, ours = len(own.distances), arranged[0]
    others = own.distances + np.where(np.eye(count, dtype=bool), np.inf, 0.0)
    means, *twin_means = (seen.distances.sum(1) / max(1, count - 1) for seen in (own, *twins))
    entropies = [np.array([figures["entropy"] for figures in twin.figures]) for twin in twins]
    known = np.array([figures["entropy"] for figures in own.figures])
    of_twins = {"twin_mean": _spread(twin_means, means), "twin_entropy": _spread(entropies, known)}
    leaf = np.empty(count, int)
    leaf[ours.tree.leaves] = np.arange(count)
    for number, (layer, head) in enumerate(places):
        figures = own.figures[number]
        names = relations.get((stream.value, layer, head), ())
        nearest = int(others[number].argmin())
        yield {
            "layer": layer,
            "head": head,
            "x": ours.map.places[number, 0],
            "y": ours.map.places[number, 1],
            "behaviour": "relation" if names else behaviour(figures),
            "relations": ", ".join(names),
            "leaf": leaf[number],
            "nearest_layer": places[nearest][0],
            "nearest_head": places[nearest][1],
            "nearest": others[number, nearest],
            "mean": means[number],
            **{name: figures.get(name) for name in FIGURES},
            "n": int(own.pairs.n[0]),
            **_first_twin(twins, arranged, number),
            **{key: cell for name, of in of_twins.items() for key, cell in ends_of(of, (number,), name).items()},
        }


def _first_twin(twins: Sequence[Seen], arranged: Sequence[_Arranged], number: int) -> Row:
    """Where the first twin has the head of this number on its map, and what it mostly does there."""
    if not twins:
        return dict.fromkeys(("twin_x", "twin_y", "twin_behaviour"))
    x, y = arranged[1].map.places[number]
    return {"twin_x": x, "twin_y": y, "twin_behaviour": behaviour(twins[0].figures[number])}


def _spread(values: Sequence[NDArray[np.float64]], like: NDArray[np.float64]) -> Estimate:
    """The mean of the twins' values with the lowest and the highest."""
    each = [Estimate(one, np.ones(one.shape), one, one) for one in (*values, like)]
    return spread(each[:-1], each[-1])


def _pairs(places: Sequence[tuple[int, int]], own: Seen, twins: Sequence[Seen]) -> Iterator[Row]:
    pairs = list(zip(*(side.tolist() for side in head_pairs(len(own.distances))), strict=True))
    for (number,), row in cells_of(own.pairs, spread([twin.pairs for twin in twins], own.pairs), pair=pairs):
        (layer, head), (layer_b, head_b) = (places[side] for side in row["pair"])
        place = {"layer": layer, "head": head, "layer_b": layer_b, "head_b": head_b}
        yield row | place | {"first_half": own.halves[0][number], "second_half": own.halves[1][number]}


def _togetherness(study: Clusters, heads: Sequence[int], seen: Seen) -> Row:
    tested = togetherness(seen.distances, heads, study.seed, study.shuffles)
    return {
        **ends_of(seen.apart, (0,), "within"),
        **ends_of(seen.apart, (1,), "between"),
        "ratio": tested and tested.ratio,
        "p": tested and tested.p,
        "shuffles": study.shuffles,
        "halves": _rank_correlation(*seen.halves),
        "heads": len(seen.distances),
        "n": int(seen.pairs.n[0]),
    }


def _rank_correlation(one: NDArray[np.float64], other: NDArray[np.float64]) -> float | None:
    """Spearman's correlation of the distances on the two halves of the texts; none where a half has no text."""
    from scipy.stats import rankdata

    if len(one) < 3 or np.isnan(one).any() or np.isnan(other).any():
        return None
    ranks = rankdata(one), rankdata(other)
    return float(np.corrcoef(*ranks)[0, 1]) if all(np.ptp(r) > 0 for r in ranks) else None
