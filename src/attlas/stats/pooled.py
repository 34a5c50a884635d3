"""A mean over all cases of all texts, with an interval that knows the units.

Cases within one document (its words, its pieces) resemble each other, so an interval that counted each case as
independent would be far too narrow. A *unit* is a document, or a text where documents are not known; its number comes
with every text. Sums and counts are kept unit by unit, up to :data:`BLOCKS` of them; from there on units are put
together, the next beside the first, and so on, into that many blocks, which are independent of each other as units
are. So memory does not grow with the corpus, windows of one document may come in different batches, and what is
made of units (an interval, a test by flipping signs) can be made of blocks: see :mod:`attlas.stats.intervals` and
:mod:`attlas.stats.flips`. It costs 16 bytes a cell and block.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import pairwise
from typing import Any, ClassVar

import numpy as np
from numpy.typing import ArrayLike, NDArray

from attlas.errors import NumberError, StatsError
from attlas.stats.accumulator import State, check_header, header, register, require_same_configuration
from attlas.stats.intervals import Estimate, estimate

BLOCKS = 128
ARRAYS = ("sums", "counts")


@register
class PooledMean:
    """The mean of a quantity over all cases, for each cell of an array.

    ``blocks=1`` keeps the mean alone: it has no interval, and needs to know no units.

    >>> mean = PooledMean(shape=(2,))
    >>> mean.update([[1.0, 0.0], [5.0, 0.0]], [[1, 0], [2, 0]], units=[0, 1])
    >>> mean.result().value
    array([ 2., nan])
    >>> mean.result().n
    array([3., 0.])
    """

    schema: ClassVar[int] = 2

    def __init__(self, shape: Sequence[int], *, blocks: int = BLOCKS) -> None:
        self.shape = tuple(int(size) for size in shape)
        self.blocks = int(blocks)
        self._sums, self._counts = np.zeros((2, self.blocks, *self.shape))

    @property
    def configuration(self) -> dict[str, Any]:
        """The shape of the cells, and the number of blocks.

        >>> PooledMean(shape=[2]).configuration
        {'shape': (2,), 'blocks': 128}
        """
        return {"shape": self.shape, "blocks": self.blocks}

    def update(
        self,
        sums: ArrayLike,
        counts: ArrayLike,
        units: Sequence[int] | NDArray[np.int64] | None = None,
        *,
        among: NDArray[np.bool_] | None = None,
    ) -> None:
        """Take in some texts: for each, the sum of the quantity in each cell, the number of cases, and its unit.

        ``sums`` has the shape (texts, *shape). ``counts`` has the same number of axes and broadcasts to it, or is
        one number per text, or one number for all. ``units`` are numbers from 0, the same for all texts of a unit.
        ``among`` says which of the texts are meant, all if left out.

        >>> mean = PooledMean(shape=(2,))
        >>> mean.update([[1.0, 3.0], [5.0, 3.0]], counts=[1, 2], units=[0, 1])
        >>> mean.result().value
        array([2., 2.])
        """
        s = np.asarray(sums, dtype=np.float64)
        if s.ndim == 0 or s.shape[1:] != self.shape:
            raise StatsError(f"sums of shape (texts, {str(self.shape)[1:-1]}) were expected, and {s.shape} came")
        n = aligned(np.asarray(counts, dtype=np.float64), s.shape)
        places = self._places(len(s), units)
        texts = np.arange(len(s)) if among is None else np.flatnonzero(among)
        order = texts[np.argsort(places[texts], kind="stable")]
        take = self._text_by_text if self._sums[0].size >= WIDE else self._many_at_once
        if not take(order, places[order], s, n):
            check_numbers(s[texts], n[texts])

    def _text_by_text(
        self, order: NDArray[np.int64], places: NDArray[np.int64], s: NDArray[np.float64], n: NDArray[np.float64]
    ) -> bool:
        """Add up texts that fill whole pages of memory each, in place; whether their numbers were sound, without
        which nothing is taken in. Of texts of one block the sum is made first, as it is where they go together."""
        if not all(_sound(s[text], n[text]) for text in order):
            return False
        begins = np.flatnonzero(np.diff(places, prepend=-1)).tolist()
        for begin, end in pairwise([*begins, len(order)]):
            for total, values in ((self._sums[places[begin]], s), (self._counts[places[begin]], n)):
                total += _summed(values, order[begin:end])
        return True

    def _many_at_once(
        self, order: NDArray[np.int64], places: NDArray[np.int64], s: NDArray[np.float64], n: NDArray[np.float64]
    ) -> bool:
        """Add up texts of few cells each; whether their numbers were sound, without which nothing is taken in."""
        made = []
        for rows in _runs(places, self._sums[0].size):
            some = order[rows]
            own, first, count = np.unique(places[rows], return_index=True, return_counts=True)
            of_sums, of_counts = s[some], n[some]
            if not _sound(of_sums, of_counts):
                return False
            made.append((own, _by_block(of_sums, first, count), _by_block(of_counts, first, count)))
        for blocks, of_sums, of_counts in made:
            self._sums[blocks] += of_sums
            self._counts[blocks] += of_counts
        return True

    def _places(self, texts: int, units: Sequence[int] | NDArray[np.int64] | None) -> NDArray[np.int64]:
        """The block of each text."""
        if self.blocks == 1:
            return np.zeros(texts, np.int64)
        if units is None:
            raise StatsError("an interval needs to know the unit of each text; give units, or ask for blocks=1")
        numbers = np.asarray(units, dtype=np.int64)
        if numbers.shape != (texts,) or (numbers < 0).any():
            raise StatsError(f"a number from 0 for the unit of each of {texts} texts was expected, and {units} came")
        return numbers % self.blocks

    def merge(self, other: PooledMean) -> None:
        """Take in the texts of another.

        >>> one, other = PooledMean(shape=()), PooledMean(shape=())
        >>> one.update([1.0], 1, units=[0])
        >>> other.update([3.0], 1, units=[1])
        >>> one.merge(other)
        >>> one.result().value.item()
        2.0
        """
        require_same_configuration(self, other)
        self._sums += other._sums
        self._counts += other._counts

    def rows(self) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Sums and counts block by block, (block, *shape) each, for tests that flip signs.

        >>> mean = PooledMean(shape=(), blocks=2)
        >>> mean.update([1.0, 3.0, 5.0], 1, units=[0, 1, 2])
        >>> [part.tolist() for part in mean.rows()]
        [[6.0, 3.0], [2.0, 1.0]]
        """
        return self._sums.copy(), self._counts.copy()

    def result(self, within: tuple[float, float] | None = None, *, hits: bool = False) -> Estimate:
        """The mean, the number of cases and the interval, as :func:`attlas.stats.intervals.estimate` makes them.

        >>> mean = PooledMean(shape=())
        >>> mean.update(range(1, 9), 1, units=range(8))
        >>> [round(float(x), 2) for x in mean.result()]
        [4.5, 8.0, 2.31, 6.69]
        """
        return estimate(self._sums, self._counts, within, hits=hits)

    def state(self) -> State:
        """Sums and counts of all blocks.

        >>> PooledMean(shape=(), blocks=2).state()["counts"]
        array([0., 0.])
        """
        return header(PooledMean) | {"sums": self._sums.copy(), "counts": self._counts.copy()}

    @classmethod
    def from_state(cls, state: Mapping[str, NDArray[Any]]) -> PooledMean:
        """The accumulator that wrote this state.

        >>> PooledMean.from_state(PooledMean(shape=(4,)).state()).shape
        (4,)
        """
        check_header(cls, state, ARRAYS)
        sums, counts = (np.array(state[name], dtype=np.float64) for name in ARRAYS)
        if not sums.ndim or counts.shape != sums.shape:
            raise StatsError(f"this state's counts have the shape {counts.shape}, its sums {sums.shape}")
        mean = cls(sums.shape[1:], blocks=len(sums))
        mean._sums, mean._counts = sums, counts
        return mean


