"""The survey of single texts: every quantity of every head on each, and which weights it is about."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import cache
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from attlas.ids import Stream
from attlas.measures.names import MEASURES
from attlas.measures.quantities import CLASSES, COPIES, QUANTITIES
from attlas.models import Example
from attlas.studies.shared.by_text import ByText, corpus_of, unit_by_unit
from attlas.studies.shared.piece_classes import mark, mark_copies, mark_edges, texts_of
from attlas.studies.survey.tables import HALVES
from attlas.text import Document

if TYPE_CHECKING:
    from attlas.capture import Subject

_BY_NAME = {quantity.name: quantity for quantity in QUANTITIES}


def by_text(subject: Subject, documents: Sequence[Document], seed: int = 0) -> Iterator[ByText]:
    """What the survey says of every head on each of some short documents.

    >>> from attlas.capture import load
    >>> (found,) = by_text(load(), [Document.from_text("The farmer slept."), Document.from_text("It rained.")])
    >>> found.values("previous", Stream.ENCODER, 2, 10).round(2).tolist()
    [...]
    """
    from attlas.capture.reading import read_documents
    from attlas.studies.survey.call import survey_study

    corpus = corpus_of(documents)
    reading = read_documents(subject, documents)
    study = survey_study(subject, corpus, reading, seed=seed)
    bundle = study.empty()
    study.update(bundle, reading.examples)
    figures: dict[str, dict[Stream, NDArray[np.float64]]] = {}
    for stream in study.streams:
        names = [f"{stream}-figures-{half}" for half in HALVES]
        means = unit_by_unit(bundle, names, len(reading.examples))  # (text, layer, head, measure, quantity)
        for number, measure in enumerate(MEASURES):
            for place, quantity in enumerate(study.quantities):
                name = quantity.name if measure == "weight" else f"{quantity.name}.{measure}"
                figures.setdefault(name, {})[stream] = means[..., number, place]

    @cache
    def places(text: int, stream: Stream, quantity: str) -> NDArray[np.bool_] | None:
        return _places(subject, reading.examples[text], stream, quantity)

    yield ByText(reading.examples, figures, places)


def _places(subject: Subject, example: Example, stream: Stream, name: str) -> NDArray[np.bool_] | None:
    """Which weights of a text a quantity is about, (query, key); None where it is about whole rows."""
    quantity = _BY_NAME[name.partition(".")[0]]
    batch = subject.pieces.batch([example], subject.device)
    asking, asked = batch.queries(stream), batch.keys(stream)
    if asking is None or asked is None:
        return None
    translating = subject.pieces.translating
    shape = asking.encoded[0].length, asked.encoded[0].length
    at, to = np.ogrid[: shape[0], : shape[1]]
    if quantity.keys in ("previous", "self", "next"):
        return np.asarray(to - at == {"previous": -1, "self": 0, "next": 1}[quantity.keys])
    if quantity.keys in CLASSES:
        kinds = [
            mark(side, texts_of(batch, side, [example], translating), (), {}).kinds[0] for side in (asking, asked)
        ]
        own = kinds[0] == CLASSES.index(quantity.queries) if quantity.queries in CLASSES else np.full(shape[0], True)
        return np.asarray(own[:, None] & (kinds[1] == CLASSES.index(quantity.keys))[None])
    if quantity.keys in ("governor", "dependents", "edges"):
        edges = mark_edges(asking, texts_of(batch, asking, [example], translating))
        ways = {"governor": edges.to_governor, "dependents": edges.to_dependent}
        kept = ways.get(quantity.keys, edges.to_governor + edges.to_dependent)[0] > 0
        return _of_pairs(edges.pairs[0][kept].cpu().numpy(), shape)
    if quantity.keys in COPIES:
        copies = mark_copies(asking)
        kept = copies.kinds[0, :, COPIES.index(quantity.keys)] > 0
        return _of_pairs(copies.pairs[0][kept].cpu().numpy(), shape)
    return None


def _of_pairs(pairs: NDArray[np.int64], shape: tuple[int, int]) -> NDArray[np.bool_]:
    made = np.zeros(shape, bool)
    made[pairs[:, 0], pairs[:, 1]] = True
    return made
