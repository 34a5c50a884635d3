"""Every head as a dependency parser (Clark et al., section 4.2), with the statistics the paper lacked.

A word's governor is predicted as the word it attends to most ("to"), or as the word that attends most to it ("from");
the word itself and special pieces are no candidates, punctuation and roots are not scored. Beside every head stands
the best fixed offset: "the governor is the next word" is right surprisingly often.

The study is made in two parts, on different texts. Without a :class:`Choice` it only counts how often each head and
each offset is right, for every relation; :meth:`Relations.choose` then picks the best head. With that choice, on
other texts, it counts again, document by document, and keeps the cases in which the chosen heads were surest, right
and wrong. So no figure of a chosen head comes from the texts it was chosen on. The offset that heads are held against
is the best on the texts that are scored: a baseline may look, heads may not.
"""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import chain, pairwise
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from attlas.capture import Subject
from attlas.capture.instruments import Finite
from attlas.capture.measuring import measured, require_measure
from attlas.ids import Stream
from attlas.measures.words import Grouping, between_words, group, present_words
from attlas.models import AttentionCall, Batch, Example, Landing, onto
from attlas.models.seam import mix
from attlas.stats import Bundle, Largest, PooledMean
from attlas.stats.pooled import BLOCKS
from attlas.studies.shared.piece_classes import governors_of
from attlas.studies.shared.reducing import on_grid, together
from attlas.studies.shared.watching import Pass, Watcher
from attlas.text import ROOT, Document

ALL = "all"
DIRECTIONS = ("to", "from")
OFFSETS = tuple(offset for offset in range(-10, 11) if offset)
VERDICTS = ("right", "wrong")
UNSCORED = ("punct", "root")
SUREST = 3


def labels_of(documents: Iterable[Document]) -> tuple[str, ...]:
    """All relations that are scored, most frequent first, behind "all".

    >>> words = ["The", "farmer", "slept", "."]
    >>> tree = {"governors": [1, 2, ROOT, 2], "relations": ["det", "nsubj", "root", "punct"]}
    >>> labels_of([Document.from_words(words, **tree)])
    ('all', 'det', 'nsubj')
    """
    counts = Counter(label for document in documents for _, _, label in scored(document))
    return (ALL, *sorted(counts, key=lambda label: (-counts[label], label)))


def scored(document: Document) -> list[tuple[int, int, str]]:
    """(dependent, governor, relation) of all words that are scored.

    >>> tree = {"governors": [1, ROOT, 1], "relations": ["nsubj", "root", "punct"]}
    >>> scored(Document.from_words(["It", "rained", "."], **tree))
    [(0, 1, 'nsubj')]
    """
    tree = zip(document.governors or (), document.relations or (), strict=False)
    return [
        (dependent, governor, relation)
        for dependent, (governor, relation) in enumerate(tree)
        if governor is not None and governor != ROOT and relation.split(":")[0] not in UNSCORED
    ]


def key_of(document: Document) -> int:
    """A number that tells a text from all others: the same in every run, whatever batch the text is in.

    >>> key_of(Document.from_words(["Hi"], name="a")) != key_of(Document.from_words(["Hi"], name="b"))
    True
    """
    digest = hashlib.blake2b(f"{document.name}\0{document.text}".encode(), digest_size=8).digest()
    return int.from_bytes(digest, "little") >> 1


@dataclass(frozen=True)
class Choice:
    """What was best on other texts: for each direction and relation a layer and head (or -1), and how often it was
    right there.

    >>> Choice(np.zeros((2, 1, 2), int), np.array([[0.4], [0.6]])).best(0)
    1
    """

    heads: NDArray[np.int64]
    values: NDArray[np.float64]

    def best(self, relation: int) -> int | None:
        """The direction whose head was better for a relation; None where there was nothing to choose on."""
        values = self.values[:, relation]
        return int(np.argmax(values)) if np.isfinite(values).all() else None


