"""Phrases from weights, against a slow search word by word; and scores, against counting by hand."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from attlas.studies.shared.keywords.phrases import BAR, candidates, rank_phrases
from attlas.studies.shared.keywords.scoring import Given, macro, micro, score_rows
from attlas.text import Document, Span
from attlas.text.keyphrases import document_stems

WORDS = ["solar", "cell", "cells", "age", "the", "42", ",", "."]
TEXTS = st.lists(st.tuples(st.sampled_from(WORDS), st.floats(0, 5, width=16)), min_size=1, max_size=24)


def slow(document: Document, weights: np.ndarray, longest: int) -> list[Span]:
    """Every run by looking at one word after the other, parted by trying all inner words."""
    stems = document_stems(document)
    places = {stem: [at for at, other in enumerate(stems) if other == stem] for stem in stems}
    runs: list[list[int]] = []
    for first, last in document.sentences:
        open_run: list[int] = []
        for at in range(first, last):
            word = document.word(at)
            heavy = np.mean([weights[other] for other in places[stems[at]]]) >= BAR * np.mean(weights)
            if heavy and any(mark.isalnum() for mark in word):
                open_run.append(at)
            else:
                runs.append(open_run)
                open_run = []
        runs.append(open_run)

    def parted(run: list[int]) -> list[list[int]]:
        if len(run) <= longest:
            return [run]
        if longest == 1:
            return [[at] for at in run]
        inner = range(1, len(run) - 1)
        middle = (len(run) - 1) / 2
        at = min(inner, key=lambda place: (weights[run[place]], abs(place - middle)))
        return parted(run[:at]) + parted(run[at + 1 :])

    parts = [part for run in runs if run for part in parted(run)]
    lettered = [part for part in parts if any(mark.isalpha() for at in part for mark in document.word(at))]
    return [Span(part[0], part[-1] + 1) for part in lettered]


@given(TEXTS, st.integers(1, 5))
def test_candidates_are_those_of_a_slow_search(text: list[tuple[str, float]], longest: int) -> None:
    document = Document.from_text(" ".join(word for word, _ in text))
    weights = np.array([weight for _, weight in text], dtype=np.float64)
    found = candidates(document, weights, document_stems(document), longest=longest)
    assert found == slow(document, weights, longest)


@given(TEXTS)
def test_phrases_add_up_what_their_places_weigh(text: list[tuple[str, float]]) -> None:
    document = Document.from_text(" ".join(word for word, _ in text))
    weights = np.array([weight for _, weight in text], dtype=np.float64)
    stems = document_stems(document)
    phrases = rank_phrases(document, weights)
    assert [phrase.score for phrase in phrases] == sorted((phrase.score for phrase in phrases), reverse=True)
    assert len({phrase.stems for phrase in phrases}) == len(phrases)
    taken = sorted(place for phrase in phrases for place in phrase.places)
    assert all(one.stop <= other.start for one, other in pairwise(taken))
    for phrase in phrases:
        assert phrase.score == pytest.approx(sum(weights[start:stop].sum() for start, stop in phrase.places))
        assert all(stems[start:stop] == phrase.stems for start, stop in phrase.places)


def test_a_phrase_does_not_go_over_the_end_of_a_sentence() -> None:
    document = Document.from_text("Solar cells\n\nAge slowly.")
    assert [phrase.text for phrase in rank_phrases(document, [1, 1, 1, 1, 0])] == ["Solar cells", "Age slowly"]


def test_a_function_word_is_no_better_for_one_heavy_place() -> None:
    document = Document.from_text("The sun. The moon. The star.")
    weights = [0.9, 2, 0, 0.1, 2, 0, 0.1, 2, 0]
    assert {phrase.text for phrase in rank_phrases(document, weights)} == {"sun", "moon", "star"}


def test_scores_are_what_counting_says() -> None:
    found = [[("a",), ("b",), ("c",), ("d",), ("e",), ("f",)], [("x",), ("y",)], []]
    given = [Given((("a",), ("f",), ("z",)), (("a",), ("f",))), Given((("y",),), (("y",),)), Given((("q",),), ())]
    rows = {(row["at"], row["gold"]): row for row in score_rows(found, given)}
    # of five: a, y of 7 found and 5 given; of all: a, f, y of 8 found
    assert rows["5", "all"]["f1"] == pytest.approx(2 * 2 / (7 + 5))
    assert rows["M", "all"]["f1"] == pytest.approx(2 * 3 / (8 + 5))
    assert rows["M", "present"]["f1"] == pytest.approx(2 * 3 / (8 + 3))
    assert rows["M", "all"]["precision"] == pytest.approx(3 / 8)
    assert rows["M", "all"]["recall"] == pytest.approx(3 / 5)
    assert rows["M", "all"]["macro"] == pytest.approx((4 / 9 + 2 / 3 + 0) / 3)
    assert rows["M", "present"]["macro"] == pytest.approx((4 / 8 + 2 / 3) / 2)  # the third has nothing on either side


def test_an_interval_holds_the_score_and_narrows() -> None:
    rng = np.random.default_rng(0)
    few, many = (np.stack([rng.integers(0, 4, n), np.full(n, 5), np.full(n, 4)], 1).astype(float) for n in (20, 500))
    for measure in (micro, macro):
        for counted in (few, many):
            value, low, high = measure(counted)
            assert 0 < low < value < high < 1
        assert measure(many)[2] - measure(many)[1] < measure(few)[2] - measure(few)[1]
        assert measure(few[:5])[1:] == (None, None)  # five documents are too few
    resampled = [few[rng.integers(0, 20, 20)].sum(0) for _ in range(2000)]
    low, high = np.quantile([2 * common / (found + given) for common, found, given in resampled], (0.025, 0.975))
    assert micro(few)[1:] == pytest.approx((low, high), abs=0.03)
