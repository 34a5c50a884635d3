"""What heads read of a piece, where there is no text: its embedding, or what the first block makes of it.

Heads of later layers never read an embedding as it is. What stands for it is what the first block's feed-forward part
makes of the piece: the state after that block with its attention closed, less the state before it, the piece standing
behind the beginning piece, where there is one. The pass ends with that block.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import suppress
from typing import TYPE_CHECKING, Any

import torch
from torch import Tensor, nn

from attlas.capture.bypass import first
from attlas.capture.instruments import Gates
from attlas.capture.routes import layer_of
from attlas.ids import Site, Stream
from attlas.models.hooks import Hooks
from attlas.studies.roles.readout import why_no_circuits
from attlas.studies.roles.texts import frame_of

if TYPE_CHECKING:
    from attlas.capture import Subject

AT_ONCE = 256  # pieces of a pass


class _Enough(Exception):
    """The first block is through."""


def first_block(subject: Subject) -> nn.Module | None:
    """The block of a decoder's first attention; nothing where blocks are in no list."""
    first_site = Site(Stream.DECODER, 0)
    attention = next(module for module, sites in subject.layout.modules.items() if first_site in sites)
    return layer_of(subject.model, attention)


def why_no_readings(subject: Subject) -> str:
    """Why what heads read of single pieces is not known, in a sentence; nothing where it is.

    >>> from attlas.capture import load
    >>> why_no_readings(load())
    'what all-MiniLM-L6-v2 writes cannot be read in pieces: it has no language-model head'
    """
    why = why_no_circuits(subject)
    if not why and first_block(subject) is None:
        return f"{subject.name}: its blocks are in no list, so that the first one cannot be run alone"
    return why


def fed_forward(subject: Subject, pieces: Sequence[int]) -> Tensor:
    """What the first block's feed-forward part makes of pieces, (piece, hidden)."""
    block = first_block(subject)
    assert block is not None
    frame, site = frame_of(subject), Site(Stream.DECODER, 0)
    closed = Gates({site: torch.zeros(subject.heads(site))})
    made: list[Tensor] = []

    def enter(module: nn.Module, args: tuple[Any, ...], options: Mapping[str, Any]) -> None:
        state = args[0] if args else options["hidden_states"]
        made.append(-state[:, -1].float())

    def leave(module: nn.Module, args: tuple[Any, ...], output: Any) -> None:
        state = first(output)
        assert state is not None
        made[-1] = made[-1] + state[:, -1].float()
        raise _Enough

    for start in range(0, len(pieces), AT_ONCE):
        some = pieces[start : start + AT_ONCE]
        texts = torch.tensor([[*frame.before, piece] for piece in some], device=subject.device)
        with torch.no_grad(), Hooks() as hooks, subject.use(closed), suppress(_Enough):
            hooks.before(block, enter, with_kwargs=True)
            hooks.after(block, leave)
            subject.model(input_ids=texts, use_cache=False)
    return torch.cat(made)
