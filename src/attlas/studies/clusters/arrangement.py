"""From distances between heads to an arrangement of them: a map, a tree, and whether groups lie together.

The map is metric multidimensional scaling in two dimensions (SMACOF), begun from the classical solution and from a
few random ones; the best is kept and turned so that its first axis is the longest. The tree joins, step by step, the
two groups whose heads are nearest on average. Whether heads of one layer lie nearer to each other than to the rest
is asked by shuffling: how often would heads that are dealt out to the layers at random lie as near?
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

Numbers = NDArray[np.float64]

STARTS = 2
SHUFFLES = 9999
_AT_ONCE = 1 << 20  # distances to look up at a time
MANY = 400  # heads beyond which only the classical start is taken, and leaves are not put in the best order


class Map(NamedTuple):
    """Places of heads in a plane, and the share of the distances (in squares, under a root) that it gets wrong."""

    places: Numbers
    stress: float


class Tree(NamedTuple):
    """Joins of groups, as scipy has them (two groups, their distance, how many heads), and the order of leaves."""

    joins: Numbers
    leaves: list[int]


class Togetherness(NamedTuple):
    """Mean distance within groups and between them, and how likely so near a within is by chance.

    >>> Togetherness(0.2, 0.4, 0.01).ratio
    0.5
    """

    within: float
    between: float
    p: float

    @property
    def ratio(self) -> float:
        """Within over between: 1 where groups mean nothing."""
        return self.within / self.between if self.between > 0 else float("nan")


def square(values: Numbers, heads: int) -> Numbers:
    """The symmetric matrix of the values of all pairs.

    >>> square(np.array([1.0, 2.0, 3.0]), 3).tolist()
    [[0.0, 1.0, 2.0], [1.0, 0.0, 3.0], [2.0, 3.0, 0.0]]
    """
    matrix = np.zeros((heads, heads))
    matrix[np.triu_indices(heads, 1)] = values
    matrix += matrix.T
    return matrix


def lay_out(distances: Numbers, seed: int = 0) -> Map:
    """Lay heads out in a plane such that their distances come near the given ones.

    >>> corners = np.array([[0, 3, 5], [3, 0, 4], [5, 4, 0.0]])
    >>> made = lay_out(corners)
    >>> round(float(np.linalg.norm(made.places[0] - made.places[2])), 3), made.stress < 1e-3
    (5.0, True)
    """
    from sklearn.manifold import smacof

    heads, scale = len(distances), float(distances.max(initial=0.0))
    if scale == 0.0:
        return Map(np.zeros((heads, 2)), 0.0)
    wanted = distances / scale
    rng = np.random.default_rng(seed)
    starts = [_classical(wanted)]
    if heads <= MANY:
        starts += [rng.uniform(-0.5, 0.5, (heads, 2)) for _ in range(STARTS)]
    found = [
        smacof(wanted, n_components=2, init=start, n_init=1, max_iter=500, eps=1e-7, normalized_stress=False)[0]
        for start in starts
    ]
    best = min(found, key=lambda places: _stress(wanted, places))
    return Map(_turned(best) * scale, _stress(wanted, best))


def join(distances: Numbers) -> Tree:
    """Join heads into groups by mean distance.

    >>> join(np.array([[0, 1, 9], [1, 0, 8], [9, 8, 0.0]])).joins[:, 2].tolist()
    [1.0, 8.5]
    """
    from scipy.cluster.hierarchy import leaves_list, linkage
    from scipy.spatial.distance import squareform

    if len(distances) < 2:
        return Tree(np.zeros((0, 4)), list(range(len(distances))))
    joins = linkage(squareform(distances, checks=False), "average", optimal_ordering=len(distances) <= MANY)
    return Tree(joins, [int(leaf) for leaf in leaves_list(joins)])


def togetherness(
    distances: Numbers, groups: Sequence[int], seed: int = 0, shuffles: int = SHUFFLES
) -> Togetherness | None:
    """Whether heads lie nearer within their group than between groups; groups are runs of so many heads (layers).

    The p value is the share of shuffles, the true deal counted in, whose heads lie as near within groups. None where
    there is no pair of either kind.

    >>> near = np.kron(np.eye(3), -np.ones((4, 4))) + 1 - np.zeros((12, 12))
    >>> found = togetherness(near, [4, 4, 4], shuffles=199)
    >>> found.within, found.between, found.p
    (0.0, 1.0, 0.005)
    """
    heads, sizes = len(distances), [size for size in groups if size]
    pairs_within = sum(size * (size - 1) for size in sizes)
    if len(sizes) < 2 or not pairs_within:
        return None
    ends = np.cumsum(sizes)[:-1]

    def inside(deals: NDArray[np.int64]) -> Numbers:
        dealt = np.split(deals, ends, axis=1)
        sums: Numbers = sum(distances[group[:, :, None], group[:, None, :]].sum((1, 2)) for group in dealt)
        return sums

    order = np.arange(heads)
    true = float(inside(order[None])[0])
    rng = np.random.default_rng(seed)
    at_once = max(1, _AT_ONCE // (heads * max(sizes)))
    near = 0
    for begun in range(0, shuffles, at_once):
        deals = rng.permuted(np.tile(order, (min(at_once, shuffles - begun), 1)), axis=1)
        near += int((inside(deals) <= true * (1 + 1e-12)).sum())
    between = (float(distances.sum()) - true) / (heads * (heads - 1) - pairs_within)
    return Togetherness(true / pairs_within, between, (1 + near) / (1 + shuffles))


def _classical(distances: Numbers) -> Numbers:
    """Torgerson's solution: the two longest axes of the doubly centred squares."""
    squares = distances**2
    centred = squares - squares.mean(0) - squares.mean(1)[:, None] + squares.mean()
    values, vectors = np.linalg.eigh(-centred / 2)
    places: Numbers = vectors[:, ::-1][:, :2] * np.sqrt(np.maximum(values[::-1][:2], 1e-12))
    return places if places.shape[1] == 2 else np.pad(places, ((0, 0), (0, 2 - places.shape[1])))


def _stress(distances: Numbers, places: Numbers) -> float:
    apart = np.linalg.norm(places[:, None] - places[None], axis=-1)
    return float(np.sqrt(((apart - distances) ** 2).sum() / (distances**2).sum()))


def _turned(places: Numbers) -> Numbers:
    """Centred, the longest axis first, and each axis with its longer tail to the right or top."""
    centred = places - places.mean(0)
    _, _, axes = np.linalg.svd(centred, full_matrices=False)
    turned = centred @ axes.T
    signs = np.where((turned**3).sum(0) < 0, -1.0, 1.0)
    made: Numbers = turned * signs
    return made
