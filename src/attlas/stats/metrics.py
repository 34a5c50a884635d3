"""Scores of a task, in two steps: what is written down of each text, and what follows from the sum.

Accuracy, chunk F1 or BLEU are not means over texts, but each is a function of counts that add up: right and all
predictions; chunks found, given and common; matching and possible n-grams. Once these *marks* are written down text
by text, a score of any resample or reshuffle of the texts is a product of matrices and one formula, and a paired test
costs next to nothing. Spearman's correlation is put into that form by ranking once: it is Pearson's of the ranks;
what a text does to the ranks of the others is told apart, for intervals (:meth:`Metric.accounts`).
The four scores of a word alignment share their marks: links predicted and sure, predicted and possible (which every
sure link is too), predicted, and sure. The error rate is 1 - (|A&S| + |A&P|) / (|A| + |S|); precision asks for
possible links, recall for sure ones.

A score also declares what its interval must know (:mod:`attlas.stats.scores`): its range, whether it is its logarithm
that behaves well, and which counts say how large a unit is.

All formulas take arrays with any axes in front.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from attlas.errors import StatsError

Numbers = NDArray[np.float64]


@dataclass(frozen=True)
class Metric:
    """A score, what is written down of a text for it (``columns``), and whether ``higher`` or ``lower`` is better.

    Of its interval: ``within`` is the range of the score, with an infinite end where it has none; ``sizes`` are the
    places of those counts that sum up to a unit's cases, none where all do; ``log`` says that the interval is one of
    the logarithm, ``hits`` that a perfect score, or none, is not certain; ``account`` makes counts of marks as
    ``prepare`` does, with the same sums, in which a text also answers for what it does to the counts of others; and
    ``mistaken`` says what sums would be if a share of all cases were wrong, where a score falls faster than that.

    >>> METRICS["accuracy"].score([[1, 1], [0, 1], [1, 2]]).item()
    0.5
    """

    name: str
    better: str
    columns: tuple[str, ...]
    formula: Callable[[Numbers], Numbers]
    prepare: Callable[[Numbers], Numbers] | None = None
    within: tuple[float, float] = (0.0, 1.0)
    sizes: tuple[int, ...] = ()
    log: bool = False
    hits: bool = True
    account: Callable[[Numbers], Numbers] | None = None
    mistaken: Callable[[Numbers, Numbers], Numbers] | None = None

    def counts(self, marks: ArrayLike) -> Numbers:
        """Marks (..., text, column) as things that may be added up over texts.

        >>> METRICS["spearman"].counts([[0.1, 5], [0.3, 7]]).tolist()
        [[1.0, 1.0, 1.0, 1.0, 1.0, 1.0], [1.0, 2.0, 2.0, 4.0, 4.0, 4.0]]
        """
        found = np.asarray(marks, dtype=np.float64)
        return found if self.prepare is None else self.prepare(found)

    def accounts(self, marks: ArrayLike) -> Numbers:
        """Marks as counts whose sums are the same, and which say what a score owes to each text.

        >>> METRICS["spearman"].counts([[1, 5], [2, 7], [3, 6]])[:, -1].tolist()
        [1.0, 6.0, 6.0]
        >>> METRICS["spearman"].accounts([[1, 5], [2, 7], [3, 6]])[:, -1].round(2).tolist()
        [1.33, 5.83, 5.83]
        >>> METRICS["f1"].accounts([[1, 2, 3]]).tolist()
        [[1.0, 2.0, 3.0]]
        """
        return self.counts(marks) if self.account is None else self.account(np.asarray(marks, dtype=np.float64))

    def cases(self, counts: Numbers) -> Numbers:
        """How many cases counts (..., column) are of.

        >>> METRICS["f1"].cases(np.array([2.0, 4.0, 3.0])).item()
        7.0
        """
        return np.asarray(counts[..., list(self.sizes)].sum(-1) if self.sizes else counts.sum(-1))

    def of(self, sums: ArrayLike) -> Numbers:
        """The score that follows from sums of counts; NaN where there is nothing to score.

        >>> METRICS["f1"].of([2.0, 4.0, 4.0]).item()
        0.5
        """
        with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
            return np.asarray(self.formula(np.asarray(sums, dtype=np.float64)))

    def score(self, marks: ArrayLike) -> Numbers:
        """The score of all texts together.

        >>> round(METRICS["perplexity"].score([[2.0, 1.0], [4.0, 1.0]]).item(), 3)
        20.086
        """
        return self.of(self.counts(marks).sum(-2))

    def worse(self, change: ArrayLike) -> Numbers:
        """A change of score, counted for the worse: positive where the score has suffered.

        >>> METRICS["accuracy"].worse(-0.1).item(), METRICS["perplexity"].worse(-0.1).item()
        (0.1, -0.1)
        """
        change = np.asarray(change, dtype=np.float64)
        return -change if self.better == "higher" else +change


def by_unit(counts: Numbers, units: ArrayLike) -> Numbers:
    """Counts (..., text, column) added up over the texts of each unit, in the order of the units' numbers.

    >>> by_unit(np.array([[1.0], [2.0], [4.0]]), [7, 3, 7]).tolist()
    [[2.0], [5.0]]
    """
    numbers = np.asarray(units)
    if numbers.shape != counts.shape[-2:-1]:
        raise StatsError(f"a unit for each of {counts.shape[-2]} texts was expected, and {numbers.shape} came")
    known, places = np.unique(numbers, return_inverse=True)
    sums = np.zeros((len(known), *counts.shape[:-2], counts.shape[-1]))
    np.add.at(sums, places, np.moveaxis(counts, -2, 0))
    return np.moveaxis(sums, 0, -2)


def _ratio(sums: Numbers) -> Numbers:
    return np.asarray(sums[..., 0] / sums[..., 1])


def _f1(sums: Numbers) -> Numbers:
    """Chunks common to both, found by the model, and given; 0 where neither has any in common."""
    return np.asarray(2 * sums[..., 0] / (sums[..., 1] + sums[..., 2]))


def _matthews(sums: Numbers) -> Numbers:
    """Matthews' correlation of any number of classes, from a flattened confusion matrix (given, found)."""
    size = round(sums.shape[-1] ** 0.5)
    table = sums.reshape(*sums.shape[:-1], size, size)
    total, right = table.sum((-2, -1)), np.trace(table, axis1=-2, axis2=-1)
    given, found = table.sum(-1), table.sum(-2)
    above = right * total - (given * found).sum(-1)
    below = np.sqrt(total**2 - (found**2).sum(-1)) * np.sqrt(total**2 - (given**2).sum(-1))
    return np.asarray(np.where(below > 0, above / below, 0.0))


