"""Training a model, or its head alone, for a task: AdamW, in batches of like length, with the best weights kept.

The rate rises from nothing over the first tenth of the steps and falls to nothing over the rest. A batch holds so
many texts; or so many pieces, which makes steps of like size where texts differ: such batches are made once, of like
length, and only their order is drawn anew for each pass. After every pass
over the texts the model is judged on texts held out; if neither the score nor the loss there has improved for some
passes (``patience``) training stops, and the weights of the pass with the best score are put back. The order of the
texts depends on the seed and the pass alone, and dropout on the seed and the step alone, so a run that goes on from a
saved state repeats one that was never interrupted, on the CPU to the same bits.

The trainer does not care where a model comes from: one that was just pruned is trained like any other.
"""

from __future__ import annotations

import hashlib
import math
import random
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass, replace
from typing import Any, NamedTuple

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from attlas.errors import CapabilityError, NumberError, PlanError
from attlas.models import Example
from attlas.tasks.protocol import Question, Task
from attlas.tasks.recipe import Recipe, by_size, in_batches, padded, schedule

SELDOM = 25  # steps on a GPU between two looks at the loss: a look waits until all that was asked for is done
KEPT = 8_000_000  # pieces of batches by pieces that stay where the model is, so that they are carried there once
POOL = 50  # batches whose texts are sorted by length together: enough to save padding, few enough to keep chance


@dataclass(frozen=True)
class Pass:
    """What was seen after a pass over the texts; pass 0 is before any training.

    ``loss`` is the mean per prediction while training, in nats; ``score`` is None where there is none without letting
    the model write, and ``held_loss`` where nothing was held out.

    >>> Pass(1, 20, 0.5, 0.6, 0.8, True).best
    True
    """

    epoch: int
    step: int
    loss: float | None
    held_loss: float | None
    score: float | None
    best: bool


class Moment(NamedTuple):
    """Something that a trainer has just done: a step over so many pieces, or the judging after a pass.

    >>> Moment(100, 0.7).judged is None
    True
    """

    pieces: int
    loss: float
    judged: Pass | None = None


