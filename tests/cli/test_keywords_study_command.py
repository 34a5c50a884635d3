"""attlas keywords study from the command line: what it says, a real kill, and one sentence for bad input."""

from __future__ import annotations

import json
import sys
import time
from pathlib import Path

import pytest
from command_line import Apart, attlas, one_thread

import twins
from attlas.capture import Subject
from attlas.store import Result, load_checkpoint
from attlas.studies.keywords_study.call import keywords_study

SMALL = ("--folds", 2, "--steps", "1,4", "--twin", "none")


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A tiny model, and texts whose key phrase is an old thing."""
    made = tmp_path_factory.mktemp("place")
    Subject.of(twins.model("bert"), twins.tokenizer(False), "twin").save(made / "twin")
    lines = []
    for number, sentence in enumerate(twins.SENTENCES[:4] * 12):
        words = sentence.split()
        words[number % 5 : number % 5] = ["old", "bridge"]
        lines.append(json.dumps({"id": str(number), "text": " ".join(words), "keyphrases": ["old bridges", "moon"]}))
    (made / "texts.jsonl").write_text("\n".join(lines), encoding="utf-8")
    (made / "absent.jsonl").write_text('{"text": "It rained.", "keyphrases": ["moon"]}\n' * 9, encoding="utf-8")
    (made / "plain.txt").write_text("It rained.\n", encoding="utf-8")
    return made


@pytest.mark.campaign
@pytest.mark.skipif(sys.platform == "win32", reason="Windows knows no SIGKILL")
def test_a_study_that_was_killed(place: Path, capfd: pytest.CaptureFixture[str]) -> None:
    """Killed as it reads, it goes on to the same tables as one that was left alone."""
    asked = ("keywords", "study", place / "texts.jsonl", "--model", place / "twin", "--budget", 24, *SMALL)
    torn = place / "torn"
    child = Apart(*asked, "--checkpoint-every", 0, "--out", torn)
    deadline = time.monotonic() + 120
    while time.monotonic() < deadline and not child.ended and load_checkpoint(torn, "model") is None:
        time.sleep(0.01)
    said = child.kill()
    assert "key words" in said
    with one_thread():
        again = attlas(capfd, *asked, "--out", torn, "--resume")
        alone = keywords_study(
            str(place / "twin"), place / "texts.jsonl", budget=24, folds=2, steps=[1, 4], twin="none"
        )
    assert again.status == 0, again
    assert "resuming after" in again.err
    assert "tells key words from others best" in again.out
    assert "A regression on all 12 heads" in again.out
    found = Result.open(torn).tables
    for name, table in alone.tables.items():
        assert found[name].equals(table), name
    assert {path.name for path in torn.iterdir()} == {
        *(f"{name}.parquet" for name in alone.tables), "manifest.json", "report.html",
    }  # fmt: skip


@pytest.mark.parametrize(
    ("arguments", "phrases"),
    [
        (["plain.txt"], ["plain.txt", "no key phrases"]),
        (["absent.jsonl"], ["absent.jsonl", "no key phrase occurs in any text"]),
        (["texts.jsonl", "--test", "absent.jsonl"], ["absent.jsonl", "no key phrase occurs in any text"]),
        (["texts.jsonl", "--limit", "3"], ["only 3 of its documents", "--folds"]),
        (["texts.jsonl", "--language", "klingon"], ["no stemmer for 'klingon'"]),
        (["texts.jsonl", "--kind", "mean"], ["'mean' is no kind", "norm-mean"]),
        (["texts.jsonl", "--steps", "1,few"], ["'1,few'", "1,5,20"]),
        (["texts.jsonl", "--steps", "0"], ["at least 1"]),
        (["texts.jsonl", "--max-disk", "0"], ["--max-disk allows 0 GB"]),
    ],
)
def test_bad_input(
    arguments: list[str], phrases: list[str], place: Path, monkeypatch: pytest.MonkeyPatch,
    capfd: pytest.CaptureFixture[str],
) -> None:  # fmt: skip
    monkeypatch.chdir(place)
    attlas(capfd, "keywords", "study", *arguments, "--model", "twin", "--out", "out", "--quiet").refuses(*phrases)
    assert not (place / "out").exists()
