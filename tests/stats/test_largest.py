"""The largest cases of many cells at once, against sorting all cases of each."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from attlas.stats import Largest

CASES = st.lists(st.tuples(st.integers(0, 3), st.sampled_from([0.1, 0.5, 0.9]), st.integers(0, 6)), max_size=30)


@given(CASES, CASES, st.integers(1, 4))
def test_the_largest_are_those_of_sorting_all(
    first: list[tuple[int, float, int]], then: list[tuple[int, float, int]], keep: int
) -> None:
    best = Largest(cells=4, keep=keep, width=1)
    for cases in (first, then):
        cells, values, places = (np.array(part) for part in zip(*cases, strict=True)) if cases else ([], [], [])
        best.update(cells, values, np.reshape(places, (-1, 1)))
    for cell, found in enumerate(best.result()):
        expected = sorted((-value, place) for of, value, place in first + then if of == cell)[:keep]
        assert [(-value, place) for value, (place,) in found] == expected
