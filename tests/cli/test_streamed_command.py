"""Corpora that are read as they come, from the command line."""

from __future__ import annotations

import json
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from command_line import attlas

import twins
from attlas.store import Result


@pytest.fixture(scope="module")
def model(tmp_path_factory: pytest.TempPathFactory) -> Path:
    made = tmp_path_factory.mktemp("models") / "twin"
    twins.model("bert").save_pretrained(made)
    twins.tokenizer(False).save_pretrained(made)
    return made


@pytest.fixture
def texts(tmp_path: Path) -> Path:
    file = tmp_path / "texts.jsonl"
    file.write_text("".join(json.dumps({"text": f"The farmer slept for {day} days."}) + "\n" for day in range(20)))
    return file


def test_a_table_streams_by_itself(model: Path, tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    table = pa.table({"body": [f"The farmer slept for {n} days." for n in range(20)], "by": ["x"] * 20})
    pq.write_table(table, tmp_path / "t.parquet")
    how = ("--text-column", "body", "--buffer", 6, "--model", model, "--quiet", "--out", tmp_path / "out")
    assert attlas(capfd, "survey", tmp_path / "t.parquet", *how).status == 0
    corpus = Result.open(tmp_path / "out").manifest.corpus
    assert (corpus["documents"], corpus["streamed"]["buffer"]["documents"]) == (20, 6)


def test_bad_input_is_one_sentence(texts: Path, tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    out = ("--out", tmp_path / "out")
    pq.write_table(pa.table({"title": ["A"], "body": ["It rained."]}), tmp_path / "t.parquet")
    for arguments, phrase in (
        (("survey", texts, "--streamed", "--buffer", "few"), "a buffer is a number of documents or bytes"),
        (("survey", texts, "--whole", "--buffer", "5"), "--buffer is for a corpus that is read as it comes"),
        (("survey", texts, "--text-column", "body"), "there is no column 'body' among text"),
        (("survey", tmp_path / "t.parquet"), "which column is the text? there are title, body"),
        (("survey", tmp_path / "none.parquet"), "none.parquet: there is no such file"),
        (("survey", "hf://a/b/c/d"), "is no name of a dataset with a split"),
        (("survey", texts, "--streamed", "--limits", "line=10"), "a line of over 10 characters"),
    ):
        attlas(capfd, *arguments, *out).refuses(phrase)
    assert not (tmp_path / "out").exists()
