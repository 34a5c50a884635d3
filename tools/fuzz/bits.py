"""Single flipped bits, four of five in tables, the others in manifests and in what runs that were cut off have left.

Each must be told in a sentence, or do no harm: whatever is read is what was written, and a run that is resumed comes
to the figures of one that was left alone.
"""

from __future__ import annotations

import random
import shutil
from collections.abc import Iterator, Sequence
from pathlib import Path

from attlas.store.folder import MANIFEST
from tools.fuzz.damage import files
from tools.fuzz.folders import Mutant, judged, opened, resumed
from tools.fuzz.forked import Outcome
from tools.fuzz.results import Seeds

TABLES, ALL = 4, 5


def outcomes(
    seed: int, indices: Sequence[int], keep: Path | None = None, seeds: Seeds | None = None
) -> Iterator[Outcome]:
    """What came of each of these bits."""
    return judged(flipped, seed, indices, keep, seeds)


def flipped(seeds: Seeds, seed: int, index: int, folder: Path) -> Mutant:
    """A copy of a folder with one bit turned, which the numbers decide."""
    draw = random.Random(f"{seed} {index}")
    shutil.rmtree(folder, ignore_errors=True)
    in_table = index % ALL < TABLES
    run = draw.choice(list(seeds.cut_off)) if not in_table and draw.random() < 0.75 else ""
    study = "" if run else draw.choice(list(seeds.results))
    source = seeds.cut_off[run] if run else seeds.results[study]
    shutil.copytree(source, folder, ignore=shutil.ignore_patterns("report.html"))
    places = files(folder) if run else sorted(folder.glob("*.parquet")) if in_table else [folder / MANIFEST]
    path = draw.choice([path for path in places if path.stat().st_size])
    data, place = bytearray(path.read_bytes()), draw.randrange(path.stat().st_size * 8)
    data[place // 8] ^= 1 << place % 8
    path.write_bytes(bytes(data))
    damage = f"{run or study}: bit {place} of {path.name}"
    if run:
        return Mutant(folder, damage, lambda: resumed(seeds, run, folder))
    return Mutant(folder, damage, lambda: "refused" if opened(folder, source) is None else "as it was")
