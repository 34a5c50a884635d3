"""The fingerprint of a model: a short hash that changes when any of its weights does.

It is taken without asking for a state dict, which would change some packed models, and reads what is packed into few
bits by its parts; what a checkpoint does not hold, and what lies on disk, counts by its shape alone.
"""

from __future__ import annotations

import hashlib
from collections.abc import Collection, Iterator, Mapping
from typing import Any

import torch


def fingerprint(
    model: torch.nn.Module, totals: Mapping[str, float] | None = None, *, without: Collection[str] = ()
) -> str:
    """A short hash that changes when any weight does: names, shapes, and sums of all parameters (``totals``, where
    they are known).

    Tensors named in ``without`` count by their shapes alone: what a checkpoint does not hold is drawn anew at every
    load, and the model is the same one for all that. So do those that lie on disk.

    >>> fingerprint(torch.nn.Linear(2, 2)) == fingerprint(torch.nn.Linear(2, 2))
    False
    >>> drawn = ["weight", "bias"]
    >>> fingerprint(torch.nn.Linear(2, 2), without=drawn) == fingerprint(torch.nn.Linear(2, 2), without=drawn)
    True
    """
    digest = hashlib.sha256()
    known = totals_of(model) if totals is None else totals
    with torch.no_grad():
        for name, tensor in sorted(_tensors(model)):
            if name in without or tensor.is_meta:
                digest.update(f"{name} {tuple(tensor.shape)} drawn".encode())
                continue
            if not _is_plain(tensor):
                for part in _parts(tensor):
                    digest.update(f"{name} {tuple(part.shape)}".encode() + part.float().cpu().numpy().tobytes())
                continue
            flat = tensor.detach().reshape(-1)
            sample = flat[:: max(1, flat.numel() // 1024)].double().cpu()
            # to six digits: devices add in different orders
            digest.update(f"{name} {tuple(tensor.shape)} {known[name]:.6e}".encode())
            digest.update(sample.numpy().tobytes())
    return digest.hexdigest()[:16]


def totals_of(model: torch.nn.Module) -> dict[str, float]:
    """The sum of every tensor of a model that is a plain one and in memory.

    >>> sorted(totals_of(torch.nn.Linear(2, 2)))
    ['bias', 'weight']
    """
    with torch.no_grad():
        return {name: tensor.sum(dtype=torch.float64).item() for name, tensor in _tensors(model) if _is_plain(tensor)}


def _tensors(model: torch.nn.Module) -> Iterator[tuple[str, torch.Tensor]]:
    """What a state dict of the model would hold. To ask for one is to change some models: those of bitsandbytes put
    their weights into another order for it."""
    for place, module in model.named_modules(remove_duplicate=False):
        kept = {n: b for n, b in module._buffers.items() if n not in module._non_persistent_buffers_set}
        for name, tensor in {**module._parameters, **kept}.items():
            if tensor is not None:
                yield f"{place}.{name}" if place else name, tensor


def _parts(tensor: Any) -> list[torch.Tensor]:
    """The plain tensors that a packed one is made of."""
    names = tensor.__tensor_flatten__()[0] if hasattr(tensor, "__tensor_flatten__") else ["data"]
    return [getattr(tensor, name).detach() for name in names]


def _is_plain(tensor: Any) -> bool:
    """Whether a tensor can be read as it is: not packed into few bits by a class of its own, and not on disk."""
    return type(tensor) in (torch.Tensor, torch.nn.Parameter) and not tensor.is_meta
