"""The answer of the study of clusters, as tidy rows.

The main table has a row for each head: its place on the map, its behaviour and the figures behind it, the head
nearest to it. All tables show the untrained twin: in columns that begin with ``twin``, or, where the two do not go
head by head (the tree, togetherness), in rows of their own, told apart by the column ``who``.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from attlas.ids import Stream
from attlas.measures.divergence import head_pairs
from attlas.stats import Bundle, Estimate, PooledMean
from attlas.store.columns import as_columns
from attlas.studies.clusters.arrangement import Map, Tree, join, lay_out, square, togetherness
from attlas.studies.clusters.behaviour import FIGURES, Place, behaviour
from attlas.studies.shared.figures import cells_of, ends_of

if TYPE_CHECKING:
    from attlas.studies.clusters.passes import Clusters

Row = dict[str, Any]
Known = Mapping[Place, Sequence[str]]

COLUMNS = {
    "clusters": (
        "stream", "layer", "head", "x", "y", "behaviour", "relations", "leaf", "nearest_layer", "nearest_head",
        "nearest", "mean", *FIGURES, "n", "twin_x", "twin_y", "twin_behaviour", "twin_mean", "twin_entropy",
    ),
    "pairs": (
        "stream", "layer", "head", "layer_b", "head_b", "value", "n", "low", "high", "first_half", "second_half",
        "twin",
    ),
    "joins": ("stream", "who", "join", "a", "b", "value", "heads"),
    "layer_pairs": ("stream", "layer", "layer_b", "value", "n", "low", "high", "twin", "twin_low", "twin_high"),
    "togetherness": (
        "stream", "who", "within", "within_low", "within_high", "between", "between_low", "between_high", "ratio",
        "p", "shuffles", "stress", "halves", "heads", "n",
    ),
}  # fmt: skip


class _Seen(NamedTuple):
    """What one model showed in one stream."""

    pairs: Estimate
    halves: tuple[NDArray[np.float64], NDArray[np.float64]]
    distances: NDArray[np.float64]
    map: Map
    tree: Tree
    figures: list[dict[str, float]]


def cluster_tables(
    study: Clusters, bundle: Bundle, twin: Bundle, relations: Known
) -> dict[str, dict[str, list[Any]]]:
    """All tables, the main one first; ``relations`` names heads that are known for one (:func:`.relation_heads`).

    >>> from attlas.capture import load
    >>> from attlas.studies.clusters.passes import Clusters
    >>> study = Clusters(load())
    >>> cluster_tables(study, study.empty(), study.empty(), {})["togetherness"]["p"]
    []
    """
    rows: dict[str, list[Row]] = {name: [] for name in COLUMNS}
    for stream in study.streams:
        own, untrained = (_see(study, part, stream) for part in (bundle, twin))
        if own is None or untrained is None:
            continue
        shape = study.subject.shape(stream)
        layers = range(shape[0])
        by_layer = cells_of(
            *(part[f"{stream}-layers"].result() for part in (bundle, twin)), layer=layers, layer_b=layers
        )
        of_stream: dict[str, list[Row]] = {
            "clusters": list(_heads(stream, shape, own, untrained, relations)),
            "pairs": list(_pairs(shape[1], own, untrained)),
            "layer_pairs": [row for _, row in by_layer],
            "joins": [],
            "togetherness": [],
        }
        for who, seen, part in (("model", own, bundle), ("twin", untrained, twin)):
            of_stream["joins"] += [
                {"who": who, "join": step, "a": int(a), "b": int(b), "value": value, "heads": int(heads)}
                for step, (a, b, value, heads) in enumerate(seen.tree.joins)
            ]
            apart = part[f"{stream}-apart"].result()
            of_stream["togetherness"].append({"who": who, **_togetherness(study, shape, seen, apart)})
        for name, added in of_stream.items():
            rows[name] += [{"stream": stream.value, **row} for row in added]
    return {name: as_columns(rows[name], names) for name, names in COLUMNS.items()}


def _see(study: Clusters, bundle: Bundle, stream: Stream) -> _Seen | None:
    layers, heads = study.subject.shape(stream)
    parts = [PooledMean.from_state(bundle[f"{stream}-pairs-{half}"].state()) for half in (1, 2)]
    first, second = (part.result().value for part in parts)
    parts[0].merge(parts[1])
    pairs = parts[0].result()
    if not pairs.n.size or not pairs.n[0] > 0:
        return None
    distances = square(pairs.value, layers * heads)
    figures = bundle[f"{stream}-figures"].result()
    known = [_known(figures, place) for place in np.ndindex(layers, heads)]
    return _Seen(pairs, (first, second), distances, lay_out(distances, study.seed), join(distances), known)


def _known(figures: Estimate, place: tuple[int, ...]) -> dict[str, float]:
    cells = {name: (*place, number) for number, name in enumerate(FIGURES)}
    return {name: float(figures.value[cell]) for name, cell in cells.items() if figures.n[cell] > 0}


def _heads(stream: Stream, shape: tuple[int, int], own: _Seen, twin: _Seen, relations: Known) -> Iterator[Row]:
    count = len(own.distances)
    others = own.distances + np.where(np.eye(count, dtype=bool), np.inf, 0.0)
    means, twin_means = (seen.distances.sum(1) / max(1, count - 1) for seen in (own, twin))
    leaf = np.empty(count, int)
    leaf[own.tree.leaves] = np.arange(count)
    for number, (layer, head) in enumerate(np.ndindex(*shape)):
        figures, twin_figures = own.figures[number], twin.figures[number]
        names = relations.get((stream.value, layer, head), ())
        nearest = int(others[number].argmin())
        yield {
            "layer": layer,
            "head": head,
            "x": own.map.places[number, 0],
            "y": own.map.places[number, 1],
            "behaviour": "relation" if names else behaviour(figures),
            "relations": ", ".join(names),
            "leaf": leaf[number],
            "nearest_layer": nearest // shape[1],
            "nearest_head": nearest % shape[1],
            "nearest": others[number, nearest],
            "mean": means[number],
            **{name: figures.get(name) for name in FIGURES},
            "n": int(own.pairs.n[0]),
            "twin_x": twin.map.places[number, 0],
            "twin_y": twin.map.places[number, 1],
            "twin_behaviour": behaviour(twin_figures),
            "twin_mean": twin_means[number],
            "twin_entropy": twin_figures["entropy"],
        }


def _pairs(heads: int, own: _Seen, twin: _Seen) -> Iterator[Row]:
    pairs = list(zip(*(side.tolist() for side in head_pairs(len(own.distances))), strict=True))
    for (number,), row in cells_of(own.pairs, twin.pairs, pair=pairs):
        (layer, head), (layer_b, head_b) = (divmod(side, heads) for side in row["pair"])
        place = {"layer": layer, "head": head, "layer_b": layer_b, "head_b": head_b}
        yield row | place | {"first_half": own.halves[0][number], "second_half": own.halves[1][number]}


def _togetherness(study: Clusters, shape: tuple[int, int], seen: _Seen, apart: Estimate) -> Row:
    tested = togetherness(seen.distances, shape[0], study.seed, study.shuffles)
    return {
        **ends_of(apart, (0,), "within"),
        **ends_of(apart, (1,), "between"),
        "ratio": tested and tested.ratio,
        "p": tested and tested.p,
        "shuffles": study.shuffles,
        "stress": seen.map.stress,
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
