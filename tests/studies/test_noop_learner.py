"""The linear map that noop trains, against torch's own Adam."""

from __future__ import annotations

import math

import numpy as np
import pytest
import torch

from attlas.studies.noop.training import RATE, Learner


def test_it_learns_as_torch_does() -> None:
    rng = np.random.default_rng(0)
    batches = [(rng.normal(3, 2, (20, 4)), rng.integers(0, 3, 20)) for _ in range(5)]
    learner, first = Learner.fresh(tags=3, width=4), batches[0][0]
    weights = torch.zeros(3, 5, dtype=torch.float64, requires_grad=True)
    adam = torch.optim.Adam([weights], lr=RATE, betas=(0.9, 0.999), eps=1e-8)

    def scores(states: np.ndarray) -> torch.Tensor:
        scaled = (states - first.mean(0)) / (first.std(0) + 1e-6)
        return torch.from_numpy(np.c_[scaled, np.ones(len(states))]) @ weights.T

    for states, labels in batches:
        learner.learn(states, labels)
        adam.zero_grad()
        torch.nn.functional.cross_entropy(scores(states), torch.from_numpy(labels)).backward()
        adam.step()
    assert np.allclose(learner.map, weights.detach().numpy(), atol=1e-7)
    states, labels = batches[2]
    learner.test(states, labels)
    total = torch.nn.functional.cross_entropy(scores(states), torch.from_numpy(labels), reduction="sum")
    assert learner.numbers["held_sum"] == pytest.approx(total.item())
    learner.end_pass()
    weight, bias = learner.linear()
    assert torch.allclose(torch.from_numpy(states).float() @ weight.T + bias, scores(states).float(), atol=1e-4)


def test_scores_in_the_thousands_are_no_trouble() -> None:
    learner = Learner.fresh(tags=2, width=1)
    learner.shift, learner.scale, learner.map = np.zeros(1), np.ones(1), np.array([[1000.0, 0.0], [0.0, 0.0]])
    learner.test(np.array([[1.0], [1.0]]), np.array([0, 1]))
    assert learner.numbers["held_sum"] == pytest.approx(-math.log(1e-300))  # certain of the wrong one: a large loss
