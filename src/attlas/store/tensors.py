"""Named arrays with a few words about them in one safetensors file, always whole.

Used for the checkpoint of a training run, whose weights and moments are large. What is said about them is JSON in the
file's header, so numbers and arrays can never be of different ages. The file is written beside its place, forced to
the disk, and put there by one rename. A safetensors file holds no code.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from attlas.errors import StoreError, first_line
from attlas.store.plain import plain
from attlas.whole import UNFINISHED, require_plain

Arrays = dict[str, NDArray[Any]]


def save_arrays(path: Path, arrays: Mapping[str, NDArray[Any]], about: Mapping[str, Any]) -> None:
    """Replace a file by a new one, wholly or not at all.

    >>> import tempfile
    >>> path = Path(tempfile.mkdtemp()) / "state.safetensors"
    >>> save_arrays(path, {"weight": np.ones(2)}, {"step": 3})
    >>> load_arrays(path)
    ({'weight': array([1., 1.])}, {'step': 3})
    """
    from safetensors.numpy import save_file

    staged = path.with_name(path.name + UNFINISHED)
    whole = {name: np.ascontiguousarray(array) for name, array in arrays.items()}
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        told = json.dumps(plain(about, "about"))
        save_file(whole, staged, metadata={"about": told, "checksum": _checksum(whole, told)})
        with open(staged, "rb") as file:
            os.fsync(file.fileno())
        os.replace(staged, path)
    except Exception as error:
        if not isinstance(error, OSError) and type(error).__name__ != "SafetensorError":
            raise
        reason = getattr(error, "strerror", None) or error
        raise StoreError(f"{path.parent}: the checkpoint cannot be written ({reason})") from error


def load_arrays(path: Path) -> tuple[Arrays, dict[str, Any]] | None:
    """What lies in a file, or None where there is none.

    >>> load_arrays(Path("no such file")) is None
    True
    """
    from safetensors import safe_open

    if not path.exists():
        return None
    try:
        require_plain(path)
        with safe_open(path, framework="numpy") as stored:
            told, checksum = (stored.metadata()[name] for name in ("about", "checksum"))
            arrays = {name: stored.get_tensor(name) for name in stored.keys()}  # noqa: SIM118
        if _checksum(arrays, told) != checksum:
            raise ValueError("it does not agree with its own checksum")
        return arrays, json.loads(told)
    except Exception as error:  # the library has its own kinds, and a damaged file may raise any of them
        reason = first_line(error)
        raise StoreError(f"{path}: this checkpoint cannot be read ({reason}); delete it to start over") from error


def _checksum(arrays: Arrays, about: str) -> str:
    digest = hashlib.blake2b(about.encode(), digest_size=16)
    for name, array in sorted(arrays.items()):
        digest.update(f"{name} {array.dtype} {array.shape}".encode())
        digest.update(np.ascontiguousarray(array).view(np.uint8).data if array.size else b"")
    return digest.hexdigest()


def clear_arrays(path: Path) -> None:
    """Remove a file and what was left of writing it, and its folder where that is empty then.

    >>> clear_arrays(Path("no such folder/no such file"))
    """
    for place in (path, path.with_name(path.name + UNFINISHED)):
        place.unlink(missing_ok=True)
    with contextlib.suppress(OSError):
        path.parent.rmdir()
