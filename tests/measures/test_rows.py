"""Row statistics: the fused way, the matrix way, and loops that anybody can follow."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
import torch
from scipy.stats import spearmanr

from attlas.ids import Site, Stream
from attlas.measures.kernels import way_of
from attlas.measures.norms import gram, value_norms
from attlas.measures.ranks import spearman
from attlas.measures.rows import WINDOW, fast_statistics, matrix_statistics, statistics, uniform_call
from attlas.models import AttentionCall

KINDS = ["plain", "padded", "causal", "grouped", "window", "cross"]


def call_of(kind: str, size: int = 21, scale: float = 2.0) -> AttentionCall:
    generator = torch.Generator().manual_seed(KINDS.index(kind))
    draw = lambda *shape: torch.randn(*shape, generator=generator) * scale  # noqa: E731
    queries = 5 if kind == "cross" else size
    q, k, v = draw(3, 4, queries, 8), draw(3, 2 if kind == "grouped" else 4, size, 8), draw(3, 4, size, 8)
    mask = None
    if kind in ("padded", "cross"):
        mask = torch.ones(3, 1, queries, size, dtype=torch.bool)
        mask[1, ..., size - 3 :] = False
    if kind == "window":
        apart = (torch.arange(size)[:, None] - torch.arange(size)).abs()
        mask = (apart <= 2)[None, None]
    return AttentionCall(Site(Stream.ENCODER, 0), q, k, v, mask, 8**-0.5, causal=kind in ("causal", "grouped"))


def asked(call: AttentionCall) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor, torch.Tensor]:
    batch, heads, queries, keys = call.shape
    generator = torch.Generator().manual_seed(1)
    columns = torch.rand(batch, 1, keys, 3, generator=generator)
    lengths = torch.rand(batch, heads, keys, generator=generator) + 0.3
    pairs = torch.stack(
        [
            torch.randint(queries, (batch, 11), generator=generator),
            torch.randint(keys, (batch, 11), generator=generator),
        ],
        -1,
    )
    return columns, lengths, pairs, torch.rand(batch, queries, generator=generator) > 0.3


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("size", [21, 300])
def test_fused_equals_matrix(kind: str, size: int) -> None:
    call = call_of(kind, size)
    fast, slow = fast_statistics(call, *asked(call)), matrix_statistics(call, *asked(call))
    assert fast.difference(slow) < 1e-6 * max(size, 100)  # a single row's distance is a difference of positions


@pytest.mark.parametrize("kind", KINDS)
def test_against_a_naive_loop(kind: str) -> None:
    call = call_of(kind)
    columns, lengths, pairs, readers = asked(call)
    rows = statistics(call, columns, lengths, pairs, readers)
    batch, heads, queries, keys = call.shape
    weights = call.weights().double().numpy()
    for b, h, i in np.ndindex(batch, heads, queries):
        w, nu = weights[b, h, i], lengths[b, h].double().numpy()
        near = lambda a, b: a == pytest.approx(float(b), abs=2e-4)  # noqa: E731
        shares = w * nu / (w * nu).sum()
        scores = call.scaling * call.keys[b, h].double().numpy() @ call.query[b, h, i].double().numpy()
        assert near(rows.top[b, h, i], max(scores[j] for j in range(keys) if w[j] > 0))
        assert near(rows.entropy[b, h, i], -sum(x * math.log(x) for x in w if x > 0))
        assert near(rows.norm_entropy[b, h, i], -sum(x * math.log(x) for x in shares if x > 0))
        for c in range(3):
            column = columns[b, 0, :, c].double().numpy()
            assert near(rows.weight[b, h, i, c], (w * column).sum())
            assert near(rows.norm[b, h, i, c], (w * nu * column).sum())
        if queries == keys:
            assert near(rows.weight_distance[b, h, i], sum(w[j] * abs(i - j) for j in range(keys)))
            assert near(rows.norm_distance[b, h, i], sum(w[j] * nu[j] * abs(i - j) for j in range(keys)))
            window = range(max(0, i - WINDOW), min(keys, i + WINDOW + 1))
            assert near(rows.within[b, h, i, 0], sum(w[j] for j in window))
            assert near(rows.within[b, h, i, 1], sum(w[j] * nu[j] for j in window))
            for place, offset in enumerate((-1, 0, 1)):
                expected = w[i + offset] if 0 <= i + offset < keys else 0.0
                assert near(rows.near[b, h, i, place], expected)
    for b, h, j in np.ndindex(batch, heads, keys):
        received = sum(weights[b, h, i, j] for i in range(queries) if readers[b, i])
        assert float(rows.received[b, h, j]) == pytest.approx(received, abs=1e-4)
    for b, h, p in np.ndindex(batch, heads, pairs.shape[1]):
        i, j = pairs[b, p].tolist()
        assert float(rows.pairs[b, h, p]) == pytest.approx(weights[b, h, i, j], abs=1e-4)


@pytest.mark.parametrize(
    "more",
    [
        {"softcap": 2.0},
        {"sinks": torch.tensor([0.5, -1.0, 2.0, 0.0])},
        {"bias": torch.linspace(-1, 1, 21)[None, None]},
    ],
)
def test_scores_that_are_more_than_dot_products_go_in_tiles_too(more: dict[str, Any]) -> None:
    call = call_of("plain")
    for name, value in more.items():
        setattr(call, name, value)
    assert not call.fusable
    assert way_of(call) == ("tiles", "")
    assert statistics(call, *asked(call)).difference(matrix_statistics(call, *asked(call))) < 1e-4


def test_weights_that_were_replaced_go_by_the_matrix() -> None:
    call = call_of("plain")
    call.replaced = call.weights().flip(1)
    assert way_of(call) == ("matrix", "weights that were replaced")
    assert statistics(call, *asked(call)).difference(matrix_statistics(call, *asked(call))) == 0


@pytest.mark.parametrize("kind", KINDS)
def test_the_uniform_head_is_even_over_what_it_may_see(kind: str) -> None:
    call = call_of(kind)
    even = uniform_call(call)
    visible = call.visible()
    expected = torch.ones(call.shape[2:]) if visible is None else visible.float()
    expected = (expected / expected.sum(-1, keepdim=True)).expand(3, 1, *call.shape[2:])
    assert torch.allclose(even.weights(), expected, atol=1e-6)
    rows = fast_statistics(even, torch.ones(3, 1, call.shape[3], 1))
    assert torch.allclose(rows.entropy, -(expected * expected.clamp(min=1e-30).log()).sum(-1), atol=1e-5)


def test_sharp_attention_stays_finite() -> None:
    call = call_of("plain", 40, scale=30.0)
    rows = statistics(call, *asked(call))
    assert all(
        bool(torch.isfinite(getattr(rows, name)).all()) for name in ("entropy", "norm_entropy", "weight_distance")
    )
    assert float(rows.entropy.min()) > -1e-3


def test_value_norms_against_vectors() -> None:
    values, matrix = torch.randn(2, 3, 5, 4), torch.randn(3, 4, 7)
    built = torch.stack([torch.stack([values[b, h] @ matrix[h] for h in range(3)]) for b in range(2)])
    assert torch.allclose(value_norms(values, gram(matrix)), built.norm(dim=-1), atol=1e-4)


def test_spearman_against_scipy() -> None:
    generator = torch.Generator().manual_seed(0)
    one, other = torch.rand(4, 3, 20, generator=generator), torch.rand(4, 3, 20, generator=generator)
    real = torch.ones(4, 3, 20, dtype=torch.bool)
    real[1, :, 12:] = False
    real[2, :, 1:] = False
    found = spearman(one, other, real)
    for b, h in np.ndindex(4, 3):
        n = int(real[b, h].sum())
        expected = 0.0 if n < 2 else spearmanr(one[b, h, :n], other[b, h, :n]).statistic
        assert float(found[b, h]) == pytest.approx(expected, abs=1e-9)
