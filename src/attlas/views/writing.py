"""What a model is writing at this moment, for those who wait for it, and the wish that it stop."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass
class Writing:
    """The text that has been written so far; whoever writes tells it to :meth:`grow`, and hears whether to go on.

    >>> writing = Writing()
    >>> writing.begin()
    >>> writing.grow("Once upon", 2), writing.stop(), writing.grow("Once upon a", 3)
    (True, None, False)
    >>> writing.told()
    {'text': 'Once upon a', 'pieces': 3, 'writing': True}
    """

    text: str = ""
    pieces: int = 0
    stopped: bool = False
    writing: bool = False

    def begin(self) -> None:
        """Start with nothing written."""
        self.text, self.pieces, self.stopped, self.writing = "", 0, False, True

    def grow(self, text: str, pieces: int) -> bool:
        """Take what is written by now; whether more is wanted."""
        self.text, self.pieces = text, pieces
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

    def told(self) -> dict[str, object]:
        """The same for the page."""
        return {"text": self.text, "pieces": self.pieces, "writing": self.writing}
