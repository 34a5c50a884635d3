"""The spans format: what is read, what is written, what is refused."""

from __future__ import annotations

import gzip
import json
import lzma
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from attlas.corpora import read, read_edges, read_spans, write_spans
from attlas.corpora.source import Source
from attlas.errors import CorpusError
from attlas.text import Document, Edge, Span


def spans(*entries: object) -> Source:
    return Source.of_text("\n".join(json.dumps(entry) for entry in entries), name="a.jsonl")


def test_a_file_as_the_field_has_them() -> None:
    """With the fields that others write beside, and strings and lists as labels."""
    line = {
        "text": "The important thing about Disney is that it is a global brand .",
        "info": {"document_id": "nw/wsj", "sentence_id": 0},
        "targets": [
            {"span1": [0, 3], "span2": [7, 8], "label": "0", "info": {"height": 2}},
            {"span1": [4, 5], "span2": [7, 8], "label": ["1", "x"]},
        ],
    }
    (document,) = read_spans(spans(line))
    assert document.forms[4] == "Disney"
    assert document.edges == (
        Edge(Span(0, 3), Span(7, 8), ("0",)),
        Edge(Span(4, 5), Span(7, 8), ("1", "x")),
    )


def test_words_are_found_in_the_text() -> None:
    target = [{"span1": [1, 2], "label": "RB"}]
    (document,) = read_spans(spans({"text": "I  don't.", "words": ["I", "do", "n't", "."], "targets": target}))
    assert (document.text, document.forms) == ("I  don't.", ("I", "do", "n't", "."))
    (document,) = read_spans(spans({"words": ["I", "do", "n't"], "targets": target}))
    assert document.text == "I do n't"
    (document,) = read_spans(spans({"text": "du", "words": [[0, 1], [0, 2]], "targets": target}))
    assert document.forms == ("d", "du")


def test_articles_and_names() -> None:
    target = [{"span1": [0, 1], "label": "X"}]
    corpus = read(
        spans(
            {"text": "a", "name": "first", "article": "p", "targets": target},
            {"text": "b", "targets": target},
            {"text": "c", "article": "p", "targets": []},
            {"text": "d", "article": 7, "targets": target},
        )
    )
    assert (corpus.format, corpus.annotations) == ("spans", ("edges",))
    assert [document.text for document in corpus.documents] == ["a", "c", "b", "d"]  # by article
    assert corpus.articles == (0, 0, 1, 2)
    assert [document.name for document in corpus.documents][:3] == ["first", "a.jsonl, line 3", "a.jsonl, line 2"]


def test_such_a_file_is_known_by_its_lines(tmp_path: Path) -> None:
    for line in (
        {"text": "a b", "targets": [{"span1": [0, 1], "label": "X"}]},
        {"words": ["a"], "targets": [{"span1": [0, 1], "label": "X"}], "label": "y", "text": "a"},
        {"targets": [{"span1": [0, 1], "label": ["X"]}], "text": "a"},
    ):
        (tmp_path / "a.jsonl.gz").write_bytes(gzip.compress(json.dumps(line).encode()))
        (tmp_path / "a.txt").write_text(json.dumps(line))
        assert read(tmp_path / "a.jsonl.gz").format == read(tmp_path / "a.txt").format == "spans"


GOOD = {"text": "a b c", "targets": [{"span1": [0, 1], "label": "X"}]}


@pytest.mark.parametrize(
    ("entry", "message"),
    [
        ({"text": "a b", "targets": [{"span1": [1, 4], "label": "X"}]}, "line 2: span1 1:4 is outside its 2 words"),
        ({"text": "a", "targets": [{"span1": [-1, 1], "label": "X"}]}, "span1 -1:1 is outside its 1 word"),
        ({"text": "a b", "targets": [{"span1": [0, 1], "span2": [0, 9], "label": "X"}]}, "span2 0:9 is outside"),
        ({"text": "a b", "targets": [{"span1": [1, 1], "label": "X"}]}, "span1 1:1 has no words; its end is"),
        ({"text": "a b", "targets": [{"span1": [0, "1"], "label": "X"}]}, r'span1 is \[0, "1"\], not two numbers'),
        ({"text": "a b", "targets": [{"span1": [0, True], "label": "X"}]}, "not two numbers"),
        ({"text": "a b", "targets": [{"label": "X"}]}, "line 2: a target has no span1"),
        ({"text": "a b", "targets": [{"span1": [0, 1]}]}, "line 2: a target has no label"),
        ({"text": "a b", "targets": [{"span1": [0, 1], "label": 3}]}, "the label 3 is neither a string nor a list"),
        ({"text": "a b", "targets": [{"span1": [0, 1], "label": ["X", 3]}]}, "neither a string nor a list"),
        ({"text": "a b", "targets": [{"span1": [0, 1], "label": " "}]}, "a string of its label is empty"),
        ({"text": "a b", "targets": [{"span1": [0, 1], "label": "X", "among": ["Y"]}]}, "'X' is not among those"),
        ({"text": "a b", "targets": ["X"]}, "a target is not an object"),
        ({"text": "a b"}, "line 2: the field 'targets' is not there or is no list"),
        ({"targets": []}, "line 2: there is neither a text nor words"),
        ({"text": " ", "targets": []}, "line 2: this text has no words"),
        ({"text": 3, "targets": []}, "the text is no string"),
        ({"text": "a b", "words": ["a", "c"], "targets": []}, "line 2: word 1, 'c', is not in the text after"),
        ({"text": "a b", "words": ["b", "a"], "targets": []}, "word 1, 'a', is not in the text"),
        ({"words": ["a", ""], "targets": []}, "word 1 of its words is empty"),
        ({"words": "a b", "targets": []}, "the field 'words' is not there or is no list"),
        ({"words": [[0, 1]], "targets": []}, "the field 'words' is not there or is no list"),
        ({"text": "ab", "words": [[0, 3]], "targets": []}, "characters 0:3 of a word are not in its text of 2"),
        ({"text": "ab", "words": [{"a": 1}], "targets": []}, "neither strings nor"),
        ({"text": "a b", "targets": [{"span1": [0, 1], "span2": [1, 2], "label": "X"}]}, "spans and pairs of spans"),
        ({"text": "a", "name": 3, "targets": []}, "the name is no string"),
        ({"text": "a", "article": [], "targets": []}, "the article is neither"),
        ([], "line 2: this JSON is not an object"),
    ],
)
def test_what_is_wrong_is_said_with_its_line(entry: object, message: str) -> None:
    with pytest.raises(CorpusError, match=message) as caught:
        read_spans(spans(GOOD, entry))
    assert "\n" not in str(caught.value)
    assert str(caught.value).startswith("a.jsonl, line 2: ")


