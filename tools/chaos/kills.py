"""Kills: at every change of a file that a run makes, and at random times; each run is then gone on with to its end.

Of the many writes into one file (arrays of a checkpoint come in small ones) some are drawn, and of checkpoints that
are written again and again, too, where there are more changes than were asked for: every kind of change to every file
comes first, once, and what is drawn of the rest comes after. A fifth of the runs is killed again while it goes on.
"""

from __future__ import annotations

import random
import re
import signal
from collections.abc import Iterator, Sequence

from tools.chaos.children import run, start
from tools.chaos.place import Alone, Place, resumed
from tools.chaos.trials import Trial

AGAIN = 0.2  # the share of runs that are killed twice


def kills(place: Place, names: Sequence[str], most: int, seed: int) -> Iterator[Trial]:
    """A kill at so many changes of files of each run."""
    for name in names:
        alone, draw = place.left_alone(name), random.Random(f"kills {seed} {name}")
        yield Trial("finished", name, "going on after its end", tuple(_resumed_after_its_end(place, alone)))
        for number in sampled(alone.events, most, draw):
            kind, file = alone.events[number - 1].split("\t")
            yield _killed(place, alone, number, f"{kind} of {_plain(file)} ({number} of {len(alone.events)})", draw)


def random_kills(place: Place, names: Sequence[str], count: int, seed: int) -> Iterator[Trial]:
    """So many kills at random times, over all runs."""
    for turn in sorted(range(count), key=lambda turn: turn % len(names)):
        draw = random.Random(f"times {seed} {turn}")
        alone = place.left_alone(names[turn % len(names)])
        out, after = place.free("torn"), draw.random() * alone.seconds
        child = start([*alone.arguments, "--out", str(out)], out)
        ended = child.wait(after)
        if ended is None:
            child.send(signal.SIGKILL)
            ended = child.end()
        note = "killed" if ended.killed else "had ended"
        wrong = resumed(alone, out) if ended.killed or not ended.status else [str(ended)]
        yield Trial("random kills", alone.name, f"after {after:.3f} s", tuple(wrong), note)


def sampled(events: Sequence[str], most: int, draw: random.Random) -> list[int]:
    """The numbers of so many changes, from 1: every kind of change to every file once, then others by lot."""
    groups: dict[str, list[int]] = {}
    for number, event in enumerate(events, start=1):
        groups.setdefault(_plain(event), []).append(number)
    first = [draw.choice(numbers) for numbers in groups.values()]
    calls = [number for number, event in enumerate(events, start=1) if not event.startswith("write")]
    rest = [number for number in calls if number not in set(first)]
    draw.shuffle(rest)
    writes = [number for number in range(1, len(events) + 1) if number not in {*first, *rest}]
    draw.shuffle(writes)
    return sorted([*first, *rest, *writes][: max(most, 0) or None])


def _killed(place: Place, alone: Alone, number: int, done: str, draw: random.Random) -> Trial:
    out = place.free("torn")
    ended = run([*alone.arguments, "--out", str(out)], out, fatal=number)
    if not ended.killed and ended.status:
        return Trial("kills", alone.name, done, (str(ended),))
    note = "killed" if ended.killed else "had ended"
    if draw.random() < AGAIN:
        again = run([*alone.arguments, "--out", str(out), "--resume"], out, fatal=draw.randint(1, len(alone.events)))
        if not again.killed and again.status:
            return Trial("kills", alone.name, done, (f"going on ended with {again}",))
        note += ", twice" if again.killed else ""
    return Trial("kills", alone.name, done, tuple(resumed(alone, out)), note)


def _resumed_after_its_end(place: Place, alone: Alone) -> list[str]:
    out = place.free("torn")
    ended = run([*alone.arguments, "--out", str(out)], out)
    return [str(ended)] if ended.status else [*resumed(alone, out), *resumed(alone, out)]


def _plain(event: str) -> str:
    """A change without the random letters of temporary names."""
    return re.sub(r"(?<=/)(\.tmp|\.trying)\w+", r"\1*", event)
