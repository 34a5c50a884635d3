"""Norms: how much a key really contributes, ||alpha f(x)|| (Kobayashi et al.).

A head's output is sum_j alpha_ij f(x_j) with f(x) = (x W_V + b_V) W_O^h. Since alpha is a number, ||alpha_ij
f(x_j)|| = alpha_ij ||f(x_j)||, and ||v W||^2 = v (W W^T) v^T: one small matrix per head instead of a vector of the
model's width for every pair of pieces.

All heads of a layer together give a key's *joint* norm ||sum_h alpha^h_ij f^h(x_j)||. Its square is the sum over
pairs of heads of alpha^h_ij alpha^g_ij f^h(x_j) . f^g(x_j), and these products belong to the key alone: again one
small matrix, this time per key, and nothing larger than the weights themselves is ever built.
"""

from __future__ import annotations

import torch
from torch import Tensor


def gram(output_matrix: Tensor) -> Tensor:
    """W W^T of every head: (head, width, width) from (head, width, hidden).

    >>> gram(torch.ones(2, 3, 5)).shape
    torch.Size([2, 3, 3])
    """
    return output_matrix @ output_matrix.transpose(1, 2)


def value_norms(values: Tensor, grams: Tensor) -> Tensor:
    """||f(x)|| of every key and head, (batch, head, key), from values (batch, head, key, width) and :func:`gram`.

    >>> values, matrix = torch.randn(1, 2, 4, 3), torch.randn(2, 3, 5)
    >>> slow = torch.einsum("bhkw,hwd->bhkd", values, matrix).norm(dim=-1)
    >>> bool(torch.allclose(value_norms(values, gram(matrix)), slow, atol=1e-4))
    True
    """
    batch, heads, keys, width = values.shape
    by_head = values.transpose(0, 1).reshape(heads, batch * keys, width)  # no copy of what lies key by key
    squares = torch.bmm(by_head, grams.to(values.dtype)).mul_(by_head).sum(-1)
    return squares.clamp(min=0).sqrt().view(heads, batch, keys).transpose(0, 1)


def key_grams(values: Tensor, output_matrix: Tensor) -> Tensor:
    """f^h(x) . f^g(x) of every key and pair of heads, (batch, key, head, head), from values (batch, head, key, width)
    and W_O (head, width, hidden).

    >>> values, matrix = torch.randn(1, 2, 4, 3), torch.randn(2, 3, 5)
    >>> own = key_grams(values, matrix).diagonal(dim1=-2, dim2=-1).transpose(1, 2).sqrt()
    >>> bool(torch.allclose(own, value_norms(values, gram(matrix)), atol=1e-4))
    True
    """
    vectors = torch.einsum("bhkw,hwd->bkhd", values, output_matrix.to(values.dtype))
    return vectors @ vectors.transpose(-1, -2)


def joint_norms(weights: Tensor, grams: Tensor) -> Tensor:
    """||sum_h alpha^h f^h(x)|| of every pair of pieces, (batch, query, key), from weights (batch, head, query, key)
    and :func:`key_grams`.

    Goes by pairs of heads, each a product of maps, as small products of matrices would first have to turn the weights
    round.

    >>> weights, values = torch.rand(1, 2, 6, 4), torch.randn(1, 2, 4, 3)
    >>> matrix = torch.randn(2, 3, 5)
    >>> slow = torch.einsum("bhqk,bhkw,hwd->bqkd", weights, values, matrix).norm(dim=-1)
    >>> bool(torch.allclose(joint_norms(weights, key_grams(values, matrix)), slow, atol=1e-4))
    True
    """
    products = grams.to(weights.dtype).permute(2, 3, 0, 1)[:, :, :, None].contiguous()  # (head, head, batch, 1, key)
    squares = torch.zeros_like(weights[:, 0])
    for one in range(weights.shape[1]):
        beside = weights[:, one] * products[one, one]
        for other in range(one):
            beside = torch.addcmul(beside, weights[:, other], products[one, other], value=2)
        squares = torch.addcmul(squares, beside, weights[:, one])
    return squares.clamp(min=0).sqrt()
