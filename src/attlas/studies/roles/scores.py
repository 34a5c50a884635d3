"""How scores are kept: sums and counts per text, head and definition, each half of the texts for itself.

A head is chosen on one half and scored on the other, and every figure has an interval over texts, so sums are kept
unit by unit (:class:`~attlas.stats.PooledMean`). Whatever part fills a bundle of this form, the same tables are made
of it.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from attlas.ids import Stream
from attlas.stats import Bundle, PooledMean
from attlas.studies.roles.definition import Definition

if TYPE_CHECKING:
    from attlas.capture import Subject

HALVES = (1, 2)
Numbers = NDArray[np.float64]


def streams_of(subject: Subject, definitions: Sequence[Definition]) -> tuple[Stream, ...]:
    """The streams of a model for which any of the definitions means something.

    >>> from attlas.capture import load
    >>> streams_of(load(), [Definition("a", "a", "b", "")])
    ()
    """
    asked = frozenset().union(*(definition.streams for definition in definitions))
    return tuple(stream for stream in subject.streams if stream in asked)


def empty_scores(subject: Subject, definitions: Sequence[Definition]) -> dict[str, Any]:
    """The accumulators of some definitions: for every stream the scores of both halves, (layer, head, definition),
    and their chance, (layer, definition).

    >>> from attlas.capture import load
    >>> from attlas.measures.quantities import WITHIN
    >>> sorted(empty_scores(load(), [Definition("a", "a", "b", "", streams=WITHIN)]))
    ['encoder-chance', 'encoder-scores-1', 'encoder-scores-2']
    """
    parts: dict[str, Any] = {}
    for stream in streams_of(subject, definitions):
        layers, heads = subject.grid(stream).shape
        for half in HALVES:
            parts[f"{stream}-scores-{half}"] = PooledMean((layers, heads, len(definitions)))
        parts[f"{stream}-chance"] = PooledMean((layers, len(definitions)), blocks=1)
    return parts


def half_of(unit: int) -> int:
    """The half that a unit belongs to, 1 (to choose on) or 2 (to score on).

    >>> [half_of(unit) for unit in range(4)]
    [1, 2, 1, 2]
    """
    return 1 + unit % 2


def add_scores(
    bundle: Bundle, stream: Stream, sums: ArrayLike, counts: ArrayLike, units: Sequence[int]
) -> None:  # fmt: skip
    """Take in some texts of a stream: sums and counts, (text, layer, head, definition), and the unit of each text.

    >>> from attlas.capture import load
    >>> from attlas.measures.quantities import WITHIN
    >>> bundle = Bundle(empty_scores(load(), [Definition("a", "a", "b", "", streams=WITHIN)]))
    >>> add_scores(bundle, Stream.ENCODER, np.ones((2, 6, 12, 1)), np.ones((2, 6, 12, 1)), [0, 1])
    >>> float(bundle["encoder-scores-2"].result().n[0, 0, 0])
    1.0
    """
    s, n, of = np.asarray(sums), np.asarray(counts), np.asarray(units)
    n = np.broadcast_to(n, s.shape)
    halves = np.array([half_of(int(unit)) for unit in of])
    for half in HALVES:
        kept = halves == half
        if kept.any():
            bundle[f"{stream}-scores-{half}"].update(s[kept], n[kept], of[kept])


class Scored(NamedTuple):
    """The scores of one stream: rows of units, (unit, layer, head, definition), with counts, the half that each row
    is of, and chance, (layer, definition).

    >>> Scored._fields
    ('sums', 'counts', 'halves', 'chance')
    """

    sums: Numbers
    counts: Numbers
    halves: NDArray[np.int64]
    chance: Numbers

    def of(self, half: int | None = None) -> tuple[Numbers, Numbers]:
        """Sums and counts of one half's units, or of all.

        >>> rows = np.ones((2, 1, 1, 1))
        >>> Scored(rows, rows, np.array([1, 2]), np.zeros((1, 1))).of(2)[0].shape
        (1, 1, 1, 1)
        """
        kept = np.ones(len(self.halves), bool) if half is None else self.halves == half
        return self.sums[kept], self.counts[kept]

    def mean(self, half: int | None = None) -> Numbers:
        """The figures, (layer, head, definition); NaN where there is no case.

        >>> rows = np.ones((2, 1, 1, 1))
        >>> Scored(rows, 2 * rows, np.array([1, 2]), np.zeros((1, 1))).mean().item()
        0.5
        """
        sums, counts = (part.sum(0) for part in self.of(half))
        found: Numbers = np.divide(sums, counts, out=np.full(sums.shape, np.nan), where=counts > 0)
        return found


def scored(bundle: Bundle, stream: Stream) -> Scored:
    """What a bundle holds of a stream.

    >>> from attlas.capture import load
    >>> from attlas.measures.quantities import WITHIN
    >>> bundle = Bundle(empty_scores(load(), [Definition("a", "a", "b", "", streams=WITHIN)]))
    >>> scored(bundle, Stream.ENCODER).sums.shape
    (0, 6, 12, 1)
    """
    sums, counts, halves = [], [], []
    for half in HALVES:
        s, n = bundle.pooled(f"{stream}-scores-{half}").rows()
        some = n.reshape(len(n), -1).any(1)
        sums.append(s[some])
        counts.append(n[some])
        halves.append(np.full(int(some.sum()), half))
    chance = bundle[f"{stream}-chance"].result().value
    return Scored(np.concatenate(sums), np.concatenate(counts), np.concatenate(halves), chance)
