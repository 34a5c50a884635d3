"""From what a person writes to gates: heads by name, or numbers in the shape of the model.

The model library once took a ``head_mask`` of shape (layers, heads) and now ignores it without a word. Here a mask of
that shape makes :class:`~attlas.capture.Gates`, and one that does not fit is refused. Where layers differ in their
number of heads, a mask is as wide as the layer that has most; what stands beyond the heads of another is nobody's.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any

import torch
from torch import Tensor

from attlas.capture.instruments import Gates
from attlas.errors import CapabilityError
from attlas.ids import HeadId, Site, Stream

if TYPE_CHECKING:
    from attlas.capture.subject import Subject


def gates_for(subject: Subject, gates: Any) -> Gates:
    """Gates for a model from heads to close, a tensor (layer, head), or one such tensor for each stream.

    >>> from attlas.capture import load
    >>> gates_for(load(), torch.ones(6, 16))
    Traceback (most recent call last):
        ...
    attlas.errors.CapabilityError: gates of shape (6, 16) do not fit all-MiniLM-L6-v2: its encoder has 6 layers of ...
    """
    if isinstance(gates, Mapping):
        parts = [_by_layer(subject, Stream(stream), torch.as_tensor(values)) for stream, values in gates.items()]
        return Gates({site: xi for part in parts for site, xi in part.items()})
    if isinstance(gates, Tensor):
        if len(subject.streams) > 1:
            streams = ", ".join(stream.value for stream in subject.streams)
            raise CapabilityError(f"{subject.name} has several streams ({streams}); give gates for each by its name")
        return Gates(_by_layer(subject, subject.streams[0], gates))
    return closed(subject, gates)


def closed(subject: Subject, heads: Iterable[str | HeadId]) -> Gates:
    """Gates that close some heads, given by the papers' labels or as head ids, and leave all others open.

    >>> from attlas.capture import load
    >>> closed(load(), ["1-3"]).xi[Site(Stream.ENCODER, 0)].tolist()[:4]
    [1.0, 1.0, 0.0, 1.0]
    """
    return Gates.closed(subject.named(heads), subject.layout.heads)


def _by_layer(subject: Subject, stream: Stream, values: Tensor) -> dict[Site, Tensor]:
    counts = [count for site, count in subject.layout.heads.items() if site.stream is stream]
    if not counts:
        raise CapabilityError(f"{subject.name} has no {stream}, and gates were given for it")
    if values.dim() != 2 or values.shape != (len(counts), max(counts)):
        widths = f"{counts[0]}" if len(set(counts)) == 1 else f"{min(counts)} to {max(counts)}"
        raise CapabilityError(
            f"gates of shape {tuple(values.shape)} do not fit {subject.name}: its {stream} has {len(counts)} layers "
            f"of {widths} heads"
        )
    rows = zip(values, counts, strict=True)
    return {Site(stream, layer): row[:count] for layer, (row, count) in enumerate(rows)}
