"""Tables of two columns: a sentence, a tab, its translation. The text is raw, and words are found by rule."""

from __future__ import annotations

from collections.abc import Sequence

from attlas.corpora.cutting import Cutting, each_line
from attlas.corpora.formats import Format
from attlas.corpora.source import Readable, open_source
from attlas.text import Document


def read_tsv(path: Readable) -> list[Document]:
    """Read ``source<TAB>target`` lines.

    >>> from attlas.corpora.source import Source
    >>> document, = read_tsv(Source.of_text("Ein Mann schläft.\\tA man's asleep."))
    >>> document.forms, document.translation.forms
    (('Ein', 'Mann', 'schläft', '.'), ('A', "man's", 'asleep', '.'))
    """
    source = open_source(path)
    documents: list[Document] = []
    for line, content in enumerate(source.lines, start=source.first_line):
        sides = content.split("\t")
        if len(sides) != 2:
            found = "no tab" if len(sides) == 1 else f"{len(sides) - 1} tabs"
            raise source.error(f"{found} where a pair of sentences has one between its two columns", line)
        here, there = sides[0].strip(), sides[1].strip()
        if not here or not there:
            raise source.error(f"the {'target' if here else 'source'} side has no words", line)
        name = f"{source.name}, line {line}"
        translation = Document.from_text(there, name=f"{name}, target")
        documents.append(Document.from_text(here, name=name, translation=translation))
    if not documents:
        raise source.error("there is no pair of sentences in this file")
    return documents


def _looks(lines: Sequence[str]) -> bool:
    """Whether these are two columns of sentences: most have several words on either side, as labels and tags do not.
    A line or two that is no pair is for the reader to refuse."""
    rows = [line.split("\t") for line in lines]
    texts = [row for row in rows if len(row) == 2 and all(len(side.split()) > 1 for side in row)]
    return len(rows) > 2 and 2 * len(texts) > len(rows) and sum(len(row) != 2 for row in rows) <= len(rows) // 10


FORMAT = Format(
    "tsv",
    read_tsv,
    "sentences with their translations: two columns with a tab between them",
    "Ein Mann schläft.\tA man sleeps.\nEs regnet.\tIt rains.\nDas Haus brennt.\tThe house is on fire.\n",
    order=50,
    annotations=("translation",),
    looks={90: _looks},
    cutting=Cutting(lambda options: each_line),
)
