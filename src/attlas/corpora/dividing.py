"""Dividing a corpus into parts: to train on one, to stop by another, to score on a third.

No article is in two parts, since sentences of one article share words and topics; a corpus that is a single article
is divided between its documents.
"""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Sequence
from dataclasses import replace

from attlas.corpora.corpus import Corpus
from attlas.errors import CorpusError
from attlas.text import Document


def divide(corpus: Corpus, shares: Sequence[float], seed: int = 0) -> list[Corpus]:
    """Parts of a corpus that have about these shares of its words, drawn by the seed; none is empty.

    >>> texts = [Document.from_words(["a"] * 10, name=str(k)) for k in range(20)]
    >>> parts = divide(Corpus(tuple(texts), "plain", "a.txt", "", tuple(range(20))), (0.8, 0.1, 0.1))
    >>> [len(part.documents) for part in parts]
    [16, 2, 2]
    """
    keys = corpus.articles if len(set(corpus.articles)) >= len(shares) else tuple(range(len(corpus.documents)))
    sizes: Counter[int] = Counter()
    for key, document in zip(keys, corpus.documents, strict=True):
        sizes[key] += len(document.words)
    if len(sizes) < len(shares):
        raise CorpusError(
            f"it cannot be divided into {len(shares)} parts: it has {len(sizes)} "
            f"{'document' if len(sizes) == 1 else 'documents'}; give the other parts as files of their own",
            file=corpus.name,
        )
    order = sorted(sizes)
    random.Random(seed).shuffle(order)
    taken = [0.0] * len(shares)
    part_of: dict[int, int] = {}
    for place, key in enumerate(order):
        empty = [part for part, size in enumerate(taken) if not size]
        wanting = empty if len(empty) >= len(order) - place else range(len(shares))
        part = max(wanting, key=lambda part: shares[part] - taken[part] / sizes.total())
        part_of[key] = part
        taken[part] += sizes[key]
    return [
        replace(
            corpus,
            documents=tuple(d for d, key in zip(corpus.documents, keys, strict=True) if part_of[key] == part),
            articles=tuple(a for a, key in zip(corpus.articles, keys, strict=True) if part_of[key] == part),
        )
        for part in range(len(shares))
    ]


def by_sentence(documents: Sequence[Document]) -> list[Document]:
    """Every sentence as a document of its own.

    >>> [d.text for d in by_sentence([Document.from_text("It rained. We stayed in.")])]
    ['It rained.', 'We stayed in.']
    """
    return [
        document if len(document.sentences) == 1 else document.slice(*sentence)
        for document in documents
        for sentence in document.sentences
    ]
