"""What a survey costs beside the plain forward pass, and what the naive route costs.

Time: the bundled model at 128 and 512 pieces. The plain sdpa forward, the survey's update, and the naive route (eager
attention, ``output_attentions``, the same figures in numpy) take turns in one process; each is given as the median of
its ratios to the plain forward right before it. Memory: each in a process of its own, the peak resident size from the
operating system; and how the survey's grows from 512 to 8,192 pieces on a small random causal model.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import statistics
import subprocess
import sys
import time
from collections.abc import Callable
from datetime import date
from pathlib import Path

import numpy as np
import torch

from attlas.capture import Subject, load
from attlas.models import Example
from attlas.studies.shared.piece_classes import mark
from attlas.studies.survey.passes import Survey
from attlas.text import Document, Passage
from benchmarks.page import put

ROOT = Path(__file__).resolve().parents[1]
HEADING = "The survey beside the plain forward pass"
BUSY = "The survey on a machine that others use"
WORDS = ["the", "farmer", "offered", "apples", ",", "because", "nobody", "noticed", "an", "old", "bridge", "."]
PIECES = 4096
ROUNDS = 5
LENGTHS = (512, 1024, 2048, 4096, 8192)


def texts(subject: Subject, pieces: int, count: int) -> list[Example]:
    """Examples of exactly so many pieces; every word of the list is one piece."""
    generator = np.random.default_rng(0)
    special = subject.pieces.length(Document.from_words(["the"])) - 1
    documents = [Document.from_words(list(generator.choice(WORDS, pieces - special))) for _ in range(count)]
    examples = subject.pieces.encode_all([Passage(document) for document in documents])
    assert {example.length for example in examples} == {pieces}
    return examples


def plain(subject: Subject, examples: list[Example]) -> Callable[[], object]:
    """The forward pass as the library would do it, by its fused attention."""
    batch = subject.pieces.batch(examples)
    return lambda: subject.run(batch)


def surveyed(subject: Subject, examples: list[Example]) -> Callable[[], object]:
    """One update of the survey: batching, marks, the forward pass and all sums."""
    study = Survey(subject)
    bundle = study.empty()
    return lambda: study.update(bundle, examples)


def naive(subject: Subject, examples: list[Example]) -> Callable[[], object]:
    """The usual route: all weights out of the eager model, to numpy, and the survey's figures from there."""

    def run() -> object:
        subject.model.set_attn_implementation("eager")
        try:
            batch = subject.pieces.batch(examples)
            output = subject.run(batch, output_attentions=True, output_hidden_states=True)
        finally:
            subject.model.set_attn_implementation("attlas")
        classes = mark(batch.source, [e.passage.documents for e in examples], (), {}).classes.numpy()
        n = batch.inputs["input_ids"].shape[1]
        apart = np.abs(np.subtract.outer(np.arange(n), np.arange(n)))
        figures = []
        for layer, weights in enumerate(output.attentions):
            shares = weights.numpy()
            figures.append(figures_of(shares, classes, apart))
            norms = shares * lengths_of(subject, layer, output.hidden_states[layer])[:, :, None]
            figures.append(figures_of(norms / norms.sum(-1, keepdims=True), classes, apart))
        return figures

    return run


def figures_of(shares: np.ndarray, classes: np.ndarray, apart: np.ndarray) -> list[np.ndarray]:
    """The survey's figures from a matrix (batch, head, query, key) of shares."""
    near = [shares.diagonal(offset, 2, 3).mean(-1) for offset in (-1, 1, 0)]
    by_class = np.einsum("bhqk,bkc->cbh", shares, classes, optimize=True) / shares.shape[-1]
    entropy = -(shares * np.log(np.clip(shares, 1e-30, None))).sum(-1).mean(-1)
    return [*near, *by_class, entropy, (shares * apart).sum(-1).mean(-1)]


def lengths_of(subject: Subject, layer: int, states: torch.Tensor) -> np.ndarray:
    """||f(x)|| of every key and head, from the hidden states that a layer reads."""
    heads = subject.heads(subject.sites[layer])
    projected = subject.model.encoder.layer[layer].attention.self.value(states)
    values = projected.unflatten(-1, (heads, -1)).transpose(1, 2)
    vectors = torch.einsum("bhkw,hwd->bhkd", values, subject.output_matrix(subject.sites[layer]))
    lengths: np.ndarray = vectors.norm(dim=-1).numpy()
    return lengths


