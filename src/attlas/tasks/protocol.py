"""What a task is: a loss and a score over texts.

A task makes a :class:`Question` of some examples (a batch, and what is to be predicted), and judges a model's output
on it: for every text the summed loss in nats, how many predictions there were, how many were right, and the *marks*
from which the task's :class:`~attlas.stats.Metric` is computed. So the loss can be differentiated, and the score
resampled and tested text by text.
"""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import nullcontext
from dataclasses import dataclass, replace
from typing import Any, NamedTuple, Protocol

import torch
from torch import Tensor

from attlas.capture import Subject
from attlas.ids import Stream
from attlas.measures.words import Grouping
from attlas.models import Batch, Example, Instrument
from attlas.models.pieces import Side
from attlas.stats import METRICS, Metric

NOTHING = -100
_ROWS = 1024  # places compared at once where no gradient is wanted: copies of all logits would fill the memory


class Scored(NamedTuple):
    """Per text: the sum of the losses of its predictions in nats, how many there are, how many are right, and the
    marks of the task's metric.

    >>> nothing = torch.tensor([0.0, 0.0])
    >>> Scored(torch.tensor([2.0, 0.0]), torch.tensor([4.0, 0.0]), nothing, nothing[:, None]).mean.tolist()
    [0.5, 0.0]
    """

    total: Tensor
    predicted: Tensor
    right: Tensor
    marks: Tensor

    @property
    def mean(self) -> Tensor:
        """The mean loss of every text; 0 for a text without a prediction.

        >>> one = torch.ones(1)
        >>> Scored(3 * one, 2 * one, one, one[:, None]).mean.item()
        1.5
        """
        return self.total / self.predicted.clamp(min=1)


@dataclass(frozen=True)
class Question:
    """A batch with what is to be predicted: for every place a label, or :data:`NOTHING`.

    ``altered`` are pieces that do not stand as the text has them; ``words`` says which pieces make a word, where
    places are words; ``rows`` says which text each row of the batch belongs to, where texts have several rows;
    ``copies`` how many times the texts stand in it.

    >>> sorted(Question.__dataclass_fields__)
    ['altered', 'batch', 'copies', 'examples', 'labels', 'rows', 'words']
    """

    batch: Batch
    labels: Tensor
    examples: tuple[Example, ...]
    altered: Tensor | None = None
    words: Grouping | None = None
    rows: Tensor | None = None
    copies: int = 1

    @property
    def owners(self) -> Tensor:
        """The text of each row of the batch.

        >>> Question(Batch({}, None, None, Stream.ENCODER), torch.zeros(2, 1), ()).owners.tolist()
        [0, 1]
        """
        return torch.arange(len(self.labels), device=self.labels.device) if self.rows is None else self.rows

    @property
    def real(self) -> Tensor:
        """Which pieces of the source are no padding, (text, piece)."""
        assert self.batch.source is not None
        return self.batch.source.real

    def repeated(self, times: int) -> Question:
        """The same texts so many times over: all of the first copy, then all of the second.

        >>> Question(Batch({}, None, None, Stream.ENCODER), torch.zeros(2, 1), ()).repeated(3).labels.shape
        torch.Size([6, 1])
        """
        if times == 1:
            return self
        size = len(self.labels)
        rows = None
        if self.rows is not None:
            rows = torch.cat([self.rows + size * copy for copy in range(times)])
        words = self.words and Grouping(_again(self.words.members, times), _again(self.words.present, times))
        return replace(
            self, batch=_again_batch(self.batch, times), labels=_again(self.labels, times),
            examples=self.examples * times, altered=None if self.altered is None else _again(self.altered, times),
            words=words, rows=rows, copies=self.copies * times,
        )  # fmt: skip


class Task(Protocol):
    """What heads are cut against, models are trained for, and gradients are taken of.

    ``instruments`` are on the seam in every pass that the task makes, such as an override by uniform attention.
    """

    instruments: tuple[Instrument, ...]

    @property
    def name(self) -> str:
        """Its name, as the command line has it."""

    @property
    def subject(self) -> Subject:
        """The model that it is given to."""

    @property
    def metric(self) -> Metric:
        """How it is scored."""

    @property
    def streams(self) -> tuple[Stream, ...]:
        """The attention that is at work in it."""

    @property
    def options(self) -> dict[str, Any]:
        """What a forward pass needs, for ``subject.run``."""

    @property
    def writes(self) -> bool:
        """Whether its score is of what the model writes (see ``answer``); its loss never is."""

    def ask(self, examples: Sequence[Example]) -> Question:
        """Make the batch that the model reads, and what is to be predicted."""

    def run(self, question: Question) -> Any:
        """One forward pass of the model, with whatever the task itself puts on the seam."""

    def judge(self, question: Question, output: Any) -> Scored:
        """Compare the output of a forward pass with what was to be predicted; the loss is differentiable."""

    def answer(self, question: Question) -> Tensor:
        """The marks of each text, under whatever instruments are on; lets the model write, where it has to."""


