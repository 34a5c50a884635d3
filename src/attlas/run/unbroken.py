"""Short work that a signal does not break in two.

Ctrl-C and requests to end reach Python between any two steps, and so between two sums of which both or neither are to
be in a checkpoint. While such work lasts signals are noted down, and are acted on when it is done.
"""

from __future__ import annotations

import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType

ENDING = tuple(getattr(signal, name) for name in ("SIGINT", "SIGTERM", "SIGHUP") if hasattr(signal, name))


@contextmanager
def unbroken() -> Iterator[None]:
    """Have the signals that end a run wait until this block is left; those that nobody handles end the process at
    once, as ever. Signals reach the main thread alone, so that in others there is nothing to do.

    >>> import os
    >>> kept, done = signal.signal(signal.SIGINT, signal.default_int_handler), []
    >>> try:
    ...     with unbroken():
    ...         os.kill(os.getpid(), signal.SIGINT)
    ...         done.append("all of it")
    ... except KeyboardInterrupt:
    ...     done
    ['all of it']
    >>> _ = signal.signal(signal.SIGINT, kept)
    """
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    waiting: list[tuple[int, FrameType | None]] = []
    handled = {number: handler for number in ENDING if callable(handler := signal.getsignal(number))}
    for number in handled:
        signal.signal(number, lambda *came: waiting.append(came))
    try:
        yield
    finally:
        for number, handler in handled.items():
            signal.signal(number, handler)
        for number, frame in waiting:
            handled[number](number, frame)
