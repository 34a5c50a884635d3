"""Sentences with their translations, and the gold alignment between their words.

A bitext has ``source words ||| target words`` on each line, split at white space. Gold links come in one of two
notations, told apart by their first line. In Pharaoh's, line k holds the links of pair k: ``3-4`` is sure and ``3p4``
possible, counted from 0 unless ``one_indexed`` says otherwise; an empty line has no links. In that of the NAACL 2003
shared task each line is one link, ``sentence i j S`` or ``... P`` (sure where neither stands); it counts from 1
by definition, and its links to word 0 mean "aligned to nothing" and are left out. A link outside its pair is an
error, or, where ``lenient`` says so, left out with a warning that counts them. Predicted links are written in
Pharaoh's notation, from 0; read as gold they come back as they were, all of them sure.
"""

from __future__ import annotations

import os
import re
import warnings
from collections.abc import Iterable, Sequence
from dataclasses import replace

from attlas.corpora.cutting import Cutting, each_line
from attlas.corpora.formats import Format
from attlas.corpora.source import Readable, Source, open_source
from attlas.errors import CorpusError, CorpusWarning
from attlas.text import Document, Links
from attlas.text.links import Pairs
from attlas.text.links import written as in_pharaoh
from attlas.whole import write_whole

_LINK = re.compile(r"([0-9]+)([-p])([0-9]+)")
_NAACL = re.compile(r"([0-9]+)\s+([0-9]+)\s+([0-9]+)(?:\s+([SP]))?(?:\s+[0-9.]+)?")


def read_bitext(
    path: Readable, gold: Readable | None = None, one_indexed: bool = False, lenient: bool = False
) -> list[Document]:
    """Read ``source ||| target`` lines, with gold links where a file of them is given.

    >>> text, gold = Source.of_text("das Haus ||| the house"), Source.of_text("0-0 1p0 1-1")
    >>> document, = read_bitext(text, gold)
    >>> document.translation.text, sorted(document.links.sure), sorted(document.links.possible)
    ('the house', [(0, 0), (1, 1)], [(0, 0), (1, 0), (1, 1)])
    """
    source = open_source(path)
    documents: list[Document] = []
    for line, content in enumerate(source.lines, start=source.first_line):
        if not content.strip():
            raise source.error("this line is empty; a pair of sentences belongs here, or the line is left out", line)
        sides = [side.split() for side in content.split("|||")]
        if len(sides) != 2:
            raise source.error(f"{len(sides) - 1} times '|||' where a pair of sentences has it once", line)
        if not all(sides):
            raise source.error(f"the {'target' if sides[0] else 'source'} side has no words", line)
        name = f"{source.name}, pair {line}"
        translation = Document.from_words(sides[1], name=f"{name}, target")
        documents.append(Document.from_words(sides[0], name=name, translation=translation))
    if not documents:
        raise source.error("there is no pair of sentences in this file")
    if gold is None:
        return documents
    return with_links(documents, gold, one_indexed, lenient)


def with_links(
    documents: Sequence[Document], gold: Readable, one_indexed: bool = False, lenient: bool = False
) -> list[Document]:
    """Documents that have translations, with the gold links of a file; what is ``lenient`` warns of links that are
    outside their pairs.

    >>> pair = Document.from_words(["ja"], translation=Document.from_words(["oh", "yes"]))
    >>> sorted(with_links([pair], Source.of_text("1-2"), one_indexed=True)[0].links.sure)
    [(0, 1)]
    """
    linked, note = links_and_note(documents, open_source(gold), one_indexed, lenient)
    if note:
        warnings.warn(note, CorpusWarning, stacklevel=2)
    return linked


def links_and_note(
    documents: Sequence[Document], source: Source, one_indexed: bool, lenient: bool
) -> tuple[list[Document], str]:
    """Documents with gold links, and what was left out in words, if anything was.

    >>> pair = Document.from_words(["ja"], translation=Document.from_words(["oh", "yes"]))
    >>> links_and_note([pair], Source.of_text("0-1 0-2", "gold"), one_indexed=False, lenient=True)[1]
    'gold: 1 of 2 links is outside its pair and left out, first line 1'
    """
    collected = [_Collected(document, lenient) for document in documents]
    first = next((line for line in source.lines if line.strip()), "")
    if _NAACL.fullmatch(first.strip()):
        _collect_naacl(source, collected)
    else:
        _collect_pharaoh(source, collected, one_indexed)
    links = [Links(frozenset(pair.sure), frozenset(pair.possible)) for pair in collected]
    linked = [replace(document, links=its) for document, its in zip(documents, links, strict=True)]
    outside = [line for pair in collected for line in pair.outside]
    if not outside:
        return linked, ""
    total = len(outside) + sum(len(pair.sure) + len(pair.possible) for pair in collected)
    are = "is outside its pair" if len(outside) == 1 else "are outside their pairs"
    return linked, f"{source.name}: {len(outside)} of {total} links {are} and left out, first line {min(outside)}"