AT_ONCE = 1 << 17  # numbers, a megabyte
WIDE = 1 << 13  # cells from which on a text is added up by itself


def _runs(places: NDArray[np.int64], cells: int) -> list[slice]:
    """Texts that are looked at together, of whole blocks each, few enough to stay at hand; in the order of their
    blocks."""
    if not len(places):
        return []
    most, begins, last = max(1, AT_ONCE // max(1, cells)), [0], 0
    for end in [*(np.flatnonzero(np.diff(places)) + 1).tolist(), len(places)]:
        if end - begins[-1] > most and last > begins[-1]:
            begins.append(last)
        last = end
    return [slice(begin, end) for begin, end in zip(begins, [*begins[1:], len(places)], strict=True)]


def _summed(values: NDArray[np.float64], texts: NDArray[np.int64]) -> NDArray[np.float64]:
    """The values of some texts, (text, ...), summed in their order; what one text has is not copied."""
    first, *others = texts
    if not others:
        block: NDArray[np.float64] = values[first]
        return block
    if values[0].size == 1:  # of which numpy adds many in an order of its own
        return np.asarray(values[texts].sum(0))
    block = values[first].copy()
    for text in others:
        block += values[text]
    return block


def _by_block(values: NDArray[np.float64], first: NDArray[np.int64], count: NDArray[np.int64]) -> NDArray[np.float64]:
    """The values of texts, (text, ...), of one block behind those of another, summed block by block."""
    if (
        values.size == len(values) or len(first) < count.max()
    ):  # of single numbers numpy adds many in an order of its own
        return np.stack([values[begin : begin + texts].sum(0) for begin, texts in zip(first, count, strict=True)])
    summed = values[first]
    for number in range(1, int(count.max())):  # the second text of all blocks that have two, and so on
        has = np.flatnonzero(count > number)
        summed[has] += values[first[has] + number]
    return summed


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


def _sound(s: NDArray[np.float64], n: NDArray[np.float64]) -> bool:
    """Whether :func:`check_numbers` has nothing to look for."""
    if not np.isfinite(s.sum()) or not np.isfinite(n.sum()) or (n < 0).any():
        return False
    return bool(n.all() or not ((n == 0) & (s != 0)).any())


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
