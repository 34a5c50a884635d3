"""From edges of words to rows of pieces and numbered labels.

Of each sentence only the pieces that some span holds are kept; they lie together in the file of states, and a span is
a start and a stop among them. Labels are numbered by how often the training part has them. A label that only dev or
test has cannot be predicted: it stays in the count of what is given, and is told.

Control labels (Hewitt and Liang) belong to words, not to what is said about them: every word type draws the labels of
one training edge, and an edge gets those of the last word of its first span. A probe can only know them by heart.
"""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from attlas.errors import CorpusError
from attlas.models import Example

Integers = NDArray[np.int64]


@dataclass(frozen=True)
class Layout:
    """The edges of one part of a corpus.

    ``kept[s]`` are the pieces of sentence ``s`` that spans hold; they are rows ``rows[s]`` to ``rows[s + 1]`` of the
    file of states. Its edges are ``edges[s]`` to ``edges[s + 1]``; ``spans`` (edge, 2 or 4) count within the
    sentence's pieces. ``labels`` and ``among`` are numbers of sets of labels (see :class:`Vocabulary`): those that an
    edge has and those that were asked about. ``types`` are the words that control labels go by.

    >>> nothing = np.zeros(0, dtype=np.int64)
    >>> Layout("train", (), (), nothing, nothing, np.zeros((0, 4)), nothing, nothing, (), Counter()).paired
    True
    """

    name: str
    examples: tuple[Example, ...]
    kept: tuple[Integers, ...]
    rows: Integers
    edges: Integers
    spans: Integers
    labels: Integers
    among: Integers
    types: tuple[str, ...]
    skipped: Counter[str]

    @property
    def paired(self) -> bool:
        """Whether edges are pairs of spans."""
        return int(self.spans.shape[1]) == 4

    @property
    def sentences(self) -> int:
        """How many sentences have an edge."""
        return len(self.kept)

    @property
    def units(self) -> list[int]:
        """The unit of each sentence: its document, or itself."""
        return [example.unit for example in self.examples]


class Vocabulary:
    """All labels of a task, and the sets of them that edges have, so that an edge's labels are one number.

    >>> known = Vocabulary(Counter({"NN": 5, "DT": 7}))
    >>> known.names, known.set_of(("NN", "XX")), known.set_of(("NN", "XX"))
    (('DT', 'NN'), 0, 0)
    >>> known.table()[0].tolist(), int(known.unknown()[0])
    ([False, True], 1)
    """

    def __init__(self, counts: Counter[str]) -> None:
        self.counts = counts
        self.names = tuple(sorted(counts, key=lambda name: (-counts[name], name)))
        self.numbers = {name: number for number, name in enumerate(self.names)}
        self._sets: dict[frozenset[str], int] = {}

    def set_of(self, labels: Sequence[str] | None) -> int:
        """The number of a set of labels; None is the set of all."""
        key = frozenset(self.names if labels is None else labels)
        return self._sets.setdefault(key, len(self._sets))

    def table(self) -> NDArray[np.bool_]:
        """Which labels each set has, (set, label)."""
        table = np.zeros((len(self._sets), len(self.names)), dtype=bool)
        for labels, row in self._sets.items():
            table[row, [self.numbers[label] for label in labels if label in self.numbers]] = True
        return table

    def unknown(self) -> Integers:
        """How many labels of each set the training part does not have."""
        return np.array([sum(label not in self.numbers for label in labels) for labels in self._sets], dtype=np.int64)


def vocabulary_of(examples: Sequence[Example], name: str) -> Vocabulary:
    """The labels of the training part.

    >>> from attlas.capture import load
    >>> vocabulary_of(load().pieces.encode_all([]), "a.jsonl")
    Traceback (most recent call last):
        ...
    attlas.errors.CorpusError: a.jsonl: no edge of its training part has a label, so there is nothing to learn
    """
    counts = Counter(
        label for example in examples for edge in example.passage.first.edges or () for label in edge.labels
    )
    if not counts:
        raise CorpusError("no edge of its training part has a label, so there is nothing to learn", file=name)
    return Vocabulary(counts)


