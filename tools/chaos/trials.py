"""Trials, and what came of them: a line of JSON for each in a record, which can be gone on with and from which the
page is made."""

from __future__ import annotations

import json
import os
import time
import traceback
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path

EVERY = 60.0  # seconds between words of how it goes


@dataclass(frozen=True)
class Came:
    """What was done, what was wrong then, how it went, and what was counted."""

    done: str
    wrong: Sequence[str] = ()
    note: str = ""
    figures: Mapping[str, int] = field(default_factory=dict)


@dataclass(frozen=True)
class Trial:
    """What came of a trial: its kind, the run, its number among these, what was done, what was wrong then; ``note``
    says how it went, ``figures`` what was counted, ``code`` of which state of the code."""

    kind: str
    run: str
    number: int
    done: str
    wrong: tuple[str, ...] = ()
    note: str = ""
    figures: Mapping[str, int] = field(default_factory=dict)
    code: str = ""

    @property
    def key(self) -> tuple[str, str, int]:
        return self.kind, self.run, self.number


@dataclass(frozen=True)
class Planned:
    """A trial that is to be made."""

    kind: str
    run: str
    number: int
    make: Callable[[], Came]

    @property
    def key(self) -> tuple[str, str, int]:
        return self.kind, self.run, self.number

    def made(self, code: str = "") -> Trial:
        """What comes of it; where the trial itself fails, that is at fault, too."""
        try:
            came = self.make()
        except Exception as error:
            came = Came("not done", [f"{type(error).__name__}: {error}"])
        return Trial(self.kind, self.run, self.number, came.done, tuple(came.wrong), came.note, came.figures, code)


def carried_out(plans: Sequence[Callable[[], Iterable[Planned]]], record: Path, code: str = "") -> tuple[int, int]:
    """Make all trials that the record does not hold already without a fault, each plan in a process of its own; how
    many the record holds then, and how many of them are at fault."""
    record.touch()
    known = {trial.key for trial in read_record(record) if not trial.wrong}
    workers = []
    for plan in plans:
        number = os.fork()
        if number:
            workers.append(number)
            continue
        status = 1
        try:
            _work(plan(), known, record, code)
            status = 0
        except BaseException:
            traceback.print_exc()
        finally:
            os._exit(status)
    statuses = [os.waitpid(number, 0)[1] for number in workers]
    if any(statuses):
        raise RuntimeError("not all trials were made")
    trials = read_record(record)
    return len(trials), sum(bool(trial.wrong) for trial in trials)


def _work(planned: Iterable[Planned], known: set[tuple[str, str, int]], record: Path, code: str) -> None:
    """Make trials and write them down; those at fault are told at once."""
    count, told = 0, time.monotonic()
    for plan in planned:
        if plan.key in known:
            continue
        trial, count = plan.made(code), count + 1
        if trial.wrong:
            print(f"AT FAULT {trial.kind}, {trial.run}, {trial.done}: {'; '.join(trial.wrong)}", flush=True)
        with open(record, "a", encoding="utf-8") as file:
            file.write(json.dumps(asdict(trial)) + "\n")
        if time.monotonic() - told > EVERY:
            told = time.monotonic()
            print(f"process {os.getpid()}, {trial.kind}: {count} trials", flush=True)


def read_record(record: Path) -> list[Trial]:
    """The trials of a record; of one that was made again, the last time."""
    return list({trial.key: trial for trial in _lines(record)}.values())


def mended(record: Path) -> list[Trial]:
    """The trials of a record that were at fault, and were not when they were made again."""
    now = {trial.key: trial for trial in read_record(record)}
    return list({trial.key: trial for trial in _lines(record) if trial.wrong and not now[trial.key].wrong}.values())


def _lines(record: Path) -> Iterator[Trial]:
    for line in record.read_text(encoding="utf-8").splitlines():
        told = json.loads(line)
        yield Trial(**{**told, "wrong": tuple(told["wrong"])})
