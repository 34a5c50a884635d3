"""The sample that comes with attlas: 120 paragraphs in English, written by a grammar, so that their gold is exact.

``sample.jsonl.gz`` beside this module has a line for each paragraph: the fields of a document by their names, all
that it has. It has lemmas, tags, dependencies in the style of Universal Dependencies, chunks, coreference and key
phrases, and the label of a paragraph is the tense in which it is told, past or present. ``make sample`` writes the
file from the grammar in ``tools/sample``.
"""

from __future__ import annotations

import gzip
import json
from importlib.resources import files
from typing import Any

from attlas.text import Chunk, Document, Mention, Span

FILE = "sample.jsonl.gz"
_RANGES = {"words": Span, "sentences": Span, "chunks": Chunk, "mentions": Mention}


def read_sample() -> list[Document]:
    """The paragraphs of the sample, each a document with all its annotation.

    >>> documents = read_sample()
    >>> len(documents), documents[0].name, documents[0].label
    (120, 'sample paragraph 1', 'past')
    """
    lines = gzip.decompress((files("attlas.corpora") / FILE).read_bytes()).decode().splitlines()
    return [Document(**{name: _frozen(name, value) for name, value in json.loads(line).items()}) for line in lines]


def _frozen(name: str, value: Any) -> Any:
    """A field as a document has it: lists are tuples, and of ranges where the field is made of them."""
    if name in _RANGES:
        return tuple(_RANGES[name](*item) for item in value)
    return tuple(value) if isinstance(value, list) else value
