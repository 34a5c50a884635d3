"""Symmetrising against a naive reading of its definition; counting against the definition of the scores."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from attlas.stats import METRICS
from attlas.text import Links
from attlas.text.links import (
    SYMMETRIES,
    Pairs,
    diagonal,
    grow_diag_final_and,
    intersection,
    marks,
    symmetrise,
    union,
    written,
)

SIZES = (5, 6)
links = st.frozensets(st.tuples(st.integers(0, SIZES[0] - 1), st.integers(0, SIZES[1] - 1)), max_size=12)
many = settings(max_examples=200, deadline=None)


def by_the_book(e2f: Pairs, f2e: Pairs) -> Pairs:
    """Koehn's pseudo-code, line by line, with links as (e, f) and nothing kept beside the links; e is the target."""
    a, b = ({(j, i) for i, j in side} for side in (e2f, f2e))
    found = a & b
    neighbours = [(-1, 0), (0, -1), (1, 0), (0, 1), (-1, -1), (-1, 1), (1, -1), (1, 1)]

    def e_linked(e: int) -> bool:
        return any(link[0] == e for link in found)

    def f_linked(f: int) -> bool:
        return any(link[1] == f for link in found)

    while True:
        before = set(found)
        for e in range(SIZES[1]):
            for f in range(SIZES[0]):
                if (e, f) in found:
                    for de, df in neighbours:
                        new = e + de, f + df
                        if (not e_linked(new[0]) or not f_linked(new[1])) and new in a | b:
                            found.add(new)
        if found == before:
            break
    for side in (a, b):
        for e in range(SIZES[1]):
            for f in range(SIZES[0]):
                if not e_linked(e) and not f_linked(f) and (e, f) in side:
                    found.add((e, f))
    return frozenset((f, e) for e, f in found)


@many
@given(links, links)
def test_grow_diag_final_and_is_the_definition(forward: Pairs, backward: Pairs) -> None:
    found = grow_diag_final_and(forward, backward, SIZES)
    assert found == by_the_book(forward, backward)
    assert intersection(forward, backward) <= found <= union(forward, backward)


def test_what_grows_and_what_does_not() -> None:
    forward: Pairs = frozenset({(0, 0), (1, 1), (0, 1), (3, 4)})
    backward: Pairs = frozenset({(0, 0), (1, 1), (2, 2), (4, 4), (1, 5)})
    # 0-1 would link two words that have links; 2-2 grows on the diagonal; 3-4 comes first at the end, so 4-4 and 1-5
    # find a word that is taken.
    assert written(grow_diag_final_and(forward, backward, (5, 6))) == "0-0 1-1 2-2 3-4"


@many
@given(links, links, links)
def test_marks_are_counted_by_hand(predicted: Pairs, sure: Pairs, possible: Pairs) -> None:
    found = marks(predicted, Links(sure, possible))
    assert found == (
        sum(link in sure for link in predicted),
        sum(link in sure or link in possible for link in predicted),
        len(predicted),
        len(sure),
    )
    if sure:
        assert 0 <= METRICS["aer"].score([found]).item() <= 1


def test_the_published_example_of_an_error_rate() -> None:
    """All sure links found, and nothing that is not possible: no error, however many of the possible are missing."""
    gold = Links(sure=frozenset({(0, 0)}), possible=frozenset({(1, 0), (1, 1)}))
    rates = [METRICS["aer"].score([marks(frozenset(found), gold)]).item() for found in ([(0, 0)], [(0, 0), (1, 1)])]
    assert rates == [0, 0]


@given(st.integers(1, 40), st.integers(1, 40))
def test_the_diagonal_gives_each_target_word_one_source_word(source: int, target: int) -> None:
    found = sorted(diagonal((source, target)), key=lambda link: link[1])
    assert [j for _, j in found] == list(range(target))
    places = [i for i, _ in found]
    assert places == sorted(places)
    assert all(0 <= i < source for i in places)
    assert all(abs((i + 0.5) / source - (j + 0.5) / target) <= 0.5 / source + 1e-9 for i, j in found)
    if source == target:
        assert places == list(range(target))


def test_names_of_symmetries() -> None:
    both = frozenset({(0, 0), (1, 1)}), frozenset({(0, 0), (0, 1)})
    assert {how: written(symmetrise(how, *both, (2, 2))) for how in SYMMETRIES} == {
        "intersection": "0-0",
        "union": "0-0 0-1 1-1",
        "grow-diag-final-and": "0-0 0-1 1-1",
    }
    with pytest.raises(ValueError, match="'refined' is none of"):
        symmetrise("refined", *both, (2, 2))
