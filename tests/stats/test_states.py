"""What accumulators take in and write down: rows that do not fit are refused, states that lie on disks still open."""

from __future__ import annotations

import pytest

from attlas.errors import StatsError
from attlas.stats import Latest
from attlas.stats.accumulator import KINDS

# Checkpoints on people's disks say these. A number that changes makes all of them unreadable, which must be meant.
ON_DISK = {"Bundle": 1, "Drawn": 1, "Largest": 1, "Latest": 1, "Ledger": 1, "PooledMean": 2, "Resampled": 1}


def test_states_have_the_version_of_those_on_disk() -> None:
    assert {name: kind.schema for name, kind in KINDS.items()} == ON_DISK


@pytest.mark.parametrize(("step", "row"), [(0, [0.5, 0.5]), (1, [0.5]), (1, [[0.5, 0.5]])])
def test_the_latest_row_wants_a_step_from_one_and_all_its_numbers(step: int, row: list[float]) -> None:
    latest = Latest(size=2)
    with pytest.raises(StatsError, match="2 numbers were expected"):
        latest.update(step, row)
    assert latest.result()[0] == 0
