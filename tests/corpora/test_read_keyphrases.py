"""Key phrases in both shapes."""

import json

import pytest

from attlas.corpora import read_keyphrases
from attlas.corpora.source import Source
from attlas.errors import CorpusError

LONG = {
    "id": "2",
    "title": "On\twaves",
    "abstract": "Waves crest.\r\nThen they\n\tbreak.",
    "uncontrolled": ["waves", "wave\n\tcrests", "waves", " "],
    "controlled": ["oceanography"],
}


def source(*entries: object) -> Source:
    return Source.of_text("\n".join(json.dumps(entry) for entry in entries) + "\n\n", name="k.jsonl")


def test_title_and_abstract() -> None:
    (document,) = read_keyphrases(source(LONG))
    assert document.text == "On waves\n\nWaves crest. Then they break."
    assert document.keyphrases == ("waves", "wave crests")
    assert len(document.sentences) == 3
    assert document.name == "k.jsonl, 2"
    (controlled,) = read_keyphrases(source(LONG), "controlled")
    assert controlled.keyphrases == ("oceanography",)


def test_text_alone() -> None:
    (document,) = read_keyphrases(source({"text": "a\r\n b", "keyphrases": []}))
    assert (document.text, document.keyphrases, document.name) == ("a b", (), "k.jsonl, line 1")


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ('{"text": "a", "keyphrases": []}\n{"text": ', r"^k\.jsonl, line 2: this is not JSON"),
        ("[1]", "line 1: this JSON is not an object"),
        ('{"title": "a"}', "line 1: the field 'abstract' is not there"),
        ('{"text": 3, "keyphrases": []}', "line 1: the field 'text'"),
        ('{"text": "a", "keyphrases": [1]}', "line 1: the field 'keyphrases'"),
        ('{"text": " \\n", "keyphrases": []}', "line 1: this text has no words"),
        ("\n", "no line"),
    ],
)
def test_errors(text: str, message: str) -> None:
    with pytest.raises(CorpusError, match=message):
        read_keyphrases(Source.of_text(text, name="k.jsonl"))


def test_a_choice_that_is_not_there() -> None:
    with pytest.raises(CorpusError, match="one set of key phrases only"):
        read_keyphrases(source({"text": "a", "keyphrases": []}), "controlled")
    with pytest.raises(CorpusError, match="not 'free'"):
        read_keyphrases(source(LONG), "free")


def test_a_text_may_come_without_phrases() -> None:
    (document,) = read_keyphrases(Source.of_text('{"text": "a"}', name="a.jsonl"))
    assert (document.text, document.keyphrases) == ("a", None)
