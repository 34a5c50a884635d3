"""Where trials happen: a folder with the inputs, what each run comes to when it is left alone, and all that is on the
disk on its way."""

from __future__ import annotations

import os
import random
import shutil
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any

from tools.chaos.children import imported, run
from tools.chaos.commands import arguments_of
from tools.chaos.contents import contents, differences
from tools.chaos.states import Known, State, look
from tools.chaos.watch import Call, Looking, Watch
from tools.same_figures.inputs import NAMES, make_inputs

SEED = 1  # of the random bytes that a watched run is dealt
LISTED = "list of models"  # an input that is made here
DRAWN = 20  # further states of each run that are gone on from, whatever their class


@dataclass(frozen=True)
class Alone:
    """A run that was left alone: its words, how long it worked (seconds of the processor), what came of it."""

    name: str
    arguments: tuple[str, ...]
    work: float
    contents: dict[str, Any]

    def wrong(self, out: Path) -> list[str]:
        """In what a folder is not what the run comes to when it is left alone."""
        try:
            return differences(contents(out), self.contents)
        except Exception as error:
            return [f"what is in the folder cannot be read ({type(error).__name__}: {error})"]


@dataclass(frozen=True)
class Moment:
    """Before the change of this number (from 1), or when half of that write is done: what it is, and the state."""

    number: int
    half: bool
    what: str
    key: str


@dataclass(frozen=True)
class Watched:
    """A run that was watched: all its moments with their states, and the files that it mapped into memory."""

    moments: tuple[Moment, ...]
    states: dict[str, State]
    mapped: frozenset[str] = frozenset()

    @cached_property
    def classes(self) -> list[list[int]]:
        """Of each class of states the places of its distinct states among the moments, as each is met first."""
        found: dict[str, dict[str, int]] = {}
        for place, moment in enumerate(self.moments):
            found.setdefault(self.states[moment.key].lasting, {}).setdefault(moment.key, place)
        return [list(members.values()) for members in found.values()]

    @property
    def first(self) -> list[int]:
        """The first state of each class."""
        return [members[0] for members in self.classes]

    @property
    def others(self) -> list[int]:
        """The state in the middle of each class, and the last."""
        chosen = {members[at] for members in self.classes for at in (len(members) // 2, -1)}
        return sorted(chosen - {*self.first})

    @cached_property
    def drawn(self) -> list[int]:
        """Some of all other states, by lot."""
        left = {place for members in self.classes for place in members} - {*self.first, *self.others}
        return random.Random("drawn").sample(sorted(left), min(DRAWN, len(left)))

    @property
    def kept(self) -> set[str]:
        """The names of the states that are gone on from."""
        return {self.moments[place].key for place in (*self.first, *self.others, *self.drawn)}

    @property
    def figures(self) -> dict[str, int]:
        """How many changes, moments, states and classes there are."""
        return {
            "changes": self.moments[-1].number, "moments": len(self.moments), "states": len(self.states),
            "classes": len(self.classes), "mapped": len(self.mapped),
        }  # fmt: skip

    def told(self, moment: Moment) -> str:
        """A moment in words."""
        return f"{moment.what} ({moment.number} of {self.moments[-1].number})"


@dataclass
class Place:
    """A folder for trials."""

    folder: Path
    alone: dict[str, Alone] = field(default_factory=dict)
    seen: dict[str, Watched] = field(default_factory=dict)

    @classmethod
    def make(cls, folder: Path) -> Place:
        """A place with all inputs in it."""
        make_inputs(folder / "inputs")
        (folder / "kept").mkdir()
        place = cls(folder)
        listed = [place.input("bert"), place.input("llama")]
        Path(place.input(LISTED)).write_text("\n".join(listed), encoding="utf-8")
        return place

    def input(self, name: str) -> str:
        return str(self.folder / "inputs" / ("models.txt" if name == LISTED else NAMES[name]))

    @property
    def kept(self) -> Path:
        """Where the files of states are kept, by their checksums."""
        return self.folder / "kept"

    def left_alone(self, name: str) -> Alone:
        """What a run comes to when it is left alone; two such must be the same, or nothing can be told of it."""
        if name not in self.alone:
            arguments = arguments_of(name, self.input)
            found = None
            for _ in range(2):
                out = self.free("alone")
                ended = run([*arguments, "--out", str(out)], told=True)
                if ended.status:
                    raise RuntimeError(f"{name}: a run that was left alone ended with {ended}")
                imported(ended.modules)
                if found is not None and (told := found.wrong(out)):
                    raise RuntimeError(f"{name}: two runs that were left alone differ: {told}")
                found = Alone(name, tuple(arguments), ended.work, contents(out))
                self.alone[name] = found
        return self.alone[name]

    def watched(self, name: str) -> Watched:
        """All that is on the disk while a run is at work: watched twice, which must be the same to the letter."""
        if name not in self.seen:
            alone = self.left_alone(name)
            self.seen[name] = self._watched(alone, self._watched(alone))
        return self.seen[name]

    def _watched(self, alone: Alone, before: Watched | None = None) -> Watched:
        """Watch a run; where that was done before, it must do the same, and states to go on from are kept: these are
        looked at again."""
        out = self.free("watched")
        moments: list[Moment] = []
        states: dict[str, State] = {}
        keep = before.kept if before is not None else set()

        def see(call: Call, half: bool) -> bool:
            number = (moments[-1].number if moments else 0) + (not half)
            what = f"half-way of {call}" if half else str(call)
            if before is None:
                state = look(out, known=known)
                known.last += [call.file, call.origin]
                key = states.setdefault(state.key, state).key
            else:
                key = before.moments[len(moments)].key if len(moments) < len(before.moments) else ""
                if key in keep:
                    keep.discard(key)
                    key = look(out, self.kept).key
            moments.append(Moment(number, half, what, key))
            if before is not None and moments[-1:] != [*before.moments[len(moments) - 1 : len(moments)]]:
                raise RuntimeError(f"{alone.name}: two runs that were watched differ at {what} ({number})")
            return False

        watch = Watch(out, see, seed=SEED)
        known = Known(watch.mapped)
        ended = run([*alone.arguments, "--out", str(out)], watch)
        if ended.status or (told := alone.wrong(out)):
            raise RuntimeError(f"{alone.name}: watched, it came to something else: {ended if ended.status else told}")
        return before or Watched(tuple(moments), states, frozenset(watch.mapped))

    def free(self, name: str) -> Path:
        """A folder of this process that is not there yet."""
        folder = self.folder / str(os.getpid()) / name
        shutil.rmtree(folder, ignore_errors=True)
        folder.parent.mkdir(exist_ok=True)
        return folder


def killing(moment: Moment) -> Looking:
    """Kills at a moment."""
    number = 0

    def see(_: Call, half: bool) -> bool:
        nonlocal number
        number += not half
        return (number, half) == (moment.number, moment.half)

    return see


def resumed(alone: Alone, out: Path) -> list[str]:
    """Go on with a run to its end; what is wrong with that, in words."""
    ended = run([*alone.arguments, "--out", str(out), "--resume"])
    return [f"going on ended with {ended}"] if ended.status else alone.wrong(out)
