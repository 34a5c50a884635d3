"""Attention to sets of keys, against loops over the weights."""

from __future__ import annotations

import pytest
import torch
from torch import Tensor

from attlas.errors import CapabilityError
from attlas.measures import sets
from attlas.measures.sets import Interval, Listed, SameId, Spans, mass_on
from attlas.models import AttentionCall

KINDS = ("plain", "causal", "left", "grouped", "softcap", "bias", "sinks")
BATCH, HEADS, N = 2, 4, 13


def call_of(kind: str) -> AttentionCall:
    generator = torch.Generator().manual_seed(5)
    query = torch.randn(BATCH, HEADS, N, 8, generator=generator)
    key, value = (torch.randn(BATCH, 2 if kind == "grouped" else HEADS, N, 8, generator=generator) for _ in range(2))
    mask = None
    if kind == "left":
        mask = torch.ones(BATCH, 1, N, N, dtype=torch.bool).tril()
        mask[1, ..., :4] = False
        mask[1, :, range(N), range(N)] = True
    return AttentionCall(
        "site", query, key, value, mask, 0.4, kind in ("causal", "grouped", "sinks"),
        bias=torch.randn(1, HEADS, N, N, generator=generator) if kind == "bias" else None,
        softcap=1.5 if kind == "softcap" else None,
        sinks=torch.randn(HEADS, generator=generator) if kind == "sinks" else None,
    )  # fmt: skip


def by_loop(weights: Tensor, meant: dict[tuple[int, int], set[int]]) -> Tensor:
    """Sums of single weights; ``meant`` has a set of keys for each text and query."""
    sums = torch.zeros(weights.shape[:3], dtype=torch.float64)
    for b in range(weights.shape[0]):
        for h in range(weights.shape[1]):
            for q in range(weights.shape[2]):
                sums[b, h, q] = sum(weights[b, h, q, k].item() for k in meant[b, q])
    return sums


def in_span(members: Tensor) -> set[int]:
    """The places of one span."""
    return set(members.nonzero()[:, 0].tolist())


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("block", [1, 3 * BATCH * HEADS * N, 1 << 20])
def test_a_loop_gives_the_same(kind: str, block: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sets.BLOCKS, "cpu", block)
    call = call_of(kind)
    weights = call.weights().double()
    generator = torch.Generator().manual_seed(7)
    ids = torch.randint(-1, 4, (BATCH, N), generator=generator)
    other = torch.randint(-1, 4, (BATCH, N), generator=generator)
    ends = torch.randint(0, N + 1, (2, BATCH, N), generator=generator).sort(0).values
    listed = torch.randint(-1, N, (BATCH, N, 8), generator=generator)
    spans = torch.rand(BATCH, 3, N, generator=generator) > 0.5
    wanted = (
        SameId(ids, other), SameId(ids, other, own=False), Interval(*ends), Listed(listed), Spans(spans)
    )  # fmt: skip
    every = [(b, q) for b in range(BATCH) for q in range(N)]
    same = {(b, q): {k for k in range(N) if ids[b, q] == other[b, k] and ids[b, q] >= 0} for b, q in every}
    slow = [
        by_loop(weights, same),
        by_loop(weights, {at: keys - {at[1]} for at, keys in same.items()}),
        by_loop(weights, {(b, q): set(range(int(ends[0, b, q]), int(ends[1, b, q]))) for b, q in every}),
        by_loop(weights, {(b, q): set(listed[b, q].tolist()) - {-1} for b, q in every}),
        torch.stack([by_loop(weights, {at: in_span(spans[at[0], some]) for at in every}) for some in range(3)], -1),
    ]
    for fast, expected in zip(mass_on(call, *wanted), slow, strict=True):
        assert fast.shape == expected.shape
        assert torch.allclose(fast.double(), expected, atol=1e-6, rtol=1e-5)


def test_norms_are_weights_times_the_length_of_each_key() -> None:
    call, lengths = call_of("causal"), torch.rand(BATCH, HEADS, N) + 0.5
    start, stop = torch.full((1, N), 2), torch.full((1, N), 6)
    fast = mass_on(call, Interval(start, stop), lengths=lengths)[0]
    slow = (call.weights() * lengths[:, :, None])[..., 2:6].sum(-1)
    assert torch.allclose(fast, slow, atol=1e-6)


def test_more_keys_than_may_be_listed_are_refused() -> None:
    with pytest.raises(CapabilityError, match="9 keys are listed for a query and there may be 8"):
        Listed(torch.zeros(1, 3, 9, dtype=torch.long))
