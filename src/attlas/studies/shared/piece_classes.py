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

from attlas.measures.quantities import CLASSES, COPIES, NEAREST, RANKS, SINK_PIECES
from attlas.models import Batch, Encoded, Example, Side, onto
from attlas.models.laid import Laid
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
    words, but for the first piece. On the host ``kinds`` has the number of each piece's class, -1 for padding, and
    ``present`` says which classes there are in any text."""

    real: Tensor
    classes: Tensor
    words: Tensor
    tags: Tensor
    bands: Tensor
    kinds: NDArray[np.int16]
    present: NDArray[np.bool_]


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
    laid, shape = side.laid, tuple(side.real.shape)
    documents = list(chain.from_iterable(passages))
    place = laid.row * shape[1] + laid.place
    codes = np.full((3, shape[0] * shape[1]), -1, np.int16)  # class, part of speech, frequency
    words = np.zeros(shape[0] * shape[1], bool)
    inside = laid.word >= 0
    later = inside & (laid.offset > 0)
    codes[0, place] = kinds = _kinds(side.encoded, laid.offset)
    words[place] = later
    codes[2, place[inside]] = _bands(documents, ranks, laid.words)[laid.word[inside]]
    if tags:
        codes[1, place[later]] = _tagged(documents, tags, laid.words)[laid.word[later]]
    device = side.real.device
    there = onto(np.concatenate([codes, words[None].astype(np.int16)]), device).view(4, *shape)
    classes, tag_marks, band_marks = (
        (there[which][..., None] == torch.arange(count, device=device)).float()
        for which, count in enumerate((len(CLASSES), len(tags), len(RANKS)))
    )
    present = np.bincount(kinds, minlength=len(CLASSES)) > 0
    return Marks(side.real, classes, there[3] > 0, tag_marks, band_marks, codes[0].reshape(shape), present)


_LASTS = np.array([last for _, last in RANKS if last is not None])
_ROLES = {"cls": CLASSES.index("cls"), "sep": CLASSES.index("sep"), "": -1}


def _tagged(documents: Sequence[Document], tags: Sequence[str], words: int) -> NDArray[np.int16]:
    """The number of each word's part of speech, of the words of all documents; -1 where it is none of these."""
    number = {tag: index for index, tag in enumerate(tags)}
    labels = chain.from_iterable(_tags(document) or ("",) * len(document.words) for document in documents)
    return np.fromiter(map(number.get, labels, repeat(-1)), np.int16, words)


def _bands(documents: Sequence[Document], ranks: Mapping[str, int], words: int) -> NDArray[np.int64]:
    """The frequency band of each word, of the words of all documents."""
    unknown = len(ranks) + 1
    rank_of = np.full(words, unknown)
    if ranks:
        forms = chain.from_iterable(map(_lower, documents))
        rank_of = np.fromiter(map(ranks.get, forms, repeat(unknown)), np.int64, words)
    return np.searchsorted(_LASTS, rank_of)


def _lower(document: Document) -> Iterable[str]:
    """The words of a document in small letters; letters of ASCII stay where they are, so these go all at once."""
    text = document.text
    if not text.isascii():
        return [form.lower() for form in document.forms]
    text = text.lower()
    return [text[start:stop] for start, stop in document.words]


def _kinds(encoded: Sequence[Encoded], offset: NDArray[np.int64]) -> NDArray[np.int16]:
    """The number of each piece's class, of pieces one behind the other: by its role, if it is the first of its text,
    and else by whether it is a period or comma."""
    texts = list(chain.from_iterable(one.segmentation.pieces for one in encoded))
    marks = {text for text in set(texts) if text.strip() in PUNCTUATION}
    pointed = np.fromiter(map(marks.__contains__, texts), bool, len(texts))
    other = CLASSES.index("other")
    roles = chain.from_iterable(one.roles for one in encoded)
    role = np.fromiter(map(_ROLES.get, roles, repeat(other)), np.int16, len(texts))
    kinds = np.where(role >= 0, role, np.where(pointed, CLASSES.index("punctuation"), other))
    first = (offset == 0) & (role != _ROLES["cls"]) & (role != _ROLES["sep"])
    return np.where(first, CLASSES.index("first"), kinds).astype(np.int16)


