"""A survey of a model that is four times larger than the memory it may use, beside the same survey in memory.

A random Llama is written to disk. It is surveyed in memory without a limit, and with its layers streamed under
RLIMIT_DATA, which the system enforces on all memory that is private to a process (mappings of files for writing count
too, so that tensors are read by pread); and it is tried to be opened whole under that limit, which must fail. Each is
a process of its own. Tables are compared number by number.

The bar for the time is that of the survey in memory and of reading the file once for each block of texts, times 1.25.
Both surveys are taken in turn, three rounds of them, and all readings are told. What other processes do on the
machine only ever adds to a reading, so that the bar is held against the least of each, by the clock and of the
processor.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import resource
import subprocess
import sys
import tempfile
import time
from datetime import date
from pathlib import Path
from threading import Event, Thread
from typing import Any

ROOT = Path(__file__).resolve().parents[1]
PAGE = ROOT / "docs" / "large-models.md"
HEADING = "Measured"
TIMES = 4  # the weights, in limits
BUDGET, BLOCK, PIECES, TEXTS = 256, 512, 64, 24
BAR = 1.25
ROUNDS = 3
BLOCKS = -(-TEXTS * PIECES // BLOCK)
CLOCKS = ("survey", "cpu")  # by the clock, and of the processor
CHUNK = 1 << 24


def make(folder: Path, layers: int) -> None:
    """Write a random Llama and its tokenizer."""
    import torch
    from transformers import LlamaConfig, LlamaForCausalLM

    from attlas.corpora import read
    from attlas.models.shrinking import words

    tokenizer = words(document.text for document in read("sample").documents)
    tokenizer.model_max_length = 512
    config = LlamaConfig(
        hidden_size=1280, intermediate_size=5120, num_hidden_layers=layers, num_attention_heads=8,
        num_key_value_heads=4, vocab_size=len(tokenizer), max_position_embeddings=512, pad_token_id=0,
    )  # fmt: skip
    torch.manual_seed(0)
    model = LlamaForCausalLM(config)
    for parameter in model.parameters():  # wide, so that attention is far from even
        if parameter.dim() == 2:
            parameter.data *= 1.3 / (config.initializer_range * parameter.shape[1] ** 0.5)
    model.save_pretrained(folder, max_shard_size="500MB")
    tokenizer.save_pretrained(folder)


def texts() -> list[Any]:
    """Texts that are longer than what is read of each."""
    from attlas.corpora import read
    from attlas.text import Document

    words = " ".join(document.text for document in read("sample").documents).split()
    return [Document.from_text(" ".join(words[at : at + 2 * PIECES])) for at in range(0, TEXTS * 100, 100)]


def survey(folder: Path, out: Path, limit: int | None, *, streamed: bool) -> dict[str, Any]:
    """Survey the model in this process, under a limit or without, and say what it took."""
    if limit is not None:
        resource.setrlimit(resource.RLIMIT_DATA, (limit, limit))
    peak = Peak()
    import torch

    from attlas.capture import load
    from attlas.studies.survey.call import survey as run

    torch.set_num_threads(1)
    began = time.perf_counter(), time.process_time()
    subject = load(folder, stream_layers=True, block=BLOCK) if streamed else load(folder)
    opened = time.perf_counter(), time.process_time()
    run(subject, texts(), first=TEXTS, max_pieces=PIECES, budget=BUDGET, out=out)
    done = time.perf_counter(), time.process_time()
    return {
        "opening": opened[0] - began[0], "survey": done[0] - opened[0], "cpu": done[1] - opened[1],
        "opening_cpu": opened[1] - began[1], "peak": peak.stop(),
        "resident": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024,
        "parameters": subject.describe()["parameters"], "fingerprint": subject.fingerprint,
    }  # fmt: skip


class Peak:
    """The largest anonymous memory of this process, looked at a hundred times a second."""

    def __init__(self) -> None:
        self.largest, self._done = 0, Event()
        self._thread = Thread(target=self._watch, daemon=True)
        self._thread.start()

    def stop(self) -> int:
        self._done.set()
        self._thread.join()
        return self.largest

    def _watch(self) -> None:
        while not self._done.wait(0.01):
            status = Path("/proc/self/status").read_text()
            line = next(line for line in status.splitlines() if line.startswith("RssAnon"))
            self.largest = max(self.largest, int(line.split()[1]) * 1024)


def reading(folder: Path) -> tuple[float, float]:
    """Seconds, and those of the processor, to read the weights once, from wherever the system has them."""
    began = time.perf_counter(), time.process_time()
    buffer = bytearray(CHUNK)
    for file in sorted(folder.glob("*.safetensors")):
        with file.open("rb", buffering=0) as opened:
            while opened.readinto(buffer):
                pass
    return time.perf_counter() - began[0], time.process_time() - began[1]


def worst(one: Path, other: Path) -> float:
    """The largest difference between the numbers of two results, of which all else must be equal."""
    import numpy as np

    from attlas.store import Result

    ours, theirs = Result.open(one), Result.open(other)
    assert list(ours.tables) == list(theirs.tables)
    apart = 0.0
    for name, table in ours.tables.items():
        for column in table.column_names:
            mine, yours = (each[column].to_numpy(zero_copy_only=False) for each in (table, theirs.tables[name]))
            if mine.dtype.kind == "f":
                assert np.array_equal(np.isnan(mine), np.isnan(yours))
                apart = max(apart, float(np.nanmax(np.abs(mine - yours), initial=0.0)))
            else:
                assert (mine == yours).all(), column
    return apart


def run_alone(*arguments: str) -> tuple[int, str]:
    """This file in a process of its own: how it ended, and the last line that it wrote."""
    command = [sys.executable, "-m", "benchmarks.layer_streaming", *arguments]
    told = {
        **os.environ,
        "ARROW_DEFAULT_MEMORY_POOL": "system",
    }  # Arrow's own would reserve a gigabyte that it never uses
    ended = subprocess.run(command, cwd=ROOT, env=told, capture_output=True, text=True, check=False)
    spoken = (ended.stdout if ended.returncode == 0 else ended.stderr).strip().splitlines()
    return ended.returncode, spoken[-1] if spoken else ""


def main(limit: int = 980, layers: int = 42, rounds: int = ROUNDS) -> None:
    """Make the model, survey it both ways, compare, and write the figures down."""
    bound = limit << 20
    with tempfile.TemporaryDirectory() as room:
        folder = Path(room) / "llama"
        assert run_alone("make", str(folder), str(layers))[0] == 0
        size = sum(file.stat().st_size for file in folder.glob("*.safetensors"))
        assert size >= TIMES * bound, f"{size:,} bytes of weights are less than {TIMES} times the limit"
        read: list[tuple[float, float]] = []
        told: dict[str, list[dict[str, Any]]] = {"memory": [], "streamed": []}
        apart = 0.0
        for number in range(rounds):
            read.append(reading(folder))
            for way, most in (("memory", 0), ("streamed", bound)):
                code, said = run_alone(way, str(folder), str(Path(room) / f"{way} {number}"), str(most))
                assert code == 0, said
                told[way].append(json.loads(said))
            apart = max(apart, worst(Path(room) / f"memory {number}", Path(room) / f"streamed {number}"))
            print(
                f"round {number + 1}: {_shares(read[-1:], {way: each[-1:] for way, each in told.items()})}",
                flush=True,
            )
        failed, why = run_alone("memory", str(folder), str(Path(room) / "whole"), str(bound))
        assert failed != 0, "the whole model fits into the limit"
    fingerprints = {one["fingerprint"] for each in told.values() for one in each}
    assert len(fingerprints) == 1, fingerprints
    write(size, bound, read, told, apart, why)


def _allowed(read: list[tuple[float, float]], memory: list[dict[str, Any]]) -> dict[str, float]:
    """What the streamed survey may take, by the clock and of the processor, of the least readings that there are."""
    return {
        name: BAR * (min(one[name] for one in memory) + BLOCKS * min(each[at] for each in read))
        for at, name in enumerate(CLOCKS)
    }


def _shares(read: list[tuple[float, float]], told: dict[str, list[dict[str, Any]]]) -> str:
    """How much of what is allowed the streamed survey took, in words."""
    allowed = _allowed(read, told["memory"])
    clock, processor = (min(one[name] for one in told["streamed"]) / allowed[name] for name in CLOCKS)
    return f"{clock:.2f} by the clock, {processor:.2f} of the processor"


def write(
    size: int,
    bound: int,
    read: list[tuple[float, float]],
    told: dict[str, list[dict[str, Any]]],
    apart: float,
    why: str,
) -> None:
    """Put the figures into the page."""
    memory, streamed = told["memory"], told["streamed"]
    allowed = _allowed(read, memory)

    def each(way: str, name: str, write: str, unit: float = 1.0) -> str:
        return ", ".join(format(one[name] / unit, write) for one in told[way])

    lines = [
        f"`python -m benchmarks.layer_streaming`, {date.today()}, {os.cpu_count()} cores ({platform.machine()}), one "
        f"thread each, {len(read)} rounds, at a load of {os.getloadavg()[0]:.1f}. A random "
        f"Llama of {memory[0]['parameters'] / 1e6:,.0f} million weights, {size / 2**30:.2f} GiB in float32, under a "
        f"limit of {bound / 2**20:,.0f} MiB (RLIMIT_DATA, which counts the interpreter and its libraries too): "
        f"{size / bound:.2f} times the limit. {TEXTS} texts of {PIECES} pieces in {BLOCKS} blocks.",
        "",
        "| | in memory, no limit | streamed, under the limit |",
        "|---|---|---|",
        *(
            f"| {what} | {each('memory', name, '.1f')} s | {each('streamed', name, '.1f')} s |"
            for what, name in (
                ("survey", "survey"), ("processor time of it", "cpu"), ("opening", "opening"),
                ("processor time of it", "opening_cpu"),
            )
        ),
        *(
            f"| largest {what} memory | {each('memory', name, ',.0f', 2**20)} MiB "
            f"| {each('streamed', name, ',.0f', 2**20)} MiB |"
            for what, name in (("anonymous", "peak"), ("resident", "resident"))
        ),
        "",
        "(The library maps the files of a model that is opened whole, so that its weights are resident and not "
        "anonymous.)",
        "",
        f"The largest difference between any two numbers of the tables is {apart:.1e}. Reading the files once took "
        f"{', '.join(f'{clock:.1f} s ({worked:.1f} s of the processor)' for clock, worked in read)}. {BAR} times "
        f"the survey in memory and {BLOCKS} readings are {allowed['survey']:.1f} s ({allowed['cpu']:.1f} s), of the "
        f"least readings of each, of which the streamed survey took {_shares(read, told)}; round by round it is "
        + "; ".join(
            _shares([read[at]], {way: [found[at]] for way, found in told.items()}) for at in range(len(read))
        )
        + ". The whole model under the same limit cannot be opened: "
        f"`{why.removeprefix('attlas.errors.ModelError: ')}`.",
    ]  # fmt: skip
    from benchmarks.page import put

    put(HEADING, lines, PAGE)
    print("\n".join(lines))
    assert apart <= 1e-6, f"the tables differ by {apart}"
    assert BLOCKS >= 3
    for name in CLOCKS:
        least = min(one[name] for one in streamed)
        assert least <= allowed[name], f"{name}: {least:.1f} s, where {allowed[name]:.1f} s are allowed"


if __name__ == "__main__":
    if len(sys.argv) > 2 and sys.argv[1] == "make":
        make(Path(sys.argv[2]), int(sys.argv[3]))
    elif len(sys.argv) > 2 and sys.argv[1] in ("memory", "streamed"):
        way, where, out, most = sys.argv[1:]
        print(json.dumps(survey(Path(where), Path(out), int(most) or None, streamed=way == "streamed")))
    else:
        parser = argparse.ArgumentParser(description=__doc__)
        parser.add_argument("--limit", type=int, default=980, help="MiB")
        parser.add_argument("--layers", type=int, default=42)
        parser.add_argument("--rounds", type=int, default=ROUNDS)
        main(**vars(parser.parse_args()))
