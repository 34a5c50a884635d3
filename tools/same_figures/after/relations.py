"""Cases of relations: texts to choose on are ``choose_on``."""

from __future__ import annotations

from pathlib import Path
from typing import Any


def relations_norm(folder: Path, inputs: Any) -> Any:
    """Another treebank to choose on, by norms."""
    import attlas

    return attlas.relations(
        inputs["bert"], inputs["treebank one"], choose_on=inputs["treebank two"], measure="norm", limit=20
    )


CASES = {"relations.norm": relations_norm}
