"""Attention between words, from attention between pieces, for a whole batch at once.

Following Clark et al., attention *to* a word is the sum over its pieces and attention *from* a word the mean. The
pieces that belong to no word ([CLS], [SEP] and their like) go together into one more group behind the last word,
so that rows still sum to one; padding goes nowhere. This is :func:`attlas.text.regroup` for tensors: the same
figures, with all texts of a batch in two products of matrices.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import chain

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from attlas.models import onto
from attlas.text import Segmentation


@dataclass(frozen=True)
class Grouping:
    """Which pieces make which word, for the texts of a batch.

    ``members`` is (batch, group, piece), 1 where a piece belongs to a group; the groups are as many words as the
    longest text has, and one for all pieces outside words. ``present`` is (batch, word): whether there is such a
    word, and it has a piece of its own.

    >>> s = Segmentation(("[CLS]", "play", "##ing"), (-1, 0, 0), (-1, 0, 0), 1)
    >>> group([s], width=4).members[0].tolist()
    [[0.0, 1.0, 1.0, 0.0], [1.0, 0.0, 0.0, 0.0]]
    """

    members: Tensor
    present: Tensor

    @cached_property
    def means(self) -> Tensor:
        """The same, each group's pieces sharing a one.

        >>> s = Segmentation(("play", "##ing"), (0, 0), (0, 0), 1)
        >>> group([s], width=2).means[0, 0].tolist()
        [0.5, 0.5]
        """
        return self.members / self.members.sum(-1, keepdim=True).clamp(min=1)

    @property
    def words(self) -> int:
        """How many words the longest text has.

        >>> group([Segmentation(("a", "b"), (0, 1), (0, 0), 2)], width=2).words
        2
        """
        return int(self.present.shape[1])


def group(
    segmentations: Sequence[Segmentation],
    width: int,
    starts: Sequence[int] | None = None,
    device: torch.device | str = "cpu",
) -> Grouping:
    """Group the pieces of a batch that is padded to ``width``; ``starts`` are the first real positions.

    >>> s = Segmentation(("dont", "."), (0, 2), (0, 0), 3)  # a word without a piece of its own
    >>> group([s], width=2).present.tolist()
    [[True, False, True]]
    """
    words = max((segmentation.word_count for segmentation in segmentations), default=0)
    counts = np.array([len(segmentation.words) for segmentation in segmentations], dtype=np.int64)
    word = np.fromiter(chain.from_iterable(s.words for s in segmentations), np.int64, int(counts.sum()))
    row = np.repeat(np.arange(len(counts)), counts)
    place = np.arange(len(row)) - np.repeat(np.cumsum(counts) - counts, counts)
    place += np.array(starts if starts is not None else [0] * len(counts), np.int64)[row]
    flat = (row * (words + 1) + np.where(word < 0, words, word)) * width + place
    members = torch.zeros(len(segmentations), words + 1, width, device=device)
    members.view(-1).index_fill_(0, onto(flat, device), 1.0)
    return Grouping(members, onto(present_words(segmentations), device))


def present_words(segmentations: Sequence[Segmentation]) -> NDArray[np.bool_]:
    """Which words have a piece of their own, (text, word), as many words as the longest text has.

    >>> present_words([Segmentation(("dont", "."), (0, 2), (0, 0), 3)]).tolist()
    [[True, False, True]]
    """
    words = max((segmentation.word_count for segmentation in segmentations), default=0)
    present = np.zeros((len(segmentations), words + 1), bool)
    counts = [len(segmentation.words) for segmentation in segmentations]
    word = np.fromiter(chain.from_iterable(s.words for s in segmentations), np.int64, sum(counts))
    present[np.repeat(np.arange(len(counts)), counts), word] = True  # -1 is the place behind the last word
    return present[:, :words]


def between_words(weights: Tensor, queries: Grouping, keys: Grouping | None = None) -> Tensor:
    """Weights (batch, head, query, key) between pieces as weights between words, the last group being all else.

    Rows of words that are not there are zero.

    >>> s = Segmentation(("[CLS]", "play", "##ing"), (-1, 0, 0), (-1, 0, 0), 1)
    >>> weights = torch.tensor([[[[0.2, 0.3, 0.5], [0.4, 0.3, 0.3], [0.6, 0.2, 0.2]]]])
    >>> [[round(value, 2) for value in row] for row in between_words(weights, group([s], 3))[0, 0].tolist()]
    [[0.5, 0.5], [0.8, 0.2]]
    """
    keys = queries if keys is None else keys
    from_, to = (part.to(weights.dtype)[:, None] for part in (queries.means, keys.members.transpose(1, 2)))
    if to.shape[-1] < from_.shape[-2]:  # the smaller product first
        return torch.matmul(from_, torch.matmul(weights, to))
    return torch.matmul(torch.matmul(from_, weights), to)
