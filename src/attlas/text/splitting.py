"""Words and sentences of raw text, by rule.

The rules are deliberately small: a word is a run of letters, digits and inner apostrophes or hyphens, any other
visible character is a word of its own, and in scripts that write no spaces (Han, kana, Thai, Lao, Khmer, Burmese)
every character is. A sentence ends after ., ! or ? (and their kin in other scripts) with what closes quotes and
brackets, when a space and something other than a small letter follow, and after every blank line. Where that is not
good enough, bring a corpus that is split already.
"""

from __future__ import annotations

import re
from functools import lru_cache

from attlas.text.span import Span, whole

_UNSPACED = (
    "\u0e00-\u0e7f\u0e80-\u0eff\u1000-\u109f\u1780-\u17ff\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff"
    "\U00020000-\U0002ffff"
)
_WORD = re.compile(
    rf"[{_UNSPACED}]"
    rf"|(?:[^\W_{_UNSPACED}]|[\u0300-\u036f\u0900-\u0dff])+"
    rf"(?:['’\-](?:[^\W_{_UNSPACED}]|[\u0300-\u036f\u0900-\u0dff])+)*"
    r"|\S"
)
_END = frozenset(".!?…。！？؟۔।")
_CLOSING = frozenset("\"'”’)]»」』.!?…。！？")
_BLANK_LINE = re.compile(r"\n\s*\n")
_MAY_END = re.compile(f"[{''.join(_END)}\n]")
_new = tuple.__new__
SHORT = 6  # letters
_UNSPACED_LETTER = re.compile(f"[{_UNSPACED}]")
# A full stop after one of these, or after a single capital letter, does not end a sentence.
_ABBREVIATION = {
    "mr",
    "mrs",
    "ms",
    "dr",
    "prof",
    "st",
    "vs",
    "etc",
    "e.g",
    "i.e",
    "no",
    "fig",
    "jr",
    "sr",
    "u.s",
}


def split(text: str) -> tuple[tuple[Span, ...], tuple[Span, ...]]:
    """The words and sentences of a raw text. Those of very short texts are kept: of these there are many in a file,
    and few that differ.

    >>> split("Oh no.")
    ((Span(start=0, stop=2), Span(start=3, stop=5), Span(start=5, stop=6)), (Span(start=0, stop=3),))
    """
    return _split_short(text) if len(text) <= SHORT else _split(text)


def _split(text: str) -> tuple[tuple[Span, ...], tuple[Span, ...]]:
    words = split_words(text)
    return words, split_sentences(text, words)


_split_short = lru_cache(maxsize=65_536)(_split)


def split_words(text: str) -> tuple[Span, ...]:
    """Find the words of a raw text.

    >>> text = "Don't panic: 3.5 km!"
    >>> [text[a:b] for a, b in split_words(text)]
    ["Don't", 'panic', ':', '3', '.', '5', 'km', '!']
    """
    return tuple([_new(Span, match.span()) for match in _WORD.finditer(text)])


def split_sentences(text: str, words: tuple[Span, ...]) -> tuple[Span, ...]:
    """Group words into sentences; returns ranges of words that cover them all.

    >>> text = 'Dr. Smith left. "Why?" she asked.'
    >>> words = split_words(text)
    >>> [text[words[a].start : words[b - 1].stop] for a, b in split_sentences(text, words)]
    ['Dr. Smith left.', '"Why?" she asked.']
    """
    if len(words) < 2 or not _MAY_END.search(text):
        return whole(len(words))
    sentences: list[Span] = []
    start = 0
    ending, lines = False, "\n" in text
    for index, (begin, stop) in enumerate(words):
        if (ending or lines) and index > start and _breaks(text, words, index, ending):
            sentences.append(Span(start, index))
            start, ending = index, False
        piece = text[begin:stop]
        if piece in _END:
            ending = not (piece == "." and _abbreviated(text, words, index))
        elif not (ending and piece in _CLOSING):
            ending = False
    if start < len(words):
        sentences.append(Span(start, len(words)))
    return tuple(sentences)


def _breaks(text: str, words: tuple[Span, ...], index: int, ending: bool) -> bool:
    gap = text[words[index - 1].stop : words[index].start]
    if "\n" in gap and _BLANK_LINE.search(gap):
        return True
    first = text[words[index].start]
    if not ending or (first in _CLOSING and not gap):
        return False
    unspaced = _UNSPACED_LETTER.match(first) is not None
    return (bool(gap) and not first.islower() and first not in _END) or unspaced


def _abbreviated(text: str, words: tuple[Span, ...], index: int) -> bool:
    if index == 0 or words[index - 1].stop != words[index].start:
        return False
    before = text[words[index - 1].start : words[index - 1].stop]
    return before.lower() in _ABBREVIATION or (len(before) == 1 and before.isupper())
