"""Attention with other values on a CPU, tile by tile.

A *plane* is one head of one text, queries by keys. A tile is as many planes, or else as many rows of one plane, as
stay in the cache of a core: scores, exponentials, products with the values, and on to the next. Each thread carries
out whole tiles. Three things make it fast: exponentials of base two, for which queries are scaled by log2 e; products
with a few columns only after these were laid out key by key (six times as fast as row by row); and rows of causal
planes that end where nothing can be seen any more. Masked keys are zeroed after the exponential, and the sum of a row
comes out as the product with a column of ones.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator
from typing import NamedTuple

import torch
from torch import Tensor

from attlas.measures.threads import in_threads

TILE = 3 << 17  # scores at a time: a megabyte and a half
BAND_ROWS = 128  # at a time, of which keys within a window are taken
CAUSAL_ROWS = 256  # at most, where later keys cannot be seen
SAFE = 40.0  # exponentials of scores up to this need no shift: e^40 is far from the end of float32
SMALL = 1 << 21  # scores that are not worth a second thread
_TINY = 1e-30
_LOG2E = math.log2(math.e)


class Planes(NamedTuple):
    """Some planes and how they lie: from ``first`` to ``last`` of all, of ``texts`` texts with ``heads`` heads each.

    >>> Planes(0, 24, 0, 2, 12).texts
    2
    """

    first: int
    last: int
    text: int
    texts: int
    heads: int


def planes(batch: int, heads: int, size: int) -> Iterator[Planes]:
    """All planes, in groups of whole texts where these fit a tile, else of heads of one text.

    >>> [(some.first, some.last) for some in planes(3, 2, TILE // 4)]
    [(0, 4), (4, 6)]
    >>> [(some.first, some.last, some.text) for some in planes(2, 3, TILE // 2)]
    [(0, 2, 0), (2, 3, 0), (3, 5, 1), (5, 6, 1)]
    """
    fitting = max(1, TILE // size)
    if fitting >= heads:
        together = fitting // heads
        for text in range(0, batch, together):
            texts = min(together, batch - text)
            yield Planes(text * heads, (text + texts) * heads, text, texts, heads)
        return
    for text in range(batch):
        for head in range(0, heads, fitting):
            some = min(fitting, heads - head)
            yield Planes(text * heads + head, text * heads + head + some, text, 1, some)


class Sums(NamedTuple):
    """What tiles are written into: as in :class:`attlas.measures.kernels.Attended`, by plane."""

    out: Tensor
    lse: Tensor
    lower: Tensor
    logs: Tensor
    top: Tensor
    within: Tensor
    received: Tensor


def attend_in_tiles(
    query: Tensor,
    key: Tensor,
    value: Tensor,
    scale: float,
    mask: Tensor | None = None,
    causal: bool = False,
    lower: int = 0,
    logs: int = 1,
    window: int | None = None,
    readers: Tensor | None = None,
) -> Sums:
    """Sums over keys of (batch, head, piece, width) tensors, as :func:`attlas.measures.kernels.attend` has them.

    >>> q = torch.zeros(1, 1, 3, 4)
    >>> attend_in_tiles(q, q, torch.ones(1, 1, 3, 1), 1.0).lse.exp().round().flatten().tolist()
    [3.0, 3.0, 3.0]
    """
    batch, heads, queries, _ = query.shape
    keys, wide = key.shape[2], value.shape[-1]
    scaled = query * (scale * _LOG2E)
    safe = float(scaled.norm(dim=-1).max() * key.norm(dim=-1).max()) <= SAFE * _LOG2E
    left, right, values = (tensor.contiguous().flatten(0, 1) for tensor in (scaled, key.transpose(2, 3), value))
    few = max(lower, logs)
    by_key = values[..., wide - few :].transpose(1, 2).contiguous().transpose(1, 2)
    reading = None if readers is None else readers.expand(batch, heads, queries, -1).flatten(0, 1)
    by_query = {
        "out": wide,
        "lse": 1,
        "lower": lower,
        "logs": logs,
        "top": 1,
        "within": 0 if window is None else logs,
    }
    sums = Sums(
        **{name: value.new_empty(batch * heads, queries, columns) for name, columns in by_query.items()},
        received=value.new_zeros(batch * heads, 0 if reading is None else reading.shape[-1], keys),
    )
    hidden = None if mask is None else ~mask.expand(batch, 1, queries, keys)
    covered = [False] * batch if hidden is None else hidden.flatten(1).any(1).tolist()  # texts that hide some keys
    rows = queries if queries * keys <= TILE else max(32, TILE // keys // 32 * 32)
    rows = min(rows, CAUSAL_ROWS) if causal else rows
    band = None if window is None else _band(min(BAND_ROWS, queries), window)

    def work(groups: Iterable[Planes]) -> None:
        for some in groups:
            here = slice(some.first, some.last)
            texts = slice(some.text, some.text + some.texts)
            veil = hidden[texts] if hidden is not None and any(covered[texts]) else None
            for row in range(0, queries, rows):
                seen = min(keys, row + rows) if causal else keys  # later keys cannot be seen from here
                span = slice(row, row + rows)
                scores = torch.bmm(left[here, span], right[here, :, :seen])
                shape = (some.texts, some.heads, *scores.shape[1:])
                tile = None if veil is None else veil[:, :, span, :seen].expand(shape).reshape(scores.shape)
                shift = None if safe else _shift(scores, tile, row if causal else None)
                weights = torch.exp2(scores if shift is None else scores.sub_(shift))
                if causal:
                    weights.tril_(row)
                if tile is not None:
                    weights.masked_fill_(tile, 0.0)
                summed = torch.bmm(weights, values[here, :seen])
                whole = summed[..., -1:].clamp(min=_TINY)
                torch.div(summed, whole, out=sums.out[here, span])
                log, most = whole.log2(), weights.amax(-1, keepdim=True).log2()
                sums.lse[here, span] = (log if shift is None else log + shift) / _LOG2E
                sums.top[here, span] = (most if shift is None else most + shift) / _LOG2E
                part = torch.bmm(scores.mul_(weights), by_key[here, :seen, few - logs :])
                part = part.div_(whole) - log * sums.out[here, span, wide - logs :]
                torch.div(part, _LOG2E, out=sums.logs[here, span])
                if reading is not None:
                    by_reader = (reading[here, span] / whole).transpose(1, 2)
                    sums.received[here, :, :seen].add_(torch.bmm(by_reader, weights))
                if band is not None:
                    near = _banded(weights, by_key[here, :seen, few - logs :], row, band)
                    torch.div(near, whole, out=sums.within[here, span])
                if lower:
                    below = torch.bmm(weights.tril_(row), by_key[here, :seen, few - lower :])
                    torch.div(below, whole, out=sums.lower[here, span])

    in_threads(work, planes(batch, heads, queries * keys), split=batch * heads * queries * keys > SMALL)
    return Sums(*(part.view(batch, heads, *part.shape[1:]) for part in sums))


def _banded(weights: Tensor, columns: Tensor, row: int, band: Tensor) -> Tensor:
    """Products with the columns of those keys alone that are near the query; the first query of the tile is number
    ``row``. ``band`` says for some rows which keys are near, from the first that any of them has."""
    window = (band.shape[1] - band.shape[0]) // 2
    sums = weights.new_zeros(*weights.shape[:2], columns.shape[-1])
    for start in range(0, weights.shape[1], len(band)):
        some = weights[:, start : start + len(band)]
        first = row + start - window
        low, high = max(0, first), min(weights.shape[2], first + some.shape[1] + 2 * window)
        if low < high:
            near = some[..., low:high] * band[: some.shape[1], low - first : high - first]
            torch.bmm(near, columns[:, low:high], out=sums[:, start : start + len(band)])
    return sums


def _band(rows: int, window: int) -> Tensor:
    """Which keys are at most ``window`` pieces from each of some rows, from the first key that any of them has.

    >>> _band(2, 1)
    tensor([[1., 1., 1., 0.],
            [0., 1., 1., 1.]])
    """
    return torch.ones(rows, rows + 2 * window).triu_().tril_(2 * window)


def _shift(scores: Tensor, hidden: Tensor | None, row: int | None) -> Tensor:
    """The largest score that each row may see; 0 where it sees nothing."""
    if row is not None:
        later = torch.ones(scores.shape[1:], dtype=torch.bool).triu(row + 1)
        hidden = later if hidden is None else hidden | later
    top = (scores if hidden is None else scores.masked_fill(hidden, -torch.inf)).amax(-1, keepdim=True)
    return top.nan_to_num(neginf=0.0)
