"""The map, the tree and the test of layers, on distances whose answer is known."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.cluster.hierarchy import linkage
from scipy.spatial.distance import pdist, squareform
from scipy.stats import spearmanr

from attlas.measures.divergence import head_pairs
from attlas.studies.clusters.arrangement import join, lay_out, square, togetherness


def blobs(groups: int, size: int, apart: float, seed: int = 0) -> np.ndarray:
    """Distances of points around as many centres, in five dimensions."""
    rng = np.random.default_rng(seed)
    centres = rng.normal(0, apart, (groups, 1, 5))
    return squareform(pdist((centres + rng.normal(0, 1, (groups, size, 5))).reshape(-1, 5)))


def test_square_is_the_order_of_the_pairs() -> None:
    values = np.arange(6.0)
    matrix = square(values, 4)
    for value, a, b in zip(values, *head_pairs(4), strict=True):
        assert matrix[a, b] == matrix[b, a] == value


def test_points_of_a_plane_are_found_again() -> None:
    points = np.random.default_rng(0).normal(size=(30, 2)) * [3, 1]
    distances = squareform(pdist(points))
    made = lay_out(distances)
    assert made.stress < 1e-3
    assert np.allclose(squareform(pdist(made.places)), distances, atol=0.02)
    assert made.places[:, 0].std() > made.places[:, 1].std(), "the longest axis comes first"
    assert np.allclose(made.places.mean(0), 0, atol=1e-9)


def test_more_dimensions_leave_stress_and_far_stays_far() -> None:
    distances = blobs(4, 6, 6.0)
    made = lay_out(distances, seed=3)
    assert 0.01 < made.stress < 0.4
    assert spearmanr(pdist(made.places), squareform(distances)).statistic > 0.8
    assert np.array_equal(lay_out(distances, seed=3).places, made.places)
    small = lay_out(distances * 1e-6, seed=3)
    assert np.allclose(small.places * 1e6, made.places, rtol=1e-3, atol=1e-3), "the scale does not matter"


@pytest.mark.parametrize("heads", [1, 2, 3])
def test_few_heads_and_no_distance(heads: int) -> None:
    assert lay_out(np.zeros((heads, heads))).stress == 0.0
    apart = 1 - np.eye(heads)
    made = lay_out(apart)
    assert made.places.shape == (heads, 2)
    assert made.stress < 1e-3
    tree = join(apart)
    assert len(tree.joins) == heads - 1
    assert sorted(tree.leaves) == list(range(heads))


def test_the_tree_is_scipys() -> None:
    distances = blobs(3, 5, 5.0)
    tree = join(distances)
    heights = linkage(squareform(distances), "average")[:, 2]
    assert np.allclose(tree.joins[:, 2], heights)
    groups = [leaf // 5 for leaf in tree.leaves]
    assert [group for k, group in enumerate(groups) if not k or group != groups[k - 1]] == list(dict.fromkeys(groups))


def test_layers_that_lie_together_and_layers_that_do_not() -> None:
    together = togetherness(blobs(4, 6, 4.0), [6] * 4, shuffles=499)
    assert together is not None
    assert together.ratio < 0.7
    assert together.p == 1 / 500
    mixed = [togetherness(blobs(4, 6, 0.0, seed), [6] * 4, seed, shuffles=99) for seed in range(40)]
    p = np.array([one.p for one in mixed if one is not None])
    assert len(p) == 40
    assert (p <= 0.1).sum() <= 10, "by chance one in ten"
    assert abs(np.mean([one.ratio for one in mixed if one is not None]) - 1) < 0.02


def test_within_and_between_against_a_loop() -> None:
    distances = blobs(3, 4, 1.0)
    found = togetherness(distances, [len(distances) // 3] * 3, shuffles=9)
    assert found is not None
    pairs = [(a, b) for a in range(12) for b in range(a)]
    within = [distances[a, b] for a, b in pairs if a // 4 == b // 4]
    between = [distances[a, b] for a, b in pairs if a // 4 != b // 4]
    assert found.within == pytest.approx(np.mean(within))
    assert found.between == pytest.approx(np.mean(between))
    assert togetherness(distances, [12]) is None
    assert togetherness(distances, [1] * 12) is None, "layers of one head have no pair within"
