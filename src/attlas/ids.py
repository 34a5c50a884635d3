"""Names of places in a model: streams, sites and heads.

A *stream* is one of the three attentions a transformer may have: the encoder's over the source, the decoder's
over what was written so far, and the cross attention from the decoder to the encoder. A *site* is one layer of
one stream, and a *head* is one of its heads. Layers and heads count from 0 everywhere; only :func:`paper_label`
writes the form of the papers, which count from 1.

>>> HeadId(Stream.ENCODER, 7, 9).site
Site(stream=<Stream.ENCODER: 'encoder'>, layer=7)
>>> paper_label(7, 9)
'8-10'
"""

from __future__ import annotations

from enum import StrEnum
from typing import NamedTuple


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
