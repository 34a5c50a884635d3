"""Requests to end, SIGTERM and SIGHUP, at random times: a sentence, a status that says by what, and a folder that can
be gone on with."""

from __future__ import annotations

import random
import signal
from collections.abc import Iterator, Sequence
from functools import partial

from tools.chaos.children import Ended, start
from tools.chaos.place import Place, resumed
from tools.chaos.trials import Came, Planned

SAID: dict[int, str] = {signal.SIGTERM: "attlas: terminated", signal.SIGHUP: "attlas: its terminal was closed"}
LATE = 0.5  # times its usual work, after which a run that goes on has not heard that it is to end
SETTLED = 0.05  # seconds of work until a child listens


def signals(place: Place, names: Sequence[str], count: int, seed: int) -> Iterator[Planned]:
    """So many of each signal, over all runs."""
    for turn in range(count):
        for number in SAID:
            share = random.Random(f"{number} {seed} {turn}").random()
            name = names[turn % len(names)]
            yield Planned(signal.Signals(number).name, name, turn, partial(_told, place, name, number, share))


def _told(place: Place, name: str, number: int, share: float) -> Came:
    alone, out = place.left_alone(name), place.free("torn")
    after = SETTLED + share * (alone.work - SETTLED)
    child = start([*alone.arguments, "--out", str(out)])
    child.until(after)
    before = child.worked()
    child.send(number)
    ended = child.end()
    note, wrong = _heard(ended, number, ended.work - before, alone.work)
    return Came(f"after {after:.3f} s", wrong or resumed(alone, out), note)


def _heard(ended: Ended, number: int, more: float, usual: float) -> tuple[str, list[str]]:
    """What a run did when it was told to end, and what was wrong with that."""
    if ended.status == 0:
        return "had ended", [f"it went on for {more:.2f} s of work"] if more > LATE * usual else []
    if ended.status != 128 + number:
        return "", [str(ended)]
    lines = ended.err.splitlines()
    if not lines or lines[-1] != SAID[number] or "Traceback" in ended.err:
        return "", [f"it said {ended.err[-300:]!r}"]
    return "ended", []
