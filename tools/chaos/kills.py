"""Kills: at every change of a file that a run makes, and at random times; each run is then gone on with to its end.

Where there are more changes than were asked for, every kind of change to every file comes first, once; then what is
drawn of the others, of which the many small writes of arrays into checkpoints come last. All runs take turns, so that
trials that are ended early have come equally far in each. A fifth of the runs is killed again while it goes on.
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
    """A kill at so many changes of files of each run (0: at all); one of each run after the other."""
    left = {name: iter(()) for name in names}
    for name in names:
        alone = place.left_alone(name)
        yield Trial("finished", name, 0, "going on after its end", tuple(_resumed_after_its_end(place, alone)))
        left[name] = iter(sampled(alone.events, most, random.Random(f"kills {seed} {name}")))
    while left:
        for name in list(left):
            number = next(left[name], None)
            if number is None:
                del left[name]
            else:
                yield _killed(place, place.left_alone(name), number, random.Random(f"again {seed} {name} {number}"))


def random_kills(place: Place, names: Sequence[str], count: int, seed: int) -> Iterator[Trial]:
    """So many kills at random times, over all runs."""
    for turn in range(count):
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
        yield Trial("random kills", alone.name, turn, f"after {after:.3f} s", tuple(wrong), note)


def sampled(events: Sequence[str], most: int, draw: random.Random) -> list[int]:
    """The numbers of so many changes, from 1: every kind of change to every file once, then others by lot, and writes
    last."""
    groups: dict[str, list[int]] = {}
    for number, event in enumerate(events, start=1):
        groups.setdefault(_plain(event), []).append(number)
    first = [draw.choice(numbers) for numbers in groups.values()]
    draw.shuffle(first)
    calls = [number for number, event in enumerate(events, start=1) if not event.startswith("write")]
    rest = [number for number in calls if number not in set(first)]
    draw.shuffle(rest)
    writes = [number for number in range(1, len(events) + 1) if number not in {*first, *rest}]
    draw.shuffle(writes)
    return [*first, *rest, *writes][: most or None]


def _killed(place: Place, alone: Alone, number: int, draw: random.Random) -> Trial:
    kind, file = alone.events[number - 1].split("\t")
    done = f"{kind} of {_plain(file)} ({number} of {len(alone.events)})"
    out = place.free("torn")
    ended = run([*alone.arguments, "--out", str(out)], out, fatal=number)
    if not ended.killed and ended.status:
        return Trial("kills", alone.name, number, done, (str(ended),))
    note = "killed" if ended.killed else "had ended"
    if draw.random() < AGAIN:
        again = run([*alone.arguments, "--out", str(out), "--resume"], out, fatal=draw.randint(1, len(alone.events)))
        if not again.killed and again.status:
            return Trial("kills", alone.name, number, done, (f"going on ended with {again}",))
        note += ", twice" if again.killed else ""
    return Trial("kills", alone.name, number, done, tuple(resumed(alone, out)), note)


def _resumed_after_its_end(place: Place, alone: Alone) -> list[str]:
    out = place.free("torn")
    ended = run([*alone.arguments, "--out", str(out)], out)
    return [str(ended)] if ended.status else [*resumed(alone, out), *resumed(alone, out)]


def _plain(event: str) -> str:
    """A change without the random letters of temporary names."""
    return re.sub(r"(?<=/)(\.tmp|\.trying)\w+", r"\1*", event)
