"""Where the key phrases of a text stand in it.

A phrase stands where the stems of its words follow each other in the text: "neural network" is found in "Neural
networks". Words of phrases are split by the same rule as raw text. A *key word* is a word of the text inside such a
place. Places of different phrases may overlap; as chunks, which may not, the longest are kept, and of equally long
ones the first. Key phrases that stand nowhere in the text (about a fifth in collections of abstracts) are *absent*:
no reader of the text alone can mark them.
"""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np
from numpy.typing import NDArray

from attlas.text.document import Chunk, Document
from attlas.text.span import Span
from attlas.text.splitting import split_words
from attlas.text.stems import Stem, stemmer

KEY = "KEY"
Stems = tuple[str, ...]


def phrase_stems(phrase: str, stem: Stem | None = None) -> Stems:
    """The stems of a phrase's words; empty where it has none.

    >>> phrase_stems("Web-based neural networks")
    ('web-bas', 'neural', 'network')
    """
    found = stem or stemmer()
    return tuple(found(phrase[start:stop]) for start, stop in split_words(phrase))


def document_stems(document: Document, stem: Stem | None = None) -> Stems:
    """The stem of every word of a document.

    >>> document_stems(Document.from_text("Networks learn."))
    ('network', 'learn', '.')
    """
    found = stem or stemmer()
    return tuple(found(document.word(index)) for index in range(len(document.words)))


def given_phrases(document: Document, stem: Stem | None = None) -> list[Stems]:
    """The key phrases that people gave a document, as stems; what is the same by its stems counts once.

    >>> from dataclasses import replace
    >>> document = replace(Document.from_text("Solar cells age."), keyphrases=("solar cell", "Solar cells", "ageing"))
    >>> given_phrases(document)
    [('solar', 'cell'), ('ag',)]
    """
    return [stems for stems in dict.fromkeys(phrase_stems(p, stem) for p in document.keyphrases or ()) if stems]


def places(stems: Stems, phrases: Iterable[Stems]) -> dict[Stems, list[Span]]:
    """Where phrases stand among the stems of a text, each with all its places; absent ones are left out.

    >>> places(("solar", "cell", "age", "cell"), [("cell",), ("moon",)])
    {('cell',): [Span(start=1, stop=2), Span(start=3, stop=4)]}
    """
    starts: dict[str, list[int]] = {}
    for index, stem in enumerate(stems):
        starts.setdefault(stem, []).append(index)
    found = {}
    for phrase in phrases:
        size = len(phrase)
        here = [Span(at, at + size) for at in starts.get(phrase[0], ()) if stems[at : at + size] == phrase]
        if here:
            found[phrase] = here
    return found


def key_words(document: Document, stem: Stem | None = None) -> NDArray[np.bool_]:
    """Which words of a document are inside a key phrase.

    >>> from dataclasses import replace
    >>> document = replace(Document.from_text("Solar cells age."), keyphrases=("solar cell", "moon"))
    >>> key_words(document).tolist()
    [True, True, False, False]
    """
    marked = np.zeros(len(document.words), dtype=bool)
    for spans in places(document_stems(document, stem), given_phrases(document, stem)).values():
        for start, stop in spans:
            marked[start:stop] = True
    return marked


def key_chunks(document: Document, stem: Stem | None = None) -> tuple[Chunk, ...]:
    """The key phrases of a document as chunks that do not overlap.

    >>> from dataclasses import replace
    >>> document = replace(Document.from_text("Solar cells age."), keyphrases=("cells", "solar cell"))
    >>> key_chunks(document)
    (Chunk(start=0, stop=2, label='KEY'),)
    """
    found = places(document_stems(document, stem), given_phrases(document, stem))
    taken = np.zeros(len(document.words), dtype=bool)
    kept = []
    for start, stop in sorted((span for spans in found.values() for span in spans), key=lambda s: (s[0] - s[1], s)):
        if not taken[start:stop].any():
            taken[start:stop] = True
            kept.append(Chunk(start, stop, KEY))
    return tuple(sorted(kept))
