"""Coreference in single texts: how often every head finds an antecedent there, and between which words it should."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from attlas.ids import Stream
from attlas.studies.coref.mentions import CANDIDATES, KINDS
from attlas.studies.coref.passes import Choice, Coref
from attlas.studies.shared.by_text import ByText, unit_by_unit
from attlas.text import Document

if TYPE_CHECKING:
    from attlas.capture import Subject


def by_text(subject: Subject, documents: Sequence[Document], seed: int = 0) -> Iterator[ByText]:
    """How often every head finds an antecedent in each of some texts; nothing where no mention has one.

    >>> from attlas.capture import load
    >>> from attlas.text import Mention
    >>> words = ["Emma", "said", "she", "slept"]
    >>> document = Document.from_words(words, mentions=(Mention(0, 1, "e"), Mention(2, 3, "e")))
    >>> (found,) = by_text(load(), [document])
    >>> np.argwhere(found.places(0, Stream.ENCODER, "all.mentions.to")).tolist()  # from "she" to "Emma"
    [[3, 1]]
    """
    from attlas.studies.coref.call import cut

    windows = cut(subject, documents, subject.pieces.window).windows
    windows = [replace(window, unit=number, number=number) for number, window in enumerate(windows)]
    if not windows:
        return
    anyone = {(c, k): Choice(0, 0, 0) for c in range(len(CANDIDATES)) for k in range(len(KINDS))}
    study = Coref(subject, chosen=anyone)  # which has it count text by text
    bundle = study.empty()
    study.update(bundle, windows)
    means = unit_by_unit(bundle, ["heads"], len(windows))  # (text, layer, head, direction, candidates, kind)
    figures = {
        f"{kind}.{candidates}.{direction}": {study.stream: means[..., way, place, number]}
        for number, kind in enumerate(KINDS)
        for place, candidates in enumerate(CANDIDATES)
        for way, direction in enumerate(study.directions)
    }

    def places(text: int, stream: Stream, quantity: str) -> NDArray[np.bool_]:
        kind, _, direction = quantity.split(".")
        question, words = windows[text].question, np.array(windows[text].source.segmentation.words)
        made = np.zeros((len(words), len(words)), bool)
        for place, right, kinds in zip(question.asked, question.right, question.kinds(), strict=True):
            if kinds[KINDS.index(kind)]:
                asking, asked = words == question.mentions[place].head, np.isin(words, list(right))
                made |= asking[:, None] & asked[None] if direction == "to" else asked[:, None] & asking[None]
        return made

    yield ByText(windows, figures, places)
