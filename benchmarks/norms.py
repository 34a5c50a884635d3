"""Norms by Gram matrices beside the published formula, which builds a vector for every head and pair of pieces.

    python -m benchmarks.norms

The weights and values are those of one layer of e5-small on the sample corpus, cut to so many pieces. Both sides
give the same three norms: ||f(x)|| of every head and key, ||alpha f(x)|| of every head and pair, and
||sum_h alpha f(x)|| of every pair; and, apart, the second alone. They take turns in one process; memory is what a
process of its own grows by. The second table is of whole forward passes, with norms taken at every layer.
"""

from __future__ import annotations

import os
import platform
import statistics
import subprocess
import sys
import time
from collections.abc import Callable
from datetime import date
from functools import cache

import torch
from torch import Tensor

from attlas.capture import Fold, Subject, load
from attlas.capture.mixing import mixing
from attlas.corpora import read
from attlas.errors import ModelError
from attlas.measures.norms import gram, joint_norms, key_grams, value_norms
from attlas.models import AttentionCall
from attlas.text import Passage
from benchmarks.page import put
from benchmarks.survey import status

HEADING = "Norms beside the published formula"
LENGTHS, ROUNDS, THREADS, LAYER = (128, 512), 5, 2, 6
ASKED = {"all three": "80 (and memory 100)", "‖αf(x)‖ alone": "500"}
Given = tuple[Tensor, Tensor, Tensor]  # weights, values, W_O


@cache
def subject() -> Subject:
    """e5-small, or the bundled model where that is not at hand."""
    try:
        return load("e5-small")
    except ModelError:
        return load()


def passage(pieces: int) -> Passage:
    """The sample corpus, cut to about so many pieces."""
    from attlas.text import Document

    words: list[str] = []
    for document in read("sample").documents * 20:
        for word in document.forms:
            longer = Document.from_words([*words, word])
            if len(words) > pieces // 2 and subject().pieces.length(longer) > pieces:
                return Passage(Document.from_words(words))
            words.append(word)
    raise AssertionError("the sample is too short")


def given(pieces: int) -> Given:
    """Weights, values and W_O of one layer."""
    kept: list[Given] = []

    def keep(call: AttentionCall) -> None:
        if call.site.layer == min(LAYER, subject().shape(call.site.stream)[0]) - 1:
            kept.append((call.weights().clone(), call.values.clone(), subject().output_matrix(call.site).clone()))

    with torch.no_grad(), subject().use(Fold(keep)):
        subject().run(subject().batch([passage(pieces)]))
    return kept[0]


def published(weights: Tensor, values: Tensor, matrix: Tensor) -> tuple[Tensor, Tensor, Tensor]:
    """The three norms from the vectors themselves."""
    vectors = torch.einsum("bhkw,hwd->bhkd", values, matrix)
    weighted = torch.einsum("bhqk,bhkd->bhqkd", weights, vectors)
    return vectors.norm(dim=-1), weighted.norm(dim=-1), weighted.sum(dim=1).norm(dim=-1)


def published_weighted(weights: Tensor, values: Tensor, matrix: Tensor) -> tuple[Tensor, ...]:
    """The second norm alone."""
    vectors = torch.einsum("bhkw,hwd->bhkd", values, matrix)
    return (torch.einsum("bhqk,bhkd->bhqkd", weights, vectors).norm(dim=-1),)


def ours(weights: Tensor, values: Tensor, matrix: Tensor) -> tuple[Tensor, Tensor, Tensor]:
    """The three norms as attlas computes them."""
    lengths = value_norms(values, gram(matrix))
    return lengths, weights * lengths[:, :, None], joint_norms(weights, key_grams(values, matrix))


def ours_weighted(weights: Tensor, values: Tensor, matrix: Tensor) -> tuple[Tensor, ...]:
    """The second norm alone."""
    return (weights * value_norms(values, gram(matrix))[:, :, None],)


WAYS: dict[str, tuple[Callable[..., tuple[Tensor, ...]], Callable[..., tuple[Tensor, ...]]]] = {
    "all three": (published, ours),
    "‖αf(x)‖ alone": (published_weighted, ours_weighted),
}


def seconds(way: Callable[..., object], things: Given, times: int) -> float:
    """The median time of one call."""
    found = []
    for _ in range(times):
        began = time.perf_counter()
        way(*things)
        found.append(time.perf_counter() - began)
    return statistics.median(found)


def grown(name: str, side: int, things: Given) -> float:
    """How many MiB a process of its own grows by while it computes on tensors of these shapes."""
    heads, pieces = things[0].shape[1:3]
    sizes = [heads, pieces, *things[2].shape[1:]]
    asked = [sys.executable, "-m", "benchmarks.norms", name, str(side), *map(str, sizes)]
    return float(subprocess.run(asked, check=True, capture_output=True, text=True).stdout.split()[-1])


