"""What every word receives: the attention that the words of a text pay to it, by their mean or their largest.

Queries are words (the mean of their pieces), so that special pieces, which have nothing to say about the text, do not
count as readers; what goes to special pieces is lost, so the shares of all words sum to less than one. Attention to a
word is the sum over its pieces. Where a model reads from left to right, a word is seen by itself and what follows,
and the mean is over these alone; else the first words would always lead.

:func:`received` takes weights; :func:`received_by_call` a call at the seam, whose matrix is not built: means are sums
over queries, and the largest is looked for some words at a time.
"""

from __future__ import annotations

import torch
from torch import Tensor

from attlas.errors import CapabilityError
from attlas.measures.kernels import attend, way_of
from attlas.measures.words import Grouping, between_words
from attlas.models import AttentionCall

OVER = ("mean", "max")
BLOCKS = {"cpu": 1 << 21, "cuda": 1 << 26}  # weights at a time


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
    summed = torch.matmul(_readers(words).to(attention.dtype)[:, None, None], attention)[:, :, 0]
    return _mean(summed, words, causal)


def received_by_call(
    call: AttentionCall,
    words: Grouping,
    over: str = "mean",
    *,
    lengths: Tensor | None = None,
    causal: bool = False,
) -> Tensor:
    """What :func:`received` gives, from a call at the seam; with ``lengths`` ||f(x)||, (batch, head, key), in norms.

    >>> from attlas.measures.words import group
    >>> from attlas.text import Segmentation
    >>> q = torch.zeros(1, 2, 4, 8)  # queries of zero attend evenly
    >>> call = AttentionCall("site", q, q, q, None, 1.0)
    >>> s = Segmentation(("[CLS]", "play", "##ing", "on"), (-1, 0, 0, 1), (-1, 0, 0, 0), 2)
    >>> received_by_call(call, group([s], 4))[0, 0].tolist()
    [0.5, 0.25]
    """
    check_over(over)
    if over == "max":
        return _largest(call, words, lengths)
    readers = _readers(words)
    way, _ = way_of(call)
    if way == "matrix":
        blocks = _blocks(call, call.shape[2])
        parts = [torch.matmul(readers[:, None, None, b], call.weights(b).float()) for b in blocks]
        summed = torch.stack(parts).sum(0)[:, :, 0]
    else:
        nothing = torch.zeros(len(readers), 1, call.shape[3], 0, device=readers.device)
        summed = attend(call, nothing, None, readers[:, None, :, None]).received
    return _mean(summed if lengths is None else summed * lengths, words, causal)


def _readers(words: Grouping) -> Tensor:
    """How much each piece counts as a query, (batch, piece)."""
    members = words.members[:, :-1]
    return (members / members.sum(-1, keepdim=True).clamp(min=1)).sum(1)


def _mean(summed: Tensor, words: Grouping, causal: bool) -> Tensor:
    """From what key pieces receive of all readers, (batch, head, key), to the mean over the words that see a word."""
    members, present = words.members[:, :-1].to(summed.dtype), words.present.to(summed.dtype)
    seen_by = present.flip(-1).cumsum(-1).flip(-1) if causal else present.sum(-1, keepdim=True)
    return torch.matmul(summed, members.transpose(1, 2)) * (present / seen_by.clamp(min=1))[:, None]


def _largest(call: AttentionCall, words: Grouping, lengths: Tensor | None) -> Tensor:
    """The largest that any word pays to each, from the weights of a few words at a time."""
    batch, heads, _, _ = call.shape
    largest = call.value.new_zeros(batch, heads, words.words, dtype=torch.float32)
    to = words.members[:, None, :-1].transpose(2, 3)
    for block in _blocks(call, words.words):
        members = words.members[:, block]
        pieces = members.any(1).any(0).nonzero()[:, 0]
        if not len(pieces):
            continue
        rows = slice(int(pieces[0]), int(pieces[-1]) + 1)
        weights = call.weights(rows).float()
        weights = weights if lengths is None else weights * lengths[:, :, None]
        from_ = (members / members.sum(-1, keepdim=True).clamp(min=1))[:, None, :, rows]
        between = torch.matmul(torch.matmul(from_, weights), to)
        largest = torch.maximum(largest, between.amax(2))
    return largest * words.present[:, None]


def _blocks(call: AttentionCall, count: int) -> list[slice]:
    """So many queries, or words, in blocks of as many weights as may be there at a time."""
    batch, heads, _, keys = call.shape
    size = max(1, BLOCKS.get(call.value.device.type, BLOCKS["cpu"]) // (batch * heads * keys))
    return [slice(start, min(start + size, count)) for start in range(0, count, size)]
