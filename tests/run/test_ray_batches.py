"""Passes over texts on workers that get other batches than the run here had, with the bundled model and texts of the
usual lengths: rounding in float32 is all that may differ."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from importlib.util import find_spec
from itertools import pairwise
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

if find_spec("ray") is None:
    pytest.skip("the package ray is not installed", allow_module_level=True)

from ray_clusters import cluster_of

from attlas.capture import Subject, load
from attlas.corpora import read
from attlas.run.ray import RayEngine
from attlas.store import Result
from attlas.studies.ablate.call import ablate
from attlas.studies.clusters.call import clusters
from attlas.studies.coref.call import coref
from attlas.studies.importance.call import importance
from attlas.studies.noop.call import noop
from attlas.studies.norms.call import norms
from attlas.studies.prune.call import prune
from attlas.studies.relations.call import relations
from attlas.studies.survey.call import survey
from attlas.text import Document

pytestmark = pytest.mark.campaign
APART = 1e-5
COUNTED = 2e-3  # of what heads choose: where two words are as good as equal, a rounding decides
HERE, THERE = 2048, 700  # pieces of a batch


def pairs(count: int) -> list[Document]:
    """Texts of the sample with the next as a pair, and the number of words that both have as a label."""
    texts = read("sample").documents[: count + 1]
    return [
        replace(one, pair=other, label=str(len({*one.text.lower().split()} & {*other.text.lower().split()})))
        for one, other in pairwise(texts)
    ]


STUDIES: dict[str, Any] = {
    "survey": lambda model, **how: survey(model, "sample", limit=100, **how),
    "norms": lambda model, **how: norms(model, "sample", limit=60, twins=1, **how),
    "clusters": lambda model, **how: clusters(model, "sample", limit=60, twins=1, **how),
    "relations": lambda model, **how: relations(model, "sample", limit=150, twins=1, **how),
    "coref": lambda model, **how: coref(model, read("sample").documents[:24], twins=1, **how),
    "noop": lambda model, **how: noop(model, "sample", "tagging:upos", limit=40, twins=1, **how),
    "importance": lambda model, **how: importance(model, pairs(40), "similarity", **how),
    "ablate": lambda model, **how: ablate(model, pairs(24), "similarity", **how),
    "prune": lambda model, **how: prune(model, pairs(24), "similarity", **how),
}
CHOOSING = ("relations", "coref")


@pytest.fixture(scope="module")
def model() -> Subject:
    return load()


@pytest.fixture(scope="module")
def engine() -> Iterator[RayEngine]:
    with cluster_of(2) as cluster, RayEngine(cluster.address) as started:
        yield started


class NotedEngine:
    """An engine that takes note of what it was handed."""

    def __init__(self, engine: RayEngine, handed: list[str]) -> None:
        self.engine, self.handed = engine, handed

    def carry_out(self, part: Any, source: Any, keeping: Any) -> Any:
        self.handed.append(part.name)
        return self.engine.carry_out(part, source, keeping)


@pytest.mark.parametrize("study", STUDIES)
def test_other_batches_on_workers_differ_by_rounding_alone(study: str, model: Subject, engine: RayEngine) -> None:
    handed: list[str] = []
    noting = NotedEngine(engine, handed)
    here = STUDIES[study](model, budget=HERE)
    there = STUDIES[study](model, budget=THERE, engine=noting)
    assert handed
    assert [each.manifest.plan["batching"]["budget"] for each in (here, there)] == [HERE, THERE]
    apart = farthest(there, here)
    print(f"\n{study}: " + ", ".join(f"{name} {far:.1e}" for name, far in apart.items()))
    assert here.manifest.corpus == there.manifest.corpus
    assert max(apart.values()) <= (COUNTED if study in CHOOSING else APART)


def farthest(one: Result, other: Result) -> dict[str, float]:
    """How far the numbers of each table are apart, as a share of the largest of their column, or of 1 where all are
    smaller; what is no number is the same."""
    assert list(one.tables) == list(other.tables)
    apart = {}
    for name, table in one.tables.items():
        apart[name] = 0.0
        for column in table.column_names:
            mine, theirs = (each.column(column).to_pylist() for each in (table, other.tables[name]))
            if pa.types.is_floating(table.column(column).type):
                values = np.array([mine, theirs], float)
                assert (np.isnan(values[0]) == np.isnan(values[1])).all(), (name, column)
                if not np.isnan(values).all():
                    size = max(1.0, float(np.nanmax(np.abs(values))))
                    apart[name] = max(apart[name], float(np.nanmax(np.abs(values[0] - values[1]))) / size)
            elif column not in ("seconds", "speed"):
                assert mine == theirs, (name, column)
    return apart
