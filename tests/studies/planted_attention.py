"""Received attention with an answer that is known, without a model, to test the study with.

In every document the word "rain" is the key word; the first head gives it most, the second gives all words the same,
and the third gives it least.
"""

from __future__ import annotations

import shutil
import tempfile
import weakref
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np

from attlas.studies.keywords_study.passes import Part, Received
from attlas.studies.shared.keywords.weighing import Kind
from attlas.text import Document
from attlas.text.keyphrases import key_words

TEXTS = ("Rain fell on hills.", "The rain is here.", "It was rain again.")


def planted(
    parts: Sequence[str] = ("chosen on", "scored on"), times: int = 2, folder: Path | None = None
) -> Received:
    """What words of these texts, so often in each part, receive from three heads of one layer, by weights."""
    documents = tuple(replace(Document.from_text(text), keyphrases=("rain",)) for text in TEXTS * times)
    key = np.concatenate([key_words(document) for document in documents])
    starts = np.concatenate([[0], np.cumsum([len(document.words) for document in documents])])
    laid = {name: Part(name, documents, (), starts, starts, key) for name in parts}
    place = folder or Path(tempfile.mkdtemp(prefix="attlas-"))
    received = Received(place, laid, (Kind("weight", "mean"), Kind("weight", "max")), 3, {"model": "planted"})
    if folder is None:
        weakref.finalize(received, shutil.rmtree, place, ignore_errors=True)
    values = np.stack([np.where(key, 0.5, 0.15), np.full(len(key), 0.2), np.where(key, 0.0, 0.25)])
    for name in parts:
        received.write(name, 0, np.stack([values, values]).astype(np.float32))
    return received
