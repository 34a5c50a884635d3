"""Requests to end, SIGTERM and SIGHUP, at random times: a sentence, a status that says by what, and a folder that can
be gone on with."""

from __future__ import annotations

import random
import signal
import time
from collections.abc import Iterator, Sequence

from tools.chaos.children import Ended, start
from tools.chaos.place import Place, resumed
from tools.chaos.trials import Trial

SAID = {signal.SIGTERM: "attlas: terminated", signal.SIGHUP: "attlas: its terminal was closed"}
LATE = 2.0  # a run that goes on for longer after it was told to end has not heard it
SETTLED = 0.05  # seconds until a child listens


def signals(place: Place, names: Sequence[str], count: int, seed: int) -> Iterator[Trial]:
    """So many of each signal, over all runs."""
    for number, sentence in SAID.items():
        for turn in range(count):
            draw = random.Random(f"{number} {seed} {turn}")
            alone = place.left_alone(names[turn % len(names)])
            out, after = place.free("torn"), SETTLED + draw.random() * alone.seconds
            child = start([*alone.arguments, "--out", str(out)], out)
            ended = child.wait(after)
            told = time.monotonic()
            if ended is None:
                child.send(number)
                ended = child.end()
            note, wrong = _heard(ended, number, sentence, time.monotonic() - told)
            if not wrong:
                wrong = resumed(alone, out)
            yield Trial(number.name, alone.name, turn, f"after {after:.3f} s", tuple(wrong), note)


def _heard(ended: Ended, number: int, sentence: str, took: float) -> tuple[str, list[str]]:
    """What a run did when it was told to end, and what was wrong with that."""
    if ended.status == 0:
        return "had ended", [f"it went on for {took:.1f} s"] if took > LATE else []
    if ended.status != 128 + number:
        return "", [str(ended)]
    lines = ended.err.splitlines()
    if not lines or lines[-1] != sentence or "Traceback" in ended.err:
        return "", [f"it said {ended.err[-300:]!r}"]
    return "ended", []
