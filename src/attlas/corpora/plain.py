"""Plain text, cut into paragraphs.

In ordinary text a paragraph is a run of non-blank lines, joined by a space, and the whole file is one article. Three
kinds of file have a paragraph on every line instead: those whose non-blank lines have a median length above 200
characters; those without blank lines of which four lines in five end as a sentence does; and those with WikiText
headings. Such a heading is ``= Title =`` (deeper ones ``= = Title = =``), alone between blank lines, with as many
signs before as after; headings are left out of the text, and one of the first level starts a new article.

WikiText writes the hyphens, commas and points inside words as `` @-@ ``, `` @,@ `` and `` @.@ ``; these are joined
up again (``guest @-@ starring`` becomes ``guest-starring``) in whatever file they occur. All other spacing stays.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from statistics import median

from attlas.corpora.formats import Format
from attlas.corpora.source import Readable, Source, open_source
from attlas.errors import CorpusError
from attlas.text import Document

LONG_LINE = 200
_HEADING = re.compile(r"((?:= )+)[^= ](?:.*[^= ])?((?: =)+)")
_SENTENCE_END = re.compile(r"[.!?…。！？؟۔।][\"'”’)\]»」』]*$")
_JOINED = re.compile(r" @([-,.])@ ")


def read_plain(path: Readable, unit: str = "paragraph") -> list[Document]:
    """Read plain text, one document per paragraph, per non-blank line, or per article (``unit="document"``).

    >>> text = "It rained\\nall day.\\n\\nWe stayed in.\\n"
    >>> [(d.name, d.text) for d in read_plain(Source.of_text(text, name="a.txt"))]
    [('a.txt, paragraph 1', 'It rained all day.'), ('a.txt, paragraph 2', 'We stayed in.')]
    """
    return [document for article in read_articles(path, unit) for document in article]


def read_articles(path: Readable, unit: str = "paragraph") -> list[list[Document]]:
    """Read plain text with its documents grouped by article; ordinary text is one article.

    >>> lines = [" = Frogs = ", "They leap .", " = = Food = = ", "Flies .", " = Toads = ", "They crawl ."]
    >>> source = Source.of_text("\\n\\n".join(lines))
    >>> [[document.text for document in article] for article in read_articles(source)]
    [['They leap .', 'Flies .'], ['They crawl .']]
    """
    if unit not in ("paragraph", "line", "document"):
        raise CorpusError(f"the unit of plain text is 'paragraph', 'line' or 'document', not {unit!r}")
    source = open_source(path)
    articles = [article for article in _articles(source, by_line=unit == "line") if article]
    if not articles:
        raise source.error("there are no words in this file")
    if unit == "document":
        articles = [["\n\n".join(article)] for article in articles]
    numbered: list[list[Document]] = []
    count = 0
    for article in articles:
        numbered.append([])
        for text in article:
            count += 1
            numbered[-1].append(Document.from_text(text, name=f"{source.name}, {unit} {count}"))
    return numbered


def _articles(source: Source, by_line: bool) -> list[list[str]]:
    """The paragraphs (or lines) of each article."""
    lines = [line.strip() for line in source.lines]
    levels = [_level(lines, index) if line.startswith("= ") else 0 for index, line in enumerate(lines)]
    headed = 1 in levels
    lined = by_line or headed or _one_per_line(lines)
    articles: list[list[str]] = [[]]
    for line, level in zip(lines, levels, strict=True):
        if headed and level == 1:
            articles.append([])
        elif not (headed and level):
            articles[-1].append(line)
    return [_paragraphs(article, lined) for article in articles]


def _one_per_line(lines: Sequence[str]) -> bool:
    """Whether lines are paragraphs: they are long, or there are no others and most end as a sentence does."""
    filled = [line for line in lines if line]
    if not filled:
        return False
    ended = sum(_SENTENCE_END.search(line) is not None for line in filled)
    return median(map(len, filled)) > LONG_LINE or (len(filled) == len(lines) and 5 * ended >= 4 * len(filled))


def _level(lines: Sequence[str], index: int) -> int:
    """The level of the heading at a line that begins as one, or 0 where it is none."""
    match = _HEADING.fullmatch(lines[index])
    alone = not any(lines[near] for near in (index - 1, index + 1) if 0 <= near < len(lines))
    return match[1].count("=") if match and alone and match[1].count("=") == match[2].count("=") else 0


def _paragraphs(lines: Sequence[str], lined: bool) -> list[str]:
    if lined:
        return [_joined(line) for line in lines if line]
    runs: list[list[str]] = []
    going = False
    for line in lines:
        if line and going:
            runs[-1].append(line)
        elif line:
            runs.append([line])
        going = bool(line)
    return [_joined(" ".join(run)) for run in runs]


def _joined(text: str) -> str:
    """A text without what WikiText puts around marks inside words."""
    return _JOINED.sub(r"\1", text) if "@ " in text else text


FORMAT = Format(
    "plain",
    read_articles,
    "plain text, cut into paragraphs, and WikiText",
    "It rained\nall day.\n\nWe stayed in.\n",
    order=1000,
    options=("unit",),
    looks={100: lambda lines: True},
)
