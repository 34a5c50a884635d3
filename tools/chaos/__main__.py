"""Run trials: ``python -m tools.chaos kills --study survey --most 20``; ends with 1 where anything was at fault.

Without a kind, all kinds are run. ``--record`` keeps a line of each trial; one that holds trials already is gone on
with. ``--page`` writes what a record holds into a page.
"""

from __future__ import annotations

import argparse
import shutil
import sys
import tempfile
from pathlib import Path

from tools.chaos.children import preloaded, warmed
from tools.chaos.page import write_page
from tools.chaos.trials import Planned, carried_out

KINDS = ("kills", "times", "signals", "disks", "races")


def main(arguments: list[str] | None = None) -> int:
    """Run what was asked for, and say what came."""
    asked = argparse.ArgumentParser(prog="python -m tools.chaos", description=__doc__)
    asked.add_argument("kinds", nargs="*", choices=[*KINDS, []], help="which kinds; all if left out")
    asked.add_argument("--study", action="append", default=[], help="these alone")
    asked.add_argument("--most", type=int, default=0, help="at most so many kills at changes of files; 0 for all")
    asked.add_argument("--times", type=int, default=300, help="so many kills at random times")
    asked.add_argument("--signals", type=int, default=100, help="so many of each signal")
    asked.add_argument("--disks", type=int, default=20, help="so many full disks")
    asked.add_argument("--races", type=int, default=50, help="so many races")
    asked.add_argument("--seed", type=int, default=0, help="decides what is drawn")
    asked.add_argument("--record", type=Path, help="a file that gets a line of each trial")
    asked.add_argument("--processes", type=int, default=2, help="so many trials at a time")
    asked.add_argument("--page", type=Path, help="write what the record holds into this page")
    given = asked.parse_args(arguments)
    preloaded()
    warmed()
    folder = Path(tempfile.mkdtemp(prefix="chaos-"))
    try:
        record = given.record or folder / "record.jsonl"
        count, faults = carried_out(_trials(given, folder), record, given.processes)
        print(f"{count} trials, {faults} at fault")
        if given.page is not None:
            write_page(record, given.page)
    finally:
        shutil.rmtree(folder, ignore_errors=True)
    return int(faults > 0)


def _trials(given: argparse.Namespace, folder: Path) -> list[Planned]:
    from tools.chaos import disks, kills, races, signals
    from tools.chaos.commands import chosen
    from tools.chaos.place import Place

    place, names = Place.make(folder), chosen(given.study)
    for name in names:
        place.left_alone(name)
    kinds = {
        "kills": kills.kills(place, names, given.most, given.seed),
        "times": kills.random_kills(place, names, given.times, given.seed),
        "signals": signals.signals(place, names, given.signals, given.seed),
        "disks": disks.disks(place, names, given.disks, given.seed),
        "races": races.races(place, names, given.races, given.seed),
    }
    asked = [kind for kind in KINDS if kind in (given.kinds or KINDS)]
    if "disks" in asked and not disks.mountable(folder):
        print("full disks: left out, since no file system may be mounted here")
        asked.remove("disks")
    return _mixed([list(kinds[kind]) for kind in asked])


def _mixed(kinds: list[list[Planned]]) -> list[Planned]:
    """All trials in an order in which all kinds come equally far, however early it is ended."""
    placed = [(at / len(trials), trial) for trials in kinds for at, trial in enumerate(trials)]
    return [trial for _, trial in sorted(placed, key=lambda one: one[0])]


if __name__ == "__main__":
    sys.exit(main())
