"""A study over plain numbers, slow on demand; run as a program it is what the kill test kills."""

from __future__ import annotations

import sys
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from attlas.run import LOCAL, Keeping, Listed, Plan
from attlas.stats import Bundle, PooledMean

LENGTHS = [int(length) for length in np.random.default_rng(3).integers(1, 30, 120)]
ITEMS = list(range(len(LENGTHS)))
BUDGET = 60
PLAN = Plan("toy", options={"cells": 3}, corpus={"sha256": "abc"}, batching={"budget": BUDGET}, seed=1)


class Toy:
    """Pools numbers that are drawn from each item's own index, such that sums depend on their order."""

    name = "toy"

    def __init__(self, pause: float = 0.0) -> None:
        self.pause = pause

    def empty(self) -> Bundle:
        return Bundle({"a": PooledMean(shape=(3,), blocks=1), "b": PooledMean(shape=(), blocks=1)})

    def update(self, bundle: Bundle, batch: Sequence[int]) -> None:
        values = np.stack([np.random.default_rng(item).normal(0, 10.0 ** (item % 9), 3) for item in batch])
        counts = [1 + item % 4 for item in batch]
        units = [item % 5 for item in batch]
        bundle["a"].update(values, counts, units)
        time.sleep(self.pause)
        bundle["b"].update(values[:, 0], counts, units)

    def tables(self, bundle: Bundle) -> dict[str, dict[str, list[Any]]]:
        return {"toy": {"value": bundle["a"].result().value.tolist()}}


def bits(bundle: Bundle) -> dict[str, bytes]:
    return {key: array.tobytes() for key, array in bundle.state().items()}


if __name__ == "__main__":
    keeping = Keeping(PLAN, out=Path(sys.argv[1]), resume=True, checkpoint_every=float(sys.argv[2]))
    LOCAL.carry_out(Toy(pause=0.01), Listed(ITEMS, LENGTHS, budget=BUDGET), keeping)
