"""What came of trials: one line of JSON for each in a record, which can be gone on with and from which the page is
made."""

from __future__ import annotations

import json
import time
from collections.abc import Iterable
from dataclasses import asdict, dataclass
from pathlib import Path

EVERY = 60.0  # seconds between words of how it goes


@dataclass(frozen=True)
class Trial:
    """One trial: its kind, the run, its number among these, what was done, and what was wrong then; ``note`` says how
    it went."""

    kind: str
    run: str
    number: int
    done: str
    wrong: tuple[str, ...] = ()
    note: str = ""


def recorded(trials: Iterable[Trial], record: Path | None) -> tuple[int, int]:
    """Take trials as they come, tell those at fault, and write all into the record; how many there were, and how many
    at fault."""
    count = faults = 0
    began = told = time.monotonic()
    for trial in trials:
        count += 1
        if trial.wrong:
            faults += 1
            print(f"AT FAULT {trial.kind}, {trial.run}, {trial.done}: {'; '.join(trial.wrong)}", flush=True)
        if record is not None:
            with open(record, "a", encoding="utf-8") as file:
                file.write(json.dumps(asdict(trial)) + "\n")
        if (now := time.monotonic()) - told > EVERY:
            told = now
            print(f"{trial.kind}: {count} trials, {faults} at fault, {now - began:.0f} s", flush=True)
    return count, faults


def read_record(record: Path) -> list[Trial]:
    """The trials of a record; of one that was run again, the last time."""
    trials = {}
    for line in record.read_text(encoding="utf-8").splitlines():
        told = json.loads(line)
        trials[told["kind"], told["run"], told["number"]] = Trial(**{**told, "wrong": tuple(told["wrong"])})
    return list(trials.values())
