"""Many workers that are not there: handing out and merging as the engine on Ray does them, in simulated time.

Which batch goes to whom, and which bundles are taken when, is decided by the code of the engine itself
(:mod:`attlas.run.handing`). What each step costs was measured. Three things can be busy: a worker, the one process
that hands out and merges, and its network.
"""

from __future__ import annotations

import heapq
import itertools
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from attlas.run.handing import Group, HandOut
from attlas.run.ray import AHEAD, FAN
from attlas.run.source import Handed


class Costs(NamedTuple):
    """Seconds: of a batch on a worker, of handing one out and taking note of it, of merging a bundle; the size of a
    bundle in bytes, and of the network in bytes a second."""

    batch: float
    hand: float
    merge: float
    size: int
    network: float


class Outcome(NamedTuple):
    """Of the time of all workers the share that they worked; of all time the shares that the one process and its
    network were busy."""

    workers: float
    driver: float
    network: float


@dataclass
class _Busy:
    """Something that does one thing at a time."""

    free: float = 0.0
    worked: float = 0.0

    def do(self, now: float, seconds: float) -> float:
        self.free = max(self.free, now) + seconds
        self.worked += seconds
        return self.free


def simulate(
    workers: int, costs: Costs, *, tree: bool, each: int = 40, spread: float = 0.15, seed: int = 0
) -> Outcome:
    """A run of ``each`` batches a worker, whose lengths differ by the share ``spread``."""
    drawn = np.random.default_rng(seed).normal(1.0, spread, workers * each).clip(0.2)
    crew, driver, network = [_Busy() for _ in range(workers)], _Busy(), _Busy()
    load = [0] * workers
    together = FAN if tree else 1
    out: HandOut[bool] = HandOut(
        _batches(workers * each), together=together, window=4 * workers + (2 * FAN if tree else 0)
    )
    coming: list[tuple[float, int, str, int, Any]] = []
    order = itertools.count()

    def hand_out(now: float) -> None:
        for _ in range(AHEAD):
            for worker in range(workers):
                if load[worker] < AHEAD and (batch := out.next()) is not None:
                    load[worker] += 1
                    begun = driver.do(now, costs.hand)
                    done = crew[worker].do(begun, costs.batch * float(drawn[batch.number]))
                    heapq.heappush(coming, (done, next(order), "batch", worker, batch))

    def join(now: float, group: Group[bool]) -> None:
        if len(group.batches) > 1:
            now = crew[int(np.argmin(load))].do(now, costs.merge * len(group.batches))
        there = network.do(now, costs.size / costs.network)
        heapq.heappush(coming, (there, next(order), "bundle", 0, group))

    hand_out(0.0)
    while coming:
        now, _, what, worker, whose = heapq.heappop(coming)
        if what == "batch":
            load[worker] -= 1
            out.arrived(whose, True)
        else:
            whose.joined = True
        for group in out.whole():
            join(now, group)
        for _group in out.take():
            driver.do(now, costs.merge)
        hand_out(now)
    whole = max(driver.free, network.free)
    batches = float(drawn.sum()) * costs.batch
    return Outcome(batches / (workers * whole), driver.worked / whole, network.worked / whole)


def _batches(count: int) -> Iterator[Handed[None]]:
    return (Handed(number, (), 1, number + 1) for number in range(count))
