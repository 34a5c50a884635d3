"""Stop words, and the phrases that are left between them.

For English the list of scikit-learn (318 words), which the usual TF-IDF and KeyBERT go by; for other languages that
of the package ``yake``, where it is installed and has one. A run of words without a stop word or a sign is a
candidate that needs no model, no corpus and no tagger.
"""

from __future__ import annotations

import importlib.util
from functools import cache
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from attlas.studies.shared.keywords.phrases import Phrase, rank_phrases
from attlas.text import Document
from attlas.text.stems import Stem

# The languages of the stemmers, by the codes of ISO 639-1.
CODES = {
    "arabic": "ar", "armenian": "hy", "basque": "eu", "catalan": "ca", "danish": "da", "dutch": "nl", "english": "en",
    "finnish": "fi", "french": "fr", "german": "de", "greek": "el", "hindi": "hi", "hungarian": "hu",
    "indonesian": "id", "irish": "ga", "italian": "it", "lithuanian": "lt", "nepali": "ne", "norwegian": "no",
    "portuguese": "pt", "romanian": "ro", "russian": "ru", "serbian": "sr", "spanish": "es", "swedish": "sv",
    "tamil": "ta", "turkish": "tr", "yiddish": "yi",
}  # fmt: skip


@cache
def stop_words(language: str = "english") -> frozenset[str] | None:
    """The stop words of a language, or None where no list is at hand.

    >>> "the" in stop_words(), "networks" in stop_words(), stop_words("yiddish") is None
    (True, False, True)
    """
    if language == "english":
        from sklearn.feature_extraction.text import ENGLISH_STOP_WORDS

        return frozenset(ENGLISH_STOP_WORDS)
    installed = importlib.util.find_spec("yake")
    if installed is None or installed.origin is None or language not in CODES:
        return None
    lists = Path(installed.origin).parent / "core" / "StopwordsList"
    file = lists / f"stopwords_{CODES[language]}.txt"
    return frozenset(file.read_text(encoding="utf-8").lower().split("\n")) - {""} if file.exists() else None


def content_words(document: Document, stops: frozenset[str]) -> NDArray[np.bool_]:
    """Which words of a document are no stop words.

    >>> content_words(Document.from_text("The farmer slept."), stop_words()).tolist()
    [False, True, True, True]
    """
    return np.array([word.lower() not in stops for word in document.forms], dtype=bool)


def runs_between(document: Document, stops: frozenset[str], stem: Stem | None = None) -> list[Phrase]:
    """The runs of words between stop words and signs, in the order of their first place.

    >>> document = Document.from_text("The age of solar cells is a puzzle, as solar cells age.")
    >>> [phrase.text for phrase in runs_between(document, stop_words())]
    ['age', 'solar cells', 'puzzle', 'solar cells age']
    """
    phrases = rank_phrases(document, content_words(document, stops), stem=stem)
    return sorted(phrases, key=lambda phrase: phrase.places[0])
