"""Where trials happen: a folder with the inputs, and what each run comes to when it is left alone."""

from __future__ import annotations

import os
import shutil
import time
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from tools.chaos.children import imported, run
from tools.chaos.commands import arguments_of
from tools.chaos.contents import contents, differences
from tools.same_figures.inputs import NAMES, make_inputs


@dataclass(frozen=True)
class Alone:
    """A run that was left alone: its words, all changes of files that it made, how long it took, what came of it."""

    name: str
    arguments: tuple[str, ...]
    events: tuple[str, ...]
    seconds: float
    contents: dict[str, Any]


@dataclass
class Place:
    """A folder for trials."""

    folder: Path
    alone: dict[str, Alone] = field(default_factory=dict)

    @classmethod
    def make(cls, folder: Path) -> Place:
        """A place with all inputs in it."""
        make_inputs(folder / "inputs")
        return cls(folder)

    def input(self, name: str) -> str:
        return str(self.folder / "inputs" / NAMES[name])

    def left_alone(self, name: str) -> Alone:
        """What a run comes to when it is left alone; two such must be the same, or nothing can be told of it."""
        if name not in self.alone:
            arguments = arguments_of(name, self.input)
            said = []
            for _ in range(2):
                out = self.free("alone")
                began = time.monotonic()
                ended = run([*arguments, "--out", str(out)], out, told=True)
                seconds = time.monotonic() - began
                if ended.status:
                    raise RuntimeError(f"{name}: a run that was left alone ended with {ended}")
                imported(ended.modules)
                said.append(contents(out))
            if told := differences(*said):
                raise RuntimeError(f"{name}: two runs that were left alone differ: {told}")
            self.alone[name] = Alone(name, tuple(arguments), ended.events, seconds, said[0])
        return self.alone[name]

    def free(self, name: str) -> Path:
        """A folder of this process that is not there yet."""
        folder = self.folder / str(os.getpid()) / name
        shutil.rmtree(folder, ignore_errors=True)
        folder.parent.mkdir(exist_ok=True)
        return folder


def resumed(alone: Alone, out: Path, how: Sequence[str] = ()) -> list[str]:
    """Go on with a run to its end; what is wrong with that, in words."""
    ended = run([*alone.arguments, "--out", str(out), "--resume", *how], out)
    return [f"going on ended with {ended}"] if ended.status else wrong(alone, out)


def wrong(alone: Alone, out: Path) -> list[str]:
    """In what a folder is not what the run comes to when it is left alone."""
    try:
        return differences(contents(out), alone.contents)
    except Exception as error:
        return [f"what is in the folder cannot be read ({type(error).__name__}: {error})"]
