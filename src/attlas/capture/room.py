"""Whether what is asked for fits: into the window of a model, and into memory.

The attention of a text grows with the square of its length. What would fill the memory is refused before the model
runs, with the number of heads that would fit, and what runs out of memory all the same ends as a sentence.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

import torch

from attlas.capture.selection import ALL, Selection
from attlas.errors import TextError

if TYPE_CHECKING:
    from attlas.capture.subject import Subject

MOST_WEIGHTS = 600_000_000  # of one look: 2.4 GB, and about as much again on the way


def require_room(subject: Subject, pieces: int, selection: Selection = ALL, most: int | None = None) -> None:
    """Refuse a look at so many pieces that would keep more weights than ``most`` (None: :data:`MOST_WEIGHTS`).

    >>> from attlas.capture import load
    >>> require_room(load(), 4000)
    Traceback (most recent call last):
        ...
    attlas.errors.TextError: 4,000 pieces with 72 heads are 1.2 billion weights; shorten the text, look at no more ...
    """
    most = MOST_WEIGHTS if most is None else most
    heads = sum(
        count if selection.heads is None else sum(head < count for head in selection.heads)
        for site, count in subject.layout.heads.items()
        if site in selection
    )
    if heads * pieces**2 > most:
        raise TextError(
            f"{pieces:,} pieces with {heads} heads are {heads * pieces**2 / 1e9:.1f} billion weights; shorten the "
            f"text, look at no more than {max(1, most // pieces**2)} heads (layers, heads), or allow more "
            "(most_weights)"
        )


def require_window(subject: Subject, pieces: int, written: int) -> int:
    """How long a text of so many pieces may become when some are written to it, refused beyond the window.

    >>> from attlas.capture import load
    >>> require_window(load(), 10, 20)
    30
    """
    translating, window = subject.pieces.translating, subject.pieces.window
    whole = max(pieces, written) if translating else pieces + written
    if whole > window:
        more = "" if translating else f" and {written:,} to write"
        raise TextError(
            f"{pieces:,} pieces of text{more} do not fit into the window of {subject.name}, which holds {window:,}; "
            f"shorten the text{', or write less' if more else ''}"
        )
    return whole


@contextmanager
def within_memory(subject: Subject) -> Iterator[None]:
    """Turn running out of memory into a sentence.

    >>> from attlas.capture import load
    >>> with within_memory(load()):
    ...     raise MemoryError
    Traceback (most recent call last):
        ...
    attlas.errors.TextError: all-MiniLM-L6-v2 and its attention on this text do not fit into memory; shorten ...
    """
    try:
        yield
    except (MemoryError, torch.OutOfMemoryError):
        raise TextError(
            f"{subject.name} and its attention on this text do not fit into memory; shorten it, or look at fewer "
            "layers and heads"
        ) from None
