"""One row per text: what a paired test needs, which must know what became of each text under every cut.

Its size is fixed when it is made, by the number of texts and what is written down of each, so that it goes through
checkpoints like any other accumulator and does not grow. A text that is entered twice counts with its mean.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, ClassVar

import numpy as np
from numpy.typing import ArrayLike, NDArray

from attlas.errors import StatsError
from attlas.stats.accumulator import State, check_header, header, register, require_same_configuration

ARRAYS = ("sums", "counts")


@register
class Ledger:
    """Numbers of shape ``shape`` for each of ``texts`` texts.

    >>> ledger = Ledger(texts=3, shape=(2,))
    >>> ledger.update([2, 0], [[1.0, 5.0], [0.0, 4.0]])
    >>> ledger.filled.tolist(), ledger.result()[2].tolist()
    ([True, False, True], [1.0, 5.0])
    """

    schema: ClassVar[int] = 1

    def __init__(self, texts: int, shape: Sequence[int] = ()) -> None:
        self.texts = int(texts)
        self.shape = tuple(int(size) for size in shape)
        self._sums = np.zeros((self.texts, *self.shape))
        self._counts = np.zeros(self.texts)

    @property
    def configuration(self) -> dict[str, Any]:
        """How many texts, and the shape of what is kept of each.

        >>> Ledger(3, (2,)).configuration
        {'texts': 3, 'shape': (2,)}
        """
        return {"texts": self.texts, "shape": self.shape}

    @property
    def filled(self) -> NDArray[np.bool_]:
        """Which texts have been entered.

        >>> Ledger(2).filled.tolist()
        [False, False]
        """
        filled: NDArray[np.bool_] = self._counts > 0
        return filled

    def update(self, rows: Sequence[int] | NDArray[np.int64], values: ArrayLike) -> None:
        """Enter some texts by their numbers.

        >>> Ledger(2).update([2], [1.0])
        Traceback (most recent call last):
            ...
        attlas.errors.StatsError: text 2 is not among the 2 of this ledger
        """
        where, new = np.asarray(rows, dtype=np.int64), np.asarray(values, dtype=np.float64)
        if new.shape != (len(where), *self.shape):
            raise StatsError(
                f"numbers of shape {(len(where), *self.shape)} were expected for {len(where)} texts, and "
                f"{new.shape} came"
            )
        outside = where[(where < 0) | (where >= self.texts)]
        if len(outside):
            raise StatsError(f"text {int(outside[0])} is not among the {self.texts} of this ledger")
        np.add.at(self._sums, where, new)
        np.add.at(self._counts, where, 1.0)

    def merge(self, other: Ledger) -> None:
        """Take in the texts of another.

        >>> one, other = Ledger(2), Ledger(2)
        >>> other.update([1], [3.0])
        >>> one.merge(other)
        >>> one.result().tolist()
        [nan, 3.0]
        """
        require_same_configuration(self, other)
        self._sums += other._sums
        self._counts += other._counts

    def result(self) -> NDArray[np.float64]:
        """The numbers of all texts, (text, ...); NaN for a text that was never entered.

        >>> Ledger(1).result().tolist()
        [nan]
        """
        counts = self._counts.reshape(-1, *[1] * len(self.shape))
        nothing = np.full(self._sums.shape, np.nan)
        found: NDArray[np.float64] = np.divide(self._sums, counts, out=nothing, where=counts > 0)
        return found

    def state(self) -> State:
        """Sums and counts.

        >>> Ledger(1).state()["sums"]
        array([0.])
        """
        return header(Ledger) | {"sums": self._sums.copy(), "counts": self._counts.copy()}

    @classmethod
    def from_state(cls, state: Mapping[str, NDArray[Any]]) -> Ledger:
        """The accumulator that wrote this state.

        >>> Ledger.from_state(Ledger(4, (2,)).state()).shape
        (2,)
        """
        check_header(cls, state, ARRAYS)
        sums, counts = (np.array(state[name], dtype=np.float64) for name in ARRAYS)
        if counts.ndim != 1 or sums.shape[:1] != counts.shape:
            raise StatsError(f"this state's sums have the shape {sums.shape}, its counts {counts.shape}")
        made = cls(len(counts), sums.shape[1:])
        made._sums, made._counts = sums, counts
        return made