def causal() -> Subject:
    """A small random causal model without an end to its positions, for lengths that the bundled model cannot take."""
    from transformers import LlamaConfig, LlamaModel

    tokenizer = load().pieces.tokenizer
    config = LlamaConfig(
        hidden_size=128, num_hidden_layers=2, num_attention_heads=4, num_key_value_heads=2, intermediate_size=256,
        vocab_size=len(tokenizer), max_position_embeddings=LENGTHS[-1],
    )  # fmt: skip
    torch.manual_seed(0)
    return Subject.of(LlamaModel(config).eval(), tokenizer, "random causal model")


WAYS = {"plain": plain, "survey": surveyed, "naive": naive}


def ratios(subject: Subject, pieces: int) -> dict[str, float]:
    """Median ratio of each way's time to that of the plain forward right before it."""
    examples = texts(subject, pieces, PIECES // pieces)
    runs = {name: way(subject, examples) for name, way in WAYS.items()}
    found: dict[str, list[float]] = {name: [] for name in runs}
    for round_ in range(ROUNDS + 1):
        for name, run in runs.items():
            base, own = seconds(runs["plain"]), seconds(run)
            if round_:  # the first round warms up
                found[name].append(own / base)
    return {name: statistics.median(values) for name, values in found.items()}


def seconds(run: Callable[[], object], clock: Callable[[], float] = time.perf_counter) -> float:
    """How long one call takes."""
    began = clock()
    with torch.no_grad():
        run()
    return clock() - began


def survey_over_plain(subject: Subject, pieces: int, count: int) -> tuple[float, float]:
    """How long the survey takes over the plain forward pass right before it: the least processor time of either with
    one thread, and the median of ratios by the clock with all threads."""
    examples, threads = texts(subject, pieces, count), torch.get_num_threads()
    runs = plain(subject, examples), surveyed(subject, examples)

    def rounds(clock: Callable[[], float]) -> list[list[float]]:
        return [[seconds(run, clock) for run in runs] for _ in range(2 * ROUNDS + 1)][1:]  # the first warms up

    torch.set_num_threads(1)
    base, own = map(min, zip(*rounds(time.process_time), strict=True))
    torch.set_num_threads(threads)
    return own / base, statistics.median(own / base for base, own in rounds(time.perf_counter))


def busy() -> None:
    """Measure the survey alone in ways that bear a machine which others use, too, and write that section."""
    bundled, long = load(), causal()
    lines = [
        f"Made by `python -m benchmarks.survey --busy` on {date.today()}, torch {torch.__version__}, float32, while",
        f"others worked on the same machine (load average {os.getloadavg()[0]:.0f} on {os.cpu_count()} cores).",
        "*Processor*: processor time with one thread, which others disturb least; the least of either. *Clock*: the",
        f"median of ratios by the clock with {torch.get_num_threads()} threads, disturbed by whoever works.",
        f"{2 * ROUNDS} rounds, in which both take turns; {PIECES // 4:,} pieces per batch, one text of the causal",
        "model of the table on growth. What is asked for is meant for a quiet machine, which was not to be had;",
        "beside other work it is at most 2.5.",
    ]  # fmt: skip
    lines += table("Survey over the plain forward pass", "model", "pieces", "processor", "asked for", "clock")
    asked = {("bundled", 128): 1.2, ("bundled", 512): 1.45}
    cases = [("bundled", bundled, pieces) for pieces in (128, 512)] + [("causal", long, n) for n in LENGTHS[:4]]
    for name, subject, pieces in cases:
        count = max(1, PIECES // 4 // pieces) if name == "bundled" else 1
        processor, by_clock = survey_over_plain(subject, pieces, count)
        most = asked.get((name, pieces), 2.5 if pieces < 2048 else 2.0)
        lines.append(f"| {name} | {pieces:,} | {processor:.2f} | {most} | {by_clock:.2f} |")
        print(lines[-1], flush=True)
    put(BUSY, lines)


def peak(model: str, way: str, pieces: int, count: int) -> dict[str, float]:
    """Peak resident size (MiB) of a fresh process that does one thing: in all, and beyond what loading took."""
    command = [sys.executable, "-m", "benchmarks.survey", "--peak", model, way, str(pieces), str(count)]
    given_back = {**os.environ, "MALLOC_TRIM_THRESHOLD_": "100000"}  # count what is in use, not what malloc keeps
    done = subprocess.run(command, check=True, capture_output=True, text=True, cwd=ROOT, env=given_back)
    measured: dict[str, float] = json.loads(done.stdout.splitlines()[-1])
    return measured


def measure_peak(model: str, way: str, pieces: int, count: int) -> None:
    """What the fresh process does: print the two sizes, as Linux counts them."""
    subject = load() if model == "bundled" else causal()
    run = WAYS[way](subject, texts(subject, pieces, count))
    before = status("VmRSS")
    Path("/proc/self/clear_refs").write_text("5")  # start the high-water mark anew
    for _ in range(2):
        seconds(run)
    print(json.dumps({"total": status("VmHWM"), "beyond": status("VmHWM") - before}))


def status(name: str) -> float:
    """A size of this process in MiB."""
    lines = Path("/proc/self/status").read_text().splitlines()
    return next(int(line.split()[1]) for line in lines if line.startswith(name)) / 1024


def table(title: str, *columns: str) -> list[str]:
    """The head of a table in Markdown."""
    return ["", f"### {title}", "", "| " + " | ".join(columns) + " |", "|---" * len(columns) + "|"]


def main() -> None:
    """Measure everything, print it, and write the page."""
    subject = load()
    layers, heads = subject.shape(subject.streams[0])
    lines = [
        f"Made by `make bench` on {date.today()}: {subject.name} ({layers} layers x {heads} heads), {PIECES:,}",
        f"pieces per batch, torch {torch.__version__} with {torch.get_num_threads()} threads, Python",
        f"{platform.python_version()}, float32, CPU. Time is the median of ratios to a plain forward right",
        "before each run, so that a busy machine disturbs both.",
    ]

    def add(*cells: str) -> None:
        lines.append("| " + " | ".join(cells) + " |")
        print(lines[-1], flush=True)

    naive_route = "naive (eager, `output_attentions`, numpy)"
    lines += table(
        "Time, as a multiple of the plain sdpa forward", "pieces", "plain", "survey", naive_route, "asked for"
    )
    for pieces in (128, 512):
        found = ratios(subject, pieces)
        add(f"{pieces}", *(f"{found[way]:.2f}" for way in WAYS), "survey ≤ 2.0")
    memory = ("MiB, whole process", "over plain", "MiB beyond loading", "over plain")
    lines += table("Peak memory at 512 pieces", "", *memory, "asked for")
    sizes = {way: peak("bundled", way, 512, PIECES // 512) for way in WAYS}
    for way, size in sizes.items():
        whole, beyond = (size[kind] / sizes["plain"][kind] for kind in ("total", "beyond"))
        asked = "≤ 1.3" if way == "survey" else ""
        add(way, f"{size['total']:.0f}", f"{whole:.2f}", f"{size['beyond']:.0f}", f"{beyond:.2f}", asked)
    title = "Growth with length: a random causal model (2 layers, 4 heads), one text"
    lines += table(title, "pieces", "survey, MiB beyond loading", "KiB per piece", "time over the plain forward")
    long = causal()
    for pieces in LENGTHS:
        beyond = peak("causal", "survey", pieces, 1)["beyond"]
        examples = texts(long, pieces, 1)
        runs = (surveyed(long, examples), plain(long, examples))
        times = [seconds(runs[0]) / seconds(runs[1]) for _ in range(4)][1:]
        add(f"{pieces:,}", f"{beyond:.0f}", f"{beyond * 1024 / pieces:.0f}", f"{statistics.median(times):.2f}")
    put(HEADING, lines)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--peak", nargs=4, metavar=("MODEL", "WAY", "PIECES", "COUNT"))
    parser.add_argument("--busy", action="store_true", help="ratios on a machine that others use, alone")
    asked = parser.parse_args()
    given = asked.peak
    if asked.busy:
        busy()
    elif given is None:
        main()
    else:
        measure_peak(given[0], given[1], int(given[2]), int(given[3]))
