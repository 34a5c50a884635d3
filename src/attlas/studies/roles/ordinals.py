"""Lists of ordinals and pairs of words in a relation, of which only those count that are one piece of a vocabulary.

Ordinals are days, months, numbers in words and letters; each knows what comes next in its list. Pairs are of our own
choosing, as anybody would list them: plurals, past forms, capitals of countries, and words with a capital letter.
Words are written as inside a text, with a space before them.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING

from attlas.errors import CapabilityError
from attlas.models.pieces import Encoded
from attlas.studies.roles.texts import RoleText, Setting
from attlas.text import Document, Passage, Segmentation

if TYPE_CHECKING:
    from attlas.capture import Subject

FEWEST = 8  # ordinals, or pairs of a relation, below which nothing is scored
MOST = 24  # pairs of a relation
LIST = 4  # ordinals of a list that is to be continued
LISTS: tuple[tuple[str, ...], ...] = (
    ("Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday"),
    ("January", "February", "March", "April", "May", "June", "July", "August", "September", "October", "November",
     "December"),
    ("one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten", "eleven", "twelve"),
    ("first", "second", "third", "fourth", "fifth", "sixth", "seventh", "eighth", "ninth", "tenth"),
    tuple("ABCDEFGHIJKLMNOPQRSTUVWXYZ"),
)  # fmt: skip
RELATIONS: Mapping[str, tuple[tuple[str, str], ...]] = {
    "plural": tuple((word, f"{word}s") for word in (
        "book", "dog", "car", "house", "tree", "friend", "river", "door", "word", "letter", "road", "hand", "king",
        "song", "horse", "ship", "wall", "game", "idea", "school", "table", "window", "student", "doctor")),
    "past": tuple((word, f"{word}ed") for word in (
        "walk", "talk", "play", "work", "look", "want", "call", "help", "open", "start", "turn", "need", "ask",
        "learn", "wait", "show", "watch", "reach", "visit", "return", "answer", "enter", "pass", "kill")),
    "capital": (
        ("France", "Paris"), ("Germany", "Berlin"), ("Italy", "Rome"), ("Spain", "Madrid"), ("England", "London"),
        ("Japan", "Tokyo"), ("China", "Beijing"), ("Russia", "Moscow"), ("Greece", "Athens"), ("Egypt", "Cairo"),
        ("Austria", "Vienna"), ("Ireland", "Dublin"), ("Turkey", "Ankara"), ("Portugal", "Lisbon"),
        ("Sweden", "Stockholm"), ("Norway", "Oslo"), ("Poland", "Warsaw"), ("Cuba", "Havana"), ("Peru", "Lima"),
        ("India", "Delhi")),
    "capitalised": tuple((word, word.capitalize()) for word in (
        "the", "this", "house", "water", "school", "music", "king", "river", "history", "science", "family", "world",
        "people", "church", "north", "south", "east", "west", "summer", "winter", "street", "market", "island",
        "star")),
}  # fmt: skip


@dataclass(frozen=True)
class Pair:
    """A piece and the piece that it should lead to, as a unit that is scored.

    >>> Pair(3, 4, 0).length
    1
    """

    first: int
    second: int
    unit: int
    length: int = 1


def one_piece(subject: Subject, word: str) -> int | None:
    """The one piece that a word is inside a text; None where it is several.

    >>> from attlas.capture import load
    >>> one_piece(load(), "Monday") is None, one_piece(load(), "unbelievably") is None
    (False, True)
    """
    tokenizer = subject.pieces.tokenizer
    ids = tokenizer(f" {word}", add_special_tokens=False, verbose=False)["input_ids"]
    return int(ids[0]) if len(ids) == 1 and ids[0] != tokenizer.unk_token_id else None


def ordinals(setting: Setting) -> list[Pair]:
    """All ordinals that are one piece and whose next one is, too; refused where there are fewer than eight.

    >>> from attlas.capture import load
    >>> len(ordinals(Setting(load(), None))) > 50
    True
    """
    pairs: list[Pair] = []
    for each in LISTS:
        ids = [one_piece(setting.subject, word) for word in each]
        for one, following in pairwise(ids):
            if one is not None and following is not None:
                pairs.append(Pair(one, following, len(pairs)))
    if len(pairs) < FEWEST:
        raise CapabilityError(
            f"{len(pairs)} ordinals are one piece of the vocabulary of {setting.subject.name}, and their next one, "
            f"too; {FEWEST} are needed"
        )
    return pairs


def related(setting: Setting, relation: str) -> list[Pair]:
    """The pairs of a relation of which both words are one piece, another each; refused where there are too few.

    >>> from attlas.capture import load
    >>> len(related(Setting(load(), None), "plural"))
    24
    """
    found = [[one_piece(setting.subject, word) for word in pair] for pair in RELATIONS[relation]]
    known = [(a, b) for a, b in found if a is not None and b is not None and a != b][:MOST]
    if len(known) < FEWEST:
        raise CapabilityError(
            f"{len(known)} pairs of the relation {relation!r} are of one piece each in the vocabulary of "
            f"{setting.subject.name}; {FEWEST} are needed"
        )
    return [Pair(a, b, unit) for unit, (a, b) in enumerate(known)]


def plurals(setting: Setting) -> list[Pair]:
    """Words and their plurals."""
    return related(setting, "plural")


def pasts(setting: Setting) -> list[Pair]:
    """Verbs and their past forms."""
    return related(setting, "past")


def capitals(setting: Setting) -> list[Pair]:
    """Countries and their capitals."""
    return related(setting, "capital")


def capitalised(setting: Setting) -> list[Pair]:
    """Words and the same with a capital letter."""
    return related(setting, "capitalised")


def lists_to_test(setting: Setting) -> list[RoleText]:
    """Four ordinals of a list and the next one, which is asked for.

    >>> from attlas.capture import load
    >>> texts = lists_to_test(Setting(load(), None))
    >>> len(texts), texts[0].spans["asked"]
    (12, (5, 6))
    """
    runs: list[Sequence[int]] = []
    for each in LISTS:
        ids = [one_piece(setting.subject, word) for word in each]
        for at in range(len(ids) - LIST):
            run = [piece for piece in ids[at : at + LIST + 1] if piece is not None]
            if len(run) == LIST + 1:
                runs.append(run)
    if len(runs) < FEWEST:
        raise CapabilityError(
            f"{len(runs)} lists of ordinals can be written with the vocabulary of {setting.subject.name}, one piece "
            f"each; {FEWEST} are needed"
        )
    order = sorted(setting.draw("lists").permutation(len(runs))[: setting.tested].tolist())
    return [setting.example(runs[at], unit, {"asked": (LIST, LIST + 1)}) for unit, at in enumerate(order)]


def the_weights(setting: Setting) -> list[RoleText]:
    """Two empty places, one for each half: what is said of weights alone needs no text."""
    nothing = Encoded((0,), (0,), ("",), Segmentation(("",), (0,), (0,), 1))
    return [RoleText(Passage(Document.from_words(["weights"])), nothing, None, unit) for unit in (0, 1)]
