"""From the trees of a paragraph to a document with all its layers.

The trees hold everything; here it is laid out along the words: tags, governors, relations, chunks, mentions. Chunks
follow the habits of the CoNLL-2000 data and are read off the tree. A mention covers the whole phrase of its head,
with relative clauses and appositions but without its preposition; only things mentioned at least twice make a
chain. The label of a paragraph is the tense in which it is told, past or present: that of most of its main clauses,
of the first where they are even. Modal verbs have no say in it.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from itertools import pairwise

from attlas.text import ROOT, Chunk, Document, Mention
from tools.sample.chunking import chunk
from tools.sample.tree import Node, Word, read_out

_TENSES = {"VBD": "past", "VBZ": "present", "VBP": "present"}


def lay_out(sentences: Sequence[Node], keyphrases: Sequence[str], name: str) -> Document:
    """A document from the trees of its sentences.

    >>> from tools.sample.clauses import clause
    >>> from tools.sample.phrases import noun, punct
    >>> document = lay_out([clause(noun("vet", "a"), "sleep").after(punct("."))], [], "nap")
    >>> document.text, document.governors, document.label
    ('A vet slept.', (1, 2, -1, 2), 'past')
    """
    words: list[Word] = []
    bounds: list[tuple[int, int]] = []
    chunks: list[Chunk] = []
    mentions: list[Mention] = []
    governors: list[int] = []
    tenses: list[str] = []
    for tree in sentences:
        start, line = len(words), read_out(tree)
        words += line
        tenses += _tense(line)
        bounds.append((start, len(words)))
        governors += [ROOT if word.governor < 0 else word.governor + start for word in line]
        chunks += [Chunk(c.start + start, c.stop + start, c.label) for c in chunk(line)]
        mentions += [
            Mention(m.start + start, m.stop + start, m.chain, (m.head or 0) + start) for m in _mentions(line)
        ]
    often = Counter(mention.chain for mention in mentions)
    return Document.from_words(
        [word.spelling for word in words],
        space_after=[*(not b.node.glued and a.node.xpos != "``" for a, b in pairwise(words)), False],
        sentences=bounds,
        name=name,
        lemmas=[word.node.lemma for word in words],
        upos=[word.node.upos for word in words],
        xpos=[word.node.xpos for word in words],
        governors=governors,
        relations=[word.node.relation for word in words],
        chunks=chunks,
        mentions=[mention for mention in sorted(mentions) if often[mention.chain] > 1],
        keyphrases=list(keyphrases),
        label=max(tenses, key=tenses.count, default="present"),
    )


def _tense(line: Sequence[Word]) -> list[str]:
    """The tense of a sentence's main clause; nothing where its first verb is a modal."""
    root = next(index for index, word in enumerate(line) if word.governor < 0)
    verbs = [
        word.node.xpos
        for index, word in enumerate(line)
        if index == root or (word.governor == root and word.node.relation in ("aux", "aux:pass", "cop"))
    ]
    return [_TENSES[tag] for tag in verbs[:1] if tag in _TENSES]


def _mentions(line: Sequence[Word]) -> list[Mention]:
    """The mentions of a sentence, chains of one included."""
    found = []
    for index, word in enumerate(line):
        if word.node.chain is not None:
            found.append(_mention(line, index, word.node.chain, conjuncts=False))
        if word.node.together is not None:
            found.append(_mention(line, index, word.node.together, conjuncts=True))
    return found


def _mention(line: Sequence[Word], head: int, chain: str, *, conjuncts: bool) -> Mention:
    left_out = {
        index
        for index, word in enumerate(line)
        if word.governor == head
        and (
            (word.node.relation in ("case", "cc") and index < head)
            or (word.node.relation == "conj" and not conjuncts)
        )
    }
    inside = [index for index in range(len(line)) if _below(line, index, head, left_out)]
    start, stop = min(inside), max(inside) + 1
    while line[start].node.upos == "PUNCT":
        start += 1
    while line[stop - 1].node.upos == "PUNCT":
        stop -= 1
    return Mention(start, stop, chain, head)


def _below(line: Sequence[Word], index: int, head: int, left_out: set[int]) -> bool:
    """Whether a word belongs to the phrase of a head, on a way that avoids what is left out."""
    while index >= 0 and index != head:
        if index in left_out:
            return False
        index = line[index].governor
    return index == head
