"""Names of places in a model: streams, sites and heads.

A *stream* is one of the three attentions a transformer may have: the encoder's over the source, the decoder's
over what was written so far, and the cross attention from the decoder to the encoder. A *site* is one layer of
one stream, and a *head* is one of its heads. Numbers count from 0, in :class:`Site`, :class:`HeadId`, arrays and
tables. What a person writes is a *label*, which counts from 1 as the papers do: layer "6", head "6-3". A bare number
where a label is wanted is refused, since nobody could tell which of the two it is.

>>> HeadId(Stream.ENCODER, 7, 9).site
Site(stream=<Stream.ENCODER: 'encoder'>, layer=7)
>>> paper_label(7, 9), parse_head("8-10"), parse_layer("8")
('8-10', (7, 9), 7)
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from enum import StrEnum
from numbers import Integral
from typing import Any, NamedTuple

from attlas.errors import CapabilityError


class Stream(StrEnum):
    """Which attention of the model: encoder, decoder or cross.

    >>> Stream("cross") is Stream.CROSS
    True
    """

    ENCODER = "encoder"
    DECODER = "decoder"
    CROSS = "cross"

    def __str__(self) -> str:
        return self.value


class Site(NamedTuple):
    """One layer of one stream.

    >>> str(Site(Stream.CROSS, 3))
    'cross layer 3'
    """

    stream: Stream
    layer: int

    def __str__(self) -> str:
        return f"{self.stream} layer {self.layer}"


class HeadId(NamedTuple):
    """One head of one site.

    >>> str(HeadId(Stream.ENCODER, 7, 9))
    'encoder layer 7, head 9'
    """

    stream: Stream
    layer: int
    head: int

    @property
    def site(self) -> Site:
        """The site this head belongs to.

        >>> HeadId(Stream.DECODER, 1, 2).site.layer
        1
        """
        return Site(self.stream, self.layer)

    def __str__(self) -> str:
        return f"{self.site}, head {self.head}"


def paper_label(layer: int, head: int) -> str:
    """Write a head as the papers do, counting from one.

    >>> paper_label(0, 0)
    '1-1'
    """
    return f"{layer + 1}-{head + 1}"


def parse_layer(label: str | Site) -> int:
    """The number, from 0, of a layer that is named by its label, which counts from 1, or that is a site.

    >>> parse_layer("6"), parse_layer(Site(Stream.CROSS, 5))
    (5, 5)
    >>> parse_layer(2)
    Traceback (most recent call last):
        ...
    attlas.errors.CapabilityError: layers are named by label counted from 1: give '3' instead of the number 2 (from 0)
    """
    if isinstance(label, Site):
        return label.layer
    refuse_number(label, "layer")
    written = label.strip() if isinstance(label, str) else ""
    if not re.fullmatch(r"0*[1-9]\d{0,3}", written):
        raise CapabilityError(f"{label!r} does not name a layer; write its number counted from 1, such as '6'")
    return int(written) - 1


def parse_head(label: str | HeadId) -> tuple[int | None, int]:
    """Layer and head, from 0, of a label such as "6-3", or of a head id; "3" is the third head of any layer.

    >>> parse_head("6-3"), parse_head("3"), parse_head(HeadId(Stream.ENCODER, 5, 2))
    ((5, 2), (None, 2), (5, 2))
    >>> parse_head("0-3")
    Traceback (most recent call last):
        ...
    attlas.errors.CapabilityError: '0-3' does not name a head; write layer and head counted from 1, such as '6-3'
    """
    if isinstance(label, HeadId):
        return label.layer, label.head
    refuse_number(label, "head")
    found = re.fullmatch(r"(?:(\d{1,4})-)?(\d{1,4})", label.strip()) if isinstance(label, str) else None
    if found is None or 0 in map(int, filter(None, found.groups())):
        raise CapabilityError(f"{label!r} does not name a head; write layer and head counted from 1, such as '6-3'")
    return (None if found[1] is None else int(found[1]) - 1), int(found[2]) - 1


def check_heads(given: Any) -> None:
    """Refuse labels that no model has a head for: each is layer and head, after a stream where there are several.

    >>> check_heads(["cross 6-3", "6-3,1-1"])
    >>> check_heads("third")
    Traceback (most recent call last):
        ...
    attlas.errors.CapabilityError: 'third' does not name a head; write layer and head counted from 1, such as '6-3'
    """
    for labels in [given] if isinstance(given, str) else given if isinstance(given, list | tuple) else ():
        for label in filter(None, map(str.strip, labels.split(","))) if isinstance(labels, str) else ():
            if not re.fullmatch(r"(?:\w+[ :])?\d+-\d+", label):
                raise CapabilityError(
                    f"{label!r} does not name a head; write layer and head counted from 1, such as '6-3'"
                )


def labels_of(given: Any) -> list[Any]:
    """Labels one by one: those of a list, or of a text such as "1,5..7", where two dots stand for all between.

    >>> labels_of("1,5..7"), labels_of(["6-3"]), labels_of(Site(Stream.ENCODER, 0))
    (['1', '5', '6', '7'], ['6-3'], [Site(stream=<Stream.ENCODER: 'encoder'>, layer=0)])
    """
    if isinstance(given, (Site, HeadId)) or not isinstance(given, Iterable):
        return [given]
    if not isinstance(given, str):
        return list(given)
    labels: list[str] = []
    for part in given.split(","):
        between = re.fullmatch(r"\s*(\d{1,4})\.\.(\d{1,4})\s*", part)
        labels += [str(n) for n in range(int(between[1]), int(between[2]) + 1)] if between else [part.strip()]
    return labels


def refuse_number(label: object, what: str) -> None:
    """Refuse a bare number where a label is wanted, and say what to write instead.

    >>> refuse_number(2, "head")
    Traceback (most recent call last):
        ...
    attlas.errors.CapabilityError: heads are named by label counted from 1: give '3' instead of the number 2 (from 0)
    """
    if not isinstance(label, bool) and isinstance(label, Integral):
        number = int(label)
        advice = f"give '{number + 1}' instead of the number {number} (from 0)" if number >= 0 else "give '1' or more"
        raise CapabilityError(f"{what}s are named by label counted from 1: {advice}")
