"""What heads of all models do at one moment of training: scores, losses, and what closing heads changes.

Texts are made once. *Repeated* ones are ``[begin] r r`` with r of random ordinary pieces, none twice; half of them
choose heads, the other half score. Held-out windows are of natural text and of text drawn from its bigrams.

- **induction** (Olsson et al.): mean over queries i of the second copy of the weight on i - |r| + 1;
- **previous**: mean over queries of natural text of the weight on i - 1;
- **copy loss**: the loss on the pieces of the first and of the second copy;
- **in-context loss**: the loss on late pieces of a window less that on early ones, on text of the model's own kind;
- **closing**: the rise of the loss on the second copy without the heads that score highest for induction (on texts
  that chose), beside as many other heads, each of a layer within two of the one that it stands for.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from torch import Tensor

from tools.training_pair.model import Parameters, Shape, losses

COPY = 64  # pieces of r
REPEATS = 32  # texts of repeated pieces, half of them to choose by
WINDOWS = 48  # held-out windows of each kind
CHOSEN = 3  # heads that are closed together
NEAR = 2  # layers
EARLY, LATE = (32, 64), (448, 512)  # pieces of a window, for a window of 512; others in proportion
ORDINARY = (0.02, 0.7)  # ranks of frequency that random pieces are of


@dataclass
class Texts:
    """All texts that models are measured on: repeated pieces, windows of natural text and of its bigrams."""

    repeated: Tensor
    natural: Tensor
    bigrams: Tensor

    def own(self, kinds: list[str]) -> Tensor:
        """Windows (model, text, piece) of each model's own kind."""
        return torch.stack([self.natural if kind == "natural" else self.bigrams for kind in kinds])


def repeated_texts(row: np.ndarray[Any, Any], begin: int, seed: int = 0) -> Tensor:
    """Texts ``[begin] r r`` (text, piece); pieces are neither the most nor the least frequent of ``row``.

    >>> texts = repeated_texts(np.arange(1000) % 500, begin=499)
    >>> texts.shape, bool((texts[:, 1 : COPY + 1] == texts[:, COPY + 1 :]).all())
    (torch.Size([32, 129]), True)
    """
    generator = np.random.default_rng(seed)
    counts = np.bincount(row)
    seen = np.argsort(-counts, kind="stable")[: int((counts > 0).sum())]
    ordinary = seen[int(ORDINARY[0] * len(seen)) : int(ORDINARY[1] * len(seen))]
    ordinary = ordinary[ordinary != begin]
    copies = np.stack([generator.choice(ordinary, COPY, replace=False) for _ in range(REPEATS)])
    return torch.from_numpy(np.concatenate([np.full((REPEATS, 1), begin), copies, copies], axis=1))


def windows_of(row: np.ndarray[Any, Any], begin: int, length: int) -> Tensor:
    """Windows (text, piece) spread evenly over a row, each with the beginning piece before it."""
    starts = np.linspace(0, len(row) - length, WINDOWS).astype(np.int64)
    pieces = row[starts[:, None] + np.arange(length - 1)]
    return torch.from_numpy(np.concatenate([np.full((WINDOWS, 1), begin), pieces], axis=1))


def induction_score(weights: Tensor) -> Tensor:
    """(..., head) of weights (..., head, query, key) on repeated texts, per text."""
    queries = torch.arange(COPY + 1, 2 * COPY + 1, device=weights.device)
    return weights[..., queries, queries - COPY + 1].mean(-1)


def previous_score(weights: Tensor) -> Tensor:
    """(..., head) of weights (..., head, query, key), per text: every query but the first two pieces'."""
    queries = torch.arange(2, weights.shape[-1], device=weights.device)
    return weights[..., queries, queries - 1].mean(-1)


