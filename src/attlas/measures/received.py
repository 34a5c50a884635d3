"""What every word receives: the attention that the words of a text pay to it, by their mean or their largest.

Queries are words (the mean of their pieces), so that special pieces, which have nothing to say about the text, do not
count as readers; what goes to special pieces is lost, so the shares of all words sum to less than one. Attention to a
word is the sum over its pieces. Where a model reads from left to right, a word is seen by itself and what follows,
and the mean is over these alone; else the first words would always lead.
"""

from __future__ import annotations

import torch
from torch import Tensor

from attlas.errors import CapabilityError
from attlas.measures.words import Grouping, between_words

OVER = ("mean", "max")


def check_over(over: str) -> None:
    """Refuse a way of taking attention over the words that attend.

    >>> check_over("sum")
    Traceback (most recent call last):
        ...
    attlas.errors.CapabilityError: attention cannot be taken over queries by 'sum'; choose one of mean, max
    """
    if over not in OVER:
        raise CapabilityError(f"attention cannot be taken over queries by {over!r}; choose one of {', '.join(OVER)}")


def received(attention: Tensor, words: Grouping, over: str = "mean", *, causal: bool = False) -> Tensor:
    """What words receive, (batch, head, word), from attention (batch, head, query, key) between pieces; 0 for words
    that are not there.

    >>> from attlas.measures.words import group
    >>> from attlas.text import Segmentation
    >>> s = Segmentation(("[CLS]", "play", "##ing", "on"), (-1, 0, 0, 1), (-1, 0, 0, 0), 2)
    >>> rows = [[0.2, 0.3, 0.3, 0.2], [0.4, 0.2, 0.2, 0.2], [0.4, 0.2, 0.2, 0.2], [0.2, 0.4, 0.2, 0.2]]
    >>> received(torch.tensor([[rows]]), group([s], 4)).tolist()
    [[[0.5, 0.20000000298023224]]]
    >>> received(torch.tensor([[rows]]), group([s], 4), "max")[0, 0, 0].item()
    0.6000000238418579
    """
    if over == "max":
        return between_words(attention, words)[:, :, :-1, :-1].amax(2) * words.present[:, None]
    check_over(over)
    members = words.members[:, :-1].to(attention.dtype)
    readers = (members / members.sum(-1, keepdim=True).clamp(min=1)).sum(1)  # how much each piece counts as a query
    summed = torch.matmul(readers[:, None, None], attention)[:, :, 0]  # (batch, head, key piece)
    present = words.present.to(attention.dtype)
    seen_by = present.flip(-1).cumsum(-1).flip(-1) if causal else present.sum(-1, keepdim=True)
    return torch.matmul(summed, members.transpose(1, 2)) * (present / seen_by.clamp(min=1))[:, None]
