"""The bootstrap, as an accumulator.

To resample texts with replacement is to give every text a random number of copies; drawn from Poisson(1) for each
text on its own, that number needs no knowledge of the other texts. So each of the replicates can be summed while the
texts pass by, and two accumulators over different texts merge by adding. The draw depends on the seed and on the
text's own key alone: the same texts give the same interval in any order and in any split.

The middle 95 % of replicates of few units cover less often than they say. A mean over cases has a better interval in
:class:`~attlas.stats.PooledMean`, a score in :mod:`attlas.stats.scores`; replicates are for what is no smooth
function of sums.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, ClassVar

import numpy as np
from numpy.typing import ArrayLike, NDArray

from attlas.errors import StatsError
from attlas.stats.accumulator import State, check_header, header, register, require_same_configuration
from attlas.stats.intervals import Estimate
from attlas.stats.pooled import aligned, check_numbers

REPLICATES = 1000
ARRAYS = ("sums", "counts", "seed")


@register
class Resampled:
    """A mean over all cases with a bootstrap interval by text, for each cell of an array.

    >>> mean = Resampled(shape=(), replicates=200)
    >>> mean.update([1.0, 0.0, 1.0, 1.0], 1, keys=[0, 1, 2, 3])
    >>> mean.result().value.item(), bool(mean.result().low < 0.75 <= mean.result().high)
    (0.75, True)
    """

    schema: ClassVar[int] = 1

    def __init__(self, shape: Sequence[int], *, replicates: int = REPLICATES, seed: int = 0) -> None:
        self.shape = tuple(int(size) for size in shape)
        self.replicates, self.seed = int(replicates), int(seed)
        # the first row is the sample itself
        self._sums = np.zeros((self.replicates + 1, *self.shape))
        self._counts = np.zeros((self.replicates + 1, *self.shape))

    @property
    def configuration(self) -> dict[str, Any]:
        """Shape, number of replicates and seed.

        >>> Resampled(shape=[2]).configuration
        {'shape': (2,), 'replicates': 1000, 'seed': 0}
        """
        return {"shape": self.shape, "replicates": self.replicates, "seed": self.seed}

    def update(self, sums: ArrayLike, counts: ArrayLike, keys: Sequence[int]) -> None:
        """Take in some texts: sums and counts as for :class:`~attlas.stats.PooledMean`, and a key for each text.

        >>> mean = Resampled(shape=(2,), replicates=10)
        >>> mean.update([[1.0, 3.0], [5.0, 3.0]], [1, 2], keys=[7, 8])
        >>> mean.result().value
        array([2., 2.])
        """
        s = np.asarray(sums, dtype=np.float64)
        if s.ndim == 0 or s.shape[1:] != self.shape or len(keys) != len(s):
            raise StatsError(
                f"sums of shape (texts, {str(self.shape)[1:-1]}) and a key for each text were expected, and "
                f"{s.shape} and {len(keys)} keys came"
            )
        n = aligned(np.asarray(counts, dtype=np.float64), s.shape)
        check_numbers(s, n)
        n = np.broadcast_to(n, s.shape)
        if len(s):
            copies = np.stack([self._copies(key) for key in keys], axis=1)
            flat = copies @ s.reshape(len(s), -1), copies @ n.reshape(len(s), -1)
            self._sums += flat[0].reshape(self._sums.shape)
            self._counts += flat[1].reshape(self._counts.shape)

    def _copies(self, key: int) -> NDArray[np.float64]:
        generator = np.random.default_rng([self.seed, int(key)])
        return np.concatenate([[1.0], generator.poisson(1.0, self.replicates)])

    def merge(self, other: Resampled) -> None:
        """Take in the texts of another.

        >>> one, other = Resampled((), replicates=9), Resampled((), replicates=9)
        >>> one.update([1.0], 1, keys=[0])
        >>> other.update([3.0], 1, keys=[1])
        >>> one.merge(other)
        >>> one.result().value.item()
        2.0
        """
        require_same_configuration(self, other)
        self._sums += other._sums
        self._counts += other._counts

    def means(self) -> NDArray[np.float64]:
        """The means of the sample (first) and of every replicate, for intervals of what is computed from several
        cells; NaN where there is nothing.

        >>> Resampled(shape=(2,), replicates=3).means().shape
        (4, 2)
        """
        nothing = np.full(self._sums.shape, np.nan)
        means: NDArray[np.float64] = np.divide(self._sums, self._counts, out=nothing, where=self._counts > 0)
        return means

    def result(self) -> Estimate:
        """The mean, the number of cases, and the middle 95 % of the replicates; NaN where there is nothing.

        >>> Resampled(shape=()).result().n.item()
        0.0
        """
        means = self.means().reshape(self.replicates + 1, -1)
        ends = np.full((2, means.shape[1]), np.nan)
        for cell, replicates in enumerate(means[1:].T):
            known = replicates[np.isfinite(replicates)]
            if len(known):
                ends[:, cell] = np.quantile(known, (0.025, 0.975))
        low, high = ends.reshape(2, *self.shape)
        return Estimate(means[0].reshape(self.shape), np.array(self._counts[0]), np.array(low), np.array(high))

    def state(self) -> State:
        """Sums and counts of all replicates, and the seed.

        >>> Resampled(shape=(), replicates=3).state()["sums"]
        array([0., 0., 0., 0.])
        """
        arrays = {"sums": self._sums.copy(), "counts": self._counts.copy(), "seed": np.array(self.seed)}
        return header(Resampled) | arrays

    @classmethod
    def from_state(cls, state: Mapping[str, NDArray[Any]]) -> Resampled:
        """The accumulator that wrote this state.

        >>> Resampled.from_state(Resampled(shape=(4,)).state()).shape
        (4,)
        """
        check_header(cls, state, ARRAYS)
        sums, counts = (np.array(state[name], dtype=np.float64) for name in ("sums", "counts"))
        if sums.shape != counts.shape or not sums.ndim:
            raise StatsError(f"this state's sums have the shape {sums.shape}, its counts {counts.shape}")
        made = cls(sums.shape[1:], replicates=sums.shape[0] - 1, seed=int(state["seed"]))
        made._sums, made._counts = sums, counts
        return made
