"""align: ``side`` was called ``setting``, and a layer is named by its label, counted from 1."""

from __future__ import annotations

from pathlib import Path
from typing import Any


def align_layer(folder: Path, inputs: Any) -> Any:
    """Links of one layer and side."""
    import attlas

    return attlas.align(
        inputs["marian"], inputs["bitext one"], side="output", layer="2", aligners=(), gold=inputs["gold one"],
        limit=4,
    )  # fmt: skip


CASES = {"align.layer": align_layer}
