"""Parsing from attention: which word governs which, read off all heads at once.

Two probes after Clark et al. The first has two weights per head,

    p(i governs j)  ~  exp( sum_k  w_k a^k_ij + u_k a^k_ji ),

where a^k_ij is what word i gives to word j in head k. In the second the weights depend on the two words: w_k becomes
W_k (v_i, v_j), linear in their vectors, and u_k likewise; a constant is added to every vector, so that words without
a vector still have weights. ROOT competes with the words: its attention is that of all pieces outside words together,
and it has weights of its own in the first probe, a learned vector in the second, and a bias in both.

Attention comes as (sentence, from, to, head) with ROOT last; scores are (sentence, governor, dependent).
"""

from __future__ import annotations

import torch
from torch import Tensor, nn

CLIP = 10  # distances beyond this are one


class AttentionProbe(nn.Module):
    """Two weights per head, and two more for ROOT. They are learned in coordinates in which heads do not go together,
    ``weights @ mixing``; that changes how fast they are found and not what can be found.

    >>> probe = AttentionProbe(torch.eye(3))
    >>> probe(torch.rand(2, 6, 6, 3)).shape
    torch.Size([2, 6, 5])
    """

    def __init__(self, mixing: Tensor) -> None:
        super().__init__()
        self.register_buffer("mixing", mixing)
        self.mixing: Tensor
        self.weights = nn.Parameter(torch.zeros(4, len(mixing)))
        self.bias = nn.Parameter(torch.zeros(()))

    def forward(self, attention: Tensor, ids: Tensor | None = None) -> Tensor:
        """Scores of all governors of all words; a word does not govern itself."""
        found = attention @ (self.weights @ self.mixing).T
        words = found.shape[1] - 1
        between = found[:, :words, :words, 0] + found[:, :words, :words, 1].transpose(1, 2)
        root = found[:, words:, :words, 2] + found[:, :words, words:, 3].transpose(1, 2) + self.bias
        return _no_loops(torch.cat([between, root], dim=1))

    def learned(self) -> Tensor:
        """The weights (direction, head), governor to dependent first, then dependent to governor."""
        return (self.weights @ self.mixing)[:2].detach()


class VectorProbe(nn.Module):
    """Weights per head that are linear in the two words' vectors; ``table`` holds those, by number.

    >>> probe = VectorProbe(torch.eye(3), torch.zeros(10, 5), torch.Generator().manual_seed(0))
    >>> probe(torch.rand(2, 6, 6, 3), torch.zeros(2, 5, dtype=torch.long)).shape
    torch.Size([2, 6, 5])
    """

    def __init__(self, mixing: Tensor, table: Tensor, generator: torch.Generator) -> None:
        super().__init__()
        self.register_buffer("mixing", mixing)
        self.register_buffer("table", table)
        self.mixing: Tensor
        self.table: Tensor
        size, heads = table.shape[1] + 1, len(mixing)
        start = torch.randn(4, size, heads, generator=generator) * 0.01
        self.matrix = nn.Parameter(start)
        self.root = nn.Parameter(torch.randn(size - 1, generator=generator) / max(1, size - 1) ** 0.5)
        self.bias = nn.Parameter(torch.zeros(()))

    def forward(self, attention: Tensor, ids: Tensor) -> Tensor:
        """Scores of all governors of all words, whose vectors have these numbers."""
        vectors = torch.cat([self.table[ids], self.root.expand(len(ids), 1, -1)], dim=1)
        vectors = torch.cat([vectors, torch.ones_like(vectors[..., :1])], dim=-1)
        # of attention from i to j: W by the governor i and the dependent j, U by the governor j and the dependent i
        w_from, w_to, u_to, u_from = torch.matmul(vectors, (self.matrix @ self.mixing)[:, None])
        rows = torch.matmul(attention, torch.stack([w_from, u_from], dim=-1))
        columns = torch.matmul(attention.transpose(1, 2), torch.stack([w_to, u_to], dim=-1)).transpose(1, 2)
        found = rows + columns
        scores = found[..., 0] + found[..., 1].transpose(1, 2)
        words = scores.shape[1] - 1
        bias = torch.cat([self.bias.new_zeros(words), self.bias[None]])
        return _no_loops(scores[:, :, :words] + bias[:, None])


def offsets(words: int) -> Tensor:
    """In place of attention: for each pair of words how far the second stands from the first, one-hot, up to ten to
    either side; ROOT has a place of its own. (1, from, to, 22)

    >>> offsets(3)[0, 0].argmax(-1).tolist(), offsets(3).shape
    ([10, 11, 12, 21], torch.Size([1, 4, 4, 22]))
    """
    places = torch.arange(words + 1)
    apart = (places[None, :] - places[:, None]).clamp(-CLIP, CLIP) + CLIP
    apart[words, :] = apart[:, words] = 2 * CLIP + 1
    return nn.functional.one_hot(apart, 2 * CLIP + 2).float()[None]


def _no_loops(scores: Tensor) -> Tensor:
    """Scores (sentence, governor, dependent) in which no word is its own governor."""
    self_ = torch.eye(scores.shape[1], scores.shape[2], dtype=torch.bool, device=scores.device)
    return scores.masked_fill(self_, float("-inf"))


def cross_entropy(scores: Tensor, governors: Tensor, scored: Tensor) -> Tensor:
    """The sum over all words that count of -log p(governor).

    >>> scores = _no_loops(torch.zeros(1, 3, 2))
    >>> float(cross_entropy(scores, torch.tensor([[1, 2]]), torch.tensor([[True, False]])))
    0.693...
    """
    found = torch.log_softmax(scores, dim=1).gather(1, governors.clamp(min=0)[:, None])[:, 0]
    return -torch.where(scored, found, found.new_zeros(())).sum()
