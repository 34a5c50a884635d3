"""Sums over all pairs of heads on a GPU: one kernel in Triton for what the distances of heads are made of.

Of the rows of all heads, packed as numbers one behind the other, the kernel takes s = p + q of two heads at every
place and sums s log2 s, tile of heads against tile of heads, each pair of tiles once. The texts of a batch are cut
into chunks of places; a program has one chunk and one pair of tiles. It adds up eight places in float32 and these
sums in float64, so no sum is less exact than those on the CPU, and programs write to places of their own, so the same
rows always give the same bits. A head against itself tells its entropy, so nothing else has to be asked.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import cache
from typing import Any

import numpy as np
import torch
from torch import Tensor

from attlas.errors import CapabilityError
from attlas.models import onto

TILE, STEP = 16, 8
AT_ONCE = 1 << 28  # numbers that are turned round at a time
PROGRAMS = 4096  # enough for any GPU


def has_kernel() -> bool:
    """Whether there is a Triton to make the kernel with.

    >>> isinstance(has_kernel(), bool)
    True
    """
    try:
        import triton  # noqa: F401
    except ImportError:
        return False
    return True


def pair_sums(packed: Tensor, sizes: Sequence[int]) -> tuple[Tensor, Tensor]:
    """Sums over the numbers of each text of s ln s for all pairs of heads, (text, head, head) of which the upper
    triangle counts, and of each head's numbers, (text, head); float64.

    ``packed`` is (head, number), the numbers of one text behind those of another; ``sizes`` are how many each text
    has.
    """
    if not has_kernel():
        raise CapabilityError("the kernel of pair sums needs Triton; install it, or take the distances on the CPU")
    heads, whole = packed.shape
    tiles = -(-heads // TILE)
    first, second = np.triu_indices(tiles)
    chunk = _chunk(sizes, len(first))
    starts, stops, slots, most = _chunks(sizes, chunk)
    device = packed.device
    sums = torch.zeros(len(sizes) * most, heads, heads, dtype=torch.float64, device=device)
    mass = torch.zeros(len(sizes) * most, heads, dtype=torch.float64, device=device)
    at = onto(np.stack([first, second]).astype(np.int32), device)
    begin = 0
    while begin < len(starts):  # some chunks at a time, whose numbers are turned round for the kernel
        end = begin + 1
        while end < len(starts) and (stops[end] - starts[begin]) * heads <= AT_ONCE:
            end += 1
        some = packed[:, starts[begin] : stops[end - 1]].T.contiguous()
        table = np.stack([part[begin:end] for part in (starts - starts[begin], stops - starts[begin], slots)])
        _kernel()[(end - begin, len(first))](
            some, onto(table, device), at, sums, mass, end - begin, len(first), heads, TILE=TILE, STEP=STEP
        )
        begin = end
    assert not len(stops) or stops[-1] <= whole
    summed = sums.view(len(sizes), most, heads, heads).sum(1)
    return summed * math.log(2), mass.view(len(sizes), most, heads).sum(1)


def _chunk(sizes: Sequence[int], tile_pairs: int) -> int:
    """How many numbers a program takes: few enough that a single long text, too, keeps a GPU busy."""
    wanted = max(1, -(-PROGRAMS // tile_pairs))
    return max(1024, -(-sum(sizes) // wanted))


def _chunks(sizes: Sequence[int], chunk: int) -> tuple[Any, Any, Any, int]:
    """Where each chunk starts and stops, in which slot its sums go, and how many slots a text has at most."""
    sized = np.array(sizes, dtype=np.int64)
    parts = -(-sized // chunk)
    text = np.repeat(np.arange(len(sized)), parts)
    number = np.arange(len(text)) - np.repeat(np.cumsum(parts) - parts, parts)
    before = np.cumsum(sized) - sized
    starts = before[text] + number * chunk
    stops = np.minimum(starts + chunk, (before + sized)[text])
    most = int(parts.max(initial=1))
    return starts, stops, text * most + number, most


@cache
def _kernel() -> Any:
    """The kernel; Triton is asked for only where it runs."""
    import triton
    import triton.language as tl

    @triton.jit  # type: ignore[untyped-decorator, unused-ignore]
    def joint(  # type: ignore[no-untyped-def]
        data, table, at, sums, mass, chunks, tile_pairs, heads, TILE: tl.constexpr, STEP: tl.constexpr
    ):  # fmt: skip
        chunk, pair = tl.program_id(0), tl.program_id(1)
        start = tl.load(table + chunk)
        stop = tl.load(table + chunks + chunk)
        slot = tl.load(table + 2 * chunks + chunk)
        one = tl.load(at + pair)
        other = tl.load(at + tile_pairs + pair)
        a = one * TILE + tl.arange(0, TILE)
        b = other * TILE + tl.arange(0, TILE)
        total = tl.zeros((TILE, TILE), dtype=tl.float64)
        own = tl.zeros((TILE,), dtype=tl.float64)
        for place in range(start, stop, STEP):
            part = tl.zeros((TILE, TILE), dtype=tl.float32)
            alone = tl.zeros((TILE,), dtype=tl.float32)
            for step in tl.static_range(STEP):
                there = place + step < stop
                row = data + (place + step) * heads
                p = tl.load(row + a, mask=(a < heads) & there, other=0.0)
                q = tl.load(row + b, mask=(b < heads) & there, other=0.0)
                s = p[:, None] + q[None, :]
                # The least normal number stands for zero: its logarithm is finite, and times zero it is nothing.
                part += s * tl.log2(tl.maximum(s, 1.1754943508222875e-38))
                alone += p
            total += part.to(tl.float64)
            own += alone.to(tl.float64)
        out = sums + slot * heads * heads + a[:, None] * heads + b[None, :]
        tl.store(out, total, mask=(a[:, None] < heads) & (b[None, :] < heads))
        tl.store(mass + slot * heads + a, own, mask=(a < heads) & (one == other))

    return joint
