"""The page of a campaign: how many trials of each kind there were of each run, and how many were at fault.

``python -m tools.chaos.page RECORD PAGE`` writes it of a campaign that was ended early.
"""

from __future__ import annotations

import re
import sys
from collections import Counter
from collections.abc import Mapping, Sequence
from datetime import date
from pathlib import Path

from tools.chaos.trials import Trial, mended, read_record

KINDS = {
    "states": "gone on from", "kills": "killed there", "finished": "after its end",
    "random kills": "at a random time", "SIGTERM": "SIGTERM", "SIGHUP": "SIGHUP", "full disks": "full disk",
    "races": "race",
}  # fmt: skip
SEEN = ("changes", "states", "classes")
ASKED = {"kills": 10, "times": 300, "signals": 100, "disks": 20, "races": 50}  # trials of a whole campaign
PLACE = re.compile(r"/\S*?chaos-\w+/\d+/")  # where this machine had the folder of a trial
ABOUT = """\
# Faults

What becomes of runs that are killed, told to end, left without room or set upon each other: `make chaos`
(`tools/chaos`), which runs every command that takes `--resume` on tiny models and texts, in children forked from one
process.

- *At every change of a file*: a run is held up before each call that opens a file for writing, writes, renames,
  removes, truncates or syncs below its folder, and when half of a write is done, and what is on the disk then is
  looked at: a kill there leaves just that. (The kernel holds the calls up, also those that a library makes without
  the C library. Two watched runs must go through the same states to the letter; for that they are given made-up
  times, random bytes and a process number that no process has.) **States** that are the same to the letter count
  once; those of one **class** differ in nothing but what stands in unfinished files (`.tmp*`, `*.new`, all of
  `.saving`), whose content nobody may read. Of each class the first state is *gone on from* (`--resume`), and those
  in the middle and at the end where there are more, and then twenty of all others of each run by lot; that the run
  does not open such a file before it has removed or emptied it is watched as well, and a fifth is killed again on the
  way. What goes into mapped memory is no call:
  where a run maps a file below its folder for writing, that stands under the table.
- *Killed there*: runs that are really killed by SIGKILL at changes that are drawn, every kind of change to every file
  first; what they leave must be, to the letter, the state that was seen there, and is gone on from.
- *After its end*: a finished run is gone on with, twice.
- *At a random time*: killed by its parent, and gone on with. (Times are those of the processor, which what else the
  machine does leaves alone.)
- *SIGTERM*, *SIGHUP*: told to end at a random time; it must say so in a sentence and end with 143 or 129.
- *Full disk*: in a file system too small for it; one sentence that names the file, and it goes on when there is room.
  A quarter are pages that are written anew where no room is left: the page that was there stays.
- *Race*: two or three processes at once in one folder (the same plan, another one, `--resume` or `attlas report`
  meanwhile, two that take over from a killed one): one goes on, the others are refused with a sentence that is true.

A whole campaign goes on from every class of every run, and has {kills} real kills of each run, {times} kills at
random times, {signals} of each signal, {disks} full disks and {races} races. All kinds and all runs go on equally
fast, so that a campaign that was ended early has some of everything.

In the end the folder must hold what the run leaves when nobody disturbs it: the same files, and in them the same but
for `started`, `seconds` and columns of time; a page must be, to the letter, that of the tables beside it.
"""


def write_page(record: Path, page: Path) -> None:
    """Write what a record holds into a page."""
    page.write_text(page_of(read_record(record), mended(record)), encoding="utf-8")


