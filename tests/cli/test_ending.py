"""How a command ends when it is told to: with a checkpoint, a sentence, and a status that says by what; and folders
that can be verified."""

from __future__ import annotations

import signal
import subprocess
import sys
from pathlib import Path

import pytest
from typer.testing import CliRunner

from attlas.cli.app import app
from attlas.store import Manifest, Result
from attlas.whole import writing

WAITING = """
import time, typer
from attlas import cli
from attlas.cli import app

app.app = typer.Typer()

@app.app.command()
def wait() -> None:
    try:
        print("ready", flush=True)
        time.sleep(60)
    except KeyboardInterrupt:
        print("left a checkpoint", flush=True)
        raise

cli.main()
"""


@pytest.mark.parametrize(
    ("number", "words"),
    [(signal.SIGTERM, "terminated"), (signal.SIGHUP, "its terminal was closed"), (signal.SIGINT, "interrupted")],
)
def test_a_request_to_end_is_as_an_interrupt_from_the_keyboard(number: int, words: str) -> None:
    line = [sys.executable, "-c", WAITING]
    run = subprocess.Popen(
        line, stderr=subprocess.PIPE, stdout=subprocess.PIPE, text=True,
        preexec_fn=lambda: signal.signal(number, signal.SIG_DFL),  # which the tests themselves may have to ignore
    )  # fmt: skip
    assert run.stdout is not None
    assert run.stdout.readline() == "ready\n"
    run.send_signal(number)
    said, told = run.communicate(timeout=30)
    assert run.returncode == 128 + number
    assert said == "left a checkpoint\n"
    assert told == f"attlas: {words}\n"


def test_verify_tells_what_is_damaged(tmp_path: Path) -> None:
    columns = {"stream": ["encoder"], "layer": [0], "head": [0], "normalised": [1.0], "signed": [1.0]}
    whole, hurt = (
        Result(Manifest("toy"), {"importance": {**columns, "value": [number]}}).save(tmp_path / name)
        for name, number in (("whole", 1.0), ("hurt", 2.0))
    )
    told = CliRunner().invoke(app, ["verify", str(whole)])
    assert told.exit_code == 0
    assert "its manifest and 1 tables agree with their checksums" in told.stdout
    table = hurt / "importance.parquet"
    damaged = bytearray(table.read_bytes())
    damaged[len(damaged) // 2] ^= 4
    table.write_bytes(bytes(damaged))
    told = CliRunner().invoke(app, ["verify", str(whole), str(hurt)])
    assert told.exit_code == 1
    assert "importance.parquet: this table does not agree with the checksum" in told.stdout


def test_a_file_that_could_not_be_written_leaves_the_old_one(tmp_path: Path) -> None:
    place = tmp_path / "report.html"
    place.write_text("old")
    with pytest.raises(TypeError), writing(place) as file:
        file.writelines([b"half of", None])  # type: ignore[list-item]
    assert place.read_text() == "old"
    assert [path.name for path in tmp_path.iterdir()] == ["report.html"]
