"""What the norms study wants to know of a batch before the model runs: pairs to look at, and the words of each text.

*Pairs* of a query and a key are drawn evenly from all visible pairs of the corpus, by class of key and over all
classes, so that weights and lengths can be shown and correlated across texts. Every pair has a random number of its
own, which belongs to the text and the seed; those with the smallest are kept (:class:`attlas.stats.Drawn`). Of the M
numbers of a text only its smallest few are ever made: the smallest of M even numbers has a known distribution, and so
has each one after it.

*Words* of a text, each form once, have a frequency in the corpus, and a vector whose length is the mean over their
pieces.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from torch import Tensor

from attlas.measures.quantities import CLASSES
from attlas.models import Side, onto
from attlas.studies.shared.piece_classes import PUNCTUATION, padded
from attlas.tasks import text_seed
from attlas.text import Document, Passage

CELLS = (*CLASSES, "all")
OF_A_TEXT = 40


@dataclass(frozen=True)
class DrawnPairs:
    """Pairs of a batch: ``pairs`` (batch, P, 2) of query and key, places in the padded tensor; and for each which
    are real, its cell (a class of key, or all), its random number, and its place as (text, query, key)."""

    pairs: Tensor
    real: NDArray[np.bool_]
    cells: NDArray[np.int64]
    draws: NDArray[np.float64]
    places: NDArray[np.int64]


def pairs_by_class(
    queries: Side, keys: Side, kinds: NDArray[np.int16], passages: Sequence[Passage], *, causal: bool, seed: int
) -> DrawnPairs:
    """Draw pairs of every class of key and of all, at most 40 of each from one text; ``kinds`` are the numbers of the
    keys' classes."""
    drawn = []
    sides = (queries.encoded, keys.encoded, queries.starts, keys.starts, passages)
    for row, (q, k, q_start, k_start, passage) in enumerate(zip(*sides, strict=True)):
        number = text_seed(passage, seed)
        generator = np.random.default_rng([number, 1])
        of_text = kinds[row, k_start : k_start + k.length]
        by_cell = []
        for cell in range(len(CELLS)):
            columns = np.flatnonzero(of_text == cell) if cell < len(CLASSES) else np.arange(k.length)
            i, j, draws = _draw(generator, q.length, columns, causal)
            place = np.stack([np.full(len(i), number >> 1), i, j], 1)
            by_cell.append((np.stack([i + q_start, j + k_start], 1), np.full(len(i), cell), draws, place))
        drawn.append([np.concatenate(part) for part in zip(*by_cell, strict=True)])
    real = padded([np.ones(len(text[0]), bool) for text in drawn])
    pairs, cells, draws, places = (padded(part) for part in zip(*drawn, strict=True))
    return DrawnPairs(onto(pairs.astype(np.int64), queries.real.device), real, cells, draws, places)


def _draw(
    generator: np.random.Generator, queries: int, columns: NDArray[np.int64], causal: bool
) -> tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.float64]]:
    """Some of the visible pairs of these keys: queries, keys, and their numbers, the smallest of all such pairs."""
    seen = queries - columns if causal else np.full(len(columns), queries)
    ends = np.cumsum(seen)
    total = int(ends[-1]) if len(ends) else 0
    count = min(OF_A_TEXT, total)
    chosen = generator.choice(total, count, replace=False) if count else np.zeros(0, np.int64)
    column = np.searchsorted(ends, chosen, side="right")
    j = columns[column]
    i = chosen - (ends[column] - seen[column]) + (j if causal else 0)
    # The next larger of n even numbers above v is 1 - (1 - v) r^(1/n), with r even between 0 and 1.
    left = total - np.arange(count)
    draws = -np.expm1(np.cumsum(np.log(generator.random(count)) / left))
    return i.astype(np.int64), j.astype(np.int64), draws


@dataclass(frozen=True)
class WordMarks:
    """The words of each text of a batch, each form once: ``group`` (batch, key, word) takes the mean over a word's
    pieces; ``rank`` is its frequency rank, the same for all that occur equally often; ``real`` tells which there
    are, ``plain`` which of these are no periods or commas; all (batch, word)."""

    group: Tensor
    rank: Tensor
    real: Tensor
    plain: Tensor


def words_of(side: Side, texts: Sequence[Sequence[Document]], ranks: Mapping[str, float]) -> WordMarks:
    """The words of one side of a batch; ``texts`` are the documents behind each of its sequences."""
    places_of: list[dict[str, list[int]]] = []
    for encoded, documents, start in zip(side.encoded, texts, side.starts, strict=True):
        forms = [form.lower() for document in documents for form in document.forms]
        pieces: dict[str, list[int]] = {}
        for piece, word in enumerate(encoded.segmentation.words):
            if word >= 0:
                pieces.setdefault(forms[word], []).append(start + piece)
        places_of.append(pieces)
    size, width = side.real.shape
    most = max(map(len, places_of), default=0)
    group = np.zeros((size, width, most), np.float32)
    rank, real, plain = np.zeros((size, most)), np.zeros((size, most), bool), np.zeros((size, most), bool)
    for row, pieces in enumerate(places_of):
        for number, (form, places) in enumerate(pieces.items()):
            group[row, places, number] = 1 / len(places)
            rank[row, number] = ranks.get(form, len(ranks) + 1)
            real[row, number], plain[row, number] = True, form not in PUNCTUATION
    return WordMarks(*(onto(array, side.real.device) for array in (group, rank, real, plain)))
