"""All models trained at once, and watched on the way.

Model s of natural text and model s of bigrams are one pair: they begin with the same weights and read windows from
the same places of their rows. Rates rise over the first steps, stay, and fall over the last fifth. Where a limit of
time is given, the number of steps is lowered after the first few to what fits; what was done stands in the figures.
"""

from __future__ import annotations

import json
import time
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import Tensor

from tools.training_pair.model import Parameters, Shape, described, fresh, losses, write_checkpoint
from tools.training_pair.text import resampled
from tools.training_pair.watch import Texts, measured, repeated_texts, windows_of

KINDS = ("natural", "bigrams")
BEGIN = 0
TRIAL = 30  # steps after which the time of a step is known


@dataclass(frozen=True)
class Course:
    """How long and how fast."""

    steps: int = 6000
    texts: int = 32  # windows of a step, of each model
    rate: float = 2e-3
    warm: int = 200
    decay: float = 0.1
    draws: int = 40  # sets of other heads, along the way
    last_draws: int = 400  # and at the end
    within: float = 0.0  # seconds, 0: as long as it takes
    every: tuple[tuple[int, int], ...] = field(default=((1500, 50), (3000, 100), (10**9, 250)))

    def rate_at(self, step: int, steps: int) -> float:
        """The learning rate of one step.

        >>> course = Course(rate=1.0, warm=10)
        >>> [round(course.rate_at(step, 100), 2) for step in (0, 9, 50, 90, 99)]
        [0.1, 1.0, 1.0, 0.5, 0.05]
        """
        rise = min(1.0, (step + 1) / self.warm)
        return self.rate * min(rise, (steps - step) / (0.2 * steps))

    def is_watched(self, step: int, steps: int) -> bool:
        """Whether models are measured after so many steps."""
        spacing = next(spacing for until, spacing in self.every if step <= until)
        return step % spacing == 0 or step == steps


def rows_of(data: Path, seed: int) -> dict[str, dict[str, np.ndarray[Any, Any]]]:
    """Rows of pieces by kind, to train on and held out; those of bigrams are drawn from the row that trains."""
    with np.load(data / "pieces.npz") as read:
        natural = {name: read[name].astype(np.int64) for name in ("train", "held")}
    drawn = {name: resampled(natural["train"], len(row), seed + at) for at, (name, row) in enumerate(natural.items())}
    return {"natural": natural, "bigrams": drawn}


