"""Small pairs of sentences, some with gold, and tiny translation models and pair encoders to align them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import transformers

import twins
from attlas.capture import Subject
from attlas.text import Document, Links

PAIRS = [
    ("The farmer offered apples", "the unbelievable farmer offered apples .", "0-0 1-2 2-3 3-4 3p5"),
    ("Nobody noticed the old bridge .", "nobody noticed an old station", "0-0 1-1 2p2 3-3 5p4"),
    ("She asked", "she was working on bridge playing outside", "0-0 1p1 1-3"),
    ("He had too many of them ;", "he slept", "0-0 6p1"),
    ("children forgot the storm of yesterday", "the children forgot yesterday", "0-1 1-2 2-0 5-3"),
]


def document(source: str, target: str, links: str | None = None, name: str = "") -> Document:
    """A sentence with its translation, and its gold in Pharaoh's notation."""
    gold = None
    if links is not None:
        written = [(link.replace("p", "-").split("-"), "p" in link) for link in links.split()]
        pairs = [((int(i), int(j)), possible) for (i, j), possible in written]
        sure = frozenset(pair for pair, possible in pairs if not possible)
        gold = Links(sure, frozenset(pair for pair, _ in pairs))
    return Document.from_words(
        source.split(), name=name, translation=Document.from_words(target.split()), links=gold
    )  # fmt: skip


def documents(*, gold: bool = True) -> list[Document]:
    """All pairs, in order."""
    return [document(a, b, links if gold else None, f"pair {n}") for n, (a, b, links) in enumerate(PAIRS, start=1)]


def subject(family: str, seed: int = 0) -> Subject:
    """A tiny twin on the seam."""
    return Subject.of(twins.model(family, seed), twins.tokenizer(family in twins.CAUSAL), f"{family} {seed}")


def eager(family: str, seed: int = 0) -> Any:
    """The same weights in the model library's own plain attention, which hands out all weights."""
    made = type(twins.model(family))(twins.config(family))
    made.load_state_dict(twins.model(family, seed).state_dict())
    made.set_attn_implementation("eager")
    assert isinstance(made, transformers.PreTrainedModel)
    return made.eval()


def best(row: Sequence[float]) -> int:
    """The place of the largest, the first of equals."""
    return max(range(len(row)), key=lambda place: row[place])
