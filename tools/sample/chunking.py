"""Chunks, read off a dependency tree the way the CoNLL-2000 data draws them.

A noun chunk runs from its determiner to its head, and a possessive 's opens the next one. A verb chunk takes in the
auxiliaries, negation and adverbs among them, and a following infinitive; an auxiliary that stands before its
subject is left out. Prepositions, particles and subordinators are chunks of their own, and bare conjuncts share one
chunk.
"""

from __future__ import annotations

from collections.abc import Sequence

from attlas.text import Chunk
from tools.sample.tree import Word

_PREMODIFIERS = {"det", "det:predet", "amod", "nummod", "compound", "nmod:poss"}
_DEGREES = {
    "almost", "badly", "completely", "deeply", "extremely", "more", "much", "quite", "really", "so", "terribly",
    "too", "very",
}  # fmt: skip
_IN_VERB_GROUP = {"aux", "aux:pass", "mark", "advmod"}


def chunk(line: Sequence[Word]) -> list[Chunk]:
    """The chunks of one sentence, from left to right.

    >>> from tools.sample.clauses import PASSIVE, agent, clause
    >>> from tools.sample.phrases import noun, owner
    >>> from tools.sample.tree import read_out
    >>> tree = clause(noun("roof", owner(noun("barn", "the"))), "damage", agent(noun("storm", "a")), use=PASSIVE)
    >>> line = read_out(tree)
    >>> [(c.label, " ".join(w.spelling for w in line[c.start : c.stop])) for c in chunk(line)]
    [('NP', 'The barn'), ('NP', "'s roof"), ('VP', 'was damaged'), ('PP', 'by'), ('NP', 'a storm')]
    """
    found: list[Chunk] = []
    taken = [False] * len(line)

    def take(start: int, stop: int, label: str) -> None:
        found.append(Chunk(start, stop, label))
        taken[start:stop] = [True] * (stop - start)

    for index in range(len(line)):
        if _is_noun_head(line, index):
            start, stop = _noun_start(line, index), _noun_stop(line, index)
            for at in range(start + 1, stop):
                if line[at].node.xpos == "POS":
                    take(start, at, "NP")
                    start = at
            take(start, stop, "NP")
    for index, word in enumerate(line):
        if word.node.upos == "VERB" and not taken[index]:
            take(_verb_start(line, index), index + 1, "VP")
        elif word.node.relation == "cop":
            first = _copula_start(line, index)
            if first is not None:
                take(first, index + 1, "VP")
    for index, word in enumerate(line):
        label = _single(word)
        if label and not taken[index] and not _is_degree(line, index):
            start, stop = index, index + 1
            while stop < len(line) and line[stop].node.relation == "fixed":
                stop += 1
            while start > 0 and _is_degree(line, start - 1):
                start -= 1
            take(start, stop, label)
    return _merge(line, sorted(set(found)))


def _is_noun_head(line: Sequence[Word], index: int) -> bool:
    node = line[index].node
    if node.relation in _PREMODIFIERS or node.relation == "flat" or node.xpos == "PRP$":
        return False
    return node.upos in ("NOUN", "PROPN", "PRON", "NUM")


def _noun_start(line: Sequence[Word], head: int) -> int:
    start = head
    while start > 0 and _premodifies(line, start - 1, head):
        start -= 1
    return start


def _premodifies(line: Sequence[Word], index: int, head: int) -> bool:
    """Whether a word belongs to what stands between the determiner and the head."""
    first = True
    while index != head:
        if index < 0:
            return False
        relation = line[index].node.relation
        if line[index].governor == head:
            return relation in _PREMODIFIERS
        if first and relation in ("punct", "cc") and line[index].node.form != ",":
            return False
        first = False
        index = line[index].governor
    return False


def _noun_stop(line: Sequence[Word], head: int) -> int:
    stop = head + 1
    while stop < len(line) and line[stop].node.relation == "flat" and line[stop].governor == head:
        stop += 1
    return stop


def _verb_start(line: Sequence[Word], head: int) -> int:
    start = head
    while start > 0 and line[start - 1].governor == head and line[start - 1].node.relation in _IN_VERB_GROUP:
        start -= 1
    while (
        line[start].node.relation == "advmod" or line[start].node.upos == "SCONJ"
    ):  # what comes before them is no auxiliary
        start += 1
    return start


def _copula_start(line: Sequence[Word], index: int) -> int | None:
    head = line[index].governor
    if index < head and any(
        line[at].node.relation.startswith("nsubj") and line[at].governor == head for at in range(index, head)
    ):
        return None  # turned round, as in a question
    start = index
    while start > 0 and line[start - 1].governor == head and line[start - 1].node.relation in ("aux", "advmod"):
        start -= 1
    while line[start].node.relation == "advmod":
        start += 1
    return start


def _single(word: Word) -> str:
    """The label of a word that stands for itself, or nothing."""
    node = word.node
    if node.relation == "compound:prt":
        return "PRT"
    if node.upos == "ADP" and node.relation == "case":
        return "PP"
    if node.upos == "SCONJ":
        return "SBAR"
    if node.upos == "ADJ":
        return "ADJP"
    if node.upos == "ADV" and node.relation != "cc":
        return "ADVP"
    return "INTJ" if node.upos == "INTJ" else ""


def _is_degree(line: Sequence[Word], index: int) -> bool:
    """Whether a word is an adverb of degree that leads up to an adjective or another adverb."""
    word = line[index]
    if word.node.lemma not in _DEGREES or word.governor < index:
        return False
    return line[word.governor].node.upos in ("ADJ", "ADV")


def _merge(line: Sequence[Word], chunks: Sequence[Chunk]) -> list[Chunk]:
    """Join a verb with the infinitive after it, and conjuncts of one word each."""
    merged: list[Chunk] = []
    for c in chunks:
        if merged and _continues(line, merged[-1], c):
            c = Chunk(merged.pop().start, c.stop, c.label)
        merged.append(c)
    return merged


def _continues(line: Sequence[Word], before: Chunk, c: Chunk) -> bool:
    last = line[c.stop - 1]
    if before.label != c.label:
        return False
    if c.label == "VP":
        if c.start == before.stop:
            return last.node.relation == "xcomp"
        pair = last.governor == before.stop - 1 == before.start and last.node.relation == "conj"
        lonely = not any(word.governor == c.stop - 1 for word in line[c.stop :])
        return pair and lonely and c.stop - c.start == 1 and c.start == before.stop + 1
    if c.label in ("NP", "ADJP") and last.node.relation == "conj":
        return before.start <= last.governor < before.stop and _all_bare(line, last.governor)
    return False


def _all_bare(line: Sequence[Word], first: int) -> bool:
    """Whether all conjuncts are single words; otherwise each is a chunk of its own."""
    conjuncts = {i for i, word in enumerate(line) if word.governor == first and word.node.relation == "conj"} | {
        first
    }
    modifiers = _PREMODIFIERS | {"advmod"}
    return not any(word.governor in conjuncts and word.node.relation in modifiers for word in line)
