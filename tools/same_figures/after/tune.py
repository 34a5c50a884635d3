"""Cases of tune by its new names: ``validation`` was ``dev``, ``learning_rate`` was ``rate``."""

from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import Any

from cases_before import Inputs, record_tables, weights_in

SHORT = {"epochs": 1, "learning_rate": 1e-3, "batch_size": 4, "limit": 10, "seed": 1}


def tuned(folder: Path, inputs: Inputs, *, model: str, kind: str, task: str, **options: Any) -> Any:
    import attlas

    corpus, validation = inputs[f"{kind} one"], inputs[f"{kind} two"]
    result = attlas.tune(inputs[model], corpus, task, validation=validation, out=folder / "out", **options)
    return record_tables(result.record) | {"weights": weights_in(folder / "out")}


CASES = {
    "tune.classification": partial(
        tuned, model="bert", kind="labelled", task="classification", epochs=2, learning_rate=3e-3, batch_size=4
    ),
    "tune.causal": partial(
        tuned, model="llama", kind="plain", task="causal-lm", epochs=1, learning_rate=1e-3, attention="uniform",
        max_pieces=32,
    ),
    "tune.masked": partial(tuned, model="masked", kind="plain", task="masked-lm", **SHORT),
    "tune.similarity": partial(tuned, model="bert", kind="similar", task="similarity", **SHORT),
    "tune.translation": partial(tuned, model="marian", kind="bitext", task="translation", **SHORT),
    "tune.keyphrases": partial(tuned, model="bert", kind="keyphrases", task="tagging:keyphrases", **SHORT),
}  # fmt: skip