def write_links(path: str | os.PathLike[str], links: Iterable[Pairs]) -> None:
    """Write predicted links, one line for each pair of sentences; the folder must be there.

    >>> import tempfile
    >>> from pathlib import Path
    >>> file = Path(tempfile.mkdtemp()) / "links.pharaoh"
    >>> write_links(file, [frozenset({(1, 1), (0, 0)}), frozenset()])
    >>> file.read_text()
    '0-0 1-1\\n\\n'
    """
    lines = "".join(f"{in_pharaoh(pair)}\n" for pair in links)
    try:
        write_whole(path, lines)
    except OSError as error:
        raise CorpusError(f"the links cannot be written here ({error.strerror})", file=os.fspath(path)) from None


class _Collected:
    """The links of one pair while they are being read, each checked against the pair's words."""

    def __init__(self, document: Document, lenient: bool) -> None:
        assert document.translation is not None
        self.lenient = lenient
        self.outside: list[int] = []  # lines
        self.sizes = len(document.words), len(document.translation.words)
        self.sure: set[tuple[int, int]] = set()
        self.possible: set[tuple[int, int]] = set()

    def add(self, source: Source, line: int, written: str, link: tuple[int, int], sure: bool, hint: str) -> None:
        if not (0 <= link[0] < self.sizes[0] and 0 <= link[1] < self.sizes[1]):
            if self.lenient:
                self.outside.append(line)
                return
            raise source.error(
                f"the link {written} is outside its pair of {self.sizes[0]} and {self.sizes[1]} words{hint}; "
                "--lenient leaves such links out",
                line,
            )
        (self.sure if sure else self.possible).add(link)


def _collect_pharaoh(gold: Source, collected: list[_Collected], one_indexed: bool) -> None:
    if len(gold.lines) != len(collected):
        raise gold.error(
            f"{len(gold.lines)} lines of links for {len(collected)} pairs of sentences; there must be one for each",
            min(len(gold.lines), len(collected)) + 1,
        )
    base = int(one_indexed)
    advice = "leave out --one-indexed if the file counts from 0" if one_indexed else "or say --one-indexed"
    hint = f"; words are counted from {base} here ({advice})"
    for line, (content, pair) in enumerate(zip(gold.lines, collected, strict=True), start=1):
        for written in content.split():
            match = _LINK.fullmatch(written)
            if match is None:
                raise gold.error(f"{written!r} is not a link such as 3-4 or 3p4", line)
            pair.add(gold, line, written, _both(gold, match[1], match[3], base, line), match[2] == "-", hint)


def _both(gold: Source, here: str, there: str, base: int, line: int) -> tuple[int, int]:
    return gold.whole_number(here, line) - base, gold.whole_number(there, line) - base


def _collect_naacl(gold: Source, collected: list[_Collected]) -> None:
    for line, content in enumerate(gold.lines, start=1):
        if not content.strip():
            continue
        match = _NAACL.fullmatch(content.strip())
        if match is None:
            raise gold.error(f"{content.strip()!r} is not a link such as '12 3 4 S'", line)
        sentence, i, j = (gold.whole_number(match[group], line) for group in (1, 2, 3))
        if not 1 <= sentence <= len(collected):
            if collected[-1].lenient:
                collected[-1].outside.append(line)
                continue
            raise gold.error(f"sentence {sentence} is not among the {len(collected)} pairs", line)
        if i and j:
            written = f"{i}-{j} of sentence {sentence}"
            collected[sentence - 1].add(gold, line, written, (i - 1, j - 1), match[4] != "P", "")


FORMAT = Format(
    "bitext",
    read_bitext,
    "sentences with their translations, and with gold links between their words where a file of them is given",
    "das Haus ||| the house\nja ||| yes\n",
    order=40,
    annotations=("translation", "links"),
    options=("gold", "one_indexed", "lenient"),
    looks={60: lambda lines: all("|||" in line for line in lines)},
    cutting=Cutting(lambda options: each_line),
)