def mistaken_labels(sums: Numbers, share: Numbers) -> Numbers:
    """A confusion matrix of the same labels, of which such a share is taken for others, evenly.

    >>> mistaken_labels(np.array([6.0, 2.0, 0.0, 2.0]), np.array(0.25)).tolist()
    [6.0, 2.0, 0.5, 1.5]
    """
    size = round(sums.shape[-1] ** 0.5)
    given = sums.reshape(*sums.shape[:-1], size, size).sum(-1, keepdims=True)
    others = (1 - np.eye(size)) / max(1, size - 1)
    part = np.asarray(share)[..., None, None]
    return np.asarray(given * ((1 - part) * np.eye(size) + part * others)).reshape(sums.shape)


def _perplexity(sums: Numbers) -> Numbers:
    return np.exp(_ratio(sums))


def _bleu(sums: Numbers) -> Numbers:
    """BLEU from matching and possible n-grams of four orders and the two lengths, with sacrebleu's smoothing."""
    right, possible = sums[..., :4], sums[..., 4:8]
    written, reference = sums[..., 8], sums[..., 9]
    none = (right == 0) & (possible > 0)
    smoothed = 1.0 / (2.0 ** np.cumsum(none, -1) * possible)
    precision = np.where(none, smoothed, right / possible)
    mean = np.exp(np.log(precision).mean(-1))
    brevity = np.where(written < reference, np.exp(1 - reference / written), 1.0)
    found = 100 * brevity * mean
    return np.asarray(np.where((right.sum(-1) > 0) & (possible > 0).all(-1), found, 0.0))


def _chrf(sums: Numbers) -> Numbers:
    """chrF (beta 2) from character n-grams written, given and matching, of six orders each."""
    written, given, matching = (sums[..., 6 * part : 6 * part + 6] for part in range(3))
    known = (written > 0) & (given > 0)
    orders = np.maximum(known.sum(-1), 1)
    precision, recall = (
        np.where(known, matching / np.maximum(side, 1), 0.0).sum(-1) / orders for side in (written, given)
    )
    below = 4 * precision + recall
    return np.asarray(np.where(below > 0, 500 * precision * recall / np.where(below > 0, below, 1.0), 0.0))


def products(marks: Numbers) -> Numbers:
    """Both columns as sums that Pearson's correlation is made of.

    >>> products(np.array([[2.0, 3.0]])).tolist()
    [[1.0, 2.0, 3.0, 4.0, 9.0, 6.0]]
    """
    x, y = marks[..., 0], marks[..., 1]
    return np.stack([np.ones_like(x), x, y, x * x, y * y, x * y], axis=-1)


def _ranks(marks: Numbers) -> Numbers:
    from scipy.stats import rankdata

    return np.stack([rankdata(marks[..., column], axis=-1) for column in (0, 1)], axis=-1)


def _products_of_ranks(marks: Numbers) -> Numbers:
    return products(_ranks(marks))


