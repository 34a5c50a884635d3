"""What there is to see: one model that has read one text.

A :class:`Scene` holds numpy arrays alone, so that views need neither torch nor the model library. Each of its
:class:`Strand` s is one stream: weights as (layer, head, query, key), the lengths ||f(x)|| of the keys from which
norms follow, and the queries and keys themselves for the neuron view. A :class:`Sequence` is a text as the model
reads it.
"""

from __future__ import annotations

from collections import abc
from collections.abc import Mapping
from dataclasses import dataclass, field, replace

import numpy as np
from numpy.typing import NDArray

from attlas.errors import TextError
from attlas.ids import Stream
from attlas.text import Segmentation
from attlas.views.saying import Saying

Array = NDArray[np.float32]


@dataclass(frozen=True)
class Sequence:
    """A text as a model reads it: pieces, the word of each (or -1), its document (-1: special), and the words.
    ``regions`` are names and where they begin; ``written`` is the first piece that the model wrote itself.

    >>> Sequence(("[CLS]", "play", "##ing"), (-1, 0, 0), (-1, 0, 0), ("playing",)).length
    3
    """

    pieces: tuple[str, ...]
    words: tuple[int, ...]
    documents: tuple[int, ...]
    spelled: tuple[str, ...]
    regions: tuple[tuple[str, int], ...] = field(default=(), kw_only=True)
    written: int | None = field(default=None, kw_only=True)

    @classmethod
    def of(cls, segmentation: Segmentation, spelled: abc.Sequence[str] = ()) -> Sequence:
        """A reading from a segmentation; words that nobody has spelled are their pieces, joined.

        >>> Sequence.of(Segmentation(("[CLS]", "play", "##ing"), (-1, 0, 0), (-1, 0, 0), 1)).spelled
        ('playing',)
        """
        if len(spelled) != segmentation.word_count:
            parts: list[str] = [""] * segmentation.word_count
            for piece, word in zip(segmentation.pieces, segmentation.words, strict=True):
                if word >= 0:
                    parts[word] += piece.removeprefix("##")
            spelled = parts
        return cls(segmentation.pieces, segmentation.words, segmentation.documents, tuple(spelled))

    @property
    def length(self) -> int:
        """How many pieces.

        >>> Sequence((), (), (), ()).length
        0
        """
        return len(self.pieces)


