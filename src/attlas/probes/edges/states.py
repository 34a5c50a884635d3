"""States of a model on disk: computed once, kept in half precision, mapped into memory, shared by all probes.

For each part of a corpus there is one file (row, slot, number) in float16: a row for each piece that some span holds,
a slot for each layer's state, or for the outputs of each layer's heads side by side. Heads are taken through W_O when
they are read, since what a head writes into the model is only known there. How large the files will be is known
before anything is run.

Layers differ in how long their states are, by a factor of a hundred in some models, and a mix of them would be a mix
of lengths. So every origin is divided by its usual length (the geometric mean over the training part's pieces of the
root mean square of a state), a constant that changes nothing about what can be read off it. That is not enough where
a layer only adds to states and does not norm them: there the first piece of a text may be a hundred times as long as
the others from some layer on, and nothing else is left of it in any mix. So in such models every state is divided by
its *own* length, which is what the model's own layers do before they read it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from attlas.capture import Fold, Subject
from attlas.errors import NumberError
from attlas.ids import Site
from attlas.models import AttentionCall, Batch, Example
from attlas.probes.edges.layout import Integers, Layout
from attlas.probes.edges.series import Origin
from attlas.probes.files import MappedFiles
from attlas.probes.writing import LARGEST, states_of
from attlas.stats import Bundle, PooledMean

OVER = ("layers", "heads")
LENGTHS = ("usual", "own")


def lengths_for(subject: Subject, over: str) -> str:
    """By which length states are divided unless it is said: their own where norms come before layers (or where this
    is not known), else the usual one; what heads bring always by the usual one.

    >>> from attlas.capture import load
    >>> lengths_for(load(), "layers")
    'usual'
    """
    if over == "heads" or not subject.has_residuals:
        return "usual" if over == "heads" else "own"
    return "own" if any(residual.first for residual in subject.residuals.values()) else "usual"


def evened(states: Tensor, scales: Tensor, lengths: str) -> Tensor:
    """States (..., origin, size) divided by their usual lengths (origin), or each by its own.

    >>> evened(torch.tensor([[3.0, 3.0], [0.0, 8.0]]), torch.tensor([3.0, 4.0]), "usual").tolist()
    [[1.0, 1.0], [0.0, 2.0]]
    >>> evened(torch.tensor([[3.0, 3.0]]), torch.tensor([1.0]), "own").tolist()
    [[1.0, 1.0]]
    """
    if lengths == "usual":
        return states / scales[:, None]
    return states / states.square().mean(-1, keepdim=True).sqrt().clamp(min=1e-10)


class Room(NamedTuple):
    """How much a piece takes: so many slots of so many numbers.

    >>> Room(13, 384).bytes(1000)
    9984000
    """

    slots: int
    size: int

    def bytes(self, rows: int) -> int:
        """How many bytes so many pieces take."""
        return 2 * rows * self.slots * self.size


class Mixable:
    """What of a model is mixed: the states of its layers, or what its heads bring.

    >>> from attlas.capture import load
    >>> mixable = Mixable(load())
    >>> len(mixable.origins), mixable.room, mixable.size
    (7, Room(slots=7, size=384), 384)
    >>> len(Mixable(load(), "heads").origins)
    72
    """

    def __init__(self, subject: Subject, over: str = "layers") -> None:
        self.subject, self.over, self.stream = subject, over, subject.pieces.own
        self.origins: tuple[Origin, ...]
        if over == "heads":
            subject.require("norms")
            layers, heads = subject.shape(self.stream)
            self.origins = tuple(Origin(layer + 1, head) for layer in range(layers) for head in range(heads))
            sites = [Site(self.stream, layer) for layer in range(layers)]
            self._matrices = torch.stack([subject.output_matrix(site).detach().float() for site in sites])
            self.room = Room(layers, heads * int(self._matrices.shape[2]))
            self.size = int(self._matrices.shape[3])
        else:
            with torch.no_grad():
                found = states_of(subject, subject.read(subject.batch(["a"]), output_hidden_states=True))
            self.origins = tuple(Origin(layer) for layer in range(len(found)))
            self.room = Room(len(found), int(found[0].shape[-1]))
            self.size = self.room.size

    def capture(self, batch: Batch) -> Tensor:
        """What is kept of a batch, (sentence, piece, slot, number)."""
        subject = self.subject
        if self.over == "layers":
            with torch.no_grad():
                output = subject.read(batch, output_hidden_states=True)
            return torch.stack([state.float() for state in states_of(subject, output)], dim=2)
        taken: dict[int, Tensor] = {}

        def take(call: AttentionCall) -> None:
            if call.site.stream is self.stream:
                mixed = (call.weights() @ call.values).transpose(1, 2)
                taken[call.site.layer] = mixed.flatten(2).float()

        with torch.no_grad(), subject.use(Fold(take)):
            subject.read(batch)
        return torch.stack([taken[layer] for layer in sorted(taken)], dim=2)

    def expand(self, kept: Tensor) -> Tensor:
        """From what is kept, (..., slot, number), to what is mixed, (..., origin, size)."""
        if self.over == "layers":
            return kept
        layers, heads, width, size = self._matrices.shape
        split = kept.reshape(-1, layers, heads, width).permute(1, 2, 0, 3)
        brought = torch.matmul(split, self._matrices.to(kept.device)).permute(2, 0, 1, 3)
        return brought.reshape(*kept.shape[:-2], layers * heads, size)


class States(MappedFiles):
    """The files of one model on the parts of a corpus, in a folder of their own.

    >>> import tempfile
    >>> States(Path(tempfile.mkdtemp()), {}, Room(2, 4), {"model": "tiny"}).kept
    False
    """

    def __init__(self, folder: Path, layouts: Mapping[str, Layout], room: Room, made_for: Mapping[str, Any]) -> None:
        self.room = room
        rows = {name: int(layout.rows[-1]) for name, layout in layouts.items()}
        index = {"for": dict(made_for), "rows": rows, "slots": room.slots, "size": room.size}
        half = np.dtype(np.float16)
        shapes = {name: ((count, room.slots, room.size), half) for name, count in rows.items()}
        super().__init__(folder, index, shapes, "states", sum(len(layout.examples) for layout in layouts.values()))

    def write(self, item: _Item, states: NDArray[np.float16]) -> None:
        """Put the states of one sentence into their rows."""
        self.arrays[item.part][item.first : item.first + len(states)] = states
        self.checksums.note(item.number, states)

    def as_written(self, items: Sequence[_Item]) -> bool:
        """Whether the states of all sentences that were written are still what was written."""
        rows = ((item, self.rows(item.part, item.first, item.first + len(item.kept))) for item in items)
        return all(self.checksums.agree(item.number, states) for item, states in rows)

    def rows(self, part: str, start: int, stop: int) -> NDArray[np.float16]:
        """Some rows, as they lie in the file."""
        return np.asarray(self.arrays[part][start:stop])


class _Item(NamedTuple):
    """A sentence to be captured, and where it belongs."""

    number: int
    example: Example
    part: str
    first: int
    kept: Integers


def items_of(layouts: Mapping[str, Layout]) -> list[_Item]:
    """The sentences of all parts, each with its rows.

    >>> items_of({})
    []
    """
    placed = (
        (example, layout.name, int(first), kept)
        for layout in layouts.values()
        for example, first, kept in zip(layout.examples, layout.rows, layout.kept, strict=False)
    )
    return [_Item(number, *place) for number, place in enumerate(placed)]


class _Read(NamedTuple):
    """What spans hold of one sentence, and the lengths of its states, as logarithms, where it is to train on."""

    states: NDArray[np.float16]
    lengths: NDArray[np.float64] | None


class Writer:
    """Takes sentences through a model and writes their states; to the engine, a study like any other.

    >>> from attlas.capture import load
    >>> Writer(Mixable(load()), None).name
    'layers'
    """

    name = "layers"

    def __init__(self, mixable: Mixable, states: States | None) -> None:
        self.mixable, self.states = mixable, states

    def empty(self) -> Bundle:
        """The usual length of each origin, as a mean of logarithms."""
        return Bundle({"lengths": PooledMean((len(self.mixable.origins),), blocks=1)})

    def update(self, bundle: Bundle, batch: Sequence[_Item]) -> None:
        """Run a batch through the model and write what spans hold of it."""
        self.write(bundle, batch, self.read(batch))

    def __getstate__(self) -> dict[str, Any]:
        """Without the files, which workers do not write."""
        return {**vars(self), "states": None}

    def read(self, batch: Sequence[_Item]) -> list[_Read]:
        """What spans hold of a batch, sentence by sentence."""
        subject = self.mixable.subject
        made = subject.pieces.batch([item.example for item in batch], subject.device)
        found = self.mixable.capture(made)
        if not bool(torch.isfinite(found.sum())):
            raise NumberError(f"NaN in the states of {subject.name}; try --dtype float32")
        read = []
        for item, states in zip(batch, found, strict=True):
            kept = states[torch.as_tensor(item.kept, device=states.device)].clamp(-LARGEST, LARGEST)
            lengths = None
            if item.part == "train":
                squares = self.mixable.expand(kept).double().square().mean(-1)
                lengths = squares.clamp(min=1e-20).log().mul(0.5).sum(0).cpu().numpy()
            read.append(_Read(kept.half().cpu().numpy(), lengths))
        return read

    def write(self, bundle: Bundle, batch: Sequence[_Item], read: Sequence[_Read]) -> None:
        """Write what was read, and take the usual lengths of the training part."""
        assert self.states is not None
        for item, each in zip(batch, read, strict=True):
            self.states.write(item, each.states)
        known = [(each.lengths, float(len(each.states))) for each in read if each.lengths is not None]
        if known:
            lengths, counts = zip(*known, strict=True)
            bundle["lengths"].update(np.stack(lengths), np.array(counts)[:, None])


def scales_of(bundle: Bundle) -> NDArray[np.float64]:
    """What each origin is divided by: its usual length.

    >>> lengths = PooledMean((2,), blocks=1)
    >>> lengths.update(np.log([[2.0, 8.0]]), [[1.0]])
    >>> scales_of(Bundle({"lengths": lengths})).round(6).tolist()
    [2.0, 8.0]
    """
    return np.exp(np.asarray(bundle["lengths"].result().value, dtype=np.float64))
