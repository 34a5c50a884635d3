"""How well every head tells key words from others, document by document.

Three ways to say it, for what a head lets words receive. *Relative attention*: the mean received by key words minus
the mean received by the others. *Cross-entropy*: received attention as a distribution over the words of the document,
held against one that is even over the key words; what it saves against even attention over all words, ln of their
number, is the mean over key words of the logarithm of a word's share relative to an average one. A share counts as at
least :data:`FLOOR` of the average one's, so that one word that receives nothing does not decide. *AUC*: how often a
key word receives more than another word of the same document, ties counting half. All are computed within documents
and averaged over those that have key words and others. In a document of several windows, shares are of the window.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from attlas.stats import estimate, holm
from attlas.stats.flips import FEWEST_UNITS
from attlas.studies.keywords_study.passes import Integers, Received
from attlas.studies.shared.keywords.scoring import known
from attlas.studies.shared.keywords.weighing import Kind

FLOOR = 1e-3
Floats = NDArray[np.float64]


class Seen(NamedTuple):
    """What each document says of each head, (document, head), and the entropy of even attention, (document,)."""

    key: Floats
    other: Floats
    saved: Floats
    auc: Floats
    even: Floats

    @property
    def relative(self) -> Floats:
        """What key words receive more than others."""
        return self.key - self.other


def seen_by_heads(received: Received, part: str, kind: Kind) -> Seen:
    """Look at every document that has key words and others; the rest say nothing."""
    laid = received.parts[part]
    rows: list[tuple[Floats, ...]] = []
    for some, values, shares in received.blocks(part, kind):
        start, edges = int(laid.starts[some.start]), laid.starts[some.start : some.stop + 1]
        key = laid.key[start : int(edges[-1])]
        sizes, marked = np.diff(edges), np.add.reduceat(key.astype(np.int64), edges[:-1] - start)
        wanted = np.flatnonzero((marked > 0) & (marked < sizes))
        sums = np.add.reduceat(values.astype(np.float64), edges[:-1] - start, axis=0)
        keys = np.add.reduceat(values * key[:, None].astype(np.float64), edges[:-1] - start, axis=0)
        logs = np.log(np.maximum(shares, FLOOR).astype(np.float64)) * key[:, None]
        saved = np.add.reduceat(logs, edges[:-1] - start, axis=0)
        several = marked[wanted, None]
        rows.append(
            (
                keys[wanted] / several,
                (sums - keys)[wanted] / (sizes[wanted, None] - several),
                saved[wanted] / several,
                auc_within(shares, key, edges - start)[wanted],
                np.log(sizes[wanted]),
            )
        )
    return Seen(*(np.concatenate(column) for column in zip(*rows, strict=True)))


def auc_within(values: NDArray[Any], key: NDArray[np.bool_], edges: Integers) -> Floats:
    """The area under the ROC curve in each document, (document, column), from values (word, column); NaN where all
    words or none are key words."""
    from scipy.stats import rankdata

    found = np.full((len(edges) - 1, values.shape[1]), np.nan)
    for number, (start, stop) in enumerate(pairwise(edges.tolist())):
        here = key[start:stop]
        marked = int(here.sum())
        if 0 < marked < stop - start:
            ranks = rankdata(values[start:stop], axis=0)[here].sum(0)
            found[number] = (ranks - marked * (marked + 1) / 2) / (marked * (stop - start - marked))
    return found


def mean_and_interval(values: Floats, within: tuple[float, float] | None = None) -> tuple[Floats, Floats, Floats]:
    """The mean over documents of (document, column), and its 95 % interval; ``within`` is the range of a value."""
    mean, _, low, high = estimate(values, np.ones_like(values), within)
    return mean, low, high


def signed_rank(values: Floats) -> Floats:
    """Wilcoxon's signed-rank test of each column of (document, column): two-sided p; 1 where nothing differs, and
    none (NaN) below :data:`~attlas.stats.flips.FEWEST_UNITS` documents."""
    from scipy.stats import wilcoxon

    if len(values) < FEWEST_UNITS:
        return np.full(values.shape[1], np.nan)
    return np.array([wilcoxon(column).pvalue if column.any() else 1.0 for column in values.T], dtype=np.float64)


def head_columns(seen: Seen) -> dict[str, list[float | None]]:
    """The columns that describe each head on the part that is scored, in the order of heads."""
    relative, low, high = mean_and_interval(seen.relative)
    saved, saved_low, saved_high = mean_and_interval(seen.saved)
    auc, auc_low, auc_high = mean_and_interval(seen.auc, (0.0, 1.0))
    p = signed_rank(seen.relative)
    columns = {
        "key": seen.key.mean(0), "other": seen.other.mean(0), "relative": relative, "low": low, "high": high, "p": p,
        "p_corrected": holm(p), "cross_entropy": seen.even.mean() - saved, "saved": saved, "saved_low": saved_low,
        "saved_high": saved_high, "auc": auc, "auc_low": auc_low, "auc_high": auc_high,
    }  # fmt: skip
    return {name: [known(value) for value in values] for name, values in columns.items()}


def best_first(auc: Sequence[float]) -> list[int]:
    """Heads by their AUC, the best first; of equals the first."""
    return [int(head) for head in np.argsort(-np.asarray(auc), kind="stable")]