class Trainer:
    """A training run that can be left and taken up again between any two moments.

    >>> from attlas.capture import Subject
    >>> from attlas.models import open_to_train
    >>> from attlas.tasks import make_task
    >>> from attlas.text import Document, Passage
    >>> subject = Subject(open_to_train(task_head="classification", labels=["bad", "good"]))
    >>> texts = [Document.from_words([word, "film"], label=word) for word in ("good", "bad")]
    >>> examples = subject.pieces.encode_all([Passage(text) for text in texts])
    >>> trainer = Trainer(make_task(subject, "classification"), examples, examples, Recipe(epochs=1, batch_size=2))
    >>> [moment.pieces for moment in trainer.moments()]
    [0, 8, 0]
    >>> trainer.passes[-1].epoch, trainer.steps
    (1, 1)
    """

    def __init__(self, task: Task, learned: Sequence[Example], held: Sequence[Example], recipe: Recipe) -> None:
        if not learned:
            raise PlanError("there is no text to learn from")
        task.subject.require_whole("training")
        self.task, self.learned, self.held, self.recipe = task, list(learned), list(held), recipe
        self.trained = _trained(task, recipe.only_head)
        flat = [parameter for parameter in self.trained.values() if parameter.dim() < 2]
        deep = [parameter for parameter in self.trained.values() if parameter.dim() >= 2]
        self._optimizer = torch.optim.AdamW(
            [{"params": deep, "weight_decay": recipe.decay}, {"params": flat, "weight_decay": 0.0}],
            lr=recipe.rate, betas=recipe.betas,
        )  # fmt: skip
        self.step = 0
        self.seconds = 0.0
        self.passes: list[Pass] = []
        self.halted = False
        self._fixed = self._by_pieces() if recipe.batch_pieces else []
        self._asked: dict[int, Question] = {}  # of fixed batches, by their identity
        self._keeping = sum(padded(batch) for batch in self._fixed) <= KEPT
        self._home = task.subject.device if task.subject.device.type == "cuda" else torch.device("cpu")
        self._sums = self._tally()
        self._value = math.nan  # the loss when it was last looked at
        self._best: dict[str, Tensor] | None = None

    @property
    def steps_per_epoch(self) -> int:
        """Steps in one pass over the texts."""
        return len(self._fixed) or math.ceil(len(self.learned) / self.recipe.batch_size)

    @property
    def steps(self) -> int:
        """Steps in all passes."""
        return self.recipe.epochs * self.steps_per_epoch

    @property
    def pieces_per_epoch(self) -> int:
        """Pieces that are read in one pass over the texts."""
        return sum(example.length for example in self.learned)

    @property
    def best(self) -> Pass | None:
        """The best pass so far."""
        return next((one for one in reversed(self.passes) if one.best), None)

    @property
    def finished(self) -> bool:
        """Whether all passes are done, or nothing has improved for long enough, or it was halted after a pass."""
        if not self.passes or self._due:
            return False
        return self.halted or self.step >= self.steps or self._waited >= self.recipe.patience

    @property
    def _due(self) -> bool:
        """Whether a pass is over but has not been judged yet."""
        return self.step % self.steps_per_epoch == 0 and self.passes[-1].step < self.step

    @property
    def _waited(self) -> int:
        """Passes since the score or the loss was last better than ever: a score may rest while the loss falls."""
        last, lowest = 0, math.inf
        for one in self.passes if self.held else ():
            assert one.held_loss is not None
            if one.best or one.held_loss < lowest:
                last = one.epoch
            lowest = min(lowest, one.held_loss)
        return self.passes[-1].epoch - last if self.held else 0

    def moments(self) -> Iterator[Moment]:
        """Train to the end, pausing after every step and every judging; at the end the best weights are put back."""
        with self._training():
            if not self.passes:
                yield self._timed(self._judge)
            order = self._order(self.step // self.steps_per_epoch)
            while not self.finished:
                if self._due:
                    yield self._timed(self._judge)
                    if not self.finished:
                        order = self._order(self.step // self.steps_per_epoch)
                else:
                    yield self._timed(self._learn, order[self.step % self.steps_per_epoch])
            if self._best is not None:
                with torch.no_grad():
                    for name, parameter in self.trained.items():
                        parameter.copy_(self._best[name])

    def halt(self) -> None:
        """Let the pass that was just judged be the last; to be asked for between moments."""
        self.halted = True

    def state(self) -> tuple[dict[str, NDArray[Any]], dict[str, Any]]:
        """All that is needed to go on later: arrays, and numbers."""
        arrays: dict[str, Tensor] = {}
        for name, parameter in self.trained.items():
            arrays[f"weights/{name}"] = parameter.detach()
            for moment, tensor in self._optimizer.state.get(parameter, {}).items():
                arrays[f"{moment}/{name}"] = tensor.reshape(1) if tensor.dim() == 0 else tensor
            if self._best is not None:
                arrays[f"best/{name}"] = self._best[name]
        numbers = {
            "step": self.step, "seconds": self.seconds, "sums": self._sums.tolist(),
            "passes": [asdict(one) for one in self.passes],
        }  # fmt: skip
        return {name: np.asarray(tensor.cpu()) for name, tensor in arrays.items()}, numbers

    def restore(self, arrays: Mapping[str, NDArray[Any]], numbers: Mapping[str, Any]) -> None:
        """Take up a state that was left earlier."""
        self.step, self.seconds = int(numbers["step"]), float(numbers["seconds"])
        self._sums = self._tally(numbers["sums"])
        self.passes = [Pass(**one) for one in numbers["passes"]]
        found = {name: torch.from_numpy(np.array(array)) for name, array in arrays.items()}
        with torch.no_grad():
            for name, parameter in self.trained.items():
                parameter.copy_(found[f"weights/{name}"])
                moments = {key: found.get(f"{key}/{name}") for key in ("step", "exp_avg", "exp_avg_sq")}
                if moments["step"] is not None:
                    self._optimizer.state[parameter] = {
                        key: tensor.reshape(()) if key == "step" else tensor.to(parameter.device)
                        for key, tensor in moments.items()
                        if tensor is not None
                    }
        kept = {name: found[f"best/{name}"] for name in self.trained if f"best/{name}" in found}
        self._best = kept or None

    def _timed(self, work: Callable[..., Moment], *texts: Sequence[Example]) -> Moment:
        began = time.monotonic()
        moment = work(*texts)
        self.seconds += time.monotonic() - began
        return moment

    @contextmanager
    def _training(self) -> Iterator[None]:
        """Only the weights to be trained take gradients; afterwards all is as it was, at rest."""
        model = self.task.subject.model
        before = {name: parameter.requires_grad for name, parameter in model.named_parameters()}
        for name, parameter in model.named_parameters():
            parameter.requires_grad_(name in self.trained)
        try:
            yield
        finally:
            model.train(False)
            for name, parameter in model.named_parameters():
                parameter.requires_grad_(before[name])
                parameter.grad = None

    def _order(self, epoch: int) -> list[list[Example]]:
        """The batches of a pass: texts shuffled, sorted by length in pools, batches shuffled again."""
        draw = random.Random(f"{self.recipe.seed} {epoch}")
        if self._fixed:
            return draw.sample(self._fixed, len(self._fixed))
        texts = list(self.learned)
        draw.shuffle(texts)
        size = self.recipe.batch_size
        batches: list[list[Example]] = []
        for at in range(0, len(texts), POOL * size):
            pool = sorted(texts[at : at + POOL * size], key=lambda example: example.length)
            batches += [pool[start : start + size] for start in range(0, len(pool), size)]
        draw.shuffle(batches)
        return batches

    def _by_pieces(self) -> list[list[Example]]:
        """Batches of like length and of so many pieces; which of equal length are together is drawn once."""
        texts = list(self.learned)
        random.Random(f"{self.recipe.seed} batches").shuffle(texts)
        return in_batches(sorted(texts, key=by_size), self.recipe)

    def _tally(self, values: Sequence[float] = (0.0, 0.0)) -> Tensor:
        """Loss and predictions of a pass so far; on a GPU they stay there."""
        return torch.tensor(list(values), dtype=torch.float64, device=self._home)

    def _ask(self, batch: Sequence[Example]) -> Question:
        """The question of a batch; of a fixed one it is kept where there is room."""
        known = self._asked.get(id(batch))
        if known is None:
            known = self.task.ask(batch)
            if self._fixed and self._keeping:
                self._asked[id(batch)] = known
        return known

    def _look(self, loss: Tensor) -> None:
        """Look at the loss, which makes a GPU finish first; refuse to go on where it is no number."""
        self._value = loss.item()
        if not math.isfinite(self._value):
            raise self._diverged("loss", self._value, self.step + 1)

    def _diverged(self, what: str, value: float, step: int) -> NumberError:
        return NumberError(
            f"the training diverged: the {what} is {value} at step {step} of {self.steps}; train at a lower rate "
            "(--learning-rate)"
        )

    def _learn(self, batch: Sequence[Example]) -> Moment:
        model, recipe = self.task.subject.model, self.recipe
        model.train(True)
        if recipe.only_head:
            model.base_model.train(False)
        for group in self._optimizer.param_groups:
            group["lr"] = recipe.rate * schedule(self.step, self.steps, recipe.warmup, recipe.falling)
        question = self._ask(batch)
        device = self.task.subject.device
        with torch.random.fork_rng(devices=[device] if device.type == "cuda" else []):
            torch.manual_seed(_number(recipe.seed, self.step))
            with self._computing():
                scored = self.task.judge(question, self.task.run(question))
        predicted = scored.predicted.sum().clamp(min=1)
        loss = scored.total.sum() / predicted
        if device.type != "cuda":
            self._look(loss)
        self._optimizer.zero_grad(set_to_none=True)
        loss.backward()  # type: ignore[no-untyped-call]
        if recipe.clip:
            torch.nn.utils.clip_grad_norm_(self.trained.values(), recipe.clip)
        self._optimizer.step()
        if device.type == "cuda" and self.step % SELDOM == 0:
            self._look(loss)
        value, count = (number.detach().to(self._home, torch.float64) for number in (loss, predicted))
        self._sums += torch.stack([value * count, count])
        self.step += 1
        return Moment(sum(example.length for example in batch), self._value)

    def _judge(self) -> Moment:
        """Judge the model on what was held out, and keep its weights if they are the best so far."""
        held_loss, score = judge_all(self.task, self.held, self.recipe) if self.held else (None, None)
        total, predicted = self._sums.tolist()
        loss = total / predicted if predicted else None
        for what, value in (("loss", loss), ("held-out loss", held_loss)):
            if value is not None and not math.isfinite(value):
                raise self._diverged(what, value, self.step)
        epoch = self.step // self.steps_per_epoch
        made = Pass(epoch, self.step, loss, held_loss, score, False)
        made = replace(made, best=better(self.task, made, self.best))
        if made.best and self.held:
            self._best = {name: parameter.detach().clone() for name, parameter in self.trained.items()}
        self.passes.append(made)
        self._sums = self._tally()
        return Moment(0, math.nan if loss is None else loss, made)

    def _computing(self) -> Any:
        return torch.autocast(self.task.subject.device.type, dtype=torch.bfloat16, enabled=self.recipe.half)


def train(
    task: Task, learned: Sequence[Example], held: Sequence[Example] = (), recipe: Recipe | None = None
) -> list[Pass]:
    """Train the model of a task, in memory; gives what was seen after each pass. The best weights are left in it.

    >>> from attlas.capture import Subject
    >>> from attlas.models import open_to_train
    >>> from attlas.tasks import make_task
    >>> from attlas.text import Document, Passage
    >>> subject = Subject(open_to_train(task_head="classification", labels=["bad", "good"]))
    >>> examples = [subject.pieces.encode(Passage(Document.from_words([w], label=w))) for w in ("good", "bad")]
    >>> [one.epoch for one in train(make_task(subject, "classification"), examples, recipe=Recipe(epochs=2))]
    [0, 1, 2]
    """
    trainer = Trainer(task, learned, held, recipe or Recipe())
    for _ in trainer.moments():
        pass
    return trainer.passes


def judge_all(task: Task, examples: Sequence[Example], recipe: Recipe) -> tuple[float, float | None]:
    """The mean loss per prediction on some texts, and their score where it needs no writing.

    >>> from attlas.capture import load
    >>> from attlas.tasks import make_task
    >>> from attlas.text import Document, Passage
    >>> task = make_task(load(), "similarity")
    >>> text = Document.from_words(["Hi"], label="1", pair=Document.from_words(["Hi"]))
    >>> judge_all(task, [task.subject.pieces.encode(Passage(text))], Recipe())[0] < 1e-6
    True
    """
    total, predicted, marks = judged(task, examples, recipe)
    score = None if task.writes else float(task.metric.score(marks))
    return total / max(predicted, 1.0), score if score is None or math.isfinite(score) else None


def judged(task: Task, examples: Sequence[Example], recipe: Recipe) -> tuple[float, float, NDArray[np.float64]]:
    """The summed loss on some texts, the number of predictions, and the marks of each text, in their order.

    >>> from attlas.capture import load
    >>> from attlas.tasks import make_task
    >>> from attlas.text import Document, Passage
    >>> task = make_task(load(), "similarity")
    >>> text = Document.from_words(["Hi"], label="1", pair=Document.from_words(["Hi"]))
    >>> judged(task, [task.subject.pieces.encode(Passage(text))], Recipe())[2].shape
    (1, 2)
    """
    task.subject.model.train(False)
    size = by_size if recipe.batch_pieces else lambda example: example.length
    places = sorted(range(len(examples)), key=lambda at: size(examples[at]))
    total = predicted = 0.0
    marks = []
    with torch.no_grad():
        for batch in in_batches([examples[at] for at in places], recipe):
            question = task.ask(batch)
            with torch.autocast(task.subject.device.type, dtype=torch.bfloat16, enabled=recipe.half):
                scored = task.judge(question, task.run(question))
            total += scored.total.sum().item()
            predicted += scored.predicted.sum().item()
            marks.append(scored.marks.double().cpu().numpy())
    return total, predicted, np.concatenate(marks)[np.argsort(places)]


def better(task: Task, one: Pass, other: Pass | None) -> bool:
    """Whether a pass is better than another: by its score, or by the loss where that is no other or not to be had.

    >>> from attlas.capture import load
    >>> from attlas.tasks import make_task
    >>> task = make_task(load(), "similarity")
    >>> better(task, Pass(2, 2, 0.1, 0.2, 0.8, False), Pass(1, 1, 0.1, 0.1, 0.7, True))
    True
    """
    if other is None or one.held_loss is None or other.held_loss is None:
        return True
    if one.score is not None and other.score is not None and one.score != other.score:
        return bool(task.metric.worse(one.score - other.score) < 0)
    return one.held_loss < other.held_loss


def _trained(task: Task, only_head: bool) -> dict[str, Tensor]:
    """The weights to be trained, by name; not those that a model keeps fixed, such as sines for positions, nor the
    zeros that stand for the output of a layer whose heads are all gone: they would be a head again."""
    subject = task.subject
    gone = {id(subject.layout.projections[site].weight) for site, heads in subject.kept.items() if not heads}
    named = {
        name: parameter for name, parameter in subject.model.named_parameters()
        if parameter.requires_grad and id(parameter) not in gone
    }  # fmt: skip
    if any(parameter.dtype != torch.float32 for parameter in named.values()):
        raise CapabilityError(f"{subject.name} is to be trained, which needs its weights in float32; open it so")
    if not only_head:
        return named  # type: ignore[return-value]
    inside = {id(parameter) for parameter in subject.model.base_model.parameters()}
    head = {name: parameter for name, parameter in named.items() if id(parameter) not in inside}
    if not head:
        raise CapabilityError(
            f"{subject.name} has no head of its own for {task.name} that could be trained alone: it shares all of "
            "its weights with the model; train the whole (without --only-head)"
        )
    return head  # type: ignore[return-value]


def _number(seed: int, step: int) -> int:
    """A number that depends on the seed and the step alone."""
    return int.from_bytes(hashlib.blake2b(f"{seed} {step}".encode(), digest_size=7).digest(), "little")
