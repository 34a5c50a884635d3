"""A model of eight billion parameters on a GPU: how long it takes to adopt it, to draw its untrained twin, to examine
it.

    python -m benchmarks.device_large PAGE.md
    python -m benchmarks.device_large --tiny PAGE.md

The shape is Qwen3-8B's, the weights are random, in bfloat16, and drawn on the device. What is timed is what ``load``
does with a model that is in memory (its sites are found, and it proves itself), ``Subject.twin()``, and every
question of ``attlas doctor``, which are put to the model and to a tiny twin of its class. A second draw with the same
seed must have the same fingerprint. Needs torch and the model library alone; with ``--tiny`` the shape is small, and
any machine will do.
"""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Callable
from datetime import date
from pathlib import Path
from typing import Any, TypeVar

import torch
import transformers

from attlas.capture import Subject
from attlas.capture.check import BRIEF, TARGETS, TEXTS, examine
from attlas.models.drawing import draw_on
from attlas.models.shrinking import words

Made = TypeVar("Made")

LARGE: dict[str, Any] = {
    "num_hidden_layers": 36, "num_attention_heads": 32, "num_key_value_heads": 8, "hidden_size": 4096,
    "head_dim": 128, "intermediate_size": 12288, "vocab_size": 151936, "max_position_embeddings": 40960,
}  # fmt: skip
TINY: dict[str, Any] = LARGE | {
    "num_hidden_layers": 3, "num_attention_heads": 4, "num_key_value_heads": 2, "hidden_size": 64, "head_dim": 16,
    "intermediate_size": 96, "vocab_size": 2000,
}  # fmt: skip


def timed(make: Callable[[], Made], device: torch.device) -> tuple[Made, float]:
    """What is made, and how long that takes, with all that the device has to do for it."""
    _wait(device)
    began = time.perf_counter()
    made = make()
    _wait(device)
    return made, time.perf_counter() - began


def _wait(device: torch.device) -> None:
    if device.type == "cuda":
        torch.cuda.synchronize(device)


def measure(shape: dict[str, Any], device: torch.device, dtype: torch.dtype) -> list[str]:
    """All figures, as lines of a page."""
    rows: list[tuple[str, float]] = []

    def note(what: str, seconds: float) -> None:
        rows.append((what, seconds))
        print(f"{seconds:8.2f} s  {what}", flush=True)

    config = transformers.Qwen3Config(**shape, tie_word_embeddings=False)
    model, seconds = timed(lambda: draw_on(device, transformers.Qwen3ForCausalLM, config, 0, dtype), device)
    count = sum(weight.numel() for weight in model.parameters())
    note("drawing the model itself", seconds)
    tokenizer = words((*TEXTS, *TARGETS, *BRIEF[0], *BRIEF[1]))
    subject, seconds = timed(lambda: Subject.of(model, tokenizer, "the model"), device)
    note("adoption: sites are found, and it proves itself", seconds)

    one, seconds = timed(lambda: subject.twin(1), device)
    note("`twin()`", seconds)
    drawn, same = one.fingerprint, one.device == subject.device
    peak = torch.cuda.max_memory_allocated(device) / 2**30 if device.type == "cuda" else float("nan")
    del one
    again, seconds = timed(lambda: subject.twin(1), device)
    note("`twin()` once more", seconds)
    if not same or again.fingerprint != drawn or drawn == subject.fingerprint:
        raise SystemExit("two draws with one seed must be the same twin, where the model is, and not the model")
    del again

    last = time.perf_counter()

    def asked(question: str) -> None:
        nonlocal last
        _wait(device)
        note(f"doctor: {question}", time.perf_counter() - last)
        last = time.perf_counter()

    findings, seconds = timed(lambda: examine(subject, advance=asked), device)
    note("`attlas doctor`, all questions", seconds)
    faults = [f"{finding.name}: {finding.note or finding.error}" for finding in findings if finding.passed is False]
    name = torch.cuda.get_device_name(device) if device.type == "cuda" else "a CPU"
    total = {what: seconds for what, seconds in rows if not what.startswith("doctor:")}
    asked_most = sorted((row for row in rows if row[0].startswith("doctor:")), key=lambda row: -row[1])[:8]
    return [
        "# A large model on a GPU",
        "",
        f"Written by `python -m benchmarks.device_large` on {date.today()}: {name}, Python "
        f"{sys.version.split()[0]}, torch {torch.__version__}, transformers {transformers.__version__}; "
        f"{count / 1e9:.2f} billion parameters in {str(dtype).removeprefix('torch.')}, random weights"
        + (f"; at most {peak:.1f} GiB with a twin beside the model." if device.type == "cuda" else "."),
        "",
        "| work | seconds |",
        "|---|---|",
        *(f"| {what} | {seconds:.2f} |" for what, seconds in total.items()),
        "",
        "What of the doctor's questions took longest (the first to need a pass pays for it):",
        "",
        "| question | seconds |",
        "|---|---|",
        *(f"| {what.removeprefix('doctor: ')} | {seconds:.2f} |" for what, seconds in asked_most),
        "",
        f"{sum(finding.passed is True for finding in findings)} questions answered with yes, "
        f"{sum(finding.passed is None for finding in findings)} that do not apply, "
        + (f"**no** to {'; '.join(faults)}." if faults else "none with no."),
        "",
    ]


def main(arguments: list[str]) -> None:
    """Measure, and write the page."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.device_large")
    parser.add_argument("page", nargs="?", type=Path)
    parser.add_argument("--tiny", action="store_true", help="a small shape, on any machine")
    given = parser.parse_args(arguments)
    if not given.tiny and not torch.cuda.is_available():
        raise SystemExit("there is no GPU here; --tiny runs anywhere")
    device = torch.device("cuda", 0) if torch.cuda.is_available() else torch.device("cpu")
    lines = measure(TINY if given.tiny else LARGE, device, torch.bfloat16)
    if given.page is None:
        print("\n".join(lines))
    else:
        given.page.write_text("\n".join(lines), encoding="utf-8")


if __name__ == "__main__":
    main(sys.argv[1:])