@torch.no_grad()
def measured(
    parameters: Parameters, shape: Shape, texts: Texts, kinds: list[str], seeds: list[int], draws: int
) -> dict[str, Any]:
    """All figures of one moment, each a list over models (scores over layers and heads, too)."""
    models = len(kinds)
    rounded = {name: value.detach().to(torch.bfloat16).float() for name, value in parameters.items()}
    repeated = texts.repeated.expand(models, -1, -1)
    maps: list[Tensor] = []
    on_copies = losses(rounded, shape, repeated, weights=maps)
    induction = torch.stack([induction_score(layer) for layer in maps], dim=2)  # (model, text, layer, head)
    maps.clear()
    losses(rounded, shape, texts.natural[:16, :256].expand(models, -1, -1), weights=maps)
    previous = torch.stack([previous_score(layer) for layer in maps], dim=2).mean(1)
    del maps
    own = torch.cat([losses(rounded, shape, part) for part in texts.own(kinds).split(8, dim=1)], dim=1)
    natural = texts.natural.expand(models, -1, -1)
    on_natural = torch.cat([losses(rounded, shape, part) for part in natural.split(8, dim=1)], dim=1)
    early, late = (slice(*(bound * shape.window // 512 for bound in bounds)) for bounds in (EARLY, LATE))
    figures = {
        "induction": induction[:, 1::2].mean(1),
        "previous": previous,
        "loss": own.mean((1, 2)),
        "natural_loss": on_natural.mean((1, 2)),
        "in_context": own[:, :, late].mean((1, 2)) - own[:, :, early].mean((1, 2)),
        "first_copy": on_copies[:, 1::2, :COPY].mean((1, 2)),
        "second_copy": on_copies[:, 1::2, COPY:].mean((1, 2)),
    }
    chosen = top_heads(induction[:, ::2].mean(1).cpu().numpy(), CHOSEN)
    others = [random_heads(heads, shape, draws, seed) for heads, seed in zip(chosen, seeds, strict=True)]
    scoring = repeated[:, 1::2]

    def rise(closed: list[list[tuple[int, int]]]) -> Tensor:
        gates = torch.ones(models, shape.layers, shape.heads, device=scoring.device)
        for model, heads in enumerate(closed):
            for layer, head in heads:
                gates[model, layer, head] = 0
        return losses(rounded, shape, scoring, gates)[:, :, COPY:].mean((1, 2)) - figures["second_copy"]

    figures["closing"] = rise(chosen)
    figures["random"] = torch.stack([rise(list(some)) for some in zip(*others, strict=True)], dim=1)
    written: dict[str, Any] = {name: np.round(value.cpu().numpy(), 5).tolist() for name, value in figures.items()}
    written["chosen"] = chosen
    return written


def top_heads(scores: np.ndarray[Any, Any], count: int) -> list[list[tuple[int, int]]]:
    """The heads (layer, head) that score highest, for each model of ``scores`` (model, layer, head).

    >>> top_heads(np.array([[[0.1, 0.5], [0.9, 0.2]]]), 2)
    [[(1, 0), (0, 1)]]
    """
    flat = scores.reshape(len(scores), -1)
    best = np.argsort(-flat, axis=1, kind="stable")[:, :count]
    return [[(int(at // scores.shape[2]), int(at % scores.shape[2])) for at in row] for row in best]


def random_heads(chosen: list[tuple[int, int]], shape: Shape, draws: int, seed: int) -> list[list[tuple[int, int]]]:
    """``draws`` distinct sets of as many heads, none of them chosen, each of a layer within two of one it stands for.

    >>> random_heads([(0, 0)], Shape(16, layers=4, heads=2), 9, seed=1)
    [[(0, 1)], [(1, 0)], [(1, 1)], [(2, 0)], [(2, 1)]]
    """
    generator = np.random.default_rng(seed)
    found: dict[tuple[tuple[int, int], ...], None] = {}
    for _ in range(200 * draws):
        drawn: list[tuple[int, int]] = []
        for layer, _head in chosen:
            near = [
                (at, head)
                for at in range(max(0, layer - NEAR), min(shape.layers, layer + NEAR + 1))
                for head in range(shape.heads)
                if (at, head) not in chosen and (at, head) not in drawn
            ]
            if near:
                drawn.append(near[generator.integers(len(near))])
        found[tuple(sorted(drawn))] = None
        if len(found) == draws:
            break
    return [list(heads) for heads in sorted(found)]
