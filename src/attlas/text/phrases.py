"""The head word of an English phrase by rule, for corpora that mark phrases and have no trees.

Read from the left, a phrase ends for this purpose before its first *stop*: a preposition, "to", a relative pronoun,
the subject of a clause without one ("the bread we baked"), an article or "named", "called", "known", "such", a comma,
colon, semicolon, bracket or dash, or "and", "or", "but", "nor" (so a coordination is headed by its first conjunct, as
in Universal Dependencies). The head word is the last word of what is left that is neither punctuation nor a
possessive marker nor "else", "here", "there", "now" or "then"; so a name is headed by its last word. A stop counts
only where a word that can be a head stands before it: not after determiners alone (but "all of them" ends at "of"),
nor at a comma or "and" that joins two words like adjectives before one noun, told by a list of endings. Words joined
by a hyphen, as in "well - to - do", stop nothing.
"""

from __future__ import annotations

import re
from collections.abc import Sequence


def listed(words: str) -> frozenset[str]:
    """A closed list of words.

    >>> sorted(listed("a an"))
    ['a', 'an']
    """
    return frozenset(words.split())


POSSESSIVE = frozenset({"'s", "’s", "'", "’", "´s", "`s"})
_DETERMINERS = listed(
    "a an the this that these those my your his her its our their no every each all both some any such what which "
    "either neither another half quite very too so more most many few several only just even"
)
_ARTICLES = listed("a an the my your our their")
_AFTER_DETERMINERS = listed("of in on at for from with")
_SUBJECTS = listed("i you he she it we they")
_CALLED = frozenset({"named", "called", "known", "such"})
_NEVER = POSSESSIVE | {"else", "here", "there", "now", "then"}
_PREPOSITIONS = listed(
    "of in on at by for with from to into onto about above over under below between among amongst against during "
    "without within through throughout across along around behind beside besides beyond near toward towards upon "
    "since until till after before than as like unlike via per despite except including concerning regarding because "
    "if while although though inside outside aboard amid"
)
_RELATIVE = listed("who whom whose which that where when why whereby")
_JOINING = frozenset({"and", "or", "but", "nor", "&", "plus"})
_COMMAS = frozenset({","})
_CLOSING = frozenset({":", ";", "(", "[", "{", "–", "—", "--", "―", "/"})
_STOPS = _PREPOSITIONS | _RELATIVE | _ARTICLES | _SUBJECTS | _CALLED | _CLOSING
_HYPHEN = frozenset({"-", "‐", "‑"})
_ADJECTIVE = re.compile(
    r".{2,}(?:able|ible|al|ful|ic|ical|ish|ive|less|ous|ary|ant|ent|ing|ed|er|est|y|ern|like|ese)$"
    r"|(?:good|bad|old|new|big|small|large|great|long|short|high|low|black|white|red|green|blue|brown|grey|gray|hot"
    r"|cold|warm|cool|soft|hard|sweet|dark|light|bright|strong|weak|young|rich|poor|fast|slow|wide|deep|safe|free|full"
    r"|real|true|false|fresh|clean|rare|huge|vast|wild|fine|nice|cute|male|female|urban|first|second|third|last|next"
    r"|one|two|three|four|five|six|seven|eight|nine|ten|upper|main|own)$"
)
_WORD = re.compile(r"\w")


def head_word(words: Sequence[str]) -> int:
    """Where the head word of a phrase stands in it.

    >>> [head_word(phrase.split()) for phrase in ("the old farmer", "Emma 's", "one of them", "Emma 's aunt")]
    [2, 0, 0, 2]
    >>> phrase = "a big , red house in the village that we saw".split()
    >>> phrase[head_word(phrase)]
    'house'
    """
    stop = next((at for at in range(1, len(words)) if _stops(words, at)), len(words))
    kept = [at for at in range(stop) if _heads(words[at])]
    if not kept:  # nothing but signs: the last of them
        kept = [at for at in range(len(words)) if _heads(words[at])][:1] or [len(words) - 1]
    return kept[-1]


def _stops(words: Sequence[str], at: int) -> bool:
    """Whether the phrase ends before this word."""
    word = words[at].lower()
    following = words[at + 1] if at + 1 < len(words) else ""
    if words[at - 1] in _HYPHEN or following in _HYPHEN:
        return False
    before = [earlier for earlier in words[:at] if _heads(earlier)]
    if all(earlier.lower() in _DETERMINERS for earlier in before):
        return bool(before) and word in _AFTER_DETERMINERS | _SUBJECTS  # "all of them", "those in the know"
    if word in _COMMAS or word in _JOINING:
        return not (_ADJECTIVE.fullmatch(before[-1].lower()) and before[-1].islower() and _goes_on(words, at))
    return word in _STOPS


def _goes_on(words: Sequence[str], at: int) -> bool:
    """Whether the words after a comma or "and" go on with the same noun phrase, not with one of their own."""
    rest = [word for word in words[at + 1 :] if _heads(word)]
    return bool(rest) and rest[0].lower() not in _DETERMINERS | _PREPOSITIONS | _RELATIVE and len(rest) > 1


def _heads(word: str) -> bool:
    """Whether a word can be a head at all."""
    return word.lower() not in _NEVER and bool(_WORD.search(word))
