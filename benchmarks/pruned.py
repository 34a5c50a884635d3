"""A model pruned to half its heads, beside the whole model and beside the same heads behind closed gates.

    python -m benchmarks.pruned

Half the heads (groups of heads, where keys are shared) are drawn at random, half of every layer's, and gated or taken
out of the weights. The three take turns in one process on the same random pieces; times are of the model without its
language-model head, whose matrix no pruning touches. The last column compares logits (states, where a model has no
such head) on a batch with padding.
"""

from __future__ import annotations

import os
import platform
import random
import statistics
import time
from collections.abc import Callable
from datetime import date

import torch
from transformers import AutoTokenizer, GPT2Config, GPT2LMHeadModel

from attlas.capture import Subject, load
from attlas.capture.gating import closed
from attlas.capture.pruned import difference, groups, keeping, padded_inputs
from attlas.errors import ModelError
from attlas.ids import HeadId, Site
from benchmarks.page import put

HEADING = "A model pruned to half its heads"
BATCH, PIECES, ROUNDS, THREADS = 8, 128, 5, 2
Inputs = dict[str, torch.Tensor]


def gpt2() -> Subject:
    """A model of GPT-2's size with random weights, made from its configuration."""
    words = AutoTokenizer.from_pretrained(str(load("smollm2").model.config._name_or_path))
    torch.manual_seed(0)
    return Subject.of(GPT2LMHeadModel(GPT2Config()), words, "gpt2")


MODELS: dict[str, tuple[str, Callable[[], Subject]]] = {
    "BERT": ("e5-small", lambda: load("e5-small")),
    "GPT-2": ("its size, random weights", gpt2),
    "Llama, grouped keys": ("smollm2", lambda: load("smollm2", task_head="causal-lm")),
    "Marian": ("opus-mt-en-fr", lambda: load("opus-mt-en-fr", task_head="seq2seq")),
}


def half(subject: Subject) -> dict[Site, list[int]]:
    """Half the groups of every layer, drawn at random; of an odd number, one more or less in turn."""
    draw = random.Random(0)
    kept = {}
    for place, (site, found) in enumerate(groups(subject).items()):
        count = (len(found) + place % 2) // 2
        kept[site] = sorted(head for group in draw.sample(found, count) for head in group)
    return kept


def inputs_for(subject: Subject, batch: int, pieces: int) -> Inputs:
    """Random pieces; for an encoder-decoder as many of them as its target."""
    generator = torch.Generator().manual_seed(0)
    ids = torch.randint(10, 1000, (batch, pieces), generator=generator)
    inputs = {"input_ids": ids}
    if subject.model.config.is_encoder_decoder:
        inputs["decoder_input_ids"] = ids.flip(0)
    return inputs


def seconds(subject: Subject, inputs: Inputs) -> float:
    """How long one pass takes, without a cache."""
    options = {"use_cache": False} if subject.pieces.own.value == "decoder" or subject.pieces.translating else {}
    began = time.perf_counter()
    with torch.no_grad():
        subject.model.base_model(**inputs, **options)
    return time.perf_counter() - began


def take_turns(subject: Subject, smaller: Subject, kept: dict[Site, list[int]]) -> dict[str, float]:
    """The median times of the whole, the gated and the pruned model."""
    inputs = inputs_for(subject, BATCH, PIECES)
    gone = [
        HeadId(site.stream, site.layer, head)
        for site, heads in kept.items()
        for head in set(range(subject.heads(site))) - set(heads)
    ]
    gates = closed(subject, gone)
    taken: dict[str, list[float]] = {"whole": [], "gated": [], "pruned": []}
    for _ in range(ROUNDS + 1):
        taken["whole"].append(seconds(subject, inputs))
        with subject.use(gates):
            taken["gated"].append(seconds(subject, inputs))
        taken["pruned"].append(seconds(smaller, inputs))
    return {name: statistics.median(times[1:]) for name, times in taken.items()}


def row(family: str, name: str, subject: Subject) -> str:
    """One family, measured."""
    kept = half(subject)
    smaller = keeping(subject, kept)
    times = take_turns(subject, smaller, kept)
    apart = difference(subject, smaller, kept, padded_inputs(subject.model))
    sizes = [each.describe()["parameters"] / 1e6 for each in (subject, smaller)]
    heads = [sum(subject.layout.heads.values()), sum(len(heads) for heads in kept.values())]
    shown = (
        f"| {family} ({name}) | {heads[1]} of {heads[0]} | {sizes[0]:.1f} → {sizes[1]:.1f} "
        f"| {1000 * times['whole']:.0f} | {1000 * times['gated']:.0f} | {1000 * times['pruned']:.0f} "
        f"| {times['whole'] / times['pruned']:.2f} | {times['gated'] / times['pruned']:.2f} | {apart:.0e} |"
    )
    print(shown, flush=True)
    return shown


def section() -> list[str]:
    """Measure, and give the lines of the section."""
    about = f"{torch.get_num_threads()} threads, torch {torch.__version__}, Python {platform.python_version()}"
    lines = [
        f"Made by `make bench` on {date.today()}: half the heads of every layer, drawn at random, closed by gates",
        f"and taken out of the weights; {BATCH} texts of {PIECES} random pieces, without the language-model head.",
        f"Medians of {ROUNDS} rounds in which the three take turns ({about}).",
        "The difference is the largest of logits (of",
        "states for BERT, which has no such head here) between pruned and gated, on a batch with padding, over the",
        "largest logit. Grouped keys go by group.",
        "",
        "| | heads kept | million parameters | whole, ms | gated, ms | pruned, ms | times faster than whole "
        "| than gated | difference |",
        "|---|---|---|---|---|---|---|---|---|",
    ]
    for family, (name, opened) in MODELS.items():
        try:
            subject = opened()
        except ModelError:
            lines.append(f"| {family} ({name}) | not here | | | | | | | |")
            continue
        lines.append(row(family, name, subject))
    return lines


def main() -> None:
    """Measure, print, and write the section."""
    before = torch.get_num_threads()
    torch.set_num_threads(min(THREADS, os.cpu_count() or 1))
    try:
        put(HEADING, section())
    finally:
        torch.set_num_threads(before)


if __name__ == "__main__":
    main()
