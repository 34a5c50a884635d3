"""English inflection, as far as the sample corpus needs it.

Regular forms follow the spelling rules; the words that do not are listed. The tags are those of the Penn Treebank.
Whoever adds an irregular word to the lexicon adds it here too.
"""

from __future__ import annotations

_IRREGULAR_VERBS = {  # lemma: past, past participle
    "be": ("was", "been"),
    "become": ("became", "become"),
    "begin": ("began", "begun"),
    "break": ("broke", "broken"),
    "bring": ("brought", "brought"),
    "build": ("built", "built"),
    "buy": ("bought", "bought"),
    "come": ("came", "come"),
    "cut": ("cut", "cut"),
    "dig": ("dug", "dug"),
    "do": ("did", "done"),
    "draw": ("drew", "drawn"),
    "drive": ("drove", "driven"),
    "eat": ("ate", "eaten"),
    "fall": ("fell", "fallen"),
    "feed": ("fed", "fed"),
    "find": ("found", "found"),
    "fly": ("flew", "flown"),
    "forget": ("forgot", "forgotten"),
    "get": ("got", "gotten"),
    "give": ("gave", "given"),
    "go": ("went", "gone"),
    "grow": ("grew", "grown"),
    "hang": ("hung", "hung"),
    "have": ("had", "had"),
    "hear": ("heard", "heard"),
    "hide": ("hid", "hidden"),
    "hold": ("held", "held"),
    "keep": ("kept", "kept"),
    "know": ("knew", "known"),
    "lead": ("led", "led"),
    "leave": ("left", "left"),
    "lend": ("lent", "lent"),
    "lie": ("lay", "lain"),
    "light": ("lit", "lit"),
    "lose": ("lost", "lost"),
    "make": ("made", "made"),
    "mean": ("meant", "meant"),
    "meet": ("met", "met"),
    "pay": ("paid", "paid"),
    "put": ("put", "put"),
    "read": ("read", "read"),
    "say": ("said", "said"),
    "see": ("saw", "seen"),
    "sell": ("sold", "sold"),
    "send": ("sent", "sent"),
    "set": ("set", "set"),
    "shear": ("sheared", "shorn"),
    "shake": ("shook", "shaken"),
    "show": ("showed", "shown"),
    "sink": ("sank", "sunk"),
    "sing": ("sang", "sung"),
    "sleep": ("slept", "slept"),
    "speak": ("spoke", "spoken"),
    "spend": ("spent", "spent"),
    "stand": ("stood", "stood"),
    "steal": ("stole", "stolen"),
    "sweep": ("swept", "swept"),
    "take": ("took", "taken"),
    "teach": ("taught", "taught"),
    "tear": ("tore", "torn"),
    "tell": ("told", "told"),
    "think": ("thought", "thought"),
    "throw": ("threw", "thrown"),
    "write": ("wrote", "written"),
}
_DOUBLING = {
    "admit", "begin", "chop", "cut", "debug", "dig", "dim", "drop", "forget", "get", "nod", "plan", "put", "scrub",
    "set", "spot", "stop", "whip",
}  # fmt: skip
_PLURALS = {
    "child": "children",
    "sheep": "sheep",
    "woman": "women",
    "man": "men",
    "knife": "knives",
    "shelf": "shelves",
    "loaf": "loaves",
    "mouse": "mice",
    "calf": "calves",
    "potato": "potatoes",
    "fish": "fish",
}
_BE = {"1s": ("am", "was"), "2": ("are", "were"), "3s": ("is", "was"), "1p": ("are", "were"), "3p": ("are", "were")}
_COMPARATIVES = {"good": "better", "bad": "worse"}
_SOUNDED_VOWEL = ("hour", "honest", "heir")
_SOUNDED_CONSONANT = ("uni", "use", "usu", "eu", "ewe", "one", "once", "ute")


def _vowel(letter: str) -> bool:
    return letter in "aeiou"


def _with_s(word: str) -> str:
    if word.endswith(("s", "x", "z", "ch", "sh")):
        return word + "es"
    if word.endswith("y") and not _vowel(word[-2]):
        return word[:-1] + "ies"
    return word + "s"


def plural(noun: str) -> str:
    """The plural of a noun.

    >>> [plural(noun) for noun in ("barn", "box", "berry", "loaf", "sheep")]
    ['barns', 'boxes', 'berries', 'loaves', 'sheep']
    """
    return _PLURALS.get(noun) or _with_s(noun)


def conjugate(lemma: str, tag: str, person: str = "3s") -> str:
    """The form of a verb for a Penn tag; the person matters for "be" alone, whose tags do not tell it.

    >>> [conjugate("carry", tag) for tag in ("VB", "VBZ", "VBP", "VBD", "VBN", "VBG")]
    ['carry', 'carries', 'carry', 'carried', 'carried', 'carrying']
    >>> conjugate("be", "VBD", "3p"), conjugate("stop", "VBG"), conjugate("write", "VBN")
    ('were', 'stopping', 'written')
    """
    if lemma == "be" and tag in ("VBD", "VBZ", "VBP"):
        return _BE[person][tag == "VBD"]
    if tag in ("VB", "VBP", "MD"):
        return lemma
    if tag == "VBZ":
        return {"have": "has", "do": "does", "go": "goes"}.get(lemma) or _with_s(lemma)
    if tag == "VBG":
        return _with_ing(lemma)
    if lemma in _IRREGULAR_VERBS:
        return _IRREGULAR_VERBS[lemma][tag == "VBN"]
    if lemma.endswith("e"):
        return lemma + "d"
    if lemma.endswith("y") and not _vowel(lemma[-2]):
        return lemma[:-1] + "ied"
    return lemma + (lemma[-1] if lemma in _DOUBLING else "") + "ed"


def _with_ing(lemma: str) -> str:
    if lemma == "lie":
        return "lying"
    if lemma.endswith("e") and not lemma.endswith(("ee", "oe", "ye")) and lemma != "be":
        return lemma[:-1] + "ing"
    return lemma + (lemma[-1] if lemma in _DOUBLING else "") + "ing"


def comparative(adjective: str) -> str | None:
    """The comparative in -er of a short adjective, or None for one that takes "more".

    >>> comparative("heavy"), comparative("big"), comparative("large"), comparative("modern")
    ('heavier', 'bigger', 'larger', None)
    """
    if adjective in _COMPARATIVES:
        return _COMPARATIVES[adjective]
    syllables = sum(_vowel(b) and not _vowel(a) for a, b in zip(" " + adjective, adjective.rstrip("e"), strict=False))
    if adjective.endswith("y") and syllables <= 1:
        return adjective[:-1] + "ier"
    if syllables != 1:
        return None
    if adjective.endswith("e"):
        return adjective + "r"
    double = len(adjective) == 3 and _vowel(adjective[1]) and adjective[-1] not in "wxy"
    return adjective + (adjective[-1] if double else "") + "er"


def indefinite(following: str) -> str:
    """The indefinite article before a word, by its first sound.

    >>> [indefinite(word) for word in ("apple", "barn", "hour", "uniform")]
    ['an', 'a', 'an', 'a']
    """
    word = following.lower()
    if word.startswith(_SOUNDED_VOWEL):
        return "an"
    if word.startswith(_SOUNDED_CONSONANT) and not word.startswith(("unim", "unin")):
        return "a"
    return "an" if _vowel(word[0]) else "a"
