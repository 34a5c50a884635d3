"""A model's own matrices, found once and kept for as long as the model is there."""

from __future__ import annotations

from typing import TYPE_CHECKING
from weakref import WeakKeyDictionary

import torch
from torch import nn

from attlas.capture.instruments import Fold
from attlas.ids import Site, Stream
from attlas.models import AttentionCall, probing_inputs
from attlas.models.circuits import Circuits, find_circuits
from attlas.models.own_gates import find_own_gates

if TYPE_CHECKING:
    from attlas.capture import Subject

_FOUND: WeakKeyDictionary[Subject, Circuits | str] = WeakKeyDictionary()
_LEARNED: WeakKeyDictionary[Subject, str] = WeakKeyDictionary()
_GATED: WeakKeyDictionary[Subject, dict[Site, nn.Module]] = WeakKeyDictionary()


def circuits_of(subject: Subject) -> Circuits | str:
    """The matrices of a model, or why it has none that can be read in pieces.

    >>> from attlas.capture import load
    >>> circuits_of(load())
    'it has no language-model head'
    """
    if subject not in _FOUND:
        _FOUND[subject] = _find(subject)
    return _FOUND[subject]


def _find(subject: Subject) -> Circuits | str:
    if subject.block is not None:
        return "its layers are streamed, and these matrices are needed together"
    return find_circuits(subject.model, subject.layout, subject.seam, probing_inputs(subject.model))


def why_no_circuits(subject: Subject) -> str:
    """Why a model's heads cannot be read in pieces, in a sentence; nothing where they can.

    >>> from attlas.capture import load
    >>> why_no_circuits(load())
    'what all-MiniLM-L6-v2 writes cannot be read in pieces: it has no language-model head'
    """
    found = circuits_of(subject)
    if isinstance(found, str):
        return f"what {subject.name} writes cannot be read in pieces: {found}"
    if not any(site.stream is Stream.DECODER for site in found.sites):
        reason = next(iter(found.missing.values()), "it has no decoder")
        return f"the matrices of {subject.name}'s heads were not found: {reason}"
    return ""


def found_circuits(subject: Subject) -> Circuits:
    """The matrices of a model that has them (:func:`why_no_circuits` has been asked)."""
    found = circuits_of(subject)
    assert isinstance(found, Circuits)
    return found


def forget_circuits(subject: Subject) -> None:
    """Let go of a model's matrices, which are found again when they are needed.

    >>> from attlas.capture import load
    >>> forget_circuits(load())
    """
    _FOUND.pop(subject, None)


def why_no_sinks(subject: Subject) -> str:
    """Why a model has no learned sinks, in a sentence; nothing where it has some.

    >>> from attlas.capture import load
    >>> why_no_sinks(load())
    'all-MiniLM-L6-v2 has no learned sinks'
    """
    if subject not in _LEARNED:
        with_sinks: list[Site] = []

        def look(call: AttentionCall) -> None:
            with_sinks.extend([call.site] if call.sinks is not None else [])

        with torch.no_grad(), subject.use(Fold(look)):
            subject.model(**probing_inputs(subject.model))
        _LEARNED[subject] = "" if with_sinks else f"{subject.name} has no learned sinks"
    return _LEARNED[subject]


def own_gates_of(subject: Subject) -> dict[Site, nn.Module]:
    """The modules behind a model's own gates, by site; none where it has no such gates.

    >>> from attlas.capture import load
    >>> own_gates_of(load())
    {}
    """
    if subject not in _GATED:
        _GATED[subject] = find_own_gates(subject.model, subject.layout, subject.seam, probing_inputs(subject.model))
    return _GATED[subject]


def why_no_own_gates(subject: Subject) -> str:
    """Why a model's own gates cannot be read, in a sentence; nothing where it has some.

    >>> from attlas.capture import load
    >>> why_no_own_gates(load())
    'all-MiniLM-L6-v2 has no gates of its own between its heads and W_O'
    """
    if subject.block is not None:
        return f"{subject.name}: its layers are streamed, and its own gates are looked for in all of them together"
    found = any(site.stream is Stream.DECODER for site in own_gates_of(subject))
    return "" if found else f"{subject.name} has no gates of its own between its heads and W_O"


def why_no_norms(subject: Subject) -> str:
    """Why what heads write cannot be measured, in a sentence; nothing where it can.

    >>> from attlas.capture import load
    >>> why_no_norms(load())
    ''
    """
    if subject.has_norms:
        return ""
    return f"what the heads of {subject.name} write cannot be measured: W_O was not found at every layer"
