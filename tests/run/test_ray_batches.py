"""Studies of the bundled model and texts of the usual lengths, on workers: the same bits where they get the batches
that the run here had, and where they get others rounding in float32 is all that may differ."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import cache
from importlib.util import find_spec

import pytest
import torch

if find_spec("ray") is None:
    pytest.skip("the package ray is not installed", allow_module_level=True)

from benchmarks.batches import HERE, STUDIES, THERE, Made, farthest, made
from ray_clusters import cluster_of
from spread import same_tables

from attlas.capture import Subject, load
from attlas.run.ray import FAN, RayEngine

pytestmark = pytest.mark.campaign
FEW = 128  # pieces of a batch, so that a tree has branches
APART = 1e-5
COUNTED = 2e-3  # of what heads choose: where two words are as good as equal, a rounding decides
CHOOSING = ("relations", "coref")
RANKED = ("spearman", "spearman_layers")  # a rounding swaps the ranks of two that are as good as equal
MadeHere = Callable[..., Made]


@pytest.fixture(scope="module")
def model() -> Subject:
    return load()


@pytest.fixture(scope="module")
def engine() -> Iterator[RayEngine]:
    with cluster_of(2) as cluster, RayEngine(cluster.address) as started:
        yield started


@pytest.fixture(scope="module")
def made_here(model: Subject) -> Iterator[MadeHere]:
    """What a study gives on this machine with as many threads as a worker has, made once."""
    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    yield cache(lambda study, budget=HERE: made(study, model, budget))
    torch.set_num_threads(threads)


@pytest.mark.parametrize("study", STUDIES)
def test_other_batches_on_workers_differ_by_rounding_alone(
    study: str, model: Subject, engine: RayEngine, made_here: MadeHere
) -> None:
    here, there = made_here(study), made(study, model, THERE, engine)
    assert there.batches > here.batches
    assert here.result.manifest.corpus == there.result.manifest.corpus
    for name, far in farthest(there.result, here.result).items():
        assert far <= (COUNTED if study in CHOOSING or name in RANKED else APART), name


@pytest.mark.parametrize("study", ["survey", "relations", "ablate"])
def test_the_same_batches_give_the_same_bits_and_as_a_tree_the_same_to_the_last_digits(
    study: str, model: Subject, engine: RayEngine, made_here: MadeHere
) -> None:
    here, batches = made_here(study, FEW)
    assert batches > FAN
    same_tables(made(study, model, FEW, engine).result, here, 0.0)
    engine.tree = True
    try:
        same_tables(made(study, model, FEW, engine).result, here, 1e-12)
    finally:
        engine.tree = False
