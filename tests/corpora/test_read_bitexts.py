"""Tables of two columns, bitexts of several files, and the other direction."""

from __future__ import annotations

import gzip
import lzma
from pathlib import Path

import pytest

from attlas.corpora import joined, read, read_bitexts, read_tsv, swapped
from attlas.corpora.sniffing import sniff
from attlas.corpora.source import Source, open_source
from attlas.errors import CorpusError

TABLE = "Das ist alt.\tThat's old.\nEin Mann schläft.\tA man sleeps.\nJa, ja!\tYes, yes!\n"


def source(text: str, name: str = "a.tsv") -> Source:
    return Source.of_text(text, name=name)


def test_a_table_is_told_by_its_sentences_and_read() -> None:
    corpus = read(source(TABLE))
    assert (corpus.format, corpus.annotations, corpus.articles) == ("tsv", ("translation",), (0, 1, 2))
    first = corpus.documents[0]
    assert (first.text, first.name) == ("Das ist alt.", "a.tsv, line 1")
    assert first.translation is not None
    assert first.translation.forms == ("That's", "old", ".")


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("Haus\tNOUN\nalt\tADJ\ndas\tDET\n", "a table of 2 columns"),
        ("1\tDas ist alt.\n2\tEin Mann schläft.\n3\tJa, ja!\n", "a table of 2 columns"),
        ("Das ist alt.\tpositive\nEin Mann schläft.\tnegative\nJa, ja!\tpositive\n", "a table of 2 columns"),
        ("a b\tc d\te f\n" * 3, "a table of 3 columns"),
    ],
)
def test_other_tables_are_not_taken_for_a_bitext(text: str, found: str) -> None:
    with pytest.raises(CorpusError, match=f"this looks like {found}"):
        sniff(source(text))


def test_a_table_with_a_broken_line_is_still_a_table_and_says_where_it_breaks() -> None:
    text = TABLE * 5 + "Der Rest fehlt\n" + TABLE
    assert sniff(source(text)) == "tsv"
    with pytest.raises(CorpusError, match=r"^a\.tsv, line 16: no tab where a pair of sentences has one"):
        read(source(text))


def test_compressed_by_xz_or_gzip_it_is_the_same(tmp_path: Path) -> None:
    data = TABLE.encode()
    (tmp_path / "a.tsv").write_bytes(data)
    (tmp_path / "a.tsv.xz").write_bytes(lzma.compress(data))
    (tmp_path / "a.tsv.gz").write_bytes(gzip.compress(data))
    found = [open_source(tmp_path / name) for name in ("a.tsv", "a.tsv.xz", "a.tsv.gz")]
    assert {one.text for one in found} == {TABLE}
    assert {(one.name, one.sha256) for one in found} == {("a.tsv", found[0].sha256)}
    (tmp_path / "cut.xz").write_bytes(lzma.compress(data)[:-20])
    with pytest.raises(CorpusError, match="the xz data is damaged or cut short"):
        open_source(tmp_path / "cut.xz")


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("a b\tc d\ne f\n", r"^a\.tsv, line 2: no tab where a pair"),
        ("a b\tc d\n\n", r"line 2: no tab"),
        ("a b\tc\td\n", r"line 1: 2 tabs where"),
        ("a b\t \n", r"line 1: the target side has no words"),
        ("\ta b\n", r"line 1: the source side has no words"),
        ("", "no pair of sentences"),
    ],
)
def test_what_is_no_pair_is_refused(text: str, message: str) -> None:
    with pytest.raises(CorpusError, match=message):
        read_tsv(source(text))


def test_files_without_translations_take_the_targets_in_order() -> None:
    here = [source(text, name) for text, name in (("eins zwei", "a.de"), (TABLE, "t.tsv"), ("drei vier", "b.de"))]
    there = [source("one two", "a.en"), source("three four", "b.en")]
    corpora = read_bitexts(here, there)
    assert [(corpus.name, corpus.format) for corpus in corpora] == [
        ("a.de", "parallel"),
        ("t.tsv", "tsv"),
        ("b.de", "parallel"),
    ]
    whole = joined(corpora)
    assert [d.translation.text for d in whole.documents if d.translation][:2] == ["one two", "That's old."]
    assert (whole.name, whole.format, whole.articles) == ("a.de + t.tsv + b.de", "bitexts", (0, 1, 2, 3, 4))
    with pytest.raises(CorpusError, match=r"b\.de: it has no translations; give a bitext"):
        read_bitexts(here, there[:1])
    with pytest.raises(CorpusError, match=r"c\.en: this is a file of translations \(--target\) more than"):
        read_bitexts(here, [*there, source("five", "c.en")])
    with pytest.raises(CorpusError, match=r"a\.de, line 2: 1 lines, but a\.en has 2"):
        read_bitexts(here[:1], [source("one\ntwo", "a.en")])
    with pytest.raises(CorpusError, match="there are no words in this file"):
        read_bitexts([source("\n")])


def test_broken_lines_can_be_left_out_and_are_counted() -> None:
    (table,) = read_bitexts([source("a b\tc d\nbroken\ne f\tg h\n\n")], format="tsv", skip=True)
    assert [document.text for document in table.documents] == ["a b", "e f"]
    assert table.left_out == ("a.tsv: 2 lines are no pair, first line 2",)
    (lines,) = read_bitexts([source("eins\n\ndrei", "a.de")], [source("one\ntwo\nthree", "a.en")], skip=True)
    assert [d.translation.text for d in lines.documents if d.translation] == ["one", "three"]
    (whole,) = read_bitexts([source(TABLE)], skip=True)
    assert whole.left_out == ()
    with pytest.raises(CorpusError, match="no words"):
        read_bitexts([source("broken\n")], format="tsv", skip=True)


def test_the_other_direction_turns_links_too() -> None:
    corpus = read(source("das alte Haus ||| the house"), gold=source("0-0 1p1 2-1", "gold"))
    (document,) = swapped(corpus).documents
    assert document.text == "the house"
    assert document.translation is not None
    assert document.translation.text == "das alte Haus"
    assert document.links is not None
    assert document.links.sure == {(0, 0), (1, 2)}
    assert document.links.possible == {(0, 0), (1, 1), (1, 2)}
    (back,) = swapped(swapped(corpus)).documents
    assert back == corpus.documents[0]
    with pytest.raises(CorpusError, match="no other direction"):
        swapped(read(source("It rained.", "a.txt")))
