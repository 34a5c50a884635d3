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
from functools import partial

from tools.chaos.children import run, start
from tools.chaos.place import Alone, Place, resumed
from tools.chaos.trials import Came, Planned

AGAIN = 0.2  # the share of runs that are killed twice


def kills(place: Place, names: Sequence[str], most: int, seed: int) -> Iterator[Planned]:
    """A kill at so many changes of files of each run (0: at all), one of each after the other; and each gone on with
    after its end."""
    for name in names:
        yield Planned("finished", name, 0, partial(_finished, place, place.left_alone(name)))
    drawn = {
        name: sampled(place.left_alone(name).events, most, random.Random(f"kills {seed} {name}")) for name in names
    }
    for turn in range(max(map(len, drawn.values()), default=0)):
        for name, numbers in drawn.items():
            if turn < len(numbers):
                draw = random.Random(f"again {seed} {name} {numbers[turn]}")
                killed = partial(_killed, place, place.left_alone(name), numbers[turn], draw)
                yield Planned("kills", name, numbers[turn], killed)


def random_kills(place: Place, names: Sequence[str], count: int, seed: int) -> Iterator[Planned]:
    """So many kills at random times, over all runs."""
    for turn in range(count):
        alone = place.left_alone(names[turn % len(names)])
        after = random.Random(f"times {seed} {turn}").random() * alone.seconds
        yield Planned("random kills", alone.name, turn, partial(_killed_after, place, alone, after))


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


def _killed(place: Place, alone: Alone, number: int, draw: random.Random) -> Came:
    kind, file = alone.events[number - 1].split("\t")
    done = f"{kind} of {_plain(file)} ({number} of {len(alone.events)})"
    out = place.free("torn")
    ended = run([*alone.arguments, "--out", str(out)], out, fatal=number)
    if not ended.killed and ended.status:
        return done, [str(ended)], ""
    note = "killed" if ended.killed else "had ended"
    if draw.random() < AGAIN:
        again = run([*alone.arguments, "--out", str(out), "--resume"], out, fatal=draw.randint(1, len(alone.events)))
        if not again.killed and again.status:
            return done, [f"going on ended with {again}"], note
        note += ", twice" if again.killed else ""
    return done, resumed(alone, out), note


def _killed_after(place: Place, alone: Alone, after: float) -> Came:
    done, out = f"after {after:.3f} s", place.free("torn")
    child = start([*alone.arguments, "--out", str(out)], out)
    ended = child.wait(after)
    if ended is None:
        child.send(signal.SIGKILL)
        ended = child.end()
    if not ended.killed and ended.status:
        return done, [str(ended)], ""
    return done, resumed(alone, out), "killed" if ended.killed else "had ended"


def _finished(place: Place, alone: Alone) -> Came:
    done, out = "gone on with after its end, twice", place.free("torn")
    ended = run([*alone.arguments, "--out", str(out)], out)
    return done, [str(ended)] if ended.status else [*resumed(alone, out), *resumed(alone, out)], ""


def _plain(event: str) -> str:
    """A change without the random letters of temporary names."""
    return re.sub(r"(?<=/)(\.tmp|\.trying)\w+", r"\1*", event)
