"""Records: what a stream is made of before anything is parsed.

A *reel* is a series of records that can be read from any of its places on: the lines of files, the rows of tables or
of a dataset. Records are raw, so that drawing a few of many costs little more than reading them; the reel makes
documents of those that are wanted. A place is something that JSON can hold.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple, Protocol

from attlas.text import Document

Place = Mapping[str, Any]


class Record(NamedTuple):
    """One record: what it holds, how many bytes that is, the file it is from and where it begins there (a line, or a
    row), from 1; it is ``void`` where it holds no document, as blank lines and headings do.

    >>> Record(b"It rained.", 10, 0, 7).void
    False
    """

    raw: Any
    size: int
    file: int
    number: int
    void: bool = False


class Reading(Protocol):
    """A pass over a reel: an iterator that knows its place."""

    def __iter__(self) -> Iterator[Record]: ...

    def place(self) -> Place:
        """Where the record begins that comes next."""


class Reel(Protocol):
    """A series of records."""

    @property
    def name(self) -> str:
        """What the corpus is called."""

    @property
    def format(self) -> str:
        """The format of its documents."""

    def identity(self) -> dict[str, Any]:
        """What tells this reel from others, without reading all of it."""

    def read(self, place: Place | None = None) -> Reading:
        """A pass that begins at a place; None is the beginning."""

    def articles(self, records: Sequence[Record], left_out: dict[str, int]) -> list[list[Document]]:
        """The documents of records that follow each other, by article; what is left out is counted."""

    def continues(self, record: Record) -> bool:
        """Whether the article of the record before goes on in this one."""
