"""The series of probes trained together beside each of them alone, and memory against the number of sentences.

    python -m benchmarks.layers

Parts of speech of the sample corpus, states of e5-small. *Together* is one pass over the data for the cumulative
probes of all layers; *alone* is the same code with one probe at a time, same seed and order, from the same file of
states, all layers one after the other; *alone, without the file* also runs the model for every batch, as it must
where states are not kept. All three train for one epoch, judge on dev, and take turns in one process. Memory is the
peak of a process of its own (with the model and the texts, without the pages of the file, which the system may drop
at any time) while it trains one epoch on so many sentences, looked at a hundred times a second.
"""

from __future__ import annotations

import ctypes
import os
import platform
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Iterator, Sequence
from datetime import date
from functools import cache
from pathlib import Path

import numpy as np
import torch
from numpy.typing import NDArray

from attlas.capture import Subject, load
from attlas.capture.reading import read_documents
from attlas.corpora import edges_in, read
from attlas.errors import ModelError
from attlas.models import Example
from attlas.probes.edges.layout import Answers, Integers, Layout, lay_out, vocabulary_of
from attlas.probes.edges.reading import Lesson, Reader
from attlas.probes.edges.series import Series, Spec, allowed_for, specs_for
from attlas.probes.edges.states import Mixable, States, Writer, items_of, scales_of
from attlas.probes.edges.training import Schedule, Training
from attlas.run import LOCAL, Keeping, Listed, Plan
from benchmarks.page import put
from benchmarks.survey import status

HEADING = "Probes of a series together and alone"
ROUNDS, STEP, SENTENCES = 3, 128, 240  # steps as attlas layers takes them
THREADS = (2, 1)
COPIES = (4, 16)  # of the training part, for memory


@cache
def subject() -> Subject:
    """e5-small, or the bundled model where that is not at hand."""
    try:
        return load("e5-small")
    except ModelError:
        return load()


class Lab:
    """States of the sample on disk, and all that is needed to train on them."""

    def __init__(self, folder: Path, copies: int = 1) -> None:
        texts = edges_in("pos", read("sample")).documents[:SENTENCES]
        cut = len(texts) * 4 // 5
        found: dict[str, Sequence[Example]] = {
            "train": read_documents(subject(), texts[:cut] * copies).examples,
            "dev": read_documents(subject(), texts[cut:]).examples,
        }
        self.known = vocabulary_of(found["train"], "sample")
        self.layouts: dict[str, Layout] = {name: lay_out(name, made, self.known) for name, made in found.items()}
        self.mixable = Mixable(subject())
        self.states = States(folder, self.layouts, self.mixable.room, {})
        items = items_of(self.layouts)
        lengths = [item.example.length for item in items]
        source = Listed(items, lengths, budget=4096)
        bundle = LOCAL.carry_out(Writer(self.mixable, self.states), source, Keeping(Plan("layers")))
        self.scales = scales_of(bundle).tolist()
        self.specs = specs_for(self.mixable.origins, singles=False, control=False)

    def train(self, specs: Sequence[Spec], reader: type[Reader] = Reader) -> Training:
        """One epoch of these probes."""
        torch.manual_seed(0)
        made = reader(
            self.layouts, Answers(self.layouts, self.known, 0), self.states, self.mixable, self.scales, pieces=STEP,
            kinds=("gold",),
        )  # fmt: skip
        series = Series(allowed_for(specs, self.mixable.origins), self.mixable.size, len(self.known.names))
        training = Training(series, specs, made, Schedule(epochs=1))
        training.run_epoch()
        return training


class Rerunning(Reader):
    """Reads by running the model on each batch."""

    def lesson(self, part: str, sentences: Integers) -> Lesson:
        """One batch, its states computed afresh and put where the file has them."""
        layout = self.layouts[part]
        batch = subject().pieces.batch([layout.examples[s] for s in sentences])
        for sentence, states in zip(sentences, self.mixable.capture(batch), strict=True):
            kept = states[torch.as_tensor(layout.kept[sentence])]
            self.states.write(part, int(layout.rows[sentence]), kept.half().numpy())
        return super().lesson(part, sentences)


