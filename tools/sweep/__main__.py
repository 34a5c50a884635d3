"""Is what attlas sees true, in every text family of the model library? ``make sweep``.

Each family of ``families.txt`` is built tiny and asked the questions of :mod:`tools.sweep.questions`, in a process of
its own that is ended when it takes too long. What was answered is kept in ``out/sweep.jsonl`` line by line and not
asked again (``--again`` forgets it); a whole sweep writes the table ``tools/sweep/table.jsonl`` and the page
``docs/models.md``.

    python -m tools.sweep                     # all that was not answered yet
    python -m tools.sweep --only bert t5      # these, anew
    python -m tools.sweep --new               # families of the installed library that the list does not hold
    python -m tools.sweep --real              # the real models that are at hand, under the doctor
    python -m tools.sweep --page              # the page alone, from the tables

It ends with 1 where anything is wrong, a traceback, or took too long.
"""

from __future__ import annotations

import argparse
import json
import os
import signal
import sys
import time
import warnings
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from tools.sweep.answers import TRACEBACK, Answer, Sheet
from tools.sweep.families import Family, current, frozen
from tools.sweep.page import REAL, TABLE, rows_of, write_page
from tools.sweep.real import examined

ROOT = Path(__file__).parents[2]
KEPT = ROOT / "out" / "sweep.jsonl"
CLASSES = ("exact", "fallback", "wrong", "traceback", "refused", "not built")
FAILING = {"wrong", "traceback"}


def main() -> int:
    """Ask, write, and say what came out."""
    options = _options()
    if options.new:
        known = set(frozen())
        print(*(f"{family.kind} {family.model}" for family in current() if family not in known), sep="\n")
        return 0
    if options.real:
        _write(REAL, list(examined()))
    if options.real or options.page:
        print(f"page: {write_page()}")
        return 0
    families = [family for family in frozen() if not options.only or family.kind in options.only]
    if options.again:
        KEPT.unlink(missing_ok=True)
    rows = {row["family"]: row for row in rows_of(KEPT)}
    asked = [family for family in families if options.only or family.kind not in rows]
    _preload()
    started = time.monotonic()
    for number, row in enumerate(_sweep(asked, options.jobs, options.limit_seconds), 1):
        rows[row["family"]] = row
        _append(KEPT, row)
        print(f"{number}/{len(asked)} {time.monotonic() - started:.0f} s  {said(row)}", flush=True)
    chosen = [rows[family.kind] for family in families]
    if not options.only:
        _write(TABLE, chosen)
        print(f"table: {TABLE}\npage: {write_page()}")
    counts = Counter(row["class"] for row in chosen)
    print(*(f"{kind}: {counts[kind]}" for kind in CLASSES), sep="\n")
    return 1 if FAILING & set(counts) else 0


def said(row: dict[str, Any]) -> str:
    """A family's class, and every answer that is not exact, in one line."""
    odd = []
    for name, answer in row["answers"].items():
        number = "" if answer["number"] is None else f" by {answer['number']:.1e}"
        if answer["verdict"] != "exact":
            odd.append(f"{name}: {answer['verdict']}{number}, {answer['note']}")
    return " | ".join([f"{row['family']}: {row['class']}", *([row["reason"]] if row["reason"] else []), *odd])


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m tools.sweep", description=__doc__.partition("\n")[0])
    parser.add_argument("--only", nargs="+", metavar="NAME", help="these families, anew")
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--limit-seconds", type=int, default=240, help="for one family")
    parser.add_argument("--again", action="store_true", help="forget what was answered before")
    parser.add_argument("--real", action="store_true", help="the real models that are at hand, under the doctor")
    parser.add_argument("--page", action="store_true", help="write the page from the tables as they are")
    parser.add_argument("--new", action="store_true", help="name the families that the list does not hold")
    return parser.parse_args()


def _preload() -> None:
    """Import once what every family needs, before there are processes."""
    import torch
    import transformers

    import attlas  # noqa: F401
    from tools.sweep import questions  # noqa: F401
    from tools.sweep.building import build

    torch.set_num_threads(1)
    warnings.simplefilter("ignore")
    transformers.logging.set_verbosity(50)
    transformers.logging.disable_progress_bar()  # type: ignore[no-untyped-call]
    for family in (Family("bert", "BertModel"), Family("gpt2", "GPT2LMHeadModel")):
        build(family)


def _sweep(families: list[Family], jobs: int, limit: int) -> Iterator[dict[str, Any]]:
    """Rows, in the order in which processes end."""
    folder = KEPT.parent / "sweep"
    folder.mkdir(parents=True, exist_ok=True)
    waiting = list(families)
    running: dict[int, tuple[Family, Path, float]] = {}
    while waiting or running:
        while waiting and len(running) < jobs:
            family = waiting.pop(0)
            file = folder / f"{family.kind}.json"
            file.unlink(missing_ok=True)
            process = os.fork()
            if process == 0:
                _child(family, file)
            running[process] = (family, file, time.monotonic())
        ended, _ = os.waitpid(-1, os.WNOHANG)
        for process, (family, file, since) in list(running.items()):
            late = time.monotonic() - since > limit
            if process != ended and not late:
                continue
            if process != ended:
                os.kill(process, signal.SIGKILL)
                os.waitpid(process, 0)
            del running[process]
            yield (
                json.loads(file.read_text(encoding="utf-8"))
                if file.exists()
                else _lost(family, limit if late else None)
            )
            break
        else:
            time.sleep(0.05)


def _child(family: Family, file: Path) -> None:
    """Ask one family, in a process of its own; never returns."""
    from tools.sweep.questions import asked

    status = 1
    try:
        with open(os.devnull, "w") as nowhere:
            os.dup2(nowhere.fileno(), 1)
            os.dup2(nowhere.fileno(), 2)
            row = asked(family).row()
        partial = file.with_suffix(".part")
        partial.write_text(json.dumps(row), encoding="utf-8")
        partial.rename(file)
        status = 0
    finally:
        os._exit(status)


def _lost(family: Family, limit: int | None) -> dict[str, Any]:
    reason = f"took longer than {limit} s" if limit is not None else "its process died"
    sheet = Sheet(family.kind, family.model, {"all": Answer(TRACEBACK, None, reason)})
    return sheet.row()


def _write(file: Path, rows: list[dict[str, Any]]) -> None:
    file.write_text("".join(json.dumps(row, sort_keys=True) + "\n" for row in rows), encoding="utf-8")


def _append(file: Path, row: dict[str, Any]) -> None:
    with file.open("a", encoding="utf-8") as lines:
        lines.write(json.dumps(row, sort_keys=True) + "\n")


if __name__ == "__main__":
    sys.exit(main())
