"""Giving memory back that was freed.

The C library keeps what is freed for later, and batches of many shapes leave it in pieces that few of the next ones
fit: what a process holds grows for hundreds of batches, although no more is in use. So a run asks for it to be given
back every few seconds, which takes some hundredths of one.
"""

from __future__ import annotations

import ctypes
import time
from collections.abc import Callable
from functools import cache

EVERY = 2.0  # seconds
_last = 0.0


@cache
def _trim() -> Callable[[int], int] | None:
    """The function of the C library that does it; None where there is none (it is glibc's)."""
    try:
        trim: Callable[[int], int] = ctypes.CDLL(None).malloc_trim
    except (OSError, AttributeError, TypeError):
        return None
    return trim


def give_back_freed() -> None:
    """Give freed memory back to the system, where the C library can, unless that was done a moment ago.

    >>> give_back_freed()
    """
    global _last
    now = time.monotonic()
    if now - _last >= EVERY and (trim := _trim()) is not None:
        _last = now
        trim(0)
