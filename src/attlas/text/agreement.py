"""Number, gender and person of an English mention, and what kind of mention it is, from small closed lists.

The lists are modest on purpose: pronouns, titles, words of kinship and a few others that say a person's gender. What
they do not know is unknown, and what is unknown agrees with everything.

- **Kind**: a *pronoun* is a mention of one word (a possessive marker aside) that is in the closed list below, or
  whose head word is tagged as a pronoun; *proper* is one whose head word is tagged as a proper noun or, without tags,
  begins with a capital that the beginning of a sentence does not explain; all else is *nominal*.
- **Number**: of a pronoun by list; of a coordination ("Emma and Karim") plural; by a determiner or numeral ("a",
  "this", "these", "two"); by tag (NNS, NNPS); names are singular; else a noun that ends in -s, but not in -ss, -us,
  -is or -'s, is plural and one that does not is singular, save for a list of irregular plurals.
- **Gender**: of a pronoun by list; by a title in front ("Mrs") or a head word of the list ("aunt").
- **Person**: of a pronoun by list; everything else is third person.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from attlas.text.phrases import POSSESSIVE, listed

PRONOUN, PROPER, NOMINAL = "pronoun", "proper", "nominal"

# number (s, p), gender (m, f, n), person (1, 2, 3); "." is not told
_PRONOUNS = {
    "s.1": "i me my mine myself",
    "p.1": "we us our ours ourselves",
    "..2": "you your yours",
    "s.2": "yourself",
    "p.2": "yourselves",
    "sm3": "he him his himself",
    "sf3": "she her hers herself",
    "sn3": "it its itself this that",
    "p.3": "they them their theirs 'em themselves these those both",
    "s.3": "one oneself everybody everyone somebody someone anybody anyone nobody something anything nothing",
    "..3": "who whom whose which what each other another all some any there here",
}
_TRAITS = {word: code for code, words in _PRONOUNS.items() for word in words.split()}
_MASCULINE = listed(
    "mr mr. sir lord king prince duke father dad daddy papa grandfather grandpa son grandson brother uncle nephew "
    "husband boyfriend widower man boy gentleman guy actor waiter monk"
)
_FEMININE = listed(
    "mrs mrs. ms ms. miss madam lady queen princess duchess mother mom mum mommy mama grandmother grandma daughter "
    "granddaughter sister aunt niece wife girlfriend widow woman girl actress waitress nun"
)
_SINGULAR = listed("a an this that each every another one either neither")
_PLURAL = listed("these those both many few several two three four five six seven eight nine ten")
_IRREGULAR = listed(
    "people men women children feet teeth mice geese oxen police media data criteria phenomena folk cattle"
)
_NOT_PLURAL = ("ss", "us", "is", "'s", "’s")
_PROPER_TAGS = frozenset({"PROPN", "NNP", "NNPS", "NP", "NPS"})
_PRONOUN_TAGS = frozenset({"PRON", "PRP", "PRP$"})


class Traits(NamedTuple):
    """Number (s, p), gender (m, f, n) and person (1, 2, 3) of a mention; "." where it is not known.

    >>> traits(["his", "two", "aunts"], 2)
    Traits(number='p', gender='.', person='3')
    """

    number: str
    gender: str
    person: str

    def agrees(self, other: Traits) -> bool:
        """Whether no trait that is known of both differs.

        >>> traits(["she"], 0).agrees(traits(["the", "farmer"], 1)), traits(["she"], 0).agrees(traits(["him"], 0))
        (True, False)
        """
        pairs = zip(self, other, strict=True)
        return all(one == two or "." in (one, two) for one, two in pairs)


def kind_of(words: Sequence[str], head: int, *, tag: str | None = None, opens: bool = False) -> str:
    """What kind of mention this is: pronoun, proper or nominal.

    ``head`` is the place of its head word, ``tag`` that word's part of speech where the corpus has it (universal or
    Penn), ``opens`` whether that word may have its capital merely because it begins a sentence.

    >>> [kind_of(words.split(), -1) for words in ("her", "the farmer", "Fort Lee")]
    ['pronoun', 'nominal', 'proper']
    >>> kind_of(["Farmers"], 0, opens=True), kind_of(["Farmers"], 0, tag="NNS")
    ('nominal', 'nominal')
    """
    word = words[head]
    alone = len([word for word in words if word.lower() not in POSSESSIVE]) == 1
    if tag in _PRONOUN_TAGS or (alone and word.lower() in _TRAITS and tag not in _PROPER_TAGS):
        return PRONOUN
    named = tag in _PROPER_TAGS if tag is not None else word[:1].isupper() and not opens
    return PROPER if named else NOMINAL


def traits(words: Sequence[str], head: int, *, tag: str | None = None, kind: str | None = None) -> Traits:
    """What the lists know of a mention's number, gender and person.

    >>> traits(["Mrs", "Lee"], 1, kind="proper")
    Traits(number='s', gender='f', person='3')
    >>> traits(["Emma", "and", "Karim"], 0).number, traits(["the", "news"], 1, tag="NN").number
    ('p', 's')
    """
    low = [word.lower() for word in words]
    known = _TRAITS.get(low[head])
    if known is not None and kind in (None, PRONOUN):
        return Traits(*known)
    named = {low[0], low[head]} if kind == PROPER else {low[head]}
    gender = "m" if named & _MASCULINE else "f" if named & _FEMININE else "."
    return Traits(_number(low, head, tag, kind), gender, "3")


def _number(low: Sequence[str], head: int, tag: str | None, kind: str | None) -> str:
    if "and" in low[head + 1 : head + 4] and len(low) > head + 2:
        return "p"
    before = set(low[:head])
    if before & _PLURAL:
        return "p"
    if before & _SINGULAR:
        return "s"
    if tag in ("NNS", "NNPS"):
        return "p"
    if tag in ("NN", "NNP") or kind == PROPER:
        return "s"
    word = low[head]
    return "p" if word in _IRREGULAR or (word.endswith("s") and not word.endswith(_NOT_PLURAL)) else "s"
