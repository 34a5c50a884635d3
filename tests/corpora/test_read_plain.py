"""Paragraphs of ordinary text and of WikiText."""

import pytest

from attlas.corpora import read_articles, read_plain
from attlas.corpora.source import Source
from attlas.errors import CorpusError

WIKI = """\x20
 = Robert Boulter = \x20

 He had a guest @-@ starring role in 2 @,@ 000 plays .\x20
 It paid 3 @.@ 5 pounds ( a day ) .\x20

 = = Career = =\x20

 Later .
 = not a heading =
 More .

 = Du Fu =\x20

 A poet .\x20
"""


def texts(content: str, unit: str = "paragraph") -> list[list[str]]:
    return [[d.text for d in article] for article in read_articles(Source.of_text(content, name="w"), unit)]


def test_hard_wrapped_lines_are_joined() -> None:
    content = "It was\n  a dark night.\r\n\n \nThe end\n"
    assert texts(content) == [["It was a dark night.", "The end"]]
    assert texts(content, "line") == [["It was", "a dark night.", "The end"]]
    assert texts(content, "document") == [["It was a dark night.\n\nThe end"]]


def test_wikitext_articles_headings_and_marks() -> None:
    first = [
        "He had a guest-starring role in 2,000 plays .",
        "It paid 3.5 pounds ( a day ) .",
        "Later .",
        "= not a heading =",
        "More .",
    ]
    assert texts(WIKI) == [first, ["A poet ."]]
    assert texts(WIKI, "line") == [first, ["A poet ."]]
    assert texts(WIKI, "document") == [["\n\n".join(first)], ["A poet ."]]
    assert [d.name for d in read_plain(Source.of_text(WIKI, name="w"))][-1] == "w, paragraph 6"


def test_text_before_the_first_heading_is_an_article_of_its_own() -> None:
    assert texts("Preface .\n\n" + WIKI)[0] == ["Preface ."]


def test_deeper_headings_alone_are_ordinary_text() -> None:
    assert texts("= = Deep = =\n\nText\nwrapped\n") == [["= = Deep = =", "Text wrapped"]]


def test_long_lines_are_paragraphs() -> None:
    long = "word " * 50 + "end"
    assert texts(f"{long}\n{long}\nshort\n") == [[long, long, "short"]]
    assert texts(f"{long}\nshort\nshort\n") == [[f"{long} short short"]]


def test_a_sentence_on_every_line() -> None:
    lines = ["A dog runs.", 'She said "no."', "Why?", "Ja!", "no stop"]
    assert texts("\n".join(lines)) == [lines]
    assert texts("\n".join([*lines, "none here either"])) == [[" ".join([*lines, "none here either"])]]
    assert texts("A dog\nruns fast.\n\nWhy?\n") == [["A dog runs fast.", "Why?"]]


def test_words_and_sentences_are_found() -> None:
    (document,) = read_plain(Source.of_text("He ran. She sat."))
    assert (len(document.words), len(document.sentences)) == (6, 2)


def test_errors() -> None:
    with pytest.raises(CorpusError, match="no words"):
        read_plain(Source.of_text(" \n\n = Title = \n", name="a.txt"))
    with pytest.raises(CorpusError, match="not 'page'"):
        read_plain(Source.of_text("a"), "page")
