"""What each piece of a batch is, as tensors: its class, its part of speech, its frequency, and the edges it is on.

Attention statistics need to know of every key whether it is [CLS], [SEP], a period or comma, or anything else,
which part of speech its word has, how frequent that word is, and which other pieces its word depends on. All of it
comes from the examples' segmentation and annotation; nothing here knows of models.

The first piece is a class of its own wherever it is not a [CLS]: causal models rest their attention there. For
parts of speech and edges it is set aside as a key, as are all special pieces.

All texts of a batch are marked at once: their pieces, and their words, lie one behind the other in arrays, and what
is spelled alike is looked at once. So it keeps up with a GPU, for which it is done ahead of time.
"""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain, repeat
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from attlas.measures.quantities import CLASSES, NEAREST, RANKS, SINK_PIECES
from attlas.models import Batch, Encoded, Example, Side, onto
from attlas.tasks import text_seed
from attlas.text import ROOT, Document, Passage

PUNCTUATION = frozenset(".,。，、،")
DRAWN_KEYS = 64
UP, DOWN = 1, 2  # the way of an edge, from dependent to governor and back


@dataclass(frozen=True)
class Marks:
    """Marks of one side of a batch; the piece axis is that of the padded tensor.

    ``real`` (batch, piece) is false for padding; ``classes`` (batch, piece, 5), ``tags`` and ``bands`` (batch, piece,
    tags or frequency bands) have a one where a piece is of that kind; ``words`` (batch, piece) is true for pieces of
    words, but for the first piece. ``kinds`` has the number of each piece's class, -1 for padding, on the host."""

    real: Tensor
    classes: Tensor
    words: Tensor
    tags: Tensor
    bands: Tensor
    kinds: NDArray[np.int64]

    @property
    def present(self) -> NDArray[np.bool_]:
        """Which classes there are in any text."""
        return np.bincount(self.kinds.ravel() + 1, minlength=len(CLASSES) + 1)[1:] > 0


@dataclass(frozen=True)
class Edges:
    """Pairs of pieces whose words are joined by a dependency edge, (batch, P, 2), padded with zeros.

    ``to_governor`` and ``to_dependent`` mark the direction of each pair (batch, P); ``governed`` and ``governing``
    mark the pieces that have a governor, or a dependent, in the passage (batch, piece)."""

    pairs: Tensor
    to_governor: Tensor
    to_dependent: Tensor
    governed: Tensor
    governing: Tensor


def word_ranks(documents: Iterable[Document]) -> dict[str, int]:
    """Rank of every word form of a corpus by frequency, from 1; ties in order of the alphabet.

    >>> word_ranks([Document.from_text("the cat saw the dog")])["the"]
    1
    """
    counts = Counter(form.lower() for document in documents for form in document.forms)
    ordered = sorted(counts, key=lambda form: (-counts[form], form))
    return {form: rank for rank, form in enumerate(ordered, start=1)}


@dataclass(frozen=True)
class Frequencies:
    """How frequent the words of a corpus are: ``ranks`` counted through, as bands need them, and ``shared`` ranks,
    the same for all words that occur equally often.

    >>> known = Frequencies.of([Document.from_text("the cat saw the dog")])
    >>> known.ranks["saw"], known.shared["saw"], known.shared["the"]
    (4, 3.0, 1.0)
    """

    ranks: Mapping[str, int]
    shared: Mapping[str, float]

    @classmethod
    def of(cls, documents: Sequence[Document]) -> Frequencies:
        """The frequencies of the words of these documents."""
        ranks = word_ranks(documents)
        counts = Counter(form.lower() for document in documents for form in document.forms)
        equals: dict[int, list[int]] = {}
        for form, rank in ranks.items():
            equals.setdefault(counts[form], []).append(rank)
        mean = {count: sum(ranked) / len(ranked) for count, ranked in equals.items()}
        return cls(ranks, {form: mean[counts[form]] for form in ranks})


def tags_of(documents: Iterable[Document]) -> tuple[str, ...]:
    """The parts of speech of a corpus: universal ones where it has them, else its own.

    >>> tags_of([Document.from_words(["a", "b"], upos=["DET", "NOUN"])])
    ('DET', 'NOUN')
    """
    return tuple(sorted({tag for document in documents for tag in _tags(document) or ()}))


