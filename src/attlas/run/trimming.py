"""Giving memory back that was freed.

The C library keeps what is freed for later, and batches of many shapes leave it in pieces that few of the next ones
fit: what a process holds grows for hundreds of batches, although no more is in use. A run over a stream, which may
have millions, asks for it to be given back after each buffer; that takes some hundredths of a second.
"""

from __future__ import annotations

import ctypes
from collections.abc import Callable
from functools import cache


@cache
def _trim() -> Callable[[int], int] | None:
    """The function of the C library that does it; None where there is none (it is glibc's)."""
    try:
        trim: Callable[[int], int] = ctypes.CDLL(None).malloc_trim
    except (OSError, AttributeError, TypeError):
        return None
    return trim


def give_back_freed() -> None:
    """Give freed memory back to the system, where the C library can.

    >>> give_back_freed()
    """
    if (trim := _trim()) is not None:
        trim(0)
