"""Runs of several tasks put together: all rows, one manifest; and what does not belong together."""

from __future__ import annotations

from pathlib import Path

import pytest

import twins
from attlas.capture import Subject
from attlas.errors import StoreError
from attlas.store import Manifest, Result
from attlas.studies.layers_together.call import layers_together
from attlas.studies.shared.layer_runs import find_runs
from edge_runs import run_folder


def subject(seed: int = 0) -> Subject:
    return Subject.of(twins.model("bert", seed), twins.tokenizer(False), "twin")


@pytest.fixture(scope="module")
def bert() -> Subject:
    return subject()


@pytest.fixture
def runs(bert: Subject, tmp_path: Path) -> Path:
    for seed, task in enumerate(("pos", "roles")):
        run_folder(tmp_path / "runs" / task, bert, task, labels=[f"{task} {n}" for n in range(3)], probes=False,
                   seed=seed)  # fmt: skip
    return tmp_path / "runs"


def test_all_rows_of_all_runs(runs: Path, tmp_path: Path) -> None:
    result = layers_together([runs], out=tmp_path / "out")
    parts = [Result.open(runs / task) for task in ("pos", "roles")]
    assert list(result.tables) == list(parts[0].tables)
    for name, table in Result.open(tmp_path / "out").tables.items():
        assert table.to_pylist() == [row for part in parts for row in part.tables[name].to_pylist()], name
    about = result.manifest
    assert (about.study, list(about.corpus["tasks"]), about.seconds) == ("layers-together", ["pos", "roles"], 4.0)
    assert (about.corpus["passages"], about.corpus["pieces"]) == (22, 198)
    assert about.model == parts[0].manifest.model
    assert about.started == "2025-01-01T00:00:00+00:00"
    assert about.skipped == {"pos: texts without an edge": 2, "roles: texts without an edge": 2}
    assert [plan["options"]["task"] for plan in about.plan["options"]["together"]] == ["pos", "roles"]


def test_what_was_put_together_can_be_put_together_with_more(bert: Subject, runs: Path, tmp_path: Path) -> None:
    layers_together([runs], out=tmp_path / "two")
    third = run_folder(tmp_path / "third", bert, "entities", probes=False)
    joined = layers_together([tmp_path / "two", third])
    assert list(joined.manifest.corpus["tasks"]) == ["pos", "roles", "entities"]
    with pytest.raises(StoreError, match="it has the task pos, and so has"):
        layers_together([tmp_path / "two", runs / "pos"])


def test_a_folder_of_runs_may_hold_other_things(runs: Path) -> None:
    Result(Manifest("survey"), {"heads": {"layer": [0]}}).save(runs / "survey")
    (runs / "unfinished").mkdir()
    (runs / "notes.txt").write_text("none", encoding="utf-8")
    assert [run.folder.name for run in find_runs([runs, runs / "pos"])] == ["pos", "roles"]
    with pytest.raises(StoreError, match="a result of attlas layers was expected, and this is of 'survey'"):
        find_runs([runs / "survey"])
    with pytest.raises(StoreError, match="no finished run of attlas layers in it"):
        find_runs([runs / "unfinished"])


def test_what_does_not_belong_together_is_refused(bert: Subject, runs: Path, tmp_path: Path) -> None:
    out = tmp_path / "out"
    heads = run_folder(tmp_path / "heads", bert, "entities", over="heads", probes=False)
    again = run_folder(tmp_path / "again", bert, "pos", probes=False, seed=3)
    other = run_folder(tmp_path / "other", subject(seed=1), "entities", probes=False)
    for more, why in (
        ([heads], "its probes mix heads, and those of .* mix layers"),
        ([again], "it has the task pos, and so has .*; leave one out"),
        ([other], "is of the model twin with other weights, and .* take runs of one model"),
    ):
        with pytest.raises(StoreError, match=why):
            layers_together([runs, *more], out=out)
    with pytest.raises(StoreError, match="one run alone"):
        layers_together([runs / "pos"], out=out)
    assert not out.exists()
