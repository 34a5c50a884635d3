"""Values as JSON can hold them.

Plans and manifests are compared after they have been to a file and back, where a tuple has become a list and a path
a string. Turning them into that form at once, when they are made, keeps the comparison honest.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from enum import Enum
from pathlib import PurePath
from typing import Any

import numpy as np

from attlas.errors import StoreError


def plain(value: Any, where: str = "value") -> Any:
    """Turn a value into dictionaries, lists, strings, finite numbers, booleans and None, or refuse, naming the place.

    >>> plain({"layers": (0, 1), "rate": np.float32(0.5)})
    {'layers': [0, 1], 'rate': 0.5}
    >>> plain({"options": {"what": object}})
    Traceback (most recent call last):
        ...
    attlas.errors.StoreError: value, options, what: <class 'object'> of type type cannot be written as JSON
    """
    if isinstance(value, Enum):
        return plain(value.value, where)
    if isinstance(value, np.generic | np.ndarray):
        return plain(value.tolist(), where)
    if isinstance(value, Mapping):
        return {str(key): plain(inner, f"{where}, {key}") for key, inner in value.items()}
    if isinstance(value, list | tuple):
        return [plain(inner, f"{where}, item {index}") for index, inner in enumerate(value)]
    if isinstance(value, set | frozenset):
        return sorted((plain(inner, where) for inner in value), key=repr)
    if isinstance(value, PurePath):
        return str(value)
    if value is None or isinstance(value, str | bool | int) or (isinstance(value, float) and math.isfinite(value)):
        return value
    raise StoreError(f"{where}: {value!r} of type {type(value).__name__} cannot be written as JSON")
