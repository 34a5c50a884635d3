"""Races: two or three processes at once in one folder. One goes on, the others are refused with a sentence that is
true, and the result is that of a run that was left alone."""

from __future__ import annotations

import random
import re
import signal
import time
from collections.abc import Iterator, Sequence
from functools import partial
from pathlib import Path

from tools.chaos.children import Ended, all_ended, start
from tools.chaos.place import Alone, Place
from tools.chaos.trials import Came, Planned

HELD = re.compile(r"another run works here \((?:process (\d+) on this machine|it has not said who it is yet)")
KINDS = ("same plan", "other plan", "resumed meanwhile", "reported meanwhile", "two take over")


def races(place: Place, names: Sequence[str], count: int, seed: int) -> Iterator[Planned]:
    """So many races of all kinds, over all runs."""
    for turn in range(count):
        draw = random.Random(f"races {seed} {turn}")
        name = names[(turn * 5) % len(names)]
        yield Planned("races", name, turn, partial(_raced, place, name, KINDS[turn % len(KINDS)], draw))


def _raced(place: Place, name: str, kind: str, draw: random.Random) -> Came:
    alone, out = place.left_alone(name), place.free("raced")
    asked = [*alone.arguments, "--out", str(out)]
    others = [asked] * draw.randint(1, 2)
    if kind == "other plan":
        others = [[*asked, "--seed", "1"]]
    elif kind == "resumed meanwhile":
        others = [[*asked, "--resume"]]
    elif kind == "reported meanwhile":
        others = [["report", str(out)]]
    elif kind == "two take over":
        first = start(asked)
        time.sleep(alone.seconds * draw.uniform(0.3, 0.8))
        first.send(signal.SIGKILL)
        if not first.end().killed:
            return Came(kind, note="it had ended before it was killed")
        asked = [*asked, "--resume"]
        others = [asked]
    children = [start(asked)]
    with all_ended(children):
        for other in others:
            time.sleep(draw.random() * 0.3 * alone.seconds)
            children.append(start(other))
        numbers = [child.number for child in children]
        ended = [child.end() for child in children]
    return Came(kind, *_judged(alone, out, kind, ended, numbers))


def _judged(alone: Alone, out: Path, kind: str, ended: list[Ended], numbers: list[int]) -> tuple[list[str], str]:
    """What was wrong with a race, and how it went."""
    if kind == "reported meanwhile":
        told = [str(ended[0])] if ended[0].status else alone.wrong(out)
        if ended[1].status and ended[1].sentence is None:
            told.append(f"the report ended with {ended[1]}")
        return told, ended[1].sentence or "the report came late enough"
    winners = [end for end in ended if end.status == 0]
    told = [] if len(winners) == 1 else [f"{len(winners)} of {len(ended)} went on: {'; '.join(map(str, ended))}"]
    for end in ended:
        if end.status == 0:
            continue
        held = HELD.search(end.sentence or "")
        if held is None:
            told.append(f"refused otherwise: {end}")
        elif held[1] is not None and int(held[1]) not in numbers:
            told.append(f"no such process: {end.sentence}")
    if kind == "other plan" and ended[0].status:
        return told, "the other plan was first"
    return [*told, *([] if told else alone.wrong(out))], "one went on"
