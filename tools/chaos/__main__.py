"""Run trials: ``python -m tools.chaos kills --study survey --most 20``; ends with 1 where anything was at fault.

Without a kind, all kinds are run. ``--record`` keeps a line of each trial, and ``--page`` writes what a record holds
into a page.
"""

from __future__ import annotations

import argparse
import shutil
import sys
import tempfile
from collections.abc import Iterator, Sequence
from pathlib import Path

from tools.chaos.children import preloaded, warmed
from tools.chaos.trials import Trial, recorded

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
    asked.add_argument("--page", type=Path, help="write what the record holds into this page")
    given = asked.parse_args(arguments)
    if given.page is not None and given.record is None:
        asked.error("a page is made of a record; give --record too")
    preloaded()
    warmed()
    folder = Path(tempfile.mkdtemp(prefix="chaos-"))
    try:
        count, faults = recorded(_trials(given, folder), given.record)
    finally:
        shutil.rmtree(folder, ignore_errors=True)
    print(f"{count} trials, {faults} at fault")
    if given.page is not None:
        from tools.chaos.page import write_page

        write_page(given.record, given.page)
    return int(faults > 0)


def _trials(given: argparse.Namespace, folder: Path) -> Iterator[Trial]:
    from tools.chaos import disks, kills, races, signals
    from tools.chaos.commands import chosen
    from tools.chaos.place import Place

    place, names = Place.make(folder), chosen(given.study)
    kinds: Sequence[str] = given.kinds or KINDS
    if "kills" in kinds:
        yield from kills.kills(place, names, given.most, given.seed)
    if "times" in kinds:
        yield from kills.random_kills(place, names, given.times, given.seed)
    if "signals" in kinds:
        yield from signals.signals(place, names, given.signals, given.seed)
    if "disks" in kinds:
        if disks.mountable(folder):
            yield from disks.disks(place, names, given.disks, given.seed)
        else:
            print("full disks: left out, since no file system may be mounted here")
    if "races" in kinds:
        yield from races.races(place, names, given.races, given.seed)


if __name__ == "__main__":
    sys.exit(main())
