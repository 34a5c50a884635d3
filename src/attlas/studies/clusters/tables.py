"""The answer of the study of clusters, as tidy rows.

The main table has a row for each head: its place on the map, its behaviour and the figures behind it, the head
nearest to it. All tables show the untrained twin: in columns that begin with ``twin``, or, where the two do not go
head by head (the tree, togetherness), in rows of their own, told apart by the column ``who``.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from attlas.ids import Stream
from attlas.measures.divergence import head_pairs
from attlas.stats import Bundle, Estimate, PooledMean
from attlas.store.columns import as_cell
from attlas.studies.clusters.arrangement import Map, Tree, join, lay_out, square, togetherness
from attlas.studies.clusters.behaviour import FIGURES, Place, behaviour

if TYPE_CHECKING:
    from attlas.studies.clusters.passes import Clusters

Columns = dict[str, list[Any]]
Known = Mapping[Place, Sequence[str]]

WHO = ("model", "twin")
CLUSTERS = (
    "stream", "layer", "head", "x", "y", "behaviour", "relations", "leaf", "nearest_layer", "nearest_head", "nearest",
    "mean", "entropy", "even", "previous", "next", "self", "first", "cls", "sep", "punctuation", "special", "n",
    "twin_x", "twin_y", "twin_behaviour", "twin_mean", "twin_entropy",
)  # fmt: skip
PAIRS = (
    "stream", "layer", "head", "layer_b", "head_b", "value", "n", "low", "high", "first_half", "second_half", "twin",
)  # fmt: skip
JOINS = ("stream", "who", "join", "a", "b", "value", "heads")
LAYERS = ("stream", "layer", "layer_b", "value", "n", "low", "high", "twin", "twin_low", "twin_high")
TOGETHERNESS = (
    "stream", "who", "within", "within_low", "within_high", "between", "between_low", "between_high", "ratio", "p",
    "shuffles", "stress", "halves", "heads", "n",
)  # fmt: skip


class _Seen(NamedTuple):
    """What one model showed in one stream."""

    pairs: Estimate
    halves: tuple[NDArray[np.float64], NDArray[np.float64]]
    distances: NDArray[np.float64]
    map: Map
    tree: Tree
    figures: list[dict[str, float]]


def cluster_tables(
    study: Clusters, bundle: Bundle, twin: Bundle | None = None, relations: Known | None = None
) -> dict[str, Columns]:
    """All tables, the main one first; ``relations`` names heads that are known for one (:func:`.relation_heads`).

    >>> from attlas.capture import load
    >>> from attlas.studies.clusters.passes import Clusters
    >>> study = Clusters(load())
    >>> cluster_tables(study, study.empty(), study.empty())["togetherness"]["p"]
    []
    """
    names = {
        "clusters": CLUSTERS,
        "pairs": PAIRS,
        "joins": JOINS,
        "layer_pairs": LAYERS,
        "togetherness": TOGETHERNESS,
    }
    tables: dict[str, Columns] = {table: {name: [] for name in columns} for table, columns in names.items()}
    for stream in study.streams:
        given = dict(zip(WHO, (bundle, twin), strict=True))
        seen = {
            who: shown for who, part in given.items() if part is not None and (shown := _see(study, part, stream))
        }
        if "model" not in seen:
            continue
        _add(tables["clusters"], **_head_columns(study, stream, seen["model"], seen.get("twin"), relations or {}))
        _add(tables["pairs"], **_pair_columns(study, stream, seen["model"], seen.get("twin")))
        _add(tables["layer_pairs"], **_layer_columns(bundle, twin, stream))
        for who, shown in seen.items():
            part = given[who]
            assert part is not None
            joins = shown.tree.joins
            _add(
                tables["joins"], stream=[stream.value] * len(joins), who=[who] * len(joins), join=range(len(joins)),
                a=joins[:, 0].astype(int), b=joins[:, 1].astype(int), value=joins[:, 2],
                heads=joins[:, 3].astype(int),
            )  # fmt: skip
            _add_togetherness(tables["togetherness"], study, stream, who, shown, part)
    return tables


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
    return _Seen(
        pairs,
        (first, second),
        distances,
        lay_out(distances, study.seed),
        join(distances),
        [_known(figures, place) for place in np.ndindex(layers, heads)],
    )


def _known(figures: Estimate, place: tuple[int, ...]) -> dict[str, float]:
    cells = {name: (*place, number) for number, name in enumerate(FIGURES)}
    return {name: float(figures.value[cell]) for name, cell in cells.items() if figures.n[cell] > 0}


def _head_columns(
    study: Clusters, stream: Stream, seen: _Seen, twin: _Seen | None, relations: Known
) -> Mapping[str, Any]:
    layers, heads = study.subject.shape(stream)
    places = list(np.ndindex(layers, heads))
    count = len(places)
    others = seen.distances + np.where(np.eye(count, dtype=bool), np.inf, 0.0)
    nearest = others.argmin(1)
    known = [relations.get((stream.value, *place), ()) for place in places]
    leaf = np.empty(count, int)
    leaf[seen.tree.leaves] = np.arange(count)
    none = [None] * count
    return {
        "stream": [stream.value] * count,
        "layer": [layer for layer, _ in places],
        "head": [head for _, head in places],
        "x": seen.map.places[:, 0],
        "y": seen.map.places[:, 1],
        "behaviour": ["relation" if names else behaviour(f) for names, f in zip(known, seen.figures, strict=True)],
        "relations": [", ".join(names) for names in known],
        "leaf": leaf,
        "nearest_layer": nearest // heads,
        "nearest_head": nearest % heads,
        "nearest": others.min(1),
        "mean": seen.distances.sum(1) / max(1, count - 1),
        **{name: [figures.get(name) for figures in seen.figures] for name in FIGURES},
        "n": [int(seen.pairs.n[0])] * count,
        "twin_x": none if twin is None else twin.map.places[:, 0],
        "twin_y": none if twin is None else twin.map.places[:, 1],
        "twin_behaviour": none if twin is None else [behaviour(figures) for figures in twin.figures],
        "twin_mean": none if twin is None else twin.distances.sum(1) / max(1, count - 1),
        "twin_entropy": none if twin is None else [figures["entropy"] for figures in twin.figures],
    }


def _pair_columns(study: Clusters, stream: Stream, seen: _Seen, twin: _Seen | None) -> Mapping[str, Any]:
    layers, heads = study.subject.shape(stream)
    a, b = head_pairs(layers * heads)
    return {
        "stream": [stream.value] * len(a),
        "layer": a // heads,
        "head": a % heads,
        "layer_b": b // heads,
        "head_b": b % heads,
        "value": seen.pairs.value,
        "n": seen.pairs.n.astype(int),
        "low": seen.pairs.low,
        "high": seen.pairs.high,
        "first_half": seen.halves[0],
        "second_half": seen.halves[1],
        "twin": [None] * len(a) if twin is None else twin.pairs.value,
    }


def _layer_columns(bundle: Bundle, twin: Bundle | None, stream: Stream) -> Mapping[str, Any]:
    ours = bundle[f"{stream}-layers"].result()
    theirs = None if twin is None else twin[f"{stream}-layers"].result()
    cells = [(int(a), int(b)) for a, b in zip(*np.nonzero(ours.n > 0), strict=True)]

    def column(estimate: Estimate | None, name: str) -> list[Any]:
        return [None if estimate is None else getattr(estimate, name)[cell] for cell in cells]

    return {
        "stream": [stream.value] * len(cells),
        "layer": [a for a, _ in cells],
        "layer_b": [b for _, b in cells],
        "value": column(ours, "value"),
        "n": [int(ours.n[cell]) for cell in cells],
        "low": column(ours, "low"),
        "high": column(ours, "high"),
        "twin": column(theirs, "value"),
        "twin_low": column(theirs, "low"),
        "twin_high": column(theirs, "high"),
    }


def _add_togetherness(table: Columns, study: Clusters, stream: Stream, who: str, seen: _Seen, bundle: Bundle) -> None:
    layers, heads = study.subject.shape(stream)
    tested = togetherness(seen.distances, layers, study.seed, study.shuffles)
    apart = bundle[f"{stream}-apart"].result()
    ends = {
        f"{name}{end and '_'}{end}": [getattr(apart, end or "value")[number]]
        for number, name in enumerate(("within", "between"))
        for end in ("", "low", "high")
    }
    _add(
        table, stream=[stream.value], who=[who], **ends, ratio=[tested and tested.ratio], p=[tested and tested.p],
        shuffles=[study.shuffles], stress=[seen.map.stress], halves=[_rank_correlation(*seen.halves)],
        heads=[layers * heads], n=[int(seen.pairs.n[0])],
    )  # fmt: skip


def _rank_correlation(one: NDArray[np.float64], other: NDArray[np.float64]) -> float | None:
    """Spearman's correlation of the distances on the two halves of the texts; none where a half has no text."""
    from scipy.stats import rankdata

    if len(one) < 3 or np.isnan(one).any() or np.isnan(other).any():
        return None
    ranks = rankdata(one), rankdata(other)
    return float(np.corrcoef(*ranks)[0, 1]) if all(np.ptp(r) > 0 for r in ranks) else None


def _add(table: Columns, **columns: Any) -> None:
    """Add rows, given by columns; NaN becomes None and numbers become plain ones."""
    for name, column in table.items():
        column += [as_cell(value) for value in columns[name]]
