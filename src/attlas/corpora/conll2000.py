"""Chunked sentences in the three columns of CoNLL-2000: word, part of speech, chunk tag.

Columns are separated by white space and sentences by blank lines; each sentence becomes a document whose words are
joined by single spaces. Chunk tags are ``O``, ``B-X`` and ``I-X`` and are read as the task's own scorer reads them:
``B-X`` always starts a chunk, and ``I-X`` continues one of type X or, where none is open (after ``O``, after another
type, at the start of the sentence), starts it. So both flavours of the notation (IOB1 and IOB2) come out right.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from attlas.corpora.source import Readable, open_source
from attlas.text import Chunk, Document

_TAG = re.compile(r"O|[BI]-(\S+)")


def read_conll2000(path: Readable) -> list[Document]:
    """Read a chunked corpus, one document per sentence.

    >>> from attlas.corpora.source import Source
    >>> text = "The DT B-NP\\nfarmer NN I-NP\\nslept VBD B-VP\\n. . O\\n"
    >>> document, = read_conll2000(Source.of_text(text, name="a.txt"))
    >>> document.text, document.xpos, [tuple(c) for c in document.chunks]
    ('The farmer slept .', ('DT', 'NN', 'VBD', '.'), [(0, 2, 'NP'), (2, 3, 'VP')])
    """
    source = open_source(path)
    documents: list[Document] = []
    rows: list[list[str]] = []
    for line, content in enumerate([*source.lines, ""], start=1):
        fields = content.split()
        if fields:
            if len(fields) != 3:
                columns = "1 column" if len(fields) == 1 else f"{len(fields)} columns"
                raise source.error(f"{columns} where 3 are needed: word, part of speech, chunk tag", line)
            if _TAG.fullmatch(fields[2]) is None:
                raise source.error(f"the chunk tag {fields[2]!r} is not O, B-something or I-something", line)
            rows.append(fields)
        elif rows:
            words, xpos, tags = (list(column) for column in zip(*rows, strict=True))
            name = f"{source.name}, sentence {len(documents) + 1}"
            documents.append(Document.from_words(words, name=name, xpos=xpos, chunks=chunks_of(tags)))
            rows = []
    if not documents:
        raise source.error("there is no sentence in this file")
    return documents


def chunks_of(tags: Sequence[str]) -> tuple[Chunk, ...]:
    """Turn the chunk tags of one sentence into chunks.

    >>> [tuple(chunk) for chunk in chunks_of(["I-NP", "B-NP", "I-NP", "I-VP", "O"])]
    [(0, 1, 'NP'), (1, 3, 'NP'), (3, 4, 'VP')]
    """
    chunks: list[Chunk] = []
    open_label: str | None = None
    for index, tag in enumerate(tags):
        label = None if tag == "O" else tag[2:]
        if label is not None and label == open_label and tag[0] == "I":
            chunks[-1] = Chunk(chunks[-1].start, index + 1, label)
        elif label is not None:
            chunks.append(Chunk(index, index + 1, label))
        open_label = label
    return tuple(chunks)