def grow(name: str, side: int, heads: int, pieces: int, width: int, hidden: int) -> None:
    """What such a process does: compute once, and print how much its peak rose above what it had before."""
    torch.set_num_threads(THREADS)

    def drawn(size: int) -> Given:
        return torch.rand(1, heads, size, size), torch.rand(1, heads, size, width), torch.rand(heads, width, hidden)

    things = drawn(pieces)
    WAYS[name][side](*drawn(8))  # libraries are loaded by now
    before = status("VmRSS")
    WAYS[name][side](*things)
    print(max(0.0, status("VmHWM") - before))


def compare(pieces: int) -> list[str]:
    """The rows of the first table for one length."""
    things = given(pieces)
    rows = []
    for name, (theirs, mine) in WAYS.items():
        pairs = zip(theirs(*things), mine(*things), strict=True)
        apart = max(float((one - other).abs().max() / one.abs().max()) for one, other in pairs)
        ratios: list[float] = []
        took: tuple[list[float], list[float]] = ([], [])
        for _ in range(ROUNDS):
            slow, fast = seconds(theirs, things, 1), seconds(mine, things, 5)
            took[0].append(slow)
            took[1].append(fast)
            ratios.append(slow / fast)
        memory = [grown(name, side, things) for side in (0, 1)]
        rows.append(
            f"| {things[0].shape[-1]} | {name} | {1000 * statistics.median(took[0]):,.0f} "
            f"| {1000 * statistics.median(took[1]):.2f} | **{statistics.median(ratios):,.0f}** "
            f"({min(ratios):,.0f}-{max(ratios):,.0f}) | {memory[0]:,.0f} | {memory[1]:,.1f} "
            f"| {memory[0] / max(memory[1], 0.1):,.0f} | {apart:.0e} | {ASKED[name] if pieces == 512 else ''} |"
        )
        print(rows[-1], flush=True)
    return rows


def passes(pieces: int) -> list[str]:
    """The rows of the second table: whole forward passes, as multiples of a plain one right before."""
    model = subject()
    batch = model.batch([passage(pieces)] * (4096 // pieces))

    def plain() -> None:
        model.run(batch)

    def watched(reduce: Callable[[AttentionCall], object]) -> Callable[[], None]:
        def work() -> None:
            with model.use(Fold(reduce)):
                model.run(batch)

        return work

    def mixed() -> None:
        with mixing(model, lambda layer: [layer.ratio(step) for step in ("attention", "residual", "normalised")]):
            model.run(batch)

    ways = {
        "‖f(x)‖": watched(model.lengths),
        "weights, kept by nobody": watched(lambda call: call.weights()),
        "‖αf(x)‖ per head": watched(lambda call: call.weights() * model.lengths(call)[:, :, None]),
        "joint norms": watched(model.joint),
        "mixing ratios at all three steps": mixed,
    }
    rows = []
    with torch.no_grad():
        plain()
        for name, way in ways.items():
            ratios = []
            way()
            for _ in range(ROUNDS):
                began = time.perf_counter()
                plain()
                middle = time.perf_counter()
                way()
                ratios.append((time.perf_counter() - middle) / (middle - began))
            rows.append(f"| {pieces} | {name} | {statistics.median(ratios):.2f} |")
            print(rows[-1], flush=True)
    return rows


def section() -> list[str]:
    """Measure, and give the lines of the section."""
    about = f"{torch.get_num_threads()} threads, torch {torch.__version__}, Python {platform.python_version()}"
    return [
        f"Made by `make bench` on {date.today()}: one layer of {subject().name} on the sample corpus, cut to so many",
        f"pieces; float32 on the CPU ({about}).",
        f"Medians of {ROUNDS} rounds in which the two take turns, ours five times in each; memory is the rise of the",
        "peak of a process of its own; the difference is the largest, over the largest norm.",
        "",
        "| pieces | norms | published, ms | ours, ms | times faster | published, MiB | ours, MiB | times less "
        "| difference | asked for |",
        "|---|---|---|---|---|---|---|---|---|---|",
        *(row for pieces in LENGTHS for row in compare(pieces)),
        "",
        "Whole forward passes of all layers, 4,096 pieces a batch, as multiples of the plain forward right before:",
        "",
        "| pieces | taken at every layer | over the plain forward |",
        "|---|---|---|",
        *(row for pieces in LENGTHS for row in passes(pieces)),
    ]


def main() -> None:
    """Measure, print, and write the section."""
    before = torch.get_num_threads()
    torch.set_num_threads(min(THREADS, os.cpu_count() or 1))
    try:
        put(HEADING, section())
    finally:
        torch.set_num_threads(before)


if __name__ == "__main__":
    if len(sys.argv) > 1:
        grow(sys.argv[1], *map(int, sys.argv[2:]))
    else:
        main()
