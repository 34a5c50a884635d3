"""Key phrases in texts: stems, places, key words and chunks, against a search by hand."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from attlas.text import Document
from attlas.text.keyphrases import document_stems, given_phrases, key_chunks, key_words, places

WORDS = st.lists(st.sampled_from(["cell", "cells", "solar", "age", "ages", ".", "sun"]), min_size=1, max_size=14)
PHRASES = st.lists(
    st.lists(st.sampled_from(["cell", "solar", "ages", "sun", "moon"]), min_size=1, max_size=3), max_size=4
)


def made(words: list[str], phrases: list[list[str]]) -> Document:
    return replace(Document.from_words(words), keyphrases=tuple(" ".join(phrase) for phrase in phrases))


@given(WORDS, PHRASES)
def test_key_words_are_those_that_a_search_by_hand_finds(words: list[str], phrases: list[list[str]]) -> None:
    document = made(words, phrases)
    stems = {"cells": "cell", "ages": "ag", "age": "ag"}
    text = [stems.get(word, word) for word in words]
    marked = np.zeros(len(words), dtype=bool)
    for phrase in phrases:
        wanted = [stems.get(word, word) for word in phrase]
        for at in range(len(words)):
            if text[at : at + len(wanted)] == wanted:
                marked[at : at + len(wanted)] = True
    assert key_words(document).tolist() == marked.tolist()


@given(WORDS, PHRASES)
def test_chunks_are_places_that_do_not_overlap_and_none_could_be_added(
    words: list[str], phrases: list[list[str]]
) -> None:
    document = made(words, phrases)
    chunks = key_chunks(document)
    taken = [word for start, stop, _ in chunks for word in range(start, stop)]
    assert len(taken) == len(set(taken))
    every = [span for spans in places(document_stems(document), given_phrases(document)).values() for span in spans]
    assert {(start, stop) for start, stop, _ in chunks} <= {tuple(span) for span in every}
    for start, stop in every:
        assert set(range(start, stop)) & set(taken)


def test_phrases_that_are_not_in_the_text_mark_nothing() -> None:
    document = replace(Document.from_text("It rained."), keyphrases=("solar cell",))
    assert not key_words(document).any()
    assert key_chunks(document) == ()


def test_a_document_without_phrases_has_none() -> None:
    assert given_phrases(Document.from_text("It rained.")) == []
