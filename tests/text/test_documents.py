"""Documents, sentences, segmentation and windows, on odd and random input."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from attlas.errors import TextError
from attlas.text import ROOT, Document, Links, Mention, Segmentation, Span, cut_windows, regroup, segment

WORDS = st.lists(st.text("abc.é猫🙂", min_size=1, max_size=5), min_size=1, max_size=40)


@pytest.mark.parametrize(
    ("layers", "reason"),
    [
        ({"upos": ["X"]}, "1 upos for 2 words"),
        ({"governors": [5, ROOT]}, "governor 5 is outside"),
        ({"governors": [1, 0]}, "form a cycle"),
        ({"mentions": (Mention(0, 3, "a"),)}, "mention 0:3 is outside"),
        ({"links": Links(frozenset({(0, 0)}), frozenset())}, "links without a translation"),
    ],
)
def test_a_document_that_does_not_fit_together_is_refused(layers: dict, reason: str) -> None:
    with pytest.raises(TextError, match=reason):
        Document.from_words(["a", "b"], name="x", **layers)


def test_an_empty_word_is_refused() -> None:
    with pytest.raises(TextError, match="word 1 of the document is empty"):
        Document.from_words(["a", " "])


def test_a_slice_keeps_what_lies_inside() -> None:
    document = Document.from_words(
        ["He", "saw", "her", "and", "she", "waved"],
        governors=[1, ROOT, 1, 5, 5, 1],
        mentions=(Mention(0, 1, "he", 0), Mention(2, 3, "she", 2), Mention(4, 5, "she", 4)),
        sentences=[(0, 3), (3, 6)],
    )
    part = document.slice(2, 6)
    assert part.text == "her and she waved"
    assert part.governors == (None, 3, 3, None)
    assert [(m.start, m.chain, m.head) for m in part.mentions] == [(0, "she", 0), (2, "she", 2)]
    assert part.sentences == (Span(0, 1), Span(1, 4))


@pytest.mark.parametrize(
    ("text", "sentences"),
    [
        ("It rained. We left.", 2),
        ("Dr. Smith met J. R. Jones. He waved.", 2),
        ('"Why?" she asked. Nobody knew!', 2),
        ("version 2.5 is out. good", 1),
        ("first line\n\nsecond block", 2),
        ("猫は寝る。犬も寝る。", 2),
        ("...", 1),
        ("Wait... what? No.", 2),
    ],
)
def test_sentences_by_rule(text: str, sentences: int) -> None:
    document = Document.from_text(text)
    assert len(document.sentences) == sentences
    covered = [i for s in document.sentences for i in range(s.start, s.stop)]
    assert covered == list(range(len(document.words)))


@given(WORDS, st.integers(1, 9), st.integers(1, 6))
def test_windows_keep_every_word_in_order_within_the_limit(words: list[str], limit: int, every: int) -> None:
    cuts = [*range(0, len(words), every), len(words)]
    document = Document.from_words(words, sentences=list(pairwise(cuts)))
    windows = cut_windows(document, lambda part: len(part.words), limit)
    assert [form for part in windows.documents for form in part.forms] == words
    assert all(len(part.words) <= limit for part in windows.documents)
    if limit >= every:
        assert windows.cut_inside_sentences == 0


@given(WORDS, st.data())
def test_every_piece_that_touches_a_word_gets_one(words: list[str], data: st.DataObject) -> None:
    document = Document.from_words(words)
    ends = sorted(data.draw(st.sets(st.integers(1, len(document.text)), max_size=30)) | {len(document.text)})
    offsets = list(zip([0, *ends], ends, strict=False))
    found = segment(offsets, document.words)
    assert list(found) == sorted(found), "words come in order"
    for (start, stop), word in zip(offsets, found, strict=True):
        shared = [min(stop, w.stop) - max(start, w.start) for w in document.words]
        if max(shared) > 0:
            assert shared[word] == max(shared)


@given(st.lists(st.integers(-1, 4), min_size=1, max_size=12), st.integers(0, 99))
def test_regrouped_rows_still_sum_to_one(owners: list[int], seed: int) -> None:
    words = tuple(sorted(owners))
    segmentation = Segmentation(tuple("x" * len(words)), words, tuple(0 if w >= 0 else -1 for w in words), 5)
    weights = np.random.default_rng(seed).dirichlet(np.ones(len(words)), size=(2, len(words)))
    grouped = regroup(weights, segmentation)
    assert np.allclose(grouped.sum(-1), 1)
    assert grouped.shape[-1] == len({w for w in words if w >= 0}) + words.count(-1)
    assert set(segmentation.wordless) == set(range(5)) - set(words)
