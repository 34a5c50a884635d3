"""Searching heads by words: "object", "induction", "[SEP]", "does nothing", "matters for sentiment".

What is said of heads is searched: a sentence counts where the words asked for stand in it, in the title, meaning or
terms of its role, or in the corpus and the command of the result that it is from. Every word that is known at all
must be there; heads come in the order of evidence, which is the strength of the sentence that answers best. Those
of which it is only said that others do alike, or that nothing is to be said, come last.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from attlas.evidence.head import Head
from attlas.evidence.portraits import PLACE
from attlas.evidence.roles import ROLES

if TYPE_CHECKING:
    from attlas.evidence.atlas import Atlas

_WORD = re.compile(r"[^\W_]+(?:-[^\W_]+)*|\[[^\s\]]+\]")
_EMPTY = frozenset(
    [
        "a",
        "an",
        "and",
        "are",
        "as",
        "at",
        "by",
        "do",
        "does",
        "for",
        "from",
        "head",
        "heads",
        "in",
        "is",
        "it",
        "its",
        "of",
        "on",
        "or",
        "that",
        "the",
        "to",
        "what",
        "which",
        "with",
    ]
)
Line = tuple[tuple[Any, ...], float, str, dict[str, float]]
LAST = 0.1  # how much a sentence counts that is about heads alike, or says that there is nothing to say
SAID, TERM, SOURCE = 1.0, 0.5, 0.3  # how much a word counts: in the sentence or its role's name, near it, elsewhere


@dataclass(frozen=True)
class Hit:
    """A head that was found, the sentence that answers, and how well it does."""

    head: Head
    sentence: str
    score: float

    def __str__(self) -> str:
        return f"{self.head.label} of {self.head.model}: {self.sentence}"


def words_of(text: str) -> list[str]:
    """The words that are searched for, in lower case and without endings of plurals and verbs.

    >>> words_of("Heads that find the objects of [SEP]")
    ['find', 'object', '[sep]']
    """
    told = [word.lower() for word in _WORD.findall(text)]
    return [_stem(word) for word in told if word not in _EMPTY]


def _stem(word: str) -> str:
    for ending in ("ies", "es", "s", "ing", "ed"):
        if word.endswith(ending) and len(word) - len(ending) >= 3 and not word.endswith("ss"):
            return word[: -len(ending)] + ("y" if ending == "ies" else "")
    return word


def search(atlas: Atlas, rows: Sequence[Line], text: str, most: int = 20) -> list[Hit]:
    """The heads of which what is asked for is said, in the order of evidence.

    >>> from attlas.evidence.example import example
    >>> for hit in search(example(), lines_of(example()), "object"):
    ...     print(hit)
    1-1 of tiny: finds the verb of an object: 77 % right (the best fixed offset: 36 %)
    """
    asked = words_of(text)
    best: dict[tuple[Any, ...], tuple[float, str]] = {}
    known = [word for word in asked if any(word in where for *_, where in rows)]
    for place, strength, sentence, where in rows:
        if known and all(word in where for word in known):
            score = (1 + strength) * sum(where[word] for word in known) / len(known)
            if score > best.get(place, (0.0, ""))[0]:
                best[place] = (score, sentence)
    ordered = sorted(best.items(), key=lambda item: (-item[1][0], item[0]))
    return [Hit(Head(atlas, *place), sentence, score) for place, (score, sentence) in ordered[:most]]


def lines_of(atlas: Atlas) -> list[Line]:
    """Every sentence with its head, its strength, and how much each word counts in it.

    >>> from attlas.evidence.example import example
    >>> lines_of(example())[0][3]["object"]
    1.0
    """
    return list(_lines_of(atlas))


def _lines_of(atlas: Atlas) -> Iterator[Line]:
    table = atlas.tables["portraits"]
    columns = [
        table[name].to_pylist() for name in (*PLACE, "strength", "sentence", "role", "study", "corpus", "part")
    ]
    sources = {
        (row["model"], row["study"], row["corpus"]): words_of(f"{row['command']} {row['corpus']}")
        for row in atlas.tables["sources"].to_pylist()
    }
    named = {key: words_of(f"{role.title} {role.does}") for key, role in ROLES.items()}
    terms = {key: words_of(f"{role.meaning} {role.terms}") for key, role in ROLES.items()}
    for *place, strength, sentence, role, study, corpus, part in zip(*columns, strict=True):
        where = dict.fromkeys(sources.get((place[0], study, corpus), ()), SOURCE)
        where |= dict.fromkeys(terms.get(role, ()), TERM)
        where |= dict.fromkeys([*named.get(role, ()), *words_of(sentence)], SAID)
        where = {word: LAST * counts for word, counts in where.items()} if part in ("alike", "none") else where
        yield tuple(place), float(strength or 0.0), str(sentence), where
