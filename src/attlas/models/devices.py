"""Devices: whether this machine has one, found by putting a number on it, where a model takes its inputs from, and
how numbers go there and come back without anybody waiting for them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from attlas.errors import ModelError, first_line


def require_device(device: str) -> str:
    """The device, where this machine has it.

    >>> require_device("cpu")
    'cpu'
    >>> require_device("meta")
    Traceback (most recent call last):
        ...
    attlas.errors.ModelError: there is no device 'meta'; try cpu...
    """
    try:
        kind = torch.device(device).type
    except RuntimeError:
        kind = "meta"
    if kind == "meta":  # which holds no numbers
        raise ModelError(f"there is no device {device!r}; try {known_devices()}")
    try:
        torch.zeros(1, device=device)
    except (RuntimeError, AssertionError, ImportError) as error:
        raise ModelError(
            f"the device {device!r} cannot be used: {first_line(error)}; try {known_devices()}"
        ) from error
    return device


def placed_on(model: Any, device: str | None) -> Any:
    """A model, moved to a device where one is named.

    >>> placed_on(torch.nn.Linear(2, 2), None)
    Linear(in_features=2, out_features=2, bias=True)
    """
    try:
        return model.to(device) if device else model
    except (RuntimeError, AssertionError) as error:
        raise ModelError(
            f"the device {device!r} cannot be used: {first_line(error)}; try {known_devices()}"
        ) from error


def known_devices() -> str:
    """The devices to choose from, in words.

    >>> known_devices().startswith("cpu")
    True
    """
    return "cpu or cuda" if torch.cuda.is_available() else "cpu"


def place_of(model: Any) -> torch.device:
    """The device that a model takes its inputs from, and where what is seen of it is brought together: its own, the
    first of those that it is spread over, or the memory where its weights lie on disk.

    >>> place_of(torch.nn.Linear(2, 2)), place_of(torch.nn.Linear(2, 2, device="meta"))
    (device(type='cpu'), device(type='cpu'))
    """
    spread = [device for device in getattr(model, "hf_device_map", {}).values() if device not in ("cpu", "disk")]
    if spread:
        return torch.device(spread[0])
    device: torch.device = next((weight.device for weight in model.parameters()), torch.device("cpu"))
    return torch.device("cpu") if device.type == "meta" else device


def onto(array: NDArray[Any], device: Any) -> Tensor:
    """An array as a tensor on a device. Nobody waits for a copy to a GPU: it is made from pinned memory, while the
    GPU and whoever asked go on.

    >>> onto(np.arange(3), "cpu").tolist()
    [0, 1, 2]
    """
    tensor = torch.from_numpy(np.ascontiguousarray(array))
    if torch.device(device).type != "cuda":
        return tensor.to(device)
    return tensor.pin_memory().to(device, non_blocking=True)


class Landing:
    """Tensors on their way from a device to the host, all in one copy, which :meth:`arrays` waits for.

    >>> landing = Landing({"sums": torch.ones(2, 2), "counts": torch.ones(3)})
    >>> {name: array.shape for name, array in landing.arrays().items()}
    {'sums': (2, 2), 'counts': (3,)}
    """

    def __init__(self, tensors: Mapping[str, Tensor]) -> None:
        self._shapes = {name: tensor.shape for name, tensor in tensors.items()}
        self._event: torch.cuda.Event | None = None
        flat = [tensor.detach().double().reshape(-1) for tensor in tensors.values()]
        self._whole = torch.cat(flat) if flat else torch.zeros(0, dtype=torch.float64)
        if self._whole.device.type == "cuda":
            there = torch.empty(self._whole.shape, dtype=torch.float64, pin_memory=True)
            self._whole = there.copy_(self._whole, non_blocking=True)
            self._event = torch.cuda.Event()  # type: ignore[no-untyped-call]
            self._event.record()

    def arrays(self) -> dict[str, NDArray[np.float64]]:
        """The numbers, in float64, once they are there.

        >>> Landing({}).arrays()
        {}
        """
        if self._event is not None:
            self._event.synchronize()
        sizes = [shape.numel() for shape in self._shapes.values()]
        parts = np.split(self._whole.cpu().numpy(), np.cumsum(sizes)[:-1]) if sizes else []
        return {
            name: part.reshape(tuple(shape)) for (name, shape), part in zip(self._shapes.items(), parts, strict=True)
        }
