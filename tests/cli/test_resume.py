"""A survey that is killed again and again ends with the very numbers of one that was left alone."""

from __future__ import annotations

import json
import random
import re
import sys
import time
from pathlib import Path
from typing import Any

import pytest
from command_line import Apart, attlas, one_thread

import twins
from attlas.capture import load
from attlas.store import Result, load_checkpoint
from attlas.studies.survey.call import survey

SENTENCES, BUDGET = 160, 24
KILLS = (6, 20)  # batches that must be done before each


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


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with a model and a corpus."""
    made = tmp_path_factory.mktemp("place")
    twins.model("bert").save_pretrained(made / "bert")
    twins.tokenizer(False).save_pretrained(made / "bert")
    (made / "words.conllu").write_text(treebank(SENTENCES), encoding="utf-8")
    return made


def left_alone(place: Path, out: str, **options: Any) -> Path:
    """The same survey without interruptions, in this process."""
    with one_thread():
        survey(load(place / "bert"), place / "words.conllu", budget=BUDGET, out=place / out, **options)
    return place / out


@pytest.fixture(scope="module")
def whole(place: Path) -> Path:
    """What the survey comes to when nobody kills it."""
    return left_alone(place, "whole")


def arguments(place: Path, out: Path) -> list[str]:
    """The survey as a command, with a checkpoint after every batch."""
    asked = ["survey", str(place / "words.conllu"), "--model", str(place / "bert"), "--budget", str(BUDGET)]
    return [*asked, "--checkpoint-every", "0", "--out", str(out)]


def kill_past(batch: int, child: Apart, out: Path) -> tuple[int, str]:
    """Kill a run once its checkpoint is past a batch; how far it had come, and what it had said."""
    deadline = time.monotonic() + 120
    while time.monotonic() < deadline and not child.ended:
        checkpoint = load_checkpoint(out)
        if checkpoint is not None and checkpoint.progress["batches"] > batch:
            break
        time.sleep(0.02)
    said = child.kill()
    checkpoint = load_checkpoint(out)
    assert checkpoint is not None, said
    return int(checkpoint.progress["batches"]), said


def manifest(folder: Path) -> dict[str, Any]:
    read: dict[str, Any] = json.loads((folder / "manifest.json").read_text(encoding="utf-8"))
    del read["started"], read["seconds"]
    return read


@pytest.mark.campaign
@pytest.mark.skipif(sys.platform == "win32", reason="Windows knows no SIGKILL")
def test_a_survey_killed_again_and_again(place: Path, whole: Path, capfd: pytest.CaptureFixture[str]) -> None:
    """Killed as it begins and as it goes on, each time in a process of its own; then it goes on to its end here."""
    torn = place / "torn"
    reached: list[int] = []
    for batch in KILLS:
        options = ["--resume"] if reached else []
        child = Apart(*arguments(place, torn), *options)
        count, said = kill_past(batch, child, torn)
        assert [path.name for path in torn.iterdir()] == ["checkpoint"]
        if reached:
            assert f"resuming after {reached[-1]} of " in said
        reached.append(count)
    assert reached == sorted(set(reached))

    with one_thread():
        last = attlas(capfd, *arguments(place, torn), "--resume")
    assert last.status == 0, last
    resumed = re.search(r"resuming after (\d+) of (\d+) batches", last.err)
    assert resumed is not None, last
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


def test_other_numbers_would_be_noticed(place: Path, whole: Path) -> None:
    """Else the test above could not fail: one sentence less gives other values in tables of the same shape."""
    fewer = left_alone(place, "fewer", limit=SENTENCES - 1)
    expected, found = (Result.open(folder).tables["heads"] for folder in (whole, fewer))
    assert found.shape == expected.shape
    assert not found.equals(expected)
