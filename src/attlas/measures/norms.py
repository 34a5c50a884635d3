"""Norms: how much a key really contributes, ||alpha f(x)|| (Kobayashi et al.).

A head's output is sum_j alpha_ij f(x_j) with f(x) = (x W_V + b_V) W_O^h. Since alpha is a number, ||alpha_ij
f(x_j)|| = alpha_ij ||f(x_j)||, and ||v W||^2 = v (W W^T) v^T: one small matrix per head instead of a vector of the
model's width for every pair of pieces.
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
    squares = (torch.matmul(values, grams.to(values.dtype)) * values).sum(-1)
    return squares.clamp(min=0).sqrt()
