"""Phrases as any method names them, on their way to being compared.

A method of ours hands over words of the text, and their stems follow. A package hands over a string of its own
making, in small letters and split in its own way: "web based" where the text has "web-based". So that this is not
held against it, such a string is first looked for in the text, signs left aside; where it covers whole words of ours
there, these are what it named. What stands nowhere in the text (an n-gram from which stop words were taken out) is
taken as it is.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from typing import NamedTuple

from attlas.studies.shared.keywords.phrases import Phrase
from attlas.text import Document
from attlas.text.keyphrases import Stems, document_stems, phrase_stems
from attlas.text.stems import Stem

MOST = 20  # phrases that are asked of a method whose list has no end of its own
_LETTERS = re.compile(r"\w+")


class Named(NamedTuple):
    """A phrase as it is shown, and by its stems."""

    text: str
    stems: Stems


def named(phrases: Iterable[Phrase]) -> list[Named]:
    """Phrases of ours, in their order."""
    return [Named(phrase.text, phrase.stems) for phrase in phrases]


class Spotter:
    """Finds strings of other makes among the words of one document.

    >>> document = Document.from_text("A Web-based system for solar cells.")
    >>> spotter = Spotter(document)
    >>> spotter.named(["web based", "based system", "system solar"])[0]
    Named(text='web based', stems=('web-bas',))
    >>> [phrase.stems for phrase in spotter.named(["based system", "solar cells", "system solar"])]
    [('base', 'system'), ('solar', 'cell'), ('system', 'solar')]
    """

    def __init__(self, document: Document, stem: Stem | None = None) -> None:
        self._stem, self._stems = stem, document_stems(document, stem)
        found = list(_LETTERS.finditer(document.text.lower()))
        self._runs = [match.group() for match in found]
        first = {span.start: index for index, span in enumerate(document.words)}
        last = {span.stop: index for index, span in enumerate(document.words)}
        self._begins = [first.get(match.start()) for match in found]  # the word that begins with a run of letters
        self._ends = [last.get(match.end()) for match in found]
        self._places: dict[str, list[int]] = {}
        for index, run in enumerate(self._runs):
            self._places.setdefault(run, []).append(index)

    def named(self, strings: Iterable[str]) -> list[Named]:
        """Strings as phrases; what has no word at all is left out."""
        made = (Named(string, self._spotted(string) or phrase_stems(string, self._stem)) for string in strings)
        return [phrase for phrase in made if phrase.stems]

    def _spotted(self, string: str) -> Stems | None:
        """The stems of the words of the text that a string covers, where it covers whole ones."""
        runs = _LETTERS.findall(string.lower())
        for at in self._places.get(runs[0], ()) if runs else ():
            stop = at + len(runs)
            if self._runs[at:stop] == runs:
                begin, end = self._begins[at], self._ends[stop - 1]
                if begin is not None and end is not None:
                    return self._stems[begin : end + 1]
        return None


def distinct(phrases: Sequence[Named], most: int = MOST) -> list[Named]:
    """The first so many phrases that differ by their stems.

    >>> distinct([Named("cells", ("cell",)), Named("cell", ("cell",)), Named("sun", ("sun",))], 2)
    [Named(text='cells', stems=('cell',)), Named(text='sun', stems=('sun',))]
    """
    kept: dict[Stems, Named] = {}
    for phrase in phrases:
        kept.setdefault(phrase.stems, phrase)
    return list(kept.values())[:most]
