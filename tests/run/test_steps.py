"""Steps of a run: arrays that are kept for whoever resumes, and room on disk that is refused before it is taken."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import twins
from attlas.capture import Subject
from attlas.errors import PlanError, StoreError
from attlas.run.session import begin
from attlas.run.setting import as_corpus
from attlas.text import Document


@pytest.fixture(scope="module")
def subject() -> Subject:
    return Subject.of(twins.model("bert"), twins.tokenizer(False), "bert")


def arrays_of(subject: Subject, out: Path | None, *, seed: int = 0, resume: bool = False) -> tuple[Any, int]:
    """What a step of arrays gives, and how often it was made."""
    made = []

    def make() -> dict[str, Any]:
        made.append(1)
        return {"weights": np.arange(3.0)}

    running: Any = {"out": out, "seed": seed, "resume": resume}
    with begin("toy", subject, as_corpus([Document.from_text("It rained.")]), {}, running) as run:
        return run.once_arrays("weighing", make)["weights"].tolist(), len(made)


def test_arrays_are_made_once(subject: Subject, tmp_path: Path) -> None:
    assert arrays_of(subject, None) == ([0.0, 1.0, 2.0], 1)
    assert arrays_of(subject, tmp_path / "out") == ([0.0, 1.0, 2.0], 1)
    assert arrays_of(subject, tmp_path / "out", resume=True) == ([0.0, 1.0, 2.0], 0)
    with pytest.raises(PlanError, match="this checkpoint has another plan"):
        arrays_of(subject, tmp_path / "out", seed=1, resume=True)


def test_room_that_is_not_there_is_refused_before_it_is_taken(subject: Subject, tmp_path: Path) -> None:
    texts = as_corpus([Document.from_text("It rained.")])
    with begin("toy", subject, texts, {}, {"out": tmp_path / "out"}) as run:
        with pytest.raises(StoreError, match=r"the states would take 3.0 GB on disk .* --max-disk allows 2 GB"):
            run.scratch("states", {"train": 3 * 10**9}, most=2.0, what="states")
        assert not (tmp_path / "out" / "states").exists()
        assert run.scratch("states", {"train": 10}, most=2.0).is_dir()
