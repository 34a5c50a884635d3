"""attlas layers TASK DATA from the command line: what it says and leaves behind, and how it refuses bad input."""

from __future__ import annotations

import json
import time
from pathlib import Path

import pytest
from command_line import Apart, attlas

import twins
from attlas.capture import Subject
from attlas.corpora import EDGE_TASKS
from attlas.store import Result

SMALL = ["--epochs", "2", "--step-pieces", "32", "--quiet"]


def spans(label: str = "short") -> list[dict[str, object]]:
    """Texts whose words are labelled by their length."""
    lines: list[dict[str, object]] = []
    for number, sentence in enumerate(twins.SENTENCES[:4] * 3):
        words = sentence.split()[number % 3 :]
        targets = [
            {"span1": [at, at + 1], "label": label if len(word) < 5 else "long"} for at, word in enumerate(words)
        ]
        lines.append({"words": words, "targets": targets})
    return lines


def write(path: Path, lines: list[dict[str, object]]) -> Path:
    path.write_text("".join(json.dumps(line) + "\n" for line in lines), encoding="utf-8")
    return path


@pytest.fixture(scope="module")
def twin(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A tiny model in a folder."""
    folder = tmp_path_factory.mktemp("model") / "twin"
    Subject.of(twins.model("bert"), twins.tokenizer(False), "twin").save(folder)
    return folder


def test_a_run_of_ones_own_labels(twin: Path, tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    data, out = write(tmp_path / "mine.jsonl", spans()), tmp_path / "out"
    said = attlas(capfd, "layers", data, "--task", "spans", "--model", twin, "--out", out, *SMALL)
    assert (said.status, said.err) == (0, "")
    assert "all layers reach an F1 of" in said.out
    assert said.out.splitlines()[-1] == f"report: {out}/report.html"
    assert sorted(path.name for path in out.iterdir()) == [
        "labels.parquet", "manifest.json", "probes.safetensors", "report.html", "scores.parquet", "tasks.parquet",
        "weights.parquet",
    ]  # fmt: skip
    assert Result.open(out).manifest.corpus["tasks"]["spans"]["labels"] == 2


def test_help_names_every_task(capfd: pytest.CaptureFixture[str]) -> None:
    said = " ".join(attlas(capfd, "layers", "layers", "--help").out.split())
    assert all(task in said for task in EDGE_TASKS)


def test_parts_of_a_folder_are_used(twin: Path, tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    folder = tmp_path / "data"
    folder.mkdir()
    for part, some in (("train", slice(8)), ("dev", slice(8, 10)), ("test", slice(10, 12))):
        write(folder / f"{part}.jsonl", spans()[some])
    out = tmp_path / "out"
    said = attlas(capfd, "layers", folder, "--task", "spans", "--model", twin, "--out", out, "--twin", "none", *SMALL)
    assert (said.status, said.err) == (0, "")
    parts = Result.open(out).manifest.corpus["tasks"]["spans"]["parts"]
    assert {name: part["sentences"] for name, part in parts.items()} == {"train": 8, "dev": 2, "test": 2}


def broken(change: str) -> list[dict[str, object]]:
    lines = spans()
    words = lines[2]["words"]
    assert isinstance(words, list)
    count = len(words)
    if change == "out of range":
        lines[2]["targets"] = [{"span1": [3, count + 5], "label": "x"}]
    elif change == "no labels":
        for line in lines:
            line["targets"] = [{"span1": [0, 1], "label": []}]
    elif change == "no targets":
        for line in lines:
            line["targets"] = []
    return lines


@pytest.mark.parametrize(
    ("change", "more", "words"),
    [
        ("out of range", [], "mine.jsonl, line 3: span1 3:"),
        ("no labels", [], "label"),
        ("no targets", [], "targets"),
        ("", ["--max-disk", "0.000001"], "the states would take"),
        ("", ["--over", "neurons"], "'neurons' cannot be mixed"),
        ("", ["--learning-rate", "0"], "the learning rate must be above 0"),
        ("", ["--resume", "--model", "no such model"], "no such model"),
    ],
)
def test_bad_input_is_one_sentence_and_leaves_nothing(
    change: str, more: list[str], words: str, twin: Path, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    data, out = write(tmp_path / "mine.jsonl", broken(change)), tmp_path / "out"
    said = attlas(capfd, "layers", data, "--task", "spans", "--model", twin, "--out", out, *SMALL, *more)
    assert said.status == 2
    assert words in said.err
    assert len(said.err.strip().splitlines()) == 1
    assert not out.exists()


def test_labels_that_training_never_saw(twin: Path, tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    data, test = write(tmp_path / "mine.jsonl", spans()), write(tmp_path / "test.jsonl", spans("strange"))
    out = tmp_path / "out"
    said = attlas(capfd, "layers", data, "--task", "spans", "--test", test, "--model", twin, "--out", out, *SMALL)
    assert said.status == 2
    assert "edges of the test part have labels that training has never seen ('strange')" in said.err
    assert not out.exists()


def test_a_file_that_cannot_serve_the_task(twin: Path, tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "tale.txt").write_text("It rained.\n", encoding="utf-8")
    said = attlas(
        capfd, "layers", tmp_path / "tale.txt", "--task", "roles", "--model", twin, "--out", tmp_path / "out"
    )
    assert said.status == 2
    assert "the task roles needs semantic roles" in said.err
    assert not (tmp_path / "out").exists()


@pytest.mark.campaign
def test_a_run_that_was_killed_goes_on(twin: Path, tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    data = write(tmp_path / "mine.jsonl", spans())
    out = tmp_path / "out"
    options = [
        "--model", str(twin), "--out", str(out), "--epochs", "25", "--step-pieces", "32", "--checkpoint-every", "0",
        "--twin", "none", "--no-singles",
    ]  # fmt: skip
    child = Apart("layers", data, "--task", "spans", *options)
    until = time.monotonic() + 180
    while not (out / "checkpoint" / "training.safetensors").exists() and time.monotonic() < until:
        time.sleep(0.02)
    child.kill()
    assert not (out / "manifest.json").exists()
    said = attlas(capfd, "layers", data, "--task", "spans", *options)
    assert said.status == 2
    assert "go on with --resume" in said.err
    said = attlas(capfd, "layers", data, "--task", "spans", *options, "--resume")
    assert said.status == 0
    assert "resuming after" in said.err
    assert Result.open(out).manifest.corpus["tasks"]["spans"]["epochs"] == 25
