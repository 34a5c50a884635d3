"""Sentences with their sentiment, as the trees of the Stanford Sentiment Treebank: ``(3 (2 It) (4 (2 's) ...))``.

One tree stands on each line; its leaves are the words and the number at its root, from 0 (very negative) to 4 (very
positive), is the sentiment of the sentence. The field's binary task calls 0 and 1 negative, 3 and 4 positive, and
leaves out the neutral 2: such a sentence is read, but has no label. Brackets and slashes are written as the Penn
Treebank does (``-LRB-``, ``\\/``) and come out as what they stand for. The numbers inside the tree are not kept.
"""

from __future__ import annotations

import re

from attlas.corpora.cutting import Cutting, each_line
from attlas.corpora.formats import Format
from attlas.corpora.penn import BRACKETS
from attlas.corpora.source import Readable, Source, open_source
from attlas.errors import CorpusError
from attlas.text import Document

_TREE = re.compile(r"\s*\([0-4] .*\)\s*")
_KINDS = ("binary", "five")
_BINARY = {"0": "negative", "1": "negative", "2": None, "3": "positive", "4": "positive"}
_PART = re.compile(r"\(([0-4]) |\)|([^()\s]+)|(\s+)|(.)", re.DOTALL)


def read_sst(path: Readable, label: str | None = None) -> list[Document]:
    """Read sentiment trees, one document per line; ``label`` is "binary" (taken where nothing is said) or "five".

    >>> tree = "(3 (2 It) (4 (2 's) (4 (3 lovely) (2 -RRB-))))"
    >>> document, = read_sst(Source.of_text(tree, name="dev.txt"))
    >>> document.text, document.label
    ("It 's lovely )", 'positive')
    >>> read_sst(Source.of_text(tree), "five")[0].label
    '3'
    """
    kind = label or "binary"
    if kind not in _KINDS:
        raise CorpusError(f"the labels of sentiment trees are 'binary' or 'five', not {kind!r}")
    source = open_source(path)
    documents: list[Document] = []
    for line, content in enumerate(source.lines, start=source.first_line):
        if content.strip():
            root, words = _tree(source, content.strip(), line)
            name = f"{source.name}, sentence {len(documents) + 1}"
            documents.append(Document.from_words(words, name=name, label=_BINARY[root] if kind == "binary" else root))
    if not documents:
        raise source.error("there is no tree in this file")
    return documents


def _tree(source: Source, content: str, line: int) -> tuple[str, list[str]]:
    """The number at the root of a tree, and its leaves."""
    root, words, depth = "", [], 0
    for match in _PART.finditer(content):
        number, word, _, wrong = match.groups()
        if wrong is not None or (not depth and (root or number is None)):
            at = content[match.start() : match.start() + 20]
            raise source.error(f"this is no tree such as (3 (2 It) (3 works)): it goes wrong at {at!r}", line)
        if number is not None:
            root, depth = root or number, depth + 1
        elif word is not None:
            words.append(BRACKETS.get(word, word.replace("\\/", "/").replace("\\*", "*")))
        elif match[0] == ")":
            depth -= 1
    if depth or not words:
        lacks = f"{depth} closing brackets are missing" if depth else "it has no words"
        raise source.error(f"this is no whole tree such as (3 (2 It) (3 works)): {lacks}", line)
    return root, words


FORMAT = Format(
    "sst",
    read_sst,
    "sentences with their sentiment, as the trees of the Stanford Sentiment Treebank",
    "(3 (2 It) (4 (2 's) (4 lovely)))\n",
    order=90,
    annotations=("label",),
    options=("label",),
    looks={80: lambda lines: all(map(_TREE.fullmatch, lines))},
    cutting=Cutting(lambda options: each_line),
)
