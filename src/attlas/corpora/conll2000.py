"""Chunked sentences in the columns of CoNLL-2000 and its like: the word first, the chunk tag last.

CoNLL-2000 itself has three columns: word, part of speech, chunk tag. Sets of named entities have two (word and tag,
as WNUT-17) or four (CoNLL-2003, of whose two columns of tags the last, the entities, is read); an entity is a chunk
of words too. Columns are separated by tabs or white space and sentences by blank lines; each sentence becomes a
document whose words are joined by single spaces. ``-DOCSTART-`` lines are passed over. Chunk tags are ``O``, ``B-X``
and ``I-X`` and are read as the task's own scorer reads them: ``B-X`` always starts a chunk, and ``I-X`` continues one
of type X or, where none is open (after ``O``, after another type, at the start of the sentence), starts it. So both
flavours of the notation (IOB1 and IOB2) come out right. ``_`` and ``-`` are no tag, in either column: no chunk, and
no part of speech (but the dash of a word that is a dash itself is its part of speech).
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence

from attlas.corpora.formats import Format
from attlas.corpora.source import Readable, Source, open_source
from attlas.text import Chunk, Document

_LOOKS = re.compile(r"(\S+[ \t]+){1,3}(O|[BI]-\S+|[_-])\s*")
_TAG = re.compile(r"O|[BI]-(\S+)|[_-]")
NO_TAG = "_"
_WANTED = {2: "word and chunk tag", 3: "word, part of speech, chunk tag", 4: "word, part of speech, chunk, entity"}


def read_conll2000(path: Readable) -> list[Document]:
    """Read a chunked corpus, one document per sentence.

    >>> text = "The DT B-NP\\nfarmer NN I-NP\\nslept VBD B-VP\\n. . O\\n"
    >>> document, = read_conll2000(Source.of_text(text, name="a.txt"))
    >>> document.text, document.xpos, [tuple(c) for c in document.chunks]
    ('The farmer slept .', ('DT', 'NN', 'VBD', '.'), [(0, 2, 'NP'), (2, 3, 'VP')])
    >>> document, = read_conll2000(Source.of_text("in\\tO\\nLima\\tB-place\\n"))
    >>> document.xpos, [tuple(c) for c in document.chunks]
    (None, [(1, 2, 'place')])
    """
    source = open_source(path)
    sentences: list[list[tuple[str, ...]]] = []  # by column
    rows: list[list[str]] = []
    columns = 0
    for line, content in enumerate([*source.lines, ""], start=1):
        fields = [field.strip() for field in content.split("\t")] if "\t" in content.strip() else content.split()
        if fields and not fields[0].startswith("-DOCSTART-"):
            columns = columns or len(fields)
            _check(source, line, fields, columns)
            rows.append(fields)
        elif rows:
            sentences.append(list(zip(*rows, strict=True)))
            rows = []
    if not sentences:
        raise source.error("there is no sentence in this file")
    tagged = columns > 2 and has_tags(tag for by_column in sentences for tag in tags_of(*by_column[:2]))
    return [
        Document.from_words(
            by_column[0],
            name=f"{source.name}, sentence {number}",
            xpos=tags_of(*by_column[:2]) if tagged else None,
            chunks=chunks_of(by_column[-1]),
        )
        for number, by_column in enumerate(sentences, start=1)
    ]


def _check(source: Source, line: int, fields: Sequence[str], columns: int) -> None:
    if len(fields) != columns or columns not in _WANTED:
        came = "1 column" if len(fields) == 1 else f"{len(fields)} columns"
        wanted = columns if columns in _WANTED else 3
        raise source.error(f"{came} where {wanted} are needed: {_WANTED[wanted]}", line)
    if not fields[0]:
        raise source.error("the word before this tag is missing; leave the line out", line)
    if _TAG.fullmatch(fields[-1]) is None:
        raise source.error(f"the chunk tag {fields[-1]!r} is not O, B-something, I-something, _ or -", line)


def chunks_of(tags: Sequence[str]) -> tuple[Chunk, ...]:
    """Turn the chunk tags of one sentence into chunks."""
    chunks: list[Chunk] = []
    open_label: str | None = None
    for index, tag in enumerate(tags):
        label = tag[2:] or None
        if label is not None and label == open_label and tag[0] == "I":
            chunks[-1] = Chunk(chunks[-1].start, index + 1, label)
        elif label is not None:
            chunks.append(Chunk(index, index + 1, label))
        open_label = label
    return tuple(chunks)


def tags_of(words: Sequence[str], tags: Sequence[str]) -> tuple[str, ...]:
    """The tags of words, with an underscore where there is none.

    >>> tags_of(["It", "-", "rained"], ["PRP", "-", "-"])
    ('PRP', '-', '_')
    """
    pairs = zip(words, tags, strict=True)
    return tuple(NO_TAG if tag in ("", "*") or (tag == "-" and word != "-") else tag for word, tag in pairs)


def has_tags(tags: Iterable[str]) -> bool:
    """Whether a column has any tag; dashes alone are none, whatever their words are.

    >>> has_tags(["_", "-", ""]), has_tags(["_", "NN"])
    (False, True)
    """
    return any(tag not in ("", NO_TAG, "-", "*") for tag in tags)


def _looks(lines: Sequence[str]) -> bool:
    """Whether all lines are words with tags, one of them a tag that is one."""
    tagged = [_LOOKS.fullmatch(line) for line in lines]
    return all(tagged) and any(match is not None and match[2] not in ("_", "-") for match in tagged)


FORMAT = Format(
    "conll2000",
    read_conll2000,
    "chunks or named entities, a word and its tag (O, B-X, I-X) on a line: CoNLL-2000, CoNLL-2003, WNUT-17",
    "The DT B-NP\nfarmer NN I-NP\nslept VBD B-VP\n. . O\n",
    order=20,
    annotations=("xpos", "chunks"),
    looks={70: _looks},
)
