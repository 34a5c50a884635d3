"""How fast a model is, whole, with closed gates, and pruned: at several numbers and lengths of texts.

The model without its language-model head reads random pieces; the three take turns, and the median of a few passes
counts. A cell that would take too long, or is longer than the model's window, is left out and says so.
"""

from __future__ import annotations

import statistics
import time
from collections.abc import Iterator, Sequence
from contextlib import nullcontext
from typing import Any

import torch

from attlas.capture import Gates, Subject
from attlas.ids import Stream

BATCHES, LENGTHS = (1, 8, 64), (32, 128, 512)
SECONDS, REPEATS = 8.0, 5


def measure(
    subject: Subject,
    smaller: Subject,
    gates: Gates,
    *,
    batches: Sequence[int] = BATCHES,
    lengths: Sequence[int] = LENGTHS,
    seconds: float = SECONDS,
) -> Iterator[dict[str, Any]]:
    """One row for every number and length of texts: milliseconds of a pass; ``seconds`` is the most for one pass."""
    per_piece = 0.0
    for length in lengths:
        for batch in batches:
            row: dict[str, Any] = {"batch": batch, "length": length, "whole": None, "gated": None, "pruned": None}
            expected = per_piece * batch * length
            if length > subject.pieces.window:
                yield {**row, "reason": f"longer than the window of {subject.pieces.window:,} pieces"}
            elif expected > seconds:
                yield {**row, "reason": f"a pass would take more than {seconds:.0f} seconds"}
            else:
                taken = _turns(subject, smaller, gates, batch, length)
                per_piece = max(taken.values()) / (batch * length)
                yield {**row, **{name: 1000 * time for name, time in taken.items()}, "reason": None}


def _turns(subject: Subject, smaller: Subject, gates: Gates, batch: int, length: int) -> dict[str, float]:
    """Median seconds of the three; a slow pass is not repeated often."""
    inputs = _inputs(subject, batch, length)
    taken: dict[str, list[float]] = {"whole": [], "gated": [], "pruned": []}
    for turn in range(REPEATS + 1):
        for name in taken:
            model = smaller if name == "pruned" else subject
            with model.use(gates) if name == "gated" else nullcontext():
                taken[name].append(_pass(model, inputs))
        if turn and sum(map(sum, taken.values())) > SECONDS:
            break
    return {name: statistics.median(times[1:]) for name, times in taken.items()}


def _pass(subject: Subject, inputs: dict[str, Any]) -> float:
    began = time.perf_counter()
    with torch.no_grad():
        subject.model.base_model(**inputs)
    if subject.device.type == "cuda":
        torch.cuda.synchronize(subject.device)
    return time.perf_counter() - began


def _inputs(subject: Subject, batch: int, length: int) -> dict[str, Any]:
    generator = torch.Generator().manual_seed(0)
    most = min(1000, subject.model.config.get_text_config().vocab_size)
    ids = torch.randint(most // 10, most, (batch, length), generator=generator).to(subject.device)
    inputs: dict[str, Any] = {"input_ids": ids}
    if subject.pieces.translating:
        inputs["decoder_input_ids"] = ids
    if subject.pieces.translating or subject.pieces.own is Stream.DECODER:
        inputs["use_cache"] = False
    return inputs
