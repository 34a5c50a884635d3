"""What each piece of a batch is, as tensors: its class, its part of speech, its frequency, and the edges it is on.

Attention statistics need to know of every key whether it is [CLS], [SEP], a period or comma, or anything else,
which part of speech its word has, how frequent that word is, and which other pieces its word depends on. All of it
comes from the examples' segmentation and annotation; nothing here knows of models.

The first piece is a class of its own wherever it is not a [CLS]: causal models rest their attention there. For
parts of speech and edges it is set aside as a key, as are all special pieces.
"""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from attlas.measures.quantities import CLASSES, NEAREST, RANKS, SINK_PIECES
from attlas.models import Batch, Encoded, Example, Side
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
    words, but for the first piece."""

    real: Tensor
    classes: Tensor
    words: Tensor
    tags: Tensor
    bands: Tensor


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
    width = side.real.shape[1]
    size = len(side.encoded)
    classes = np.zeros((size, width, len(CLASSES)), np.float32)
    words = np.zeros((size, width), bool)
    tagged = np.zeros((size, width, len(tags)), np.float32)
    bands = np.zeros((size, width, len(RANKS)), np.float32)
    number = {tag: index for index, tag in enumerate(tags)}
    for row, (encoded, documents, start) in enumerate(zip(side.encoded, passages, side.starts, strict=True)):
        forms = [form for document in documents for form in document.forms]
        labels = [tag for document in documents for tag in _tags(document) or ("",) * len(document.words)]
        for piece, (text, word, role) in enumerate(_pieces(encoded)):
            place = start + piece
            classes[row, place, CLASSES.index(_class(text, role, piece))] = 1
            if word < 0:
                continue
            bands[row, place, _band(ranks.get(forms[word].lower(), len(ranks) + 1))] = 1
            if piece:
                words[row, place] = True
                if labels[word] in number:
                    tagged[row, place, number[labels[word]]] = 1
    device = side.real.device
    return Marks(side.real, *(torch.from_numpy(array).to(device) for array in (classes, words, tagged, bands)))


def _pieces(encoded: Encoded) -> Iterable[tuple[str, int, str]]:
    return zip(encoded.segmentation.pieces, encoded.segmentation.words, encoded.roles, strict=True)


def _class(text: str, role: str, piece: int) -> str:
    if role in ("cls", "sep"):
        return role
    if piece == 0:
        return "first"
    return "punctuation" if not role and text.strip() in PUNCTUATION and text.strip() else "other"


def _band(rank: int) -> int:
    return next(index for index, (_, last) in enumerate(RANKS) if last is None or rank <= last)


def mark_edges(side: Side, passages: Sequence[Sequence[Document]]) -> Edges:
    """Find the pairs of pieces that lie on dependency edges, both directions, the first piece set aside as a key."""
    size, width = side.real.shape
    on_edges: list[list[tuple[int, int, int]]] = []
    governed, governing = np.zeros((size, width), bool), np.zeros((size, width), bool)
    for row, (encoded, documents, start) in enumerate(zip(side.encoded, passages, side.starts, strict=True)):
        pieces: dict[int, list[int]] = {}
        for piece, word in enumerate(encoded.segmentation.words):
            if word >= 0:
                pieces.setdefault(word, []).append(start + piece)
        pairs: list[tuple[int, int, int]] = []
        for dependent, governor in _dependencies(documents):
            down, up = pieces.get(dependent, []), pieces.get(governor, [])
            if not down or not up:
                continue
            governed[row, down] = governing[row, up] = True
            pairs += [(i, j, UP) for i in down for j in up if j != start]
            pairs += [(j, i, DOWN) for i in down for j in up if i != start]
        on_edges.append(pairs)
    packed = padded([np.array(pairs, np.int64).reshape(-1, 3) for pairs in on_edges])
    upward, downward = ((packed[..., 2] == way).astype(np.float32) for way in (UP, DOWN))
    device = side.real.device
    return Edges(*(torch.from_numpy(a).to(device) for a in (packed[..., :2], upward, downward, governed, governing)))


def _dependencies(documents: Sequence[Document]) -> Iterable[tuple[int, int]]:
    """(dependent, governor) of all documents of a passage; words of a second one count on from the first."""
    shift = 0
    for document in documents:
        for dependent, governor in enumerate(document.governors or ()):
            if governor is not None and governor != ROOT:
                yield dependent + shift, governor + shift
        shift += len(document.words)


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
    return torch.from_numpy(padded(drawn)).to(queries.real.device), torch.from_numpy(real).to(queries.real.device)


def padded(rows: Sequence[NDArray[Any]]) -> NDArray[Any]:
    """Arrays of unlike length in one, with zeros behind the shorter ones.

    >>> padded([np.array([1, 2]), np.array([3])]).tolist()
    [[1, 2], [3, 0]]
    """
    longest = max(map(len, rows), default=0)
    return np.stack([np.pad(row, [(0, longest - len(row))] + [(0, 0)] * (row.ndim - 1)) for row in rows])


@dataclass(frozen=True)
class Copies:
    """Earlier occurrences of pieces: ``pairs`` (text, P, 2) of a query and a key, which of them are real pairs of a
    piece and an ``earlier`` occurrence of it, of what stood ``after`` one, or after one that the same piece stands
    before (``pair``), (text, P) each, and how many queries of each text have one, (text,) each. ``begin`` are the
    pairs of the first 64 queries of a text with its first key, in texts that are so long."""

    pairs: Tensor
    earlier: Tensor
    after: Tensor
    pair: Tensor
    begin: Tensor
    seen: Tensor
    followed: Tensor
    paired: Tensor


def mark_copies(side: Side) -> Copies:
    """The nearest earlier occurrences of every piece of text, eight at most, and what followed them; a piece does not
    follow itself.

    >>> from attlas.capture import load
    >>> batch = load().batch(["It rained, it rained."])
    >>> copies = mark_copies(batch.source)
    >>> copies.pairs[0][copies.earlier[0] > 0].tolist(), copies.pairs[0][copies.after[0] > 0].tolist()
    ([[4, 1], [5, 2]], [[4, 2], [5, 3]])
    """
    rows: list[list[tuple[int, int, str]]] = []
    for encoded, start in zip(side.encoded, side.starts, strict=True):
        places: dict[int, list[int]] = {}
        found: list[tuple[int, int, str]] = []
        special = encoded.segmentation.special
        for place, piece in enumerate(encoded.ids):
            if place < len(special) and special[place]:
                continue
            before = places.setdefault(piece, [])
            for earlier in before[-NEAREST:]:
                found.append((start + place, start + earlier, "earlier"))
                if earlier + 1 < place:
                    found.append((start + place, start + earlier + 1, "after"))
                    if earlier and encoded.ids[earlier - 1] == encoded.ids[place - 1]:
                        found.append((start + place, start + earlier + 1, "pair"))
            before.append(place)
        if encoded.length >= SINK_PIECES:
            found += [(start + place, start, "begin") for place in range(SINK_PIECES)]
        rows.append(found)
    device, wide = side.real.device, max(map(len, rows), default=0)
    pairs = torch.zeros(len(rows), wide, 2, dtype=torch.long, device=device)
    kinds = torch.zeros(4, len(rows), wide, device=device)
    cases = torch.zeros(3, len(rows), device=device)
    for row, found in enumerate(rows):
        if found:
            pairs[row, : len(found)] = torch.tensor([pair for *pair, _ in found], device=device)
        for number, kind in enumerate(("earlier", "after", "pair", "begin")):
            own = torch.tensor([which == kind for _, _, which in found], device=device)
            kinds[number, row, : len(found)] = own.float()
            if kind != "begin":
                cases[number, row] = len({query for query, _, which in found if which == kind})
    return Copies(pairs, *kinds, *cases)


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
