"""The page of a campaign: how many trials of each kind there were of each run, and how many were at fault.

``python -m tools.chaos.page RECORD PAGE`` writes it of a campaign that was ended early.
"""

from __future__ import annotations

import re
import sys
from collections import Counter
from datetime import date
from pathlib import Path

from tools.chaos.trials import Trial, read_record

KINDS = {
    "kills": "at a change of a file", "finished": "after its end", "random kills": "at a random time",
    "SIGTERM": "SIGTERM", "SIGHUP": "SIGHUP", "full disks": "full disk", "races": "race",
}  # fmt: skip
PLACE = re.compile(r"/\S*?chaos-\w+/\d+/")  # where this machine had the folder of a trial
OF = re.compile(r" of (\d+)\)$")  # how many changes of files a run makes, in what was done to it
ABOUT = """\
# Faults

What becomes of runs that are killed, told to end, left without room or set upon each other: `make chaos`
(`tools/chaos`), which runs every command that takes `--resume` on tiny models and texts, in children forked from one
process.

- *At a change of a file*: the run is killed before a call that opens, renames, truncates, removes or syncs a file of
  its folder, or in the middle of a write, and gone on with (`--resume`); a fifth is killed again on the way. Each
  kind of call to each file comes once, then others by lot, as far as the campaign went: so many of all calls that the
  run makes, most of which are small writes into checkpoints. (The last rename of a safetensors file and what goes
  into mapped memory are no such calls; kills at random times meet them.)
- *After its end*: a finished run is gone on with, twice.
- *At a random time*: killed by its parent, and gone on with.
- *SIGTERM*, *SIGHUP*: told to end at a random time; it must say so in a sentence and end with 143 or 129.
- *Full disk*: in a file system too small for it; one sentence that names the file, and it goes on when there is room.
  A quarter are pages that are written anew where no room is left: the page that was there stays.
- *Race*: two or three processes at once in one folder (the same plan, another one, `--resume` or `attlas report`
  meanwhile, two that take over from a killed one): one goes on, the others are refused with a sentence that is true.

In the end the folder must hold what the run leaves when nobody disturbs it: the same files, and in them the same but
for `started`, `seconds` and columns of time; a page must be, to the letter, that of the tables beside it.
"""


def write_page(record: Path, page: Path) -> None:
    """Write what a record holds into a page."""
    page.write_text(page_of(read_record(record)), encoding="utf-8")


def page_of(trials: list[Trial]) -> str:
    """The page of these trials, as Markdown."""
    runs = sorted({trial.run for trial in trials})
    counts = Counter((trial.run, trial.kind) for trial in trials)
    wrong = Counter(trial.run for trial in trials if trial.wrong)
    lines = [ABOUT, f"Written by `python -m tools.chaos` on {date.today()}: {_summary(trials)}", ""]
    lines += ["| run | " + " | ".join(KINDS.values()) + " | at fault |", "|---" + "|---:" * (len(KINDS) + 1) + "|"]
    changes = {trial.run: int(told[1]) for trial in trials if (told := OF.search(trial.done))}
    for run in runs:
        cells = {kind: f"{counts[run, kind]:,}" for kind in KINDS}
        cells["kills"] += f" of {changes[run]:,}" if run in changes else ""
        lines.append(f"| {run} | " + " | ".join(cells.values()) + f" | {wrong[run]} |")
    totals = {kind: f"{sum(trial.kind == kind for trial in trials):,}" for kind in KINDS}
    totals["kills"] += f" of {sum(changes.values()):,}"
    lines.append("| **all** | " + " | ".join(totals.values()) + f" | {wrong.total()} |")
    lines += ["", *_at_fault(trials)]
    return "\n".join(lines).rstrip("\n") + "\n"


def _summary(trials: list[Trial]) -> str:
    killed = sum(trial.note.startswith("killed") for trial in trials)
    twice = sum(trial.note.endswith("twice") for trial in trials)
    ended = sum(trial.note == "ended" for trial in trials)
    late = sum(trial.note == "had ended" for trial in trials)
    wrong = sum(bool(trial.wrong) for trial in trials)
    return (
        f"{len(trials):,} trials, {wrong} at fault. {killed:,} runs were killed, {twice:,} of them twice; {ended:,} "
        f"ended with a sentence when told to; {late:,} had ended before the kill or signal came."
    )


def _at_fault(trials: list[Trial]) -> list[str]:
    told = [trial for trial in trials if trial.wrong]
    wrong = [PLACE.sub("", "; ".join(trial.wrong))[:300] for trial in told]
    lines = [f"- {trial.run}, {trial.kind}, {trial.done}: {what}" for trial, what in zip(told, wrong, strict=True)]
    return ["At fault:", "", *lines] if lines else []


if __name__ == "__main__":
    write_page(*map(Path, sys.argv[1:]))
