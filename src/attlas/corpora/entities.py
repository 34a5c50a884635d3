"""Coreference in the MISC column of CoNLL-U, as GUM and CorefUD have it: ``Entity=(e1-person-...`` and ``e1)``.

``(e1-...`` opens a mention of the chain e1 (what follows the first hyphen is not read), ``e1)`` closes the one that
was opened last, ``(e1-...)`` is a whole one; several stand side by side. Of a mention in parts (``e1[1/2]``) the
first part stands for all. An empty node is no word of ours: what it opens begins with the word after it, what it
closes ends with the word before it, and a mention of empty nodes alone is left out. The head word of a mention is the
first of its words whose governor lies outside it.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence

from attlas.corpora.source import Source
from attlas.text import Mention

_BRACKET = re.compile(r"\(([^()]+)\)|\(([^()]+)|([^()]+)\)")
_NAME = re.compile(r"([^-\[]+)(?:\[([0-9]+)/[0-9]+\])?(?:-.*)?")


def read_mentions(
    source: Source, rows: Iterable[tuple[int, bool, str]], governors: Sequence[int]
) -> list[Mention] | None:
    """The mentions of one sentence, with their head words, in order; None where nothing is marked.

    Of each row of the sentence its line is given, whether it is a word, and its MISC column.

    >>> rows = [(1, True, "SpaceAfter=No|Entity=(e1-person(e2-place)"), (2, True, "Entity=e1)")]
    >>> [tuple(mention) for mention in read_mentions(Source.of_text(""), rows, [1, -1])]
    [(0, 2, 'e1', 1), (0, 1, 'e2', 0)]
    """
    cells: list[tuple[int, int, bool, str]] = []  # the line, the words before it, whether it is one, the brackets
    before = 0
    for line, word, misc in rows:
        brackets = next((item[7:] for item in misc.split("|") if item.startswith("Entity=")), "")
        if brackets:
            cells.append((line, before, word, brackets))
        before += word
    if not cells:
        return None
    found: list[Mention] = []
    opened: dict[str, list[tuple[int, int]]] = {}
    for line, before, word, brackets in cells:
        read = 0
        for match in _BRACKET.finditer(brackets):
            name = _NAME.fullmatch(match[1] or match[2] or match[3])
            if name is None or match.start() != read:
                break
            read = match.end()
            key, first = f"{name[1]}[{name[2]}", name[2] in (None, "1")
            if match[3] is None:
                opened.setdefault(key, []).append((before, line))
            if match[2] is None:
                if not opened.get(key):
                    raise source.error(f"a mention of {name[1]} ends here that never began", line)
                start, stop = opened[key].pop()[0], before + word
                if first and start < stop:
                    found.append(Mention(start, stop, name[1], _head(start, stop, governors)))
        if read != len(brackets):
            raise source.error(f"Entity={brackets} is not made of (e1-..., e1) and (e1-...)", line)
    for key, stack in opened.items():
        if stack:
            raise source.error(f"the mention of {key.partition('[')[0]} that begins here never ends", stack[-1][1])
    return sorted(found, key=lambda mention: (mention.start, -mention.stop, mention.chain))


def _head(start: int, stop: int, governors: Sequence[int]) -> int:
    """The first word of a span whose governor lies outside it."""
    return next(word for word in range(start, stop) if not start <= governors[word] < stop)
