"""Choosing streams, layers and heads.

Every instrument takes a :class:`Selection`. What is left out means all: ``Selection(layers="4")`` is the fourth layer
of every stream.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable
from dataclasses import dataclass

from attlas.errors import CapabilityError
from attlas.ids import HeadId, Site, Stream, labels_of, parse_head, parse_layer

Layers = str | Site | Iterable[str | Site]
Heads = str | HeadId | Iterable[str | HeadId]


@dataclass(frozen=True, init=False)
class Selection:
    """Some streams, layers and heads; None means all of them.

    Layers are given by label ("4", or ["4", "6"], or "4..6") or as sites, heads by label or as head ids: "3" is the
    third head of each layer, "6-3" that of the sixth layer alone. What is kept are numbers from 0.

    >>> Site(Stream.ENCODER, 3) in Selection(layers="4")
    True
    >>> Site(Stream.CROSS, 3) in Selection(streams={Stream.ENCODER})
    False
    >>> Selection(heads="6-3").layers, Selection(heads="6-3").heads
    (frozenset({5}), frozenset({2}))
    """

    streams: frozenset[Stream] | None
    layers: frozenset[int] | None
    heads: frozenset[int] | None

    def __init__(
        self,
        streams: Collection[Stream] | None = None,
        layers: Layers | None = None,
        heads: Heads | None = None,
    ) -> None:
        asked_layers = None if layers is None else labels_of(layers)
        asked_heads = None if heads is None else labels_of(heads)
        places = (*(asked_layers or ()), *(asked_heads or ()))
        named = frozenset(place.stream for place in places if isinstance(place, (Site, HeadId)))
        pairs = {parse_head(head) for head in asked_heads or ()}
        numbers = None if asked_layers is None else frozenset(map(parse_layer, asked_layers))
        object.__setattr__(self, "streams", frozenset(streams) if streams is not None else named or None)
        object.__setattr__(self, "layers", _layers_of(pairs, numbers))
        object.__setattr__(self, "heads", None if heads is None else frozenset(head for _, head in pairs))

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
        frozenset({2})
        """
        return cls(heads=(head,))


def _layers_of(pairs: set[tuple[int | None, int]], layers: frozenset[int] | None) -> frozenset[int] | None:
    """The layers of a selection, refused where heads that name a layer would bring others with them."""
    own = frozenset(layer for layer, _ in pairs if layer is not None)
    if not own:
        return layers
    if layers not in (None, own) or len(pairs) != len(own) * len({head for _, head in pairs}):
        raise CapabilityError(
            "every layer that is chosen is taken with the same heads; give the heads by their numbers alone, such as "
            "'3', and the layers beside them, or choose one layer at a time"
        )
    return own


ALL = Selection()
