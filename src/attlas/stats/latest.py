"""The latest of several numbered rows of numbers: how what is being *learned* goes through a run.

A small head that is trained batch by batch is no sum over texts. But what is known of it after every step can be
written down beside the number of that step, and of two such rows the later one is right. So a training can be stopped
and continued like everything else, though not spread over machines.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar

import numpy as np
from numpy.typing import ArrayLike, NDArray

from attlas.errors import StatsError
from attlas.stats.accumulator import State, check_header, header, register, require_same_configuration

ARRAYS = ("step", "values")


@register
class Latest:
    """A row of ``size`` numbers as it was at the latest step; steps count from 1, and 0 is nothing yet.

    >>> row = Latest(size=2)
    >>> row.update(1, [0.5, 0.5])
    >>> row.update(2, [0.7, 0.3])
    >>> row.result()
    (2, array([0.7, 0.3]))
    """

    schema: ClassVar[int] = 1

    def __init__(self, size: int) -> None:
        self.size = int(size)
        self._step = 0
        self._values = np.zeros(self.size)

    @property
    def configuration(self) -> dict[str, Any]:
        """How many numbers.

        >>> Latest(size=3).configuration
        {'size': 3}
        """
        return {"size": self.size}

    def update(self, step: int, values: ArrayLike) -> None:
        """Take in the row of a step; it is kept if no later one is known (of one step's rows, the larger).

        >>> row = Latest(size=1)
        >>> row.update(2, [0.7])
        >>> row.update(1, [0.9])
        >>> row.result()[0]
        2
        """
        new = np.asarray(values, dtype=np.float64)
        if new.shape != (self.size,) or step < 1:
            raise StatsError(f"a step from 1 and {self.size} numbers were expected, and {step} and {new.shape} came")
        if step > self._step or (step == self._step and new.tolist() > self._values.tolist()):
            self._step, self._values = int(step), new.copy()

    def merge(self, other: Latest) -> None:
        """Take over what the other has, if it is later.

        >>> one, other = Latest(size=1), Latest(size=1)
        >>> other.update(1, [0.9])
        >>> one.merge(other)
        >>> one.result()
        (1, array([0.9]))
        """
        require_same_configuration(self, other)
        if other._step:
            self.update(other._step, other._values)

    def result(self) -> tuple[int, NDArray[np.float64]]:
        """The latest step and its row.

        >>> Latest(size=1).result()
        (0, array([0.]))
        """
        return self._step, self._values.copy()

    def state(self) -> State:
        """Step and row.

        >>> Latest(size=1).state()["step"]
        array(0)
        """
        return header(Latest) | {"step": np.array(self._step), "values": self._values.copy()}

    @classmethod
    def from_state(cls, state: Mapping[str, NDArray[Any]]) -> Latest:
        """The accumulator that wrote this state.

        >>> Latest.from_state(Latest(size=4).state()).size
        4
        """
        check_header(cls, state, ARRAYS)
        values = np.array(state["values"], dtype=np.float64)
        if values.ndim != 1:
            raise StatsError(f"this state's values have the shape {values.shape}, where one row was expected")
        made = cls(len(values))
        made._step, made._values = int(state["step"]), values
        return made
