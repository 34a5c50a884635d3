"""Studies on workers of Ray that get other batches than the run on this machine had: how far their tables are apart.

Rounding in float32 is all that may differ. The bundled model reads the sample, one thread to each process. How far
apart the numbers of a table are is told as a share of the largest of their column; what is no number must be the
same. Places of untrained heads on a map, which all but coincide, are told as shares of the map of the model beside
it. ``tests/run/test_ray_batches.py`` holds the same studies to bars. Rows of studies that are not named stay as they
are.

    python -m benchmarks.batches [STUDY ...]
"""

from __future__ import annotations

import platform
import sys
from collections.abc import Callable, Sequence
from dataclasses import replace
from datetime import date
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
import torch

from attlas.capture import Subject, load
from attlas.corpora import read
from attlas.run import LOCAL
from attlas.run.cluster import import_ray
from attlas.run.engine import Engine
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
from benchmarks.page import put
from benchmarks.scale import PAGE

HEADING = "Other batches"
HERE, THERE = 2048, 700  # pieces of a batch
TINY = 1e-6  # a column of smaller numbers is nought but for rounding
MAPS = {"twin_x": "x", "twin_y": "y"}  # places of untrained heads, and those that they are shown beside


def pairs(count: int) -> list[Document]:
    """Texts of the sample with the next as a pair, and the number of words that both have as a label."""
    texts = read("sample").documents[: count + 1]
    return [
        replace(one, pair=other, label=str(len({*one.text.lower().split()} & {*other.text.lower().split()})))
        for one, other in pairwise(texts)
    ]


STUDIES: dict[str, Callable[..., Any]] = {
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


class Noted:
    """An engine that takes note of how many batches it was handed."""

    def __init__(self, engine: Engine) -> None:
        self.engine, self.batches = engine, 0

    def carry_out(self, part: Any, source: Any, keeping: Any) -> Any:
        """As always."""
        self.batches += source.batches
        return self.engine.carry_out(part, source, keeping)


class Made(NamedTuple):
    """A result, and in how many batches it was made."""

    result: Result
    batches: int


def made(study: str, model: Subject, budget: int, engine: Engine = LOCAL) -> Made:
    """A study's result by an engine, in batches of so many pieces."""
    noted = Noted(engine)
    return Made(STUDIES[study](model, budget=budget, engine=noted), noted.batches)


def farthest(one: Result, other: Result) -> dict[str, float]:
    """How far the numbers of each table are apart, as a share of the largest of their column; what is no number is
    the same."""
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
                    size = max(TINY, _largest(table, column), _largest(table, MAPS.get(column, column)))
                    apart[name] = max(apart[name], float(np.nanmax(np.abs(values[0] - values[1]))) / size)
            elif column not in ("seconds", "speed"):
                assert mine == theirs, (name, column)
    return apart


def _largest(table: pa.Table, column: str) -> float:
    return float(np.nanmax(np.abs(np.array(table.column(column).to_pylist(), float))))


def _rows_before() -> dict[str, str]:
    """The rows that the page has, by their studies."""
    section = PAGE.read_text(encoding="utf-8").partition(f"## {HEADING}\n")[2].partition("\n## ")[0]
    return {line.split(" ")[1]: line for line in section.splitlines() if line.startswith("| ")}


def main(studies: Sequence[str] = ()) -> None:
    """Compare, print, and write the page."""
    torch.set_num_threads(1)
    model = load()
    rows = _rows_before()
    with RayEngine(workers=2) as engine:
        for study in studies or STUDIES:
            here, there = made(study, model, HERE), made(study, model, THERE, engine)
            apart = farthest(there.result, here.result)
            told = ", ".join(
                f"{name} {far:.1e}" for name, far in sorted(apart.items(), key=lambda item: -item[1])[:3]
            )
            rows[study] = f"| {study} | {here.batches} and {there.batches} | {max(apart.values()):.1e} | {told} |"
            print(rows[study], flush=True)
    lines = [
        f"Made by `python -m benchmarks.batches` on {date.today()}: the bundled model and texts of the sample, here",
        f"in batches of {HERE:,} pieces and on two workers in batches of {THERE}; torch {torch.__version__}, Ray "
        f"{import_ray().__version__},",
        f"Python {platform.python_version()}. How far tables are apart is a share of the largest number of the",
        "column, or of the model's map for places of twins on the map of clusters; of each study the three tables",
        "that are farthest.",
        "",
        "| study | batches here and there | apart | tables |",
        "|---|---|---|---|",
        *(rows[study] for study in STUDIES if study in rows),
    ]
    put(HEADING, lines, PAGE)


if __name__ == "__main__":
    main(sys.argv[1:])
