"""Relations between two nominals, as in SemEval-2010 Task 8.

Each example is a numbered line with a quoted sentence in which two nominals are marked, ``<e1>`` and ``<e2>``, a
line with their relation, such as ``Cause-Effect(e2,e1)`` or ``Other``, and a comment, which is passed over. Words are
found by rule in the sentence without the marks, and a word with a mark inside is cut there, so that
``<e1>factory</e1>'s`` is two. Each sentence becomes a document with one edge, the pair of the first nominal and
the second, labelled by the relation with its direction.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Sequence
from itertools import pairwise

from attlas.corpora.formats import Format
from attlas.corpora.source import Readable, Source, open_source
from attlas.text import Document, Edge, Span, split_words

_NUMBERED = re.compile(r"\s*([0-9]+)\s+(\S.*)")
_RELATION = re.compile(r"[^\s:()]+(\((e1,e2|e2,e1)\))?")
_MARK = re.compile(r"</?e[12]>")
_MARKS = {"<e1>", "</e1>", "<e2>", "</e2>"}


def read_semeval(path: Readable) -> list[Document]:
    """Read relations, one document per sentence.

    >>> text = '7\\t"The <e1>fire</e1> was caused by <e2>lightning</e2>."\\nCause-Effect(e2,e1)\\nComment:\\n'
    >>> document, = read_semeval(Source.of_text(text, name="a.txt"))
    >>> document.text, document.edges[0].spans, document.edges[0].labels
    ('The fire was caused by lightning.', (Span(start=1, stop=2), Span(start=5, stop=6)), ('Cause-Effect(e2,e1)',))
    """
    source = open_source(path)
    documents: list[Document] = []
    waiting: tuple[int, str, str] | None = None  # the line, number and sentence whose relation comes next
    for line, content in enumerate([*source.lines, ""], start=1):
        sentence = _sentence(content)
        if waiting is not None:
            if _RELATION.fullmatch(content.strip()) is None:
                raise source.error("no relation follows this sentence on the next line", waiting[0])
            documents.append(_document(source, *waiting, content.strip()))
            waiting = None
        elif sentence is not None:
            waiting = (line, sentence[1], sentence[2].strip())
        elif content.strip() and not content.strip().lower().startswith("comment"):
            raise source.error("this is neither a numbered sentence with <e1> and <e2> nor a comment", line)
    if not documents:
        raise source.error("there is no sentence in this file")
    return documents


def _sentence(content: str) -> re.Match[str] | None:
    """The number and the sentence of a line, where a nominal is marked in it."""
    return _NUMBERED.fullmatch(content) if "<e1>" in content or "<e2>" in content else None


def _document(source: Source, line: int, number: str, marked: str, relation: str) -> Document:
    if len(marked) > 1 and marked.startswith('"') and marked.endswith('"'):
        marked = marked[1:-1].strip()
    text, at, places = "", 0, dict[str, int]()
    for mark in _MARK.finditer(marked):
        text += marked[at : mark.start()]
        at = mark.end()
        if mark[0] in places:
            raise source.error(f"{mark[0]} comes twice in this sentence", line)
        places[mark[0]] = len(text)
    text += marked[at:]
    if set(places) != _MARKS:
        raise source.error(f"{min(_MARKS - set(places))} is missing in this sentence", line)
    words = _cut(split_words(text), set(places.values()))
    first, second = (
        _between(source, words, places[f"<{name}>"], places[f"</{name}>"], name, line) for name in ("e1", "e2")
    )
    return Document(text, words, name=f"{source.name}, {number}", edges=(Edge(first, second, (relation,)),))


def _cut(words: Sequence[Span], marks: Collection[int]) -> tuple[Span, ...]:
    """The words, cut in two where a mark stands inside."""
    cuts = ([word.start, *sorted(at for at in marks if word.start < at < word.stop), word.stop] for word in words)
    return tuple(Span(start, stop) for cut in cuts for start, stop in pairwise(cut))


def _between(source: Source, words: Sequence[Span], start: int, stop: int, name: str, line: int) -> Span:
    inside = [at for at, word in enumerate(words) if start <= word.start and word.stop <= stop]
    if not inside:
        raise source.error(f"there is no word between <{name}> and </{name}>", line)
    return Span(inside[0], inside[-1] + 1)


FORMAT = Format(
    "semeval",
    read_semeval,
    "relations between two marked nominals, as in SemEval-2010 Task 8",
    '7\t"The <e1>fire</e1> was caused by <e2>lightning</e2>."\nCause-Effect(e2,e1)\nComment:\n',
    order=130,
    annotations=("edges",),
    looks={50: lambda lines: _sentence(lines[0]) is not None},
    tasks=("relations",),
)
