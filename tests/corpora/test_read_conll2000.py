"""CoNLL-2000: chunks from tags, checked against the scorer's rule written out naively."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from attlas.corpora import read, read_conll2000
from attlas.corpora.conll2000 import chunks_of
from attlas.corpora.source import Source
from attlas.errors import CorpusError
from attlas.text import Chunk


def naive(tags: list[str]) -> list[tuple[int, int, str]]:
    """A word starts a chunk if B, or if I and the word before is O or of another type."""
    starts = [
        k
        for k, tag in enumerate(tags)
        if tag[0] == "B" or (tag[0] == "I" and (k == 0 or tags[k - 1] == "O" or tags[k - 1][2:] != tag[2:]))
    ]
    chunks = []
    for start in starts:
        stop = start + 1
        while stop < len(tags) and tags[stop] == "I" + tags[start][1:]:
            stop += 1
        chunks.append((start, stop, tags[start][2:]))
    return chunks


@given(st.lists(st.sampled_from(["O", "B-NP", "I-NP", "B-VP", "I-VP"]), max_size=12))
def test_chunks_follow_the_scorer(tags: list[str]) -> None:
    assert [tuple(chunk) for chunk in chunks_of(tags)] == naive(tags)


def test_sentences_do_not_share_chunks() -> None:
    text = "a DT B-NP\nb NN I-NP\n\n\nc NN I-NP\n"
    first, second = read_conll2000(Source.of_text(text, name="t.txt"))
    assert [tuple(c) for c in first.chunks or ()] == [(0, 2, "NP")]
    assert [tuple(c) for c in second.chunks or ()] == [(0, 1, "NP")]
    assert (first.text, first.xpos, second.name) == ("a b", ("DT", "NN"), "t.txt, sentence 2")


def test_entities_in_two_and_in_four_columns() -> None:
    (two,) = read_conll2000(Source.of_text("in\tO\nNew York\tB-place\nState\tI-place\n\t\n", name="t.conll"))
    assert (two.forms, two.xpos) == (("in", "New York", "State"), None)
    assert [tuple(c) for c in two.chunks or ()] == [(1, 3, "place")]
    text = "-DOCSTART- -X- O O\n\nEU NNP I-NP I-ORG\nsays VBZ I-VP O\n\n-DOCSTART- -X- O O\n\nBonn NNP I-NP I-LOC\n"
    first, second = read_conll2000(Source.of_text(text, name="t.txt"))
    assert (first.xpos, [tuple(c) for c in first.chunks or ()]) == (("NNP", "VBZ"), [(0, 1, "ORG")])
    assert [tuple(c) for c in second.chunks or ()] == [(0, 1, "LOC")]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("a O\nb NN B-NP\n", "line 2: 3 columns where 2 are needed: word and chunk tag"),
        ("a b c d O\n", "line 1: 5 columns where 3 are needed"),
        ("a\tO\n\tO\n", "line 2: (1 column|the word before)"),
        ("a DT B-NP\nb NN\n", r"^t\.txt, line 2: 2 columns where 3 are needed"),
        ("word\n", "line 1: 1 column where"),
        ("a DT X-NP\n", "line 1: the chunk tag 'X-NP'"),
        ("a DT B-\n", "line 1: the chunk tag 'B-'"),
        ("\n\n", "no sentence"),
    ],
)
def test_errors(text: str, message: str) -> None:
    with pytest.raises(CorpusError, match=message):
        read_conll2000(Source.of_text(text, name="t.txt"))


def test_underscores_and_dashes_are_no_tags() -> None:
    text = "He PRP B-NP\n- - -\nslept - _\n"
    (document,) = read(Source.of_text(text)).documents
    assert (document.xpos, document.chunks) == (("PRP", "-", "_"), (Chunk(0, 1, "NP"),))
    (document,) = read_conll2000(Source.of_text("He _ B-NP\nslept - O\n"))
    assert document.xpos is None
    assert read(Source.of_text("one two -\nthree four _\n")).format == "plain"
