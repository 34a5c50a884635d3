"""Phrases that were found, held against those that people gave, as the field does it.

Both are compared by their stems, whole phrase by whole phrase. F1 at k is of the first k phrases that were found; at
M of all of them. Phrases found, given and common to both are counted over all documents (micro-average, as EmbedRank
and its successors report it); the mean of the documents' own F1 (macro-average, as the literature on generating
phrases reports it) stands beside. Precision is over the phrases that were found, also where these are fewer than k.
``gold`` says which of the given phrases count: *all*, or those *present* in the text, which alone can be found.

Documents are the units of intervals (:mod:`attlas.stats.intervals`): both averages are ratios of sums over documents.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple, SupportsFloat

import numpy as np
from numpy.typing import NDArray

from attlas.stats import METRICS, estimate
from attlas.text import Document
from attlas.text.keyphrases import Stems, document_stems, given_phrases, places
from attlas.text.stems import Stem

GOLD = ("all", "present")
DEPTHS: tuple[int | None, ...] = (5, 10, None)  # None is M: all that were found
MICRO = METRICS["f1"]
Marks = NDArray[np.float64]
Rated = tuple[float, float | None, float | None]  # a score and its interval, which few documents do not have


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


def micro(counted: Marks) -> Rated:
    """F1 over all documents with its 95 % interval, from what was common, found and given in each.

    >>> [round(number, 2) for number in micro(np.array([[1.0, 2.0, 2.0], [2.0, 2.0, 2.0]] * 6))]
    [0.75, 0.57, 0.93]
    """
    return _ends(2 * counted[:, 0], counted[:, 1] + counted[:, 2])


def macro(counted: Marks) -> Rated:
    """The mean of documents' own F1; those without a phrase on either side do not count.

    >>> [round(number, 2) for number in macro(np.array([[1.0, 2.0, 2.0], [2.0, 2.0, 2.0]] * 6))]
    [0.75, 0.57, 0.93]
    """
    both = counted[:, 1] + counted[:, 2]
    return _ends(np.divide(2 * counted[:, 0], both, out=np.zeros(len(both)), where=both > 0), both > 0)


def _ends(sums: Marks, counts: Marks | NDArray[np.bool_]) -> Rated:
    """A ratio of sums over documents, between 0 and 1, with its interval; 0 where there is nothing to count."""
    value, _, low, high = estimate(sums, counts, (0.0, 1.0), hits=True)
    return float(np.nan_to_num(value)), known(low), known(high)


def known(number: SupportsFloat) -> float | None:
    """A number as a row of JSON has it: None where there is none.

    >>> known(np.float64(0.5)), known(np.nan)
    (0.5, None)
    """
    return float(number) if np.isfinite(float(number)) else None


def score_rows(
    found: Sequence[Sequence[Stems]], given: Sequence[Given], *, depths: Sequence[int | None] = DEPTHS
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
            scores = scores_of(marks(found, wanted, depth))
            rows.append({"at": "M" if depth is None else str(depth), "gold": gold, **scores})
    return rows


def scores_of(counted: Marks) -> dict[str, Any]:
    """Micro and macro F1 with their intervals, precision and recall, from what was common, found and given.

    >>> scores_of(np.array([[1.0, 2.0, 2.0]] * 9))["precision"]
    0.5
    """
    value, low, high = micro(counted)
    mean, mean_low, mean_high = macro(counted)
    common, some, every = (float(total) for total in counted.sum(0))
    return {
        "f1": value, "low": low, "high": high, "precision": common / some if some else 0.0,
        "recall": common / every if every else 0.0, "macro": mean, "macro_low": mean_low, "macro_high": mean_high,
        "n": len(counted),
    }  # fmt: skip
