"""From estimates, which are arrays of cells, to the cells of tables; and ratios and intervals of arrays."""

from __future__ import annotations

import warnings
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from attlas.stats import Estimate, PooledMean, estimate

Array = NDArray[np.float64]
Figures = Estimate | Mapping[str, Array]
Range = tuple[float, float]
SHARE: Range = (0.0, 1.0)
CORRELATION: Range = (-1.0, 1.0)
NOT_BELOW_ZERO: Range = (0.0, np.inf)  # lengths, entropies, distances, losses


def ends_of(estimate: Estimate, cell: tuple[Any, ...], name: str = "value") -> dict[str, Any]:
    """A value and the ends of its interval, as a row has them: value, low and high, or twin, twin_low and twin_high.

    >>> estimate = Estimate(*(np.array([number]) for number in (0.5, 10.0, 0.4, 0.6)))
    >>> [*ends_of(estimate, (0,)), *ends_of(estimate, (0,), "twin")]
    ['value', 'low', 'high', 'twin', 'twin_low', 'twin_high']
    """
    prefix = "" if name == "value" else f"{name}_"
    return {name: estimate.value[cell], f"{prefix}low": estimate.low[cell], f"{prefix}high": estimate.high[cell]}


def cells_of(
    figures: Figures, twin: Figures | None = None, /, **axes: Sequence[Any]
) -> Iterator[tuple[tuple[int, ...], dict[str, Any]]]:
    """Every cell that has a case (n), and its row: what it is called along each axis, its figures, and the twin's.

    Figures are an estimate, or arrays by name with n among them. Those of the twin are called twin, twin_low ...

    >>> estimate = Estimate(*(np.array(numbers) for numbers in ([0.5, 0.0], [10, 0], [0.4, 0.0], [0.6, 0.0])))
    >>> [(cell, row["keys"], float(row["twin"])) for cell, row in cells_of(estimate, estimate, keys=("sep", "cls"))]
    [((0,), 'sep', 0.5)]
    """
    ours = _by_name(figures)
    theirs = {"twin" if name == "value" else f"twin_{name}": array for name, array in _by_name(twin or {}).items()}
    for cell in np.ndindex(*map(len, axes.values())):
        if ours["n"][cell] > 0:
            labels = {name: axis[place] for (name, axis), place in zip(axes.items(), cell, strict=True)}
            yield cell, labels | {name: array[cell] for name, array in (*ours.items(), *theirs.items())}


def _by_name(figures: Figures) -> Mapping[str, Array]:
    return figures._asdict() if isinstance(figures, Estimate) else figures


def by_range(mean: PooledMean, ranges: Sequence[Range | None]) -> Estimate:
    """A pooled mean whose last axis holds quantities of different ranges, each with an interval within its own.

    >>> mean = PooledMean(shape=(2,))
    >>> mean.update([[1.0, 5.0], [0.0, 9.0], [1.0, 2.0], [1.0, 3.0], [0.0, 0.0], [1.0, 1.0]], 1, units=range(6))
    >>> [end.round(2).tolist() for end in by_range(mean, [SHARE, NOT_BELOW_ZERO])[2:]]
    [[0.08, 0.4], [1.0, 10.28]]
    """
    sums, counts = mean.rows()
    parts = [np.empty(sums.shape[1:]) for _ in Estimate._fields]
    for within in dict.fromkeys(ranges):
        places = [place for place, own in enumerate(ranges) if own == within]
        for part, figures in zip(parts, estimate(sums[..., places], counts[..., places], within), strict=True):
            part[..., places] = figures
    return Estimate(*parts)


def spread(twins: Sequence[Estimate], like: Estimate) -> Estimate:
    """What several untrained twins show: their mean, with the lowest and the highest of them.

    A single one has no spread, and so no ends; where there is no twin, nothing is known of any cell of the model's
    (``like``).

    >>> twins = [Estimate(*(np.array([number]) for number in (value, 10.0, 0.0, 1.0))) for value in (0.2, 0.4)]
    >>> [part.round(2).tolist() for part in spread(twins, twins[0])]
    [[0.3], [10.0], [0.2], [0.4]]
    >>> [part.tolist() for part in spread([], twins[0])]
    [[nan], [0.0], [nan], [nan]]
    """
    if not twins:
        nothing = np.full(np.shape(like.value), np.nan)
        return Estimate(nothing, np.zeros(np.shape(like.n)), nothing, nothing)
    values = np.stack([twin.value for twin in twins])
    low, high = (values.min(0), values.max(0)) if len(twins) > 1 else (np.full(values.shape[1:], np.nan),) * 2
    return Estimate(values.mean(0), twins[0].n, low, high)


def divide(above: Array, below: Array) -> Array:
    """One array over another; NaN where the lower one is not above zero.

    >>> divide(np.array([1.0, 1.0]), np.array([2.0, 0.0])).tolist()
    [0.5, nan]
    """
    above, below = np.broadcast_arrays(above, below)
    divided: Array = np.divide(above, below, out=np.full(above.shape, np.nan), where=np.nan_to_num(below) > 0)
    return divided


def middle(replicates: Array) -> tuple[Array, Array]:
    """The ends of the middle 95 % of replicates, which are the first axis; NaN where none is known.

    >>> [end.tolist() for end in middle(np.array([[0.0, np.nan], [1.0, np.nan]]))]
    [[0.025, nan], [0.975, nan]]
    """
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", RuntimeWarning)  # a cell of which nothing is known
        low, high = np.nanquantile(np.where(np.isfinite(replicates), replicates, np.nan), (0.025, 0.975), axis=0)
    return low, high
