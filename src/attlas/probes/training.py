"""One loop that fits every probe: Adam, a look at the dev part after each epoch, and an end when nothing improves.

A probe may be several that share no parameters (one per layer); then each has its own loss, and of each the best is
kept. The rate is halved after an epoch that brought nothing. On a CPU the same seed gives the same probe.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass

import torch
from torch import Tensor, nn

LEAST = 5e-4  # a smaller share of the loss is no improvement


@dataclass(frozen=True)
class Schedule:
    """How long and how fast to learn; ``words`` is about how many go into one step.

    >>> Schedule().epochs
    30
    """

    epochs: int = 30
    patience: int = 3
    words: int = 512
    seed: int = 0


@dataclass(frozen=True)
class Epoch:
    """What an epoch brought: the mean loss on train and dev (over layers, where there are several), and a score.

    >>> Epoch(1.0, 1.2, 0.5).score
    0.5
    """

    train: float
    dev: float
    score: float


def fit(
    probe: nn.Module,
    losses: Callable[[str, bool], Iterable[tuple[Tensor, float]]],
    score: Callable[[], float],
    schedule: Schedule,
    *,
    rate: float,
    say: Callable[[str], None] = lambda text: None,
) -> list[Epoch]:
    """Fit a probe and leave it with its best parameters; what each epoch brought.

    ``losses(part, shuffled)`` goes through a part in batches and gives for each the summed loss (one number, or one
    for each of several probes that share no parameter) and over how much it is a sum. ``score`` is asked after each
    epoch.

    >>> line = nn.Linear(1, 1, bias=False)
    >>> def losses(part, shuffled):
    ...     yield ((line(torch.ones(8, 1)) - 2) ** 2).sum()[None], 8.0
    >>> history = fit(line, losses, lambda: 0.0, Schedule(epochs=200), rate=0.1)
    >>> abs(line.weight.item() - 2) < 0.05
    True
    """
    optimiser = torch.optim.Adam(probe.parameters(), lr=rate)
    history: list[Epoch] = []
    best: Tensor | None = None
    kept: dict[str, Tensor] = {}
    reached, idle = float("inf"), 0
    for number in range(1, schedule.epochs + 1):
        total, count = 0.0, 0.0
        probe.train()
        for loss, size in losses("train", True):
            optimiser.zero_grad()
            (loss.sum() / size).backward()  # type: ignore[no-untyped-call]
            optimiser.step()
            total, count = total + float(loss.detach().mean()), count + size
        probe.eval()
        with torch.no_grad():
            dev = _mean(losses("dev", False))
            better = dev < best if best is not None else torch.ones_like(dev, dtype=torch.bool)
            for name, value in probe.named_parameters():
                kept[name] = _keep(kept.get(name), value.detach(), better)
            best = dev if best is None else torch.minimum(best, dev)
            history.append(Epoch(total / max(count, 1.0), float(dev.mean()), score()))
        last = history[-1]
        shown = f", dev score {100 * last.score:.1f}" if last.score == last.score else ""
        say(f"epoch {number}: train loss {last.train:.4f}, dev loss {last.dev:.4f}{shown}")
        if last.dev < reached * (1 - LEAST):
            reached, idle = last.dev, 0
            continue
        idle += 1
        for settings in optimiser.param_groups:
            settings["lr"] /= 2
        if idle >= schedule.patience:
            break
    with torch.no_grad():
        for name, value in probe.named_parameters():
            value.copy_(kept[name])
    return history


def _mean(losses: Iterable[tuple[Tensor, float]]) -> Tensor:
    total, count = torch.zeros(()), 0.0
    for loss, size in losses:
        total, count = total.to(loss.device) + loss, count + size
    return total / max(count, 1.0)


def _keep(before: Tensor | None, now: Tensor, better: Tensor) -> Tensor:
    """What is better of each of the probes that are stacked along the first axis (or of the single one)."""
    if before is None:
        return now.clone()
    chosen = better if better.numel() == 1 else better.reshape(-1, *[1] * (now.dim() - 1))
    return torch.where(chosen.reshape(()) if better.numel() == 1 else chosen, now, before)
