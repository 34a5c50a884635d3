"""A real Ray cluster of several nodes on this machine, and parts that misbehave on it."""

from __future__ import annotations

import os
import signal
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
from toy_study import Toy

from attlas.run.cluster import import_ray
from attlas.stats import Bundle


@contextmanager
def cluster_of(nodes: int) -> Iterator[Any]:
    """A cluster of so many nodes of one CPU each beside a head that has none, to which this process is connected;
    nothing of it is left afterwards."""
    ray = import_ray()
    cluster = _started(nodes)
    try:
        ray.init(address=cluster.address, log_to_driver=False, logging_level="ERROR")
        yield cluster
    finally:
        ray.shutdown()
        cluster.shutdown()


def _started(nodes: int, tries: int = 3) -> Any:
    """Ray gives a node half a minute to come up, which on a busy machine is too little; then it is tried again."""
    from ray.cluster_utils import Cluster

    for left in reversed(range(tries)):
        cluster = Cluster()
        try:
            cluster.add_node(num_cpus=0, include_dashboard=False)  # the first is the head
            for _ in range(nodes):
                cluster.add_node(num_cpus=1)
        except Exception:
            cluster.shutdown()
            if not left:
                raise
            continue
        return cluster
    raise AssertionError


class Dying(Toy):
    """Takes its worker along, as often as told, when it comes to some item; how often it did is in a file."""

    def __init__(self, item: int, times: int, notes: Path) -> None:
        super().__init__()
        self.item, self.times, self.notes = item, times, notes

    def update(self, bundle: Bundle, batch: Sequence[int]) -> None:
        if self.item in batch:
            with open(self.notes, "a", encoding="utf-8") as file:
                file.write("x")
            if len(self.notes.read_text(encoding="utf-8")) <= self.times:
                os.kill(os.getpid(), signal.SIGKILL)
        super().update(bundle, batch)


class Counting(Toy):
    """Also writes down each batch that it has seen, and on which process."""

    def __init__(self, notes: Path, pause: float = 0.0) -> None:
        super().__init__(pause)
        self.notes = notes

    def update(self, bundle: Bundle, batch: Sequence[int]) -> None:
        with open(self.notes, "a", encoding="utf-8") as file:
            file.write(f"{os.getpid()} {min(batch)}\n")
        super().update(bundle, batch)


def far(one: Bundle, other: Bundle) -> float:
    """How far two bundles are from each other, relative to the largest number of each array."""
    states = one.state(), other.state()
    assert list(states[0]) == list(states[1])
    apart = [0.0]
    for key, array in states[0].items():
        if array.dtype.kind == "f":
            size = max(float(np.abs(array).max(initial=0.0)), 1e-300)
            apart.append(float(np.abs(array - states[1][key]).max(initial=0.0)) / size)
    return max(apart)
