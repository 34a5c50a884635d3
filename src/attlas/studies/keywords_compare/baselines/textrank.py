"""TextRank: words that stand beside words that matter (Mihalcea & Tarau 2004).

The words of a text are a graph, with an edge between two that stand within a window of each other (here as in the
paper, next to each other), and PageRank says how much each matters. The paper admits nouns and adjectives only; as
there is no tagger here, every word that is no stop word is admitted, which is known to cost some precision. Words are
taken by their stems. *As in the paper*, the best third of the words are kept, those that are neighbours in the text
make a phrase, and its score is the sum of its words'. Or the ranks are *word weights*, of which phrases are made as
they are of attention's; or they score other candidates.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Sequence
from itertools import combinations

import numpy as np
from numpy.typing import NDArray

from attlas.studies.keywords_compare.baselines.named import Named, named
from attlas.studies.keywords_compare.baselines.stopping import content_words
from attlas.studies.shared.keywords.phrases import rank_phrases
from attlas.text import Document
from attlas.text.keyphrases import document_stems
from attlas.text.stems import Stem

WINDOW = 2
DAMPING = 0.85
SHARE = 1 / 3  # of the words of a text that are kept in the paper's form
_TOLERANCE, _STEPS = 1e-10, 1000
_ABOVE_ZERO = 1e-9
Edge = tuple[int, int]


def as_published(
    documents: Iterable[Document], stops: frozenset[str], stem: Stem | None = None
) -> Iterator[list[Named]]:
    """Phrases of documents from the best third of their words."""
    for document in documents:
        stems = document_stems(document, stem)
        weights = ranks(document, stems, stops)
        best = _best(dict(zip(stems, weights.tolist(), strict=True)))
        weights[[one not in best for one in stems]] = 0.0
        longest = max(1, len(stems))
        found = rank_phrases(document, weights, bar=_ABOVE_ZERO, longest=longest, stems=stems)
        yield named(sorted(found, key=lambda phrase: (-phrase.score / len(phrase.places), phrase.places[0])))


def _best(scores: dict[str, float]) -> set[str]:
    """The best third of the stems that have a score."""
    ranked = sorted((one for one, score in scores.items() if score > 0), key=lambda one: -scores[one])
    return set(ranked[: math.ceil(len(ranked) * SHARE)])


def ranks(document: Document, stems: Sequence[str], stops: frozenset[str]) -> NDArray[np.float64]:
    """The PageRank of every word of a document; 0 for stop words and signs.

    >>> document = Document.from_text("Red cells and red suns.")
    >>> ranks(document, ["red", "cell", "and", "red", "sun", "."], frozenset({"and"})).round(3).tolist()
    [0.486, 0.257, 0.0, 0.486, 0.257, 0.0]
    """
    admitted = content_words(document, stops) & np.array([any(map(str.isalnum, one)) for one in stems], dtype=bool)
    numbers: dict[str, int] = {}
    places = [numbers.setdefault(stem, len(numbers)) if ok else -1 for stem, ok in zip(stems, admitted, strict=True)]
    scores = pagerank(len(numbers), edges(places))
    return np.array([scores[number] if number >= 0 else 0.0 for number in places])


def edges(places: Sequence[int], window: int = WINDOW) -> set[Edge]:
    """The pairs of numbers that stand within so many words of each other; -1 is no number."""
    found = set()
    for start in range(len(places)):
        near = [number for number in places[start : start + window] if number >= 0]
        found |= {(min(pair), max(pair)) for pair in combinations(near, 2) if pair[0] != pair[1]}
    return found


def pagerank(count: int, links: Iterable[Edge], damping: float = DAMPING) -> NDArray[np.float64]:
    """PageRank of the nodes of an undirected graph, by power iteration; a node without edges links to all."""
    from scipy.sparse import coo_matrix

    if not count:
        return np.zeros(0)
    pairs = np.array([(a, b) for one, other in links for a, b in ((one, other), (other, one))], dtype=np.int64)
    pairs = pairs.reshape(-1, 2)
    degree = np.bincount(pairs[:, 0], minlength=count).astype(np.float64)
    shares = 1 / degree[pairs[:, 0]]
    move = coo_matrix((shares, (pairs[:, 1], pairs[:, 0])), shape=(count, count)).tocsr()
    scores = np.full(count, 1 / count)
    for _ in range(_STEPS):
        stuck = scores[degree == 0].sum() / count
        after = damping * (move @ scores + stuck) + (1 - damping) / count
        if np.abs(after - scores).sum() < _TOLERANCE:
            return np.asarray(after)
        scores = after
    return scores
