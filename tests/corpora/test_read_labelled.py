"""Labelled texts: the tables of GLUE, CoLA's columns, JSON lines; and sentiment trees."""

import pytest

from attlas.corpora import read, read_labelled, read_sst
from attlas.corpora.source import Source
from attlas.errors import CorpusError
from attlas.text import Document

GLUE = {  # the headers as GLUE has them, one row each, and what is to be read
    "sst2": ("sentence\tlabel", 'a "charming" film\t1', ('a "charming" film', None, "1")),
    "mrpc": ("Quality\t#1 ID\t#2 ID\t#1 String\t#2 String", "1\t7\t8\tHe left.\tHe went.",
             ("He left.", "He went.", "1")),
    "rte": ("index\tsentence1\tsentence2\tlabel", "0\tA c.\tA p.\tentailment", ("A c.", "A p.", "entailment")),
    "qnli": ("index\tquestion\tsentence\tlabel", "0\tWho?\tShe.\tentailment", ("Who?", "She.", "entailment")),
    "qqp": ("id\tqid1\tqid2\tquestion1\tquestion2\tis_duplicate", "0\t1\t2\tWhy?\tHow?\t0", ("Why?", "How?", "0")),
    "stsb": (
        "index\tgenre\tfilename\tyear\told_index\tsource1\tsource2\tsentence1\tsentence2\tscore",
        "0\tnews\tx\t2012\t1\tnone\tnone\tOne.\tTwo.\t3.250",
        ("One.", "Two.", "3.250"),
    ),
    "mnli": ("index\tgenre\tsentence1\tsentence2\tlabel1\tgold_label", "0\tx\tA b.\tC d.\tneutral\t-",
             ("A b.", "C d.", None)),
    "snli": ("gold_label\tpremise\thypothesis", "neutral\tA b.\tC d.", ("A b.", "C d.", "neutral")),
}  # fmt: skip


def said(document: Document) -> tuple[str, str | None, str | None]:
    return document.text, None if document.pair is None else document.pair.text, document.label


@pytest.mark.parametrize("kind", GLUE)
def test_tables_of_glue(kind: str) -> None:
    header, row, expected = GLUE[kind]
    corpus = read(Source.of_text(f"{header}\r\n{row}\r\n\r\n", name="dev.tsv"))
    assert corpus.format == "labelled"
    assert [said(document) for document in corpus.documents] == [expected]
    assert corpus.documents[0].name == "dev.tsv, line 2"
    annotations = (["label"] if expected[2] else []) + (["pair"] if expected[1] else [])
    assert corpus.annotations == tuple(annotations)


def test_the_column_of_the_label_can_be_named() -> None:
    text = "Text\tscore\tmood\nIt works.\t4\tGlad\n"
    assert read(Source.of_text(text)).documents[0].label == "4"
    assert read(Source.of_text(text), label="Mood").documents[0].label == "Glad"
    unknown = "text\tmood\nIt works.\tglad\n"
    assert read(Source.of_text(unknown), "labelled", label="mood").documents[0].label == "glad"


def test_cola() -> None:
    text = "gj04\t1\t\tOur friends won't buy this.\nks08\t0\t*?\tThey won't buys.\n"
    corpus = read(Source.of_text(text, name="dev.tsv"))
    assert corpus.format == "labelled"
    expected = [("Our friends won't buy this.", None, "1"), ("They won't buys.", None, "0")]
    assert [said(document) for document in corpus.documents] == expected


def test_json_lines() -> None:
    lines = [
        '{"sentence1": "A b.", "sentence2": "C d.", "label": "yes", "id": 7}',
        '{"label": 3.50, "Premise": "A b.", "hypothesis": "C d."}',
        '{"text": "A b.", "label": true}',
        '{"text": "A b.", "label": null}',
        '{"text": "A b.", "label": 2}',
    ]
    corpus = read(Source.of_text("\n".join(lines), name="dev.jsonl"))
    assert corpus.format == "labelled"
    assert [document.label for document in corpus.documents] == ["yes", "3.5", "true", None, "2"]
    assert [document.pair is not None for document in corpus.documents] == [True, True, False, False, False]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("sentence\tlabel\nA\tb\tc\n", r"^t\.tsv, line 2: 3 columns where the header names 2; write a tab inside"),
        ("sentence\tlabel\nA\n", "line 2: 1 column where the header names 2"),
        ("sentence\tlabel\n \t1\n", "line 2: the sentence has no words; leave this line out"),
        ("gj04\t1\t\tA b.\ngj04\t1\tA b.\n", "line 2: 3 columns where CoLA has 4"),
        ("words\tlabel\nA\t1\n", r"line 2: none of its columns \(words, label\) is a text; call it sentence"),
        ("sentence\tmood\nA\t1\n", r"line 2: there is no column for labels among sentence, mood; name .*--label"),
        ("sentence\tlabel\n", "there is no labelled text in this file"),
        ('{"text": "A.", "label": 1}\n{"text": "B."\n', "line 2: this is not JSON"),
        ('{"text": "A.", "label": [1]}\n', r"line 1: the label \[1\] is neither a word nor a number"),
        ('{"text": 3, "label": 1}\n', "line 1: the field 'text' is no text"),
        ('{"text": "A.", "label": 1}\n[2]\n', "line 2: this JSON is not an object"),
    ],
)
def test_errors(text: str, message: str) -> None:
    with pytest.raises(CorpusError, match=message):
        read_labelled(Source.of_text(text, name="t.tsv"))


def test_a_column_that_is_not_there() -> None:
    with pytest.raises(CorpusError, match="there is no column 'stars' among sentence, label"):
        read_labelled(Source.of_text("sentence\tlabel\nA\t1\n"), "stars")


TREES = "(3 (2 It) (4 (2 's) (4 good)))\n(1 (0 Bad) (2 (2 -LRB-) (2 9\\/10)))\n(2 (2 A) (2 film))\n"


def test_sentiment_trees() -> None:
    corpus = read(Source.of_text(TREES, name="dev.txt"))
    assert corpus.format == "sst"
    expected = [("It 's good", None, "positive"), ("Bad ( 9/10", None, "negative"), ("A film", None, None)]
    assert [said(document) for document in corpus.documents] == expected
    assert [document.label for document in read(Source.of_text(TREES), label="five").documents] == ["3", "1", "2"]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("(3 (2 It) (4 works)", "line 1: this is no whole tree .*: 1 closing brackets are missing"),
        ("(3 (2 It) (4 works)))", r"line 1: this is no tree .* wrong at '\)'"),
        ("(3 (2 It) (7 works))", r"line 1: this is no tree .* wrong at '\(7 works\)\)'"),
        ("(3 (2 It) (4 works)) (2 no)", r"line 1: this is no tree .* wrong at ' \(2 no\)'"),
        ("(3 )", "line 1: this is no whole tree .*: it has no words"),
        ("", "there is no tree in this file"),
    ],
)
def test_broken_trees(text: str, message: str) -> None:
    with pytest.raises(CorpusError, match=message):
        read_sst(Source.of_text(text, name="t.txt"))


def test_labels_of_trees_are_binary_or_five() -> None:
    with pytest.raises(CorpusError, match="'binary' or 'five', not 'three'"):
        read_sst(Source.of_text(TREES), "three")


def test_a_label_describes_the_whole() -> None:
    pair = Document.from_words(["d"])
    document = Document.from_words(["a", "b", "c"], label="good", pair=pair)
    part = document.slice(0, 2)
    assert (part.label, part.pair) == (None, None)
    assert document.slice(0, 3).label is None
