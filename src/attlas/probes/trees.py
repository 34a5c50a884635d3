"""Sentences with their trees, as probes see them.

Only words that have a piece of their own can be seen in a model's attention; the others are left out, and a word
whose governor was left out has none that could be found. Governors are counted among the words that are left, and
ROOT stands behind the last of them. Sentences of one length lie together, in a :class:`Group`, so that a batch needs
no padding.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from attlas.models import Example
from attlas.text import ROOT

UNKNOWN = -1
FAR = 255  # no path, or one too long for a byte


class Tree(NamedTuple):
    """A sentence: the words that are left, their governors among them (``len(kept)`` is ROOT, -1 unknown), whether
    they count (no punctuation), and their relations without subtypes.

    >>> Tree((0, 1), (1, 2), (True, True), ("det", "root")).governors
    (1, 2)
    """

    kept: tuple[int, ...]
    governors: tuple[int, ...]
    scored: tuple[bool, ...]
    relations: tuple[str, ...]


def tree_of(example: Example) -> Tree:
    """The tree of an example's first document, over the words that have a piece.

    >>> from attlas.capture import load
    >>> from attlas.text import Document, Passage
    >>> text = Document.from_words(["We", "slept", "."], governors=[1, -1, 1], upos=["PRON", "VERB", "PUNCT"])
    >>> tree_of(load().pieces.encode(Passage(text)))
    Tree(kept=(0, 1, 2), governors=(1, 3, 1), scored=(True, True, False), relations=('', '', ''))
    """
    document = example.passage.first
    missing = set(example.source.segmentation.wordless)
    kept = tuple(word for word in range(len(document.words)) if word not in missing)
    place: dict[int | None, int] = {word: index for index, word in enumerate(kept)}
    place[ROOT] = len(kept)
    given = document.governors or (None,) * len(document.words)
    governors = tuple(place.get(given[word], UNKNOWN) for word in kept)
    upos = document.upos or ("",) * len(document.words)
    relations = document.relations or ("",) * len(document.words)
    plain = tuple(relations[word].split(":")[0] for word in kept)
    scored = tuple(
        governor != UNKNOWN and upos[word] != "PUNCT" and relation != "punct"
        for word, governor, relation in zip(kept, governors, plain, strict=True)
    )
    return Tree(kept, governors, scored, plain)


@dataclass(frozen=True)
class Group:
    """Sentences of one length: arrays of (sentence, word), and which sentences they are.

    >>> made = Part.of("train", [Tree((0,), (1,), (True,), ("root",))]).groups[0]
    >>> made.words, made.governors.tolist(), made.members.tolist()
    (1, [[1]], [0])
    """

    words: int
    members: NDArray[np.int64]
    governors: NDArray[np.int64]
    scored: NDArray[np.bool_]


@dataclass(frozen=True)
class Part:
    """One part of a treebank (to train on, to stop by, to score on), in groups from short to long. ``units`` are what
    its sentences belong to: their documents, or each to itself.

    >>> part = Part.of("dev", [Tree((0, 1), (1, 2), (True, True), ("", "")), Tree((0,), (1,), (True,), ("",))])
    >>> [group.words for group in part.groups], part.sentences, part.scored, len(list(part.batches(2)))
    ([1, 2], 2, 3, 2)
    """

    name: str
    trees: tuple[Tree, ...]
    groups: tuple[Group, ...]
    units: tuple[int, ...] = ()

    @classmethod
    def of(cls, name: str, trees: Sequence[Tree], units: Sequence[int] | None = None) -> Part:
        """Group trees by length; without units each sentence is one."""
        by_length: dict[int, list[int]] = {}
        for index, tree in enumerate(trees):
            by_length.setdefault(len(tree.kept), []).append(index)
        groups = []
        for words, members in sorted(by_length.items()):
            governors = np.array([trees[index].governors for index in members], dtype=np.int64)
            scored = np.array([trees[index].scored for index in members], dtype=np.bool_)
            groups.append(Group(words, np.array(members), governors, scored))
        return cls(name, tuple(trees), tuple(groups), tuple(range(len(trees)) if units is None else units))

    @property
    def sentences(self) -> int:
        """How many sentences."""
        return len(self.trees)

    @property
    def scored(self) -> int:
        """How many words count."""
        return int(sum(group.scored.sum() for group in self.groups))

    @cached_property
    def places(self) -> tuple[tuple[int, int], ...]:
        """Of each sentence, its length and its row in the group of that length."""
        found: list[tuple[int, int]] = [(0, 0)] * self.sentences
        for group in self.groups:
            for row, member in enumerate(group.members):
                found[member] = (group.words, row)
        return tuple(found)

    def batches(
        self, words: int, random: np.random.Generator | None = None
    ) -> Iterator[tuple[Group, NDArray[np.int64]]]:
        """Rows of one group at a time, of about so many words; in random order, or in that of the file."""
        made: list[tuple[Group, NDArray[np.int64]]] = []
        for group in self.groups:
            rows = np.arange(len(group.members))
            if random is not None:
                random.shuffle(rows)
            size = max(1, words // max(1, group.words))
            made += [(group, np.sort(rows[at : at + size])) for at in range(0, len(rows), size)]
        if random is not None:
            random.shuffle(made)
        yield from made


def distances(governors: Sequence[int]) -> NDArray[np.uint8]:
    """How many edges lie between two words in the tree; ``FAR`` where there is no path.

    >>> distances([1, 3, 1]).tolist()  # the first and the third word depend on the second
    [[0, 1, 2], [1, 0, 1], [2, 1, 0]]
    """
    from scipy.sparse.csgraph import shortest_path

    words = len(governors)
    graph = np.zeros((words, words))
    for word, governor in enumerate(governors):
        if 0 <= governor < words:
            graph[word, governor] = 1
    found = shortest_path(graph, directed=False, unweighted=True)
    return np.where(np.isfinite(found), np.minimum(found, FAR), FAR).astype(np.uint8)


def number_relations(parts: Iterable[Part]) -> Mapping[str, int]:
    """A number for every relation of some parts, in order of the alphabet.

    >>> dict(number_relations([Part.of("train", [Tree((0,), (1,), (True,), ("root",))])]))
    {'root': 0}
    """
    names = {
        relation
        for part in parts
        for tree in part.trees
        for relation, scored in zip(tree.relations, tree.scored, strict=True)
        if relation and scored
    }
    return {name: number for number, name in enumerate(sorted(names))}
