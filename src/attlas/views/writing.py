"""What a model is writing at this moment, for those who wait for it, and the wish that it stop.

Beside the text stands a map that grows with it: a row for each written piece, of what was looked at when it was
written. What was read is pooled to a few columns, by the largest, so that a row stays small however long the text is.
"""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

COLUMNS = 240  # of what was read, at most
FULL = 255  # what stands for the largest weight of a row


@dataclass
class Writing:
    """The text that has been written so far; whoever writes tells it to :meth:`grow`, and hears whether to go on.

    >>> writing = Writing()
    >>> writing.begin()
    >>> writing.grow("Once upon", 2), writing.stop(), writing.grow("Once upon a", 3)
    (True, None, False)
    >>> writing.told()
    {'text': 'Once upon a', 'pieces': 3, 'writing': True, 'read': 0, 'rows': []}
    """

    text: str = ""
    pieces: int = 0
    stopped: bool = False
    writing: bool = False
    read: int = 0  # pieces of what was read
    rows: list[list[int]] = field(default_factory=list)

    def begin(self) -> None:
        """Start with nothing written."""
        self.text, self.pieces, self.stopped, self.writing, self.read, self.rows = "", 0, False, True, 0, []

    def grow(self, text: str, pieces: int, looked: NDArray[np.floating] | None = None) -> bool:
        """Take what is written by now, and the weights with which the last piece of it was written; whether more is
        wanted.

        >>> writing = Writing()
        >>> writing.grow("a", 1, np.array([0.9, 0.1, 0.0])), writing.grow("a b", 2, np.array([0.5, 0.1, 0.0, 0.4]))
        (True, True)
        >>> writing.rows
        [[255, 255, 0], [255, 128, 0, 255]]
        """
        self.text, self.pieces = text, pieces
        if looked is not None:
            self.read = self.read or len(looked)
            self.rows.append(_shades(looked, self.read))
        return not self.stopped

    def stop(self) -> None:
        """Want no more: what was written until then is the answer."""
        self.stopped = True

    def end(self) -> None:
        """Nothing is being written any more.

        >>> writing = Writing(writing=True)
        >>> writing.end()
        >>> writing.writing
        False
        """
        self.writing = False

    def told(self, since: int = 0) -> dict[str, object]:
        """The same for the page, with the rows from one on; ``read`` is how many columns stand for what was read."""
        read, rows = min(self.read, COLUMNS), self.rows[since:]
        return {"text": self.text, "pieces": self.pieces, "writing": self.writing, "read": read, "rows": rows}


def _shades(looked: NDArray[np.floating], read: int) -> list[int]:
    """A row in whole numbers, by the square root; the first piece, on which much may rest, does not set the scale."""
    starts = np.unique(np.linspace(0, read, min(read, COLUMNS), endpoint=False).astype(int))
    pooled = np.concatenate([np.maximum.reduceat(looked[:read], starts), looked[read:]])
    most = pooled[1:].max(initial=0) or pooled.max(initial=0) or 1
    shades: list[int] = np.rint(FULL * np.sqrt(np.minimum(1, pooled / most))).astype(int).tolist()
    return shades
