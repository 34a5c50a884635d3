"""How a command ends when it is told to: with a checkpoint, a sentence, and a status that says by what; and folders
that can be verified."""

from __future__ import annotations

import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
from typer.testing import CliRunner

from attlas.cli.app import app
from attlas.store import Manifest, Result
from attlas.whole import writing


@pytest.mark.parametrize(("number", "words"), [(signal.SIGTERM, "terminated"), (signal.SIGHUP, "closed")])
def test_a_request_to_end_leaves_a_checkpoint_and_a_sentence(number: int, words: str, tmp_path: Path) -> None:
    out = tmp_path / "out"
    line = [sys.executable, "-m", "attlas", "survey", "sample", "--max-pieces", "32", "--out", str(out)]
    run = subprocess.Popen(line, stderr=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    until = time.monotonic() + 60
    while not list(out.glob("checkpoint/state*.npz")) and run.poll() is None and time.monotonic() < until:
        time.sleep(0.05)
    run.send_signal(number)
    _, said = run.communicate(timeout=60)
    assert run.returncode in (128 + number, 0), said
    if run.returncode:
        assert words in said.splitlines()[-1]
        assert "Traceback" not in said
        assert list(out.glob("checkpoint/state*.npz"))


def test_verify_tells_what_is_damaged(tmp_path: Path) -> None:
    whole, hurt = (
        Result(Manifest("fold"), {"heads": {"layer": [0, 1], "value": [0.5, number]}}).save(tmp_path / name)
        for name, number in (("whole", 1.0), ("hurt", 2.0))
    )
    told = CliRunner().invoke(app, ["verify", str(whole)])
    assert told.exit_code == 0
    assert "its manifest and 1 tables agree with their checksums" in told.stdout
    table = hurt / "heads.parquet"
    damaged = bytearray(table.read_bytes())
    damaged[len(damaged) // 2] ^= 4
    table.write_bytes(bytes(damaged))
    told = CliRunner().invoke(app, ["verify", str(whole), str(hurt)])
    assert told.exit_code == 1
    assert "heads.parquet: this table does not agree with the checksum" in told.stdout


def test_a_file_that_could_not_be_written_leaves_the_old_one(tmp_path: Path) -> None:
    place = tmp_path / "report.html"
    place.write_text("old")
    with pytest.raises(TypeError), writing(place) as file:
        file.writelines([b"half of", None])  # type: ignore[list-item]
    assert place.read_text() == "old"
    assert [path.name for path in tmp_path.iterdir()] == ["report.html"]
