"""Capturing what probes read: attention between words, by either measure, and states of words, straight to disk.

The writer is a study like any other to the engine that runs it: it takes a batch through the model and puts what it
sees into the files, and it can be stopped and resumed between batches. The same batch always writes the same bytes
to the same places, so one that was half written is simply written again.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
import torch
from torch import Tensor

from attlas.capture import Fold, Subject
from attlas.capture.measuring import measured, require_measure
from attlas.errors import CapabilityError, NumberError
from attlas.measures.words import Grouping, between_words, group
from attlas.models import AttentionCall, Example
from attlas.probes.files import Features, Room
from attlas.probes.trees import Part
from attlas.stats import Bundle, PooledMean

LARGEST = 65504.0  # of float16


class _Item(NamedTuple):
    """A sentence to be captured, and where it belongs."""

    number: int
    example: Example
    part: str
    words: int
    row: int
    kept: tuple[int, ...]


def items_of(parts: Sequence[Part], examples: Mapping[str, Sequence[Example]]) -> list[_Item]:
    """The sentences of all parts, each with its place in the files.

    >>> items_of([Part.of("train", [])], {"train": []})
    []
    """
    placed = (
        (example, part.name, words, row, tree.kept)
        for part in parts
        for example, tree, (words, row) in zip(examples[part.name], part.trees, part.places, strict=True)
    )
    return [_Item(number, *place) for number, place in enumerate(placed)]


def as_written(features: Features, items: Sequence[_Item]) -> bool:
    """Whether the features of all sentences that were written are still what was written.

    >>> as_written(None, [])
    True
    """
    found = ((item.number, features.of_sentence(item.part, item.words, item.row)) for item in items)
    return all(features.checksums.agree(number, *arrays) for number, arrays in found)


def room_for(subject: Subject, *, states: bool) -> Room:
    """How large the features of a model are: heads of its own stream and, if wanted, states of all layers.

    >>> from attlas.capture import load
    >>> room_for(load(), states=True)
    Room(heads=72, layers=7, size=384)
    """
    layers, heads = subject.shape(subject.pieces.own)
    if not states:
        return Room(layers * heads)
    found = states_of(subject, subject.read(subject.batch(["a"]), output_hidden_states=True))
    return Room(layers * heads, len(found), int(found[0].shape[-1]))


class Writer:
    """Takes sentences through a model and writes what probes need.

    >>> from attlas.capture import load
    >>> Writer(load(), None).name
    'parse'
    """

    name = "parse"

    def __init__(self, subject: Subject, features: Features | None, *, measure: str = "weight") -> None:
        self.subject, self.features = subject, features
        self.measure = require_measure(subject, measure)
        self.stream = subject.pieces.own
        self.layers = 0 if features is None else features.room.layers

    def empty(self) -> Bundle:
        """Counts what was written."""
        return Bundle({"words": PooledMean((), blocks=1)})

    def update(self, bundle: Bundle, batch: Sequence[_Item]) -> None:
        """Run a batch through the model and write its features."""
        self.write(bundle, batch, self.read(batch))

    def __getstate__(self) -> dict[str, Any]:
        """Without the files, which workers do not write."""
        return {**vars(self), "features": None}

    def read(self, batch: Sequence[_Item]) -> tuple[Any, Any]:
        """The attention between words of a batch, and their states where these are wanted, sentence by sentence."""
        subject = self.subject
        made = subject.pieces.batch([item.example for item in batch], subject.device)
        assert made.source is not None
        grouping = group(
            [item.example.source.segmentation for item in batch],
            made.source.real.shape[1],
            made.source.starts,
            subject.device,
        )
        taken: list[Tensor] = []

        def take(call: AttentionCall) -> None:
            if call.site.stream is self.stream:
                attention = measured(subject, call, self.measure).float()
                taken.append(between_words(attention, grouping).clamp(max=LARGEST).half().cpu())

        options = {"output_hidden_states": True} if self.layers else {}
        with torch.no_grad(), subject.use(Fold(take)):
            output = subject.read(made, **options)
        attention = torch.cat(taken, dim=1).permute(0, 2, 3, 1).numpy()
        states = self._words(output, grouping) if self.layers else None
        kept = [np.array([*item.kept, grouping.words]) for item in batch]
        return (
            [each[groups[:, None], groups[None, :]] for each, groups in zip(attention, kept, strict=True)],
            None if states is None else [each[:, groups[:-1]] for each, groups in zip(states, kept, strict=True)],
        )

    def write(self, bundle: Bundle, batch: Sequence[_Item], read: tuple[Any, Any]) -> None:
        """Write what was read."""
        features, (attention, states) = self.features, read
        assert features is not None
        for number, item in enumerate(batch):
            block = features.block(item.part, "attention", item.words)
            block[item.row] = attention[number]
            if states is not None:
                block = features.block(item.part, "states", item.words)
                block[:, item.row] = states[number]
            features.checksums.note(item.number, *features.of_sentence(item.part, item.words, item.row))
        bundle["words"].update([float(item.words) for item in batch], 1)

    def _words(self, output: Any, grouping: Grouping) -> Any:
        """States of words, (sentence, layer, word, size): the mean over each word's pieces."""
        members = grouping.members[:, : grouping.words]
        mean = members / members.sum(-1, keepdim=True).clamp(min=1)
        found = [
            (mean.to(state.dtype) @ state).float().clamp(-LARGEST, LARGEST)
            for state in states_of(self.subject, output)
        ]
        states = torch.stack(found, dim=1)
        if not bool(torch.isfinite(states.sum())):
            raise NumberError(f"NaN in the states of {self.subject.name}; try --dtype float32")
        return states.half().cpu().numpy()


def states_of(subject: Subject, output: Any) -> tuple[Tensor, ...]:
    """The states that a model has handed out, of its encoder where it has one: what it reads, then layer by layer.

    >>> from attlas.capture import load
    >>> subject = load()
    >>> len(states_of(subject, subject.run(subject.batch(["Hello."]), output_hidden_states=True)))
    7
    """
    names = ("hidden_states", "encoder_hidden_states")
    found = next((states for name in names if (states := getattr(output, name, None))), None)
    if found is None:
        raise CapabilityError(f"{subject.name} does not hand out its states, so that nothing can be probed in them")
    return tuple(found)
