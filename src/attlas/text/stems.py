"""Words without their endings, so that "networks" in a text meets "network" in a list of key phrases.

English goes through Porter's stemmer, as the field scores key phrases; other languages through the Snowball stemmer
of their name. ``none`` changes nothing but the case, for languages without a stemmer.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache

from attlas.errors import TextError

NONE = "none"
Stem = Callable[[str], str]


@cache
def stemmer(language: str = "english") -> Stem:
    """What takes the ending off a word of a language; it remembers the words it has seen.

    >>> stem = stemmer()
    >>> stem("Networks"), stem("relational"), stemmer("german")("Häuser"), stemmer("none")("Networks")
    ('network', 'relat', 'haus', 'networks')
    >>> stemmer("klingon")
    Traceback (most recent call last):
        ...
    attlas.errors.TextError: there is no stemmer for 'klingon'; choose arabic, armenian, basque, ..., or none
    """
    if language == NONE:
        return str.lower
    import snowballstemmer

    known = sorted(set(snowballstemmer.algorithms()) - {"porter"})
    if language not in known:
        raise TextError(f"there is no stemmer for {language!r}; choose {', '.join(known)}, or {NONE}")
    algorithm = snowballstemmer.stemmer("porter" if language == "english" else language)

    @cache
    def stem(word: str) -> str:
        return str(algorithm.stemWord(word.lower()))

    return stem
