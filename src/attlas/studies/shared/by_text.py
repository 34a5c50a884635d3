"""A study's figures of single texts, from which the examples of an atlas are chosen.

A study that can tell how each head does on each of a few texts names a function for that in its record
(:attr:`attlas.studies.Fits.by_text`). It gets a model and some short documents and gives one or several
:class:`ByText`: the texts as the model reads them, its own quantities of every head on each, and which weights of a
text each quantity is about, so that a row of weights that shows it can be found.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from attlas.corpora import Corpus
from attlas.ids import Stream
from attlas.models import Example
from attlas.stats import Bundle
from attlas.text import Document

Places = Callable[[int, Stream, str], "NDArray[np.bool_] | None"]


@dataclass(frozen=True)
class ByText:
    """Some texts and what a study says of every head on each.

    ``figures`` are by quantity, called as in the table of all heads, and stream: (text, layer, head), NaN where a
    text has no case. ``places`` tells of a text (by its number), a stream and a quantity which weights it is about,
    (query, key), or None where it is about whole rows.

    >>> ByText((), {}).values("previous", Stream.ENCODER, 0, 1).shape
    (0,)
    """

    examples: Sequence[Example]
    figures: Mapping[str, Mapping[Stream, NDArray[np.float64]]]
    places: Places = lambda text, stream, quantity: None

    def values(self, quantity: str, stream: Stream, layer: int, head: int) -> NDArray[np.float64]:
        """A quantity of a head, text by text; nothing where it is not known."""
        known = self.figures.get(quantity, {}).get(stream)
        return np.zeros(0) if known is None else known[:, layer, head]


def corpus_of(documents: Sequence[Document]) -> Corpus:
    """Some documents as a corpus, each an article of its own.

    >>> len(corpus_of([Document.from_text("It rained.")]).articles)
    1
    """
    return Corpus(tuple(documents), "documents", "documents", "", tuple(range(len(documents))))


def unit_by_unit(bundle: Bundle, names: Sequence[str], texts: int) -> NDArray[np.float64]:
    """The means of accumulators that have taken in texts whose units are their numbers, added up: (text, ...), NaN
    where a text has no case.

    >>> from attlas.stats import PooledMean
    >>> mean = PooledMean(shape=(2,))
    >>> mean.update([[1.0, 0.0], [4.0, 2.0]], [[2, 0], [1, 1]], units=[0, 1])
    >>> unit_by_unit(Bundle({"figures": mean}), ["figures"], 2).tolist()
    [[0.5, nan], [4.0, 2.0]]
    """
    rows: list[Any] = [bundle.pooled(name).rows() for name in names]
    sums, counts = (sum(parts)[:texts] for parts in zip(*rows, strict=True))
    means: NDArray[np.float64] = np.divide(sums, counts, out=np.full(sums.shape, np.nan), where=counts > 0)
    return means
