"""The scalar mix of heads: one weight for every head, all positive and together one, learned on key words.

The score of a word is gamma times the mixed relative attention of all heads plus a constant; through a sigmoid it is
the chance that the word is a key word. Relative attention is standardised per head on the words that are learned
from. Shares are a softmax, so unlike those of the regression they cannot play heads against each other, and say where
in the model the information lies; their expected layer is one number for it.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
import torch

from attlas.studies.keywords_study.heads import Floats
from attlas.studies.keywords_study.predicting import Flags, best_threshold
from attlas.studies.shared.keywords.weighing import Numbers

ROUNDS = 300


@dataclass(frozen=True)
class Mixed:
    """A mix that was learned: shares of heads, gamma, a constant, what standardises heads, and the threshold."""

    shares: Floats
    gamma: float
    bias: float
    mean: Floats
    scale: Floats
    threshold: float

    def scores(self, relative: Numbers | Floats) -> Floats:
        """The score of every word, from the relative attention it receives, (word, head)."""
        slopes = self.gamma * self.shares / self.scale
        return np.asarray(relative @ slopes + (self.bias - float(self.mean @ slopes)), np.float64)


def learn_mix(relative: Numbers, key: Flags) -> Mixed:
    """Learn a mix of heads by L-BFGS, from even shares on; it gives the same every time."""
    mean, scale = relative.mean(0, dtype=np.float64), relative.std(0, dtype=np.float64)
    scale[scale == 0] = 1.0
    x = torch.from_numpy((relative - mean) / scale)
    given = torch.from_numpy(key.astype(np.float64))
    rate = float(given.mean())
    logits = torch.zeros(x.shape[1], dtype=torch.float64, requires_grad=True)
    others = torch.tensor([1.0, np.log(rate / (1 - rate))], dtype=torch.float64, requires_grad=True)
    optimizer = torch.optim.LBFGS(
        [logits, others], max_iter=ROUNDS, tolerance_grad=1e-7, tolerance_change=1e-9, line_search_fn="strong_wolfe"
    )

    def loss() -> torch.Tensor:
        optimizer.zero_grad()
        scores = others[0] * (x @ logits.softmax(0)) + others[1]
        value = torch.nn.functional.binary_cross_entropy_with_logits(scores, given)
        value.backward()  # type: ignore[no-untyped-call]
        return value

    optimizer.step(loss)  # type: ignore[no-untyped-call]
    shares = logits.detach().softmax(0).numpy()
    gamma, bias = (float(value) for value in others.detach())
    mixed = Mixed(shares, gamma, bias, mean, scale, 0.0)
    return replace(mixed, threshold=best_threshold(mixed.scores(relative), key))
