"""Holm's correction, against its definition."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from attlas.stats import holm


@given(st.lists(st.floats(0, 1), max_size=12))
def test_holm_holds_its_definition(p: list[float]) -> None:
    """The k-th smallest of n is multiplied by n - k + 1, and none is smaller than one before it."""
    adjusted = holm(p)
    ranked = sorted(range(len(p)), key=lambda index: p[index])
    most = 0.0
    for rank, index in enumerate(ranked):
        most = max(most, min(1.0, (len(p) - rank) * p[index]))
        assert adjusted[index] == most
