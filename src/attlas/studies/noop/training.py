"""A tagger that is trained on the spot: a linear map on the last layer's states, the model itself left as it is.

For models whose checkpoint has no loss of its own (sentence embedders, say) and for any corpus with a layer of tags
(:mod:`attlas.tasks.tagging`). The map is trained by Adam on cross-entropy, a few passes over the training texts, with
the states computed anew in every pass, so that nothing grows with the corpus. A tenth of the training texts is held
out: when it gets no better any more, training stops, and the best map is kept.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
import torch
from numpy.typing import NDArray

from attlas.models import Example
from attlas.stats import Bundle, Latest
from attlas.tasks import NOTHING, Tagging
from attlas.tasks.tagging import LinearMap

RATE, PATIENCE, ENOUGH = 0.005, 2, 0.995
_BETAS, _TINY = (0.9, 0.999), 1e-8
_NUMBERS = ("adam", "best_loss", "waited", "stopped", "held_sum", "held_count", "epochs", "best_epoch")


class Lesson(NamedTuple):
    """Some texts of one pass over the training texts: to learn from, or held out; ``last`` ends the pass."""

    examples: tuple[Example, ...]
    held: bool
    last: bool


@dataclass
class Learner:
    """All that there is of a map in training; it goes through a run as one row of numbers.

    >>> learner = Learner.fresh(tags=2, width=3)
    >>> Learner.from_row(learner.row(), 2, 3).map.shape
    (2, 4)
    """

    map: NDArray[np.float64]
    first: NDArray[np.float64]
    second: NDArray[np.float64]
    best: NDArray[np.float64]
    shift: NDArray[np.float64]
    scale: NDArray[np.float64]
    numbers: dict[str, float]

    @classmethod
    def fresh(cls, tags: int, width: int) -> Learner:
        """Before any lesson: all scores are alike."""
        return cls.from_row(np.zeros(cls.size(tags, width)), tags, width)

    @staticmethod
    def size(tags: int, width: int) -> int:
        """How many numbers it takes."""
        return 4 * tags * (width + 1) + 2 * width + len(_NUMBERS)

    def row(self) -> NDArray[np.float64]:
        """Everything as one row."""
        arrays = (self.map, self.first, self.second, self.best, self.shift, self.scale)
        return np.concatenate([array.ravel() for array in arrays] + [np.array(list(self.numbers.values()))])

    @classmethod
    def from_row(cls, row: NDArray[np.float64], tags: int, width: int) -> Learner:
        """The learner that wrote this row."""
        sizes = [tags * (width + 1)] * 4 + [width] * 2
        *arrays, numbers = np.split(row.copy(), np.cumsum(sizes))
        trained, first, second, best = (array.reshape(tags, width + 1) for array in arrays[:4])
        named = dict(zip(_NUMBERS, map(float, numbers), strict=True))
        return cls(trained, first, second, best, arrays[4], arrays[5], named)

    def learn(self, states: NDArray[np.float64], labels: NDArray[np.int64]) -> None:
        """One step of Adam; the first one also settles how states are brought to one scale."""
        if not self.numbers["adam"]:
            self.shift, self.scale = states.mean(0), states.std(0) + 1e-6
        inputs, chances = self._chances(states)
        chances[np.arange(len(labels)), labels] -= 1
        gradient = chances.T @ inputs / len(labels)
        self.numbers["adam"] += 1
        self.first = _BETAS[0] * self.first + (1 - _BETAS[0]) * gradient
        self.second = _BETAS[1] * self.second + (1 - _BETAS[1]) * gradient**2
        first, second = (
            moment / (1 - beta ** self.numbers["adam"])
            for moment, beta in zip((self.first, self.second), _BETAS, strict=True)
        )
        self.map = self.map - RATE * first / (np.sqrt(second) + _TINY)

    def test(self, states: NDArray[np.float64], labels: NDArray[np.int64]) -> None:
        """Add up the loss on texts that are held out."""
        _, chances = self._chances(states)
        self.numbers["held_sum"] -= float(np.log(chances[np.arange(len(labels)), labels] + 1e-300).sum())
        self.numbers["held_count"] += len(labels)

    def end_pass(self) -> None:
        """Keep the map if it is the best so far, and stop when it has not got better for a while."""
        numbers = self.numbers
        loss = numbers["held_sum"] / max(numbers["held_count"], 1.0)
        numbers["epochs"] += 1
        better = numbers["epochs"] == 1 or loss < ENOUGH * numbers["best_loss"]
        if numbers["epochs"] == 1 or loss < numbers["best_loss"]:
            self.best = self.map.copy()
            numbers["best_loss"], numbers["best_epoch"] = loss, numbers["epochs"]
        numbers["waited"] = 0.0 if better else numbers["waited"] + 1
        numbers["stopped"] = float(numbers["waited"] >= PATIENCE)
        numbers["held_sum"] = numbers["held_count"] = 0.0

    def linear(self) -> LinearMap:
        """The best map so far, for states as the model gives them."""
        weight = self.best[:, :-1] / np.where(self.scale > 0, self.scale, 1.0)
        bias = self.best[:, -1] - weight @ self.shift
        return LinearMap(torch.from_numpy(weight).float(), torch.from_numpy(bias).float())

    def _chances(self, states: NDArray[np.float64]) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        inputs = np.concatenate([(states - self.shift) / self.scale, np.ones((len(states), 1))], axis=1)
        scores = inputs @ self.map.T
        raised = np.exp(scores - scores.max(1, keepdims=True))
        return inputs, raised / raised.sum(1, keepdims=True)


class Training:
    """The training as a study, lesson by lesson, so that it shows its progress and can be resumed.

    >>> from attlas.capture import load
    >>> Training(Tagging(load(), "upos", tags=["NOUN", "VERB"])).empty()["head"].result()[0]
    0
    """

    name = "noop"
    stepwise = True

    def __init__(self, task: Tagging) -> None:
        self.task = task
        self.width = int(task.subject.model.config.get_text_config().hidden_size)

    def empty(self) -> Bundle:
        """A bundle with nothing learned yet."""
        return Bundle({"head": Latest(Learner.size(self.task.choices, self.width))})

    def update(self, bundle: Bundle, batch: Sequence[Lesson]) -> None:
        """Take lessons, one after the other; after the end of training they are skipped."""
        latest = bundle["head"]
        for lesson in batch:
            step, row = latest.result()
            learner = Learner.from_row(row, self.task.choices, self.width)
            if learner.numbers["stopped"]:
                return
            states, labels = self._words(lesson.examples)
            if len(labels):
                (learner.test if lesson.held else learner.learn)(states, labels)
            if lesson.last:
                learner.end_pass()
            latest.update(step + 1, learner.row())

    def learner(self, bundle: Bundle) -> Learner:
        """What a bundle has learned."""
        return Learner.from_row(bundle["head"].result()[1], self.task.choices, self.width)

    def _words(self, examples: Sequence[Example]) -> tuple[NDArray[np.float64], NDArray[np.int64]]:
        with torch.no_grad():
            question = self.task.ask(examples)
            output = self.task.run(question)
            known = question.labels != NOTHING
            states = self.task.states(question, output)[known]
        return states.double().cpu().numpy(), question.labels[known].cpu().numpy()
