"""Even attention in closed form, against the matrix of a head whose queries are zero."""

from __future__ import annotations

from dataclasses import fields

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from attlas.ids import Site, Stream
from attlas.measures import even
from attlas.measures.even import even_statistics
from attlas.measures.rows import matrix_statistics, uniform_call
from attlas.models import AttentionCall

KINDS = ("all", "causal", "left", "right", "window", "odd", "shared", "additive")


def call_of(kind: str, batch: int, queries: int, keys: int, seed: int = 0) -> AttentionCall:
    """A call of two heads, by what may be seen."""
    generator = torch.Generator().manual_seed(seed)
    q = torch.randn(batch, 2, queries, 4, generator=generator)
    k = torch.randn(batch, 2, keys, 4, generator=generator)
    i, j = torch.arange(queries)[:, None], torch.arange(keys)
    mask = torch.ones(batch, 1, queries, keys, dtype=torch.bool)
    if kind == "left":
        mask = mask & (j >= torch.arange(batch)[:, None, None, None]) & (j <= i)
    elif kind == "right":
        mask = mask & (j < keys - torch.arange(batch)[:, None, None, None].clamp(max=keys - 1))
    elif kind == "window":
        mask = mask & ((i - j).abs() <= 2)
    elif kind == "odd":
        mask = torch.rand(mask.shape, generator=generator) < 0.5
    elif kind == "shared":
        mask = mask[:1] & (j <= i)
    elif kind == "additive":
        mask = torch.zeros(mask.shape).masked_fill(~(mask & (j <= i)), torch.finfo(torch.float32).min)
    given_mask = None if kind in ("all", "causal") else mask
    return AttentionCall(Site(Stream.ENCODER, 0), q, k, k, given_mask, 0.5, causal=kind == "causal")


@given(
    kind=st.sampled_from(KINDS), batch=st.integers(1, 3), queries=st.integers(1, 24), keys=st.integers(0, 24),
    columns=st.integers(0, 3), seed=st.integers(0, 99),
)  # fmt: skip
def test_closed_form_equals_the_matrix_of_a_head_with_zero_queries(
    kind: str, batch: int, queries: int, keys: int, columns: int, seed: int
) -> None:
    keys = keys if keys and kind in ("all", "right", "odd") else queries
    call = call_of(kind, batch, queries, keys, seed)
    generator = torch.Generator().manual_seed(seed + 1)
    asked = torch.rand(batch, 1, keys, columns, generator=generator)
    pairs = torch.stack(
        [torch.randint(end, (batch, 5), generator=generator) for end in (queries, keys)], -1
    )  # fmt: skip
    visible = call.visible()
    sees = torch.ones(batch, queries, dtype=torch.bool)
    if visible is not None:
        sees = visible.any(-1)[:, 0].expand(batch, -1)
    readers = (torch.rand(batch, queries, generator=generator) < 0.7) & sees  # padding, which sees nothing, is none
    fast = even_statistics(call, asked, pairs, readers)
    slow = matrix_statistics(uniform_call(call), asked, None, pairs, readers)
    for item in fields(fast):
        ours, theirs = getattr(fast, item.name), getattr(slow, item.name)
        if item.name == "mixed":
            continue
        assert ours.shape == theirs.shape, item.name
        if item.name == "pairs":
            kept = sees.gather(1, pairs[..., 0])[:, None]
            ours, theirs = (torch.where(kept, part, 0.0) for part in (ours, theirs))
        elif item.name != "received":
            ours, theirs = (part.transpose(1, 2)[sees] for part in (ours, theirs))
        assert torch.allclose(ours, theirs, atol=1e-5, rtol=1e-5), item.name


@pytest.mark.parametrize("kind", ["odd", "window"])
def test_rows_at_a_time_give_the_same(kind: str, monkeypatch: pytest.MonkeyPatch) -> None:
    call, columns = call_of(kind, 2, 9, 9), torch.rand(2, 1, 9, 2)
    whole = even_statistics(call, columns)
    monkeypatch.setattr(even, "_NUMBERS", 40)
    parts = even_statistics(call, columns)
    assert all(torch.equal(getattr(whole, item.name), getattr(parts, item.name)) for item in fields(whole)
               if item.name not in ("received", "weight", "norm"))  # fmt: skip
    assert torch.allclose(whole.received, parts.received)
    assert torch.allclose(whole.weight, parts.weight)


def test_a_long_causal_text_needs_no_matrix() -> None:
    n = 100_000
    q = torch.zeros(1, 1, 1, 1).expand(1, 1, n, 1)
    rows = even_statistics(
        AttentionCall(Site(Stream.DECODER, 0), q, q, q, None, 1.0, causal=True), torch.ones(1, 1, n, 1)
    )
    assert rows.weight_distance[0, 0, -1].item() == pytest.approx((n - 1) / 2, rel=1e-6)
    assert rows.received[0, 0, 0].item() == pytest.approx(sum(1 / count for count in range(1, n + 1)), rel=1e-6)