def mark_edges(side: Side, passages: Sequence[Sequence[Document]]) -> Edges:
    """Find the pairs of pieces that lie on dependency edges, both directions, the first piece set aside as a key."""
    laid = side.laid
    size, width = side.real.shape
    dependent, governor = _dependencies(passages)
    pieces = np.flatnonzero(laid.word >= 0)
    owners = laid.word[pieces]
    if (owners[1:] < owners[:-1]).any():  # word by word
        pieces = pieces[np.argsort(owners, kind="stable")]
    count = np.bincount(owners, minlength=laid.words)
    first = np.cumsum(count) - count
    of_governor = count[governor]
    met = count[dependent] * of_governor  # pairs of each edge: every piece of one word with every one of the other
    edge = np.repeat(np.arange(len(met)), met)
    at = np.arange(len(edge)) - np.repeat(np.cumsum(met) - met, met)
    down, along = np.divmod(at, of_governor[edge])
    down, up = pieces[first[dependent[edge]] + down], pieces[first[governor[edge]] + along]
    place = laid.row * width + laid.place
    governed, governing = np.zeros(size * width, bool), np.zeros(size * width, bool)
    governed[place[down]] = True
    governing[place[up]] = True
    # Pairs edge by edge, of each first those that lead up, then those that lead down.
    kept = np.stack([laid.offset[up] > 0, laid.offset[down] > 0])
    begins = np.concatenate([[0], np.cumsum(met)])
    before = np.concatenate([np.zeros((2, 1), np.int64), np.cumsum(kept, 1)], 1)
    way = before[:, begins]  # how many of either way there are before each edge
    slot = before[:, :-1] + np.stack([way[1, :-1][edge], way[0, 1:][edge]])
    total = int(kept.sum())
    query, key, kind = (np.empty(total, np.int64) for _ in range(3))
    for which, (one, other) in enumerate(((down, up), (up, down))):
        into = slot[which][kept[which]]
        query[into], key[into], kind[into] = one[kept[which]], other[kept[which]], (UP, DOWN)[which]
    row = laid.row[query]
    pairs_of = np.bincount(row, minlength=size)
    number = np.arange(total) - (np.cumsum(pairs_of) - pairs_of)[row]
    packed = np.zeros((size, int(pairs_of.max(initial=0)), 3), np.int64)
    packed[row, number] = np.stack([laid.place[query], laid.place[key], kind], -1)
    device = side.real.device
    there, ends = onto(packed, device), onto(np.stack([governed, governing]), device).view(2, size, width)
    to_governor, to_dependent = ((there[..., 2] == kind).float() for kind in (UP, DOWN))
    return Edges(there[..., :2], to_governor, to_dependent, ends[0], ends[1])


