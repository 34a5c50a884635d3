"""Coreference in columns: the full layout of CoNLL-2012 and the three columns of OntoGUM.

Every text stands between ``#begin document`` and ``#end document`` and becomes one document. A line has three columns
(index, word, coreference) or at least seven (document, part, index, word, part of speech, parse, ..., coreference);
only index, word, part of speech and coreference are used. In the full layout the escapes of the treebank are undone
(``-LRB-`` is a bracket again, ``/.`` a full stop). Words are joined by single spaces; an empty word is left out.

The coreference column opens and closes mentions by the number of their chain: ``(3`` opens, ``3)`` closes the
mention of chain 3 that was opened last, ``(3)`` is a whole one, and several stand side by side with or without ``|``.
Brackets of different chains may cross. Sentences end at blank lines and where the index starts over; in a text that
has neither, they are found by rule (see :mod:`attlas.text.splitting`).
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field, replace

from attlas.corpora.conll2000 import has_tags, tags_of
from attlas.corpora.cutting import Cutting, after
from attlas.corpora.formats import Format
from attlas.corpora.penn import BRACKETS
from attlas.corpora.source import Readable, Source, open_source
from attlas.text import Document, Mention, Span, split_sentences

_BEGIN = re.compile(r"#\s*begin document\s*(.*)")
_END = re.compile(r"#\s*end document")
_NAME = re.compile(r"\((.*)\);?\s*(.*)")
_BRACKET = re.compile(r"\(([^()|]+)\)|\(([^()|]+)|([^()|]+)\)|\|")
_ESCAPES = {**BRACKETS, "/.": ".", "/?": "?", "/-": "-"}
_FULL = 7


@dataclass
class _Open:
    """A document while it is being read."""

    line: int
    label: str
    words: list[str] = field(default_factory=list)
    xpos: list[str] = field(default_factory=list)
    starts: list[int] = field(default_factory=lambda: [0])  # the first word of each sentence
    mentions: list[Mention] = field(default_factory=list)
    opened: dict[str, list[tuple[int, int]]] = field(
        default_factory=dict
    )  # chain: first word and line, innermost last
    index: int = -1

    def new_sentence(self) -> None:
        if self.starts[-1] < len(self.words):
            self.starts.append(len(self.words))


def read_conll2012(path: Readable) -> list[Document]:
    """Read a coreference corpus, one document per ``#begin document``.

    >>> rows = ["0\\tA\\t(1", "1\\tfarmer\\t1)", "2\\tsaw\\t_", "3\\tit\\t(2)"]
    >>> text = "\\n".join(["#begin document (tale)", *rows, "#end document"])
    >>> document, = read_conll2012(Source.of_text(text, name="a.conll"))
    >>> document.name, [tuple(m) for m in document.mentions]
    ('a.conll, tale', [(0, 2, '1', None), (3, 4, '2', None)])
    """
    source = open_source(path)
    documents: list[Document] = []
    current: _Open | None = None
    for line, content in enumerate(source.lines, start=source.first_line):
        if begin := _BEGIN.match(content):
            if current is not None:
                raise source.error(f"the document that begins here has no end before line {line}", current.line)
            current = _Open(line, _label(begin[1], len(documents) + 1))
        elif _END.match(content):
            if current is None:
                raise source.error("a document ends here that has not begun", line)
            documents.append(_close(source, current, line))
            current = None
        elif content.startswith("#"):
            continue
        elif not content.strip():
            if current is not None:
                current.new_sentence()
        elif current is None:
            raise source.error("a word outside '#begin document' and '#end document'", line)
        else:
            _add(source, current, content, line)
    if current is not None:
        raise source.error("the document that begins here has no '#end document'", current.line)
    if not documents:
        raise source.error("there is no '#begin document' in this file")
    return documents


def _label(given: str, number: int) -> str:
    """Of ``(bc/cctv_0001); part 000`` the name and the part; a number where nothing is given."""
    match = _NAME.fullmatch(given.strip())
    parts = [part for part in (match[1], match[2]) if part] if match else [given.strip()]
    return ", ".join(parts) or f"document {number}"


def _add(source: Source, current: _Open, content: str, line: int) -> None:
    """Take up one word with the brackets that open and close at it."""
    fields = content.split("\t") if content.count("\t") == 2 else content.split()
    if len(fields) == 3:
        index, word, xpos = fields[0], fields[1].strip(), ""
    elif len(fields) >= _FULL:
        index, word, xpos = fields[2], _ESCAPES.get(fields[3], fields[3]), fields[4]
    else:
        raise source.error(
            f"{len(fields)} columns where 3 (index, word, coreference) or at least {_FULL} "
            "(the layout of CoNLL-2012) are needed",
            line,
        )
    if not (index.isascii() and index.isdigit()):
        raise source.error(f"the word's index is {index!r}, not a number", line)
    number = source.whole_number(index, line)
    if number == 0:
        current.new_sentence()
    elif number != current.index + 1:
        raise source.error(f"the index {index} comes where {current.index + 1} or 0 should follow", line)
    current.index = number
    if word:
        current.words.append(word)
        current.xpos.append(xpos)
    elif fields[-1] not in ("_", "-"):
        raise source.error("a mention begins or ends at an empty word", line)
    if fields[-1] not in ("_", "-", "*"):
        _bracket(source, current, fields[-1], line)


def _bracket(source: Source, current: _Open, column: str, line: int) -> None:
    word, read = len(current.words) - 1, 0
    while match := _BRACKET.match(column, read):
        read = match.end()
        whole, begins, ends = match.groups()
        if whole:
            current.mentions.append(Mention(word, word + 1, whole))
        elif begins:
            current.opened.setdefault(begins, []).append((word, line))
        elif ends:
            if not current.opened.get(ends):
                still = ", ".join(
                    f"chain {chain} from line {stack[-1][1]}" for chain, stack in current.opened.items() if stack
                )
                raise source.error(
                    f"a mention of chain {ends} ends here that never began (still open: {still or 'none'})", line
                )
            start, _ = current.opened[ends].pop()
            current.mentions.append(Mention(start, word + 1, ends))
    if read != len(column):
        raise source.error(f"the coreference {column!r} is not made of (3, 3) and (3)", line)


def _close(source: Source, current: _Open, line: int) -> Document:
    unclosed = [(began, chain) for chain, stack in current.opened.items() for _, began in stack]
    if unclosed:
        began, chain = min(unclosed)
        raise source.error(
            f"the mention of chain {chain} that begins here never ends (document ends at {line})", began
        )
    if not current.words:
        raise source.error("the document that begins here has no words; leave it out", current.line)
    document = Document.from_words(
        current.words,
        name=f"{source.name}, {current.label}",
        xpos=tags_of(current.words, current.xpos) if has_tags(current.xpos) else None,
        mentions=sorted(current.mentions, key=lambda m: (m.start, -m.stop, m.chain)),
    )
    starts = [start for start in current.starts if start < len(current.words)]
    if len(starts) > 1:
        sentences = tuple(Span(a, b) for a, b in zip(starts, [*starts[1:], len(current.words)], strict=True))
    else:
        sentences = split_sentences(document.text, document.words)
    return replace(document, sentences=sentences)


FORMAT = Format(
    "conll2012",
    read_conll2012,
    "coreference in columns: the layout of CoNLL-2012, and the three columns of OntoGUM",
    "#begin document (tale)\n0\tEmma\t(1)\n1\tlost\t_\n2\ther\t(2(1)\n3\that\t2)\n#end document\n",
    order=30,
    annotations=("xpos", "mentions"),
    looks={10: lambda lines: any(map(_BEGIN.match, lines))},
    folders=(".conll", "_conll"),
    cutting=Cutting(lambda options: after(rb"#\s*end document")),
)
