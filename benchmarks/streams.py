"""A corpus of several gigabytes, surveyed as it comes: how long it takes, and how much memory.

    python -m benchmarks.streams [GIGABYTES] [FOLDER]

The corpus is made of the sample's sentences, drawn anew for every document, as JSON lines and as Parquet; it is
written into the folder, where it stays, or into a temporary one. Each survey is a process of its own, a
command as anybody would type it. *Memory* is the peak of its anonymous memory, looked at every twentieth of a second:
what is mapped from files (libraries, weights, Arrow tables) is not counted, the system takes it back when it needs
to. The small corpus is the first 500 documents of the large one, which is read whole. It and the large one with a
limit take turns, three rounds of them, and every reading is told. *Whole* is a survey of all of it that is
interrupted after a minute from the keyboard, and then resumed for half of one.
"""

from __future__ import annotations

import json
import os
import platform
import random
import re
import signal
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from datetime import date
from pathlib import Path
from typing import NamedTuple

import pyarrow as pa
import pyarrow.parquet as pq

from attlas.corpora import read
from benchmarks.page import put

HEADING = "A corpus larger than memory"
GIGABYTES, LIMIT, SMALL, ROUNDS = 5.0, 2000, 500, 3
LARGE = ("JSON lines", "Parquet")
GROUP = 20_000  # rows of a group of Parquet


class Measured(NamedTuple):
    """What a process took: seconds, the peak of anonymous memory in MB, and what it printed."""

    seconds: float
    memory: float
    printed: str


def documents(seed: int = 0) -> Iterator[str]:
    """Texts without end: a few sentences of the sample each, drawn anew."""
    drawing = random.Random(seed)
    sentences = [text.slice(*span).text for text in read("sample").documents for span in text.sentences]
    number = 0
    while True:
        number += 1
        yield f"{' '.join(drawing.choices(sentences, k=drawing.randint(1, 8)))} That was number {number}."


def make(folder: Path, gigabytes: float) -> dict[str, Path]:
    """The same corpus as JSON lines, as Parquet, and the beginning of it as a small file."""
    lines, table, small = folder / "large.jsonl", folder / "large.parquet", folder / "small.jsonl"
    if lines.exists():
        return {"JSON lines": lines, "Parquet": table, "small": small}
    schema, rows, written = pa.schema([("text", pa.string())]), [], 0
    with (
        lines.open("w") as file,
        small.open("w") as beginning,
        pq.ParquetWriter(table, schema, compression="none") as to,
    ):
        for number, text in enumerate(documents()):
            line = json.dumps({"text": text}) + "\n"
            file.write(line)
            if number < SMALL:
                beginning.write(line)
            rows.append(text)
            written += len(line)
            done = written > gigabytes * 1e9
            if len(rows) == GROUP or done:
                to.write_table(pa.table({"text": rows}, schema))
                rows = []
            if done:
                break
    return {"JSON lines": lines, "Parquet": table, "small": small}


def measure(*command: str, interrupt_after: float | None = None) -> Measured:
    """Run a command and watch its memory; with a time, interrupt it then, as from the keyboard."""
    began, peak = time.monotonic(), 0
    process = subprocess.Popen(
        [sys.executable, "-m", "attlas", *command], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
        env={**os.environ, "OMP_NUM_THREADS": "1"},
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),  # in the background it would be ignored
    )  # fmt: skip
    interrupted = False
    while process.poll() is None:
        try:
            status = Path(f"/proc/{process.pid}/status").read_text()
        except OSError:
            break
        if match := re.search(r"RssAnon:\s+(\d+)", status):
            peak = max(peak, int(match[1]))
        if interrupt_after is not None and not interrupted and time.monotonic() - began > interrupt_after:
            process.send_signal(signal.SIGINT)
            interrupted = True
        time.sleep(0.05)
    printed = process.communicate()[0]
    return Measured(time.monotonic() - began, peak * 1024 / 1e6, printed)


def batches_told(printed: str) -> str:
    """How many batches a run said it had done when it was interrupted; nothing of one that was not."""
    told = re.findall(r"interrupted after ([\d,]+) batches", printed)
    return told[-1] if told else ""


def main() -> None:
    """Measure everything, print it, and write the page."""
    gigabytes = float(sys.argv[1]) if len(sys.argv) > 1 else GIGABYTES
    with tempfile.TemporaryDirectory() as folder:
        began = time.monotonic()
        files = make(Path(sys.argv[2] if len(sys.argv) > 2 else folder), gigabytes)
        print(f"made in {time.monotonic() - began:.0f} s", flush=True)
        readings: dict[tuple[str, str], list[Measured]] = {}

        def survey(what: str, corpus: str, out: str, *how: str, interrupt_after: float | None = None) -> None:
            seen = measure(
                "survey", str(files[corpus]), *how, "-o", f"{folder}/{out}", interrupt_after=interrupt_after
            )
            readings.setdefault((what, corpus), []).append(seen)
            print(f"{what}, {corpus}: {seen.seconds:.0f} s, {seen.memory:.0f} MB", flush=True)

        for number in range(ROUNDS):
            survey("read whole", "small", f"small {number}")
            for kind in LARGE:
                survey(f"`--limit {LIMIT}`", kind, f"{kind} {number}", "--limit", str(LIMIT))
        for kind in LARGE:
            survey("whole, for a minute", kind, kind, interrupt_after=60)
            survey("resumed, for half a minute", kind, kind, "--resume", interrupt_after=30)
        size = {name: file.stat().st_size / 1e9 for name, file in files.items()}
    put(HEADING, written(readings, size))


def written(readings: dict[tuple[str, str], list[Measured]], size: dict[str, float]) -> list[str]:
    """The section of the page."""
    small = [seen.memory for seen in readings["read whole", "small"]]
    base = statistics.median(small)
    lines = [
        f"`python -m benchmarks.streams`, {date.today().isoformat()}, {platform.machine()}, one thread of torch; the "
        "bundled model.",
        f"Memory is the peak of anonymous memory; runs that end by themselves were read {ROUNDS} times; load of the "
        f"machine {os.getloadavg()[2]:.0f} on {os.cpu_count()} cores.",
        "",
        "| survey | corpus | seconds | memory, MB | more than the small corpus (medians), MB | batches |",
        "|---|---|---|---|---|---|",
    ]
    for (what, corpus), seen in readings.items():
        seconds = statistics.median(one.seconds for one in seen)
        more = statistics.median(one.memory for one in seen) - base
        lines.append(
            f"| {what} | {corpus}, {size[corpus]:.2g} GB | {seconds:.0f} "
            f"| {', '.join(f'{one.memory:.0f}' for one in seen)} | {more:+.0f} | {batches_told(seen[-1].printed)} |"
        )
    limited = [one.memory for kind in LARGE for one in readings[f"`--limit {LIMIT}`", kind]]
    lines += [
        "",
        f"With `--limit {LIMIT}` the largest reading of all is {max(limited) - min(small):+.0f} MB from the smallest "
        "of the small corpus (asked for: within 200).",
    ]
    return lines


if __name__ == "__main__":
    main()
