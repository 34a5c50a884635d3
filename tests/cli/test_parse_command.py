"""attlas parse at the command line: a whole run on a tiny model, and what it refuses."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest
from command_line import attlas

import twins

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "probes"))
import planted

from attlas.store import Result


@pytest.fixture
def place(tmp_path: Path) -> Path:
    twins.model("bert").save_pretrained(tmp_path / "bert")
    twins.tokenizer(False).save_pretrained(tmp_path / "bert")
    (tmp_path / "trees.conllu").write_text(planted.conllu(planted.treebank(30)), encoding="utf-8")
    (tmp_path / "plain.txt").write_text("It rained. We stayed in.\n", encoding="utf-8")
    (tmp_path / "glove.txt").write_text("the 1 2\nfarmer 2 1\napples 0 1\n", encoding="utf-8")
    return tmp_path


def test_a_run_writes_tables_and_a_page(place: Path, capfd: pytest.CaptureFixture[str]) -> None:
    out = place / "out"
    said = attlas(
        capfd, "parse", place / "trees.conllu", "--model", place / "bert", "--vectors", place / "glove.txt",
        "--epochs", "2", "--rank", "4", "--out", out,
    )  # fmt: skip
    assert said.status == 0, said
    assert "attention + vectors" in said.out
    assert "trees.conllu was divided by text: 80 % of its sentences train" in said.err
    assert "on disk" in said.err
    assert "attention, epoch 2: train loss" in said.err
    result = Result.open(out)
    assert list(result.tables) == [
        "parse",
        "differences",
        "head_weights",
        "training",
        "by_relation",
        "structural_layers",
    ]
    assert result.manifest.corpus["vectors"]["name"] == "glove.txt"
    assert (out / "report.html").exists()
    assert sorted(path.name for path in out.iterdir() if path.suffix not in (".parquet", ".json", ".html")) == []


def test_what_it_refuses(place: Path, capfd: pytest.CaptureFixture[str]) -> None:
    trees, model = place / "trees.conllu", ("--model", place / "bert", "--out", place / "out", "--quiet")
    attlas(capfd, "parse", place / "plain.txt", *model).refuses("plain.txt", "no governors", "CoNLL-U")
    attlas(capfd, "parse", trees, "--test", place / "plain.txt", *model).refuses("plain.txt", "no governors")
    attlas(capfd, "parse", trees, "--vectors", place / "none.txt", *model).refuses("none.txt", "no such file")
    attlas(capfd, "parse", trees, "--max-disk", "0.00001", *model).refuses(
        "would take", "--max-disk allows 1e-05 GB", "--limit"
    )
    assert not (place / "out").exists()
