"""What can be said of a word without any model: how long it is, where it stands, and how often it occurs.

A regression on these three is what attention must beat before it can be said to know key words.
"""

from __future__ import annotations

from collections import Counter

import numpy as np

from attlas.studies.keywords_study.passes import Part
from attlas.studies.shared.keywords.weighing import Numbers
from attlas.text.keyphrases import document_stems
from attlas.text.stems import Stem


def plain_features(part: Part, stem: Stem | None = None) -> Numbers:
    """For every word of a part: ln of its length in characters, its place in the text from 0 to 1, and ln of how
    often its stem occurs in the text.

    >>> from attlas.text import Document
    >>> ends = np.array([0, 3])
    >>> part = Part("a", (Document.from_text("Rain rains."),), (), ends, ends, np.zeros(3, bool))
    >>> plain_features(part).round(2).tolist()
    [[1.3899999856948853, 0.0, 0.6899999976158142], [1.6100000143051147, 0.5, 0.6899999976158142], [0.0, 1.0, 0.0]]
    """
    rows = []
    for document in part.documents:
        stems = document_stems(document, stem)
        counts = Counter(stems)
        last = max(1, len(stems) - 1)
        rows += [
            (np.log(len(document.word(index))), index / last, np.log(counts[stems[index]]))
            for index in range(len(stems))
        ]
    return np.array(rows, np.float32)
