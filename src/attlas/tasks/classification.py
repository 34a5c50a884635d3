"""Classifying whole texts, or pairs of texts, by the model's own head.

Scored by accuracy or, where one label is much more frequent than the other, by Matthews' correlation.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import torch
from torch import Tensor

from attlas.capture import Subject
from attlas.errors import CapabilityError
from attlas.ids import Stream
from attlas.models import Example
from attlas.stats import METRICS
from attlas.tasks.language import require_head
from attlas.tasks.protocol import NOTHING, Question, Reads, Scored, compare_labels

SCORES = ("accuracy", "matthews")


class Classification(Reads):
    """Giving every text one of the labels that the model's head knows.

    >>> from attlas.capture import load
    >>> Classification(load())
    Traceback (most recent call last):
        ...
    attlas.errors.CapabilityError: all-MiniLM-L6-v2 was opened without the head for the task classification; ...
    """

    name = "classification"

    def __init__(self, subject: Subject, score: str = "accuracy") -> None:
        require_head(subject, "classification", self.name)
        self.subject, self.score = subject, score
        self.labels = subject.labels
        if len(self.labels) < 2:
            raise CapabilityError(f"the head of {subject.name} gives a number, not labels; choose another model")
        self.streams: tuple[Stream, ...] = subject.streams
        self.choices = len(self.labels)
        self.metric = METRICS[score]
        self.options: dict[str, Any] = {} if subject.pieces.own is Stream.ENCODER else {"use_cache": False}
        self._number = {label: number for number, label in enumerate(self.labels)}
        if all(
            label == f"LABEL_{number}" for label, number in self._number.items()
        ):  # the library's own, for nothing
            self._number |= {str(number): number for number in self._number.values()}
        self.known = frozenset(self._number)

    def ask(self, examples: Sequence[Example]) -> Question:
        """Make the batch, and the number of every text's label."""
        batch = self.subject.pieces.batch(examples, self.subject.device)
        numbers = [self._number.get(example.passage.first.label or "", NOTHING) for example in examples]
        return Question(batch, torch.tensor(numbers, device=self.subject.device)[:, None], tuple(examples))

    def scores(self, question: Question, output: Any) -> Tensor:
        """The score of every label for every text, (text, 1, label)."""
        logits: Tensor = output.logits
        return logits[:, None]

    def judge(self, question: Question, output: Any) -> Scored:
        """Compare."""
        total, predicted, right = compare_labels(self.scores(question, output), question.labels)
        marks = torch.stack([right, predicted], -1)
        if self.score == "matthews":
            given, found = question.labels[:, 0], output.logits.detach().argmax(-1)
            marks = torch.zeros(len(given), self.choices**2, device=given.device)
            known = given != NOTHING
            marks[known.nonzero()[:, 0], (given * self.choices + found)[known]] = 1.0
        return Scored(total, predicted, right, marks)
