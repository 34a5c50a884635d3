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
    x, y = np.asarray(x, dtype=np.float64), np.asarray(y, dtype=np.float64)
    places = np.unique(x)
    if len(places) < FEWEST:
        return None
    straight = _left(np.stack([np.ones_like(x), x], -1), y)[1]
    best = None
    for at in np.linspace(places[1], places[-2], GRID):
        solution, error = _left(np.stack([np.ones_like(x), x, np.maximum(x - at, 0.0)], -1), y)
        if best is None or error < best[0]:
            best = (error, at, solution)
    assert best is not None
    error, at, solution = best
    gain = 1 - error / straight if straight > 0 else 0.0
    return Bend(float(at), float(solution[1]), float(solution[1] + solution[2]), float(gain))


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
    whole = fit_bend(np.concatenate(xs), np.concatenate(ys))
    if whole is None or len(curves) < 2:
        return whole, None
    draw = np.random.default_rng(seed)
    drawn = []
    for chosen in draw.integers(0, len(curves), (RESAMPLES, len(curves))):
        found = fit_bend(np.concatenate([xs[one] for one in chosen]), np.concatenate([ys[one] for one in chosen]))
        if found is not None:
            drawn.append(found.at)
    low, high = np.quantile(drawn, (0.025, 0.975))
    return whole, (float(low), float(high))


def _left(columns: Numbers, y: Numbers) -> tuple[Numbers, float]:
    """Least squares: the solution, and the squared error that is left."""
    solution: Numbers = np.asarray(np.linalg.lstsq(columns, y, rcond=None)[0], dtype=np.float64)
    return solution, float(np.square(columns @ solution - y).sum())
