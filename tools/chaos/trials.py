"""What came of trials: one line of JSON for each in a record, which can be gone on with and from which the page is
made."""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Iterable
from dataclasses import asdict, dataclass
from pathlib import Path


@dataclass(frozen=True)
class Trial:
    """One trial: its kind, the run, what was done to it, and what was wrong then; ``note`` says how it went."""

    kind: str
    run: str
    done: str
    wrong: tuple[str, ...] = ()
    note: str = ""


def recorded(trials: Iterable[Trial], record: Path | None) -> tuple[int, int]:
    """Take trials as they come, tell those at fault, and write all into the record; how many there were, and how many
    at fault."""
    count = faults = 0
    began = time.monotonic()
    last: tuple[str, str] | None = None
    for trial in trials:
        if last is not None and last != (trial.kind, trial.run):
            print(f"{last[0]}, {last[1]}: {count} trials so far, {faults} at fault, {time.monotonic() - began:.0f} s",
                  flush=True)  # fmt: skip
        last = trial.kind, trial.run
        count += 1
        if trial.wrong:
            faults += 1
            print(f"AT FAULT {trial.kind}, {trial.run}, {trial.done}: {'; '.join(trial.wrong)}", file=sys.stderr)
        if record is not None:
            with open(record, "a", encoding="utf-8") as file:
                file.write(json.dumps(asdict(trial)) + "\n")
    return count, faults


def read_record(record: Path) -> list[Trial]:
    """All trials of a record."""
    lines = record.read_text(encoding="utf-8").splitlines()
    return [Trial(**{**json.loads(line), "wrong": tuple(json.loads(line)["wrong"])}) for line in lines]
