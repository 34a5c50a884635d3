"""How well explanations agree, and what erasing the words they name does: tables with intervals.

Two explanations of an instance are compared by Kendall's tau-b over its words, and by the *overlap* of their first
words: the share of the top tenth of the words (rounded up, so that it is one at least) that both name. Figures are
means over instances; their intervals are over units (:mod:`attlas.studies.faith.middles`), all instances of a text
together. *Significant* is the share of instances whose own tau differs from none at p < .05, by the normal
approximation and not corrected, as Jain & Wallace report it.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
import torch
from numpy.typing import NDArray

from attlas.measures.ranks import kendall
from attlas.store.columns import as_columns
from attlas.studies.faith.erasing import first_words, taken
from attlas.studies.faith.explaining import Explained
from attlas.studies.faith.explanations import REFERENCES, Named
from attlas.studies.faith.middles import over_units

Numbers = NDArray[np.float64]
Columns = dict[str, list[Any]]
TOP = 0.1  # of the words, whose overlap is counted
_AT_ONCE = 4_000_000  # pairs of words in one go


class Pair(NamedTuple):
    """Of every instance, how two explanations agree: tau, its p value, the overlap of the first words."""

    tau: Numbers
    p: Numbers
    overlap: Numbers


def agree(one: Numbers, other: Numbers, real: NDArray[np.bool_]) -> Pair:
    """Compare two explanations (instance, word) over the words that there are.

    >>> every = np.ones((1, 4), dtype=bool)
    >>> found = agree(np.array([[1.0, 2, 3, 4]]), np.array([[1.0, 3, 2, 4]]), every)
    >>> round(found.tau.item(), 4), found.overlap.item()
    (0.6667, 1.0)
    """
    tau, p = np.full(len(one), np.nan), np.full(len(one), np.nan)
    step = max(1, _AT_ONCE // max(1, real.shape[1] ** 2))
    for at in range(0, len(one), step):
        some = slice(at, at + step)
        found = kendall(*(torch.from_numpy(part[some]) for part in (one, other, real)))
        tau[some], p[some] = found.tau.numpy(), found.p.numpy()
    overlap = np.full(len(one), np.nan)
    for row, there in enumerate(real):
        words = [int(word) for word in np.flatnonzero(there)]
        if words:
            k = taken(len(words), TOP)
            first, second = (set(first_words(values[row], words)[:k]) for values in (one, other))
            overlap[row] = len(first & second) / k
    return Pair(tau, p, overlap)


def pairs_of(explained: Explained) -> dict[tuple[Named, str], Pair]:
    """Every explanation beside the three that attention is held against; random ones are averaged over their draws.

    >>> names = (Named("weight", "last", "mean"), *map(Named, REFERENCES), Named("random"), Named("random"))
    >>> values = np.random.default_rng(0).random((2, len(names), 5))
    >>> len(pairs_of(Explained(names, values, np.ones((2, 5), dtype=bool), {}, np.zeros((2, 2)))))
    12
    """
    pairs = {}
    for reference in map(Named, REFERENCES):
        beside = explained.values[:, explained.names.index(reference)]
        for name in dict.fromkeys(explained.names):
            if name != reference:
                draws = [explained.values[:, at] for at, other in enumerate(explained.names) if other == name]
                compared = [agree(values, beside, explained.real) for values in draws]
                pairs[name, reference.explanation] = Pair(*map(np.stack, zip(*compared, strict=True)))
    return pairs


def agreement_rows(
    pairs: dict[tuple[Named, str], Pair], real: NDArray[np.bool_], units: Sequence[int]
) -> Columns:  # fmt: skip
    """The table of agreement: one row for each explanation and what it is held against.

    >>> pair = agree(np.eye(2, 5), np.eye(2, 5), np.ones((2, 5), dtype=bool))
    >>> pairs = {(Named("gradient"), "leave-one-out"): Pair(*(values[None] for values in pair))}
    >>> agreement_rows(pairs, np.ones((2, 5), dtype=bool), [0, 1])["tau"]
    [1.0]
    """
    k = float(np.mean([taken(int(count), TOP) for count in real.sum(1)])) if len(real) else float("nan")
    rows = []
    for (name, against), pair in pairs.items():
        sure = pair.p[np.isfinite(pair.p)] < 0.05
        tau = over_units(pair.tau.mean(0), units, (-1.0, 1.0))
        overlap = over_units(pair.overlap.mean(0), units, (0.0, 1.0))
        rows.append(
            {
                **name._asdict(), "against": against, "tau": tau.value, "low": tau.low, "high": tau.high,
                "significant": sure.mean() if len(sure) else None, **overlap.columns("overlap"), "k": k,
                "n": int(np.isfinite(pair.tau.mean(0)).sum()),
            }
        )  # fmt: skip
    return as_columns(rows)


def over_random(names: Sequence[Named], lost: Numbers, name: Named) -> Numbers:
    """How much more of the prediction is lost without the first words of an explanation than without random ones,
    instance by instance, from what each explanation loses (instance, explanation, 2).

    >>> names = [Named("gradient"), Named("random"), Named("random")]
    >>> over_random(names, np.array([[[0.5, 0.1], [0.1, 0.2], [0.3, 0.2]]]), names[0]).tolist()
    [0.3]
    """
    own, chance = (
        lost[:, [place for place, other in enumerate(names) if other == wanted], 0].mean(1)
        for wanted in (name, Named("random"))
    )
    more: Numbers = own - chance
    return more


def erasure_rows(names: Sequence[Named], lost: Numbers, units: Sequence[int]) -> Columns:
    """The table of erasing, from what each explanation loses of the prediction (instance, explanation, 2); beside it
    how much more that is than with random words, instance by instance.

    >>> names = [Named("weight", "last", "mean"), Named("random"), Named("random")]
    >>> lost = np.array([[[0.5, 0.1], [0.1, 0.2], [0.3, 0.2]]] * 2)
    >>> erasure_rows(names, lost, [0, 1])["over_random"]
    [0.3, None]
    """
    rows = []
    for name in dict.fromkeys(names):
        own = lost[:, [place for place, other in enumerate(names) if other == name]].mean(1)
        more = np.full(len(own), np.nan) if name == Named("random") else over_random(names, lost, name)
        rows.append(
            {
                **name._asdict(), **over_units(own[:, 0], units, (-1.0, 1.0)).columns("comprehensiveness"),
                **over_units(own[:, 1], units, (-1.0, 1.0)).columns("sufficiency"),
                **over_units(more, units).columns("over_random"),
                "n": int(np.isfinite(own[:, 0]).sum()),
            }
        )  # fmt: skip
    return as_columns(rows)
