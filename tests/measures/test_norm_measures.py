"""Norms by Gram matrices beside the published way, which builds a vector for every pair of pieces."""

from __future__ import annotations

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

import twins
from attlas.capture import Fold, Subject
from attlas.measures.norms import gram, joint_norms, key_grams, value_norms
from attlas.models import AttentionCall

TEXTS = [("The farmer slept.", "Le fermier dort."), ("It rained on the old bridge near the station.", "Il pleut.")]


def materialised(weights, values, matrix):
    """||f||, ||alpha f|| and ||sum_h alpha f|| from the vectors themselves, in float64."""
    vectors = torch.einsum("bhkw,hwd->bhkd", values.double(), matrix.double())
    weighted = weights.double()[..., None] * vectors[:, :, None]  # (batch, head, query, key, hidden)
    return vectors.norm(dim=-1), weighted.norm(dim=-1), weighted.sum(1).norm(dim=-1)


def close(ours, theirs, tolerance=1e-5):
    return float((ours - theirs).abs().max()) <= tolerance * max(1.0, float(theirs.abs().max()))


@pytest.mark.parametrize("family", ["bert", "gpt2", "llama", "t5", "marian", "albert", "qwen3", "gpt_neo"])
def test_all_three_norms_equal_the_materialised_ones(family):
    subject = Subject.of(twins.model(family), twins.tokenizer(family in twins.CAUSAL), family)
    texts = TEXTS if family in twins.TRANSLATING else [first for first, _ in TEXTS]
    seen = set()

    def compare(call: AttentionCall) -> None:
        matrix = subject.output_matrix(call.site)
        lengths, weighted, summed = materialised(call.weights(), call.values, matrix)
        assert close(subject.lengths(call), lengths)
        assert close(call.weights() * subject.lengths(call)[:, :, None], weighted)
        assert close(subject.joint(call), summed)
        seen.add(call.site)

    with torch.no_grad(), subject.use(Fold(compare)):
        subject.run(subject.batch(texts))
    assert seen == set(subject.sites)


@settings(max_examples=30, deadline=None)
@given(st.integers(1, 5), st.integers(1, 7), st.integers(1, 6), st.integers(1, 9), st.integers(0, 2**16))
def test_joint_norms_of_any_shape(heads, queries, keys, hidden, seed):
    generator = torch.Generator().manual_seed(seed)
    weights = torch.rand(2, heads, queries, keys, generator=generator)
    values = torch.randn(2, heads, keys, 3, generator=generator)
    matrix = torch.randn(heads, 3, hidden, generator=generator)
    lengths, _, summed = materialised(weights, values, matrix)
    # Where a value is nearly lost in the matrix, or heads cancel each other out, the root of a small difference is
    # less exact than the vectors themselves.
    assert close(value_norms(values, gram(matrix)).square(), lengths.square())
    assert close(joint_norms(weights, key_grams(values, matrix)).square(), summed.square())


def test_joint_norms_have_gradients():
    weights = torch.rand(1, 2, 3, 3, requires_grad=True)
    values, matrix = torch.randn(1, 2, 3, 4), torch.randn(2, 4, 5)
    joint_norms(weights, key_grams(values, matrix)).sum().backward()
    assert torch.isfinite(weights.grad).all()
    assert weights.grad.abs().sum() > 0
