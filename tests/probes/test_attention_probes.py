"""The probes on attention say what the formula says, and learn what is there to be learned."""

from __future__ import annotations

import math

import numpy as np
import pytest
import torch
from scipy.special import log_softmax

from attlas.probes.attention import CLIP, AttentionProbe, VectorProbe, cross_entropy, offsets
from attlas.probes.parse import JOBS, Trainer, follow
from attlas.probes.training import Schedule, fit
from attlas.probes.trees import Part, Tree

HEADS, WORDS, SIZE = 3, 4, 5


def attention(sentences: int = 2) -> torch.Tensor:
    torch.manual_seed(0)
    return torch.rand(sentences, WORDS + 1, WORDS + 1, HEADS).softmax(2)


def test_the_scores_of_attention_alone_are_those_of_the_formula() -> None:
    given, mixing = attention(), torch.randn(HEADS, HEADS)
    probe = AttentionProbe(mixing)
    with torch.no_grad():
        probe.weights.normal_()
        probe.bias.fill_(0.7)
    found = probe(given).detach().numpy()
    w, u, w_root, u_root = (probe.weights.detach() @ mixing).numpy()
    a = given.numpy()
    for s in range(len(a)):
        for i in range(WORDS + 1):
            for j in range(WORDS):
                if i == j:
                    assert found[s, i, j] == -math.inf
                    continue
                to, from_ = (w_root, u_root) if i == WORDS else (w, u)
                score = sum(to[k] * a[s, i, j, k] + from_[k] * a[s, j, i, k] for k in range(HEADS))
                assert found[s, i, j] == pytest.approx(score + (0.7 if i == WORDS else 0.0), abs=1e-5)


def test_the_scores_with_vectors_are_those_of_the_formula() -> None:
    given, mixing = attention(), torch.randn(HEADS, HEADS)
    table = torch.randn(9, SIZE)
    ids = torch.tensor([[1, 2, 3, 0], [8, 8, 5, 4]])
    probe = VectorProbe(mixing, table, torch.Generator().manual_seed(1))
    with torch.no_grad():
        probe.matrix.normal_()
        probe.bias.fill_(-0.3)
    found = probe(given, ids).detach().numpy()
    matrices = (probe.matrix.detach() @ mixing).double().numpy()
    w_governor, w_dependent, u_governor, u_dependent = matrices
    a = given.double().numpy()
    for s in range(len(a)):
        words = [np.append(table[number].numpy(), 1.0) for number in ids[s]]
        words.append(np.append(probe.root.detach().numpy(), 1.0))
        for i in range(WORDS + 1):
            for j in set(range(WORDS)) - {i}:
                score = -0.3 if i == WORDS else 0.0
                for k in range(HEADS):
                    score += (words[i] @ w_governor[:, k] + words[j] @ w_dependent[:, k]) * a[s, i, j, k]
                    score += (words[i] @ u_governor[:, k] + words[j] @ u_dependent[:, k]) * a[s, j, i, k]
                assert found[s, i, j] == pytest.approx(score, abs=1e-4)


def test_every_parameter_gets_the_gradient_of_the_loss() -> None:
    given, ids = attention().double(), torch.zeros(2, WORDS, dtype=torch.long)
    governors, scored = torch.tensor([[1, 4, 1, 2], [4, 0, 0, 0]]), torch.ones(2, WORDS, dtype=torch.bool)
    scored[0, 3] = False
    probe = VectorProbe(torch.eye(HEADS), torch.randn(1, SIZE), torch.Generator().manual_seed(1)).double()
    cross_entropy(probe(given, ids), governors, scored).backward()
    for parameter in probe.parameters():
        assert parameter.grad is not None
        place = tuple(0 for _ in parameter.shape)
        slope = float(parameter.grad[place])
        losses = []
        for step in (1e-5, -1e-5):
            with torch.no_grad():
                parameter[place] += step
                losses.append(float(cross_entropy(probe(given, ids), governors, scored)))
                parameter[place] -= step
        assert slope == pytest.approx((losses[0] - losses[1]) / 2e-5, abs=1e-6)
        assert slope != 0