class Relations(Watcher):
    """The study, for the self-attention of one stream. ``labels`` come from :func:`labels_of`.

    >>> from attlas.capture import load
    >>> from attlas.text import Passage
    >>> study = Relations(load(), labels=("all", "nsubj"))
    >>> document = Document.from_words(["It", "rained"], governors=[1, ROOT], relations=["nsubj", "root"])
    >>> bundle = study.empty()
    >>> study.update(bundle, study.subject.pieces.encode_all([Passage(document)]))
    >>> bundle["figures"].result().n.shape, bundle["offsets"].result().n[0].tolist()
    ((2, 6, 12, 2), [1.0, 1.0])
    """

    name = "relations"

    def __init__(
        self, subject: Subject, labels: Sequence[str], *, measure: str = "weight", choice: Choice | None = None
    ) -> None:
        self.subject = subject
        self.stream: Stream = subject.pieces.own
        self.labels = tuple(labels)
        self.measure = require_measure(subject, measure)
        self.choice = choice

    def empty(self) -> Bundle:
        """How often heads and offsets are right; with a choice unit by unit, and with the surest cases."""
        layers, heads = self.subject.grid(self.stream).shape
        count, blocks = len(self.labels), 1 if self.choice is None else BLOCKS
        parts: dict[str, Any] = {
            "figures": PooledMean((len(DIRECTIONS), layers, heads, count), blocks=blocks),
            "offsets": PooledMean((len(OFFSETS), count), blocks=blocks),
        }
        if self.choice is not None:
            parts["surest"] = Largest(len(DIRECTIONS) * count * len(VERDICTS), SUREST, width=3)
        return Bundle(parts)

    def begin(self, made: Batch, batch: Sequence[Example]) -> _Pass:
        """Open a pass over a batch."""
        return _Pass(self, made, batch)

    def choose(self, bundle: Bundle) -> Choice:
        """The best head of each direction for every relation; the first where several are."""
        figures = bundle["figures"].result()
        known = figures.n.max((0, 1, 2)) > 0
        value = np.where(figures.n > 0, figures.value, -1.0)  # a head that is not there is right never
        flat = value.reshape(len(DIRECTIONS), -1, len(self.labels))
        heads = np.stack(np.unravel_index(flat.argmax(1), figures.value.shape[1:3]), -1)
        return Choice(np.where(known[:, None], heads, -1), np.where(known, flat.max(1), np.nan))


class _Pass(Pass):
    """One forward pass: which head finds which governor, layer by layer."""

    def __init__(self, study: Relations, made: Batch, batch: Sequence[Example]) -> None:
        side = made.queries(study.stream)
        assert side is not None
        self.study, self.units = study, [example.unit for example in batch]
        documents = [example.passage.first for example in batch]
        segmentations = [encoded.segmentation for encoded in side.encoded]
        device = side.real.device
        self.groups: Grouping = group(segmentations, side.real.shape[1], side.starts, device)
        asked = _Asked.of(documents, present_words(segmentations), study.labels)
        self.governors, self.labels = onto(asked.governors, device), asked.by_label(device)
        self.offsets, self.counts = asked.offsets, asked.counts
        # no candidate: the word itself, and words without a piece of their own
        itself = torch.eye(self.groups.words, dtype=torch.bool, device=device)
        absent = ~self.groups.present
        self._barred = (itself | absent[:, :, None] | absent[:, None, :])[:, None]
        self._followed = {} if study.choice is None else _followed(study.choice, asked, documents, device)
        self._hits: list[Tensor] = []
        self._cases: list[tuple[_Followed, tuple[Tensor, ...]]] = []
        self._finite = Finite()
        self._landing = Landing({})

    def take(self, call: AttentionCall) -> None:
        """Count the governors that each head of one layer finds."""
        if call.site.stream is not self.study.stream:
            return
        attention = measured(self.study.subject, call, self.study.measure, self._finite)
        if call.fusable and call.mixed is None:  # the model need not compute them again
            call.mixed = mix(call.weights(), call.values)
        words = self.groups.words
        between = between_words(attention, self.groups)[..., :words, :words].masked_fill_(self._barred, -1.0)
        found = [between.max(-1), between.max(-2)]  # by the dependent's row, and by its column
        paid, at = (torch.stack(parts, 2) for parts in zip(*found, strict=True))  # (text, head, direction, word)
        right = (at == self.governors[:, None, None]) & (paid > 0)
        hits = torch.bmm(right.flatten(1, 2).to(self.labels.dtype), self.labels)
        self._hits.append(hits.view(*right.shape[:3], -1))
        followed = self._followed.get(call.site.layer)
        if followed is not None:
            self._cases.append((followed, tuple(part[followed.at] for part in (paid, at, right))))

    def land(self) -> None:
        """Have the counts of all layers, and the cases of chosen heads, brought over."""
        if self._hits:
            heads = self.study.subject.grid(self.study.stream).sum(1).tolist()
            landing = {"hits": together(self._hits, heads), "finite": self._finite.sums()}
            if self._cases:
                seen = zip(*(seen for _, seen in self._cases), strict=True)
                landing |= dict(zip(("paid", "at", "right"), map(torch.cat, map(list, seen)), strict=True))
            self._landing = Landing(landing)

    def give(self, bundle: Bundle) -> None:
        """Take the counts of all layers into the bundle."""
        grid, arrays = self.study.subject.grid(self.study.stream), self._landing.arrays()
        self._finite.settle(arrays["finite"])
        sums = on_grid(arrays["hits"], grid)  # (text, layer, head, direction, relation)
        counts = self.counts[:, None, None, None] * grid[..., None]
        bundle["figures"].update(sums.transpose(0, 3, 1, 2, 4), counts, self.units)
        bundle["offsets"].update(self.offsets, self.counts[:, None], self.units)
        if self._cases:
            cells, places = (
                np.concatenate(parts) for parts in zip(*((f.cells, f.places) for f, _ in self._cases), strict=True)
            )
            where = np.column_stack([places, arrays["at"].astype(np.int64)])
            bundle["surest"].update(cells + (arrays["right"] == 0), arrays["paid"], where)


