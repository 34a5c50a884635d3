"""Noun phrases, prepositional phrases and other small parts of a sentence.

Nouns are written in a shorthand: the last word is the noun and what stands before it are adjectives, an underscore
joins a compound, a final ``+`` makes it plural and a final ``%`` says that it is a mass noun, as in ``old
apple_tree``, ``fresh egg+`` or ``warm milk%``. All functions return fresh nodes, with the relation they most often
have.
"""

from __future__ import annotations

from dataclasses import replace

from tools.sample.morphology import plural
from tools.sample.tree import Node

_SUPERLATIVES = {"best": "good", "biggest": "big", "oldest": "old", "finest": "fine", "latest": "late"}
_COMPARATIVES = {"older": "old", "bigger": "big", "better": "good"}
_PARTICIPLES = {
    "broken": ("break", "VBN"),
    "burst": ("burst", "VBN"),
    "converted": ("convert", "VBN"),
    "cracked": ("crack", "VBN"),
    "delayed": ("delay", "VBN"),
    "failed": ("fail", "VBN"),
    "faded": ("fade", "VBN"),
    "falling": ("fall", "VBG"),
    "forged": ("forge", "VBN"),
    "hidden": ("hide", "VBN"),
    "injured": ("injure", "VBN"),
    "leaking": ("leak", "VBG"),
    "melting": ("melt", "VBG"),
    "polluted": ("pollute", "VBN"),
    "ruined": ("ruin", "VBN"),
    "signed": ("sign", "VBN"),
    "stolen": ("steal", "VBN"),
    "torn": ("tear", "VBN"),
}
_DETERMINERS = {"a", "the", "this", "that", "these", "those", "no", "every", "each", "some", "another", "any"}
_PRONOUNS = {"I": "1s", "we": "1p", "you": "2", "he": "3s", "she": "3s", "it": "3s", "they": "3p"}
_POSSESSIVES = {"I": "my", "we": "our", "you": "your", "he": "his", "she": "her", "it": "its", "they": "their"}
_INDEFINITE = {"everyone", "nobody", "nothing", "something", "everything", "someone"}


def punct(mark: str, *, glued: bool = True, tag: str | None = None) -> Node:
    """A punctuation mark, glued to the word before it unless told otherwise.

    >>> punct(",").xpos, punct("?").xpos
    (',', '.')
    """
    return Node(mark, mark, "PUNCT", tag or {",": ",", ":": ":"}.get(mark, "."), "punct", glued=glued)


def adverb(word: str, *modifiers: str) -> Node:
    """An adverb, with adverbs of its own.

    >>> [node.form for node in adverb("carefully", "very").words()]
    ['very', 'carefully']
    """
    tag = {"later": "RBR", "earlier": "RBR", "when": "WRB", "where": "WRB", "why": "WRB", "how": "WRB"}.get(
        word, "RB"
    )
    lemma = {"later": "late", "earlier": "early"}.get(word, word)
    return Node(word, lemma, "ADV", tag, "advmod").before(*(adverb(modifier) for modifier in modifiers))


def adjective(words: str) -> Node:
    """An adjective, with adverbs before it if several words are given.

    >>> adjective("very old").left[0].relation
    'advmod'
    """
    *adverbs, word = words.split()
    if word in _PARTICIPLES:
        lemma, tag = _PARTICIPLES[word]
        head = Node(word, lemma, "VERB", tag, "amod")
    elif word in _SUPERLATIVES:
        head = Node(word, _SUPERLATIVES[word], "ADJ", "JJS", "amod")
    elif word in _COMPARATIVES:
        head = Node(word, _COMPARATIVES[word], "ADJ", "JJR", "amod")
    else:
        head = Node(word, word, "ADJ", "JJ", "amod")
    return head.before(*(adverb(each) for each in adverbs))


def number(word: str) -> Node:
    """A numeral before a noun.

    >>> number("three").relation
    'nummod'
    """
    return Node(word, word, "NUM", "CD", "nummod")


def determiner(word: str) -> Node:
    """A determiner.

    >>> determiner("these").lemma
    'this'
    """
    return Node(word, {"these": "this", "those": "that"}.get(word, word), "DET", "DT", "det")


def is_plural(shorthand: str) -> bool:
    """Whether a noun in shorthand is plural.

    >>> is_plural("fresh egg+"), is_plural("egg")
    (True, False)
    """
    return shorthand.endswith("+")


def singular(shorthand: str) -> str:
    """The shorthand of one of several things.

    >>> singular("fresh egg+")
    'fresh egg'
    """
    return shorthand.rstrip("+%")


def bare(shorthand: str) -> str:
    """The shorthand without its adjectives.

    >>> bare("old apple_tree")
    'apple_tree'
    """
    return shorthand.split()[-1]


