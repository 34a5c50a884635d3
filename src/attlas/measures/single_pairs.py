"""Weights of single pairs of query and key, taken out of tiles while these are at hand.

A pair's weight is one number of a tile, and its row's sum another; to make it anew would take a product of a whole
query with a whole key. Where a text has several tiles, its pairs are put in the order of the rows that they are in,
and handed back in the order in which they came. Where pairs stand in tiles is found out once for all layers, and kept
as long as the pairs are.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NamedTuple

import numpy as np
import torch
from torch import Tensor
from torch.utils.weak import WeakTensorKeyDictionary


class SinglePairs:
    """The pairs (batch, P, 2) of a call with so many heads, and what was found at them; ``rows`` are the first and
    last queries of the tiles of a plane, of ``keys`` keys.

    >>> pairs = SinglePairs(torch.tensor([[[2, 0], [0, 1]]]), 1, [(0, 2), (2, 3)], 3)
    >>> exponentials = torch.arange(9.0).view(1, 3, 3)
    >>> for number, rows in enumerate([slice(0, 2), slice(2, 3)]):
    ...     tile = exponentials[:, rows].contiguous()
    ...     pairs.take(slice(0, 1), slice(0, 1), number, 0, tile, torch.full((1, tile.shape[1], 1), 2.0))
    >>> pairs.found.tolist()
    [[[3.0, 0.5]]]
    """

    def __init__(self, pairs: Tensor, heads: int, rows: Sequence[tuple[int, int]], keys: int) -> None:
        if pairs not in _KNOWN:
            _KNOWN[pairs] = {}
        known, asked = _KNOWN[pairs], (keys, *rows)
        if asked not in known:
            known[asked] = _Order(pairs, rows, keys)
        self._order: _Order = known[asked]
        self._found = torch.zeros(len(pairs), heads, pairs.shape[1])

    @property
    def found(self) -> Tensor:
        """The weights, (batch, head, P), in the order in which the pairs came."""
        back = self._order.back
        return self._found if back is None else self._found.gather(2, back[:, None].expand_as(self._found))

    def take(self, texts: slice, heads: slice, number: int, low: int, tile: Tensor, whole: Tensor) -> None:
        """The weights of all pairs in the rows of that number of some texts and heads: ``tile`` (plane, row, key) are
        exponentials of scores, from key ``low`` on, and ``whole`` (plane, row, 1) their sums; a key that is not in
        the tile has none."""
        many, seen, stride = heads.stop - heads.start, tile.shape[2], tile.stride(1)
        for some, own in self._order.among(texts, number):
            planes = slice((some.start - texts.start) * many, (some.stop - texts.start) * many)
            query, place, inside = self._order.placed(some, own, number, low, seen, stride)
            shape = some.stop - some.start, many, query.shape[1]
            size = (*shape[:2], (tile.shape[1] - 1) * stride + seen)
            flat = tile[planes].as_strided(size, (many * tile.stride(0), tile.stride(0), 1))
            found = torch.gather(flat, 2, place[:, None].expand(shape))
            found.div_(torch.gather(whole[planes].view(*shape[:2], -1), 2, query[:, None].expand(shape)))
            if inside is not None:
                found.mul_(inside[:, None])
            self._found[some, heads, own] = found


_KNOWN = WeakTensorKeyDictionary()  # of some pairs, by keys and rows, where they stand


class _Placed(NamedTuple):
    """The rows of some pairs in their tile, their places among its numbers, and which of them are inside, where not
    all are."""

    query: Tensor
    place: Tensor
    inside: Tensor | None


class _Order:
    """Where pairs stand: in which tile of their text, and where in that."""

    def __init__(self, pairs: Tensor, rows: Sequence[tuple[int, int]], keys: int) -> None:
        self._query, self._key = pairs.unbind(-1)
        self._keys, self._begins = keys, [first for first, _ in rows]
        self._known: dict[tuple[int, ...], _Placed] = {}
        self.back: Tensor | None = None
        if len(rows) > 1:
            queries = self._query.numpy()
            small = queries.astype(np.int16) if rows[-1][1] < 1 << 15 else queries
            order = torch.from_numpy(np.argsort(small, 1, kind="stable"))  # by counting, where they are small
            self._query, self._key = self._query.gather(1, order), self._key.gather(1, order)
            ends = [np.searchsorted(text, self._begins[1:]) for text in self._query.numpy()]
            self._ends = [[0, *inner.tolist(), pairs.shape[1]] for inner in ends]
            self.back = torch.empty_like(order)
            self.back.scatter_(1, order, torch.arange(order.shape[1]).expand_as(order))

    def among(self, texts: slice, number: int) -> Iterator[tuple[slice, slice]]:
        """Which pairs of which texts are in the rows of that number."""
        if self.back is None:
            yield texts, slice(None)
            return
        for text in range(texts.start, texts.stop):
            begin, end = self._ends[text][number : number + 2]
            if begin < end:
                yield slice(text, text + 1), slice(begin, end)

    def placed(self, texts: slice, own: slice, number: int, low: int, seen: int, stride: int) -> _Placed:
        """Where some pairs stand in a tile of so many keys that are seen; the same for all heads and layers."""
        asked = texts.start, texts.stop, number, low, seen, stride
        if asked not in self._known:
            query, key = self._query[texts, own] - self._begins[number], self._key[texts, own] - low
            inside = (key >= 0) & (key < seen)
            whole = seen == self._keys or bool(inside.all())
            place = query * stride + (key if whole else key.clamp(0, seen - 1))
            self._known[asked] = _Placed(query, place, None if whole else inside)
        return self._known[asked]
