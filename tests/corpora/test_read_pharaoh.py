"""Bitexts and their links."""

from pathlib import Path

import pytest

from attlas.corpora import linked, read, read_bitext, read_parallel, write_links
from attlas.corpora.source import Source
from attlas.errors import CorpusError, CorpusWarning

PAIRS = Source.of_text("das alte  Haus   ||| the old house \nja ||| oh yes\n", name="a.src-tgt")


def gold(text: str) -> Source:
    return Source.of_text(text, name="a.gold")


def test_without_gold_there_are_translations_and_no_links() -> None:
    first, second = read_bitext(PAIRS)
    assert (first.text, first.name) == ("das alte Haus", "a.src-tgt, pair 1")
    assert second.translation is not None
    assert second.translation.forms == ("oh", "yes")
    assert second.links is None


def test_every_notation_gives_the_same_links() -> None:
    notations = [
        read_bitext(PAIRS, gold("0-0 1-1 2p1 2-2\n0p1\n")),
        read_bitext(PAIRS, gold("1-1 2-2 3p2 3-3\n1p2\n"), one_indexed=True),
        read_bitext(PAIRS, gold("0001 1 1 S\n0001 2 2\n1 3 2 P\n1 3 3 S 0.9\n2 1 2 P\n2 0 1 S\n")),
    ]
    for first, second in notations:
        assert first.links is not None
        assert second.links is not None
        assert first.links.sure == {(0, 0), (1, 1), (2, 2)}
        assert first.links.possible == {(0, 0), (1, 1), (2, 1), (2, 2)}
        assert (second.links.sure, second.links.possible) == (frozenset(), {(0, 1)})


def test_an_empty_line_has_no_links() -> None:
    first, second = read_bitext(PAIRS, gold("\n0-1\n"))
    assert first.links is not None
    assert not first.links.possible
    assert second.links is not None
    assert second.links.sure == {(0, 1)}


@pytest.mark.parametrize(
    ("links", "one_indexed", "message"),
    [
        ("0-0\n1-0\n", False, r"^a\.gold, line 2: the link 1-0 is outside its pair of 1 and 2 words; .* from 0"),
        ("0-1\n", True, "line 2: 1 lines of links for 2 pairs"),
        ("0-1\n0-0\n", True, "line 1: the link 0-1 is outside"),
        ("0-0\n0-0\n0-0\n", False, "line 3: 3 lines of links for 2 pairs"),
        ("0-0\nx-1\n", False, "line 2: 'x-1' is not a link"),
        ("1 1 1 S\n3 1 1 S\n", False, "line 2: sentence 3 is not among the 2 pairs"),
        ("1 1 1 S\n2 2 1 S\n", False, "line 2: the link 2-1 of sentence 2 is outside"),
        ("1 1 1 S\n1 1\n", False, "line 2: '1 1' is not a link"),
    ],
)
def test_errors_in_links(links: str, one_indexed: bool, message: str) -> None:
    with pytest.raises(CorpusError, match=message):
        read_bitext(PAIRS, gold(links), one_indexed)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("a ||| b\nc d\n", r"^a\.txt, line 2: 0 times '\|\|\|'"),
        ("a ||| b\n\nc ||| d\n", r"^a\.txt, line 2: this line is empty"),
        ("a ||| b ||| c\n", "line 1: 2 times"),
        ("a ||| \n", "line 1: the target side has no words"),
        (" ||| b\n", "line 1: the source side has no words"),
        ("", "no pair of sentences"),
    ],
)
def test_errors_in_pairs(text: str, message: str) -> None:
    with pytest.raises(CorpusError, match=message):
        read_bitext(Source.of_text(text, name="a.txt"))


def test_written_links_come_back(tmp_path: Path) -> None:
    links = [frozenset({(2, 2), (0, 1), (0, 0)}), frozenset[tuple[int, int]]()]
    write_links(tmp_path / "a.pharaoh", links)
    assert (tmp_path / "a.pharaoh").read_bytes() == b"0-0 0-1 2-2\n\n"
    assert [text.links and text.links.sure for text in read_bitext(PAIRS, tmp_path / "a.pharaoh")] == links
    with pytest.raises(CorpusError, match=r"b\.pharaoh: the links cannot be written here"):
        write_links(tmp_path / "none" / "b.pharaoh", links)


def test_parallel_files() -> None:
    source, target = Source.of_text("Hallo!\nEin Hund.\n", name="a.de"), Source.of_text("Hi!\nA dog.\n", name="a.en")
    _, second = read_parallel(source, target)
    assert second.translation is not None
    assert (second.name, second.translation.name) == ("a.de, line 2", "a.en, line 2")
    assert second.translation.text == "A dog."
    assert second.links is None
    with pytest.raises(CorpusError, match=r"^a\.de, line 2: 2 lines, but b\.en has 1"):
        read_parallel(source, Source.of_text("Hi!\n", name="b.en"))
    with pytest.raises(CorpusError, match=r"^c\.en, line 2: this line has no words"):
        read_parallel(source, Source.of_text("Hi!\n \n", name="c.en"))
    with pytest.raises(CorpusError, match="no line"):
        read_parallel(gold(""), gold(""))


@pytest.mark.parametrize(
    ("links", "told"),
    [("0-0 3-0 1-1\n0-9\n", "2 of 4 links are outside their pairs"), ("1 1 1\n1 9 1\n7 1 1 S\n", "2 of 3 links")],
)
def test_links_outside_their_pairs_are_left_out_and_counted_where_that_is_wished(links: str, told: str) -> None:
    with pytest.warns(CorpusWarning, match=rf"^a\.gold: {told}.* and left out, first line [12]$"):
        corpus = read(PAIRS, gold=gold(links), lenient=True)
    assert (0, 0) in corpus.documents[0].links.sure  # type: ignore[union-attr]
    (why,) = linked(read(PAIRS), gold(links), lenient=True).left_out
    assert told in why
    with pytest.raises(CorpusError, match=r"a\.gold, line [123]: "):
        read(PAIRS, gold=gold(links))


def test_gold_inside_its_pairs_is_read_without_a_word(recwarn: pytest.WarningsRecorder) -> None:
    assert read(PAIRS, gold=gold("0-0\n0-0\n"), lenient=True).left_out == ()
    assert not recwarn
