"""One progress over all that an atlas does, and what is said at its end.

Every study tells its own progress; here each is told with its place among all, so that whoever waits sees how far the
whole is.
"""

from __future__ import annotations

from attlas.run.progress import Progress, Silent


class Among:
    """The progress of one thing among several, told through that of the whole.

    >>> import sys
    >>> from attlas.run.progress import Lines
    >>> Among(Lines(sys.stdout), 2, 3, "norms").start("norms scoring", 400)
    2 of 3, norms scoring: 0 of 400 pieces
    >>> Among(Lines(sys.stdout), 2, 3, "norms").note("arranging the heads")
    2 of 3, norms: arranging the heads
    """

    def __init__(self, whole: Progress | None, number: int, count: int, name: str) -> None:
        self._whole, self._place, self._name = whole or Silent(), f"{number} of {count}", name
        self._shown = False

    def start(self, description: str, total: int | None, done: int = 0, unit: str = "pieces") -> None:
        """Begin a part of it."""
        told = description if description.startswith(self._name) else f"{self._name} {description}"
        self._whole.start(f"{self._place}, {told}", total, done, unit)
        self._shown = True

    def advance(self, pieces: int) -> None:
        """Some more pieces are done."""
        self._whole.advance(pieces)

    def note(self, text: str) -> None:
        """Say something, and of what."""
        self._whole.note(text if self._shown else f"{self._place}, {self._name}: {text}")

    def finish(self) -> None:
        """A part of it is through."""
        self._whole.finish()
        self._shown = False