@dataclass(frozen=True)
class _Asked:
    """What is asked of the words of some texts: their ``governors`` (text, word), -1 where a word is not scored; of
    each word that is scored, text by text, its ``row``, its place (``word``) and the number of its ``relation``, 0
    where that has none of its own; how many words count for each relation (text, relation), and how often each offset
    is right (text, offset, relation)."""

    governors: NDArray[np.int64]
    row: NDArray[np.int64]
    word: NDArray[np.int64]
    relation: NDArray[np.int64]
    counts: NDArray[np.float64]
    offsets: NDArray[np.float64]

    @classmethod
    def of(cls, documents: Sequence[Document], present: NDArray[np.bool_], labels: Sequence[str]) -> _Asked:
        """What is asked of documents, of whose words those are ``present`` that have a piece of their own."""
        sizes = np.array([len(document.words) for document in documents])
        total, size = int(sizes.sum()), len(documents)
        numbers = _Numbers({relation: place for place, relation in enumerate(labels)})
        relations = chain.from_iterable(d.relations or (None,) * len(d.words) for d in documents)
        relation = np.fromiter(map(numbers.__getitem__, relations), np.int64, total)
        governor = governors_of(documents)
        row = np.repeat(np.arange(size), sizes)
        word = np.arange(total) - np.repeat(np.cumsum(sizes) - sizes, sizes)
        kept = (relation >= 0) & (governor != ROOT) & present[row, word]
        row, word, governor, relation = (part[kept] for part in (row, word, governor, relation))
        governors = np.full(present.shape, -1)
        governors[row, word] = governor
        shape = size, len(labels)
        counts = np.bincount(row * shape[1] + relation, minlength=size * shape[1]).reshape(shape).astype(np.float64)
        counts[:, 0] = np.bincount(row, minlength=size)
        apart = governor - word
        near = np.isin(apart, OFFSETS)
        place = row[near] * len(OFFSETS) + np.searchsorted(OFFSETS, apart[near])
        right = np.bincount(place * shape[1] + relation[near], minlength=size * len(OFFSETS) * shape[1])
        offsets = right.reshape(size, len(OFFSETS), shape[1]).astype(np.float64)
        offsets[..., 0] = np.bincount(place, minlength=size * len(OFFSETS)).reshape(size, len(OFFSETS))
        return cls(governors, row, word, relation, counts, offsets)

    def by_label(self, device: torch.device) -> Tensor:
        """Which relations each word counts for, (text, word, relation), made on the device: it is much larger than
        what it is made of."""
        texts, words = self.governors.shape
        kinds = self.counts.shape[1]
        first = (self.row * words + self.word) * kinds
        made = torch.zeros(texts, words, kinds, device=device)
        made.view(-1).index_fill_(0, onto(np.concatenate([first, first + self.relation]), device), 1.0)
        return made


class _Numbers(dict[str | None, int]):
    """The number of each relation: 0 for those without one of their own, -1 for those that are not scored."""

    def __missing__(self, relation: str | None) -> int:
        self[relation] = -1 if relation is None or relation.split(":")[0] in UNSCORED else 0
        return self[relation]


@dataclass(frozen=True)
class _Followed:
    """The cases of the heads of one layer that were chosen for some relation: where each stands (text, head,
    direction, word), as the device has it, its cell if the head is right, and on the host its text's key and its
    word."""

    at: tuple[Tensor, ...]
    cells: NDArray[np.int64]
    places: NDArray[np.int64]


def _followed(
    choice: Choice, asked: _Asked, documents: Sequence[Document], device: torch.device
) -> dict[int, _Followed]:
    """The cases of chosen heads by layer."""
    keys = np.array([key_of(document) for document in documents], np.int64)
    order = np.argsort(asked.relation, kind="stable")
    ends = np.cumsum(np.bincount(asked.relation, minlength=asked.counts.shape[1]))
    ends = np.concatenate([[0], ends])
    of_relation = [np.arange(len(order)), *(order[a:b] for a, b in pairwise(ends[1:].tolist()))]  # the first is all
    found: dict[int, list[NDArray[np.int64]]] = {}
    for direction, chosen in enumerate(choice.heads.tolist()):
        for relation, (layer, head) in enumerate(chosen):
            words = of_relation[relation]
            if layer >= 0 and len(words):
                cases = np.empty((5, len(words)), np.int64)
                cases[0], cases[3] = asked.row[words], asked.word[words]
                cases[1], cases[2] = head, direction
                cases[4] = (direction * len(chosen) + relation) * len(VERDICTS)
                found.setdefault(layer, []).append(cases)
    made = {layer: np.concatenate(parts, 1) for layer, parts in found.items()}
    if not made:
        return {}
    whole = onto(np.concatenate([cases[:4] for cases in made.values()], 1), device)
    ends = np.cumsum([cases.shape[1] for cases in made.values()]).tolist()
    return {
        layer: _Followed(tuple(whole[:, begin:end].unbind(0)), cases[4], np.stack([keys[cases[0]], cases[3]], 1))
        for (layer, cases), begin, end in zip(made.items(), [0, *ends], ends, strict=False)
    }
