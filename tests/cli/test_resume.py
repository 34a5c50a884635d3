"""A survey that is killed again and again ends with the very numbers of one that was left alone."""

from __future__ import annotations

import json
import os
import random
import re
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest
import torch

import twins
from attlas.capture import load
from attlas.run.survey import survey
from attlas.store import Result, load_checkpoint

SENTENCES, BUDGET = 320, 24
KILLS = (10, 35, 60)  # batches that must be done before each
COMMAND = "from attlas.cli import main; main()"


def treebank(sentences: int) -> str:
    """Random words with parts of speech and random trees, so that every statistic of the survey has work to do."""
    draw = random.Random(0)
    words = sorted({word.strip(".,;") for sentence in twins.SENTENCES[:4] for word in sentence.split()})
    blocks = []
    for _ in range(sentences):
        rows = []
        for number in range(1, draw.randint(3, 12) + 1):
            governor = draw.randrange(1, number) if number > 1 else 0
            tag, relation = draw.choice(["NOUN", "VERB", "ADJ"]), "dep" if governor else "root"
            rows.append(f"{number}\t{draw.choice(words)}\t_\t{tag}\t_\t_\t{governor}\t{relation}\t_\t_")
        blocks.append("\n".join(rows) + "\n")
    return "\n".join(blocks)


@pytest.fixture
def place(tmp_path: Path) -> Path:
    """A folder with a model and a corpus."""
    twins.model("bert").save_pretrained(tmp_path / "bert")
    twins.tokenizer(False).save_pretrained(tmp_path / "bert")
    (tmp_path / "words.conllu").write_text(treebank(SENTENCES), encoding="utf-8")
    return tmp_path


def left_alone(place: Path, out: str, **options: Any) -> Path:
    """The same survey without interruptions, in this process; one thread here as there."""
    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    try:
        survey(load(place / "bert"), place / "words.conllu", budget=BUDGET, out=place / out, **options)
    finally:
        torch.set_num_threads(threads)
    return place / out


def start(place: Path, out: Path, *options: str) -> subprocess.Popen[str]:
    """The real command in a process of its own, with a checkpoint after every batch."""
    command = [sys.executable, "-c", COMMAND, "survey", str(place / "words.conllu"), "--model", str(place / "bert")]
    command += ["--budget", str(BUDGET), "--checkpoint-every", "0", "--out", str(out), *options]
    environment = {**os.environ, "OMP_NUM_THREADS": "1"}
    return subprocess.Popen(
        command, env=environment, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True, encoding="utf-8"
    )


def kill_past(batch: int, child: subprocess.Popen[str], out: Path) -> tuple[int, str]:
    """Kill a run once its checkpoint is past a batch; how far it had come, and what it had said."""
    deadline = time.monotonic() + 120
    while time.monotonic() < deadline and child.poll() is None:
        checkpoint = load_checkpoint(out)
        if checkpoint is not None and checkpoint.progress["batches"] > batch:
            break
        time.sleep(0.02)
    child.send_signal(signal.SIGKILL)
    said = child.communicate()[1]
    assert child.returncode == -signal.SIGKILL, said
    checkpoint = load_checkpoint(out)
    assert checkpoint is not None, said
    return int(checkpoint.progress["batches"]), said


def manifest(folder: Path) -> dict[str, Any]:
    read: dict[str, Any] = json.loads((folder / "manifest.json").read_text(encoding="utf-8"))
    del read["started"], read["seconds"]
    return read


@pytest.mark.skipif(sys.platform == "win32", reason="Windows knows no SIGKILL")
def test_a_survey_killed_three_times(place: Path) -> None:
    whole, torn = left_alone(place, "whole"), place / "torn"
    reached: list[int] = []
    for batch in KILLS:
        count, said = kill_past(batch, start(place, torn, *(["--resume"] if reached else [])), torn)
        assert [path.name for path in torn.iterdir()] == ["checkpoint"]
        if reached:
            assert f"resuming after {reached[-1]} of " in said
        reached.append(count)
    assert reached == sorted(set(reached))

    last = start(place, torn, "--resume")
    said = last.communicate()[1]
    assert last.returncode == 0, said
    resumed = re.search(r"resuming after (\d+) of (\d+) batches", said)
    assert resumed is not None, said
    assert reached[-1] == int(resumed[1]) < int(resumed[2])
    assert sorted(path.name for path in torn.iterdir() if path.name != "report.html") == sorted(
        path.name for path in whole.iterdir()
    )
    assert manifest(torn) == manifest(whole)
    expected, found = Result.open(whole).tables, Result.open(torn).tables
    assert list(found) == list(expected) == ["heads", "pos", "spearman", "frequency", "portraits"]
    for name, table in expected.items():
        assert table.num_rows > 0
        assert found[name].equals(table), name


def test_other_numbers_would_be_noticed(place: Path) -> None:
    """Else the test above could not fail: one sentence less gives other values in tables of the same shape."""
    one, other = left_alone(place, "all"), left_alone(place, "fewer", limit=SENTENCES - 1)
    expected, found = (Result.open(folder).tables["heads"] for folder in (one, other))
    assert found.shape == expected.shape
    assert not found.equals(expected)
