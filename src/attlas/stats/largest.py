"""The largest cases of each cell, so that a person can be shown where a statistic comes from.

Each case is a value and a few whole numbers that say where it was found (text, word, ...). Cases of one value are
told apart by those numbers, so that the same cases are kept in whatever order the texts pass by.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar

import numpy as np
from numpy.typing import ArrayLike, NDArray

from attlas.errors import NumberError, StatsError
from attlas.stats.accumulator import State, check_header, header, register, require_same_configuration

ARRAYS = ("values", "places")
Case = tuple[float, tuple[int, ...]]


@register
class Largest:
    """The ``keep`` largest cases in each of so many cells, with ``width`` numbers on where each was found.

    >>> best = Largest(cells=2, keep=1, width=1)
    >>> best.update([0, 0, 1], [0.2, 0.9, 0.5], [[10], [11], [12]])
    >>> best.result()[0]
    ((0.9, (11,)),)
    """

    schema: ClassVar[int] = 1

    def __init__(self, cells: int, keep: int, width: int) -> None:
        self.cells, self.keep, self.width = int(cells), int(keep), int(width)
        self._values = np.full((self.cells, self.keep), -np.inf)
        self._places = np.full((self.cells, self.keep, self.width), -1, dtype=np.int64)

    @property
    def configuration(self) -> dict[str, Any]:
        """How many cells, cases and numbers.

        >>> Largest(2, 3, 1).configuration
        {'cells': 2, 'keep': 3, 'width': 1}
        """
        return {"cells": self.cells, "keep": self.keep, "width": self.width}

    def update(self, cells: ArrayLike, values: ArrayLike, places: ArrayLike) -> None:
        """Take in cases: the cell of each, its value, and where it was found, (cases, width).

        >>> best = Largest(cells=1, keep=2, width=1)
        >>> best.update([0, 0, 0], [0.2, 0.9, 0.5], [[10], [11], [12]])
        >>> [place for _, (place,) in best.result()[0]]
        [11, 12]
        """
        c, v = np.asarray(cells, dtype=np.int64), np.asarray(values, dtype=np.float64)
        p = np.asarray(places, dtype=np.int64).reshape(len(v), self.width)
        if c.shape != v.shape or v.ndim != 1:
            raise StatsError(f"one value for each cell was expected, and {v.shape} came for {c.shape}")
        if len(v) and (c.min() < 0 or c.max() >= self.cells):
            raise StatsError(f"cells are 0 to {self.cells - 1}, and {c.min()} to {c.max()} came")
        if not np.isfinite(v).all():
            raise NumberError(f"a case came with the value {v[~np.isfinite(v)][0]}")
        order = np.argsort(c, kind="stable")
        for here in np.split(order, np.flatnonzero(np.diff(c[order])) + 1) if len(order) else ():
            cell, values = c[here[0]], v[here]
            least = self._values[cell].min()  # what is less is not kept
            if len(values) > self.keep > 0:
                least = max(least, np.partition(values, -self.keep)[-self.keep])
            here = here[values >= least]
            self._keep(cell, v[here], p[here])

    def _keep(self, cell: int, values: NDArray[np.float64], places: NDArray[np.int64]) -> None:
        v = np.concatenate([self._values[cell], values])
        p = np.concatenate([self._places[cell], places])
        order = np.lexsort((*p.T[::-1], -v))[: self.keep]
        self._values[cell], self._places[cell] = v[order], p[order]

    def merge(self, other: Largest) -> None:
        """Take in the cases of another.

        >>> one, other = Largest(1, 1, 1), Largest(1, 1, 1)
        >>> one.update([0], [0.3], [[4]])
        >>> other.update([0], [0.7], [[5]])
        >>> one.merge(other)
        >>> one.result()
        (((0.7, (5,)),),)
        """
        require_same_configuration(self, other)
        for cell in range(self.cells):
            self._keep(cell, other._values[cell], other._places[cell])

    def result(self) -> tuple[tuple[Case, ...], ...]:
        """For each cell the cases that were kept, largest first: value and place.

        >>> Largest(1, 2, 1).result()
        ((),)
        """
        return tuple(
            tuple((float(v), tuple(int(x) for x in p)) for v, p in zip(values, places, strict=True) if np.isfinite(v))
            for values, places in zip(self._values, self._places, strict=True)
        )

    def state(self) -> State:
        """Values and places of all cells.

        >>> Largest(1, 2, 3).state()["places"].shape
        (1, 2, 3)
        """
        return header(Largest) | {"values": self._values.copy(), "places": self._places.copy()}

    @classmethod
    def from_state(cls, state: Mapping[str, NDArray[Any]]) -> Largest:
        """The accumulator that wrote this state.

        >>> Largest.from_state(Largest(1, 2, 3).state()).configuration
        {'cells': 1, 'keep': 2, 'width': 3}
        """
        check_header(cls, state, ARRAYS)
        values, places = np.array(state["values"], np.float64), np.array(state["places"], np.int64)
        if values.ndim != 2 or places.shape[:2] != values.shape:
            raise StatsError(f"this state's values have the shape {values.shape}, its places {places.shape}")
        made = cls(*places.shape)
        made._values, made._places = values, places
        return made
