"""Whatever is wrong with a file is one sentence with its place, and never a traceback: cases that once were."""

from __future__ import annotations

import zipfile
from pathlib import Path

import pytest

from attlas.corpora import read, read_bitext, read_conll2012, read_conllu, read_sst
from attlas.corpora.source import Source, open_source
from attlas.errors import CorpusError

HUGE = "9" * 5000
TREE = "{}\ta\ta\tX\tX\t_\t{}\tx\t_\t_"


def refused(text: str, format: str | None = None, **options: object) -> str:
    with pytest.raises(CorpusError) as caught:
        read(Source.of_text(text, name="a.txt"), format, **options)  # type: ignore[arg-type]
    said = str(caught.value)
    assert "\n" not in said
    assert len(said) < 1000
    return said


@pytest.mark.parametrize(
    ("text", "format", "message"),
    [
        ("(3 (2 It) (3 works))\nIt works", "sst", "line 2: this is no tree such as"),
        ("It", "sst", "goes wrong at 'It'"),
        (")", "sst", "goes wrong at ')'"),
        (TREE.format(HUGE, 0), "conllu", "line 1: a number of 5000 digits"),
        (TREE.format(1, HUGE), "conllu", "line 1: a number of 5000 digits"),
        (f"1-{HUGE}\ta" + "\t_" * 8 + "\n" + TREE.format(1, 0), "conllu", "line 1: a number of 5000 digits"),
        (f"#begin document (a)\n{HUGE}\ta\t_\n#end document", "conll2012", "line 2: a number of 5000 digits"),
        (f'{{"text": "a", "label": {HUGE}}}', "labelled", "line 1: a number of 5000 digits"),
        (f'{{"text": "a", "targets": [{{"span1": [0, {HUGE}], "label": "x"}}]}}', "spans", "5000 digits"),
        ('{"text": "a \\ud800 b", "keyphrases": []}', "keyphrases", r"line 1: \\ud800 is half a letter"),
        ('{"text": "a", "label": "\\uDFFF"}', "labelled", "is half a letter"),
        ('{"a": ' * 100_000, "keyphrases", "line 1: this JSON is nested 501 deep"),
    ],
)
def test_what_is_wrong_inside_a_file(text: str, format: str, message: str) -> None:
    said = refused(text, format)
    assert said.startswith("a.txt, line ")
    assert message.replace("\\\\", "\\") in said


def test_whole_letters_in_two_escapes_are_read() -> None:
    corpus = read(Source.of_text('{"text": "\\ud83d\\ude00 smiles", "keyphrases": []}'))
    assert corpus.documents[0].forms == ("😀", "smiles")


@pytest.mark.parametrize("gold", [f"0-{HUGE}", f"1 1 {HUGE}", f"{HUGE} 1 1 S"])
def test_huge_numbers_in_gold(gold: str) -> None:
    with pytest.raises(CorpusError, match=r"gold, line 1: a number of 5000 digits"):
        read_bitext(Source.of_text("a ||| b"), Source.of_text(gold, name="gold"))


def test_half_a_letter_in_a_text_of_ones_own() -> None:
    with pytest.raises(CorpusError, match=r"text, line 2: '\\ud800' is half a letter"):
        Source.of_text("a\nb\ud800")


def test_messages_are_short_and_show_what_cannot_be_seen() -> None:
    said = refused(f"{'x' * 100_000}\ty\tz", "conllu")
    assert len(said) < 1000
    with pytest.raises(CorpusError, match=r"'\\x1b\[2J'|\\\\x1b") as caught:
        read_conll2012(Source.of_text("#begin document (a)\n\x1b[2J\ta\t_\n#end document"))
    assert "\x1b" not in str(caught.value)


def test_cycles_are_told_from_the_word_that_closes_them() -> None:
    rows = [(1, 2), (2, 3), (3, 2), (4, 0)]
    with pytest.raises(CorpusError, match=r"a, line 2: following governors from here runs in a cycle: 2, 3$"):
        read_conllu(Source.of_text("\n".join(TREE.format(*row) for row in rows), name="a"))


ROWS = b"#begin document (a)\n0\ta\t_\n#end document\n"


def archive(tmp_path: Path, **damage: tuple[bytes, bytes]) -> Path:
    place = tmp_path / "a.zip"
    with zipfile.ZipFile(place, "w") as opened:
        opened.writestr("a.conll", ROWS)
        opened.writestr("b.conll", ROWS)
    data = place.read_bytes()
    for old, new in damage.values():
        data = data.replace(old, new)
    place.write_bytes(data)
    return place


@pytest.mark.parametrize(
    ("old", "new"),
    [
        (b"PK\x01\x02", b"PK\x01\x03"),  # no directory
        (b"PK\x03\x04", b"PK\x03\x05"),  # no head of a member
        (b"0\ta\t", b"0\tb\t"),  # another checksum
        (b"\x14\x00\x00\x00\x00\x00", b"\x14\x00\x01\x00\x00\x00"),  # encrypted
        (b"\x14\x00\x00\x00\x00\x00", b"\x14\x00\x00\x00\x61\x00"),  # an unknown method
        (b"\x14\x00\x00\x00\x00\x00", b"\x14\x00\x00\x00\x0e\x00"),  # said to be LZMA
        (b"\x14\x00\x00\x00\x00\x00", b"\x14\x00\x00\x00\x0c\x00"),  # said to be bzip2
        (b"\x14\x00\x00\x00\x00\x00", b"\xff\x00\x00\x00\x00\x00"),  # of a version to come
    ],
)
def test_damaged_archives(tmp_path: Path, old: bytes, new: bytes) -> None:
    place = archive(tmp_path, at=(old, new))
    with pytest.raises(CorpusError, match="zip archive") as caught:
        read(place)
    assert "\n" not in str(caught.value)


def test_names_that_are_not_utf8_can_be_printed(tmp_path: Path) -> None:
    place = str(tmp_path).encode() + b"/\xff\x1b.txt"
    Path(place.decode(errors="surrogateescape")).write_text("It rained.")
    source = open_source(place.decode(errors="surrogateescape"))
    assert source.name == "\\udcff\\x1b.txt"
    read(source).documents[0].name.encode()


def test_folders_that_cannot_be_read(tmp_path: Path) -> None:
    with pytest.raises(CorpusError, match="cannot be read"):
        read(tmp_path / ("a" * 300))
    (tmp_path / "loop").symlink_to(tmp_path / "loop")
    with pytest.raises(CorpusError, match=r"cannot be read|no such file"):
        read(tmp_path / "loop")


def test_trees_of_sentiment_are_read_as_before() -> None:
    document, = read_sst(Source.of_text("  (3 (2 It) (3 works))  "))  # fmt: skip
    assert (document.text, document.label) == ("It works", "positive")