def page_of(trials: list[Trial], were_wrong: Sequence[Trial] = ()) -> str:
    """The page of these trials, as Markdown; some of them ``were_wrong`` before the code was mended."""
    runs = sorted({trial.run for trial in trials})
    counts = Counter((trial.run, trial.kind) for trial in trials)
    wrong = Counter(trial.run for trial in trials if trial.wrong)
    seen = {trial.run: trial.figures for trial in trials if trial.kind == "watched"}
    written = f"Written by `python -m tools.chaos` on {date.today()}{_code(trials)}"
    lines = [ABOUT.format(**ASKED), f"{written}: {_summary(trials)}", ""]
    heads = ["run", "changes of a file", *SEEN[1:], *KINDS.values(), "at fault"]
    lines += ["| " + " | ".join(heads) + " |", "|---" + "|---:" * (len(heads) - 1) + "|"]
    for run in runs:
        cells = [*(_number(seen.get(run, {}), name) for name in SEEN), *(f"{counts[run, kind]:,}" for kind in KINDS)]
        lines.append(f"| {run} | " + " | ".join(cells) + f" | {wrong[run]} |")
    totals = [f"{sum(figures.get(name, 0) for figures in seen.values()):,}" for name in SEEN]
    totals += [f"{sum(trial.kind == kind for trial in trials):,}" for kind in KINDS]
    lines.append("| **all** | " + " | ".join(totals) + f" | {wrong.total()} |")
    mapped = [run for run in runs if seen.get(run, {}).get("mapped")]
    if mapped:
        lines += ["", f"These map files below their folder into memory: {', '.join(mapped)}."]
    lines += _listed("At fault", [trial for trial in trials if trial.wrong])
    lines += _listed("At fault until that was mended, and made again since", were_wrong)
    return "\n".join(lines).rstrip("\n") + "\n"


def _code(trials: list[Trial]) -> str:
    """Of which states of the code the trials are."""
    counts = Counter(trial.code for trial in trials if trial.code).most_common()
    if len(counts) > 1:
        return f" ({', '.join(f'{count:,} trials of commit {code}' for code, count in counts)})"
    return "".join(f", all of commit {code}" for code, _ in counts)


def _number(figures: Mapping[str, int], name: str) -> str:
    return f"{figures[name]:,}" if name in figures else "-"


def _summary(trials: list[Trial]) -> str:
    seen = [trial.figures for trial in trials if trial.kind == "watched" and trial.figures]
    changes, moments, states, classes = (
        sum(figures[name] for figures in seen) for name in ("changes", "moments", "states", "classes")
    )
    counts = Counter(trial.kind for trial in trials)
    gone_on = Counter(trial.run for trial in trials if trial.kind == "states")
    begun = sum(min(gone_on[trial.run], trial.figures["classes"]) for trial in trials if trial.figures)
    twice = sum(trial.note == "killed again" for trial in trials)
    killed = sum(trial.kind == "random kills" and trial.note == "killed" for trial in trials)
    ended = sum(trial.note == "ended" for trial in trials)
    late = sum(trial.note == "had ended" for trial in trials)
    one_by_one = sum(trial.kind == "races" and trial.note == "one after the other" for trial in trials)
    wrong = Counter(trial.kind for trial in trials if trial.wrong)
    return (
        f"{len(seen)} runs make {changes:,} changes of a file, and a kill before one or in the middle of a write "
        f"({moments:,} moments) leaves one of {states:,} different states of {classes:,} classes. "
        f"{counts['states']:,} states were gone on from, the first of {begun:,} classes among them ({twice:,} were "
        f"killed again on the way), "
        f"{wrong['states']:,} at fault; {counts['kills']:,} real kills were compared with what was seen there, "
        f"{wrong['kills']:,} at fault. Of {counts['random kills']:,} kills at random times {killed:,} met a run at "
        f"work, and of {counts['SIGTERM'] + counts['SIGHUP']:,} signals {ended:,}; the others, {late:,} in all, came "
        f"when it had ended. Of {counts['races']:,} races {one_by_one:,} came to run one after the other. "
        f"{wrong.total():,} of {len(trials):,} trials are at fault."
    )


def _listed(title: str, trials: Sequence[Trial]) -> list[str]:
    wrong = [" ".join(PLACE.sub("", "; ".join(trial.wrong)).split())[:300] for trial in trials]
    lines = [f"- {trial.run}, {trial.kind}, {trial.done}: {what}" for trial, what in zip(trials, wrong, strict=True)]
    return ["", f"{title}:", "", *lines] if lines else []


if __name__ == "__main__":
    write_page(*map(Path, sys.argv[1:]))