def noun(shorthand: str, by: str | Node | None = None, *, count: str = "", chain: str | None = None) -> Node:
    """A noun phrase from its shorthand.

    ``by`` is a determiner, a possessor, or nothing. The article "a" is dropped from plurals and becomes "some" before
    mass nouns.

    >>> [node.form for node in noun("fresh goat_milk%", "a").words()]
    ['some', 'fresh', 'goat', 'milk']
    >>> [node.form for node in noun("egg+", "the", count="three").words()]
    ['the', 'three', 'eggs']
    """
    many, mass = shorthand.endswith("+"), shorthand.endswith("%")
    *adjectives, last = shorthand.rstrip("+%").split()
    *parts, head = last.split("_")
    left = [number(count)] if count else []
    left += [_modifier(word) for word in adjectives]
    left += [Node(part, part, "NOUN", "NN", "compound") for part in parts]
    if isinstance(by, Node):
        left.insert(0, by)
    elif by == "all":
        left[:0] = [Node("all", "all", "DET", "PDT", "det:predet"), determiner("the")]
    elif by == "a" and (many or mass):
        left[:0] = [determiner("some")] if mass else []
    elif by:
        left.insert(0, determiner(by if by in _DETERMINERS else "the"))
    form = plural(head) if many else head
    return Node(
        form, head, "NOUN", "NNS" if many else "NN", "obj", tuple(left), person="3p" if many else "3s", chain=chain
    )


def _modifier(word: str) -> Node:
    if word in _DETERMINERS:
        return determiner(word)
    return number(word) if word in ("one", "two") else adjective(word)


def name(first: str, last: str = "", *, chain: str | None = None) -> Node:
    """A person's name.

    >>> [node.relation for node in name("Anna", "Berg").words()]
    ['obj', 'flat']
    """
    surname = (Node(last, last, "PROPN", "NNP", "flat"),) if last else ()
    return Node(first, first, "PROPN", "NNP", "obj", right=surname, chain=chain)


def pronoun(lemma: str, chain: str | None = None) -> Node:
    """A personal pronoun; its case follows from the relation it is put into.

    >>> pronoun("they").to("obl").form
    'them'
    """
    return Node(lemma, lemma, "PRON", "PRP", "nsubj", person=_PRONOUNS[lemma], chain=chain)


def possessive(lemma: str, chain: str | None = None) -> Node:
    """The possessive pronoun that goes with a personal one.

    >>> possessive("they").form
    'their'
    """
    form = _POSSESSIVES[lemma]
    return Node(form, form, "PRON", "PRP$", "nmod:poss", chain=chain)


def indefinite_pronoun(word: str) -> Node:
    """A pronoun such as "nobody".

    >>> indefinite_pronoun("everyone").xpos
    'NN'
    """
    if word not in _INDEFINITE:
        raise ValueError(f"{word!r} is not an indefinite pronoun of this grammar")
    return Node(word, word, "PRON", "NN", "nsubj")


def owner(phrase: Node) -> Node:
    """A noun phrase as possessor, with 's or an apostrophe.

    >>> [node.form for node in owner(noun("farmer+", "the")).words()]
    ['the', 'farmers', "'"]
    """
    mark = "'" if phrase.person == "3p" and phrase.form.endswith("s") else "'s"
    return phrase.to("nmod:poss").after(Node(mark, "'s", "PART", "POS", "case", glued=True))


def pp(preposition: str, phrase: Node, relation: str = "obl") -> Node:
    """A prepositional phrase: the noun phrase with its preposition as dependent.

    >>> [(node.form, node.relation) for node in pp("because of", noun("storm", "the")).words()]
    [('because', 'case'), ('of', 'fixed'), ('the', 'det'), ('storm', 'obl')]
    """
    first, *rest = preposition.split()
    case = Node(first, first, "ADP", "IN", "case").after(*(Node(w, w, "ADP", "IN", "fixed") for w in rest))
    return phrase.to(relation).before(case)


def of(phrase: Node, preposition: str = "of") -> Node:
    """A prepositional phrase that belongs to a noun.

    >>> of(noun("barn", "the")).relation
    'nmod'
    """
    return pp(preposition, phrase, "nmod")


def unmarked(phrase: Node) -> Node:
    """A noun phrase used as an adverbial of time or measure, as in "last week".

    >>> unmarked(noun("last week")).relation
    'obl:unmarked'
    """
    return phrase.to("obl:unmarked")


def apposition(phrase: Node, other: Node, *, commas: bool = True, closed: bool = True) -> Node:
    """A noun phrase with another name for the same thing after it, set off by commas or not.

    >>> [node.form for node in apposition(name("Anna"), noun("young vet", "a")).words()]
    ['Anna', ',', 'a', 'young', 'vet', ',']
    """
    other = replace(other, chain=None).to("appos")
    if commas:
        other = other.before(punct(",")).after(*([punct(",")] if closed else []))
    return phrase.after(other)


def coordinate(first: Node, *others: Node, by: str = "and", comma: bool = False) -> Node:
    """Conjuncts joined to the first one, the conjunction before the last; ``comma`` puts one before it too.

    >>> [node.form for node in coordinate(noun("egg+"), noun("milk%"), noun("cheese%")).words()]
    ['eggs', ',', 'milk', 'and', 'cheese']
    """
    conjuncts = []
    for index, other in enumerate(others):
        last = index + 1 == len(others)
        marks = [punct(",")] if not last or comma else []
        marks += [Node(by, by, "CCONJ", "CC", "cc")] if last else []
        conjuncts.append(other.to("conj").before(*marks))
    joined = first.after(*conjuncts)
    return replace(joined, person="3p") if by == "and" and first.upos in ("NOUN", "PROPN", "PRON") else joined
