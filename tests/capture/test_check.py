"""What a model must prove: rows of weights that do not sum to one are seen, however few they are."""

from __future__ import annotations

import pytest
import torch

import twins
from attlas.capture import Subject
from attlas.capture.check import _sums_to_one


@pytest.mark.parametrize(
    ("family", "short", "long"),
    [("bert", False, False), ("gpt_oss", True, False)],  # sinks take a part of a row, and never add to it
)
def test_a_single_row_that_does_not_sum_to_one_is_seen(family: str, short: bool, long: bool) -> None:
    subject = Subject.of(twins.model(family), twins.tokenizer(family in twins.CAUSAL), family)
    even = torch.full((1, 2, 3, 4), 0.25)
    assert _sums_to_one(even, subject)
    for weight, passes in ((0.2, short), (0.3, long)):
        weights = even.clone()
        weights[0, 1, 2] = weight
        assert _sums_to_one(weights, subject) is passes