def _owed_ranks(marks: Numbers) -> Numbers:
    """The same, where each text answers for the ranks it gives to others: a text moves all that lie above it."""
    ranks = _ranks(marks)
    counts = products(ranks)
    x, y = np.moveaxis(ranks - ranks.mean(-2, keepdims=True), -1, 0)
    for column, (first, second) in zip((3, 4, 5), ((x, x), (y, y), (x, y)), strict=True):
        moved = _above(first, second) + _above(second, first)
        counts[..., column] += moved - moved.mean(-1, keepdims=True)
    return counts


def _above(order: Numbers, values: Numbers) -> Numbers:
    """For each text, the sum of the values of all that lie above it in an order; half of those level with it."""
    from scipy.stats import rankdata

    below, level = ((rankdata(order, method=how, axis=-1)).astype(np.int64) for how in ("min", "max"))
    sums = np.cumsum(np.take_along_axis(values, np.argsort(order, axis=-1), -1), axis=-1)
    sums = np.concatenate([np.zeros((*sums.shape[:-1], 1)), sums], axis=-1)
    until = np.take_along_axis(sums, below - 1, -1) + np.take_along_axis(sums, level, -1)
    return np.asarray(sums[..., -1:] - until / 2)


def pearson(sums: Numbers) -> Numbers:
    """Pearson's correlation from sums of :func:`products`; 0 where either side is constant.

    >>> round(float(pearson(products(np.array([[1.0, 1.0], [2.0, 3.0], [3.0, 2.0]])).sum(0))), 3)
    0.5
    """
    n, x, y, xx, yy, xy = np.moveaxis(sums, -1, 0)
    spread = np.sqrt(np.maximum(xx * n - x * x, 0)) * np.sqrt(np.maximum(yy * n - y * y, 0))
    return np.asarray(np.where(spread > 0, (xy * n - x * y) / spread, 0.0))


def _aer(sums: Numbers) -> Numbers:
    """Alignment error rate; 1 where nothing is predicted, and NaN where there is nothing sure either."""
    sure, possible, predicted, given = np.moveaxis(sums, -1, 0)
    return np.asarray(1 - (sure + possible) / (predicted + given))


def _precision(sums: Numbers) -> Numbers:
    return np.asarray(sums[..., 1] / sums[..., 2])


def _recall(sums: Numbers) -> Numbers:
    return np.asarray(sums[..., 0] / sums[..., 3])


def _alignment_f1(sums: Numbers) -> Numbers:
    """The harmonic mean of precision and recall; 0 where either is, or where nothing is predicted."""
    precision, recall = np.where(sums[..., 2] > 0, _precision(sums), 0.0), _recall(sums)
    both = precision + recall
    return np.asarray(np.where(both == 0, 0.0, 2 * precision * recall / both))


_LINKS = ("predicted and sure", "predicted and possible", "predicted", "sure")
_CHARACTERS = tuple(f"{what} {n}-grams" for what in ("written", "given", "matching") for n in range(1, 7))
_NGRAMS = tuple(f"{what} {order}-grams" for what in ("matching", "possible") for order in (1, 2, 3, 4))

_PER_CENT, _NOT_NEGATIVE, _SIGNED = (0.0, 100.0), (0.0, float("inf")), (-1.0, 1.0)

METRICS = {
    "accuracy": Metric("accuracy", "higher", ("right", "all"), _ratio, sizes=(1,)),
    "f1": Metric("chunk F1", "higher", ("common", "found", "given"), _f1, sizes=(1, 2)),
    "matthews": Metric(
        "Matthews", "higher", ("given by found",), _matthews, within=_SIGNED, mistaken=mistaken_labels,
    ),
    "perplexity": Metric(
        "perplexity", "lower", ("nats", "predictions"), _perplexity, within=(1.0, float("inf")), sizes=(1,), log=True,
        hits=False,
    ),
    "loss": Metric("loss", "lower", ("nats", "texts"), _ratio, within=_NOT_NEGATIVE, sizes=(1,), hits=False),
    "bleu": Metric(
        "BLEU", "higher", (*_NGRAMS, "written", "reference"), _bleu, within=_PER_CENT, sizes=(8, 9),
    ),
    "chrf": Metric("chrF", "higher", _CHARACTERS, _chrf, within=_PER_CENT, sizes=(0, 6)),
    "spearman": Metric(
        "Spearman", "higher", ("found", "given"), pearson, _products_of_ranks, within=_SIGNED, sizes=(0,),
        account=_owed_ranks,
    ),
    "aer": Metric("AER", "lower", _LINKS, _aer, sizes=(2, 3)),
    "precision": Metric("precision", "higher", _LINKS, _precision, sizes=(2,)),
    "recall": Metric("recall", "higher", _LINKS, _recall, sizes=(3,)),
    "alignment-f1": Metric("F1", "higher", _LINKS, _alignment_f1, sizes=(2, 3)),
}  # fmt: skip
