"""The pieces of several texts, one behind the other in arrays.

Whoever wants to know something of every piece of a batch (its class, its word, where it came before) would go over
texts and pieces in loops, and a GPU would wait for that. Laid out so, all pieces of a batch are looked at together,
and what is found goes to its place in the padded tensor by one assignment.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import chain

import numpy as np
from numpy.typing import NDArray

from attlas.text import Segmentation


@dataclass(frozen=True)
class Laid:
    """Of each piece the ``row`` of its text in the batch, its ``offset`` in its text, its ``place`` in the padded
    tensor, and its ``word`` among the words of all texts, -1 where it belongs to none; how many pieces each text has
    (``counts``), and how many ``words`` there are in all.

    >>> s = Segmentation(("play", "##ing", "[SEP]"), (0, 0, -1), (0, 0, -1), 1)
    >>> laid = Laid.of([s, s], [0, 2])
    >>> laid.row.tolist(), laid.place.tolist(), laid.word.tolist()
    ([0, 0, 0, 1, 1, 1], [0, 1, 2, 2, 3, 4], [0, 0, -1, 1, 1, -1])
    """

    row: NDArray[np.int64]
    offset: NDArray[np.int64]
    place: NDArray[np.int64]
    word: NDArray[np.int64]
    counts: NDArray[np.int64]
    words: int

    @classmethod
    def of(cls, segmentations: Sequence[Segmentation], starts: Sequence[int]) -> Laid:
        """The pieces of these texts, each beginning at its start in the padded tensor.

        >>> Laid.of([], []).words
        0
        """
        counts = np.array([len(segmentation.words) for segmentation in segmentations], dtype=np.int64)
        owned = np.array([segmentation.word_count for segmentation in segmentations], dtype=np.int64)
        total = int(counts.sum())
        row = np.repeat(np.arange(len(counts)), counts)
        offset = np.arange(total) - np.repeat(np.cumsum(counts) - counts, counts)
        word = np.fromiter(chain.from_iterable(s.words for s in segmentations), np.int64, total)
        word[word >= 0] += np.repeat(np.cumsum(owned) - owned, counts)[word >= 0]
        place = offset + np.repeat(np.array(starts, dtype=np.int64), counts)
        return cls(row, offset, place, word, counts, int(owned.sum()))