def _tags(document: Document) -> tuple[str, ...] | None:
    return document.upos if document.upos is not None else document.xpos


def texts_of(batch: Batch, side: Side, examples: Sequence[Example], translating: bool) -> list[Sequence[Document]]:
    """The documents behind each sequence of a side: a pair is one sequence, a translation two."""
    if not translating:
        return [example.passage.documents for example in examples]
    place = 1 if side is batch.target else 0
    return [example.passage.documents[place : place + 1] for example in examples]


def mark(side: Side, passages: Sequence[Sequence[Document]], tags: Sequence[str], ranks: Mapping[str, int]) -> Marks:
    """Mark the pieces of one side; ``passages`` are the documents behind each of its sequences."""
    laid = _Laid.of(side, passages)
    number = {tag: index for index, tag in enumerate(tags)}
    labels = (tag for documents in passages for document in documents
              for tag in _tags(document) or ("",) * len(document.words))  # fmt: skip
    forms = (form.lower() for documents in passages for document in documents for form in document.forms)
    tag_of = np.fromiter((number.get(tag, -1) for tag in labels), np.int64, laid.words)
    rank_of = np.fromiter(map(ranks.get, forms, repeat(len(ranks) + 1)), np.int64, laid.words)
    band_of = np.searchsorted(_LASTS, rank_of)
    kinds, tagged, bands = (np.full(side.real.shape, -1) for _ in range(3))
    words = np.zeros(side.real.shape, bool)
    inside = laid.word >= 0
    later = inside & (laid.offset > 0)
    kinds[laid.row, laid.place] = _kinds(side.encoded, laid.offset)
    words[laid.row, laid.place] = later
    bands[laid.row[inside], laid.place[inside]] = band_of[laid.word[inside]]
    tagged[laid.row[later], laid.place[later]] = tag_of[laid.word[later]]
    device = side.real.device
    classes, tag_marks, band_marks = (
        (onto(codes, device)[..., None] == torch.arange(count, device=device)).float()
        for codes, count in ((kinds, len(CLASSES)), (tagged, len(tags)), (bands, len(RANKS)))
    )
    return Marks(side.real, classes, onto(words, device), tag_marks, band_marks, kinds)


_LASTS = np.array([last for _, last in RANKS if last is not None])
_ROLES = {"cls": CLASSES.index("cls"), "sep": CLASSES.index("sep"), "": -1}


@dataclass(frozen=True)
class _Laid:
    """The pieces of all texts one behind the other: of each its ``row`` in the batch, its ``offset`` in its text, its
    ``place`` in the padded tensor, and its ``word`` among the words of all texts, -1 where it belongs to none; how
    many ``words`` there are in all."""

    row: NDArray[np.int64]
    offset: NDArray[np.int64]
    place: NDArray[np.int64]
    word: NDArray[np.int64]
    words: int

    @classmethod
    def of(cls, side: Side, passages: Sequence[Sequence[Document]]) -> _Laid:
        segmentations = [encoded.segmentation for encoded in side.encoded]
        counts = np.array([len(segmentation.pieces) for segmentation in segmentations], dtype=np.int64)
        row, total = np.repeat(np.arange(len(counts)), counts), int(counts.sum())
        offset = np.arange(total) - np.repeat(np.cumsum(counts) - counts, counts)
        owned = np.array([sum(len(document.words) for document in documents) for documents in passages], np.int64)
        before = np.cumsum(owned) - owned
        word = np.fromiter(chain.from_iterable(s.words for s in segmentations), np.int64, total)
        place = offset + np.array(side.starts, np.int64)[row]
        return cls(row, offset, place, np.where(word >= 0, word + before[row], -1), int(owned.sum()))