def timed(lab: Lab) -> Iterator[tuple[float, float, float]]:
    """Seconds for all probes together, each alone, and each alone without the file; in turns."""
    for _ in range(ROUNDS):
        found = []
        for ways in ([lab.specs], [(spec,) for spec in lab.specs]):
            began = time.perf_counter()
            for specs in ways:
                lab.train(specs)
            found.append(time.perf_counter() - began)
        began = time.perf_counter()
        lab.train(lab.specs[-1:], Rerunning)
        yield found[0], found[1], len(lab.specs) * (time.perf_counter() - began)


def same(lab: Lab) -> float:
    """The largest difference between parameters that were learned together and alone."""
    together = dict(lab.train(lab.specs).series.named_parameters())
    largest = 0.0
    for number, spec in enumerate(lab.specs):
        for name, value in lab.train((spec,)).series.named_parameters():
            largest = max(largest, float((value[0] - together[name][number]).detach().abs().max()))
    return largest


def peak(copies: int) -> float:
    """The peak in MiB of a process of its own while it trains on so many copies of the sentences."""
    asked = [sys.executable, "-m", "benchmarks.layers", str(copies)]
    return float(subprocess.run(asked, check=True, capture_output=True, text=True).stdout.split()[-1])


def hold(copies: int) -> None:
    """What such a process does."""
    torch.set_num_threads(1)
    with tempfile.TemporaryDirectory() as folder:
        lab = Lab(Path(folder), copies)
        ctypes.CDLL(None).malloc_trim(0)  # what is free, but kept, after the capture is not asked about
        highest = status("RssAnon")
        done = threading.Event()

        def look() -> None:
            nonlocal highest
            while not done.wait(0.01):
                highest = max(highest, status("RssAnon"))

        looking = threading.Thread(target=look)
        looking.start()
        lab.train(lab.specs)
        done.set()
        looking.join()
        print(highest, flush=True)


def main() -> None:
    """Measure, and write the figures."""
    rows = []
    with tempfile.TemporaryDirectory() as folder:
        lab = Lab(Path(folder))
        for threads in THREADS:
            torch.set_num_threads(threads)
            lab.train(lab.specs[:1])
            rows += table_rows(threads, np.array(list(timed(lab))))
        difference = same(lab)
    train = lab.layouts["train"]
    lines = [
        f"{len(lab.specs)} cumulative probes on {subject().name}, {train.sentences} sentences with "
        f"{len(train.spans):,} edges, steps of {STEP} pieces; {platform.machine()}, {os.cpu_count()} cores, "
        f"torch {torch.__version__}, {date.today()}. *Together costs* so many times what the other way does; asked: "
        "at most 1/3 of each alone.",
        "",
        "| threads | together, s | each alone, s | together costs | alone without the file, s | together costs |",
        "|---|---|---|---|---|---|",
        *rows,
        "",
        f"Largest difference of a parameter after the epoch, together against alone, in float32: {difference:.1e}.",
        "",
        "| sentences | states on disk, MB | peak of memory, MiB |",
        "|---|---|---|",
    ]
    size = lab.mixable.room.bytes(int(train.rows[-1])) / 1e6
    for copies in COPIES:
        lines.append(f"| {copies * train.sentences:,} | {copies * size:.0f} | {peak(copies):.0f} |")
    put(HEADING, lines)


def table_rows(threads: int, rounds: NDArray[np.float64]) -> list[str]:
    """One row: medians, and the ratios of rounds from the lowest to the highest."""
    together, alone, without = np.median(rounds, 0)
    ratios = [rounds[:, 0] / rounds[:, column] for column in (1, 2)]
    low_high = [f"{each.min():.2f} to {each.max():.2f}" for each in ratios]
    return [
        f"| {threads} | {together:.2f} | {alone:.2f} | **{together / alone:.2f}** ({low_high[0]}) | {without:.1f} "
        f"| {together / without:.3f} |"
    ]


if __name__ == "__main__":
    if len(sys.argv) > 1:
        hold(int(sys.argv[1]))
    else:
        main()
