"""The no-op test's loss is its task, as in all other calls."""

from __future__ import annotations

from pathlib import Path
from typing import Any


def noop_masked(folder: Path, inputs: Any) -> Any:
    """A masked language model's own loss."""
    import attlas

    return attlas.noop(inputs["masked"], inputs["plain one"], "masked-lm", limit=6)


def noop_tagging(folder: Path, inputs: Any) -> Any:
    """A small head, trained here."""
    import attlas

    return attlas.noop(inputs["bert"], inputs["treebank one"], "tagging:upos", limit=8)


def noop_translation(folder: Path, inputs: Any) -> Any:
    """Three streams."""
    import attlas

    return attlas.noop(inputs["marian"], inputs["bitext one"], "translation", limit=6)


def noop_classification(folder: Path, inputs: Any) -> Any:
    """A classifier's own loss."""
    import attlas

    return attlas.noop(inputs["classifier"], inputs["labelled one"], "classification")


CASES = {
    "noop.masked": noop_masked,
    "noop.tagging": noop_tagging,
    "noop.translation": noop_translation,
    "noop.classification": noop_classification,
}
