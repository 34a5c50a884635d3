"""A part of a study as bytes that another process can go on with, and its weights beside them.

A part holds its model, and the model most of the bytes. What is large, the tensors, is therefore left out of the
pickle and put into a store once (for Ray, its object store), however many parts of a run use them and however many
workers fetch them; what remains is small. Whoever unpacks a part keeps the tensors that it has fetched, and asks only
for those that it lacks. They arrive laid out as they were, and as far behind a line of the cache: libraries begin
products where such a line does, so that the last bits depend on it, and weights that are mapped from a file lie where
its header ends. What comes back is small, too: of the state of a bundle that has seen one batch, only the
rows that are others than those of an empty one.
"""

from __future__ import annotations

import io
import pickle
import sys
from collections.abc import Callable
from contextvars import ContextVar
from dataclasses import dataclass
from importlib import import_module
from itertools import count
from typing import Any, Generic, NamedTuple, TypeVar

import numpy as np
import torch
from numpy.typing import NDArray
from torch.utils.weak import WeakTensorKeyDictionary

from attlas.errors import CapabilityError, first_line
from attlas.stats.accumulator import State

LARGE = 4096  # bytes from which on a tensor is left out
LINE = 64  # bytes of a line of the cache
Ref = TypeVar("Ref")
Bytes = NDArray[np.uint8]
Thin = dict[str, tuple[NDArray[np.int64] | None, NDArray[Any]]]


class _Mark(NamedTuple):
    """What stands in a pickle in the place of a tensor."""

    key: int
    dtype: torch.dtype
    shape: tuple[int, ...]  # of its axes in the order of memory, which is the next
    order: tuple[int, ...]
    behind: int  # a line of the cache
    device: str
    parameter: bool
    requires_grad: bool


@dataclass(frozen=True)
class Shipment(Generic[Ref]):
    """A part without its tensors, its number, and where each tensor lies; ``gpu`` says whether any of them is to be
    on one.

    >>> Shipment(0, b"", {}, False).number
    0
    """

    number: int
    packed: bytes
    tensors: dict[int, Ref]
    gpu: bool


class Shipper(Generic[Ref]):
    """Packs parts; ``put`` stores the bytes of a tensor and says where they lie. A tensor is put once, and forgotten
    when nobody here holds it any more.

    >>> stored = []
    >>> shipper = Shipper(lambda array: stored.append(array) or len(stored) - 1)
    >>> heavy = torch.ones(5000)
    >>> shipments = [shipper.pack("twice", {"heavy": heavy, "number": n}) for n in range(2)]
    >>> len(stored), [len(shipment.packed) < 1000 for shipment in shipments]
    (1, [True, True])
    >>> opened = Unpacker(stored.__getitem__).unpack(shipments[1])
    >>> opened["number"], bool((opened["heavy"] == heavy).all())
    (1, True)
    """

    def __init__(self, put: Callable[[Bytes], Ref]) -> None:
        self._put = put
        self._numbers, self._keys = count(), count()
        self._stored: Any = WeakTensorKeyDictionary()  # of each tensor its version, its key and its place

    def pack(self, name: str, part: Any) -> Shipment[Ref]:
        """A part as a shipment; one that cannot be sent is refused by its name."""
        from ray.cloudpickle import Pickler

        tensors: dict[int, Ref] = {}
        devices = set()

        def mark(thing: Any) -> _Mark | None:
            if type(thing) not in (torch.Tensor, torch.nn.Parameter) or thing.grad_fn is not None:
                return None
            if thing.is_meta:
                raise CapabilityError(
                    f"{name} cannot be sent to workers: weights of its model lie on disk; leave out --engine"
                )
            behind = thing.data_ptr() % LINE if thing.device.type == "cpu" else 0
            kind = isinstance(thing, torch.nn.Parameter)
            if thing.device.type == "cpu" and thing.nbytes < LARGE and not (kind and behind):
                return None
            key, place = self._place(thing)
            tensors[key] = place
            devices.add(thing.device.type)
            order = _order(thing)
            shape = tuple(thing.shape[axis] for axis in order)
            return _Mark(key, thing.dtype, shape, order, behind, thing.device.type, kind, thing.requires_grad)

        class Marking(Pickler):
            def persistent_id(self, thing: Any) -> _Mark | None:
                return mark(thing)

            def reducer_override(self, thing: Any) -> Any:
                usual: Any = super().reducer_override
                return _by_name(thing) if _is_variable(thing) else usual(thing)

        file = io.BytesIO()
        try:
            pickler: Any = Marking
            pickler(file, protocol=pickle.HIGHEST_PROTOCOL).dump(part)
        except (pickle.PicklingError, TypeError, AttributeError, ValueError) as error:
            raise CapabilityError(
                f"{name} cannot be sent to workers ({first_line(error)}); leave out --engine"
            ) from error
        return Shipment(next(self._numbers), file.getvalue(), tensors, bool(devices - {"cpu"}))

    def _place(self, tensor: torch.Tensor) -> tuple[int, Ref]:
        version = 0 if tensor.is_inference() else tensor._version
        known = self._stored.get(tensor)
        if known is None or known[0] != version:
            flat = tensor.detach().cpu().permute(_order(tensor)).reshape(-1)
            known = version, next(self._keys), self._put(flat.view(torch.uint8).numpy())
            self._stored[tensor] = known
        return known[1], known[2]


