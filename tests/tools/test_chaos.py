"""Chaos: what differs is seen, changes are drawn as they should be, and a short run of kills finds nothing."""

from __future__ import annotations

import os
import random
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from attlas.store import Manifest, Result
from attlas.studies import studies
from tools.chaos.commands import COMMANDS, chosen, resuming
from tools.chaos.contents import contents, differences
from tools.chaos.kills import sampled
from tools.chaos.page import page_of
from tools.chaos.trials import Planned, Trial, carried_out, read_record

ROOT = Path(__file__).resolve().parents[2]
COLUMNS = {
    "stream": ["encoder"],
    "layer": [0],
    "head": [0],
    "value": [0.5],
    "normalised": [1.0],
    "signed": [1.0],
    "n": [4],
}


def saved(folder: Path, started: str = "", **more: list[float]) -> Path:
    manifest = Manifest("importance", model={"name": "tiny"}, started=started)
    result = Result(manifest, {"importance": {**COLUMNS, **more}})
    result.save(folder)
    result.page()
    return folder


def planned(trial: Trial) -> Planned:
    """A trial of which this comes."""
    return Planned(trial.kind, trial.run, trial.number, lambda: (trial.done, list(trial.wrong), trial.note))


def test_every_study_that_resumes_has_a_tiny_run() -> None:
    assert set(resuming()) == {run.split()[0] for run in COMMANDS}
    assert set(resuming()) < set(studies())
    assert chosen(["prune"]) == ["prune", "prune retuned"]


def test_what_differs_but_for_times_is_told(tmp_path: Path) -> None:
    expected = contents(saved(tmp_path / "one", "2026-01-01"))
    later = saved(tmp_path / "later", "2026-01-02")
    assert not differences(contents(later), expected)
    (later / "checkpoint").mkdir()
    (later / "report.html").write_text("half")
    assert differences(contents(later), expected) == [
        "./importance.parquet is not there", "./manifest.json is not there", "checkpoint is too many",
        "./report.html is another",
    ]  # fmt: skip
    other = contents(saved(tmp_path / "other", value=[0.25]))
    assert differences(other, expected) == ["./importance.parquet is another", "./manifest.json is another"]


def test_every_kind_of_change_to_every_file_comes_first() -> None:
    events = ["open\t/a", *["write\t/a"] * 50, "fsync\t/a", "rename\t/b", *["open\t/.tmpAbC", "open\t/.tmpXyZ"]]
    numbers = sampled(events, 0, random.Random(0))
    assert sorted(numbers) == list(range(1, len(events) + 1))
    assert len({events[number - 1].replace("XyZ", "AbC") for number in numbers[:5]}) == 5
    assert numbers[5:6] in ([54], [55])
    assert sampled(events, 3, random.Random(0)) == numbers[:3]


def test_a_trial_that_is_run_again_counts_once(tmp_path: Path) -> None:
    record = tmp_path / "record.jsonl"
    first = Trial("kills", "survey", 3, "rename of /a (3 of 90)", ("a is another",), "killed")
    again = Trial("kills", "survey", 3, "rename of /a (3 of 90)", (), "killed")
    other = Trial("races", "survey", 0, "same plan")
    assert carried_out([planned(first), planned(other)], record) == (2, 1)
    assert carried_out([planned(again), Planned("races", "survey", 0, pytest.fail)], record, processes=2) == (2, 0)
    assert read_record(record) == [again, other]
    page = page_of(read_record(record))
    assert "2 trials, 0 at fault. 1 runs were killed" in page
    assert "| survey | 1 of 90 | 0 | 0 | 0 | 0 | 0 | 1 | 0 |" in page
    assert "- survey, kills, rename of /a (3 of 90): a is another" in page_of([first, other])


@pytest.mark.skipif(sys.platform != "linux", reason="the shim is for Linux")
@pytest.mark.skipif(shutil.which("cc") is None, reason="there is no C compiler")
def test_a_short_run_of_kills(tmp_path: Path) -> None:
    """A training, which has no page to draw, at some changes of its files."""
    record = tmp_path / "record.jsonl"
    words = [sys.executable, "-m", "tools.chaos", "kills", "--study", "tune", "--most", "6", "--record", str(record)]
    environment = {**os.environ, "TMPDIR": str(tmp_path)}
    run = subprocess.run(words, cwd=ROOT, env=environment, capture_output=True, text=True)
    assert run.returncode == 0, run.stdout + run.stderr
    trials = read_record(record)
    assert len(trials) == 7
    assert sum(trial.note.startswith("killed") for trial in trials) >= 5
