"""attlas layers case and attlas layers together from the command line: what they say when all is well, and one
sentence when not."""

from __future__ import annotations

from pathlib import Path

import pytest
from command_line import attlas

import twins
from attlas.capture import Subject, load
from attlas.store import Result
from edge_runs import run_folder

TEXT = "The farmer can't sleep."


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A model and three runs on it."""
    folder = tmp_path_factory.mktemp("made")
    model = Subject.of(twins.model("bert"), twins.tokenizer(False), "twin")
    model.save(folder / "twin")
    opened = load(str(folder / "twin"))
    run_folder(folder / "runs" / "pos", opened, "pos")
    run_folder(folder / "runs" / "roles", opened, "roles", paired=True, labels=["ARG0", "ARG1"])
    run_folder(folder / "bare", opened, "entities", probes=False)
    return folder


@pytest.fixture
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return tmp_path


def test_a_case(made: Path, place: Path, capfd: pytest.CaptureFixture[str]) -> None:
    said = attlas(
        capfd, "layers", "case", TEXT, "--span", "1:2", "--span", "0:2,3:4", "--runs", made / "runs", "--model",
        made / "twin", "--quiet",
    )  # fmt: skip
    assert (said.status, said.err) == (0, "")
    lines = said.out.splitlines()
    assert lines[0].startswith("twin on one sentence: 1 document, ")
    assert "at the first and at the last layer differs in" in " ".join(lines)
    assert "“farmer”" in said.out
    assert "“The farmer”" in said.out
    assert lines[-1] == "report: layers-case-twin-The-farmer-can-t-sleep/report.html"
    result = Result.open(place / "layers-case-twin-The-farmer-can-t-sleep")
    assert result.manifest.plan["options"]["words"] == ["The", "farmer", "can't", "sleep", "."]


def test_words_between_blanks(made: Path, place: Path, capfd: pytest.CaptureFixture[str]) -> None:
    said = attlas(
        capfd, "layers", "case", "The farmer ca n't sleep", "--words", "-s", "2:4", "-r", made / "runs" / "pos",
        "--model", made / "twin", "--out", "out", "--quiet",
    )  # fmt: skip
    assert (said.status, said.err) == (0, "")
    assert set(Result.open(place / "out").table.column("first_words").to_pylist()) == {"ca n't"}


@pytest.mark.parametrize(
    ("arguments", "phrases"),
    [
        ([TEXT, "-s", "4:9", "-r", "runs"], ["4:9 is outside the 5 words", "3 sleep"]),
        ([TEXT, "-s", "third", "-r", "runs"], ["'third' is neither"]),
        ([TEXT, "-r", "runs"], ["no span was asked about"]),
        ([TEXT, "-s", "0:1"], ["no run was named"]),
        (["", "-s", "0:1", "-r", "runs"], ["has no words"]),
        ([TEXT, "-s", "0:1", "-r", "nowhere"], ["nowhere: there is no such folder"]),
        ([TEXT, "-s", "0:1", "-r", "bare"], ["no probes here"]),
        ([TEXT, "-s", "0:1,1:2", "-r", "runs/pos"], ["labels pairs of spans"]),
        ([TEXT, "-s", "0:1", "-r", "runs"], ["the runs are of twin", "say --model"]),
    ],
)
def test_what_cannot_be_asked_is_refused_in_one_sentence(
    arguments: list[str], phrases: list[str], made: Path, place: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    placed = [str(made / one) if arguments[at - 1] == "-r" else one for at, one in enumerate(arguments)]
    said = attlas(capfd, "layers", "case", *placed, "--out", "out", "--quiet")
    said.refuses(*phrases)
    assert not (place / "out").exists()


def test_another_model_is_refused(made: Path, place: Path, capfd: pytest.CaptureFixture[str]) -> None:
    twins.model("bert", seed=1).save_pretrained(place / "other")
    twins.tokenizer(False).save_pretrained(place / "other")
    said = attlas(
        capfd, "layers", "case", TEXT, "-s", "0:1", "-r", made / "runs", "-m", place / "other", "-o", "out", "-q"
    )
    said.refuses("trained on twin, and other has other weights")
    assert not (place / "out").exists()


def test_together(made: Path, place: Path, capfd: pytest.CaptureFixture[str]) -> None:
    said = attlas(capfd, "layers", "together", made / "runs", made / "bare")
    assert (said.status, said.err) == (0, "")
    assert said.out.startswith("twin on 3 tasks: 33 passages, 297 pieces")
    assert "expected layer" in " ".join(said.out.split())
    folder = place / "layers-together-twin"
    assert set(Result.open(folder).table.column("task").to_pylist()) == {"pos", "roles", "entities"}
    assert "Which layers of twin know what?" in (folder / "report.html").read_text(encoding="utf-8")


def test_runs_that_do_not_belong_together(made: Path, place: Path, capfd: pytest.CaptureFixture[str]) -> None:
    attlas(capfd, "layers", "together", made / "runs" / "pos", "-o", "out").refuses("this is one run alone")
    again = run_folder(place / "again", load(str(made / "twin")), "pos", probes=False)
    attlas(capfd, "layers", "together", made / "runs", again, "-o", "out").refuses("it has the task pos, and so has")
    assert not (place / "out").exists()