def _order(tensor: torch.Tensor) -> tuple[int, ...]:
    """The axes of a tensor as they lie in memory, the widest steps first."""
    steps = tensor.stride()
    return tuple(sorted(range(tensor.ndim), key=lambda axis: -steps[axis]))


def _copied(data: Bytes, behind: int) -> torch.Tensor:
    """Bytes that begin so far behind a line of the cache."""
    room = torch.empty(len(data) + LINE, dtype=torch.uint8)
    begin = (behind - room.data_ptr()) % LINE
    copied = room[begin : begin + len(data)]
    copied.numpy()[:] = data
    return copied


def _is_variable(thing: Any) -> bool:
    """Whether something belongs to a thread or task of this process, as what the model library's hooks on a model use
    does, which wraps it."""
    return isinstance(thing, ContextVar) or isinstance(getattr(thing, "context_var", None), ContextVar)


def _by_name(variable: Any) -> tuple[Any, ...]:
    """A variable as its place in a module, where the other process has its own."""
    for module in list(sys.modules.values()):
        for name, value in list(vars(module).items()):
            if value is variable:
                return _of_module, (module.__name__, name)
    raise pickle.PicklingError(f"{variable} belongs to no module")


def _of_module(module: str, name: str) -> Any:
    return getattr(import_module(module), name)


class Unpacker(Generic[Ref]):
    """Opens shipments; ``get`` fetches the bytes of a tensor. Tensors of the last shipment are kept for the next."""

    def __init__(self, get: Callable[[Ref], Bytes]) -> None:
        self._get = get
        self._tensors: dict[int, torch.Tensor] = {}

    def unpack(self, shipment: Shipment[Ref]) -> Any:
        """The part that was packed, with tensors of its own."""
        self._tensors = {key: tensor for key, tensor in self._tensors.items() if key in shipment.tensors}

        def restore(mark: _Mark) -> torch.Tensor:
            if mark.key not in self._tensors:
                copied = _copied(self._get(shipment.tensors[mark.key]), mark.behind).view(mark.dtype)
                tensor = copied.reshape(mark.shape).permute(np.argsort(mark.order).tolist()).to(mark.device)
                self._tensors[mark.key] = torch.nn.Parameter(tensor, False) if mark.parameter else tensor
            return self._tensors[mark.key].requires_grad_(mark.requires_grad)

        class Restoring(pickle.Unpickler):
            def persistent_load(self, mark: _Mark) -> torch.Tensor:
                return restore(mark)

        return Restoring(io.BytesIO(shipment.packed)).load()


def thinned(state: State, empty: State) -> Thin:
    """A state as what tells it from that of an empty bundle: the rows, along the first axis, that are others.

    >>> thin = thinned({"sums": np.eye(600)[:, :4]}, {"sums": np.zeros((600, 4))})
    >>> [part.shape for part in thin["sums"]]
    [(4,), (4, 4)]
    """
    thin: Thin = {}
    for key, array in state.items():
        if array.ndim and array.nbytes >= LARGE and empty[key].shape == array.shape:
            rows = np.flatnonzero((array != empty[key]).reshape(len(array), -1).any(1))
            thin[key] = rows, array[rows]
        else:
            thin[key] = None, array
    return thin


def filled(thin: Thin, empty: State) -> State:
    """The state that was thinned, to the bit.

    >>> state, empty = {"sums": np.eye(600)[:, :4]}, {"sums": np.zeros((600, 4))}
    >>> bool((filled(thinned(state, empty), empty)["sums"] == state["sums"]).all())
    True
    """
    state: State = {}
    for key, (rows, values) in thin.items():
        state[key] = values
        if rows is not None:
            state[key] = empty[key].copy()
            state[key][rows] = values
    return state
