"""One run at a time in a folder: who holds it is told, a run that is gone is told apart, nothing is left behind."""

from __future__ import annotations

import json
import os
import socket
import subprocess
import sys
from collections.abc import Iterator
from contextlib import AbstractContextManager
from pathlib import Path

import pytest

from attlas.errors import PlanError, StoreError
from attlas.run.session import Run, begin
from attlas.run.setting import as_corpus, as_subject
from attlas.store.checkpoint import FOLDER, PLAN, kept_plan
from attlas.store.lock import LOCK, holding, require_unheld

needs_locks = pytest.mark.skipif(sys.platform == "win32", reason="the system's locks are those of Unix")


def run_in(out: Path, *, resume: bool = False, depth: int = 1) -> AbstractContextManager[Run]:
    return begin("toy", as_subject(None), as_corpus("sample"), {"depth": depth}, {"out": out, "resume": resume})


@pytest.fixture
def other(tmp_path: Path) -> Iterator[subprocess.Popen[str]]:
    """Another process that holds the folder ``out``."""
    program = (
        "import sys, pathlib; from attlas.store.lock import holding\n"
        "with holding(pathlib.Path(sys.argv[1])): print('held', flush=True); sys.stdin.read()"
    )
    process = subprocess.Popen(
        [sys.executable, "-c", program, str(tmp_path / "out")],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )
    assert process.stdout is not None
    assert process.stdout.readline() == "held\n"
    yield process
    process.kill()
    process.communicate()


@needs_locks
@pytest.mark.parametrize("resume", [False, True])
def test_a_second_run_is_refused_with_the_owner(other: subprocess.Popen[str], tmp_path: Path, resume: bool) -> None:
    sentence = f"another run works here .process {other.pid} on this machine, since 20"
    with pytest.raises(StoreError, match=sentence):
        require_unheld(tmp_path / "out")
    with pytest.raises(StoreError, match=sentence), run_in(tmp_path / "out", resume=resume):
        pass


@needs_locks
def test_a_killed_run_is_told_apart_and_taken_over(other: subprocess.Popen[str], tmp_path: Path) -> None:
    other.kill()
    other.wait()
    assert (tmp_path / "out" / LOCK).exists()
    with holding(tmp_path / "out") as stale:
        assert stale is not None
        assert f"an earlier run here was cut off (process {other.pid} on this machine" in stale
        assert json.loads((tmp_path / "out" / LOCK).read_text())["process"] == os.getpid()
    assert not (tmp_path / "out" / LOCK).exists()


def test_a_lock_of_another_host_is_believed(tmp_path: Path) -> None:
    (tmp_path / LOCK).write_text(json.dumps({"process": 1, "host": "elsewhere", "started": "2026-01-01"}))
    with pytest.raises(StoreError, match=r"process 1 on elsewhere, since 2026-01-01.*if it has ended, delete"):
        require_unheld(tmp_path)


@pytest.mark.parametrize("words", ["", "[" * 3000, "7", '{"process": "x"'])
def test_half_words_in_a_lock(tmp_path: Path, words: str) -> None:
    """As a kill while they were written leaves them."""
    (tmp_path / LOCK).write_text(words)
    with holding(tmp_path) as stale:
        assert stale is None
        assert json.loads((tmp_path / LOCK).read_text())["host"] == socket.gethostname()


def test_nothing_is_left_of_a_run_that_did_nothing(tmp_path: Path) -> None:
    with run_in(tmp_path / "deep" / "out"):
        assert kept_plan(tmp_path / "deep" / "out") is not None
    assert not list(tmp_path.iterdir())


def test_a_run_killed_at_once_is_not_resumed_by_another(tmp_path: Path) -> None:
    with run_in(tmp_path / "out"):
        plan = (tmp_path / "out" / FOLDER / PLAN).read_bytes()
    place = tmp_path / "out" / FOLDER
    place.mkdir(parents=True)
    (place / PLAN).write_bytes(plan)  # as a kill leaves it
    refused = pytest.raises(PlanError, match=r"another plan .options, depth: was 1, is now 2")
    with refused, run_in(tmp_path / "out", resume=True, depth=2):
        pass
    with run_in(tmp_path / "out", resume=True):
        pass


def test_leftovers_of_a_killed_run_go(tmp_path: Path) -> None:
    place = tmp_path / FOLDER
    place.mkdir()
    for name in (".tmpAbC", "training.safetensors.new", "state-x.npz.new"):
        (place / name).write_bytes(b"half")
    for name in (".toy.jsonl.new", ".tmpAbCdEf"):
        (tmp_path / name).write_bytes(b"half")
    with run_in(tmp_path):
        assert sorted(path.name for path in place.iterdir()) == [PLAN]
    assert not list(tmp_path.iterdir())
