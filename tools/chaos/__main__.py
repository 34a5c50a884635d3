"""Run trials: ``python -m tools.chaos kills --study survey --most 20``; ends with 1 where anything was at fault.

Without a kind, all kinds are run. ``--record`` keeps a line of each trial; one that holds trials already is gone on
with. ``--page`` writes what a record holds into a page.
"""

from __future__ import annotations

import argparse
import shutil
import subprocess
import sys
import tempfile
from functools import partial
from pathlib import Path

from tools.chaos import disks, kills, races, signals
from tools.chaos.children import warmed
from tools.chaos.commands import chosen
from tools.chaos.page import ASKED, write_page
from tools.chaos.place import Place
from tools.chaos.trials import Planned, carried_out
from tools.chaos.watch import possible

KINDS = ("states", "kills", "times", "signals", "disks", "races")


def main(arguments: list[str] | None = None) -> int:
    """Run what was asked for, and say what came."""
    asked = argparse.ArgumentParser(prog="python -m tools.chaos", description=__doc__)
    asked.add_argument("kinds", nargs="*", choices=[*KINDS, []], help="which kinds; all if left out")
    asked.add_argument("--study", action="append", default=[], help="these alone")
    asked.add_argument("--most", type=int, default=0, help="at most so many states of each run; 0 for all")
    asked.add_argument("--kills", type=int, default=ASKED["kills"], help="so many real kills at changes of each run")
    asked.add_argument("--times", type=int, default=ASKED["times"], help="so many kills at random times")
    asked.add_argument("--signals", type=int, default=ASKED["signals"], help="so many of each signal")
    asked.add_argument("--disks", type=int, default=ASKED["disks"], help="so many full disks")
    asked.add_argument("--races", type=int, default=ASKED["races"], help="so many races")
    asked.add_argument("--seed", type=int, default=0, help="decides what is drawn")
    asked.add_argument("--record", type=Path, help="a file that gets a line of each trial")
    asked.add_argument("--processes", type=int, default=2, help="so many runs at a time")
    asked.add_argument("--page", type=Path, help="write what the record holds into this page")
    given = asked.parse_args(arguments)
    if not possible():
        asked.error("files can be watched on Linux and x86-64 alone")
    warmed()
    folder = Path(tempfile.mkdtemp(prefix="chaos-"))
    try:
        record = given.record or folder / "record.jsonl"
        place, names = Place.make(folder), chosen(given.study)
        shares = [names[at :: given.processes] for at in range(given.processes)]
        plans = [partial(_trials, given, place, names, share) for share in shares if share]
        count, faults = carried_out(plans, record, _code())
        print(f"{count} trials, {faults} at fault")
        if given.page is not None:
            write_page(record, given.page)
    finally:
        shutil.rmtree(folder, ignore_errors=True)
    return int(faults > 0)


def _code() -> str:
    """The state of the code that is tried, by its commit; "" where there is none."""
    words = ["git", "-C", str(Path(__file__).parent), "describe", "--always", "--dirty", "--abbrev=12"]
    try:
        return subprocess.run(words, check=True, capture_output=True, text=True).stdout.strip()
    except (OSError, subprocess.CalledProcessError):
        return ""


def _trials(given: argparse.Namespace, place: Place, names: list[str], share: list[str]) -> list[Planned]:
    """The trials of a share of the runs; how many there are of each kind is decided over all."""
    asked = [kind for kind in KINDS if kind in (given.kinds or KINDS)]
    watched = bool({"states", "kills"} & {*asked})
    ready = [name for name in share if _understood(place, name, watched=watched)]
    kinds = {
        "states": lambda: kills.kills(place, ready, given.most, given.seed),
        "kills": lambda: kills.real_kills(place, ready, given.kills, given.seed),
        "times": lambda: kills.random_kills(place, names, given.times, given.seed),
        "signals": lambda: signals.signals(place, names, given.signals, given.seed),
        "disks": lambda: disks.disks(place, names, given.disks, given.seed),
        "races": lambda: races.races(place, names, given.races, given.seed),
    }
    if "disks" in asked and not disks.mountable(place.free("disk")):
        print("full disks: left out, since no file system may be mounted here")
        asked.remove("disks")
    lists = [[trial for trial in kinds[kind]() if trial.run in ready] for kind in asked]
    others = list(kills.other_states(place, ready, given.seed)) if "states" in asked and not given.most else []
    return [*_not_understood(place, share, ready), *_mixed(lists), *others]


def _understood(place: Place, name: str, *, watched: bool) -> bool:
    """Whether a run comes to the same when it is left alone again, without which nothing can be told of it."""
    try:
        place.watched(name) if watched else place.left_alone(name)
    except Exception:
        return False
    return True


def _not_understood(place: Place, share: list[str], ready: list[str]) -> list[Planned]:
    return [Planned("watched", name, 0, partial(kills.watched, place, name)) for name in share if name not in ready]


def _mixed(kinds: list[list[Planned]]) -> list[Planned]:
    """All trials in an order in which all kinds come equally far, however early it is ended."""
    placed = [(at / len(trials), trial) for trials in kinds for at, trial in enumerate(trials)]
    return [trial for _, trial in sorted(placed, key=lambda one: one[0])]


if __name__ == "__main__":
    sys.exit(main())
