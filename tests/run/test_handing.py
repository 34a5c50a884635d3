"""Handing out by need: whatever arrives late or is lost, every batch is taken once, in order; and the simulation of
many workers agrees with what can be worked out."""

from __future__ import annotations

import random

import pytest
from benchmarks.simulated import Costs, simulate
from hypothesis import given, settings
from hypothesis import strategies as st

from attlas.run.handing import HandOut
from attlas.run.source import Listed


@settings(max_examples=60)
@given(st.integers(0, 40), st.integers(1, 5), st.integers(1, 12), st.integers(0, 10**6))
def test_every_batch_is_taken_once_and_in_order(count: int, together: int, window: int, seed: int) -> None:
    chance = random.Random(seed)
    out: HandOut[list[int]] = HandOut(
        Listed(range(count), [1] * count, budget=1).from_place(), together=together, window=window
    )
    under_way, joining, taken, lost = [], [], [], 0
    while not out.over:
        while chance.random() < 0.7 and (batch := out.next()) is not None:
            under_way.append(batch)
            assert len(under_way) <= max(window, together)
        if under_way:
            batch = under_way.pop(chance.randrange(len(under_way)))
            if lost < 30 and chance.random() < 0.3:
                lost += 1
                out.lost(batch)
            else:
                out.arrived(batch, list(batch.items))
        joining += out.whole()
        if joining and chance.random() < 0.6:
            group = joining.pop(chance.randrange(len(joining)))
            if lost < 30 and chance.random() < 0.2:  # it was lost on its way to be joined
                lost += 1
                for batch in group.batches:
                    out.lost(batch)
            else:
                group.joined = [item for outcome in group.outcomes for item in outcome]
        for group in out.take():
            assert group.joined is not None
            taken.append(group.joined)
    assert [item for some in taken for item in some] == list(range(count))
    assert all(len(some) == together for some in taken[:-1])


def test_many_workers_are_limited_by_what_one_process_can_merge() -> None:
    costs = Costs(batch=1.0, hand=0.001, merge=0.019, size=1, network=1e9)
    assert simulate(1, costs, tree=False).workers == pytest.approx(1, abs=0.02)
    assert simulate(25, costs, tree=False, spread=0).workers == pytest.approx(1, abs=0.06)
    crowded = simulate(200, costs, tree=False, each=10)
    assert crowded.driver == pytest.approx(1, abs=0.02)
    assert crowded.workers == pytest.approx(1 / (200 * 0.02), rel=0.1)  # 50 batches a second are all it can take
    assert simulate(200, costs, tree=True, each=10).workers > 2 * crowded.workers


def test_many_workers_are_limited_by_the_network() -> None:
    costs = Costs(batch=1.0, hand=0.0, merge=0.0, size=100, network=1000.0)
    assert simulate(40, costs, tree=False, each=10).workers == pytest.approx(10 / 40, rel=0.1)
