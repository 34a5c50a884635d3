"""Two workers of Ray against one, beside two independent processes against one; and what more workers would come to.

The bundled model is surveyed, a thread to each process. What is compared takes turns in one run, and each figure is
the median over rounds, so that a busy machine disturbs all alike: how many pieces a second one process reaches and
two that know nothing of each other, and how many one worker of Ray and two. Workers and processes are warm. Then what
it costs to hand a batch out and to merge a bundle goes into a simulation of more workers than this machine has.

    python -m benchmarks.scale [--rounds 5] [--batches 16]
"""

from __future__ import annotations

import argparse
import json
import platform
import statistics
import subprocess
import sys
import time
from datetime import date
from pathlib import Path
from typing import Any

import torch

from attlas.capture import load
from attlas.run import LOCAL, Keeping, Listed, Plan
from attlas.run.cluster import connect, import_ray
from attlas.run.ray import FAN, RayEngine
from attlas.run.shipping import thinned
from attlas.studies.survey.passes import Survey
from benchmarks.page import put
from benchmarks.simulated import Costs, simulate
from benchmarks.survey import texts

ROOT = Path(__file__).resolve().parents[1]
PAGE = ROOT / "docs" / "scale.md"
PIECES, BUDGET = 128, 2048
NETWORK = 1.25e9  # bytes a second: 10 Gbit/s, which is assumed
CROWDS = (1, 2, 4, 8, 16, 32, 64, 256, 1000)


