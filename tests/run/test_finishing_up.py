"""Runs that were killed at their very end: what was cut off is done, and nothing of it is left."""

from __future__ import annotations

import json
from pathlib import Path

from attlas.run.session import begin
from attlas.run.setting import as_corpus, as_subject
from attlas.run.training import RECORD, done_before
from attlas.store import Result
from attlas.store.checkpoint import FOLDER, PLAN
from attlas.store.folder import SAVED


def files(folder: Path) -> list[str]:
    return sorted(path.relative_to(folder).as_posix() for path in folder.rglob("*"))


def left_by_a_kill(folder: Path) -> None:
    """What a run that has just been decided leaves of its way there."""
    (folder / FOLDER).mkdir(exist_ok=True)
    for name in (PLAN, "state-part.npz", ".tmpAbC", "state.npz.new"):
        (folder / FOLDER / name).write_bytes(b"left")


def test_a_training_whose_files_were_on_their_way(tmp_path: Path) -> None:
    plan = {"study": "tune"}
    (tmp_path / SAVED).mkdir()
    (tmp_path / SAVED / RECORD).write_text(json.dumps({"plan": plan}))
    (tmp_path / SAVED / "config.json").write_text("{}")
    (tmp_path / "model.safetensors").write_bytes(b"moved up before")
    left_by_a_kill(tmp_path)
    (tmp_path / FOLDER / "training.safetensors").write_bytes(b"left")
    assert done_before(tmp_path, plan, resume=False) is None
    assert (tmp_path / SAVED).exists()
    assert done_before(tmp_path, plan, resume=True) == {"plan": plan}
    assert files(tmp_path) == ["config.json", "model.safetensors", RECORD]


def test_a_result_whose_checkpoints_were_on_their_way_out(tmp_path: Path) -> None:
    with begin("toy", as_subject(None), as_corpus("sample"), {}, {"out": tmp_path}) as run:
        run.finish({"heads": {"layer": [0]}})
    left_by_a_kill(tmp_path)
    (tmp_path / SAVED).mkdir()
    (tmp_path / "heads.parquet").rename(tmp_path / SAVED / "heads.parquet")
    (tmp_path / FOLDER / PLAN).unlink()  # which would be read, as that of the very run
    with begin("toy", as_subject(None), as_corpus("sample"), {}, {"out": tmp_path, "resume": True}) as run:
        finished = run.finished_before()
    assert isinstance(finished, Result)
    assert finished.table.to_pydict() == {"layer": [0]}
    assert files(tmp_path) == ["heads.parquet", "manifest.json"]
