"""The study of key words as one call: its tables, its parts, and a run that is broken off again and again."""

from __future__ import annotations

import random
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import twins
from attlas.capture import Subject
from attlas.errors import CorpusError, PlanError
from attlas.run.progress import Silent
from attlas.run.session import Run, begin
from attlas.run.setting import as_corpus
from attlas.store import Result
from attlas.studies.keywords_study.call import _room, keywords_study
from attlas.studies.keywords_study.passes import Received, lay_out
from attlas.studies.shared.keywords.choice import from_study
from attlas.studies.shared.keywords.weighing import Kind
from attlas.text import Document

WORDS = ("the", "near", "station", "children", "apples", "asked", "nobody", "she", "yesterday")
COLUMNS = {
    "heads": "stream layer head measure over key other relative low high p p_corrected cross_entropy saved saved_low "
    "saved_high auc auc_low auc_high choosing_auc choosing_relative choosing_saved twin_auc twin_auc_low "
    "twin_auc_high twins chosen n",
    "choice": "stream layer head measure over rank choosing_auc longest",
    "phrases": "part selection measure over heads chosen at gold f1 low high precision recall macro macro_low "
    "macro_high n",
    "regression": "part heads f1 low high precision recall auc c n",
    "regression_weights": "stream layer head weight least most order",
    "mix": "stream layer head share gamma",
    "predictors": "predictor f1 low high precision recall auc auc_low auc_high n twins twins_low twins_high",
    "whole": "part documents words key_words share given present windows language kind",
}


def abstracts(count: int, seed: int = 0) -> list[Document]:
    """Texts in which an old thing is the key phrase; one more phrase stands nowhere."""
    draw = random.Random(seed)
    made = []
    for number in range(count):
        words = [draw.choice(WORDS) for _ in range(draw.randint(6, 12))]
        what, place = draw.choice(("bridge", "storm", "farmer")), draw.randrange(6)
        words[place:place] = ["old", what]
        made.append(Document.from_words(words, name=str(number), keyphrases=[f"Old {what}s", "moon"]))
    return made


