"""How to train: the numbers that decide it, the course of the rate, and texts in batches."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from attlas.errors import PlanError
from attlas.models import Example

FALLING = ("linear", "root")


@dataclass(frozen=True)
class Recipe:
    """How to train. ``rate`` is the highest that is reached; ``half`` computes in bfloat16 (weights stay float32).

    ``batch_pieces`` makes batches of so many pieces, padding included, instead of ``batch_size`` texts. After its
    highest the rate falls in a line, or as one through the root of the step. A ``clip`` of 0 clips nothing.

    >>> Recipe(epochs=0)
    Traceback (most recent call last):
        ...
    attlas.errors.PlanError: training needs epochs of at least 1, not 0
    """

    epochs: int = 3
    rate: float = 5e-5
    batch_size: int = 32
    patience: int = 2
    only_head: bool = False
    half: bool = False
    seed: int = 0
    warmup: float = 0.1
    decay: float = 0.01
    clip: float = 1.0
    betas: tuple[float, float] = (0.9, 0.999)
    batch_pieces: int | None = None
    falling: str = "linear"

    def __post_init__(self) -> None:
        for name in ("epochs", "batch_size", "patience"):
            if getattr(self, name) < 1:
                raise PlanError(f"training needs {name.replace('_', ' ')} of at least 1, not {getattr(self, name)}")
        if not 0 < self.rate < math.inf:
            raise PlanError(f"the learning rate must be above 0, not {self.rate}")
        if self.batch_pieces is not None and self.batch_pieces < 1:
            raise PlanError(f"training needs batch pieces of at least 1, not {self.batch_pieces}")
        if self.falling not in FALLING:
            raise PlanError(f"a rate cannot fall by {self.falling!r}; choose {' or '.join(FALLING)}")


def schedule(step: int, steps: int, warmup: float, falling: str = "linear") -> float:
    """The share of the highest rate at a step.

    >>> [round(schedule(step, 10, 0.2), 2) for step in range(10)]
    [0.5, 1.0, 1.0, 0.88, 0.75, 0.62, 0.5, 0.38, 0.25, 0.12]
    >>> [round(schedule(step, 10, 0.2, "root"), 2) for step in range(10)]
    [0.5, 1.0, 0.82, 0.71, 0.63, 0.58, 0.53, 0.5, 0.47, 0.45]
    """
    rising = max(1, round(warmup * steps))
    if step < rising:
        return (step + 1) / rising
    if falling == "root":
        return math.sqrt(rising / (step + 1))
    return (steps - step) / max(1, steps - rising)


def in_batches(examples: Sequence[Example], recipe: Recipe) -> list[list[Example]]:
    """Examples in their order, in batches of so many texts or of so many pieces, padding included; a text that has
    more by itself is a batch of its own.

    >>> from attlas.capture import load
    >>> from attlas.text import Document, Passage
    >>> examples = load().pieces.encode_all([Passage(Document.from_words(["a"] * n)) for n in (1, 1, 2, 5, 20)])
    >>> [len(batch) for batch in in_batches(examples, Recipe(batch_pieces=12))]
    [3, 1, 1]
    """
    if recipe.batch_pieces is None:
        return [list(examples[at : at + recipe.batch_size]) for at in range(0, len(examples), recipe.batch_size)]
    batches: list[list[Example]] = []
    longest = 0
    for example in examples:
        longest = max(longest, example.length)
        if not batches or (len(batches[-1]) + 1) * longest > recipe.batch_pieces:
            batches.append([])
            longest = example.length
        batches[-1].append(example)
    return batches


def padded(batch: Sequence[Example]) -> int:
    """The pieces of a batch, padding included.

    >>> padded([])
    0
    """
    return len(batch) * max((example.length for example in batch), default=0)


def by_size(example: Example) -> tuple[int, int]:
    """By which batches are made of like texts: the longer side first, then the source.

    >>> from attlas.capture import load
    >>> from attlas.text import Document, Passage
    >>> by_size(load().pieces.encode(Passage(Document.from_words(["a"]))))
    (3, 3)
    """
    return example.length, example.source.length
