"""attlas layers convert: what it writes, what it says, what it refuses."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from command_line import attlas

from attlas.corpora import read_edges, read_spans

NAMES = "in\tO\nPuerto\tB-place\nMontt\tI-place\nand\tO\nAustria\tB-place\n\nnobody\tO\n\nEmma\tB-person\n"
TALE = "# begin document\n0\tEmma\t(1)\n1\tsaw\t_\n2\tLima\t(2)\n3\tand\t_\n4\tshe\t(1)\n# end document\n"


@pytest.fixture(autouse=True)
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "names.txt").write_text(NAMES, encoding="utf-8")
    return tmp_path


def test_spans_are_written_and_counted(place: Path, capfd: pytest.CaptureFixture[str]) -> None:
    said = attlas(capfd, "layers", "convert", "names.txt", "--task", "entities", "--out", "out.jsonl.gz")
    assert (said.status, said.err) == (0, "")
    assert said.out == "names.txt: 2 texts, 3 spans, 2 labels\nspans: out.jsonl.gz\n"
    assert read_edges("entities", "out.jsonl.gz").documents[0].edges == (
        read_edges("entities", "names.txt").documents[0].edges
    )
    told = attlas(capfd, "layers", "convert", "names.txt", "--task", "entities", "--out", "again.jsonl", "--json")
    assert json.loads(told.out) == {
        "corpus": "names.txt", "texts": 2, "spans": 3, "labels": 2, "left_out": [], "file": "again.jsonl",
    }  # fmt: skip


def test_one_part_of_a_folder(place: Path, capfd: pytest.CaptureFixture[str]) -> None:
    (place / "tales").mkdir()
    for name in ("ann", "bob", "cid"):
        (place / "tales" / f"{name}.conll").write_text(TALE.replace("Emma", name), encoding="utf-8")
    (place / "mine.tsv").write_text("train\tann\ntest\tbob\ntest\tdan\n", encoding="utf-8")
    said = attlas(
        capfd, "layers", "convert", "tales", "--task", "coreference", "--out", "test.jsonl", "--part", "test",
        "--splits", "mine.tsv",
    )  # fmt: skip
    assert (said.status, said.err) == (0, "")
    assert said.out.splitlines() == [
        "tales, test: 1 text, 2 pairs of spans, 2 labels",
        "note: left out: 1 of 2 documents that mine.tsv puts into test are not here or have nothing to ask about, "
        "such as dan",
        "spans: test.jsonl",
    ]
    assert [document.word(0) for document in read_spans("test.jsonl")] == ["bob"]


@pytest.mark.parametrize(
    ("arguments", "phrases"),
    [
        (["ner", "names.txt", "out.jsonl"], ["'ner' is no task of edge probing", "pos, constituents"]),
        (["roles", "names.txt", "out.jsonl"], ["names.txt: the task roles needs semantic roles", "conll2000"]),
        (["entities", "gone.txt", "out.jsonl"], ["gone.txt: there is no such file"]),
        (["entities", "names.txt", "names.txt"], ["names.txt: this is there already"]),
        (["entities", "names.txt", "deep/out.jsonl"], ["deep/out.jsonl: there is no folder deep"]),
        (["entities", "names.txt", "out.jsonl", "--part", "dev"], ["names.txt: it has no part 'dev'"]),
        (["entities", "names.txt", "out.jsonl", "--splits", "x.tsv"], ["x.tsv: --splits divides", "--part"]),
        (["entities", "names.txt", "out.jsonl", "--format", "xml"], ["'xml' is no format"]),
        (["spans", "bad.jsonl", "out.jsonl"], ["bad.jsonl, line 1: span1 4:9 is outside its 2 words"]),
    ],
)
def test_bad_input(place: Path, capfd: pytest.CaptureFixture[str], arguments: list[str], phrases: list[str]) -> None:
    (place / "bad.jsonl").write_text('{"text": "a b", "targets": [{"span1": [4, 9], "label": "X"}]}\n')
    task, source, out, *more = arguments
    said = attlas(capfd, "layers", "convert", source, "--task", task, "--out", out, *more)
    said.refuses(*phrases)
    assert sorted(path.name for path in place.iterdir()) == ["bad.jsonl", "names.txt"]
    assert (place / "names.txt").read_text(encoding="utf-8") == NAMES
