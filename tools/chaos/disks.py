"""Full disks: runs in a file system of its own that is too small for them, given room later.

A run that finds no room ends in one sentence with the place, and goes on when there is room. A page that cannot be
written leaves the one that was there. Mounting takes a machine on which that is allowed.
"""

from __future__ import annotations

import contextlib
import os
import random
import subprocess
from collections.abc import Iterator, Sequence
from functools import partial
from pathlib import Path

from tools.chaos.children import Ended, run
from tools.chaos.place import Alone, Place, resumed
from tools.chaos.trials import Came, Planned

PAGE = 4096  # bytes: what a file takes at least
ENOUGH = "256m"
TRIES = 12  # of finding a size that is too small
FULL = "No space left on device"


def disks(place: Place, names: Sequence[str], count: int, seed: int) -> Iterator[Planned]:
    """So many runs that meet a full disk, a quarter of them when only the page is left to be written."""
    for turn in range(count):
        draw = random.Random(f"disks {seed} {turn}")
        name = names[(turn * 7) % len(names)]
        yield Planned("full disks", name, turn, partial(_page if turn % 4 == 3 else _run, place, name, draw))


def mountable(place: Path) -> bool:
    """Whether a file system can be mounted here."""
    try:
        with mounted(place / "small", "64k"):
            return True
    except (OSError, subprocess.CalledProcessError):
        return False


@contextlib.contextmanager
def mounted(folder: Path, size: str) -> Iterator[Path]:
    """A file system of this size, as long as the block lasts."""
    folder.mkdir(parents=True, exist_ok=True)
    _system("mount", "-t", "tmpfs", "-o", f"size={size}", "tmpfs", str(folder))
    try:
        yield folder
    finally:
        _system("umount", str(folder))


def _run(place: Place, name: str, draw: random.Random) -> Came:
    """A run without enough room; sizes are drawn until one is too small. A page is larger than all tables of such
    small runs, so that most sizes leave no room for that."""
    alone = place.left_alone(name)
    pages_too = draw.random() < 0.3
    most = 2 * sum(size for name, size in _sizes(place, alone) if pages_too or name != "report.html")
    for _ in range(TRIES):
        pages = draw.randint(3, max(4, most // PAGE))
        with mounted(place.free("small"), f"{pages * 4}k") as small:
            out = small / "out"
            ended = run([*alone.arguments, "--out", str(out)])
            if ended.status == 0:
                continue
            told = _refused(ended, small)
            if not told:
                _system("mount", "-o", f"remount,size={ENOUGH}", str(small))
                told = resumed(alone, out)
            return Came(f"{pages * 4} kB", told, (ended.sentence or "")[:300])
    return Came(f"{TRIES} sizes", ["none was too small"])


def _page(place: Place, name: str, draw: random.Random) -> Came:
    """A page that is written anew where there is no room, in place of a good one."""
    alone = place.left_alone(name)
    with mounted(place.free("small"), ENOUGH) as small:
        out = small / "out"
        ended = run([*alone.arguments, "--out", str(out)])
        pages = sorted(out.rglob("report.html"))
        if ended.status or not pages:
            return Came("page", [str(ended)] if ended.status else [], "it has no page")
        page = draw.choice(pages)
        before = page.read_bytes()
        with open(small / "ballast", "wb") as ballast, contextlib.suppress(OSError):
            while True:
                os.write(ballast.fileno(), bytes(PAGE))
        ended = run(["report", str(page.parent)])
        told = _refused(ended, small)
        (small / "ballast").unlink()
        if page.read_bytes() != before:
            told.append("the page that was there is another")
        return Came("page", [*told, *alone.wrong(out)], (ended.sentence or "")[:300])


def _refused(ended: Ended, small: Path) -> list[str]:
    sentence = ended.sentence
    if sentence is None:
        return [str(ended)]
    if str(small) not in sentence:
        return [f"it does not say which file: {sentence}"]
    return [] if FULL in sentence or "free" in sentence else [f"it does not say why: {sentence}"]


def _sizes(place: Place, alone: Alone) -> list[tuple[str, int]]:
    """How much room each file of a run takes when it is done."""
    out = place.free("whole")
    run([*alone.arguments, "--out", str(out)])
    return [(path.name, -(-path.stat().st_size // PAGE) * PAGE) for path in out.rglob("*")]


def _system(*words: str) -> None:
    subprocess.run(words, check=True, capture_output=True)
