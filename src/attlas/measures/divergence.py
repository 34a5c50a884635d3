"""How far apart heads are: the Jensen-Shannon divergence of their attention, for all pairs of heads at once.

For two rows p and q with the mean m, JS = H(m) - (H(p) + H(q)) / 2, between 0 and ln 2 nats. With s = p + q that is

    JS = 1/2 Σ_k (s ln 2 - s ln s + p ln p + q ln q)

so that, the heads' own sums being taken once, a pair costs one logarithm per key, and each pair is taken once. The
work goes in chunks whose sums and logarithms stay in the processor's cache. Nothing is smoothed: 0 ln 0 is 0.

What is left of two nearly equal rows is a small difference of sums near H, so the sums matter: over keys they are
taken in float32 by halves (the error of a row stays below a millionth of a nat), over queries in float64; what
rounding pushes below zero is zero.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from typing import NamedTuple

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from attlas.measures.pair_sums import has_kernel, pair_sums
from attlas.measures.threads import in_threads
from attlas.models import onto

CHUNK = 1 << 20  # numbers per thread, twice: few enough for the cache, and enough to keep Python out of the way
DEVICE_CHUNK = 1 << 25
SMALL = 1 << 24  # logarithms that are not worth a second thread
_TINY = torch.finfo(torch.float32).tiny


def head_pairs(heads: int) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """The two heads of every pair, in the order of :func:`divergences`.

    >>> [place.tolist() for place in head_pairs(3)]
    [[0, 0, 1], [1, 2, 2]]
    """
    first, second = np.triu_indices(heads, 1)
    return first.astype(np.int64), second.astype(np.int64)


def entropies(weights: Tensor) -> Tensor:
    """Entropy of every row in nats, (head, query), from weights (head, query, key).

    >>> entropies(torch.tensor([[[0.5, 0.5, 0.0], [1.0, 0.0, 0.0]]])).tolist()
    [[0.693..., -0.0]]
    """
    logs = weights.float().clamp(min=_TINY).log_()
    return -logs.mul_(weights).sum(-1)


class Distances(NamedTuple):
    """Sums over the queries of each text: of the divergence of every pair of heads, (text, pair), and of every head's
    own entropy, (text, head); float64.

    >>> Distances._fields
    ('pairs', 'entropies')
    """

    pairs: Tensor
    entropies: Tensor


def divergences_of_texts(packed: Tensor, queries: Sequence[int], keys: Sequence[int]) -> Distances:
    """The distances of all pairs of heads in each of several texts, from rows that lie packed, text behind text:
    (head, number), where a text of so many queries and keys has queries x keys numbers, query by query.

    On a GPU that has Triton it is one kernel for all texts (:mod:`attlas.measures.pair_sums`), else text by text.

    >>> rows = torch.tensor([[1.0, 0.0], [0.0, 1.0]])  # two heads, and two texts of one query: of one key each
    >>> found = divergences_of_texts(rows, [1, 1], [1, 1])
    >>> found.pairs.shape, divergences_of_texts(rows, [1], [2]).pairs.round(decimals=4).tolist()
    (torch.Size([2, 1]), [[0.6931]])
    """
    sizes = [queried * seen for queried, seen in zip(queries, keys, strict=True)]
    if packed.device.type == "cuda" and has_kernel():
        return from_pair_sums(*pair_sums(packed, sizes))
    pairs, own = [], []
    for text, queried, seen in zip(torch.split(packed, sizes, 1), queries, keys, strict=True):
        rows = text.reshape(len(packed), queried, seen)
        entropy = entropies(rows)
        pairs.append(divergences(rows, entropy))
        own.append(entropy.double().sum(-1))
    return Distances(torch.stack(pairs), torch.stack(own))


def from_pair_sums(joint: Tensor, mass: Tensor) -> Distances:
    """Distances from the sums of s ln s for all pairs of heads, (text, head, head), and of each head's own numbers,
    (text, head): that of a head with itself is 2 sum p ln p + 2 ln 2 sum p.

    >>> one = torch.tensor([[0.5, 0.5]], dtype=torch.float64)
    >>> s = one + one
    >>> found = from_pair_sums((s * s.log()).sum().view(1, 1, 1), one.sum().view(1, 1))
    >>> found.entropies.round(decimals=4).tolist()
    [[0.6931]]
    """
    own = joint.diagonal(dim1=1, dim2=2) / 2
    first, second = (onto(place, joint.device) for place in head_pairs(joint.shape[1]))
    found = (own[:, first] + own[:, second] - joint[:, first, second]) / 2
    return Distances(found.clamp(min=0.0), mass * math.log(2) - own)


def divergences(weights: Tensor, own: Tensor | None = None, *, chunk: int | None = None) -> Tensor:
    """Sum over queries of the divergence of every pair of heads: (pairs) in float64, from (head, query, key).

    The pairs come as in :func:`head_pairs`. ``own`` are the rows' :func:`entropies`, where they are known already;
    ``chunk`` is how many numbers to take at a time.

    >>> weights = torch.tensor([[[1.0, 0.0]], [[0.0, 1.0]], [[1.0, 0.0]]])
    >>> [round(value, 4) for value in divergences(weights).tolist()]
    [0.6931, 0.0, 0.6931]
    """
    weights = weights.detach().float()
    heads, queries, keys = weights.shape
    own = entropies(weights) if own is None else own
    mass = weights.sum(-1).double().sum(-1)
    alone = mass * math.log(2) - own.double().sum(-1)  # what a head brings to each of its pairs
    # The least normal number stands for zero: its logarithm is finite, and times itself it is nothing.
    filled = weights.clamp(min=_TINY)
    on_cpu = weights.device.type == "cpu"
    most = max(1, (chunk or (CHUNK if on_cpu else DEVICE_CHUNK)) // keys)  # rows at a time
    found = torch.empty(heads * (heads - 1) // 2, dtype=torch.float64, device=weights.device)

    def work(todo: Iterable[int]) -> None:
        sums, logs = (torch.empty(min(most, heads * queries) * keys, device=weights.device) for _ in range(2))
        for head in todo:
            place = head * heads - head * (head + 1) // 2
            for first in range(head + 1, heads, most):
                others = filled[first : first + most]
                both = alone[first : first + most] + alone[head]
                at = place + first - head - 1
                found[at : at + len(others)] = both - _joint(others, filled[head], most, sums, logs)

    in_threads(work, range(heads - 1), split=on_cpu and heads * heads * queries * keys > SMALL)
    return found.mul_(0.5).clamp_(min=0.0)


def _joint(others: Tensor, head: Tensor, most: int, sums: Tensor, logs: Tensor) -> Tensor:
    """Sum over queries and keys of s ln s of one head with some others, in the buffers given."""
    by_query = torch.empty(others.shape[:2], device=others.device)
    step = max(1, most // len(others))
    for start in range(0, others.shape[1], step):
        rows = slice(start, start + step)
        s, log = (buffer[: others[:, rows].numel()].view_as(others[:, rows]) for buffer in (sums, logs))
        torch.add(others[:, rows], head[rows], out=s)
        torch.log(s, out=log)
        torch.sum(log.mul_(s), -1, out=by_query[:, rows])
    return by_query.double().sum(-1)