def test_the_loss_is_that_of_scipy_over_the_words_that_count() -> None:
    scores = AttentionProbe(torch.eye(HEADS))(attention()) + torch.randn(2, WORDS + 1, WORDS)
    governors = torch.tensor([[1, 4, 1, 2], [4, 0, -1, 0]])
    scored = governors >= 0
    scored[0, 3] = False
    by_hand = log_softmax(scores.detach().numpy(), axis=1)
    expected = -sum(by_hand[s, governors[s, j], j] for s in range(2) for j in range(WORDS) if scored[s, j])
    assert cross_entropy(scores, governors, scored).item() == pytest.approx(float(expected), rel=1e-5)


def test_offsets_are_clipped_and_root_is_its_own() -> None:
    found = offsets(15)[0]
    assert found.sum(-1).eq(1).all()
    kinds = found.argmax(-1)
    assert kinds[0, 3] == CLIP + 3
    assert kinds[3, 0] == CLIP - 3
    assert kinds[0, 14] == kinds[0, 11] == 2 * CLIP
    assert kinds[15, 2] == kinds[2, 15] == 2 * CLIP + 1


def test_a_planted_head_is_found_by_training() -> None:
    """One head of three attends from every word to its governor; the others are noise."""
    draw = torch.Generator().manual_seed(0)
    governors = torch.stack(
        [(torch.arange(WORDS) + 1 + torch.randint(0, 3, (), generator=draw)) % WORDS for _ in range(64)]
    )
    given = torch.rand(64, WORDS + 1, WORDS + 1, HEADS, generator=draw) * 0.2
    for s in range(64):
        given[s, torch.arange(WORDS), governors[s], 1] += 0.5
    scored = torch.ones_like(governors, dtype=torch.bool)
    probe = AttentionProbe(torch.eye(HEADS) * 3)

    def losses(part: str, shuffled: bool):  # type: ignore[no-untyped-def]
        yield cross_entropy(probe(given), governors, scored)[None], float(scored.sum())

    history = fit(probe, losses, lambda: 0.0, Schedule(epochs=60), rate=0.1)
    assert history[-1].dev < history[0].dev / 3
    assert (probe(given).argmax(1) == governors).float().mean() > 0.99
    assert int(probe.learned()[1].argmax()) == 1  # dependent to governor


def test_the_best_of_several_probes_is_kept_each_for_itself() -> None:
    stacked = torch.nn.Linear(1, 2, bias=False)
    course = iter([[3.0, 1.0], [2.0, 2.0], [4.0, 3.0]])
    weights = []

    def losses(part: str, shuffled: bool):  # type: ignore[no-untyped-def]
        if part == "train":
            yield stacked.weight[:, 0] * 1.0, 1.0
        else:
            weights.append(stacked.weight.detach().clone())
            yield torch.tensor(next(course)), 1.0

    fit(stacked, losses, lambda: 0.0, Schedule(epochs=3, patience=5), rate=0.5)
    assert stacked.weight[0] == weights[1][0]
    assert stacked.weight[1] == weights[0][1]


def trainer(trees: list[Tree]) -> Trainer:
    part = {name: Part.of(name, trees) for name in ("train", "dev", "test")}
    return Trainer([JOBS[0]], part, None, None, {"nsubj": 0, "root": 1}, Schedule(epochs=1), (1, 1), 0)


def test_scores_leave_out_what_does_not_count_and_know_relations_and_roots() -> None:
    trees = [
        Tree((0, 1, 2), (1, 3, 1), (True, True, False), ("nsubj", "root", "punct")),
        Tree((0, 1), (2, 0), (True, True), ("root", "obj")),
    ]
    answer = trainer(trees)._score("test", [np.array([1, 3, 3]), np.array([1, 0])])
    assert answer.right.tolist() == [[2, 1, 1], [1, 0, 0]]
    assert answer.total.tolist() == [[2, 1, 1], [2, 0, 1]]
    assert answer.one_root is not None
    assert answer.one_root.tolist() == [1, 0]
    assert answer.uas == 0.75


def test_the_rules_are_what_they_are_called() -> None:
    assert follow(3, 1).tolist() == [1, 2, 3]
    left = Tree((0, 1, 2), (3, 0, 1), (True, True, True), ("root", "nsubj", "obj"))
    study = trainer([left] * 3)
    bundle = study.empty()
    study.jobs = JOBS[:2]
    bundle = study.empty()
    study.update(bundle, JOBS[:2])
    right, best = (bundle[job.name]["test"].result().value[0] for job in JOBS[:2])  # type: ignore[index]
    assert right == 0
    assert best == 1
    assert bundle["best fixed offset"]["facts"].result().value[-1] == -1  # type: ignore[index]
