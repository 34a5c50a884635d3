"""Joint norms of one text: what every key brings to every query, all heads of a layer together.

A layer has one such map for each *step* (:mod:`attlas.capture.mixing`): of its attention alone, with the residual,
and through the norm that follows. They are taken while a text is read, for they need what stands around the
attention, and nothing of size (head, query, key, width) is ever built.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from typing import TYPE_CHECKING

import torch
from torch import Tensor

from attlas.capture.instruments import Fold
from attlas.capture.mixing import Mixing, check_step, mixing
from attlas.capture.selection import ALL, Selection
from attlas.ids import Site, Stream

if TYPE_CHECKING:
    from attlas.capture.subject import Subject


def said(step: str, stream: Stream) -> str:
    """What views say of a step; in cross attention no key is oneself, so that no part has the residual in it.

    >>> said("normalised", Stream.ENCODER)
    'joint norm ‖Σαf(x)‖ of all heads, with the residual, normalised'
    """
    residual = ", with the residual" if step != "attention" and stream is not Stream.CROSS else ""
    return f"joint norm ‖Σαf(x)‖ of all heads{residual}" + (", normalised" if step == "normalised" else "")


class Joints:
    """Joint norms as they come in, by step and site, of the first text of a batch.

    >>> Joints(["residual"]).stacked()
    {'residual': {}}
    """

    def __init__(self, steps: Collection[str]) -> None:
        self._kept: dict[str, dict[Site, Tensor]] = {check_step(step): {} for step in steps}

    def keep(self, site: Site, norms: Callable[[str], Tensor]) -> None:
        """Keep what a site shows at each of the steps."""
        for step, kept in self._kept.items():
            kept[site] = norms(step)[0].detach()

    def stacked(self) -> dict[str, dict[Stream, Tensor]]:
        """For every step and stream the maps of its layers, (layer, query, key).

        >>> Joints([]).stacked()
        {}
        """
        found: dict[str, dict[Stream, Tensor]] = {}
        for step, kept in self._kept.items():
            layers: dict[Stream, list[Tensor]] = {}
            for site in sorted(kept, key=lambda site: site.layer):
                layers.setdefault(site.stream, []).append(kept[site])
            found[step] = {stream: torch.stack(maps) for stream, maps in layers.items()}
        return found


@contextmanager
def joints(subject: Subject, steps: Collection[str], selection: Selection = ALL) -> Iterator[Joints]:
    """While this is on, joint norms at these steps are kept from every forward pass; refused where a model cannot
    give them.

    >>> from attlas.capture import load
    >>> subject = load()
    >>> with joints(subject, ["residual"]) as kept:
    ...     _ = subject.run(subject.batch(["Hello there."]))
    >>> kept.stacked()["residual"][Stream.ENCODER].shape
    torch.Size([6, 5, 5])
    """
    kept = Joints(steps)
    watching: AbstractContextManager[None] = nullcontext()
    if set(steps) - {"attention"}:

        def mixed(layer: Mixing) -> None:
            kept.keep(layer.site, layer.joint)

        watching = mixing(subject, mixed, selection)
    elif steps:  # which needs W_O alone, and so can be had of more models
        subject.require("norms")
        watching = subject.use(Fold(lambda call: kept.keep(call.site, lambda step: subject.joint(call)), selection))
    with watching:
        yield kept