def mark_count(task: Task) -> int:
    """How many numbers a task writes down of a text for its score.

    >>> from attlas.capture import load
    >>> from attlas.tasks import make_task
    >>> mark_count(make_task(load(), "similarity"))
    2
    """
    choices: int = getattr(task, "choices", 0)
    return choices**2 if task.metric is METRICS["matthews"] else len(task.metric.columns)


class Runs:
    """What all tasks share: a forward pass, with ``instruments`` on the seam where a task has been given some.

    >>> from attlas.capture import load
    >>> runs = Runs()
    >>> runs.subject, runs.options = load(), {}
    >>> question = Question(runs.subject.batch(["Hello there."]), torch.zeros(1, 1), ())
    >>> runs.run(question).last_hidden_state.shape
    torch.Size([1, 5, 384])
    """

    subject: Subject
    options: dict[str, Any]
    instruments: tuple[Instrument, ...] = ()

    def run(self, question: Question) -> Any:
        """Run the model on a question's batch."""
        with self.subject.use(*self.instruments) if self.instruments else nullcontext():
            return self.subject.run(question.batch, **self.options)


class Reads(Runs):
    """What tasks share whose score comes from a forward pass.

    >>> Reads.writes
    False
    """

    writes = False

    def judge(self, question: Question, output: Any) -> Scored:
        """Compare; every task has its own way."""
        raise NotImplementedError

    def answer(self, question: Question) -> Tensor:
        """Run the model and give the marks of each text."""
        with torch.no_grad():
            return self.judge(question, self.run(question)).marks


def compare_labels(logits: Tensor, labels: Tensor) -> tuple[Tensor, Tensor, Tensor]:
    """Compare logits (text, place, choice) with labels (text, place): per text the summed loss, the number of
    predictions, and how many are right.

    >>> total, count, right = compare_labels(torch.zeros(1, 3, 4), torch.tensor([[0, NOTHING, 1]]))
    >>> round(total.item(), 4), count.item(), right.item()
    (2.7726, 2.0, 1.0)
    """
    known = labels != NOTHING
    rows, wanted = known.nonzero()[:, 0], labels[known]
    empty = torch.zeros(len(labels), device=logits.device)
    if logits.requires_grad:
        chosen = logits[known].float()
        losses = torch.nn.functional.cross_entropy(chosen, wanted, reduction="none")
        best = chosen.detach().argmax(-1)
    else:
        flat, places = logits.reshape(-1, logits.shape[-1]), known.flatten().nonzero()[:, 0]
        parts = [_compare(flat[some].float(), wanted[at : at + _ROWS]) for at, some in _slices(places)]
        losses = torch.cat([part[0] for part in parts]) if parts else empty[:0]
        best = torch.cat([part[1] for part in parts]) if parts else wanted[:0]
    right = (best == wanted).float()
    return empty.index_add(0, rows, losses), known.sum(-1).float(), empty.index_add(0, rows, right)


def compare_all(logits: Tensor, labels: Tensor, smoothing: float = 0.0) -> tuple[Tensor, Tensor, Tensor]:
    """As :func:`compare_labels`, for training where nearly every place has a label: nothing is picked out first,
    which would make a GPU wait. ``smoothing`` is the share of the loss that is the mean over all choices.

    >>> total, count, right = compare_all(torch.zeros(1, 3, 4), torch.tensor([[0, NOTHING, 1]]), 0.1)
    >>> round(total.item(), 4), count.item(), right.item()
    (2.7726, 2.0, 1.0)
    """
    flat, wanted = logits.flatten(0, 1).float(), labels.flatten()
    losses = torch.nn.functional.cross_entropy(
        flat, wanted, ignore_index=NOTHING, reduction="none", label_smoothing=smoothing
    )  # fmt: skip
    right = (flat.detach().argmax(-1) == wanted).view_as(labels).sum(-1).float()
    return losses.view_as(labels).sum(-1), (labels != NOTHING).sum(-1).float(), right


def _slices(places: Tensor) -> list[tuple[int, Tensor]]:
    return [(at, places[at : at + _ROWS]) for at in range(0, len(places), _ROWS)]


def _compare(logits: Tensor, wanted: Tensor) -> tuple[Tensor, Tensor]:
    losses = torch.logsumexp(logits, -1) - logits.gather(-1, wanted[:, None])[:, 0]
    return losses, logits.argmax(-1)


def _again(tensor: Tensor, times: int) -> Tensor:
    return tensor.repeat(times, *[1] * (tensor.dim() - 1))


def _again_batch(batch: Batch, times: int) -> Batch:
    def side(one: Side | None) -> Side | None:
        return None if one is None else Side(one.encoded * times, _again(one.real, times))

    inputs = {name: _again(tensor, times) for name, tensor in batch.inputs.items()}
    return Batch(inputs, side(batch.source), side(batch.target), batch.own)