def lay_out(name: str, examples: Sequence[Example], known: Vocabulary) -> Layout:
    """Place the edges of a part; those whose words have no piece of their own are left out and counted.

    >>> from attlas.capture import load
    >>> from attlas.text import Document, Edge, Passage, Span
    >>> edge = Edge(Span(1, 2), None, ("NOUN",))
    >>> text = Document.from_words(["Two", "housekeepers"], edges=[edge])
    >>> layout = lay_out("train", [load().pieces.encode(Passage(text))], Vocabulary(Counter({"NOUN": 1})))
    >>> layout.kept[0].tolist(), layout.spans.tolist()
    ([2, 3], [[0, 2]])
    """
    kept, spans, labels, among, types, placed = [], [], [], [], [], []
    rows, edges = [0], [0]
    skipped: Counter[str] = Counter()
    for example in examples:
        document = example.passage.first
        words = np.array(example.source.segmentation.words)
        wanted = np.zeros(len(document.words) + 1, dtype=bool)
        possible = []
        for edge in document.edges or ():
            sides = [side for side in (edge.first, edge.second) if side is not None]
            if all(((words >= side.start) & (words < side.stop)).any() for side in sides):
                possible.append((edge, sides))
                for side in sides:
                    wanted[side.start : side.stop] = True
            else:
                skipped["edges whose words have no piece of their own"] += 1
        if not possible:
            skipped["texts without an edge"] += 1
            continue
        pieces = np.flatnonzero((words >= 0) & wanted[words])
        owners = words[pieces]
        placed.append(example)
        for edge, sides in possible:
            spans.append([int(np.searchsorted(owners, end)) for side in sides for end in side])
            labels.append(known.set_of(edge.labels))
            among.append(known.set_of(edge.among))
            types.append(document.word(edge.first.stop - 1).lower())
        kept.append(pieces)
        rows.append(rows[-1] + len(pieces))
        edges.append(len(spans))
    if not spans:
        raise CorpusError(f"no text of the {name} part has an edge to probe")
    return Layout(
        name, tuple(placed), tuple(kept), np.array(rows), np.array(edges), np.array(spans, dtype=np.int64),
        np.array(labels), np.array(among), tuple(types), skipped,
    )  # fmt: skip


class Answers:
    """What every edge is to be answered, gold or control: its labels, and which were asked about.

    >>> layouts, known = _it_rained()
    >>> given, among, unknown = Answers(layouts, known, seed=0).of("gold", "test", np.array([0]))
    >>> given.tolist(), among.tolist(), unknown.tolist()
    ([[True]], [[True]], [0])
    """

    def __init__(self, layouts: Mapping[str, Layout], known: Vocabulary, seed: int) -> None:
        self.labels, self.unknown = known.table(), known.unknown()
        train = layouts["train"]
        self._sets = {("gold", name): (layout.labels, layout.among) for name, layout in layouts.items()}
        for name, layout in layouts.items():
            drawn = np.array([_drawn(word, seed, len(train.labels)) for word in layout.types], dtype=np.int64)
            self._sets["control", name] = train.labels[drawn], train.among[drawn]

    def of(self, labels: str, part: str, edges: Integers) -> tuple[NDArray[np.bool_], NDArray[np.bool_], Integers]:
        """For some edges: which labels they have and which were asked about, both (edge, label), and how many of
        theirs cannot be predicted."""
        given, among = self._sets[labels, part]
        return self.labels[given[edges]], self.labels[among[edges]], self.unknown[given[edges]]


def known_types(layouts: Mapping[str, Layout], part: str = "test") -> float:
    """The share of a part's edges whose control word was seen in training; control labels of others are unknown.

    >>> layouts, known = _it_rained()
    >>> known_types(layouts)
    1.0
    """
    seen = set(layouts["train"].types)
    types = layouts[part].types
    return sum(word in seen for word in types) / len(types)


def majority(layouts: Mapping[str, Layout], known: Vocabulary, part: str = "test") -> float:
    """The micro-F1 on a part of always saying the labels that most training edges have: those that at least half of
    the edges that were asked have, or else the most frequent one.

    >>> layouts, known = _it_rained()
    >>> majority(layouts, known)
    1.0
    """
    table = known.table()
    train, other = layouts["train"], layouts[part]
    share = table[train.labels].sum(0) / np.maximum(table[train.among].sum(0), 1)
    said = share >= 0.5
    if not said.any():
        said[np.argmax(table[train.labels].sum(0))] = True
    given, among, unknown = table[other.labels], table[other.among], known.unknown()[other.labels]
    common, found = (given & said).sum(), (among & said).sum()
    return float(2 * common / (found + given.sum() + unknown.sum()))


def _drawn(word: str, seed: int, count: int) -> int:
    """The training edge whose labels a word type draws."""
    digest = hashlib.sha256(f"{seed} {word}".encode()).digest()
    return int.from_bytes(digest[:8], "big") % count


def _it_rained() -> tuple[dict[str, Layout], Vocabulary]:
    """Two parts of one sentence each, for examples."""
    from attlas.capture import load
    from attlas.text import Document, Edge, Passage, Span

    text = Document.from_words(["It", "rained"], edges=[Edge(Span(1, 2), None, ("VBD",))])
    known = Vocabulary(Counter({"VBD": 1}))
    return {part: lay_out(part, [load().pieces.encode(Passage(text))], known) for part in ("train", "test")}, known
