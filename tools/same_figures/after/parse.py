"""Parsing probes: ``dev`` is ``validation``."""

from __future__ import annotations

from pathlib import Path
from typing import Any


def weight(folder: Path, inputs: Any) -> Any:
    import attlas

    return attlas.parse(
        inputs["bert"], inputs["treebank one"], validation=inputs["treebank two"], test=inputs["treebank three"],
        limit=12, epochs=2, rank=8, out=folder / "out",
    )  # fmt: skip


CASES = {"parse.weight": weight}
