"""What retraining has left in the folder of a pruned model goes whole or not at all."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from attlas.studies.prune.call import REMOVING, RETUNING, _publish


def test_a_training_that_is_being_removed_is_no_finished_one(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / RETUNING).mkdir()
    for name in ("config.json", "manifest.json"):
        (tmp_path / RETUNING / name).write_text("{}")
    remove = shutil.rmtree

    def told_to_end(folder: Path, *, ignore_errors: bool) -> None:
        if folder.exists():
            (folder / "config.json").unlink()
            raise KeyboardInterrupt
        remove(folder, ignore_errors=ignore_errors)

    with monkeypatch.context() as patch:
        patch.setattr(shutil, "rmtree", told_to_end)
        with pytest.raises(KeyboardInterrupt):
            _publish(tmp_path)
    assert not (tmp_path / RETUNING).exists()
    _publish(tmp_path)
    assert not (tmp_path / REMOVING).exists()
    assert list(tmp_path.iterdir()) == []
