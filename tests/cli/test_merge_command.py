"""attlas merge: parts that commands have left, joined to what one command writes."""

from __future__ import annotations

from pathlib import Path

import pytest
from command_line import attlas

import twins
from attlas.capture import Subject
from attlas.store import Result
from attlas.studies.survey.call import survey

TREEBANK = "".join(
    f"# newdoc id = {number}\n1\tThe\t_\tDET\t_\t_\t2\tdet\t_\t_\n2\t{noun}\t_\tNOUN\t_\t_\t3\tnsubj\t_\t_\n"
    "3\tslept\t_\tVERB\t_\t_\t0\troot\t_\t_\n\n"
    for number, noun in enumerate(
        ("farmer", "designer", "children", "storm", "engineer", "bridge", "station", "housekeeper")
    )
)


@pytest.fixture(scope="module")
def model(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("models") / "tiny"
    Subject.of(twins.model("bert"), twins.tokenizer(False), "tiny").save(folder)
    return folder


@pytest.fixture(autouse=True)
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path("treebank.conllu").write_text(TREEBANK, encoding="utf-8")


def test_parts_of_a_command_become_its_result(model: Path, capfd: pytest.CaptureFixture[str]) -> None:
    asked = ["survey", "treebank.conllu", "-m", str(model), "--budget", "12", "--limits", "line=1000000", "-q"]
    for number in (1, 2, 3):
        said = attlas(capfd, *asked, "--part", f"{number}/3", "--out", f"part-{number}")
        assert said.out == f"part {number}/3 of survey: part-{number}; attlas merge joins all of them\n"
    attlas(capfd, "report", "part-2").refuses(
        "part-2: this is part 2 of 3 of a survey and no result; join all of them with attlas merge"
    )
    attlas(capfd, "merge", "part-1", "part-3", "--out", "some").refuses("of 3 parts number 2 is missing")
    said = attlas(capfd, "merge", "part-3", "part-1", "part-2", "--out", "merged", "-q")
    assert said.status == 0, said.err
    assert "report: merged/report.html" in said.out
    assert attlas(capfd, *asked, "--out", "whole").status == 0
    merged, whole = Result.open("merged"), Result.open("whole")
    assert merged.manifest.plan == whole.manifest.plan
    assert {name: table.num_rows for name, table in merged.tables.items()} == {
        name: table.num_rows for name, table in whole.tables.items()
    }
    attlas(capfd, "merge", "part-1", "part-2", "part-3", "--out", "whole2", "--json", "-q")
    attlas(capfd, "merge", "merged", "--out", "again").refuses("merged: no part of a run lies here")


def test_a_study_of_two_stages_says_what_comes_next(model: Path, capfd: pytest.CaptureFixture[str]) -> None:
    asked = ["relations", "treebank.conllu", "-m", str(model), "--twins", "1", "--budget", "12", "-q"]
    for stage, more in (("first", []), ("second", ["--after", "chosen"])):
        for number in (1, 2):
            part = ["--part", f"{number}/2", "--out", f"{stage}-{number}"]
            assert attlas(capfd, *asked, *part, *more).status == 0
        out = "chosen" if stage == "first" else "relations"
        said = attlas(capfd, "merge", f"{stage}-2", f"{stage}-1", "--out", out, "-q")
        assert said.status == 0, said.err
        if stage == "first":
            assert said.out.startswith("a stage of relations was merged: chosen; what comes next builds on it")
            attlas(capfd, "report", "chosen").refuses("this is a merged stage of relations and no result")
            attlas(capfd, "merge", "chosen", "--out", "x").refuses("this is a merged stage")
    assert attlas(capfd, *asked, "--out", "whole").status == 0
    assert Result.open("relations").table.equals(Result.open("whole").table)


def test_parts_that_python_made_are_merged_there(model: Path, capfd: pytest.CaptureFixture[str]) -> None:
    survey(str(model), "treebank.conllu", part="1/1", out="part")
    attlas(capfd, "merge", "part", "--out", "out").refuses("these parts were made in Python; merge them there")


@pytest.mark.parametrize(
    ("words", "phrase"),
    [
        (["tune", "treebank.conllu", "--engine", "ray"], "tune cannot be spread over workers: it trains a model"),
        (["atlas", "treebank.conllu", "--engine", "ray"], "attlas: atlas cannot be spread over workers: it runs one"),
        (["survey", "treebank.conllu", "--engine", "ray://127.0.0.1:1"], "there is no Ray cluster at 127.0.0.1:1"),
        (["survey", "treebank.conllu", "--part", "a/b", "--out", "x"], "--part a/b is no part"),
        (["keywords", "treebank.conllu", "--part", "1/2", "--out", "x"], "keywords cannot be done in parts"),
        (["survey", "treebank.conllu", "--threads", "2"], "--threads goes with the workers of Ray"),
    ],
)
def test_what_cannot_be_is_one_sentence(
    words: list[str], phrase: str, model: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    attlas(capfd, *words, "-m", str(model)).refuses(phrase)
    assert not Path("x").exists()
