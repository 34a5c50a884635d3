"""Devices by name: whether this machine has one, found by putting a number on it."""

from __future__ import annotations

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
