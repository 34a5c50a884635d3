"""Which head of one model stands beside which of another, when two are compared.

Heads of the same number do alike only where the models are of the same make: one of them trained on from the other,
or the same model on two texts. There they are paired by number. Heads of other models are paired by what they do on
this text: head by head the one that puts most of its weight on the same words, *likeness* being the share of weight
that both put on the same, averaged over the words that attend. Two heads of one may find the same partner. Where the
texts have other words, or are too long for that, there are no pairs, and nothing is subtracted.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from attlas.views.scene import Scene, Sequence, Strand

BUDGET = 150_000_000  # comparisons of weights
MOST_WORDS = 1_000
NUMBER, LIKENESS, NONE = "number", "likeness", "none"


def pairs_of(first: Scene, second: Scene) -> dict[str, Any]:
    """How the heads of each stream of the first scene are paired with those of the second: by number, by likeness
    (layer, head and likeness for each head, by its label), or not at all, with the reason.

    >>> text = Sequence(("a", "b"), (0, 1), (0, 0), ("a", "b"))
    >>> def scene(*heads):
    ...     return Scene("m", ("a b",), (Strand("encoder", text, text, np.array([heads], np.float32)),))
    >>> own, other = [[1, 0], [0, 1]], [[0, 1], [1, 0]]
    >>> pairs_of(scene(own), scene(other))
    {'encoder': {'by': 'number'}}
    >>> pairs_of(scene(own), scene(other, own))["encoder"]["of"]
    {'1-1': [0, 1, 1.0]}
    """
    found = {}
    for strand in first.strands:
        other = next((each for each in second.strands if each.stream == strand.stream), None)
        if other is None and len(first.strands) == len(second.strands) == 1:
            other = second.strands[0]
        if other is not None:
            found[str(strand.stream)] = _paired(strand, other)
    return found


def _paired(a: Strand, b: Strand) -> dict[str, Any]:
    if (a.stream, a.layers, a.heads_of, bool(a.joint)) == (b.stream, b.layers, b.heads_of, bool(b.joint)):
        return {"by": NUMBER}
    if a.joint or b.joint or a.sums is not None or b.sums is not None:
        return {"by": NONE, "why": "their layers are not the same, and heads taken together cannot be paired"}
    words = [_words(side) for side in (a.queries, a.keys, b.queries, b.keys)]
    if words[0] != words[2] or words[1] != words[3]:
        return {"by": NONE, "why": "they read other words, so their heads cannot be paired"}
    if max(len(words[0]), len(words[1])) > MOST_WORDS or not words[0] or not words[1]:
        return {"by": NONE, "why": "the text is too long, or too short, to pair their heads on it"}
    likeness = alike(a, b)
    best = likeness.reshape(*likeness.shape[:2], -1).argmax(-1)
    of = {}
    for at, layer in enumerate(a.layers):
        for place, head in enumerate(a.heads):
            if head not in a.heads_of[at]:
                continue
            row, column = divmod(int(best[at, place]), len(b.heads))
            share = float(likeness[at, place, row, column])
            of[f"{layer + 1}-{head + 1}"] = [b.layers[row], b.heads[column], round(share, 4)]
    return {"by": LIKENESS, "of": of}


def alike(a: Strand, b: Strand) -> NDArray[np.floating]:
    """The likeness of every head of one strand to every head of another, (layer, head, layer, head), between words.

    >>> text = Sequence(("a",), (0,), (0,), ("a",))
    >>> one = Strand("encoder", text, text, np.ones((1, 1, 1, 1), np.float32))
    >>> alike(one, one).tolist()
    [[[[1.0]]]]
    """
    count, keys = len(_words(a.queries)), len(_words(a.keys))
    heads = len(a.layers) * len(a.heads) * len(b.layers) * len(b.heads)
    rows = np.unique(np.linspace(0, count - 1, max(1, min(count, BUDGET // max(1, heads * keys)))).astype(int))
    one, other = (_between_words(strand, rows) for strand in (a, b))
    made = np.stack([np.minimum(each, other).sum(-1).mean(-1) for each in one])
    return made.reshape(len(a.layers), len(a.heads), len(b.layers), len(b.heads))


def _words(text: Sequence) -> tuple[str, ...]:
    return text.spelled


def _between_words(strand: Strand, rows: NDArray[np.intp]) -> NDArray[np.floating]:
    """Weights between words, (head, word, word), special pieces left out and rows divided by what is left."""
    to, of = np.asarray(strand.keys.words), np.asarray(strand.queries.words)
    keys = np.zeros((len(to), len(strand.keys.spelled)))
    keys[np.flatnonzero(to >= 0), to[to >= 0]] = 1
    weights = np.nan_to_num(strand.weights).reshape(-1, *strand.weights.shape[2:])
    made = np.stack([(weights[:, of == row] @ keys).mean(1) for row in rows], axis=1)
    left = made.sum(-1, keepdims=True)
    found: NDArray[np.floating] = made / np.where(left > 0, left, 1)
    return found
