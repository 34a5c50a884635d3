"""A real Ray cluster of two nodes: the same result as here, whoever dies on the way; and one sentence for what is
asked of it wrongly."""

from __future__ import annotations

import socket
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from importlib.util import find_spec
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from toy_study import BUDGET, ITEMS, LENGTHS, PLAN, Toy, bits

import twins
from attlas.capture import load
from attlas.errors import CapabilityError, NumberError, PlanError
from attlas.run import LOCAL, Keeping, Listed, batches
from attlas.run.progress import Silent
from attlas.stats import Bundle
from attlas.store import load_checkpoint

if find_spec("ray") is None:
    pytest.skip("the package ray is not installed", allow_module_level=True)

from ray_clusters import Counting, Dying, cluster_of, far
from spread import STUDIES, documents, same_tables, subject_for

from attlas.run import cluster as cluster_module
from attlas.run import ray as ray_engine
from attlas.run.ray import RayEngine
from attlas.studies.norms.call import norms
from attlas.studies.survey.call import survey

ORDER = batches(LENGTHS, BUDGET)


@pytest.fixture(scope="module")
def cluster() -> Iterator[Any]:
    with cluster_of(2) as started:
        yield started


@pytest.fixture(scope="module")
def engine(cluster: Any) -> Iterator[RayEngine]:
    with RayEngine(cluster.address) as started:
        yield started


@contextmanager
def as_a_tree(engine: RayEngine) -> Iterator[RayEngine]:
    """The same workers, whose bundles are merged as a tree."""
    engine.tree = True
    try:
        yield engine
    finally:
        engine.tree = False


def carry(engine: Any, part: Any = None, budget: int = BUDGET, **keeping: Any) -> Bundle:
    source = Listed(ITEMS, LENGTHS, budget=budget)
    return engine.carry_out(part or Toy(), source, Keeping(**{"plan": PLAN} | keeping))


def test_in_batch_order_it_is_the_engine_for_one_machine(engine: RayEngine, tmp_path: Path) -> None:
    assert bits(carry(engine, Counting(tmp_path / "seen", pause=0.1))) == bits(carry(LOCAL))
    seen = [line.split() for line in (tmp_path / "seen").read_text().splitlines()]
    assert sorted(int(first) for _, first in seen) == sorted(min(batch) for batch in ORDER)
    assert len({process for process, _ in seen}) == 2


def test_as_a_tree_it_differs_in_the_last_digits(engine: RayEngine) -> None:
    with as_a_tree(engine):
        merged, here = carry(engine), carry(LOCAL)
    assert bits(merged) != bits(here)  # else the tree was none
    assert far(merged, here) <= 1e-12


def test_other_batches_differ_by_little_more(engine: RayEngine) -> None:
    assert 0 < far(carry(engine, budget=2 * BUDGET), carry(LOCAL)) <= 1e-5


USUAL = ("survey", "relations", "ablate", "roles")


@pytest.mark.parametrize("study", USUAL)
def test_the_tables_of_studies_are_the_same(study: str, engine: RayEngine) -> None:
    subject = subject_for(study)
    here = STUDIES[study](subject)
    same_tables(STUDIES[study](subject, engine=engine), here, 0.0)
    with as_a_tree(engine):
        same_tables(STUDIES[study](subject, engine=engine), here, 1e-12)


@pytest.mark.campaign
@pytest.mark.parametrize("study", [name for name in STUDIES if name not in USUAL])
def test_the_tables_of_all_other_studies_that_take_parts_are_the_same(study: str, engine: RayEngine) -> None:
    subject = subject_for(study)
    same_tables(STUDIES[study](subject, engine=engine), STUDIES[study](subject), 0.0)


def test_layers_are_streamed_on_workers_and_so_are_those_of_the_twin(engine: RayEngine, tmp_path: Path) -> None:
    twins.model("bert").save_pretrained(tmp_path / "model")
    twins.tokenizer(False).save_pretrained(tmp_path / "model")
    whole, streamed = load(tmp_path / "model"), load(tmp_path / "model", stream_layers=True, block=200)
    here = norms(whole, documents(), twins=1, budget=64)
    assert here.table.column("twin_weight").null_count < here.table.num_rows
    same_tables(norms(streamed, documents(), twins=1, budget=64), here, 1e-6)
    same_tables(norms(streamed, documents(), twins=1, budget=64, engine=engine), here, 1e-6)


def test_a_worker_that_dies_is_replaced_and_its_batches_are_done_again(engine: RayEngine, tmp_path: Path) -> None:
    part = Dying(ORDER[5][0], 1, tmp_path / "deaths")
    assert bits(carry(engine, part)) == bits(carry(LOCAL))
    assert part.notes.read_text() == "xx"  # it died once, and the batch was done once more


