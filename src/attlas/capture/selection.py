"""Choosing streams, layers and heads.

Every instrument takes a :class:`Selection`. What is left out means all: ``Selection(layers={3})`` is layer 3 of
every stream.
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass

from attlas.ids import HeadId, Site, Stream


@dataclass(frozen=True)
class Selection:
    """Some streams, layers and heads; None means all of them.

    >>> Site(Stream.ENCODER, 3) in Selection(layers={3})
    True
    >>> Site(Stream.CROSS, 3) in Selection(streams={Stream.ENCODER})
    False
    """

    streams: Collection[Stream] | None = None
    layers: Collection[int] | None = None
    heads: Collection[int] | None = None

    def __contains__(self, site: object) -> bool:
        """Whether a site is selected."""
        if not isinstance(site, Site):
            return False
        right_stream = self.streams is None or site.stream in self.streams
        return right_stream and (self.layers is None or site.layer in self.layers)

    @classmethod
    def of(cls, head: HeadId) -> Selection:
        """Exactly one head.

        >>> Selection.of(HeadId(Stream.ENCODER, 1, 2)).heads
        (2,)
        """
        return cls((head.stream,), (head.layer,), (head.head,))


ALL = Selection()