def _dependencies(passages: Sequence[Sequence[Document]]) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Dependents and governors of all texts, numbered among the words of all of them."""
    documents = [document for passage in passages for document in passage]
    sizes = np.array([len(document.words) for document in documents], dtype=np.int64)
    governors = governors_of(documents)
    dependent = np.flatnonzero(governors != ROOT)
    shift = np.repeat(np.cumsum(sizes) - sizes, sizes)
    return dependent, (governors + shift)[dependent]


def governors_of(documents: Sequence[Document]) -> NDArray[np.int64]:
    """The governors of the words of all documents, each numbered in its own; ROOT where there is none that is known.

    >>> governors_of([Document.from_words(["It", "rained"], governors=[1, None])]).tolist()
    [1, -1]
    """
    known = chain.from_iterable(document.governors or (None,) * len(document.words) for document in documents)
    given = np.fromiter(known, np.float64)  # which has a number for None
    return np.where(np.isnan(given), ROOT, given).astype(np.int64)


def draw_pairs(
    queries: Side, keys: Side, passages: Sequence[Passage], *, causal: bool, seed: int
) -> tuple[Tensor, Tensor]:
    """For each passage every key once (at most 64), with a query drawn from those that may see it.

    Gives pairs (batch, P, 2) and which of them are real (batch, P). The draw depends on the seed and the text
    alone, not on the batch that a passage happens to be in. As every key comes once, there are no ties in what
    belongs to keys.
    """
    generator = np.random.Generator(np.random.PCG64(0))
    sizes = np.array([min(one.length, DRAWN_KEYS) for one in keys.encoded])
    drawn = np.zeros((len(sizes), int(sizes.max(initial=0)), 2), np.int64)
    texts = zip(queries.encoded, keys.encoded, queries.starts, keys.starts, passages, strict=True)
    for text, (q, k, q_start, k_start, passage) in enumerate(texts):
        generator.bit_generator.state = np.random.PCG64(text_seed(passage, seed)).state
        j = generator.permutation(k.length)[:DRAWN_KEYS]
        i = generator.integers(j if causal else 0, q.length, size=len(j))
        drawn[text, : len(j), 0], drawn[text, : len(j), 1] = i + q_start, j + k_start
    real = np.arange(drawn.shape[1]) < sizes[:, None]
    return onto(drawn, queries.real.device), onto(real, queries.real.device)


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
    laid, size = side.laid, len(side.encoded)
    of_text = np.fromiter(chain.from_iterable(one.segmentation.documents for one in side.encoded), np.int64) >= 0
    ids = np.fromiter(chain.from_iterable(one.ids for one in side.encoded), np.int64, len(of_text))
    before = _occurrences(laid, ids, of_text)
    query = np.flatnonzero((before >= 0).any(1))
    before = before[query]
    known = before >= 0
    followed = known & (before + 1 < query[:, None])
    # a pair: what stands before the earlier piece is what stands before the query
    offset = laid.offset[before]
    paired = followed & (offset > 0) & (ids[before - 1] == ids[query - 1][:, None])
    cases = np.zeros((size, len(COPIES)), np.float32)
    for kind, found in enumerate((known, followed, paired)):
        cases[:, kind] = np.bincount(laid.row[query[found.any(1)]], minlength=size)
    # Of each query first its earlier occurrences, then what followed them; behind all the first piece of its text.
    there = np.concatenate([known, followed], 1)
    which, column = np.nonzero(there)
    after = column >= NEAREST
    row = laid.row[query[which]]
    pairs_of = np.bincount(row, minlength=size)
    number = np.arange(len(row)) - (np.cumsum(pairs_of) - pairs_of)[row]
    long = np.flatnonzero(laid.counts >= SINK_PIECES)
    width = int((pairs_of + SINK_PIECES * (laid.counts >= SINK_PIECES)).max(initial=0))
    pairs, kinds = np.zeros((size, width, 2), np.int64), np.zeros((size, width, 4), np.float32)
    column = column % NEAREST
    pairs[row, number, 0] = laid.place[query[which]]
    pairs[row, number, 1] = laid.place[before[which, column]] + after
    kinds[row, number, 0], kinds[row, number, 1] = ~after, after
    kinds[row, number, 2] = after & paired[which, column]
    begin = pairs_of[long, None] + np.arange(SINK_PIECES)
    starts = np.array(side.starts, np.int64)[long, None]
    pairs[long[:, None], begin, 0], pairs[long[:, None], begin, 1] = starts + np.arange(SINK_PIECES), starts
    kinds[long[:, None], begin, 3] = 1
    device = side.real.device
    return Copies(onto(pairs, device), onto(kinds, device), onto(cases, device))


def _occurrences(laid: Laid, ids: NDArray[np.int64], of_text: NDArray[np.bool_]) -> NDArray[np.int32]:
    """The nearest earlier occurrences of every piece in its text, (piece, NEAREST), the farthest first, -1 where
    there are fewer; of special pieces, and of those that are not asked in a long text, none."""
    found = np.full((len(ids), NEAREST), -1, np.int32)
    texts = np.flatnonzero(of_text)
    if not len(texts):
        return found
    alike = laid.row[texts] * (int(ids.max()) + 1) + ids[texts]
    order = np.sort(alike * len(ids) + texts)  # by text and piece, each in the order of the text
    alike, at = np.divmod(order, len(ids))
    step = -(-laid.counts // MOST_COPIES)
    asked = np.flatnonzero(laid.offset[at] % step[laid.row[at]] == 0)
    for back in range(1, NEAREST + 1):
        asked = asked[asked >= back]
        asked = asked[alike[asked - back] == alike[asked]]  # who has none so far back has none farther
        found[at[asked], NEAREST - back] = at[asked - back]
    return found


def half_of(unit: int, seed: int) -> int:
    """Which half of the corpus a unit belongs to with all its passages, 1 or 2: of two units that follow each other a
    toss of a coin sends one to each half, the same every time.

    >>> [half_of(unit, 0) + half_of(unit + 1, 0) for unit in (0, 2, 4)]
    [3, 3, 3]
    """
    toss = hashlib.blake2b(f"{seed} {unit // 2}".encode(), digest_size=1).digest()[0]
    return 1 + (toss + unit) % 2
