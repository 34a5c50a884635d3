"""Scenes whose numbers a test can reckon itself."""

from __future__ import annotations

import math
from collections.abc import Sequence as Sequence_
from typing import Any

import numpy as np

from attlas.ids import Stream
from attlas.views import Scene, Sequence, Strand
from attlas.views import page as whole_page

WORDS = ("[CLS]", "The", "farmer", "play", "##ed", ".", "[SEP]", "She", "slept", "[SEP]")


def reading(pieces: tuple[str, ...] = WORDS) -> Sequence:
    """Pieces with BERT's marks: ## goes on with a word, [X] is special, and [SEP] ends a document."""
    words: list[int] = []
    documents: list[int] = []
    spelled: list[str] = []
    document = 0
    for piece in pieces:
        special = piece.startswith("[") and piece.endswith("]")
        if special:
            words.append(-1)
            documents.append(-1)
            document += piece == "[SEP]"
            continue
        if piece.startswith("##"):
            spelled[-1] += piece[2:]
        else:
            spelled.append(piece)
        words.append(len(spelled) - 1)
        documents.append(document)
    return Sequence(pieces, tuple(words), tuple(documents), tuple(spelled))


def strand(
    stream: Stream = Stream.ENCODER, queries: Sequence | None = None, keys: Sequence | None = None,
    *, layers: int = 3, heads: int = 4, width: int = 8, seed: int = 0, vectors: bool = True,
) -> Strand:  # fmt: skip
    """Weights that really are the softmax of scaled products of the strand's own queries and keys."""
    queries = queries or reading()
    keys = keys or queries
    draw = np.random.default_rng(seed)
    q = draw.normal(size=(layers, heads, queries.length, width)).astype(np.float32) * 2
    k = draw.normal(size=(layers, heads, keys.length, width)).astype(np.float32) * 2
    scores = np.einsum("lhqd,lhkd->lhqk", q, k) * width**-0.5
    if stream is Stream.DECODER:
        scores = np.where(np.tril(np.ones(scores.shape[-2:], bool)), scores, -np.inf)
    weights = np.exp(scores - scores.max(-1, keepdims=True))
    weights = (weights / weights.sum(-1, keepdims=True)).astype(np.float32)
    lengths = draw.uniform(0.5, 2, size=(layers, heads, keys.length)).astype(np.float32)
    given = {"query_vectors": q, "key_vectors": k, "scaling": (width**-0.5,) * layers} if vectors else {}
    return Strand(stream, queries, keys, weights, lengths=lengths, **given)  # type: ignore[arg-type]


def scene(model: str = "a model", seed: int = 0, **options: object) -> Scene:
    """A scene of one encoder that reads a pair of sentences."""
    made = strand(seed=seed, **options)  # type: ignore[arg-type]
    return Scene(model, ("The farmer played.", "She slept"), (made,))


def written(value: float) -> str:
    """A number as the viewer writes it: three figures at most, a leading zero, exponents only below 1e-4."""
    size = abs(value)
    if size == 0:
        return "0"
    if size < 1e-4:
        mantissa, exponent = f"{value:.2e}".split("e")
        return f"{mantissa.removesuffix('.00')}e{int(exponent)}".replace("-", "−")
    digits = max(0, 2 - math.floor(math.log10(size)))
    text = f"{float(f'{value:.2e}'):.{digits}f}"
    return (text.rstrip("0").rstrip(".") if "." in text else text).replace("-", "−")


def spoken(word: str) -> str:
    """A piece as the viewer writes it: in quotes where it is nothing but marks."""
    return word if any(letter.isalnum() for letter in word) else f"“{word}”"


SPOKEN = tuple(spoken(word) for word in WORDS)


def page(scenes: Sequence_[Scene], **selection: Any) -> str:
    """A page that opens with all heads of layer 1, unless something is chosen."""
    return whole_page(scenes, **{"layer": 0, **selection})
