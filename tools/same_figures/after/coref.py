"""Cases of coreference: texts to choose on are ``choose_on``."""

from __future__ import annotations

from pathlib import Path
from typing import Any


def coref_select(folder: Path, inputs: Any) -> Any:
    """Another corpus to choose on, by norms, in short windows."""
    import attlas

    return attlas.coref(
        inputs["bert"], inputs["columns one"], choose_on=inputs["columns two"], measure="norm", max_pieces=40
    )


CASES = {"coref.select": coref_select}
