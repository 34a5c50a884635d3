"""Phrases that were found, held against those that people gave, as the field does it.

Both are compared by their stems, whole phrase by whole phrase. F1 at k is of the first k phrases that were found; at
M of all of them. Phrases found, given and common to both are counted over all documents (micro-average, as EmbedRank
and its successors report it); the mean of the documents' own F1 (macro-average, as the literature on generating
phrases reports it) stands beside. Precision is over the phrases that were found, also where these are fewer than k.
``gold`` says which of the given phrases count: *all*, or those *present* in the text, which alone can be found.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from attlas.stats import METRICS, Metric
from attlas.text import Document
from attlas.text.keyphrases import Stems, document_stems, given_phrases, places
from attlas.text.stems import Stem

GOLD = ("all", "present")
DEPTHS: tuple[int | None, ...] = (5, 10, None)  # None is M: all that were found
MICRO = METRICS["f1"]
MACRO = Metric("mean F1", "higher", ("F1", "texts"), lambda sums: np.asarray(sums[..., 0] / sums[..., 1]))
RESAMPLES = 1000
Marks = NDArray[np.float64]


class Given(NamedTuple):
    """The key phrases of a document: all, and those that stand in its text."""

    all: tuple[Stems, ...]
    present: tuple[Stems, ...]

    def of(self, gold: str) -> tuple[Stems, ...]:
        """Those that count."""
        return self.present if gold == "present" else self.all


def given_in(document: Document, stem: Stem | None = None) -> Given:
    """The phrases that were given to a document.

    >>> from dataclasses import replace
    >>> given_in(replace(Document.from_text("Solar cells age."), keyphrases=("cell", "moon")))
    Given(all=(('cell',), ('moon',)), present=(('cell',),))
    """
    every = given_phrases(document, stem)
    return Given(tuple(every), tuple(places(document_stems(document, stem), every)))


def marks(found: Sequence[Sequence[Stems]], given: Sequence[Sequence[Stems]], depth: int | None) -> Marks:
    """Per document: phrases common to both, found and given; what is found twice counts once.

    >>> marks([[("a",), ("b",), ("a",)]], [[("b",), ("c",)]], None).tolist()
    [[1.0, 2.0, 2.0]]
    """
    rows = np.zeros((len(found), 3))
    for row, (ranked, wanted) in enumerate(zip(found, given, strict=True)):
        first = list(dict.fromkeys(ranked))[:depth]
        rows[row] = len(set(first) & set(wanted)), len(first), len(wanted)
    return rows


def _macro(counted: Marks) -> Marks:
    """The same as F1 of each document, and 1; documents without a phrase on either side do not count."""
    both = counted[:, 1] + counted[:, 2]
    return np.stack([np.divide(2 * counted[:, 0], both, out=np.zeros(len(both)), where=both > 0), both > 0], 1)


def interval(metric: Metric, counted: Marks, seed: int = 0) -> tuple[float, float, float]:
    """A score with the middle 95 % of it over resampled documents."""
    low, high = np.nanquantile(metric.of(draws(len(counted), seed) @ counted), (0.025, 0.975))
    return float(metric.score(counted)), float(low), float(high)


@lru_cache(maxsize=4)
def draws(count: int, seed: int = 0) -> Marks:
    """How often each of so many documents is drawn, in each of :data:`RESAMPLES` resamples."""
    generator = np.random.default_rng(seed)
    return generator.multinomial(count, np.full(count, 1 / count), RESAMPLES).astype(np.float64)


def score_rows(
    found: Sequence[Sequence[Stems]], given: Sequence[Given], *, depths: Sequence[int | None] = DEPTHS, seed: int = 0
) -> list[dict[str, Any]]:
    """F1 at every depth and by either gold, with intervals: one row each.

    >>> row = score_rows([[("a",)]], [Given((("a",),), (("a",),))], depths=(5,))[0]
    >>> row["at"], row["gold"], row["f1"], row["macro"]
    ('5', 'all', 1.0, 1.0)
    """
    rows = []
    for gold in GOLD:
        wanted = [one.of(gold) for one in given]
        for depth in depths:
            scores = scores_of(marks(found, wanted, depth), seed)
            rows.append({"at": "M" if depth is None else str(depth), "gold": gold, **scores})
    return rows


def scores_of(counted: Marks, seed: int = 0) -> dict[str, Any]:
    """Micro and macro F1 with their intervals, precision and recall, from what was common, found and given.

    >>> scores_of(np.array([[1.0, 2.0, 2.0]] * 9))["precision"]
    0.5
    """
    value, low, high = interval(MICRO, counted, seed)
    mean, mean_low, mean_high = interval(MACRO, _macro(counted), seed)
    common, some, every = (float(total) for total in counted.sum(0))
    return {
        "f1": value, "low": low, "high": high, "precision": common / some if some else 0.0,
        "recall": common / every if every else 0.0, "macro": mean, "macro_low": mean_low, "macro_high": mean_high,
        "n": len(counted),
    }  # fmt: skip
