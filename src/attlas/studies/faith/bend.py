"""Where a curve bends: two straight lines that meet, fitted by least squares.

As attention moves away from an original, predictions stay at first and give way later. The *bend* is the place where
two lines, one before and one after it, meet so that the sum of squared errors is least. It is looked for on a fine
grid between the second and the last but one of the points' different places; for each place the two lines follow from
linear least squares. The interval is by bootstrap over seeds, each of which is a whole curve. ``gain`` is the share
of the squared error of a single line that the second one saves: near 0 there is no bend worth the name.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

Numbers = NDArray[np.float64]
METHOD = "two lines that meet, least squares; interval by bootstrap over seeds"
GRID, RESAMPLES, FEWEST = 200, 1000, 5


class Bend(NamedTuple):
    """Where two lines meet, their slopes, and the share of squared error that the second saves.

    >>> Bend._fields
    ('at', 'slope_before', 'slope_after', 'gain')
    """

    at: float
    slope_before: float
    slope_after: float
    gain: float


def fit_bend(x: ArrayLike, y: ArrayLike) -> Bend | None:
    """The bend of some points; None where there are too few of them to tell.

    >>> x = np.arange(9.0)
    >>> found = fit_bend(x, np.where(x < 4, 1.0, 1 + 2 * (x - 4)))
    >>> round(found.at, 1), round(found.slope_after, 2), round(found.gain, 2)
    (4.0, 2.0, 1.0)
    """
    return bend_of_seeds([(x, y)])[0]


def bend_of_seeds(
    curves: Sequence[tuple[ArrayLike, ArrayLike]], seed: int = 0
) -> tuple[Bend | None, tuple[float, float] | None]:
    """The bend of all points of all seeds together, and the interval of its place over resampled seeds; no interval
    for a single seed.

    >>> x = np.arange(9.0)
    >>> curves = [(x, np.where(x < at, 0.0, x - at)) for at in (3.5, 4.0, 4.5)]
    >>> bend, (low, high) = bend_of_seeds(curves)
    >>> 3.4 <= low < bend.at < high <= 4.6
    True
    """
    xs, ys = ([np.asarray(curve[side], dtype=np.float64) for curve in curves] for side in (0, 1))
    places = np.unique(np.concatenate(xs))
    if len(places) < FEWEST:
        return None, None
    inner = places[1:-1]
    knots = np.union1d(inner, np.linspace(inner[0], inner[-1], GRID))
    products = [_products(x, y, knots) for x, y in zip(xs, ys, strict=True)]
    whole = _best(np.ones((1, len(curves))), products, knots)
    bend = Bend(*(float(part[0]) for part in whole))
    if len(curves) < 2:
        return bend, None
    draw = np.random.default_rng(seed)
    copies = draw.multinomial(len(curves), np.full(len(curves), 1 / len(curves)), RESAMPLES).astype(np.float64)
    low, high = np.quantile(_best(copies, products, knots)[0], (0.025, 0.975))
    return bend, (float(low), float(high))


class _Products(NamedTuple):
    """What least squares need of some points: products of the columns of each knot (knot, 3, 3), of these with y
    (knot, 3), of y with itself, and of a constant and x alone."""

    columns: Numbers
    with_y: Numbers
    y: float


def _products(x: Numbers, y: Numbers, knots: Numbers) -> _Products:
    """The columns are one, x, and how far x is beyond the knot."""
    columns = np.stack(
        [*np.broadcast_arrays(1.0, x[None], np.maximum(x[None] - knots[:, None], 0.0))], -1
    )  # fmt: skip
    transposed = columns.transpose(0, 2, 1)
    return _Products(transposed @ columns, transposed @ y, float(y @ y))


def _best(
    copies: Numbers, products: Sequence[_Products], knots: Numbers
) -> tuple[Numbers, Numbers, Numbers, Numbers]:
    """For every row of copies of the curves: where the bend is, both slopes, and the gain."""
    columns = np.einsum("rs,sgij->rgij", copies, np.stack([one.columns for one in products]))
    with_y = np.einsum("rs,sgi->rgi", copies, np.stack([one.with_y for one in products]))
    squares = copies @ np.array([one.y for one in products])
    solved = np.einsum("rgij,rgj->rgi", np.linalg.pinv(columns, hermitian=True), with_y)
    errors = np.maximum(squares[:, None] - (solved * with_y).sum(-1), 0.0)
    best = errors.argmin(-1)
    rows = np.arange(len(copies))
    line = np.einsum("rij,rj->ri", np.linalg.pinv(columns[:, 0, :2, :2], hermitian=True), with_y[:, 0, :2])
    straight = np.maximum(squares - (line * with_y[:, 0, :2]).sum(-1), 0.0)
    slopes = solved[rows, best]
    gain = np.where(straight > 0, 1 - errors[rows, best] / np.where(straight > 0, straight, 1.0), 0.0)
    return knots[best], slopes[:, 1], slopes[:, 1] + slopes[:, 2], gain
