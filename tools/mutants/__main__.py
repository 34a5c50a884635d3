"""Which changes of the code do the tests not notice? ``make mutants``.

Two kinds of changed copies are tried, each against the tests of its area: changes of the *design* of an experiment,
written out in :mod:`tools.mutants.design` (choosing on the texts that are scored, a twin that is the model, a
correction that is dropped), and small changes of arithmetic, drawn by a seed. A change that no test notices has
*survived*: either a test is missing, or the change makes no difference, which is then argued in ``equivalent.toml``.

    python -m tools.mutants design              # all of them, an hour or so
    python -m tools.mutants random --count 170  # a sample, an hour or two
    python -m tools.mutants random --only stats

What was tried is written to ``out/mutants.jsonl`` line by line, and not tried again while neither the file nor its
tests have changed.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import os
import shutil
import subprocess
import sys
import tempfile
import tomllib
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any, NamedTuple

from tools.mutants.areas import ROOT, tests_of
from tools.mutants.design import DESIGN
from tools.mutants.random_changes import apply, draw

COPIED = (
    "src", "tests", "tools", "examples", "benchmarks", "docs", "conftest.py", "pyproject.toml", "README.md",
)  # fmt: skip
PACKAGE = ROOT / "src" / "attlas"
KEPT = ROOT / "out" / "mutants.jsonl"
BY_THE_CLOCK = ("--deselect", "tests/cli/test_commands.py::test_starting_is_quick")  # fails where others work, too
LONGEST = 900  # seconds for the tests of one change; longer counts as noticed


class Mutant(NamedTuple):
    """A changed file, and the tests that are to notice."""

    key: str
    file: str
    source: str
    tests: tuple[str, ...]


def design_mutants() -> Iterator[Mutant]:
    """The changes of design; one whose line is gone is an error, for it must be found again."""
    for change in DESIGN:
        source = (PACKAGE / change.file).read_text(encoding="utf-8")
        if source.count(change.before) != 1:
            raise SystemExit(f"design {change.number}: {change.before!r} is not once in {change.file}")
        changed = source.replace(change.before, change.after)
        yield Mutant(f"design {change.number}: {change.what}", change.file, changed, change.tests)


def random_mutants(count: int, seed: int) -> Iterator[Mutant]:
    """A sample of small changes."""
    for change in draw(ROOT, count, seed):
        source = (PACKAGE / change.file).read_text(encoding="utf-8")
        yield Mutant(change.key, change.file, apply(change, source), tests_of(change.file))


def survived(mutant: Mutant) -> bool:
    """Whether the tests of its area pass with the change made, in a copy of the code."""
    with tempfile.TemporaryDirectory(prefix="mutant-") as folder:
        copy = Path(folder)
        for part in COPIED:
            here = ROOT / part
            if here.is_dir():
                shutil.copytree(here, copy / part, ignore=shutil.ignore_patterns("__pycache__"))
            else:
                shutil.copy(here, copy / part)
        (copy / "src" / "attlas" / mutant.file).write_text(mutant.source, encoding="utf-8")
        command = [sys.executable, "-m", "pytest", "-q", "-x", "-p", "no:cacheprovider", *BY_THE_CLOCK, *mutant.tests]
        environment = {**os.environ, "PYTHONPATH": str(copy / "src"), "OMP_NUM_THREADS": "1"}
        try:
            done = subprocess.run(
                command, cwd=copy, env=environment, capture_output=True, timeout=LONGEST, check=False
            )
        except subprocess.TimeoutExpired:
            return False
        return done.returncode == 0


def tried() -> dict[str, dict[str, Any]]:
    """What was tried before, by key."""
    lines = KEPT.read_text(encoding="utf-8").splitlines() if KEPT.exists() else []
    return {entry["key"]: entry for entry in map(json.loads, lines)}


def _digest(mutant: Mutant) -> str:
    texts = [mutant.source]
    for test in mutant.tests:
        place = ROOT / test.split("::")[0]
        files = sorted(place.rglob("*.py")) if place.is_dir() else [place]
        texts += [file.read_text(encoding="utf-8") for file in files]
    return hashlib.sha256("\0".join(texts).encode()).hexdigest()


def equivalents() -> dict[str, str]:
    """Changes that make no difference, and why."""
    file = Path(__file__).with_name("equivalent.toml")
    return {entry["key"]: entry["why"] for entry in tomllib.loads(file.read_text(encoding="utf-8")).get("change", [])}


def run(mutants: Sequence[Mutant], workers: int) -> int:
    """Try all, say what survived, and count those for which there is no reason."""
    known, argued = tried(), equivalents()
    KEPT.parent.mkdir(exist_ok=True)

    def one(mutant: Mutant) -> tuple[Mutant, bool]:
        digest = _digest(mutant)
        entry = known.get(mutant.key)
        if entry is not None and entry["digest"] == digest:
            return mutant, bool(entry["survived"])
        lives = survived(mutant)
        with KEPT.open("a", encoding="utf-8") as file:
            print(json.dumps({"key": mutant.key, "digest": digest, "survived": lives}), file=file)
        return mutant, lives

    alive, equal = [], []
    with ThreadPoolExecutor(workers) as pool:
        for mutant, lives in pool.map(one, mutants):
            reason = argued.get(mutant.key)
            print(f"{'SURVIVED' if lives else 'noticed '} {mutant.key}{f' ({reason})' if lives and reason else ''}",
                  flush=True)  # fmt: skip
            if lives:
                (equal if reason else alive).append(mutant)
    print(f"{len(mutants)} changes, {len(alive)} not noticed, {len(equal)} that make no difference")
    return len(alive)


def main() -> None:
    """Try the changes that are asked for; fails where more survive than ``--most``."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("kind", choices=("design", "random"))
    parser.add_argument("--count", type=int, default=150)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--only", default="", help="keep the changes whose key contains this")
    parser.add_argument("--workers", type=int, default=2)
    parser.add_argument("--most", type=int, default=0, help="so many may survive")
    asked = parser.parse_args()
    mutants = list(design_mutants() if asked.kind == "design" else random_mutants(asked.count, asked.seed))
    kept = [mutant for mutant in mutants if asked.only in mutant.key or asked.only in mutant.file]
    raise SystemExit(run(kept, asked.workers) > asked.most)


if __name__ == "__main__":
    main()
