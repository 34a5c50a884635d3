"""Numbers written small and texts written safe, for files that a page takes in as scripts.

A page that is opened from a disk may fetch nothing, but it may add a script. So every file of data is one call,
``$attlas(name, value)``, whose value is JSON in which nothing can end the script or a line of it. Many numbers go as
float32 rounded to five significant digits, their bytes sorted by rank (all first bytes, then all second ones),
deflated and in base64: what repeats or is missing then takes next to no room.
"""

from __future__ import annotations

import zlib
from base64 import b64encode
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from attlas.views.page import script_json

_KEPT = 17  # bits of a float32's 23 that hold five significant digits


def packed(values: ArrayLike) -> str:
    """Numbers as float32 in base64; what is missing stays missing.

    >>> [round(float(value), 5) for value in unpacked(packed([0.123456789, float("nan"), 1e-3]))]
    [0.12346, nan, 0.001]
    """
    floats = np.ascontiguousarray(values, dtype=np.float32).ravel()
    bits = floats.view(np.uint32).astype(np.uint64)
    half = np.uint64(1 << (22 - _KEPT))
    rounded = ((bits + half) >> np.uint64(23 - _KEPT)) << np.uint64(23 - _KEPT)
    bits = np.where(np.isfinite(floats), rounded, np.uint64(0x7FC00000)).astype("<u4")
    planes = bits.view(np.uint8).reshape(-1, 4).T
    return b64encode(zlib.compress(planes.tobytes(), 6)).decode("ascii")


def unpacked(text: str) -> NDArray[np.float32]:
    """The numbers of :func:`packed`, as the page reads them.

    >>> unpacked(packed([])).size
    0
    """
    from base64 import b64decode

    planes = np.frombuffer(zlib.decompress(b64decode(text)), np.uint8).reshape(4, -1)
    return np.ascontiguousarray(planes.T).view("<f4").ravel()


def packed_bytes(values: ArrayLike) -> str:
    """Small whole numbers, one byte each, in base64.

    >>> packed_bytes([1, 2, 3])
    'AQID'
    """
    return b64encode(np.ascontiguousarray(values, dtype=np.uint8).tobytes()).decode("ascii")


def short(value: float, digits: int = 5) -> float | int | None:
    """A number with so many significant digits for JSON, None where it is none.

    >>> short(0.123456789), short(float("nan")), short(3.0)
    (0.12346, None, 3)
    """
    if value is None or not np.isfinite(value):
        return None
    rounded = float(f"{value:.{digits}g}")
    return int(rounded) if rounded == int(rounded) and abs(rounded) < 2**53 else rounded


def put(folder: Path, name: str, value: Any) -> None:
    """Write one file of data, named by its path below ``site/data``.

    >>> import tempfile
    >>> place = Path(tempfile.mkdtemp())
    >>> put(place, "0/model", {"name": "</script>"})
    >>> (place / "0" / "model.js").read_text()
    '$attlas("0/model",{"name":"\\\\u003c/script\\\\u003e"});\\n'
    """
    path = folder / f"{name}.js"
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(f'$attlas("{name}",{script_json(value)});\n', encoding="utf-8")
