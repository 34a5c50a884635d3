"""Run the fuzz suites: ``python -m tools.fuzz --count 20000 --seed 1``; ends with 1 where anything was at fault.

``--index`` runs one mutant alone, and ``--keep`` writes the files of what was at fault into a folder.
"""

from __future__ import annotations

import argparse
import sys
from collections import Counter
from importlib import import_module
from pathlib import Path

SUITES = {  # and how many mutants of each
    "corpora": 100_000,
    "large": 1_000,
    "commands": 1_000,
    "folders": 2_000,
    "bits": 2_000,
    "requests": 1_000,
}


def main(arguments: list[str] | None = None) -> int:
    """Run what was asked for, and say what came."""
    asked = argparse.ArgumentParser(prog="python -m tools.fuzz", description=__doc__)
    asked.add_argument("suites", nargs="*", choices=[*SUITES, []], help="which suites; all if left out")
    asked.add_argument("--count", type=int, help="so many mutants of each suite; its own number if left out")
    asked.add_argument("--seed", type=int, default=0, help="decides every mutant")
    asked.add_argument("--index", type=int, help="this mutant alone")
    asked.add_argument("--keep", type=Path, help="a folder for the files of what was at fault")
    given = asked.parse_args(arguments)
    at_fault = 0
    for name in given.suites or SUITES:
        indices = range(given.count or SUITES[name]) if given.index is None else range(given.index, given.index + 1)
        outcomes: Counter[str] = Counter()
        for outcome in import_module(f"tools.fuzz.{name}").outcomes(given.seed, indices, given.keep):
            outcomes[outcome.kind] += 1
            if outcome.at_fault:
                at_fault += 1
                print(f"{name} --seed {given.seed} --index {outcome.index}: {outcome.told}", flush=True)
        print(f"{name}: " + ", ".join(f"{count} {kind}" for kind, count in outcomes.most_common()))
    return int(at_fault > 0)


if __name__ == "__main__":
    sys.exit(main())
