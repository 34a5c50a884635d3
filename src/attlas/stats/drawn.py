"""A sample of fixed size, drawn evenly from all cases of all texts.

Every case comes with a random number of its own, and those with the smallest numbers are kept. Since the number
belongs to the case and not to the moment at which it passes by, the same cases are kept in whatever order and split
the texts come, and two samples over different texts merge into the sample of all of them. A case is a few whole
numbers that say where it was found, and the values that were measured there.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from attlas.errors import NumberError, StatsError
from attlas.stats.accumulator import State, check_header, header, register, require_same_configuration

ARRAYS = ("draws", "places", "values")


class Cases(NamedTuple):
    """The cases of one cell, in an order that is random but always the same: where each was found, and its values.

    >>> Cases(np.zeros((3, 2), np.int64), np.zeros((3, 5), np.float32)).places.shape
    (3, 2)
    """

    places: NDArray[np.int64]
    values: NDArray[np.float32]


@register
class Drawn:
    """At most ``keep`` cases of each of so many cells, with ``width`` numbers on where each was found and ``size``
    values.

    >>> sample = Drawn(cells=1, keep=2, width=1, size=1)
    >>> sample.update([0, 0, 0], [0.9, 0.1, 0.5], [[10], [11], [12]], [[1.0], [2.0], [3.0]])
    >>> sample.result()[0].places.ravel().tolist()
    [11, 12]
    """

    schema: ClassVar[int] = 1

    def __init__(self, cells: int, keep: int, width: int, size: int) -> None:
        self.cells, self.keep, self.width, self.size = int(cells), int(keep), int(width), int(size)
        self._draws = np.full((self.cells, self.keep), np.inf)
        self._places = np.full((self.cells, self.keep, self.width), -1, dtype=np.int64)
        self._values = np.zeros((self.cells, self.keep, self.size), dtype=np.float32)

    @property
    def configuration(self) -> dict[str, Any]:
        """How many cells, cases, numbers and values.

        >>> Drawn(1, 2, 3, 4).configuration
        {'cells': 1, 'keep': 2, 'width': 3, 'size': 4}
        """
        return {"cells": self.cells, "keep": self.keep, "width": self.width, "size": self.size}

    def update(self, cells: ArrayLike, draws: ArrayLike, places: ArrayLike, values: ArrayLike) -> None:
        """Take in cases: the cell of each, its random number, where it was found (cases, width) and its values,
        (cases, ...), ``size`` of them whatever their axes.

        >>> sample = Drawn(cells=2, keep=1, width=1, size=1)
        >>> sample.update([1], [0.3], [[4]], [[0.25]])
        >>> [len(cases.values) for cases in sample.result()]
        [0, 1]
        """
        c, d = np.asarray(cells, dtype=np.int64), np.asarray(draws, dtype=np.float64)
        if c.shape != d.shape or d.ndim != 1:
            raise StatsError(f"one random number for each cell was expected, and {d.shape} came for {c.shape}")
        p = np.asarray(places, dtype=np.int64).reshape(len(d), self.width)
        v = np.asarray(values, dtype=np.float32).reshape(len(d), self.size)
        if len(d) and (c.min() < 0 or c.max() >= self.cells):
            raise StatsError(f"cells are 0 to {self.cells - 1}, and {c.min()} to {c.max()} came")
        if not (np.isfinite(d).all() and np.isfinite(v).all()):
            raise NumberError("a case came with a value that is not finite")
        for cell in np.unique(c):
            here = (c == cell) & (d <= self._draws[cell, -1])
            self._keep(cell, d[here], p[here], v[here])

    def _keep(
        self, cell: int, draws: NDArray[np.float64], places: NDArray[np.int64], values: NDArray[np.float32]
    ) -> None:
        d = np.concatenate([self._draws[cell], draws])
        p = np.concatenate([self._places[cell], places])
        v = np.concatenate([self._values[cell], values])
        order = np.lexsort((*p.T[::-1], d))
        one, other = order[:-1], order[1:]
        same = np.isfinite(d[one]) & (d[one] == d[other]) & (p[one] == p[other]).all(-1)
        if same.any():  # of one number and one place, as when a text comes twice: told apart by their values
            order = np.lexsort((*v.T[::-1], *p.T[::-1], d))
        order = order[: self.keep]
        self._draws[cell], self._places[cell], self._values[cell] = d[order], p[order], v[order]

    def merge(self, other: Drawn) -> None:
        """Take in the cases of another.

        >>> one, other = Drawn(1, 1, 1, 0), Drawn(1, 1, 1, 0)
        >>> one.update([0], [0.7], [[4]], [[]])
        >>> other.update([0], [0.3], [[5]], [[]])
        >>> one.merge(other)
        >>> one.result()[0].places.tolist()
        [[5]]
        """
        require_same_configuration(self, other)
        for cell in range(self.cells):
            self._keep(cell, other._draws[cell], other._places[cell], other._values[cell])

    def result(self) -> tuple[Cases, ...]:
        """The cases that were kept, cell by cell.

        >>> Drawn(1, 2, 1, 1).result()[0].values.shape
        (0, 1)
        """
        known = np.isfinite(self._draws)
        return tuple(
            Cases(places[here], values[here])
            for here, places, values in zip(known, self._places, self._values, strict=True)
        )

    def state(self) -> State:
        """Random numbers, places and values of all cells.

        >>> Drawn(1, 2, 3, 4).state()["values"].shape
        (1, 2, 4)
        """
        arrays = {"draws": self._draws.copy(), "places": self._places.copy(), "values": self._values.copy()}
        return header(Drawn) | arrays

    @classmethod
    def from_state(cls, state: Mapping[str, NDArray[Any]]) -> Drawn:
        """The accumulator that wrote this state.

        >>> Drawn.from_state(Drawn(1, 2, 3, 4).state()).configuration
        {'cells': 1, 'keep': 2, 'width': 3, 'size': 4}
        """
        check_header(cls, state, ARRAYS)
        draws, places = np.array(state["draws"], np.float64), np.array(state["places"], np.int64)
        values = np.array(state["values"], np.float32)
        if draws.ndim != 2 or places.shape[:2] != draws.shape or values.shape[:2] != draws.shape:
            raise StatsError(
                f"this state's random numbers have the shape {draws.shape}, its places {places.shape}, its values "
                f"{values.shape}"
            )
        made = cls(draws.shape[0], draws.shape[1], places.shape[2], values.shape[2])
        made._draws, made._places, made._values = draws, places, values
        return made
