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
    heads = _Heads(governors)
    opened: dict[str, list[tuple[int, int]]] = {}
    for line, before, word, brackets in cells:
        read = 0
        while match := _BRACKET.match(brackets, read):
            name = _NAME.fullmatch(match[1] or match[2] or match[3])
            if name is None:
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
                    found.append(Mention(start, stop, name[1], heads.of(start, stop)))
        if read != len(brackets):
            raise source.error(f"Entity={brackets} is not made of (e1-..., e1) and (e1-...)", line)
    for key, stack in opened.items():
        if stack:
            raise source.error(f"the mention of {key.partition('[')[0]} that begins here never ends", stack[-1][1])
    return sorted(found, key=lambda mention: (mention.start, -mention.stop, mention.chain))


class _Heads:
    """The head words of spans: the first word of each whose governor lies outside it.

    Of runs of 2, 4, 8 ... words it is known how far their governors reach, so that runs whose governors all lie
    inside a span are passed over at once, however many spans there are.
    """

    def __init__(self, governors: Sequence[int]) -> None:
        self._reach = [[(governor, governor) for governor in governors]]
        while len(self._reach[-1]) > 1:
            below = self._reach[-1]
            runs = (below[at : at + 2] for at in range(0, len(below), 2))
            self._reach.append([(min(low for low, _ in run), max(high for _, high in run)) for run in runs])

    def of(self, start: int, stop: int) -> int:
        """The head of a span; there is one, as governors make no cycle."""
        at, level = start, 0
        while True:
            low, high = self._reach[level][at >> level]
            if start <= low and high < stop:
                at += 1 << level
                while level + 1 < len(self._reach) and not at & ((2 << level) - 1):
                    level += 1
            elif level:
                level -= 1
            else:
                return at
