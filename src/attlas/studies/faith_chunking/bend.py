"""Where a curve bends: two straight lines that meet, fitted by least squares.

As attention moves away from an original, predictions stay at first and give way later. The *bend* is the place where
two lines, the second of them the steeper, meet so that the sum of squared errors is least. It is looked for on a fine
grid between the second and the last but one of the points' different places; for each place the two lines follow from
linear least squares. ``gain`` is the share of the squared error of a single line that the second one saves: near 0
there is no bend worth the name. How far attention can go at all differs from seed to seed, so every seed has its own
bend; given is their mean, with Student's interval over seeds, from :data:`LEAST_SEEDS` of them on.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from attlas.probes.edges.summary import over_seeds

Numbers = NDArray[np.float64]
METHOD = "for each seed two lines that meet, the second steeper, by least squares; the mean over seeds"
GRID, FEWEST = 200, 5
LEAST_SEEDS = 3  # with a bend: the spread of two says next to nothing


class Bend(NamedTuple):
    """Where two lines meet, their slopes, and the share of squared error that the second saves."""

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
    x, y = np.asarray(x, dtype=np.float64), np.asarray(y, dtype=np.float64)
    places = np.unique(x)
    if len(places) < FEWEST:
        return None
    straight = _left(np.stack([np.ones_like(x), x], -1), y)[1]
    best: tuple[float, float, Numbers] | None = None
    for at in np.union1d(places[1:-1], np.linspace(places[1], places[-2], GRID)):
        solution, error = _left(np.stack([np.ones_like(x), x, np.maximum(x - at, 0.0)], -1), y)
        if solution[2] >= 0 and (best is None or error < best[0]):
            best = (error, float(at), solution)
    if best is None:
        return None
    error, place, (_, before, more) = best
    return Bend(place, float(before), float(before + more), 1 - error / straight if straight > 0 else 0.0)


def bend_of_seeds(
    curves: Sequence[tuple[ArrayLike, ArrayLike]],
) -> tuple[Bend | None, tuple[float, float] | None, int]:
    """The mean of the seeds' bends, Student's 95 % interval of its place over seeds (None for one or two), and how
    many seeds have a bend.

    >>> x = np.arange(9.0)
    >>> bend, (low, high), seeds = bend_of_seeds([(x, np.where(x < at, 0.0, x - at)) for at in (3.0, 4.0, 5.0)])
    >>> round(bend.at, 2), round(low, 1), round(high, 1), seeds
    (4.0, 1.5, 6.5, 3)
    """
    bends = np.array([bend for x, y in curves if (bend := fit_bend(x, y)) is not None])
    if not len(bends):
        return None, None, 0
    whole = Bend(*(float(value) for value in bends.mean(0)))
    if len(bends) < LEAST_SEEDS:
        return whole, None, len(bends)
    found = over_seeds(bends[:, 0].tolist())
    return whole, (found.low, found.high), len(bends)


def _left(columns: Numbers, y: Numbers) -> tuple[Numbers, float]:
    """Least squares: the solution, and the squared error that is left."""
    solution: Numbers = np.asarray(np.linalg.lstsq(columns, y, rcond=None)[0], dtype=np.float64)
    return solution, float(np.square(columns @ solution - y).sum())