def test_nothing_to_learn() -> None:
    with pytest.raises(CorpusError, match=r"a\.jsonl: no text of this file has targets"):
        read_spans(spans({"text": "a", "targets": []}, {"text": "b", "targets": []}))
    with pytest.raises(CorpusError, match=r"a\.jsonl: no target of this file has a label"):
        read_spans(spans({"text": "a", "targets": [{"span1": [0, 1], "label": []}]}))
    with pytest.raises(CorpusError, match="line 1: this is not JSON"):
        read_spans(Source.of_text('{"text": '))


def test_a_task_refuses_spans_of_the_other_kind() -> None:
    with pytest.raises(CorpusError, match=r"the task roles is of pairs of spans, and this has single spans"):
        read_edges("roles", spans(GOOD))
    pairs = {"text": "a b", "targets": [{"span1": [0, 1], "span2": [1, 2], "label": "X"}]}
    with pytest.raises(CorpusError, match=r"the task pos is of single spans, and this has pairs of spans"):
        read_edges("pos", spans(pairs))
    assert read_edges("spans", spans(GOOD)).format == read_edges("spans", spans(pairs)).format == "spans"


@pytest.mark.parametrize("name", ["a.jsonl", "a.jsonl.gz", "a.jsonl.xz"])
def test_written_files_are_packed_as_their_names_say(tmp_path: Path, name: str) -> None:
    document = Document.from_words(["Ça", "va"], name="x", edges=[Edge(Span(0, 1), labels=("PRON",))])
    write_spans(tmp_path / name, [document], [4])
    data = (tmp_path / name).read_bytes()
    data = gzip.decompress(data) if name.endswith("gz") else lzma.decompress(data) if name.endswith("xz") else data
    assert json.loads(data) == {
        "name": "x",
        "article": 4,
        "text": "Ça va",
        "words": ["Ça", "va"],
        "targets": [{"span1": [0, 1], "label": "PRON"}],
    }
    assert read_spans(tmp_path / name) == [document]
    write_spans(tmp_path / f"again-{name}", [document], [4])
    assert (tmp_path / f"again-{name}").read_bytes() == (tmp_path / name).read_bytes()


LABELS = st.lists(st.text("abc é", min_size=1).filter(str.strip), unique=True, max_size=3).map(tuple)


@st.composite
def documents(draw: st.DrawFn, paired: bool) -> Document:
    """Texts whose words may overlap and need not cover it, with edges."""
    text = draw(st.text("ab c\u2028é\t", min_size=1, max_size=12).filter(str.strip))
    places = st.integers(0, len(text) - 1).flatmap(
        lambda start: st.tuples(st.just(start), st.integers(start + 1, len(text)))
    )
    words = draw(st.lists(places.filter(lambda place: text[slice(*place)].strip() != ""), min_size=1, max_size=6))
    ranges = st.integers(0, len(words) - 1).flatmap(
        lambda start: st.tuples(st.just(start), st.integers(start + 1, len(words)))
    ).map(lambda pair: Span(*pair))  # fmt: skip
    edges = []
    for _ in range(draw(st.integers(0, 4))):
        labels = draw(LABELS)
        among = draw(st.none() | LABELS.map(lambda more: tuple(dict.fromkeys((*labels, *more)))))  # noqa: B023
        edges.append(Edge(draw(ranges), draw(ranges) if paired else None, labels, among or None))
    return Document(text, tuple(Span(*word) for word in words), name=draw(st.text("xy")), edges=tuple(edges))


@settings(max_examples=60, deadline=None)
@given(data=st.data(), paired=st.booleans())
def test_whatever_is_written_is_read_as_it_was(
    tmp_path_factory: pytest.TempPathFactory, data: st.DataObject, paired: bool
) -> None:
    sure = Document.from_words(["a", "b"], name="z", edges=[Edge(Span(0, 1), Span(1, 2) if paired else None, ("X",))])
    texts = [sure, *data.draw(st.lists(documents(paired), max_size=3))]
    path = tmp_path_factory.mktemp("spans") / "a.jsonl"
    write_spans(path, texts)
    again = read_spans(path)
    assert [(text.text, text.words, text.edges) for text in again] == [
        (text.text, text.words, text.edges) for text in texts
    ]
    assert [text.name for text in again] == [
        text.name or f"a.jsonl, line {line}" for line, text in enumerate(texts, start=1)
    ]
