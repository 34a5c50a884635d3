"""Figures of training held against attlas: checkpoints are opened by it, and read the same texts.

Training has an evaluator of its own, since it measures all models in one tensor on a machine where attlas need not
be. Here scores are taken from weights that a Recorder keeps, and heads are closed by gates.
"""

from __future__ import annotations

from contextlib import nullcontext
from pathlib import Path
from typing import Any

import numpy as np
import torch

import attlas
from attlas import Recorder, Site, Stream
from tools.training_pair.train import BEGIN
from tools.training_pair.watch import COPY, induction_score, repeated_texts


def held_against(record: dict[str, Any], data: Path, kept: Path) -> list[str]:
    """A row for every checkpoint that is there of the last moment: by how much figures differ at most."""
    with np.load(data / "pieces.npz") as rows:
        texts = repeated_texts(rows["train"].astype(np.int64), BEGIN)
    last = record["moments"][-1]
    lines = ["| text | seed | induction scores: largest difference | loss on the second copy: attlas, training | "
             "its rise without the three heads: attlas, training |", "|---|--:|--:|--:|--:|"]  # fmt: skip
    for at, model in enumerate(record["models"]):
        folder = kept / f"{model['kind']}-{model['seed']}" / f"step-{last['step']:05d}"
        if not folder.exists():
            continue
        subject, recorder = attlas.load(folder, device="cpu"), Recorder()
        with torch.no_grad(), subject.use(recorder):
            subject.model(texts)
        layers = range(record["shape"]["layers"])
        scores = [
            induction_score(recorder.get(Site(Stream.DECODER, layer)))[1::2].mean(0).numpy() for layer in layers
        ]
        apart = float(np.abs(np.array(scores) - np.array(last["induction"][at])).max())
        whole = _second_copy(subject, texts, [])
        rise = _second_copy(subject, texts, [f"{layer + 1}-{head + 1}" for layer, head in last["chosen"][at]]) - whole
        lines.append(
            f"| {model['kind']} | {model['seed'] + 1} | {apart:.1e} | {whole:.4f}, {last['second_copy'][at]:.4f} | "
            f"{rise:.4f}, {last['closing'][at]:.4f} |"
        )
    return lines


def _second_copy(subject: attlas.Subject, texts: torch.Tensor, closed: list[str]) -> float:
    with torch.no_grad(), subject.gated(closed) if closed else nullcontext():
        logits = subject.model(texts).logits.float()
    each = torch.nn.functional.cross_entropy(logits[:, :-1].transpose(1, 2), texts[:, 1:], reduction="none")
    return float(each[1::2, COPY:].mean())
