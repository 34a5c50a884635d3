"""Attention with other values on a CPU, tile by tile.

A *plane* is one head of one text, queries by keys. A tile is as many planes, or else as many rows of one plane, as
stay in the cache of a core: scores, exponentials, products with the values, and on to the next. Each thread carries
out whole planes in memory of its own. What makes it fast: exponentials of base two, which take no longer where they
come to nothing; products with a few columns taken from the other side, columns by keys with keys by queries (four
times as fast); rows that end where no query of the tile can see anything any more; and all that is done once for a
query left until its plane is finished. Hidden keys are given a score from which nothing comes, and the sum of a row
comes out as the product with a column of ones.

Scores may be more than products: bent by a soft cap, with a bias added; and a *sink* takes its part of every row.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Sequence
from typing import Any, NamedTuple

import torch
from torch import Tensor

from attlas.measures.single_pairs import SinglePairs
from attlas.measures.threads import in_threads

TILE = 1 << 18  # scores at a time: a megabyte
LONG = 2  # times as large are tiles of planes that do not fit one
CAUSAL_ROWS = 256  # at most, where later keys cannot be seen
SAFE = (
    80.0  # powers of two up to this need no shift, nor do rows whose largest is not below the same of the other sign
)
SHARES = 4  # of all planes, for each thread
SMALL = 1 << 21  # scores that are not worth a second thread
HIDDEN = -1e30  # the score of what cannot be seen
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
    """What comes of tiles: as in :class:`attlas.measures.kernels.Attended`, all with columns, what keys receive by
    reader, and the weights of single pairs."""

    out: Tensor
    lse: Tensor
    lower: Tensor
    logs: Tensor
    top: Tensor
    within: Tensor
    near: Tensor
    received: Tensor
    pairs: Tensor


class Seen(NamedTuple):
    """Which keys some rows of queries see: from ``low`` to ``high``, and all of them do but for those from ``ragged``
    to ``even``, of which some queries see some.

    >>> seen_by([(0, 2), (2, 4)], 4, None, causal=True)[0][1]
    Seen(low=0, high=4, ragged=2, even=4)
    """

    low: int
    high: int
    ragged: int
    even: int


def seen_by(rows: Sequence[tuple[int, int]], keys: int, mask: Tensor | None, causal: bool) -> list[list[Seen]]:
    """Which keys each of some rows sees, text by text; the same for all texts where there is no ``mask``, (text, 1,
    query, key).

    >>> mask = torch.tensor([[0, 1, 1, 0], [0, 0, 1, 0]], dtype=torch.bool)[None, None]
    >>> seen_by([(0, 2)], 4, mask, causal=False)
    [[Seen(low=1, high=3, ragged=1, even=2)]]
    """
    if mask is None:
        ends = [(min(keys, last) if causal else keys, first if causal else keys) for first, last in rows]
        return [[Seen(0, high, min(ragged, high), high) for high, ragged in ends]]
    some = torch.stack([mask[:, 0, first:last].any(1) for first, last in rows], 1)
    every = torch.stack([mask[:, 0, first:last].all(1) for first, last in rows], 1)
    low, high = _ends(some)
    place = torch.arange(keys)
    ragged, even = _ends(~every & (place >= low[..., None]) & (place < high[..., None]))
    each = torch.stack([low, high, ragged, even], -1).tolist()
    return [[Seen(*ends) for ends in text] for text in each]


def _ends(marked: Tensor) -> tuple[Tensor, Tensor]:
    """The first place that is marked along the last axis, and the one behind the last; 0 and 0 where none is."""
    number, some = marked.to(torch.uint8), marked.any(-1)
    return number.argmax(-1) * some, (marked.shape[-1] - number.flip(-1).argmax(-1)) * some


class Scored(NamedTuple):
    """Queries and keys, (batch, head, piece, width), where keys may have fewer heads, and how they meet.

    ``softcap`` bends scores, ``bias`` (batch or 1, head or 1, query, key) is added to them, and ``sinks`` (head) are
    the scores of one more key without a value.

    >>> Scored(torch.zeros(1, 1, 3, 4), torch.zeros(1, 1, 3, 4), 1.0).causal
    False
    """

    query: Tensor
    key: Tensor
    scale: float
    mask: Tensor | None = None
    causal: bool = False
    softcap: float | None = None
    bias: Tensor | None = None
    sinks: Tensor | None = None


class Asked(NamedTuple):
    """What is asked beside the outputs: of how many of the last columns the sum over keys before the query
    (``lower``) and that of alpha log alpha (``logs``), what lies within a ``window``, what keys receive of
    ``readers``, and the weights of single ``pairs`` of query and key, (batch, P, 2).

    >>> Asked().logs
    1
    """

    lower: int = 0
    logs: int = 1
    window: int | None = None
    readers: Tensor | None = None
    pairs: Tensor | None = None


OUTPUTS = Asked()


def attend_in_tiles(scored: Scored, value: Tensor, asked: Asked = OUTPUTS) -> Sums:
    """Sums over keys of values, (batch, head, key, width), as :func:`attlas.measures.kernels.attend` has them.

    >>> q = torch.zeros(1, 1, 3, 4)
    >>> attend_in_tiles(Scored(q, q, 1.0), torch.ones(1, 1, 3, 1)).lse.exp().round().flatten().tolist()
    [3.0, 3.0, 3.0]
    >>> sunk = Scored(q, q, 1.0, sinks=torch.zeros(1))
    >>> attend_in_tiles(sunk, torch.ones(1, 1, 3, 1)).out.flatten().tolist()
    [0.75, 0.75, 0.75]
    """
    tiles = _Tiles(scored, value, asked)
    batch, heads, queries, keys = tiles.shape
    size = queries * keys
    shares = shared_out(list(planes(batch, heads, size)), torch.get_num_threads())
    in_threads(tiles.carry_out, shares, split=batch * heads * size > SMALL)
    return Sums(*(part.view(batch, heads, *part.shape[1:]) for part in tiles.sums))


def shared_out(groups: Sequence[Planes], threads: int) -> list[Sequence[Planes]]:
    """Groups that follow each other, for threads to take: some shares for each, so that none has long to wait.

    >>> [len(share) for share in shared_out(list(planes(9, 1, TILE)), 2)]
    [2, 2, 2, 2, 1]
    """
    each = -(-len(groups) // (SHARES * threads))
    return [groups[start : start + each] for start in range(0, len(groups), each)]


class _Room:
    """What one thread writes scores and weights into, and the views of it, which are the same for most tiles.

    To either side of a row of weights there are as many zeros as keys may be near, so that every row has all of them.
    """

    def __init__(self, size: int, rows: int, margin: int) -> None:
        self.scores, self.weights = torch.empty(size), torch.zeros(size + 2 * margin * rows)
        self.margin = margin
        self._views: dict[tuple[int, ...], _Views] = {}
        self._shape: tuple[int, ...] = ()

    def views(self, planes: int, rows: int, seen: int, own: int, near: int) -> _Views:
        """For so many planes, rows and keys that are seen, of which number ``own`` is at the first row's place and
        those up to ``near`` places away are near."""
        asked = (planes, rows, seen, own, near)
        if asked not in self._views:
            stride = seen + 2 * self.margin
            scores = self.scores[: planes * rows * seen].view(planes, rows, seen)
            whole = self.weights[: planes * rows * stride].view(planes, rows, stride)
            weights = whole[..., self.margin : self.margin + seen]
            below = min(seen, own + rows)
            square = weights[..., own:below]
            neighbours = beside = whole[..., :0]
            if self.margin:
                neighbours = _diagonal(whole, self.margin - 1 + own, 3)
                beside = _diagonal(whole, self.margin - near + own, 2 * near + 1)
            self._views[asked] = _Views(
                scores, weights, scores.transpose(1, 2), weights[..., :below].transpose(1, 2), square, neighbours,
                beside, (whole[..., : self.margin], whole[..., self.margin + seen :]),
            )  # fmt: skip
        views = self._views[asked]
        if self._shape != asked[:3]:
            self._shape = asked[:3]
            for margin in views.margins:
                margin.fill_(0.0)
        return views


class _Views(NamedTuple):
    """A tile: its scores and weights, by row and across, what lies before each query's own place, near it, and the
    margins."""

    scores: Tensor
    weights: Tensor
    across: Tensor
    below: Tensor
    square: Tensor
    neighbours: Tensor
    near: Tensor
    margins: tuple[Tensor, Tensor]


class _Tiles:
    """One attention, what is asked of it, and what has come out."""

    def __init__(self, scored: Scored, value: Tensor, asked: Asked) -> None:
        query, key, mask, bias, sinks = scored.query, scored.key, scored.mask, scored.bias, scored.sinks
        lower, logs, window = asked.lower, asked.logs, asked.window
        batch, heads, queries, _ = query.shape
        keys, wide = key.shape[2], value.shape[3]
        self.shape = batch, heads, queries, keys
        self.query = query
        self.right = key.transpose(2, 3).contiguous().flatten(0, 1)
        self.shared = heads // key.shape[1]  # heads that have the same keys
        self.values = value.flatten(0, 1)
        self.scale, self.softcap = scored.scale, scored.softcap
        self.lower, self.logs = lower, logs
        self.window = None if window is None else min(window, keys)
        self.margin = 0 if self.window is None else max(1, self.window)
        few = max(lower, logs)
        columns = value.new_zeros(batch * heads, few, keys + 2 * self.margin)
        by_key = columns[..., self.margin : self.margin + keys]
        by_key.copy_(self.values[..., wide - few :].transpose(1, 2))
        self.logged, self.lowered = by_key[:, few - logs :], by_key[:, few - lower :]
        self.carried = columns[:, few - logs :]
        self.causal = scored.causal and mask is None
        self.mask = None if mask is None else mask.expand(batch, 1, queries, keys)
        self.bias = None if bias is None else bias.expand(batch, heads, queries, keys)
        self.sinks = None if sinks is None else (sinks.float() * _LOG2E).repeat(batch)[:, None, None]
        self.sunk = -math.inf if sinks is None else float(sinks.max()) * _LOG2E
        self.reading = None
        if asked.readers is not None:
            self.reading = asked.readers.transpose(2, 3).expand(batch, heads, -1, queries).flatten(0, 1)
        rows = queries if queries * keys <= TILE else max(32, LONG * TILE // keys // 32 * 32)
        rows = min(rows, CAUSAL_ROWS) if self.causal else rows
        self.rows = [(first, min(queries, first + rows)) for first in range(0, queries, rows)]
        self.seen = seen_by(self.rows, keys, self.mask, self.causal)
        self.later = torch.full((rows, rows), HIDDEN).triu_(1) if self.causal else None
        self.before = torch.ones(rows, rows).tril_() if lower else None
        self.pairs = None
        if asked.pairs is not None and asked.pairs.shape[1]:
            self.pairs = SinglePairs(asked.pairs, heads, self.rows, keys)
        received = 0 if self.reading is None else self.reading.shape[1]
        by_query = {
            "out": (queries, wide), "lse": (queries, 1), "lower": (lower, queries), "logs": (logs, queries),
            "top": (queries, 1), "within": (0 if window is None else logs, queries), "near": (queries, 3),
        }  # fmt: skip
        self.raw = {name: value.new_empty(batch * heads, *shape) for name, shape in by_query.items()}
        self.shift = value.new_zeros(batch * heads, queries, 1)
        self.received = value.new_zeros(batch * heads, received, keys)

    @property
    def sums(self) -> Sums:
        """What has come out, plane by plane, columns last."""
        by_query = {name: part.transpose(1, 2) if name in _BY_COLUMN else part for name, part in self.raw.items()}
        at_pairs = self.raw["lse"][:, :0, 0] if self.pairs is None else self.pairs.found.flatten(0, 1)
        return Sums(**by_query, received=self.received, pairs=at_pairs)

    def carry_out(self, shares: Iterable[Sequence[Planes]]) -> None:
        """Go over some planes, one share after the other."""
        most = max(last - first for first, last in self.rows)
        room = None
        for groups in shares:
            for some in groups:
                count = some.last - some.first
                if room is None:
                    together = max(count, TILE // (self.shape[2] * self.shape[3]))
                    room = _Room(together * most * self.shape[3], together * most, self.margin)
                for number in range(len(self.rows)):
                    self._tile(some, number, room)
            self._finish(slice(groups[0].first, groups[-1].last))

    def _tile(self, some: Planes, number: int, room: _Room) -> None:
        """The sums of exponentials of some rows of some planes."""
        first, last = self.rows[number]
        low, high, ragged, even = self._seen(some, number)
        here: Any = slice(some.first, some.last)
        at: Any = here if len(self.rows) == 1 else (here, slice(first, last))
        by_column: Any = here if len(self.rows) == 1 else (here, slice(None), slice(first, last))
        of_keys: Any = here if high - low == self.shape[3] else (here, slice(None), slice(low, high))
        raw = self.raw
        if low == high:
            for name, part in raw.items():
                part[by_column if name in _BY_COLUMN else at] = HIDDEN if name == "top" else 0.0
            return
        tile = room.views(some.last - some.first, last - first, high - low, max(0, first - low), self.window or 0)
        scores, weights = tile.scores, tile.weights
        self._score(scores, some, of_keys, slice(first, last), slice(low, high))
        if ragged < even:
            self._hide(scores, some, slice(first, last), low, ragged, even)
        top = torch.amax(scores, -1, keepdim=True, out=raw["top"][at])
        least, most = torch.aminmax(top)
        shift = None
        if not (float(least) >= -SAFE and float(most) <= SAFE and self.sunk <= SAFE):
            shift = self.shift[at]
            torch.clamp(top, min=HIDDEN / 2, out=shift)  # rows that see nothing stay at nothing
            if self.sinks is not None:
                torch.maximum(shift, self.sinks[here], out=shift)
            scores.sub_(shift)
        torch.exp2(scores, out=weights)
        values = self.values[here] if high - low == self.shape[3] else self.values[here, low:high]
        out = torch.bmm(weights, values, out=raw["out"][at])
        whole = raw["lse"][at]
        if self.sinks is None:
            torch.clamp(out[..., -1:], min=_TINY, out=whole)
        else:
            sinks = self.sinks[here]
            torch.add(out[..., -1:], torch.exp2(sinks if shift is None else sinks - shift), out=whole)
        if self.pairs is not None:
            self.pairs.take(slice(some.text, some.text + some.texts), self._heads(some), number, low, weights, whole)
        scores.mul_(weights)
        torch.bmm(self.logged[of_keys], tile.across, out=raw["logs"][by_column])
        if self.reading is not None:
            reading = self.reading[by_column] / whole.transpose(1, 2)
            received = self.received[of_keys]
            torch.baddbmm(received, reading, weights, out=received)
        if self.window is not None:
            raw["near"][at] = tile.neighbours
            carried = _unfolded(self.carried[here], self.margin - self.window + first, *tile.near.shape[1:])
            torch.sum(carried * tile.near[:, None], -1, out=raw["within"][by_column])
        if self.before is not None:
            square = tile.square
            square.mul_(
                self.before[:, : square.shape[2]]
                if square.shape[1] == len(self.before)
                else self.before[: square.shape[1], : square.shape[2]]
            )
            torch.bmm(self.lowered[here, :, low : low + tile.below.shape[1]], tile.below, out=raw["lower"][by_column])

    def _finish(self, here: slice) -> None:
        """From sums of exponentials to sums of weights, for all queries of some planes."""
        whole, out, logs, lower, within, near, top = (
            self.raw[name][here] for name in ("lse", "out", "logs", "lower", "within", "near", "top")
        )
        out.div_(whole)
        by_column = whole.transpose(1, 2)
        log = whole.log2()
        logs.div_(by_column).addcmul_(
            out[..., out.shape[2] - self.logs :].transpose(1, 2), log.transpose(1, 2), value=-1
        )
        logs.div_(_LOG2E)
        if self.lower:
            lower.div_(by_column)
        if self.window is not None:
            within.div_(by_column)
            near.div_(whole)
        top.masked_fill_(top <= HIDDEN / 2, -torch.inf).div_(_LOG2E)
        torch.add(log, self.shift[here], out=whole).div_(_LOG2E)

    def _seen(self, some: Planes, number: int) -> Seen:
        """Which keys the rows of that number see in any of some texts; where keys near the query are asked for, those
        at its own place are among them, seen or not."""
        if self.mask is None:
            return self.seen[0][number]
        of_texts = [text[number] for text in self.seen[some.text : some.text + some.texts]]
        low, high = min(text.low for text in of_texts), max(text.high for text in of_texts)
        ragged = [(text.ragged, text.even) for text in of_texts if text.ragged < text.even]
        if self.window is not None or self.lower:
            first, last = self.rows[number]
            low, high = min(low, first), max(high, last)
        for text in of_texts:  # keys that not all texts have
            ragged += [(low, text.low)] * (low < text.low) + [(text.high, high)] * (text.high < high)
        if not ragged:
            return Seen(low, high, high, high)
        return Seen(low, high, min(first for first, _ in ragged), max(last for _, last in ragged))

    def _score(self, scores: Tensor, some: Planes, of_keys: Any, rows: slice, keys: slice) -> None:
        """Scores of some rows, as exponents of two."""
        by = self.scale * _LOG2E if self.softcap is None else self.scale / self.softcap
        right = self.right[of_keys] if self.shared == 1 else self._right(some)[..., keys]
        torch.baddbmm(scores, self._left(some, rows), right, beta=0, alpha=by, out=scores)
        if self.softcap is not None:
            scores.tanh_().mul_(self.softcap * _LOG2E)
        if self.bias is not None:
            bias = self.bias[some.text : some.text + some.texts, self._heads(some), rows, keys]
            by_head = scores.view(some.texts, some.heads, *scores.shape[1:])
            by_head.add_(bias.clamp(min=HIDDEN), alpha=_LOG2E)

    def _left(self, some: Planes, rows: slice) -> Tensor:
        """Some queries of some planes, as they lie where that can be."""
        if some.texts == 1:
            return self.query[some.text, self._heads(some), rows]
        return self.query[some.text : some.text + some.texts, :, rows].flatten(0, 1)

    def _heads(self, some: Planes) -> slice:
        """Of each of their texts, the heads of some planes."""
        head = some.first % self.shape[1]
        return slice(head, head + some.heads)

    def _right(self, some: Planes) -> Tensor:
        """Keys of some planes that share them with others."""
        if some.last - some.first == 1:
            return self.right[some.first // self.shared, None]
        return self.right[torch.arange(some.first, some.last) // self.shared]

    def _hide(self, scores: Tensor, some: Planes, rows: slice, low: int, ragged: int, even: int) -> None:
        """Give keys that cannot be seen a score from which nothing comes."""
        covered = scores[..., ragged - low : even - low]
        if self.later is not None:
            covered.add_(self.later[: scores.shape[1], : even - ragged])
            return
        assert self.mask is not None
        seen = self.mask[some.text : some.text + some.texts, :, rows, ragged:even]
        veil = torch.zeros(seen.shape).add_(~seen, alpha=HIDDEN)
        by_head = covered.view(some.texts, some.heads, *covered.shape[1:])
        by_head.add_(veil)


_BY_COLUMN = frozenset({"lower", "logs", "within"})


def _diagonal(rows: Tensor, first: int, length: int) -> Tensor:
    """Of each row so many numbers, from place ``first`` of the first row on, from the next place of the next ...

    >>> _diagonal(torch.arange(12).view(1, 3, 4), 0, 2)[0].tolist()
    [[0, 1], [5, 6], [10, 11]]
    """
    planes, count, _ = rows.shape
    each, row, _ = rows.stride()
    return rows.as_strided((planes, count, length), (each, row + 1, 1), rows.storage_offset() + first)


def _unfolded(columns: Tensor, first: int, count: int, length: int) -> Tensor:
    """Of each column ``count`` times so many numbers, each from one place further on.

    >>> _unfolded(torch.arange(4).view(1, 1, 4), 1, 2, 2)[0, 0].tolist()
    [[1, 2], [2, 3]]
    """
    each, column, _ = columns.stride()
    size = (columns.shape[0], columns.shape[1], count, length)
    return columns.as_strided(size, (each, column, 1, 1), columns.storage_offset() + first)
