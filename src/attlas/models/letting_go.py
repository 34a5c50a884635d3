"""Letting go of the weights of a model for a while, so that another one has room.

Weights on a device go to the host's memory; those on the host into a file without a name, which is gone with the
process. They are not read from the model's own files again: a model that was changed in memory, has an adapter on, or
came from no file at all comes back to the last bit. Meanwhile every parameter keeps its shape, format and device, so
that whoever describes the model says the same as before, and holds no numbers: it is a single NaN that is read over
and over. Who runs the model, or any part of it, is refused, in every thread.
"""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import IO, Any, NamedTuple

import torch
from torch import Tensor, nn

from attlas.errors import CapabilityError, PlanError
from attlas.models.fingerprints import _is_plain
from attlas.whole import UNFINISHED


class _View(NamedTuple):
    """A parameter, and how it lies in the memory that was its own."""

    weight: nn.Parameter
    size: torch.Size
    stride: tuple[int, ...]
    offset: int


def require_loose(name: str, model: nn.Module) -> None:
    """Refuse a model whose weights cannot be let go of: they are packed into few bits, or others look after them.

    >>> require_loose("tiny", nn.Linear(2, 2))
    """
    spread = getattr(model, "hf_device_map", None) or any(hasattr(part, "_hf_hook") for part in model.modules())
    packed = not all(_is_plain(weight) for weight in model.parameters())
    if spread or packed:
        why = "they are spread over devices" if spread else "they are packed into few bits"
        raise CapabilityError(
            f"{name}: its weights cannot be let go of for the time of its untrained twins, for {why}; give --twin "
            "beside or --twin none"
        )


@contextmanager
def let_go(name: str, model: nn.Module, folder: Path | None = None) -> Iterator[None]:
    """For the length of a ``with`` block the weights of a model take no room where it is; then they are back, the
    same numbers in the same tensors. What lies on the host goes to a file in ``folder``, or among temporary files.

    >>> layer = nn.Linear(2, 2)
    >>> before = layer.weight.detach().clone()
    >>> with let_go("tiny", layer):
    ...     tuple(layer.weight.shape), bool(layer.weight.isnan().all())
    ((2, 2), True)
    >>> torch.equal(layer.weight, before)
    True
    """
    memories: dict[tuple[torch.device, int], tuple[torch.UntypedStorage, list[_View]]] = {}
    for weight in model.parameters():
        if weight.numel() and not weight.is_meta:
            storage = weight.untyped_storage()
            views = memories.setdefault((weight.device, storage.data_ptr()), (storage, []))[1]
            views.append(_View(weight, weight.size(), weight.stride(), int(weight.storage_offset())))
    with ExitStack() as kept:
        file = _file(name, sum(s.nbytes() for (place, _), (s, _) in memories.items() if place.type == "cpu"), folder)
        kept.enter_context(file)
        away: list[tuple[list[_View], torch.device, int, Tensor | None]] = []
        for module in model.modules():  # whichever part is run, and by whom, so that nobody reads a NaN
            kept.callback(module.register_forward_pre_hook(_refusing(name)).remove)
        try:
            while memories:
                (place, _), (storage, views) = memories.popitem()
                flat = torch.empty(0, dtype=torch.uint8, device=place).set_(storage)
                size, copy = flat.numel(), None if place.type == "cpu" else flat.to("cpu")
                if copy is None:
                    file.write(flat.numpy().data)
                away.append((views, place, size, copy))
                for view in views:
                    view.weight.data = _nothing(view.weight)
                del storage, flat
            yield
        finally:
            file.seek(0)
            for views, place, size, copy in away:
                flat = torch.empty(size, dtype=torch.uint8, device=place)
                if copy is None:
                    _fill(file, flat)
                else:
                    flat.copy_(copy)
                for weight, shape, stride, offset in views:
                    fresh = torch.empty(0, dtype=weight.dtype, device=place)
                    weight.data = fresh.set_(flat.untyped_storage(), offset, shape, stride)


def drop(model: nn.Module) -> None:
    """Let go of the weights of a model for good, whoever still has it.

    >>> layer = nn.Linear(2, 2)
    >>> drop(layer)
    >>> layer.weight.untyped_storage().nbytes()
    4
    """
    for weight in model.parameters():
        if not weight.is_meta:
            weight.data = _nothing(weight)


def _nothing(weight: Tensor) -> Tensor:
    """One number in the place of all: NaN, or nought where there is no such number."""
    fill = float("nan") if weight.is_floating_point() else 0
    return torch.full((1,) * weight.dim(), fill, dtype=weight.dtype, device=weight.device).expand(weight.shape)


def _file(name: str, size: int, folder: Path | None) -> IO[bytes]:
    place = Path(tempfile.gettempdir()) if folder is None else folder
    if size and (free := shutil.disk_usage(place).free) < size:
        raise PlanError(
            f"{place}: the weights of {name}, which are let go of for the time of its untrained twins, take "
            f"{size / 1e9:.1f} GB, and the disk has {free / 1e9:.1f}; make room, or give --twin none"
        )
    return tempfile.TemporaryFile(dir=place, prefix=".weights-", suffix=UNFINISHED)  # a name only where it must be


def _fill(file: IO[bytes], flat: Tensor) -> None:
    room = memoryview(flat.numpy().data).cast("B")
    at = 0
    while at < len(room):
        count = file.readinto(room[at:])  # type: ignore[attr-defined]
        if not count:
            raise CapabilityError("weights that were let go of are no longer on the disk; begin again")
        at += count


def _refusing(name: str) -> Any:
    def refuse(*_: Any) -> None:
        raise CapabilityError(
            f"{name}: its weights have been let go of, for the time of its untrained twins; wait for the run of "
            "these, or give it --twin beside"
        )

    return refuse
