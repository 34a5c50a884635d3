"""A small treebank in which a word's neighbour governs it, and a tiny model to read it with."""

from __future__ import annotations

import random

import twins
from attlas.capture import Subject
from attlas.text import Document

WORDS = sorted({word.strip(".,;") for sentence in twins.SENTENCES[:4] for word in sentence.split()})


def subject(family: str = "bert") -> Subject:
    return Subject.of(twins.model(family), twins.tokenizer(family in twins.CAUSAL), family)


def treebank(sentences: int, seed: int = 0, longest: int = 8) -> list[Document]:
    """Random words; the first is the root, every other depends on the one before it; a period at the end."""
    draw = random.Random(seed)
    made = []
    for number in range(sentences):
        count = draw.randint(1, longest)
        made.append(
            Document.from_words(
                [*(draw.choice(WORDS) for _ in range(count)), "."],
                governors=[-1, *range(count - 1), 0],
                upos=["NOUN"] * count + ["PUNCT"],
                relations=["root", *["obj"] * (count - 1), "punct"],
                name=f"sentence {number}",
            )
        )
    return made


def conllu(documents: list[Document]) -> str:
    """The same as a file."""
    blocks = []
    for document in documents:
        assert document.upos is not None
        assert document.governors is not None
        assert document.relations is not None
        rows = [
            f"{n + 1}\t{document.word(n)}\t_\t{document.upos[n]}\t_\t_\t{(document.governors[n] or 0) + 1}"
            f"\t{document.relations[n]}\t_\t_"
            for n in range(len(document.words))
        ]
        blocks.append("\n".join(rows) + "\n")
    return "\n".join(blocks)