def test_a_batch_that_always_kills_its_worker_ends_the_run(
    engine: RayEngine, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(ray_engine, "TRIES", 1)
    with pytest.raises(PlanError, match="was lost 2 times together with its worker"):
        carry(engine, Dying(ORDER[0][0], 99, tmp_path / "deaths"))


class Interrupting(Silent):
    """Presses Ctrl-C after so many advances."""

    def __init__(self, after: int) -> None:
        self.left = after

    def advance(self, pieces: int) -> None:
        self.left -= 1
        if not self.left:
            raise KeyboardInterrupt


@pytest.mark.parametrize("first", ["here", "on Ray"])
def test_what_one_engine_has_begun_another_finishes(engine: RayEngine, tmp_path: Path, first: str) -> None:
    one, other = (LOCAL, engine) if first == "here" else (engine, LOCAL)
    with pytest.raises(KeyboardInterrupt):
        carry(one, out=tmp_path, progress=Interrupting(7))
    checkpoint = load_checkpoint(tmp_path)
    assert checkpoint is not None
    assert checkpoint.progress["batches"] == 7
    assert bits(carry(other, out=tmp_path, resume=True)) == bits(carry(LOCAL))


class Wrong(Toy):
    def update(self, bundle: Bundle, batch: Sequence[int]) -> None:
        raise NumberError("a number that must not be")


def test_what_is_refused_on_a_worker_is_refused_here(engine: RayEngine) -> None:
    with pytest.raises(NumberError, match=r"^a number that must not be$"):
        carry(engine, Wrong())


def test_a_part_that_cannot_be_sent_is_refused_by_name(engine: RayEngine) -> None:
    part = Toy()
    part.socket = socket.socket()  # type: ignore[attr-defined]
    with pytest.raises(CapabilityError, match="toy cannot be sent to workers"):
        carry(engine, part)
    part.socket.close()  # type: ignore[attr-defined]


class Stepwise(Toy):
    stepwise = True

    def update(self, bundle: Bundle, batch: Sequence[int]) -> None:
        self.taken = [*getattr(self, "taken", []), len(batch)]
        super().update(bundle, batch)


def test_what_goes_step_by_step_is_done_here(engine: RayEngine) -> None:
    part = Stepwise()
    assert bits(carry(engine, part)) == bits(carry(LOCAL))
    assert part.taken == [len(batch) for batch in ORDER]


def test_a_worker_that_is_replaced_by_one_with_other_code_ends_the_run(engine: RayEngine, tmp_path: Path) -> None:
    crew = engine._crew
    assert crew is not None
    crew.software = replace(crew.software, code="of another day")  # as if what lies on the disk had changed since
    with pytest.raises(
        PlanError, match=r"^the workers of the Ray cluster have other code of attlas \(in .*attlas\) than"
    ):
        carry(engine, Dying(ORDER[5][0], 1, tmp_path / "deaths"))
    crew.dismiss()
    engine._crew = None  # the next test gets workers of its own


def test_the_address_of_a_cluster_is_taken(cluster: Any) -> None:
    cluster_module.require_cluster(cluster.address)


def test_a_connection_to_another_cluster_is_refused(cluster: Any) -> None:
    with pytest.raises(PlanError, match="is connected to the Ray cluster at"), RayEngine("127.0.0.1:1"):
        pass


@pytest.mark.parametrize("address", ["127.0.0.1:1", "localhost", "127.0.0.1:99999", "no such host:6379"])
def test_an_address_without_a_cluster_is_refused_at_once(address: str) -> None:
    began = time.monotonic()
    with pytest.raises(PlanError, match=f"there is no Ray cluster at {address}"):
        cluster_module.require_cluster(address)
    assert time.monotonic() - began < 6


def test_somebody_else_at_the_address_is_refused_soon(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(cluster_module, "ANSWERS", 1.0)
    with socket.create_server(("127.0.0.1", 0)) as server:
        address = f"127.0.0.1:{server.getsockname()[1]}"
        with pytest.raises(PlanError, match="within 1 seconds nothing answered there as one does"):
            cluster_module.require_cluster(address)


def test_without_ray_one_sentence_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(__import__("sys").modules, "ray", None)
    with pytest.raises(PlanError, match=r"needs the package ray; install it with pip install 'attlas\[ray\]'"):
        survey(None, "sample", engine="ray")


def test_ray_that_does_not_start_is_one_sentence(monkeypatch: pytest.MonkeyPatch) -> None:
    def late(**_: Any) -> None:
        raise Exception("The current node timed out during startup.")

    nobody = SimpleNamespace(is_initialized=lambda: False, init=late, shutdown=lambda: None)
    monkeypatch.setattr(cluster_module, "import_ray", lambda: nobody)
    with pytest.raises(
        PlanError, match=r"^Ray did not start \(The current node timed out .*\); if this machine is busy"
    ):
        cluster_module.connect("", 1)
