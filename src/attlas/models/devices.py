"""Devices: whether this machine has one, found by putting a number on it, and where a model takes its inputs from."""

from __future__ import annotations

from typing import Any

import torch

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
