"""The relations of single texts: how often every head finds the governor there, and between which words it should."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from attlas.ids import Stream
from attlas.studies.relations.passes import ALL, DIRECTIONS, Choice, Relations, labels_of, scored
from attlas.studies.shared.by_text import ByText, unit_by_unit
from attlas.text import Document

if TYPE_CHECKING:
    from attlas.capture import Subject


def by_text(subject: Subject, documents: Sequence[Document], seed: int = 0) -> Iterator[ByText]:
    """How often every head finds the governor of a relation in each of some sentences; nothing without trees.

    >>> from attlas.capture import load
    >>> tree = {"governors": [1, -1], "relations": ["nsubj", "root"]}
    >>> (found,) = by_text(load(), [Document.from_words(["It", "rained"], **tree)])
    >>> found.values("nsubj.to", Stream.ENCODER, 0, 0).shape
    (1,)
    >>> np.argwhere(found.places(0, Stream.ENCODER, "nsubj.to")).tolist()  # from "It" to "rained"
    [[1, 2]]
    """
    from attlas.capture.reading import read_documents

    labels = labels_of(documents)
    if len(labels) < 2:
        return
    examples = read_documents(subject, documents).examples
    nobody = Choice(np.full((len(DIRECTIONS), len(labels), 2), -1), np.full((len(DIRECTIONS), len(labels)), np.nan))
    study = Relations(subject, labels, choice=nobody)
    bundle = study.empty()
    study.update(bundle, examples)
    means = unit_by_unit(bundle, ["figures"], len(examples))  # (text, direction, layer, head, relation)
    figures = {
        f"{label}.{direction}": {study.stream: means[:, way, :, :, place]}
        for place, label in enumerate(labels)
        for way, direction in enumerate(DIRECTIONS)
    }

    def places(text: int, stream: Stream, quantity: str) -> NDArray[np.bool_]:
        relation, _, direction = quantity.rpartition(".")
        segmentation = examples[text].source.segmentation
        words = np.array(segmentation.words)
        made = np.zeros((len(words), len(words)), bool)
        for dependent, governor, label in scored(examples[text].passage.first):
            if relation in (ALL, label):
                asking, asked = (dependent, governor) if direction == "to" else (governor, dependent)
                made |= (words == asking)[:, None] & (words == asked)[None]
        return made

    yield ByText(examples, figures, places)