def train(data: Path, shape: Shape, course: Course, seeds: list[int], kept: Path, figures: Path, device: str) -> None:
    """Train a pair of models for each seed; write figures as they come, and checkpoints where models are measured."""
    begun = time.monotonic()
    torch.backends.cuda.matmul.allow_tf32 = False
    rows = rows_of(data, 1000)
    models = [(kind, seed) for kind in KINDS for seed in seeds]
    kinds, own_seeds = [kind for kind, _ in models], [seed for _, seed in models]
    texts = Texts(
        repeated_texts(rows["natural"]["train"], BEGIN).to(device),
        windows_of(rows["natural"]["held"], BEGIN, shape.window).to(device),
        windows_of(rows["bigrams"]["held"], BEGIN, shape.window).to(device),
    )
    on_device = {kind: torch.from_numpy(rows[kind]["train"]).to(device) for kind in KINDS}
    parameters = {name: value.requires_grad_() for name, value in fresh(shape, own_seeds, device).items()}
    matrices = [value for name, value in parameters.items() if "norm" not in name]
    vectors = [value for name, value in parameters.items() if "norm" in name]
    optimizer = torch.optim.AdamW(
        [{"params": matrices, "weight_decay": course.decay}, {"params": vectors, "weight_decay": 0.0}],
        lr=course.rate,
        betas=(0.9, 0.95),
        fused=device != "cpu",
    )
    generators = [torch.Generator().manual_seed(10_000 + seed) for seed in own_seeds]
    record: dict[str, Any] = {
        "shape": described(shape),
        "models": [{"kind": kind, "seed": seed} for kind, seed in models],
        "pieces": {kind: {name: len(row) for name, row in rows[kind].items()} for kind in KINDS},
        "texts_per_step": course.texts,
        "moments": [],
    }
    steps, step, started = course.steps, 0, time.monotonic()
    while True:
        if course.is_watched(step, steps):
            draws = course.last_draws if step == steps else course.draws
            moment = {"step": step, **measured(parameters, shape, texts, kinds, own_seeds, draws)}
            record["moments"].append(moment)
            record |= {"steps": steps, "seconds": round(time.monotonic() - begun, 1)}
            figures.write_text(json.dumps(record) + "\n")
            for model, (kind, seed) in enumerate(models):
                folder = kept / f"{kind}-{seed}" / f"step-{step:05d}"
                write_checkpoint(parameters, shape, model, data / "tokenizer.json", folder)
            print(_line(moment, models, time.monotonic() - begun), flush=True)
        if step == steps:
            return
        _one_step(parameters, shape, on_device, models, generators, course, optimizer, course.rate_at(step, steps))
        step += 1
        if course.within and step in {5, TRIAL}:
            if device != "cpu":
                torch.cuda.synchronize()
            if step == 5:
                started = time.monotonic()
            else:
                each = (time.monotonic() - started) / (TRIAL - 5)
                left = course.within - (time.monotonic() - begun)
                steps = min(steps, max(TRIAL + 1, int(left / (1.35 * each)) // 100 * 100))
                print(f"{1000 * each:.1f} ms a step: {steps} steps", flush=True)


def _one_step(
    parameters: Parameters,
    shape: Shape,
    rows: dict[str, Tensor],
    models: list[tuple[str, int]],
    generators: list[torch.Generator],
    course: Course,
    optimizer: torch.optim.Optimizer,
    rate: float,
) -> None:
    device = next(iter(rows.values())).device
    batch = []
    for (kind, _seed), generator in zip(models, generators, strict=True):
        starts = torch.randint(len(rows[kind]) - shape.window, (course.texts, 1), generator=generator)
        batch.append((kind, starts))
    offsets = torch.arange(shape.window - 1, device=device)
    pieces = torch.stack([rows[kind][starts.to(device) + offsets] for kind, starts in batch])
    ids = torch.cat([torch.full_like(pieces[:, :, :1], BEGIN), pieces], dim=2)
    half = (
        {name: value.to(torch.bfloat16) for name, value in parameters.items()}
        if device.type == "cuda"
        else parameters
    )
    loss = losses(half, shape, ids).mean((1, 2))
    loss.sum().backward()
    gradients = [value.grad for value in parameters.values() if value.grad is not None]
    lengths = torch.stack([gradient.flatten(1).square().sum(1) for gradient in gradients]).sum(0).sqrt()
    factors = (1.0 / lengths).clamp(max=1.0)
    for gradient in gradients:
        gradient.mul_(factors.view(-1, *[1] * (gradient.dim() - 1)))
    for group in optimizer.param_groups:
        group["lr"] = rate
    optimizer.step()
    optimizer.zero_grad(set_to_none=True)


def _line(moment: dict[str, Any], models: list[tuple[str, int]], seconds: float) -> str:
    said = [f"{moment['step']:5d} {seconds:5.0f}s"]
    for kind in KINDS:
        own = [at for at, (one, _) in enumerate(models) if one == kind]
        best = [max(max(layer) for layer in moment["induction"][at]) for at in own]
        gain = [moment["first_copy"][at] - moment["second_copy"][at] for at in own]
        loss = [moment["loss"][at] for at in own]
        closing = [moment["closing"][at] for at in own]
        cells = zip(("loss", "best", "gain", "closing"), (loss, best, gain, closing), strict=True)
        said.append(
            f"{kind}: " + " ".join(f"{name} {'/'.join(f'{one:.2f}' for one in some)}" for name, some in cells)
        )
    return " | ".join(said)
