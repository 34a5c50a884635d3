"""Workers, nodes and the run itself killed on a real Ray cluster: nothing is lost, and nothing counts twice."""

from __future__ import annotations

import os
import random
import signal
import subprocess
import sys
import time
from collections import Counter
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import suppress
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest
from toy_study import BUDGET, ITEMS, LENGTHS, PLAN, bits

from attlas.run import LOCAL, Keeping, Listed, batches
from attlas.store import Result, load_checkpoint

if find_spec("ray") is None:
    pytest.skip("the package ray is not installed", allow_module_level=True)

from ray_clusters import Counting, cluster_of, far
from spread import same_tables

from attlas.run.ray import RayEngine

pytestmark = pytest.mark.campaign
WORKERS, WORKER_KILLS, NODE_KILLS = 3, 10, 2


def kill(cluster: Any, notes: Path, run: Future[Any]) -> tuple[int, int]:
    """Kill workers while a run goes on, and nodes, each of which is replaced by a fresh one; how many of both."""
    chosen, killed, nodes = random.Random(0), set[int](), 0
    while not run.done() and (len(killed) < WORKER_KILLS or nodes < NODE_KILLS):
        time.sleep(1.5)
        if nodes < NODE_KILLS and len(killed) >= 4 * (nodes + 1):
            nodes += 1
            cluster.remove_node(sorted(cluster.worker_nodes, key=str)[0], allow_graceful=False)
            cluster.add_node(num_cpus=1)
        elif len(killed) < WORKER_KILLS:
            seen = [line.split() for line in notes.read_text().splitlines()] if notes.exists() else []
            alive = sorted({int(process) for process, _ in seen[-6:]} - killed)
            with suppress(ProcessLookupError, IndexError):
                process = chosen.choice(alive)
                os.kill(process, signal.SIGKILL)
                killed.add(process)
    return len(killed), nodes


@pytest.mark.parametrize("tree", [False, True])
def test_ten_workers_and_two_nodes_die_and_the_sums_are_the_same(tmp_path: Path, tree: bool) -> None:
    notes = tmp_path / "seen"
    source = Listed(ITEMS, LENGTHS, budget=BUDGET // 2)
    with (
        cluster_of(WORKERS) as cluster,
        RayEngine(cluster.address, tree=tree) as engine,
        ThreadPoolExecutor() as beside,
    ):
        run = beside.submit(engine.carry_out, Counting(notes, pause=1.5), source, Keeping(PLAN, out=tmp_path / "out"))
        assert kill(cluster, notes, run) == (WORKER_KILLS, NODE_KILLS)
        merged = run.result()
    here = LOCAL.carry_out(Counting(tmp_path / "here"), source, Keeping(PLAN))
    if tree:
        assert 0 < far(merged, here) <= 1e-12  # 0 would be no tree
        assert [part.result().n.tolist() for part in (merged["a"], merged["b"])] == [
            part.result().n.tolist() for part in (here["a"], here["b"])
        ]
    else:
        assert bits(merged) == bits(here)
    done = Counter(int(line.split()[1]) for line in notes.read_text().splitlines())
    assert set(done) == {min(batch) for batch in batches(LENGTHS, BUDGET // 2)}
    again = sum(done.values()) - len(done)
    assert 0 < again <= 2 * (WORKER_KILLS + NODE_KILLS)  # what was under way or lay on a node that died, and no more


@pytest.mark.parametrize("tree", [False, True])
def test_a_run_that_is_killed_itself_is_resumed_to_the_same_tables(tmp_path: Path, tree: bool) -> None:
    out = tmp_path / "out"
    asked = ["survey", "sample", "--limit", "100", "--budget", "256", "--checkpoint-every", "0"]
    spread = [*asked, "--engine", "ray", "--workers", "2", "--out", str(out), *(["--tree"] if tree else [])]
    child = subprocess.Popen(command(*spread), stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    deadline = time.monotonic() + 300
    while child.poll() is None and time.monotonic() < deadline:
        with suppress(Exception):  # it may be about to be written
            checkpoint = load_checkpoint(out)
            if checkpoint is not None and checkpoint.progress["batches"] >= (8 if tree else 3):
                break
        time.sleep(0.05)
    child.send_signal(signal.SIGKILL)
    assert child.wait() == -signal.SIGKILL, "the run ended before it could be killed"
    subprocess.run(command(*spread, "--resume"), check=True, stdout=subprocess.DEVNULL)
    subprocess.run(command(*asked, "--out", str(tmp_path / "here")), check=True, stdout=subprocess.DEVNULL)
    same_tables(Result.open(out), Result.open(tmp_path / "here"), 1e-12 if tree else 0.0)


def test_a_run_that_is_told_to_end_leaves_a_checkpoint(tmp_path: Path) -> None:
    out = tmp_path / "out"
    spread = ["survey", "sample", "--engine", "ray", "--workers", "2", "--budget", "256", "--out", str(out)]
    child = subprocess.Popen(command(*spread, "--checkpoint-every", "0"), stderr=subprocess.PIPE, text=True)
    deadline = time.monotonic() + 300
    while child.poll() is None and time.monotonic() < deadline and not list(out.glob("checkpoint/*.npz")):
        time.sleep(0.05)
    child.send_signal(signal.SIGTERM)
    _, said = child.communicate(timeout=120)
    assert child.returncode == 128 + signal.SIGTERM
    assert "go on with --resume" in said
    assert said.strip().endswith("attlas: terminated")
    assert load_checkpoint(out) is not None


def command(*words: str) -> list[str]:
    return [sys.executable, "-c", "from attlas.cli import main; main()", *words]
