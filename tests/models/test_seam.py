"""What a call at the seam says of itself, by hand."""

from __future__ import annotations

import math

import pytest
import torch
from torch import Tensor

from attlas.errors import CapabilityError
from attlas.ids import Site, Stream
from attlas.models import AttentionCall
from attlas.models.projections import _groups

SITE = Site(Stream.ENCODER, 0)


def call(mask: Tensor | None = None, **more: object) -> AttentionCall:
    queries = torch.tensor([[[[1.0, 0.0], [0.0, 2.0]]]])
    return AttentionCall(SITE, queries, queries, queries, mask, 0.5, **more)  # type: ignore[arg-type]


HIDING = torch.tensor([[[[0.0, torch.finfo(torch.float32).min], [0.0, 0.0]]]])


@pytest.mark.parametrize(
    ("mask", "adjusted"),
    [
        (None, False),
        (HIDING == 0, False),
        (HIDING, False),  # zeros and the lowest number only hide keys
        (torch.zeros(1, 1, 2, 2), False),
        (HIDING + torch.tensor([[0.0, 0.0], [-1.5, 0.0]]), True),  # a bias in the mask
    ],
)
def test_scores_are_adjusted_where_a_mask_does_more_than_hide(mask: Tensor | None, adjusted: bool) -> None:
    assert call(mask).adjusted is adjusted


def test_weights_are_those_of_a_hand_made_softmax() -> None:
    e = math.exp
    assert torch.allclose(call().weights()[0, 0, 0], torch.tensor([e(0.5), 1.0]) / (e(0.5) + 1))
    assert torch.allclose(
        call(HIDING).weights()[0, 0], torch.tensor([[1.0, 0.0], [1 / (1 + e(2)), e(2) / (1 + e(2))]])
    )
    capped = 0.8 * math.tanh(2 / 0.8)
    assert call(softcap=0.8).scores()[0, 0, 1, 1].item() == pytest.approx(capped)


def test_heads_whose_queries_keys_or_values_were_not_found_are_not_told_apart() -> None:
    module = torch.nn.Linear(2, 2)
    found = {module: torch.eye(2, dtype=torch.bool)}
    assert _groups([found, found, found], SITE, "it") == ((0,), (1,))
    for missing in range(3):
        kinds = [{} if kind == missing else found for kind in range(3)]
        with pytest.raises(CapabilityError, match="were not found"):
            _groups(kinds, SITE, "it")
    shared = {module: torch.ones(2, 2, dtype=torch.bool)}
    assert _groups([found, found, shared], SITE, "it") == ((0, 1),)
    with pytest.raises(CapabilityError, match="cannot be told apart"):
        _groups([shared, found, found], SITE, "it")
