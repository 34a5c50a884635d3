"""A folder of files as one corpus."""

from __future__ import annotations

import gzip
from pathlib import Path

import pytest

from attlas.corpora import read
from attlas.errors import CorpusError

TALE = "# begin document {}\n0\tEmma\t(1)\n1\tslept\t_\n2\tshe\t(1)\n# end document\n"
ROW = "# newdoc id = {}\n1\tHi\thi\tINTJ\tUH\t_\t0\troot\t_\t_\n\n"


def test_files_in_the_order_of_their_names(tmp_path: Path) -> None:
    (tmp_path / "b.conll").write_text(TALE.format("two") + TALE.format("three"), encoding="utf-8")
    (tmp_path / "a.conll.gz").write_bytes(gzip.compress(TALE.format("one").encode()))
    (tmp_path / "README.md").write_text("not a corpus", encoding="utf-8")
    (tmp_path / "more.conll").mkdir()
    corpus = read(tmp_path)
    assert [document.name for document in corpus.documents] == ["a.conll, one", "b.conll, two", "b.conll, three"]
    assert (corpus.format, corpus.name, corpus.articles, corpus.left_out) == (
        "conll2012",
        tmp_path.name,
        (0, 1, 2),
        (),
    )


def test_the_hash_is_of_all_files(tmp_path: Path) -> None:
    (tmp_path / "a.conll").write_text(TALE.format("one"), encoding="utf-8")
    (tmp_path / "b.conll").write_text(TALE.format("two"), encoding="utf-8")
    before = read(tmp_path).sha256
    assert before == read(tmp_path).sha256
    (tmp_path / "b.conll").write_text(TALE.format("other"), encoding="utf-8")
    assert before != read(tmp_path).sha256


def test_a_treebank_in_files_keeps_its_articles(tmp_path: Path) -> None:
    (tmp_path / "a.conllu").write_text(ROW.format("x") + ROW.format("y"), encoding="utf-8")
    (tmp_path / "b.conllu").write_text(ROW.format("x"), encoding="utf-8")
    assert read(tmp_path).articles == (0, 1, 2)
    assert [document.name for document in read(tmp_path, unit="document").documents][1:] == [
        "a.conllu, y",
        "b.conllu, x",
    ]


def test_a_file_that_cannot_be_read_is_left_out_and_told(tmp_path: Path) -> None:
    (tmp_path / "a.conll").write_text(TALE.format("one"), encoding="utf-8")
    (tmp_path / "b.conll").write_text(TALE.format("two").replace("(1)", "1)"), encoding="utf-8")
    corpus = read(tmp_path)
    assert len(corpus.documents) == 1
    (why,) = corpus.left_out
    assert why.startswith("b.conll, line 2: a mention of chain 1 ends here that never began")


def test_what_is_no_such_folder_is_refused(tmp_path: Path) -> None:
    with pytest.raises(CorpusError, match=r"this is a folder; give one of its files \(it holds no \.conll"):
        read(tmp_path)
    (tmp_path / "b.conll").write_text(TALE.format("two").replace("(1)", "1)"), encoding="utf-8")
    with pytest.raises(CorpusError, match=r"none of its 1 files can be read, first b\.conll, line 2"):
        read(tmp_path)
    (tmp_path / "a.conllu").write_text(ROW.format("x"), encoding="utf-8")
    with pytest.raises(CorpusError, match=r"both \.conll and \.conllu files, so name the format"):
        read(tmp_path)
    assert read(tmp_path, "conllu").format == "conllu"
    with pytest.raises(CorpusError, match="the option 'which' is for keyphrases"):
        read(tmp_path, "conllu", which="all")
