"""The checkpoint file: whole or absent, old or new."""

from __future__ import annotations

import os
from pathlib import Path

import numpy as np
import pytest

from attlas.errors import StoreError
from attlas.store import clear_checkpoint, load_checkpoint, save_checkpoint
from attlas.store.checkpoint import checkpoint_file

STATE = {
    "file": np.arange(3.0),
    "mean/sums": np.array([[0.1, np.nan], [-0.0, np.inf]]),
    "kind": np.array("PooledMean"),
    "names": np.array([], dtype=np.str_),
    "scalar": np.array(7),
}


def test_it_comes_back_bit_for_bit(tmp_path: Path) -> None:
    save_checkpoint(tmp_path / "out", {"seed": 1, "layers": (0, 1)}, STATE, {"batches": 4, "seconds": 0.1})
    loaded = load_checkpoint(tmp_path / "out")
    assert loaded is not None
    assert loaded.plan == {"seed": 1, "layers": [0, 1]}
    assert loaded.progress == {"batches": 4, "seconds": 0.1}
    assert list(loaded.state) == list(STATE)
    for key, array in STATE.items():
        assert loaded.state[key].dtype == array.dtype
        assert loaded.state[key].shape == array.shape
        assert loaded.state[key].tobytes() == array.tobytes()
    assert [path.name for path in (tmp_path / "out").rglob("*") if path.is_file()] == ["state.npz"]


def test_a_kill_before_the_rename_leaves_the_old_one(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    save_checkpoint(tmp_path, {"seed": 1}, {"a": np.zeros(2)}, {"batches": 1})

    class Killed(BaseException):
        pass

    def killed(*_: object) -> None:
        raise Killed

    with monkeypatch.context() as patch:
        patch.setattr(os, "replace", killed)
        with pytest.raises(Killed):
            save_checkpoint(tmp_path, {"seed": 1}, {"a": np.ones(2)}, {"batches": 2})
    (tmp_path / "checkpoint" / "state.npz.new").write_bytes(b"half of one")  # which a real kill leaves
    old = load_checkpoint(tmp_path)
    assert old is not None
    assert old.progress == {"batches": 1}
    assert old.state["a"].sum() == 0
    save_checkpoint(tmp_path, {"seed": 1}, {"a": np.ones(2)}, {"batches": 3})
    new = load_checkpoint(tmp_path)
    assert new is not None
    assert new.progress == {"batches": 3}
    assert len(list((tmp_path / "checkpoint").iterdir())) == 1


def test_a_half_written_first_one_is_none(tmp_path: Path) -> None:
    (tmp_path / "checkpoint").mkdir()
    (tmp_path / "checkpoint" / "state.npz.new").write_bytes(b"PK half")
    assert load_checkpoint(tmp_path) is None
    clear_checkpoint(tmp_path)
    assert list(tmp_path.iterdir()) == []


def test_broken_and_newer_ones_say_what_to_do(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    save_checkpoint(tmp_path, {}, STATE, {})
    path = tmp_path / "checkpoint" / "state.npz"
    whole = path.read_bytes()
    for content in (b"", b"nonsense", whole[: len(whole) // 2]):
        path.write_bytes(content)
        with pytest.raises(StoreError, match=r"state\.npz: this checkpoint cannot be read .*delete it to start over"):
            load_checkpoint(tmp_path)
    np.savez(path, other=np.ones(1))
    with pytest.raises(StoreError, match="cannot be read"):
        load_checkpoint(tmp_path)
    monkeypatch.setattr("attlas.store.checkpoint.SCHEMA", 2)
    save_checkpoint(tmp_path, {}, STATE, {})
    monkeypatch.undo()
    with pytest.raises(StoreError, match="schema 2, and this attlas reads up to 1"):
        load_checkpoint(tmp_path)


def test_objects_are_refused(tmp_path: Path) -> None:
    with pytest.raises(StoreError, match="state/a: arrays of Python objects"):
        save_checkpoint(tmp_path, {}, {"a": np.array([object()])}, {})
    (tmp_path / "file").write_text("")
    with pytest.raises(StoreError, match="cannot be written"):
        save_checkpoint(tmp_path / "file", {}, {}, {})


def test_clearing_keeps_what_is_not_ours(tmp_path: Path) -> None:
    save_checkpoint(tmp_path, {}, STATE, {})
    (tmp_path / "checkpoint" / "notes.txt").write_text("mine")
    clear_checkpoint(tmp_path)
    assert [path.name for path in (tmp_path / "checkpoint").iterdir()] == ["notes.txt"]


def test_a_checkpoint_of_another_part_is_refused(tmp_path: Path) -> None:
    """Two files that have changed places: of one plan, and of arrays of the same names."""
    for part, value in (("trained", 1.0), ("untrained", 2.0)):
        save_checkpoint(tmp_path, {"seed": 0}, {"sums": np.full(3, value)}, {"batches": 3}, part)
    checkpoint_file(tmp_path, "trained").replace(checkpoint_file(tmp_path, "untrained"))
    with pytest.raises(StoreError, match=r"state-untrained.npz: .*that of the part 'trained'.*; delete it"):
        load_checkpoint(tmp_path, "untrained")
