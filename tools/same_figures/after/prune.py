"""Cases of prune by its new name: ``choose_on`` was ``order_on``."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from cases_before import Inputs


def prune_score(folder: Path, inputs: Inputs) -> Any:
    import attlas

    measured = attlas.ablate(inputs["tagger"], inputs["treebank one"], "tagging:upos", survivors=False, limit=8)
    return attlas.prune(
        inputs["tagger"], inputs["treebank two"], "tagging:upos", by="score", ablation=measured,
        choose_on=inputs["treebank one"], steps=3, even=True, keep=0.75, speed=False, limit=8,
    )  # fmt: skip


def prune_translation(folder: Path, inputs: Inputs) -> Any:
    import attlas

    return attlas.prune(
        inputs["marian"], inputs["bitext one"], "translation", by="loss", score="perplexity", steps=2, limit=4,
        choose_on=inputs["bitext two"],
    )  # fmt: skip


CASES = {"prune.score": prune_score, "prune.translation": prune_translation}
