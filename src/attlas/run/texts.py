"""What was given as texts to read: a file, a corpus, documents, or a text itself.

Most studies read a corpus (:func:`attlas.run.setting.as_corpus`); what weighs or shows a text takes the text itself
too.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, Any

from attlas.corpora import Corpus, read
from attlas.corpora.naming import streams_only
from attlas.corpora.sniffing import sniff
from attlas.corpora.source import member_names, open_source
from attlas.errors import TextError
from attlas.run.parameters import Help, Role
from attlas.run.setting import as_corpus
from attlas.text import Document

Given = Annotated[
    str | Path | Corpus | Sequence[Document | str],
    Role("corpus", "attlas.run.texts:given_in_command", ("format", "unit")),
    Help(
        "A text, or a file: plain text (one document), JSON lines with a field 'text', any corpus; - reads from "
        "standard input.",
        argument=True,
    ),
]


def as_texts(texts: Given, *, format: str | None = None, unit: str | None = None) -> Corpus:
    """What was given as a corpus: a file that is there, or else the text itself. A file of plain text is one
    document, unless ``unit`` says otherwise.

    >>> as_texts("Solar cells age.").documents[0].text
    'Solar cells age.'
    >>> as_texts("no_such_file.txt")
    Traceback (most recent call last):
        ...
    attlas.errors.CorpusError: no_such_file.txt: there is no such file
    """
    if isinstance(texts, Corpus):
        return texts
    if not isinstance(texts, (str, Path)):
        return as_corpus([_document(text, f"text {at}") for at, text in enumerate(texts, start=1)])
    if streams_only(texts):
        return read(texts, format, unit=unit)
    if isinstance(texts, Path) or _names_a_file(texts):
        return _read(Path(texts), format, unit)
    if texts == "sample":
        return read("sample")
    return as_corpus([_document(texts, "text")])


def given_in_command(text: str, *, format: str | None, unit: str | None, **how: Any) -> Corpus:
    """What a command was given: a text, a file, or standard input.

    >>> given_in_command("Solar cells age.", format=None, unit=None).format
    'documents'
    """
    return as_texts([sys.stdin.read()] if text == "-" else text, format=format, unit=unit)


def _read(path: Path, format: str | None, unit: str | None) -> Corpus:
    if (names := member_names(path)) is not None and (len(names) != 1 or path.is_dir()):
        return read(path, format, unit=unit)
    known = format or sniff(open_source(path))
    return read(path, known, unit=unit or ("document" if known == "plain" else None))


def _names_a_file(text: str) -> bool:
    """Whether this is the name of a file rather than a text: it is there, or looks like nothing else."""
    if not text.strip() or len(text) > 1000 or "\n" in text:
        return False
    return os.path.exists(text) or (not any(mark.isspace() for mark in text) and Path(text).suffix[1:].isalnum())


def _document(text: str | Document, name: str) -> Document:
    document = text if isinstance(text, Document) else Document.from_text(text, name=name)
    if not document.words:
        raise TextError(f"{document.name or name} is empty; give a text with at least one word")
    return document