def _kinds(encoded: Sequence[Encoded], offset: NDArray[np.int64]) -> NDArray[np.int64]:
    """The number of each piece's class, of pieces one behind the other: by its role, if it is the first of its text,
    and else by whether it is a period or comma."""
    texts = [text for one in encoded for text in one.segmentation.pieces]
    marks = {text for text in set(texts) if text.strip() in PUNCTUATION}
    pointed = np.fromiter(map(marks.__contains__, texts), bool, len(texts))
    other = CLASSES.index("other")
    roles = chain.from_iterable(one.roles for one in encoded)
    role = np.fromiter(map(_ROLES.get, roles, repeat(other)), np.int64, len(texts))
    kinds = np.where(role >= 0, role, np.where(pointed, CLASSES.index("punctuation"), other))
    return np.where((offset == 0) & ~np.isin(role, (_ROLES["cls"], _ROLES["sep"])), CLASSES.index("first"), kinds)


def mark_edges(side: Side, passages: Sequence[Sequence[Document]]) -> Edges:
    """Find the pairs of pieces that lie on dependency edges, both directions, the first piece set aside as a key."""
    laid = _Laid.of(side, passages)
    size, width = side.real.shape
    dependent, governor = _dependencies(passages)
    pieces = np.flatnonzero(laid.word >= 0)
    pieces = pieces[np.argsort(laid.word[pieces], kind="stable")]  # word by word
    count = np.bincount(laid.word[pieces], minlength=laid.words)
    first = np.cumsum(count) - count
    of_governor = count[governor]
    met = count[dependent] * of_governor  # pairs of each edge: every piece of one word with every one of the other
    edge = np.repeat(np.arange(len(met)), met)
    at = np.arange(len(edge)) - np.repeat(np.cumsum(met) - met, met)
    down = pieces[first[dependent[edge]] + at // np.maximum(of_governor[edge], 1)]
    up = pieces[first[governor[edge]] + at % np.maximum(of_governor[edge], 1)]
    governed, governing = np.zeros((size, width), bool), np.zeros((size, width), bool)
    governed[laid.row[down], laid.place[down]] = True
    governing[laid.row[up], laid.place[up]] = True
    upward, downward = laid.offset[up] > 0, laid.offset[down] > 0
    query, key = (np.concatenate([one[upward], other[downward]]) for one, other in ((down, up), (up, down)))
    way = np.repeat([UP, DOWN], [upward.sum(), downward.sum()])
    order = np.lexsort((way, np.concatenate([edge[upward], edge[downward]])))
    query, key, way = query[order], key[order], way[order]
    row = laid.row[query]
    pairs_of = np.bincount(row, minlength=size)
    slot = np.arange(len(row)) - (np.cumsum(pairs_of) - pairs_of)[row]
    packed = np.zeros((size, int(pairs_of.max(initial=0)), 3), np.int64)
    packed[row, slot] = np.stack([laid.place[query], laid.place[key], way], -1)
    to_governor, to_dependent = ((packed[..., 2] == kind).astype(np.float32) for kind in (UP, DOWN))
    arrays = (packed[..., :2], to_governor, to_dependent, governed, governing)
    return Edges(*(onto(array, side.real.device) for array in arrays))


def _dependencies(passages: Sequence[Sequence[Document]]) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Dependents and governors of all texts, numbered among the words of all of them."""
    documents = [document for passage in passages for document in passage]
    sizes = np.array([len(document.words) for document in documents], dtype=np.int64)
    known = [document.governors or (None,) * len(document.words) for document in documents]
    given = (ROOT if governor is None else governor for governors in known for governor in governors)
    governors = np.fromiter(given, np.int64, int(sizes.sum()))
    dependent = np.flatnonzero(governors != ROOT)
    shift = np.repeat(np.cumsum(sizes) - sizes, sizes)
    return dependent, (governors + shift)[dependent]


def draw_pairs(
    queries: Side, keys: Side, passages: Sequence[Passage], *, causal: bool, seed: int
) -> tuple[Tensor, Tensor]:
    """For each passage every key once (at most 64), with a query drawn from those that may see it.

    Gives pairs (batch, P, 2) and which of them are real (batch, P). The draw depends on the seed and the text
    alone, not on the batch that a passage happens to be in. As every key comes once, there are no ties in what
    belongs to keys.
    """
    drawn = [
        _draw(q.length, k.length, text_seed(passage, seed), causal) + np.array([q_start, k_start])
        for q, k, q_start, k_start, passage in zip(
            queries.encoded, keys.encoded, queries.starts, keys.starts, passages, strict=True
        )
    ]
    real = padded([np.ones(len(of_text), bool) for of_text in drawn])
    return onto(padded(drawn), queries.real.device), onto(real, queries.real.device)


def padded(rows: Sequence[NDArray[Any]]) -> NDArray[Any]:
    """Arrays of unlike length in one, with zeros behind the shorter ones.

    >>> padded([np.array([1, 2]), np.array([3])]).tolist()
    [[1, 2], [3, 0]]
    """
    lengths = np.array(list(map(len, rows)))
    made = np.zeros((len(rows), int(lengths.max(initial=0)), *rows[0].shape[1:]), rows[0].dtype)
    made[np.arange(made.shape[1]) < lengths[:, None]] = np.concatenate(rows)
    return made


@dataclass(frozen=True)
class Copies:
    """Earlier occurrences of pieces: ``pairs`` (text, P, 2) of a query and a key, and ``kinds`` (text, P, 4), which
    of them are pairs of a piece and an *earlier* occurrence of it, of what stood *after* one, of that after one which
    the same piece stands before (*pair*), and of one of the first 64 queries of a text that is so long with its first
    key (*begin*). ``cases`` (text, 3) are how many queries of each text have any of the first three."""

    pairs: Tensor
    kinds: Tensor
    cases: Tensor


MOST_COPIES = 2048  # queries of a text that are asked about their copies, evenly spread


def mark_copies(side: Side) -> Copies:
    """The nearest earlier occurrences of every piece of text, eight at most, and what followed them; a piece does not
    follow itself. Of a long text a share of the pieces is asked.

    >>> from attlas.capture import load
    >>> batch = load().batch(["It rained, it rained."])
    >>> copies = mark_copies(batch.source)
    >>> [copies.pairs[0][copies.kinds[0, :, kind] > 0].tolist() for kind in (0, 1)]
    [[[4, 1], [5, 2]], [[4, 2], [5, 3]]]
    """
    rows, cases = [], np.zeros((len(side.encoded), 3), np.float32)
    for text, (encoded, start) in enumerate(zip(side.encoded, side.starts, strict=True)):
        places: dict[int, list[int]] = {}
        found: list[tuple[int, int, int, int, int, int]] = []
        special, ids = encoded.segmentation.special, encoded.ids
        step = -(-len(ids) // MOST_COPIES)
        for place, piece in enumerate(ids):
            if place < len(special) and special[place]:
                continue
            before = places.setdefault(piece, [])
            nearest = before[-NEAREST:] if place % step == 0 else []
            followed = [at + 1 for at in nearest if at + 1 < place]
            paired = {at for at in followed if at > 1 and ids[at - 2] == ids[place - 1]}
            found += [(place, at, 1, 0, 0, 0) for at in nearest]
            found += [(place, at, 0, 1, int(at in paired), 0) for at in followed]
            cases[text] += (bool(nearest), bool(followed), bool(paired))
            before.append(place)
        if len(ids) >= SINK_PIECES:
            found += [(place, 0, 0, 0, 0, 1) for place in range(SINK_PIECES)]
        rows.append(np.array(found, np.int64).reshape(-1, 6) + np.array([start, start, 0, 0, 0, 0]))
    packed, device = padded(rows), side.real.device
    return Copies(
        onto(packed[..., :2], device), onto(packed[..., 2:].astype(np.float32), device), onto(cases, device)
    )


def half_of(unit: int, seed: int) -> int:
    """Which half of the corpus a unit belongs to with all its passages, 1 or 2: of two units that follow each other a
    toss of a coin sends one to each half, the same every time.

    >>> [half_of(unit, 0) + half_of(unit + 1, 0) for unit in (0, 2, 4)]
    [3, 3, 3]
    """
    toss = hashlib.blake2b(f"{seed} {unit // 2}".encode(), digest_size=1).digest()[0]
    return 1 + (toss + unit) % 2


def _draw(queries: int, keys: int, seed: int, causal: bool) -> NDArray[np.int64]:
    generator = np.random.default_rng(seed)
    j = generator.permutation(keys)[:DRAWN_KEYS]
    i = generator.integers(j if causal else 0, queries, size=len(j))
    return np.stack([i, j], 1)
