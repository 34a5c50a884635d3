"""Jensen-Shannon divergence of all pairs of heads, against scipy and a plain loop."""

from __future__ import annotations

import math

import numpy as np
import pytest
import torch
from scipy.spatial.distance import jensenshannon

from attlas.measures import divergence
from attlas.measures.divergence import divergences, entropies, head_pairs

HEADS, QUERIES, KEYS = 7, 5, 24


def drawn(kind: str) -> torch.Tensor:
    """Rows of several characters; ``near`` are heads that hardly differ, where a difference of sums is at risk."""
    generator = torch.Generator().manual_seed(0)
    noise = torch.randn(HEADS, QUERIES, KEYS, generator=generator)
    scores = {
        "apart": 3 * noise,
        "sharp": 60 * noise,
        "flat": 0.01 * noise,
        "near": 3 * noise[:1] + 1e-3 * noise,
        "same": (3 * noise[:1]).expand(HEADS, -1, -1),
        "causal": (3 * noise).masked_fill(torch.arange(KEYS) > torch.arange(QUERIES)[:, None], -math.inf),
    }[kind]
    return torch.softmax(scores, -1)


def slow(p: np.ndarray, q: np.ndarray) -> float:
    """One divergence, term by term, in float64; 0 log 0 is 0."""
    p, q = p / p.sum(), q / q.sum()
    total = 0.0
    for a, b in zip(p, q, strict=True):
        m = (a + b) / 2
        total += (a * math.log(a / m) if a > 0 else 0.0) / 2 + (b * math.log(b / m) if b > 0 else 0.0) / 2
    return total


@pytest.mark.parametrize("kind", ["apart", "sharp", "flat", "near", "same", "causal"])
def test_against_scipy_and_a_loop(kind: str) -> None:
    weights = drawn(kind)
    found = divergences(weights)
    assert found.dtype == torch.float64
    assert float(found.min()) >= 0
    exact = weights.double().numpy()
    for number, (a, b) in enumerate(zip(*head_pairs(HEADS), strict=True)):
        expected = sum(slow(exact[a, i], exact[b, i]) for i in range(QUERIES))
        assert found[number].item() == pytest.approx(expected, abs=1e-6 * QUERIES), (kind, a, b)
        for i in range(QUERIES):
            alone = divergences(weights[[a, b], i : i + 1]).item()
            root = jensenshannon(exact[a, i], exact[b, i])  # may be the root of less than nothing
            assert alone == pytest.approx(0.0 if math.isnan(root) else root**2, abs=1e-6), (kind, a, b, i)


def test_chunks_change_nothing() -> None:
    weights = drawn("apart")
    whole = divergences(weights)
    for chunk in (1, KEYS, 3 * KEYS, 10 * KEYS, 4 * QUERIES * KEYS):
        assert torch.equal(divergences(weights, chunk=chunk), whole), chunk


def test_threads_change_nothing_and_leave_no_trace(monkeypatch: pytest.MonkeyPatch) -> None:
    weights = drawn("apart")
    whole, before = divergences(weights), torch.get_num_threads()
    monkeypatch.setattr(divergence, "SMALL", 0)
    torch.set_num_threads(3)
    try:
        assert torch.equal(divergences(weights, chunk=4 * KEYS), whole)
        assert torch.get_num_threads() == 3
        with pytest.raises(RuntimeError):  # what goes wrong in a thread is heard of
            divergences(weights, torch.ones(2, 2))
        assert torch.get_num_threads() == 3
    finally:
        torch.set_num_threads(before)


def test_bounds_and_zeros() -> None:
    disjoint = torch.tensor([[[0.5, 0.5, 0.0, 0.0]], [[0.0, 0.0, 0.5, 0.5]]])
    assert divergences(disjoint).item() == pytest.approx(math.log(2), abs=1e-7)
    assert divergences(disjoint[[0, 0]]).item() == 0.0
    denormal = torch.tensor([[[1.0, 1e-42]], [[1.0, 0.0]]])
    assert divergences(denormal).item() == pytest.approx(0.0, abs=1e-7)
    assert divergences(torch.ones(1, 3, 1)).shape == (0,)


def test_rows_that_are_alike_stay_near_zero_over_a_long_text() -> None:
    """The rounding of many rows must not add up."""
    generator = torch.Generator().manual_seed(1)
    row = torch.softmax(2 * torch.randn(1, 400, 300, generator=generator), -1)
    found = divergences(row.expand(3, -1, -1)) / 400
    assert float(found.max()) < 1e-7


def test_entropies() -> None:
    weights = drawn("causal").double()
    expected = [[-sum(w * math.log(w) for w in row if w > 0) for row in head] for head in weights.tolist()]
    assert np.allclose(entropies(weights.float()).numpy(), expected, atol=1e-6)


@pytest.mark.skipif(not torch.cuda.is_available(), reason="there is no CUDA device here")
def test_on_a_device() -> None:
    weights = drawn("apart")
    assert torch.allclose(divergences(weights.cuda()).cpu(), divergences(weights), atol=1e-6)
