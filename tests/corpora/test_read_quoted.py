"""Tables with quotes, with and without a header."""

from __future__ import annotations

import csv
import io
import random
from pathlib import Path

import pytest

from attlas.corpora import read, read_quoted
from attlas.corpora.source import Source
from attlas.errors import CorpusError


def table(text: str, **options: str) -> list[tuple[str, str | None]]:
    return [
        (document.text, document.label) for document in read_quoted(Source.of_text(text, name="a.csv"), **options)
    ]


def test_quotes_commas_and_ends_of_lines_inside_fields() -> None:
    assert table('text,label\r\n"One, ""two""\r\nthree",a\r\nfour,b\r\n') == [
        ('One, "two"\r\nthree', "a"),
        ("four", "b"),
    ]


def test_columns_by_name_in_any_order_and_case() -> None:
    assert table('id,Label,"Sentence"\n1,good,"It, too."\n') == [("It, too.", "good")]
    (document,) = read_quoted(Source.of_text("premise;hypothesis;gold_label\nIt rained.;It was wet.;yes\n"))
    assert (document.text, document.pair and document.pair.text, document.label) == (
        "It rained.",
        "It was wet.",
        "yes",
    )


def test_without_a_header_the_text_is_first_and_the_label_second() -> None:
    assert table('"It rained.",wet\nThe sun shone.,dry\n') == [("It rained.", "wet"), ("The sun shone.", "dry")]
    assert table('"It rained."\twet\textra\n') == [("It rained.", "wet")]


def test_the_label_that_is_asked_for_makes_a_header() -> None:
    assert table("text,mood,label\nIt rained.,sad,wet\n", label="mood") == [("It rained.", "sad")]
    with pytest.raises(CorpusError, match=r"a\.csv, line 2: none of its columns \(tweet, mood\) is a text"):
        table("tweet,mood\nIt rained.,sad\n", label="mood")


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ('text,label\n"It rained,wet\n', "line 2: a quotation mark opens here that is never closed"),
        ('text,label\n"It" rained,wet\n', "line 2: ' rained,wet' comes after a closing quotation mark"),
        ('text,label\n"a\nb",wet\nc,d,e\n', "line 4: 3 columns where the header names 2"),
        ("text\nIt rained.\n", "line 1: one column where a text and its label are needed"),
        ("tweet,mood\nIt rained.,sad\nIt poured.,sad\n", "line 1: this looks like a header (tweet, mood) that"),
        ("text,label\n", "line 1: there is a header, and no text below it"),
        ("text,label\n,wet\n", "line 2: the text has no words"),
    ],
)
def test_what_is_wrong_is_told_with_its_line(text: str, message: str) -> None:
    with pytest.raises(CorpusError, match=r"^a\.csv, ") as caught:
        table(text)
    assert message in str(caught.value)


def test_files_are_told_by_their_ending_or_their_header(tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_text('"It rained.",wet\n', encoding="utf-8")
    (tmp_path / "a.txt").write_text("text,label\nIt rained.,wet\n", encoding="utf-8")
    assert {read(tmp_path / name).format for name in ("a.csv", "a.txt")} == {"csv"}
    unquoted = Source.of_text('text\tlabel\n"It rained.\twet\n', name="a.tsv")
    assert (read(unquoted).format, read(unquoted).documents[0].text) == ("labelled", '"It rained.')
    quoted = Source.of_text('"text"\t"label"\n"It\train""ed""."\t"wet"\n', name="a.tsv")
    assert (read(quoted).format, read(quoted).documents[0].text) == ("csv", 'It\train"ed".')


def test_whatever_the_standard_library_writes_is_read_as_it_was() -> None:
    draw = random.Random(0)
    for _ in range(60):
        rows = [["".join(draw.choices('ab ,;"\n', k=draw.randrange(1, 9))) + "x", "y"] for _ in range(5)]
        held = io.StringIO()
        csv.writer(held, lineterminator=draw.choice(("\n", "\r\n"))).writerows([["text", "label"], *rows])
        assert table(held.getvalue()) == [(text.strip(), label) for text, label in rows]
