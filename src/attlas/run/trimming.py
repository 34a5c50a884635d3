"""Giving memory back that was freed.

The C library keeps what is freed for later, and tensors of many shapes leave it in pieces that few of the next ones
fit: what a process holds grows within a batch, and from batch to batch, although no more is in use. So whoever goes
through batches, and through the layers of one, asks for it to be given back as soon as the process holds a tenth
more than after the last time. That bounds what is kept for nothing, and takes some hundredths of a second.
"""

from __future__ import annotations

import ctypes
import os
from collections.abc import Callable
from functools import cache
from pathlib import Path

SHARE, LEAST = 0.1, 16 << 20  # of what a process holds, and bytes, by which it has to grow
_STATM = Path("/proc/self/statm")
_next = 0.0  # bytes held from which on it is asked for


@cache
def _trim() -> Callable[[int], int] | None:
    """The function of the C library that does it; None where there is none (it is glibc's)."""
    try:
        trim: Callable[[int], int] = ctypes.CDLL(None).malloc_trim
    except (OSError, AttributeError, TypeError):
        return None
    return trim


def held() -> int | None:
    """The bytes of memory that this process holds for itself, without what is mapped from files; None where the
    system does not say.

    >>> held() is None or held() > 1 << 20
    True
    """
    try:
        resident, shared = _STATM.read_bytes().split()[1:3]
    except OSError:
        return None
    return (int(resident) - int(shared)) * os.sysconf("SC_PAGE_SIZE")


def give_back_freed() -> None:
    """Give freed memory back to the system, where the C library can and the process has grown since the last time.

    >>> give_back_freed()
    """
    global _next
    trim, now = _trim(), held()
    if trim is None or now is None or now < _next:
        return
    trim(0)
    left = held() or now
    _next = left + max(LEAST, SHARE * left)
