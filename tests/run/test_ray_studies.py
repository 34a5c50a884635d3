"""Every study that has a pass over texts, on workers and here: all tables the same, to the last bit."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import nullcontext
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest

from tools.same_figures.inputs import Inputs, make_inputs

if find_spec("ray") is None:
    pytest.skip("the package ray is not installed", allow_module_level=True)

from ray_clusters import cluster_of

from attlas.run.ray import RayEngine

pytestmark = pytest.mark.campaign
FIGURES = Path(__file__).resolve().parents[2] / "tools" / "same_figures"
CASES = (
    "survey.pairs", "survey.translation", "relations.norm", "coref.halves", "clusters.norm", "heads", "noop.masked",
    "noop.tagging", "norms.named", "parse.weight", "layers.pos", "ablate.means", "ablate.translation",
    "importance.masked", "prune.both", "align.gold", "faith.classification", "keywords_study.halves",
)  # fmt: skip


@pytest.fixture(scope="module")
def cases() -> Iterator[Any]:
    """The calls of all studies on small inputs."""
    sys.path.insert(0, str(FIGURES))
    try:
        yield import_module("cases_after")
    finally:
        sys.path.remove(str(FIGURES))


@pytest.fixture(scope="module")
def inputs(tmp_path_factory: pytest.TempPathFactory) -> Inputs:
    return make_inputs(tmp_path_factory.mktemp("inputs"))


@pytest.fixture(scope="module")
def engine() -> Iterator[RayEngine]:
    with cluster_of(2) as cluster, RayEngine(cluster.address) as started:
        yield started


@pytest.mark.parametrize("case", CASES)
def test_all_tables_are_the_same(
    case: str, cases: Any, inputs: Inputs, engine: RayEngine, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    here = tables(cases, case, tmp_path / "here", inputs)
    seen: list[str] = []
    carry_out = RayEngine.carry_out

    def noted(self: RayEngine, part: Any, *more: Any) -> Any:
        seen.append(part.name)
        return carry_out(self, part, *more)

    monkeypatch.setattr(RayEngine, "carry_out", noted)
    monkeypatch.setattr("attlas.run.session.engine_for", lambda given: nullcontext(engine))
    spread = tables(cases, case, tmp_path / "spread", inputs)
    assert seen
    assert spread.keys() == here.keys()
    for name, columns in here.items():
        for column, values in columns.items():
            if column not in ("seconds", "speed", "texts_per_second"):
                assert repr(spread[name][column]) == repr(values), (name, column)


def tables(cases: Any, case: str, folder: Path, inputs: Inputs) -> dict[str, dict[str, Any]]:
    """All tables of a case, which draws the same numbers whenever it is run."""
    import torch

    folder.mkdir()
    torch.manual_seed(0)
    made: dict[str, dict[str, Any]] = cases.tables_of(cases.CASES[case](folder, inputs))
    return made
