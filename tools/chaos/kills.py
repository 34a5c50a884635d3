"""Kills: at every change of a file that a run makes, and at random times; each run is then gone on with to its end.

A run is watched at every change, and what is on the disk before it (and when half of a write is done) is what a kill
there leaves. States that are the same to the letter are gone on from once. States that differ in nothing but what
stands in unfinished files are a class: the first of each class, the one in the middle and the last are gone on from,
and some of all others by lot; whoever goes on must not look into these files. A fifth is killed again on the way.
Real kills at some of the changes must leave the very state that was seen there, and are gone on from as well.
"""

from __future__ import annotations

import random
import re
import signal
from collections.abc import Iterator, Sequence
from functools import partial

from tools.chaos.children import run, start
from tools.chaos.place import SEED, Place, killing, resumed
from tools.chaos.states import Untouched, look
from tools.chaos.trials import Came, Planned
from tools.chaos.watch import Call, Watch

AGAIN = 0.2  # the share of runs that are killed twice


def kills(place: Place, names: Sequence[str], most: int, seed: int) -> Iterator[Planned]:
    """The first state of all classes of each run (or of so many) gone on from; and each run gone on with after its
    end."""
    for name in names:
        yield Planned("watched", name, 0, partial(watched, place, name))
        yield Planned("finished", name, 0, partial(_finished, place, name))
    yield from _in_turn(place, {name: place.watched(name).first[: most or None] for name in names}, seed)


def other_states(place: Place, names: Sequence[str], seed: int) -> Iterator[Planned]:
    """The state in the middle of each class gone on from, and the last; then the states that were drawn."""
    yield from _in_turn(place, {name: place.watched(name).others for name in names}, seed)
    yield from _in_turn(place, {name: place.watched(name).drawn for name in names}, seed)


def _in_turn(place: Place, chosen: dict[str, list[int]], seed: int) -> Iterator[Planned]:
    for name, number in _by_turns(chosen):
        draw = random.Random(f"again {seed} {name} {number}")
        yield Planned("states", name, number, partial(_gone_on_from, place, name, number, draw))


def _by_turns(chosen: dict[str, list[int]]) -> Iterator[tuple[str, int]]:
    """The first number of each run, then the second of each, and so on."""
    for turn in range(max(map(len, chosen.values()), default=0)):
        for name, numbers in chosen.items():
            if turn < len(numbers):
                yield name, numbers[turn]


def real_kills(place: Place, names: Sequence[str], count: int, seed: int) -> Iterator[Planned]:
    """So many kills at changes of files of each run, of every kind of change to every file first."""
    chosen = {}
    for name in names:
        changes = [moment.what for moment in place.watched(name).moments]
        chosen[name] = sampled(changes, count, random.Random(f"kills {seed} {name}"))
    for name, number in _by_turns(chosen):
        yield Planned("kills", name, number, partial(_killed, place, name, number))


def random_kills(place: Place, names: Sequence[str], count: int, seed: int) -> Iterator[Planned]:
    """So many kills at random times, over all runs."""
    for turn in range(count):
        share = random.Random(f"times {seed} {turn}").random()
        name = names[turn % len(names)]
        yield Planned("random kills", name, turn, partial(_killed_after, place, name, share))


def sampled(changes: Sequence[str], most: int, draw: random.Random) -> list[int]:
    """The places of so many changes: one of every kind of change to every file, others by lot, and writes last."""
    groups: dict[str, list[int]] = {}
    for number, change in enumerate(changes):
        groups.setdefault(plain(change), []).append(number)
    first = [draw.choice(numbers) for numbers in groups.values()]
    draw.shuffle(first)
    calls = [number for number, change in enumerate(changes) if "write of" not in change]
    rest = [number for number in calls if number not in set(first)]
    draw.shuffle(rest)
    writes = sorted(set(range(len(changes))) - {*first, *rest})
    draw.shuffle(writes)
    return [*first, *rest, *writes][: most or None]


def plain(change: str) -> str:
    """A change without the random letters of temporary names.

    >>> plain("rename of /checkpoint/.tmpAbC")
    'rename of /checkpoint/.tmp*'
    """
    return re.sub(r"(?<=/)(\.tmp|\.trying)\w+", r"\1*", change)


def watched(place: Place, name: str) -> Came:
    """Watch a run, and count what it does."""
    return Came("watched, twice", figures=place.watched(name).figures)


def _gone_on_from(place: Place, name: str, number: int, draw: random.Random) -> Came:
    """Make the state of a moment, and go on from it."""
    alone, seen, out = place.left_alone(name), place.watched(name), place.free("torn")
    moment = seen.moments[number]
    state = seen.states[moment.key]
    state.make(out, place.kept)
    untouched, note, changes = Untouched(state), "", 0
    fatal = draw.randint(1, seen.moments[-1].number) if draw.random() < AGAIN else 0

    def see(call: Call, half: bool) -> bool:
        nonlocal changes
        if not half:
            untouched.see(call)
            changes += call.kind != "read"
        return changes == fatal != 0

    go_on = [*alone.arguments, "--out", str(out), "--resume"]
    watch = Watch(out, see, reads=True, writes=bool(fatal)) if fatal or untouched.left else None
    ended = run(go_on, watch)
    wrong = [f"it looked into an unfinished file: {call}" for call in untouched.looked_into]
    if ended.killed and fatal:
        note = "killed again"
        ended = run(go_on)
    wrong += [f"going on ended with {ended}"] if ended.status else alone.wrong(out)
    return Came(seen.told(moment), wrong, note)


def _killed(place: Place, name: str, number: int) -> Came:
    """Kill a run at a moment, compare what it leaves with what was seen there, and go on with it."""
    alone, seen, out = place.left_alone(name), place.watched(name), place.free("watched")
    moment = seen.moments[number]
    ended = run([*alone.arguments, "--out", str(out)], Watch(out, killing(moment), seed=SEED))
    if not ended.killed:
        return Came(seen.told(moment), [f"it was not killed: {ended}"])
    left, expected = dict(look(out).files), dict(seen.states[moment.key].files)
    other = sorted(file for file in left.keys() | expected.keys() if left.get(file) != expected.get(file))
    wrong = [f"{file or 'the folder'} is another than was seen" for file in other]
    return Came(seen.told(moment), [*wrong, *resumed(alone, out)], "as seen")


def _killed_after(place: Place, name: str, share: float) -> Came:
    alone = place.left_alone(name)
    after = share * alone.work
    out = place.free("torn")
    child = start([*alone.arguments, "--out", str(out)])
    child.until(after)
    child.send(signal.SIGKILL)
    ended = child.end()
    if not ended.killed and ended.status:
        return Came(f"after {after:.3f} s", [str(ended)])
    note = "killed" if ended.killed else "had ended"
    return Came(f"after {after:.3f} s", resumed(alone, out), note)


def _finished(place: Place, name: str) -> Came:
    alone, out = place.left_alone(name), place.free("torn")
    ended = run([*alone.arguments, "--out", str(out)])
    return Came(
        "gone on with after its end, twice",
        [str(ended)] if ended.status else [*resumed(alone, out), *resumed(alone, out)],
    )
