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

Array = NDArray[np.float32]


@dataclass(frozen=True)
class Sequence:
    """A text as a model reads it: pieces, the word of each (or -1), its document (-1: special), and the words.

    >>> Sequence(("[CLS]", "play", "##ing"), (-1, 0, 0), (-1, 0, 0), ("playing",)).length
    3
    """

    pieces: tuple[str, ...]
    words: tuple[int, ...]
    documents: tuple[int, ...]
    spelled: tuple[str, ...]

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

    def __post_init__(self) -> None:
        if self.weights.ndim != 4:
            raise TextError(f"weights must be (layer, head, query, key), and these are {self.weights.shape}")
        layers, heads, queries, keys = self.weights.shape
        if (queries, keys) != (self.queries.length, self.keys.length):
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
        first: NDArray[np.bool_] = np.isnan(self.weights[:, :, :1, :1])
        absent: list[list[bool]] = [[bool(head.any()) for head in layer] for layer in first]
        return tuple(tuple(head for head, none in zip(self.heads, row, strict=True) if not none) for row in absent)


@dataclass(frozen=True)
class Scene:
    """One model that has read one text (or two: a pair, a source and its target).

    ``figures`` are numbers of a survey by which heads can be sorted: name to stream to (layer, head).

    >>> reading = Sequence(("a",), (0,), (0,), ("a",))
    >>> strand = Strand(Stream.ENCODER, reading, reading, np.ones((1, 1, 1, 1), np.float32))
    >>> Scene("a model", ("a",), (strand,)).strands[0].layers
    (0,)
    """

    model: str
    texts: tuple[str, ...]
    strands: tuple[Strand, ...]
    figures: Mapping[str, Mapping[Stream, Array]] = field(default_factory=dict)

    def with_figures(self, figures: Mapping[str, Mapping[Stream, Array]]) -> Scene:
        """The same scene, with figures to sort its heads by.

        >>> Scene("a model", (), ()).with_figures({"entropy": {}}).figures
        {'entropy': {}}
        """
        return replace(self, figures=figures)
