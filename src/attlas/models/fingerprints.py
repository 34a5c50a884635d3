"""The fingerprint of a model: a short hash that changes when any of its weights does.

It is taken without asking for a state dict, which would change some packed models, and reads what is packed into few
bits by its parts. Weights that lie on disk are brought in one module after the other, and those that are streamed are
marked when they first come by, so that a model has the same fingerprint wherever its weights are. What a checkpoint
does not hold counts by its shape alone.
"""

from __future__ import annotations

import hashlib
from collections.abc import Collection, Iterator, Mapping
from typing import Any, NamedTuple

import torch

from attlas.models.presence import at_hand, holder_of


class Mark(NamedTuple):
    """What a fingerprint takes of one tensor: its shape, its sum (zero where it is packed), and what is hashed.

    >>> mark_of("bias", torch.ones(2)).total
    2.0
    """

    shape: tuple[int, ...]
    total: float
    hashed: bytes


def fingerprint(
    model: torch.nn.Module, marks: Mapping[str, Mark] | None = None, *, without: Collection[str] = ()
) -> str:
    """A short hash that changes when any weight does: names, shapes, and sums of all parameters (in ``marks``, where
    these are known).

    Tensors named in ``without`` count by their shapes alone: what a checkpoint does not hold is drawn anew at every
    load, and the model is the same one for all that.

    >>> fingerprint(torch.nn.Linear(2, 2)) == fingerprint(torch.nn.Linear(2, 2))
    False
    >>> drawn = ["weight", "bias"]
    >>> fingerprint(torch.nn.Linear(2, 2), without=drawn) == fingerprint(torch.nn.Linear(2, 2), without=drawn)
    True
    """
    digest = hashlib.sha256()
    for name, mark in sorted((marks_of(model) if marks is None else marks).items()):
        digest.update(_by_shape(name, mark.shape) if name in without else mark.hashed)
    return digest.hexdigest()[:16]


def marks_of(model: torch.nn.Module) -> dict[str, Mark]:
    """The marks of all tensors of a model, which are read through once for it.

    >>> sorted(marks_of(torch.nn.Linear(2, 2)))
    ['bias', 'weight']
    """
    marks: dict[str, Mark] = {}
    for place, module in model.named_modules(remove_duplicate=False):
        names = [name for name, _ in tensors_of(module, place)]
        known: Mapping[str, Mark] = getattr(holder_of(module), "marks", {})
        if all(name in known for name in names):
            marks |= {name: known[name] for name in names}
        else:
            with at_hand(module, recurse=False):
                marks |= {name: mark_of(name, tensor) for name, tensor in tensors_of(module, place)}
    return marks


def mark_of(name: str, tensor: torch.Tensor) -> Mark:
    """What a fingerprint takes of a tensor.

    >>> mark_of("bias", torch.ones(3)).shape
    (3,)
    """
    shape = tuple(tensor.shape)
    if tensor.is_meta:
        return Mark(shape, 0.0, _by_shape(name, shape))
    if not _is_plain(tensor):
        parts = [f"{name} {tuple(part.shape)}".encode() + _bytes(part.float()) for part in _parts(tensor)]
        return Mark(shape, 0.0, b"".join(parts))
    flat = tensor.detach().reshape(-1)
    total = tensor.detach().sum(dtype=torch.float64).item()
    sample = flat[:: max(1, flat.numel() // 1024)].double()
    # to six digits: devices add in different orders
    return Mark(shape, total, f"{name} {shape} {total:.6e}".encode() + _bytes(sample))


def tensors_of(module: torch.nn.Module, place: str = "") -> Iterator[tuple[str, torch.Tensor]]:
    """What a state dict would hold of a module at a place in a model, without those inside it. To ask for a state
    dict is to change some models: those of bitsandbytes put their weights into another order for it.

    >>> [name for name, _ in tensors_of(torch.nn.Linear(2, 2), "head")]
    ['head.weight', 'head.bias']
    """
    kept = {n: b for n, b in module._buffers.items() if n not in module._non_persistent_buffers_set}
    for name, tensor in {**module._parameters, **kept}.items():
        if tensor is not None:
            yield f"{place}.{name}" if place else name, tensor


def _by_shape(name: str, shape: tuple[int, ...]) -> bytes:
    return f"{name} {shape} drawn".encode()


def _bytes(tensor: torch.Tensor) -> bytes:
    return tensor.cpu().numpy().tobytes()


def _parts(tensor: Any) -> list[torch.Tensor]:
    """The plain tensors that a packed one is made of."""
    names = tensor.__tensor_flatten__()[0] if hasattr(tensor, "__tensor_flatten__") else ["data"]
    return [getattr(tensor, name).detach() for name in names]


def _is_plain(tensor: Any) -> bool:
    """Whether a tensor can be read as it is: not packed into few bits by a class of its own."""
    return type(tensor) in (torch.Tensor, torch.nn.Parameter)
