"""Do two definitions name the same heads? Rank correlations over all heads, and what the first heads have in common.

Spearman's correlation of two definitions is over the heads of a stream that both have scored. Its interval is over
texts: the units of every trial are drawn with replacement, the same draw for all definitions of a trial, and the
interval is as wide as :data:`REPLICATES` correlations scatter (1.96 standard deviations to either side, on Fisher's
scale). It stands around the correlation itself: those of drawn texts, in which some stand twice, lie nearer to 0, and
their own middle may not hold what it is the interval of. A second interval is over heads, as if these were a sample
of such heads (:func:`attlas.stats.correlate`). Where small figures are meant, a definition counts with its sign
turned, so that a positive correlation always says that the same heads are meant.
"""

from __future__ import annotations

import warnings
from collections.abc import Mapping, Sequence
from itertools import combinations
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from attlas.ids import Stream
from attlas.stats import correlate
from attlas.store.columns import as_columns

if TYPE_CHECKING:
    from attlas.studies.roles.tables import Outcome

REPLICATES = 400
SHARE_OF_HEADS = 0.05  # the first so many heads of each definition are compared
FEWEST_HEADS, FEWEST_UNITS = 8, 6
NEARLY_ONE = 1 - 1e-9  # whose place on Fisher's scale is finite
Numbers = NDArray[np.float64]
_COLUMNS = (
    "stream", "one", "other", "spearman", "low", "high", "heads_low", "heads_high", "first", "shared", "by_chance",
    "n",
)  # fmt: skip


def agreement_table(outcomes: Sequence[Outcome], seed: int = 0) -> dict[str, list[Any]]:
    """A row for every pair of definitions of a stream."""
    rows: list[dict[str, Any]] = []
    for stream in dict.fromkeys(outcome.stream for outcome in outcomes):
        figures = figures_of(outcomes, stream)
        drawn = resampled(outcomes, stream, seed)
        for one, other in combinations(figures, 2):
            rows += _row(stream, one, other, figures, drawn)
    return as_columns(rows, _COLUMNS)


def figures_of(outcomes: Sequence[Outcome], stream: Stream) -> dict[str, Numbers]:
    """What every definition gives for the heads of a stream, flat, larger where a head is more of what is meant; NaN
    where it has no case."""
    found = {}
    for outcome in outcomes:
        for number, definition in enumerate(outcome.definitions):
            if outcome.stream is stream and stream in definition.streams:
                sign = -1.0 if definition.below else 1.0
                value = sign * outcome.own.mean()[..., number].ravel()
                if np.isfinite(value).any():
                    found[definition.key] = value
    return found


def resampled(outcomes: Sequence[Outcome], stream: Stream, seed: int) -> dict[str, Numbers]:
    """The same from texts that were drawn with replacement, (replicate, head), by definition."""
    found = {}
    for place, outcome in enumerate(outcomes):
        if outcome.stream is not stream:
            continue
        sums, counts = outcome.own.of()
        units = len(sums)
        if units < FEWEST_UNITS:
            continue
        generator = np.random.default_rng([seed, place])
        copies = generator.multinomial(units, np.full(units, 1 / units), REPLICATES).astype(float)
        flat = [copies @ part.reshape(units, -1) for part in (sums, counts)]
        means = np.divide(flat[0], flat[1], out=np.full(flat[0].shape, np.nan), where=flat[1] > 0)
        means = means.reshape(REPLICATES, -1, len(outcome.definitions))
        for number, definition in enumerate(outcome.definitions):
            if stream in definition.streams and not definition.exact:
                found[definition.key] = (-1.0 if definition.below else 1.0) * means[..., number]
    return found


def _row(
    stream: Stream, one: str, other: str, figures: Mapping[str, Numbers], drawn: Mapping[str, Numbers]
) -> list[dict[str, Any]]:
    x, y = figures[one], figures[other]
    known = np.isfinite(x) & np.isfinite(y)
    if known.sum() < FEWEST_HEADS or not np.ptp(x[known]) or not np.ptp(y[known]):
        return []
    over_heads = correlate(x[known], y[known])
    row: dict[str, Any] = {
        "stream": stream.value, "one": one, "other": other, "spearman": over_heads.spearman,
        "heads_low": over_heads.spearman_low, "heads_high": over_heads.spearman_high, "n": int(known.sum()),
        "low": None, "high": None,
        **first_in_common(x[known], y[known]),
    }  # fmt: skip
    if one in drawn or other in drawn:
        pairs = (drawn.get(name, figures[name][None])[:, known] for name in (one, other))
        low, high = _over_texts(row["spearman"], *pairs)
        row |= {"low": low, "high": high}
    return [row]


def _over_texts(own: float, one: Numbers, other: Numbers) -> tuple[float, float]:
    """The interval of a rank correlation by those of replicates, (replicate, head) both."""
    one, other = np.broadcast_arrays(one, other)
    ranks = [_ranks(part) for part in (one, other)]
    apart = [part - part.mean(1, keepdims=True) for part in ranks]
    with warnings.catch_warnings(), np.errstate(invalid="ignore", divide="ignore"):
        warnings.simplefilter("ignore", RuntimeWarning)
        rho = (apart[0] * apart[1]).sum(1) / np.sqrt((apart[0] ** 2).sum(1) * (apart[1] ** 2).sum(1))
        wide = 1.96 * float(np.nanstd(np.arctanh(np.clip(rho, -NEARLY_ONE, NEARLY_ONE)), ddof=1))
    middle = float(np.arctanh(np.clip(own, -NEARLY_ONE, NEARLY_ONE)))
    return min(own, float(np.tanh(middle - wide))), max(own, float(np.tanh(middle + wide)))


def _ranks(values: Numbers) -> Numbers:
    """Ranks of the heads of each replicate; equal ones share theirs, one without a figure is in the middle."""
    from scipy.stats import rankdata

    filled = np.where(np.isfinite(values), values, np.nanmedian(values))
    ranks: Numbers = rankdata(filled, axis=1)
    return ranks


def first_in_common(one: Numbers, other: Numbers) -> dict[str, Any]:
    """How many of the first twentieth of heads (three at least) two definitions share, and how many by chance; where
    more heads have an equal claim to be among the first, no number is given.

    >>> first_in_common(np.arange(20.0), np.arange(20.0) ** 2)
    {'first': 3, 'shared': 3, 'by_chance': 0.45}
    >>> first_in_common(np.arange(20.0), np.minimum(np.arange(20.0), 10))["shared"] is None
    True
    """
    first = max(3, round(SHARE_OF_HEADS * len(one)))
    orders = [np.argsort(-values, kind="stable") for values in (one, other)]
    tied = any(v[order[first - 1]] == v[order[first]] for v, order in zip((one, other), orders, strict=True))
    tops = [set(order[:first].tolist()) for order in orders]
    return {
        "first": first, "shared": None if tied else len(tops[0] & tops[1]), "by_chance": first**2 / len(one),
    }  # fmt: skip
