"""Which models the chunking study trains, in which order, and which of them others are built upon.

For every seed an original; for every weight of the divergence (lambda) adversaries of it; and, for some seeds, models
that are guided by the attention of the original, of two of the adversaries, by even and by random attention, each in
two forms: with all parameters that attention had, and with none of them left.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

KEPT, NONE_LEFT = "attention kept", "none left"
FORMS = (KEPT, NONE_LEFT)
WEIGHTS = (0.01, 0.05, 0.2, 0.5, 1.0, 1.5, 2.0, 2.5, 3.0)
ENDS = (0.2, 3.0)  # those of which the study gives figures


class Training(NamedTuple):
    """One model to be trained: its kind, the attention that guides it and the form in which, lambda, and the seed.

    >>> training = Training("guided", "adversary 0.2", "none left", seed=3)
    >>> training.name, training.guide.name, [one.name for one in training.needs]
    ('guided-adversary-0.2-none-left-3', 'adversary-0.2-3', ['original-3', 'adversary-0.2-3'])
    """

    kind: str
    attention: str = ""
    form: str = ""
    weight: float | None = None
    seed: int = 0

    @property
    def name(self) -> str:
        """A name for its files."""
        parts = [self.kind, self.attention, self.form, "" if self.weight is None else f"{self.weight:g}"]
        return "-".join([part.replace(" ", "-") for part in parts if part] + [str(self.seed)])

    @property
    def guide(self) -> Training | None:
        """The training whose model guides this one."""
        kind, _, weight = self.attention.partition(" ")
        if kind == "original":
            return Training("original", seed=self.seed)
        return Training("adversary", weight=float(weight), seed=self.seed) if kind == "adversary" else None

    @property
    def needs(self) -> tuple[Training, ...]:
        """What must have been trained before."""
        if self.kind == "original":
            return ()
        original = Training("original", seed=self.seed)
        return tuple(dict.fromkeys((original, self.guide or original)))


def trainings(
    weights: Sequence[float], ends: Sequence[float], seeds: int, middle: int, guided: int
) -> list[Training]:  # fmt: skip
    """All trainings in an order in which they can be done: ``seeds`` originals and as many adversaries of the weights
    in ``ends``, ``middle`` of the other weights, ``guided`` of each guided model; it is the adversaries of ``ends``
    that guide.

    >>> [one.name for one in trainings([0.2, 1, 3], [0.2, 3], seeds=2, middle=1, guided=0)][2:]
    ['adversary-0.2-0', 'adversary-0.2-1', 'adversary-1-0', 'adversary-3-0', 'adversary-3-1']
    """
    every = [Training("original", seed=seed) for seed in range(seeds)]
    for weight in sorted({*weights, *ends}):
        number = seeds if weight in ends else min(middle, seeds)
        every += [Training("adversary", weight=weight, seed=seed) for seed in range(number)]
    attentions = ["original", *(f"adversary {weight:g}" for weight in sorted(set(ends))), "uniform", "random"]
    for form in FORMS:
        for attention in attentions:
            every += [Training("guided", attention, form, seed=seed) for seed in range(min(guided, seeds))]
    return every
