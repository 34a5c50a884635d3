"""Races: two or three processes at once in one folder. One goes on, the others are refused with a sentence that is
true, and the result is that of a run that was left alone.

All changes of files are watched and timed: a process that came when another had given the folder back was in no race,
and may go on, or find a result there. Such a trial is made again, with less time between the processes.
"""

from __future__ import annotations

import random
import re
import signal
import time
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from functools import partial
from itertools import pairwise
from pathlib import Path

from attlas.store.lock import LOCK
from tools.chaos.children import Child, Ended, all_ended, start
from tools.chaos.place import Alone, Place
from tools.chaos.trials import Came, Planned
from tools.chaos.watch import Call, Watch

HELD = re.compile(r"another run works here \((?:process (\d+) on this machine|it has not said who it is yet)")
HOLDS = re.compile(r"it holds (?:a \w+ result|the checkpoint) of another plan")  # true as soon as there is one
TRIES = 5  # of two processes that meet
OTHER = {"keywords": ("--top", "2")}  # what makes another plan of a run, where it is not another seed
KINDS = ("same plan", "other plan", "resumed meanwhile", "reported meanwhile", "two take over")


def races(place: Place, names: Sequence[str], count: int, seed: int) -> Iterator[Planned]:
    """So many races of all kinds, over all runs."""
    for turn in range(count):
        draw = random.Random(f"races {seed} {turn}")
        name = names[(turn * 5) % len(names)]
        yield Planned("races", name, turn, partial(_raced, place, name, KINDS[turn % len(KINDS)], draw))


@dataclass
class _Runner:
    """A process of a race: when it worked on files, and when it gave the folder back; how it ended."""

    worked: list[float] = field(default_factory=list)
    asked: float = 0.0
    gave_back: float = float("inf")
    number: int = 0
    ended: Ended = field(default_factory=lambda: Ended(0, "", ""))

    def see(self, call: Call, _: bool) -> bool:
        now = time.monotonic()
        if call.file == f"/{LOCK}":
            if call.kind == "unlink":
                self.gave_back = now
            elif call.kind == "open":
                self.asked = now
        elif call.kind not in ("mkdir", "rmdir") and "/.trying" not in call.file:
            self.worked.append(now)
        return False


def _raced(place: Place, name: str, kind: str, draw: random.Random) -> Came:
    came, wait = Came(kind), 0.3
    for _ in range(TRIES):
        came = _once(place, name, kind, draw, wait)
        if came.wrong or came.note not in ("one after the other", "it had ended before it was killed"):
            break
        wait /= 3
    return came


def _once(place: Place, name: str, kind: str, draw: random.Random, wait: float) -> Came:
    alone, out = place.left_alone(name), place.free("raced")
    asked = [*alone.arguments, "--out", str(out)]
    others = [asked] * draw.randint(1, 2)
    if kind == "other plan":
        others = [[*asked, *OTHER.get(name, ("--seed", "1"))]]
    elif kind == "resumed meanwhile":
        others = [[*asked, "--resume"]]
    elif kind == "reported meanwhile":
        others = [["report", str(out)]]
    elif kind == "two take over":
        first = start(asked)
        first.until(alone.work * draw.uniform(0.3, 0.8))
        first.send(signal.SIGKILL)
        if not first.end().killed:
            return Came(kind, note="it had ended before it was killed")
        asked = [*asked, "--resume"]
        others = [asked]
    runners = [_Runner() for _ in range(1 + len(others))]
    children: list[Child] = []
    with all_ended(children), ThreadPoolExecutor(len(runners)) as pool:
        ends = []
        for runner, words in zip(runners, [asked, *others], strict=True):
            if children:
                children[-1].until(draw.random() * wait * alone.work)
            children.append(start(words, Watch(out, runner.see)))
            runner.number = children[-1].number
            ends.append(pool.submit(children[-1].end))
        for runner, end in zip(runners, ends, strict=True):
            runner.ended = end.result()
    return Came(kind, *_judged(alone, out, kind, runners))


def _judged(alone: Alone, out: Path, kind: str, runners: list[_Runner]) -> tuple[list[str], str]:
    """What was wrong with a race, and how it went."""
    first, second = runners[0].ended, runners[1].ended
    if kind == "reported meanwhile":
        told = [str(first)] if first.status else alone.wrong(out)
        if second.status and second.sentence is None:
            told.append(f"the report ended with {second}")
        return told, second.sentence or "the report came late enough"
    winners = [runner for runner in runners if runner.ended.status == 0]
    if not winners:
        return [f"none went on: {'; '.join(str(runner.ended) for runner in runners)}"], ""
    told, note = _refusals(runners, winners)
    spans = sorted((runner.worked[0], runner.gave_back) for runner in winners if runner.worked)
    if len(winners) > 1:
        note = "one after the other"
        if any(later[0] < earlier[1] for earlier, later in pairwise(spans)):
            told.append(f"{len(winners)} went on at once: {'; '.join(str(runner.ended) for runner in runners)}")
    if kind == "other plan" and first.status:
        return told, note if note == "one after the other" else "the other plan was first"
    return [*told, *([] if told else alone.wrong(out))], note


def _refusals(runners: list[_Runner], winners: list[_Runner]) -> tuple[list[str], str]:
    """What was wrong with the refusals; and whether one of them came when the folder was free again."""
    told, note = [], "one went on"
    for runner in runners:
        if runner.ended.status == 0:
            continue
        sentence = runner.ended.sentence or ""
        held = HELD.search(sentence)
        if held is not None:
            if held[1] is not None and int(held[1]) not in {other.number for other in runners}:
                told.append(f"no such process: {sentence}")
        elif sentence and any(winner.gave_back <= runner.asked for winner in winners):
            note = "one after the other"
        elif not HOLDS.search(sentence):
            told.append(f"refused otherwise: {runner.ended}")
    return told, note
