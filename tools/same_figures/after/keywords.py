"""Cases of the studies of key words by the calls as they are now: the model comes first, and the field's words."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from inputs import Inputs


def bundled(folder: Path, inputs: Inputs) -> Any:
    import attlas

    return attlas.keywords(None, inputs["keyphrases one"], top=3)


def named(folder: Path, inputs: Inputs) -> Any:
    import attlas

    return attlas.keywords(
        inputs["bert"], inputs["plain one"], heads=["1-2", "3-1"], measure="norm", over="max", top=4, bar=0.8,
        longest=2,
    )  # fmt: skip


def text(folder: Path, inputs: Inputs) -> Any:
    import attlas

    written = "Alan Turing put forward the imitation game as a test of whether machines can think."
    return attlas.keywords(None, written, measure="weight", top=5)


def by_study(folder: Path, inputs: Inputs) -> Any:
    import attlas

    study = attlas.keywords_study(inputs["bert"], inputs["keyphrases one"], folds=2, twin="none")
    return attlas.keywords(inputs["bert"], inputs["keyphrases two"], study=study, top=3)


def tune(folder: Path, inputs: Inputs) -> Any:
    import attlas

    return attlas.keywords_tune(
        inputs["bert"], inputs["keyphrases one"], validation=inputs["keyphrases two"],
        test=inputs["keyphrases three"], epochs=8, learning_rate=3e-3, batch_size=2, patience=8,
        steps=3, out=folder / "out",
    )  # fmt: skip


def tune_keep(folder: Path, inputs: Inputs) -> Any:
    import attlas

    return attlas.keywords_tune(
        inputs["bert"], inputs["keyphrases one"], validation=inputs["keyphrases two"],
        test=inputs["keyphrases three"], epochs=8, learning_rate=3e-3, batch_size=2, patience=8,
        steps=2, keep=0.5, retune=True,
    )  # fmt: skip


CASES = {
    "keywords_tune": tune,
    "keywords_tune.keep": tune_keep,
    "keywords.bundled": bundled,
    "keywords.named": named,
    "keywords.text": text,
    "keywords.study": by_study,
}
