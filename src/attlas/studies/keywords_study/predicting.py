"""Key words predicted from all heads at once: logistic regression, and how many of the heads it needs.

A word is described by the logarithm of what each head lets it receive, relative to an average word of its window; all
is standardised on the words that are learned from. The strength of regularisation is the one with the least
cross-entropy in inner folds, on at most :data:`INNER_WORDS` words of the documents that are learned from (scaled to
their number). A word counts as a key word where its score is above a threshold, the best one for F1 on the words that
are learned from. From all heads down to one, those of greatest weight are kept at each step and the regression is
made again, since the weights of heads that see the same say little of each alone. Folds are of whole documents;
nothing of a document that is scored decides any of this. What can be said of a word without any model is what
attention must beat before it can be said to know key words.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from attlas.studies.keywords_study.heads import Floats, auc_within, mean_and_interval
from attlas.studies.keywords_study.passes import Integers, Part
from attlas.studies.shared.keywords.scoring import known, micro
from attlas.studies.shared.keywords.weighing import Numbers
from attlas.text.keyphrases import document_stems
from attlas.text.stems import Stem

SMALL = 1e-2
STRENGTHS = (1e-4, 1e-3, 1e-2, 1e-1, 1.0)
INNER, INNER_WORDS = 3, 20_000
STEPS = (1, 2, 3, 5, 8, 12, 20, 36, 72)
Flags = NDArray[np.bool_]
Say = Callable[[str], None]


def features(relative: Numbers) -> Numbers:
    """What describes words, from their relative attention."""
    return np.asarray(np.log(relative + np.float32(SMALL)), np.float32)


def plain_features(part: Part, stem: Stem | None = None) -> Numbers:
    """For every word of a part: ln of its length in characters, its place in the text from 0 to 1, and ln of how
    often its stem occurs in the text.

    >>> from attlas.text import Document
    >>> part = Part("a", (Document.from_text("Rain rains."),), (), np.zeros(0), np.zeros(0), np.zeros(0))
    >>> plain_features(part).round(2).tolist()[2]
    [0.0, 1.0, 0.0]
    """
    rows = []
    for document in part.documents:
        stems = document_stems(document, stem)
        counts = Counter(stems)
        last = max(1, len(stems) - 1)
        rows += [
            (np.log(len(document.word(index))), index / last, np.log(counts[stems[index]]))
            for index in range(len(stems))
        ]
    return np.array(rows, np.float32)


@dataclass(frozen=True)
class Fitted:
    """A regression on some columns, with what standardises them and the threshold of a key word."""

    columns: tuple[int, ...]
    mean: Floats
    scale: Floats
    weights: Floats
    bias: float
    threshold: float
    c: float

    def scores(self, x: Numbers) -> Floats:
        """The score of every word: above 0 it is more likely a key word than not."""
        slopes = self.weights / self.scale
        chosen = x if self.columns == tuple(range(x.shape[1])) else x[:, list(self.columns)]
        return np.asarray(chosen @ slopes.astype(np.float32) + (self.bias - float(self.mean @ slopes)), np.float64)


def steps_for(heads: int, asked: Sequence[int] | None = None) -> list[int]:
    """The numbers of heads that are kept, up to all: as asked, or from one on, each about 1.6 times the last.

    >>> steps_for(72), steps_for(200)[-4:], steps_for(200, [4])
    ([1, 2, 3, 5, 8, 12, 20, 36, 72], [36, 72, 144, 200], [4, 200])
    """
    doubled = [STEPS[-1] << times for times in range(1, heads.bit_length())]
    wanted = [*STEPS, *doubled] if asked is None else asked
    return sorted({step for step in wanted if 0 < step < heads} | {heads})


def best_threshold(scores: Floats, key: Flags) -> float:
    """The threshold with the best F1, halfway between the two scores that it divides."""
    order = np.argsort(-scores, kind="stable")
    sorted_scores, right = scores[order], np.cumsum(key[order])
    f1 = 2 * right / (np.arange(1, len(order) + 1) + right[-1])
    f1[:-1][sorted_scores[:-1] == sorted_scores[1:]] = -1  # no threshold lies between equals
    at = int(f1.argmax())
    if at + 1 == len(order):  # all words
        return float(np.nextafter(sorted_scores[at], -np.inf))
    return float((sorted_scores[at] + sorted_scores[at + 1]) / 2)


def folds_of(documents: Integers, mixed: Flags, count: int, seed: int) -> Integers:
    """A fold for each of some documents; those with key words and others are spread evenly."""
    order = _shuffled(documents, mixed, seed)
    folds = np.empty(len(documents), np.int64)
    folds[order] = np.arange(len(order)) % count
    return folds


def _shuffled(documents: Integers, mixed: Flags, seed: int) -> Integers:
    """Places of documents in no order, those with key words and others first."""
    order = np.random.default_rng(seed).permutation(len(documents))
    return np.concatenate([order[mixed[documents[order]]], order[~mixed[documents[order]]]])


def _fit(x: Numbers, key: Flags, c: float) -> tuple[Floats, float]:
    """Weights and bias of a regression on standardised columns."""
    from sklearn.linear_model import LogisticRegression

    made = LogisticRegression(C=c, max_iter=500).fit(x, key)
    return made.coef_[0].astype(np.float64), float(made.intercept_[0])


class Learned(NamedTuple):
    """Regressions on ever more columns, up to all, and all columns in the order in which they were kept longest."""

    fitted: list[Fitted]
    order: list[int]


def learn(x: Numbers, part: Part, documents: Integers, seed: int, steps: Sequence[int] = ()) -> Learned:
    """Regressions on the words of some documents: on all columns, and on as many as each of ``steps`` says, those
    that have the greatest weights in the regression before."""
    rows = rows_of(part, documents)
    taken, key = x[rows], part.key[rows]
    mean, scale = taken.mean(0, dtype=np.float64), taken.std(0, dtype=np.float64)
    scale[scale == 0] = 1.0
    taken -= mean.astype(np.float32)
    taken /= scale.astype(np.float32)
    strength = _chosen_strength(taken, key, part, documents, seed)

    def made(columns: Sequence[int], weights: Floats, bias: float) -> Fitted:
        used = list(columns)
        threshold = best_threshold(np.asarray(taken[:, used] @ weights.astype(np.float32) + bias, np.float64), key)
        return Fitted(tuple(used), mean[used], scale[used], weights, bias, threshold, strength)

    every = taken.shape[1]
    order = list(range(every))
    fitted = []
    for step in sorted({*(step for step in steps if step < every), every}, reverse=True):
        some = sorted(order[:step])
        weights, bias = _fit(taken if step == every else np.ascontiguousarray(taken[:, some]), key, strength)
        fitted.append(made(some, weights, bias))
        order[:step] = [some[number] for number in np.argsort(-np.abs(weights), kind="stable")]
    return Learned(fitted[::-1], order)


def _chosen_strength(x: Numbers, key: Flags, part: Part, documents: Integers, seed: int) -> float:
    """The C whose regression has the least cross-entropy on inner folds that it has not seen; 1 where there are too
    few documents to divide. The rows are those of the documents, in their order."""
    sizes = np.diff(part.starts)[documents]
    edges = np.concatenate([[0], np.cumsum(sizes)])
    order = _shuffled(documents, part.mixed, seed)
    enough = int(np.searchsorted(np.cumsum(sizes[order]), INNER_WORDS)) + 1
    drawn = order[: max(enough, INNER)]
    count = min(INNER, int(part.mixed[documents[drawn]].sum()))
    if count < 2:
        return 1.0
    inner = folds_of(documents[drawn], part.mixed, count, seed)
    folds = np.repeat(inner, sizes[drawn])
    rows = np.concatenate([np.arange(edges[number], edges[number + 1]) for number in drawn])
    losses = np.zeros(len(STRENGTHS))
    for fold in range(count):
        train, held = rows[folds != fold], rows[folds == fold]
        for number, strength in enumerate(STRENGTHS):
            weights, bias = _fit(x[train], key[train], strength * len(x) / len(train))
            scores = x[held] @ weights.astype(np.float32) + bias
            losses[number] += np.logaddexp(0, np.where(key[held], -scores, scores)).sum()
    return STRENGTHS[int(losses.argmin())]


def cross_validated(
    x: Numbers, part: Part, folds: int, steps: Sequence[int], seed: int, say: Say = lambda _: None
) -> Iterator[tuple[Integers, Learned]]:
    """Of each outer fold: its documents, and the regressions that have not seen them."""
    every = np.arange(len(part.documents))
    fold_of = folds_of(every, part.mixed, folds, seed)
    for fold in range(folds):
        say(f"regression: fold {fold + 1} of {folds}")
        yield every[fold_of == fold], learn(x, part, every[fold_of != fold], seed, steps=steps)


def rows_of(part: Part, documents: Integers) -> Integers:
    """The words of some documents."""
    if not len(documents):
        return np.zeros(0, np.int64)
    return np.concatenate([np.arange(part.starts[one], part.starts[one + 1]) for one in documents])


def word_scores(part: Part, scores: Floats, found: Flags) -> dict[str, Any]:
    """How well words are told apart: F1 over all words with what it is made of, and the mean AUC within documents."""
    counted = np.stack([part.key & found, found, part.key], 1).astype(np.float64)
    per_document = np.add.reduceat(counted, part.starts[:-1], axis=0)
    f1, low, high = micro(per_document)
    common, marked, key = per_document.sum(0)
    within = auc_within(scores[:, None], part.key, part.starts)[part.mixed]
    auc, auc_low, auc_high = (known(end[0]) for end in mean_and_interval(within, (0.0, 1.0)))
    return {
        "f1": f1, "low": low, "high": high, "precision": float(common / marked) if marked else 0.0,
        "recall": float(common / key), "auc": auc, "auc_low": auc_low, "auc_high": auc_high,
        "n": len(per_document),
    }  # fmt: skip
