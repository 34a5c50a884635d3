"""Sentences with their translations in two files, line by line. The text is raw, and words are found by rule."""

from __future__ import annotations

from attlas.corpora.formats import Format
from attlas.corpora.source import Readable, open_source
from attlas.text import Document


def read_parallel(source: Readable, target: Readable | None = None) -> list[Document]:
    """Read two files whose lines are translations of each other; words are found by rule.

    >>> from attlas.corpora.source import Source
    >>> document, = read_parallel(Source.of_text("Ein Mann schläft."), Source.of_text("A man sleeps."))
    >>> document.forms, document.translation.forms
    (('Ein', 'Mann', 'schläft', '.'), ('A', 'man', 'sleeps', '.'))
    """
    here = open_source(source)
    if target is None:
        raise here.error("two parallel files are needed; give the other one as the target")
    there = open_source(target)
    if len(here.lines) != len(there.lines):
        raise here.error(
            f"{len(here.lines)} lines, but {there.path} has {len(there.lines)}; parallel files need the same number",
            min(len(here.lines), len(there.lines)) + 1,
        )
    documents: list[Document] = []
    for line, (ours, theirs) in enumerate(zip(here.lines, there.lines, strict=True), start=1):
        for side, content in ((here, ours), (there, theirs)):
            if not content.strip():
                raise side.error("this line has no words; leave the pair out of both files", line)
        name = f"{here.name}, line {line}"
        translation = Document.from_text(theirs.strip(), name=f"{there.name}, line {line}")
        documents.append(Document.from_text(ours.strip(), name=name, translation=translation))
    if not documents:
        raise here.error("there is no line in this file")
    return documents


FORMAT = Format(
    "parallel",
    read_parallel,
    "sentences whose translations are the lines of another file",
    "Ein Mann schläft.\nEs regnet.\n",
    order=60,
    annotations=("translation",),
    options=("target",),
    needs=("target",),
)
