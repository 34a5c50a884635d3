"""A mean over all cases of all texts, with an interval that knows the texts.

Cases within one text (its words, its pieces) resemble each other, so an interval that counted each case as
independent would be far too narrow. Here a text is the unit: text *t* brings a sum s_t over n_t cases, the estimate
is the ratio r = Σs_t / Σn_t, and its variance is that of a ratio of means clustered by text, linearised:

    var(r) = T / (T - 1) · Σ (s_t - r n_t)² / (Σ n_t)²

with T the number of texts that have any case. The square opens into Σs², Σsn and Σn², so six sums per cell are all
that is kept, however many texts pass by.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, ClassVar, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from attlas.errors import NumberError, StatsError
from attlas.stats.accumulator import State, check_header, header, register, require_same_configuration

NORMAL_QUANTILE_975 = 1.959963984540054
SUMS = ("sums", "counts", "squares", "products", "count_squares", "texts")


class Estimate(NamedTuple):
    """A value for each cell, over how many cases, and the two ends of its 95 % interval.

    >>> Estimate(np.array(0.5), np.array(10.0), np.array(0.4), np.array(0.6)).n.item()
    10.0
    """

    value: NDArray[np.float64]
    n: NDArray[np.float64]
    low: NDArray[np.float64]
    high: NDArray[np.float64]


@register
class PooledMean:
    """The mean of a quantity over all cases, for each cell of an array.

    >>> mean = PooledMean(shape=(2,))
    >>> mean.update([[1.0, 0.0], [5.0, 0.0]], [[1, 0], [2, 0]])
    >>> mean.result().value
    array([ 2., nan])
    >>> mean.result().n
    array([3., 0.])
    """

    schema: ClassVar[int] = 1

    def __init__(self, shape: Sequence[int]) -> None:
        self.shape = tuple(int(size) for size in shape)
        self._totals = np.zeros((len(SUMS), *self.shape))

    @property
    def configuration(self) -> dict[str, Any]:
        """The shape of the cells.

        >>> PooledMean(shape=[2]).configuration
        {'shape': (2,)}
        """
        return {"shape": self.shape}

    def update(self, sums: ArrayLike, counts: ArrayLike) -> None:
        """Take in some texts: for each, the sum of the quantity in each cell and the number of cases.

        ``sums`` has the shape (texts, *shape). ``counts`` has the same number of axes and broadcasts to it, or is
        one number per text, or one number for all.

        >>> mean = PooledMean(shape=(2,))
        >>> mean.update([[1.0, 3.0], [5.0, 3.0]], counts=[1, 2])
        >>> mean.result().value
        array([2., 2.])
        """
        s = np.asarray(sums, dtype=np.float64)
        if s.ndim == 0 or s.shape[1:] != self.shape:
            raise StatsError(f"sums of shape (texts, {str(self.shape)[1:-1]}) were expected, and {s.shape} came")
        n = aligned(np.asarray(counts, dtype=np.float64), s.shape)
        check_numbers(s, n)
        if len(s):  # counts are often the same for many cells, and stay as small as they came
            products = (np.einsum("t...,t...->...", s, other) for other in (s, n))
            terms = (s.sum(0), n.sum(0), *products, (n * n).sum(0), (n > 0).sum(0))
            for place, term in enumerate(terms):
                self._totals[place] += term

    def merge(self, other: PooledMean) -> None:
        """Take in the texts of another.

        >>> one, other = PooledMean(shape=()), PooledMean(shape=())
        >>> one.update([1.0], 1)
        >>> other.update([3.0], 1)
        >>> one.merge(other)
        >>> one.result().value.item()
        2.0
        """
        require_same_configuration(self, other)
        self._totals += other._totals

    def result(self) -> Estimate:
        """The mean, the number of cases and the interval; NaN where there is no case, or fewer than two texts.

        >>> mean = PooledMean(shape=())
        >>> mean.update([1.0, 2.0, 3.0], 1)
        >>> [round(float(x), 2) for x in mean.result()]
        [2.0, 3.0, 0.87, 3.13]
        """
        s, n, ss, sn, nn, texts = self._totals
        nothing = np.full(self.shape, np.nan)
        value = np.divide(s, n, out=nothing.copy(), where=n > 0)
        residual = np.maximum(ss - 2 * value * sn + value * value * nn, 0.0)
        correction = np.divide(texts, texts - 1, out=nothing.copy(), where=texts > 1)
        half = np.divide(NORMAL_QUANTILE_975 * np.sqrt(residual * correction), n, out=nothing.copy(), where=n > 0)
        return Estimate(value, np.array(n), np.asarray(value - half), np.asarray(value + half))

    def state(self) -> State:
        """The six sums, one array each.

        >>> PooledMean(shape=()).state()["texts"]
        array(0.)
        """
        return header(PooledMean) | {name: np.array(total) for name, total in zip(SUMS, self._totals, strict=True)}

    @classmethod
    def from_state(cls, state: Mapping[str, NDArray[Any]]) -> PooledMean:
        """The accumulator that wrote this state.

        >>> PooledMean.from_state(PooledMean(shape=(4,)).state()).shape
        (4,)
        """
        check_header(cls, state, SUMS)
        made = cls(state["sums"].shape)
        for name in SUMS:
            if state[name].shape != made.shape:
                raise StatsError(f"this state's {name} have the shape {state[name].shape}, its sums {made.shape}")
        made._totals = np.array([state[name] for name in SUMS], dtype=np.float64)
        return made


def aligned(counts: NDArray[np.float64], shape: tuple[int, ...]) -> NDArray[np.float64]:
    """Counts with the axes of the sums, one for each text; a single axis always means texts, and the others may be
    of size 1.

    >>> aligned(np.array([1.0, 2.0]), (2, 3)).tolist()
    [[1.0], [2.0]]
    """
    if counts.shape == shape[:1]:
        counts = counts.reshape(-1, *[1] * (len(shape) - 1))
    fits = counts.ndim in (0, len(shape))
    if not fits or any(have not in (1, want) for have, want in zip(counts.shape, shape, strict=False)):
        raise StatsError(f"counts of shape {shape}, or one per text, were expected, and {counts.shape} came")
    counts = counts.reshape([1] * len(shape)) if counts.ndim == 0 else counts
    return np.broadcast_to(counts, (shape[0], *counts.shape[1:]))


def check_numbers(s: NDArray[np.float64], n: NDArray[np.float64]) -> None:
    """Refuse what would poison the totals without a trace.

    >>> check_numbers(np.array([[1.0]]), np.array([[0.0]]))
    Traceback (most recent call last):
        ...
    attlas.errors.NumberError: the sums of text 0 of the batch, cell (0,) came as 1.0, which is a sum over no case ...
    """
    for name, values in (("sums", s), ("counts", n)):
        if not np.isfinite(values.sum()):  # which any single one would spoil
            _refuse(~np.isfinite(values), values, name, "is not finite")
    _refuse(n < 0, n, "counts", "is negative")
    _refuse((n == 0) & (s != 0), s, "sums", "is a sum over no case")


def _refuse(wrong: NDArray[np.bool_], values: NDArray[np.float64], name: str, fault: str) -> None:
    """Name the first wrong number, where it stands, and how many there are."""
    if wrong.any():
        place = tuple(int(index) for index in np.argwhere(wrong)[0])
        where = f"text {place[0]} of the batch, cell {place[1:]}"
        raise NumberError(
            f"the {name} of {where} came as {values[place]}, which {fault} ({wrong.sum()} such in {wrong.size})"
        )