def work(batches: int) -> tuple[Survey, Listed[Any]]:
    """The survey of so many batches of texts of one length."""
    torch.set_num_threads(1)
    subject = load()
    examples = texts(subject, PIECES, batches * BUDGET // PIECES)
    return Survey(subject), Listed(examples, [PIECES] * len(examples), budget=BUDGET)


def carried(engine: Any, part: Survey, source: Listed[Any]) -> float:
    """Seconds that a pass takes."""
    began = time.perf_counter()
    engine.carry_out(part, source, Keeping(Plan("benchmark")))
    return time.perf_counter() - began


def be_a_process(batches: int) -> None:
    """What an independent process does: get warm, wait for a word, work, and say how long it took, by the clock and
    of its own time."""
    part, source = work(batches)
    carried(LOCAL, part, Listed(source._items[: BUDGET // PIECES], [PIECES] * (BUDGET // PIECES), budget=BUDGET))
    for _ in sys.stdin:
        own = time.process_time()
        seconds = carried(LOCAL, part, source)
        print(json.dumps([seconds, time.process_time() - own]), flush=True)


def processes(count: int, batches: int) -> list[subprocess.Popen[str]]:
    """Independent processes, which wait."""
    command = [sys.executable, "-m", "benchmarks.scale", "--process", "--batches", str(batches)]
    return [
        subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, cwd=ROOT)
        for _ in range(count)
    ]


def together(some: list[subprocess.Popen[str]]) -> list[list[float]]:
    """Let processes work at the same time; how long each took."""
    for each in some:
        assert each.stdin is not None
        each.stdin.write("go\n")
        each.stdin.flush()
    return [json.loads(each.stdout.readline()) for each in some if each.stdout is not None]


class Timed(RayEngine):
    """The engine, which notes what its own process spends: on merging, and on all else."""

    merging = spent = 0.0

    def carry_out(self, *what: Any) -> Any:
        """As always."""
        began = time.thread_time()
        try:
            return super().carry_out(*what)
        finally:
            self.spent += time.thread_time() - began

    def _merge(self, *what: Any) -> None:
        began = time.thread_time()
        super()._merge(*what)
        self.merging += time.thread_time() - began


def measure(rounds: int, batches: int) -> tuple[dict[str, list[float]], Costs]:
    """Rates in pieces a second by way, and what single steps cost."""
    part, source = work(batches)
    pieces = batches * BUDGET
    rates: dict[str, list[float]] = {"one process": [], "two processes": [], "one worker": [], "two workers": []}
    alone: list[float] = []
    waiting = processes(2, batches)
    connect("", 3)  # room for the one worker and the two, which take turns
    with Timed(workers=1) as one, Timed(workers=2) as two:
        for engine in (one, two):
            carried(engine, part, source)
        two.merging = two.spent = 0.0
        for _ in range(rounds):
            (single,) = together(waiting[:1])
            alone.append(single[1] / batches)
            rates["one process"].append(pieces / single[0])
            both = together(waiting)
            rates["two processes"].append(sum(pieces / seconds for seconds, _ in both))
            rates["one worker"].append(pieces / carried(one, part, source))
            rates["two workers"].append(pieces / carried(two, part, source))
            print({way: round(values[-1]) for way, values in rates.items()}, flush=True)
    import_ray().shutdown()
    for each in waiting:
        each.communicate()
    count = rounds * batches
    bundle = part.empty()
    empty = bundle.state()
    part.update(bundle, next(source.from_place()).items)
    size = sum(values.nbytes for _, values in thinned(bundle.state(), empty).values())
    hand, merge = (two.spent - two.merging) / count, two.merging / count
    return rates, Costs(statistics.median(alone), hand, merge, size, NETWORK)


def main(rounds: int = 5, batches: int = 16) -> None:
    """Measure, simulate, and write the page."""
    rates, costs = measure(rounds, batches)
    of_processes, of_workers = (
        statistics.median(b / a for a, b in zip(rates[one], rates[two], strict=True))
        for one, two in (("one process", "two processes"), ("one worker", "two workers"))
    )
    share = statistics.median(
        (d / c) / (b / a) for a, b, c, d in zip(*rates.values(), strict=True)
    )  # fmt: skip
    lines = [
        f"Made by `python -m benchmarks.scale` on {date.today()}: the survey of all-MiniLM-L6-v2, {BUDGET:,} pieces",
        f"a batch, one thread to each process, torch {torch.__version__}, Python {platform.python_version()}, Ray "
        f"{import_ray().__version__};",
        f"medians of {rounds} rounds of {batches} batches.",
        "",
        "| | pieces a second | two against one |",
        "|---|---|---|",
        *(
            f"| {one} and two | {statistics.median(rates[one]):,.0f} and {statistics.median(rates[two]):,.0f} | "
            f"{gain:.2f} |"
            for one, two, gain in (
                ("one process", "two processes", of_processes),
                ("one worker", "two workers", of_workers),
            )
        ),
        "",
        f"So two workers reach **{share:.2f}** of what two independent processes do (asked for: at least .9).",
        "",
        f"A batch takes {costs.batch:.2f} s on a worker; to hand it out and take note of it takes the run's process "
        f"{1000 * costs.hand:.1f} ms, to",
        f"merge its bundle of {costs.size / 1e6:.1f} MB {1000 * costs.merge:.1f} ms. With these costs, and 10 Gbit/s "
        "to the run's machine, which is",
        "assumed, more workers would be at work for these shares of their time (simulated with the engine's own way",
        "of handing out; batches differ by 15 % in length):",
        "",
        "| workers | in batch order | process busy | network busy | as a tree | process busy | network busy |",
        "|---|---|---|---|---|---|---|",
    ]
    for workers in CROWDS:
        cells = [simulate(workers, costs, tree=tree) for tree in (False, True)]
        shares = " | ".join(f"{share:.2f}" for outcome in cells for share in outcome)
        lines.append(f"| {workers:,} | {shares} |")
    order = 1 / max(costs.hand + costs.merge, costs.size / NETWORK) * costs.batch
    tree = 1 / max(costs.hand + costs.merge / FAN, costs.size / FAN / NETWORK) * costs.batch
    limit = "the network to it" if costs.size / NETWORK > costs.hand + costs.merge else "the run's process"
    lines += [
        "",
        f"In batch order the limit is {limit}, at about {order:,.0f} workers for batches of this size; as a tree it",
        f"is at about {tree:,.0f}. Both grow with the batch: one that takes ten times as long (a larger model, more",
        "cuts, a larger `--budget`) keeps ten times as many workers busy.",
    ]
    print("\n".join(lines))
    put("How far it goes", lines, PAGE)


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--batches", type=int, default=16)
    parser.add_argument("--process", action="store_true")
    given = parser.parse_args()
    if given.process:
        be_a_process(given.batches)
    else:
        main(given.rounds, given.batches)
