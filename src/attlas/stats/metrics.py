"""Scores of a task, in two steps: what is written down of each text, and what follows from the sum.

Accuracy, chunk F1 or BLEU are not means over texts, but each is a function of counts that add up: right and all
predictions; chunks found, given and common; matching and possible n-grams. Once these *marks* are written down text
by text, a score of any resample or reshuffle of the texts is a product of matrices and one formula, and a paired test
costs next to nothing. Spearman's correlation is put into that form by ranking once: it is Pearson's of the ranks.
The four scores of a word alignment share their marks: links predicted and sure, predicted and possible (which every
sure link is too), predicted, and sure. The error rate is 1 - (|A&S| + |A&P|) / (|A| + |S|); precision asks for
possible links, recall for sure ones.

All formulas take arrays with any axes in front.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

Numbers = NDArray[np.float64]


@dataclass(frozen=True)
class Metric:
    """A score, what is written down of a text for it (``columns``), and whether ``higher`` or ``lower`` is better.

    >>> METRICS["accuracy"].score([[1, 1], [0, 1], [1, 2]]).item()
    0.5
    """

    name: str
    better: str
    columns: tuple[str, ...]
    formula: Callable[[Numbers], Numbers]
    prepare: Callable[[Numbers], Numbers] | None = None

    def counts(self, marks: ArrayLike) -> Numbers:
        """Marks (..., text, column) as things that may be added up over texts.

        >>> METRICS["spearman"].counts([[0.1, 5], [0.3, 7]]).tolist()
        [[1.0, 1.0, 1.0, 1.0, 1.0, 1.0], [1.0, 2.0, 2.0, 4.0, 4.0, 4.0]]
        """
        found = np.asarray(marks, dtype=np.float64)
        return found if self.prepare is None else self.prepare(found)

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


def _moments(marks: Numbers) -> Numbers:
    """Ranks of both columns, as sums that Pearson's correlation is made of."""
    from scipy.stats import rankdata

    x, y = (rankdata(marks[..., column], axis=-1) for column in (0, 1))
    return np.stack([np.ones_like(x), x, y, x * x, y * y, x * y], axis=-1)


def _pearson(sums: Numbers) -> Numbers:
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

METRICS = {
    "accuracy": Metric("accuracy", "higher", ("right", "all"), _ratio),
    "f1": Metric("chunk F1", "higher", ("common", "found", "given"), _f1),
    "matthews": Metric("Matthews", "higher", ("given by found",), _matthews),
    "perplexity": Metric("perplexity", "lower", ("nats", "predictions"), _perplexity),
    "loss": Metric("loss", "lower", ("nats", "texts"), _ratio),
    "bleu": Metric("BLEU", "higher", (*_NGRAMS, "written", "reference"), _bleu),
    "chrf": Metric("chrF", "higher", _CHARACTERS, _chrf),
    "spearman": Metric("Spearman", "higher", ("found", "given"), _pearson, _moments),
    "aer": Metric("AER", "lower", _LINKS, _aer),
    "precision": Metric("precision", "higher", _LINKS, _precision),
    "recall": Metric("recall", "higher", _LINKS, _recall),
    "alignment-f1": Metric("F1", "higher", _LINKS, _alignment_f1),
}
