"""attlas keywords compare from the command line: what it says, its page, and one sentence for bad input."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from command_line import attlas

import twins
from attlas.capture import Subject
from attlas.studies.keywords_compare.baselines import packages


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A tiny model, and texts with key phrases."""
    made = tmp_path_factory.mktemp("place")
    Subject.of(twins.model("bert"), twins.tokenizer(False), "twin").save(made / "twin")
    lines = [
        json.dumps({"id": str(at), "text": text, "keyphrases": ["old bridges", "farmer", "moon"]})
        for at, text in enumerate(twins.SENTENCES[:4])
    ]
    (made / "texts.jsonl").write_text("\n".join(lines), encoding="utf-8")
    (made / "absent.jsonl").write_text('{"text": "It rained.", "keyphrases": ["moon"]}\n', encoding="utf-8")
    (made / "plain.txt").write_text("It rained.\n", encoding="utf-8")
    return made


def test_what_it_says(place: Path, capfd: pytest.CaptureFixture[str]) -> None:
    out = place / "out"
    said = attlas(
        capfd, "keywords", "compare", place / "texts.jsonl", "--model", place / "twin", "--methods",
        "textrank, first", "--out", out, "--quiet",
    )  # fmt: skip
    assert said.status == 0, said
    for phrase in ("F1@10 of attention, last layer", "textrank, word", "first, runs"):
        assert phrase in " ".join(said.out.split())
    names = {path.name for path in out.iterdir()}
    tables = {"methods.parquet", "examples.parquet", "given.parquet", "whole.parquet", "lengths.parquet"}
    assert names == {*tables, "manifest.json", "report.html"}


@pytest.mark.parametrize(
    ("arguments", "phrases"),
    [
        (["plain.txt"], ["plain.txt", "no key phrases", "JSON lines"]),
        (["absent.jsonl"], ["absent.jsonl", "no key phrase occurs in any text"]),
        (["texts.jsonl", "--language", "klingon"], ["no stemmer for 'klingon'"]),
        (["texts.jsonl", "--methods", "magic"], ["no method 'magic'", "tf-idf"]),
        (["texts.jsonl", "--methods", "keybert"], ["keybert is not installed", "attlas[keywords]"]),
        (["texts.jsonl", "--methods", "textrank", "--language", "none"], ["textrank needs stop words"]),
        (["texts.jsonl", "--max-pieces", "9999"], ["9999 pieces", "ask for fewer"]),
    ],
)
def test_bad_input(
    arguments: list[str], phrases: list[str], place: Path, monkeypatch: pytest.MonkeyPatch,
    capfd: pytest.CaptureFixture[str],
) -> None:  # fmt: skip
    monkeypatch.setattr(packages, "installed", lambda package: False)
    monkeypatch.chdir(place)
    before = {path.name for path in place.iterdir()}
    said = attlas(capfd, "keywords", "compare", *arguments, "--model", "twin", "--quiet")
    said.refuses(*phrases)
    assert {path.name for path in place.iterdir()} == before
