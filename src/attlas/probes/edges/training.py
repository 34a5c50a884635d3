"""Training a series: one pass over the data for all probes, as many epochs as planned, the best of each kept.

The rate falls in a straight line to nothing. The weights of the mix learn faster than the rest: they are few, begin
even, and would otherwise hardly have moved when the rest is learned. After each epoch every probe is judged on the
dev part by micro-F1, and of each the best epoch is kept. Order, dropout and beginnings follow from the seed; nothing
that one probe does reaches another. A training can be stopped after any epoch and restored.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Generic, NamedTuple, TypeVar

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from attlas.errors import NumberError
from attlas.probes.edges.reading import Lesson, Reader
from attlas.probes.edges.series import Numbers, Probes, Spec
from attlas.stats.metrics import METRICS

STEPS, FEWEST, MOST = 1500, 5, 30
Kind = TypeVar("Kind", bound=Probes)


def epochs_for(pieces: int, step_pieces: int) -> int:
    """How many epochs a training part of so many pieces needs for about 1500 steps: 5 at least, 30 at most.

    >>> epochs_for(20_000, 256), epochs_for(200_000, 256), epochs_for(100, 256)
    (20, 5, 30)
    """
    return min(MOST, max(FEWEST, math.ceil(STEPS * step_pieces / pieces)))


@dataclass(frozen=True)
class Schedule:
    """How long, how fast, and with which draws to learn.

    >>> Schedule().epochs
    5
    """

    epochs: int = 5
    rate: float = 1e-3
    mixing_rate: float = 2e-2
    seed: int = 0


def losses(scores: Tensor, lesson: Lesson, specs: Sequence[Spec]) -> Tensor:
    """The loss of each probe: cross-entropy of the sigmoids, summed over labels, mean over edges.

    >>> given, among = torch.tensor([[1.0, 0.0]]), torch.tensor([[1.0, 0.0]])
    >>> lesson = Lesson(None, {"gold": (given, among, None)}, None, None, None, 1)
    >>> losses(torch.zeros(1, 1, 2), lesson, [Spec("gold", "single", 0)]).tolist() == [float(np.float32(np.log(2)))]
    True
    """
    every = []
    for kind in dict.fromkeys(spec.labels for spec in specs):
        chosen = [number for number, spec in enumerate(specs) if spec.labels == kind]
        given, among, _ = lesson.answers[kind]
        entropy = torch.nn.functional.binary_cross_entropy_with_logits(
            scores[chosen[0] : chosen[-1] + 1], given.expand(len(chosen), -1, -1), reduction="none"
        )
        every.append((entropy * among).sum((1, 2)) / len(given))
    return torch.cat(every)


class Marks(NamedTuple):
    """What each probe gets right on a part: labels common to probe and corpus, predicted, and given, by sentence
    (probe, sentence, 3) and by label (probe, label, 3); and by sentence where it always says its most likely label.

    >>> Marks._fields
    ('by_sentence', 'by_label', 'forced')
    """

    by_sentence: Numbers
    by_label: Numbers
    forced: Numbers


class Training(Generic[Kind]):
    """One series on its way.

    The specs of one kind of labels must stand together.

    >>> from attlas.probes.edges.series import Series
    >>> specs = [Spec("gold", "single", 0)]
    >>> series = Series(torch.ones(1, 1, dtype=torch.bool), size=8, labels=3)
    >>> Training(series, specs, None, Schedule(epochs=2)).finished
    False
    """

    def __init__(self, series: Kind, specs: Sequence[Spec], reader: Reader, schedule: Schedule) -> None:
        self.series, self.specs, self.reader, self.schedule = series, specs, reader, schedule
        mixing = series.fast()
        own = {id(parameter) for parameter in mixing}
        others = [parameter for parameter in series.parameters() if id(parameter) not in own]
        groups = [(mixing, schedule.mixing_rate), (others, schedule.rate)]
        self.rates = [rate for parameters, rate in groups if parameters]
        self.optimiser = torch.optim.Adam(
            [{"params": parameters, "lr": rate} for parameters, rate in groups if parameters], fused=True
        )
        self.epoch = 0
        self.best: Numbers = np.full(len(specs), -1.0)
        self.chosen: NDArray[np.int64] = np.zeros(len(specs), dtype=np.int64)
        self.kept = {name: value.detach().clone() for name, value in series.named_parameters()}

    @property
    def finished(self) -> bool:
        """Whether all epochs are done."""
        return self.epoch >= self.schedule.epochs

    def run_epoch(self, advance: Callable[[int], None] = lambda pieces: None) -> tuple[Numbers, Numbers]:
        """One pass over the training part, and a look at dev: losses and micro-F1 of every probe."""
        drawn = np.random.default_rng([self.schedule.seed, self.epoch])
        dropping = torch.Generator().manual_seed(self.schedule.seed * 1009 + self.epoch)
        plan = self.reader.plan("train", drawn)
        total, seen = torch.zeros(len(self.specs), dtype=torch.float64), 0
        self.series.train()
        for number, sentences in enumerate(plan):
            lesson = self.reader.lesson("train", sentences)
            left = 1 - (self.epoch + number / len(plan)) / self.schedule.epochs
            for group, rate in zip(self.optimiser.param_groups, self.rates, strict=True):
                group["lr"] = rate * left
            self.optimiser.zero_grad()
            found = losses(
                self.series(lesson.asked, self.series.drop(len(lesson.edges), dropping)), lesson, self.specs
            )
            found.sum().backward()  # type: ignore[no-untyped-call]
            self.optimiser.step()
            total += len(lesson.edges) * found.detach().double().cpu()
            seen += len(lesson.edges)
            advance(lesson.pieces)
        if not bool(torch.isfinite(total).all()):
            raise NumberError("the loss of a probe is not a number any more; try a lower --learning-rate")
        self.epoch += 1
        scores = METRICS["f1"].score(self.marks("dev").by_sentence)
        self._keep(np.nan_to_num(scores))
        return total.numpy() / seen, scores

    @torch.no_grad()
    def marks(self, part: str) -> Marks:
        """What each probe gets right on a part."""
        layout = self.reader.layouts[part]
        by_sentence, forced = np.zeros((2, len(self.specs), layout.sentences, 3))
        by_label = np.zeros((len(self.specs), self.series.labels, 3))
        self.series.eval()
        for lesson in self.reader.lessons(part):
            scores = self.series(lesson.asked)
            for number, spec in enumerate(self.specs):
                given, among, unknown = lesson.answers[spec.labels]
                said = (scores[number] > 0).to(given.dtype) * among
                three = torch.stack([said * given, said, given])  # (3, edge, label)
                by_label[number] += three.sum(1).T.double().cpu().numpy()
                edges = three.sum(2).T.double().cpu().numpy()
                edges[:, 2] += unknown
                owners = lesson.sentences[lesson.owners]
                np.add.at(by_sentence[number], owners, edges)
                likely = scores[number].masked_fill(among == 0, float("-inf")).argmax(-1, keepdim=True)
                edges[:, 0], edges[:, 1] = given.gather(1, likely)[:, 0].double().cpu().numpy(), 1
                np.add.at(forced[number], owners, edges)
        return Marks(by_sentence, by_label, forced)

    def take_best(self) -> None:
        """Leave every probe as it was after its best epoch."""
        with torch.no_grad():
            for name, value in self.series.named_parameters():
                value.copy_(self.kept[name])

    def state(self) -> tuple[dict[str, NDArray[Any]], dict[str, Any]]:
        """All that is needed to go on after the last epoch: arrays, and numbers about them."""
        arrays = {f"now/{name}": _array(value) for name, value in self.series.named_parameters()}
        arrays |= {f"best/{name}": _array(value) for name, value in self.kept.items()}
        for name, value in self.series.named_parameters():
            for moment in ("exp_avg", "exp_avg_sq"):
                arrays[f"{moment}/{name}"] = _array(self.optimiser.state[value][moment])
        arrays |= {"scores": self.best, "chosen": self.chosen}
        return arrays, {"epoch": self.epoch, "step": self._steps()}

    def restore(self, arrays: dict[str, NDArray[Any]], about: dict[str, Any]) -> None:
        """Go on from a state."""
        self.epoch, self.best, self.chosen = int(about["epoch"]), arrays["scores"], arrays["chosen"]
        with torch.no_grad():
            for name, value in self.series.named_parameters():
                value.copy_(torch.from_numpy(arrays[f"now/{name}"]))
                self.kept[name].copy_(torch.from_numpy(arrays[f"best/{name}"]))
                self.optimiser.state[value] = {
                    "step": torch.tensor(float(about["step"]), device=value.device),
                    "exp_avg": torch.from_numpy(arrays[f"exp_avg/{name}"]).to(value),
                    "exp_avg_sq": torch.from_numpy(arrays[f"exp_avg_sq/{name}"]).to(value),
                }

    def _steps(self) -> float:
        return float(self.optimiser.state[next(iter(self.series.parameters()))]["step"])

    def _keep(self, scores: Numbers) -> None:
        better = scores > self.best
        flags = torch.from_numpy(better)
        for name, value in self.series.named_parameters():
            kept = self.kept[name]
            rows = flags.to(value.device).reshape(-1, *[1] * (value.dim() - 1))
            kept.copy_(torch.where(rows, value.detach(), kept))
        self.best = np.where(better, scores, self.best)
        self.chosen = np.where(better, self.epoch, self.chosen)


def _array(value: Tensor) -> NDArray[Any]:
    return value.detach().cpu().numpy()