def twin(family: str = "bert") -> Subject:
    return Subject.of(twins.model(family), twins.tokenizer(family in twins.CAUSAL), family)


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The study when nobody stops it."""
    out = tmp_path_factory.mktemp("study") / "whole"
    keywords_study(twin(), abstracts(16), test=abstracts(12, 1), folds=3, budget=200, out=out)
    return out


def test_the_room_that_is_asked_for_is_what_the_files_take(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    subject = twin()
    parts = {name: lay_out(name, subject, abstracts(count)) for name, count in (("chosen on", 3), ("scored on", 2))}
    kinds = (Kind("weight", "mean"), Kind("norm", "mean"))
    asked: dict[str, int] = {}

    def scratch(run: Run, name: str, needed: dict[str, int], **more: Any) -> Path:
        asked.update(needed)
        return tmp_path

    monkeypatch.setattr(Run, "scratch", scratch)
    with begin("toy", subject, as_corpus(abstracts(3)), {}) as run:
        _room(run, parts, len(kinds), 1.0)
    files = Received(tmp_path / "files", parts, kinds, 12, {})
    assert asked == {name: files._file(name).stat().st_size for name in parts}


def test_all_tables_are_there(whole: Path) -> None:
    result = Result.open(whole)
    tables = {name: table.to_pylist() for name, table in result.tables.items()}
    for name, columns in COLUMNS.items():
        assert set(columns.split()) == set(tables[name][0]), name
    assert sorted(path.name for path in whole.iterdir()) == sorted(
        [*(f"{name}.parquet" for name in COLUMNS), "manifest.json"]
    )
    assert len(tables["heads"]) == 4 * 12
    chosen = [row for row in tables["heads"] if row["chosen"]]
    assert len(chosen) == len(tables["choice"])
    assert {row["rank"] for row in tables["choice"]} == set(range(1, len(chosen) + 1))
    tried = [
        row for row in tables["phrases"] if row["part"] == "chosen on" and (row["at"], row["gold"]) == ("10", "all")
    ]
    assert max(row["f1"] for row in tried) == next(row["f1"] for row in tried if row["chosen"])
    for part in ("cross-validated", "scored on"):
        assert [row["heads"] for row in tables["regression"] if row["part"] == part] == [1, 2, 3, 5, 8, 12]
    assert sum(row["share"] for row in tables["mix"]) == pytest.approx(1)
    assert sorted(row["order"] for row in tables["regression_weights"]) == list(range(1, 13))
    predictors = {row["predictor"]: row for row in tables["predictors"]}
    assert len(predictors) == 7
    rate = tables["whole"][1]["share"]
    assert predictors["every word"]["f1"] == pytest.approx(2 * rate / (1 + rate))
    last = next(row for row in tables["regression"] if (row["part"], row["heads"]) == ("scored on", 12))
    assert predictors["all heads"]["f1"] == last["f1"]
    assert [(row["given"], row["present"]) for row in tables["whole"]] == [(32, 16), (24, 12)]
    assert result.manifest.corpus["chosen_on"] == 16
    assert len(from_study(result, twin()).heads) == len(chosen)


class Stopped(BaseException):
    """As good as a kill: nobody catches it."""


class Stopping(Silent):
    """Breaks a run off at the first thing that is said, or after so many batches of a part."""

    def __init__(self, when: Callable[[str, int], bool]) -> None:
        self.when, self.part, self.batches = when, "", 0

    def start(self, description: str, total: int, done: int = 0) -> None:
        self.part, self.batches = description, 0

    def advance(self, pieces: int) -> None:
        self.batches += 1
        if self.when(self.part, self.batches):
            raise Stopped

    def note(self, text: str) -> None:
        if self.when(text, -1):
            raise Stopped


def test_a_run_goes_on_where_it_was_stopped(whole: Path, tmp_path: Path) -> None:
    """Within the model's batches, in a step, and within its twin's; and what is done is not done again."""
    out = tmp_path / "torn"
    options: dict[str, Any] = {
        "test": abstracts(12, 1), "folds": 3, "budget": 200, "out": out, "checkpoint_every": 0,
    }  # fmt: skip
    stops: list[Callable[[str, int], bool]] = [
        lambda what, batches: what.endswith("model") and batches == 2,
        lambda what, _: what.startswith("regression: fold 2"),
        lambda what, batches: what.endswith("twin") and batches == 2,
    ]
    for number, stop in enumerate(stops):
        with pytest.raises(Stopped):
            keywords_study(twin(), abstracts(16), resume=number > 0, progress=Stopping(stop), **options)
    with pytest.raises(PlanError, match="go on with --resume"):
        keywords_study(twin(), abstracts(16), **options)
    said: list[str] = []
    told = Stopping(lambda what, _: said.append(what) or False)  # type: ignore[func-returns-value]
    keywords_study(twin(), abstracts(16), resume=True, progress=told, **options)
    assert any(what.startswith("resuming after 1 of") for what in said)
    assert not any("model" in what or "fold" in what for what in said if "key words" not in what)
    expected, found = Result.open(whole).tables, Result.open(out).tables
    for name, table in expected.items():
        assert found[name].equals(table), name
    assert not any(path.name in ("checkpoint", ".received") for path in out.iterdir())


def test_halves_of_a_causal_model() -> None:
    """Without a test part, each half of the documents is for one thing; a phrase's words in any number of windows."""
    result = keywords_study(
        twin("gpt2"), abstracts(14), folds=2, twin="none", kind="weight-max", steps=[2], max_pieces=24
    )
    whole = result.tables["whole"].to_pylist()
    assert sum(row["documents"] for row in whole) == 14
    assert all(row["windows"] > row["documents"] and row["kind"] == "weight, max" for row in whole)
    assert set(result.tables["heads"].column("twin_auc").to_pylist()) == {None}
    assert sorted(set(result.tables["regression"].column("heads").to_pylist())) == [2, 12]
    assert len(result.tables["predictors"].to_pylist()) == 6
    figures = np.array([row["auc"] for row in result.tables["heads"].to_pylist()])
    assert ((figures >= 0) & (figures <= 1)).all()


def test_nothing_to_ask_about(tmp_path: Path) -> None:
    absent = [replace(document, keyphrases=("moon",)) for document in abstracts(6)]
    for given, why in (
        ({"corpus": [Document.from_text("It rained.")]}, "no key phrases"),
        ({"corpus": absent}, "no key phrase occurs in any text"),
        ({"corpus": abstracts(8), "test": absent}, "no key phrase occurs in any text"),
        ({"corpus": abstracts(4), "test": abstracts(4)}, "only 4 of its documents hold both"),
    ):
        with pytest.raises(CorpusError, match=why):
            keywords_study(twin(), out=tmp_path / "out", **given)  # type: ignore[arg-type]
    assert not (tmp_path / "out").exists()
