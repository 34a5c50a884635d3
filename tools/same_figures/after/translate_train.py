"""translate_train: the field's words for its options, and for the pairs that each pass is judged by."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from cases_before import record_tables, weights_in


def translate_train(folder: Path, inputs: Any) -> Any:
    """One direction, with a test set."""
    import attlas

    made = attlas.translate_train(
        inputs["bitext one"], validation=inputs["bitext two"], test=inputs["bitext three"], layers=1, heads=2,
        width=32, ffn=32, vocabulary=120, epochs=20, learning_rate=5e-3, batch_pieces=100, out=folder / "out",
    )  # fmt: skip
    return record_tables(made.record) | {"weights": weights_in(folder / "out")}


def translate_train_swapped(folder: Path, inputs: Any) -> Any:
    """The other direction."""
    import attlas

    made = attlas.translate_train(
        inputs["bitext one"], validation=inputs["bitext two"], swap=True, layers=1, heads=2, width=16, ffn=16,
        vocabulary=120, epochs=2, learning_rate=5e-3, schedule="root", beams=2, limit=10, seed=1,
        out=folder / "out",
    )  # fmt: skip
    return record_tables(made.record) | {"weights": weights_in(folder / "out")}


CASES = {"translate_train": translate_train, "translate_train.swapped": translate_train_swapped}