@dataclass(frozen=True)
class Strand:
    """One stream of a scene.

    ``layers`` and ``heads`` are the numbers these have in the model, for a strand may hold only some of them.
    ``scores`` are given where they are more than ``scaling`` times the product of query and key. A strand with
    ``joint`` shows no heads but one map for each layer, of what all its heads do together: its ``weights`` are joint
    norms, with a single head, and ``joint`` says of which kind. A head that a layer does not have is NaN in all
    arrays; ``widths`` are those of the layers' vectors, where they differ, and ``blocks`` the numbers that the layers
    have among the blocks of the model, where these are others.

    A text too long for its weights has none (their last two axes are empty): rows are reckoned from queries, keys and
    ``sums``, the log-sum-exps (layer, head, query), within what each query has ``seen``, an interval of keys (layer,
    start and stop, query). ``coarse`` is a picture of the whole, each dot the largest of its cells, and ``received``
    what each key gets on average (layer, head, key); ``links`` are the query, the key and the weight of each head's
    strongest (layer, head, 3). Where only some queries were ``looked`` from, spans of the text
    say which; queries, sums and what is seen are those of these alone, and ``coarse`` is a picture of their rows.

    >>> reading = Sequence(("a",), (0,), (0,), ("a",))
    >>> Strand(Stream.ENCODER, reading, reading, np.ones((2, 3, 1, 1), np.float32)).heads
    (0, 1, 2)
    """

    stream: Stream
    queries: Sequence
    keys: Sequence
    weights: Array
    layers: tuple[int, ...] = ()
    heads: tuple[int, ...] = ()
    lengths: Array | None = None
    query_vectors: Array | None = None
    key_vectors: Array | None = None
    scores: Array | None = None
    scaling: tuple[float, ...] = ()
    joint: str = ""
    widths: tuple[int, ...] = ()
    blocks: tuple[int, ...] = ()
    sums: Array | None = None
    seen: NDArray[np.int32] | None = None
    coarse: Array | None = None
    received: Array | None = None
    links: NDArray[np.float64] | None = None
    looked: tuple[tuple[int, int], ...] = ()

    def __post_init__(self) -> None:
        if self.weights.ndim != 4:
            raise TextError(f"weights must be (layer, head, query, key), and these are {self.weights.shape}")
        layers, heads, queries, keys = self.weights.shape
        if (queries, keys) != (self.queries.length, self.keys.length) and self.sums is None:
            raise TextError(
                f"weights of {queries} queries and {keys} keys do not fit {self.queries.length} and "
                f"{self.keys.length} pieces of text"
            )
        object.__setattr__(self, "layers", self.layers or tuple(range(layers)))
        object.__setattr__(self, "heads", self.heads or tuple(range(heads)))

    @property
    def heads_of(self) -> tuple[tuple[int, ...], ...]:
        """The heads that each layer has.

        >>> reading = Sequence(("a",), (0,), (0,), ("a",))
        >>> weights = np.array([[1, np.nan], [1, 1]], np.float32)[:, :, None, None]
        >>> Strand(Stream.ENCODER, reading, reading, weights).heads_of
        ((0,), (0, 1))
        """
        if self.sums is not None:
            return (self.heads,) * len(self.layers)
        first: NDArray[np.bool_] = np.isnan(self.weights[:, :, :1, :1])
        absent: list[list[bool]] = [[bool(head.any()) for head in layer] for layer in first]
        return tuple(tuple(head for head, none in zip(self.heads, row, strict=True) if not none) for row in absent)

    @property
    def asked(self) -> NDArray[np.intp]:
        """The queries that were looked from, by their places in the text.

        >>> reading = Sequence(("a", "b"), (0, 1), (0, 0), ("a", "b"))
        >>> Strand(Stream.ENCODER, reading, reading, np.ones((1, 1, 2, 2), np.float32)).asked.tolist()
        [0, 1]
        """
        spans = self.looked or ((0, self.queries.length),)
        return np.concatenate([np.arange(start, stop, dtype=np.intp) for start, stop in spans])

    def rows(self, layer: int, head: int, queries: NDArray[np.integer]) -> Array:
        """The weights of some queries of the head at a place, (query, key), whether they are there or reckoned; those
        of queries that were not looked from are nothing.

        >>> reading = Sequence(("a",), (0,), (0,), ("a",))
        >>> strand = Strand(Stream.ENCODER, reading, reading, np.ones((1, 1, 1, 1), np.float32))
        >>> strand.rows(0, 0, np.array([0])).tolist()
        [[1.0]]
        """
        if self.sums is None:
            found: Array = self.weights[layer, head][queries]
            return found
        assert self.query_vectors is not None
        assert self.key_vectors is not None
        assert self.seen is not None
        asked = self.asked
        kept = np.minimum(np.searchsorted(asked, queries), len(asked) - 1)
        query, key = (part[layer, head].astype(np.float32) for part in (self.query_vectors, self.key_vectors))
        scores = query[kept] @ key.T * self.scaling[layer] - self.sums[layer, head][kept, None]
        at, (start, stop) = np.arange(len(key)), self.seen[layer][:, kept]
        seen = (at >= start[:, None]) & (at < stop[:, None]) & (asked[kept] == queries)[:, None]
        made: Array = np.where(seen, np.exp(np.where(seen, scores, 0)), 0).astype(np.float32)
        return made


@dataclass(frozen=True)
class Scene:
    """One model that has read one text (or two: a pair, a source and its target).

    ``figures`` are numbers of a survey by which heads can be sorted: name to stream to (layer, head); ``portraits`` a
    sentence on what a head does, by its label ("6-3", counted from 1); ``saying`` what the model says of the text.

    >>> reading = Sequence(("a",), (0,), (0,), ("a",))
    >>> strand = Strand(Stream.ENCODER, reading, reading, np.ones((1, 1, 1, 1), np.float32))
    >>> Scene("a model", ("a",), (strand,)).strands[0].layers
    (0,)
    """

    model: str
    texts: tuple[str, ...]
    strands: tuple[Strand, ...]
    figures: Mapping[str, Mapping[Stream, Array]] = field(default_factory=dict)
    portraits: Mapping[Stream, Mapping[str, str]] = field(default_factory=dict)
    saying: Saying | None = None

    def with_figures(self, figures: Mapping[str, Mapping[Stream, Array]]) -> Scene:
        """The same scene, with figures to sort its heads by.

        >>> Scene("a model", (), ()).with_figures({"entropy": {}}).figures
        {'entropy': {}}
        """
        return replace(self, figures=figures)

    def with_portraits(self, portraits: Mapping[Stream, Mapping[str, str]]) -> Scene:
        """The same scene, with a sentence on what each head does, wherever it comes from.

        >>> Scene("a model", (), ()).with_portraits({Stream.ENCODER: {"6-3": "looks back"}}).portraits
        {<Stream.ENCODER: 'encoder'>: {'6-3': 'looks back'}}
        """
        return replace(self, portraits=portraits)
