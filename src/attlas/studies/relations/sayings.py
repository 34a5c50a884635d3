"""What relations say of a head: which words it finds, from which, and how often, against the best fixed offset."""

from __future__ import annotations

from attlas.evidence.saying import SURE, Saying

_ENDS = {  # what stands at both ends of a relation: its dependent and its governor, in Universal and Stanford names
    "nsubj": ("subject", "verb"), "csubj": ("clause as subject", "verb"), "obj": ("object", "verb"),
    "dobj": ("object", "verb"), "iobj": ("indirect object", "verb"), "obl": ("oblique", "verb"),
    "nsubj:pass": ("subject", "passive verb"), "nsubjpass": ("subject", "passive verb"),
    "obl:agent": ("agent", "passive verb"), "aux": ("auxiliary", "verb"), "aux:pass": ("auxiliary", "passive verb"),
    "auxpass": ("auxiliary", "passive verb"), "cop": ("copula", "predicate"), "mark": ("conjunction", "clause"),
    "advmod": ("adverb", "word"), "advcl": ("adverbial clause", "verb"), "ccomp": ("clause", "verb"),
    "xcomp": ("complement", "verb"), "expl": ("expletive", "verb"), "compound:prt": ("particle", "verb"),
    "prt": ("particle", "verb"), "neg": ("negation", "word"), "det": ("determiner", "noun"),
    "amod": ("adjective", "noun"), "nummod": ("numeral", "noun"), "num": ("numeral", "noun"),
    "nmod": ("noun modifier", "noun"), "nmod:poss": ("possessor", "noun"), "poss": ("possessor", "noun"),
    "case": ("preposition", "noun"), "prep": ("preposition", "word"), "pobj": ("object", "preposition"),
    "appos": ("apposition", "noun"), "acl": ("clause", "noun"), "acl:relcl": ("relative clause", "noun"),
    "rcmod": ("relative clause", "noun"), "compound": ("first part", "compound"), "nn": ("first part", "compound"),
    "flat": ("later part", "name"), "fixed": ("later part", "fixed phrase"), "cc": ("conjunction", "conjunct"),
    "conj": ("second conjunct", "first conjunct"), "punct": ("punctuation mark", "governor"),
    "parataxis": ("parenthesis", "word"), "vocative": ("vocative", "verb"), "discourse": ("interjection", "verb"),
}  # fmt: skip


def _of(noun: str) -> str:
    return f"{'an' if noun[0] in 'aeiou' else 'a'} {noun}"


def governor_of(relation: str) -> str:
    """What a head finds that looks from a dependent to its governor.

    >>> governor_of("obj"), governor_of("obl:unmarked"), governor_of("all")
    ('the verb of an object', 'the governor of obl:unmarked', "any word's governor")
    """
    if relation == "all":
        return "any word's governor"
    if relation not in _ENDS:
        return f"the governor of {relation}"
    dependent, governor = _ENDS[relation]
    return f"the {governor} of {_of(dependent)}"


def dependent_of(relation: str) -> str:
    """What a head finds that looks from a governor to its dependent.

    >>> dependent_of("obj"), dependent_of("obl:unmarked"), dependent_of("all")
    ('the object of a verb', 'what is obl:unmarked of a word', "any word's dependent")
    """
    if relation == "all":
        return "any word's dependent"
    if relation not in _ENDS:
        return f"what is {relation} of a word"
    dependent, governor = _ENDS[relation]
    return f"the {dependent} of {_of(governor)}"


SAYINGS = tuple(
    Saying("syntax", "finds {relation}: {value} right (the best fixed offset: {chance})", "relation_heads",
           where={"direction": way}, words={"relation": in_words}, p_below=SURE, bar=0.05, most=4)
    for way, in_words in (("to", governor_of), ("from", dependent_of))
)  # fmt: skip
