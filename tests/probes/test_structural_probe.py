"""The structural probe finds trees that lie in the states, and its parts agree with slow ways."""

from __future__ import annotations

from itertools import combinations

import numpy as np
import pytest
import torch

from attlas.probes.structural import StructuralProbe, distance_loss, gold_edges, spanning_edges
from attlas.probes.training import Schedule, fit
from attlas.probes.trees import FAR, distances


def random_tree(words: int, random: np.random.Generator) -> list[int]:
    order = random.permutation(words)
    governors = [words] * words
    for place in range(1, words):
        governors[order[place]] = int(order[random.integers(place)])
    return governors


def walk(governors: list[int], one: int, other: int) -> int:
    """Edges between two words, by their ways up to the root."""
    ways = []
    for word in (one, other):
        way = [word]
        while governors[way[-1]] < len(governors):
            way.append(governors[way[-1]])
        ways.append(way)
    shared = set(ways[0]) & set(ways[1])
    return sum(min(way.index(word) for word in shared) for way in ways)


def test_distances_are_those_of_walking_the_tree() -> None:
    random = np.random.default_rng(0)
    for _ in range(5):
        governors = random_tree(9, random)
        found = distances(governors)
        assert all(found[i, j] == walk(governors, i, j) for i in range(9) for j in range(9))
    assert distances([2, -1])[0, 1] == FAR


def test_spanning_edges_are_the_cheapest_tree_of_all() -> None:
    random = np.random.default_rng(1)
    for _ in range(5):
        points = random.random((5, 2))
        costs = ((points[:, None] - points[None]) ** 2).sum(-1)
        kept = [0, 2, 3, 4]
        found = spanning_edges(costs, kept)
        assert len(found) == 3

        def connected(edges: tuple[tuple[int, int], ...], kept: list[int] = kept) -> bool:
            reached = {kept[0]}
            for _ in edges:
                reached |= {b for a, b in edges if a in reached} | {a for a, b in edges if b in reached}
            return reached == set(kept)

        trees = [edges for edges in combinations(combinations(kept, 2), 3) if connected(edges)]
        cheapest = min(trees, key=lambda edges: sum(costs[a, b] for a, b in edges))
        assert found == set(cheapest)


def test_words_at_one_place_do_not_lose_their_edge() -> None:
    assert len(spanning_edges(np.zeros((3, 3)), [0, 1, 2])) == 2


def test_gold_edges_know_neither_root_nor_punctuation() -> None:
    assert gold_edges([1, 4, 1, 1], [True, True, False, True]) == {(0, 1), (1, 3)}


def test_distances_of_the_probe_are_squared_lengths() -> None:
    torch.manual_seed(0)
    states, scale = torch.randn(2, 3, 4, 6), torch.rand(2, 6) + 0.5
    probe = StructuralProbe(scale, 5, torch.Generator().manual_seed(0))
    found = probe(states).detach()
    for layer, sentence, i, j in np.ndindex(2, 3, 4, 4):
        apart = (states[layer, sentence, i] - states[layer, sentence, j]) / scale[layer]
        assert float(found[layer, sentence, i, j]) == pytest.approx(
            float((apart @ probe.projection[layer].detach()).square().sum()), abs=1e-4
        )


def test_pairs_without_a_path_are_left_out_of_the_loss() -> None:
    wanted = torch.tensor([[[0, FAR], [FAR, 0]]], dtype=torch.uint8)
    assert distance_loss(torch.ones(1, 1, 2, 2), wanted).tolist() == [0.5]


def test_a_planted_tree_is_recovered_from_one_layer_and_not_from_noise() -> None:
    """In layer 1 each word has its governor's state and a direction of its own: squared distances are the tree's."""
    words, size = 6, 16
    random = np.random.default_rng(2)
    trees = [random_tree(words, random) for _ in range(150)]
    states = torch.randn(2, len(trees), words, size, generator=torch.Generator().manual_seed(0))
    for number, governors in enumerate(trees):
        for word in range(words):
            states[1, number, word, :words] = 0
            at = word
            while at < words:
                states[1, number, word, at] = 1
                at = governors[at]
    wanted = torch.tensor(np.array([distances(governors) for governors in trees]))
    probe = StructuralProbe(torch.ones(2, size), 8, torch.Generator().manual_seed(0))
    parts = {"train": slice(0, 120), "dev": slice(120, 150)}

    def losses(part: str, shuffled: bool):  # type: ignore[no-untyped-def]
        kept = parts[part]
        yield distance_loss(probe(states[:, kept]), wanted[kept]), float(len(wanted[kept]))

    fit(probe, losses, lambda: 0.0, Schedule(epochs=400, patience=20), rate=0.03)
    found = probe(states).detach().numpy()
    shares = []
    for layer in range(2):
        right = [
            len(spanning_edges(found[layer, number], range(words)) & gold_edges(trees[number], [True] * words))
            for number in range(120, 150)
        ]
        shares.append(sum(right) / (30 * (words - 1)))
    assert shares[1] > 0.95
    assert shares[0] < 0.6
