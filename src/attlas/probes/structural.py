"""The structural probe of Hewitt and Manning: a tree from distances between states.

For every layer a matrix B projects states of words, such that ||B (h_i - h_j)||^2 comes near the number of edges
between the two words in the tree. The tree is then the minimum spanning tree of these distances, and the score is the
share of the tree's edges, taken without direction, that are in it. The layers share nothing, so all are trained in
one pass.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn

from attlas.probes.trees import FAR


class StructuralProbe(nn.Module):
    """One projection per layer, to ``rank`` dimensions. ``scale`` (layer, size) is how much each number of a state
    usually varies; it is learned in these units, since some numbers of some models are a thousand times the others.

    >>> probe = StructuralProbe(torch.ones(2, 8), rank=4, generator=torch.Generator().manual_seed(0))
    >>> probe(torch.rand(2, 3, 5, 8)).shape
    torch.Size([2, 3, 5, 5])
    """

    def __init__(self, scale: Tensor, rank: int, generator: torch.Generator) -> None:
        super().__init__()
        self.register_buffer("scale", scale)
        self.scale: Tensor
        start = torch.randn(*scale.shape, rank, generator=generator)
        self.projection = nn.Parameter(start * (2 / (scale.shape[1] * rank)) ** 0.5)  # distances of about four

    def forward(self, states: Tensor) -> Tensor:
        """Squared distances (layer, sentence, word, word) from states (layer, sentence, word, size)."""
        layers, sentences, words, size = states.shape
        matrix = self.projection / self.scale[:, :, None]
        placed = torch.bmm(states.reshape(layers, sentences * words, size), matrix)
        placed = placed.view(layers, sentences, words, -1)
        products = torch.matmul(placed, placed.transpose(2, 3))
        squares = products.diagonal(dim1=2, dim2=3)
        return squares[..., :, None] + squares[..., None, :] - 2 * products


def distance_loss(found: Tensor, distances: Tensor) -> Tensor:
    """The sum over sentences of the mean |d - d'| of a sentence's pairs of words, for each layer.

    >>> wanted = torch.tensor([[[0, 1], [1, 0]]], dtype=torch.uint8)
    >>> distance_loss(torch.zeros(3, 1, 2, 2), wanted).tolist()
    [0.5, 0.5, 0.5]
    """
    real = distances != FAR
    apart = (found - distances.to(found.dtype)).abs()
    return torch.where(real, apart, apart.new_zeros(())).sum((-1, -2)).div(found.shape[-1] ** 2).sum(-1)


def spanning_edges(distances: NDArray[np.floating], kept: Sequence[int]) -> set[tuple[int, int]]:
    """The edges of the minimum spanning tree over some of the words, each with the smaller word first.

    >>> sorted(spanning_edges(np.array([[0, 1, 4], [1, 0, 1], [4, 1, 0.0]]), [0, 1, 2]))
    [(0, 1), (1, 2)]
    """
    from scipy.sparse.csgraph import minimum_spanning_tree

    places = np.asarray(kept)
    if len(places) < 2:
        return set()
    among = np.array(distances, np.float64)[np.ix_(places, places)]
    among += 1e-6 - min(0.0, float(among.min()))  # to the solver, zero is no edge
    rows, columns = minimum_spanning_tree(among).nonzero()
    return {
        (int(min(places[a], places[b])), int(max(places[a], places[b]))) for a, b in zip(rows, columns, strict=True)
    }


def gold_edges(governors: Sequence[int], scored: Sequence[bool]) -> set[tuple[int, int]]:
    """The edges of a tree between words that count, each with the smaller word first.

    >>> sorted(gold_edges([1, 3, 1], [True, True, False]))
    [(0, 1)]
    """
    words = len(governors)
    return {
        (min(word, governor), max(word, governor))
        for word, governor in enumerate(governors)
        if 0 <= governor < words and scored[word] and scored[governor]
    }
