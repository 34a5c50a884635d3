"""From pieces to words and back, by character offsets alone.

A tokenizer reports for every piece the characters it stands for. A piece belongs to the word with which it shares
most characters; a piece of white space alone goes with the word that follows it. So each piece has one word at
most, and attention regrouped to words still sums to one. It follows that a word may be left without a piece of its
own, when the tokenizer glues two words together or the corpus splits inside a piece: such words are listed, not
hidden.

Regrouping follows Clark et al.: attention *to* a word is the sum over its pieces, attention *from* a word the mean.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from attlas.errors import TextError
from attlas.text.span import Span

NO_WORD = -1


@dataclass(frozen=True)
class Segmentation:
    """One sequence of pieces, as the tokenizer cut it.

    ``words[p]`` is the word of piece ``p`` or -1; ``documents[p]`` tells which document of the passage the piece
    comes from, or -1 for a special piece. Words of a second document count on from those of the first.

    >>> s = Segmentation(("[CLS]", "play", "##ing", "[SEP]"), (-1, 0, 0, -1), (-1, 0, 0, -1), 1)
    >>> s.pieces_of(0)
    (1, 2)
    >>> s.special
    (True, False, False, True)
    """

    pieces: tuple[str, ...]
    words: tuple[int, ...]
    documents: tuple[int, ...]
    word_count: int

    @property
    def special(self) -> tuple[bool, ...]:
        """Whether each piece was added by the tokenizer rather than read from the text.

        >>> Segmentation(("</s>",), (-1,), (-1,), 0).special
        (True,)
        """
        return tuple(document < 0 for document in self.documents)

    def pieces_of(self, word: int) -> tuple[int, ...]:
        """The pieces of a word, possibly none.

        >>> Segmentation(("a", "b"), (0, 1), (0, 0), 3).pieces_of(2)
        ()
        """
        return tuple(piece for piece, owner in enumerate(self.words) if owner == word)

    @property
    def wordless(self) -> tuple[int, ...]:
        """Words that have no piece of their own.

        >>> Segmentation(("dont",), (0,), (0,), 2).wordless
        (1,)
        """
        return tuple(sorted(set(range(self.word_count)) - set(self.words)))

    @property
    def groups(self) -> NDArray[np.int64]:
        """A group for each piece: one per word, one for each piece outside words, in order of appearance.

        >>> Segmentation(("[CLS]", "play", "##ing", "[SEP]"), (-1, 0, 0, -1), (-1, 0, 0, -1), 1).groups.tolist()
        [0, 1, 1, 2]
        """
        seen: dict[int, int] = {}
        groups: list[int] = []
        count = 0
        for word in self.words:
            if word != NO_WORD and word in seen:
                groups.append(seen[word])
                continue
            if word != NO_WORD:
                seen[word] = count
            groups.append(count)
            count += 1
        return np.asarray(groups, dtype=np.int64)


def segment(offsets: Sequence[tuple[int, int]], words: Sequence[Span]) -> tuple[int, ...]:
    """Give each piece the word it shares most characters with; -1 where there is none.

    ``offsets`` are the characters of each piece in the text, ``words`` those of each word, in order of their
    start. Ties go to the earlier word. A piece that covers only white space goes with the next piece's word.

    >>> segment([(0, 4), (4, 7), (7, 8)], [Span(0, 7), Span(7, 8)])
    (0, 0, 1)
    >>> segment([(0, 1), (1, 4)], [Span(1, 4)])
    (0, 0)
    """
    found: list[int] = []
    at = 0
    for start, stop in offsets:
        while at < len(words) and words[at].stop <= start:
            at += 1
        best, shared, probe = NO_WORD, 0, at
        while probe < len(words) and words[probe].start < stop:
            common = min(stop, words[probe].stop) - max(start, words[probe].start)
            if common > shared:
                best, shared = probe, common
            probe += 1
        found.append(best)
    for index in range(len(found) - 2, -1, -1):
        if found[index] == NO_WORD and found[index + 1] != NO_WORD:
            follows = words[found[index + 1]]
            if offsets[index][1] <= offsets[index + 1][1] and offsets[index][1] <= follows.stop:
                found[index] = found[index + 1]
    return tuple(found)


def regroup(
    weights: NDArray[np.floating], queries: Segmentation, keys: Segmentation | None = None
) -> NDArray[np.floating]:
    """Turn weights between pieces, (..., query, key), into weights between words and special pieces.

    Sums over the pieces of an attended word, averages over those of an attending one; rows still sum to one.

    >>> s = Segmentation(("[CLS]", "play", "##ing"), (-1, 0, 0), (-1, 0, 0), 1)
    >>> regroup(np.array([[0.2, 0.3, 0.5], [0.4, 0.3, 0.3], [0.6, 0.2, 0.2]]), s).round(2).tolist()
    [[0.2, 0.8], [0.5, 0.5]]
    """
    keys = queries if keys is None else keys
    if weights.shape[-2:] != (len(queries.words), len(keys.words)):
        raise TextError(
            f"weights of {weights.shape[-2]} queries and {weights.shape[-1]} keys cannot be regrouped by a "
            f"segmentation of {len(queries.words)} and {len(keys.words)} pieces"
        )
    rows, columns = _membership(queries.groups), _membership(keys.groups)
    rows = rows / rows.sum(axis=0, keepdims=True)
    grouped: NDArray[np.floating] = np.einsum("...qk,qr,kc->...rc", weights, rows, columns, optimize=True)
    return grouped


def _membership(groups: NDArray[np.int64]) -> NDArray[np.float64]:
    members = np.zeros((len(groups), int(groups.max(initial=-1)) + 1))
    members[np.arange(len(groups)), groups] = 1.0
    return members
